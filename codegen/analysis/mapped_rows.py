"""Whether a program is a map over the rows of its arguments: row j of each result is made of row j of the arguments.

In: one program, specialized for two numbers of rows, and which axes of its arguments the rows are. Out: for each result
the axis of its rows; or `Refused`, with the op that mixes rows, counts them, or is not known not to. Decision to know:
both modules are read in step. What differs between them besides sizes of that one axis depends on the number of rows: a
mean over them divides by another constant. What is the same for these two numbers and differs for a third (whether
there are more than ten) is seen in the program for any number: there it may make sizes, and choose nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir import evaluate
from ..ir.attributes import attributes_of, integers
from ..ir.bindings import ir
from ..ir.kinds import is_elementwise
from ..ir.op_sheet import form_of, reshape_axes
from ..ir.refused import needed, require
from ..ir.values import constant, sizes_of
from ..ir.walk import main_function, terminator, walk

Axis = int | None  # of the rows; None for what is the same for all of them
Pair = tuple[ir.Operation, ir.Operation]
Array = np.ndarray[Any, Any]


def rows_of_results(few: ir.Module, many: ir.Module, arguments: Sequence[Axis]) -> list[Axis]:
    """The axis of the rows for each result.

    Args:
        few, many: the program for two numbers of rows, all other sizes the same.
        arguments: for each argument the axis of the rows.

    Raises:
        Refused: rows are mixed, or may be.
    """
    blocks = [main_function(module).regions[0].blocks[0] for module in (few, many)]
    known = _Known()
    known.update(zip(blocks[0].arguments, arguments, strict=True))
    return _block(blocks[0], blocks[1], known)


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


class _Known(dict[ir.Value, Axis]):
    """For each value the axis of its rows; and of small values that depend on their number what they are for both."""

    def __init__(self, other: _Known | None = None) -> None:
        super().__init__(other or {})
        self.counts: dict[ir.Value, tuple[Array, Array]] = {} if other is None else dict(other.counts)

    def numbers(self, pair: Pair) -> tuple[Array, Array] | None:
        """What an op gives for both, of constants and what counts rows; None where that is not known."""
        found = []
        for number, op in enumerate(pair):
            operands = []
            for value, own in zip(pair[0].operands, op.operands, strict=True):
                known = self.counts[value][number] if value in self.counts else _constant(own)
                if known is None:
                    return None
                operands.append(known)
            made = evaluate.result_of(op, operands)
            if made is None:
                return None
            found.append(made)
        return found[0], found[1]


def _constant(value: ir.Value) -> Array | None:
    found = constant(value)
    return None if found is None else np.broadcast_to(found, sizes_of(value))


def _block(few: ir.Block, many: ir.Block, found: _Known) -> list[Axis]:
    ops = [[opened.operation for opened in block.operations] for block in (few, many)]
    require(len(ops[0]) == len(ops[1]), "the program has other ops for another number of rows")
    for pair in zip(*ops, strict=True):
        if pair[0] == terminator(few):
            break
        require(pair[0].name == pair[1].name, "the program has other ops for another number of rows")
        axes = _axes(pair, found)
        for old, new, axis in zip(pair[0].results, pair[1].results, axes, strict=True):
            found[old] = axis
            _check_sizes(pair[0], sizes_of(old), sizes_of(new), axis)
    require(not any(value in found.counts for value in terminator(few).operands), _COUNTED)
    return [found[value] for value in terminator(few).operands]


def _check_sizes(op: ir.Operation, few: Sequence[int], many: Sequence[int], axis: Axis) -> None:
    """Only the rows' axis has another size; what is the same for all rows may be spread over them."""
    changed = [place for place, (a, b) in enumerate(zip(few, many, strict=True)) if a != b]
    require(axis is None or changed == [axis], f"{op.name} moves rows among other axes")
    require(len(changed) <= 1, f"{op.name} pairs rows with rows")


