"""Ops made at the current place, under StableHLO's names; types and attributes follow from the operands.

In: values, and Python numbers and lists; a size may be open where it says `Size`: an int64 scalar of the module. Out:
values. Decisions to know: what would change nothing (a reshape to the same shape, a slice of all) is not made. An axis
of unknown size never stretches (only a static 1 does), which IREE must be told of each broadcast. Ops whose type
jaxlib's own builders infer and that have no attributes are not here: `stablehlo.add(x, y)`, ...

Also copies of ops, and slices of elementwise work, computed from slices of what the work reads (`Rows`):

    %d = subtract %a, %b                              %a1 = dynamic_slice %a, %i, %z
    %s = dynamic_slice %d, %i, %z, sizes = [1, 8]  ->  %b1 = dynamic_slice %b, %i, %z
                                                      %s = subtract %a1, %b1 : tensor<1x8xf32>

`dynamic_slice` moves a start that would leave the array back into it; all arrays of elementwise work have one shape, so
that their slices move alike. Where an axis is broadcast from size 1, the slice of it starts at 0; an iota's start is
clamped by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from .bindings import DYNAMIC, current_context, ir, stablehlo
from .evaluate import ELEMENTWISE
from .kinds import STABLEHLO, Sides, dot_shape, form_of
from .values import (
    PREFIX,
    constant_attribute,
    dense_attr,
    dtype_of,
    element_type,
    integers,
    numpy_dtype,
    owner,
    shape_of,
    sizes_of,
    static_shape,
    terminator,
    walk,
)
from .values import constant as constant_of

Body = Callable[..., Sequence[ir.Value]]
Size: TypeAlias = "int | ir.Value"


# ---- types -----------------------------------------------------------------------------------------------------


def tensor_type(like: Any, shape: Sequence[Size]) -> ir.RankedTensorType:
    """A type with the elements of a value or a tensor type, or of an element type or a NumPy dtype."""
    kind = like.type if isinstance(like, ir.Value) else like
    if not isinstance(kind, ir.Type):
        kind = element_type(np.dtype(kind), current_context())
    elif isinstance(kind, ir.RankedTensorType):
        kind = kind.element_type
    return ir.RankedTensorType.get([each if isinstance(each, int) else DYNAMIC for each in shape], kind)


def integer_list(numbers: Sequence[int]) -> ir.DenseI64ArrayAttr:
    """The attribute of a list of integers."""
    return ir.DenseI64ArrayAttr.get([int(number) for number in numbers])


# ---- constants -------------------------------------------------------------------------------------------------


def constant(array: Any) -> ir.Value:
    """A constant, from an array or a NumPy scalar."""
    return stablehlo.constant(dense_attr(np.asarray(array), current_context()))


def index(number: int) -> ir.Value:
    """An index: a scalar int32."""
    return constant(np.int32(number))


def scalar(number: float | int, like: ir.Value) -> ir.Value:
    """A scalar constant with the dtype of another value."""
    return constant(np.array(number, dtype_of(like)))


def integer(number: int, type_: ir.Type) -> ir.Value:
    """An integer of any type; modulo its size, as all integer arithmetic is."""
    ranked = ir.RankedTensorType(type_)
    dtype = numpy_dtype(ranked.element_type)
    bits = np.array([number % (1 << 8 * dtype.itemsize)], np.uint64).astype(f"u{dtype.itemsize}")
    return constant(bits.view(dtype).reshape(tuple(ranked.shape)))


def full(number: np.ndarray[Any, Any] | np.generic, shape: Sequence[int]) -> ir.Value:
    """A constant of one number, an array without axes."""
    kind = tensor_type(number.dtype, shape)
    element = kind.element_type
    if isinstance(element, ir.ComplexType):
        return constant(np.full(tuple(shape), number))
    is_integer = isinstance(element, ir.IntegerType)
    attribute = ir.IntegerAttr.get(element, int(number)) if is_integer else ir.FloatAttr.get(element, float(number))
    return stablehlo.constant(ir.DenseElementsAttr.get_splat(kind, attribute))


def full_like(value: ir.Value, number: float | int, shape: Sequence[int] | None = None) -> ir.Value:
    """A constant of one number, with a value's dtype, and its shape unless another is given.

    Raises:
        Refused: the value's shape is asked for, and it has a dynamic dimension.
    """
    return full(np.asarray(number).astype(dtype_of(value)), static_shape(value) if shape is None else shape)


def filled(like: Any, number: complex, shape: Sequence[Size] | None = None) -> ir.Value:
    """The same as a scalar that is broadcast, for what may be large or open; or of any dtype (see `tensor_type`)."""
    scalar = constant(np.array(number).astype(numpy_dtype(tensor_type(like, []).element_type)))
    return broadcast_in_dim(scalar, sizes(like) if shape is None else shape)


def iota(shape: Sequence[Size], axis: int, like: Any = np.int32) -> ir.Value:
    """0, 1, ... along an axis."""
    wanted = tensor_type(like, shape)
    if wanted.has_static_shape:
        return stablehlo.iota(wanted, axis)
    return stablehlo.dynamic_iota(wanted, vector(shape), axis)


# ---- sizes -----------------------------------------------------------------------------------------------------


def is_open(*values: ir.Value) -> bool:
    """Whether one of the values has a size that is not known."""
    return any(None in shape_of(value) for value in values)


def size(value: ir.Value, axis: int) -> Size:
    """The size of an axis."""
    known = shape_of(value)[axis]
    return convert(stablehlo.get_dimension_size(value, axis), np.int64) if known is None else known


def sizes(value: ir.Value) -> list[Size]:
    """The sizes of all axes."""
    return [size(value, axis) for axis in range(len(shape_of(value)))]


def elements(vector: ir.Value) -> list[Size]:
    """The elements of a vector of integers, such as the shape that a dynamic op is given."""
    (count,) = sizes_of(vector)
    known = constant_of(vector)
    if known is not None:
        return [int(number) for number in np.broadcast_to(known, (count,))]
    made = owner(vector)
    if made is not None and made.name == "stablehlo.concatenate":
        return [size for part in made.operands for size in elements(part)]
    if made is not None and made.name == "stablehlo.slice":
        (start,), (limit,), (stride,) = (integers(made, name) for name in ("start_indices", "limit_indices", "strides"))
        return elements(made.operands[0])[start:limit:stride]
    if made is not None and made.name == "stablehlo.reshape" and not shape_of(made.operands[0]):
        return [convert(made.operands[0], np.int64)]
    return [convert(reshape(slice(vector, [k], [k + 1]), []), np.int64) for k in range(count)]


def number(size: Size) -> ir.Value:
    """A size as an int64 scalar."""
    return constant(np.int64(size)) if isinstance(size, int) else size


def vector(sizes: Sequence[Size]) -> ir.Value:
    """Sizes as a vector of int64."""
    if all(isinstance(each, int) for each in sizes):
        return constant(np.array(sizes, np.int64))
    return concatenate([reshape(number(each), [1]) for each in sizes], 0)


def compute(name: str, one: Size, other: Size) -> Size:
    """A size by arithmetic on two: `add`, `subtract`, `multiply`, `maximum` or `minimum`."""
    if isinstance(one, int) and isinstance(other, int):
        return int(ELEMENTWISE[f"stablehlo.{name}"](one, other))
    return elementwise(f"stablehlo.{name}", number(one), number(other))


# ---- elements arranged -----------------------------------------------------------------------------------------


def broadcast_in_dim(value: ir.Value, shape: Sequence[Size], axes: Sequence[int] = ()) -> ir.Value:
    """A broadcast that puts the value's axes at `axes`."""
    wanted = tensor_type(value, shape)
    if value.type == wanted and list(axes) == list(range(len(shape))):
        return value
    if wanted.has_static_shape and not is_open(value):
        return stablehlo.broadcast_in_dim(wanted, value, integer_list(axes))
    return stablehlo.dynamic_broadcast_in_dim(wanted, value, vector(shape), integer_list(axes))


