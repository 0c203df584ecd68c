"""The errors of PyTensor's special functions in float64, over their domains: hlograph, SciPy, and the JAX mode.

    python benchmarks/special_functions.py [--points N] [--only NAME ...] [--derivatives] [--markdown PATH]

In: nothing. Out: a table with, for each function and each range of arguments, the largest relative error against mpmath
(40 digits) and the point where it is. Points are random, the seed is fixed. Where the true value is no float64 (zero,
below the normal numbers, or infinite) a point is left out, but counted where somebody has a number that is not near it.
With `--derivatives` the same of the derivative by the last argument, against mpmath's.
"""

from __future__ import annotations

import argparse
import operator
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Range = Callable[[np.random.Generator, int], Array]
COLUMNS = ("function", "arguments", "hlograph", "where", "SciPy", "JAX mode")
SMALLEST = 1e-290  # results below may lose digits


def uniform(low: float, high: float) -> Range:
    """Points between two numbers."""
    return lambda rng, count: rng.uniform(low, high, count)


def powers(low: float, high: float, sign: int = 1) -> Range:
    """Points whose decimal logarithm lies between two numbers."""
    return lambda rng, count: sign * 10.0 ** rng.uniform(low, high, count)


def whole(low: int, high: int) -> Range:
    """Whole numbers."""
    return lambda rng, count: rng.integers(low, high, count).astype(float)


def tails() -> Range:
    """Probabilities near 0 and near 1, and between."""

    def draw(rng: np.random.Generator, count: int) -> Array:
        tail = 10.0 ** rng.uniform(-14, -0.31, count)
        return np.where(rng.random(count) < 0.5, tail, 1 - tail)

    return draw


@dataclass(frozen=True)
class Function:
    """A special function.

    Attributes:
        name: in `pytensor.tensor`.
        exact: of mpmath numbers.
        scipy: what SciPy calls it; "" where PyTensor composes it.
        ranges: of each argument, by what to call the row.
        integers: places of arguments that are integers.
        derivative: False where PyTensor has none by the last argument.
    """

    name: str
    exact: Callable[..., Any]
    scipy: str
    ranges: dict[str, Sequence[Range]]
    integers: tuple[int, ...] = ()
    derivative: bool = field(default=True)


