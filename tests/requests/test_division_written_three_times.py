"""The request of jax-ml/jax#15736: an expression that occurs three times is computed three times in the jaxpr.

The two functions are the request's. What is asked of them: the module has one division, as that of the second function
has; reverse mode has no more than XLA leaves of JAX's, five; and merging changes no bit of the function.
"""

from typing import Any

import jax
import jax.numpy as jnp
import jax.numpy as np
import mpmath
import numpy
import pytensor.tensor as pt
import pytest

import hlograph


# fmt: off
def fnc_jax(x1, x2):

    return (jnp.divide(x1,x2) - jnp.exp(x2))*(jnp.sin(jnp.divide(x1,x2)) + jnp.divide(x1,x2) - jnp.exp(x2))


def fnc_jax_alt(x1, x2):
    a = x1/x2
    b = np.exp(x2)
    c = np.sin(a)
    d = a - b
    e = c + d
    g = d * e
    return g
# fmt: on


def divisions(text: str) -> int:
    return text.count("stablehlo.divide")


def exact(x1: float, x2: float) -> list[float]:
    """The function and its two derivatives."""

    def function(x: Any, y: Any) -> Any:
        return (x / y - mpmath.exp(y)) * (mpmath.sin(x / y) + x / y - mpmath.exp(y))

    with mpmath.workdps(40):
        found = [function(mpmath.mpf(x1), mpmath.mpf(x2))]
        found += [mpmath.diff(function, (x1, x2), order) for order in ((1, 0), (0, 1))]
    return [float(x) for x in found]


def by_graph() -> Any:
    x, y = pt.dscalar("x1"), pt.dscalar("x2")
    return hlograph.function([x, y], (x / y - pt.exp(y)) * (pt.sin(x / y) + x / y - pt.exp(y)))


def with_named_sizes() -> Any:
    return hlograph.jit(lambda x, y: fnc_jax(x, y).sum(), dims={"x": ("n",), "y": ("n",)})


def test_the_module_has_one_division():
    text = hlograph.jit(fnc_jax).lower(1.0, 1.0).as_text()
    assert divisions(text) == divisions(hlograph.jit(fnc_jax_alt).lower(1.0, 1.0).as_text()) == 1
    assert text.count("stablehlo.exponential") == 1
    assert divisions(jax.jit(fnc_jax).lower(1.0, 1.0).as_text()) == 3, "what the request is about"


@pytest.mark.parametrize(
    ("make", "most", "arguments"),
    [
        (lambda: hlograph.jit(jax.grad(fnc_jax, (0, 1))), 5, (1.0, 2.0)),
        (lambda: jax.jit(jax.grad(hlograph.jit(fnc_jax), (0, 1))), 3, (1.0, 2.0)),
        (lambda: jax.jit(jax.grad(with_named_sizes(), (0, 1))), 3, (numpy.ones(1), numpy.full(1, 2.0))),
        (lambda: jax.jit(jax.grad(by_graph(), (0, 1))), 3, (1.0, 2.0)),
    ],
    ids=["gradient-inside", "gradient-outside", "named-sizes", "graph"],
)
def test_reverse_mode_divides_at_most_five_times(make, most, arguments):
    with jax.enable_x64(True):
        function = make()
        assert divisions(function.lower(*arguments).as_text()) <= most
        found = function(*arguments)
    numpy.testing.assert_allclose(numpy.ravel(found), exact(1.0, 2.0)[1:], rtol=1e-13)


def test_merging_keeps_every_bit():
    x, y = (numpy.random.default_rng(5).uniform(-3, 3, 1000).astype(numpy.float32) for _ in range(2))
    wanted = numpy.asarray(jax.jit(fnc_jax)(x, y)).view(numpy.int32)
    merged = hlograph.jit(fnc_jax).lower(x, y).compile()(x, y)
    numpy.testing.assert_array_equal(numpy.asarray(merged).view(numpy.int32), wanted)
    with jax.enable_x64(True):
        numpy.testing.assert_allclose(hlograph.jit(fnc_jax)(1.0, 2.0), exact(1.0, 2.0)[0], rtol=1e-14)
