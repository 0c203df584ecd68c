"""cpu_sums: a long sum is a sum of sums, each of few elements.

    before  %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : tensor<1000x20xf64>
    after   %1 = stablehlo.reshape %x : tensor<8x125x20xf64>
            %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0] : tensor<125x20xf64>
            ... and so on, until few elements are left: tensor<25x20xf64>, tensor<20xf64>

In: a sum of float32 or float64 along any axes, or a dot with a vector on one side, in a module for which XLA's
libraries are off. Preconditions: static shapes, an init of zero. The library for long sums adds in blocks; XLA's own
code adds in order, next to each other in 32 sums at a time: 10,000 times 0.1 is off by 25 units in the last place. Sums
of blocks are of vectors that lie one behind the other, which along columns is faster, too: 1,000 x 20 take 1.2 us in
place of 9.8. Rounding: another order of additions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..ir import ops
from ..ir.attributes import dot_numbers, integers
from ..ir.bindings import ir, stablehlo
from ..ir.kinds import identity, reduction
from ..ir.refused import require
from ..ir.values import constant, dtype_of, static_shape
from .report import Report
from .rewriting import Rewrite, apply

# Elements that are added as they are: next to each other, where a kernel has 32 sums at a time, and in columns.
_LEAST, _FEW = 1024, 8
_LEAST_ROWS, _FEW_ROWS = 32, 8
# How many are added at once, so that none are left over.
_AT_ONCE = (4, 8, 6, 5, 7)


# Without one of these there is nothing to do.
TRIGGERS = frozenset({"stablehlo.reduce", "stablehlo.dot_general"})

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def run(module: ir.Module, report: Report) -> None:
    """The pass."""
    line = sum_in_blocks.__doc__ or ""
    apply(module, [Rewrite(name="sum_in_blocks", line=line, roots=tuple(TRIGGERS), function=sum_in_blocks)], report)


def sum_in_blocks(op: ir.Operation) -> ir.Value | None:
    """A long sum is a sum of sums."""
    if any(dtype_of(value) not in _FLOATS or dtype_of(value) != dtype_of(op.results[0]) for value in op.operands):
        return None
    if op.name == "stablehlo.dot_general":
        return _dot_in_blocks(op)
    if len(op.operands) != 2 or reduction(op) != "stablehlo.add":
        return None
    x, init = op.operands
    found = constant(init)
    require(found is not None and found.ndim == 0 and found == 0, "the sum does not start from a constant 0")
    axes = integers(op, "dimensions")
    _needed(static_shape(x), axes)
    return _in_blocks(x, axes)


def _dot_in_blocks(op: ir.Operation) -> ir.Value | None:
    """A dot of a matrix, or of a vector, and a vector is a sum of products, which XLA adds in order."""
    numbers = dot_numbers(op.attributes["dot_dimension_numbers"])
    sides = [
        (op.operands[0], list(numbers.lhs_batching_dimensions), list(numbers.lhs_contracting_dimensions)),
        (op.operands[1], list(numbers.rhs_batching_dimensions), list(numbers.rhs_contracting_dimensions)),
    ]
    vector, matrix = sorted(sides, key=lambda side: len(static_shape(side[0])))
    if len(static_shape(vector[0])) > len(vector[1]) + len(vector[2]):
        return None
    value, batch, summed = matrix
    shape = static_shape(value)
    _needed(shape, summed)
    places = dict(zip([*vector[1], *vector[2]], [*batch, *summed], strict=True))
    spread = ops.broadcast_in_dim(vector[0], shape, [places[axis] for axis in sorted(places)])
    total = _in_blocks(stablehlo.multiply(value, spread), sorted(summed))
    kept = [axis for axis in range(len(shape)) if axis not in summed]
    order = [*batch, *(axis for axis in kept if axis not in batch)]
    return ops.transpose(total, [kept.index(axis) for axis in order])


def _needed(shape: Sequence[int], axes: Sequence[int]) -> None:
    """Refuses a sum that is as good as it is."""
    runs = _runs(axes)
    long = [math.prod(shape[i:j]) >= (_LEAST if math.prod(shape[j:]) == 1 else _LEAST_ROWS) for i, j in runs]
    require(any(long) and all(shape), f"{math.prod(shape[axis] for axis in axes)} elements are added up at once")


def _runs(axes: Sequence[int]) -> list[tuple[int, int]]:
    """Where axes that lie next to each other begin and end."""
    return [
        (start, next(end for end in range(start + 1, start + len(axes) + 1) if end not in axes))
        for start in sorted(axes)
        if start - 1 not in axes
    ]


def _in_blocks(x: ir.Value, axes: Sequence[int]) -> ir.Value:
    """The sum over some axes, those that lie next to each other at a time."""
    for start, end in reversed(_runs(axes)):
        shape = static_shape(x)
        sizes = [math.prod(each) for each in (shape[:start], shape[start:end], shape[end:])]
        x = ops.reshape(_along(ops.reshape(x, sizes)), [*shape[:start], *shape[end:]])
    return x


def _along(x: ir.Value) -> ir.Value:
    """The sum over the second of three axes."""
    before, count, behind = static_shape(x)
    rests: list[ir.Value] = []
    while count > (_FEW if behind == 1 else _FEW_ROWS):
        at_once = next((each for each in _AT_ONCE if count % each == 0), _AT_ONCE[0])
        blocks = count // at_once
        if blocks * at_once < count:
            rests.append(_sum(ops.slice(x, [0, blocks * at_once, 0], [before, count, behind])))
            x = ops.slice(x, [0, 0, 0], [before, blocks * at_once, behind])
        x = _sum(ops.reshape(x, [before, at_once, blocks, behind]))
        (x,) = ops.optimization_barrier([x])  # or XLA makes one sum of two
        count = blocks
    total = _sum(x)
    for rest in reversed(rests):
        total = stablehlo.add(rest, total)
    return total


def _sum(x: ir.Value) -> ir.Value:
    return ops.reduce("stablehlo.add", x, ops.constant(identity("add", dtype_of(x))), [1])
