"""Sorting along an axis, NumPy's order: NaN last; equal elements keep their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...codegen import builder as hlo
from ...codegen.builder import INT64, Tensor
from ...codegen.emit import Context
from ...codegen.errors import UnsupportedGraphError
from ..registry import lowers
from ..releases import axis_property


def _axis(node: Any, ndim: int, operands: Sequence[Tensor]) -> int:
    axis = axis_property(node.op)
    if axis is None:
        [operand] = operands
        if not isinstance(operand.sizes, int):
            raise UnsupportedGraphError("sorting along an axis that is known only at run time")
        axis = operand.sizes
    return axis % ndim


def comparable(x: Tensor) -> Tensor:
    """Booleans have no order in StableHLO; as integers they have NumPy's."""
    return hlo.convert(x, "int8") if x.dtype.kind == "b" else x


@lowers("SortOp")
def sort(ctx: Context, node: Any, x: Tensor, *axis: Tensor) -> Tensor:
    """`numpy.sort`."""
    (result,) = hlo.sort([comparable(x)], _axis(node, x.ndim, axis), hlo.less_nan_last, key="sort")
    return hlo.convert(result, x.dtype)


@lowers("ArgSortOp")
def argsort(ctx: Context, node: Any, x: Tensor, *axis: Tensor) -> Tensor:
    """`numpy.argsort`, the stable one."""
    along = _axis(node, x.ndim, axis)
    places = hlo.iota(ctx.builder, x.dims, along, INT64)
    _, order = hlo.sort(
        [comparable(x), places], along, lambda a, b, place, other: hlo.less_nan_last(a, b), key="argsort"
    )
    return hlo.convert(order, ctx.out_dtype())
