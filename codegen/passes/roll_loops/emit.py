"""The function with its runs rolled up.

In: a function, the sequence of its ops, and plans of runs in it. Out: a new function before the old one: ops outside of
runs are copied, and a run becomes the ops and loops of its plan. Decision to know: values of a
run are kept by what they are in its block, all repetitions in one array (or the last one only), and taken apart again
only for a reader that is in no run.

    %a = stablehlo.slice %t [0:1000]                                        stage 0: all repetitions at once
    %b = stablehlo.subtract %a, ... : tensor<1000xf32>
    %r:3 = stablehlo.while(%i = %0, %x = %init, %stack = %zeros)  stage 1: a loop
    do   { %p = dynamic_slice %b[%i]; %y = multiply %x, %p; %s = dynamic_update_slice %stack, %y, %i; ... }
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence as List
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from ...ir import ops, while_ops
from ...ir.batching import Batcher, Row
from ...ir.bindings import ir
from ...ir.kinds import identity
from ...ir.ops import clone, replace_operands
from ...ir.values import Array, attributes_of, constant_value, dtype_of, integers, sizes_of
from .plan import Plan, tiled
from .snapshot import Sequence

# A concatenation of fewer values is copied as it is.
_JOINED = 8
# This many results of a run may take turns in one.
_TURNS = 4


class Emitter:
    """Makes the new function.

    Attributes:
        sequence: the ops.
        plans: of runs that do not overlap, by position.
        arrays: for each run, the results of its block that exist for all repetitions.
        finals: for each run, the results of its block that exist for the last repetition.
    """

    def __init__(self, sequence: Sequence, plans: List[Plan]):
        self.sequence, self.plans = sequence, plans
        self.snapshot = sequence.snapshot
        self.starts = [plan.run.start for plan in plans]
        self.arrays: list[dict[int, ir.Value]] = [{} for _ in plans]
        self.finals: list[dict[int, ir.Value]] = [{} for _ in plans]
        self.values: dict[int, ir.Value] = {}
        self.columns: dict[bytes, Column] = {}
        self.location = ir.Location.unknown(self.snapshot.ops[0].context)

    def copy(self, position: int) -> None:
        """An op outside of runs."""
        sequence = self.sequence
        index = int(sequence.ops[position])
        op = self.snapshot.ops[index]
        codes = sequence.codes[sequence.first[position] : sequence.first[position + 1]]
        with op.location:
            if op.name == "stablehlo.concatenate" and len(codes) >= _JOINED:
                axis = ir.IntegerAttr(op.attributes["dimension"]).value
                self.values[position * sequence.stride] = self.concatenation(codes, axis)
                return
            copy = self.clone(index, [self.resolve(code) for code in codes.tolist()])
        for number, result in enumerate(copy.results):
            self.values[position * sequence.stride + number] = result

    def clone(self, index: int, operands: List[ir.Value]) -> ir.Operation:
        """A copy of an op with other operands, also those that its regions read from outside."""
        op = self.snapshot.ops[index]
        own = len(op.operands)
        copy = clone(op, operands[:own])
        if len(operands) > own:
            first, end = self.snapshot.first[index : index + 2].tolist()
            old = map(self.snapshot.value, self.snapshot.operands[first + own : end].tolist())
            known = dict(zip(old, operands[own:], strict=True))
            replace_operands(copy, lambda value: known.get(value, value))
        return copy

    # ---- values -------------------------------------------------------------------------------------------------

    def resolve(self, code: int) -> ir.Value:
        """The value that a code stands for, in the new function."""
        found = self.values.get(code)
        if found is not None:
            return found
        if code < 0:
            leaf = self.snapshot.ops[int(self.snapshot.owners[-1 - code])]
            made = clone(leaf).results[0]
        else:
            number, node, repetition = self.place(code)
            if repetition == self.plans[number].run.count - 1 and node in self.finals[number]:
                made = self.finals[number][node]
            else:
                made = rows(self.arrays[number][node], repetition, 1, 1)
                made = ops.reshape(made, sizes_of(made)[1:])
        self.values[code] = made
        return made

    def constant(self, code: int) -> ir.Operation | None:
        """The constant that a code stands for, in the old function."""
        owner = int(self.snapshot.owners[-1 - code]) if code < 0 else -1
        return self.snapshot.ops[owner] if owner >= 0 and self.snapshot.names[owner] == "stablehlo.constant" else None

    def place(self, code: int) -> tuple[int, int, int]:
        """The run that makes a value, the result in its block, and the repetition; -1 and the code where it is none."""
        stride = self.sequence.stride
        number = bisect_right(self.starts, code // stride) - 1
        if number < 0 or code >= self.plans[number].run.end * stride:
            return -1, code, 0
        run = self.plans[number].run
        repetition, node = divmod(code - run.start * stride, run.period * stride)
        return number, node, repetition

    def pieces(self, codes: Array, most: int = 1) -> list[list[Piece]]:
        """Values in order, as rows of what runs have made, up to this many of which take turns, and single ones."""
        places, found, start = [self.place(code) for code in codes.tolist()], list[list[Piece]](), 0
        while start < len(places):
            rounds = {turns: _rounds(places, start, turns) for turns in range(1, most + 1)}
            turns = max(rounds, key=lambda turns: turns * (rounds[turns] - 1))
            group = []
            for place, (run, code, first) in enumerate(places[start : start + turns], start + turns):
                step = places[place][2] - first if rounds[turns] > 1 else 1
                group.append(Piece(run, code, first, step, rounds[turns]))
            found.append(group)
            start += turns * rounds[turns]
        return found

    def column(self, codes: Array) -> Column:
        """One array for a value of each repetition."""
        key = codes.tobytes()
        if key not in self.columns:
            self.columns[key] = self._column(codes)
        return self.columns[key]

    def _column(self, codes: Array) -> Column:
        constants = [op for code in codes.tolist() if (op := self.constant(code)) is not None]
        known = [(constant_value(op), sizes_of(op.results[0])) for op in constants]
        if len(known) == len(codes) and all(value is not None for value, _ in known):
            table = np.stack([np.broadcast_to(value, shape) for value, shape in known])  # type: ignore[arg-type]
            return Column(ops.constant(table), 0, 1, len(table), _distances(table))
        parts = [piece for (piece,) in self.pieces(codes)]
        array = self.rows_of(parts[0]) if len(parts) == 1 else None
        if array is not None:
            return Column(array, parts[0].first, parts[0].step, parts[0].count)
        return Column(ops.concatenate([self.piece(piece) for piece in parts], 0), 0, 1, len(codes))

    def rows_of(self, piece: Piece) -> ir.Value | None:
        """The array that a piece consists of rows of."""
        return self.arrays[piece.run].get(piece.code) if piece.run >= 0 else None

    def piece(self, piece: Piece) -> ir.Value:
        """The values of a piece, (count, ...)."""
        array = self.rows_of(piece)
        if array is not None:
            return rows(array, piece.first, piece.count, piece.step)
        code = piece.code
        if piece.run >= 0:
            run = self.plans[piece.run].run
            code += (run.start + piece.first * run.period) * self.sequence.stride
        value = self.resolve(code)
        return ops.reshape(value, [1, *sizes_of(value)])

    def concatenation(self, codes: Array, axis: int) -> ir.Value:
        """Values along an axis, those of a run together."""
        parts = []
        for group in self.pieces(codes, _TURNS):
            array = ops.concatenate([self.piece(piece) for piece in group], axis + 1)
            inner = sizes_of(array)[1:]
            rank = len(inner)
            moved = ops.transpose(array, [*range(1, axis + 1), 0, *range(axis + 1, rank + 1)])
            parts.append(ops.reshape(moved, [*inner[:axis], group[0].count * inner[axis], *inner[axis + 1 :]]))
        return ops.concatenate(parts, axis)


# ---- values that differ from repetition to repetition, as one array -------------------------------------------------
#
# Values that an earlier run made at regular distances are rows of its stack already; constants become a table; what is
# left is joined.


@dataclass
class Column:
    """A value for each repetition: row `first + step * repetition` of an array.

    Attributes:
        array: (rows, ...).
        first: the row of the first repetition.
        step: how many rows further the next one is; may be negative, or zero for a single repetition.
        count: repetitions.
        affine: for constants that are integers without axes at equal distances: the distance, and the first.
    """

    array: ir.Value
    first: int
    step: int
    count: int
    affine: tuple[int, int] | None = None

    def all(self) -> ir.Value:
        """The rows of all repetitions, in order."""
        return rows(self.array, self.first, self.count, self.step)

    def row(self, number: ir.Value) -> ir.Value:
        """The row of a repetition in a loop."""
        if self.affine is not None:
            return ops.convert(ops.affine(number, *self.affine), self.array)
        return ops.row(self.array, ops.affine(number, self.step, self.first))


@dataclass(frozen=True)
class Piece:
    """Values that follow one another: rows of a run's result, or a single value.

    Attributes:
        run: the number of the run; -1 for a single value.
        code: what identifies the result in the run's block, or the value.
        first: the repetition of the first value.
        step: how many repetitions further the next one is.
        count: how many values.
    """

    run: int
    code: int
    first: int
    step: int
    count: int


def _rounds(places: List[tuple[int, int, int]], start: int, turns: int) -> int:
    """How often results of runs take turns from a place on, each at equal distances."""
    found = 1
    for place in range(start + turns, len(places) - (len(places) - start) % turns, turns):
        for one, (run, code, repetition) in enumerate(places[place : place + turns], start):
            step = places[one + turns][2] - places[one][2]
            if (run, code) != places[one][:2] or run < 0 or not step or repetition != places[one][2] + found * step:
                return found
        found += 1
    return found


def _distances(table: Array) -> tuple[int, int] | None:
    if table.ndim > 1 or table.dtype.kind not in "iu" or len(table) < 2:
        return None
    first, last, steps = int(table[0]), int(table[-1]), np.diff(table.astype(object))
    return (int(steps[0]), first) if (steps == steps[0]).all() and max(abs(first), abs(last)) < 1 << 30 else None


# ---- slices of an array that follow one another ---------------------------------------------------------------------


def rows(value: ir.Value, first: int, count: int, step: int) -> ir.Value:
    """Elements `first`, `first + step`, ... along the leading axis; the step may be negative, not zero."""
    inner = sizes_of(value)[1:]
    if count == 1:
        step = 1
    low = first if step > 0 else first + (count - 1) * step
    high = low + (count - 1) * abs(step) + 1
    found = ops.slice(value, [low] + [0] * len(inner), [high, *inner], [abs(step)] + [1] * len(inner))
    return found if step > 0 else ops.reverse(found, 0)


def tiles(array: ir.Value, places: Array, sizes: List[int]) -> ir.Value:
    """Slices of an array at places that follow one another, (count, ...)."""
    axis, step = tiled(places, list(sizes)) or (0, 1)
    count, width, distance = len(places), sizes[axis], abs(step)
    low = [int(start) for start in places.min(axis=0)]
    high = [start + size for start, size in zip(low, sizes, strict=True)]
    high[axis] = int(places[:, axis].max()) + width
    strides = [1] * len(low)
    if width == 1:
        strides[axis] = distance
    taken = ops.slice(array, low, high, strides)
    if width > 1 and distance > width:
        filling = ops.scalar(0, array)
        more = [0] * len(low)
        more[axis] = distance - width
        taken = ops.pad(taken, filling, [0] * len(low), more)
    each = 1 if width == 1 else distance
    found = ops.reshape(taken, [*sizes[:axis], count, each, *sizes[axis + 1 :]])
    found = ops.transpose(found, [axis, *[other for other in range(len(low) + 1) if other != axis]])
    found = rows(found, 0, count, 1) if step > 0 else rows(found, count - 1, count, -1)
    return ops.slice(found, [0] * (len(low) + 1), [count, *sizes], [1] * (len(low) + 1))


# ---- a run's stages: what has a leading axis, and what is a `stablehlo.while` ----------------------------------------


def roll_up(emitter: Emitter, old: ir.Operation) -> ir.Operation:
    """The new function, before the old one."""
    with old.context, old.location:
        attributes, place = attributes_of(old.attributes), ir.InsertionPoint(old)
        new = ir.Operation.create("func.func", attributes=attributes, regions=1, ip=place)
        types = [value.type for value in emitter.snapshot.arguments]
        block = new.regions[0].blocks.append(*types, arg_locs=[old.location] * len(types))
        emitter.values.update((-1 - place, value) for place, value in enumerate(block.arguments))
        starts = {plan.run.start: number for number, plan in enumerate(emitter.plans)}
        position, end = 0, len(emitter.sequence.ops)
        with ir.InsertionPoint(block):
            while position < end:
                number = starts.get(position)
                if number is None:
                    emitter.copy(position)
                    position += 1
                else:
                    run = emitter.plans[number].run
                    with emitter.snapshot.ops[run.template(0)].location:
                        RunEmitter(emitter, number).emit()
                    position = run.end
    return new


class RunEmitter:
    """Emits one run."""

    def __init__(self, emitter: Emitter, number: int):
        self.emitter, self.number = emitter, number
        self.plan = emitter.plans[number]
        self.run = self.plan.run
        self.stride = emitter.sequence.stride
        self.arrays, self.finals = emitter.arrays[number], emitter.finals[number]
        self.shifted: dict[tuple[int, int, bytes], ir.Value] = {}

    def emit(self) -> None:
        """All stages, in order."""
        for stage in range(max(self.plan.stages) + 1):
            nodes = [node for node in self.plan.order if self.plan.stages[node] == stage]
            if stage % 2:
                _Loop(self, stage, sorted(nodes)).emit()
            else:
                for node in nodes:
                    self.at_once(node)

    def template(self, node: int) -> ir.Operation:
        """An op that stands for one of the block's."""
        return self.emitter.snapshot.ops[self.run.template(node)]

    def source(self, slot: int) -> ir.Value | Column:
        """An operand that is made before: the same in all repetitions, or a row of an array for each."""
        run = self.run
        if run.lags[slot] >= 0:
            return Column(self.earlier(slot), 0, 1, run.count)
        if run.fixed[slot]:
            return self.emitter.resolve(int(run.codes[0, slot]))
        return self.emitter.column(run.codes[:, slot])

    def repeated(self, slot: int) -> ir.Value:
        """Such an operand for all repetitions."""
        source, count = self.source(slot), self.run.count
        if isinstance(source, Column):
            return source.all()
        inner = sizes_of(source)
        return ops.broadcast_in_dim(source, [count, *inner], range(1, len(inner) + 1))

    def earlier(self, slot: int) -> ir.Value:
        """A result of an earlier stage for all repetitions, as an operand sees it: some repetitions late."""
        run = self.run
        source, lag = int(run.sources[slot]), int(run.lags[slot])
        array = self.arrays[source]
        if lag == 0:
            return array
        begin = run.codes[:lag, slot]
        key = (source, lag, begin.tobytes())
        if key not in self.shifted:
            first = [self.emitter.resolve(code) for code in begin.tolist()[: run.count]]
            parts = [ops.reshape(value, [1, *sizes_of(value)]) for value in first]
            if run.count > lag:
                parts.append(rows(array, 0, run.count - lag, 1))
            self.shifted[key] = ops.concatenate(parts, 0)
        return self.shifted[key]

    def at_once(self, node: int) -> None:
        """An op for all repetitions."""
        run, op = self.run, self.template(node)
        with op.location:
            if node in self.plan.reduces:
                self.finals[node * self.stride] = self.reduce(node, op)
                return
            found = [self.source(slot) for slot in run.slots(node)]
            operands = [Row(x.all(), True) if isinstance(x, Column) else Row(x, False) for x in found]
            if node in self.plan.places:
                made = tiles(operands[0].value, self.plan.places[node], sizes_of(op.results[0]))
            else:
                batcher = Batcher(None, run.count)
                made = batcher.full(*batcher.apply(op, operands))
        self.arrays[node * self.stride] = made

    def reduce(self, node: int, op: ir.Operation) -> ir.Value:
        """What all repetitions combine, one after the other, with a value of their own."""
        carried, other = self.plan.reduces[node]
        value = self.repeated(other)
        entry = self.emitter.resolve(int(self.run.codes[0, carried]))
        # XLA may use the initial value more than once, so it must be one that changes nothing.
        start = ops.constant(identity(op.name, dtype_of(value)))
        return ops.elementwise(op.name, entry, ops.reduce(op.name, value, start, [0]))


