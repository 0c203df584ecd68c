"""scatter_to_pad: a scatter at evenly spaced places into one number, or over all places, needs no scatter.

    before  %z = stablehlo.constant dense<0.0> : tensor<6x3xf32>
            %s = "stablehlo.scatter"(%z, [[2], [3]], %u) ({ add })
    after   %s = stablehlo.pad %u, %zero, low = [2, 0], high = [2, 0], interior = [0, 0]
    before  %s = "stablehlo.scatter"(%x, [[0], [1], ..., [5]], %u) ({ overwrite })         (all rows of %x)
    after   %s = %u

In: a scatter of one array that adds or overwrites, at known indices. Into a constant of one number it becomes a pad
(evenly spaced rows: with interior padding); where it overwrites all places, the updates themselves. Preconditions:
static shapes, indices in bounds, no batching dimensions. What adds to an array that is not constant, or overwrites a
part of it, is left alone: XLA does that in place, as fast or faster. Rounding: none, but nothing is added to 0.0 any
more, so that -0.0 stays -0.0; with `reassociate=false`, 0.0 is written in its place.
"""

from __future__ import annotations

import numpy as np

from ...analysis.affine import Even, even
from ...analysis.integers import zero_splat
from ...ir.attributes import scatter_numbers
from ...ir.bindings import ir
from ...ir.ops import full_like, pad, positive_zeros, reshape, reverse, transpose
from ...ir.refused import require
from ...ir.values import constant, dtype_of, static_shape
from ..rewriting import keeps_bits, rewrite


@rewrite("stablehlo.scatter", exact=True)
def scatter_to_pad(op: ir.Operation) -> ir.Value | None:
    """A scatter over consecutive rows is a pad, if it is into a constant; or the updates, if it overwrites all."""
    if len(op.operands) != 3:
        return None
    x, indices, updates = op.operands
    sizes, given = static_shape(x), static_shape(updates)
    adds = _adds(op)
    numbers = scatter_numbers(op.attributes["scatter_dimension_numbers"])
    require(not list(numbers.input_batching_dims), "the scatter has batching dimensions")
    inserted, mapped = set(numbers.inserted_window_dims), list(numbers.scattered_dims_to_operand_dims)
    places = list(numbers.update_window_dims)
    axes = [axis for axis in range(len(sizes)) if axis not in inserted]
    window = [1] * len(sizes)
    for axis, place in zip(axes, places, strict=True):
        window[axis] = given[place]
    require(all(given) and all(sizes), "the scatter has no elements")
    found = even(indices, numbers.index_vector_dim, mapped, sizes, window, clamp=False)
    box = list(window)
    if found.count > 1:
        box[found.axis] = found.count
    whole = tuple(box) == sizes
    filled = constant(x)
    single = filled is not None and filled.ndim == 0
    require(
        single or (whole and not adds),
        f"it {'adds to' if adds else 'overwrites a part of'} an array that is not constant, which XLA does in place",
    )
    zero = zero_splat(x)
    require(not adds or zero is not None, "it adds to a constant that is not 0")
    drops_zero = adds and zero is not None and not np.signbit(zero)
    require(
        not (drops_zero and keeps_bits() and dtype_of(x).kind == "c"),
        "complex numbers, where 0.0 and -0.0 come in pairs",
    )
    made = _in_place(updates, found, axes, places, box)
    if drops_zero and keeps_bits():
        made = positive_zeros(made)
    if whole:
        return made
    assert filled is not None
    low, high, interior = [], [], []
    for axis, (size, count) in enumerate(zip(sizes, box, strict=True)):
        moves = found.count > 1 and axis == found.axis
        first = found.first if moves else found.starts[axis]
        step = abs(found.step) if moves else 1
        low.append(first)
        high.append(size - first - ((count - 1) * step + 1))
        interior.append(step - 1)
    return pad(made, full_like(x, filled.item(), ()), low, high, interior)


def _adds(op: ir.Operation) -> bool:
    """Whether it adds its updates, rather than overwrites with them."""
    block = op.regions[0].blocks[0]
    body = [inner.operation for inner in block.operations]
    if len(body) == 1:
        require(body[0].operands[0] == block.arguments[1], "it keeps what was there")
        return False
    require(
        len(body) == 2
        and body[0].name == "stablehlo.add"
        and set(body[0].operands) == set(block.arguments)
        and body[1].operands[0] == body[0].results[0],
        f"it combines by {' then '.join(inner.name for inner in body[:-1])}, and not by stablehlo.add",
    )
    return True


def _in_place(updates: ir.Value, found: Even, axes: list[int], places: list[int], box: list[int]) -> ir.Value:
    """The updates with the array's axes, in the order of places."""
    counting = [place for place in range(len(static_shape(updates))) if place not in places]
    made = updates
    if found.count > 1:
        # Counting axes as one, before the axis that it is; that axis, if it is a window's of size 1, goes.
        made = transpose(made, [*counting, *places])
        sizes = [static_shape(updates)[place] for axis, place in zip(axes, places, strict=True) if axis != found.axis]
        made = reshape(made, [found.count, *sizes])
        before = sum(1 for axis in axes if axis < found.axis)
        rest = list(range(1, len(sizes) + 1))
        made = transpose(made, [*rest[:before], 0, *rest[before:]])
    made = reshape(made, box)
    return reverse(made, found.axis) if found.count > 1 and found.step < 0 else made
