"""shifted_products: a convolution of one channel is a loop that adds the kernel's elements times shifted slices.

    before  %y = stablehlo.convolution(%x, %k) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], pad = [[9, 9]]
              : (tensor<1x1x200xf64>, tensor<1x1x10xf64>)
    after   %p = pad %x;  %y = stablehlo.while(%t, %sum)      ten turns
              do: %s = dynamic_slice %p, %t;  %e = dynamic_slice %k, %t;  %sum1 = %sum + %e * %s

In: a convolution with one input channel and one output channel. Preconditions: static shapes, steps and dilations of 1,
axes in the order of batch, channel, space; float32 or float64. Rounding: products are added in the kernel's
order, of float32 eight at a time.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np

from ...ir import ops, while_ops
from ...ir.attributes import attributes_of, convolution_numbers, integers
from ...ir.bindings import ir, stablehlo
from ...ir.refused import require
from ...ir.values import dtype_of, static_shape

# More turns take longer than XLA's form, and so do, of float64, turns with more to do: its own is faster there than its
# form of float32, which is a library's.
_TURNS = 128
# Products of float32 that are added before they are added to the sum: XLA's form is a library's, which adds in blocks.
_AT_ONCE = 8
_LARGEST = 1 << 10


def shifted_products(op: ir.Operation) -> ir.Value | None:
    """A convolution of one channel is a loop over the kernel's elements."""
    x, kernel = op.operands
    shape, taps = static_shape(x), static_shape(kernel)
    result = static_shape(op.results[0])
    rank = len(shape) - 2
    require(shape[1] == taps[0] == taps[1] == 1, "it has more than one channel")
    require(_plain(op, rank), "it has steps, dilations, groups, or its axes in another order")
    require(dtype_of(x) in (np.float32, np.float64) and dtype_of(kernel) == dtype_of(x), f"it is of {dtype_of(x)}")
    count, work = math.prod(taps), math.prod(result)
    require(min(shape) > 0 and count > 0 and work > 0, "it has no elements")
    require(count <= min(_TURNS, work), f"{count} turns with {work} elements each take longer")
    require(work <= _LARGEST or dtype_of(x) == np.float32, f"{work} elements are more than {_LARGEST}")
    low, high = _padding(op, rank).T.tolist()
    require(min(low) >= 0 and min(high) >= 0, "it cuts elements")
    zero = ops.scalar(0, x)
    padded = ops.reshape(ops.pad(x, zero, [0, 0, *low], [0, 0, *high]), _padded_shape(shape, low, high))
    flat = ops.reshape(kernel, [count])
    target = [result[0], *result[2:]]
    at_once = _AT_ONCE if count > _AT_ONCE and dtype_of(x) == np.float32 else 1

    def product(index: ir.Value) -> ir.Value:
        part = ops.dynamic_slice(padded, [ops.index(0), *_place(index, taps[2:])], target)
        element = ops.broadcast_in_dim(ops.reshape(ops.dynamic_slice(flat, [index], [1]), []), target)
        return stablehlo.multiply(part, element)

    def step(index: ir.Value, carries: list[ir.Value], turns: int = at_once) -> list[ir.Value]:
        places = [index, *(stablehlo.add(index, ops.index(each)) for each in range(1, turns))]
        return [stablehlo.add(carries[0], functools.reduce(stablehlo.add, map(product, places)))]

    whole = count - count % at_once
    sums = while_ops.counted(0, whole, at_once, [ops.filled(x, 0, target)], step)
    if whole < count:
        sums = step(ops.index(whole), sums, count - whole)
    return ops.reshape(sums[0], result)


def _padded_shape(shape: Sequence[int], low: Sequence[int], high: Sequence[int]) -> list[int]:
    return [shape[0], *(size + a + b for size, a, b in zip(shape[2:], low, high, strict=True))]


def _place(index: ir.Value, taps: Sequence[int]) -> list[ir.Value]:
    """The place of the kernel's element of that number."""
    found: list[ir.Value] = []
    for size in reversed(taps[1:]):
        found.append(stablehlo.remainder(index, ops.index(size)))
        index = stablehlo.divide(index, ops.index(size))
    return [index, *reversed(found)]


def _plain(op: ir.Operation, rank: int) -> bool:
    """Whether the kernel moves one by one over neighbours, and the axes are batch, channel, space in all three."""
    attributes = attributes_of(op.attributes)
    for name in ("window_strides", "lhs_dilation", "rhs_dilation"):
        if name in attributes and any(each != 1 for each in integers(op, name)):
            return False
    groups = [ir.IntegerAttr(attributes[name]).value for name in ("feature_group_count", "batch_group_count")]
    if groups != [1, 1] or "true" in str(attributes.get("window_reversal", "")):
        return False
    numbers = convolution_numbers(attributes["dimension_numbers"])
    space = list(range(2, 2 + rank))
    return (
        [numbers.input_batch_dimension, numbers.input_feature_dimension] == [0, 1]
        and [numbers.kernel_output_feature_dimension, numbers.kernel_input_feature_dimension] == [0, 1]
        and [numbers.output_batch_dimension, numbers.output_feature_dimension] == [0, 1]
        and list(numbers.input_spatial_dimensions) == space
        and list(numbers.kernel_spatial_dimensions) == space
        and list(numbers.output_spatial_dimensions) == space
    )


def _padding(op: ir.Operation, rank: int) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """The zeros before and behind each axis."""
    if "padding" not in op.attributes:
        return np.zeros((rank, 2), np.int64)
    return np.array(ir.DenseElementsAttr(op.attributes["padding"]), np.int64).reshape(rank, 2)
