"""Programs that call Python: ops that are Python, and, where it is asked for, ops without a rule."""

import threading

import jax
import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor import typed_list as lists
from pytensor.compile.mode import Mode
from pytensor.compile.ops import FromFunctionOp
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.printing import Print

import hlograph
import hlograph.pytensor
from hlograph.errors import DeviceError, UnsupportedGraphError, UnsupportedOpError

try:
    from pytensor.conditional.op import ifelse
except ImportError:  # before PyTensor 3.3
    from pytensor.ifelse import ifelse

X, K, TABLE = pt.dvector("x"), pt.dscalar("k"), pt.dmatrix("table")
THREE = np.array([1.0, -2.0, 3.0])
GRID = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0], [4.0, 5.0, 0.0]])
PYTHON = Mode("vm", None)
POLICIES = [{"policy": "exact"}, {"policy": "padded"}, {"policy": "padded", "outputs": "numpy"}]


def of(function, *types, shapes=lambda *given: [given[-1][0]]):
    """A Python function as an op; what it gives is like the last of the types, and by default like its first input.

    What says shapes gets the graph, too, before PyTensor 3.3.
    """
    return FromFunctionOp(function, list(types[:-1]), [types[-1]], shapes)


def wanted(inputs, outputs, *values):
    return pytensor.function(inputs, outputs, mode=PYTHON)(*values)


class Scaled(Op):
    """A user's op: `perform`, shapes, a gradient."""

    __props__ = ("by",)

    def __init__(self, by):
        self.by = by

    def make_node(self, x):
        x = pt.as_tensor(x)
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, outputs):
        outputs[0][0] = self.by * inputs[0]

    def infer_shape(self, fgraph, node, shapes):
        return shapes

    def pullback(self, inputs, outputs, cotangents):
        return [Scaled(self.by)(cotangents[0])]

    def grad(self, inputs, cotangents):  # its name before PyTensor 3
        return [Scaled(self.by)(cotangents[0])]


def scanned(step, **options):
    return pytensor.scan(step, outputs_info=[pt.zeros((), "float64")], sequences=[X], return_updates=False, **options)


def totals():
    return scanned(lambda x, total: Print("total")(total + x))


