"""Where an op puts the axes of its operands.

In: an op that keeps axes apart. Out: for each axis of an operand the axis of the result that its elements lie along;
None where there is none (it is reduced, contracted, or stretched from size 1). Decision to know: along such an axis
elements may be cut off, added or turned round (`slice`, `pad`, `concatenate`, `reverse`); who asks looks at that.
"""

from __future__ import annotations

from collections.abc import Sequence

from .attributes import dot_numbers, integers
from .bindings import ir
from .kinds import having
from .values import shape_of

Axes = list[int | None]
Sides = tuple[Sequence[int], Sequence[int]]  # axes of the left operand and of the right one

_SAME = having("elementwise") | {f"stablehlo.{name}" for name in ("concatenate", "pad", "reverse", "slice")}


def result_axes(op: ir.Operation, operand: int = 0) -> Axes:
    """The result's axis for each axis of an operand.

    Raises:
        KeyError: the op is not known to keep axes apart.
    """
    shape = shape_of(op.operands[operand])
    if op.name in _SAME:
        return list(range(len(shape)))
    if op.name == "stablehlo.broadcast_in_dim":
        whole, axes = shape_of(op.results[0]), integers(op, "broadcast_dimensions")
        return [axis if size == whole[axis] else None for size, axis in zip(shape, axes, strict=True)]
    if op.name == "stablehlo.transpose":
        permutation = integers(op, "permutation")
        return [permutation.index(axis) for axis in range(len(shape))]
    if op.name == "stablehlo.reduce":
        reduced = integers(op, "dimensions")
        kept = [axis for axis in range(len(shape)) if axis not in reduced]
        return [kept.index(axis) if axis in kept else None for axis in range(len(shape))]
    if op.name == "stablehlo.dot_general":
        numbers = dot_numbers(op.attributes["dot_dimension_numbers"])
        contracting = numbers.lhs_contracting_dimensions, numbers.rhs_contracting_dimensions
        batching = numbers.lhs_batching_dimensions, numbers.rhs_batching_dimensions
        ranks = [len(shape_of(value)) for value in op.operands]
        return dot_axes(contracting, batching, ranks)[operand]
    raise KeyError(op.name)


def dot_axes(contracting: Sides, batching: Sides, ranks: Sequence[int]) -> tuple[Axes, Axes]:
    """Of a dot: axes of batches first, then what is left of the left side, then of the right one."""
    found: list[Axes] = []
    following = len(batching[0])
    for side, rank in enumerate(ranks):
        batch, gone, axes = list(batching[side]), set(contracting[side]), list[int | None]()
        for axis in range(rank):
            if axis in batch:
                axes.append(batch.index(axis))
            elif axis in gone:
                axes.append(None)
            else:
                axes.append(following)
                following += 1
        found.append(axes)
    return found[0], found[1]
