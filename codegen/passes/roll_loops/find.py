"""The runs of a block: stretches that repeat, tried until nothing more is found that pays.

In: a `Snapshot`. Out: a `Sequence` and the runs in it. The cost rule: a block is rolled up when it is repeated at least
`REPEATS` times and that takes at least `SAVED` ops away; cost.py then looks closer.
"""

from __future__ import annotations

import numpy as np

from ..report import Report
from .classify import Run, classify
from .periods import stretches, surroundings
from .sequence import Sequence, depth_first, in_order
from .snapshot import Snapshot

# A block that is repeated less often stays as it is; so do runs whose rolling takes away fewer ops than this.
REPEATS, SAVED = 8, 16
# How many runs are looked for, and how many stretches are tried for each.
_RUNS, _TRIED = 24, 12
# The module's own order is good enough where it leaves this part of the ops; a further run counts as so many ops.
_GOOD, _APART = 0.1, 20


def find_runs(snapshot: Snapshot, report: Report) -> tuple[Sequence, list[Run]]:
    """The better of two orders, and its runs, by position."""
    sequence = in_order(snapshot)
    runs = _runs(sequence)
    if _left(sequence, runs) > _GOOD * len(sequence.ops) + 2 * _APART and len(sequence.ops) >= REPEATS:
        other = depth_first(snapshot)
        found = _runs(other)
        if _left(other, found) < 0.9 * _left(sequence, runs):
            sequence, runs = other, found
    if report.detailed:
        _refusals(sequence, runs, report)
    return sequence, runs


def _left(sequence: Sequence, runs: list[Run]) -> int:
    """How much is left of the ops, with something for each run: values that pass from one to another are stacked."""
    return len(sequence.ops) - sum((run.count - 1) * run.period for run in runs) + _APART * len(runs)


def _runs(sequence: Sequence) -> list[Run]:
    hashes = surroundings(sequence)
    free = np.ones(len(sequence.ops), bool)
    found: list[Run] = []
    for _ in range(_RUNS):
        best: Run | None = None
        for stretch in stretches(sequence, hashes, free, REPEATS)[:_TRIED]:
            # Later ones cover less; a longer period is no gain.
            if best is not None and (
                _saved(best) > 0.9 * (stretch.end - stretch.start) and stretch.period >= best.period
            ):
                continue
            run = classify(sequence, stretch, REPEATS)
            if run is not None and _saved(run) >= SAVED and (best is None or _better(run, best)):
                best = run
        if best is None:
            break
        found.append(best)
        free[best.start : best.end] = False
    return sorted(found, key=lambda run: run.start)


def _saved(run: Run) -> int:
    return (run.count - 1) * run.period


def _better(run: Run, other: Run) -> bool:
    if run.period < other.period:
        return _saved(run) > 0.9 * _saved(other)
    return _saved(run) > _saved(other) / 0.9


def _refusals(sequence: Sequence, runs: list[Run], report: Report) -> None:
    """Says of what repeats, and stays as it is, why."""
    taken = sequence.snapshot
    apart: dict[tuple[str, str], list[int]] = {}
    for op, reason in taken.alone.items():
        apart.setdefault((taken.names[op], reason), []).append(op)
    for (name, reason), ops in apart.items():
        if len(ops) >= REPEATS:
            report.refused(taken.ops[ops[0]], f"{len(ops)} ops {name} are never part of a block: {reason}")
    free = np.ones(len(sequence.ops), bool)
    for run in runs:
        free[run.start : run.end] = False
    for stretch in stretches(sequence, surroundings(sequence), free, 2)[:_TRIED]:
        if not free[stretch.start : stretch.end].all():
            continue
        free[stretch.start : stretch.end] = False
        count = (stretch.end - stretch.start) // stretch.period
        block = f"a block of {stretch.period} op{'s' * (stretch.period > 1)}"
        first = taken.ops[int(sequence.ops[stretch.start])]
        whole = classify(sequence, stretch, 2)
        if count < REPEATS:
            report.refused(first, f"{block} is repeated {count} times from here; a loop needs at least {REPEATS}")
        elif (count - 1) * stretch.period < SAVED:
            gone = (count - 1) * stretch.period
            report.refused(
                first, f"{block} is repeated {count} times from here; a loop would take {gone} ops away, too few to pay"
            )
        elif whole is None or whole.count < count // 2:
            report.refused(
                first,
                f"{block} is repeated {count} times from here by name and type, but the ops do not read the same "
                "things: a value of the block, of the block before, the same in all, or made before the first",
            )
