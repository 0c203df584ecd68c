"""Batching rules of loops, branches and calls.

A loop whose condition is the same for all rows stays one. Otherwise it turns until its last row is finished; carries
of finished rows are kept by a mask. Where the condition is `i < n` with an `i` that is the same for all rows, the mask
is that comparison and the loop ends at the greatest `n`; a loop that reads backwards, by `n - i`, has its rows end
together instead, so that `n - i` is the same for all of them.

    while i < n[row]:  c = step(c, x[i])          while i < max(n):    c = where(i < n, step(c, x[i]), c)
    while i < n[row]:  c = step(c, x[n - i - 1])  while i < m=max(n):  c = where(m - i <= n, step(c, x[m - i - 1]), c)

A branch that rows do not agree on is a selection between both, and loops in it turn for the rows that take it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from .. import ops, while_ops
from ..bindings import ir, stablehlo
from ..functions import add_function, call
from ..kinds import direction_of, identity
from ..values import constant, dtype_of, free_symbol, owner, returned_by, sizes_of, symbol_of, terminator, users
from ..while_ops import increment, invariants
from .batcher import CONTROL, Batcher, Row, only_grows

Flags = list[bool]


# ---- which values have the axis --------------------------------------------------------------------------------


def _spread(batcher: Batcher, block: ir.Block, known: Mapping[ir.Value, bool]) -> Flags:
    """For each value that a block returns whether it has the batch axis, if those of `known` have it."""
    each = dict(known)

    def has(value: ir.Value) -> bool:
        return each[value] if value in each else batcher.row(value).each

    for opened in block.operations:
        op = opened.operation
        if op == terminator(block):
            break
        if op.name == "stablehlo.while":
            carried, apart = _carried(batcher, op, [has(value) for value in op.operands], each)
            same = invariants(op)
            found = [flag or (apart and place not in same) for place, flag in enumerate(carried)]
        elif op.name == "stablehlo.get_dimension_size":
            found = [False]
        elif op.name in ("stablehlo.if", "stablehlo.case"):
            found = _of_branches(batcher, op, has(op.operands[0]), each)
        else:
            found = [any(map(has, [*op.operands, *ops.captured(op)]))] * len(op.results)
        each.update(zip(op.results, found, strict=True))
    return [has(value) for value in terminator(block).operands]


def _carried(batcher: Batcher, op: ir.Operation, starts: Flags, outside: Mapping[ir.Value, bool]) -> tuple[Flags, bool]:
    """For each carry whether it has the axis in a loop's body, and whether the condition has it."""
    condition, body = (region.blocks[0] for region in op.regions)
    each = list(starts)
    while True:
        found = _spread(batcher, body, {**outside, **dict(zip(body.arguments, each, strict=True))})
        joined = [old or new for old, new in zip(each, found, strict=True)]
        if joined == each:
            break
        each = joined
    return each, _spread(batcher, condition, {**outside, **dict(zip(condition.arguments, each, strict=True))})[0]


def _of_branches(batcher: Batcher, op: ir.Operation, apart: bool, outside: Mapping[ir.Value, bool]) -> Flags:
    found = [_spread(batcher, region.blocks[0], outside) for region in op.regions]
    return [apart or any(flags) for flags in zip(*found, strict=True)]


# ---- loops -----------------------------------------------------------------------------------------------------


class _Loop:
    """A loop of the module that is batched; rows may be finished before others (`apart`), or begin later.

    What is the same for all rows goes on in all of them; where it is wanted after the loop there is a copy with the
    axis, which is kept.

    Attributes:
        carries: initial values, those of the copies behind the others.
        each: whether a carry has the axis in the body.
        same: the carries that are passed on as they are.
        totals: the carries that are sums over the rows.
        copied: the carries of which there are copies.
    """

    def __init__(self, batcher: Batcher, op: ir.Operation) -> None:
        self.batcher, self.op = batcher, op
        self.condition, self.body = (region.blocks[0] for region in op.regions)
        starts = batcher.rows_of(op)
        each, self.apart = _carried(batcher, op, [row.each for row in starts], {})
        self.same = invariants(op)
        self.totals = frozenset(
            place
            for place, result in enumerate(op.results)
            if result in batcher.summed and only_grows(op, place) and each[place] and not starts[place].each
        )
        self.each = [flag and place not in self.totals for place, flag in enumerate(each)]
        self.copied = [
            place
            for place, result in enumerate(op.results)
            if self.apart and not (each[place] or place in self.same) and users(result)
        ]
        self.carries = self.values(starts)
        self.carries += [batcher.full(Row(self.carries[place], False)) for place in self.copied]

    def rows(self, values: Sequence[ir.Value]) -> list[Row]:
        """Carries as rows."""
        own = zip(values, self.each, strict=False)
        return [Row(value, each, total=place in self.totals) for place, (value, each) in enumerate(own)]

    def values(self, rows: Sequence[Row]) -> list[ir.Value]:
        """Rows as carries."""
        return [self.batcher.full(row) if each else row.value for row, each in zip(rows, self.each, strict=True)]

    def holds(self, rows: Sequence[Row]) -> Row:
        """The condition, of carries."""
        return self.batcher.block(self.condition, rows)[0]

    def step(self, values: Sequence[ir.Value], mask: ir.Value | None = None) -> list[ir.Value]:
        """The next carries of the rows of a mask, and the old ones of the rest."""
        batcher, count = self.batcher, len(self.each)
        outer = batcher.active
        batcher.active = outer if mask is None else mask
        new = self.values(batcher.block(self.body, self.rows(values)))
        batcher.active = outer
        if mask is not None:
            for place, (old, value) in enumerate(zip(values, new, strict=False)):
                if self.each[place] and place not in self.same:
                    new[place] = _kept(batcher, mask, old, value)
            for place, old in zip(self.copied, values[count:], strict=True):
                new.append(batcher.where(mask, batcher.full(Row(new[place], False)), old))
        return new

    def run(self, condition: ops.Body, body: ops.Body, carries: Sequence[ir.Value] = ()) -> list[Row]:
        """The loop's results; there may be further carries behind its own."""
        made = while_ops.loop([*self.carries, *carries], condition, body)
        rows = self.rows(made)
        for place, value in zip(self.copied, made[len(rows) :], strict=False):
            rows[place] = Row(value, True)
        return rows


