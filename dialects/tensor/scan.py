"""Scan: a loop over steps, as one `stablehlo.while` whose body is emitted once.

In: a `Scan` node, whose inner graph is one step. Out: its traces (a row for each step, behind the rows of initial
states) and the last values of what has no trace.

    outer input                        inner inputs at step i           outer result
    sequence x[>= n, ...]              x[i]
    mit-mot  buffer[L, ...]            buffer[i + tap], for each tap    the buffer, with the rows that the steps replace
    mit-sot, sit-sot  buffer[L, ...]   the states of steps i + tap      the last L of the initial and the computed rows
    nit-sot  L                                                          the last L of the computed rows
    untraced  value                    that of the step before          the last one
    non-sequence                       the value

Decision to know: what a step reads of earlier steps is carried by itself, and a trace is only written, one row in each
step. So nothing is copied, a trace that nobody wants goes away, and what becomes of one can move into the loop
(`sink_reductions`). Of a trace that the library has cut to its last rows only these are kept: none where they are the
carried states, else a ring. States from far back are read from the trace.

A loop of a few steps that draw as many numbers as a sequence says is written out, step by step: each has its own sizes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from ...codegen import builder as hlo
from ...codegen import dims as dimension
from ...codegen.builder import INT64, Builder, Carries, Tensor
from ...codegen.dims import Dim, maximum
from ...codegen.emit import Context
from ...codegen.errors import DataDependentSizeError
from ...codegen.graph import order
from ..registry import lowers
from ..releases import inner_graphs, unflatten
from ..scan_parts import ScanParts
from .shape import sizes_of

_FAR = 4  # steps back from which a state is read from its trace, in place of being carried
_FEW = 100  # this many steps at most are written out
_WIDE = 16  # rows of a mit-mot buffer from which it is carried as a whole

Values: TypeAlias = Sequence[Tensor]


@lowers("Scan", inner=True)
def scan(ctx: Context, node: Any, *operands: Tensor) -> list[Tensor]:
    """The loop; sequences that are too short, and states whose size changes, are demands on sizes."""
    return _Scan(ctx, node, operands).results()


class _Steps:
    """What all parts of a loop know.

    Attributes:
        builder: the builder.
        ctx: the rule's context.
        count: how many steps there are at most.
        ends: whether a condition may end the loop before.
        what: the loop, for messages.
        done: how many steps there were; known after the loop.
    """

    def __init__(self, ctx: Context, node: Any, count: Tensor) -> None:
        self.ctx, self.builder = ctx, ctx.builder
        name = getattr(node.op, "name", None)
        self.what = f"scan {name!r}" if name else "scan"
        self.ends = bool(node.op.info.as_while)
        self.count = self.size(count, "n_steps")
        if count.sizes is not None:
            ctx.at_least(self.count, 0, f"n_steps of the {self.what}")
        self.done: Tensor | None = None

    @property
    def rows(self) -> Dim:
        """How many steps there were, as a size, after the loop."""
        assert self.done is not None
        return hlo.data_size(self.done, "steps", self.count) if self.ends else self.count

    def size(self, count: Tensor, what: str) -> Dim:
        """A number of steps as a dimension, which may be a reduction or a cast of data."""
        if count.sizes is None and not self.builder.in_region:
            return sizes_of(self.ctx, [count], what)[0]
        return self.ctx.dim(count, f"{what} of the {self.what}")

    def fitting(self, value: Tensor, dims: Sequence[Dim], what: str) -> Tensor:
        """A step's result, which must have the shape that the next step takes."""
        where = f"{what} of the {self.what}, before and after a step"
        pairs = list(zip(dims, value.dims, strict=True))
        for axis, (size, found) in enumerate(pairs):
            if self.builder.is_local(found):
                raise DataDependentSizeError(
                    f"{where}, axis {axis}, has size {size}, and then one that is computed from data in the step; let "
                    "it keep its size, for instance by `where` in place of a mask"
                )
        return hlo.with_dims(
            value, tuple(self.ctx.equate(a, b, f"{where}, axis {i}") for i, (a, b) in enumerate(pairs))
        )

    def is_ring(self, length: Dim, needed: Dim) -> bool:
        """Whether this many rows may be fewer than are needed."""
        constraints = self.builder.constraints
        missing = dimension.bounds(constraints.canonical(needed - length), constraints.intervals)[1]
        return missing is None or missing > 0

    def kept(self, length: Dim, depth: Dim) -> Dim:
        """How many rows of a trace there are after the loop, if there are this many for all steps."""
        return dimension.minimum(length, self.rows + depth + maximum(length - self.count - depth, 0))

    def filled(self, rows: Tensor, length: Dim, depth: Dim) -> Tensor:
        """The rows of a trace, and zeros where it was asked for with more than there can be."""
        constraints = self.builder.constraints
        more = constraints.canonical(length - self.count - depth)
        if dimension.bounds(more, constraints.intervals)[1] == 0:
            return rows
        return hlo.concatenate([rows, _zeros(self.builder, rows.dtype, (more, *rows.dims[1:]))], 0)

    def in_order(self, ring: Tensor, length: Dim, depth: Dim) -> Tensor:
        """The rows of a ring from the oldest to the latest, of which some were there before the first step."""
        assert self.done is not None
        written, size = _shifted(self.done, depth), self.builder.size(length)
        turned = written > size
        first = hlo.select(turned, hlo.remainder(written, hlo.maximum_(size, 1)), self.builder.constant(0, INT64))
        places = hlo.iota(self.builder, (self.kept(length, depth),), 0, INT64) + first
        return hlo.take(hlo.concatenate([ring, ring], 0), places, 0)


