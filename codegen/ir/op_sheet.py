"""How ops move axes, for whoever follows axes through them: the last column of the table in `kinds.py`, read.

In: an op. Out: its `Form`: for each axis of an operand the axis of the results that its elements lie along, and along
which of these they are moved, cut off or added. Two things follow from the table: the attributes of the op with one
more axis in front (`leading`), and those of the op on a part of an axis (`shortened`). Decision to know: an op that
has no line keeps no axes apart, as far as is known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from .bindings import current_context, ir, stablehlo
from .kinds import AXES, having, monoid_of
from .values import dense_attr, dot_sides, integers, shape_of

Axes = list[int | None]
Sides = Sequence[Sequence[int]]  # axes of the left operand and of the right one

_ELEMENTWISE = having("elementwise")
_ORDERED = having("ordered")


@dataclass(frozen=True)
class Form:
    """How an op treats axes.

    Attributes:
        operands: for each operand, the results' axis for each of its axes; None where there is none (it is combined,
            or stretched from size 1). A scalar that counts for all elements has no axes.
        moved: the results' axes along which an element's place is not the operand's.
        sized: those of them along which the operands' sizes may be others than the results'.
        summed: for each operand, its axes that are combined; those of a dot's two operands belong together, in order.
        monoid: what they are combined with; "" where nothing is, or by more than one op.
        ordered: whether combining in any order gives the same bits.
    """

    operands: tuple[Axes, ...]
    moved: frozenset[int] = frozenset()
    sized: frozenset[int] = frozenset()
    summed: tuple[tuple[int, ...], ...] = ()
    monoid: str = ""
    ordered: bool = True

    def kept(self) -> Form:
        """The same with only those axes along which each place of the results depends on that place alone."""
        axes = tuple([None if axis in self.moved else axis for axis in each] for each in self.operands)
        return replace(self, operands=axes, moved=frozenset(), sized=frozenset())

    def places(self, axis: int) -> list[int | None]:
        """For each operand its axis that is this one of the results."""
        return [axes.index(axis) if axis in axes else None for axes in self.operands]


def form_of(op: ir.Operation) -> Form | None:
    """How an op treats axes; None where that is not known."""
    if not op.results or (op.name not in _ELEMENTWISE and op.name not in AXES):
        return None
    result = shape_of(op.results[0])
    shapes = [shape_of(operand) for operand in op.operands]
    if op.name in _ELEMENTWISE:
        same = all(not shape or len(shape) == len(result) for shape in shapes)
        if op.name == "stablehlo.bitcast_convert":
            same = shapes[0] == result and None not in result
        return Form(tuple(list(range(len(shape))) for shape in shapes)) if same else None
    form = Form(tuple(list(range(len(shape))) for shape in shapes))
    for name, word in AXES[op.name]:
        form = _READERS.get(word, _moving)(op, form, shapes, name, word)
    return form


def dot_axes(contracting: Sides, batching: Sides, ranks: Sequence[int]) -> tuple[Axes, Axes]:
    """Where a dot puts axes: those of batches first, then what is left of the left side, then of the right one."""
    found: list[Axes] = []
    following = len(batching[0])
    for side, rank in enumerate(ranks):
        batch, gone, axes = list(batching[side]), set(contracting[side]), list[int | None]()
        for axis in range(rank):
            if axis in batch:
                axes.append(batch.index(axis))
            elif axis in gone:
                axes.append(None)
            else:
                axes.append(following)
                following += 1
        found.append(axes)
    return found[0], found[1]


def dot_shape(contracting: Sides, batching: Sides, shapes: Sequence[Sequence[int]]) -> list[int]:
    """The shape of a dot's result."""
    sizes: dict[int | None, int] = {}
    for axes, shape in zip(dot_axes(contracting, batching, [len(shape) for shape in shapes]), shapes, strict=True):
        sizes.update(zip(axes, shape, strict=True))
    return [sizes[axis] for axis in range(len(sizes) - (None in sizes))]


def reshape_axes(old: Sequence[int | None], new: Sequence[int | None]) -> Axes:
    """Where a reshape puts axes that it neither splits nor joins with others longer than 1."""
    if None in old or None in new:
        return [None] * len(old)
    before, after = ([size or 0 for size in shape] for shape in (old, new))
    places = {(math.prod(after[:axis]), size): axis for axis, size in enumerate(after) if size > 1}
    return [places.get((math.prod(before[:axis]), size)) for axis, size in enumerate(before)]


# ---- words of the table ------------------------------------------------------------------------------------------


