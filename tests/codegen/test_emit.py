"""The walk: dims of inputs, constraints, locations, long chains, sharing."""

from __future__ import annotations

import gc
import re
import sys

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.builders import OpFromGraph
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op

import hlograph
from hlograph import builder as hlo
from hlograph import errors
from hlograph.codegen.graph import order

X, Y, M = pt.dvector("x"), pt.dvector("y"), pt.dmatrix("m")


def emit(inputs: list, outputs: list, **options: object) -> hlograph.Program:
    return hlograph.emit_stablehlo((inputs, outputs), **options)  # type: ignore[arg-type]


# ---- dims -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dims", "expected"),
    [
        (None, "(m: float64[m_0, m_1], x: float64[x_0])"),
        ({"m": ("n", 8)}, "(m: float64[n, 8], x: float64[x_0])"),
        ({M: ("n", 8)}, "(m: float64[n, 8], x: float64[x_0])"),
        ({"m": (None, "k"), "x": "k"}, "(m: float64[m_0, k], x: float64[k])"),
        ({"m": ("n", "n"), X: ("n",)}, "(m: float64[n, n], x: float64[n])"),
        ({"m": ("n", np.int64(3)), "x": 5}, "(m: float64[n, 3], x: float64[5])"),
        ({"m": ("n", "2*n"), "x": ("n + 1",)}, "(m: float64[n, 2*n], x: float64[n + 1])"),
        ({"m": ("rows.count", 2)}, "(m: float64[rows.count, 2], x: float64[x_0])"),
        ({"m": [0, 1]}, "(m: float64[0, 1], x: float64[x_0])"),
    ],
)
def test_dims_name_and_fix_axes(dims: dict | None, expected: str) -> None:
    program = emit([M, X], [M, X], dims=dims)
    assert str(program.signature).startswith(f"{expected} -> ")


def test_the_same_name_is_the_same_size() -> None:
    function = emit([M, X], [M.sum() + X.sum()], dims={"m": ("n", "2*n + 1"), "x": ("n",)}).compile()
    assert float(function(np.ones((2, 5)), np.ones(2))) == 12.0
    with pytest.raises(errors.ArgumentShapeError, match=r"argument 'm', axis 1: expected size 5 = 2\*n \+ 1"):
        function(np.ones((2, 4)), np.ones(2))
    with pytest.raises(errors.ArgumentShapeError, match="argument 'x', axis 0: expected size 2 = n"):
        function(np.ones((2, 5)), np.ones(3))


def test_dims_of_a_name_that_two_inputs_have() -> None:
    first, second = pt.dvector("a"), pt.dvector("a")
    program = emit([first, second], [first], dims={second: ("n",)})
    assert [str(a) for a in program.signature.arguments] == ["a: float64[a_0]", "a_1: float64[n]"]


@pytest.mark.parametrize(
    ("dims", "message"),
    [
        ({"z": ("n",)}, r"dims names 'z', which is not an input \(inputs: m, x\)"),
        ({pt.dvector("z"): ("n",)}, "dims names z, which is not an input"),
        ({"m": ("n",)}, "dims of 'm' has 1 entries, but the input has 2 axes"),
        ({"x": ("n", "k")}, "dims of 'x' has 2 entries, but the input has 1 axes"),
        ({"x": (-1,)}, "dims of 'x', axis 0: size -1 is negative"),
        ({"x": (1.5,)}, "dims of 'x', axis 0: expected a name or a size, got 1.5"),
        ({"x": (True,)}, "dims of 'x', axis 0: expected a name or a size, got True"),
        ({"x": ("n +",)}, r"dims: 'n \+', column 4"),
        ({"x": ("",)}, "dims: '', column 1"),
        ({"x": ("2*n",)}, "size 'n', used in dims of 'x', is not the size of any axis by itself"),
    ],
)
def test_wrong_dims(dims: dict, message: str) -> None:
    with pytest.raises(errors.GraphError, match=message):
        emit([M, X], [M, X], dims=dims)


def test_dims_against_the_type() -> None:
    x = pt.tensor("x", dtype="float64", shape=(3, None))
    with pytest.raises(errors.GraphError, match="dims of 'x', axis 0 says 4, but the input's type has 3"):
        emit([x], [x], dims={"x": (4, None)})


def test_sizes_that_must_agree_are_a_constraint() -> None:
    z = X + Y
    z.name = "total"
    program = emit([X, Y], [z])
    assert [str(c) for c in program.signature.constraints] == ["x_0 == y_0"]
    assert "node 'total'" in program.signature.constraints[0].where
    with pytest.raises(errors.ArgumentShapeError, match=r"x_0 == y_0, got x_0 = 2, y_0 = 3.*node 'total'"):
        program.compile()(np.ones(2), np.ones(3))


def test_integer_inputs_that_are_sizes() -> None:
    rows, shape = pt.lscalar("rows"), pt.lvector("shape")
    outputs = [pt.zeros((rows, shape[1])), X.reshape(shape, ndim=2)]
    program = emit([rows, shape, X], outputs, dims={"shape": (2,)})
    assert [(r.name, r.kind) for r in program.signature.roots] == [
        ("x_0", "size"), ("rows", "value"), ("shape_0", "value"), ("shape_1", "value")
    ]  # fmt: skip
    first, second = program.compile()(np.int64(2), np.array([3, 4]), np.arange(12.0))
    assert first.shape == (2, 4)
    np.testing.assert_array_equal(second, np.arange(12.0).reshape(3, 4))


