"""A sum of pads as a concatenate: what `simplify`, `cpu_forms` and `roll_loops` make of an add.

In: the last `add` of a tree of adds, and what decides whether it pays. Out: the concatenate. Preconditions and
rounding: `simplify.py` (`sum_of_pads`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise

import numpy as np

from ..analysis.known import known, zero_splat
from ..ir.bindings import ir, stablehlo
from ..ir.ops import concatenate, full_like, pad, positive_zeros
from ..ir.refused import Refused, needed, require
from ..ir.values import dtype_of, integers, owner, shape_of, single_use, static_shape
from .rewriting import keeps_bits

Box = tuple[tuple[int, int], ...]
_WRITE = "stablehlo.dynamic_update_slice"
SERIES = 8  # this many parts are steps of one loop


def joined_pads(op: ir.Operation, check: Callable[[Collection[Box], tuple[int, ...]], object]) -> ir.Value | None:
    """The concatenate in an add's place; None where it is no sum of pads.

    Args:
        op: the add.
        check: is called with where the pads are, and with the shape of the sum.

    Raises:
        Refused: by `check`, or because of the pads.
    """
    if _inner(op):
        return None
    pads, others = _terms(op)
    if len(pads) < 2:
        return None
    shape = static_shape(op.results[0])
    padding = _padding(pads)
    found = _by_place([_part(pad) for pad in pads])
    most = max(map(len, found.values()))
    if keeps_bits():
        require(dtype_of(op.results[0]).kind != "c", "complex numbers, where 0.0 and -0.0 come in pairs")
        require(
            (not others and most <= 2) or (len(others) == 1 and most == 1),
            f"{len(others)} terms are no pads, and up to {most} pads fill the same places: to add them in another "
            "order changes rounding",
        )
    check(found, shape)
    parts = {box: functools.reduce(stablehlo.add, values) for box, values in found.items()}
    made = _assemble(parts, list(parts), 0, tuple((0, size) for size in shape), padding)
    if keeps_bits() and not np.signbit(padding):
        made = positive_zeros(made)
    for other in others:
        made = stablehlo.add(other, made)
    return made


def _inner(op: ir.Operation) -> bool:
    following = next(iter(op.results[0].uses), None)
    if following is None or following.owner.operation.name != "stablehlo.add" or not single_use(op.results[0]):
        return False
    return bool(following.owner.operation.block == op.block)


def _terms(root: ir.Operation) -> tuple[list[ir.Operation], list[ir.Value]]:
    """The tree's pads and its other terms, from left to right."""
    pads, others = [], []
    pending = [root.operands[1], root.operands[0]]
    while pending:
        value = pending.pop()
        op = owner(value)
        if op is None:
            others.append(value)
        elif op.name == "stablehlo.add" and op.block == root.block and single_use(value):
            pending += [op.operands[1], op.operands[0]]
        elif op.name == "stablehlo.pad" or (op.name == _WRITE and zero_splat(op.operands[0]) is not None):
            pads.append(op)
        else:
            others.append(value)
    return pads, others


def _padding(pads: Sequence[ir.Operation]) -> float | int:
    # Mostly they are one and the same value.
    values = {pad.operands[1 if pad.name == "stablehlo.pad" else 0] for pad in pads}
    found = {str(zero_splat(value)) for value in values}
    require("None" not in found, "a pad is filled with something else than 0")
    require(len(found) == 1, "some pads are filled with 0.0, others with -0.0")
    return -0.0 if found == {"-0.0"} else 0


