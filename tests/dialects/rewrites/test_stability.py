"""What cancels, and what masks keep out, far out: values and gradients against mpmath, in both precisions.

What is evaluated is the rewritten graph, by PyTensor in Python: rewriting alone is looked at, not the lowering.
"""

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.raise_op import Assert
from support import reference, rewritten

import hlograph


def evaluated(inputs: list[Any], graph: Any, *values: Any) -> np.ndarray:
    """A graph, rewritten."""
    return reference(inputs, rewritten(inputs, [graph])[1], [np.asarray(v) for v in values])[0]


# What stands between a selection and a factor that is infinite where the selection has its zero.
BETWEEN: dict[str, Callable[[Any], Any]] = {
    "nothing": lambda x: x,
    "a negation": lambda x: -x,
    "factors": lambda x: 2 * (-x) * 3 / 4,
    "shapes": lambda x: pt.second(pt.ones((2,)), x),
    "a fill": lambda x: pt.second(pt.ones((2,)), -x) * 2,
    "a square": lambda x: x * pt.switch(pt.gt(x, -1), 1.0, 0.0),
}


@pytest.mark.parametrize("zero_first", [False, True])
@pytest.mark.parametrize("name", BETWEEN)
def test_the_branch_not_taken_gives_zero(name: str, zero_first: bool) -> None:
    """Also where what it is multiplied with or divided by is infinite, NaN or 0."""
    x, y = pt.dvector("x"), pt.dvector("y")
    condition, branches = (pt.le(x, 0), (0.0, x)) if zero_first else (pt.gt(x, 0), (x, 0.0))
    middle = BETWEEN[name](pt.switch(condition, *branches))
    _, outputs = rewritten([x, y], [middle * y, middle / y, -(middle * y) / y])
    for bad in (np.inf, np.nan, 0.0, 2.0):
        products = reference([x, y], outputs, [np.array([-1.0, 3.0]), np.array([bad, 2.0])])
        (inside,) = reference([x], [middle], [np.array([3.0, 3.0])])
        expected = [inside[0] * 2, inside[0] / 2, -inside[0]]
        for found, right in zip(products, expected, strict=True):
            assert found[0] == 0
            np.testing.assert_allclose(found[1], right)


X, Y, M = pt.dvector("x"), pt.dvector("y"), pt.dmatrix("m")
INSIDE = pt.gt(X, 0)
MASK, INF, NAN = pt.switch(INSIDE, -1.5, 0.0), np.inf, np.nan
# Graphs, values of their inputs, and what comes out: 0 where a branch is not taken.
MASKED = {
    "a sum of masks": (
        [X, Y],
        (pt.switch(INSIDE, X, 0.0) - pt.switch(INSIDE, pt.switch(pt.gt(X, -1), 3.0, 0.0), 0.0)) * Y,
        ([-1.0, 5.0, -2.0], [INF, 2.0, NAN]),
        [0, 4, 0],
    ),
    # A gradient by two bounds: each part keeps the infinite factor out where it is zero.
    "a sum of different masks": (
        [X, Y],
        -(pt.switch(INSIDE, X, 0.0) - pt.switch(pt.gt(X, -1), 3.0, 0.0) + pt.zeros_like(Y)) * Y,
        ([-3.0, 5.0, -0.5], [INF, 2.0, 4.0]),
        [0, -4, 12],
    ),
    "behind inserted axes": (
        [X, M],
        pt.switch(INSIDE, -X, 0.0)[None, :] * M,
        ([-1.0, 2.0], [[INF, 1.0], [NAN, 2.0]]),
        [[0, -2], [0, -4]],
    ),
    **{
        f"behind {what}": ([X, Y], graph / Y, ([-1.0, 2.0], [0.0, 3]), [0, -0.5])
        for what, graph in {
            "a zero": pt.second(X, 0.0) + MASK,
            "a cast": pt.cast(pt.switch(INSIDE, np.float32(-1.5), np.float32(0)), "float64"),
            "a sum of one": MASK[:, None].sum(axis=1),
            "a sum of none": pt.sum(MASK, axis=()),
        }.items()
    },
    "of a scale that overflows": ([X], pt.log(pt.abs(pt.exp(X))), ([-800.0, 800.0],), [-800, 800]),
}


