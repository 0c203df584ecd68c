"""Derivatives of graphs, op by op, against the same formula in JAX; and those that are refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytensor.scalar as scalar
import pytensor.tensor as pt
import pytest
from pytensor.compile.builders import OpFromGraph
from pytensor.compile.ops import DeepCopyOp
from pytensor.ifelse import ifelse
from pytensor.tensor.elemwise import CAReduce

import hlograph
from hlograph.errors import DerivativeError

_rng = np.random.default_rng(3)
VECTOR, MATRIX, SQUARE = _rng.normal(size=4), _rng.normal(size=(3, 4)), _rng.normal(size=(3, 3)) + 3 * np.eye(3)
POSITIVE = SQUARE @ SQUARE.T
PLACES = np.array([2, 0, 2])


@pytest.fixture(autouse=True)
def _double() -> Any:
    with jax.enable_x64(True):
        yield


@dataclass(frozen=True)
class Case:
    """A graph of one real input, the same in JAX, and a value."""

    graph: Callable[[Any], Any]
    by_hand: Callable[[Any], Any]
    value: np.ndarray


CASES = {
    "write": Case(lambda x: pt.set_subtensor(x[1], x[0] * x[2]), lambda x: x.at[1].set(x[0] * x[2]), MATRIX),
    "increment": Case(
        lambda x: pt.inc_subtensor(x[PLACES, 1], pt.exp(x[0, :3])),
        lambda x: x.at[PLACES, 1].add(jnp.exp(x[0, :3])),
        MATRIX,
    ),
    "split-axis": Case(lambda x: pt.split_dims(x, (-1, 2), axis=1) ** 2, lambda x: x.reshape((3, 2, 2)) ** 2, MATRIX),
    "cholesky": Case(lambda x: pt.linalg.cholesky(x @ x.T), lambda x: jnp.linalg.cholesky(x @ x.T), SQUARE),
    "if": Case(lambda x: ifelse(pt.gt(x[0], 9), [x, x[0]], [x**2, x.sum()]), lambda x: [x**2, x.sum()], VECTOR),
    "if-one-of-two": Case(lambda x: ifelse(pt.lt(x[0], 9), [pt.sin(x), x[0]], [x**2, x.sum()])[0], jnp.sin, VECTOR),
    "if-with-an-integer": Case(
        lambda x: ifelse(pt.lt(x[0], 9), [pt.sin(x), pt.argmax(x)], [x**2, pt.argmin(x)])[0], jnp.sin, VECTOR
    ),
    "inner-graph": Case(
        lambda x: OpFromGraph([(a := pt.dvector())], [a * a.sum()])(pt.sin(x)),
        lambda x: jnp.sin(x) * jnp.sin(x).sum(),
        VECTOR,
    ),
}


def compiled(case: Case) -> hlograph.Function:
    x = pt.tensor("x", dtype="float64", shape=(None,) * case.value.ndim)
    return hlograph.function([x], case.graph(x), rewrite=False)


def flat(results: Any) -> Any:
    """All results in one vector, with different weights, so that one output cannot pass for another."""
    parts = [jnp.ravel(x) * (k + 1) for k, x in enumerate(jax.tree.leaves(results))]
    return jnp.concatenate(parts)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", CASES)
def test_derivatives_are_those_of_the_formula(name: str) -> None:
    case = CASES[name]
    fn = compiled(case)
    tangent = _rng.normal(size=case.value.shape)
    cotangent = jnp.cos(jnp.arange(flat(case.by_hand(jnp.asarray(case.value))).size, dtype="float64"))

    def derivatives(f: Callable[[Any], Any]) -> Any:
        def g(x: Any) -> Any:
            return flat(f(x))

        def scalar(x: Any) -> Any:
            return jnp.sin(g(x)) @ cotangent

        pulled = jax.grad(scalar)
        return jax.jvp(g, (case.value,), (tangent,)), pulled(case.value), jax.jvp(pulled, (case.value,), (tangent,))[1]

    found, wanted = (jax.jit(lambda f=f: derivatives(f))() for f in (fn, case.by_hand))
    for actual, expected in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        assert actual.dtype == expected.dtype
        np.testing.assert_allclose(actual, expected, rtol=1e-8, atol=1e-9)


def test_float32_has_float32_derivatives() -> None:
    x, n = pt.fvector("x"), pt.lscalar("n")
    fn = hlograph.function([x, n], [(x / n).sum(), pt.exp(x.astype("float64"))])
    value = VECTOR.astype("float32")
    _, pushed = jax.jvp(lambda x: fn(x, 3), (value,), (np.ones_like(value),))
    pulled = jax.grad(lambda x: fn(x, 3)[0].astype("float32"))(value)
    assert [x.dtype for x in (*pushed, pulled)] == ["float64", "float64", "float32"]
    np.testing.assert_allclose(pulled, np.full(4, 1 / 3), rtol=1e-6)
    np.testing.assert_allclose(pushed[1], np.exp(value.astype(float)), rtol=1e-7)


def test_what_is_not_connected_has_zero_derivatives() -> None:
    x, y = pt.dvector("x"), pt.dvector("y")
    fn = hlograph.function([x, y], [x.sum(), y, x.shape[0] * y.sum(), pt.zeros_like(x)])
    for number, (first, second) in enumerate([(1.0, 0.0), (0.0, 1.0), (0.0, 4.0), (0.0, 0.0)]):
        found = jax.grad(lambda x, y, k=number: fn(x, y)[k].sum(), (0, 1))(VECTOR, VECTOR)
        np.testing.assert_array_equal(found[0], np.full(4, first))
        np.testing.assert_array_equal(found[1], np.full(4, second))


class Failing(DeepCopyOp):
    """An op whose own gradient has an error, as that of QR in PyTensor 3.3.8."""

    def L_op(self, inputs: Any, outputs: Any, output_grads: Any) -> Any:
        raise TypeError("'module' object is not callable")

    pullback = L_op


REFUSED = {
    "failing": lambda x: Failing()(x),
    "copy": lambda x: DeepCopyOp()(x),
    "plain-reduction": lambda x: CAReduce(scalar.add, axis=0)(x),
    "complex": lambda x: x + 1j * x,
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_derivative_is_an_error_and_not_zero(name: str) -> None:
    x = pt.dvector("x")
    fn = hlograph.function([x], REFUSED[name](x), rewrite=False)
    with pytest.raises(DerivativeError, match="object is not callable" if name == "failing" else None):
        jax.jvp(fn, (VECTOR,), (VECTOR,))
    value, pull = jax.vjp(fn, VECTOR)
    with pytest.raises(DerivativeError):
        pull(jnp.ones_like(value))


def test_a_product_has_one_derivative_and_no_second() -> None:
    """PyTensor has no second derivative of a product that may hold zeros."""
    x = pt.dvector("x")
    fn = hlograph.function([x], pt.prod(x), rewrite=False)
    value, tangent = np.array([2.0, 0.0, 3.0]), np.array([5.0, 7.0, 11.0])
    np.testing.assert_allclose(jax.grad(fn)(value), [0.0, 6.0, 0.0])
    np.testing.assert_allclose(jax.jvp(fn, (value + 1,), (tangent,))[1], 5 * 4 + 7 * 12 + 11 * 3)
    with pytest.raises(DerivativeError, match="2nd derivatives"):
        jax.hessian(fn)(VECTOR)


def test_the_gradient_of_a_batch_of_factorizations() -> None:
    """PyTensor's gradient of a `Blockwise` gives shapes a batch axis: they are the same for all."""
    x, y = pt.dmatrix("x"), pt.dvector("y")
    factor = pt.linalg.cholesky(x)
    white = pt.linalg.solve_triangular(factor, y, lower=True)
    function = hlograph.function([x, y], (white**2).sum() + pt.log(pt.diag(factor)).sum())
    rng = np.random.default_rng(0)
    half = rng.normal(size=(2, 3, 3))
    matrices, vectors = half @ half.transpose(0, 2, 1) + np.eye(3), rng.normal(size=(2, 3))
    with jax.enable_x64(True):
        single = jax.vmap(jax.grad(function, (0, 1)))(matrices, vectors)
        batch = jax.grad(lambda a, b: jax.vmap(function)(a, b).sum(), (0, 1))(matrices, vectors)
        shared = jax.grad(lambda a, b: jax.vmap(function, (0, None))(a, b).sum(), 1)(matrices, vectors[0])
    assert not function.derived.loops
    inverse = np.linalg.inv(matrices)
    np.testing.assert_allclose(single[1], 2 * np.einsum("bij,bj->bi", inverse, vectors), rtol=1e-10)
    for found, expected in zip(batch, single, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10)
    np.testing.assert_allclose(shared, 2 * inverse.sum(axis=0) @ vectors[0], rtol=1e-10)


def test_static_shapes_are_the_librarys_again_afterwards() -> None:
    import pytensor.tensor.basic as basic

    before = basic.infer_static_shape
    x = pt.dmatrix("x")
    function = hlograph.function([x], pt.linalg.cholesky(x).sum())
    jax.grad(function)(np.eye(2))
    assert basic.infer_static_shape is before