def functions() -> list[Function]:
    """All of them."""
    from mpmath import mp

    def root(f: Callable[[Any], Any], start: Any) -> Any:
        return mp.findroot(f, (start, start * (1 + mp.mpf("1e-8")) + mp.mpf("1e-30")), tol=mp.mpf("1e-60"), maxsteps=60)

    def log_ndtr(x: Any) -> Any:
        return mp.log(mp.erfc(-x / mp.sqrt(2)) / 2)

    def by_scipy(name: str, inverse_of: Callable[..., Any]) -> Callable[..., Any]:
        """The exact inverse, from SciPy's value as the start."""
        import scipy.special as sc

        def exact(*args: Any) -> Any:
            *shape, p = args
            start = mp.mpf(float(getattr(sc, name)(*[float(a) for a in args])))
            return root(lambda x: inverse_of(*shape, x) - p, start)

        return exact

    def lower(a: Any, x: Any) -> Any:
        return mp.gammainc(a, 0, x, regularized=True)

    def upper(a: Any, x: Any) -> Any:
        return mp.gammainc(a, x, mp.inf, regularized=True)

    def beta(a: Any, b: Any, x: Any) -> Any:
        return mp.betainc(a, b, 0, x, regularized=True)

    line = {"-5 .. 5": [uniform(-5, 5)], "1e-300 .. 1e-3": [powers(-300, -3)], "5 .. 26": [uniform(5, 26)]}
    positive = {"0 .. 3": [uniform(0, 3)], "3 .. 30": [uniform(3, 30)], "30 .. 1e300": [powers(1.5, 300)]}
    axis = {**positive, "-20 .. 0": [uniform(-20, 0)]}
    two = {
        "0.1 .. 10, 0 .. 20": [uniform(0.1, 10), uniform(0, 20)],
        "10 .. 1000, near": [powers(1, 3), uniform(5, 1500)],
        "1e-5 .. 0.1, 0 .. 5": [powers(-5, -1), uniform(0, 5)],
    }
    bessel = {
        "0 .. 10, 0 .. 10": [uniform(0, 10), uniform(0, 10)],
        "whole, 0 .. 50": [whole(0, 20), uniform(0, 50)],
        "10 .. 100, 0 .. 200": [uniform(10, 100), uniform(0.1, 200)],
        "0 .. 5, 1e2 .. 1e5": [uniform(0, 5), powers(2, 5)],
    }
    shapes = {
        "0.1 .. 10, tails": [uniform(0.1, 10), tails()],
        "10 .. 1000, tails": [powers(1, 3), tails()],
    }
    betas = {
        "0.1 .. 10": [uniform(0.1, 10), uniform(0.1, 10), uniform(0, 1)],
        "10 .. 300": [powers(1, 2.5), powers(1, 2.5), uniform(0.2, 0.8)],
    }
    inverse_betas = {key: [*value[:2], tails()] for key, value in betas.items()}
    return [
        Function("erf", mp.erf, "erf", line),
        Function("erfc", mp.erfc, "erfc", line),
        Function(
            "erfcx",
            lambda x: mp.exp(x * x) * mp.erfc(x) if x < 1e4 else (1 - 1 / (2 * x * x)) / (x * mp.sqrt(mp.pi)),
            "erfcx",
            {**line, "26 .. 1e300": [powers(1.5, 300)]},
        ),
        Function("erfinv", mp.erfinv, "erfinv", {"-1 .. 1": [uniform(-1, 1)], "1e-300 .. 1e-3": [powers(-300, -3)]}),
        Function(
            "erfcinv",
            lambda x: mp.erfinv(1 - x) if x > mp.mpf("1e-20") else root(lambda t: mp.erfc(t) - x, mp.sqrt(-mp.log(x))),
            "erfcinv",
            {"0 .. 2": [uniform(0, 2)], "1e-20 .. 0.1": [powers(-20, -1)]},
        ),
        Function("gamma", mp.gamma, "gamma", {"0 .. 3": [uniform(0, 3)], "3 .. 170": [uniform(3, 170)]}),
        Function("gammaln", lambda x: mp.re(mp.loggamma(x)), "gammaln", axis),
        Function("psi", mp.digamma, "psi", axis),
        Function("tri_gamma", lambda x: mp.psi(1, x), "", {**positive, "-20 .. 0": [uniform(-20, 0)]}),
        Function(
            "polygamma",
            lambda n, x: mp.psi(int(n), x),
            "polygamma",
            {
                "0 .. 6, 0 .. 30": [whole(0, 6), uniform(0, 30)],
                "0 .. 20, 1 .. 1e3": [whole(0, 20), powers(0, 3)],
                "0 .. 6, -100 .. 0": [whole(0, 6), uniform(-100, 0)],
            },
            integers=(0,),
        ),
        Function("gammainc", lower, "gammainc", two),
        Function("gammaincc", upper, "gammaincc", two),
        Function("gammaincinv", by_scipy("gammaincinv", lower), "gammaincinv", shapes),
        Function("gammainccinv", by_scipy("gammainccinv", upper), "gammainccinv", shapes),
        Function("betainc", beta, "betainc", betas),
        Function("betaincinv", by_scipy("betaincinv", beta), "betaincinv", inverse_betas),
        Function("i0", lambda x: mp.besseli(0, x), "i0", {"-50 .. 50": [uniform(-50, 50)]}),
        Function("i1", lambda x: mp.besseli(1, x), "i1", {"-50 .. 50": [uniform(-50, 50)]}),
        Function("iv", mp.besseli, "iv", {k: v for k, v in bessel.items() if "1e5" not in k}),
        Function("ive", lambda v, x: mp.besseli(v, x) * mp.exp(-x), "ive", bessel),
        Function("kv", mp.besselk, "kv", {k: v for k, v in bessel.items() if "1e5" not in k}),
        Function("kve", lambda v, x: mp.besselk(v, x) * mp.exp(x), "kve", bessel),
        Function(
            "hyp2f1",
            mp.hyp2f1,
            "hyp2f1",
            {
                "0 .. 5, -1 .. 1": [uniform(0, 5), uniform(0, 5), uniform(0.5, 6), uniform(-1, 0.95)],
                "0 .. 20, -100 .. -1": [uniform(0, 20), uniform(0, 20), uniform(1, 30), powers(0, 2, -1)],
                "-5 .. 5, -1 .. 1": [uniform(-5, 5), uniform(-5, 5), uniform(0.5, 6), uniform(-1, 1)],
                "0 .. 20, -1 .. 0.5": [uniform(0, 20), uniform(0, 20), uniform(1, 30), uniform(-1, 0.5)],
            },
        ),
        Function(
            "ndtri_exp",
            lambda y: root(lambda x: log_ndtr(x) - y, mp.mpf(float(_scipy("ndtri_exp", float(y))))),
            "ndtri_exp",
            {
                "-30 .. 0": [uniform(-30, 0)],
                "-1e8 .. -30": [powers(1.5, 8, -1)],
                "-1e-3 .. -1e-300": [powers(-15, -3, -1)],
            },
        ),
        Function(
            "softplus",
            lambda x: mp.log1p(mp.exp(x)),
            "",
            {"-40 .. 40": [uniform(-40, 40)], "-700 .. -40": [uniform(-700, -40)]},
        ),
        Function(
            "log1mexp",
            lambda x: mp.log(-mp.expm1(x)),
            "",
            {"-40 .. 0": [uniform(-40, 0)], "-1 .. -1e-300": [powers(-300, 0, -1)]},
        ),
        Function("special.logit", lambda p: mp.log(p / (1 - p)), "logit", {"tails": [tails()]}),
        Function("sigmoid", lambda x: 1 / (1 + mp.exp(-x)), "expit", {"-700 .. 700": [uniform(-700, 700)]}),
    ]


