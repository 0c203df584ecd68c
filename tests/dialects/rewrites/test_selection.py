"""The selection of rewrites: true values at extreme arguments, gradients as given, graphs that stay as they are."""

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.graph.replace import vectorize_graph
from pytensor.raise_op import Assert
from support import REWRITES, assert_same, reference, rewritten

import hlograph
from hlograph import errors
from hlograph.dialects.rewrites.patterns import PATTERNS
from hlograph.dialects.rewrites.selection import EXCLUDED, FAMILIES, QUOTIENTS

X, Y, M = pt.dvector("x"), pt.dvector("y"), pt.dmatrix("m")
POINTS = [0.0, 1e-9, -1e-9, 1.0, -1.0, 30.0, -30.0, 800.0, -800.0]


def softplus(x: Any) -> Any:
    return mpmath.log1p(mpmath.exp(x))


def log_sigmoid(x: Any) -> Any:
    return -softplus(-x)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + mpmath.exp(-x))


def bernoulli(success: float) -> Callable[[Any], Any]:
    """As PyMC has it: a selection of both logarithms, and -inf outside of the support."""

    def density(x: Any) -> Any:
        p, y = pt.sigmoid(x), pt.full_like(x, success)
        inside = pt.switch(y, pt.log(p), pt.log1p(-p))
        return pt.switch(pt.or_(pt.lt(y, 0), pt.gt(y, 1)), -np.inf, inside)

    return density


def logarithms_and_a_selection(x: Any) -> Any:
    """A selection whose gradient stands in a product with a sum of quotients."""
    p = pt.sigmoid(x)
    return pt.switch(pt.eq(p, 1), 0.0, 3 * pt.log(p) + 2 * pt.log1p(-p))


def binomial_coefficient(x: Any) -> Any:
    """Of `n + 2` over 3 with `n = exp(x)`, as PyMC's negative binomial has it: n is lost beside 2 where it is small."""
    n, k = pt.exp(x), pt.constant(np.array([3.0], x.dtype))
    top = n + k - 1
    return pt.gammaln(top + 1) - pt.gammaln(k + 1) - pt.gammaln(top - k + 1)


def exponential_by_scale(x: Any) -> Any:
    """With the scale written as the inverse of a rate."""
    scale = pt.reciprocal(pt.exp(x))
    return pt.log(pt.reciprocal(scale)) - 1.25 / scale


def softmax_as_written(x: Any) -> Any:
    powers = pt.exp(pt.stack([x, 2 * x]))
    return (powers / powers.sum(axis=0, keepdims=True))[0]


