"""Elementwise ops on tensors: broadcasting, composites, common subexpressions."""

import numpy as np
import pytensor.scalar as ps
import pytensor.tensor as pt
import pytest
from pytensor.graph.fg import FunctionGraph
from pytensor.scalar.basic import Composite
from pytensor.tensor.elemwise import Elemwise
from support import check_lowering, reference

import hlograph
from hlograph.errors import ArgumentShapeError, UnsupportedOpError

RNG = np.random.default_rng(11)


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape)


def test_broadcasting_follows_the_types() -> None:
    m, row, col, s = pt.matrix("m"), pt.row("row"), pt.col("col"), pt.scalar("s")
    one, partly = pt.tensor("one", shape=(1, 1), dtype="float64"), pt.tensor("partly", shape=(3, None), dtype="float64")
    outputs = [m + row, m * col, row - col, s * m, m + partly, one + m, row + one, one * one]
    outputs += [pt.switch(m > 0, row, col)]
    outputs += [pt.second(m, s), pt.second(one, m), pt.clip(m, col, s), pt.maximum(one, col), 2 * m]
    outputs += [m + np.ones((1, 1))]
    values = normal(3, 4), normal(1, 4), normal(3, 1), 0.7, normal(1, 1), normal(3, 4)
    program = check_lowering([m, row, col, s, one, partly], outputs, *values)
    recorded = {(str(c.lhs), c.relation, str(c.rhs)) for c in program.signature.constraints}
    assert ("m_1", "==", "row_1") in recorded
    assert ("m_0", "==", "3") in recorded
    assert all("elementwise" in c.where for c in program.signature.constraints)


def test_vectors_against_matrices_and_higher_ranks() -> None:
    v, m, t = pt.vector("v"), pt.matrix("m"), pt.tensor3("t")
    outputs = [v + m, v[:, None] * v, m - t, t + v, t[:, :, None] * m[None, :, :, None], v + 1]
    check_lowering([v, m, t], outputs, normal(4), normal(4, 4), normal(2, 4, 4))


@pytest.mark.parametrize("shape", [(0, 4), (3, 0), (0, 0), (1, 1), (1, 4), (3, 1)])
def test_axes_of_size_0_and_1(shape: tuple[int, int]) -> None:
    m, row, col = pt.matrix("m"), pt.row("row"), pt.col("col")
    outputs = [m + row, m * col, row * col, pt.exp(m), pt.switch(m > 0, 1, col), -m]
    check_lowering([m, row, col], outputs, np.ones(shape), np.ones((1, shape[1])), np.ones((shape[0], 1)))


@pytest.mark.parametrize("vector", [True, False])
def test_a_mismatch_names_arguments_and_axes(vector: bool) -> None:
    m = pt.matrix("m")
    other = pt.vector("other") if vector else pt.matrix("other")
    run = hlograph.emit_stablehlo(([m, other], [m + other])).compile()
    with pytest.raises(ArgumentShapeError, match=r"'m', axis 1.*'other', axis \d") as raised:
        run(np.ones((2, 3)), np.ones(4) if vector else np.ones((2, 4)))
    assert "m_1 = 3" in str(raised.value)
    assert "= 4" in str(raised.value)
    assert "Input dimension mismatch" in str(raised.value)


def test_size_1_at_run_time_does_not_stretch() -> None:
    """As in PyTensor: only the type says which axes stretch."""
    m, n = pt.matrix("m"), pt.matrix("n")
    values = np.ones((2, 3)), np.ones((1, 3))
    with pytest.raises(ValueError, match="Runtime broadcasting not allowed"):
        reference([m, n], [m + n], values)
    with pytest.raises(ArgumentShapeError, match=r"m_0 = 2, n_0 = 1.*Runtime broadcasting not allowed"):
        hlograph.emit_stablehlo(([m, n], [m + n])).compile()(*values)


def test_sizes_that_can_never_agree_are_refused_before_the_run() -> None:
    m, n = pt.matrix("m"), pt.matrix("n")
    with pytest.raises(ArgumentShapeError, match=r"3 == 4 .*axis 1"):
        hlograph.emit_stablehlo(([m, n], [m + n]), dims={"m": (2, 3), "n": (2, 4)})


def test_composite_with_several_outputs_constants_and_an_input_as_output() -> None:
    a, b = ps.float64("a"), ps.float32("b")
    c = a * b
    composite = Composite([a, b], [c + 1, ps.exp(c), ps.cast(b, "float64"), ps.gt(c, 0.5), ps.constant(2.5)])
    x, y = pt.matrix("x"), pt.row("y", dtype="float32")
    outputs = Elemwise(composite)(x, y)
    check_lowering([x, y], list(outputs), normal(2, 3), np.array([[0.5, -1.0, 2.0]], "float32"))


def test_composite_inside_a_composite() -> None:
    a, b = ps.float64("a"), ps.float64("b")
    inner = Composite([a, b], [a * b + 1])
    outer = Composite([a, b], [ps.sin(inner(a, b)) + inner(b, b)])
    x, y = pt.vector("x"), pt.vector("y")
    check_lowering([x, y], [Elemwise(outer)(x, y)], normal(4), normal(4))


def test_an_unsupported_op_inside_a_composite_is_named() -> None:
    class Unheard(ps.UnaryScalarOp):
        def impl(self, value):
            return value

    a = ps.float64("a")
    x = pt.vector("x")
    with pytest.raises(UnsupportedOpError, match="scalar op unheard"):
        hlograph.emit_stablehlo(([x], [Elemwise(Composite([a], [Unheard(ps.upgrade_to_float, "unheard")(a) + 1]))(x)]))


def test_equal_expressions_are_computed_once() -> None:
    x, y = pt.vector("x"), pt.vector("y")
    outputs = [x / y + pt.exp(x / y), (x / y).sum(), pt.exp(x / y) * 2]
    nodes = FunctionGraph([x, y], outputs, clone=True).toposort()
    assert sum(isinstance(getattr(node.op, "scalar_op", None), ps.TrueDiv) for node in nodes) == 4
    text = hlograph.emit_stablehlo(([x, y], outputs)).text
    assert text.count("stablehlo.divide") == 1
    assert text.count("stablehlo.exponential") == 1
    check_lowering([x, y], outputs, normal(5), 2 + normal(5) ** 2)


def test_products_with_booleans_keep_nan_and_infinity() -> None:
    """XLA turns a product with a boolean converted to float into a selection, unless kept from it: inf * 0 is NaN."""
    x, mask = pt.vector("x"), pt.vector("mask", dtype="bool")
    values = np.array([np.inf, np.nan, 2.0, 3.0]), np.array([False, False, True, False])
    check_lowering([x, mask], [x * mask, x * pt.cast(mask, "float64"), (x * mask).sum()], *values)
