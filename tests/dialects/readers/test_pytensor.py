"""The reader: every spelling of a graph, compiled functions, shared variables, names, PyTensor's rewrites."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import Mode
from pytensor.gradient import grad
from pytensor.graph.fg import FunctionGraph
from pytensor.tensor.elemwise import CAReduce
from support import assert_same, check_lowering, reference

import hlograph
from hlograph import errors

X, Y, M = pt.dvector("x"), pt.dvector("y"), pt.dmatrix("m")
THREE = np.array([0.5, -1.0, 2.0])


def names(program: hlograph.Program) -> tuple[list[str], list[str]]:
    return [a.name for a in program.signature.arguments], [r.name for r in program.signature.results]


def named(variable: pt.TensorVariable, name: str) -> pt.TensorVariable:
    variable.name = name
    return variable


# ---- spellings ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spell",
    [
        lambda z: ([X, Y], [z]),
        lambda z: ((X, Y), (z,)),
        lambda z: [[X, Y], [z]],
        lambda z: [[X, Y], z],
        lambda z: ([X, Y], z),
        lambda z: ((X, Y), z),
        lambda z: z,
        lambda z: [z],
        lambda z: FunctionGraph([X, Y], [z], clone=False),
        lambda z: FunctionGraph([X, Y], [z], clone=True),
        lambda z: pytensor.function([X, Y], z, mode=Mode("py", None)),
        lambda z: pytensor.function([X, Y], [z], mode=Mode("py", "fast_run")),
    ],
)
def test_one_output(spell: object) -> None:
    z = named(X * 2 + Y, "z")
    program = hlograph.emit_stablehlo(spell(z))  # type: ignore[operator]
    assert names(program) == (["x", "y"], ["z"])
    np.testing.assert_array_equal(program.compile()(THREE, THREE), THREE * 3)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_list_of_outputs(count: int) -> None:
    outputs = [named(X * i + Y, f"z{i}") for i in range(count)]
    program = hlograph.emit_stablehlo(outputs)
    assert names(program) == (["x", "y"], [f"z{i}" for i in range(count)])


def test_inputs_of_an_output_come_in_order_of_use_and_shared_variables_last() -> None:
    shared = pytensor.shared(1.0, name="s")
    program = hlograph.emit_stablehlo(pt.exp(shared) * Y + X * Y)
    assert names(program)[0] == ["y", "x", "s"]


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ((X, 3), "outputs are a int"),
        ((X, None), "outputs are a NoneType"),
        ((None, X), "inputs are a NoneType"),
        (([X], [X, 3]), r"outputs hold 3 \(int\)"),
        ((["x"], [X]), r"inputs hold 'x' \(str\)"),
        (([X, X], X), "input x is listed twice"),
        (([pt.as_tensor(1.0)], X), "is a constant and cannot be an input"),
        (([X], [X], [X]), "cannot read a graph from tuple"),
        ({"x": X}, "cannot read a graph from dict"),
        ([X, "y"], "inputs hold|outputs"),
        *((nothing, type(nothing).__name__) for nothing in (3, None, "x", [], (), np.ones(3), ([], []))),
    ],
)
def test_wrong_graphs(graph: object, message: str) -> None:
    with pytest.raises(errors.GraphError, match=message):
        hlograph.emit_stablehlo(graph)


def test_a_missing_input_is_named() -> None:
    unnamed = pt.dmatrix()
    with pytest.raises(errors.MissingInputError) as raised:
        hlograph.emit_stablehlo(([X], [X + Y, named(unnamed.sum() + X, "total")]))
    message = str(raised.value)
    assert "y: " in message
    assert str(unnamed.type) in message
    assert "total" in message
    assert "x: " not in message


def test_inputs_of_other_types_are_refused() -> None:
    key = pytensor.shared(np.random.default_rng(1), name="key")
    with pytest.raises(errors.UnsupportedGraphError, match="key"):
        hlograph.emit_stablehlo(([key], [pt.as_tensor(1.0)]))


# ---- inputs and outputs ---------------------------------------------------------------------------------------------


def test_outputs_of_every_kind() -> None:
    z = named(X + 1, "z")
    constant = pt.as_tensor(np.arange(4.0))
    program = check_lowering([X, Y], [z, X, z, constant, pt.as_tensor(np.int8(3)), X], THREE, THREE[:1])
    assert names(program)[1] == ["z", "x", "z_1", "out3", "out4", "x_1"]


def test_no_outputs() -> None:
    assert hlograph.emit_stablehlo(([X], [])).compile()(THREE) == ()


def test_no_inputs() -> None:
    check_lowering([], [pt.arange(3) * 2, pt.as_tensor(np.float32(1.5))])


def test_unused_inputs_stay() -> None:
    program = check_lowering([Y, X, M], X + 1, THREE[:2], THREE, np.ones((1, 2)))
    assert names(program)[0] == ["y", "x", "m"]


def test_an_intermediate_variable_as_input() -> None:
    middle = named(pt.exp(X), "middle")
    program = hlograph.emit_stablehlo(([middle, X], [middle * 2 + X, middle]))
    assert names(program) == (["middle", "x"], ["out0", "middle"])
    assert "exponential" not in program.text
    np.testing.assert_array_equal(program.compile()(THREE, THREE)[0], THREE * 3)


@pytest.mark.parametrize("given", [0, 1])
def test_one_of_an_ops_outputs_as_input(given: int) -> None:
    parts = pt.split(X * 2, [1, 2], n_splits=2)
    program = hlograph.emit_stablehlo(([X, parts[given]], [parts[1 - given], parts[given]]), dims={"x": (3,)})
    values = np.full((1, 2)[given], 7.0)
    computed = (THREE * 2)[:1] if given else (THREE * 2)[1:]
    for found, expected in zip(program.compile()(THREE, values), (computed, values), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_names_of_inputs() -> None:
    first, second, third, fourth = pt.dvector("a"), pt.dvector("a"), pt.dvector(), pt.dvector("a_1")
    program = hlograph.emit_stablehlo(([first, second, third, fourth], [first + second + third + fourth]))
    assert names(program)[0] == ["a", "a_2", "arg2", "a_1"]
    values = [np.full(2, 10.0**i) for i in range(4)]
    np.testing.assert_array_equal(program.compile()(*values), np.full(2, 1111.0))


@pytest.mark.parametrize("name", ["my x", "x.1", "x[0]", "1x", "é", 'a"b', "a\\b", "min", "n//2", ""])
def test_names_that_are_no_identifiers(name: str, tmp_path: object) -> None:
    """They stay as names; roots are named after the argument's place. A save and a load keep them."""
    vector, count, ends = pt.dvector(name), pt.lscalar(name), pt.lvector(name)
    graph = [vector[:count] + 1, pt.zeros((ends[0], ends[1]))]
    program = hlograph.emit_stablehlo(([vector, count, ends], graph), dims={ends: (2,)})
    if name:
        assert names(program)[0] == [name, f"{name}_1", f"{name}_2"]
    path = program.save(tmp_path / "named.mlir")  # type: ignore[operator]
    for each in (program, hlograph.load(path)):
        first, second = each.compile()(THREE, np.int64(2), np.array([3, 4]))
        np.testing.assert_array_equal(first, THREE[:2] + 1)
        assert second.shape == (3, 4)


