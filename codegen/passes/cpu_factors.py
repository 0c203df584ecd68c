"""cpu_factors: Cholesky factors and triangular solves as calls of functions of ours, which call BLAS and LAPACK.

    before  %l = stablehlo.cholesky %a, lower = true : tensor<64x64xf64>
            %x = stablehlo.triangular_solve %l, %b {left_side = true, lower = true, NO_TRANSPOSE, ...}
    after   %l = stablehlo.custom_call @hlograph_potrf(%a) {backend_config = {lower = true}}
            %x = stablehlo.custom_call @hlograph_trsm(%l, %b)
                 {backend_config = {left = true, lower = true, transposed = false, unit = false}}

They can be called without PJRT (docs/direct_call.md), take matrices by rows, and leave most of a solve to products,
which BLAS does several times as fast: jaxlib's own calls take matrices by columns, which XLA has to transpose. Runs
before `device_linalg`; only plans of executables for direct calls have it. Preconditions: static shapes, no axis of
size 0, float32 or float64. Rounding: another order of additions. A matrix without a factor gives NaN in its triangle,
as the LAPACK call does.
"""

from __future__ import annotations

import numpy as np

from ..ir import ops
from ..ir.bindings import ir
from ..ir.values import dtype_of, flag_of, text_attribute, walk
from .report import Report

FACTOR, SOLVE = "hlograph_potrf", "hlograph_trsm"
OPS = frozenset({"stablehlo.cholesky", "stablehlo.triangular_solve"})


def run(module: ir.Module, report: Report) -> None:
    """The pass."""
    for op in [op for op in walk(module) if op.name in OPS]:
        reason = _refusal(op)
        if reason:
            report.refused(op, reason)
            continue
        with module.context, op.location, ir.InsertionPoint(op):
            target, flags = _call(op)
            made = ops.typed_call(target, op.results[0].type, list(op.operands), flags)
        report.applied(op, result=f"a call of {target}")
        op.results[0].replace_all_uses_with(made)
        op.erase()


def _refusal(op: ir.Operation) -> str:
    """Why an op stays; "" where it need not."""
    types = [ir.RankedTensorType(value.type) for value in op.operands]
    if not all(type_.has_static_shape for type_ in types):
        return "its sizes are not known: specialize the program first"
    if dtype_of(op.operands[0]) not in (np.float32, np.float64):
        return "it is none of float32 and none of float64"
    return "" if all(all(type_.shape) for type_ in types) else "it has no elements"


def _call(op: ir.Operation) -> tuple[str, dict[str, bool]]:
    """The function and its flags."""
    lower = flag_of(op, "lower", False)
    if op.name == "stablehlo.cholesky":
        return FACTOR, {"lower": lower}
    return SOLVE, {
        "left": flag_of(op, "left_side", True),
        "lower": lower,
        "transposed": "NO_TRANSPOSE" not in text_attribute(op, "transpose_a"),
        "unit": flag_of(op, "unit_diagonal", False),
    }
