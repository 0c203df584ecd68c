"""Rewrites inside of ops that have inner graphs: the same stabilization as outside of them."""

import jax
import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.builders import OpFromGraph
from pytensor.graph.replace import vectorize_graph
from support import assert_same, rewritten

import hlograph

X, M = pt.dvector("x"), pt.dmatrix("m")
FAR = np.array([-1000.0, -30.0, 0.5, 1000.0])


def scanned(function, x):
    return pytensor.scan(function, sequences=x, return_updates=False)


def twice_scanned(function, x):
    """A scan in the steps of another."""
    return scanned(lambda row: scanned(function, pt.stack([row, row]))[1], x)


def wrapped(function, x):
    e = pt.dvector()
    return OpFromGraph([e], [function(e)])(x)


def wrapped_in_a_scan(function, x):
    e = pt.dscalar()
    op = OpFromGraph([e], [function(e)])
    return scanned(op, x)


PLACES = [scanned, twice_scanned, wrapped, wrapped_in_a_scan]
# Expression, and its value and derivative at FAR, from what is true of it: log(sigmoid(x)) = -log(1 + exp(-x)).
TAIL = np.exp(-FAR.clip(-700, None))
CASES = {
    "log sigmoid": (
        lambda x: pt.log(pt.sigmoid(x)),
        np.where(FAR < -700, FAR, -np.log1p(TAIL)),
        1 / (1 + np.exp(FAR.clip(None, 700))),
    ),
    "log of a sum": (
        lambda x: pt.log(pt.exp(x) + pt.exp(-x)),
        np.logaddexp(FAR, -FAR),
        np.tanh(FAR),
    ),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("case", CASES)
def test_far_out(place, case):
    function, value, derivative = CASES[case]
    y = place(function, X)
    found, slope = hlograph.function([X], [y, pytensor.grad(y.sum(), X)])(FAR)
    assert_same(found, value, rtol=1e-12)
    np.testing.assert_allclose(np.asarray(slope), derivative, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("place", [scanned, wrapped])
def test_batches(place):
    y = vectorize_graph(place(CASES["log sigmoid"][0], X), {X: M})
    found = hlograph.function([M], y)(np.stack([FAR, FAR[::-1]]))
    value = CASES["log sigmoid"][1]
    assert_same(found, np.stack([value, value[::-1]]), rtol=1e-12)


def test_in_the_mode():
    y = scanned(CASES["log sigmoid"][0], X)
    found = pytensor.function([X], y, mode=hlograph.Mode())(FAR)
    np.testing.assert_allclose(found, CASES["log sigmoid"][1], rtol=1e-12)


def test_derivatives_of_the_function():
    """What is differentiated is the rewritten graph, whose inner graphs are rewritten too."""
    y = scanned(CASES["log sigmoid"][0], X)
    fn = hlograph.function([X], y.sum())
    with jax.enable_x64(True):
        slope = jax.grad(fn)(FAR)
    np.testing.assert_allclose(np.asarray(slope), CASES["log sigmoid"][2], rtol=1e-12, atol=1e-300)


def test_nothing_to_do_leaves_the_op():

    y = scanned(lambda e: e * 2, X)
    _, (found,) = rewritten([X], [y])
    assert found is y


def test_derivatives_of_a_users_op_stay():
    """The user's own derivative of an op, which is not that of its inner graph."""
    e = pt.dvector()
    names = {"pullback": None} if hasattr(OpFromGraph([e], [e]), "pullback_overrides") else {"lop_overrides": None}
    (name,) = names
    op = OpFromGraph([e], [pt.log(pt.sigmoid(e))], **{name: lambda inputs, outputs, grads: [7 * grads[0]]})
    fn = hlograph.function([X], op(X).sum())
    assert_same(fn(FAR), CASES["log sigmoid"][1].sum(), rtol=1e-12)
    np.testing.assert_array_equal(np.asarray(jax.grad(fn)(FAR)), 7)