def _scipy(name: str, *args: float) -> Any:
    import scipy.special as sc

    return getattr(sc, name)(*args)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=200, help="for each range")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="functions of these names")
    parser.add_argument("--derivatives", action="store_true", help="of the derivative by the last argument")
    parser.add_argument("--markdown", type=Path, help="write the table as a page")
    options = parser.parse_args()
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    warnings.simplefilter("ignore")

    import mpmath
    from rich.console import Console
    from rich.progress import track
    from rich.table import Table

    mpmath.mp.dps = 350 if options.derivatives else 40  # differences of numbers that are near 1
    title = "Largest relative error" + (" of the derivative by the last argument" if options.derivatives else "")
    chosen = [f for f in functions() if not options.only or f.name in options.only]
    rows = [
        row(function, name, ranges, options.points, derivative=options.derivatives)
        for function in track(chosen, "evaluating", console=Console(stderr=True))
        for name, ranges in function.ranges.items()
    ]
    if options.markdown:
        options.markdown.write_text(page(title, options.points, rows))
        return
    table = Table(title=title)
    for column in COLUMNS:
        table.add_column(column, justify="left" if column in ("function", "arguments", "where") else "right")
    for cells in rows:
        table.add_row(*cells)
    Console(width=140).print(table)


def page(title: str, points: int, rows: Sequence[tuple[str, ...]]) -> str:
    """The table in Markdown."""
    lines = [
        "# Special functions",
        "",
        f"{title}, float64, of {points} random points in each range, against mpmath: hlograph (and",
        "where it is), SciPy, which PyTensor's own evaluation calls, and PyTensor's JAX mode. Near a zero a",
        "relative error is large. An error's name stands where a backend has no implementation. `j0`, `j1`, `jv`,",
        "`owens_t` and `hyp2f1` are SciPy's in hlograph, too. Written by",
        "`benchmarks/special_functions.py --markdown docs/reference/special_functions.md`.",
        "",
        f"| {' | '.join(COLUMNS)} |",
        "|---" * len(COLUMNS) + "|",
    ]
    return "\n".join([*lines, *(f"| {' | '.join(cells)} |" for cells in rows)]) + "\n"


