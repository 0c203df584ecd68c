"""Timing and reporting that all benchmarks share.

`compare` calls its candidates in turn, in one process. A *slice* is the mean of a few calls, enough of them to last
about 2 ms; a *round* gives each candidate five slices, each time in another order, and keeps its fastest. A candidate's
time is the median over the rounds, its ratio to the baseline the median of ratios within rounds. Why: the fastest of
five short slices leaves out interruptions (they only ever add time), the median over rounds leaves out lucky ones, and
ratios within a round cancel what changes slowly (clock speed, other load on the machine), so that they are steadier
than the times themselves. The order is random because a candidate can slow down the next one (threads of a BLAS library
that still spin, a cache full of other data), and no one must always come after the same neighbour.
"""

from __future__ import annotations

import gc
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

SLICE_SECONDS = 0.002


class Elsewhere(Protocol):
    """A candidate that runs in another process, and times its calls there."""

    def __call__(self) -> Any:
        """One unit of work."""

    def timed(self, count: int) -> float:
        """The seconds of one of so many."""


@dataclass(frozen=True)
class Timing:
    """Seconds of a call, and the ratio to the baseline's."""

    seconds: float
    ratio: float


@dataclass(frozen=True)
class Target:
    """What a number must reach: at most `limit`, or at least."""

    what: str
    value: float
    limit: float
    at_least: bool = False

    @property
    def met(self) -> bool:
        """Whether it does."""
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    def __str__(self) -> str:
        sign = ">=" if self.at_least else "<="
        value = f"{self.value:.1e}" if 0 < self.value < 0.005 else f"{self.value:,.2f}"
        return f"{'met   ' if self.met else 'MISSED'} {self.what}: {value} (target {sign} {self.limit:,g})"


@dataclass
class Report:
    """A benchmark's results: a table for the reader, data for the file, targets."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]] = field(default_factory=list)
    data: list[dict[str, Any]] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)

    def add(self, case: str, timings: Mapping[str, Timing], unit: str) -> None:
        """One row of timings; the columns after the first name the candidates."""
        cells = {name: f"{show(t.seconds, unit)} ({t.ratio:.2f})" for name, t in timings.items()}
        self.rows.append((case, *[cells.get(name, "-") for name in self.columns[1:]]))
        self.data.append({"case": case} | {n: {"seconds": t.seconds, "ratio": t.ratio} for n, t in timings.items()})


def show(seconds: float, unit: str) -> str:
    """Seconds in a unit: `s`, `ms` or `us`."""
    scale, digits = {"s": (1, 2), "ms": (1e3, 1), "us": (1e6, 1)}[unit]
    return f"{seconds * scale:.{digits}f} {unit}"


def check_equal(results: Mapping[str, Sequence[Any]], rtol: float = 1e-9) -> None:
    """Raises unless all candidates gave the same values; relative to each output's largest magnitude."""
    (first, expected), *others = results.items()
    for name, found in others:
        for index, (a, b) in enumerate(zip(expected, found, strict=True)):
            a, b = np.asarray(a), np.asarray(b)
            np.testing.assert_allclose(
                b, a, rtol=rtol, atol=rtol * float(np.max(np.abs(a))), err_msg=f"output {index}: {name} and {first}"
            )


def compare(candidates: Mapping[str, Callable[[], Any]], baseline: str, *, rounds: int) -> dict[str, Timing]:
    """Times the candidates side by side; see the module's docstring.

    Args:
        candidates: by name; each call does one unit of work and waits for its result. What has a method `timed` times
            itself (see `Elsewhere`).
        baseline: the name that ratios refer to.
        rounds: number of rounds.
    """
    counts = {}
    for name, call in candidates.items():
        call()
        # The first calls of a process that slept are slow.
        seconds = _slice(call, 20 if hasattr(call, "timed") else 1)
        counts[name] = max(1, int(SLICE_SECONDS / max(seconds, 1e-6)))
    names = list(candidates)
    order = random.Random(0)
    samples: dict[str, list[float]] = {name: [] for name in names}
    enabled = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds):
            best = dict.fromkeys(names, float("inf"))
            for _ in range(5):
                for name in order.sample(names, len(names)):
                    best[name] = min(best[name], _slice(candidates[name], counts[name]))
            for name in names:
                samples[name].append(best[name])
            gc.collect()
    finally:
        if enabled:
            gc.enable()
    return {
        name: Timing(
            statistics.median(values),
            statistics.median(value / other for value, other in zip(values, samples[baseline], strict=True)),
        )
        for name, values in samples.items()
    }


def _slice(call: Callable[[], Any], count: int) -> float:
    """The seconds of a call, over so many."""
    timed = getattr(call, "timed", None)
    if timed is not None:
        return float(timed(count))
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count


def run_child(file: str, *words: str, environment: Mapping[str, str] | None = None) -> Any:
    """Runs a file in its own process; the JSON that it prints last.

    Raises:
        RuntimeError: it fails; with what it wrote to stderr.
    """
    command = [sys.executable, "-W", "ignore", file, *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def empty_caches(folder: str) -> dict[str, str]:
    """The environment of a process that finds nothing compiled; its caches are in an empty folder."""
    unwanted = ("JAX_", "XLA_", "NUMBA_", "PYTENSOR_")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(unwanted)}
    caches = {"NUMBA_CACHE_DIR": f"{folder}/numba", "PYTENSOR_FLAGS": f"base_compiledir={folder}/pytensor"}
    return {**environment, **caches, "HLOGRAPH_CACHE": "off"}


def settle(function: Any, call: Callable[[], Any], seconds: float = 120.0) -> None:
    """Calls one of hlograph's functions until it is settled how they run, see docs/explanation/direct_call.md."""
    end = time.perf_counter() + seconds
    call()
    while time.perf_counter() < end:
        if not any("to be tried" in line for entry in function.stats.by_executable for line in entry.plan):
            return
        for _ in range(20):
            call()
