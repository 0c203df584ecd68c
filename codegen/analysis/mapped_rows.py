"""Whether a program is a map over the rows of its arguments: row j of each result is made of row j of the arguments.

In: the program for any number of rows, and for one that no other size comes near. Out: nothing; or `Refused`, with the
op that mixes rows, counts them, or is not known not to. Decision to know: the first program says that the number of
rows makes sizes and nothing else (a mean over them divides by it), so that in the second one it is in shapes alone: an
axis of that size is the rows', what has none is the same for all rows, and a size like it that is another is a mixture.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir import evaluate
from ..ir.bindings import ir
from ..ir.kinds import form_of
from ..ir.refused import needed, require
from ..ir.values import constant, main_function, returned_by, sizes_of, walk

Axis = int | None  # of the rows; None for what is the same for all of them
Array = np.ndarray[Any, Any]


def check_number(module: ir.Module, arguments: Sequence[Axis]) -> None:
    """The number of rows makes sizes; it is in no comparison, quotient or the like.

    Args:
        module: the program for any sizes.
        arguments: for each argument the axis of the rows.

    Raises:
        Refused: it is; two numbers of rows may then not tell what others do.
    """
    rows = dict(zip(main_function(module).regions[0].blocks[0].arguments, arguments, strict=True))
    counts: dict[ir.Value, Array] = {}  # true where an element is made of the number of rows
    for op in walk(module):
        if op.name == "stablehlo.get_dimension_size":
            axis = ir.IntegerAttr(op.attributes["dimension"]).value
            found = np.array(rows.get(op.operands[0], axis) == axis)
        elif not any(value in counts for value in op.operands):
            continue
        elif op.name == "stablehlo.dynamic_iota":
            found = counts[op.operands[0]][ir.IntegerAttr(op.attributes["iota_dimension"]).value]
            require(not found, _COUNTED)
        elif op.name in _SIZED:
            require(op.operands[0] not in counts, _COUNTED)
            continue
        else:
            require(op.name in _EXACT, _COUNTED)
            read = [counts[x] if x in counts else np.zeros(sizes_of(x), bool) for x in op.operands]
            moves = len(read) == 1 or op.name == "stablehlo.concatenate"
            made = evaluate.result_of(op, read) if moves else np.logical_or.reduce(read)
            found = np.ones(sizes_of(op.results[0]), bool) if made is None else made != 0
        if found.any():
            counts[op.results[0]] = found


_EXACT = frozenset(
    f"stablehlo.{name}" for name in ("add", "concatenate", "convert", "multiply", "reshape", "slice", "subtract")
)
_SIZED = frozenset(
    f"stablehlo.{name}"
    for name in ("dynamic_broadcast_in_dim", "dynamic_gather", "dynamic_pad", "dynamic_reshape", "real_dynamic_slice")
)

_COUNTED = "a value depends on how many rows there are"


def many_rows(module: ir.Module) -> int:
    """A number of rows that no size of the program comes near."""
    sizes = [size for op in walk(module) for value in (*op.operands, *op.results) for size in _sizes(value)]
    return 4 * max(sizes, default=0) + 100_003


def check_map(module: ir.Module, count: int) -> None:
    """Each row of each result, which has them in front, is made of that row of the arguments.

    Args:
        module: the program for `count` rows, see `many_rows`; all other sizes are known.
        count: how many there are.

    Raises:
        Refused: rows are mixed, or may be.
    """
    for op in walk(module):
        if op.name not in _AROUND:
            _check_op(op, count)
    results = returned_by(main_function(module).regions[0].blocks[0])
    require(all(_axis_of(value, count) == 0 for value in results), "a result does not have them in front")


# What has blocks, and what ends one: carries and results have the axes that the values inside have.
_AROUND = frozenset(("builtin.module", "func.func", "func.return")) | {
    f"stablehlo.{name}" for name in ("case", "if", "return", "while")
}


def _sizes(value: ir.Value) -> Sequence[int]:
    return sizes_of(value) if isinstance(value.type, ir.RankedTensorType) else ()


def _axis_of(value: ir.Value, count: int) -> Axis:
    places = [place for place, size in enumerate(_sizes(value)) if size > count // 2]
    require(all(_sizes(value)[place] == count for place in places), "rows are moved among other axes")
    require(len(places) < 2, "rows are paired with rows")
    return places[0] if places else None


def _check_op(op: ir.Operation, count: int) -> None:
    read, made = ([_axis_of(value, count) for value in values] for values in (op.operands, op.results))
    if all(axis is None for axis in (*read, *made)):
        return
    if all(axis is None for axis in read):  # it is spread over them
        if op.name == "stablehlo.iota":
            require(ir.IntegerAttr(op.attributes["iota_dimension"]).value != made[0], _COUNTED)
            return
        found = constant(op.results[0]) if op.name == "stablehlo.constant" else None
        require(op.name == "stablehlo.broadcast_in_dim" or (found is not None and not found.ndim), _COUNTED)
        return
    form = needed(form_of(op), f"{op.name} may mix rows").kept()
    kept = {axes[axis] for axes, axis in zip(form.operands, read, strict=True) if axis is not None}
    require({*kept, *made} == {made[0]} and made[0] is not None, f"{op.name} mixes rows")