def _numbers(op: ir.Operation, name: str) -> list[Any]:
    """An attribute's numbers: a list, pairs, or a single one; [] where there is none."""
    if name not in op.attributes:
        return [-1] if name == "dimension" else []
    if name == "padding":
        return [tuple(pair) for pair in np.array(ir.DenseElementsAttr(op.attributes[name])).reshape(-1, 2).tolist()]
    if name == "dimension":
        return [ir.IntegerAttr(op.attributes[name]).value]
    return list(integers(op, name))


def _moves(form: Form, axes: Any, sized: bool = False) -> Form:
    found = frozenset(axes)
    return replace(form, moved=form.moved | found, sized=form.sized | found if sized else form.sized)


def _moving(op: ir.Operation, form: Form, shapes: Any, name: str, word: str) -> Form:
    """One number an axis of the first operand."""
    own = [shapes[0][place] if word == "size" else int(word) for place in range(len(shapes[0]))]
    neutral = [(each, each) if name == "padding" else each for each in own]
    pairs = zip(_numbers(op, name), neutral, form.operands[0], strict=False)
    return _moves(form, [axis for number, none, axis in pairs if number != none and axis is not None], sized=True)


def _along(op: ir.Operation, form: Form, shapes: Any, name: str, word: str) -> Form:
    return _moves(form, [axis % len(shapes[0]) for axis in _numbers(op, name)], word == "joined")


def _to(op: ir.Operation, form: Form, shapes: Any, name: str, word: str) -> Form:
    whole = shape_of(op.results[0])
    pairs = zip(shapes[0], _numbers(op, name), strict=True)
    return Form(([axis if size == whole[axis] else None for size, axis in pairs],))


def _gone(op: ir.Operation, form: Form, shapes: Any, name: str, word: str) -> Form:
    gone = tuple(_numbers(op, name))
    kept = [axis for axis in range(len(shapes[0])) if axis not in gone]
    axes: Axes = [kept.index(axis) if axis in kept else None for axis in range(len(shapes[0]))]
    count = len(shapes) // 2
    monoid = (monoid_of(op.regions[0].blocks[0]) if count == 1 else None) or ""
    summed = (gone,) * count + ((),) * count
    return Form((axes,) * count + ([],) * count, summed=summed, monoid=monoid, ordered=_keeps_bits(op, monoid))


def _keeps_bits(op: ir.Operation, monoid: str) -> bool:
    element = ir.RankedTensorType(op.results[0].type).element_type
    return f"stablehlo.{monoid}" in _ORDERED or isinstance(element, ir.IntegerType)


def _dot(op: ir.Operation, form: Form, shapes: Any, name: str, word: str) -> Form:
    contracting, batching = dot_sides(op)
    axes = dot_axes(contracting, batching, [len(shape) for shape in shapes])
    return Form(axes, summed=tuple(map(tuple, contracting)), monoid="add", ordered=_keeps_bits(op, "add"))


def _gather(op: ir.Operation, form: Form, shapes: Any, name: str, word: str) -> Form:
    """The operand's slices lie along the offset axes, the places along the others."""
    numbers = Indexing.of(op)
    left = {*numbers.collapsed, *numbers.batching}
    offsets = iter(numbers.offsets)
    slices: Axes = [None if axis in left else next(offsets) for axis in range(len(shapes[0]))]
    behind = iter([axis for axis in range(len(shape_of(op.results[0]))) if axis not in numbers.offsets])
    places: Axes = [None if axis == numbers.vector else next(behind) for axis in range(len(shapes[1]))]
    indexed = [slices[axis] for axis in numbers.mapped if slices[axis] is not None]
    rest: list[Axes] = [[None] * len(shape) for shape in shapes[2:]]
    return _moves(Form((slices, places, *rest)), indexed, sized=True)


def _update(op: ir.Operation, form: Form, shapes: Any, name: str, word: str) -> Form:
    """The update lies along the axes along which it has all elements."""
    whole = [size == part is not None for size, part in zip(shapes[0], shapes[1], strict=True)]
    axes: Axes = [axis if all_ else None for axis, all_ in enumerate(whole)]
    operands = (form.operands[0], axes, *form.operands[2:])
    return _moves(replace(form, operands=operands), [axis for axis, all_ in enumerate(whole) if not all_])


def _last(op: ir.Operation, form: Form, shapes: Any, name: str, word: str) -> Form:
    rank = len(shapes[0])
    count = 2 if word == "last2" else len(_numbers(op, name))
    return _moves(form, range(rank - count, rank), sized=True)


