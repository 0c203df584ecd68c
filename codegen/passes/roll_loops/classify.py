"""Whether a stretch is a repeated block, and where each operand of the block comes from.

In: a stretch whose ops repeat by kind. Out: a `Run`: where it starts, how often the block repeats, and for each operand
of the block one of: another op of the block (`lag` 0), an op of an earlier repetition (`lag` 1 and more), the same
value in all repetitions, or a value of its own in each that is there before the run starts. Repetitions at the ends
that do not fit are left out. Decision to know: the block may start anywhere in the period; it starts where the fewest
values pass from one repetition to the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .periods import Stretch
from .sequence import Sequence

Array = np.ndarray[Any, Any]

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

    def template(self, node: int) -> int:
        """An op that stands for one of the block's."""
        return int(self.sequence.ops[self.start + (self.count // 2) * self.period + node])

    def slots(self, node: int) -> range:
        """The operands of one of the block's ops."""
        return range(self.first[node], self.first[node + 1])

    def instances(self, node: int) -> Array:
        """The op of each repetition."""
        return self.sequence.ops[self.start + node + self.period * np.arange(self.count)]


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
