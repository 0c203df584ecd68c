"""Ops that are functions of JAX arrays: `pytensor.wrap_jax`, and users' ops with `lowers_with_jax`."""

import jax
import jax.numpy as jnp
import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.graph.replace import vectorize_graph
from support import assert_same, check_lowering

import hlograph
from hlograph.errors import LoweringError, UnsupportedGraphError

pytestmark = pytest.mark.sampled(4)

wrap_jax = getattr(pytensor, "wrap_jax", None)
wraps = pytest.mark.skipif(wrap_jax is None, reason="this release of PyTensor has no wrap_jax")

x, y, X = pt.dvector("x"), pt.dvector("y"), pt.dmatrix("X")
XS, YS = np.array([0.5, -1.0, 2.0]), np.array([3.0, 1.0])


class Rotate(Op):
    """An op of somebody: elements moved on by a number of places."""

    __props__ = ("by",)

    def __init__(self, by):
        self.by = by

    def make_node(self, vector):
        vector = pt.as_tensor(vector)
        return Apply(self, [vector], [vector.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = np.roll(inputs[0], self.by)

    def pullback(self, inputs, outputs, cotangents):
        return [Rotate(-self.by)(cotangents[0])]

    L_op = grad = pullback


class Outer(Op):
    """Two results, one of which has a size of its own."""

    __props__ = ()

    def make_node(self, a, b):
        return Apply(self, [pt.as_tensor(a), pt.as_tensor(b)], [pt.dmatrix(), pt.dvector()])

    def perform(self, node, inputs, output_storage):
        a, b = inputs
        output_storage[0][0], output_storage[1][0] = np.outer(a, b), np.concatenate([a, b, [0.0]])


@hlograph.builder.lowers_with_jax(Rotate)
def rotate(vector, *, op):
    return jnp.roll(vector, op.by)


hlograph.builder.lowers_with_jax(Outer, lambda a, b: (jnp.outer(a, b), jnp.concatenate([a, b, jnp.zeros(1)])))


def test_parameters_several_results_and_sizes_that_follow():
    matrix, both = Outer()(x, y)
    outputs = [Rotate(1)(x) * 2 + Rotate(2)(x), matrix, both, matrix.sum(axis=0) * y, both[: x.shape[0]] + x]
    check_lowering([x, y], outputs, XS, YS)


@pytest.mark.parametrize("policy", ["exact", "padded"])
def test_policies(policy):
    fn = hlograph.function([x], Rotate(1)(x), policy=policy)
    for values in (XS, XS[:2]):
        assert_same(fn(values), np.roll(values, 1))


def test_derivatives_are_the_ops_own():
    loss = (Rotate(1)(x) * x**2).sum()
    wanted = pytensor.function([x], pytensor.grad(loss, x), mode="FAST_COMPILE")(XS)
    assert_same(hlograph.function([x], pytensor.grad(loss, x))(XS), wanted)
    with jax.enable_x64(True):
        np.testing.assert_allclose(jax.grad(hlograph.function([x], loss))(XS), wanted)


def test_batches():
    fn = hlograph.function([x], Rotate(1)(x))
    rows = np.stack([XS, 2 * XS])
    with jax.enable_x64(True):
        np.testing.assert_array_equal(jax.vmap(fn)(rows), np.roll(rows, 1, axis=1))
    batch = vectorize_graph(Rotate(1)(x), {x: X})
    assert_same(hlograph.function([X], batch)(rows), np.roll(rows, 1, axis=1))


def test_a_wrong_number_of_results():
    class Pair(Outer):
        pass

    hlograph.builder.lowers_with_jax(Pair, lambda a, b: a)
    with pytest.raises(LoweringError, match="the JAX function of Pair returned 1 arrays, expected 2"):
        hlograph.emit_stablehlo(([x, y], Pair()(x, y)))


def test_what_cannot_be_traced_is_said():
    class Branching(Rotate):
        pass

    hlograph.builder.lowers_with_jax(Branching, lambda vector: vector if vector[0] > 0 else -vector)
    with pytest.raises(UnsupportedGraphError, match="JAX cannot trace Branching"):
        hlograph.emit_stablehlo(([x], Branching(1)(x)))


# ---- pytensor.wrap_jax ----------------------------------------------------------------------------------------------


def softmax_and_norm(a, scale):
    return {"p": jax.nn.softmax(a * scale), "norm": jnp.sqrt((a**2).sum())}


# PyTensor evaluates them in JAX's default types, so these are float32.
a, b = pt.tensor("a", shape=(3,), dtype="float32"), pt.fvector("b")
AS, BS = XS.astype("float32"), YS.astype("float32")


@wraps
@pytest.mark.filterwarnings("ignore:Explicitly requested dtype")
def test_wrapped_functions():
    found = wrap_jax(softmax_and_norm)(a, b[0])
    outputs = [found["p"], found["norm"], *pytensor.grad(found["norm"] * found["p"][0], [a, b])]
    wanted = pytensor.function([a, b], outputs, mode="FAST_COMPILE")(AS, BS)
    for result, expected in zip(hlograph.function([a, b], outputs)(AS, BS), wanted, strict=True):
        assert_same(result, expected, rtol=1e-5)


@wraps
def test_wrapped_functions_in_a_scan():
    step = wrap_jax(lambda h: jnp.tanh(h) * 1.5)
    trace = pytensor.scan(lambda h: step(h), outputs_info=a, n_steps=4, return_updates=False)
    outputs = [trace, pytensor.grad(trace[-1].sum(), a)]
    wanted = pytensor.function([a], outputs, mode="FAST_COMPILE")(AS)
    for result, expected in zip(hlograph.function([a], outputs)(AS), wanted, strict=True):
        assert_same(result, expected, rtol=1e-5)


@wraps
def test_wrapped_functions_in_double_precision():
    """In the types that the op says, whatever JAX's flag says."""
    from pytensor.link.jax.ops import JAXOp

    op = JAXOp([x.type], [x.type], lambda v: (jnp.exp(v) / 3,))
    assert_same(hlograph.function([x], op(x))(XS), np.exp(XS) / 3, rtol=1e-14)
