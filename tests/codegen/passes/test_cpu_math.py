"""cpu_math: its formulas against mpmath, which ops it replaces, and that whole models keep their results.

Formulas run through XLA and through StableHLO's reference interpreter (which contracts nothing). Bounds are in units in
the last place of the true value. Left of 0, where a function has zeros between its poles, they are relative to the
larger one of 1 and the value. docs/explanation/cpu_math.md has the measured errors.
"""

from __future__ import annotations

import math
import os
import re
from typing import Any

import mpmath
import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from scipy import special

import hlograph
from hlograph.codegen.passes.cpu_math import ELEMENTS, INLINE

OPS = {
    "log": "stablehlo.log",
    "log1p": "stablehlo.log_plus_one",
    "lgamma": "chlo.lgamma",
    "digamma": "chlo.digamma",
    "trigamma": "chlo.polygamma",
}
# What is known of the argument: nothing; not negative; in [0, 1] (and the op is applied to exp(-abs(x))).
BEFORE = {
    "": "",
    "abs": "%b = stablehlo.abs %a : {t}\n",
    "fraction": "%u = stablehlo.abs %a : {t}\n%v = stablehlo.negate %u : {t}\n%b = stablehlo.exponential %v : {t}\n",
}


def module(name: str, size: str = "4", known: str = "", dtype: str = "f64") -> str:
    """A module with one op; it returns the op's result and its argument."""
    kind = f"tensor<{size}x{dtype}>" if size else f"tensor<{dtype}>"
    argument = "%b" if known else "%a"
    arrow = f"{kind} -> {kind}" if OPS[name].startswith("chlo") else kind
    op = f"%y = {OPS[name]} {argument} : {arrow}\n"
    if name == "trigamma":
        op = f"%one = stablehlo.constant dense<1.0> : {kind}\n%y = {OPS[name]} %one, {argument} : {kind}, {arrow}\n"
    body = BEFORE[known].format(t=kind) + op
    return f"func.func @main(%a: {kind}) -> ({kind}, {kind}) {{\n{body}return %y, {argument} : {kind}, {kind}\n}}"


def own(name: str, size: int, known: str = "") -> hlograph.Program:
    """A program in which the op is replaced."""
    program = hlograph.Program.parse(module(name, str(size), known)).optimize(["cpu_math{elements=1}"])
    assert OPS[name] not in program.op_counts()
    return program


def through_pjrt(name: str, x: np.ndarray, known: str = "") -> tuple[np.ndarray, ...]:
    """The values and the arguments that they are of, as XLA computes them from the program with the formula."""
    values, arguments = own(name, x.size, known).compile(cpu="plain")(x)
    return np.asarray(values), np.asarray(arguments)


def interpreted(name: str, x: np.ndarray, known: str = "") -> tuple[np.ndarray, ...]:
    """The same through StableHLO's reference interpreter."""
    values, arguments = own(name, x.size, known).interpret(x)
    return np.asarray(values), np.asarray(arguments)


def _true(name: str, x: float) -> Any:
    value = mpmath.mpf(float(x))
    if name == "lgamma":
        return mpmath.loggamma(value).real
    if name == "trigamma":
        return mpmath.polygamma(1, value)
    return {"log": mpmath.log, "log1p": mpmath.log1p, "digamma": mpmath.digamma}[name](value)


