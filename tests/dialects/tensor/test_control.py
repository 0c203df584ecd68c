"""IfElse, checks, inner graphs, copies, Blockwise: what is evaluated, what is raised, what is refused."""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytensor.tensor as pt
import pytest
from pytensor.compile.builders import OpFromGraph
from pytensor.compile.ops import DeepCopyOp, ViewOp
from pytensor.gradient import grad
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.ifelse import ifelse
from pytensor.raise_op import Assert, CheckAndRaise
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.functional import vectorize
from support import Case, cases, check_lowering

import hlograph
from hlograph import errors
from hlograph.dialects.frontend import emit_graph

C = pt.bscalar("c")
X, Y = pt.dvector("x"), pt.dvector("y")
THREE = np.array([0.5, -1.0, 2.0])


def emit(inputs: list, outputs: list, **options: object) -> hlograph.Program:
    return hlograph.emit_stablehlo((inputs, outputs), **options)  # type: ignore[arg-type]


def branches(program: hlograph.Program) -> tuple[str, list[str]]:
    """The text outside every `stablehlo.if`, and the text of each branch of the only one."""
    match = re.search(r'"stablehlo\.if"\(%\w+\) \(\{(.*?)\n    \}, \{(.*?)\n    \}\)', program.text, re.DOTALL)
    assert match is not None, program.text
    return program.text.replace(match[0], ""), [match[1], match[2]]


# ---- IfElse ---------------------------------------------------------------------------------------------------------


@cases(sampled=3)
def test_ifelse() -> Iterator[Case]:
    condition, vector, number = pt.dscalar("condition"), pt.as_tensor(np.arange(3.0)), pt.as_tensor(np.float64(1.5))
    for value in (0.0, 0.5, -2.0, np.nan):
        yield f"a number: {value}", [condition, X], ifelse(condition, X, X * 2), [value, THREE]
    a, common, chain = pt.dvector("a"), pt.sin(Y), X
    inner = OpFromGraph([a], [ifelse(pt.gt(a.sum(), 0), pt.exp(a), a)])
    nested = ifelse(pt.gt(C, 1), pt.exp(X) + common, ifelse(pt.gt(C, 2), X, pt.tanh(X) * common))
    first, second, third = ifelse(C, [pt.exp(X), X.sum(), X > 0], [pt.tanh(X), X.prod(), X < 0])
    for level in range(8):
        chain = ifelse(pt.gt(C, level), pt.tanh(chain) + level, chain * 0.5)
    graphs = {
        "two": ifelse(C, pt.exp(X), pt.tanh(X)),
        "inputs and constants": [ifelse(C, X, vector), ifelse(C, number, X.sum()), ifelse(C, X, X)],
        "several outputs": [third, first, second],
        "gradient": grad(ifelse(C, pt.exp(X), X**2).sum(), X),
        "inner graph": ifelse(C, inner(X) + inner(-X), inner(X * 2)),
        "chain": chain,
    }
    for value in (0, 1, 9):
        for name, outputs in graphs.items():
            yield f"{name}, {value}", [C, X], outputs, [value, THREE]
        outputs = [ifelse(C, nested, common + 1), ifelse(C, X, nested)]
        yield f"nested, {value}", [C, X, Y], outputs, [value, THREE, THREE + 1]


def test_only_the_taken_branch_holds_its_nodes() -> None:
    shared, used = pt.arcsinh(X), pt.cos(X)
    graph = ifelse(C, pt.exp(X) + shared, pt.tanh(X) * shared + used)
    outside, (then, otherwise) = branches(emit([C, X], [graph, used]))
    assert "exponential " in then
    assert "tanh" in otherwise
    assert "exponential " not in outside + otherwise
    assert "tanh" not in outside + then
    # Needed by both branches, or outside too: once, before the `if`.
    assert outside.count("chlo.asinh") == 1
    assert outside.count("stablehlo.cosine") == 1
    assert "asinh" not in then + otherwise
    assert "cosine" not in then + otherwise
    for taken in (0, 1):
        check_lowering([C, X], [graph, used], taken, THREE)


