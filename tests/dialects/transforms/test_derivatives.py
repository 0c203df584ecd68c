"""Derivatives of graphs, op by op, against the same formula in JAX; and those that are refused."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytensor
import pytensor.scalar as scalar
import pytensor.tensor as pt
import pytest
from pytensor.compile.builders import OpFromGraph
from pytensor.compile.ops import DeepCopyOp
from pytensor.ifelse import ifelse
from pytensor.printing import Print
from pytensor.tensor.elemwise import CAReduce

import hlograph
from hlograph.codegen.graph import order
from hlograph.dialects.transforms import merged
from hlograph.errors import DerivativeError

_rng = np.random.default_rng(3)
VECTOR, A = _rng.normal(size=4), pt.dvector("a")


@pytest.fixture(autouse=True)
def _double() -> Any:
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize(
    ("graph", "by_hand"),
    [
        (lambda x: ifelse(pt.gt(x[0], 9), [x, x[0]], [x**2, x.sum()]), lambda x: [x**2, x.sum()]),
        (lambda x: ifelse(pt.lt(x[0], 9), [pt.sin(x), x[0]], [x**2, x.sum()])[0], jnp.sin),
        (lambda x: ifelse(pt.lt(x[0], 9), [pt.sin(x), pt.argmax(x)], [x**2, pt.argmin(x)])[0], jnp.sin),
        (
            lambda x: OpFromGraph([(a := pt.dvector())], [a * a.sum()])(pt.sin(x)),
            lambda x: jnp.sin(x) * jnp.sin(x).sum(),
        ),
    ],
)
def test_branches_and_inner_graphs_have_the_derivatives_of_the_formula(graph: Any, by_hand: Any) -> None:
    """Forward, backward, and forward over backward; of a branch that is taken, some of whose outputs nobody needs."""
    x = pt.dvector("x")
    fn = hlograph.function([x], graph(x), rewrite=False)

    def loss(f: Any, x: Any) -> Any:
        return sum(jnp.sin(y).sum() * (k + 1) for k, y in enumerate(jax.tree.leaves(f(x))))

    for derivative in (jax.jacfwd, jax.jacrev, lambda f: jax.jacfwd(jax.jacrev(f))):
        found, wanted = (derivative(lambda x, f=f: loss(f, x))(VECTOR) for f in (fn, by_hand))
        np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-9)


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


def test_equal_nodes_and_constants_are_one():
    x = pt.dvector("x")
    result = (x / 2.5).sum() * pt.exp(x / 2.5).sum() + (x / 2.5).sum() + x[1:3].sum() * x[1:3].sum()
    (found,) = merged([result], {x})
    assert len(order([found])) < len(order([result]))
    (again,) = merged([found], {x})
    assert again is found
    value = np.array([0.5, -1.0, 2.0])
    np.testing.assert_array_equal(found.eval({x: value}), result.eval({x: value}))


def test_zeros_of_other_signs_prints_and_draws_stay_apart():
    x, generator = pt.dscalar("x"), pytensor.shared(np.random.default_rng(1))
    for one, other in (
        (1 / (x * 0.0), 1 / (x * -0.0)),
        (Print("p")(x), Print("p")(x)),
        (pt.random.normal(x, rng=generator), pt.random.normal(x, rng=generator)),
        (pt.constant(1.0, dtype="float64") * x, pt.constant(1, dtype="int64") * x),
    ):
        found = merged([one, other], {x})
        assert found[0] is not found[1]


def test_inputs_that_are_made_of_something_stay_inputs():
    x = pt.dvector("x")
    y = pt.exp(x)
    (found,) = merged([y / 2 + y / 2], {y})
    assert any(y in node.inputs for node in order([found], {y}))