def while_(batcher: Batcher, op: ir.Operation) -> list[Row]:
    """See above."""
    loop = _Loop(batcher, op)
    if not loop.apart:
        return loop.run(lambda *values: [loop.holds(loop.rows(values)).value], lambda *values: loop.step(values))
    counter = _counter(batcher, loop)
    if counter is not None:
        return _counted(batcher, loop, counter)
    # Until the condition holds of no row; a row for which it did not hold stays finished.
    first = batcher.full(loop.holds(loop.rows(loop.carries)))
    if batcher.active is not None:
        first = stablehlo.and_(first, batcher.active)

    def body(*values: ir.Value) -> list[ir.Value]:
        *old, mask = values
        new = loop.step(old, mask)
        return [*new, stablehlo.and_(mask, batcher.full(loop.holds(loop.rows(new))))]

    return loop.run(lambda *xs: [ops.reduce("stablehlo.or", xs[-1], ops.constant(np.array(False)), [0])], body, [first])


class _Counter(NamedTuple):
    """A loop `while i < n` with an `i` that is the same for all rows and grows by a constant.

    Attributes:
        place: of `i` among the carries.
        limit: `n`, from outside of the loop.
        differences: the ops `n - i` of the body, where nothing else reads `i`.
    """

    place: int
    limit: ir.Value
    differences: list[ir.Operation]


def _counted(batcher: Batcher, loop: _Loop, counter: _Counter) -> list[Row]:
    """The loop, up to the greatest limit of the rows that count."""
    limit, start = batcher.row(counter.limit).value, loop.carries[counter.place]
    least = ops.constant(identity("maximum", dtype_of(limit)))
    limit = batcher.where_active(limit, batcher.repeated(least))
    greatest = ops.reduce("stablehlo.maximum", limit, least, [0])

    def body(*values: ir.Value) -> list[ir.Value]:
        index = values[counter.place]
        if not counter.differences:
            return loop.step(values, ops.compare("LT", batcher.repeated(index), limit))
        left = stablehlo.subtract(greatest, index)
        mask = ops.compare("GE", limit, batcher.repeated(stablehlo.add(left, start)))
        with batcher.given({op.results[0]: Row(left, False) for op in counter.differences}):
            return loop.step(values, mask)

    return loop.run(lambda *values: [ops.compare("LT", values[counter.place], greatest)], body)


def _counter(batcher: Batcher, loop: _Loop) -> _Counter | None:
    """The loop as a counted one, if it is that."""
    condition, body = loop.condition, loop.body
    compare = owner(returned_by(condition)[0])
    if compare is None or compare.name != "stablehlo.compare" or compare.block != condition:
        return None
    index, limit = compare.operands
    direction = direction_of(compare)
    if direction == "GT":
        index, limit = limit, index
    places: dict[ir.Value, int] = {value: place for place, value in enumerate(condition.arguments)}
    place = places.get(index)
    step = None if place is None else increment(returned_by(body)[place], body.arguments[place], _integer)
    if direction not in ("LT", "GT") or place is None or loop.each[place] or step is None or step < 1:
        return None
    names: list[ir.Value] = []
    if limit in places:
        if places[limit] not in loop.same:
            return None
        names = [body.arguments[places[limit]]]
        limit = loop.op.operands[places[limit]]
    made = owner(limit)
    if (made is not None and made.block == condition) or not batcher.row(limit).each:
        return None
    return _Counter(place, limit, _differences(loop, place, [*names, limit]) if step == 1 else [])


def _integer(value: ir.Value) -> int | None:
    found = constant(value)
    return None if found is None or found.ndim or found.dtype.kind not in "iu" else int(found)


