"""The sizes that a call decides, in a padded module: integer scalars as dimension expressions.

    func @main(%x: tensor<512x8xf32> {hlograph.live = ["t", "8"]}, %t: tensor<i32> {hlograph.size = "t"})
      %0 = convert %t : tensor<i64>                    the size t, of 0 ... 512
      %1 = subtract %0, %c1                            the size t - 1
      reduce(...) {hlograph.live = ["t"]}              what lies at t and beyond does not count

In: an op of a module, for its function's arguments. Out: scalars as sizes, the bounds of sizes, scalars for sizes, and
what the padding pass says of a reduction (`marked`). Decision to know: a size is at most the static size of an axis
that has it as its live size, which every call's arguments fulfil. A module without live sizes has integers only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from .. import dims as dimension
from ..dims import Dim, parse, roots
from ..ir import ops
from ..ir.bindings import ir, stablehlo
from ..ir.op_sheet import form_of
from ..ir.values import attributes_of, constant, integers, numpy_dtype, owner, returned_by, shape_of, unspread, walk
from ..signature import LIVE, live_arguments

_DEEPEST = 40
_LONGEST = 16  # of vectors that are looked into: places along the axes of an array

Element: TypeAlias = "tuple[ir.Value, int]"  # of a scalar or a vector


@dataclass
class LiveSizes:
    """The live sizes of one function.

    Attributes:
        scalars: the argument that holds each.
        intervals: the least and the greatest value of each.
    """

    scalars: Mapping[str, ir.Value] = field(default_factory=dict)
    intervals: Mapping[str, tuple[int | None, int | None]] = field(default_factory=dict)
    _known: dict[Element, Dim | None] = field(default_factory=dict)

    @staticmethod
    def of(op: ir.Operation) -> LiveSizes:
        """Those of the function that an op is in."""
        function: ir.Operation | None = op
        while function is not None and function.name != "func.func":
            function = function.parent.operation if function.parent is not None else None
        if function is None or not function.regions[0].blocks:
            return LiveSizes()
        places, intervals = live_arguments(function)
        arguments = function.regions[0].blocks[0].arguments
        return LiveSizes({name: arguments[place] for name, place in places.items()}, intervals)

    def least(self, dim: Dim) -> int | None:
        """A lower bound."""
        return dim if isinstance(dim, int) else dimension.bounds(dim, self.intervals)[0]

    def greatest(self, dim: Dim) -> int | None:
        """An upper bound."""
        return dim if isinstance(dim, int) else dimension.bounds(dim, self.intervals)[1]

    def at_most(self, a: Dim, b: Dim) -> bool:
        """Whether `a <= b` at every call."""
        rest = self.least(b - a)
        return rest is not None and rest >= 0

    def dim(self, value: ir.Value) -> Dim | None:
        """What an integer scalar is as a size; None where it is none, or not known."""
        return None if limits_of(value) is None else self._at((value, 0), 0)

    def number(self, value: ir.Value) -> Dim | None:
        """The same of a number of any dtype, also where it has been broadcast."""
        value = unspread(value)
        op = owner(value)
        if op is not None and op.name == "stablehlo.convert" and limits_of(op.operands[0]) is not None:
            return self.dim(op.operands[0])
        found = constant(value)
        if found is None or found.ndim or found.dtype.kind not in "iuf" or found != np.round(found):
            return None
        return int(found)

    def marked(self, op: ir.Operation) -> tuple[Dim, ...] | None:
        """How much of each axis that an op reduces counts, in the axes' order, where the padding pass says it."""
        attributes = attributes_of(op.attributes)
        if LIVE not in attributes:
            return None
        dims = tuple(parse(ir.StringAttr(item).value) for item in ir.ArrayAttr(attributes[LIVE]))
        return dims if all(dimension.roots(dim) <= self.scalars.keys() for dim in dims) else None

    def emit(self, dim: Dim, type_: ir.Type) -> ir.Value:
        """A size as a scalar of an integer type, at the current place."""
        if isinstance(dim, int):
            return ops.integer(dim, type_)
        wide = ops.tensor_type(np.int64, [])
        found = dimension.rebuild(
            dim,
            lambda name: ops.as_type(self.scalars[name], wide),
            const=lambda number: ops.integer(number, wide),
            add=stablehlo.add,
            mul=stablehlo.multiply,
            floordiv=stablehlo.divide,  # of what is not negative: `_combined`
            mod=stablehlo.remainder,
            minimum=stablehlo.minimum,
            maximum=stablehlo.maximum,
        )
        return ops.as_type(found, type_)

    def element(self, value: ir.Value, place: int) -> Dim | None:
        """The same of an element of a short vector."""
        return self._at((value, place), 0)

    def _at(self, element: Element, depth: int) -> Dim | None:
        if element not in self._known:
            found = self._find(element, depth + 1) if depth <= _DEEPEST else None
            self._known[element] = found if found is not None and self._fits(element, found) else None
        return self._known[element]

    def _fits(self, element: Element, found: Dim) -> bool:
        """Whether an integer's type has all values that it may have, so that it does not wrap around."""
        limits = limits_at(element)
        return limits is not None and self.at_most(limits[0], found) and self.at_most(found, limits[1])

    def _given(self, element: Element) -> Dim | None:
        return next((dimension.symbol(name) for name, x in self.scalars.items() if x == element[0]), None)

    def _find(self, element: Element, depth: int) -> Dim | None:
        value, place = element
        given, op = self._given(element), owner(value)
        if given is not None or op is None:
            return given
        if op.name == "stablehlo.constant":
            found = constant(value)
            if found is None or found.dtype.kind not in "iu":
                return None
            return int(found.reshape(-1)[place if found.ndim else 0])
        sources = elements_of(op, place)
        if sources is None:
            return None
        known = [dim for source in sources if (dim := self._at(source, depth)) is not None]
        return self._combined(op.name, known) if len(known) == len(sources) else None

    def _combined(self, name: str, known: list[Dim]) -> Dim | None:
        if name in _MOVING:
            return known[0]
        if name in _ARITHMETIC:
            return _ARITHMETIC[name](known)
        a, b = known
        least, divisor = self.least(a), self.least(b)
        if least is None or least < 0 or divisor is None or divisor < 1:
            return None  # StableHLO rounds to zero: the same as rounding down only where nothing is negative
        return a // b if name == "stablehlo.divide" else a % b


