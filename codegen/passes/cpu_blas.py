"""cpu_blas: matrix products, Cholesky factors and triangular solves as calls of functions of ours, which call BLAS.

    before  %l = stablehlo.cholesky %a, lower = true : tensor<64x64xf64>
            %y = stablehlo.dot_general %b, %c, batching_dims = [0] x [0], contracting_dims = [1] x [1]
                 : (tensor<3x7x5xf64>, tensor<3x7x4xf64>) -> tensor<3x5x4xf64>
    after   %l = stablehlo.custom_call @hlograph_potrf(%a) {backend_config = {lower = true}}
            %y = stablehlo.custom_call @hlograph_gemm(%b, %c) {backend_config = {left = true, right = false}}
                 : (tensor<3x7x5xf64>, tensor<3x7x4xf64>) -> tensor<3x5x4xf64>

Operands are matrices by rows, or stacks of them. XLA:CPU computes large products by a library inside of its own, which
nobody else can call, and factors by LAPACK's calls in jaxlib, whose matrices by columns it has to transpose; these
functions can be called without PJRT (docs/explanation/direct_call.md), and only plans of executables for that have
them. Factors are taken before `device_linalg` (`products=false`), products after `cpu_regions`; what is in a kernel of
many ops stays. Preconditions: static shapes, no axis of size 0, float32 or float64; of a product more than one row and
column, as XLA has kernels of its own for vectors. Rounding: another order of additions. A matrix without a factor gives
NaN in its triangle, as the LAPACK call does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..ir import ops
from ..ir.bindings import ir
from ..ir.values import REAL_FLOATS, dot_sides, dtype_of, flag_of, sizes_of, symbol_of, text_attribute, walk
from .report import Report

PRODUCT, FACTOR, SOLVE = "hlograph_gemm", "hlograph_potrf", "hlograph_trsm"
TARGETS = {"stablehlo.dot_general": PRODUCT, "stablehlo.cholesky": FACTOR, "stablehlo.triangular_solve": SOLVE}
OPS = frozenset(TARGETS)

_SMALL_CALL = 'xla_cpu_small_call = "true"'
_TINY = 8  # multiplications that XLA always writes out


def run(module: ir.Module, report: Report, *, products: bool = True) -> None:
    """The pass.

    Args:
        module: is changed in place.
        report: takes note of each op.
        products: whether products are taken.
    """
    inside = _in_kernels(module)
    for op in [op for op in walk(module) if op.name in OPS and op not in inside]:
        target = TARGETS[op.name]
        if target == PRODUCT and not products:
            continue
        if reason := _refusal(op):
            report.refused(op, reason)
            continue
        with module.context, op.location, ir.InsertionPoint(op):
            made = _product(op) if target == PRODUCT else _called(op, target)
        report.applied(op, result=f"a call of {target}")
        op.results[0].replace_all_uses_with(made)
        op.erase()


def _in_kernels(module: ir.Module) -> set[ir.Operation]:
    calls = [op for op in walk(module) if op.name == "func.call"]
    small = [op for op in calls if _SMALL_CALL in text_attribute(op, "mhlo.frontend_attributes")]
    kernels = {ir.FlatSymbolRefAttr(op.attributes["callee"]).value for op in small}
    functions = [op.operation for op in module.body.operations]
    return {op for function in functions if symbol_of(function) in kernels for op in walk(function)}


def _refusal(op: ir.Operation) -> str:
    """Why an op stays; "" where it need not."""
    values = [*op.operands, *op.results]
    if not all(ir.RankedTensorType(value.type).has_static_shape for value in values):
        return "its sizes are not known: specialize the program first"
    if len({dtype_of(value) for value in values}) > 1 or dtype_of(values[0]) not in REAL_FLOATS:
        return "it is not one of float32 and none of float64"
    if not all(all(sizes_of(value)) for value in op.operands):
        return "it has no elements"
    if TARGETS[op.name] != PRODUCT:
        return ""
    left, right = _sides(op)
    rows, columns, depth = left.count(left.free), right.count(right.free), left.count(left.contracted)
    if min(rows, columns) == 1 and not left.batch:
        return "XLA has a kernel for a matrix and a vector"
    if depth == 1:
        return "it is a product of elements"
    return "XLA writes out products that are so small" if rows * columns * depth <= _TINY else ""


def _called(op: ir.Operation, target: str) -> ir.Value:
    flags = {"lower": flag_of(op, "lower", False)}
    if target == SOLVE:
        transposed, unit = "NO_TRANSPOSE" not in text_attribute(op, "transpose_a"), flag_of(op, "unit_diagonal", False)
        flags = {"left": flag_of(op, "left_side", True), **flags, "transposed": transposed, "unit": unit}
    return ops.typed_call(target, op.results[0].type, list(op.operands), flags)


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


def _product(dot: ir.Operation) -> ir.Value:
    left, right = _sides(dot)
    a, a_transposed = left.matrix(left.free, left.contracted)
    b, b_transposed = right.matrix(right.contracted, right.free)
    shape = [*sizes_of(a)[:-2], left.count(left.free), right.count(right.free)]
    flags = {"left": a_transposed, "right": b_transposed}
    product = ops.typed_call(PRODUCT, ops.tensor_type(a, shape), [a, b], flags)
    return ops.reshape(product, sizes_of(dot.results[0]))
