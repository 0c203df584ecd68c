"""A run's stages, as ops: what has a leading axis, and what is a `stablehlo.while`.

In: a plan. Out: ops at the current place, and the run's results in the emitter's tables.

    %a = stablehlo.slice %t [0:1000]                                        stage 0: all repetitions at once
    %b = stablehlo.subtract %a, ... : tensor<1000xf32>
    %r:3 = stablehlo.while(%i = %0, %x = %init, %stack = %zeros)  stage 1: a loop
    do   { %p = dynamic_slice %b[%i]; %y = multiply %x, %p; %s = dynamic_update_slice %stack, %y, %i; ... }
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from ...ir import ops, while_ops
from ...ir.batching import Batcher, Row
from ...ir.bindings import ir, stablehlo
from ...ir.kinds import identity
from ...ir.values import attributes_of, dtype_of, integers, sizes_of
from .emit import Column, Emitter, put_together, rows, tiles


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
            total = self.emitter.resolve(int(self.run.codes[0, chain.entry]))
            for node in chain.pads:
                whole = sizes_of(self.template(node).results[0])
                part = put_together(self.repeated(self.run.first[node]), self.plan.places[node], whole)
                total = stablehlo.add(total, part)
            self.finals[chain.adds[-1] * self.stride] = total

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
                repetitions = self.outer.wanted.get(code, set())
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
