"""How a run is computed: which of the block's ops become one op for all repetitions, and which stay in a loop.

In: a `Run`. Out: a `Plan`: for each op of the block a stage. Even stages are ops with a leading axis of repetitions,
odd stages are loops; a stage reads what earlier ones made. An op is in a loop where it depends on its own result of an
earlier repetition, or where it has no form with a leading axis. Sums of pads at places that do not overlap are taken
out of the loop: they are put together from all repetitions at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ...ir.batching import captured
from ...ir.bindings import ir
from ...ir.kinds import STABLEHLO, having
from ...ir.values import Array, bytes_of, constant, dtype_of, sizes_of
from .find import Run
from .snapshot import distinct

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
        chains = [chain for group in groups if (chain := self._chain(group, places)) is not None]
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

    def _chain(self, group: list[int], places: dict[int, Array]) -> Chain | None:
        """The sum of pads that a group of adds makes, if nothing else reads it before its end."""
        run = self.run
        pads: list[int] = []
        entry = -1
        for node in group:
            if self.templates[node].name != "stablehlo.add":
                return None
            inner = []
            for slot in run.slots(node):
                link = self.made[slot]
                if link is not None and link[0] in group:
                    inner.append(slot)
                    if link[1] == 1 and entry < 0:
                        entry = slot
                    elif link[1] > 0:
                        return None
                elif link is not None and link[1] == 0 and link[0] in places and self.readers[link[0]] == [node]:
                    pads.append(link[0])
                else:
                    return None
            if len(inner) != 1:
                return None
        if entry < 0 or len(pads) != len(group):
            return None
        last = group[-1]
        if any(node in group and (repetition, node) != (run.count - 1, last) for repetition, node in self.used):
            return None
        if any(pair[1] in pads for pair in self.used):
            return None
        if any(reader not in group for node in group for reader in self.readers[node]):
            return None
        covered = []
        for node in pads:
            op = self.templates[node]
            filling = constant(op.operands[1])
            if (
                op.name != "stablehlo.pad"
                or filling is None
                or filling.ndim
                or filling != 0
                or (filling.dtype.kind == "f" and np.signbit(filling))
                or filling.dtype.kind not in "fiuc"
            ):
                return None
            if not run.fixed[run.first[node] + 1]:
                return None
            inner = sizes_of(op.operands[0])
            if bytes_of(op.operands[0].type) * run.count > LARGEST_STACK:
                return None
            if tiled(places[node], inner) is None:
                return None
            covered.append((places[node], inner))
        return Chain(group, pads, entry) if _disjoint(covered) else None


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


def _disjoint(covered: list[tuple[Array, list[int]]]) -> bool:
    """Whether no element lies in two of several series of boxes."""
    if len(covered) == 1:
        return True
    # All boxes that could meet: a check by axis and remainder is enough for what unrolled code does.
    for number, (places, sizes) in enumerate(covered):
        for others, widths in covered[:number]:
            apart = False
            for axis in range(places.shape[1]):
                low, high = distinct(places[:, axis]), distinct(others[:, axis])
                starts = np.concatenate([low, high])
                ends = np.concatenate([low + sizes[axis], high + widths[axis]])
                order = np.argsort(starts, kind="stable")
                apart = apart or bool((ends[order][:-1] <= starts[order][1:]).all())
            if not apart:
                return False
    return True


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
