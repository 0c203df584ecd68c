"""cpu_sums: a long sum is a sum of sums, each of few elements.

    before  %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : tensor<1000x20xf64>
    after   %1 = stablehlo.reshape %x : tensor<4x250x20xf64>
            %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0] : tensor<250x20xf64>
            ... and so on, until few are left: tensor<50x20xf64>, tensor<10x20xf64>, tensor<2x20xf64>, tensor<20xf64>

In: a sum of float32 or float64 along any axes, or a dot with a vector on one side, in a module for which XLA's
libraries are off. Preconditions: static shapes, an init of zero. The library for long sums adds in blocks; XLA's own
code adds in order, next to each other in 32 sums at a time: 10,000 times 0.1 is off by 25 units in the last place. Sums
of blocks are of vectors that lie one behind the other, which along columns is faster, too: 1,000 x 20 take 1.2 us in
place of 9.8. Rounding: another order of additions.

With `libraries=true`, for a module for which they are on, only a product of a vector with the rows of a long matrix is
written otherwise (`X.T @ w`, `w @ X`), which XLA adds in order too:

    before  %s = stablehlo.dot_general %x, %w, contracting_dims = [0] x [0] : tensor<10080x20xf64>, tensor<10080xf64>
    after   %1 = stablehlo.dot_general of tensor<8x1260x20xf64>, tensor<8x1260xf64> : tensor<8x20xf64>
            %s = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0] : tensor<20xf64>
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence

import numpy as np

from ..ir import ops
from ..ir.bindings import ir, stablehlo
from ..ir.kinds import identity, reduction
from ..ir.refused import require
from ..ir.values import REAL_FLOATS, constant, dot_sides, dtype_of, integers, owner, static_shape
from .report import Report
from .rewriting import Rewrite, apply

# Elements that are added as they are: next to each other, where a kernel has 32 sums at a time, and in columns.
_LEAST, _FEW = 1024, 8
_LEAST_ROWS, _FEW_ROWS = 32, 8
# How many are added at once, so that none are left over.
_AT_ONCE = (4, 8, 6, 5, 7)
# Bytes of a vector from which `jax.jit` adds its products with a transpose in several sums, 8 of float32 and 4 of
# float64; the number of blocks, at least as many, which cost another kernel's start, 1 us; columns of float32 up to
# which a transpose, which is what `jax.jit` does, is as fast, and, where no blocks are equal, a product of matrices is
# less exact.
_LONG = 1 << 14
_BLOCKS = {np.dtype(np.float32): range(8, 17), np.dtype(np.float64): (*range(8, 17), 7, 6, 5, 4)}
_FEW_COLUMNS, _FEW_ODD = 12, 64
# Elements of a matrix from which such blocks are faster than those within a kernel.
_LARGE = 1 << 17


# Without one of these there is nothing to do.
TRIGGERS = frozenset({"stablehlo.reduce", "stablehlo.dot_general"})


def run(module: ir.Module, report: Report, *, libraries: bool = False) -> None:
    """The pass.

    Args:
        module: is changed, in place.
        report: takes note of each sum.
        libraries: whether XLA's libraries are on.
    """
    function = vector_in_blocks if libraries else sum_in_blocks
    roots = ("stablehlo.dot_general",) if libraries else tuple(TRIGGERS)
    rewrite = Rewrite(name=function.__name__, line=function.__doc__ or "", roots=roots, function=function)
    apply(module, [rewrite], report)


def sum_in_blocks(op: ir.Operation) -> ir.Value | None:
    """A long sum is a sum of sums."""
    if not _is_float(op):
        return None
    if op.name == "stablehlo.dot_general":
        large = max(math.prod(static_shape(value)) for value in op.operands) >= _LARGE
        return (vector_in_blocks(op) if large else None) or _dot_in_blocks(op)
    if len(op.operands) != 2 or reduction(op) != "stablehlo.add":
        return None
    x, init = op.operands
    found = constant(init)
    require(found is not None and found.ndim == 0 and found == 0, "the sum does not start from a constant 0")
    axes = integers(op, "dimensions")
    _needed(static_shape(x), axes)
    return _in_blocks(x, axes)


def vector_in_blocks(op: ir.Operation) -> ir.Value | None:
    """A vector's product with the rows of a long matrix is a sum of products with some rows each."""
    if not _is_float(op):
        return None
    vector, matrix = sorted(_sides(op), key=lambda side: math.prod(static_shape(side[0])))
    shape, axes = static_shape(matrix[0]), matrix[2]
    count, columns = (math.prod(each) for each in (shape[: len(axes)], shape[len(axes) :]))
    in_order = axes == list(range(len(axes))) and vector[2] == sorted(vector[2])
    if not in_order or matrix[1] or math.prod(static_shape(vector[0])) != count or columns < 2:
        return None
    kind = dtype_of(matrix[0])
    require(count * kind.itemsize >= _LONG, f"{count} elements are added up at once")
    x, w = ops.reshape(matrix[0], [count, columns]), ops.reshape(vector[0], [count])
    blocks = next((each for each in _BLOCKS[kind] if count % each == 0), None)
    if kind == np.float32 and columns < (_FEW_COLUMNS if blocks else _FEW_ODD):
        total = ops.dot_general(ops.transpose(x, [1, 0]), w, ([1], [0]))
    elif blocks is not None:
        parts = [ops.reshape(each, [blocks, count // blocks, *static_shape(each)[1:]]) for each in (x, w)]
        total = _sum(ops.dot_general(parts[0], parts[1], ([1], [1]), ([0], [0])), 0)
    else:  # a product of matrices, whose library adds in blocks, and reads no more of this one
        both = ops.dot_general(ops.broadcast_in_dim(w, [2, count], [1]), x, ([1], [0]))
        total = ops.slice(both, [0, 0], [1, columns])
    return ops.reshape(total, static_shape(op.results[0]))


def _is_float(op: ir.Operation) -> bool:
    kind = dtype_of(op.results[0])
    return kind in REAL_FLOATS and all(dtype_of(value) == kind for value in op.operands)


def _sides(op: ir.Operation) -> list[tuple[ir.Value, list[int], list[int]]]:
    contracting, batching = dot_sides(op)
    return list(zip(op.operands, batching, contracting, strict=True))


def _dot_in_blocks(op: ir.Operation) -> ir.Value | None:
    """A dot of a matrix, or of a vector, and a vector is a sum of products, which XLA adds in order."""
    vector, matrix = sorted(_sides(op), key=lambda side: len(static_shape(side[0])))
    if len(static_shape(vector[0])) > len(vector[1]) + len(vector[2]):
        return None
    value, batch, summed = matrix
    shape = static_shape(value)
    _needed(shape, summed)
    # Of what is computed XLA chooses whether rows or columns lie next to each other.
    rows = owner(value) is None and not batch and 0 < len(shape) - len(summed) == min(summed)
    require(not rows, "XLA adds a row's products in several sums, as `jax.jit` does")
    places = dict(zip([*vector[1], *vector[2]], [*batch, *summed], strict=True))
    spread = ops.broadcast_in_dim(vector[0], shape, [places[axis] for axis in sorted(places)])
    total = _in_blocks(stablehlo.multiply(value, spread), sorted(summed))
    kept = [axis for axis in range(len(shape)) if axis not in summed]
    order = [*batch, *(axis for axis in kept if axis not in batch)]
    return ops.transpose(total, [kept.index(axis) for axis in order])


def _needed(shape: Sequence[int], axes: Sequence[int]) -> None:
    runs = _runs(axes)
    long = [math.prod(shape[i:j]) >= (_LEAST if math.prod(shape[j:]) == 1 else _LEAST_ROWS) for i, j in runs]
    require(any(long) and all(shape), f"{math.prod(shape[axis] for axis in axes)} elements are added up at once")


def _runs(axes: Sequence[int]) -> list[tuple[int, int]]:
    return [
        (start, next(end for end in range(start + 1, start + len(axes) + 1) if end not in axes))
        for start in sorted(axes)
        if start - 1 not in axes
    ]


def _in_blocks(x: ir.Value, axes: Sequence[int]) -> ir.Value:
    for start, end in reversed(_runs(axes)):
        shape = static_shape(x)
        sizes = [math.prod(each) for each in (shape[:start], shape[start:end], shape[end:])]
        x = ops.reshape(_along(ops.reshape(x, sizes)), [*shape[:start], *shape[end:]])
    return x


def _along(x: ir.Value) -> ir.Value:
    before, count, behind = static_shape(x)
    rests: list[ir.Value] = []
    while count > (_FEW if behind == 1 else _FEW_ROWS):
        at_once = next((each for each in _AT_ONCE if count % each == 0), _AT_ONCE[0])
        blocks = count // at_once
        if blocks * at_once < count:  # in a slice that is reshaped XLA would compute where each element is
            cuts = [*range(0, count, blocks)][: at_once + 1]
            *parts, rest = [
                ops.slice(x, [0, start, 0], [before, end, behind]) for start, end in itertools.pairwise([*cuts, count])
            ]
            rests.append(_sum(rest))
            x = functools.reduce(stablehlo.add, parts)
        else:
            x = _sum(ops.reshape(x, [before, at_once, blocks, behind]))
        (x,) = ops.optimization_barrier([x])  # or XLA makes one sum of two
        count = blocks
    total = _sum(x)
    for rest in reversed(rests):
        total = stablehlo.add(rest, total)
    return total


def _sum(x: ir.Value, axis: int = 1) -> ir.Value:
    return ops.reduce("stablehlo.add", x, ops.constant(identity("add", dtype_of(x))), [axis])
