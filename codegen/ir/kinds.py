"""What is known of each op of StableHLO and CHLO: one line for each, read by the builder, the analyses and the passes.

In: nothing. Out: sets of names, by kind and by fact. In: an op. Out: its `Form`, how it moves axes. Two things follow
from the table: the attributes of the op with one more axis in front (`leading`), and those of the op on a part of an
axis (`shortened`). Decisions to know: a fact holds of the op wherever it stands; what only one pass makes of an op
(what it costs there, whether it is worth a look) is in that pass. An op without a line keeps no axes apart.

Kinds:
    elementwise  each element of the result comes from the operands' elements at the same place. `bitcast_convert` is
                 among them only where it keeps the shape, and `select` and `clamp` may have scalar operands: who reads
                 looks at shapes
    making       no operand
    moving       elements of operands, at places that the op's attributes say
    indexed      the same, at places that operands say
    combining    an element of the result comes from many
    control      has blocks that are run, or ends one
    other        anything else

Facts:
    kernel       XLA:CPU compiles it inside of a kernel of several ops. Any other op stays outside: XLA refuses most of
                 those that need its runtime, but some end the process, so an op gets this after random programs with
                 it have run
    starts       XLA:CPU starts a kernel, or calls a library, for it alone
    finite       finite real operands give a finite result
    parts        `finite` holds of complex numbers too: it treats them part by part
    zero         zeros, of either sign, give a zero, of either sign
    nonnegative  a result that is a float is not below 0 (it may be NaN)
    keeps        it is not, where no operand is
    first        all elements of the result are elements of the first operand
    again        a value combined with itself is the value, and order does not matter: initial values may count twice
    ordered      combining in another order, or in other groups, gives the same bits, also of floats
    effect       it does more than to give its result, or depends on where and when it runs. A `custom_call` may say
                 that it does not (`has_side_effect = false`)

Axes: `attribute=word` says what an attribute, a list of axes or of one number for each axis, does to axes;
`form_of` reads it. Elementwise ops keep all axes, and say nothing.
    to, from     the result's axis for each of the operand's; the operand's axis for each of the result's
    gone         the op combines what lies along these axes; the result has not got them
    along        it moves elements along these axes (`joined`: and adds some), and no others
    0, 1, size   one number an axis: where it is another, or another than the axis' size, the op moves elements
    last, every  this many axes at the end are changed; it lists all axes
    dot, gather  dimension numbers
    by=          no attribute says it: `reshape`; `update` (an operand has fewer elements); `last2` (of matrices);
                 `parts` (an operand says how much is taken of each axis)
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from ..dtypes import limits
from .bindings import current_context, ir, stablehlo
from .refused import needed
from .values import dense_attr, dot_sides, integers, shape_of

_TABLE = """
stablehlo.abs                     elementwise kernel finite zero nonnegative
stablehlo.add                     elementwise kernel zero keeps
stablehlo.and                     elementwise kernel again ordered
stablehlo.atan2                   elementwise kernel
stablehlo.bitcast_convert         elementwise kernel
stablehlo.cbrt                    elementwise kernel zero
stablehlo.ceil                    elementwise kernel finite zero
stablehlo.clamp                   elementwise kernel finite zero
stablehlo.compare                 elementwise kernel
stablehlo.complex                 elementwise kernel zero
stablehlo.convert                 elementwise kernel zero
stablehlo.cosine                  elementwise kernel finite
stablehlo.count_leading_zeros     elementwise kernel
stablehlo.divide                  elementwise kernel
stablehlo.exponential             elementwise kernel nonnegative
stablehlo.exponential_minus_one   elementwise kernel zero
stablehlo.floor                   elementwise kernel finite zero
stablehlo.imag                    elementwise kernel zero
stablehlo.is_finite               elementwise kernel
stablehlo.log                     elementwise kernel
stablehlo.log_plus_one            elementwise kernel zero keeps
stablehlo.logistic                elementwise kernel finite nonnegative
stablehlo.maximum                 elementwise kernel finite zero again ordered
stablehlo.minimum                 elementwise kernel finite zero keeps again ordered
stablehlo.multiply                elementwise kernel keeps
stablehlo.negate                  elementwise kernel finite parts zero
stablehlo.not                     elementwise kernel
stablehlo.or                      elementwise kernel again ordered
stablehlo.popcnt                  elementwise kernel
stablehlo.power                   elementwise kernel keeps
stablehlo.real                    elementwise kernel zero
stablehlo.reduce_precision        elementwise kernel
stablehlo.remainder               elementwise kernel
stablehlo.round_nearest_afz       elementwise kernel finite zero
stablehlo.round_nearest_even      elementwise kernel finite zero
stablehlo.rsqrt                   elementwise kernel
stablehlo.select                  elementwise kernel finite parts
stablehlo.shift_left              elementwise kernel
stablehlo.shift_right_arithmetic  elementwise kernel
stablehlo.shift_right_logical     elementwise kernel
stablehlo.sign                    elementwise kernel finite zero
stablehlo.sine                    elementwise kernel finite zero
stablehlo.sqrt                    elementwise kernel zero nonnegative
stablehlo.subtract                elementwise kernel zero
stablehlo.tan                     elementwise kernel zero
stablehlo.tanh                    elementwise kernel finite zero
stablehlo.xor                     elementwise kernel ordered
chlo.acos                         elementwise kernel
chlo.acosh                        elementwise kernel
chlo.asin                         elementwise kernel zero
chlo.asinh                        elementwise kernel zero
chlo.atan                         elementwise kernel finite zero
chlo.atanh                        elementwise kernel zero
chlo.bessel_i1e                   elementwise kernel
chlo.conj                         elementwise kernel finite parts zero
chlo.constant_like                elementwise
chlo.cosh                         elementwise kernel
chlo.digamma                      elementwise kernel
chlo.erf                          elementwise kernel finite zero
chlo.erf_inv                      elementwise kernel
chlo.erfc                         elementwise kernel finite
chlo.is_inf                       elementwise kernel
chlo.is_neg_inf                   elementwise kernel
chlo.is_pos_inf                   elementwise kernel
chlo.lgamma                       elementwise kernel
chlo.mulhi                        elementwise
chlo.next_after                   elementwise kernel
chlo.polygamma                    elementwise kernel
chlo.sinh                         elementwise kernel zero
chlo.square                       elementwise kernel zero
chlo.tan                          elementwise kernel
chlo.zeta                         elementwise kernel
stablehlo.constant                making      kernel
stablehlo.iota                    making      kernel nonnegative
chlo.constant                     making      kernel
stablehlo.broadcast_in_dim        moving      kernel first  broadcast_dimensions=to
stablehlo.concatenate             moving      kernel starts keeps  dimension=joined
stablehlo.pad                     moving      kernel  edge_padding_low=0 edge_padding_high=0 interior_padding=0
stablehlo.reshape                 moving      kernel first  by=reshape
stablehlo.reverse                 moving      kernel first  dimensions=along
stablehlo.slice                   moving      kernel first  start_indices=0 limit_indices=size strides=1
stablehlo.transpose               moving      kernel first  permutation=from
stablehlo.dynamic_gather          indexed     dimension_numbers=gather by=parts
stablehlo.dynamic_slice           indexed     kernel first  slice_sizes=size
stablehlo.dynamic_update_slice    indexed     kernel starts  by=update
stablehlo.gather                  indexed     kernel starts  dimension_numbers=gather slice_sizes=size
stablehlo.scatter                 indexed     starts
stablehlo.batch_norm_grad         combining   kernel
stablehlo.batch_norm_inference    combining   kernel
stablehlo.batch_norm_training     combining   kernel
stablehlo.cholesky                combining   starts  by=last2
stablehlo.convolution             combining   starts
stablehlo.dot_general             combining   kernel starts  dot_dimension_numbers=dot
stablehlo.fft                     combining   starts  fft_length=last
stablehlo.map                     combining   kernel  dimensions=every
stablehlo.reduce                  combining   kernel starts  dimensions=gone
stablehlo.reduce_window           combining   kernel starts  window_dimensions=1 window_strides=1 \
                                              base_dilations=1 window_dilations=1 padding=0