# Expressions of PyTensor, and the same function of mpmath.
CASES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "log sigmoid": (lambda x: pt.log(pt.sigmoid(x)), log_sigmoid),
    "log 1 - sigmoid": (lambda x: pt.log(1 - pt.sigmoid(x)), lambda x: -softplus(x)),
    "log1p -sigmoid": (lambda x: pt.log1p(-pt.sigmoid(x)), lambda x: -softplus(x)),
    "log 1 + exp": (lambda x: pt.log(1 + pt.exp(x)), softplus),
    "log exp + 1": (lambda x: pt.log(pt.exp(-x) + 1.0), lambda x: softplus(-x)),
    "log1p exp": (lambda x: pt.log1p(pt.exp(x)), softplus),
    "log of the logistic": (lambda x: pt.log(1 / (1 + pt.exp(-x))), log_sigmoid),
    "log of the other logistic": (lambda x: pt.log(pt.exp(x) / (1 + pt.exp(x))), log_sigmoid),
    "log 1 - logistic": (lambda x: pt.log(1 - 1 / (1 + pt.exp(-x))), lambda x: -softplus(x)),
    "logistic": (lambda x: 1 / (1 + pt.exp(-x)), sigmoid),
    "the other logistic": (lambda x: pt.exp(x) / (1 + pt.exp(x)), sigmoid),
    "logit": (lambda x: pt.log(pt.sigmoid(x) / (1 - pt.sigmoid(x))), lambda x: x),
    "log 1 - exp": (lambda x: pt.log(1 - pt.exp(-abs(x))), lambda x: mpmath.log(-mpmath.expm1(-abs(x)))),
    "log -expm1": (lambda x: pt.log(-pt.expm1(-abs(x))), lambda x: mpmath.log(-mpmath.expm1(-abs(x)))),
    "logaddexp": (lambda x: pt.logaddexp(x, -2 * x), lambda x: mpmath.log(mpmath.exp(x) + mpmath.exp(-2 * x))),
    "logsumexp": (
        lambda x: pt.log(pt.exp(pt.stack([x, 2 * x, -x])).sum(axis=0)),
        lambda x: mpmath.log(mpmath.exp(x) + mpmath.exp(2 * x) + mpmath.exp(-x)),
    ),
    "difference of exps": (
        lambda x: pt.log(pt.exp(x + 1) - pt.exp(x)),
        lambda x: x + mpmath.log(mpmath.expm1(1)),
    ),
    "log of the softmax": (
        lambda x: pt.log(pt.special.softmax(pt.stack([x, 2 * x]), axis=0))[0],
        lambda x: -softplus(x),
    ),
    "softmax as written": (softmax_as_written, lambda x: sigmoid(-x)),
    "exp - 1": (lambda x: pt.exp(-abs(x)) - 1, lambda x: mpmath.expm1(-abs(x))),
    "log erfc": (lambda x: pt.log(pt.erfc(x)), lambda x: mpmath.log(mpmath.erfc(x))),
    "1 - erf": (lambda x: 1 - pt.erf(x), mpmath.erfc),
    "Poisson": (
        lambda x: 3 * pt.log(pt.exp(-abs(x))) - pt.exp(-abs(x)),
        lambda x: -3 * abs(x) - mpmath.exp(-abs(x)),
    ),
    "x over abs": (lambda x: x / abs(x), mpmath.sign),
    "Student t": (lambda x: -2.5 * pt.log(1 + (x / 2) ** 2 / 4), lambda x: -2.5 * mpmath.log1p(x**2 / 16)),
    "half-Cauchy in log space": (
        lambda x: x - pt.log(1 + pt.exp(-abs(x)) ** 2),
        lambda x: x - softplus(-2 * abs(x)),
    ),
    "normal with a log deviation": (
        lambda x: -0.5 * (2.0 / pt.exp(abs(x))) ** 2 - pt.log(pt.exp(abs(x))),
        lambda x: -2 * mpmath.exp(-2 * abs(x)) - abs(x),
    ),
    "negative binomial": (
        lambda x: 3 * pt.log(pt.sigmoid(x - 2)) + 2 * pt.log(1 - pt.sigmoid(x - 2)),
        lambda x: 3 * log_sigmoid(x - 2) + 2 * log_sigmoid(2 - x),
    ),
    "Bernoulli, 1": (bernoulli(1.0), log_sigmoid),
    "Bernoulli, 0": (bernoulli(0.0), lambda x: log_sigmoid(-x)),
    "logarithms and a selection": (
        logarithms_and_a_selection,
        lambda x: 3 * log_sigmoid(x) + 2 * log_sigmoid(-x),
    ),
    "binomial coefficient": (
        binomial_coefficient,
        lambda x: sum(mpmath.log(mpmath.exp(x) + i) for i in range(3)) - mpmath.log(6),
    ),
    "exponential by scale": (exponential_by_scale, lambda x: x - 1.25 * mpmath.exp(x)),
}
# Singular, or without a derivative, at 0.
AT_0 = {"log 1 - exp", "log -expm1", "exp - 1", "Poisson", "x over abs", "half-Cauchy in log space"}
AT_0 |= {"normal with a log deviation"}
POINTS_OF = {
    **dict.fromkeys(("Bernoulli, 1", "Bernoulli, 0"), (*POINTS, -3.0, 36.7, -36.7, 40.0, -40.0, 90.0)),
    "logarithms and a selection": (-800.0, -90.0, -30.0, 0.0, 3.0, 15.0),
    "binomial coefficient": (-80.0, -30.0, -3.0, 0.5, 3.0),
    "exponential by scale": (-80.0, -30.0, -3.0, 0.5, 3.0, 20.0),
}
# Their gradients, taken before rewriting, lose digits or are NaN, with PyTensor's full rewriting as well.
VALUE_ONLY = {"difference of exps", "softmax as written", "log 1 - exp"}