@pytest.mark.parametrize("name", MASKED)
def test_masks(name: str) -> None:
    inputs, graph, values, expected = MASKED[name]
    np.testing.assert_array_equal(evaluated(inputs, graph, *values), expected)


def test_what_does_not_cancel_stays() -> None:
    """Constants alone, a difference that gives the axes, and a check."""
    x, row, m = pt.dvector("x"), pt.drow("row"), pt.dmatrix("m")
    two = pt.constant(np.array([2.0]))
    graphs = [x ** (pt.constant(np.array([-0.5])) - 1), (m - m) + row, two - 1 + x - x]
    values = [np.array([1.3, 2.0]), np.array([[4.0, 5.0]]), np.ones((3, 2))]
    for found, right in zip(
        reference([x, row, m], rewritten([x, row, m], [*graphs, pt.switch(pt.gt(x, 0), x, 0.0)])[1], values),
        reference([x, row, m], graphs, values),
        strict=False,
    ):
        np.testing.assert_allclose(found, right, rtol=1e-14)
    checked = Assert("x must be positive")(x, pt.all(x > 0))
    function = hlograph.function([x], checked - checked + pt.log(checked) - pt.log(checked))
    with pytest.raises(AssertionError, match="positive"):
        function(np.array([1.0, -2.0]))


def slopes(expression: Any, inputs: list[Any], values: list[Any]) -> list[np.ndarray]:
    """Gradients by all inputs, rewritten together with the value."""
    outputs = [expression, *pytensor.grad(expression.sum(), inputs)]
    after = rewritten(inputs, outputs)[1]
    assert [x.type for x in after] == [x.type for x in outputs]
    return reference(inputs, after, values)[1:]


def masked_coefficient(v: Any, n: Any) -> Any:
    """The logarithm of a binomial coefficient, as PyMC's densities have it."""
    top = v + n - 1
    value = pt.gammaln(top + 1) - pt.gammaln(v + 1) - pt.gammaln(top - v + 1)
    return pt.switch(pt.lt(v, 0), -np.inf, pt.switch(pt.gt(n, 1e10), 0.0, value))


