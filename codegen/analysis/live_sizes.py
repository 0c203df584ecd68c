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

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from .. import dims as dimension
from ..dims import Dim, parse
from ..ir import ops
from ..ir.bindings import ir, stablehlo
from ..ir.values import attributes_of, constant, integers, numpy_dtype, owner, unspread
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
    """The least and the greatest value of a scalar integer's type; None for what is no scalar integer."""
    return limits_at((value, 0)) if _length(value) == 1 else None
