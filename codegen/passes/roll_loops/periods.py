"""Stretches of a sequence in which a block of ops repeats.

In: a `Sequence`. Out: candidates `(start, end, period)`: between start and end each op has the kind of the one a period
later. What they read is not yet compared (see classify.py). The time is linear: distances between ops with equal
surroundings are counted, and the few most frequent ones are tried as periods.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .sequence import Sequence

Array = np.ndarray[Any, Any]

# How many distances are tried, and how many of the stretches of each.
_DISTANCES, _STRETCHES = 24, 8


class Stretch(NamedTuple):
    """Ops `start` to `end` (exclusive) repeat with this period."""

    start: int
    end: int
    period: int


def _mix(values: Array) -> Array:
    """Spreads the bits of 64-bit numbers (splitmix64)."""
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
