"""Loops in the form that IREE compiles, and right: a flag decides, every carry changes, arrays travel flat.

    before  while(%x : ?x?, %fixed, %y : ?x?, %i)  cond { reduce(compare LT ...) }  do { ... }
    after   while(%go, %i, %m, %n, ..., %x : ?, %y : ?)  cond { return %go }        do { ... }

IREE 3.13 gives wrong results of loops that carry arrays with two open axes, or whose condition reads arrays. So arrays
travel flat, beside their sizes, and a flag is computed at the body's end. Where carries are passed on as they are, and
where a result's size is known without the carry, its compiler refuses the module.
Rounding: none; the same ops run in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...errors import PassError
from ...ir import open_ops as op_
from ...ir import ops
from ...ir.bindings import DYNAMIC, ir, stablehlo
from ...ir.clone import clone_block
from ...ir.values import ancestors, owner, shape_of
from ...ir.walk import returned_by
from ...ir.while_ops import loop
from .shapes import read


def plain_loop(op: ir.Operation) -> list[ir.Value] | None:
    """A loop whose condition is computed at the end of its body, with carries in the order that IREE takes."""
    condition, body = (region.blocks[0] for region in op.regions)
    if DONE in op.attributes:
        return None
    returned = returned_by(body)
    fixed = {place: op.operands[place] for place, value in enumerate(returned) if value == body.arguments[place]}
    keep = [place for place in range(len(returned)) if place not in fixed]
    _check(op, [op.operands[place] for place in keep])
    heavy = _computes_with_arrays(condition)
    inits = [op.operands[place] for place in keep]
    if not keep or not (fixed or heavy or any(map(_open_axes, inits))):
        return None
    carries = _Carries(inits)

    def made_of(block: ir.Block, values: Sequence[ir.Value]) -> list[ir.Value]:
        known = {block.arguments[place]: value for place, value in fixed.items()}
        known |= {block.arguments[place]: value for place, value in zip(keep, values, strict=True)}
        return clone_block(block, known)[0]

    def test(*parts: ir.Value) -> list[ir.Value]:
        return [parts[0]] if heavy else made_of(condition, carries.whole(parts))

    def step(*parts: ir.Value) -> list[ir.Value]:
        made = made_of(body, carries.whole(parts[heavy:]))
        following = [made[place] for place in keep]
        flag = made_of(condition, following) if heavy else []
        return [*flag, *map(_sized_as, parts[heavy:], carries.parts(following))]

    starts = [*(made_of(condition, inits) if heavy else []), *carries.parts(inits)]
    results = loop(starts, test, step)
    made = owner(results[0])
    assert made is not None, "a result of the loop"
    made.attributes[DONE] = ir.UnitAttr.get()
    results = results[heavy:]
    changed = dict(zip(keep, carries.whole(results), strict=True))
    return [changed.get(place, fixed.get(place, op.operands[place])) for place in range(len(returned))]


DONE = "hlograph.plain"
TESTED = "hlograph.tested"


def _check(op: ir.Operation, carries: Sequence[ir.Value]) -> None:
    """Refuses a loop of the kind that IREE computes wrong, or does not compile, in ways that nothing foretells.

    Raises:
        PassError: it carries several open arrays, in a function that no test has shown to be right.
    """
    count = sum(_open_axes(value) > 0 for value in carries)
    if count > 1 and not any(TESTED in each.attributes for each in ancestors(op)):
        raise PassError(
            f"for_iree: IREE 3.13 computes loops wrong that carry several arrays of unknown sizes, and this one (at "
            f"{op.location}) carries {count}; give the sizes first: pass `specialize`, with a value for each"
        )


def _computes_with_arrays(condition: ir.Block) -> bool:
    """Whether a loop's condition reads or makes an array on its way."""
    inside = [op.operation for op in condition.operations]
    return any(len(shape_of(value)) > 0 for op in inside for value in (*op.operands, *op.results))


def _open_axes(value: ir.Value) -> int:
    return shape_of(value).count(None)


def _sized_as(carry: ir.Value, value: ir.Value) -> ir.Value:
    """A value in such a form that its size is the carry's: a choice that never falls on the carry."""
    if not _open_axes(carry):
        return value
    never = ops.compare("EQ", op_.number(op_.size(carry, 0)), ops.constant(np.int64(2**61 - 1)))
    return stablehlo.select(never, carry, value)


class _Carries:
    """Carries, and the parts that they travel as."""

    def __init__(self, inits: Sequence[ir.Value]) -> None:
        self._types = [value.type for value in inits]
        self._flat = [place for place, value in enumerate(inits) if _open_axes(value) > 1]
        counts = [_open_axes(part) for parts in self._split(inits) for part in parts]
        self._order = sorted(range(len(counts)), key=lambda place: counts[place])

    def parts(self, values: Sequence[ir.Value]) -> list[ir.Value]:
        """What travels: open arrays in a row, behind what is not open."""
        split = [part for parts in self._split(values) for part in parts]
        return [split[place] for place in self._order]

    def whole(self, parts: Sequence[ir.Value]) -> list[ir.Value]:
        """The carries of what travels."""
        split = dict(zip(self._order, parts, strict=True))
        following = iter(split[place] for place in range(len(split)))
        values = []
        for place, type_ in enumerate(self._types):
            value = next(following)
            if place in self._flat:
                known = ir.RankedTensorType(type_).shape
                shape = [next(following) if size == DYNAMIC else size for size in known]
                value = read(value, shape, type_)
            values.append(value)
        return values

    def _split(self, values: Sequence[ir.Value]) -> list[list[ir.Value]]:
        return [self._flattened(value) if place in self._flat else [value] for place, value in enumerate(values)]

    @staticmethod
    def _flattened(value: ir.Value) -> list[ir.Value]:
        """All elements in a row, and the open sizes."""
        sizes = op_.sizes(value)
        total: op_.Size = 1
        for size in sizes:
            total = op_.compute("multiply", total, size)
        flat = read(value, [total], ops.tensor_type(value, [DYNAMIC]))
        return [flat, *[op_.number(size) for size in sizes if not isinstance(size, int)]]