_ARITHMETIC: Mapping[str, Callable[[list[Dim]], Dim]] = {
    "stablehlo.negate": lambda known: -known[0],
    "stablehlo.add": lambda known: known[0] + known[1],
    "stablehlo.subtract": lambda known: known[0] - known[1],
    "stablehlo.multiply": lambda known: known[0] * known[1],
    "stablehlo.minimum": lambda known: dimension.minimum(*known),
    "stablehlo.maximum": lambda known: dimension.maximum(*known),
    "stablehlo.clamp": lambda known: dimension.minimum(dimension.maximum(*known[:2]), known[2]),
}
_DIVISIONS = frozenset({"stablehlo.divide", "stablehlo.remainder"})
_MOVING = frozenset(f"stablehlo.{name}" for name in ("convert", "reshape", "slice", "concatenate", "broadcast_in_dim"))


# ---- elements of short vectors -----------------------------------------------------------------------------------


def elements_of(op: ir.Operation, place: int) -> list[Element] | None:
    """What an element of a scalar or vector of integers is computed from; None where that is not looked into."""
    operands = list(op.operands)
    if op.name == "stablehlo.slice":
        return [(operands[0], integers(op, "start_indices")[0] + place * integers(op, "strides")[0])]
    if op.name == "stablehlo.concatenate":
        for operand in operands:
            size = _length(operand)
            if size is None:
                return None
            if place < size:
                return [(operand, place)]
            place -= size
    if op.name not in _ARITHMETIC and op.name not in _DIVISIONS and op.name not in _MOVING:
        return None
    return [(operand, place if _length(operand) != 1 else 0) for operand in operands]