def test_an_integer_input_that_is_no_size_is_none() -> None:
    n = pt.lscalar("n")
    assert emit([n, X], [X * n]).signature.value_roots == ()


# ---- locations ------------------------------------------------------------------------------------------------------


def test_locations_carry_the_graphs_names() -> None:
    hidden, result = pt.tanh(X), None
    hidden.name = "hidden layer"
    result = hidden.sum()
    result.name = 'the "result"'
    text = emit([X], [result]).to_text(locations=True)
    references = dict(re.findall(r"^(#loc\d*) = loc\((.*)\)$", text, re.MULTILINE))
    used = {
        op: references[re.search(rf"stablehlo\.{op}.*loc\((#loc\d*)\)", text)[1]]  # type: ignore[index]
        for op in ("tanh", "reduce")
    }
    assert used == {"tanh": '"hidden layer"', "reduce": '"the \\22result\\22"'}


# ---- the walk -------------------------------------------------------------------------------------------------------


def test_a_chain_deeper_than_the_recursion_limit() -> None:
    length = 4000
    y = X
    for number in range(length):
        y = (pt.exp, pt.tanh)[number % 2].make_node(y).outputs[0]
    limit = sys.getrecursionlimit()  # PyTensor raises it to 10,000, and such a chain would take seconds to build
    sys.setrecursionlimit(1000)
    try:
        counts = emit([X], [y]).op_counts()
    finally:
        sys.setrecursionlimit(limit)
    assert counts["stablehlo.exponential"] == counts["stablehlo.tanh"] == length // 2


def test_equal_nodes_are_emitted_once() -> None:
    outputs = [pt.exp(X / Y) + pt.exp(X / Y), X / Y]
    counts = emit([X, Y], outputs).op_counts()
    assert counts["stablehlo.divide"] == 1
    assert counts["stablehlo.exponential"] == 1


def test_the_same_graph_gives_the_same_text() -> None:
    matrix, vector = pt.dmatrix("m"), pt.dvector("v")
    first, second = (emit([matrix, vector], [pt.tanh(matrix @ vector) + pt.linalg.det(matrix)]) for _ in range(2))
    assert first.text == second.text


def test_names_inside_inner_graphs_do_not_leak_out() -> None:
    """A constraint that an inner graph adds says where; what comes after it says its own place."""
    a, b = pt.dvector("a"), pt.dvector("b")
    inner = a * b
    inner.name = "inner product"
    op = OpFromGraph([a, b], [inner])
    outer = op(X, X) + Y
    outer.name = "outer sum"
    program = emit([X, Y], [outer])
    (constraint,) = program.signature.constraints
    assert "node 'outer sum'" in constraint.where


def test_a_failed_emission_leaves_the_graph_and_the_collector_alone() -> None:
    assert gc.isenabled()
    with pytest.raises(errors.ArgumentShapeError):
        emit([X, Y], [X + Y], dims={"x": (3,), "y": (4,)})
    assert gc.isenabled()
    before = pytensor.dprint(X + Y, file="str")
    np.testing.assert_array_equal(emit([X, Y], [X + Y]).compile()(np.ones(2), np.ones(2)), [2.0, 2.0])
    assert pytensor.dprint(X + Y, file="str") == before


# ---- the order of the walk: operands first, each node once, known variables and finished nodes left out --------------


def test_operands_come_first_from_left_to_right_and_once() -> None:
    x, y = pt.vectors("x", "y")
    left, right = pt.exp(x), pt.sin(y)
    both = left * right
    out = pt.concatenate([both, left])
    found = order([out, right])
    assert found.index(left.owner) < found.index(right.owner) < found.index(both.owner) < found.index(out.owner)
    assert len(found) == len(set(found))
    assert found[-1] is out.owner


def test_the_walk_stops_at_known_variables_and_finished_nodes() -> None:
    x = pt.vector("x")
    a = pt.exp(x)
    b = pt.sin(a)
    c = pt.tanh(b)
    assert order([c], {b}) == [c.owner]
    assert order([c], (), {b.owner}) == [c.owner]
    assert order([c], {c}) == []
    assert order([x]) == []


# ---- what rules give -------------------------------------------------------------------------------------------------


class Halved(Op):
    """An op of somebody's, with two outputs."""

    __props__ = ()

    def make_node(self, x):
        return Apply(self, [x], [x.type(), pt.lscalar()])

    def perform(self, node, inputs, outputs):
        outputs[0][0], outputs[1][0] = inputs[0] / 2, np.asarray(2)


def rule_of(give):
    """A rule for it, registered for one test."""

    def halve(ctx, node, x):
        return give(ctx, x)

    return halve


@pytest.mark.parametrize(
    ("give", "message"),
    [
        (lambda ctx, x: (x, ctx.constant(2, "int32")), r"gives int32\[\] for two of type .*int64"),
        (
            lambda ctx, x: (hlo.reduce_monoid(x, [0], "add"), ctx.constant(2, "int64")),
            r"gives float64\[\] for an output of type",
        ),
        (lambda ctx, x: x, "gives 1 results for 2 outputs"),
    ],
)
def test_a_rule_that_gives_something_else_is_named(give, message) -> None:
    hlograph.builder.lowers(Halved)(rule_of(give))
    x, two = Halved()(X)
    two.name = "two"
    with pytest.raises(errors.LoweringError, match=rf"the rule halve \(test_emit.py:\d+\) {message}.*Halved"):
        emit([X], [x * two])