@dataclass
class _Chain:
    """Carries of a value: of the last repetition, of the one before, and so on.

    Attributes:
        source: the value, by its code in the block.
        codes: what they start from.
        places: which carries they are.
    """

    source: int
    codes: list[int] = field(default_factory=list)
    places: list[int] = field(default_factory=list)


class _Loop:
    """One odd stage. What it reads from outside is made before it."""

    def __init__(self, emitter: RunEmitter, stage: int, nodes: list[int]):
        self.outer, self.stage, self.nodes = emitter, stage, nodes
        self.run, self.stride = emitter.run, emitter.stride
        self.inits: list[ir.Value] = []
        self.chains: list[_Chain] = []
        self.stacks: dict[int, int] = {}
        self.lasts: dict[int, int] = {}

    def emit(self) -> None:
        """The loop, and its results in the run's tables."""
        self._results()
        for node in self.nodes:
            for slot in self.run.slots(node):
                if not self._same_loop(slot):
                    self.outer.source(slot)
                elif self.run.lags[slot] > 0:
                    self._carry_on(slot)
        for code in self.lasts:
            # The last value of what is carried on is there already.
            carried = [chain.places[0] for chain in self.chains if chain.source == code]
            node, result = divmod(code, self.stride)
            value = self.outer.template(node).results[result]
            self.lasts[code] = carried[0] if carried else self._carry(ops.filled(value, 0))
        results = while_ops.counted(0, self.run.count, 1, self.inits, self._body)
        for code, place in self.stacks.items():
            self.outer.arrays[code] = results[place]
        for code, place in self.lasts.items():
            self.outer.finals[code] = results[place]

    def _carry(self, value: ir.Value) -> int:
        self.inits.append(value)
        return len(self.inits) - 1

    def _same_loop(self, slot: int) -> bool:
        run, stages = self.run, self.outer.plan.stages
        return bool(run.lags[slot] >= 0 and stages[int(run.sources[slot]) // self.stride] == self.stage)

    def _results(self) -> None:
        """Which results of the block are kept, of all repetitions or of the last."""
        plan, run = self.outer.plan, self.run
        later: set[int] = set()
        for node in range(run.period):
            if plan.stages[node] != self.stage:
                for slot in run.slots(node):
                    if run.lags[slot] >= 0:
                        later.add(int(run.sources[slot]))
        for node in self.nodes:
            for number, result in enumerate(self.outer.template(node).results):
                code = node * self.stride + number
                repetitions = self.run.read.get(code, set())
                if code in later or 0 in repetitions:
                    type_ = ops.tensor_type(result, [run.count, *sizes_of(result)])
                    self.stacks[code] = self._carry(ops.filled(type_, 0, type_.shape))
                if repetitions and repetitions != {0}:
                    self.lasts[code] = -1

    def _carry_on(self, slot: int) -> None:
        """Carries of an operand that an earlier repetition has made."""
        chain = self._chain(slot)
        if chain is None:
            self.chains.append(chain := _Chain(int(self.run.sources[slot])))
        for code in self._before(slot)[len(chain.codes) :]:
            chain.codes.append(code)
            chain.places.append(self._carry(self.outer.emitter.resolve(code)))

    def _before(self, slot: int) -> list[int]:
        codes: list[int] = self.run.codes[: self.run.lags[slot], slot].tolist()
        return codes[::-1]

    def _chain(self, slot: int) -> _Chain | None:
        """Carries of the value that an operand is, which start from what this operand starts from."""
        source, before = int(self.run.sources[slot]), self._before(slot)
        for chain in self.chains:
            if chain.source == source and all(a == b for a, b in zip(chain.codes, before, strict=False)):
                return chain
        return None

    def _body(self, number: ir.Value, arguments: list[ir.Value]) -> list[ir.Value]:
        run, made = self.run, dict[int, ir.Value]()

        def operand(slot: int) -> ir.Value:
            if self._same_loop(slot):
                if run.lags[slot] == 0:
                    return made[int(run.sources[slot])]
                chain = self._chain(slot)
                assert chain is not None
                return arguments[chain.places[run.lags[slot] - 1]]
            source = self.outer.source(slot)
            return source.row(number) if isinstance(source, Column) else source

        for node in self.nodes:
            template = self.outer.template(node)
            with template.location:
                operands = [operand(slot) for slot in run.slots(node)]
                if node in self.outer.plan.places:
                    made[node * self.stride] = self._placed(node, template, operands, number)
                    continue
                copy = self.outer.emitter.clone(run.template(node), operands)
            made.update((node * self.stride + place, result) for place, result in enumerate(copy.results))
        following = list(arguments)
        for chain in self.chains:
            following[chain.places[0]] = made[chain.source]
            for newer, older in pairwise(chain.places):
                following[older] = arguments[newer]
        for code, place in self.stacks.items():
            following[place] = ops.with_row(arguments[place], made[code], number)
        for code, place in self.lasts.items():
            following[place] = made[code]
        return following

    def _placed(self, node: int, op: ir.Operation, operands: list[ir.Value], number: ir.Value) -> ir.Value:
        """A slice, or a pad, at a place that depends on the repetition."""
        starts = []
        for column in self.outer.plan.places[node].T:
            first, step = int(column[0]), int(column[1] - column[0])
            if (np.diff(column) == step).all():
                starts.append(ops.affine(number, step, first) if step else ops.index(first))
            else:
                starts.append(ops.row(ops.constant(column.astype(np.int32)), number))
        if op.name == "stablehlo.pad":
            whole = ops.broadcast_in_dim(operands[1], sizes_of(op.results[0]), [])
            return ops.dynamic_update_slice(whole, operands[0], starts)
        low, high, strides = (integers(op, name) for name in ("start_indices", "limit_indices", "strides"))
        sizes = [last - first for first, last in zip(low, high, strict=True)]
        taken = ops.dynamic_slice(operands[0], starts, sizes)
        return ops.slice(taken, [0] * len(sizes), sizes, strides)