def _shifted(index: Tensor, by: Any) -> Tensor:
    return index + by if by else index


def _zeros(builder: Builder, dtype: Any, dims: Sequence[Dim]) -> Tensor:
    return hlo.full(builder, builder.constant(np.zeros((), dtype)), tuple(dims))


def _first_rows(x: Tensor, count: int) -> list[Tensor]:
    source, first, step = hlo.rows_of(x)
    return [hlo.reshape(hlo.slice_axis(source, 0, first + step * k, 1), x.dims[1:]) for k in range(count)]


class _Rows:
    """An array that a step reads a row of; slices and reverses that it comes from are places in their source."""

    def __init__(self, array: Tensor, least: int) -> None:
        source, self._first, self._step = hlo.rows_of(array)
        self._source = hlo.with_rows(source, least)

    def at(self, index: Tensor) -> Tensor:
        """A row, at an index that is clamped somehow."""
        first = self._source.builder.size(self._first)
        known, place = self._source.literal, index.literal
        if known is not None and place is not None and isinstance(self._first, int) and len(known):
            return self._source.builder.constant(known[self._first + self._step * int(place)])
        if self._step < 0:
            return hlo.row(self._source, first - index)
        return hlo.row(self._source, index if self._first == 0 else index + first)


class _Part(ABC):
    """What a step hands to the next one.

    Attributes:
        inits: its carries before the first step.
        outputs: how many results of a step are for it.
    """

    inits: list[Tensor]
    outputs = 1

    def __init__(self, steps: _Steps) -> None:
        self.steps = steps

    @abstractmethod
    def read(self, window: Values, index: Tensor) -> list[Tensor]:
        """The inner inputs, of its carries."""

    @abstractmethod
    def write(self, window: Values, index: Tensor, values: Values, carries: Carries) -> Values:
        """Its carries for the next step, of a step's results."""

    @abstractmethod
    def result(self, window: Values, results: Values) -> Tensor:
        """The outer result, of the last carries."""


