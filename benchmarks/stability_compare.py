"""One graph after hlograph's rewrites and after all of PyTensor's, evaluated in Python and held to the truth.

Values of both come first. Where they agree within some roundings there is neither miss nor gain; only where they differ
is the graph as written evaluated with many digits (`exact.py`).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from exact import exact

TIMES = 4
SECONDS = 10  # for one graph, about
ROUNDING = 8  # so many roundings count as none
RIGHT = 1e-3  # what is farther off, relative to the true value, is not right


@dataclass(frozen=True)
class Difference:
    """A value that is not the same after both kinds of rewriting.

    Attributes:
        output: which of the graph's.
        point: the inputs' values.
        element: of the output, as a flat index.
        ours: after the selection.
        theirs: after all of PyTensor's.
        right: the true value, NaN where it is not known.
    """

    output: str
    point: tuple[Any, ...]
    element: int
    ours: float
    theirs: float
    right: float


@dataclass
class Comparison:
    """What was compared.

    Attributes:
        values: how many.
        misses: right, or finite, after PyTensor's rewrites and not after ours.
        gains: the reverse.
        wrong: different, and right after neither, or after both with more than some roundings between them.
        unknown: finite after both, different, and without a true value.
        note: why nothing was compared, or not all.
    """

    values: int = 0
    misses: list[Difference] = field(default_factory=list)
    gains: list[Difference] = field(default_factory=list)
    wrong: list[Difference] = field(default_factory=list)
    unknown: list[Difference] = field(default_factory=list)
    note: str = ""


def compare(
    inputs: Sequence[Any], outputs: Sequence[Any], points: Sequence[Sequence[np.ndarray]], seconds: float = SECONDS
) -> Comparison:
    """All outputs at all points, or at as many as there is time for."""
    ours, theirs = both(inputs, outputs)
    found = Comparison()
    end = time.perf_counter() + seconds
    with np.errstate(all="ignore"):
        for number, point in enumerate(points):
            if time.perf_counter() > end:
                found.note = f"{len(points) - number} of {len(points)} points left out after {seconds} s"
                break
            first, second = ([np.asarray(x) for x in function(*point)] for function in (ours, theirs))
            found.values += sum(x.size for x in first)
            pairs = zip(first, second, strict=True)
            different = [number for number, (x, y) in enumerate(pairs) if _different(x, y).any()]
            if different:
                right = exact(inputs, [outputs[number] for number in different], point)
                for number, truth in zip(different, right, strict=True):
                    _sort(found, str(outputs[number].name or number), point, first[number], second[number], truth)
    return found


def both(inputs: Sequence[Any], outputs: Sequence[Any]) -> tuple[Any, Any]:
    """Functions of the graph after the selection, without further rewrites, and after all of PyTensor's."""
    import pytensor
    from pytensor.compile.builders import OpFromGraph
    from pytensor.compile.mode import Mode
    from pytensor.compile.rewriting import inline_ofg_node
    from pytensor.graph.rewriting.basic import dfs_rewriter, node_rewriter

    from hlograph.dialects.library import library

    @node_rewriter([OpFromGraph])
    def inline(fgraph: Any, node: Any) -> list[Any]:
        return inline_ofg_node(node)

    full = Mode("py", "fast_run").excluding("fusion", "inplace", "BlasOpt")
    plain = Mode("py", dfs_rewriter(inline))
    with pytensor.config.change_flags(cxx=""):
        selection = library("pytensor").rewrites.apply(inputs, outputs, True)[1]
        with pytensor.config.change_flags(mode=plain):
            ours = pytensor.function(inputs, selection, mode=plain, on_unused_input="ignore")
        with pytensor.config.change_flags(mode=full):
            theirs = pytensor.function(inputs, outputs, mode=full, on_unused_input="ignore")
    return ours, theirs


def _different(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Where they are not the same, up to some roundings."""
    ours, theirs = np.broadcast_arrays(ours, theirs)
    limits = np.finfo(ours.dtype) if ours.dtype.kind == "f" else np.finfo("float64")
    near = np.abs(ours - theirs) <= ROUNDING * float(limits.eps) * np.abs(theirs) + float(limits.tiny)
    return ~(near | (ours == theirs) | (np.isnan(ours) & np.isnan(theirs)))


def _sort(
    found: Comparison, output: str, point: Sequence[Any], ours: np.ndarray, theirs: np.ndarray, right: np.ndarray
) -> None:
    """Puts the elements that differ where they belong."""
    limits = np.finfo(ours.dtype)
    different = _different(ours, theirs)
    right = np.broadcast_to(right if right.size in (1, ours.size) else np.nan, ours.shape)
    for element in np.flatnonzero(different):
        x, y, true = (float(array.flat[element]) for array in (ours, theirs, right))
        known = np.isinf(true) or abs(true) <= float(limits.max)
        true = true if known else float("nan")
        difference = Difference(output, tuple(point), int(element), x, y, true)
        lost, won = _worse(x, y, difference.right, limits), _worse(y, x, difference.right, limits)
        if lost:
            found.misses.append(difference)
        elif won:
            found.gains.append(difference)
        elif known:
            found.wrong.append(difference)
        elif np.isfinite([x, y]).all():
            found.unknown.append(difference)


def _worse(mine: float, other: float, right: float, limits: Any) -> bool:
    """Whether mine is lost where other is not."""
    if np.isinf(right):
        return other == right and mine != right
    if np.isnan(right):
        return bool(np.isfinite(other) and not np.isfinite(mine))
    scale = abs(right) * float(limits.eps) * ROUNDING + float(limits.tiny)
    off = abs(other - right)
    if not np.isfinite(other) or off > RIGHT * abs(right) + scale:
        return False
    return not np.isfinite(mine) or bool(abs(mine - right) > TIMES * off + scale)
