"""expand_linalg: factorizations as plain StableHLO loops, transforms as products, for the reference interpreter.

    before  %l = stablehlo.cholesky %a, lower = true : tensor<8x8xf64>
    after   %l = call @cholesky_expanded(%a) : ...        // a while over the columns

Preconditions: static shapes. Rounding: sums in another order than a library's. The loops are made for reading and for
checking, not for speed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .. import builder as hlo
from ..builder import Builder, Tensor
from ..builder.matrices import adjoint, pick, places, spread, steps, swap
from ..builder.types import INT64
from ..errors import PassError
from ..ir import transforms
from ..ir.adopt import adopt
from ..ir.attributes import flag_of
from ..ir.bindings import ir
from ..ir.functions import replace_by_call
from ..ir.types import numpy_dtype
from ..ir.walk import walk
from .report import Report


def run(module: ir.Module, _report: Report) -> None:
    """The pass."""
    for operation in walk(module):
        if operation.name not in _FORMS:
            continue
        types = [ir.RankedTensorType(value.type) for value in operation.operands]
        if not all(type_.has_static_shape for type_ in types):
            raise PassError(f"expand_linalg needs static shapes; specialize first (at {operation.location})")
        builder = Builder(module.context, "expanded")
        specs = [(tuple(t.shape), numpy_dtype(t.element_type)) for t in types]
        with builder.function("main", specs) as arguments:
            builder.finish([_FORMS[operation.name](operation, *arguments)])
        name = f"{operation.name.partition('.')[2]}_expanded"
        replace_by_call(operation, adopt(module, builder.module, name))


def _cholesky(operation: ir.Operation, a: Tensor) -> Tensor:
    """Right-looking: column k over the root of its pivot; its outer product leaves the rest.

    A pivot that is not positive makes the matrix's factor NaN, as LAPACK's potrf is read.
    """
    lower = flag_of(operation, "lower", False)
    a = a if lower else adjoint(a)
    strict = hlo.triangle(a, lower=True, diagonal=-1)
    rest = hlo.add(hlo.triangle(a, lower=True), adjoint(strict))
    rows, columns = places(a, -2), places(a, -1)
    zero, nan = hlo.full_like(a, 0), hlo.full_like(a, np.nan)

    def body(k: Tensor, rest: Tensor, factor: Tensor) -> list[Tensor]:
        at_column, at_row = hlo.compare("EQ", columns, k), hlo.compare("EQ", rows, k)
        column = spread(pick(rest, at_column, -1), rest, -1)
        pivot = spread(pick(rest, at_row, -2), rest, -2)
        pivot = spread(pick(pivot, at_column, -1), rest, -1)
        positive = hlo.compare("GT", hlo.real(pivot) if pivot.dtype.kind == "c" else pivot, 0)
        scaled = hlo.select(hlo.compare("GE", rows, k), hlo.divide(column, hlo.sqrt(pivot)), zero)
        rest = hlo.subtract(rest, hlo.multiply(scaled, adjoint(scaled)))
        return [rest, hlo.select(positive, hlo.select(at_column, scaled, factor), nan)]

    factor = steps(int(a.dims[-1]), [rest, zero], body)[1]  # type: ignore[arg-type]
    return factor if lower else adjoint(factor)


def _triangular_solve(operation: ir.Operation, a: Tensor, b: Tensor) -> Tensor:
    """Substitution, one row of the unknowns a step."""
    lower = flag_of(operation, "lower", False)
    unit = flag_of(operation, "unit_diagonal", False)
    a = hlo.triangle(a, lower=lower)
    kind = str(operation.attributes["transpose_a"])
    if "NO_TRANSPOSE" not in kind:
        a, lower = adjoint(a) if "ADJOINT" in kind else swap(a), not lower
    if not flag_of(operation, "left_side", True):
        # x a = b is a^T x^T = b^T.
        return swap(_substitute(swap(a), swap(b), lower=not lower, unit=unit))
    return _substitute(a, b, lower=lower, unit=unit)


def _substitute(a: Tensor, b: Tensor, *, lower: bool, unit: bool) -> Tensor:
    n = int(a.dims[-1])  # type: ignore[arg-type]
    batch = list(range(a.ndim - 2))
    last, second = a.ndim - 1, a.ndim - 2
    rows, diagonal = places(b, -2), hlo.compare("EQ", places(a, -2), places(a, -1))
    divisors = hlo.full_like(pick(a, diagonal, -1), 1) if unit else pick(a, diagonal, -1)
    divisors = hlo.broadcast_in_dim(divisors, b.dims, [*batch, second])
    off_diagonal = hlo.select(diagonal, hlo.full_like(a, 0), a)

    def body(k: Tensor, x: Tensor) -> list[Tensor]:
        row = k if lower else hlo.subtract(k.builder.constant(n - 1, np.int64), k)
        known = hlo.dot_general(off_diagonal, x, contracting=([last], [second]), batching=(batch, batch))
        solved = hlo.divide(hlo.subtract(b, known), divisors)
        return [hlo.select(hlo.compare("EQ", rows, row), solved, x)]

    return steps(n, [hlo.full_like(b, 0)], body)[0]


def _fft(operation: ir.Operation, x: Tensor) -> Tensor:
    """Each axis times the matrix of the transform."""
    kind, lengths = transforms.of_fft(operation)
    sizes = [x.builder.constant(length, INT64) for length in lengths]

    def along(tensor: Tensor, axis: int, inverse: bool) -> Tensor:
        return hlo.at_end(tensor, axis, lambda y: hlo.as_product(y, inverse=inverse))

    return hlo.by_axes(x, kind, lengths, sizes, along)


_FORMS: dict[str, Callable[..., Tensor]] = {
    "stablehlo.cholesky": _cholesky,
    "stablehlo.triangular_solve": _triangular_solve,
    "stablehlo.fft": _fft,
}
