"""Along which axes an op can be computed part by part.

In: an op. Out: for each operand, and each of its axes, the axis of the results whose places depend on that place alone
(None: there is none), and the axes that the op sums up. Decision to know: what cuts, adds or turns elements round along
an axis has no such axis there, as a part of its result is no op on the same part of its operand.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ...ir.attributes import dot_numbers, integers
from ...ir.axes import Axes, result_axes
from ...ir.bindings import ir
from ...ir.kinds import CHLO, STABLEHLO, having, monoid_of
from ...ir.types import is_static
from ...ir.values import constant, owner, sizes_of

_ELEMENTWISE = STABLEHLO | CHLO
_ORDERED = having("ordered")


@dataclass(frozen=True)
class Form:
    """How an op treats axes.

    Attributes:
        operands: for each operand, the results' axis for each of its axes.
        summed: for each operand, its axes that are summed up; those of a dot's two operands belong together, in order.
        monoid: what they are summed up with; "" where nothing is.
        ordered: whether sums in any order have the same bits.
    """

    operands: tuple[Axes, ...]
    summed: tuple[tuple[int, ...], ...] = ()
    monoid: str = ""
    ordered: bool = True


def form_of(op: ir.Operation) -> Form | None:
    """How an op treats axes; None where it is not known to be computable part by part."""
    if not op.results or not all(is_static(x.type) for x in (*op.results, *op.operands)):
        return None
    if any("shard" in name for name in _names(op)):
        return None
    if op.name in _ELEMENTWISE and not op.regions:
        return _elementwise(op)
    maker = _FORMS.get(op.name)
    return None if maker is None else maker(op)


def _names(op: ir.Operation) -> list[str]:
    return [each if isinstance(each, str) else each.name for each in op.attributes]


def _elementwise(op: ir.Operation) -> Form | None:
    shape = sizes_of(op.results[0])
    found: list[Axes] = []
    for operand in op.operands:
        own = sizes_of(operand)
        if own and own != shape:
            return None
        found.append(list(range(len(own))))
    return Form(tuple(found))


def is_free(value: ir.Value) -> bool:
    """Whether every part of an array can be made from nothing: one number everywhere, or a count along an axis."""
    op = owner(value)
    if op is None:
        return False
    if op.name == "stablehlo.broadcast_in_dim":
        return not sizes_of(op.operands[0])
    if op.name == "stablehlo.constant":
        found = constant(value)
        return found is not None and found.ndim == 0 and found.dtype.kind != "c"
    return op.name == "stablehlo.iota"


def _reshape(op: ir.Operation) -> Form:
    return Form((reshape_axes(sizes_of(op.operands[0]), sizes_of(op.results[0])),))


def reshape_axes(old: Sequence[int], new: Sequence[int]) -> Axes:
    """Where a reshape puts axes that it neither splits nor joins with others longer than 1."""
    places = {(math.prod(new[:axis]), size): axis for axis, size in enumerate(new) if size > 1}
    return [places.get((math.prod(old[:axis]), size)) for axis, size in enumerate(old)]


def _along_others(op: ir.Operation, changed: Sequence[int]) -> Form:
    """An op that does to each row along some axes what it does to every other row."""
    axes: Axes = [None if axis in changed else axis for axis in range(len(sizes_of(op.results[0])))]
    return Form(tuple(axes if sizes_of(operand) else [] for operand in op.operands))


def _changed_sizes(op: ir.Operation) -> Form:
    pairs = zip(sizes_of(op.operands[0]), sizes_of(op.results[0]), strict=True)
    return _along_others(op, [axis for axis, (old, new) in enumerate(pairs) if old != new])


def _pad(op: ir.Operation) -> Form:
    amounts = zip(*(integers(op, f"edge_padding_{side}") for side in ("low", "high")), strict=True)
    padded = [axis for axis, (low, high) in enumerate(amounts) if low or high]
    inner = [axis for axis, between in enumerate(integers(op, "interior_padding")) if between]
    return _along_others(op, padded + inner)


def _sort(op: ir.Operation) -> Form:
    return _along_others(op, [ir.IntegerAttr(op.attributes["dimension"]).value])


def _concatenate(op: ir.Operation) -> Form:
    return _along_others(op, [ir.IntegerAttr(op.attributes["dimension"]).value])


def _reduce(op: ir.Operation) -> Form:
    count = len(op.operands) // 2
    axes = result_axes(op)
    monoid = (monoid_of(op.regions[0].blocks[0]) if count == 1 else None) or ""
    summed = (integers(op, "dimensions"), ()) if monoid else ()
    return Form((axes,) * count + ([],) * count, summed, monoid, _keeps_bits(op, monoid))


def _keeps_bits(op: ir.Operation, monoid: str) -> bool:
    element = ir.RankedTensorType(op.results[0].type).element_type
    return f"stablehlo.{monoid}" in _ORDERED or isinstance(element, ir.IntegerType)


def _dot(op: ir.Operation) -> Form:
    numbers = dot_numbers(op.attributes["dot_dimension_numbers"])
    summed = tuple(numbers.lhs_contracting_dimensions), tuple(numbers.rhs_contracting_dimensions)
    return Form((result_axes(op, 0), result_axes(op, 1)), summed, "add", _keeps_bits(op, "add"))


_FORMS = {
    "stablehlo.broadcast_in_dim": lambda op: Form((result_axes(op),)),
    "stablehlo.concatenate": _concatenate,
    "stablehlo.dot_general": _dot,
    "stablehlo.pad": _pad,
    "stablehlo.reduce": _reduce,
    "stablehlo.reshape": _reshape,
    "stablehlo.reverse": lambda op: _along_others(op, integers(op, "dimensions")),
    "stablehlo.slice": _changed_sizes,
    "stablehlo.sort": _sort,
    "stablehlo.transpose": lambda op: Form((result_axes(op),)),
}