stablehlo.select_and_scatter      combining
stablehlo.sort                    combining   starts  dimension=along
stablehlo.triangular_solve        combining   starts  by=last2
stablehlo.case                    control     kernel starts
stablehlo.if                      control     kernel
stablehlo.return                  control     kernel
stablehlo.while                   control     kernel
stablehlo.after_all               other       effect
stablehlo.all_gather              other       effect
stablehlo.all_reduce              other       effect
stablehlo.all_to_all              other       effect
stablehlo.collective_broadcast    other       effect
stablehlo.collective_permute      other       effect
stablehlo.composite               other
stablehlo.create_token            other       effect
stablehlo.custom_call             other       starts effect
stablehlo.infeed                  other       effect
stablehlo.optimization_barrier    other       kernel
stablehlo.outfeed                 other       effect
stablehlo.partition_id            other       effect
stablehlo.recv                    other       effect
stablehlo.reduce_scatter          other       effect
stablehlo.replica_id              other       effect
stablehlo.rng                     other       effect
stablehlo.rng_bit_generator       other       starts
stablehlo.send                    other       effect
"""

_LINES = [line.split() for line in _TABLE.strip().splitlines()]
_OPS: Mapping[str, frozenset[str]] = {name: frozenset(x for x in facts if "=" not in x) for name, *facts in _LINES}
# For each op what its attributes say about axes: pairs of a name and a word.
AXES: Mapping[str, tuple[tuple[str, str], ...]] = {
    name: said
    for name, *facts in _LINES
    if (said := tuple((attribute, word) for attribute, equals, word in (x.partition("=") for x in facts) if equals))
}


@cache
def having(*facts: str, dialect: str = "") -> frozenset[str]:
    """The full names of the ops of which all of these hold: kinds and facts, as above."""
    return frozenset(name for name, own in _OPS.items() if own.issuperset(facts) and name.startswith(dialect))


STABLEHLO = having("elementwise", dialect="stablehlo.")
CHLO = having("elementwise", dialect="chlo.")
EFFECTS = having("effect")

# The operands of elementwise ops that may be scalars where the result is not.
SCALAR_OPERANDS: Mapping[str, tuple[int, ...]] = {"stablehlo.select": (0,), "stablehlo.clamp": (0, 2)}


def is_elementwise(op: ir.Operation) -> bool:
    """Whether an op computes each element of its result from the operands' elements at the same place."""
    return len(op.results) == 1 and not op.regions and (op.name in STABLEHLO or op.name in CHLO)