PRINTS = {
    "value and attribute": ([X], lambda: [Print("hello", attrs=("__str__", "shape"))(X * 2) + 1], (THREE,)),
    "in order": ([X], lambda: [Print("c")(Print("b")(Print("a")(X) + 1) + 1)], (THREE,)),
    "steps of a loop": ([X], lambda: [totals().sum()], (THREE,)),
    "after a loop": ([X], lambda: [Print("end")(totals()[-1]) * 2], (THREE,)),
    "the branch that is taken": ([K], lambda: [ifelse(K > 0, Print("yes")(K * 2), Print("no")(K - 1))], (1.5,)),
    "the other branch": ([K], lambda: [ifelse(K > 0, Print("yes")(K * 2), Print("no")(K - 1))], (-1.5,)),
    "a branch in a loop": ([X], lambda: [scanned(lambda x, s: s + ifelse(x > 0, Print("up")(x), x)).sum()], (THREE,)),
    "gradient": ([X], lambda: [pytensor.grad((Print("x")(X) ** 2).sum(), X)], (THREE,)),
    "no elements": ([X], lambda: [Print("none")(X).sum()], (THREE[:0],)),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("what", PRINTS)
def test_prints_are_pytensors(what, capsys):
    inputs, outputs, values = PRINTS[what]
    outputs = outputs()
    expected = wanted(inputs, outputs, *values)
    printed = capsys.readouterr().out
    assert printed
    functions = [hlograph.function(inputs, outputs, **options) for options in POLICIES[:2]]
    functions.append(pytensor.function(inputs, outputs, mode="STABLEHLO"))
    for function in functions:
        for _ in range(2):
            found = function(*values)
            np.testing.assert_allclose(found[0] if isinstance(found, list) else found, expected[0], rtol=1e-6)
            assert capsys.readouterr().out == printed


# ---- values ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", POLICIES, ids=str)
def test_values_are_pytensors(options):
    """Scalars, tables, several dtypes; sizes that are an operand's, static, and those of data."""
    integers = pt.lvector("integers")
    outer = of(np.outer, pt.dvector, pt.dvector, pt.dmatrix, shapes=lambda *given: [(given[-1][0][0], given[-1][1][0])])
    flags = of(lambda a: a > 0, pt.dvector, pt.TensorType("bool", (None,)))
    halves = of(lambda a: (a // 2).astype("int32"), pt.lvector, pt.ivector)
    total = of(lambda a: np.asarray(a.sum()), pt.dvector, pt.dscalar, shapes=None)
    transform = of(np.fft.fft, pt.dvector, pt.TensorType("complex128", (None,)))
    positive = X[X > 0]
    outputs = [outer(X, X[1:]).sum(0), flags(X), halves(integers), total(positive) + pt.exp(X).sum(), transform(X).real]
    outputs += [Scaled(3.0)(positive).sum(), Scaled(2.0)(X) + X]
    function = hlograph.function([X, integers], outputs, **options)
    for count in (3, 1, 5):
        values = (np.arange(count) - 1.5, np.arange(count + 1))
        for found, expected in zip(function(*values), wanted([X, integers], outputs, *values), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12)
            assert np.asarray(found).dtype == expected.dtype


def test_solvers_of_scipy():
    from pytensor.tensor.optimize import minimize, root

    start, to = pt.dvector("start"), pt.dvector("to")
    found, _ = minimize(((start - to) ** 2).sum(), start, method="BFGS")
    solved, good = root(start**3 - to, start)
    outputs = [found, solved, good, pytensor.grad(found.sum(), to)]
    values = np.full(2, 0.5), np.array([1.0, 8.0])
    with pytensor.config.change_flags(mode="FAST_COMPILE"):
        expected = wanted([start, to], outputs, *values)
        results = hlograph.function([start, to], outputs)(*values)
    for result, own in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, own, rtol=1e-5)


def test_transformations():
    function = hlograph.function([X], (Scaled(3.0)(X) ** 2).sum())
    gradient = 18 * THREE
    np.testing.assert_allclose(jax.grad(function)(THREE), gradient, rtol=1e-6)
    np.testing.assert_allclose(jax.jit(jax.grad(function))(THREE), gradient, rtol=1e-6)
    batch = np.stack([THREE, THREE + 1])
    expected = [(9 * row**2).sum() for row in batch]
    np.testing.assert_allclose(jax.vmap(function)(batch), expected, rtol=1e-6)
    np.testing.assert_allclose(jax.jit(jax.vmap(function))(batch), expected, rtol=1e-6)


# ---- errors ----------------------------------------------------------------------------------------------------------


class OwnError(Exception):
    """An error that hlograph does not know."""


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    "error", [ValueError("odd"), KeyError("missing"), IndexError("far"), OwnError("own")], ids=repr
)
@pytest.mark.parametrize("options", POLICIES, ids=str)
def test_errors_come_out_as_themselves(error, options):
    calls = []

    def fails(a):
        calls.append(1)
        if a[0] > 0:
            raise error
        return a

    function = hlograph.function([X], of(fails, pt.dvector, pt.dvector)(pt.exp(X) - 2) + 1, **options)
    for _ in range(2):
        with pytest.raises(type(error)) as raised:
            function(np.full(3, 1.0))
        assert raised.value is error
        assert any("fails" in note for note in raised.value.__notes__)
        np.testing.assert_array_equal(function(np.zeros(3)), np.zeros(3))
    assert len(calls) == 4
    with pytest.raises(type(error)):
        jax.vmap(function)(np.ones((2, 3)))
    with pytest.raises(Exception, match=f"{type(error).__name__}.*{error.args[0]}"):
        jax.block_until_ready(jax.jit(lambda x: function(x) * 2)(np.ones(3)))


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (np.zeros(4), r"shape \(4,\), expected \(3,\)"),
        (np.zeros((3, 1)), r"shape \(3, 1\)"),
        (np.zeros(3, "f4"), "float32, expected float64"),
        (None, "was not given"),
    ],
    ids=["size", "rank", "dtype", "nothing"],
)
def test_results_of_another_type_are_refused(result, message):
    function = hlograph.function([X], of(lambda a: result, pt.dvector, pt.dvector)(X))
    with pytest.raises((TypeError, ValueError), match=message):
        function(THREE)