@pytest.mark.parametrize(
    ("first", "inputs", "values", "message"),
    [
        (pt.exp(Y), [Y], [THREE], r"x_0 == y_0|y_0 == x_0.*x_0 = 2, y_0 = 3.*result 0 of the branches.*IfElse"),
        (pt.zeros(3), [], [], r"x_0 == 3|3 == x_0"),
    ],
)
def test_branches_of_two_sizes_are_refused_at_the_call(first: Any, inputs: list, values: list, message: str) -> None:
    program = check_lowering([C, X, *inputs], ifelse(C, first, pt.tanh(X)), 0, THREE, *values)
    with pytest.raises(errors.ArgumentShapeError, match=message):
        program.interpret(np.int8(0), THREE[:2], *values)


@pytest.mark.parametrize("taken", [0, 1])
def test_branches_of_different_sizes(taken: int) -> None:
    """Known to differ, or allowed to."""
    two, three = pt.tensor("two", shape=(2, None)), pt.tensor("three", shape=(3, None))
    chosen = ifelse(C, two, three)
    values = np.arange(8.0).reshape(2, 4), -np.arange(12.0).reshape(3, 4)
    outputs = [chosen * 2, chosen.sum(0), chosen.shape[0], grad((chosen**2).sum(), two)]
    check_lowering([C, two, three], outputs, taken, *values)
    with pytest.raises(errors.UnsupportedGraphError, match="cannot leave it"):
        emit([C, two, three], [ifelse(C, two, ifelse(C + 1, three, two))])


def test_branches_that_may_have_different_sizes() -> None:
    x, y = pt.dvector("x"), pt.dvector("y")
    graph = [C, x, y], [ifelse(C, x[1:], y) * 2.0]
    program = emit_graph(graph, own_branch_sizes=True)
    for run in (hlograph.function(*graph), lambda *values: program.interpret(*values)[0]):
        np.testing.assert_array_equal(run(np.int8(1), THREE, THREE), THREE[1:] * 2)
        np.testing.assert_array_equal(run(np.int8(0), THREE, THREE), THREE * 2)
    with pytest.raises(errors.BranchSizeError, match="result 0 of the branches"):
        hlograph.emit_stablehlo(graph).interpret(np.int8(0), THREE, THREE)


# ---- checks ---------------------------------------------------------------------------------------------------------


class OutOfRange(ValueError):
    """An exception of the test's own."""


class Outer:
    class Inner(KeyError):
        """An exception inside a class."""


@pytest.mark.parametrize("exception", [ValueError, AssertionError, IndexError, np.linalg.LinAlgError, OutOfRange])
def test_check_and_raise(exception: type[Exception]) -> None:
    message = 'all must be positive: "quoted", ünïcode,\nsecond line'
    program = emit([X], [CheckAndRaise(exception, message)(X, (X > 0).all()) * 2])
    function = program.compile()
    np.testing.assert_array_equal(function(np.abs(THREE)), np.abs(THREE) * 2)
    with pytest.raises(exception) as raised:
        function(THREE)
    assert type(raised.value) is exception
    assert str(raised.value) == message
    with pytest.raises(exception, match="all must be positive"):
        program.interpret(THREE)


def test_a_class_that_hides_a_builtin_one() -> None:
    from hlograph.dialects.tensor.control import exception_name

    hidden = type("ValueError", (OutOfRange,), {"__module__": __name__})
    assert exception_name(hidden) == f"{__name__}.ValueError(ValueError)"
    assert exception_name(ValueError) == "ValueError"


def checked(graphs: dict) -> Any:
    """Graphs with checks, each with calls of (values, the exception and its message, or None)."""
    return pytest.mark.parametrize(("inputs", "outputs", "calls"), graphs.values(), ids=graphs)


def positive(x: Any, message: str, exception: type[Exception] = AssertionError) -> Any:
    return CheckAndRaise(exception, message)(x, (x > 0).all())


class Local(LookupError):
    __qualname__ = "made.<locals>.Local"


