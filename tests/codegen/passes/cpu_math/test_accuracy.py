"""The formulas against mpmath, through XLA and through StableHLO's reference interpreter (which contracts nothing).

Bounds are in units in the last place of the true value. Left of 0, where a function has zeros between its poles, they
are relative to the larger one of 1 and the value. docs/cpu_math.md has the measured errors.
"""

from __future__ import annotations

import math
import os

import numpy as np
import pytest
from scipy import special

from .formulas import errors, interpreted, own, through_pjrt

POINTS = 200 if "HLOGRAPH_NIGHTLY" in os.environ else 50  # most of the time is mpmath's
ROOT = 1.4616321449683622  # digamma's
RUNS = {"pjrt": through_pjrt, "interpreter": interpreted}


def near(rng: np.random.Generator, center: float) -> np.ndarray:
    return center + rng.choice([-1, 1], POINTS) * 10.0 ** rng.uniform(-16, -1, POINTS)


def across(rng: np.random.Generator, low: float, high: float, sign: int = 1) -> np.ndarray:
    return sign * 10.0 ** rng.uniform(low, high, POINTS)


def cases(rng: np.random.Generator) -> dict[str, list[np.ndarray]]:
    """Arguments by function: logarithmically spaced and random ranges, and neighbours of where formulas change."""
    limits = np.array([0.75, 1.0, 3.0, math.sqrt(0.5), math.sqrt(2), 0.5, 2.0])
    edges = np.concatenate([np.nextafter(limits, 0), limits, np.nextafter(limits, 9)])
    gamma = [rng.uniform(0, 3, POINTS), rng.uniform(3, 40, POINTS), edges]
    return {
        "log": [rng.uniform(0.5, 2, POINTS), near(rng, 1), across(rng, -307, 308), edges],
        "log1p": [
            rng.uniform(-1, 3, POINTS),
            -1 + 10.0 ** rng.uniform(-16, -0.3, POINTS),
            across(rng, -300, 308),
            across(rng, -300, -0.1, -1),
            np.concatenate([edges, edges - 1]),
        ],
        "lgamma": [*gamma, across(rng, -300, 305), near(rng, 1), near(rng, 2)],
        "digamma": [*gamma, across(rng, -300, 305), near(rng, ROOT)],
        "trigamma": [*gamma, across(rng, -150, 300)],
    }


BOUND = {"log": 1, "log1p": 1, "lgamma": 4, "digamma": 4, "trigamma": 4}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("name", BOUND)
def test_units_in_the_last_place(name, run):
    for x in cases(np.random.default_rng(1))[name]:
        x = np.unique(x[x != 1] if name in ("log", "lgamma") else x)
        x = x[(x != 2) & (x != 0)] if name == "lgamma" else x[x != 0]
        units, _ = errors(name, *RUNS[run](name, x))
        assert units.max() < BOUND[name], f"{units.max():.2f} at {x[units.argmax()]!r}"


@pytest.mark.sampled(6)
@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("name", ["log", "lgamma", "digamma", "trigamma"])
def test_the_same_bounds_where_the_argument_is_known_not_to_be_negative(name, run):
    for x in cases(np.random.default_rng(2))[name]:
        x = np.unique(x[(x != 1) & (x != 2)])
        values, arguments = RUNS[run](name, -x, "abs")
        units, _ = errors(name, values, arguments)
        assert units.max() < BOUND[name], f"{units.max():.2f} at {x[units.argmax()]!r}"


@pytest.mark.parametrize("run", RUNS)
def test_log1p_of_fractions(run):
    rng = np.random.default_rng(3)
    for x in (np.log(rng.uniform(0, 1, POINTS)), rng.uniform(-700, 0, POINTS), -across(rng, -15, 2)):
        units, _ = errors("log1p", *RUNS[run]("log1p", x, "fraction"))
        assert units.max() < 2, f"{units.max():.2f} at {x[units.argmax()]!r}"


@pytest.mark.sampled(4)
@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("name", ["lgamma", "digamma", "trigamma"])
def test_left_of_zero(name, run):
    rng = np.random.default_rng(4)
    poles = -rng.integers(1, 50, POINTS) + rng.choice([-1, 1], POINTS) * 10.0 ** rng.uniform(-13, -1, POINTS)
    tiny = across(rng, -150 if name == "trigamma" else -300, -1, -1)
    # mpmath's trigamma takes seconds far from 0.
    far = -rng.integers(1, 100 if name == "trigamma" else 10**6, POINTS) - rng.uniform(0.1, 0.9, POINTS)
    for x in (rng.uniform(-30, 0, POINTS), poles, tiny, far):
        _, relative = errors(name, *RUNS[run](name, x))
        assert relative.max() < 3e-15, f"{relative.max():.2e} at {x[relative.argmax()]!r}"