def reshape(value: ir.Value, shape: Sequence[Size]) -> ir.Value:
    """A reshape to as many elements; one of a reshape is one of what that was made of."""
    wanted = tensor_type(value, shape)
    if not wanted.has_static_shape or is_open(value):
        return stablehlo.dynamic_reshape(wanted, value, vector(shape))
    made = owner(value)
    if value.type != wanted and made is not None and made.name == "stablehlo.reshape":
        value = made.operands[0]
    return value if value.type == wanted else stablehlo.reshape(wanted, value)


def transpose(value: ir.Value, permutation: Sequence[int]) -> ir.Value:
    """A transpose, unless it moves nothing."""
    if list(permutation) == sorted(permutation):
        return value
    return stablehlo.transpose(value, integer_list(permutation))


def reverse(value: ir.Value, axis: int) -> ir.Value:
    """A reverse of one axis."""
    return stablehlo.reverse(value, integer_list([axis]))


def pad(
    value: ir.Value,
    padding: ir.Value,
    low: Sequence[int],
    high: Sequence[int],
    interior: Sequence[int] | None = None,
) -> ir.Value:
    """A pad, unless it adds nothing."""
    between = [0] * len(low) if interior is None else interior
    if not any((*low, *high, *between)):
        return value
    return stablehlo.pad(value, padding, integer_list(low), integer_list(high), integer_list(between))