def test_the_mode_finds_shapes_in_a_call():
    """As PyTensor runs it, whatever its shape; where it cannot be had, it is refused when it is compiled."""
    square, chosen = (
        of(np.square, pt.dvector, pt.dvector, shapes=None),
        of(np.unique, pt.dvector, pt.dvector, shapes=None),
    )
    graph = pt.exp(chosen(square(X))) * 2
    wanted_function = pytensor.function([X], graph, mode=Mode("py", None))
    for mode in ("STABLEHLO", hlograph.Mode(on_unsupported="host")):
        function = pytensor.function([X], graph, mode=mode)
        for values in ([1.0, -1, 2], [1.0, 2, 3], [1.0, -1, 1], [0.5], [], [1.0, -1, 2]):
            np.testing.assert_allclose(function(np.array(values)), wanted_function(np.array(values)), 1e-12)
    steps = pytensor.scan(lambda x: square(x * X).sum(), sequences=X, return_updates=False)
    drawn = square(walk()[0])
    for refused in (steps, drawn):
        with pytest.raises(UnsupportedOpError, match="is known only then"):
            pytensor.function([X], refused, mode="STABLEHLO", on_unused_input="ignore")


def walk():
    """A loop whose steps draw."""
    rng = pytensor.shared(np.random.default_rng(0))

    def step(x, rng):
        return [*pt.random.normal(x, rng=rng).owner.outputs[::-1]]

    return pytensor.scan(step, outputs_info=[pt.zeros((), "float64"), rng], n_steps=3, return_updates=False)


def test_shapes_that_follow_from_draws_are_found_in_a_call():
    """With the draws that the program makes; generators are updated as without Python."""
    chosen = of(lambda a: a[a > 0], pt.dvector, pt.dvector, shapes=None)
    rng = pytensor.shared(np.random.default_rng(0))
    following, draw = pt.random.normal(size=5, rng=rng).owner.outputs
    more = pt.random.normal(size=2, rng=following).owner.outputs[1]
    found = []
    for outputs in ([draw, more], [draw, more, chosen(draw) * 2]):
        rng.set_value(np.random.default_rng(0))
        function = pytensor.function([], outputs, updates={rng: following}, mode="STABLEHLO")
        found.append([function() for _ in range(4)])
    lengths = set()
    for (plain, beside), (same, beside_too, kept) in zip(*found, strict=True):
        np.testing.assert_allclose(same, plain, 1e-12)
        np.testing.assert_allclose(beside_too, beside, 1e-12)
        np.testing.assert_allclose(kept, 2 * plain[plain > 0], 1e-12)
        lengths.add(len(kept))
    assert len(lengths) > 1


def test_a_shape_that_is_not_as_said_in_a_later_call():
    """When calls take routes already; updates happen once."""
    count = pytensor.shared(0)
    liar = of(lambda a: a if a.sum() < 3 else a[:1], pt.dvector, pt.dvector)
    function = pytensor.function([X], pt.exp(liar(X)), updates={count: count + 1}, mode="STABLEHLO")
    for number, values in enumerate(([1.0, 1], [1.0, 0], [0.0, 1], [2.0, 2], [1.0, 1], [0.0, 0], [3.0, 5])):
        given = np.array(values)
        np.testing.assert_allclose(function(given), np.exp(given if given.sum() < 3 else given[:1]), 1e-14)
        assert count.get_value() == number + 1