_READERS: Mapping[str, Callable[[ir.Operation, Form, list[tuple[int | None, ...]], str, str], Form]] = {
    "along": _along,
    "dot": _dot,
    "every": lambda op, form, shapes, name, word: form,
    "from": lambda op, form, shapes, name, word: Form(([_numbers(op, name).index(k) for k in range(len(shapes[0]))],)),
    "gather": _gather,
    "gone": _gone,
    "joined": _along,
    "last": _last,
    "last2": _last,
    "parts": lambda op, form, shapes, name, word: _moves(form, [k for k in form.operands[0] if k is not None], True),
    "reshape": lambda op, form, shapes, name, word: Form((reshape_axes(shapes[0], shape_of(op.results[0])),)),
    "to": _to,
    "update": _update,
}


# ---- the same op on other axes -----------------------------------------------------------------------------------


def leading(op: ir.Operation, size: int | None = None) -> dict[str, ir.Attribute]:
    """What attributes become where the operands that have axes have one more, of `size`, in front.

    Raises:
        KeyError: the table does not say it: of a dot or a gather, one operand may lack the axis (`batching.rules.dot`,
            `Indexing.leading`).
    """
    found: dict[str, ir.Attribute] = {}
    for name, word in AXES.get(op.name, ()):
        if word in ("dot", "gather") or (word == "size" and size is None):
            raise KeyError(op.name)
        if word == "last" or (name not in op.attributes and name != "dimension"):
            continue
        numbers = _numbers(op, name)
        if word in ("to", "from", "every"):
            changed = [0, *[axis + 1 for axis in numbers]]
        elif word in ("along", "joined", "gone"):
            changed = [axis + 1 if axis >= 0 else axis for axis in numbers]
        else:
            changed = [size if word == "size" else int(word), *numbers]
        found[name] = _attribute(name, changed)
    return found


class Indexing(NamedTuple):
    """The dimension numbers of a gather; a scatter has the same, by other names.

    Attributes:
        offsets: the axes of the result (or the updates) along which slices lie.
        collapsed: axes of the array along which a slice has one element, and the result no axis.
        batching: axes of the array for each place of which there are places of its own.
        places: the axes of the indices that belong to them.
        mapped: the axis of the array for each component of an index.
        vector: the axis of the indices along which components lie.
    """

    offsets: list[int]
    collapsed: list[int]
    batching: list[int]
    places: list[int]
    mapped: list[int]
    vector: int

    @staticmethod
    def of(op: ir.Operation) -> Indexing:
        """Those of a gather or a scatter."""
        if op.name == "stablehlo.scatter":
            found: Any = stablehlo.ScatterDimensionNumbers(op.attributes["scatter_dimension_numbers"])
            own = found.update_window_dims, found.inserted_window_dims, found.input_batching_dims
            others = found.scatter_indices_batching_dims, found.scattered_dims_to_operand_dims
        else:
            found = stablehlo.GatherDimensionNumbers(op.attributes["dimension_numbers"])
            own = found.offset_dims, found.collapsed_slice_dims, found.operand_batching_dims
            others = found.start_indices_batching_dims, found.start_index_map
        offsets, collapsed, batching, places, mapped = map(list, (*own, *others))
        return Indexing(offsets, collapsed, batching, places, mapped, found.index_vector_dim)

    def leading(self, array: bool, indices: bool) -> Indexing:
        """The same where the array, the indices or both have one more axis in front; so has the result."""
        both = [0] if array and indices else []
        return Indexing(
            [*([] if indices else [0]), *(axis + 1 for axis in self.offsets)],
            [axis + array for axis in self.collapsed],
            [*both, *(axis + array for axis in self.batching)],
            [*both, *(axis + indices for axis in self.places)],
            [axis + array for axis in self.mapped],
            self.vector + indices,
        )


def shortened(op: ir.Operation, axis: int, size: int) -> dict[str, ir.Attribute]:
    """What attributes become where an axis of the results, along which no element moves, has `size` elements."""
    names = [name for name, word in AXES.get(op.name, ()) if word == "size"]
    form = form_of(op) if names else None
    if form is None:
        return {}
    place = form.places(axis)[0]
    return {
        name: _attribute(name, [size if i == place else number for i, number in enumerate(_numbers(op, name))])
        for name in names
    }


def _attribute(name: str, numbers: Sequence[Any]) -> ir.Attribute:
    if name == "padding":
        pairs = [(each, each) if isinstance(each, int) else each for each in numbers]
        return dense_attr(np.array(pairs, np.int64), current_context())
    if name == "dimension":
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), numbers[0])
    return ir.DenseI64ArrayAttr.get([int(number) for number in numbers])