_CHAIN = positive(X + 10, "first", ValueError) - 10
_CHAIN = positive(positive(_CHAIN, "second", IndexError) - 1, "third", KeyError)
_A = pt.dvector("a")
_INNER = OpFromGraph([_A], [positive(_A, "inner") * 2])
_BAD = (AssertionError, "both")
_CHAINED = [([THREE], (IndexError, "second")), ([THREE - 20], (ValueError, "first")), ([THREE + 3], None)]
_CHAINED += [([THREE + 1.5], (KeyError, "third"))]
_LENGTHS = [([THREE], None), ([THREE[:2]], (AssertionError, "more than two")), ([THREE], None)]
_SHIFTED = [(2, 2, None), (0, 2, (AssertionError, "inner")), (2, 0, (AssertionError, "inner"))]
_BOTH = ifelse(C, positive(X, "guard") * 2, positive(X, "guard") + 1)
_TWICE = Assert("both")(X, (X > -5).all(), (X < 5).all())
CHECKS = {
    "the first that fails": ([X], [_CHAIN], _CHAINED),
    "a class inside a function, by its base": ([X], [positive(X, "local", Local)], [([THREE], (LookupError, "local"))]),
    "a class inside a class": ([X], [positive(X, "inner", Outer.Inner)], [([THREE], (KeyError, "inner"))]),
    "several conditions": ([X], [_TWICE], [([THREE], None), ([THREE - 9], _BAD), ([THREE + 9], _BAD)]),
    "a condition on a shape": ([X], [Assert("more than two")(X, X.shape[0] > 2)], _LENGTHS),
    "always false": ([X], [Assert("both")(X, pt.as_tensor(np.array(False)))], [([THREE], _BAD)]),
    "in both branches": ([C, X], [_BOTH], [([np.int8(i), THREE], (AssertionError, "guard")) for i in (0, 1)]),
    "in an inner graph": ([X, Y], [_INNER(X), _INNER(Y)], [([THREE + i, THREE + j], e) for i, j, e in _SHIFTED]),
}


@checked(CHECKS)
def test_checks(inputs: list, outputs: list, calls: list) -> None:
    function = emit(inputs, outputs).compile()
    for values, error in calls:
        if error is None:
            function(*values)
            continue
        with pytest.raises(error[0], match=error[1]):
            function(*values)


@pytest.mark.parametrize("rewrite", [False, True])
def test_rewrites_do_not_drop_a_check(rewrite: bool) -> None:
    graph = pt.exp(Assert("positive")(X, (X > 0).all())).sum()
    function = emit([X], [graph], rewrite=rewrite).compile()
    with pytest.raises(AssertionError, match="positive"):
        function(THREE)


def test_a_condition_that_is_always_true_costs_nothing() -> None:
    program = emit([X], [Assert("never")(X, True)])
    assert program.signature.checks == ()


@pytest.mark.parametrize("depth", [1, 2])
def test_a_check_in_a_branch_counts_only_when_it_is_taken(depth: int) -> None:
    checked = Assert("negative")(pt.exp(X), (X > 0).all())
    graph = ifelse(C, checked, X) if depth == 1 else ifelse(C, ifelse(pt.gt(C, 1), checked, X * 3), X)
    program = emit([C, X], [graph])
    function = program.compile()
    for value in range(depth):
        function(np.int8(value), THREE)
        program.interpret(np.int8(value), THREE)
    for call in (function, program.interpret):
        with pytest.raises(AssertionError, match="negative"):
            call(np.int8(depth), THREE)
        call(np.int8(depth), np.abs(THREE))


# ---- inner graphs, copies -------------------------------------------------------------------------------------------


@cases()
def test_inner_graphs() -> Iterator[Case]:
    a, b = pt.dvector("a"), pt.dvector("b")
    inner = OpFromGraph([a, b], [pt.exp(a) * b, a - b])
    product, difference = inner(a, b)
    outer = OpFromGraph([a, b], [inner(product, difference)[0], difference])
    outputs = [outer(X, Y)[0], outer(Y, X)[1], inner(X, X)[0]]
    yield "nested and used again", [X, Y], outputs, [THREE, THREE + 1]
    op = OpFromGraph([a, b], [b, a, pt.as_tensor(np.arange(2.0))], on_unused_input="ignore")
    yield "inputs and constants", [X, Y], op(X, Y), [THREE, THREE[:2]]
    op = OpFromGraph([a], [pt.exp(a) + a**3])
    yield "gradient", [X], grad(op(X).sum(), X), [THREE]
    yield "gradient of what is checked", [X], grad((positive(X, "positive") ** 2).sum(), X), [np.abs(THREE)]
    yield "copies and views", [X], [DeepCopyOp()(X), ViewOp()(X) + 1], [THREE]
    # Ops that PyTensor defines by an inner graph.
    outputs = [pt.linalg.kron(pt.outer(X, Y), pt.outer(Y, X)), pt.special.softmax(X), pt.diag(X, 1)]
    yield "symbolic ops", [X, Y], outputs, [THREE, THREE[:2]]


