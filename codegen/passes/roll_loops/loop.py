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

from ...ir.bindings import ir
from ...ir.types import numpy_dtype
from . import build, vectorize
from .columns import Column
from .emit import SMALL_CONSTANT, Emitter, chain_total, put_together, tiles

Array = np.ndarray[Any, Any]


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
                whole = build.shape(self.template(node).results[0])
                parts.append(put_together(value, self.plan.places[node], whole))
            entry = self.emitter.resolve(int(self.run.codes[0, chain.entry]))
            self.finals[chain.adds[-1] * self.stride] = chain_total(entry, parts)

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
            parts = [build.reshape(value, [1, *build.shape(value)]) for value in rows]
            if run.count > lag:
                parts.append(build.rows(array, 0, run.count - lag, 1))
            self.shifted[key] = build.join(parts)
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
                made = tiles(operands[0], self.plan.places[node], build.shape(op.results[0]))
            else:
                made = vectorize.vectorize(op, operands, moving, run.count)
        self.arrays[node * self.stride] = made

    def reduce(self, node: int, op: ir.Operation) -> ir.Value:
        """What all repetitions combine, one after the other, with a value of their own."""
        carried, other = self.plan.reduces[node]
        value, moves = self.operand(other)
        value = value if moves else vectorize.repeat(value, self.run.count)
        entry = self.emitter.resolve(int(self.run.codes[0, carried]))
        element = ir.RankedTensorType(value.type).element_type
        scalar = ir.RankedTensorType.get([], element)
        # XLA may use the initial value more than once, so it must be one that changes nothing.
        start = build.constant(_neutral(op.name, numpy_dtype(element)))
        new = ir.Operation.create(
            "stablehlo.reduce",
            results=[entry.type],
            operands=[value, start],
            attributes={"dimensions": build.integers([0])},
            regions=1,
        )
        block = new.regions[0].blocks.append(scalar, scalar, arg_locs=[ir.Location.current] * 2)
        with ir.InsertionPoint(block):
            inner = ir.Operation.create(op.name, results=[scalar], operands=list(block.arguments))
            ir.Operation.create("stablehlo.return", operands=[inner.results[0]])
        return ir.Operation.create(op.name, results=[entry.type], operands=[entry, new.results[0]]).results[0]


def _neutral(name: str, dtype: np.dtype[Any]) -> Array:
    """The element that changes nothing."""
    if name == "stablehlo.add" or name == "stablehlo.or":
        return np.zeros((), dtype)
    if name == "stablehlo.multiply":
        return np.ones((), dtype)
    if name == "stablehlo.and":
        return np.array(True) if dtype.kind == "b" else np.array(-1).astype(dtype)
    lowest = name == "stablehlo.maximum"
    if dtype.kind == "b":
        return np.array(not lowest)
    if dtype.kind in "iu":
        bounds = np.iinfo(dtype)
        return np.array(bounds.min if lowest else bounds.max, dtype)
    return np.array(-np.inf if lowest else np.inf, dtype)


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
        self.inits: list[ir.Value] = [build.index(0)]
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
            self.lasts[code] = carried[0] if carried else self._carry(build.zeros(value.type))
        types = [value.type for value in self.inits]
        loop = ir.Operation.create("stablehlo.while", results=types, operands=self.inits, regions=2)
        condition, body = (
            region.blocks.append(*types, arg_locs=[ir.Location.current] * len(types)) for region in loop.regions
        )
        with ir.InsertionPoint(condition):
            flag = ir.RankedTensorType.get([], ir.IntegerType.get_signless(1))
            less = build.make(
                "compare",
                flag,
                [condition.arguments[0], build.index(self.run.count)],
                comparison_direction=ir.Attribute.parse("#stablehlo<comparison_direction LT>"),
            )
            ir.Operation.create("stablehlo.return", operands=[less])
        with ir.InsertionPoint(body):
            self._body(list(body.arguments))
        for code, place in self.stacks.items():
            self.outer.arrays[code] = loop.results[place]
        for code, place in self.lasts.items():
            self.outer.finals[code] = loop.results[place]

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
                    type_ = build.tensor([run.count, *build.shape(result)], result)
                    self.stacks[code] = self._carry(build.zeros(type_))
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
        return op is not None and int(np.prod(build.shape(op.results[0]))) <= SMALL_CONSTANT

    def _prepare_places(self, node: int) -> None:
        """Tables of places that are at no equal distances."""
        for axis, column in enumerate(self.outer.plan.places.get(node, np.zeros((0, 0), np.int64)).T):
            if len(set(np.diff(column).tolist())) > 1:
                table = build.constant(column.astype(np.int32))
                self.tables[node, axis] = table
                self._fixed(table)

    # ---- the body -----------------------------------------------------------------------------------------------

    def _body(self, arguments: list[ir.Value]) -> None:
        self.arguments, number = arguments, arguments[0]
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
        following[0] = build.affine(number, 1, 1)
        for chain in self.chains:
            following[chain.places[0]] = self.made[chain.source]
            for newer, older in pairwise(chain.places):
                following[older] = arguments[newer]
        for code, place in self.stacks.items():
            following[place] = build.write_row(arguments[place], self.made[code], number)
        for code, place in self.lasts.items():
            following[place] = self.made[code]
        ir.Operation.create("stablehlo.return", operands=following)

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
                self.read[code] = constant.clone(ip=ir.InsertionPoint.current).results[0]
            return self.read[code]
        if lag < 0:
            column = emitter.column(run.codes[:, slot])
        else:
            column = Column(self.outer.earlier(slot), 0, 1, run.count)
        key = (column.affine or column.array, column.first, column.step)
        if key not in self.read:
            if column.affine is None:
                array = self.arguments[self.places[column.array]]
                self.read[key] = build.read_row(array, build.affine(number, column.first, column.step))
            else:
                self.read[key] = column.row(number)
        return self.read[key]

    def _placed(self, node: int, op: ir.Operation, operands: list[ir.Value], number: ir.Value) -> ir.Value:
        """A slice, or a pad, at a place that depends on the repetition."""
        starts = []
        for axis, column in enumerate(self.outer.plan.places[node].T.tolist()):
            if (node, axis) in self.tables:
                row = build.read(self.arguments[self.places[self.tables[node, axis]]], [number], [1])
                starts.append(build.reshape(row, []))
            else:
                step = column[1] - column[0]
                starts.append(build.affine(number, column[0], step) if step else build.index(column[0]))
        if op.name == "stablehlo.pad":
            whole = build.broadcast(operands[1], build.shape(op.results[0]), [])
            return build.write(whole, operands[0], starts)
        strides = list(ir.DenseI64ArrayAttr(op.attributes["strides"]))
        limits = list(ir.DenseI64ArrayAttr(op.attributes["limit_indices"]))
        sizes = [
            high - low for high, low in zip(limits, ir.DenseI64ArrayAttr(op.attributes["start_indices"]), strict=True)
        ]
        taken = build.read(operands[0], starts, sizes)
        return build.cut(taken, [0] * len(sizes), sizes, strides)