def test_an_error_while_shapes_are_found_is_the_functions_own():
    def fails(a):
        raise TypeError("mine")

    function = pytensor.function([X], of(fails, pt.dvector, pt.dvector, shapes=None)(X), mode="STABLEHLO")
    with pytest.raises(TypeError, match="mine"):
        function(THREE)


def test_what_is_refused_and_why(tmp_path):
    """Also a program that would run in two parts, both of which would call Python."""
    program = hlograph.emit_stablehlo(([X], [Print("x")(X)]))
    unknown = of(np.unique, pt.dvector, pt.dvector, shapes=None)(X)
    counts = of(lambda a: a.astype("int64"), pt.dvector, pt.lvector)(X)
    item = lists.getitem(lists.make_list([TABLE, TABLE * 2]), 1)
    here, gone = "calls Python functions of this process", hlograph.Program.parse(program.text, allow=["hlograph.host"])
    printed = jax.jit(hlograph.function([X], Print("x")(X)))
    for error, said, run in (
        (UnsupportedGraphError, here, lambda: program.save(tmp_path / "x.mlir")),
        (UnsupportedGraphError, here, lambda: program.interpret(THREE)),
        (UnsupportedGraphError, here, program.to_jax_export),
        (UnsupportedGraphError, here, lambda: program.compile(topology=jax.devices())),
        (UnsupportedGraphError, "which is not here", lambda: gone.compile()(THREE)),
        (UnsupportedGraphError, "would be called twice", lambda: hlograph.function([X], pt.repeat(X, counts))(THREE)),
        (UnsupportedOpError, "size of axis 0 of result 0", lambda: hlograph.emit_stablehlo(([X], [unknown]))),
        (
            UnsupportedGraphError,
            "computed in Python and cannot come back",
            lambda: hlograph.function([TABLE], item, on_unsupported="host"),
        ),
        (ValueError, "on_unsupported", lambda: hlograph.function([X], X, on_unsupported="python")),
        ((DeviceError, NotImplementedError), "Python", lambda: jax.export.export(printed, platforms=["tpu"])(THREE)),
    ):
        with pytest.raises(error, match=said):
            run()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("outputs", ["jax", "numpy"])
def test_python_may_call_back(outputs):
    """Another function, and, first of all calls, the same one; in several threads."""
    other = hlograph.function([X], pt.exp(X), outputs=outputs)
    inner = of(lambda a: np.array(other(a)), pt.dvector, pt.dvector)
    function = hlograph.function([X], inner(X) * 2, outputs=outputs)
    factorial = of(lambda a: np.asarray(a * recursive(a - 1) if a > 1 else a), pt.dscalar, pt.dscalar, shapes=None)
    recursive = hlograph.function([K], factorial(K), outputs=outputs)
    failed = []

    def work(number):
        for size in (number % 3 + 1, 4):
            x = np.full(size, 0.1 * number)
            failed.extend(abs(np.asarray(function(x)) - 2 * np.exp(x)) > 1e-6)
        failed.append(abs(float(recursive(5.0)) - 120) > 1e-6)

    threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert not any(failed)


# ---- ops without a rule ----------------------------------------------------------------------------------------------


def graphs_of_lists():
    """Typed lists of PyTensor, which no program can hold."""
    pair = lists.make_list([TABLE, TABLE * 2])
    return {
        "an item": lists.getitem(pair, 1).sum() + X.sum(),
        "a length": lists.length(lists.append(pair, TABLE)) * X.sum(),
        "in a loop": pytensor.scan(
            lambda row, m: lists.getitem(lists.make_list([m, m + row]), 1).sum(),
            sequences=[TABLE],
            non_sequences=[TABLE + 1],
            return_updates=False,
        )
        * X.sum(),
    }