@cases()
def test_batches() -> Iterator[Case]:
    a, b = pt.dvector("a"), pt.dvector("b")
    yield "none", [X], Blockwise(OpFromGraph([a], [pt.cumsum(a)]), signature="(n)->(n)")(X), [THREE]
    op = Blockwise(OpFromGraph([a, b], [pt.cumsum(a) + b, b.sum()]), signature="(n),(n)->(n),()")
    x, y = pt.tensor("x", shape=(None, 1, None)), pt.tensor("y", shape=(1, 2, None))
    values = [np.arange(12.0).reshape(3, 1, 4), np.arange(8.0).reshape(1, 2, 4)]
    expected = [np.cumsum(values[0], -1) + values[1], np.broadcast_to(values[1].sum(-1), (3, 2))]
    yield "axes of size 1 stretch", [x, y], op(x, y), values, {"expected": expected}
    # Its shapes have the batch axes, some of them new ones, and are the same for the whole batch.
    x, y = pt.tensor("x", shape=(3, 2, 2, 3, 4)), pt.tensor("y", shape=(2, 4, 5, 3))
    core = "(a,b,c),(c,d,b)->(a,d)"
    output = vectorize(lambda x, y: pt.tensordot(x, y, axes=[(1, 2), (2, 0)]), signature=core)(x, y)
    values = [np.sin(np.arange(144.0)).reshape(3, 2, 2, 3, 4), np.cos(np.arange(120.0)).reshape(2, 4, 5, 3)]
    yield "two batch axes and one", [x, y], output, values, {"expected": [np.einsum("ijabc,jcdb->ijad", *values)]}
    x, start = pt.tensor("x", shape=(None, 4, 2)), pt.lvector("start")
    pick = Blockwise(pt.dmatrix()[pt.lscalar()].owner.op, signature="(n,m),()->(m)")
    values = [np.arange(24.0).reshape(3, 4, 2), np.array([2, -1, 0])]
    expected = [values[0][[0, 1, 2], values[1]]]
    yield "indices that are scalars", [x, start], pick(x, start), values, {"expected": expected}


def test_the_same_inner_graph_on_the_same_operands_is_emitted_once() -> None:
    a = pt.dvector("a")
    first, second = (OpFromGraph([a], [pt.exp(a)]) for _ in range(2))
    program = emit([X], [first(X) + second(X)])
    assert program.op_counts()["stablehlo.exponential"] == 1


# ---- Blockwise ------------------------------------------------------------------------------------------------------


class NoRule(Op):
    """An op that nothing lowers: one of the library's, by its module."""

    __module__ = "pytensor.somewhere"
    __props__ = ()
    gufunc_signature = "(n)->(n)"

    def make_node(self, x: object) -> Apply:
        x = pt.as_tensor(x)
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: list, outputs: list) -> None:
        outputs[0][0] = inputs[0]


@pytest.mark.parametrize(
    ("op", "x", "message"),
    [
        (Blockwise(NoRule()), X, "Blockwise of NoRule"),
        (Blockwise(NoRule()), pt.dmatrix("m"), "Blockwise of NoRule"),
        (Blockwise(OpFromGraph([_A], [NoRule()(_A)]), signature="(n)->(n)"), X, r"NoRule.*inside Blockwise"),
    ],
)
def test_what_has_no_rule_inside_a_blockwise_is_listed(op: Any, x: Any, message: str) -> None:
    with pytest.raises(errors.UnsupportedOpError, match=message):
        emit([x], [op(x)])


def test_blockwise_over_batches_of_another_shape_each_is_refused() -> None:
    m = pt.dmatrix("m")
    with pytest.raises(errors.UnsupportedGraphError, match=r"Unique over batch axes .* from data"):
        emit([m], [Blockwise(pt.extra_ops.Unique(), signature="(n)->(m)")(m)])
