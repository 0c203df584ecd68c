"""What a rule does for an op and its operands' types, found out once and done again for further nodes.

In: an op of a graph, operands, and what lowers them. Out: its results. The operations that a rule asks the builder for
are a plan, if that was all that it did; for operands of the same types they are asked for again, without the rule, so
that the module is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


def planned(builder: Any, op: Any, operands: Sequence[Any], make: Callable[[], list[Any]]) -> list[Any]:
    """What an op, known by its identity, gives for operands; by a plan where they are unknown values of one shape."""
    dims = operands[0].dims
    if (
        builder.steps is not None  # a part of what a plan is made of
        or any(x.literal is not None or x.sizes is not None or x.dims != dims for x in operands)
        or len({x.uid for x in operands}) < len(operands)
    ):
        return make()
    key = (id(op), dims, *[x.dtype for x in operands])
    plans = builder._frame.plans
    if key not in plans:
        builder.steps, before = (steps := list[Any]()), builder.noted_so_far
        try:
            results = make()
        finally:
            builder.steps = None
        plans[key] = op, _plan(operands, steps, results) if before == builder.noted_so_far else None
        return results
    plan = plans[key][1]
    if plan is None:
        return make()
    values = list(operands)
    for name, reads, dims, dtype, attributes in plan[0]:
        values.append(builder.op(name, [values[x] if type(x) is int else x for x in reads], dims, dtype, attributes))
    return [values[place] for place in plan[1]]


def _plan(operands: Sequence[Any], steps: Sequence[Any], results: Sequence[Any]) -> Any:
    """Steps on numbered values, the operands first, and the numbers of the results; None where they read others."""
    if None in steps:
        return None
    places = {x.uid: place for place, x in enumerate(operands)}
    plan = []
    for name, reads, dims, dtype, attributes, made in steps:
        read = [places.get(x.uid, x) for x in reads]
        if any(type(x) is not int and (x.literal is None or name == "stablehlo.broadcast_in_dim") for x in read):
            return None  # of a constant that is spread it is known that it is one
        plan.append((name, read, dims, dtype, attributes))
        places[made.uid] = len(operands) + len(plan) - 1
    return (plan, [places[x.uid] for x in results]) if all(x.uid in places for x in results) else None
