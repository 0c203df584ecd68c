"""Reductions, contractions, sorting, cumulative ops; and the orders that they go by.

In: handles and axes. Out: handles. A monoid is named by its StableHLO op; its identity for a dtype is known here.
Complex numbers have NumPy's lexicographic order, real parts first; StableHLO has none for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from ..dims import Dim, maximum
from ..ir.kinds import Monoid as Monoid
from ..ir.kinds import identity as identity
from ..ir.values import free_symbol
from .core import Tensor
from .elementwise import Binary, add, and_, compare, imag, maximum_, minimum_, multiply, or_, real, select, xor
from .places import INT64, Attributes, DType, Transpose
from .shape import i64_array, iota, reshape

# ---- orders: which of two elements is the larger one, for every dtype, as NumPy has it -------------------------------


Extreme = Literal["maximum", "minimum"]


def is_nan(x: Tensor) -> Tensor:
    """True where x is NaN; for complex numbers where a part is."""
    if x.dtype.kind == "c":
        return or_(is_nan(real(x)), is_nan(imag(x)))
    return compare("NE", x, x)


def is_number(x: Tensor) -> Tensor:
    """False where x is NaN."""
    return and_(is_number(real(x)), is_number(imag(x))) if x.dtype.kind == "c" else compare("EQ", x, x)


def ordered(direction: str, x: Tensor, y: Tensor) -> Tensor:
    """`x > y` and its like, as NumPy compares: false where NaN decides.

    Args:
        direction: GE, GT, LE or LT.
        x: left operand.
        y: right operand, of the same dtype.
    """
    if x.dtype.kind != "c":
        return compare(direction, x, y)
    numbers = and_(is_number(imag(x)), is_number(imag(y)))
    first = and_(compare(direction[0] + "T", real(x), real(y)), numbers)
    return or_(first, and_(compare("EQ", real(x), real(y)), compare(direction, imag(x), imag(y))))


def larger(x: Tensor, y: Tensor) -> Tensor:
    """`numpy.maximum`: NaN where an operand is."""
    return maximum_(x, y) if x.dtype.kind != "c" else _first_unless("GE", x, y)


def smaller(x: Tensor, y: Tensor) -> Tensor:
    """`numpy.minimum`: NaN where an operand is."""
    return minimum_(x, y) if x.dtype.kind != "c" else _first_unless("LE", x, y)


def _first_unless(direction: str, x: Tensor, y: Tensor) -> Tensor:
    return select(or_(is_nan(x), ordered(direction, x, y)), x, y)


def least_of(kind: Extreme, dtype: DType) -> np.ndarray[Any, Any]:
    """The complex number that is the result of a reduction of no elements: all others come before it."""
    end = -np.inf if kind == "maximum" else np.inf
    return np.array(complex(end, end), dtype)


def less_nan_last(a: Tensor, b: Tensor) -> Tensor:
    """NumPy's order: numbers first, NaN last. For use as a comparator.

    Among complex numbers those with a NaN come last: by the imaginary part's NaN first, and then by the real part's.
    """
    if a.dtype.kind != "c":
        less = compare("LT", a, b)
        return or_(less, and_(is_number(a), is_nan(b))) if a.dtype.kind == "f" else less
    x, y = real(a), real(b)
    number, other = is_number(imag(a)), is_nan(imag(b))
    below = and_(compare("LT", x, y), or_(number, other))
    above = and_(compare("GT", x, y), and_(number, other))
    same = or_(compare("EQ", x, y), and_(is_nan(x), is_nan(y)))
    tied = and_(same, or_(compare("LT", imag(a), imag(b)), and_(number, other)))
    return or_(or_(below, above), or_(tied, and_(is_number(x), is_nan(y))))


# ---- reductions ------------------------------------------------------------------------------------------------------


MONOIDS: dict[str, Binary] = {
    "add": add,
    "multiply": multiply,
    "maximum": maximum_,
    "minimum": minimum_,
    "and": and_,
    "or": or_,
    "xor": xor,
}


def reduce(
    operands: Sequence[Tensor],
    inits: Sequence[Tensor],
    axes: Sequence[int],
    body: Callable[..., Sequence[Tensor]],
    *,
    key: Any = None,
    attributes: Attributes = (),
) -> list[Tensor]:
    """`stablehlo.reduce` of one or more operands of one shape with any associative body.

    Args:
        operands: tensors of one shape.
        inits: a scalar for each.
        axes: what to reduce.
        body: from the accumulators and the elements (scalar handles) to the new accumulators.
        key: hashable description of the body, for CSE.
        attributes: further ones.
    """
    first = operands[0]
    dims = tuple(dim for axis, dim in enumerate(first.dims) if axis not in axes)
    scalars = [((), x.dtype) for x in operands]
    return first.builder.region_op(
        "stablehlo.reduce",
        [*operands, *inits],
        [(dims, x.dtype) for x in operands],
        [([*scalars, *scalars], body)],
        (("dimensions", i64_array(sorted(axes))), *attributes),
        key=key,
    )


def map_elements(operands: Sequence[Tensor], dtype: DType, body: Callable[..., Tensor]) -> Tensor:
    """`stablehlo.map`: a function of scalars on the elements of tensors of one shape.

    Args:
        operands: tensors of one shape.
        dtype: the result's.
        body: from an element of each (scalar handles) to one of the result.
    """
    first = operands[0]
    return first.builder.region_op(
        "stablehlo.map",
        operands,
        [(first.dims, dtype)],
        [([((), x.dtype) for x in operands], lambda *scalars: [body(*scalars)])],
        (("dimensions", i64_array(range(first.ndim))),),
    )[0]


def reduce_monoid(x: Tensor, axes: Sequence[int], monoid: Monoid) -> Tensor:
    """Reduction of `axes` with a monoid, from its identity."""
    if not axes:
        return x
    if x.dtype.kind == "c" and monoid in ("maximum", "minimum"):
        chosen = larger if monoid == "maximum" else smaller
        start = x.builder.constant(least_of(monoid, x.dtype))
        return reduce([x], [start], axes, lambda a, b: [chosen(a, b)], key=monoid)[0]
    init = x.builder.constant(identity(monoid, x.dtype))
    combine = MONOIDS[monoid]
    return reduce([x], [init], axes, lambda a, b: [combine(a, b)], key=monoid)[0]


def arg_reduce(x: Tensor, axis: int, kind: Extreme) -> Tensor:
    """Index (int64) of the largest or smallest element along `axis`: the first of equals, the first NaN if any."""
    builder = x.builder
    has_nan = x.dtype.kind in "fc"
    direction = "GT" if kind == "maximum" else "LT"

    def body(value: Tensor, index: Tensor, other: Tensor, other_index: Tensor) -> list[Tensor]:
        better = ordered(direction, value, other)
        same = compare("EQ", value, other)
        if has_nan:  # NaN beats every number and equals NaN
            nan, other_nan = is_nan(value), is_nan(other)
            better = or_(better, and_(nan, is_number(other)))
            same = or_(same, and_(nan, other_nan))
        keep = or_(better, and_(same, compare("LT", index, other_index)))
        return [select(keep, value, other), select(keep, index, other_index)]

    places = iota(builder, x.dims, axis, INT64)
    init = builder.constant(least_of(kind, x.dtype) if x.dtype.kind == "c" else identity(kind, x.dtype))
    # The identity's index is past every real one, so that an element equal to the identity wins.
    last = builder.constant(np.iinfo(np.int64).max, np.int64)
    return reduce([x, places], [init, last], [axis], body, key=("arg", kind))[1]


def dot_general(
    lhs: Tensor,
    rhs: Tensor,
    *,
    contracting: tuple[Sequence[int], Sequence[int]],
    batching: tuple[Sequence[int], Sequence[int]] = ((), ()),
) -> Tensor:
    """`stablehlo.dot_general`: result axes are batch, then free axes of `lhs`, then free axes of `rhs`.

    An operand that is a transpose is read through it, by other axis numbers: XLA:CPU would write the transpose out
    where the other operand is a vector.
    """
    builder = lhs.builder
    lhs, left_contracting, left_batching = _through_transpose(lhs, contracting[0], batching[0])
    rhs, right_contracting, right_batching = _through_transpose(rhs, contracting[1], batching[1])
    contracting, batching = (left_contracting, right_contracting), (left_batching, right_batching)
    dims: list[Dim] = []
    for a, b in zip(*batching, strict=True):
        dims.append(builder.equate(lhs.dims[a], rhs.dims[b], "dot, batch axis"))
    for a, b in zip(*contracting, strict=True):
        builder.equate(lhs.dims[a], rhs.dims[b], "dot, contracted axis")
    dims += [d for i, d in enumerate(lhs.dims) if i not in contracting[0] and i not in batching[0]]
    dims += [d for i, d in enumerate(rhs.dims) if i not in contracting[1] and i not in batching[1]]
    names = ("lhs_batching", "rhs_batching", "lhs_contracting", "rhs_contracting")
    numbers = zip(names, (*batching, *contracting), strict=True)
    parts = [f"{name}_dimensions = {list(axes)}" for name, axes in numbers]
    precision = "#stablehlo<precision HIGHEST>"
    attributes = (
        ("dot_dimension_numbers", f"#stablehlo.dot<{', '.join(parts)}>"),
        ("precision_config", f"[{precision}, {precision}]"),
    )
    return builder.op("stablehlo.dot_general", [lhs, rhs], tuple(dims), lhs.dtype, attributes)


def _through_transpose(
    x: Tensor, contracting: Sequence[int], batching: Sequence[int]
) -> tuple[Tensor, Sequence[int], Sequence[int]]:
    """The operand of a transpose `x`, with the axes renumbered, if the free axes keep their order; else `x` itself."""
    found = x.builder.noted(Transpose, x)
    if found is None:
        return x, contracting, batching
    source, permutation = found.source, found.permutation
    free = [permutation[axis] for axis in range(x.ndim) if axis not in contracting and axis not in batching]
    if free != sorted(free):
        return x, contracting, batching
    return source, [permutation[axis] for axis in contracting], [permutation[axis] for axis in batching]


def sort(
    operands: Sequence[Tensor],
    axis: int,
    comparator: Callable[..., Tensor],
    *,
    stable: bool = True,
    key: Any = None,
) -> list[Tensor]:
    """`stablehlo.sort` of one or more operands together; `comparator` takes (a0, b0, a1, b1, ...) scalars."""
    first = operands[0]
    types = [((), x.dtype) for x in operands for _ in range(2)]
    return first.builder.region_op(
        "stablehlo.sort",
        operands,
        [(x.dims, x.dtype) for x in operands],
        [(types, lambda *scalars: [comparator(*scalars)])],
        (("dimension", f"{axis} : i64"), ("is_stable", "true" if stable else "false")),
        key=key,
    )


def cumulative(x: Tensor, axis: int, monoid: Monoid) -> Tensor:
    """Running reduction along `axis`: element i combines elements 0..i.

    It is one `reduce_window` as long as the axis, which XLA computes in linear work. No op can have a window of
    symbolic size; the custom call `stablehlo.dynamic_reduce_window` stands for one until sizes are known.
    """
    builder = x.builder
    size = x.dims[axis]
    combine = MONOIDS[monoid]
    init = builder.constant(identity(monoid, x.dtype))
    if type(size) is int:
        if size == 0:
            return x
        window = [size if i == axis else 1 for i in range(x.ndim)]
        low = ", ".join(f"[{size - 1 if i == axis else 0}, 0]" for i in range(x.ndim))
        attributes = (
            ("window_dimensions", i64_array(window)),
            ("padding", f"dense<[{low}]> : tensor<{x.ndim}x2xi64>"),
        )
        scalar = ((), x.dtype)
        return builder.region_op(
            "stablehlo.reduce_window",
            [x, init],
            [(x.dims, x.dtype)],
            [([scalar, scalar], lambda a, b: [combine(a, b)])],
            attributes,
            key=monoid,
        )[0]
    key = ("window", monoid, x.dtype)
    symbol = builder.functions.get(key)
    if symbol is None:
        symbol = builder.functions[key] = free_symbol(builder.module, f"{monoid}_{x.dtype.name}")
        with builder.function(symbol, [((), x.dtype)] * 2, private=True) as (a, b):
            builder.finish([combine(a, b)])
    ones = builder.constant(np.ones(x.ndim, np.int64))
    reach = maximum(size, 1)  # no window is empty
    extents = builder.size_vector([reach if i == axis else 1 for i in range(x.ndim)])
    amounts = [(reach - 1 if i == axis else 0, 0) for i in range(x.ndim)]
    padding = reshape(builder.size_vector([amount for pair in amounts for amount in pair]), (x.ndim, 2))
    call = (
        ("call_target_name", '"stablehlo.dynamic_reduce_window"'),
        ("called_computations", f"[@{symbol}]"),
        ("api_version", "2 : i32"),
    )
    operands = [x, init, extents, ones, ones, ones, padding]
    return builder.op("stablehlo.custom_call", operands, x.dims, x.dtype, call)
