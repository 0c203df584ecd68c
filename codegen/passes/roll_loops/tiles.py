"""Rows of arrays with a leading axis of repetitions, and slices of an array that follow one another.

In: values. Out: values, made at the current place. `tiles` and `put_together` are inverse: what slices of the
repetitions are together, and what the sum of pads of them is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir import ops
from ...ir.bindings import ir, stablehlo
from ...ir.values import sizes_of
from .plan import tiled

Array = np.ndarray[Any, Any]


def rows(value: ir.Value, first: int, count: int, step: int) -> ir.Value:
    """Elements `first`, `first + step`, ... along the leading axis; the step may be negative, not zero."""
    inner = sizes_of(value)[1:]
    if count == 1:
        step = 1
    low = first if step > 0 else first + (count - 1) * step
    high = low + (count - 1) * abs(step) + 1
    found = ops.slice(value, [low] + [0] * len(inner), [high, *inner], [abs(step)] + [1] * len(inner))
    return found if step > 0 else ops.reverse(found, 0)


def affine(number: ir.Value, first: int, step: int) -> ir.Value:
    """`first + step * number`."""
    if step != 1:
        number = stablehlo.multiply(number, ops.index(step))
    if first:
        number = stablehlo.add(number, ops.index(first))
    return number


def tiles(array: ir.Value, places: Array, sizes: Sequence[int]) -> ir.Value:
    """Slices of an array at places that follow one another, (count, ...)."""
    axis, step = tiled(places, list(sizes)) or (0, 1)
    count, width, distance = len(places), sizes[axis], abs(step)
    low = [int(start) for start in places.min(axis=0)]
    high = [start + size for start, size in zip(low, sizes, strict=True)]
    high[axis] = int(places[:, axis].max()) + width
    strides = [1] * len(low)
    if width == 1:
        strides[axis] = distance
    taken = ops.slice(array, low, high, strides)
    if width > 1 and distance > width:
        filling = ops.scalar(0, array)
        more = [0] * len(low)
        more[axis] = distance - width
        taken = ops.pad(taken, filling, [0] * len(low), more)
    each = 1 if width == 1 else distance
    found = ops.reshape(taken, [*sizes[:axis], count, each, *sizes[axis + 1 :]])
    found = ops.transpose(found, [axis, *[other for other in range(len(low) + 1) if other != axis]])
    found = rows(found, 0, count, 1) if step > 0 else rows(found, count - 1, count, -1)
    return ops.slice(found, [0] * (len(low) + 1), [count, *sizes], [1] * (len(low) + 1))


def put_together(array: ir.Value, places: Array, whole: Sequence[int]) -> ir.Value:
    """The sum of pads at places that do not overlap: the inverse of `tiles`, zero where there are none."""
    sizes = sizes_of(array)[1:]
    axis, step = tiled(places, sizes) or (0, 1)
    count, distance, rank = len(places), abs(step), len(sizes)
    filling = ops.scalar(0, array)
    if step < 0:
        array = rows(array, count - 1, count, -1)
    more = [0] * (rank + 1)
    more[axis + 1] = distance - sizes[axis]
    array = ops.pad(array, filling, [0] * (rank + 1), more)
    array = ops.transpose(array, [*range(1, axis + 1), 0, *range(axis + 1, rank + 1)])
    array = ops.reshape(array, [*sizes[:axis], count * distance, *sizes[axis + 1 :]])
    low = [int(start) for start in places.min(axis=0)]
    taken = sizes_of(array)
    return ops.pad(array, filling, low, [full - one - size for full, one, size in zip(whole, low, taken, strict=True)])


def chain_total(entry: ir.Value, parts: Sequence[ir.Value]) -> ir.Value:
    """What a sum started from, and all that was added to it."""
    total = parts[0]
    for part in parts[1:]:
        total = stablehlo.add(total, part)
    return stablehlo.add(entry, total)
