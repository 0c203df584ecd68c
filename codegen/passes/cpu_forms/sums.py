"""sum_to_dot: the sum of a matrix along one of its axes is a product with a vector.

    before  %b = stablehlo.broadcast_in_dim %w, dims = [1] : tensor<20xf64> -> tensor<1000x20xf64>
            %p = stablehlo.multiply %x, %b
            %s = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [1]
    after   %s = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    before  %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0]
    after   %s = stablehlo.dot_general %ones, %x, contracting_dims = [0] x [0]

In: a sum of floats over the leading or over the trailing axes, not over all. Preconditions: static shapes, an init of
zero, and two elements or more to add for each of two sums or more. XLA:CPU adds up a row in one register and a column
element by element; its matrix-vector product is vectorised and blocked. Rounding: another order of additions, and
where a product goes into the dot, one rounding less. A product by 1.0 keeps NaN and infinities.
"""

from __future__ import annotations

import math

import numpy as np

from ...ir import ops
from ...ir.attributes import integers
from ...ir.bindings import ir
from ...ir.kinds import reduction
from ...ir.refused import require
from ...ir.types import REAL_FLOATS
from ...ir.values import constant, dtype_of, owner, single_use, static_shape, users

# Below, a call of a kernel takes longer than either form.
_LEAST = 128
# What is computed for this sum alone is fused into the reduction, but into a dot only in its innermost loop, or it is
# stored first: more elements gain less than a tenth by it.
_MOST_COMPUTED = 1 << 10
# What so many ops use is stored; what fewer use XLA may compute for each of them.
_MANY_USES = 3


def sum_to_dot(op: ir.Operation) -> ir.Value | None:
    """A sum over the leading or trailing axes is a dot with ones, or with the factor that is in the product."""
    if len(op.operands) != 2 or not isinstance(op.operands[0].type, ir.RankedTensorType):
        return None
    x, init = op.operands
    if dtype_of(x) not in REAL_FLOATS or reduction(op) != "stablehlo.add":
        return None
    shape, reduced = static_shape(x), integers(op, "dimensions")
    kept = [axis for axis in range(len(shape)) if axis not in reduced]
    many, count = math.prod(shape[axis] for axis in kept), math.prod(shape[axis] for axis in reduced)
    if not kept or not reduced or many < 2 or count < 2:
        return None
    found = constant(init)
    require(found is not None and found.ndim == 0 and found == 0, "the sum does not start from a constant 0")
    require(many * count >= _LEAST, f"it adds up {many * count} elements, fewer than {_LEAST}")
    leading = list(reduced) == list(range(len(reduced)))
    require(
        leading or list(reduced) == list(range(len(kept), len(shape))),
        f"the axes {list(reduced)} of {len(shape)} are neither the leading nor the trailing ones",
    )
    made = _product(x, shape, set(reduced))
    if made is not None:
        return made
    _check_given(x)
    flat = ops.reshape(x, (count, many) if leading else (many, count))
    ones = ops.full_like(x, 1.0, [count])
    result = ops.dot_general(ones, flat, ((0,), (0,))) if leading else ops.dot_general(flat, ones, ((1,), (0,)))
    return ops.reshape(result, [shape[axis] for axis in kept])


def _product(x: ir.Value, shape: tuple[int, ...], reduced: set[int]) -> ir.Value | None:
    """The dot of a product's factors, where each kept axis is one factor's and each reduced one is both's."""
    product = owner(x)
    if product is None or product.name != "stablehlo.multiply" or not single_use(x):
        return None
    sides = [_unspread(factor, shape) for factor in product.operands]
    own = [set(axes) for _, axes in sides]
    if not (reduced == own[0] & own[1] and own[0] | own[1] == set(range(len(shape)))):
        return None
    for source, axes in sides:
        if len(axes) == len(shape):
            _check_given(source)
    contracted = [[axes.index(axis) for axis in sorted(reduced)] for _, axes in sides]
    result = ops.dot_general(sides[0][0], sides[1][0], (contracted[0], contracted[1]))
    order = [axis for _, axes in sides for axis in axes if axis not in reduced]
    return ops.transpose(result, [int(place) for place in np.argsort(order)])


def _check_given(x: ir.Value) -> None:
    """Refuses a large array that is computed for this sum, or for one other thing."""
    size, definer = math.prod(static_shape(x)), owner(x)
    while definer is not None and definer.name == "stablehlo.reshape":
        definer = owner(definer.operands[0])
    if definer is not None and definer.name != "stablehlo.constant" and len(users(x)) < _MANY_USES:
        require(size <= _MOST_COMPUTED, f"{size} elements are computed where they are added up, by {definer.name}")


def _unspread(value: ir.Value, shape: tuple[int, ...]) -> tuple[ir.Value, list[int]]:
    """What a value was before a broadcast, and the axes that it has, in its order.

    Axes of size 1 that were stretched are dropped.
    """
    definer = owner(value)
    if definer is None or definer.name != "stablehlo.broadcast_in_dim":
        return value, list(range(len(shape)))
    source = definer.operands[0]
    sizes, places = static_shape(source), integers(definer, "broadcast_dimensions")
    axes = [axis for size, axis in zip(sizes, places, strict=True) if size == shape[axis]]
    return ops.reshape(source, [shape[axis] for axis in axes]), axes
