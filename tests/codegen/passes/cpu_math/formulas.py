"""What the tests of `cpu_math` share: modules that apply one op, and mpmath's values."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np

import hlograph

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


def own(name: str, size: int, known: str = "", options: str = "elements=1") -> hlograph.Program:
    """A program in which the op is replaced."""
    program = hlograph.Program.parse(module(name, str(size), known)).run_passes([f"cpu_math{{{options}}}"])
    assert OPS[name] not in program.op_counts()
    return program


def through_pjrt(name: str, x: np.ndarray, known: str = "", options: str = "elements=1") -> tuple[np.ndarray, ...]:
    """The values and the arguments that they are of, as XLA computes them from the program with the formula."""
    values, arguments = own(name, x.size, known, options).compile(cpu="plain")(x)
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