def is_removable(op: ir.Operation) -> bool:
    """Whether an op may go when nothing uses its results, as far as its name says: calls and regions stay."""
    if not op.name.startswith(("stablehlo.", "chlo.")) or op.name.endswith(".return"):
        return False
    return op.name not in EFFECTS and not op.regions


# ---- comparisons -----------------------------------------------------------------------------------------------

# The direction that says the same of swapped operands.
MIRRORED: Mapping[str, str] = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE", "EQ": "EQ", "NE": "NE"}


def direction_of(compare: ir.Operation) -> str:
    """The direction of a `stablehlo.compare`: `LT`, `LE`, `GT`, `GE`, `EQ` or `NE`."""
    text = str(compare.attributes["comparison_direction"])
    return text.removeprefix("#stablehlo<comparison_direction ").removesuffix(">")


# ---- monoids ---------------------------------------------------------------------------------------------------

Monoid = Literal["add", "multiply", "maximum", "minimum", "and", "or", "xor"]
MONOIDS: tuple[Monoid, ...] = ("add", "multiply", "maximum", "minimum", "and", "or", "xor")


def identity(monoid: Monoid | str, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """The value that leaves every other unchanged under a monoid (`add` or `stablehlo.add`): 0, 1, -inf, ..."""
    monoid = cast(Monoid, monoid.removeprefix("stablehlo."))
    if monoid in ("add", "or", "xor"):
        return np.zeros((), dtype)
    if monoid == "multiply":
        return np.ones((), dtype)
    if monoid == "and":
        return np.array(True) if dtype.kind == "b" else np.array(-1).astype(dtype)
    least, greatest = limits(dtype)
    return np.array(least if monoid == "maximum" else greatest)


def monoid_of(block: ir.Block) -> str | None:
    """The monoid that a region's body is, by name: one op on its two arguments, in any order."""
    found = _single_op(block)
    name = "" if found is None else found.name.partition(".")[2]
    return name if name in MONOIDS else None


def _single_op(block: ir.Block) -> ir.Operation | None:
    arguments = list(block.arguments)
    body, *rest = (view.operation for view in itertools.islice(block.operations, 3))
    if len(rest) != 1 or len(arguments) != 2 or rest[0].operands[0] not in body.results:
        return None
    return body if list(body.operands) in (arguments, arguments[::-1]) else None


def reduction(op: ir.Operation) -> str:
    """The name of the one op that a `stablehlo.reduce` (or a scatter) combines elements with, e.g. `stablehlo.add`.

    Raises:
        Refused: it combines in another way, or several arrays at once.
    """
    block = op.regions[0].blocks[0]
    names = " then ".join(inner.operation.name for inner in list(block.operations)[:-1])
    found = _single_op(block)
    return needed(found, f"{op.name} does not combine its elements with a single op, but with {names or 'none'}").name


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