def row(function: Function, name: str, ranges: Sequence[Range], points: int, *, derivative: bool) -> tuple[str, ...]:
    """A row of the table."""
    rng = np.random.default_rng(0)
    arguments = [draw(rng, points) for draw in ranges]
    exact = np.array([_exact(function, point, derivative) for point in zip(*arguments, strict=True)])
    values: dict[str, Array | str] = {
        mode: _values(function, arguments, mode, derivative) for mode in ("STABLEHLO", "JAX")
    }
    values["SciPy"] = _of_scipy(function, arguments) if not derivative else "-"
    cells = {}
    where = ""
    for who, found in values.items():
        if isinstance(found, str):
            cells[who] = found
            continue
        errors, at = _errors(found, exact)
        cells[who] = f"{errors:.1e}"
        if who == "STABLEHLO":
            where = ", ".join(f"{x[at]:.4g}" for x in arguments)
    return function.name, name, cells["STABLEHLO"], where, cells["SciPy"], cells["JAX"]


def _exact(function: Function, point: Sequence[float], derivative: bool) -> float:
    from mpmath import mp
    from mpmath.libmp import NoConvergence

    args = [mp.mpf(float(x)) for x in point]
    try:
        if derivative:
            *rest, x = args
            return float(mp.re(mp.diff(lambda t: function.exact(*rest, t), x)))
        return float(mp.re(function.exact(*args)))
    except (ValueError, ArithmeticError, NoConvergence):
        return np.nan


def _values(function: Function, arguments: list[Array], mode: str, derivative: bool) -> Array | str:
    import pytensor
    import pytensor.tensor as pt

    import hlograph.pytensor  # noqa: F401  registers the mode

    given = [x.astype("int64") if i in function.integers else x for i, x in enumerate(arguments)]
    inputs = [pt.vector(f"x{i}", dtype=x.dtype) for i, x in enumerate(given)]
    try:
        result = operator.attrgetter(function.name)(pt)(*inputs)
        if derivative:
            result = pytensor.grad(result.sum(), inputs[-1])
        return np.asarray(pytensor.function(inputs, result, mode=mode)(*given))
    except Exception as error:  # whatever a backend refuses with
        return type(error).__name__


def _of_scipy(function: Function, arguments: list[Array]) -> Array | str:
    if not function.scipy:
        return "-"
    given = [x.astype("int64") if i in function.integers else x for i, x in enumerate(arguments)]
    with np.errstate(all="ignore"):
        return np.asarray(_scipy(function.scipy, *given))


def _errors(found: Array, exact: Array) -> tuple[float, int]:
    """The largest relative error, and where; infinite where a number is missing."""
    with np.errstate(all="ignore"):
        normal = (np.abs(exact) > SMALLEST) & np.isfinite(exact)
        relative = np.where(
            normal, np.abs(found - exact) / np.abs(exact), np.where(np.abs(found) <= 2 * SMALLEST, 0, np.inf)
        )
        relative = np.where(np.isnan(exact) | (np.isinf(exact) & (found == exact)), 0, relative)
    relative = np.where(np.isnan(relative), np.inf, relative)
    at = int(np.argmax(relative))
    return float(relative[at]), at


if __name__ == "__main__":
    main()
