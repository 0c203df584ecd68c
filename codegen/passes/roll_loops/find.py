"""The runs of a block: stretches that repeat, tried until nothing more is found that pays.

In: a `Snapshot`. Out: a `Sequence` and the runs in it. A run says where a block starts, how often it repeats, and for
each operand of the block one of: another op of the block (`lag` 0), an op of an earlier repetition (`lag` 1 and more),
the same value in all repetitions, or its own value in each that is there before the run starts. Repetitions at the
ends that do not fit are left out. A block is rolled up when it is repeated at least `REPEATS` times and that takes at
least `SAVED` ops away; `plan.py` then looks closer. Decision to know: the time is linear, as distances between ops with
equal surroundings are counted, and the few most frequent ones are tried as periods; a block starts where in the period
the fewest values pass from one repetition to the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...ir.values import Array
from ..report import Report
from .snapshot import Sequence, Snapshot, depth_first, distinct, in_order

# A block that is repeated less often stays as it is; so do runs whose rolling takes away fewer ops than this.
REPEATS, SAVED = 8, 16
# How many runs are looked for, and how many stretches are tried for each.
_RUNS, _TRIED = 24, 12
# The module's own order is good enough where it leaves this part of the ops; a further run counts as this many ops.
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
            if run is None or _saved(run) < SAVED:
                continue
            shorter = best is not None and run.period < best.period
            if best is None or _saved(run) > _saved(best) * (0.9 if shorter else 1 / 0.9):
                best = run
        if best is None:
            break
        found.append(best)
        free[best.start : best.end] = False
    return sorted(found, key=lambda run: run.start)


def _saved(run: Run) -> int:
    return (run.count - 1) * run.period


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


# ---- whether a stretch is a repeated block, and where each operand comes from ---------------------------------------

# A value is passed on over this many repetitions at most.
LONGEST_LAG = 7
_ROUNDS = 24


@dataclass
class Run:
    """A block that repeats.

    Attributes:
        sequence: where it lies.
        start: its first op's position.
        period: ops of the block.
        count: repetitions.
        codes: where operands come from, (count, operands of the block).
        first: where the operands of each op of the block start; one more than there are ops.
        lags: for each operand how many repetitions ago it was made; -1 for what was made before the run.
        sources: for each operand made in the run, its code from the start of the repetition that makes it.
        fixed: whether an operand made before the run is the same in all repetitions.
    """

    sequence: Sequence
    start: int
    period: int
    count: int
    codes: Array
    first: list[int]
    lags: Array
    sources: Array
    fixed: Array

    @property
    def end(self) -> int:
        """The position behind its last op."""
        return self.start + self.period * self.count

    @cached_property
    def read(self) -> dict[int, set[int]]:
        """The results of the block that are read outside of the run, by code, and of which repetitions.

        Repetitions are listed as the last one only, or as 0 where an earlier one is read as well.
        """
        stride, width = self.sequence.stride, self.period * self.sequence.stride
        later = self.sequence.codes[self.sequence.first[self.end] :]
        read = distinct(later[(later >= self.start * stride) & (later < self.end * stride)]) - self.start * stride
        nodes, last = read % width, read // width == self.count - 1
        found = {node: {0} for node in nodes[~last].tolist()}
        for node in nodes[last].tolist():
            found.setdefault(node, set()).add(self.count - 1)
        return found

    def template(self, node: int) -> int:
        """An op that stands for one of the block's."""
        return int(self.sequence.ops[self.start + (self.count // 2) * self.period + node])

    def slots(self, node: int) -> range:
        """The operands of one of the block's ops."""
        return range(self.first[node], self.first[node + 1])


def classify(sequence: Sequence, stretch: Stretch, repeats: int) -> Run | None:
    """The run in a stretch; None where operands do not repeat as the ops do."""
    period = stretch.period
    start = stretch.start + _phase(sequence, stretch, repeats)
    count = (stretch.end - start) // period
    if count < max(repeats, 2):
        return None
    stride = sequence.stride
    low, high = int(sequence.first[start]), int(sequence.first[start + period])
    width = high - low
    codes = sequence.codes[low : low + width * count].reshape(count, width)
    bases = (start + period * np.arange(count)) * stride
    relative = codes - bases[:, None]
    middle = min(count // 2, count - 2)
    lags = -(relative[middle] // (period * stride))
    recurrent = (
        (relative[middle] == relative[middle + 1]) & (codes[middle] >= 0) & (lags <= min(LONGEST_LAG, repeats - 1))
    )
    lags = np.where(recurrent, lags, 0)
    rows = np.arange(count)[:, None]
    broken = recurrent & (relative != relative[middle])
    begin, end = 0, count
    for _ in range(_ROUNDS):
        early = rows < begin + lags
        late = codes >= bases[begin]
        wrong = np.where(recurrent, np.where(early, late & broken, broken), late)[begin:end]
        if not wrong.any():
            break
        row, column = np.nonzero(wrong)
        row += begin
        # What starting later would mend, and what ending earlier would.
        mended = np.where(
            recurrent[column] & broken[row, column],
            np.maximum(row - lags[column] + 1, begin + 1),
            (codes[row, column] // stride - start) // period + 1,
        )
        from_start = mended <= middle
        if from_start.any():
            begin = int(mended[from_start].max())
        if not from_start.all():
            end = int(row[~from_start].min())
        if end - begin < max(repeats, 2) or not begin <= middle < end - 1:
            return None
    else:
        return None
    kept = codes[begin:end]
    return Run(
        sequence,
        start + begin * period,
        period,
        end - begin,
        kept,
        (sequence.first[start : start + period + 1] - low).tolist(),
        np.where(recurrent, lags, -1),
        np.where(recurrent, relative[middle] + lags * period * stride, -1),
        ~recurrent & (kept == kept[0]).all(axis=0),
    )


def _phase(sequence: Sequence, stretch: Stretch, repeats: int) -> int:
    """Where in the period the block starts: where the fewest values are alive that it made and still reads."""
    start, period, stride = stretch.start, stretch.period, sequence.stride
    slack = (stretch.end - start) - max(repeats, 2) * period
    middle = start + max((stretch.end - start) // period // 2 - 1, 0) * period
    low, high = int(sequence.first[middle]), int(sequence.first[middle + period])
    codes, later = sequence.codes[low:high], sequence.codes[low + (high - low) : high + (high - low)]
    if len(later) < len(codes):
        return 0
    users = np.repeat(np.arange(middle, middle + period), np.diff(sequence.first[middle : middle + period + 1]))
    passed = (later - codes == period * stride) & (codes >= 0)
    distance = users - codes // stride
    passed &= distance <= LONGEST_LAG * period
    longest: dict[int, int] = {}
    for code, length in zip((codes[passed] % (period * stride)).tolist(), distance[passed].tolist(), strict=True):
        if longest.get(code, 0) < length:
            longest[code] = length
    alive = np.zeros(period + 1, np.int64)
    for code, length in longest.items():
        # Alive at the starts of positions made + 1 to made + length, seen from the stretch's start.
        begin = (code // stride + 1 - start) % period
        alive += length // period
        rest = length % period
        end = begin + rest
        alive[begin : min(end, period)] += 1
        alive[: max(end - period, 0)] += 1
    return int(np.argmin(alive[: min(period, slack + 1)]))


# ---- stretches in which ops repeat by kind; what they read is not yet compared --------------------------------------

# How many distances are tried, and how many of the stretches of each.
_DISTANCES, _STRETCHES = 24, 8


class Stretch(NamedTuple):
    """Ops `start` to `end` (exclusive) repeat with this period."""

    start: int
    end: int
    period: int


def _mix(values: Array) -> Array:
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def surroundings(sequence: Sequence) -> Array:
    """A hash of each op, of what it reads, and of what that reads."""
    kinds = _mix(sequence.kinds.astype(np.uint64))
    counts = np.diff(sequence.first)
    slot = np.arange(len(sequence.codes)) - np.repeat(sequence.first[:-1], counts)
    weights = _mix(slot.astype(np.uint64) + np.uint64(77)) | np.uint64(1)
    made = sequence.codes >= 0
    owners = np.where(made, sequence.codes // sequence.stride, 0)
    hashes = kinds
    for _ in range(2):
        read = np.where(made, hashes[owners], np.uint64(12345)) * weights
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(read, dtype=np.uint64)])
        hashes = _mix(kinds + sums[sequence.first[1:]] - sums[sequence.first[:-1]])
    return hashes


def stretches(sequence: Sequence, hashes: Array, free: Array, repeats: int) -> list[Stretch]:
    """Candidates among the ops that are free, those that cover most first.

    Args:
        sequence: the ops.
        hashes: their `surroundings`.
        free: which ops may be used.
        repeats: how often a block must be repeated at least.
    """
    places = np.flatnonzero(free)
    if len(places) < repeats:
        return []
    order = places[np.argsort(hashes[places], kind="stable")]
    same = hashes[order[1:]] == hashes[order[:-1]]
    distances = (order[1:] - order[:-1])[same]
    distances = distances[distances <= len(sequence.ops) // repeats]
    if not len(distances):
        return []
    counts = np.bincount(distances)
    common = np.argsort(-counts, kind="stable")[:_DISTANCES]
    found: list[Stretch] = []
    for period in common.tolist():
        if counts[period] < repeats - 1:
            continue
        equal = (sequence.kinds[:-period] == sequence.kinds[period:]) & free[:-period] & free[period:]
        edges = np.flatnonzero(np.diff(np.concatenate([[False], equal, [False]]).astype(np.int8)))
        starts, ends = edges[::2], edges[1::2]
        long = ends - starts >= (repeats - 1) * period
        best = np.flatnonzero(long)[np.argsort(-(ends - starts)[long], kind="stable")][:_STRETCHES]
        # A stretch may hold a used op between an op and its next repetition.
        for start, end in zip(starts[best].tolist(), ends[best].tolist(), strict=True):
            if free[start : end + period].all():
                found.append(Stretch(start, end + period, period))
    found.sort(key=lambda stretch: (stretch.start - stretch.end, stretch.period))
    return found