class _Trace(_Part):
    """A row for each step.

    Args:
        steps: the loop.
        length: how many rows are kept.
        initial: rows in front of the first step's, or None.
        type_: the graph's type of the rows, where none are in front.
    """

    def __init__(self, steps: _Steps, length: Dim, initial: Tensor | None = None, type_: Any = None) -> None:
        super().__init__(steps)
        self.inits, self.length, self.initial, self.type = [], length, initial, type_
        self.depth: Any = 0 if initial is None else initial.dims[0]
        self.ring = steps.is_ring(length, steps.count + self.depth)
        self._place: int | None = None

    def read(self, window: Values, index: Tensor) -> list[Tensor]:
        """Nothing."""
        return []

    def write(self, window: Values, index: Tensor, values: Values, carries: Carries) -> Values:
        """Keeps the value of a step."""
        steps, initial, (value,) = self.steps, self.initial, values
        if self.ring:
            index = hlo.remainder(_shifted(index, self.depth), hlo.maximum_(steps.builder.size(self.length), 1))
        if initial is None or not self.ring:
            self._place = carries.stack(value, self.length if self.ring else steps.count, index)
            return []

        def ring() -> Tensor:
            more = _zeros(steps.builder, value.dtype, (self.length - self.depth, *value.dims))
            return hlo.concatenate([initial, more], 0)

        self._place = carries.add(ring, lambda rows: hlo.with_row(rows, value, index))
        return []

    def result(self, window: Values, results: Values, last: tuple[Dim, Callable[[], Tensor]] | None = None) -> Tensor:
        """The rows that are kept, oldest first; those behind the last step's are zeros.

        Args:
            window: nothing.
            results: of the loop.
            last: how many of the last rows are carried, and these: where no others are wanted, there is no trace.
        """
        steps = self.steps
        if self._place is None:
            return self._without_steps()
        rows = results[self._place]
        if self.ring:
            return steps.in_order(rows, self.length, self.depth)
        rows = hlo.slice_axis(rows, 0, 0, steps.rows)
        rows = hlo.with_last(rows, 0, last)
        if self.initial is not None:
            rows = hlo.with_last(hlo.concatenate([self.initial, rows], 0), 0, last)
        return steps.filled(rows, self.length, self.depth)

    def _without_steps(self) -> Tensor:
        """The rows in front of a loop that is known to have no step."""
        rows = self.initial
        if rows is None:
            shape = self.type.shape[1:]
            if None in shape:
                raise DataDependentSizeError(
                    f"the {self.steps.what} has no step, and nothing else says what shape a step gives; leave it out"
                )
            rows = _zeros(self.steps.builder, np.dtype(self.type.dtype), (0, *shape))
        return self.steps.filled(rows, self.length, self.depth)


class _Untraced(_Part):
    def __init__(self, steps: _Steps, initial: Tensor) -> None:
        super().__init__(steps)
        self.inits = [initial]

    def read(self, window: Values, index: Tensor) -> list[Tensor]:
        return list(window)

    def write(self, window: Values, index: Tensor, values: Values, carries: Carries) -> Values:
        return [self.steps.fitting(values[0], window[0].dims, "an untraced state")]

    def result(self, window: Values, results: Values) -> Tensor:
        return window[0]


class _Near(_Part):
    """A state of which the last few values are carried, oldest first."""

    def __init__(self, steps: _Steps, taps: Sequence[int], buffer: Tensor) -> None:
        super().__init__(steps)
        self.taps, self.depth, self.length = taps, -min(taps), buffer.dims[0]
        initial = hlo.slice_axis(buffer, 0, 0, self.depth)
        self.inits = _first_rows(initial, self.depth)
        self.trace = None if self.length == self.depth else _Trace(steps, self.length, initial)

    def read(self, window: Values, index: Tensor) -> list[Tensor]:
        return [window[self.depth + tap] for tap in self.taps]

    def write(self, window: Values, index: Tensor, values: Values, carries: Carries) -> Values:
        value = self.steps.fitting(values[0], window[0].dims, "a state")
        if self.trace is not None:
            self.trace.write((), index, [value], carries)
        return [*window[1:], value]

    def result(self, window: Values, results: Values) -> Tensor:
        def last() -> Tensor:
            return hlo.concatenate([hlo.expand_dims(x, [0]) for x in window], 0)

        return last() if self.trace is None else self.trace.result((), results, (self.depth, last))


class _Sliding(_Part):
    """A mit-mot buffer: a step reads and replaces rows near its own.

    These rows are carried. One enters from the buffer, which is only read, and one leaves, final, for a trace.
    """

    def __init__(self, steps: _Steps, taps: Sequence[int], out_taps: Sequence[int], buffer: Tensor) -> None:
        super().__init__(steps)
        self.taps, self.out_taps, self.outputs, self.buffer = taps, out_taps, len(out_taps), buffer
        self.low, self.high = min((*taps, *out_taps)), max((*taps, *out_taps))
        steps.ctx.at_least(buffer.dims[0], steps.count + self.high, f"a mit-mot buffer of the {steps.what}")
        self.source = _Rows(buffer, 1)
        self.inits = _first_rows(hlo.with_rows(buffer, self.high + 1), self.high + 1)[self.low :]
        self.trace = _Trace(steps, steps.count)

    def read(self, window: Values, index: Tensor) -> list[Tensor]:
        return [window[tap - self.low] for tap in self.taps]

    def write(self, window: Values, index: Tensor, values: Values, carries: Carries) -> Values:
        rows = list(window)
        for tap, value in zip(self.out_taps, values, strict=True):
            rows[tap - self.low] = self.steps.fitting(value, self.buffer.dims[1:], "a row of a mit-mot buffer")
        self.trace.write((), index, [rows[0]], carries)
        return [*rows[1:], self.source.at(index + (self.high + 1))]

    def result(self, window: Values, results: Values) -> Tensor:
        count = self.steps.count
        steps_before = hlo.slice_axis(self.buffer, 0, 0, self.low)
        left = [hlo.expand_dims(x, [0]) for x in window[:-1]]
        last = hlo.slice_axis(self.buffer, 0, count + self.high, self.buffer.dims[0] - count - self.high)
        return hlo.concatenate([steps_before, self.trace.result((), results), *left, last], 0)