def errors(name: str, values: np.ndarray, arguments: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Errors in units in the last place of the true value, and relative to the larger one of 1 and the true value."""
    with mpmath.workdps(40):
        true = [_true(name, x) for x in arguments]
        nearest = np.array([float(value) for value in true])
        rest = np.array([float(value - mpmath.mpf(float(near))) for value, near in zip(true, nearest, strict=True)])
    assert np.isfinite(values).all()
    absolute = np.abs((values - nearest) - rest)
    return absolute / np.spacing(np.abs(nearest)), absolute / np.maximum(1, np.abs(nearest))


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


# Functions, and what is known of their arguments.
KNOWN = [(name, known) for name in BOUND for known in ("", "abs") if (name, known) != ("log1p", "abs")]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize(("name", "known"), KNOWN)
def test_units_in_the_last_place(name, known, run):
    for x in cases(np.random.default_rng(1))[name]:
        x = np.unique(x[x != 1] if name in ("log", "lgamma") else x)
        x = x[(x != 2) & (x != 0)] if name == "lgamma" else x[x != 0]
        units, _ = errors(name, *RUNS[run](name, -x if known else x, known))
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
@pytest.mark.parametrize(("name", "known"), KNOWN)
def test_special_values(name, known, run):
    table = {x: value for x, value in SPECIAL[name].items() if not (known and x < 0)}
    x = np.array([-0.0, *table], "float64")
    found = RUNS[run](name, x, known)[0]
    np.testing.assert_array_equal(found, [table[0], *table.values()])
    zeros = found == 0
    signs = np.signbit(x) if name == "log1p" else np.zeros(len(x), bool)
    np.testing.assert_array_equal(np.signbit(found)[zeros], signs[zeros])


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
    x = np.random.default_rng(5).uniform(-3 if name != "log" else 0.1, 9, (3, 5))
    program = hlograph.Program.parse(module(name, "3x5")).optimize(["cpu_math{elements=1,inline=0}"])
    assert program.op_counts()["func.call"] == 1
    scipy = {"log": np.log, "lgamma": special.gammaln, "digamma": special.digamma}
    expected = scipy.get(name, lambda x: special.polygamma(1, np.abs(x)))(x)
    values = np.asarray(program.compile(cpu="plain")(x)[0])
    where = x > 0 if name == "trigamma" else np.ones_like(x, bool)  # scipy's trigamma is for positive numbers
    np.testing.assert_allclose(values[where], expected[where], rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(np.asarray(program.interpret(x)[0]), values, rtol=1e-13, atol=1e-14)


RNG = np.random.default_rng(7)


def after(program: hlograph.Program, options: str = "") -> hlograph.Program:
    return program.optimize([f"cpu_math{{{options}}}" if options else "cpu_math"])


@pytest.mark.parametrize("name", OPS)
def test_the_least_number_of_elements(name):
    for size, replaced in ((ELEMENTS - 1, False), (ELEMENTS, True)):
        assert (OPS[name] not in after(hlograph.Program.parse(module(name, str(size)))).op_counts()) == replaced
    assert OPS[name] not in after(hlograph.Program.parse(module(name, "")), "elements=1").op_counts()
    assert OPS[name] not in after(hlograph.Program.parse(module(name, "0")), "elements=0").op_counts()
    assert OPS[name] in after(hlograph.Program.parse(module(name, "1000")), "elements=1001").op_counts()


@pytest.mark.parametrize("chained", [INLINE, INLINE + 1])
def test_more_than_a_few_become_functions(chained):
    kind = "tensor<100xf64>"
    lines = "".join(
        f"%b{i} = stablehlo.abs %a{i} : {kind}\n%a{i + 1} = stablehlo.log %b{i} : {kind}\n" for i in range(chained)
    )
    program = hlograph.Program.parse(
        f"func.func @main(%a0: {kind}) -> {kind} {{\n{lines}return %a{chained} : {kind}\n}}"
    )
    assert after(program).op_counts().get("func.call", 0) == (chained if chained > INLINE else 0)


ARGUMENTS = {
    "exp": ("%b = stablehlo.exponential %a : T", True),
    "square": ("%b = stablehlo.multiply %a, %a : T", True),
    "product": ("%b = stablehlo.multiply %a, %c : T", False),
    "sum": ("%d = stablehlo.abs %a : T\n%b = stablehlo.add %d, %c : T", True),
    "negative sum": ("%d = stablehlo.abs %a : T\n%e = stablehlo.negate %c : T\n%b = stablehlo.add %d, %e : T", False),
    "difference": ("%d = stablehlo.abs %a : T\n%b = stablehlo.subtract %d, %c : T", False),
    "maximum": ("%b = stablehlo.maximum %a, %c : T", True),
    "minimum": ("%b = stablehlo.minimum %a, %c : T", False),
    "quotient": ("%d = stablehlo.abs %a : T\n%b = stablehlo.divide %d, %c : T", True),
    # 1/sqrt(-0) is -inf.
    "quotient by a zero": ("%d = stablehlo.sqrt %a : T\n%b = stablehlo.divide %c, %d : T", False),
    "folded": (
        "%z = stablehlo.constant dense<0.0> : T\n%p = stablehlo.compare LT, %a, %z : (T, T) -> B\n"
        "%d = stablehlo.subtract %c, %a : T\n%b = stablehlo.select %p, %d, %a : B, T",
        True,
    ),
    "folded the other way": (
        "%z = stablehlo.constant dense<0.0> : T\n%p = stablehlo.compare GT, %a, %z : (T, T) -> B\n"
        "%d = stablehlo.subtract %c, %a : T\n%b = stablehlo.select %p, %d, %a : B, T",
        False,
    ),
    "argument": ("%b = stablehlo.reshape %a : (T) -> T", False),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", ARGUMENTS)
def test_reflection_only_where_the_argument_may_be_negative(case):
    text, known = ARGUMENTS[case]
    body = f"%c = stablehlo.constant dense<0.5> : T\n{text}\n%y = chlo.lgamma %b : T -> T\nreturn %y : T"
    text = f"func.func @main(%a: T) -> T {{\n{body}\n}}"
    program = hlograph.Program.parse(re.sub(r"\bT\b", "tensor<100xf64>", re.sub(r"\bB\b", "tensor<100xi1>", text)))
    replaced = after(program)
    assert ("stablehlo.round_nearest_even" not in replaced.op_counts()) == known
    x = RNG.normal(size=100) * 3
    np.testing.assert_allclose(
        np.asarray(replaced.compile(cpu="plain")(x)), program.interpret(x)[0], rtol=1e-11, atol=1e-12
    )


def test_pytensor_models_keep_their_values():
    """A negative binomial with its gradient and curvature, softplus and logaddexp, against PyTensor itself."""
    y, eta, a = pt.dvector("y"), pt.dvector("eta"), pt.dvector("a")
    mu = pt.exp(eta)
    logp = pt.gammaln(y + a) - pt.gammaln(a) - pt.gammaln(y + 1) + a * pt.log(a / (a + mu)) + y * pt.log(mu / (a + mu))
    value = (logp + pt.softplus(eta) + pt.logaddexp(eta, a) + pt.log1p(-pt.sigmoid(eta))).sum()
    gradient = pytensor.grad(value, a)
    outputs = [value, gradient, pytensor.grad(gradient.sum(), a)]
    values = [RNG.poisson(4, 150).astype("float64"), RNG.normal(size=150), RNG.uniform(0.1, 9, 150)]
    program = hlograph.emit_stablehlo(
        ([y, eta, a], outputs), dims={"y": (150,), "eta": (150,), "a": (150,)}, rewrite=True
    )
    replaced = after(program)
    assert not set(OPS.values()) & replaced.op_counts().keys()
    expected = pytensor.function([y, eta, a], outputs, mode="FAST_COMPILE")(*values)
    for found in (replaced.compile(cpu="plain")(*values), replaced.interpret(*values)):
        for actual, wanted in zip(found, expected, strict=True):
            np.testing.assert_allclose(np.asarray(actual), wanted, rtol=1e-11, atol=1e-11)
