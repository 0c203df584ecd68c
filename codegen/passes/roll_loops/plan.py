"""How a run is computed: which of the block's ops become one op for all repetitions, and which stay in a loop.

In: a `Run`. Out: a `Plan`: for each op of the block a stage. Even stages are ops with a leading axis of repetitions,
odd stages are loops; a stage reads what earlier ones made. An op is in a loop where it depends on its own result of an
earlier repetition, or where it has no form with a leading axis. Sums of pads at places that do not overlap are taken
out of the loop: they are put together from all repetitions at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from ...analysis.integers import zero_splat
from ...ir.batching import captured
from ...ir.bindings import ir
from ...ir.kinds import STABLEHLO, having
from ...ir.refused import Refused, needed, require
from ...ir.values import Array, bytes_of, dtype_of, sizes_of
from ..pad_sums import Box, check_tiling
from .find import Run

# Bytes of a value of all repetitions above which it is not made at once.
LARGEST_STACK = 1 << 26


@dataclass
class Chain:
    """A sum to which the block adds pads at places that do not overlap, over all repetitions.

    Attributes:
        adds: the block's adds, in order.
        pads: what each of them adds.
        entry: the operand that the first repetition starts from.
    """

    adds: list[int]
    pads: list[int]
    entry: int


@dataclass
class Plan:
    """Stages of a run.

    Attributes:
        run: the run.
        stages: for each op of the block its stage; -1 where it is part of a chain.
        order: the block's ops in an order that respects what they read in the same repetition and in earlier ones,
            for the even stages.
        places: for slices and pads whose place changes: the place in each repetition, (count, axes).
        chains: see `Chain`.
        reduces: adds, products, ... of one value per repetition that are one `reduce`: the operand that is carried,
            and the other.
    """

    run: Run
    stages: list[int]
    order: list[int]
    places: dict[int, Array]
    chains: list[Chain]
    reduces: dict[int, tuple[int, int]] = field(default_factory=dict)


_MONOIDS = having("again")
_ROUNDED = {"stablehlo.add", "stablehlo.multiply"}


class Planner:
    """Finds the stages of a run.

    Args:
        run: the run.
        used: (repetition, op of the block) whose results are read outside of the run.
        exact: whether all bits must stay.
    """

    def __init__(self, run: Run, used: set[tuple[int, int]], exact: bool):
        self.run, self.used, self.exact = run, used, exact
        stride = run.sequence.stride
        self.templates = [run.sequence.snapshot.ops[run.template(node)] for node in range(run.period)]
        # (op of the block that makes it, lag) for each operand; None for what was made before.
        self.made: list[tuple[int, int] | None] = [
            (source // stride, lag) if lag >= 0 else None
            for source, lag in zip(run.sources.tolist(), run.lags.tolist(), strict=True)
        ]
        self.readers: list[list[int]] = [[] for _ in range(run.period)]
        for node in range(run.period):
            for slot in run.slots(node):
                link = self.made[slot]
                if link is not None:
                    self.readers[link[0]].append(node)

    def plan(self) -> Plan:
        """The plan."""
        run = self.run
        places = self._places()
        groups = self._groups()
        chains = []
        for group in groups:
            with suppress(Refused):
                chains.append(self._chain(group, places))
        dropped = {node for chain in chains for node in chain.adds + chain.pads}
        reduces: dict[int, tuple[int, int]] = {}
        stages = [-1] * run.period
        order: list[int] = []
        for group in groups:
            if dropped.issuperset(group):
                continue
            before = [
                stages[link[0]]
                for node in group
                for slot in run.slots(node)
                if (link := self.made[slot]) is not None and link[0] not in group
            ]
            looped = len(group) > 1 or group[0] in self.readers[group[0]]
            if looped and (reduced := self._reduce(group)) is not None:
                reduces[group[0]] = reduced
                looped = False
            looped = looped or (group[0] not in reduces and not self._vectorizable(group[0], places))
            stage = max(before, default=0)
            stage += (stage % 2 == 0) if looped else stage % 2
            for node in sorted(group):
                stages[node] = stage
                order.append(node)
        return Plan(run, stages, order, places, chains, reduces)

    def _places(self) -> dict[int, Array]:
        found: dict[int, Array] = {}
        known = self.run.sequence.snapshot.places
        for node in range(self.run.period):
            if self.run.template(node) in known:
                run = self.run
                instances = run.sequence.ops[run.start + node : run.end : run.period].tolist()
                table = np.array([known[op] for op in instances], np.int64)
                if table.size and (table != table[0]).any():
                    found[node] = table
        return found

    def _groups(self) -> list[list[int]]:
        """Ops that depend on one another over repetitions, in an order that respects what they read (Kosaraju)."""
        sources = [
            [link[0] for slot in self.run.slots(node) if (link := self.made[slot]) is not None]
            for node in range(self.run.period)
        ]
        seen: set[int] = set()
        left = [node for root in range(self.run.period) for node in _reached(root, self.readers, seen)]
        seen = set()
        return [sorted(group) for root in reversed(left) if (group := _reached(root, sources, seen))]

    def _vectorizable(self, node: int, places: dict[int, Array]) -> bool:
        op, run = self.templates[node], self.run
        if (
            len(op.results) != 1
            or not isinstance(op.results[0].type, ir.RankedTensorType)
            or bytes_of(op.results[0].type) * run.count > LARGEST_STACK
        ):
            return False
        moving = [not run.fixed[slot] for slot in run.slots(node)]
        if node not in places:
            return can(op, moving, self.exact)
        # A slice at other places of the same array: one slice, if they follow one another.
        if op.name != "stablehlo.slice" or moving[0]:
            return False
        strides = list(ir.DenseI64ArrayAttr(op.attributes["strides"]))
        return set(strides) == {1} and tiled(places[node], sizes_of(op.results[0])) is not None

    def _reduce(self, group: list[int]) -> tuple[int, int] | None:
        """One op that combines its last result with a value of its own repetition: a `reduce`."""
        node = group[0]
        op = self.templates[node]
        if len(group) > 1 or op.name not in _MONOIDS | _ROUNDED:
            return None
        if self.exact and op.name in _ROUNDED and dtype_of(op.results[0]).kind not in "iu":
            return None
        links = [self.made[slot] for slot in self.run.slots(node)]
        carried = [place for place, link in enumerate(links) if link == (node, 1)]
        last = (self.run.count - 1, node)
        outside = {pair for pair in self.used if pair[1] == node}
        if len(carried) != 1 or self.readers[node] != [node] or not outside <= {last}:
            return None
        if bytes_of(op.results[0].type) * self.run.count > LARGEST_STACK:
            return None
        other = self.run.first[node] + 1 - carried[0]
        return self.run.first[node] + carried[0], other

    def _chain(self, group: list[int], places: dict[int, Array]) -> Chain:
        """The sum of pads that a group of adds makes.

        Raises:
            Refused: it makes none, or something else reads it before its end.
        """
        run, pads, entry = self.run, list[int](), list[int]()
        for node in group:
            require(self.templates[node].name == "stablehlo.add", "an op is no add")
            carried = [slot for slot in run.slots(node) if (link := self.made[slot]) is not None and link[0] in group]
            others = [self.made[slot] for slot in run.slots(node) if slot not in carried]
            require(len(carried) == len(others) == 1, "it does not add one term after the other")
            entry += [slot for slot in carried if run.lags[slot] > 0]
            pad, lag = needed(others[0], "it adds what was there before")
            require(lag == 0 and pad in places and self.readers[pad] == [node], "it adds what others read too")
            pads.append(pad)
        require(len(entry) == 1 and run.lags[entry[0]] == 1, "it takes several turns")
        end = (run.count - 1, group[-1])
        require(all(pair == end or pair[1] not in {*group, *pads} for pair in self.used), "it is read outside")
        require(all(reader in group for node in group for reader in self.readers[node]), "it is read in the block")
        boxes: list[Box] = []
        for node in pads:
            op = self.templates[node]
            zero = zero_splat(op.operands[1]) if op.name == "stablehlo.pad" else None
            require(zero is not None and not np.signbit(zero), "a term is no pad with 0")
            require(dtype_of(op.results[0]).kind in "fiuc" and run.fixed[run.first[node] + 1], "a pad of another kind")
            sizes, size = sizes_of(op.operands[0]), bytes_of(op.operands[0].type) * run.count
            require(size <= LARGEST_STACK and tiled(places[node], sizes), "the pads do not follow one another")
            ends = (places[node] + sizes).tolist()
            boxes += [tuple(zip(*each, strict=True)) for each in zip(places[node].tolist(), ends, strict=True)]
        require(len(set(boxes)) == len(boxes), "two pads are at the same place")
        check_tiling(boxes, 0)
        return Chain(group, pads, entry[0])


def _reached(root: int, following: Sequence[Sequence[int]], seen: set[int]) -> list[int]:
    """What can be reached and was not seen before, each behind what follows it."""
    found, stack = [], [(root, False)]
    while stack:
        node, is_left = stack.pop()
        if is_left:
            found.append(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack += [(other, False) for other in following[node]]
    return found


def tiled(places: Array, sizes: list[int]) -> tuple[int, int] | None:
    """The one axis along which places follow one another, and by how much; None where they do not, or overlap."""
    steps = places[1] - places[0]
    axes = np.flatnonzero(steps)
    if len(axes) != 1 or (np.diff(places, axis=0) != steps).any():
        return None
    axis = int(axes[0])
    step = int(steps[axis])
    return (axis, step) if abs(step) >= sizes[axis] > 0 else None


# ---- one op in place of one per repetition, by the rules of `codegen/ir/batching/` ----------------------------------

# A leading axis could be taken for the one that a bitcast makes or joins.
ELEMENTWISE = STABLEHLO - {"stablehlo.bitcast_convert"}
_MOVING = frozenset(
    f"stablehlo.{name}" for name in ("broadcast_in_dim", "reshape", "transpose", "concatenate", "reverse", "slice")
)


def can(op: ir.Operation, moving: Sequence[bool], exact: bool) -> bool:
    """Whether an op may have the axis, with these of its operands different in each repetition."""
    if op.name.startswith("chlo."):
        same = {tuple(sizes_of(value)) for value in [*op.operands, *op.results]}
        return not op.regions and len(same) == 1 and not op.name.startswith("chlo.constant")
    if op.name == "stablehlo.pad":
        return not moving[1]
    if op.name == "stablehlo.reduce":
        return not moving[1] and not captured(op) and not (exact and _rounds(op))
    return op.name in ELEMENTWISE | _MOVING or (op.name == "stablehlo.dot_general" and not exact)


def _rounds(op: ir.Operation) -> bool:
    """Whether a reduction gives other bits in another order."""
    whole = dtype_of(op.results[0]).kind in "biu"
    names = [inner.operation.name for inner in op.regions[0].blocks[0].operations]
    return not whole and not (len(names) == 2 and names[0] in having("ordered"))