@pytest.mark.parametrize(
    ("name", "dtype"), [*((name, "float64") for name in CASES), *((name, "float32") for name in POINTS_OF)]
)
def test_extreme_arguments(name: str, dtype: str) -> None:
    """Value and derivative against mpmath; the gradient is taken before rewriting, as PyMC does, and also alone."""
    expression, truth = CASES[name]
    at = np.array([x for x in POINTS_OF.get(name, POINTS) if x or name not in AT_0], dtype)
    x = pt.vector("x", dtype=dtype)
    outputs = [expression(x), pytensor.grad(expression(x).sum(), x)]
    found = reference([x], rewritten([x], outputs)[1], [at])
    alone = reference([x], rewritten([x], outputs[1:])[1], [at])
    with mpmath.workdps(60):
        exact, step = [mpmath.mpf(float(point)) for point in at], mpmath.mpf(10) ** -25
        values = [float(truth(point)) for point in exact]
        slopes = [float((truth(point + step) - truth(point - step)) / (2 * step)) for point in exact]
    # What underflows may be zero. Rounding of the argument itself counts as much as the argument is large.
    options = {"rtol": 1e-12, "atol": 1e-15} if dtype == "float64" else {"rtol": 4e-6, "atol": 1e-37}
    wanted = [values] if name in VALUE_ONLY else [values, slopes, slopes]
    for actual, expected in zip([*found, *alone], wanted, strict=False):
        assert actual.dtype == dtype
        np.testing.assert_allclose(actual, expected, **options)