# ---- compiled functions, shared variables ---------------------------------------------------------------------------


def graph_of_many() -> tuple[list, list, list]:
    weights = pytensor.shared(np.arange(6.0).reshape(3, 2) / 10, name="weights")
    z = pt.tanh(M @ weights - 0.5)
    loss = (z**2).sum() + pt.log1p(pt.exp(X)).sum()
    return [M, X], [loss, *grad(loss, [weights, M, X]), pt.set_subtensor(X[1:], 0.0) * 2], [np.ones((4, 3)), THREE]


@pytest.mark.parametrize("mode", [None, Mode("py", "fast_run"), Mode("py", "fast_compile"), Mode("py", None)])
def test_compiled_functions(mode: Mode | None) -> None:
    """The default mode is Numba's or C's: fused elementwise ops, in-place ones, BLAS calls."""
    inputs, outputs, values = graph_of_many()
    function = pytensor.function(inputs, outputs, mode=mode)
    reductions = [node.op for node in function.maker.fgraph.apply_nodes if isinstance(node.op, CAReduce)]
    if any(type(op.scalar_op).__name__ == "Composite" for op in reductions):
        pytest.skip("PyTensor 2.38's C mode fuses reductions with what they reduce")
    program = hlograph.emit_stablehlo(function)
    assert names(program)[0] == ["m", "x", "weights"]
    wanted = reference(inputs, outputs, values)
    for results in (program.compile()(*values), program.interpret(*values)):
        for number, (found, expected) in enumerate(zip(results, wanted, strict=True)):
            assert_same(found, expected, rtol=1e-12, label=f"output {number}")


def test_a_compiled_function_that_updates_is_refused() -> None:
    shared = pytensor.shared(0.0, name="s")
    function = pytensor.function([], shared, updates={shared: shared + 1}, mode=Mode("py", None))
    with pytest.raises(errors.UnsupportedGraphError, match="updates shared variables"):
        hlograph.emit_stablehlo(function)