def _length(value: ir.Value) -> int | None:
    """How many elements a scalar or a vector has; None for anything else."""
    if not isinstance(value.type, ir.RankedTensorType):
        return None
    shape = list(ir.RankedTensorType(value.type).shape)
    if all(size == 1 for size in shape):
        return 1
    return shape[0] if len(shape) == 1 and 0 <= shape[0] <= _LONGEST else None


def limits_at(element: Element) -> tuple[int, int] | None:
    """The least and the greatest value of an element's type; None for what is no integer, or of a long array."""
    value = element[0]
    if _length(value) is None:
        return None
    type_ = ir.RankedTensorType(value.type).element_type
    dtype = numpy_dtype(type_) if isinstance(type_, ir.IntegerType) else None
    if dtype is None or dtype.kind not in "iu":
        return None
    limits = np.iinfo(dtype)
    return int(limits.min), int(limits.max)


def limits_of(value: ir.Value) -> tuple[int, int] | None:
    """The least and the greatest value of a scalar integer's type; None for what is no scalar integer."""
    return limits_at((value, 0)) if _length(value) == 1 else None


# ---- sizes of results ----------------------------------------------------------------------------------------------


Known: TypeAlias = "tuple[Dim | None, ...]"

# The operand whose shape the result has.
_LIKE = {
    "stablehlo.batch_norm_inference": 0,
    "stablehlo.cholesky": 0,
    "stablehlo.scatter": 0,
    "stablehlo.triangular_solve": 1,
}
_BY_OPERAND = frozenset({"stablehlo.dynamic_reshape", "stablehlo.dynamic_broadcast_in_dim", "stablehlo.dynamic_iota"})


def result_sizes(function: ir.Operation, arguments: Mapping[int, Known], values: Mapping[int, Known]) -> list[Known]:
    """The dimensions of a function's results, as far as they are found: nothing is taken to be equal.

    Args:
        function: a `func.func` in which calls are inlined.
        arguments: of each argument the dimensions, by number.
        values: of integer arguments the elements that are known.
    """
    block = function.regions[0].blocks[0]
    sizes = _with_values(function, values)
    for place, known in arguments.items():
        sizes.shapes[block.arguments[place]] = known
    return [sizes.shape(value) for value in returned_by(block)]


def roots_of_open_sizes(function: ir.Operation, values: Mapping[int, Known]) -> set[str]:
    """The names, of those that elements of arguments have here, which open sizes in the function are made of.

    Args:
        function: as above; its arguments have known sizes.
        values: of integer arguments the elements, by number.
    """
    sizes = _with_values(function, values)
    found: set[str] = set()
    for op in walk(function):
        for result in op.results:
            open_ones = [dim for own, dim in zip(shape_of(result), sizes.shape(result), strict=True) if own is None]
            found.update(name for dim in open_ones if dim is not None for name in roots(dim))
    return found


def _with_values(function: ir.Operation, values: Mapping[int, Known]) -> _OpenSizes:
    sizes = _OpenSizes()
    for place, known in values.items():
        for element, dim in enumerate(known):
            sizes.elements[function.regions[0].blocks[0].arguments[place], element] = dim
    return sizes


