"""Factorizations as plain StableHLO loops, transforms as products: what `expand_linalg` and `for_iree` write.

    before  %l = stablehlo.cholesky %a, lower = true : tensor<8x8xf64>
    after   %l = call @cholesky_expanded(%a) : ...        // a while over the columns

Preconditions: a transform's sizes are static. Rounding: sums in another order than a library's. The loops are made for
reading and for checking, not for speed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .. import builder as hlo
from .. import dims as dimension
from ..builder import Builder, SizeSource, Tensor
from ..builder.matrices import adjoint, pick, places, spread, steps, swap
from ..builder.types import INT64, Dims, DType
from ..errors import PassError
from ..ir.bindings import ir
from ..ir.dynamic_calls import of_fft
from ..ir.functions import adopt, replace_by_call
from ..ir.values import flag_of, numpy_dtype, walk


def expand(module: ir.Module) -> list[str]:
    """Writes the factorizations of a module out, in place.

    Returns:
        The symbols of the functions that it now has for them.
    """
    symbols = []
    for operation in walk(module):
        if operation.name not in _FORMS:
            continue
        builder = Builder(module.context, "expanded")
        specs = _specs(operation)
        with builder.function("main", specs) as arguments:
            for number, argument in enumerate(arguments):
                for axis, dim in enumerate(argument.dims):
                    if not isinstance(dim, int):
                        builder.add_root(SizeSource(str(dim), arguments[number], axis))
            builder.finish([_FORMS[operation.name](operation, *arguments)])
        name = f"{operation.name.partition('.')[2]}_expanded"
        symbols.append(adopt(module, builder.module, name))
        replace_by_call(operation, symbols[-1])
    return symbols


def _specs(operation: ir.Operation) -> list[tuple[Dims, DType]]:
    """The operands' sizes and dtypes; the sizes of a factor and of what is solved are named, and named alike.

    Raises:
        PassError: a transform of unknown size.
    """
    types = [ir.RankedTensorType(value.type) for value in operation.operands]
    if operation.name == "stablehlo.fft":
        if types[0].has_static_shape:
            return [(tuple(types[0].shape), numpy_dtype(types[0].element_type))]
        raise PassError(f"expand_linalg needs a transform's sizes; specialize first (at {operation.location})")
    batch = [f"b{axis}" for axis in range(types[0].rank - 2)]
    sides = ["n", "k"] if flag_of(operation, "left_side", True) else ["k", "n"]
    names = [[*batch, "n", "n"], [*batch, *sides]]
    specs: list[tuple[Dims, DType]] = []
    for type_, own in zip(types, names, strict=False):
        dims = tuple(
            dimension.symbol(name) if type_.is_dynamic_dim(axis) else type_.get_dim_size(axis)
            for axis, name in enumerate(own[: type_.rank])
        )
        specs.append((dims, numpy_dtype(type_.element_type)))
    return specs


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

    factor = steps(a.dims[-1], [rest, zero], body)[1]
    return factor if lower else adjoint(factor)


def _triangular_solve(operation: ir.Operation, a: Tensor, b: Tensor) -> Tensor:
    """Substitution, one row of the unknowns a step."""
    return solve_from_left(operation, a, b, _substitute)


def solve_from_left(operation: ir.Operation, a: Tensor, b: Tensor, substitute: Callable[..., Tensor]) -> Tensor:
    """A `stablehlo.triangular_solve` by a function that solves `a x = b`; `lower` and `unit` are told to it."""
    lower = flag_of(operation, "lower", False)
    unit = flag_of(operation, "unit_diagonal", False)
    a = hlo.triangle(a, lower=lower)
    kind = str(operation.attributes["transpose_a"])
    if "NO_TRANSPOSE" not in kind:
        a, lower = adjoint(a) if "ADJOINT" in kind else swap(a), not lower
    if not flag_of(operation, "left_side", True):
        # x a = b is a^T x^T = b^T.
        return swap(substitute(swap(a), swap(b), lower=not lower, unit=unit))
    return substitute(a, b, lower=lower, unit=unit)


def _substitute(a: Tensor, b: Tensor, *, lower: bool, unit: bool) -> Tensor:
    n = a.dims[-1]
    batch = list(range(a.ndim - 2))
    last, second = a.ndim - 1, a.ndim - 2
    rows, diagonal = places(b, -2), hlo.compare("EQ", places(a, -2), places(a, -1))
    divisors = hlo.full_like(pick(a, diagonal, -1), 1) if unit else pick(a, diagonal, -1)
    divisors = hlo.broadcast_in_dim(divisors, b.dims, [*batch, second])
    off_diagonal = hlo.select(diagonal, hlo.full_like(a, 0), a)

    def body(k: Tensor, x: Tensor) -> list[Tensor]:
        row = k if lower else hlo.subtract(k.builder.size(n - 1), k)
        known = hlo.dot_general(off_diagonal, x, contracting=([last], [second]), batching=(batch, batch))
        solved = hlo.divide(hlo.subtract(b, known), divisors)
        return [hlo.select(hlo.compare("EQ", rows, row), solved, x)]

    return steps(n, [hlo.full_like(b, 0)], body)[0]


def _fft(operation: ir.Operation, x: Tensor) -> Tensor:
    """Each axis times the matrix of the transform."""
    kind, lengths = of_fft(operation)
    sizes = [x.builder.constant(length, INT64) for length in lengths]

    def along(tensor: Tensor, axis: int, inverse: bool) -> Tensor:
        return hlo.at_end(tensor, axis, lambda y: hlo.as_product(y, inverse=inverse))

    return hlo.by_axes(x, kind, lengths, sizes, along)


_FORMS: dict[str, Callable[..., Tensor]] = {
    "stablehlo.cholesky": _cholesky,
    "stablehlo.triangular_solve": _triangular_solve,
    "stablehlo.fft": _fft,
}