@pytest.mark.parametrize(
    "make",
    [
        lambda z: hlograph.emit_stablehlo(([X], [z])).compile(),
        lambda z: hlograph.function([X], [z]),
        lambda z: hlograph.function([X], [z], rewrite=False),
        lambda z: hlograph.emit_stablehlo(pytensor.function([X], z, mode=Mode("py", "fast_run"))).compile(),
        lambda z: hlograph.emit_stablehlo(FunctionGraph(outputs=[z], clone=False)).compile(),
    ],
    ids=["pair", "function", "unrewritten", "compiled", "fgraph"],
)
def test_shared_variables_are_read_at_each_call(make: object) -> None:
    shared = pytensor.shared(np.arange(3.0), name="s")
    function = make(X + 2 * shared)  # type: ignore[operator]
    assert [a.shared for a in function.program.signature.arguments] == [False, True]
    np.testing.assert_array_equal(function(THREE), THREE + 2 * np.arange(3.0))
    shared.set_value(np.ones(3))
    np.testing.assert_array_equal(function(THREE), THREE + 2)
    np.testing.assert_array_equal(function.program.interpret(THREE)[0], THREE + 2)
    shared.set_value(np.zeros(2))
    np.testing.assert_array_equal(function(THREE[:2]), THREE[:2])
    with pytest.raises(errors.ArgumentShapeError, match="'s'"):
        function(THREE)


def test_a_shared_variable_may_be_an_explicit_input() -> None:
    """It is then an input as any other: the caller gives its value."""
    shared, other = pytensor.shared(np.ones(3), name="s"), pytensor.shared(2.0, name="other")
    program = hlograph.emit_stablehlo(([shared, X], [X * shared * other]))
    assert names(program)[0] == ["s", "x", "other"]
    np.testing.assert_array_equal(program.compile()(THREE, THREE), THREE**2 * 2)


def test_a_saved_program_takes_shared_variables_as_arguments(tmp_path: object) -> None:
    shared = pytensor.shared(np.ones(3), name="s")
    path = hlograph.emit_stablehlo(([X], [X + shared])).save(tmp_path / "shared.mlir")  # type: ignore[operator]
    loaded = hlograph.load(path)
    assert [a.shared for a in loaded.signature.arguments] == [False, True]
    np.testing.assert_array_equal(loaded.compile()(THREE, np.full(3, 5.0)), THREE + 5)


# ---- PyTensor's rewrites --------------------------------------------------------------------------------------------


def test_the_default_is_stable() -> None:
    """`log(sigmoid(x))` at -1000 is -1000, as in PyTensor's compiled modes; the graph as it stands gives -inf."""
    graph = pt.log(pt.sigmoid(X))
    values = np.array([-1000.0, 0.0, 1000.0])
    expected = np.array([-1000.0, -np.log(2), 0.0])
    np.testing.assert_allclose(hlograph.function([X], graph)(values), expected, rtol=1e-15, atol=1e-300)
    assert np.asarray(hlograph.function([X], graph, rewrite=False)(values))[0] == -np.inf
    assert np.asarray(hlograph.emit_stablehlo(([X], [graph])).compile()(values))[0] == -np.inf


@pytest.mark.parametrize("by", ["name", "variable"])
def test_dims_of_a_rewritten_graph(by: str) -> None:
    key = "m" if by == "name" else M
    program = hlograph.function([M], pt.log(pt.sigmoid(M)).sum(0), dims={key: ("rows", 3)}).program
    assert str(program.signature) == "(m: float64[rows, 3]) -> (out0: float64[3])"


def test_rewriting_leaves_the_users_graph_alone() -> None:
    graph = pt.log(pt.sigmoid(X))
    before = pytensor.dprint(graph, file="str")
    hlograph.function([X], graph)
    assert pytensor.dprint(graph, file="str") == before


def test_what_pytensor_compiles_for_another_backend() -> None:
    """Its default mode fuses elementwise ops, indexing and reductions into inner graphs (Numba, since PyTensor 3.3)."""
    x, index = pt.dvector("x"), pt.lvector("index")
    compiled = pytensor.function([x, index], [pt.exp(x[index] * 2) + 1, (pt.sin(x) ** 2).sum()])
    for found, expected in zip(
        hlograph.emit_stablehlo(compiled).compile()(THREE, np.array([2, 0])),
        [np.exp(THREE[[2, 0]] * 2) + 1, (np.sin(THREE) ** 2).sum()],
        strict=True,
    ):
        assert_same(found, np.asarray(expected), rtol=1e-12)
