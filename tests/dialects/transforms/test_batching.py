"""Batches of graphs: `jax.vmap` of compiled functions against NumPy, element by element, without a loop."""

from inspect import signature
from typing import Any

import jax
import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.builders import OpFromGraph
from pytensor.ifelse import ifelse
from pytensor.raise_op import Assert

import hlograph

OVERRIDE = "pullback" if "pullback" in signature(OpFromGraph).parameters else "lop_overrides"  # before PyTensor 3
SIZE = 3
_rng = np.random.default_rng(20)
VECTOR, MATRIX, CUBE = (_rng.normal(size=(SIZE, *shape)) for shape in ((4,), (4, 5), (2, 4, 5)))
ROWS, PLACES = np.array([[0, 2], [1, 1], [-1, 3]]), np.array([1, 0, -2])
FLAGS = np.array([True, False, True])


@pytest.fixture(autouse=True)
def _double() -> Any:
    with jax.enable_x64(True):
        yield


def _written(x: np.ndarray, place: Any, y: Any, *, add: bool = False) -> np.ndarray:
    x = x.copy()
    if add:
        np.add.at(x, place, y)
    else:
        x[place] = y
    return x


@pytest.mark.parametrize("count", [0, 1])
def test_batches_of_no_element_and_of_one(count: int) -> None:
    """The batch axis is no axis of size 1 that stretches, and -1 in a shape is not taken from it."""
    x, y, i = pt.dmatrix("x"), pt.dvector("y"), pt.lvector("i")
    outputs = [x[i] + y, (x * y).reshape((-1, 1)), x @ y, pt.inc_subtensor(x[i], y), x.sum(axis=0) + y.shape[0]]
    fn = hlograph.function([x, y, i], outputs, rewrite=False)
    arrays = MATRIX[:count], _rng.normal(size=(count, 5)), ROWS[:count]
    found = jax.vmap(fn)(*arrays)
    assert not fn.derived.loops
    shapes = [np.shape(a) for a in found]
    assert shapes == [(count, 2, 5), (count, 20, 1), (count, 4), (count, 4, 5), (count, 5)]
    for a, b, k in zip(*arrays, strict=True):
        wanted = [a[k] + b, (a * b).reshape(-1, 1), a @ b, _written(a, k, b, add=True), a.sum(0) + 5]
        for actual, expected in zip(found, wanted, strict=True):
            np.testing.assert_allclose(actual[0], expected, rtol=1e-12)


def test_a_batch_of_batches() -> None:
    x, i = pt.dmatrix("x"), pt.lvector("i")
    fn = hlograph.function([x, i], x[i] @ pt.sort(x[:, i[0]]), rewrite=False)
    arrays = _rng.normal(size=(2, SIZE, 5, 5))

    def by_hand(x: np.ndarray, i: np.ndarray) -> np.ndarray:
        return x[i] @ np.sort(x[:, i[0]])

    found = jax.vmap(jax.vmap(fn), in_axes=(0, None))(arrays, ROWS)
    wanted = [[by_hand(x, i) for x, i in zip(row, ROWS, strict=True)] for row in arrays]
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    crossed = jax.vmap(jax.vmap(fn, in_axes=(2, None)), in_axes=(None, 0), out_axes=2)(
        arrays[0].transpose(1, 2, 0), ROWS
    )
    wanted = np.stack([[by_hand(x, i) for x in arrays[0]] for i in ROWS], axis=2)
    np.testing.assert_allclose(crossed, wanted, rtol=1e-12)


@pytest.mark.parametrize(("place", "match"), [("row", "index is out of bounds"), ("value", "too large")])
def test_a_check_raises_when_any_element_fails_it(place: str, match: str) -> None:
    x, i = pt.dmatrix("x"), pt.lscalar("i")
    fn = hlograph.function([x, i], Assert("too large")(x, pt.all(x < 9))[i])
    arrays, places = MATRIX.copy(), PLACES.copy()
    np.testing.assert_allclose(jax.vmap(fn)(arrays, places), arrays[np.arange(SIZE), places])
    if place == "row":
        places[1] = 4
    else:
        arrays[2, 0, 0] = 10
    with pytest.raises((IndexError, AssertionError), match=match):
        jax.vmap(fn)(arrays, places)
    assert not fn.derived.loops


