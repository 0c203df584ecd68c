"""How a run is computed: which of the block's ops become one op for all repetitions, and which stay in a loop.

In: a `Run`. Out: a `Plan`: for each op of the block a stage. Even stages are ops with a leading axis of repetitions,
odd stages are loops; a stage reads what earlier ones made. An op is in a loop where it depends on its own result of an
earlier repetition, or where it has no form with a leading axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ...ir.bindings import ir
from ...ir.kinds import STABLEHLO, having
from ...ir.ops import captured
from ...ir.values import Array, bytes_of, dtype_of, sizes_of
from .find import Run
from .snapshot import distinct

# Bytes of a value of all repetitions above which it is not made at once.
LARGEST_STACK = 1 << 26


@dataclass
class Plan:
    """Stages of a run.

    Attributes:
        run: the run.
        stages: for each op of the block its stage.
        order: the block's ops in an order that respects what they read in the same repetition and in earlier ones,
            for the even stages.
        places: for slices and pads whose place changes: the place in each repetition, (count, axes).
        reduces: adds, products, ... of one value per repetition that are one `reduce`: the operand that is carried,
            and the other.
    """

    run: Run
    stages: list[int]
    order: list[int]
    places: dict[int, Array]
    reduces: dict[int, tuple[int, int]] = field(default_factory=dict)


_MONOIDS = having("again")
_ROUNDED = {"stablehlo.add", "stablehlo.multiply"}


class Planner:
    """Finds the stages of a run.

    Args:
        run: the run.
        exact: whether all bits must stay.
    """

    def __init__(self, run: Run, exact: bool):
        self.run, self.exact = run, exact
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
        reduces: dict[int, tuple[int, int]] = {}
        stages = [-1] * run.period
        order: list[int] = []
        for group in self._groups():
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
        return Plan(run, stages, order, places, reduces)

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
        outside = self.run.read.get(node * self.run.sequence.stride, set())
        if len(carried) != 1 or self.readers[node] != [node] or not outside <= {self.run.count - 1}:
            return None
        if bytes_of(op.results[0].type) * self.run.count > LARGEST_STACK:
            return None
        other = self.run.first[node] + 1 - carried[0]
        return self.run.first[node] + carried[0], other


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
    whole = dtype_of(op.results[0]).kind in "biu"
    names = [inner.operation.name for inner in op.regions[0].blocks[0].operations]
    return not whole and not (len(names) == 2 and names[0] in having("ordered"))


# ---- which runs pay: the first call and all later ones, against the straight-line code -------------------------------
#
# In: plans of all runs. Out: which are worth it, and why the others are not. The rule counts what XLA compiles. An
# elementwise op costs one unit, about 0.1 ms, because XLA fuses it with its neighbours; another op (a dot, a reduce, a
# pad, ...) is its own kernel and costs `KERNEL` units; a loop costs `LOOP`, a reduction over all repetitions
# `REDUCE`. Where one of two runs stays straight-line code and reads what the other makes, each value is cut out of an
# array, or joined to one, at `SINGLE`: so runs are weighed together. Later calls lose where long arrays go through
# nothing but elementwise ops: straight-line code reads and writes them once, a loop in each repetition. And they lose
# where each repetition has long arrays of its own among the arguments or the results, which would be copied.

KERNEL, LOOP, REDUCE, SINGLE = 16, 400, 60, 4
# A loop in the body of another one must save so much more.
AGAIN = 8
# What is left must be less than this share of the function, unless this many ops go: straight-line code that reads the
# rows of stacks one by one compiles, and runs, worse than it did.
LEFT, PLENTY = 0.25, 1500
# Bytes of a carried array that no longer stay in a core's own cache; and ops whose compilation outweighs that.
LONG, MANY = 1 << 18, 4096

_FUSED = {
    *ELEMENTWISE,
    "stablehlo.broadcast_in_dim",
    "stablehlo.reshape",
    "stablehlo.slice",
    "stablehlo.transpose",
    "stablehlo.reverse",
    "stablehlo.constant",
    "stablehlo.iota",
}


def choose(plans: Sequence[Plan], again: bool = False) -> list[str]:
    """For each run why it stays as it is; "" where it is rolled up.

    Args:
        plans: of all runs of a function.
        again: whether it is a loop's body: what a loop costs it costs in each repetition of the outer one.
    """
    loop = LOOP * (AGAIN if again else 1)
    reasons = [_long(plan) for plan in plans]
    chosen = np.array([not reason for reason in reasons], bool)
    own = np.array([_units(plan) - loop * loops(plan) - REDUCE * len(plan.reduces) for plan in plans], np.int64)
    shared = _shared(plans)
    while chosen.any():
        # What each of the chosen adds to the gain, the others given.
        inner = shared[:-1, :-1]
        apart = (inner + inner.T) * (1 - 2 * chosen.astype(np.int64))[None, :]
        alone = shared[-1, :-1] + shared[:-1, -1]
        gains = own - SINGLE * (apart.sum(axis=1) + alone + 2 * np.diag(inner))
        worst = int(np.argmin(np.where(chosen, gains, np.iinfo(np.int64).max)))
        if gains[worst] > 0:
            weights = {number: _moved(plans, number, chosen) for number in np.flatnonzero(chosen).tolist()}
            heavy = next((number for number, weight in weights.items() if weight > LONG), None)
            if heavy is None:
                break
            chosen[heavy] = False
            reasons[heavy] = (
                f"{_block(plans[heavy])}, but works on arrays of their own, {weights[heavy]} bytes of "
                "them, which each call would have to join or to cut apart"
            )
            continue
        chosen[worst] = False
        reasons[worst] = (
            f"{_block(plans[worst])}, which compiles faster than a loop would "
            f"({_units(plans[worst])} units of cost go, {_units(plans[worst]) - int(gains[worst])} come: "
            "loops, and values to cut apart or to join)"
        )
    removed = sum(
        plan.run.period * (plan.run.count - 1)
        for plan, is_chosen in zip(plans, chosen.tolist(), strict=True)
        if is_chosen
    )
    total = len(plans[0].run.sequence.ops) if plans else 0
    if removed < min((1 - LEFT) * total, PLENTY):
        for number in np.flatnonzero(chosen).tolist():
            reasons[number] = (
                f"{_block(plans[number])}, but what repeats in the function is no more than {removed} of {total} "
                "ops, and what is left would read its values one by one"
            )
    return reasons


def loops(plan: Plan) -> int:
    """How many loops a run becomes."""
    return len({stage for stage in plan.stages if stage % 2})


def _block(plan: Plan) -> str:
    run = plan.run
    return f"a block of {run.period} op{'s' * (run.period > 1)} is repeated {run.count} times from here"


def _ops(plan: Plan) -> list[ir.Operation]:
    return [plan.run.sequence.snapshot.ops[plan.run.template(node)] for node in range(plan.run.period)]


def _units(plan: Plan) -> int:
    return sum(1 if op.name in _FUSED else KERNEL for op in _ops(plan)) * (plan.run.count - 1)


def _long(plan: Plan) -> str:
    looped = [op for op, stage in zip(_ops(plan), plan.stages, strict=True) if stage % 2]
    sizes = [
        bytes_of(value.type) for op in looped for value in op.results if isinstance(value.type, ir.RankedTensorType)
    ]
    longest = max(sizes, default=0)
    if longest <= LONG or plan.run.period * plan.run.count >= MANY or not all(op.name in _FUSED for op in looped):
        return ""
    return (
        f"{_block(plan)}, all elementwise on up to {longest} bytes: straight-line code is fused and goes through "
        "memory once, a loop in each repetition"
    )


def _shared(plans: Sequence[Plan]) -> Array:
    """How many values that one run makes another reads, (makers, readers); the last of both is what is in no run."""
    if not plans:
        return np.zeros((1, 1), np.int64)
    sequence, count = plans[0].run.sequence, len(plans)
    run_of = np.full(len(sequence.ops), count)
    for number, plan in enumerate(plans):
        run_of[plan.run.start : plan.run.end] = number
    users = np.repeat(np.arange(len(sequence.ops)), np.diff(sequence.first))
    # A concatenation takes arrays as they are.
    joins = np.array([name == "stablehlo.concatenate" for name in sequence.snapshot.names])[sequence.ops]
    counted = (sequence.codes >= 0) & ~joins[users]
    pairs = distinct(sequence.codes[counted] * (count + 1) + run_of[users[counted]])
    readers, makers = pairs % (count + 1), run_of[pairs // (count + 1) // sequence.stride]
    found = (makers * (count + 1) + readers)[makers != readers]
    return np.bincount(found, minlength=(count + 1) ** 2).reshape(count + 1, count + 1)


def _moved(plans: Sequence[Plan], number: int, chosen: Array) -> int:
    """Bytes that are joined for a run, or cut out of its stacks, one value at a time, given which runs are chosen."""
    run = plans[number].run
    sequence, taken = run.sequence, run.sequence.snapshot
    inside = np.zeros(len(sequence.ops), bool)
    for plan, is_chosen in zip(plans, chosen.tolist(), strict=True):
        inside[plan.run.start : plan.run.end] |= is_chosen or plan is plans[number]
    total = 0
    columns = {run.codes[:, slot].tobytes(): slot for slot in np.flatnonzero((run.lags < 0) & ~run.fixed).tolist()}
    for slot in columns.values():
        codes = run.codes[:, slot]
        made = codes[codes >= 0] // sequence.stride
        single = int((~inside[made]).sum()) + int(((codes < 0) & (-1 - codes < len(taken.arguments))).sum())
        total += _some(single, taken.value(sequence.value_of(int(codes[0]))).type)
    readers = np.repeat(np.arange(len(sequence.ops)), np.diff(sequence.first))
    joins = np.array([name == "stablehlo.concatenate" for name in taken.names])[sequence.ops]
    low, high = run.start * sequence.stride, run.end * sequence.stride
    read = (sequence.codes >= low) & (sequence.codes < high) & ~inside[readers] & ~joins[readers]
    results = (distinct(sequence.codes[read]) - low) % (run.period * sequence.stride)
    for result, single in enumerate(np.bincount(results).tolist()):
        if single:
            total += _some(single, taken.value(sequence.value_of(low + result)).type)
    return total


def _some(count: int, type_: ir.Type) -> int:
    return count * bytes_of(type_) if count >= 4 and isinstance(type_, ir.RankedTensorType) else 0