# Graphs, values of their inputs (the square of small vanishes, the exponential of far is nearly infinite), and
# in mpmath the slopes of an element by its inputs; None where it must be finite only.
SLOPES: dict[str, tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]] = {
    # `(1 + v**2 / (n * s**2)) * n * s**2` is `n * s**2 + v**2`
    "squares of small scales": (
        lambda v, s: -2 * pt.log1p(v**2 / (3 * s**2)) - pt.log(s),
        lambda small, far: ([1.3, 1.3], [small, 0.5]),
        lambda v, s: (-4 * v / (3 * s**2 + v**2), 4 * v**2 / (s * (3 * s**2 + v**2)) - 1 / s),
    ),
    # `1 / (k + 1 / k) / k**2` is `1 / (k**2 + 1) / k`, as an asymmetric Laplace density has it
    "inverse scales beside their inverses": (
        lambda k: -pt.log(k + pt.reciprocal(k)),
        lambda small, far: ([small, 1e-3, 0.7],),
        lambda k: ((1 - k**2) / (k * (1 + k**2)),),
    ),
    # Exponentials below are divided by one after another: a normal density by the logarithm of its scale.
    "log scales": (
        lambda v, m, s: -(((v - m) / pt.exp(s)) ** 2) / 2 - s,
        lambda small, far: ([0.7, 0.7, 0.7, 2.0], [0.7] * 4, [-far, far, 0.3, 0.3]),
        lambda v, m, s: (None, None, ((v - m) / mpmath.exp(s)) ** 2 - 1),
    ),
    "log scales of a Student t": (
        lambda v, m, s: -pt.log1p(((v - m) / pt.exp(s)) ** 2) / 2 - s,
        lambda small, far: ([0.7, 0.7, 0.7, 2.0], [0.7] * 4, [-far, far, 0.3, 0.3]),
        lambda v, m, s: (None, None, -1 / (1 + ((v - m) / mpmath.exp(s)) ** 2)),
    ),
    # Terms cancel within masks and across them, for a size that is lost beside 1.
    "a binomial coefficient by its count": (
        masked_coefficient,
        lambda small, far: ([3.0] * 3, [1e-30, 1e-8, 2.0]),
        lambda v, n: (mpmath.digamma(v + n) - mpmath.digamma(v + 1), None),
    ),
    "constants that cancel": (lambda x: -0.5 * x**2, lambda small, far: ([1 / small**1.6, 2.0],), lambda x: (-x,)),
    # `log(erf(x))`, written with the complement, which is 1 where x is small
    "a half-normal distribution function": (
        lambda x: pt.log1p(-pt.erfc(x)),
        lambda small, far: ([small, 1e-20, 0.3, 2.0],),
        lambda x: (2 / mpmath.sqrt(mpmath.pi) * mpmath.exp(-x * x) / mpmath.erf(x),),
    ),
    "a normal tail": (
        lambda x, s: pt.log(pt.erfc(-x / s / np.sqrt(2))),
        lambda small, far: ([-far, -60.0, 0.3], [1.0, 0.5, 2.0]),
        lambda x, s: (
            mpmath.sqrt(2 / mpmath.pi) / s * mpmath.exp(-((x / s) ** 2) / 2) / mpmath.erfc(-x / s / mpmath.sqrt(2)),
            None,
        ),
    ),
    # The second derivative of a logarithm of `exp(x) / (1 + exp(x))` has it.
    "an exponential beside its complement": (
        lambda x: pt.exp(x) * pt.sigmoid(-x),
        lambda small, far: ([-far, 0.3, far],),
        lambda x: (None,),
    ),
    "survival from a probability": (
        lambda x: pt.log1mexp(pt.log(x)),
        lambda small, far: ([1e-20, 0.3],),
        lambda x: (-1 / (1 - x),),
    ),
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", SLOPES)
def test_slopes(name: str, dtype: str) -> None:
    graph, values, truth = SLOPES[name]
    far = {"float64": 700, "float32": 80}[dtype]
    at = [np.array(each, dtype) for each in values(float(np.finfo(dtype).tiny) ** 0.6, far)]
    inputs = [pt.vector(dtype=dtype) for _ in at]
    found = slopes(graph(*inputs), inputs, at)
    assert np.isfinite(found).all()
    with mpmath.workdps(60):
        points = [[mpmath.mpf(float(x)) for x in each] for each in at]
        right = zip(*[truth(*point) for point in zip(*points, strict=True)], strict=True)
        for one, wanted in zip(found, right, strict=True):
            if None not in wanted:
                wanted = [float(x) for x in wanted]
                np.testing.assert_allclose(one, wanted, rtol=1e-12 if dtype == "float64" else 1e-5)


def test_what_rounding_hides_has_no_slope() -> None:
    """The gradient of a rounded quotient is 0, also where the quotient's own is infinite or NaN."""
    x, row = pt.dvector("x"), pt.drow("row")
    found = slopes(pt.ceil(pt.log1p(-x) / pt.log1p(-row)), [x, row], [np.array([1.0, 0.3]), np.array([[0.0, 1.0]])])
    np.testing.assert_array_equal(found[0], [0, 0])
    np.testing.assert_array_equal(found[1], [[0, 0]])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_logarithm_of_a_softmax_by_hand(dtype: str) -> None:
    """As the prior of a simplex has it, where all but one weight vanish."""
    x = pt.vector("x", dtype=dtype)
    shifted = x - pt.max(x)
    p = pt.exp(shifted) / pt.sum(pt.exp(shifted))
    counts = np.array([2.0, 0.5, 1.0], dtype)
    for at in ([1000.0, -1000.0, 0.0], [0.3, -0.2, 0.1], [-3e4, 3e4, 0.0]):
        (found,) = slopes(counts * pt.log(p), [x], [np.array(at, dtype)])
        with mpmath.workdps(60):
            weights = [mpmath.exp(mpmath.mpf(float(v))) for v in np.array(at, dtype)]
            right = [float(c - 3.5 * w / mpmath.fsum(weights)) for c, w in zip(counts, weights, strict=True)]
        np.testing.assert_allclose(found, right, rtol=1e-5, atol=1e-5)


def test_absolute_values_and_logarithms_of_complex_numbers() -> None:
    """Of complex ones nothing is known."""
    z = pt.zvector("z")
    numbers = np.array([1 + 2j, -3j])
    graphs = [pt.abs(pt.exp(z)), pt.log(pt.exp(5 * z)), pt.sqrt(pt.sqr(z))]
    for one, other in zip(
        reference([z], rewritten([z], graphs)[1], [numbers]), reference([z], graphs, [numbers]), strict=True
    ):
        np.testing.assert_allclose(one, other)