class _Whole(_Part):
    """A mit-mot buffer of which a step touches rows that are far apart."""

    what = "a row of a mit-mot buffer"

    def __init__(self, steps: _Steps, taps: Sequence[int], out_taps: Sequence[int], buffer: Tensor) -> None:
        super().__init__(steps)
        self.taps, self.out_taps, self.outputs, self.length = taps, out_taps, len(out_taps), buffer.dims[0]
        self.inits = [self._start(buffer)]

    def _start(self, buffer: Tensor) -> Tensor:
        return hlo.with_rows(buffer, 1)

    def _place(self, index: Tensor, tap: int) -> Tensor:
        return _shifted(index, tap)

    def read(self, window: Values, index: Tensor) -> list[Tensor]:
        return [hlo.row(window[0], self._place(index, tap)) for tap in self.taps]

    def write(self, window: Values, index: Tensor, values: Values, carries: Carries) -> Values:
        (buffer,) = window
        for tap, value in zip(self.out_taps, values, strict=True):
            value = self.steps.fitting(value, buffer.dims[1:], self.what)
            buffer = hlo.with_row(buffer, value, self._place(index, tap))
        return [buffer]

    def result(self, window: Values, results: Values) -> Tensor:
        return hlo.slice_axis(window[0], 0, 0, self.length)


class _Far(_Whole):
    """A state that is read from its trace, which is carried with the initial rows in front."""

    what = "a state"

    def __init__(self, steps: _Steps, taps: Sequence[int], buffer: Tensor) -> None:
        self.depth = -min(taps)
        self.ring = steps.is_ring(buffer.dims[0], steps.count + self.depth)
        super().__init__(steps, taps, [0], buffer)

    def _start(self, buffer: Tensor) -> Tensor:
        more = self.length - self.depth if self.ring else self.steps.count
        initial = hlo.slice_axis(buffer, 0, 0, self.depth)
        rest = _zeros(self.steps.builder, buffer.dtype, (more, *buffer.dims[1:]))
        return hlo.concatenate([initial, rest], 0)

    def _place(self, index: Tensor, tap: int) -> Tensor:
        place = _shifted(index, self.depth + tap)
        return hlo.remainder(place, self.steps.builder.size(self.length)) if self.ring else place

    def result(self, window: Values, results: Values) -> Tensor:
        steps = self.steps
        if self.ring:
            return steps.in_order(window[0], self.length, self.depth)
        rows = hlo.slice_axis(window[0], 0, 0, steps.rows + self.depth)
        return steps.filled(rows, self.length, self.depth)


def _sizes_follow_steps(node: Any) -> bool:
    """Whether a step draws numbers of a size that it has from a sequence."""
    (graph,) = inner_graphs(node.op)
    sequences = set(graph.inputs[: node.op.info.n_seqs])
    drawing = ("RandomVariable", "Draw")
    sizes = [
        inner.inputs[1]
        for inner in order(graph.outputs)
        if any(base.__name__ in drawing for base in type(inner.op).__mro__)
    ]
    read = [*sizes, *(x for inner in order(sizes) for x in inner.inputs)]
    return any(x in sequences for x in read)


