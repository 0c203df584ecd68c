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
from collections.abc import Callable, Sequence

import numpy as np

from .. import builder as hlo
from ..builder import Builder, Tensor
from ..builder.matrices import adjoint, matmul, places, steps
from ..builder.types import INT32, DType
from ..dims import Dim
from ..errors import PassError
from ..ir.bindings import ir
from ..ir.functions import adopt, replace_by_call
from ..ir.values import REAL_FLOATS, call_target, flag_of, numpy_dtype, walk
from .factor_loops import solve_from_left
from .report import Report

ROWS = 4  # of unknowns that are solved for at a time; of a matrix that has more than twice as many
PANEL, PANELS = 32, 16  # columns of a panel at least, and how many panels there are at most
SMALLEST = 8  # matrices of so many rows and fewer are left as they are
COLUMNS = 16  # right-hand sides, up to which a solve by blocks is faster than XLA's own

_LAPACK = re.compile(r"lapack_[sdcz](getrf|geqrf|orgqr|ungqr|syevd|heevd|gesdd)_ffi")
_Form = Callable[..., Sequence[Tensor]]


def run(module: ir.Module, report: Report) -> None:
    """The pass."""
    for operation in walk(module):
        form, name = _form(operation)
        if form is None:
            continue
        builder = Builder(module.context, "portable")
        specs = [(tuple(t.shape), numpy_dtype(t.element_type)) for t in _types(operation)]
        with builder.function("main", specs) as arguments:
            builder.finish(form(operation, *arguments))
        report.applied(operation, result=f"@{name}")
        replace_by_call(operation, adopt(module, builder.module, name))


def _form(operation: ir.Operation) -> tuple[_Form | None, str]:
    """What takes an operation's place, and its name; None where the operation stays."""
    called = _LAPACK.fullmatch(call_target(operation))
    if called is not None:
        return _CALLS[called[1]], f"{called[1]}_portable"
    if operation.name not in ("stablehlo.cholesky", "stablehlo.triangular_solve"):
        return None, ""
    types = _types(operation)
    shapes = [type_.shape for type_ in types]
    if numpy_dtype(types[0].element_type) not in REAL_FLOATS or shapes[0][-1] <= SMALLEST:
        return None, ""
    if operation.name == "stablehlo.cholesky":
        return _cholesky, "cholesky_blocks"
    columns = shapes[1][-1 if flag_of(operation, "left_side", True) else -2]
    if columns > COLUMNS:
        return None, ""
    return lambda op, a, b: [solve_from_left(op, a, b, _substituted)], "triangular_solve_blocks"


def _types(operation: ir.Operation) -> list[ir.RankedTensorType]:
    types = [ir.RankedTensorType(value.type) for value in operation.operands]
    if not all(type_.has_static_shape for type_ in types):
        raise PassError(f"portable_linalg needs static shapes; specialize first (at {operation.location})")
    return types


# ---- calls of LAPACK -------------------------------------------------------------------------------------------------


def _option(operation: ir.Operation, name: str) -> str:
    """An option of a call, which is a letter."""
    for holder in ("mhlo.backend_config", "backend_config"):
        if holder in operation.attributes:
            return chr(ir.IntegerAttr(ir.DictAttr(operation.attributes[holder])[name]).value)
    raise PassError(f"a call of LAPACK without its option {name!r} (at {operation.location})")


def _no_error(a: Tensor) -> Tensor:
    """LAPACK's `info` for each matrix."""
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
    """The first result is LAPACK's workspace."""
    mode = _option(operation, "mode")
    if mode == "N":
        u, v = (ir.RankedTensorType(operation.results[number].type).shape for number in (2, 3))
        return [a, hlo.singular_values(a), _zeros(a, u, a.dtype), _zeros(a, v, a.dtype), _no_error(a)]
    left, values, right = hlo.svd(a, complete=mode == "A")
    return [a, values, left, right, _no_error(a)]


_CALLS: dict[str, _Form] = {
    "getrf": _getrf,
    "geqrf": lambda _, a: list(hlo.householder_qr(a)),
    "orgqr": lambda _, a, taus: [hlo.householder_product(a, taus)],
    "ungqr": lambda _, a, taus: [hlo.householder_product(a, taus)],
    "syevd": _syevd,
    "heevd": _syevd,
    "gesdd": _gesdd,
}


# ---- columns and rows ------------------------------------------------------------------------------------------------


def _cut(x: Tensor, starts: Sequence[Tensor], sizes: Sequence[int]) -> Tensor:
    """A block of each matrix."""
    zero = x.builder.constant(0, np.int64)
    return hlo.dynamic_slice(x, [*[zero] * (x.ndim - 2), *starts], (*x.dims[:-2], *sizes))


