"""Accuracy far out: PyMC's distributions after hlograph's rewrites, and after all of PyTensor's.

Every density, its logarithmic distribution functions, its quantile function where there is one, and their gradients by
the value and the parameters, at about 40 points from the bulk to 1e300 and the borders of the support; with parameters
as they are, and as models have them: positive ones as exponentials, probabilities as logistic functions. Both rewritten
graphs are evaluated by PyTensor in Python, so that rewriting alone is compared. `exact.py` gives the true values.

A *miss* is a value that is finite and right after PyTensor's rewrites, and not finite, or more than `TIMES` times as
far off, after ours. A *gain* is the reverse.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from exact import exact
from harness import Report
from stability_cases import DISTRIBUTIONS, case

TITLE = "Stability: values that one kind of rewriting has and the other loses"
FUNCTIONS = ("logp", "logcdf", "logccdf", "icdf")
TIMES = 4
ROUNDING = 8  # so many roundings count as none


def run(quick: bool, progress: Callable[[str], None]) -> Report:
    """All functions of all distributions; with `quick` the densities alone, and no true values."""
    report = Report(TITLE, ("function", "dtype", "parameters", "values", "misses", "gains", "misses of"))
    for dtype in ("float64",) if quick else ("float64", "float32"):
        for function in FUNCTIONS[: 1 if quick else None]:
            for linked in (False, True):
                totals, where = np.zeros(3, int), []
                for name in DISTRIBUTIONS:
                    progress(f"{function} {dtype} {'linked' if linked else ''} {name}")
                    counts = _counts(name, function, linked, dtype, not quick)
                    totals += counts
                    where += [f"{name} ({counts[1]})"] if counts[1] else []
                label = "linked" if linked else "plain"
                report.rows.append((function, dtype, label, *map(str, totals), ", ".join(where)))
                report.data.append({"function": function, "dtype": dtype, "linked": linked, "misses": where})
    return report


def _counts(name: str, function: str, linked: bool, dtype: str, truth: bool) -> np.ndarray:
    """Values compared, misses, gains."""
    import pytensor
    from pytensor.compile.mode import Mode

    from hlograph.dialects.apply_graph import library

    try:
        inputs, outputs, points = graph(name, function, linked, dtype)
    except (NotImplementedError, TypeError):  # the distribution has no such function
        return np.zeros(3, int)
    columns = list(points.T)
    python = Mode("py", "fast_run")
    with pytensor.config.change_flags(cxx="", mode=python), np.errstate(all="ignore"):
        selection = library("pytensor").rewrites.apply(inputs, outputs, True)[1]
        found = [
            np.array(pytensor.function(inputs, graph, mode=mode, on_unused_input="ignore")(*columns))
            for graph, mode in ((selection, Mode("py", None)), (outputs, python))
        ]
    right = true_values(inputs, outputs, points) if truth else np.full(found[0].shape, np.nan)
    return np.array([found[0].size, *misses(*found, right)])


def misses(ours: np.ndarray, theirs: np.ndarray, right: np.ndarray) -> tuple[int, int]:
    """How many values are lost in the first array, and how many in the second."""
    epsilon = float(np.finfo(ours.dtype).eps)
    with np.errstate(all="ignore"):
        scale = np.abs(right) * epsilon * ROUNDING + float(np.finfo(ours.dtype).tiny)
        off = [np.where(np.isfinite(x), np.abs(x.astype("float64") - right), np.inf) for x in (ours, theirs)]
        known = np.isfinite(right) & (np.abs(right) < float(np.finfo(ours.dtype).max))
        lost = []
        for mine, other, mine_off, other_off in ((ours, theirs, *off), (theirs, ours, *off[::-1])):
            gone = np.isfinite(other) & ~np.isfinite(mine) & (~known | (other_off <= 1e-3 * np.abs(right) + scale))
            worse = known & np.isfinite(mine) & (mine_off > TIMES * other_off + scale)
            lost.append(int((gone | worse).sum()))
    return lost[0], lost[1]


def graph(name: str, function: str, linked: bool, dtype: str) -> tuple[list[Any], list[Any], np.ndarray]:
    """Inputs, the function with its gradients, and points; parameters are not checked, as in a vector of them one that
    is out of bounds would take all others with it."""
    import pymc
    import pytensor
    from pymc.logprob.utils import local_remove_check_parameter
    from pytensor.graph.fg import FunctionGraph
    from pytensor.graph.rewriting.basic import out2in

    inputs, distribution, points = case(name, linked, dtype)
    value = getattr(pymc, function)(distribution, inputs[0])
    outputs = [value, *pytensor.grad(value.sum(), inputs, disconnected_inputs="ignore", null_gradients="return")]
    outputs = [x for x in outputs if hasattr(x.type, "dtype") and x.type.dtype == dtype]
    fgraph = FunctionGraph(inputs, outputs, clone=False)
    out2in(local_remove_check_parameter).rewrite(fgraph)
    return inputs, list(fgraph.outputs), points


def true_values(inputs: Sequence[Any], outputs: Sequence[Any], points: np.ndarray) -> np.ndarray:
    """Of each output, at each point."""
    return np.array([exact(inputs, outputs, point) for point in points]).T
