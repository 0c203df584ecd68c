"""What is known of values before the run: integers, indices that step evenly, and between which numbers elements lie.

In: a value of integers or truth values. Out: its array, or None. Indices that a library computes (`arange(a, b)`, with
wrapping of negative ones, conversion, a check against the size) come out as the numbers that they are. Decision to
know: work is bounded, in ops and in elements, so that asking is cheap where the answer is no.

In: a value. Out: the least and the greatest number, as far as is known, of elements that are not NaN. Decision to know:
only a few ops back are examined, and only ops that models put before a gamma function; infinities are always right.

The sizes that a call decides, in a padded module, are integer scalars as dimension expressions (`LiveSizes`):

    func @main(%x: tensor<512x8xf32> {hlograph.live = ["t", "8"]}, %t: tensor<i32> {hlograph.size = "t"})
      %0 = convert %t : tensor<i64>                    the size t, of 0 ... 512
      %1 = subtract %0, %c1                            the size t - 1
      reduce(...) {hlograph.live = ["t"]}              what lies at t and beyond does not count

In: an op of a module, for its function's arguments. Out: scalars as sizes, the bounds of sizes, scalars for sizes, and
what the padding pass says about a reduction (`marked`). Decision to know: a size is at most the static size of an axis
that has it as its live size, which every call's arguments fulfil. A module without live sizes has integers only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from .. import dims as dimension
from ..dims import Dim, parse
from ..ir import evaluate, ops
from ..ir.bindings import ir, stablehlo
from ..ir.driver import remembered
from ..ir.kinds import direction_of, having
from ..ir.refused import Refused, require
from ..ir.values import Array, attributes_of, constant, integers, is_constant, numpy_dtype, owner, shape_of, unspread
from ..signature import LIVE, live_arguments

_OPS, _ELEMENTS = 48, 1 << 21


def known(value: ir.Value) -> Array | None:
    """The array of a value that no argument has a part in; None where it is not known, or not cheaply.

    What is found to be unknown is remembered (as hashes, not as values) for the questions to come in the same run.
    """
    unknown: set[int] = remembered("unknown integers", set)
    found: dict[ir.Value, Array] = {}
    left = _OPS  # ops that are still looked at

    def array_of(value: ir.Value) -> Array | None:
        nonlocal left
        if value in found or hash(value) in unknown:
            return found.get(value)
        left -= 1
        op = owner(value)
        operands: list[Array] = []
        if op is not None and left >= 0 and _is_small(value) and evaluate.is_known(op):
            for operand in op.operands:
                array = array_of(operand)
                if array is None:
                    break
                operands.append(array)
            made = evaluate.result_of(op, operands) if len(operands) == len(op.operands) else None
            if made is not None:
                found[value] = made
                return made
        unknown.add(hash(value))
        return None

    return array_of(value)


def _is_small(value: ir.Value) -> bool:
    if not isinstance(value.type, ir.RankedTensorType):
        return False
    tensor = ir.RankedTensorType(value.type)
    element = tensor.element_type
    if not isinstance(element, ir.IntegerType) or element.width not in (1, 8, 16, 32, 64):
        return False
    shape = shape_of(value)
    return None not in shape and int(np.prod([size or 0 for size in shape], dtype=np.int64)) <= _ELEMENTS


def zero_splat(value: ir.Value) -> float | int | None:
    """0 or -0.0 where all elements of a value are known to be it, else None."""
    found = constant(value)
    if found is None or found.ndim or found != 0:
        return None
    return -0.0 if found.dtype.kind not in "iubc" and np.signbit(found) else 0


# ---- indices that step evenly --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Even:
    """Windows at even distances: one element wide along the axis on which they follow each other, so never overlapping.

    Attributes:
        starts: of the first window, per axis.
        axis: along which they follow each other; where there is one window, the axis to which the windows' count is
            given.
        step: from one to the next; negative ones run backwards.
        count: how many windows there are.
        batch: the shape that the windows are counted in.
    """

    starts: tuple[int, ...]
    axis: int
    step: int
    count: int
    batch: tuple[int, ...]

    @property
    def first(self) -> int:
        """Least index along the axis."""
        return min(self.starts[self.axis], self.starts[self.axis] + self.step * (self.count - 1))

    @property
    def last(self) -> int:
        """Greatest index along the axis."""
        return max(self.starts[self.axis], self.starts[self.axis] + self.step * (self.count - 1))


def even(
    indices: ir.Value,
    index_vector_dim: int,
    mapped: Sequence[int],
    sizes: Sequence[int],
    window: Sequence[int],
    clamp: bool,
) -> Even:
    """How windows lie.

    Args:
        indices: start indices, as a gather or a scatter takes them.
        index_vector_dim: the axis of them that holds an index's components.
        mapped: the array's axis for each component.
        sizes: the array's shape.
        window: the windows' shape, per axis of the array.
        clamp: whether windows that reach out are moved in (a gather's), or refused (a scatter leaves them out).

    Raises:
        Refused: they are not known, not even, or reach out.
    """
    numbers = known(indices)
    if numbers is None:
        reason = "are not constant" if None not in shape_of(indices) else "have a dynamic dimension"
        raise Refused(f"the indices {reason} (specialize and inline first, if they come from sizes)")
    if index_vector_dim == numbers.ndim:
        numbers = numbers[..., None]
    numbers = np.moveaxis(numbers, index_vector_dim, -1)
    batch = numbers.shape[:-1]
    columns: Array = numbers.reshape(math.prod(batch), numbers.shape[-1])
    require(len(columns), "there is no index")
    # Sizes are far below what is cut off here.
    if columns.dtype == np.uint64:
        columns = np.minimum(columns, np.uint64(1 << 62))
    columns = columns.astype(np.int64)
    starts = [0] * len(sizes)
    moving: list[tuple[int, int]] = []
    for component, axis in enumerate(mapped):
        limit = sizes[axis] - window[axis]
        column = columns[:, component]
        inside = np.clip(column, 0, limit)
        require(clamp or np.array_equal(inside, column), f"an index for axis {axis} is out of bounds, and is left out")
        starts[axis] = int(inside[0])
        steps = np.diff(inside)
        if steps.any():
            require((steps == steps[0]).all(), f"the indices for axis {axis} are not evenly spaced")
            moving.append((axis, int(steps[0])))
    require(len(moving) < 2, f"the indices move along several axes at once ({[axis for axis, _ in moving]})")
    if not moving:
        require(len(columns) == 1, "all indices are the same")
        moving = [(next((axis for axis in mapped if window[axis] == 1), -1), 1)]
    axis, step = moving[0]
    require(
        len(columns) == 1 or window[axis] == 1, f"windows are {window[axis]} wide along the axis {axis} they move on"
    )
    return Even(tuple(starts), axis, step, len(columns), batch)


Limits = tuple[float, float]

_DEPTH = 12
_ANY: Limits = (-math.inf, math.inf)
_POSITIVE: Limits = (0, math.inf)
_FIRST, _NONNEGATIVE, _KEEPS = (having(fact) for fact in ("first", "nonnegative", "keeps"))
_OTHERS = frozenset(f"stablehlo.{name}" for name in ("divide", "maximum", "minimum", "multiply", "negate", "select"))


def limits(value: ir.Value, depth: int = _DEPTH, known: dict[ir.Value, Limits] | None = None) -> Limits:
    """The least and the greatest number among the elements."""
    known = {} if known is None else known
    if value not in known:
        known[value] = _found(value, depth, known)
    return known[value]


def _found(value: ir.Value, depth: int, known: dict[ir.Value, Limits]) -> Limits:
    array, op = constant(value), owner(value)
    if array is not None and array.size and array.dtype.kind in "fiub" and (array == array).all():
        return float(array.min()), float(array.max())
    if op is None or not depth:
        return _ANY
    if op.name in _NONNEGATIVE or (op.name == "stablehlo.multiply" and op.operands[0] == op.operands[1]):
        return _POSITIVE
    if op.name in _FIRST:
        return limits(op.operands[0], depth - 1, known)
    if op.name not in _OTHERS and op.name not in _KEEPS:
        return _ANY
    name, ends = op.name.partition(".")[2], [limits(operand, depth - 1, known) for operand in op.operands]
    if name == "negate":
        return -ends[0][1], -ends[0][0]
    if name in ("maximum", "minimum"):
        pick = max if name == "maximum" else min
        return pick(low for low, _ in ends), pick(high for _, high in ends)
    if name == "select":
        low = min(low for low, _ in ends[1:])
        return (0 if _is_folded(op) else low), max(high for _, high in ends[1:])
    if name == "multiply":
        corners = [0.0 if 0 in (a, b) else a * b for a in ends[0] for b in ends[1]]
        return min(corners), max(corners)
    natural = all(low >= 0 for low, _ in ends)
    return _POSITIVE if natural and (name != "divide" or _has_no_negative_zero(op.operands[1])) else _ANY


def is_not_negative(value: ir.Value) -> bool:
    """Whether no element is below 0."""
    return limits(value)[0] >= 0


def is_fraction(value: ir.Value) -> bool:
    """Whether all elements are a logistic function's, or exponentials of what is not above 0: they lie in [0, 1]."""
    op = owner(value)
    if op is not None and op.name in _FIRST:
        return is_fraction(op.operands[0])
    if op is None:
        return False
    return op.name == "stablehlo.logistic" or (op.name == "stablehlo.exponential" and limits(op.operands[0])[1] <= 0)


def _has_no_negative_zero(value: ir.Value) -> bool:
    """Whether no element is -0, given that none is below 0: 1/x is then not negative either."""
    op = owner(value)
    if op is not None and op.name in _FIRST:
        return _has_no_negative_zero(op.operands[0])
    return limits(value)[0] > 0 or (op is not None and op.name in _NONNEGATIVE - {"stablehlo.sqrt"})


def _is_folded(select: ir.Operation) -> bool:
    """Whether it is `where(x < 0, c - x, x)` or `where(x >= 0, x, c - x)` with c >= 0, as reflections have it."""
    test, yes, no = (owner(operand) for operand in select.operands)
    if test is None or test.name != "stablehlo.compare" or not is_constant(test.operands[1], 0):
        return False
    places = {"LT": (yes, select.operands[2]), "GE": (no, select.operands[1])}
    changed, kept = places.get(direction_of(test), (None, None))
    x = test.operands[0]
    if changed is None or kept != x or changed.name not in ("stablehlo.subtract", "stablehlo.negate"):
        return False
    *least, subtracted = changed.operands
    return bool(subtracted == x) and all(map(is_not_negative, least))


_DEEPEST = 40
_LONGEST = 16  # of vectors that are looked into: places along the axes of an array

Element: TypeAlias = "tuple[ir.Value, Any]"  # of a scalar or a vector, at a place: a number, or a dimension


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

    def interval(self, dim: Dim) -> tuple[int | None, int | None]:
        """The least and the greatest value."""
        return (dim, dim) if isinstance(dim, int) else dimension.bounds(dim, self.intervals)

    def at_most(self, a: Dim, b: Dim) -> bool:
        """Whether `a <= b` at every call."""
        rest = self.interval(b - a)[0]
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
            floordiv=stablehlo.divide,  # of what is not negative: `ARITHMETIC`
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
        return known[0] if name in _MOVING else _ARITHMETIC[name](self.interval, *known)


_ARITHMETIC: Mapping[str, dimension.SizeRule] = dimension.ARITHMETIC | {
    "stablehlo.clamp": lambda _, low, x, high: dimension.minimum(dimension.maximum(low, x), high)
}
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
    if op.name not in _ARITHMETIC and op.name not in _MOVING:
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
    """The least and the greatest value of a scalar integer's type; None for anything else."""
    return limits_at((value, 0)) if _length(value) == 1 else None
