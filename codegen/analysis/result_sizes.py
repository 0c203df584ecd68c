"""The sizes of a function's results, as expressions of its arguments' sizes and values.

    func @main(%x: tensor<?x4xf32>, %k: tensor<1xi64>)      (n, 4), values (k)
      %0 = dynamic_broadcast_in_dim %x, [k, n, 4]           (k, n, 4)
      %1 = reduce %0 across [1]                             (k, 4)

In: a function without calls, and what its arguments are. Out: of each result the dimensions that are found. Decision to
know: nothing is taken to be equal; a size that is not followed stays unknown, which is right too. Integers that sizes
are computed from are taken not to wrap around.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from ..dims import Dim, roots
from ..ir.attributes import integers
from ..ir.bindings import ir
from ..ir.op_sheet import form_of
from ..ir.values import owner, shape_of
from ..ir.walk import returned_by, walk
from .live_sizes import Element, LiveSizes

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
    """The dimensions of a function's results.

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
        amounts: list[Sequence[Dim | None]] = [
            integers(op, name) if op.name == "stablehlo.pad" else self._vector(value, len(shape))
            for name, value in zip(
                ("edge_padding_low", "edge_padding_high", "interior_padding"),
                op.operands[2:] if op.name == "stablehlo.dynamic_pad" else [op.operands[0]] * 3,
                strict=True,
            )
        ]
        return tuple(
            _sum([size, low, high]) if between == 0 else None
            for size, low, high, between in zip(shape, *amounts, strict=True)
        )

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
