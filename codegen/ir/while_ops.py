"""`stablehlo.while`: counted loops, sums over their steps, what carries do, and loops built again with others.

In: carries, and what makes a step's values. Out: loops at the current place, or before the one that they follow.
Decision to know: `rebuild_while` copies the blocks, and may put other values in place of carries; `add_carries` and
`drop_dead_carries` move them, so that they cost what the carries cost, however long the body is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from . import ops
from .bindings import ir, stablehlo
from .tidy import erase
from .values import dtype_of, owner, sizes_of, terminator, users

Step = Callable[[ir.Value, list[ir.Value]], Sequence[ir.Value]]


def loop(inits: Sequence[ir.Value], condition: ops.Body, body: ops.Body) -> list[ir.Value]:
    """A loop: while `condition` of the carries holds, they become what `body` makes of them."""
    made, types = _make(inits), [value.type for value in inits]
    ops.fill(made.regions[0], types, condition)
    ops.fill(made.regions[1], types, body)
    return list(made.results)


def _make(inits: Sequence[ir.Value]) -> ir.Operation:
    types = [value.type for value in inits]
    return ir.Operation.create("stablehlo.while", results=types, operands=list(inits), regions=2)


def counted(start: int, stop: int, step: int, carries: Sequence[ir.Value], body: Step) -> list[ir.Value]:
    """A loop over `range(start, stop, step)`; without a turn, the carries themselves.

    Args:
        start: the first index.
        stop: where it ends.
        step: how far the index moves, at least 1.
        carries: their values before the loop.
        body: from the index (int32) and the carries, the carries' next values.
    """
    if start >= stop:
        return list(carries)

    def turn(index: ir.Value, *values: ir.Value) -> Sequence[ir.Value]:
        following = body(index, list(values))
        return [stablehlo.add(index, ops.index(step)), *following]

    inits = [ops.index(start), *carries]
    return loop(inits, lambda index, *_: [ops.compare("LT", index, ops.index(stop))], turn)[1:]


# ---- sums over steps ----------------------------------------------------------------------------------------------

# One after the other, roundings add up step by step, which those of XLA's sums of whole arrays, made in blocks, do not.
_WIDER = {"float16": "float64", "bfloat16": "float64", "float32": "float64", "complex64": "complex128"}


def wider(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type that what is added up, or multiplied, over steps has."""
    return np.dtype(_WIDER.get(dtype.name, dtype))


def start_sum(like: ir.Value, first: ir.Value | None = None) -> list[ir.Value]:
    """The carries of a sum over steps: the sum, in a wider type, and of float64 also what rounding took from it.

    Args:
        like: has the shape and the type of the sum.
        first: what it starts from, a scalar of its type; None is 0.
    """
    kind, shape = wider(dtype_of(like)), sizes_of(like)
    zeros = ops.filled(kind, 0, shape)
    total = zeros if first is None else ops.broadcast_in_dim(ops.convert(first, kind), shape)
    return [total, zeros] if dtype_of(like) == np.float64 else [total]


def add_to_sum(carries: Sequence[ir.Value], value: ir.Value) -> list[ir.Value]:
    """The carries with one more value in the sum."""
    total, *lost = carries
    value = ops.convert(value, total)
    following = stablehlo.add(total, value)
    if not lost:
        return [following]
    # What rounding takes from the sum; NaN where one is not finite (Knuth 1969, TwoSum).
    own = stablehlo.subtract(following, total)
    rest = stablehlo.subtract(total, stablehlo.subtract(following, own))
    rounded = stablehlo.add(rest, stablehlo.subtract(value, own))
    return [following, stablehlo.add(lost[0], rounded)]


def end_sum(carries: Sequence[ir.Value], like: ir.Value) -> ir.Value:
    """The sum, in the type of a value."""
    total, *lost = carries
    for each in lost:
        corrected = stablehlo.add(total, each)
        total = stablehlo.select(stablehlo.is_finite(corrected), corrected, total)
    return ops.convert(total, like)


# ---- what carries do -----------------------------------------------------------------------------------------------


def invariants(loop: ir.Operation) -> frozenset[int]:
    """The carries that every step returns as they are."""
    body = loop.regions[1].blocks[0]
    return frozenset(k for k, value in enumerate(terminator(body).operands) if value == body.arguments[k])


def argument_number(block: ir.Block, value: ir.Value) -> int | None:
    """Which of a block's arguments a value is."""
    if isinstance(value.owner, ir.Block) and value.owner == block:
        return ir.BlockArgument(value).arg_number
    return None


def increment(value: ir.Value, argument: ir.Value, integer: Callable[[ir.Value], object]) -> int | None:
    """How much a carry grows at every step, if that is a constant."""
    op = owner(value)
    if op is None or op.name not in ("stablehlo.add", "stablehlo.subtract"):
        return None
    lhs, rhs = op.operands
    if lhs == argument:
        step = integer(rhs)
    elif rhs == argument and op.name == "stablehlo.add":
        step = integer(lhs)
    else:
        return None
    if not isinstance(step, int):
        return None
    return step if op.name == "stablehlo.add" else -step