SCALAR, ROW = pt.dscalar("s"), pt.drow("r")
SINGLE = pt.fvector("f")
PRODUCTS = {
    "all of it": ([SCALAR], SCALAR / SCALAR, [np.array(3.0)]),
    "axes of what is gone": ([M, SCALAR], (M / M) * SCALAR, [np.ones((2, 3)) * 4, np.array(2.0)]),
    "axes of one side": ([M, ROW], (M / M) * ROW / ROW, [np.ones((2, 3)) * 4, np.full((1, 3), 5.0)]),
    "sign": ([X, Y], -(X * Y) / X * -Y, [np.array([1.0, 2.0]), np.array([3.0, 4.0])]),
    "both below": ([X, Y], X / (X / Y) / Y, [np.array([1.0, 2.0]), np.array([3.0, 4.0])]),
    "reciprocals": ([X, Y], pt.reciprocal(X) * Y * X, [np.array([1.0, 2.0]), np.array([3.0, 4.0])]),
    "nothing but ones": ([X], pt.log(pt.reciprocal(1.0)) + X / X, [np.array([1.0, 2.0])]),
    "an empty vector": ([X], X / X, [np.zeros(0)]),
    "float32": ([SINGLE], pt.exp(SINGLE) / (1 + pt.exp(SINGLE)) * 2, [np.array([-1.0, 2.0], "float32")]),
    "one times": ([X], 1 * X * 1.0 / (1 + pt.exp(-X)), [np.array([1.0, -2.0])]),
    "keepdims": ([M], pt.exp(M) / pt.exp(M).sum(axis=1, keepdims=True), [np.arange(6.0).reshape(2, 3)]),
    "sqrt of a square": ([X], pt.sqrt(pt.sqr(X)), [np.array([-1.0, 2.0])]),
    "two sums": ([M], pt.log(pt.exp(M).sum(axis=0)) - pt.log(pt.exp(M).sum()), [np.arange(6.0).reshape(2, 3)]),
    "three terms": ([X, Y], pt.log(pt.add(pt.exp(X), pt.exp(Y), pt.exp(X + Y))), [np.ones(2), np.zeros(2)]),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_keep_values_axes_and_dtype(name: str) -> None:
    inputs, output, values = PRODUCTS[name]
    _, rewritten = REWRITES.apply(inputs, [output], True)
    assert rewritten[0] is not output
    (found,), (expected,) = reference(inputs, rewritten, values), reference(inputs, [output], values)
    assert rewritten[0].type.ndim == output.type.ndim
    assert_same(found, expected, rtol=1e-6 if found.dtype == "float32" else 1e-12)


def test_a_graph_with_nothing_to_rewrite_is_not_copied() -> None:
    value = (X * Y - X**2).sum()
    outputs = [value, pytensor.grad(value, X)]
    assert REWRITES.apply([X, Y], outputs, True) == ([X, Y], outputs)


def test_the_users_graph_stays_as_it_is() -> None:
    value = pt.log(1 - pt.sigmoid(X)).sum()
    outputs = [value, pytensor.grad(value, X)]
    before = [pytensor.dprint(x, file="str") for x in outputs]
    _, rewritten = REWRITES.apply([X], outputs, True)
    assert [pytensor.dprint(x, file="str") for x in rewritten] != before
    assert [pytensor.dprint(x, file="str") for x in outputs] == before


def test_long_chains_take_as_many_looks_as_they_have_nodes() -> None:
    """No recursion, and no growth: neither in a product of 3,000 factors nor in a chain of logistic functions."""
    product, chain = X, X
    for _ in range(1500):
        product = product * Y / (Y + 2)
    for _ in range(300):
        chain = 1 / (1 + pt.exp(-chain))
    _, rewritten = REWRITES.apply([X, Y], [product, chain], True)
    assert count(rewritten[:1]) <= count([product])
    assert count(rewritten[1:]) <= count([chain])


def count(outputs: list) -> int:
    found, stack = set(), [x.owner for x in outputs]
    while stack:
        node = stack.pop()
        if node is not None and node not in found:
            found.add(node)
            stack += [x.owner for x in node.inputs]
    return len(found)


def test_a_rewritten_graph_has_a_gradient_and_batches() -> None:
    """Differentiation after rewriting agrees with rewriting after differentiation, and so does a batch of points."""
    expressions = [expression(X)[0] for name, (expression, _) in CASES.items() if name != "x over abs"]
    value = pt.stack(expressions).sum()
    _, (rewritten,) = REWRITES.apply([X], [value], True)
    after = pytensor.grad(rewritten, X)
    batch = pt.dmatrix("batch")
    batched = vectorize_graph([rewritten, after], {X: batch})
    point = np.array([0.3])
    slope, expected = reference([X], [after, pytensor.grad(value, X)], [point])
    np.testing.assert_allclose(slope, expected, rtol=1e-9)
    values, slopes = reference([batch], batched, [np.stack([point, point])])
    np.testing.assert_allclose(values, [reference([X], [value], [point])[0]] * 2, rtol=1e-12)
    np.testing.assert_allclose(slopes, [expected, expected], rtol=1e-9)


def test_a_check_counts_where_its_value_is_taken() -> None:
    """Of a vector of scalars; what cancels beside it is cancelled all the same, and drops no other check."""
    first, second = (Assert(name)(X[i], pt.eq(X[i], i)) for i, name in enumerate(("first", "second")))
    ratio = pt.exp(X[0]) / (1 + pt.exp(X[0]))
    for outputs, point, failing in [
        ([pt.stack([first, second])[1], ratio], [800.0, 1.0], None),
        ([pt.stack([first, second])[1] + first * 0, ratio], [800.0, 1.0], "first"),
        ([pt.stack([first, second])[:1]], [0.0, 2.0], None),
        ([pt.stack([first, second])], [0.0, 2.0], "second"),
    ]:
        function = hlograph.function([X], outputs)
        if failing is None:
            assert np.isfinite(np.concatenate([np.ravel(x) for x in np.atleast_1d(function(np.array(point)))])).all()
            continue
        with pytest.raises(AssertionError, match=failing):
            function(np.array(point))


def test_everything_of_the_librarys_own() -> None:
    graph = pt.log(pt.sigmoid(X)) + (X + 0) * 1
    inputs, outputs = REWRITES.apply([X], [graph], "full")
    assert count(outputs) < count([graph])
    np.testing.assert_allclose(hlograph.emit_stablehlo((inputs, outputs)).compile()(np.array([-800.0])), [-1600.0])


@pytest.mark.parametrize("how", ["fast_run", 1, None])
def test_other_choices_are_refused(how: object) -> None:
    with pytest.raises(errors.GraphError, match="expected False, True, or"):
        REWRITES.apply([X], [X + 1], how)


# Names that we ask for and not every supported release has: releases that have them (from, before), and why.
NOT_EVERYWHERE = {
    "local_logsoftmax_grad": ((0,), (3,), "softmax's gradient is an op of its own"),
    "scan_reduce_trace_prealloc": ((3,), (9,), "what scan_save_mem_prealloc was cut into"),
    "compile_inner_graph": ((3, 3), (9,), "inner graphs are rewritten for a backend"),
    "lazy_ifelse": ((3, 3), (9,), "conditionals are compiled to inner graphs for Numba and JAX"),
    "scalarize": ((3, 3), (9,), "scalars are passed on without arrays for Numba"),
}


def test_the_library_has_every_rewrite_that_is_asked_for() -> None:
    """A name that a release has lost would leave the selection without a word."""
    from pytensor.compile.mode import optdb
    from pytensor.graph.rewriting.db import RewriteDatabase

    found, pending = set(), [optdb]
    while pending:
        database = pending.pop()
        for name, rewriters in database.__db__.items():
            fresh = name not in found
            found.update([name, *(getattr(rewriter, "name", None) or "" for rewriter in rewriters)])
            pending += [x for x in rewriters if isinstance(x, RewriteDatabase) and fresh]
    wanted = {name for _, rewrites in FAMILIES for name in rewrites} | set(EXCLUDED)
    missing = wanted - found - PATTERNS.keys() - {QUOTIENTS}
    release = tuple(int(part) for part in pytensor.__version__.split(".")[:2])
    assert missing <= {name for name, (first, last, _) in NOT_EVERYWHERE.items() if not first <= release < last}