def _put(x: Tensor, block: Tensor, starts: Sequence[Tensor]) -> Tensor:
    zero = x.builder.constant(0, np.int64)
    return hlo.dynamic_update_slice(x, block, [*[zero] * (x.ndim - 2), *starts])


def _over(x: Tensor, element: Tensor) -> Tensor:
    return hlo.divide(x, hlo.broadcast_in_dim(element, x.dims, range(x.ndim)))


def _cholesky(operation: ir.Operation, a: Tensor) -> list[Tensor]:
    """Right-looking by panels of columns: the rest of the matrix less the product of a panel with itself.

    Of the matrix only the triangle that is asked for is read. What comes behind a pivot that is not positive is NaN, so
    that the last element of the diagonal tells.
    """
    lower = flag_of(operation, "lower", False)
    rest = a if lower else adjoint(a)
    rows, last, above = int(a.dims[-1]), a.ndim - 1, [0] * (a.ndim - 2)  # type: ignore[arg-type]
    zero = a.builder.constant(np.zeros((), a.dtype))
    panels = []
    most = max(PANEL, -(-rows // PANELS))
    for start in range(0, rows, most):
        width = min(most, rows - start)
        left = rows - start - width
        panel = _panel(hlo.slice_axis(rest, last, 0, width))
        panels.append(hlo.pad(panel, zero, [*above, start, 0], [*above, 0, 0]))
        if left:
            below = hlo.slice_axis(panel, last - 1, width, left)
            corner = hlo.slice_axes(rest, {last - 1: (width, left, 1), last: (width, left, 1)})
            rest = hlo.subtract(corner, matmul(below, adjoint(below)))
    factor = hlo.concatenate(panels, last)
    end = hlo.slice_axes(factor, {last - 1: (rows - 1, 1, 1), last: (rows - 1, 1, 1)})
    failed = hlo.broadcast_in_dim(hlo.compare("NE", end, end), factor.dims, range(a.ndim))
    factor = hlo.select(failed, hlo.full_like(factor, np.nan), factor)
    return [factor if lower else adjoint(factor)]


def _panel(matrix: Tensor) -> Tensor:
    """The first columns of a factor: each less its product with those so far, over the root of its pivot."""
    rows, width = (int(dim) for dim in matrix.dims[-2:])  # type: ignore[arg-type]
    zero = matrix.builder.constant(0, np.int64)

    def body(k: Tensor, factor: Tensor) -> list[Tensor]:
        known = matmul(factor, adjoint(_cut(factor, [k, zero], [1, width])))
        rest = hlo.subtract(_cut(matrix, [zero, k], [rows, 1]), known)
        pivot = _cut(rest, [k, zero], [1, 1])
        root = hlo.sqrt(hlo.select(hlo.compare("GT", pivot, 0), pivot, hlo.full_like(pivot, np.nan)))
        column = hlo.select(hlo.compare("GE", places(rest, -2), k), _over(rest, root), hlo.full_like(rest, 0))
        return [_put(factor, column, [zero, k])]

    return steps(width, [hlo.full_like(matrix, 0)], body)[0]


def _substituted(a: Tensor, b: Tensor, *, lower: bool, unit: bool) -> Tensor:
    """Four rows of unknowns at a time, which is faster than one; those that are not known yet are zero.

    Slices do not go over the end: the last four rows may begin with some that are known, which are solved for again.
    """
    rows, columns = (int(dim) for dim in b.dims[-2:])  # type: ignore[arg-type]
    above, last, zero = [0] * (a.ndim - 2), a.ndim - 1, a.builder.constant(0, np.int64)

    def body(k: Tensor, x: Tensor) -> list[Tensor]:
        at = hlo.multiply(k, ROWS) if lower else hlo.subtract(rows - ROWS, hlo.multiply(k, ROWS))
        right, own = _cut(b, [at, zero], [ROWS, columns]), _cut(a, [at, at], [ROWS, ROWS])
        if rows % ROWS:
            x = _put(x, hlo.full_like(right, 0), [at, zero])
        rest = hlo.subtract(right, matmul(_cut(a, [at, zero], [ROWS, rows]), x))
        found: dict[int, Tensor] = {}
        for i in range(ROWS) if lower else reversed(range(ROWS)):
            row = hlo.slice_axis(rest, last - 1, i, 1)
            element = [hlo.slice(own, [*above, i, j], [*own.dims[:-2], i + 1, j + 1]) for j in range(ROWS)]
            for j, other in found.items():
                row = hlo.subtract(row, hlo.multiply(hlo.broadcast_in_dim(element[j], row.dims, range(a.ndim)), other))
            found[i] = row if unit else _over(row, element[i])
        return [_put(x, hlo.concatenate([found[i] for i in range(ROWS)], last - 1), [at, zero])]

    return steps(-(-rows // ROWS), [hlo.full_like(b, 0)], body)[0]
