"""portable_linalg: factorizations in StableHLO's own ops: LAPACK's calls, and large ones that XLA has a slow form for.

    before  %f:3 = stablehlo.custom_call @lapack_dgetrf_ffi(%a)        after   %f:3 = call @getrf_portable(%a)
            %l = stablehlo.cholesky %b, lower = true                           %l = call @cholesky_blocks(%b)

In: JAX's calls of LAPACK for LU, QR, eigenvalues of Hermitian matrices and singular values; `stablehlo.cholesky` of
real matrices of more than 8 rows, and `stablehlo.triangular_solve` of these with up to 16 right-hand sides. Out:
private functions in plain StableHLO. The last two go through the matrix four rows at a time, with products of matrices
for the rest: XLA:CPU takes 93 ms for a Cholesky factor of 200 x 200 by its own form, and 1.1 ms by this one (complex
ones take it half a minute to compile). Preconditions: static shapes. Rounding: that of another algorithm; signs and
phases of vectors may be others. What has no portable form stays.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from .. import builder as hlo
from ..builder import Builder, Tensor
from ..builder.matrices import adjoint, conjugate, matmul, on_diagonal, places, real_part, steps
from ..builder.types import INT32, DType
from ..dims import Dim
from ..errors import PassError
from ..ir.bindings import ir
from ..ir.functions import adopt, replace_by_call
from ..ir.values import REAL_FLOATS, call_target, flag_of, numpy_dtype, walk
from .factor_loops import solve_from_left
from .report import Report

ROWS = 4  # at a time; their own factor is written out
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


# ---- blocks of rows --------------------------------------------------------------------------------------------------


def _cut(x: Tensor, starts: Sequence[Tensor], sizes: Sequence[int]) -> Tensor:
    """A block of each matrix."""
    zero = x.builder.constant(0, np.int64)
    return hlo.dynamic_slice(x, [*[zero] * (x.ndim - 2), *starts], (*x.dims[:-2], *sizes))


def _put(x: Tensor, block: Tensor, starts: Sequence[Tensor]) -> Tensor:
    zero = x.builder.constant(0, np.int64)
    return hlo.dynamic_update_slice(x, block, [*[zero] * (x.ndim - 2), *starts])


def _lengthened(x: Tensor, rows: int, columns: int) -> Tensor:
    """A matrix with that many rows and columns more, of zeros."""
    none = [0] * (x.ndim - 2)
    zero = x.builder.constant(np.zeros((), x.dtype))
    return hlo.pad(x, zero, [*none, 0, 0], [*none, rows, columns])


def _whole_blocks(a: Tensor) -> tuple[Tensor, int]:
    """A matrix whose rows are whole blocks, with ones on the rest of the diagonal, and the number of blocks."""
    size = int(a.dims[-1])  # type: ignore[arg-type]
    count = -(-size // ROWS)
    missing = count * ROWS - size
    if not missing:
        return a, count
    longer = _lengthened(a, missing, missing)
    added = hlo.and_(on_diagonal(longer), hlo.compare("GE", places(longer, -1), size))
    return hlo.select(added, hlo.full_like(longer, 1), longer), count


def _element(block: Tensor, i: int, j: int) -> Tensor:
    """Element (i, j) of each matrix, as a matrix of one element."""
    first = [0] * (block.ndim - 2)
    return hlo.slice(block, [*first, i, j], [*block.dims[:-2], i + 1, j + 1])


def _times(element: Tensor, x: Tensor) -> Tensor:
    """An element of each matrix times a row or a column."""
    return hlo.multiply(hlo.broadcast_in_dim(element, x.dims, range(x.ndim)), x)


def _over(x: Tensor, element: Tensor) -> Tensor:
    return hlo.divide(x, hlo.broadcast_in_dim(element, x.dims, range(x.ndim)))


def _own_factor(block: Tensor) -> list[list[Tensor]]:
    """The elements of a small factor, row by row; one over a pivot that is not positive is NaN."""
    factor: list[list[Tensor]] = []
    for i in range(ROWS):
        factor.append([])
        for j in range(i + 1):
            rest = _element(block, i, j)
            for k in range(j):
                rest = hlo.subtract(rest, hlo.multiply(factor[i][k], conjugate(factor[j][k])))
            if i == j:
                positive = hlo.compare("GT", real_part(rest), 0)
                factor[i].append(hlo.sqrt(hlo.select(positive, rest, hlo.full_like(rest, np.nan))))
            else:
                factor[i].append(hlo.divide(rest, factor[j][j]))
    return factor


def _cholesky(operation: ir.Operation, a: Tensor) -> list[Tensor]:
    """Right-looking by panels of columns: the rest of the matrix less the product of a panel with itself.

    Of the matrix only the triangle that is asked for is read. What comes behind a pivot that is not positive is NaN, so
    that the last element of the diagonal tells.
    """
    lower = flag_of(operation, "lower", False)
    rest, count = _whole_blocks(a if lower else adjoint(a))
    left, kept = count * ROWS, int(a.dims[-1])  # type: ignore[arg-type]
    panels = []
    blocks = max(PANEL // ROWS, -(-count // PANELS))  # of a panel
    for start in range(0, count, blocks):
        width = min(blocks, count - start) * ROWS
        panel = _panel(hlo.slice_axis(rest, a.ndim - 1, 0, width))
        above = [0] * (a.ndim - 2)
        zero = a.builder.constant(np.zeros((), a.dtype))
        panels.append(hlo.pad(panel, zero, [*above, count * ROWS - left, 0], [*above, 0, 0]))
        left -= width
        if left:
            below = hlo.slice_axis(panel, a.ndim - 2, width, left)
            corner = hlo.slice_axes(rest, {a.ndim - 2: (width, left, 1), a.ndim - 1: (width, left, 1)})
            rest = hlo.subtract(corner, matmul(below, adjoint(below)))
    factor = hlo.slice(hlo.concatenate(panels, a.ndim - 1), [0] * a.ndim, [*a.dims[:-2], kept, kept])
    last = _element(factor, kept - 1, kept - 1)
    failed = hlo.broadcast_in_dim(hlo.compare("NE", last, last), factor.dims, range(a.ndim))
    factor = hlo.select(failed, hlo.full_like(factor, np.nan), factor)
    return [factor if lower else adjoint(factor)]


def _panel(matrix: Tensor) -> Tensor:
    """The first columns of a factor: a block less its product with those so far, over the factor of its own rows."""
    rows, width = (int(dim) for dim in matrix.dims[-2:])  # type: ignore[arg-type]
    zero = matrix.builder.constant(0, np.int64)

    def body(k: Tensor, factor: Tensor) -> list[Tensor]:
        at = hlo.multiply(k, ROWS)
        known = matmul(factor, adjoint(_cut(factor, [at, zero], [ROWS, width])))
        rest = hlo.subtract(_cut(matrix, [zero, at], [rows, ROWS]), known)
        own = _own_factor(_cut(rest, [at, zero], [ROWS, ROWS]))
        columns: list[Tensor] = []
        for j in range(ROWS):
            column = hlo.slice_axis(rest, rest.ndim - 1, j, 1)
            for other, element in zip(columns, own[j], strict=False):
                column = hlo.subtract(column, _times(conjugate(element), other))
            columns.append(_over(column, own[j][j]))
        found = hlo.concatenate(columns, rest.ndim - 1)
        below = hlo.compare("GE", places(found, -2), hlo.add(places(found, -1), at))
        return [_put(factor, hlo.select(below, found, hlo.full_like(found, 0)), [zero, at])]

    return steps(width // ROWS, [hlo.full_like(matrix, 0)], body)[0]


def _substituted(a: Tensor, b: Tensor, *, lower: bool, unit: bool) -> Tensor:
    """A block of unknowns at a time; those that are not known yet are zero."""
    rows, columns = (int(dim) for dim in b.dims[-2:])  # type: ignore[arg-type]
    matrix, count = _whole_blocks(a)
    size = count * ROWS
    right = _lengthened(b, size - rows, 0)
    zero = a.builder.constant(0, np.int64)
    order = list(range(ROWS)) if lower else list(reversed(range(ROWS)))

    def body(k: Tensor, x: Tensor) -> list[Tensor]:
        at = hlo.multiply(k if lower else hlo.subtract(a.builder.constant(count - 1, np.int64), k), ROWS)
        known = matmul(_cut(matrix, [at, zero], [ROWS, size]), x)
        rest = hlo.subtract(_cut(right, [at, zero], [ROWS, columns]), known)
        own = _cut(matrix, [at, at], [ROWS, ROWS])
        found: dict[int, Tensor] = {}
        for i in order:
            row = hlo.slice_axis(rest, rest.ndim - 2, i, 1)
            for j, other in found.items():
                row = hlo.subtract(row, _times(_element(own, i, j), other))
            found[i] = row if unit else _over(row, _element(own, i, i))
        return [_put(x, hlo.concatenate([found[i] for i in range(ROWS)], rest.ndim - 2), [at, zero])]

    (x,) = steps(count, [hlo.full_like(right, 0)], body)
    return hlo.slice(x, [0] * x.ndim, b.dims)
