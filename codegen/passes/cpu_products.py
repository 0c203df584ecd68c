"""cpu_products: matrix products as calls of a function of ours, which calls BLAS.

    before  %y = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [1] x [1]
                 : (tensor<3x7x5xf64>, tensor<3x7x4xf64>) -> tensor<3x5x4xf64>
    after   %y = stablehlo.custom_call @hlograph_gemm(%a, %b) {backend_config = {left = true, right = false}}
                 : (tensor<3x7x5xf64>, tensor<3x7x4xf64>) -> tensor<3x5x4xf64>

Operands are matrices, or stacks of them; `left` and `right` say which are taken transposed. XLA:CPU computes such
products by a library inside of its own, which nobody else can call; this function can be called without PJRT
(docs/direct_call.md). Only plans of executables for that have it. Preconditions: static shapes, no axis of size 0,
float32 or float64, and more than one row and column, as XLA has kernels of its own for vectors. What is in a kernel of
many ops stays. Rounding: another order of additions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..ir import ops
from ..ir.bindings import ir
from ..ir.values import dot_sides, dtype_of, sizes_of, symbol_of, walk
from .report import Report

TARGET = "hlograph_gemm"
OPS = frozenset({"stablehlo.dot_general"})

_SMALL_CALL = 'xla_cpu_small_call = "true"'
_TINY = 8  # multiplications that XLA always writes out


def run(module: ir.Module, report: Report) -> None:
    """The pass."""
    inside = _in_kernels(module)
    for dot in [op for op in walk(module) if op.name in OPS and op not in inside]:
        reason = _refusal(dot)
        if reason:
            report.refused(dot, reason)
            continue
        with module.context, dot.location, ir.InsertionPoint(dot):
            product = _product(dot)
        report.applied(dot, result=f"a call of {TARGET}")
        dot.results[0].replace_all_uses_with(product)
        dot.erase()


def _in_kernels(module: ir.Module) -> set[ir.Operation]:
    """What XLA:CPU compiles into kernels of many ops, functions that these call included."""
    functions = {symbol_of(op.operation): op.operation for op in module.body.operations}
    calls = [op for op in walk(module) if op.name == "func.call"]
    found: set[ir.Operation] = set()
    left = [op for op in calls if _is_small(op)]
    while left:
        callee = functions[ir.FlatSymbolRefAttr(left.pop().attributes["callee"]).value]
        if callee not in found:
            found |= {callee, *walk(callee)}
            left += [op for op in calls if op in found]
    return found


def _is_small(call: ir.Operation) -> bool:
    name = "mhlo.frontend_attributes"
    return name in call.attributes and _SMALL_CALL in str(call.attributes[name])


class _Axes:
    """The axes of a dot's operand by what becomes of them."""

    def __init__(self, value: ir.Value, batch: Sequence[int], contracted: Sequence[int]) -> None:
        self.value = value
        self.sizes = sizes_of(value)
        self.batch = list(batch)
        self.contracted = list(contracted)
        self.free = [axis for axis in range(len(self.sizes)) if axis not in {*batch, *contracted}]

    def count(self, axes: Sequence[int]) -> int:
        return math.prod(self.sizes[axis] for axis in axes)

    def matrix(self, first: Sequence[int], second: Sequence[int]) -> tuple[ir.Value, bool]:
        """A stack of matrices with rows along `first` axes and columns along `second`, or transposed, and which."""
        transposed = [*self.batch, *second, *first] == list(range(len(self.sizes)))
        rows, columns = (second, first) if transposed else (first, second)
        ordered = ops.transpose(self.value, [*self.batch, *rows, *columns])
        batch = [self.count(self.batch)] if self.batch else []
        return ops.reshape(ordered, [*batch, self.count(rows), self.count(columns)]), transposed


def _sides(dot: ir.Operation) -> tuple[_Axes, _Axes]:
    contracted, batch = dot_sides(dot)
    left, right = dot.operands
    return _Axes(left, batch[0], contracted[0]), _Axes(right, batch[1], contracted[1])


def _refusal(dot: ir.Operation) -> str:
    """Why a dot stays; "" where it need not."""
    values = [*dot.operands, *dot.results]
    if not all(ir.RankedTensorType(value.type).has_static_shape for value in values):
        return "its sizes are not known: specialize the program first"
    if len({dtype_of(value) for value in values}) > 1 or dtype_of(values[0]) not in (np.float32, np.float64):
        return "it is none of float32 and none of float64"
    left, right = _sides(dot)
    rows, columns, depth = left.count(left.free), right.count(right.free), left.count(left.contracted)
    if not all(left.sizes) or not all(right.sizes):
        return "it has no elements"
    if min(rows, columns) == 1 and not left.batch:
        return "XLA has a kernel for a matrix and a vector"
    if depth == 1:
        return "it is a product of elements"
    if rows * columns * depth <= _TINY:
        return "XLA writes out products that are so small"
    return ""


def _product(dot: ir.Operation) -> ir.Value:
    left, right = _sides(dot)
    a, a_transposed = left.matrix(left.free, left.contracted)
    b, b_transposed = right.matrix(right.contracted, right.free)
    shape = [*sizes_of(a)[:-2], left.count(left.free), right.count(right.free)]
    flags = {"left": a_transposed, "right": b_transposed}
    product = ops.typed_call(TARGET, ops.tensor_type(a, shape), [a, b], flags)
    return ops.reshape(product, sizes_of(dot.results[0]))
