"""Factorizations as plain StableHLO: what `portable_linalg`, `expand_linalg` and `for_iree` write.

    before  %l = stablehlo.cholesky %a, lower = true : tensor<8x8xf64>
    after   %l = call @cholesky_expanded(%a) : ...        // a while over the columns

In: a module, and which form takes an operation's place. Out: a call of a private function. A matrix is gone through by
panels of columns, or by some rows of unknowns at a time, with products of matrices for the rest. Preconditions: static
shapes. Rounding: sums in another order than a library's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .. import builder as hlo
from ..builder import Builder, Tensor
from ..builder.matrices import adjoint, matmul, over_batch, places, real_part, steps, swap
from ..builder.places import INT64
from ..errors import PassError
from ..ir.bindings import ir
from ..ir.functions import adopt, of_fft, replace_by_call
from ..ir.values import flag_of, numpy_dtype, walk
from .report import Report

Form = Callable[..., Sequence[Tensor]]


def write_out(module: ir.Module, report: Report, find: Callable[[ir.Operation], tuple[Form | None, str]]) -> None:
    """Puts forms in place of operations: `find` gives an operation's, from it and its operands, and the form's name."""
    for operation in walk(module):
        form, name = find(operation)
        if form is not None:
            builder = Builder(module.context, name)
            specs = [(tuple(t.shape), numpy_dtype(t.element_type)) for t in types_of(operation, report.pass_name)]
            with builder.function("main", specs) as arguments:
                builder.finish(form(operation, *arguments))
            report.applied(operation, result=f"@{name}")
            replace_by_call(operation, adopt(module, builder.module, name))


def types_of(operation: ir.Operation, pass_name: str) -> list[ir.RankedTensorType]:
    """The types of the operands, which must be static."""
    types = [ir.RankedTensorType(value.type) for value in operation.operands]
    if not all(type_.has_static_shape for type_ in types):
        raise PassError(f"{pass_name} needs static shapes; specialize first (at {operation.location})")
    return types


def expand(module: ir.Module, report: Report) -> None:
    """Writes the factorizations of a module out, one column or row a step, and transforms as products, in place."""
    write_out(module, report, lambda op: (_EXPANDED.get(op.name), f"{op.name.partition('.')[2]}_expanded"))


def _cut(x: Tensor, starts: Sequence[Tensor], sizes: Sequence[int]) -> Tensor:
    zero = x.builder.constant(0, np.int64)
    return hlo.dynamic_slice(x, [*[zero] * (x.ndim - 2), *starts], (*x.dims[:-2], *sizes))


def _put(x: Tensor, block: Tensor, starts: Sequence[Tensor]) -> Tensor:
    zero = x.builder.constant(0, np.int64)
    return hlo.dynamic_update_slice(x, block, [*[zero] * (x.ndim - 2), *starts])


def cholesky(operation: ir.Operation, a: Tensor, width: int = 0) -> list[Tensor]:
    """Right-looking by panels of this many columns, 0 for all: the rest less the product of a panel with itself.

    Of the matrix only the triangle that is asked for is read. What comes behind a pivot that is not positive is NaN, so
    that the last element of the diagonal tells; the matrix's factor is NaN then, as LAPACK's potrf is read.
    """
    lower = flag_of(operation, "lower", False)
    rest = a if lower else adjoint(a)
    rows, last, above = int(a.dims[-1]), a.ndim - 1, [0] * (a.ndim - 2)  # type: ignore[arg-type]
    if not rows:
        return [a]
    panels = []
    for start in range(0, rows, width or rows):
        wide = min(width or rows, rows - start)
        left = rows - start - wide
        panel = _panel(hlo.slice_axis(rest, last, 0, wide))
        panels.append(hlo.pad(panel, a.builder.constant(np.zeros((), a.dtype)), [*above, start, 0], [*above, 0, 0]))
        if left:
            below = hlo.slice_axis(panel, last - 1, wide, left)
            corner = hlo.slice_axes(rest, {last - 1: (wide, left, 1), last: (wide, left, 1)})
            rest = corner - matmul(below, adjoint(below))
    factor = hlo.concatenate(panels, last)
    end = real_part(hlo.slice_axes(factor, {last - 1: (rows - 1, 1, 1), last: (rows - 1, 1, 1)}))
    factor = hlo.select(over_batch(hlo.compare("NE", end, end), factor), hlo.full_like(factor, np.nan), factor)
    return [factor if lower else adjoint(factor)]


def _panel(matrix: Tensor) -> Tensor:
    """The first columns of a factor: each less its product with those so far, over the root of its pivot."""
    rows, width = (int(dim) for dim in matrix.dims[-2:])  # type: ignore[arg-type]
    zero = matrix.builder.constant(0, np.int64)

    def body(k: Tensor, factor: Tensor) -> list[Tensor]:
        rest = _cut(matrix, [zero, k], [rows, 1]) - matmul(factor, adjoint(_cut(factor, [k, zero], [1, width])))
        pivot = real_part(_cut(rest, [k, zero], [1, 1]))
        root = hlo.sqrt(hlo.select(hlo.compare("GT", pivot, 0), pivot, hlo.full_like(pivot, np.nan)))
        scaled = rest / over_batch(hlo.convert(root, rest.dtype), rest)
        column = hlo.select(hlo.compare("GE", places(rest, -2), k), scaled, hlo.full_like(rest, 0))
        return [_put(factor, column, [zero, k])]

    return steps(width, [hlo.full_like(matrix, 0)], body)[0]


def triangular_solve(operation: ir.Operation, a: Tensor, b: Tensor, at_once: int = 1) -> list[Tensor]:
    """Substitution, this many rows of the unknowns a step."""
    lower, unit = flag_of(operation, "lower", False), flag_of(operation, "unit_diagonal", False)
    kind = str(operation.attributes["transpose_a"])
    if "NO_TRANSPOSE" not in kind:
        a, lower = adjoint(a) if "ADJOINT" in kind else swap(a), not lower
    if flag_of(operation, "left_side", True):
        return [_substituted(a, b, lower, unit, at_once)]
    return [swap(_substituted(swap(a), swap(b), not lower, unit, at_once))]  # x a = b is a^T x^T = b^T


def _substituted(a: Tensor, b: Tensor, lower: bool, unit: bool, at_once: int) -> Tensor:
    """Some rows of unknowns at a time; those that are not known yet are zero.

    Slices do not go over the end: the last rows may begin with some that are known, which are solved for again.
    """
    rows, columns = (int(dim) for dim in b.dims[-2:])  # type: ignore[arg-type]
    if not rows:
        return b
    above, last, zero = [0] * (a.ndim - 2), a.ndim - 1, a.builder.constant(0, np.int64)
    beside = hlo.triangle(a, lower=lower, diagonal=-1 if lower else 1)

    def body(k: Tensor, x: Tensor) -> list[Tensor]:
        at = k * at_once if lower else hlo.subtract(rows - at_once, k * at_once)
        right, own = _cut(b, [at, zero], [at_once, columns]), _cut(a, [at, at], [at_once, at_once])
        if rows % at_once:
            x = _put(x, hlo.full_like(right, 0), [at, zero])
        rest = right - matmul(_cut(beside, [at, zero], [at_once, rows]), x)
        found: dict[int, Tensor] = {}
        for i in range(at_once) if lower else reversed(range(at_once)):
            row = hlo.slice_axis(rest, last - 1, i, 1)
            element = [hlo.slice(own, [*above, i, j], [*own.dims[:-2], i + 1, j + 1]) for j in range(at_once)]
            for j, other in found.items():
                row = row - over_batch(element[j], row) * other
            found[i] = row if unit else row / over_batch(element[i], row)
        return [_put(x, hlo.concatenate([found[i] for i in range(at_once)], last - 1), [at, zero])]

    return steps(-(-rows // at_once), [hlo.full_like(b, 0)], body)[0]


def _fft(operation: ir.Operation, x: Tensor) -> list[Tensor]:
    """Each axis times the matrix of the transform."""
    kind, lengths = of_fft(operation)
    sizes = [x.builder.constant(length, INT64) for length in lengths]

    def along(tensor: Tensor, axis: int, inverse: bool) -> Tensor:
        return hlo.at_end(tensor, axis, lambda y: hlo.as_product(y, inverse=inverse))

    return [hlo.by_axes(x, kind, lengths, sizes, along)]


_EXPANDED: dict[str, Form] = {
    "stablehlo.cholesky": cholesky,
    "stablehlo.triangular_solve": triangular_solve,
    "stablehlo.fft": _fft,
}