def _differences(loop: _Loop, place: int, limits: Sequence[ir.Value]) -> list[ir.Operation]:
    """The ops `n - i` of the body, if nothing reads `i` but these and the next `i`."""
    argument = loop.body.arguments[place]
    following = owner(returned_by(loop.body)[place])
    if users(loop.op.results[place]) or len(users(loop.condition.arguments[place])) != 1:
        return []
    found = [user for user in users(argument) if user != following]
    for user in found:
        is_difference = user.name == "stablehlo.subtract" and user.operands[1] == argument
        if not is_difference or user.operands[0] not in limits or user.block != loop.body:
            return []
    return found if following is not None and len(users(following.results[0])) == 1 else []


def _kept(batcher: Batcher, mask: ir.Value, old: ir.Value, new: ir.Value) -> ir.Value:
    """A carry's next value in the rows of a mask, the old one in the rest (of an update, in the part it writes)."""
    writes: list[ir.Operation] = []
    value = new
    while value != old and (made := owner(value)) is not None and made.name == "stablehlo.dynamic_update_slice":
        writes.append(made)
        value = made.operands[0]
    if not writes or value != old or ops.is_open(*[write.operands[1] for write in writes]):
        return batcher.where(mask, new, old)
    for write in writes:
        array, part, *starts = write.operands
        with ir.InsertionPoint(write):
            before = ops.dynamic_slice(array, starts, sizes_of(part))
            write.operands[1] = batcher.where(mask, part, before)
    return new


# ---- branches and calls ----------------------------------------------------------------------------------------


def branches(batcher: Batcher, op: ir.Operation) -> list[Row]:
    """`if` and `case`."""
    selector = batcher.row(op.operands[0])
    blocks = [region.blocks[0] for region in op.regions]
    if selector.each:
        return _selected(batcher, op, selector.value, blocks)
    each = _of_branches(batcher, op, False, {})
    types = [batcher.type_of(result) if flag else result.type for result, flag in zip(op.results, each, strict=True)]
    made = ir.Operation.create(op.name, results=types, operands=[selector.value], regions=len(blocks))

    def branch(block: ir.Block) -> Callable[[], list[ir.Value]]:
        def returned() -> list[ir.Value]:
            found = batcher.block(block, [])
            return [batcher.full(row) if flag else row.value for row, flag in zip(found, each, strict=True)]

        return returned

    for region, block in zip(made.regions, blocks, strict=True):
        ops.fill(region, [], branch(block))
    return [Row(value, flag) for value, flag in zip(made.results, each, strict=True)]


def _selected(batcher: Batcher, op: ir.Operation, selector: ir.Value, blocks: Sequence[ir.Block]) -> list[Row]:
    """All branches, and of each row the results of its own."""
    outer = batcher.active
    found: list[ir.Value] = []
    for number in reversed(range(len(blocks))):
        mask = _chosen(op, selector, number, len(blocks))
        batcher.active = mask if outer is None else stablehlo.and_(mask, outer)
        values = [batcher.full(row) for row in batcher.block(blocks[number], [])]
        found = [batcher.where(mask, x, y) for x, y in zip(values, found, strict=True)] if found else values
    batcher.active = outer
    return [Row(value, True) for value in found]


def _chosen(op: ir.Operation, selector: ir.Value, number: int, count: int) -> ir.Value:
    """The rows that take a branch; a number that no branch has means the last one."""
    if op.name == "stablehlo.if":
        return selector if number == 0 else stablehlo.not_(selector)
    if number < count - 1:
        return ops.compare("EQ", selector, ops.filled(selector, number))
    below = ops.compare("LT", selector, ops.filled(selector, 0))
    return stablehlo.or_(below, ops.compare("GE", selector, ops.filled(selector, number)))


def call_(batcher: Batcher, op: ir.Operation) -> list[Row]:
    """A call's ops stand where it stood; what a library does for many matrices stays its own function."""
    symbol = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
    assert batcher.module is not None
    function = next(
        opened.operation for opened in batcher.module.body.operations if symbol_of(opened.operation) == symbol
    )
    rows = [batcher.row(value) for value in op.operands]
    block = function.regions[0].blocks[0]
    if not any(row.each for row in rows):
        return batcher.same(op)
    if "hlograph.implements" not in function.attributes:
        return batcher.block(block, rows)
    types = [batcher.type_of(argument) for argument in block.arguments]
    name = free_symbol(batcher.module, f"{symbol}_batch")
    outer = batcher.active, batcher.size

    def body(*values: ir.Value) -> list[ir.Value]:
        batcher.active, batcher.size = None, ops.size(values[0], 0)
        return [batcher.full(row) for row in batcher.block(block, [Row(x, True) for x in values])]

    with ir.InsertionPoint(batcher.module.body):
        attributes = {"hlograph.implements": function.attributes["hlograph.implements"]}
        add_function(name, types, body, sym_visibility=ir.StringAttr.get("private"), **attributes)
    batcher.active, batcher.size = outer
    results = [batcher.type_of(result) for result in op.results]
    return [Row(value, True) for value in call(name, results, [batcher.full(row) for row in rows])]


CONTROL.update(
    {
        "stablehlo.while": while_,
        "stablehlo.if": branches,
        "stablehlo.case": branches,
        "func.call": call_,
    }
)
