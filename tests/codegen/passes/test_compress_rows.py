"""Rows of data that are only added up: fewer rows, the same value and gradients, also of what is not finite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.special import logsumexp
from jax.scipy.stats import norm, poisson

from hlograph import Program
from hlograph.passes import Report

pytestmark = pytest.mark.usefixtures("jax_x64")

N, GROUPS = 128, 12
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(N, 3))
FEW = RANDOM.normal(size=(8, 3))[RANDOM.integers(0, 8, N)]  # eight distinct rows
Y = X @ [1.0, -2.0, 0.5] + RANDOM.normal(size=N)
PLACE = RANDOM.integers(0, GROUPS, N)
COUNTS = RANDOM.poisson(2.0, N)
BINARY = RANDOM.integers(0, 2, N)
SIGMA, WEIGHTS = np.exp(X[:, 2]), np.maximum(0, X[:, 1])
CELLS = len(np.unique(np.c_[FEW, PLACE % 3], axis=0))
ANSWERS = RANDOM.integers(0, 2, (4, 5))[RANDOM.integers(0, 4, N)]  # four patterns of five answers
SPLINE = np.maximum(0, X[:, :1] - np.linspace(-1, 1, 6))

scale, vector, places = np.array(0.3), np.array([0.4, -0.2, 0.9]), RANDOM.normal(size=GROUPS)


def normal(mean: Any, log_scale: Any) -> Any:
    return jnp.sum(norm.logpdf(Y, mean, jnp.exp(log_scale)))


def centred(a: Any) -> Any:
    """A sum over the rows is needed in each of them."""
    rows = jnp.exp(FEW @ a)
    return jnp.sum((rows - jnp.mean(rows)) ** 2)


def quadrature(a: Any, b: Any) -> Any:
    """A marginal item response model: people with equal answers are one row."""
    logits = a[None, :] + b[:, None]
    each = ANSWERS @ jnp.log(jax.nn.sigmoid(logits.T)) + (1 - ANSWERS) @ jnp.log(jax.nn.sigmoid(-logits.T))
    return jnp.sum(logsumexp(each, axis=1))


# A density; its arguments; how many rows are left of 128.
MODELS: dict[str, tuple[Callable[..., Any], Sequence[Any], int]] = {
    "regression": (lambda a, b, s: normal(a + X @ b, s), (scale, vector, scale), 5),
    "columns": (lambda a, b, s: normal(a + b[0] * X[:, 0] + b[1] * X[:, 1], s), (scale, vector, scale), 4),
    "groups": (lambda a, s: normal(a[PLACE], s), (places, scale), GROUPS + 1),
    "slopes": (lambda a, b, s: normal(a[PLACE] + b[PLACE] * X[:, 0], s), (places, places, scale), 2 * GROUPS + 1),
    "groups with a common slope": (lambda a, b, s: normal(a[PLACE] + X @ b, s), (places, vector, scale), GROUPS + 4),
    "scales of groups": (lambda a, s: normal(a[PLACE] + Y, s[PLACE]), (places, places), 2 * GROUPS),
    "squares by group": (
        lambda a, b: jnp.sum(jnp.zeros(GROUPS).at[PLACE].add((Y - a[PLACE]) ** 2) * b),
        (places, places),
        2 * GROUPS,
    ),
    "weights and groups": (lambda a: jnp.sum(WEIGHTS * (Y - a[PLACE]) ** 2), (places,), 3 * GROUPS + 2),
    "spline": (lambda a, s: normal(SPLINE @ a, s), (np.arange(6.0), scale), 8),
    "logistic": (lambda b: jnp.sum(BINARY * (FEW @ b) - jax.nn.softplus(FEW @ b)), (vector,), 8),
    "poisson": (lambda b: jnp.sum(poisson.logpmf(COUNTS, jnp.exp(FEW @ b))), (vector,), 16),  # zero has a branch
    "product": (lambda b: jnp.sum(Y * (X @ b)), (vector,), 1),
    "known scales": (lambda a, b: jnp.sum(norm.logpdf(Y, a + X @ b, SIGMA)), (scale, vector), 16),
    "weights": (lambda a, s: jnp.sum(-jnp.exp(-s) * WEIGHTS * (Y - a) ** 2), (scale, scale), 4),
    "weighted counts": (lambda b: jnp.sum(WEIGHTS * jax.nn.softplus(FEW @ b) * jnp.square(Y)), (vector,), 8),
    "categories": (
        lambda b: jnp.sum(jnp.log(jax.nn.softmax(FEW * b, axis=1)[np.arange(N), PLACE % 3])),
        (vector,),
        CELLS,
    ),
    "largest": (lambda b: jnp.max(FEW @ b) + jnp.min(jnp.exp(FEW @ b)), (vector,), 8),
    "counts of whole numbers": (lambda b: b[0] * jnp.sum(jnp.where(FEW @ b > 0, 3, 1)), (vector,), 8),
    "staged": (centred, (vector,), 8),
    "quadrature": (quadrature, (np.arange(5.0), np.linspace(-2, 2, 7)), 4),
}


def compressed(text: str) -> tuple[Program, Report]:
    reports: list[Report] = []
    return Program.parse(text).optimize(["inline", "compress_rows{rows=32}"], reports=reports), reports[1]


@pytest.mark.parametrize("name", MODELS)
def test_value_and_gradients_are_those_of_all_rows(name: str) -> None:
    density, arguments, rows = MODELS[name]
    derivative = jax.jit(jax.value_and_grad(density, tuple(range(len(arguments)))))
    after, report = compressed(derivative.lower(*arguments).as_text())
    assert f"{N} rows become {rows:,}:" in report.text, report.text
    points = [arguments, *([np.full_like(x, bad) if k == n else x for k, x in enumerate(arguments)]
                           for n in range(len(arguments)) for bad in (np.nan, np.inf, -np.inf, 0.0))]  # fmt: skip
    for point in points:
        for found, wanted in zip(after.interpret(*point), jax.tree.leaves(derivative(*point)), strict=True):
            wanted = np.asarray(wanted)
            largest = np.max(np.abs(wanted[np.isfinite(wanted)]), initial=1)
            np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-11 * largest)


# What is left alone, and why.
ALONE: dict[str, tuple[Callable[..., Any], str]] = {
    "distinct": (lambda b: jnp.sum(jax.nn.softplus(X @ b)), "too few of them are alike"),
    "rows": (lambda b: jnp.sum(jnp.cumsum(X @ b)), "needs them one by one"),
    "sorted": (lambda b: jnp.sum(jnp.sort(FEW @ b)[:3]), "sort needs them one by one"),
    "reversed": (lambda b: jnp.sum((FEW @ b)[::-1] * (FEW @ b)), "moves them"),
    "product": (lambda b: jnp.prod(1 + (FEW @ b) ** 2), "combined by multiply"),
}


@pytest.mark.parametrize("name", ALONE)
def test_what_is_left_alone(name: str) -> None:
    density, reason = ALONE[name]
    text = jax.jit(density).lower(vector).as_text()
    _, report = compressed(text)
    assert reason in report.text
    assert not report.rewritten


def test_results_and_arguments_with_the_rows_stay() -> None:
    for density, arguments in (
        (lambda b: (FEW @ b, jnp.sum(FEW @ b)), (vector,)),
        (lambda x: jnp.sum(Y * x), (Y,)),
    ):
        text = jax.jit(density).lower(*arguments).as_text()
        _, report = compressed(text)
        assert "has the rows" in report.text
        assert not report.rewritten


def test_columns_that_are_not_finite_stay_as_they_are() -> None:
    spoiled = Y.copy()
    spoiled[7] = np.inf
    for bad, rows in ((spoiled, None), (np.where(Y > 0, np.inf, 1.0), 2)):
        text = jax.jit(lambda a, bad=bad: jnp.sum((bad - a) ** 2)).lower(scale).as_text()
        after, report = compressed(text)
        assert bool(report.rewritten) == (rows is not None)
        np.testing.assert_array_equal(after.interpret(scale)[0], np.inf)


def test_bits_are_kept_where_they_are_asked_for() -> None:
    text = jax.jit(MODELS["regression"][0]).lower(scale, vector, scale).as_text()
    program = Program.parse(text)
    assert program.optimize("exact").op_counts() == program.optimize(["simplify{reassociate=false}"]).op_counts()


# Of the columns: how they are scaled, where they lie, and how near one is to another.
@pytest.mark.parametrize(
    ("size", "place", "distance"), [(1, 0, 1), (1e6, 0, 1), (1e-6, 0, 1), (1, 1e6, 1), (1, 0, 1e-7), (1e6, 1e3, 1e-5)]
)
def test_results_are_as_near_to_those_of_fifty_digits(size: float, place: float, distance: float) -> None:
    """As the row-wise program's, or within 1e-12 of the sum of the products' absolute values."""
    mpmath = pytest.importorskip("mpmath")
    columns = RANDOM.normal(size=(N, 3)) * [size, 1, 1 / size]
    columns[:, 2] += (columns[:, 1] - columns[:, 2]) * (1 - distance)
    columns += place * np.abs(columns).max(axis=0)
    weights = np.array([1 / size, -1 / distance, 1 / distance])
    outcome = columns @ weights + RANDOM.normal(size=N)
    derivative = jax.jit(jax.value_and_grad(lambda a, b: jnp.sum((outcome - a - columns @ b) ** 2), (0, 1)))
    program, report = compressed(derivative.lower(scale, weights).as_text())
    assert report.rewritten
    for point in (weights, 1.001 * weights):
        found, rows = program.interpret(scale, point), jax.tree.leaves(derivative(scale, point))
        with mpmath.workdps(50):
            exact = np.vectorize(mpmath.mpf, otypes=[object])
            table, b = exact(np.c_[np.ones(N), columns]), exact(np.r_[scale, point])
            rest, terms = exact(outcome) - table @ b, abs(exact(outcome)) + abs(table) @ abs(b)
            wanted = [rest @ rest, *(-2 * rest @ table)]
            sums = [terms @ terms, *(2 * terms @ abs(table))]
            for one, row, value, total in zip(np.hstack(found), np.hstack(rows), wanted, sums, strict=True):
                assert abs(one - value) <= max(abs(row - value), 1e-12 * total)
