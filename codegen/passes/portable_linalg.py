"""portable_linalg: factorizations in StableHLO's own ops: LAPACK's calls, and large ones that XLA has a slow form for.

    before  %f:3 = stablehlo.custom_call @lapack_dgetrf_ffi(%a)        after   %f:3 = call @getrf_portable(%a)
            %l = stablehlo.cholesky %b, lower = true                           %l = call @cholesky_blocks(%b)

In: JAX's calls of LAPACK for LU, QR, eigenvalues of Hermitian matrices and singular values; `stablehlo.cholesky` of
real matrices of more than 8 rows, and `stablehlo.triangular_solve` of these with up to 16 right-hand sides. Out:
private functions in plain StableHLO. The last two go through the matrix a column or four rows at a time, with products
of matrices for the rest: XLA:CPU takes 93 ms for a Cholesky factor of 200 x 200 by its own form, and 1 ms by this one
(complex ones take it half a minute to compile). Preconditions: static shapes. Rounding: that of another algorithm;
signs and phases of vectors may be others. What has no portable form stays.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from .. import builder as hlo
from ..builder import Tensor
from ..builder.matrices import adjoint
from ..builder.places import INT32, DType
from ..dims import Dim
from ..errors import PassError
from ..ir.bindings import ir
from ..ir.values import REAL_FLOATS, call_target, flag_of, numpy_dtype
from .factor_loops import Form, cholesky, triangular_solve, types_of, write_out
from .report import Report

ROWS = 4  # of unknowns that are solved for at a time, which is faster than one; of a matrix of more than twice as many
PANEL, PANELS = 32, 16  # columns of a panel at least, and how many panels there are at most
SMALLEST = 8  # matrices of this many rows and fewer are left as they are
COLUMNS = 16  # right-hand sides, up to which a solve by blocks is faster than XLA's own

_LAPACK = re.compile(r"lapack_[sdcz](getrf|geqrf|orgqr|ungqr|syevd|heevd|gesdd)_ffi")


def run(module: ir.Module, report: Report) -> None:
    """The pass."""
    write_out(module, report, _form)


def _form(operation: ir.Operation) -> tuple[Form | None, str]:
    """What takes an operation's place, and its name; None where the operation stays."""
    called = _LAPACK.fullmatch(call_target(operation))
    if called is not None:
        return _CALLS[called[1]], f"{called[1]}_portable"
    if operation.name not in ("stablehlo.cholesky", "stablehlo.triangular_solve"):
        return None, ""
    types = types_of(operation, "portable_linalg")
    shapes, rows = [type_.shape for type_ in types], types[0].shape[-1]
    if numpy_dtype(types[0].element_type) not in REAL_FLOATS or rows <= SMALLEST:
        return None, ""
    if operation.name == "stablehlo.cholesky":
        return lambda op, a: cholesky(op, a, max(PANEL, -(-rows // PANELS))), "cholesky_blocks"
    if shapes[1][-1 if flag_of(operation, "left_side", True) else -2] > COLUMNS:
        return None, ""
    return lambda op, a, b: triangular_solve(op, a, b, ROWS), "triangular_solve_blocks"


# ---- calls of LAPACK -------------------------------------------------------------------------------------------------


def _option(operation: ir.Operation, name: str) -> str:
    for holder in ("mhlo.backend_config", "backend_config"):
        if holder in operation.attributes:
            return chr(ir.IntegerAttr(ir.DictAttr(operation.attributes[holder])[name]).value)
    raise PassError(f"a call of LAPACK without its option {name!r} (at {operation.location})")


def _no_error(a: Tensor) -> Tensor:
    return _zeros(a, a.dims[:-2], INT32)


def _zeros(like: Tensor, dims: Sequence[Dim], dtype: DType) -> Tensor:
    return hlo.broadcast_in_dim(like.builder.constant(np.zeros((), dtype)), tuple(dims), ())


def _getrf(_operation: ir.Operation, a: Tensor) -> list[Tensor]:
    factors, pivots = hlo.lu_factor(a)
    return [factors, hlo.add(hlo.convert(pivots, INT32), 1), _no_error(a)]


def _syevd(operation: ir.Operation, a: Tensor) -> list[Tensor]:
    vectors, values = hlo.eigh(a if _option(operation, "uplo") == "L" else adjoint(a))
    return [vectors, values, _no_error(a)]


def _gesdd(operation: ir.Operation, a: Tensor) -> list[Tensor]:
    mode = _option(operation, "mode")
    if mode == "N":
        u, v = (ir.RankedTensorType(operation.results[number].type).shape for number in (2, 3))
        return [a, hlo.singular_values(a), _zeros(a, u, a.dtype), _zeros(a, v, a.dtype), _no_error(a)]
    left, values, right = hlo.svd(a, complete=mode == "A")
    return [a, values, left, right, _no_error(a)]


_CALLS: dict[str, Form] = {
    "getrf": _getrf,
    "geqrf": lambda _, a: list(hlo.householder_qr(a)),
    "orgqr": lambda _, a, taus: [hlo.householder_product(a, taus)],
    "ungqr": lambda _, a, taus: [hlo.householder_product(a, taus)],
    "syevd": _syevd,
    "heevd": _syevd,
    "gesdd": _gesdd,
}
