"""gather_to_slice, known_select: a gather at evenly spaced places is a slice; a choice that is known is no choice.

    before  %i = stablehlo.iota dim = 0 : tensor<4x1xi64>
            %g = "stablehlo.gather"(%x, %i + 2) <{..., start_index_map = [0], slice_sizes = [1, 3]}>
    after   %g = stablehlo.slice %x [2:6, 0:3]
    before  %m = stablehlo.compare GE, %i, %zero                    (true everywhere)
            %s = stablehlo.select %m, %g, %nan
    after   %s = %g

In: indices that are known (`analysis/integers.py`): constants, iota and arithmetic on them. Strided and backward ones
become a slice with strides and a `reverse`. Preconditions: static shapes, no batching dimensions, indices that move
along one axis. Rounding: none, values are only copied. Indices out of bounds are clamped, as a gather does.
"""

from __future__ import annotations

from ...analysis.affine import even
from ...analysis.integers import known
from ...ir import ops
from ...ir.attributes import gather_numbers, integers
from ...ir.bindings import ir
from ...ir.refused import Refused, require
from ...ir.values import owner, static_shape
from ..rewriting import rewrite


@rewrite("stablehlo.gather", exact=True)
def gather_to_slice(op: ir.Operation) -> ir.Value:
    """A gather at evenly spaced indices is a slice, strided or reversed."""
    x, indices = op.operands
    sizes = static_shape(x)
    shape = static_shape(op.results[0])
    numbers = gather_numbers(op.attributes["dimension_numbers"])
    require(not list(numbers.operand_batching_dims), "the gather has batching dimensions")
    window = integers(op, "slice_sizes")
    found = even(indices, numbers.index_vector_dim, list(numbers.start_index_map), sizes, window, clamp=True)
    axis, offset = found.axis, list(numbers.offset_dims)
    batch = [place for place in range(len(shape)) if place not in offset]
    require(
        batch == list(range(batch[0], batch[0] + len(batch))) if batch else True,
        f"the result's axes {batch}, which count the indices, are not next to each other",
    )
    start, limit = list(found.starts), [first + size for first, size in zip(found.starts, window, strict=True)]
    stride = [1] * len(sizes)
    if found.count > 1:
        start[axis], limit[axis], stride[axis] = found.first, found.last + 1, abs(found.step)
    made = ops.slice(x, start, limit, stride)
    if found.count > 1 and found.step < 0:
        made = ops.reverse(made, axis)
    if found.count > 1:
        # The axis goes to where the result counts indices; the others stay in order.
        before = sum(1 for place in offset if place < batch[0])
        kept = [k for k in range(len(sizes)) if k not in set(numbers.collapsed_slice_dims) and k != axis]
        dropped = [k for k in range(len(sizes)) if k in set(numbers.collapsed_slice_dims) and k != axis]
        if axis not in set(numbers.collapsed_slice_dims):
            # It stays as an axis of size 1, which the reshape adds: count the offsets without it.
            place = sorted([*kept, axis]).index(axis)
            before -= place < before
        made = ops.transpose(made, [*dropped, *kept[:before], axis, *kept[before:]])
    return ops.reshape(made, shape)


@rewrite("stablehlo.select", exact=True)
def known_select(op: ir.Operation) -> ir.Value | None:
    """A `select` whose predicate is known to be the same everywhere is one of its operands."""
    predicate = op.operands[0]
    definer = owner(predicate)
    while definer is not None and definer.name in ("stablehlo.broadcast_in_dim", "stablehlo.reshape"):
        predicate = definer.operands[0]
        definer = owner(predicate)
    if definer is None or definer.name not in _TRUTH:
        return None
    found = known(predicate)
    if found is None or not found.size:
        return None
    if found.all():
        return op.operands[1]
    if not found.any():
        return op.operands[2]
    raise Refused("the predicate is known, but true in some places and false in others")


_TRUTH = frozenset({"stablehlo.constant", "stablehlo.compare", "stablehlo.and", "stablehlo.reduce", "stablehlo.not"})
