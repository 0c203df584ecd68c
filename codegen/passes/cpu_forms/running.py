"""running_loop: running sums, products, maxima or minima of many columns are a loop that carries them.

    before  %c = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = [1000, 1], padding = [[999, 0], [0, 0]]}>
    after   %acc, %err, %c = stablehlo.while(%i, %acc, %err, %out)
              do: %row = dynamic_slice %x, %i, 0;  %acc1 = add %acc, %row;  %err1 = add %err, (what rounding took)
                  %sum = add %acc1, %err1;  %out1 = dynamic_update_slice %out, %sum, %i, 0

In: a `reduce_window` with a window as long as the one axis that it runs along, forwards (what `cumsum` is) or backwards
(its gradient). Preconditions: static shapes, one array, an init that leaves values as they are, and enough elements
that lie next to each other in a step; where there are fewer, XLA's form is as fast. Rounding: XLA's form adds in
blocks. In order, errors would add up with the steps. Hence floats are accumulated in float64, and what rounding takes
from a float64 sum is added up beside it, and added to each result.
"""

from __future__ import annotations

import math

import numpy as np

from ...ir import ops, while_ops
from ...ir.attributes import integers
from ...ir.bindings import ir, stablehlo
from ...ir.kinds import identity, reduction
from ...ir.refused import require
from ...ir.values import constant, dtype_of, static_shape

# Along fewer elements, or with fewer behind each, XLA's form is as fast.
_LEAST = 32
_LEAST_COLUMNS = 16

_MONOIDS = ("add", "multiply", "maximum", "minimum", "and", "or")


def running_loop(op: ir.Operation) -> ir.Value | None:
    """A `reduce_window` over all that comes before is a loop with a running value."""
    if len(op.operands) != 2:
        return None
    x, init = op.operands
    shape, window = static_shape(x), integers(op, "window_dimensions")
    along = [axis for axis, size in enumerate(window) if size != 1]
    if len(along) != 1:
        return None
    axis = along[0]
    size = shape[axis]
    forward = _padding(op, len(shape), axis, size)
    if forward is None or window[axis] != size:
        return None
    name = reduction(op)
    monoid = name.partition(".")[2]
    require(monoid in _MONOIDS, f"it combines elements by {name}")
    found, dtype = constant(init), dtype_of(x)
    require(dtype.kind in "fiub" and dtype.itemsize <= 8, f"elements are of {dtype}")
    require(
        found is not None and found.ndim == 0 and found == identity(monoid, dtype),
        f"it does not start from the value that {name} leaves others unchanged by",
    )
    require(size >= _LEAST, f"{size} elements are fewer than {_LEAST}, for which XLA's form is as fast")
    columns = math.prod(shape[axis + 1 :])
    require(
        columns >= _LEAST_COLUMNS,
        f"{columns} elements lie next to each other, fewer than {_LEAST_COLUMNS}, for which XLA's form is as fast",
    )
    require(np.prod(shape, dtype=np.int64) < 2**31 and all(shape), "it has no elements, or more than an int32 counts")
    line = [1 if k == axis else each for k, each in enumerate(shape)]
    zero = ops.index(0)

    summed = monoid == "add" and dtype.kind == "f"
    like = ops.full_like(x, 0, line)

    def step(index: ir.Value, carries: list[ir.Value]) -> list[ir.Value]:
        *running, out = carries
        place = index if forward else stablehlo.subtract(ops.index(size - 1), index)
        starts = [place if k == axis else zero for k in range(len(shape))]
        element = ops.dynamic_slice(x, starts, line)
        if summed:
            running = while_ops.add_to_sum(running, element)
        else:
            running = [ops.elementwise(name, running[0], ops.convert(element, running[0]))]
        value = while_ops.end_sum(running, like)
        return [*running, ops.dynamic_update_slice(out, value, starts)]

    kind = while_ops.wider(dtype) if monoid == "multiply" else dtype
    first = ops.broadcast_in_dim(ops.convert(ops.reshape(init, []), kind), line, [])
    carries = while_ops.start_sum(like) if summed else [first]
    return while_ops.counted(0, size, 1, [*carries, ops.full_like(x, 0, shape)], step)[-1]


def _padding(op: ir.Operation, rank: int, axis: int, size: int) -> bool | None:
    """Whether the window holds what comes before (True) or behind (False) an element; None for anything else."""
    for name in ("window_strides", "base_dilations", "window_dilations"):
        if any(each != 1 for each in integers(op, name)):
            return None
    if "padding" not in op.attributes:
        return None
    amounts = np.array(ir.DenseElementsAttr(op.attributes["padding"])).reshape(rank, 2)
    for forward in (True, False):
        wanted = np.zeros((rank, 2), np.int64)
        wanted[axis, 0 if forward else 1] = size - 1
        if (amounts == wanted).all():
            return forward
    return None
