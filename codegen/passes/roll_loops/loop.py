"""A run's stages, as ops: what has a leading axis, and what is a `stablehlo.while`.

In: a plan. Out: ops at the current place, and the run's results in the emitter's tables.

    %a = stablehlo.slice %t [0:1000]                                        stage 0: all repetitions at once
    %b = stablehlo.subtract %a, ... : tensor<1000xf32>
    %r:3 = stablehlo.while(%i = %0, %x = %init, %stack = %zeros, %b_ = %b)  stage 1: a loop
    do   { %p = dynamic_slice %b_[%i]; %y = multiply %x, %p; %s = dynamic_update_slice %stack, %y, %i; ... }
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from ...ir import ops, while_ops
from ...ir.attributes import attributes_of
from ...ir.bindings import ir
from ...ir.clone import clone
from ...ir.kinds import identity
from ...ir.values import dtype_of, sizes_of
from . import tiles, vectorize
from .columns import Column
from .emit import Emitter

Array = np.ndarray[Any, Any]

# Elements of a constant up to which it is repeated where it is read.
SMALL_CONSTANT = 64


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
        self.wanted = emitter.wanted[number]
        self.shifted: dict[tuple[int, int, bytes], ir.Value] = {}

    def emit(self) -> None:
        """All stages, in order, then what is put together from all repetitions."""
        for stage in range(max(self.plan.stages) + 1):
            nodes = [node for node in self.plan.order if self.plan.stages[node] == stage]
            if stage % 2:
                _Loop(self, stage, sorted(nodes)).emit()
            else:
                for node in nodes:
                    self.at_once(node)
        for chain in self.plan.chains:
            parts = []
            for node in chain.pads:
                value, moves = self.operand(self.run.first[node])
                value = value if moves else vectorize.repeat(value, self.run.count)
                whole = sizes_of(self.template(node).results[0])
                parts.append(tiles.put_together(value, self.plan.places[node], whole))
            entry = self.emitter.resolve(int(self.run.codes[0, chain.entry]))
            self.finals[chain.adds[-1] * self.stride] = tiles.chain_total(entry, parts)

    def template(self, node: int) -> ir.Operation:
        """An op that stands for one of the block's."""
        return self.emitter.snapshot.ops[self.run.template(node)]

    def operand(self, slot: int) -> tuple[ir.Value, bool]:
        """An operand for all repetitions, and whether it has a leading axis (it is the same for all if not)."""
        run = self.run
        if run.lags[slot] < 0:
            if run.fixed[slot]:
                return self.emitter.resolve(int(run.codes[0, slot])), False
            return self.emitter.column(run.codes[:, slot]).all(), True
        return self.earlier(slot), True

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
            rows = [self.emitter.resolve(code) for code in begin.tolist()[: run.count]]
            parts = [ops.reshape(value, [1, *sizes_of(value)]) for value in rows]
            if run.count > lag:
                parts.append(tiles.rows(array, 0, run.count - lag, 1))
            self.shifted[key] = ops.concatenate(parts, 0)
        return self.shifted[key]

    def at_once(self, node: int) -> None:
        """An op for all repetitions."""
        run, op = self.run, self.template(node)
        with op.location:
            if node in self.plan.reduces:
                self.finals[node * self.stride] = self.reduce(node, op)
                return
            operands, moving = [], []
            for slot in run.slots(node):
                value, moves = self.operand(slot)
                operands.append(value)
                moving.append(moves)
            if node in self.plan.places:
                made = tiles.tiles(operands[0], self.plan.places[node], sizes_of(op.results[0]))
            else:
                made = vectorize.vectorize(op, operands, moving, run.count)
        self.arrays[node * self.stride] = made

    def reduce(self, node: int, op: ir.Operation) -> ir.Value:
        """What all repetitions combine, one after the other, with a value of their own."""
        carried, other = self.plan.reduces[node]
        value, moves = self.operand(other)
        value = value if moves else vectorize.repeat(value, self.run.count)
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
    """One odd stage."""

    def __init__(self, emitter: RunEmitter, stage: int, nodes: list[int]):
        self.outer, self.stage, self.nodes = emitter, stage, nodes
        self.run, self.stride = emitter.run, emitter.stride
        self.inits: list[ir.Value] = []
        self.places: dict[ir.Value, int] = {}
        self.chains: list[_Chain] = []
        self.stacks: dict[int, int] = {}
        self.lasts: dict[int, int] = {}
        self.tables: dict[tuple[int, int], ir.Value] = {}

    def emit(self) -> None:
        """The loop, and its results in the run's tables."""
        self._results()
        for node in self.nodes:
            for slot in self.run.slots(node):
                self._prepare(slot)
            self._prepare_places(node)
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

    def _fixed(self, value: ir.Value) -> int:
        """A carry that stays what it is."""
        if value not in self.places:
            self.places[value] = self._carry(value)
        return self.places[value]

    def _same_loop(self, slot: int) -> bool:
        return self.outer.plan.stages[int(self.run.sources[slot]) // self.stride] == self.stage

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
                repetitions = self.outer.wanted.get(code, set())
                if code in later or 0 in repetitions:
                    type_ = ops.tensor_type(result, [run.count, *sizes_of(result)])
                    self.stacks[code] = self._carry(ops.filled(type_, 0, type_.shape))
                if repetitions and repetitions != {0}:
                    self.lasts[code] = -1

    def _prepare(self, slot: int) -> None:
        run, emitter = self.run, self.outer.emitter
        if run.lags[slot] < 0:
            code = int(run.codes[0, slot])
            if not run.fixed[slot]:
                column = emitter.column(run.codes[:, slot])
                if column.affine is None:
                    self._fixed(column.array)
            elif not self._repeated(code):
                self._fixed(emitter.resolve(code))
        elif not self._same_loop(slot):
            self._fixed(self.outer.earlier(slot))
        elif run.lags[slot] > 0:
            chain = self._chain(slot)
            if chain is None:
                self.chains.append(chain := _Chain(int(run.sources[slot])))
            for code in self._before(slot)[len(chain.codes) :]:
                chain.codes.append(code)
                chain.places.append(self._carry(emitter.resolve(code)))

    def _before(self, slot: int) -> list[int]:
        """What the first repetitions read in place of earlier ones, the latest first."""
        codes: list[int] = self.run.codes[: self.run.lags[slot], slot].tolist()
        return codes[::-1]

    def _chain(self, slot: int) -> _Chain | None:
        """Carries of the value that an operand is, which start from what this operand starts from."""
        source, before = int(self.run.sources[slot]), self._before(slot)
        for chain in self.chains:
            if chain.source == source and all(a == b for a, b in zip(chain.codes, before, strict=False)):
                return chain
        return None

    def _repeated(self, code: int) -> bool:
        """Whether a value is a constant that is repeated in the body."""
        op = self.outer.emitter.constant(code)
        return op is not None and int(np.prod(sizes_of(op.results[0]))) <= SMALL_CONSTANT

    def _prepare_places(self, node: int) -> None:
        """Tables of places that are at no equal distances."""
        for axis, column in enumerate(self.outer.plan.places.get(node, np.zeros((0, 0), np.int64)).T):
            if len(set(np.diff(column).tolist())) > 1:
                table = ops.constant(column.astype(np.int32))
                self.tables[node, axis] = table
                self._fixed(table)

    # ---- the body -----------------------------------------------------------------------------------------------

    def _body(self, number: ir.Value, arguments: list[ir.Value]) -> list[ir.Value]:
        self.arguments = arguments
        self.made: dict[int, ir.Value] = {}
        self.read: dict[Any, ir.Value] = {}
        for node in self.nodes:
            template = self.outer.template(node)
            with template.location:
                operands = [self._operand(slot, number) for slot in self.run.slots(node)]
                if node in self.outer.plan.places:
                    self.made[node * self.stride] = self._placed(node, template, operands, number)
                    continue
                copy = self.outer.emitter.clone(self.run.template(node), operands)
            for place, result in enumerate(copy.results):
                self.made[node * self.stride + place] = result
        following = list(arguments)
        for chain in self.chains:
            following[chain.places[0]] = self.made[chain.source]
            for newer, older in pairwise(chain.places):
                following[older] = arguments[newer]
        for code, place in self.stacks.items():
            following[place] = ops.with_row(arguments[place], self.made[code], number)
        for code, place in self.lasts.items():
            following[place] = self.made[code]
        return following

    def _operand(self, slot: int, number: ir.Value) -> ir.Value:
        run, emitter = self.run, self.outer.emitter
        source, lag = int(run.sources[slot]), int(run.lags[slot])
        if lag >= 0 and self._same_loop(slot):
            if lag == 0:
                return self.made[source]
            chain = self._chain(slot)
            assert chain is not None
            return self.arguments[chain.places[lag - 1]]
        if lag < 0 and run.fixed[slot]:
            code = int(run.codes[0, slot])
            if not self._repeated(code):
                return self.arguments[self.places[emitter.resolve(code)]]
            if code not in self.read:
                constant = emitter.constant(code)
                assert constant is not None
                self.read[code] = clone(constant).results[0]
            return self.read[code]
        if lag < 0:
            column = emitter.column(run.codes[:, slot])
        else:
            column = Column(self.outer.earlier(slot), 0, 1, run.count)
        key = (column.affine or column.array, column.first, column.step)
        if key not in self.read:
            if column.affine is None:
                array = self.arguments[self.places[column.array]]
                self.read[key] = ops.row(array, tiles.affine(number, column.first, column.step))
            else:
                self.read[key] = column.row(number)
        return self.read[key]

    def _placed(self, node: int, op: ir.Operation, operands: list[ir.Value], number: ir.Value) -> ir.Value:
        """A slice, or a pad, at a place that depends on the repetition."""
        starts = []
        for axis, column in enumerate(self.outer.plan.places[node].T.tolist()):
            if (node, axis) in self.tables:
                row = ops.dynamic_slice(self.arguments[self.places[self.tables[node, axis]]], [number], [1])
                starts.append(ops.reshape(row, []))
            else:
                step = column[1] - column[0]
                starts.append(tiles.affine(number, column[0], step) if step else ops.index(column[0]))
        if op.name == "stablehlo.pad":
            whole = ops.broadcast_in_dim(operands[1], sizes_of(op.results[0]), [])
            return ops.dynamic_update_slice(whole, operands[0], starts)
        strides = list(ir.DenseI64ArrayAttr(op.attributes["strides"]))
        limits = list(ir.DenseI64ArrayAttr(op.attributes["limit_indices"]))
        sizes = [
            high - low for high, low in zip(limits, ir.DenseI64ArrayAttr(op.attributes["start_indices"]), strict=True)
        ]
        taken = ops.dynamic_slice(operands[0], starts, sizes)
        return ops.slice(taken, [0] * len(sizes), sizes, strides)
