"""Reductions in two passes: the second one takes the result of the first from every element.

In: what follows a loop, op by op in order. Out: differences between lifted values and a value that the loop's own
reductions make, kept in mind; and, where a sum over such differences is known, the reduction that does both at once.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import replace
from math import prod

from ...dims import Dim
from ...ir.attributes import integers
from ...ir.bindings import ir
from ...ir.kinds import reduction
from ...ir.op_sheet import form_of
from ...ir.refused import Refused
from ...ir.values import constant, dtype_of, is_constant, owner, static_shape, unspread
from ..stepwise import Lifted, Node
from .live_masks import masked
from .region import Difference, Region
from .two_passes import Exponentials, SquaredDeviations


def is_difference(op: ir.Operation, region: Region, depends: Container[ir.Value]) -> bool:
    """Keeps a difference, or its square or exponential, in mind; whether the op is one."""
    lifted, differences = region.lifted, region.differences
    if op.name == "stablehlo.subtract":
        value, base = op.operands
        if value not in lifted or base in lifted or base not in depends or dtype_of(value).kind != "f":
            return False
        found = Difference(value, unspread(base), op, "difference", (op,))
    elif (op.name == "stablehlo.multiply" and op.operands[0] == op.operands[1] and op.operands[0] in differences) or (
        op.name == "chlo.square" and op.operands[0] in differences
    ):
        found = _further(differences[op.operands[0]], op, "square")
    elif op.name == "stablehlo.exponential" and op.operands[0] in differences:
        found = _further(differences[op.operands[0]], op, "exponential")
    elif op.name == "stablehlo.select" and op.operands[1] in differences:
        found = differences[op.operands[1]]
        if masked(op, {op.operands[1]: lifted[found.value]}, region.loop) is None:
            return False
        found = replace(found, op=op, through=(*found.through, op))
    else:
        return False
    differences[op.results[0]] = found
    return True


def _further(difference: Difference, op: ir.Operation, kind: str) -> Difference:
    kind = kind if difference.kind == "difference" else "other"
    return Difference(difference.value, difference.base, op, kind, (*difference.through, op))


def _summed(op: ir.Operation, kind: str, region: Region) -> Difference | None:
    """The differences of which an op is the sum over the steps (and perhaps other axes)."""
    differences, lifted = region.differences, region.lifted
    if op.name != "stablehlo.reduce" or len(op.results) != 1 or op.operands[0] not in differences:
        return None
    found = differences[op.operands[0]]
    try:
        if reduction(op) != "stablehlo.add":
            return None
    except Refused:
        return None
    over_steps = lifted[found.value].axis in integers(op, "dimensions")
    return found if found.kind == kind and over_steps and is_constant(op.operands[1], 0) else None


def _reduces(value: ir.Value, of: Difference, like: ir.Operation, name: str, region: Region) -> bool:
    """Whether a value is the reduction of the same elements over the same axes."""
    op = owner(value)
    if op is None or op.name != "stablehlo.reduce" or len(op.results) != 1:
        return False
    if region.root(op.operands[0]) != region.root(of.value):
        return False
    try:
        return reduction(op) == name and integers(op, "dimensions") == integers(like, "dimensions")
    except Refused:
        return False


def _spread_alike(found: Difference, sum_op: ir.Operation, reduced: ir.Value) -> bool:
    """Whether every element meets the reduction that it went into: reduced axes are put back in their places."""
    value = found.through[0].operands[1]
    axes = list(range(len(static_shape(value))))  # of the difference, for each of the value's; -1: none
    while value != reduced:
        op = owner(value)
        form = form_of(op) if op is not None else None
        if op is None or form is None:
            return False
        varying = [place for place, x in enumerate(op.operands) if constant(x) is None]
        place = 1 if op.name == "stablehlo.select" else varying[0] if varying else 0
        axes = [-1 if axis is None else axes[axis] for axis in form.operands[place]]
        value = op.operands[place]
    dimensions = integers(sum_op, "dimensions")
    expected = [axis for axis in range(len(static_shape(found.value))) if axis not in dimensions]
    sizes = static_shape(reduced)
    pairs = zip(axes, expected, sizes, strict=False)
    return len(axes) == len(expected) and all(axis == wanted or size == 1 for axis, wanted, size in pairs)


def deviations(op: ir.Operation, region: Region) -> SquaredDeviations | None:
    """A sum of squared differences from the mean of the same elements."""
    found = _summed(op, "square", region)
    if found is None:
        return None
    mean = owner(found.base)
    if mean is None or mean.name not in ("stablehlo.divide", "stablehlo.multiply"):
        return None
    total = unspread(mean.operands[0])
    if not _is_share(mean, _count(op, found, region), region):
        return None
    if not _reduces(total, found, op, "stablehlo.add", region) or not _spread_alike(found, op, total):
        return None
    return SquaredDeviations(op, _node(op, found, region.lifted), mean=mean, passed=found.through)


def _count(op: ir.Operation, found: Difference, region: Region) -> Dim:
    """How many elements go into each result of a sum."""
    lifted, shape = region.lifted[found.value], static_shape(found.value)
    steps: Dim = region.loop.trip_count * lifted.width if region.loop.is_live else shape[lifted.axis]
    return steps * prod(shape[axis] for axis in integers(op, "dimensions") if axis != lifted.axis)


def _is_share(mean: ir.Operation, count: Dim, region: Region) -> bool:
    """Whether an op divides by so many, or multiplies by what is 1 divided by it."""
    if mean.name == "stablehlo.divide":
        return region.loop.sizes.number(mean.operands[1]) == count
    number = constant(mean.operands[1])
    return number is not None and not number.ndim and bool(number) and 1 / float(number) == count


def exponentials(op: ir.Operation, region: Region) -> Exponentials | None:
    """A sum of exponentials of differences from the greatest of the same elements, or from 0 where it is not finite."""
    found = _summed(op, "exponential", region)
    if found is None:
        return None
    base, guarded = found.base, False
    select = owner(base)
    if select is not None and select.name == "stablehlo.select" and is_constant(select.operands[2], 0):
        test = owner(select.operands[0])
        if test is None or test.name != "stablehlo.is_finite" or test.operands[0] != select.operands[1]:
            return None
        base, guarded = unspread(select.operands[1]), True
    low = owner(base)
    if low is not None and low.name == "stablehlo.maximum":
        bounds = [value for value in low.operands if is_constant(value, float("-inf"))]
        base = next((unspread(value) for value in low.operands if value not in bounds), base) if bounds else base
    if not _reduces(base, found, op, "stablehlo.maximum", region) or not _spread_alike(found, op, base):
        return None
    start = owner(base)
    if start is None or not is_constant(start.operands[1], float("-inf")):
        return None
    return Exponentials(op, _node(op, found, region.lifted), guarded=guarded, passed=found.through)


def _node(op: ir.Operation, found: Difference, lifted: Mapping[ir.Value, Lifted]) -> Node:
    """The sum as if it were one of the elements themselves."""
    first = found.through[0]
    return Node(first, lifted[found.value], (lifted[found.value], None))