# ---- loops with other carries -------------------------------------------------------------------------------------


def rebuild_while(
    loop: ir.Operation,
    keep: Sequence[int],
    added: Sequence[ir.Value] = (),
    step: Callable[[list[ir.Value], dict[ir.Value, ir.Value], list[ir.Value]], Sequence[ir.Value]] | None = None,
    replaced: Mapping[int, Callable[[], ir.Value]] | None = None,
) -> ir.Operation:
    """A `stablehlo.while` like another, before it, with other carries. The old one stays, for the caller to replace.

    Args:
        loop: the old one.
        keep: which of its carries stay, in order.
        added: initial values of further carries, which come behind them.
        step: makes the added carries' next values at the end of the body: called with the added block arguments, with
            the new value of each value of the old body, and with the new values that the body returns for the carries
            of `keep` (which it may change in place).
        replaced: for carries that are dropped but still read in the loop: what stands for them, made at the start of
            the body and of the condition.

    Returns:
        The new loop: one result for each of `keep`, then one for each of `added`.
    """
    inits = [loop.operands[place] for place in keep] + list(added)

    def block(number: int) -> ops.Body:
        old = loop.regions[number].blocks[0]

        def body(*arguments: ir.Value) -> Sequence[ir.Value]:
            known = {old.arguments[place]: arguments[index] for index, place in enumerate(keep)}
            for place, make in (replaced or {}).items():
                known[old.arguments[place]] = make()
            returned, known = ops.clone_block(old, known)
            if number == 0:
                return returned
            extra = list(arguments[len(keep) :])
            returned = [returned[place] for place in keep]
            following = step(extra, known, returned) if step is not None else extra
            return [*returned, *following]

        return body

    with loop.location:
        new = _make(inits)
        for number, region in enumerate(new.regions):
            ops.fill(region, [value.type for value in inits], block(number))
    return new


def add_carries(
    loop: ir.Operation, added: Sequence[ir.Value], step: Callable[[list[ir.Value]], Sequence[ir.Value]]
) -> ir.Operation:
    """A loop with more carries, in the place of another.

    Args:
        loop: the loop. It is left empty, for the caller to erase once nothing holds values of its blocks any more; its
            results are replaced.
        added: initial values of the carries, which come behind those there are.
        step: makes their next values at the end of the body, from their block arguments.

    Returns:
        The new loop.
    """
    condition, body = (region.blocks[0] for region in loop.regions)
    for value in added:
        condition.add_argument(value.type, loop.location)
    arguments: list[ir.Value] = [body.add_argument(value.type, loop.location) for value in added]
    last = terminator(body)
    with ir.InsertionPoint(last), loop.location:
        following = step(arguments)
        ops.return_([*last.operands, *following])
    last.erase()
    return _moved(loop, [*loop.operands, *added], range(len(loop.results)))


def drop_dead_carries(loop: ir.Operation) -> ir.Operation:
    """Takes the carries off a loop that nothing needs, in place.

    A carry is dropped if it is passed on as it is, or is a chain of `dynamic_update_slice` that nothing else reads;
    what only other dead carries need is simplify's to find.

    Returns:
        The loop that now stands there: another one, or the same if it needs all its carries.
    """
    condition, body = (region.blocks[0] for region in loop.regions)
    last = terminator(body)
    following = list(last.operands)
    writes: list[ir.Operation] = []
    keep = []
    for place, result in enumerate(loop.results):
        chain = None if users(result) or users(condition.arguments[place]) else _written(body, place, following[place])
        if chain is None:
            keep.append(place)
        else:
            writes += chain[:1]
    if len(keep) == len(following):
        return loop
    with ir.InsertionPoint(last), last.location:
        ops.return_([following[place] for place in keep])
    last.erase()
    erase(writes)
    for place in sorted(set(range(len(following))) - set(keep), reverse=True):
        condition.erase_argument(place)
        body.erase_argument(place)
    new = _moved(loop, [loop.operands[place] for place in keep], keep)
    loop.erase()
    return new


def _written(body: ir.Block, place: int, value: ir.Value) -> list[ir.Operation] | None:
    """The updates that a carry goes through, the last one first; None where something else is done with it."""
    argument = body.arguments[place]
    chain: list[ir.Operation] = []
    while (op := owner(value)) is not None and op.name == "stablehlo.dynamic_update_slice" and op.block == body:
        if len(users(value)) != 1:
            return None
        chain.append(op)
        value = op.operands[0]
    return chain if value == argument and len(users(argument)) == 1 else None


def _moved(loop: ir.Operation, inits: Sequence[ir.Value], keep: Sequence[int]) -> ir.Operation:
    """A loop before another one, with its blocks, and its results in place of the other one's."""
    with ir.InsertionPoint(loop), loop.location:
        new = _make(inits)
    for region, old in zip(new.regions, list(loop.regions), strict=True):
        old.blocks[0].append_to(region)
    for number, place in enumerate(keep):
        loop.results[place].replace_all_uses_with(new.results[number])
    return new
