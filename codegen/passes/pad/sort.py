"""Padding rules: sort and top-k along a padded axis: padding goes last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import builder as hlo
from ...builder import Tensor
from ...builder.types import DType
from ...dtypes import kind_of, limits
from ...ir.attributes import attributes_of
from ...ir.bindings import ir
from .live import Live
from .padder import Padder, pads
from .shape import integer

_Expression = tuple[Any, ...]


@pads("stablehlo.sort")
def sort(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """Where the order is known, padding holds what comes last in it; else a leading key tells it from live elements."""
    axis = integer(operation, "dimension")
    values = padder.align(operands, "sorted tensors")
    dim = values[0].dims[axis]
    block = operation.regions[0].blocks[0]
    compare = _comparator(padder, block)
    stable = ir.BoolAttr(operation.attributes["is_stable"]).value if "is_stable" in operation.attributes else False
    if type(dim) is int:
        tensors = hlo.sort([x.tensor for x in values], axis, compare, stable=stable)
        return [padder.live(tensor, x.dims) for tensor, x in zip(tensors, values, strict=True)]
    last = _last(block, values[0].dtype)
    if last is not None:
        # Live elements that compare equal to the padding stand before it, and a stable sort keeps them there.
        values[0] = padder.fill(values[0], [axis], last)
        tensors = hlo.sort([x.tensor for x in values], axis, compare, stable=stable or len(values) > 1)
    else:
        padder.note("key", dim, "padding last")
        shape = values[0].shape
        behind = hlo.not_(hlo.broadcast_in_dim(padder.mask(dim, shape[axis]), shape, (axis,)))
        key = hlo.convert(behind, np.int32)
        tensors = hlo.sort([key, *[x.tensor for x in values]], axis, _keyed(compare), stable=stable)[1:]
    return [padder.live(tensor, x.dims) for tensor, x in zip(tensors, values, strict=True)]


def _comparator(padder: Padder, block: ir.Block) -> Callable[..., Tensor]:
    region = padder.scalar_region(block)

    def comparator(*scalars: Tensor) -> Tensor:
        (result,) = region(*scalars)
        return result

    return comparator


def _keyed(compare: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def comparator(first: Tensor, second: Tensor, *scalars: Tensor) -> Tensor:
        inner = compare(*scalars)
        return hlo.select(hlo.compare("EQ", first, second), inner, hlo.compare("LT", first, second))

    return comparator


# ---- comparators -----------------------------------------------------------------------------------------------------


def _last(block: ir.Block, dtype: DType) -> Any:
    """The element that no other comes after, for the orders known here; None for others.

    They compare the first operand alone: `a < b` and `a > b` of integers; for floats NumPy's order (NaN last) as the
    builder writes it, and JAX's total order, in which all NaN are one and 0 is -0.
    """
    a, b = block.arguments[0], block.arguments[1]
    names: dict[ir.Value, _Expression] = {a: ("a",), b: ("b",)}
    for place, argument in enumerate(list(block.arguments)[2:]):
        names[argument] = ("other", place)
    result: _Expression = ()
    for view in block.operations:
        operation = view.operation
        operands = [names.get(value, ("?",)) for value in operation.operands]
        if operation.name == "stablehlo.return":
            result = operands[0]
        elif operation.name == "stablehlo.compare":
            direction = str(operation.attributes["comparison_direction"]).removesuffix(">").rpartition(" ")[2]
            kind = str(operation.attributes["compare_type"]) if "compare_type" in operation.attributes else ""
            names[operation.results[0]] = (direction, "TOTALORDER" in kind, *operands)
        elif operation.name == "stablehlo.constant":
            names[operation.results[0]] = ("constant", str(operation).partition(" = ")[2].partition(" :")[0])
        else:
            for value in operation.results:
                names[value] = (operation.name, *operands)
    kind = kind_of(dtype)
    if kind in "iu":
        least, greatest = limits(dtype)
        if result == ("LT", False, ("a",), ("b",)):
            return greatest
        if result == ("GT", False, ("a",), ("b",)):
            return least
    if kind == "b" and result[:1] in (("LT",), ("GT",)) and result[2:] == (("a",), ("b",)):
        return np.array(result[0] == "LT")[()]
    if kind == "f" and (_is_nan_last(result) or _is_jax_order(result)):
        nan = np.array(np.nan).astype(dtype)
        return nan[()] if np.isnan(nan) else None
    return None


def _is_nan_last(found: _Expression) -> bool:
    less = ("LT", False, ("a",), ("b",))
    number, nan = ("EQ", False, ("a",), ("a",)), ("NE", False, ("b",), ("b",))
    return found == ("stablehlo.or", less, ("stablehlo.and", number, nan))


def _is_jax_order(found: _Expression) -> bool:
    return found == ("LT", True, _canonical(found, 2, "a"), _canonical(found, 3, "b")) and _is_canonical(found)


def _canonical(found: _Expression, place: int, name: str) -> _Expression | None:
    """`found[place]` if it is `name` with every NaN made one and -0 made 0."""
    if len(found) <= place:
        return None
    x = (name,)
    part = found[place]
    try:
        _, is_nan, nan, inner = part
        _, is_zero, zero, value = inner
    except (TypeError, ValueError):
        return None
    fits = (
        part[0] == inner[0] == "stablehlo.select"
        and is_nan == ("NE", False, x, x)
        and is_zero[:3] == ("EQ", False, x)
        and is_zero[3] == zero
        and value == x
        and nan[0] == zero[0] == "constant"
    )
    return part if fits else None


def _is_canonical(found: _Expression) -> bool:
    """Whether the constants of JAX's order are the NaN and the zero: those of both sides agree."""
    nan, zero = found[2][2][1], found[2][3][2][1]
    return (
        found[3][2][1] == nan
        and found[3][3][2][1] == zero
        and nan.lower().startswith(("dense<0x7f", "dense<0x7e", "dense<0x7c"))
        and zero.startswith("dense<0.0")
    )


def _least(dtype: DType) -> Any:
    """The least element: for floats the NaN all of whose bits are set, the first of the total order by bits."""
    if kind_of(dtype) in "biu":
        return limits(dtype)[0]
    return np.full(dtype.itemsize, 0xFF, np.uint8).view(dtype)[0]


@pads("chlo.top_k")
def top_k(padder: Padder, operation: ir.Operation, operands: list[Live]) -> list[Live]:
    """Along a padded last axis the padding holds the least value, which is behind live ones that equal it."""
    x = operands[0]
    k = ir.IntegerAttr(operation.attributes["k"]).value
    axis = x.ndim - 1
    padder.demand(x.dims[axis], k, "the number of elements that are wanted")
    if type(x.dims[axis]) is not int:
        x = padder.fill(x, [axis], _least(x.dtype))
    if x.shape[axis] < k:
        padder.refuse(f"{k} elements are wanted of at most {x.shape[axis]}", x.dims[axis])
    shape = (*x.shape[:axis], k)
    copy = ir.Operation.create(
        operation.name,
        results=[padder.builder.tensor_type(shape, x.dtype), padder.builder.tensor_type(shape, np.dtype(np.int32))],
        operands=[x.tensor.value],
        attributes=attributes_of(operation.attributes),
        loc=operation.location,
        ip=padder.builder.insertion_point,
    )
    dims = (*x.dims[:axis], k)
    dtypes = (x.dtype, np.dtype(np.int32))
    return [
        padder.live(Tensor(padder.builder, value, shape, dtype), dims)
        for value, dtype in zip(copy.results, dtypes, strict=True)
    ]