def _axes(pair: Pair, found: _Known) -> list[Axis]:
    op = pair[0]
    read = [found[value] for value in op.operands]
    counting = any(value in found.counts for value in op.operands)
    if counting or (op.name == "stablehlo.constant" and not _is_same(pair)):
        numbers = found.numbers(pair)
        require(numbers is not None, _COUNTED)
        assert numbers is not None
        if not np.array_equal(*numbers):
            found.counts[op.results[0]] = numbers
        return [None]
    if op.name == "stablehlo.while":
        return _loop(pair, found)
    if all(axis is None for axis in read):
        require(not op.regions or op.name in ("stablehlo.reduce", "stablehlo.sort"), f"{op.name} may count rows")
        _check_same(pair)
        return [None] * len(op.results)
    form = needed(form_of(op), f"{op.name} may mix rows").kept()
    found_axes = {form.operands[place][axis] for place, axis in enumerate(read) if axis is not None}
    require(None not in found_axes, f"{op.name} mixes rows")
    require(len(found_axes) == 1, f"{op.name} pairs rows with rows of another axis")
    _check_attributes(pair)
    return [*found_axes] * len(op.results)


def _check_same(pair: Pair) -> None:
    """What does not come from rows has the same elements for any number of them."""
    few, many = pair
    if few.name == "stablehlo.constant":
        return
    if few.name == "stablehlo.iota":
        axis = ir.IntegerAttr(few.attributes["iota_dimension"]).value
        require(sizes_of(few.results[0])[axis] == sizes_of(many.results[0])[axis], _COUNTED)
    elif few.name == "stablehlo.reduce":
        reduced = integers(few, "dimensions")
        shapes = [sizes_of(op.operands[0]) for op in pair]
        require(all(shapes[0][axis] == shapes[1][axis] for axis in reduced), _COUNTED)
    elif few.name == "stablehlo.reshape":
        sizes = [sizes_of(op.operands[0]) for op in pair]
        changed = [place for place, (a, b) in enumerate(zip(sizes[0], sizes[1], strict=True)) if a != b]
        axes = reshape_axes(sizes[0], sizes_of(few.results[0]))
        require(all(axes[place] is not None for place in changed), _COUNTED)
    elif few.name != "stablehlo.broadcast_in_dim" and not is_elementwise(few):
        every = [[sizes_of(value) for value in (*op.operands, *op.results)] for op in pair]
        require(every[0] == every[1], f"{few.name} of what rows have in common may count them")
    else:
        _check_attributes(pair)


def _is_same(pair: Pair) -> bool:
    """Whether constants are the same, or one number spread over more places."""
    values = [ir.DenseElementsAttr(op.attributes["value"]) for op in pair]
    if str(values[0]) == str(values[1]):
        return True
    splat = all(value.is_splat for value in values)
    return splat and str(values[0].get_splat_value()) == str(values[1].get_splat_value())


_COUNTED = "a value depends on how many rows there are"


def _check_attributes(pair: Pair) -> None:
    for name, attribute in attributes_of(pair[0].attributes).items():
        if name in ("limit_indices", "slice_sizes"):
            continue  # of the rows' axis they are its size, as the rules see to
        same = str(attribute) == str(pair[1].attributes[name])  # of two contexts
        require(same, f"{pair[0].name} has another {name} for another number of rows")


def _loop(pair: Pair, found: _Known) -> list[Axis]:
    """A loop whose carries keep their axes of rows, and whose condition is the same for all."""
    op = pair[0]
    blocks = [[region.blocks[0] for region in each.regions] for each in pair]
    axes = [found[value] for value in op.operands]
    while True:
        inside = _Known(found)
        inside.update(zip(blocks[0][1].arguments, axes, strict=True))
        after = _block(blocks[0][1], blocks[1][1], inside)
        joined = [new if old is None else old for old, new in zip(axes, after, strict=True)]
        require(all(new in (None, old) for old, new in zip(joined, after, strict=True)), "a loop moves rows")
        if joined == axes:
            break
        axes = joined
    inside = _Known(found)
    inside.update(zip(blocks[0][0].arguments, axes, strict=True))
    require(_block(blocks[0][0], blocks[1][0], inside) == [None], "a loop turns as often as rows say")
    return axes
