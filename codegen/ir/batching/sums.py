"""Sums over the rows, as the cotangents of shared arguments are: taken where they cost least.

In: which results are sums. Out: `demanded`, the values of which nothing but the sum is needed; they are made without
the batch axis. A dot of two batches contracts over the rows too, and a loop's carry that only grows by an amount in
each step holds the sum of all rows' amounts. Rows that do not count are zeros on both sides of a dot: what they hold
may be infinite.
"""

from __future__ import annotations

from collections.abc import Collection

from .. import ops
from ..attributes import dot_numbers
from ..bindings import ir, stablehlo
from ..kinds import identity
from ..types import numpy_dtype
from ..values import constant, dtype_of, owner, sizes_of, users
from ..walk import terminator
from .batcher import SUMS, Batcher, Row

# Ops of which the sum over the rows is the op of the sums.
_MOVES = ("reshape", "dynamic_reshape", "transpose", "broadcast_in_dim", "dynamic_broadcast_in_dim")
_LINEAR = frozenset(f"stablehlo.{name}" for name in ("add", "subtract", "negate", *_MOVES))


def demanded(block: ir.Block, summed: Collection[int]) -> set[ir.Value]:
    """The values of a function of which only sums over the rows are needed: results, and what they are linear in."""
    last = terminator(block)
    returned = list(last.operands)
    found: set[ir.Value] = set()
    stack = [returned[number] for number in summed if dtype_of(returned[number]).kind in "fc"]
    while stack:
        value = stack.pop()
        places = {number for number, other in enumerate(returned) if other == value}
        if value in found or (not places <= set(summed) and last in users(value)):
            continue
        op = owner(value)
        if op is None or op.block != block or not all(user == last or _sums(user, found) for user in users(value)):
            continue
        if op.name in _LINEAR or _widens(op):
            found.add(value)
            stack.extend(x for x in op.operands if dtype_of(x).kind in "fc")
        elif op.name == "stablehlo.while":
            place = next(number for number, result in enumerate(op.results) if result == value)
            if amounts(op, place) is not None:
                found.add(value)
    return found


def _sums(op: ir.Operation, found: set[ir.Value]) -> bool:
    return len(op.results) == 1 and op.results[0] in found


def _widens(op: ir.Operation) -> bool:
    """Whether an op converts floats to other floats."""
    return op.name == "stablehlo.convert" and all(
        dtype_of(value).kind == "f" for value in (op.operands[0], op.results[0])
    )


def amounts(loop: ir.Operation, place: int) -> list[ir.Value] | None:
    """What a loop adds to a carry that begins with zeros in each step; None where it does anything else with it."""
    condition, body = (region.blocks[0] for region in loop.regions)
    start = constant(loop.operands[place])
    argument = body.arguments[place]
    if start is None or start.ndim or start != 0 or users(condition.arguments[place]):
        return None
    value = list(terminator(body).operands)[place]
    found: list[ir.Value] = []
    while value != argument:
        op = owner(value)
        if op is None or op.block != body or op.name != "stablehlo.add" or len(users(value)) != 1:
            return None
        left, right = op.operands
        if argument != left and argument != right and not _leads_to(left, argument):
            left, right = right, left
        if right == argument:
            left, right = right, left
        found.append(right)
        value = left
    return found if len(users(argument)) == 1 else None


def _leads_to(value: ir.Value, argument: ir.Value) -> bool:
    """Whether a value is a sum that begins with an argument."""
    while (op := owner(value)) is not None and op.name == "stablehlo.add":
        if argument in op.operands:
            return True
        value = op.operands[0]
    return value == argument


def total(batcher: Batcher, row: Row) -> ir.Value:
    """The sum over the rows that count."""
    if row.total:
        return row.value
    if not row.each:
        return stablehlo.multiply(row.value, _count(batcher, row.value))
    made = owner(row.value)
    if made is not None and made.name == "stablehlo.dot_general":
        numbers = dot_numbers(made.attributes["dot_dimension_numbers"])
        left, right = list(numbers.lhs_batching_dimensions), list(numbers.rhs_batching_dimensions)
        if left[:1] == [0] and right[:1] == [0] and all(sizes_of(x)[0] == batcher.extent for x in made.operands):
            return _contracted(batcher, made)
    value = batcher.where_active(row.value, ops.filled(row.value, 0))
    zero = ops.constant(identity("add", dtype_of(value)))
    return ops.reduce("stablehlo.add", value, zero, [0])


def _contracted(batcher: Batcher, dot: ir.Operation) -> ir.Value:
    """A dot of two batches that contracts over the rows as well."""
    found = dot_numbers(dot.attributes["dot_dimension_numbers"])
    attribute = ops.dot_numbers(
        ([0, *found.lhs_contracting_dimensions], [0, *found.rhs_contracting_dimensions]),
        (list(found.lhs_batching_dimensions)[1:], list(found.rhs_batching_dimensions)[1:]),
    )
    sides = [batcher.where_active(x, ops.filled(x, 0)) for x in dot.operands]
    copy = dot.clone(ip=ir.InsertionPoint.current)
    for place, side in enumerate(sides):
        copy.operands[place] = side
    copy.attributes["dot_dimension_numbers"] = attribute
    result = copy.results[0]
    result.set_type(ops.tensor_type(result, sizes_of(result)[1:]))
    return result


def _count(batcher: Batcher, like: ir.Value) -> ir.Value:
    """How many rows count, as an array like another."""
    shape, kind = ops.sizes(like), ops.tensor_type(like, [])
    if batcher.active is None:
        return ops.broadcast_in_dim(ops.convert(ops.number(batcher.size), kind), shape, [])
    ones = ops.convert(batcher.active, kind.element_type)
    zero = ops.constant(identity("add", numpy_dtype(kind.element_type)))
    return ops.broadcast_in_dim(ops.reduce("stablehlo.add", ones, zero, [0]), shape, [])


def worst(batcher: Batcher, flags: Row) -> ir.Value:
    """The flags of checks: of each the least, which says that it failed (false, or minus the step) if it did."""
    if not flags.each:
        return flags.value
    combine = "and" if dtype_of(flags.value).kind == "b" else "minimum"
    value = batcher.where_active(flags.value, ops.filled(flags.value, 1))
    return ops.reduce(f"stablehlo.{combine}", value, ops.scalar(1, value), [0])


def linear(batcher: Batcher, op: ir.Operation) -> list[Row]:
    """An op of sums is the sum of the op's results."""
    rows = [batcher.row(value) for value in op.operands]
    operands = [total(batcher, row) if dtype_of(row.value).kind in "fc" else row.value for row in rows]
    shapes = [sizes_of(result) for result in op.results]
    return [Row(value, False, total=True) for value in batcher.like(op, operands, shapes)]


for _name in (*_LINEAR, "stablehlo.convert"):
    SUMS[_name] = linear