def _part(pad: ir.Operation) -> tuple[Box, ir.Value]:
    """What is in the sum at some places: for each axis where it begins and ends, and the value."""
    if pad.name == _WRITE:
        box = []
        for place, (size, limit) in enumerate(
            zip(static_shape(pad.operands[1]), static_shape(pad.results[0]), strict=True)
        ):
            start = needed(known(pad.operands[2 + place]), "the place of a dynamic_update_slice is not a constant")
            first = min(max(int(start), 0), limit - size)
            box.append((first, first + size))
        return tuple(box), pad.operands[1]
    require(None not in shape_of(pad.operands[0]), f"{pad.operands[0].type} has a dynamic dimension")
    low, high = integers(pad, "edge_padding_low"), integers(pad, "edge_padding_high")
    require(not any(integers(pad, "interior_padding")), "a pad has padding between its elements (interior)")
    require(min((0, *low, *high)) == 0, "a pad cuts off elements (negative padding)")
    sizes = static_shape(pad.operands[0])
    return tuple((start, start + size) for start, size in zip(low, sizes, strict=True)), pad.operands[0]


def _by_place(parts: Sequence[tuple[Box, ir.Value]]) -> dict[Box, list[ir.Value]]:
    """The values for each box, once the boxes are known to be disjoint; empty ones add nothing."""
    found: dict[Box, list[ir.Value]] = {}
    for box, value in parts:
        if all(start < stop for start, stop in box):
            found.setdefault(box, []).append(value)
    require(found, "the pads are all of empty arrays")
    check_tiling(list(found), 0)
    return found


def _groups(boxes: Sequence[Box], axis: int) -> list[tuple[tuple[int, int], list[Box]]]:
    found: dict[tuple[int, int], list[Box]] = {}
    for box in boxes:
        found.setdefault(box[axis], []).append(box)
    return sorted(found.items())


def check_tiling(boxes: Sequence[Box], axis: int) -> None:
    """Refuses boxes that are not a grid of grids: along an axis two of them are the same or apart."""
    if axis == len(boxes[0]):
        return
    end, last = 0, None
    for (start, stop), group in _groups(boxes, axis):
        if last is not None and start < end:
            raise Refused(_overlap(last, group[0], axis))
        end, last = stop, group[0]
        check_tiling(group, axis + 1)


def _overlap(one: Box, other: Box, axis: int) -> str:
    def place(box: Box) -> str:
        return f"[{', '.join(f'{start}:{stop}' for start, stop in box)}]"

    both = all(a < d and c < b for (a, b), (c, d) in zip(one, other, strict=True))
    if both:
        return f"the pads' supports overlap: {place(one)} and {place(other)}"
    return f"the pads' supports {place(one)} and {place(other)} overlap along axis {axis} but are not the same there"


def _assemble(
    parts: Mapping[Box, ir.Value], boxes: Sequence[Box], axis: int, whole: Box, padding: float | int
) -> ir.Value:
    """The sum in boxes, with zeros between them, from the axis on; they are the same along the axes before it."""
    if axis == len(whole):
        return parts[boxes[0]]
    pieces: list[ir.Value] = []
    end = whole[axis][0]
    like = parts[boxes[0]]

    def gap(start: int, stop: int, inside: Box) -> None:
        if stop > start:
            sizes = [b - a for a, b in inside[:axis]] + [stop - start] + [b - a for a, b in whole[axis + 1 :]]
            pieces.append(full_like(like, padding, sizes))

    groups = _groups(boxes, axis)
    gaps = {after[0][0] - before[0][1] for before, after in pairwise(groups)}
    # Of many at equal distances each has its own gap behind it: `roll_loops` finds what is the same in all.
    behind = gaps.pop() if len(gaps) == 1 and len(groups) >= SERIES else 0
    for (start, stop), group in groups:
        gap(end, start, group[0])
        piece = _assemble(parts, group, axis + 1, whole, padding)
        end = stop
        if behind and stop != groups[-1][0][1]:
            none = [0] * len(whole)
            end, high = stop + behind, [behind * (place == axis) for place in range(len(whole))]
            piece = pad(piece, full_like(like, padding, ()), none, high)
        pieces.append(piece)
    gap(end, whole[axis][1], boxes[0])
    return concatenate(pieces, axis)
