"""The errors of the float64 logarithms and gamma functions on the CPU: XLA's own, and the pass `cpu_math`'s.

    python benchmarks/accuracy.py [--points N] [--only NAME ...]

In: nothing. Out: a table of the largest and the mean error of each function in each range, in units in the last place
of the true value (mpmath, 40 digits); half a unit is what rounding alone costs. Points are random, the seed is fixed.
"Near" means all distances from 1e-15 to 0.1. Where the function has zeros on the negative axis, errors near them are
many units of a tiny value; the last column has the largest error relative to the larger one of 1 and the value.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Range = Callable[[np.random.Generator, int], Array]


def uniform(low: float, high: float) -> Range:
    """Points between two numbers."""
    return lambda rng, count: rng.uniform(low, high, count)


def powers(low: float, high: float, sign: int = 1) -> Range:
    """Points whose decimal logarithm lies between two numbers."""
    return lambda rng, count: sign * 10.0 ** rng.uniform(low, high, count)


def near(center: float) -> Range:
    """Points on both sides of a number, at all distances."""
    return lambda rng, count: center + rng.choice([-1, 1], count) * 10.0 ** rng.uniform(-15, -1, count)


@dataclass(frozen=True)
class Function:
    """A function that `cpu_math` has a formula for.

    Attributes:
        op: what it is called in StableHLO.
        exact: mpmath's function.
        ranges: by name, what arguments are drawn from.
        prepared: the op is applied to `exp(-abs(x))`, as in a softplus; `ranges` are of that value.
    """

    op: str
    exact: str
    ranges: Mapping[str, Range]
    prepared: bool = False


FUNCTIONS: Mapping[str, Function] = {
    "log": Function(
        "stablehlo.log", "log", {"0.5 .. 2": uniform(0.5, 2), "near 1": near(1), "1e-307 .. 1e308": powers(-307, 308)}
    ),
    "log1p": Function(
        "stablehlo.log_plus_one",
        "log1p",
        {
            "-1 .. 3": uniform(-1, 3),
            "near -1": lambda rng, count: -1 + 10.0 ** rng.uniform(-16, -0.5, count),
            "near 0": near(0),
            "1 .. 1e308": powers(0, 308),
        },
    ),
    "log1p(exp(-abs(x)))": Function(
        "stablehlo.log_plus_one", "log1p", {"0 .. 1": uniform(0, 1), "1e-300 .. 1": powers(-300, 0)}, prepared=True
    ),
    "lgamma": Function(
        "chlo.lgamma",
        "lgamma",
        {
            "0 .. 3": uniform(0, 3),
            "3 .. 30": uniform(3, 30),
            "1e-300 .. 1e305": powers(-300, 305),
            "near 1": near(1),
            "near 2": near(2),
            "-20 .. 0": uniform(-20, 0),
            "-0.1 .. -1e-300": powers(-300, -1, -1),
        },
    ),
    "digamma": Function(
        "chlo.digamma",
        "digamma",
        {
            "0 .. 3": uniform(0, 3),
            "3 .. 30": uniform(3, 30),
            "1e-300 .. 1e305": powers(-300, 305),
            "near its root": near(1.4616321449683622),
            "-20 .. 0": uniform(-20, 0),
            "-0.1 .. -1e-300": powers(-300, -1, -1),
        },
    ),
    "trigamma": Function(
        "chlo.polygamma",
        "trigamma",
        {
            "0 .. 3": uniform(0, 3),
            "3 .. 30": uniform(3, 30),
            "1e-150 .. 1e300": powers(-150, 300),
            "-20 .. 0": uniform(-20, 0),
        },
    ),
}


def module(op: str, count: int, prepared: bool) -> str:
    """A module that applies an op to its argument."""
    kind = f"tensor<{count}xf64>"
    lines = ["%v = stablehlo.abs %x", "%u = stablehlo.negate %v", "%a = stablehlo.exponential %u"] if prepared else []
    argument = "%a" if prepared else "%x"
    body = "".join(f"  {line} : {kind}\n" for line in lines)
    if op == "chlo.polygamma":
        body += f"  %one = stablehlo.constant dense<1.0> : {kind}\n"
        body += f"  %y = {op} %one, {argument} : {kind}, {kind} -> {kind}\n"
    else:
        body += f"  %y = {op} {argument} : {f'{kind} -> {kind}' if op.startswith('chlo') else kind}\n"
    result = f"{kind}, {kind}" if prepared else kind
    values = "%y, %a" if prepared else "%y"
    return f"func.func @main(%x: {kind}) -> ({result}) {{\n{body}  return {values} : {result}\n}}"


def exact_values(name: str, x: Array) -> tuple[Array, Array]:
    """The function's true values, each as the sum of two float64."""
    import mpmath

    mpmath.mp.dps = 40

    def lgamma(x: Any) -> Any:
        return mpmath.loggamma(x).real

    def trigamma(x: Any) -> Any:
        return mpmath.polygamma(1, x)

    function = {"lgamma": lgamma, "trigamma": trigamma}.get(name) or getattr(mpmath, name)
    true = [function(mpmath.mpf(float(value))) for value in x]
    high = np.array([float(value) for value in true])
    low = np.array([float(value - mpmath.mpf(float(near))) for value, near in zip(true, high, strict=True)])
    return high, low


def errors(found: Array, high: Array, low: Array) -> tuple[Array, Array]:
    """Errors in units in the last place, and relative to the larger one of 1 and the value."""
    absolute = np.abs((found - high) - low)
    absolute = np.where(np.isfinite(found), absolute, np.inf)
    return absolute / np.spacing(np.abs(high)), absolute / np.maximum(1, np.abs(high))


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description="errors of logarithms and gamma functions on the CPU")
    parser.add_argument("--points", type=int, default=4000, help="in each range (4000)")
    parser.add_argument("--only", nargs="+", choices=list(FUNCTIONS), default=list(FUNCTIONS), metavar="NAME",
                        help=f"which functions: {', '.join(FUNCTIONS)}")  # fmt: skip
    options = parser.parse_args()
    os.environ["JAX_PLATFORMS"] = "cpu"
    from rich.console import Console
    from rich.progress import track
    from rich.table import Table

    import hlograph

    table = Table("function", "range", "XLA: max", "mean", "cpu_math: max", "mean", "of max(1, value)")
    for column in table.columns[2:]:
        column.justify = "right"
    rng = np.random.default_rng(0)
    cases = [(name, where) for name in options.only for where in FUNCTIONS[name].ranges]
    console = Console()
    for name, where in track(cases, "errors", console=console, transient=True):
        function = FUNCTIONS[name]
        x = function.ranges[where](rng, options.points)
        if function.prepared:
            x = np.log(x)
        before = hlograph.Program.parse(module(function.op, options.points, function.prepared))
        after = before.optimize(["cpu_math{elements=1}"])
        cells, relative = [], 0.0
        for program in (before, after):
            found = program.compile(cpu="plain")(x)
            value, argument = found if function.prepared else (found, x)
            units, scaled = errors(np.asarray(value), *exact_values(function.exact, np.asarray(argument)))
            cells += [f"{units.max():.3g}", f"{units.mean():.2g}"]
            relative = scaled.max()
        table.add_row(name, where, *cells, f"{relative:.1e}")
    console.print(table)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
