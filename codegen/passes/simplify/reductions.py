"""reduce_of_broadcast: what is broadcast only to be reduced is not broadcast.

    before  %b = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<4xf32>) -> tensor<4x64xf32>
            %m = stablehlo.reduce(%b init: %lowest) applies stablehlo.maximum across dimensions = [1]
            %s = stablehlo.reduce(%b init: %zero) applies stablehlo.add across dimensions = [0, 1]
    after   %m = %x
            %t = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0]
            %s = stablehlo.multiply %t, 64.0

In: a reduction of one array by add, minimum, maximum, and, or, over axes that a broadcast has made (all of them, or
with others, which are reduced first). Preconditions: static shapes, none of the broadcast's axes is empty (the result
is then the initial value); for sums the initial value is 0 and the count of copies is a number of the dtype. Rounding:
minimum, maximum, and, or, and sums of integers keep every bit; a sum of floats is rounded once instead of many times,
and stays with `reassociate=false`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...analysis.integers import zero_splat
from ...ir.attributes import Array, integers
from ...ir.bindings import ir, stablehlo
from ...ir.kinds import having, identity, reduction
from ...ir.ops import broadcast_in_dim, elementwise, full_like, reduce, reshape
from ...ir.refused import require
from ...ir.values import constant, dtype_of, owner, static_shape
from ..rewriting import keeps_bits, rewrite

_AGAIN = having("again")


@rewrite("stablehlo.reduce", exact=True)
def reduce_of_broadcast(op: ir.Operation) -> ir.Value | None:
    """What is broadcast only to be reduced is not broadcast: a sum is a multiply, a maximum the value itself."""
    if len(op.operands) != 2:
        return None
    broadcast = owner(op.operands[0])
    if broadcast is None or broadcast.name != "stablehlo.broadcast_in_dim":
        return None
    x, init = broadcast.operands[0], op.operands[1]
    sizes, shape = static_shape(x), static_shape(op.operands[0])
    to, reduced = integers(broadcast, "broadcast_dimensions"), integers(op, "dimensions")
    # Where each axis of the broadcast comes from, if it has the elements of an axis of x.
    source = {place: axis for axis, place in enumerate(to) if sizes[axis] == shape[place]}
    copied = [place for place in reduced if place not in source]
    if not copied:
        return None
    name = reduction(op)
    require(name == "stablehlo.add" or name in _AGAIN, f"a reduction by {name} is not known")
    copies = math.prod(shape[place] for place in copied)
    require(copies, f"axis {copied[0]} is empty, so that the result is the initial value")
    rest = [source[place] for place in reduced if place in source]
    if name == "stablehlo.add":
        exact = dtype_of(x).kind in "iu"
        require(exact or not keeps_bits(), "a sum of floats, which is rounded otherwise as a multiply")
        require(zero_splat(init) is not None, "the sum's initial value is not 0")
        _check_count(copies, x)
    made = reduce(name, x, init, rest) if rest else x
    if name == "stablehlo.add":
        made = stablehlo.multiply(made, full_like(made, copies))
    elif not rest and not _is_identity(constant(init), name, dtype_of(x)):
        made = elementwise(name, broadcast_in_dim(init, static_shape(made)), made)
    # Axes that are left, in the order of the result.
    kept = [place for place in range(len(shape)) if place not in reduced]
    left = [axis for axis in range(len(sizes)) if axis not in rest]
    dims = [kept.index(to[axis]) for axis in left if to[axis] in kept]
    made = reshape(made, [sizes[axis] for axis in left if to[axis] in kept])
    return broadcast_in_dim(made, static_shape(op.results[0]), dims)


def _check_count(copies: int, x: ir.Value) -> None:
    dtype = dtype_of(x)
    require(dtype.kind != "b", "truth values, which an add only combines")
    if dtype.kind in "iu":
        return  # modulo its range, as the sum is
    with np.errstate(all="ignore"):
        same = complex(np.asarray(copies).astype(dtype)) == copies
    require(same, f"{copies} copies: not a number of {dtype}")


def _is_identity(value: Array | None, name: str, dtype: np.dtype[Any]) -> bool:
    """Whether an initial value changes nothing."""
    return value is not None and value.ndim == 0 and bool(value == identity(name, dtype))