class _OpenSizes(LiveSizes):
    """Sizes by value, found when they are asked for.

    Attributes:
        shapes: those that are known or under way.
        elements: elements of arguments that are known.
    """

    def __init__(self) -> None:
        super().__init__()
        self.shapes: dict[ir.Value, Known] = {}
        self.elements: dict[Element, Dim | None] = {}

    def shape(self, value: ir.Value) -> Known:
        """The dimensions of a value; None for those that are not known."""
        if value not in self.shapes:
            own = shape_of(value)
            self.shapes[value] = own  # for a value that comes from itself
            if None in own:
                found = self._found(value)
                if len(found) == len(own):
                    self.shapes[value] = tuple(a if a is not None else b for a, b in zip(own, found, strict=True))
        return self.shapes[value]

    def _found(self, value: ir.Value) -> Known:
        op = owner(value)
        if op is None:
            return ()
        operands = list(op.operands)
        place = [result == value for result in op.results].index(True)
        if op.name in _BY_OPERAND:
            return self._vector(operands[-1], len(shape_of(value)))
        if op.name in _LIKE:
            return self.shape(operands[_LIKE[op.name]])
        if op.name == "stablehlo.optimization_barrier":
            return self.shape(operands[place])
        if op.name == "stablehlo.while":
            return self._carried(op, place)
        if op.name in ("stablehlo.case", "stablehlo.if"):
            ends = [self.shape(returned_by(region.blocks[0])[place]) for region in op.regions]
            return tuple(dims[0] if all(d == dims[0] for d in dims) else None for dims in zip(*ends, strict=True))
        if op.name == "stablehlo.real_dynamic_slice":
            return self._sliced(*operands)
        if op.name in ("stablehlo.dynamic_pad", "stablehlo.pad"):
            return self._padded(op)
        return self._by_axes(op, len(shape_of(value)))

    def _by_axes(self, op: ir.Operation, rank: int) -> Known:
        """Of an op that keeps axes apart: of an axis along which elements stay, its operand's."""
        form = form_of(op)
        if form is None:
            return ()
        found: list[Dim | None] = [None] * rank
        for axes, operand in zip(form.operands, op.operands, strict=True):
            for dim, axis in zip(self.shape(operand), axes, strict=True):
                if axis is not None and axis not in form.sized and found[axis] is None:
                    found[axis] = dim
        if op.name == "stablehlo.concatenate":
            (along,) = form.moved
            found[along] = _sum([self.shape(operand)[along] for operand in op.operands])
        if op.name == "stablehlo.dynamic_gather":
            sizes = self._vector(op.operands[2], len(form.operands[0]))
            for axis, size in zip(form.operands[0], sizes, strict=True):
                if axis is not None:
                    found[axis] = size
        return tuple(found)

    def _carried(self, loop: ir.Operation, place: int) -> Known:
        """A loop's carry, as far as it leaves a step with the size with which it came."""
        start = self.shape(loop.operands[place])
        body = loop.regions[1].blocks[0]
        steps = _OpenSizes()
        steps.elements = self.elements
        steps.shapes = dict(self.shapes)
        for argument, operand in zip(body.arguments, loop.operands, strict=True):
            steps.shapes[argument] = self.shape(operand)
        for other, value in enumerate(returned_by(body)):
            before = steps.shapes[body.arguments[other]]
            if steps.shape(value) != before or None in before:
                return shape_of(loop.results[place])  # a carry that changes may change others
        return start

    def _sliced(self, operand: ir.Value, *bounds: ir.Value) -> Known:
        rank = len(shape_of(operand))
        starts, limits, strides = (self._vector(value, rank) for value in bounds)
        return tuple(
            None if low is None or high is None or not isinstance(step, int) else (high - low + step - 1) // step
            for low, high, step in zip(starts, limits, strides, strict=True)
        )

    def _padded(self, op: ir.Operation) -> Known:
        shape = self.shape(op.operands[0])
        amounts: list[Sequence[Dim | None]] = [self._vector(value, len(shape)) for value in op.operands[2:]]
        if op.name == "stablehlo.pad":
            amounts = [integers(op, name) for name in ("edge_padding_low", "edge_padding_high", "interior_padding")]
        sizes = zip(shape, *amounts, strict=True)
        return tuple(_sum([size, low, high]) if between == 0 else None for size, low, high, between in sizes)

    def _vector(self, value: ir.Value, count: int) -> Known:
        return tuple(self.element(value, place) for place in range(count))

    def _fits(self, element: Element, found: Dim) -> bool:
        """Integers that sizes are computed from are taken not to wrap around."""
        return True

    def _given(self, element: Element) -> Dim | None:
        value, op = element[0], owner(element[0])
        if op is not None and op.name == "stablehlo.get_dimension_size":
            return self.shape(op.operands[0])[ir.IntegerAttr(op.attributes["dimension"]).value]
        return self.elements.get((value, element[1]))


def _sum(dims: Sequence[Dim | None]) -> Dim | None:
    total: Dim = 0
    for dim in dims:
        if dim is None:
            return None
        total = total + dim
    return total