def test_a_check_in_a_branch_counts_for_the_elements_that_take_it() -> None:
    c, x = pt.bscalar("c"), pt.dvector("x")
    fn = hlograph.function([c, x], ifelse(c, Assert("negative")(x, pt.all(x > 0)), x * 0))
    flags, values = FLAGS.astype("int8"), np.abs(VECTOR)
    values[1] *= -1
    np.testing.assert_allclose(jax.vmap(fn)(flags, values), values * flags[:, None])
    with pytest.raises(AssertionError, match="negative"):
        jax.vmap(fn)(np.ones(SIZE, "int8"), values)


def test_a_batch_of_loops_is_one_loop_and_one_with_symbolic_sizes_is_a_program() -> None:
    x, y = pt.dvector("x"), pt.dscalar("y")
    last = pytensor.scan(lambda v, h: pt.tanh(h + v), sequences=x, outputs_info=y, return_updates=False)[-1]
    fn = hlograph.function([x, y], last)
    batched = jax.vmap(fn)
    wanted = [fn(v, k) for v, k in zip(VECTOR, PLACES * 1.0, strict=True)]
    np.testing.assert_allclose(batched(VECTOR, PLACES * 1.0), wanted, rtol=1e-12)
    gradient = jax.grad(lambda k: batched(VECTOR, k).sum())(PLACES * 1.0)
    np.testing.assert_allclose(gradient, [jax.grad(fn, 1)(v, k) for v, k in zip(VECTOR, PLACES * 1.0, strict=True)])
    b, n = jax.export.symbolic_shape("b, n")
    shapes = jax.ShapeDtypeStruct((b, n), "float64"), jax.ShapeDtypeStruct((b,), "float64")
    exported = jax.export.export(jax.jit(batched))(*shapes)
    assert exported.mlir_module().count("stablehlo.while") == 1
    np.testing.assert_allclose(exported.call(VECTOR, PLACES * 1.0), wanted, rtol=1e-12)


def test_an_inner_graph_keeps_its_own_derivative() -> None:
    """A batch of an `OpFromGraph` with an overridden gradient has the overridden gradient."""
    a, x = pt.dvector("a"), pt.dvector("x")
    override = {OVERRIDE: lambda inputs, outputs, cotangents: [7 * cotangents[0]]}
    fn = hlograph.function([x], OpFromGraph([a], [pt.sin(a)], **override)(x).sum())
    batched = jax.vmap(fn)
    np.testing.assert_allclose(batched(VECTOR), np.sin(VECTOR).sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(jax.grad(lambda v: batched(v).sum())(VECTOR), np.full((SIZE, 4), 7.0))
    np.testing.assert_allclose(jax.vmap(jax.grad(fn))(VECTOR), np.full((SIZE, 4), 7.0))
    assert not fn.derived.loops


def test_a_matrix_that_all_elements_share_is_not_copied() -> None:
    """`vmap(X @ beta)` is one product of matrices, as JAX makes it; so is its gradient."""
    x, beta, weights = pt.dmatrix("x"), pt.dvector("beta"), pt.dmatrix("weights")
    for y, shape in ((beta, (5,)), (weights, (5, 2))):
        fn = hlograph.function([x, y], pt.sqr(x @ y).sum())
        shapes = jax.ShapeDtypeStruct((6, 5), "float64"), jax.ShapeDtypeStruct((SIZE, *shape), "float64")
        for function in (fn, jax.grad(fn, 1)):
            text = jax.jit(jax.vmap(function, in_axes=(None, 0))).lower(*shapes).as_text()
            assert "dot_general" in text
            assert f"tensor<{SIZE}x6x5x" not in text