def concatenate(values: Sequence[ir.Value], axis: int) -> ir.Value:
    """A concatenate, unless there is but one value."""
    return values[0] if len(values) == 1 else stablehlo.concatenate(list(values), axis)


def slice(
    value: ir.Value, starts: Sequence[int], limits: Sequence[int], strides: Sequence[int] | None = None
) -> ir.Value:
    """A slice, unless it takes all."""
    steps = [1] * len(starts) if strides is None else strides
    sizes = sizes_of(value)
    if not any(starts) and [max(0, -(-end // step)) for end, step in zip(limits, steps, strict=True)] == sizes:
        return value
    return stablehlo.slice(value, integer_list(starts), integer_list(limits), integer_list(steps))


def first(value: ir.Value, count: Size) -> ir.Value:
    """This many elements along the leading axis."""
    limits = [count, *sizes(value)[1:]]
    starts, steps = (vector([number] * len(limits)) for number in (0, 1))
    return stablehlo.real_dynamic_slice(tensor_type(value, limits), value, starts, vector(limits), steps)


def dynamic_slice(value: ir.Value, starts: Sequence[ir.Value], sizes: Sequence[int]) -> ir.Value:
    """A part of an array at a place that is computed."""
    return stablehlo.dynamic_slice(value, list(starts), integer_list(sizes))


def dynamic_update_slice(value: ir.Value, update: ir.Value, starts: Sequence[ir.Value]) -> ir.Value:
    """An array with another part at a place that is computed."""
    return stablehlo.dynamic_update_slice(value, update, list(starts))


def affine(value: ir.Value, slope: int, start: int = 0) -> ir.Value:
    """`slope * value + start`."""
    value = value if slope == 1 else stablehlo.multiply(value, scalar(slope, value))
    return value if start == 0 else stablehlo.add(value, scalar(start, value))


def row(value: ir.Value, index: ir.Value) -> ir.Value:
    """One element along the leading axis, without it."""
    shape = sizes_of(value)[1:]
    return reshape(dynamic_slice(value, [index, *[scalar(0, index)] * len(shape)], [1, *shape]), shape)


def with_row(array: ir.Value, row: ir.Value, index: ir.Value) -> ir.Value:
    """An array with another element along the leading axis."""
    shape = sizes_of(row)
    return dynamic_update_slice(array, reshape(row, [1, *shape]), [index, *[scalar(0, index)] * len(shape)])


# ---- elements computed -----------------------------------------------------------------------------------------


def elementwise(name: str, *operands: ir.Value) -> ir.Value:
    """An op by its full name, whose result has the type of its operands: `elementwise("stablehlo.add", x, y)`."""
    return ir.Operation.create(name, results=[operands[0].type], operands=list(operands)).results[0]


def compare(direction: str, lhs: ir.Value, rhs: ir.Value) -> ir.Value:
    """An elementwise comparison: EQ, GT, ..."""
    return stablehlo.compare(lhs, rhs, stablehlo.ComparisonDirectionAttr.get(direction))


def convert(value: ir.Value, like: Any) -> ir.Value:
    """A value with other elements (see `tensor_type`), unless it has them."""
    kind = tensor_type(like, sizes_of(value))
    return value if kind == value.type else stablehlo.convert(kind, value)


def bitcast_convert(value: ir.Value, like: Any) -> ir.Value:
    """The bits of elements as elements of the same size (see `tensor_type`)."""
    return stablehlo.bitcast_convert(tensor_type(like, sizes_of(value)), value)


def as_type(value: ir.Value, type_: ir.Type) -> ir.Value:
    """A value of another tensor type of as many elements."""
    return reshape(convert(value, type_), ir.RankedTensorType(type_).shape)


def positive_zeros(value: ir.Value) -> ir.Value:
    """The value with -0.0 replaced by 0.0, which is what adding 0.0 does; XLA takes `x + 0.0` for `x`, so not by that.

    Nothing to do for integers.
    """
    if dtype_of(value).kind in "iub":
        return value
    zero = full_like(value, 0.0)
    return stablehlo.select(compare("EQ", value, zero), zero, value)


def dot_numbers(contracting: Sides, batching: Sides = ((), ())) -> ir.Attribute:
    """The attribute with a dot's dimension numbers."""
    sides = [list(axes) for axes in (*batching, *contracting)]
    return stablehlo.DotDimensionNumbers.get(sides[0], sides[1], sides[2], sides[3])


def dot_general(
    lhs: ir.Value,
    rhs: ir.Value,
    contracting: Sides,
    batching: Sides = ((), ()),
) -> ir.Value:
    """A dot: axes of batches first, then what is left of the left side, then of the right one."""
    shape = dot_shape(contracting, batching, [sizes_of(lhs), sizes_of(rhs)])
    return stablehlo.dot_general(tensor_type(lhs, shape), lhs, rhs, dot_numbers(contracting, batching))


# ---- other ops, with regions and without -----------------------------------------------------------------------


def return_(values: Sequence[ir.Value]) -> None:
    """The end of a region."""
    ir.Operation.create("stablehlo.return", operands=list(values))


def fill(region: ir.Region, types: Sequence[ir.Type], body: Body) -> None:
    """Gives an op's region its block: arguments of these types, and what `body` makes of them."""
    block = region.blocks.append(*types, arg_locs=[ir.Location.current] * len(types))
    with ir.InsertionPoint(block):
        return_(body(*block.arguments))


_RARELY = PREFIX + "rarely"  # the second branch


def usually(predicate: ir.Value, values: Sequence[ir.Value], otherwise: Body) -> list[ir.Value]:
    """A `stablehlo.if`: values where a predicate holds, and otherwise what `otherwise` makes, of the same types."""
    types = [value.type for value in values]
    made = ir.Operation.create("stablehlo.if", results=types, operands=[predicate], regions=2)
    made.attributes[_RARELY] = ir.UnitAttr.get()
    fill(made.regions[0], [], lambda: values)
    fill(made.regions[1], [], otherwise)
    return list(made.results)


def rare_choices(module: ir.Module) -> list[ir.Operation]:
    """What `usually` made."""
    return [op for op in walk(module) if op.name == "stablehlo.if" and _RARELY in op.attributes]


def rare(module: ir.Module) -> set[ir.Operation]:
    """The ops that are run only where something is the matter (see `usually`)."""
    branches = [choice.regions[1].blocks[0] for choice in rare_choices(module)]
    return {op for branch in branches for x in branch.operations for op in walk(x.operation)}


def reduce_by(
    body: Body, values: Sequence[ir.Value], inits: Sequence[ir.Value], dimensions: Sequence[int]
) -> list[ir.Value]:
    """A `stablehlo.reduce` of several arrays; `body` combines elements, those of the left side first."""
    shape = [size for axis, size in enumerate(sizes_of(values[0])) if axis not in dimensions]
    made = ir.Operation.create(
        "stablehlo.reduce",
        results=[tensor_type(value, shape) for value in values],
        operands=[*values, *inits],
        attributes={"dimensions": integer_list(sorted(dimensions))},
        regions=1,
    )
    fill(made.regions[0], [tensor_type(value, []) for value in values] * 2, body)
    return list(made.results)


def reduce(name: str, value: ir.Value, init: ir.Value, dimensions: Sequence[int]) -> ir.Value:
    """A `stablehlo.reduce` of one array by one op, e.g. `stablehlo.add`; the reverse of `kinds.reduction`."""
    return reduce_by(lambda lhs, rhs: [elementwise(name, lhs, rhs)], [value], [init], dimensions)[0]


def map_elements(body: Body, values: Sequence[ir.Value]) -> ir.Value:
    """A `stablehlo.map`: `body` makes an element of the first one's dtype of elements at the same place."""
    dimensions = integer_list(range(len(sizes_of(values[0]))))
    made = ir.Operation.create(
        "stablehlo.map",
        results=[values[0].type],
        operands=list(values),
        attributes={"dimensions": dimensions},
        regions=1,
    )
    fill(made.regions[0], [tensor_type(value, []) for value in values], body)
    return made.results[0]


def custom_call(target: str, type_: ir.Type, operands: Sequence[ir.Value], **attributes: ir.Attribute) -> ir.Value:
    """A call of what has no op; of one result."""
    named = {"call_target_name": ir.StringAttr.get(target), **attributes}
    made = ir.Operation.create("stablehlo.custom_call", results=[type_], operands=list(operands), attributes=named)
    return made.results[0]


def typed_call(target: str, type_: ir.Type, operands: Sequence[ir.Value], flags: Mapping[str, bool]) -> ir.Value:
    """A call by XLA's typed foreign function interface, of arrays in row-major order."""

    def layout(of: ir.Type) -> ir.Attribute:
        rank = ir.RankedTensorType(of).rank
        return ir.DenseIntElementsAttr.get(np.arange(rank, dtype=np.int64)[::-1].copy(), type=ir.IndexType.get())

    return custom_call(
        target,
        type_,
        operands,
        api_version=ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 4),
        backend_config=ir.DictAttr.get({name: ir.BoolAttr.get(flag) for name, flag in flags.items()}),
        operand_layouts=ir.ArrayAttr.get([layout(value.type) for value in operands]),
        result_layouts=ir.ArrayAttr.get([layout(type_)]),
    )


def optimization_barrier(values: Sequence[ir.Value]) -> list[ir.Value]:
    """Values that XLA takes for others than it knows."""
    types = [value.type for value in values]
    made = ir.Operation.create("stablehlo.optimization_barrier", results=types, operands=list(values))
    return list(made.results)


def clone(
    op: ir.Operation,
    operands: Sequence[ir.Value] | None = None,
    shape: Sequence[int | None] | None = None,
    dtype: Any = None,
    **attributes: ir.Attribute,
) -> ir.Operation:
    """A copy of an op at the current place.

    Args:
        op: the op. Its attributes and regions are kept.
        operands: others in place of its own.
        shape: another one of its results; None stands for a dynamic size.
        dtype: another one of its results' elements, as NumPy's or a value that has it.
        attributes: those that are to be another.
    """
    copy = op.clone(ip=ir.InsertionPoint.current)
    for place, value in enumerate(operands or ()):
        copy.operands[place] = value
    for name, attribute in attributes.items():
        copy.attributes[name] = attribute
    for result in copy.results if shape is not None or dtype is not None else ():
        sizes = ir.RankedTensorType(result.type).shape if shape is None else shape
        known = [DYNAMIC if size is None else size for size in sizes]
        result.set_type(tensor_type(result if dtype is None else dtype, known))
    return copy


def clone_block(
    block: ir.Block, values: Mapping[ir.Value, ir.Value]
) -> tuple[list[ir.Value], dict[ir.Value, ir.Value]]:
    """Copies of a block's ops at the current place.

    Args:
        block: a block with a terminator.
        values: what stands for its arguments, and for values from outside that are to be replaced.

    Returns:
        What the terminator returned; and the copy of each value of the block.
    """
    known = dict(values)
    for operation in list(block.operations)[:-1]:
        copy = operation.operation.clone(ip=ir.InsertionPoint.current)
        replace_operands(copy, lambda value: known.get(value, value))
        known.update(zip(operation.operation.results, copy.results, strict=True))
    return [known.get(value, value) for value in terminator(block).operands], known


def replace_operands(op: ir.Operation, instead: Callable[[ir.Value], ir.Value]) -> None:
    """In an op and all that it holds."""
    for place, operand in enumerate(op.operands):
        if (value := instead(operand)) is not operand:
            op.operands[place] = value
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                replace_operands(inner.operation, instead)


def captured(operation: ir.Operation) -> list[ir.Value]:
    """Values from outside that an op's regions read."""
    around = walk(operation) if operation.regions else []
    blocks = [block for op in around for region in op.regions for block in region.blocks]
    inside: set[ir.Value] = {argument for block in blocks for argument in block.arguments}
    inside.update(result for inner in around[1:] for result in inner.results)
    return [x for x in dict.fromkeys(operand for inner in around[1:] for operand in inner.operands) if x not in inside]


_SHAPED = frozenset(f"stablehlo.{name}" for name in ("broadcast_in_dim", "constant", "iota", "transpose"))


def separable(op: ir.Operation) -> bool:
    """Whether a slice of the op's result can be computed from slices of its operands."""
    if len(op.results) != 1 or op.regions:
        return False
    if op.name == "stablehlo.constant":
        found = constant_of(op.results[0])
        return found is not None and found.ndim == 0 and found.dtype.kind != "c"
    if op.name == "stablehlo.bitcast_convert":
        return static_shape(op.results[0]) == static_shape(op.operands[0])
    return op.name in _SHAPED or op.name in STABLEHLO


class Rows:
    """Slices at one place, each made once.

    Args:
        moved: the ops to take apart.
    """

    def __init__(self, moved: Sequence[ir.Operation]):
        self._moved = {op.results[0] for op in moved}
        self._made: dict[tuple[ir.Value, tuple[ir.Value, ...], tuple[int, ...]], ir.Value] = {}

    def take(self, value: ir.Value, starts: Sequence[ir.Value], sizes: Sequence[int]) -> ir.Value:
        """The slice of a value that starts at `starts` and has these sizes."""
        if tuple(sizes) == static_shape(value):
            return value
        key = (value, tuple(starts), tuple(sizes))
        if key not in self._made:
            op = owner(value)
            assert op is not None or value not in self._moved
            taken = self._take_apart(op, starts, sizes) if op is not None and value in self._moved else None
            self._made[key] = dynamic_slice(value, starts, sizes) if taken is None else taken
        return self._made[key]

    def _take_apart(self, op: ir.Operation, starts: Sequence[ir.Value], sizes: Sequence[int]) -> ir.Value:
        if op.name == "stablehlo.constant":
            elements = constant_attribute(op)
            assert elements is not None
            kind = tensor_type(op.results[0], sizes)
            return stablehlo.constant(ir.DenseElementsAttr.get_splat(kind, elements.get_splat_value()))
        if op.name == "stablehlo.iota":
            return _iota(op, starts, sizes)
        form = form_of(op)
        assert form is not None
        operands = []
        for operand, axes in zip(op.operands, form.operands, strict=True):
            part = [1 if axis is None else sizes[axis] for axis in axes]
            if tuple(part) != static_shape(operand):
                places = [scalar(0, starts[0]) if axis is None else starts[axis] for axis in axes]
                operand = self.take(operand, places, part)
            operands.append(operand)
        return clone(op, operands, sizes).results[0]


def _iota(op: ir.Operation, starts: Sequence[ir.Value], sizes: Sequence[int]) -> ir.Value:
    axis, result = ir.IntegerAttr(op.attributes["iota_dimension"]).value, op.results[0]
    extent = static_shape(result)[axis]
    if sizes[axis] == extent:
        return iota(sizes, axis, result)
    last = scalar(extent - sizes[axis], starts[0])
    start = stablehlo.clamp(scalar(0, starts[0]), starts[axis], last)
    along = stablehlo.add(iota(sizes, axis, start), broadcast_in_dim(start, sizes))
    return convert(along, result)