class _Scan:
    def __init__(self, ctx: Context, node: Any, operands: Sequence[Tensor]) -> None:
        self.ctx, self.node, info = ctx, node, node.op.info
        (self.graph,) = inner_graphs(node.op)
        given = ScanParts.of(node, operands, self.graph)
        self.steps = steps = _Steps(ctx, node, given.steps)
        self.sequences = []
        for number, (sequence, _) in enumerate(given.sequences):
            what = f"sequence {number} of the {steps.what}, for n_steps rows,"
            ctx.at_least(sequence.dims[0], steps.count, what)
            self.sequences.append(_Rows(sequence, 1))
        self.parts: list[_Part] = []
        buffers = iter(given.buffers)
        for ins, outs in zip(info.mit_mot_in_slices, info.mit_mot_out_slices, strict=True):
            first = min(0, *ins)  # the rows of a buffer are counted from the oldest that is read
            taps, out_taps = [tap - first for tap in ins], [tap - first for tap in outs]
            near = max((*taps, *out_taps)) - min((*taps, *out_taps)) < _WIDE
            # Rows that a condition left out stay as they are, and which they are is not known before the run.
            kind = _Sliding if near and not steps.ends else _Whole
            self.parts.append(kind(steps, taps, out_taps, next(buffers)))
        before = 1 + info.n_seqs + len(self.parts)
        for number, (taps, buffer) in enumerate(
            zip([*info.mit_sot_in_slices, *info.sit_sot_in_slices], buffers, strict=True)
        ):
            depth = -min(taps)
            what = f"the initial value of state {number} of the {steps.what}, taps {list(taps)},"
            for rows in (buffer.dims[0], *self._written(node.inputs[before + number])):
                ctx.at_least(rows, depth, what)
            self.parts.append((_Near if depth <= _FAR else _Far)(steps, taps, buffer))
        for (length, _), output in zip(given.stacks, node.outputs[len(self.parts) :], strict=False):
            self.parts.append(_Trace(steps, steps.size(length, "the length of a trace"), type_=output.type))
        self.parts += [_Untraced(steps, x.first) for x in given.untraced]
        self.constants = [x for x, _ in given.constants]

    def _written(self, buffer: Any) -> Iterator[Dim]:
        """How many rows the library has written to the front of a buffer that holds nothing else."""
        made = buffer.owner
        if type(getattr(made, "op", None)).__name__ != "IncSubtensor" or not made.op.set_instead_of_inc:
            return
        if type(getattr(made.inputs[0].owner, "op", None)).__name__ != "AllocEmpty":
            return
        rows = unflatten(made.op.idx_list, made.inputs[2:])[0]
        if isinstance(rows, slice) and rows.start is None and rows.stop is not None and rows.step is None:
            (stop,) = self.ctx.lower_more([rows.stop])
            if stop.dim is not None:
                yield stop.dim

    def results(self) -> list[Tensor]:
        """The node's outputs."""
        steps, builder = self.steps, self.ctx.builder
        flags = [builder.constant(True)] if steps.ends else []
        inits = [builder.constant(0, INT64), *flags, *[x for part in self.parts for x in part.inits]]
        if isinstance(steps.count, int) and steps.count <= _FEW and not steps.ends and _sizes_follow_steps(self.node):
            last = hlo.written_out(inits, steps.count, self._step)
        else:
            last = hlo.growing_loop(inits, self._goes_on, self._step, steps.what)
        steps.done = last[0]
        return [part.result(window, last) for part, window in zip(self.parts, self._windows(last), strict=True)]

    def _windows(self, carries: Sequence[Tensor]) -> Iterator[Sequence[Tensor]]:
        place = 2 if self.steps.ends else 1
        for part in self.parts:
            yield carries[place : place + len(part.inits)]
            place += len(part.inits)

    def _goes_on(self, index: Tensor, *carries: Tensor) -> Tensor:
        more = index < self.ctx.builder.size(self.steps.count)
        return more & carries[0] if self.steps.ends else more

    def _step(self, carries: Carries) -> list[Tensor]:
        index = carries.values[0]
        windows = list(self._windows(carries.values))
        states = [x for part, window in zip(self.parts, windows, strict=True) for x in part.read(window, index)]
        inner = [*[x.at(index) for x in self.sequences], *states, *self.constants]
        found = iter(self.ctx.lower_inner(list(self.graph.inputs), list(self.graph.outputs), inner))
        following: list[Tensor] = []
        for part, window in zip(self.parts, windows, strict=True):
            following += part.write(window, index, [next(found) for _ in range(part.outputs)], carries)
        ended = [hlo.not_(hlo.convert(hlo.reshape(next(found), ()), bool))] if self.steps.ends else []
        following_index = index + 1 if index.literal is None else self.ctx.constant(index.literal + 1)
        return [following_index, *ended, *following]
