"""Which runs pay: the first call and all later ones, against the straight-line code.

In: plans of all runs. Out: which are worth it, and why the others are not. The rule counts what XLA compiles. An
elementwise op costs one unit, about 0.1 ms, because XLA fuses it with its neighbours; another op (a dot, a reduce, a
pad, ...) is a kernel of its own and costs `KERNEL` units; a loop costs `LOOP`, a reduction over all repetitions
`REDUCE`. Where one of two runs stays straight-line code and reads what the other makes, each value is cut out of an
array, or joined to one, at `SINGLE`: so runs are weighed together. Later calls lose where long arrays go through
nothing but elementwise ops: straight-line code reads and writes them once, a loop in each repetition. And they lose
where each repetition has long arrays of its own among the arguments or the results, which would be copied.
"""

from __future__ import annotations

from collections.abc import Sequence as List

import numpy as np

from ...ir.bindings import ir
from ...ir.values import Array, bytes_of
from .plan import ELEMENTWISE, Plan
from .snapshot import distinct

KERNEL, LOOP, REDUCE, SINGLE = 16, 400, 60, 4
# A loop in the body of another one must save so much more.
AGAIN = 8
# What is left must be less than this share of the function, unless so many ops go: straight-line code that reads the
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


def choose(plans: List[Plan], again: bool = False) -> list[str]:
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
    return len({stage for stage in plan.stages if stage % 2 and stage > 0})


def _block(plan: Plan) -> str:
    run = plan.run
    return f"a block of {run.period} op{'s' * (run.period > 1)} is repeated {run.count} times from here"


def _ops(plan: Plan) -> list[ir.Operation]:
    return [plan.run.sequence.snapshot.ops[plan.run.template(node)] for node in range(plan.run.period)]


def _units(plan: Plan) -> int:
    return sum(1 if op.name in _FUSED else KERNEL for op in _ops(plan)) * (plan.run.count - 1)


def _long(plan: Plan) -> str:
    looped = [op for op, stage in zip(_ops(plan), plan.stages, strict=True) if stage % 2 and stage > 0]
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


def _shared(plans: List[Plan]) -> Array:
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


def _moved(plans: List[Plan], number: int, chosen: Array) -> int:
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
    """Bytes of single values; a few at the ends of a run do not count."""
    return count * bytes_of(type_) if count >= 4 and isinstance(type_, ir.RankedTensorType) else 0