INF, NAN = math.inf, math.nan
SPECIAL = {
    "log": {0: -INF, 1: 0, INF: INF, -INF: NAN, NAN: NAN, -1: NAN, -5e-324: -INF, 5e-324: -INF, 2.2e-308: -INF},
    "log1p": {0: 0, -1: -INF, INF: INF, -INF: NAN, NAN: NAN, -1.5: NAN, -1.0000000000000002: NAN, -1e300: NAN},
    "lgamma": {0: INF, 1: 0, 2: 0, -1: INF, -17: INF, -1e300: INF, INF: INF, -INF: INF, NAN: NAN, 1e308: INF},
    "digamma": {0: NAN, -1: NAN, -17: NAN, -1e300: NAN, INF: INF, -INF: NAN, NAN: NAN},
    "trigamma": {0: INF, -1: INF, -17: INF, -1e300: INF, INF: 0, -INF: NAN, NAN: NAN, 1e-200: INF, 1e-160: INF},
}


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("name", SPECIAL)
def test_special_values(name, run):
    x = np.array([-0.0, *SPECIAL[name]], "float64")
    found = RUNS[run](name, x)[0]
    np.testing.assert_array_equal(found, [SPECIAL[name][0], *SPECIAL[name].values()])
    zeros = found == 0
    signs = np.signbit(x) if name == "log1p" else np.zeros(len(x), bool)
    np.testing.assert_array_equal(np.signbit(found)[zeros], signs[zeros])


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("name", ["log", "lgamma", "digamma", "trigamma"])
def test_special_values_where_the_argument_is_known_not_to_be_negative(name, run):
    table = {x: value for x, value in SPECIAL[name].items() if not x < 0 or x == -INF}
    x = np.array([abs(x) for x in table if x != -INF], "float64")
    expected = [value for x, value in table.items() if x != -INF]
    np.testing.assert_array_equal(RUNS[run](name, x, "abs")[0], expected)


def test_log1p_of_fractions_passes_nan():
    values, _ = through_pjrt("log1p", np.array([NAN, 0, INF, -INF]), "fraction")
    assert math.isnan(values[0])
    assert values[1] == pytest.approx(math.log(2), rel=3e-16)
    assert list(values[2:]) == [0, 0]


@pytest.mark.parametrize("name", ["log", "lgamma", "digamma", "trigamma"])
def test_subnormal_arguments_count_as_zero(name):
    x = np.array([5e-324, 1e-310, 2.2e-308])
    at_zero = {"log": -INF, "lgamma": INF, "digamma": NAN, "trigamma": INF}[name]
    np.testing.assert_array_equal(through_pjrt(name, x)[0], at_zero)
    np.testing.assert_array_equal(through_pjrt(name, -x)[0], at_zero)


@pytest.mark.parametrize("run", RUNS)
def test_log1p_of_a_tiny_number_is_that_number(run):
    x = np.array([1e-300, -1e-300, 3e-17, -3e-17, 2.3e-308, 1e-310, -1e-310, 5e-324, -5e-324, 0.0, -0.0])
    found = RUNS[run]("log1p", x)[0]
    np.testing.assert_array_equal(found, x)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(x))


@pytest.mark.parametrize("name", ["log", "lgamma", "digamma", "trigamma"])
def test_as_a_function_and_in_more_axes(name):
    from hlograph import Program

    from .formulas import module

    x = np.random.default_rng(5).uniform(-3 if name != "log" else 0.1, 9, (3, 5))
    program = Program.parse(module(name, "3x5")).run_passes(["cpu_math{elements=1,inline=0}"])
    assert program.op_counts()["func.call"] == 1
    scipy = {"log": np.log, "lgamma": special.gammaln, "digamma": special.digamma}
    expected = scipy.get(name, lambda x: special.polygamma(1, np.abs(x)))(x)
    values = np.asarray(program.compile(cpu="plain")(x)[0])
    where = x > 0 if name == "trigamma" else np.ones_like(x, bool)  # scipy's trigamma is for positive numbers
    np.testing.assert_allclose(values[where], expected[where], rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(np.asarray(program.interpret(x)[0]), values, rtol=1e-13, atol=1e-14)


OP_COUNTS = {
    ("log", ""): 50,
    ("log1p", ""): 60,
    ("log1p", "fraction"): 35,
    ("lgamma", ""): 195,
    ("lgamma", "abs"): 120,
    ("digamma", ""): 145,
    ("digamma", "abs"): 118,
    ("trigamma", ""): 75,
    ("trigamma", "abs"): 50,
}


@pytest.mark.parametrize(("name", "known"), OP_COUNTS)
def test_how_many_ops_a_formula_is(name, known):
    """A kernel of many ops takes long to compile."""
    counts = own(name, 4, known).op_counts()
    assert sum(counts.values()) - counts["stablehlo.constant"] <= OP_COUNTS[name, known]
