"""Accuracy far out: PyMC's distributions after hlograph's rewrites, and after all of PyTensor's.

    python benchmarks/stability.py [--functions logp ...] [--dtypes float32 ...] [--names Wald ...] [--show]

Every density, its logarithmic distribution functions, its quantile function where there is one, and their gradients by
the value and the parameters, at about 40 points from the bulk to 1e300 and the borders of the support; with parameters
as they are, and as models have them: positive ones as exponentials, probabilities as logistic functions. `models` are
densities of whole models and their gradients (`stability_models.py`). Both rewritten graphs are evaluated by PyTensor
in Python, so that rewriting alone is compared (`stability_compare.py`); `exact.py` gives the true values.

A *miss* is a value that is right after PyTensor's rewrites, and not finite, or more than 4 times as far off, after
ours. A *gain* is the reverse. Where no true value is known, a finite value that becomes infinite or NaN counts, and two
finite values that differ are counted apart.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from harness import Report
from stability_cases import DISTRIBUTIONS, case
from stability_compare import Comparison, Difference, compare

TITLE = "Stability: values that one kind of rewriting has and the other loses"
FUNCTIONS = ("logp", "logcdf", "logccdf", "icdf")
MODELS = "models"
SECONDS = 80  # a case at most
COLUMNS = (
    "function",
    "dtype",
    "parameters",
    "values",
    "misses",
    "gains",
    "neither",
    "unknown",
    "misses of",
    "not finished",
)


@dataclass(frozen=True)
class Case:
    """What is compared in one go."""

    function: str
    dtype: str
    linked: bool
    name: str

    @property
    def group(self) -> tuple[str, str, bool]:
        """The row of the table."""
        return self.function, self.dtype, self.linked


def run(quick: bool, progress: Callable[[str], None]) -> Report:
    """All functions of all distributions; with `quick` the densities in float64 alone."""
    chosen = cases(FUNCTIONS[:1], ("float64",)) if quick else cases((*FUNCTIONS, MODELS), ("float64", "float32"))
    return report(examined(chosen, 2), progress)


def cases(functions: Sequence[str], dtypes: Sequence[str], names: Sequence[str] = ()) -> list[Case]:
    """All that there are of these."""
    from stability_models import MODELS as models

    return [
        Case(function, dtype, linked, name)
        for function in functions
        for dtype in dtypes
        for linked in ((False,) if function == MODELS else (False, True))
        for name in (models if function == MODELS else DISTRIBUTIONS)
        if not names or name in names
    ]


def examined(chosen: Sequence[Case], processes: int) -> Iterator[tuple[Case, Comparison]]:
    """Cases with what was found, in the order in which they are done."""
    if processes == 1:
        yield from map(examine, chosen)
        return
    with multiprocessing.get_context("spawn").Pool(processes, maxtasksperchild=40) as pool:
        yield from pool.imap_unordered(examine, chosen)


def examine(one: Case) -> tuple[Case, Comparison]:
    """One case, within `SECONDS`."""
    import pytensor

    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    signal.signal(signal.SIGALRM, _late)
    signal.alarm(SECONDS)
    try:
        with pytensor.config.change_flags(floatX=one.dtype):
            found = compare(*graph(one))
    except NotImplementedError:
        found = Comparison(note="none")
    except TimeoutError:
        found = Comparison(note=f"not within {SECONDS} s")
    except Exception as error:  # a case that cannot be looked at must not end the survey, and is listed
        found = Comparison(note=f"{type(error).__name__}: {error}"[:200])
    finally:
        signal.alarm(0)
    return one, found


def _late(*_: Any) -> None:
    raise TimeoutError


def graph(one: Case) -> tuple[list[Any], list[Any], list[list[np.ndarray]]]:
    """Inputs, the function with its gradients, and points."""
    if one.function == MODELS:
        from stability_models import model_graph

        return model_graph(one.name, one.dtype)
    try:
        return _distribution(one, 1)
    except TypeError:  # PyMC writes some distribution functions for scalars alone
        return _distribution(one, 0)


def _distribution(one: Case, ndim: int) -> tuple[list[Any], list[Any], list[list[np.ndarray]]]:
    """Parameters are not checked: those that are out of bounds are looked at too."""
    import pymc
    import pytensor
    from pymc.logprob.utils import local_remove_check_parameter
    from pytensor.graph.fg import FunctionGraph
    from pytensor.graph.rewriting.basic import out2in

    inputs, distribution, points = case(one.name, one.linked, one.dtype, ndim)
    value = getattr(pymc, one.function)(distribution, inputs[0])
    slopes = pytensor.grad(value.sum(), inputs, disconnected_inputs="ignore", null_gradients="return")
    outputs = {one.function: value} | {f"by {x.name}": slope for x, slope in zip(inputs, slopes, strict=True)}
    outputs = {name: x for name, x in outputs.items() if getattr(x.type, "dtype", None) == one.dtype}
    fgraph = FunctionGraph(inputs, list(outputs.values()), clone=False)
    out2in(local_remove_check_parameter).rewrite(fgraph)
    for variable, name in zip(fgraph.outputs, outputs, strict=True):
        variable.name = name
    return inputs, list(fgraph.outputs), [[v.reshape((1,) * ndim) for v in point] for point in points]


def report(found: Iterator[tuple[Case, Comparison]], progress: Callable[[str], None]) -> Report:
    """A row for each function, dtype and way of parameters."""
    result = Report(TITLE, COLUMNS)
    groups: dict[tuple[str, str, bool], list[tuple[Case, Comparison]]] = {}
    for number, (one, comparison) in enumerate(found, 1):
        progress(f"{number}: {one.function} {one.dtype} {'linked ' * one.linked}{one.name}")
        groups.setdefault(one.group, []).append((one, comparison))
    for (function, dtype, linked), members in sorted(groups.items(), key=str):
        totals = np.sum(
            [[c.values, len(c.misses), len(c.gains), len(c.wrong), len(c.unknown)] for _, c in members], axis=0
        )
        missed = sorted(f"{one.name} ({len(c.misses)})" for one, c in members if c.misses)
        late = sorted(f"{one.name}: {c.note}" for one, c in members if c.note not in ("", "none"))
        label = "linked" if linked else "plain"
        result.rows.append((function, dtype, label, *map(str, totals), ", ".join(missed), "; ".join(late)))
        result.data.append(
            {"function": function, "dtype": dtype, "linked": linked, "misses": missed, "not finished": late}
            | dict(zip(("values", "misses in all", "gains", "neither", "unknown"), map(int, totals), strict=True))
        )
    return result


def describe(kind: str, one: Case, difference: Difference) -> str:
    """A line for a value that differs."""
    point = ", ".join(" ".join(f"{v:.17g}" for v in np.ravel(x)[:6]) for x in difference.point)
    off = [abs(v - difference.right) / abs(difference.right or 1) for v in (difference.ours, difference.theirs)]
    values = f"ours {difference.ours:.8g} ({off[0]:.1e}) theirs {difference.theirs:.8g} ({off[1]:.1e})"
    name = f"{one.function} {one.dtype} {'linked ' * one.linked}{one.name}"
    return (
        f"{kind} {name}: {difference.output}[{difference.element}] at ({point}): {values} right {difference.right:.8g}"
    )


def main() -> int:
    """The survey, or a part of it, with a line for each miss."""
    parser = argparse.ArgumentParser(description="Values that one kind of rewriting has and the other loses")
    parser.add_argument("--functions", nargs="+", default=[*FUNCTIONS, MODELS])
    parser.add_argument("--dtypes", nargs="+", default=["float64", "float32"])
    parser.add_argument("--names", nargs="+", default=[], help="of distributions or models; all if not given")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--show", nargs="*", default=["misses"], choices=["misses", "gains", "wrong", "unknown"])
    options = parser.parse_args()
    chosen = cases(options.functions, options.dtypes, options.names)
    start = time.perf_counter()

    def shown() -> Iterator[tuple[Case, Comparison]]:
        for one, comparison in examined(chosen, options.processes):
            for kind in options.show:
                for difference in getattr(comparison, kind):
                    print(describe(kind, one, difference), flush=True)
            if comparison.note not in ("", "none"):
                print(f"not finished {one}: {comparison.note}", flush=True)
            yield one, comparison

    def progress(text: str) -> None:
        print(f"{time.perf_counter() - start:6.0f} s, {len(chosen)} cases, {text}", file=sys.stderr, flush=True)

    found = report(shown(), progress)
    for row in (found.columns, *found.rows):
        print(" | ".join(row))
    print(f"{time.perf_counter() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
