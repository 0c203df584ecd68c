"""Convolutions, with sizes that may be symbolic.

In: handles. Out: a handle. `stablehlo.convolution` where the amounts of padding are ints, `dynamic_conv` where not.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..dims import Dim
from .core import Tensor
from .elementwise import add
from .indexing import take
from .reduce import dot_general
from .shape import all_static, expand_dims, iota, pad, reshape
from .types import INT64, Dims

_PRECISION = "#stablehlo<precision HIGHEST>"


def correlate(x: Tensor, kernel: Tensor, padding: Sequence[Dim]) -> Tensor:
    """The sum of products of a kernel with what it covers, for each of its places.

    Args:
        x: [batch, *sizes].
        kernel: [*sizes], or [batch, *sizes] for one of its own for each element of the batch.
        padding: zeros before and behind each axis of `x` but the first.

    Returns:
        Shape: [batch, *places].
    """
    lengths = kernel.dims[1:] if kernel.ndim == x.ndim else kernel.dims
    places = [size + 2 * amount - length + 1 for size, amount, length in zip(x.dims[1:], padding, lengths, strict=True)]
    if kernel.ndim == x.ndim:
        return _by_patches(x, kernel, padding, places)
    axes = ", ".join(map(str, range(kernel.ndim)))
    attributes = (
        ("dimension_numbers", f"#stablehlo.conv<[b, f, {axes}]x[o, i, {axes}]->[b, f, {axes}]>"),
        ("batch_group_count", "1 : i64"),
        ("feature_group_count", "1 : i64"),
        ("precision_config", f"[{_PRECISION}, {_PRECISION}]"),
    )
    dims: Dims = (x.dims[0], 1, *places)
    operands = [expand_dims(x, [1]), expand_dims(kernel, [0, 1])]
    if all_static(padding):
        rows = ", ".join(f"[{amount}, {amount}]" for amount in padding)
        amounts = ("padding", f"dense<[{rows}]> : tensor<{len(padding)}x2xi64>")
        found = x.builder.op("stablehlo.convolution", operands, dims, x.dtype, (*attributes, amounts))
    else:
        flat = x.builder.size_vector([amount for amount in padding for _ in range(2)])
        operands.append(reshape(flat, (len(padding), 2)))
        found = x.builder.op("stablehlo.dynamic_conv", operands, dims, x.dtype, attributes)
    return reshape(found, (x.dims[0], *places))


def _by_patches(x: Tensor, kernel: Tensor, padding: Sequence[Dim], places: Sequence[Dim]) -> Tensor:
    """One contraction with what each position of the kernel sees: groups of a convolution have a known number."""
    builder = x.builder
    patches = pad(x, builder.constant(0, x.dtype), [0, *padding], [0, *padding])
    for number, (count, length) in enumerate(zip(places, kernel.dims[1:], strict=True)):
        start, offset = (iota(builder, (count, length), axis, INT64) for axis in (0, 1))
        patches = take(patches, add(start, offset), 1 + 2 * number)
    seen = range(2, patches.ndim, 2)
    return dot_general(patches, kernel, contracting=(list(seen), list(range(1, kernel.ndim))), batching=([0], [0]))
