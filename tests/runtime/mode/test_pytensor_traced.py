"""The mode's functions under JAX's transformations, and compiles that must not go on."""

import jax
import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

import hlograph
import hlograph.pytensor
from hlograph.dialects.rewrites.selection import Rewrites
from hlograph.errors import RewriteError, UnsupportedGraphError

MODE = "STABLEHLO"


def test_the_modes_functions_take_tracers():
    x, y = pt.dvector("x"), pt.dscalar("y")
    scale = pytensor.shared(np.arange(3.0), "scale")
    function = pytensor.function([x, y], (x * y * scale).sum(), mode=MODE)
    several = pytensor.function([x, y], [x * y, x + scale], mode=MODE)
    values = np.array([1.0, -2.0, 3.0])
    for _ in range(2):  # before a call with arrays, and after one
        np.testing.assert_allclose(jax.grad(function)(values, 2.0), 2 * np.arange(3.0), rtol=1e-6)
        np.testing.assert_allclose(jax.jit(function)(values, 2.0), 8, rtol=1e-6)
        np.testing.assert_allclose(jax.jit(lambda x: function(x, y=2.0))(values), 8, rtol=1e-6)
        batch = jax.vmap(function, (0, None))(np.stack([values, values]), 2.0)
        np.testing.assert_allclose(batch, [8, 8], rtol=1e-6)
        found = jax.jit(several)(values, 2.0)
        np.testing.assert_allclose(found[1], values + np.arange(3.0), rtol=1e-6)
        np.testing.assert_allclose(function(values, 2.0), 8)
    for wrong in [(), (values,), (values, 1.0, 1.0)]:
        with pytest.raises(TypeError, match=r"input|argument"):
            jax.jit(lambda x, wrong=wrong: function(*[x for _ in wrong]))(values)


def test_inputs_called_what_no_parameter_is():
    """As PyMC's variables are in a model within a model."""
    x, y = pt.dvector("group::x"), pt.dscalar("y")
    function = pytensor.function([x, y], (x * y).sum(), mode=MODE)
    found = jax.jit(lambda x: function(**{"y": 2.0, "group::x": x}))(np.arange(3.0))
    np.testing.assert_allclose(found, 6, rtol=1e-6)


def test_updates_under_transformations_are_refused():
    state = pytensor.shared(np.zeros(3), "state")
    x = pt.dvector("x")
    function = pytensor.function([x], (x * state).sum(), updates=[(state, state + x)], mode=MODE)
    with pytest.raises(UnsupportedGraphError, match="updates state"):
        jax.jit(function)(np.ones(3))
    np.testing.assert_array_equal(state.get_value(), np.zeros(3))


def test_a_rewrite_that_fails_ends_the_compile(monkeypatch):
    def fails(*_):
        raise KeyError("a defect")

    x = pt.dvector("x")
    monkeypatch.setattr(Rewrites, "apply", fails)
    with pytest.raises(RewriteError, match=r"KeyError: 'a defect'.*rewrite=False"):
        pytensor.function([x], pt.exp(x), mode=MODE)
    pytensor.function([x], pt.exp(x), mode=hlograph.Mode(rewrite=False))