@pytest.mark.parametrize("what", ["an item", "a length", "in a loop"])
def test_ops_without_a_rule_by_the_library(what):
    """Lists never enter the program: what makes and uses them is one call."""
    graph = graphs_of_lists()[what]
    with pytest.raises(UnsupportedOpError, match='on_unsupported="host"'):
        hlograph.emit_stablehlo(([TABLE, X], [graph]))
    (expected,) = wanted([TABLE, X], [graph], GRID, GRID[0])
    for options in POLICIES[:2]:
        function = hlograph.function([TABLE, X], graph, on_unsupported="host", **options)
        np.testing.assert_allclose(function(GRID, GRID[0]), expected)
    np.testing.assert_allclose(jax.jit(function)(GRID, GRID[0]), expected, rtol=1e-6)
    mode = hlograph.Mode(on_unsupported="host")
    found = pytensor.function([TABLE, X], graph, mode=mode, on_unused_input="ignore")(GRID, GRID[0])
    np.testing.assert_allclose(found, expected)


def test_explain_says_what_crosses_and_why():
    listed = graphs_of_lists()["an item"] + scanned(lambda x, total: Print("total")(total + x))[-1]
    twice = Scaled(2.0)(Scaled(3.0)(X * 2)).sum()
    explanation = hlograph.explain(hlograph.function([TABLE, X], listed + twice, on_unsupported="host"))
    assert "Python: 3 calls (each time about 48 us besides their own work" in explanation.text
    lines = [" ".join(line.split()) for line in explanation.text.splitlines() if "->" in line]
    begins = {
        "MakeList, GetItem, Sum": ("float64[]", "it needs what stays in Python: "),
        "Print{message='total'": ("float64[]", "it is Python"),
        "Scaled{by=3.0}, then Scaled{by=2.0}": ("float64[x_0]", "16*x_0 bytes it is an op of the user's own"),
    }
    for begin, (given, why) in begins.items():
        (line,) = [line for line in lines if line.startswith(begin)]
        assert f"-> {given} " in line
        assert why in line
    assert any(" 16 bytes " in line and "body" in line for line in lines)
    assert "16*x_0 bytes" in explanation.html


def test_functions_that_feed_each_other_cross_once():
    """What one of them writes to, keeps, or raises, is its own."""
    kept = []

    def writes(x):
        kept.append(x)
        x *= 2
        if x.max() > 100:
            raise ArithmeticError("too large")
        return x

    op, shape = of(writes, pt.dvector, pt.dvector), (3,)
    first = op(X + 1)
    second = op(first)
    outputs = [first, second, op(second).sum(), pt.sin(first)]
    program = hlograph.emit_stablehlo(([X], outputs), dims={"x": shape})
    assert program.optimize(["merge_host_calls"]).text.count("custom_call") == 1
    for options in POLICIES:
        fn = hlograph.function([X], outputs, **options)
        one, two, total, sine = fn(THREE)
        np.testing.assert_array_equal(one, (THREE + 1) * 2)
        np.testing.assert_array_equal(two, (THREE + 1) * 4)
        assert total == ((THREE + 1) * 8).sum()
        np.testing.assert_allclose(sine, np.sin((THREE + 1) * 2), rtol=1e-12)
        with pytest.raises(ArithmeticError, match="too large"):
            fn(THREE * 10)
    assert len({id(x) for x in kept[:3]}) == 3


def test_shapes_may_say_the_value_of_an_argument():
    class Repeated(Op):
        __props__ = ()

        def make_node(self, x, count):
            return Apply(self, [x, pt.as_tensor(count)], [pt.dvector()])

        def perform(self, node, inputs, outputs):
            outputs[0][0] = np.repeat(inputs[0], inputs[1])

        def infer_shape(self, fgraph, node, shapes):
            return [(node.inputs[1],)]

    count, value = pt.lscalar("count"), pt.dscalar("value")
    outputs = [Repeated()(value, 3), Repeated()(value, count), Repeated()(value, X.shape[0] + 1)]
    for options in POLICIES:
        found = hlograph.function([value, count, X], outputs, **options)(2.5, 2, THREE)
        for result, size in zip(found, (3, 2, 4), strict=True):
            np.testing.assert_array_equal(result, np.full(size, 2.5))
