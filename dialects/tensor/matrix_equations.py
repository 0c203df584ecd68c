"""The matrix exponential, block diagonals, Sylvester's equation, tridiagonal systems."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...codegen import builder as hlo
from ...codegen.builder import Tensor, matrices
from ...codegen.dims import Dim
from ...codegen.emit import Context
from ..registry import lowers
from .linalg import solved


@lowers("Expm", batched=True)
def expm(ctx: Context, node: Any, a: Tensor) -> Tensor:
    """The matrix exponential."""
    return hlo.expm(hlo.convert(a, ctx.out_dtype()))


@lowers("BlockDiagonal", batched=True)
def block_diagonal(ctx: Context, node: Any, *blocks: Tensor) -> Tensor:
    """Blocks from the upper left to the lower right, zeros beside them."""
    dtype = ctx.out_dtype()
    zero, axis = ctx.constant(np.zeros((), dtype)), blocks[0].ndim - 1
    before: Dim = 0
    width: Dim = 0
    for x in blocks:
        width = width + x.dims[axis]
    rows = []
    for x in blocks:
        none = [0] * axis
        after = width - before - x.dims[axis]
        rows.append(hlo.pad(hlo.convert(x, dtype), zero, [*none, before], [*none, after]))
        before = before + x.dims[axis]
    return hlo.concatenate(rows, axis - 1)


# ---- Sylvester's equation --------------------------------------------------------------------------------------------


@lowers("TRSYL", batched=True)
def trsyl(ctx: Context, node: Any, a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """X with `A X + X B = C`, of Schur forms A and B; infinite or NaN where an eigenvalue of A is minus one of B."""
    dtype = ctx.out_dtype()
    a, b, c = (hlo.convert(x, dtype) for x in (a, b, c))
    if dtype.kind == "c":
        return hlo.triangular_sylvester(a, b, c)
    (turn_a, a), (turn_b, b) = hlo.triangular_form(a), hlo.triangular_form(b)
    return hlo.real(_turned_sylvester(turn_a, a, turn_b, b, hlo.convert(c, a.dtype)))


def _turned_sylvester(turn_a: Tensor, a: Tensor, turn_b: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """X with `U A U^H X + X V B V^H = C`, for triangular A and B, and unitary U and V."""
    turned = matrices.matmul(matrices.matmul(matrices.adjoint(turn_a), c), turn_b)
    x = matrices.matmul(turn_a, hlo.triangular_sylvester(a, b, turned))
    return matrices.matmul(x, matrices.adjoint(turn_b))


def sylvester(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    """X with `A X + X B = C`, of any square A and B of C's dtype."""
    dtype = c.dtype
    a, b, c = (hlo.convert(x, np.result_type(dtype, np.complex64)) for x in (a, b, c))
    (a, turn_a), (b, turn_b) = hlo.schur(a), hlo.schur(b)
    x = _turned_sylvester(turn_a, a, turn_b, b, c)
    return x if dtype.kind == "c" else hlo.real(x)


# ---- tridiagonal systems ---------------------------------------------------------------------------------------------


@lowers("LUFactorTridiagonal", batched=True)
def factor_tridiagonal(ctx: Context, node: Any, low: Tensor, main: Tensor, high: Tensor) -> list[Tensor]:
    """LU of a tridiagonal matrix with partial pivoting, as LAPACK's gttrf packs it."""
    found = hlo.tridiagonal_lu(*(hlo.convert(x, ctx.out_dtype()) for x in (low, main, high)))
    return [hlo.convert(x, ctx.out_dtype(place)) for place, x in enumerate(found)]


@lowers("SolveLUFactorTridiagonal", batched=True)
def solve_factored_tridiagonal(ctx: Context, node: Any, *operands: Tensor) -> Tensor:
    """x with `A x = b` from the factors of `LUFactorTridiagonal`; or with the transpose of A."""
    *factors, pivots, b = operands
    low, main, high, higher = (hlo.convert(x, ctx.out_dtype()) for x in factors)
    transposed = bool(node.op.transposed)
    return solved(
        ctx, node, b, lambda x: hlo.tridiagonal_solve(low, main, high, higher, pivots, x, transposed=transposed)
    )


# ---- Riccati's equation ----------------------------------------------------------------------------------------------


@lowers("SolveDiscreteARE", batched=True)
def discrete_riccati(ctx: Context, node: Any, *operands: Tensor) -> Tensor:
    """The stabilizing solution by doubling, in place of the op's graph, whose QZ decomposition no library has.

    NaN where there is none, and where R is singular or Q does not see an unstable state.
    """
    return hlo.discrete_riccati(*(hlo.convert(x, ctx.out_dtype()) for x in operands))
