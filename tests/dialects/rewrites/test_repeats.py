"""Sums of equal terms: what becomes one term with a leading axis, and that values and errors stay."""

from __future__ import annotations

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.raise_op import Assert

import hlograph
from hlograph.codegen.graph import order
from hlograph.dialects.library import library

N = 24
RNG = np.random.default_rng(0)
DATA = RNG.normal(size=(N, 3))
PLACES = RNG.permutation(N)


def potentials(x):
    sd = pt.exp(x[-1])
    return [(-0.5 * ((DATA[i] - x[i]) / sd) ** 2 - pt.log(sd)).sum() - pt.softplus(x[i] * x[-2]) for i in range(N)]


def components(x):
    return [pt.log(sum(pt.exp(x[k] - (DATA[i, 0] - x[4 + k]) ** 2) for k in range(4))) for i in range(N)]


def permuted(x):
    return [pt.sqr(x[int(i)]) * float(i + 1) for i in PLACES]


def one_place(x):
    return [pt.cos(x[3] * float(i)) for i in range(N)]


def from_the_end(x):
    return [pt.exp(x[-1 - i]) * DATA[i, 1] for i in range(N)]


def checked(x):
    return [Assert("below 9")(pt.log1p(x[i] ** 2), x[i] < 9) for i in range(N)]


def small_numbers(x):
    return [x[i] * pt.log(pt.constant(np.float32(i + 1.1))) for i in range(N)]


def of_two_kinds(x):
    return [*permuted(x), *potentials(x), x[0], pt.tanh(x[1]), *[x[2]] * 9]


CASES = (potentials, components, permuted, one_place, from_the_end, checked, small_numbers, of_two_kinds)


@pytest.mark.parametrize("shape", [(N + 2,), (None,)], ids=["known", "open"])
@pytest.mark.parametrize("terms", CASES, ids=lambda f: f.__name__)
def test_values_and_gradients_stay(terms, shape) -> None:
    x = pt.tensor("x", shape=shape, dtype="float64")
    found = terms(x)
    value = sum(found[1:], found[0]) * 2
    outputs = [value, pytensor.grad(value, x), found[5]]
    point = RNG.normal(size=N + 2)
    expected = pytensor.function([x], outputs, mode=pytensor.compile.mode.Mode("py", None))(point)
    _, after = library("pytensor").rewrites.apply([x], outputs, True)
    assert (len(order(after)) < len(order(outputs)) / 2) is (terms is not small_numbers)
    for one, other in zip(expected, hlograph.function([x], outputs)(point), strict=True):
        np.testing.assert_allclose(other, one, rtol=3e-7 if terms is small_numbers else 2e-14, atol=1e-13)


def test_a_check_counts_for_every_term() -> None:
    x = pt.vector("x")
    value = sum(checked(x))
    function = hlograph.function([x], [value, pytensor.grad(value, x)])
    point = np.zeros(N)
    function(point)
    point[N - 2] = 10.0
    with pytest.raises(AssertionError, match="below 9"):
        function(point)


def test_a_vector_that_is_too_short_is_refused() -> None:
    x = pt.vector("x")
    function = hlograph.function([x], [sum(pt.exp(x[i]) for i in range(N * 9))])
    with pytest.raises((IndexError, ValueError)):
        function(np.zeros(N * 9 - 1))
    np.testing.assert_allclose(function(np.zeros(N * 9)), N * 9)
