"""What the walk carries: values of the padded program, the builder that makes them, and ranges of loops' counters.

The *live box* is `[0, live)` along every axis. Inside it a tensor equals the value of the exact program; what lies
outside is padding, of which a fact is known per axis: it holds for the elements whose index along that axis is not
live, wherever they are along the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ... import dims as dimension
from ...analysis.loops import counter_of
from ...builder import Builder, Tensor
from ...builder.core import SizeSource
from ...builder.types import BOOL, Attributes, DType, Sizes
from ...constraints import Constraints
from ...dims import Dim
from ...ir.bindings import ir
from ...ir.refused import Refused
from ...ir.values import attributes_of, constant
from .facts import Fact

Dims: TypeAlias = "tuple[Dim, ...]"
Interval: TypeAlias = "tuple[int | None, int | None]"  # least and greatest value


@dataclass(slots=True)
class Live:
    """A value of the padded program.

    Attributes:
        tensor: the handle; its dims are ints.
        dims: live size of each axis: an int where the axis is not padded, else a symbolic dimension.
        pads: for each axis what its padding holds; None where it has none.
        whole: what is known of all elements, live ones included.
    """

    tensor: Tensor
    dims: Dims
    pads: tuple[Fact | None, ...]
    whole: Fact

    @property
    def dtype(self) -> DType:
        """Dtype of the elements."""
        return self.tensor.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.dims)

    @property
    def shape(self) -> tuple[int, ...]:
        """The static shape."""
        return self.tensor.dims  # type: ignore[return-value]

    @property
    def padded(self) -> list[int]:
        """The axes that have padding."""
        return [axis for axis, dim in enumerate(self.dims) if type(dim) is not int]

    def pad(self, axis: int) -> Fact:
        """The fact about the padding of an axis; about all elements where the axis has none."""
        fact = self.pads[axis]
        return self.whole if fact is None else fact


# ---- the builder ----------------------------------------------------------------------------------------------------


class LiveSize(SizeSource):
    """A root whose value is a live size: a scalar argument that is never negative."""

    @property
    def is_value(self) -> bool:
        """False: an argument holds it, but it is no value of the user's."""
        return False


class LiveBuilder(Builder):
    """A builder whose roots have known intervals, and which takes attributes as they are in the source module."""

    def __init__(self, context: ir.Context, name: str, constraints: Constraints) -> None:
        super().__init__(context, name)
        self.constraints = constraints
        self.intervals: dict[str, Interval] = {}

    def attribute(self, text: Any) -> ir.Attribute:
        """An attribute from its text, or the attribute itself."""
        return super().attribute(text) if isinstance(text, str) else text

    def copy(
        self,
        operation: ir.Operation,
        operands: Sequence[Tensor],
        dims: Dims,
        dtype: DType,
        key: Any,
        added: Attributes = (),
    ) -> Tensor:
        """An op with a region that uses nothing from outside, on other operands; made once.

        Args:
            operation: what is copied.
            operands: the new operands.
            dims: shape of the result.
            dtype: dtype of the result.
            key: says what the region does.
            added: attributes that the operation does not have.
        """
        attributes = attributes_of_op(operation) + added
        found_key = (operation.name, dims, dtype, attributes, key, *[self._uid(x) for x in operands])
        found = self._find(found_key)
        if found is None:
            copy = operation.clone(ip=self.insertion_point)
            places = copy.operands
            for place, x in enumerate(operands):
                places[place] = x.value
            result = copy.results[0]
            result.set_type(self.tensor_type(dims, dtype))
            for name, value in added:
                copy.attributes[name] = self.attribute(value)
            found = self._frame.scopes[-1].table[found_key] = Tensor(self, result, dims, dtype)
        return found

    def anew(
        self, operation: ir.Operation, operands: Sequence[Tensor], types: Sequence[tuple[Dims, DType]]
    ) -> list[Tensor]:
        """An op with the attributes of another, on other operands; two of those with equal operands are not one."""
        made = ir.Operation.create(
            operation.name,
            results=[self.tensor_type(*type_) for type_ in types],
            operands=[x.value for x in operands],
            attributes=attributes_of(operation.attributes),
            loc=operation.location,
            ip=self.insertion_point,
        )
        return [Tensor(self, value, *type_) for value, type_ in zip(made.results, types, strict=True)]

    def checkpoint(self) -> Callable[[], None]:
        """A function that forgets what was remembered of tensors made since, which the caller erases."""
        frame = self._frame
        tables: tuple[dict[Any, Any], ...] = (frame.notes, frame.roots, frame.data)
        lengths, spare = [len(table) for table in tables], len(frame.spare)

        def forget() -> None:
            for table, length in zip(tables, lengths, strict=True):
                while len(table) > length:
                    table.popitem()
            del frame.spare[spare:]

        return forget

    def interval(self, dim: Dim) -> Interval:
        """The least and the greatest value of a dimension."""
        return dimension.bounds(dim, self.intervals)

    def exact(self, sizes: Sizes, dtype: DType) -> bool:
        """Whether a value of `dtype` is what its sizes say: here the bounds tell whether arithmetic may wrap."""
        if dtype == BOOL:
            return True
        if dtype.kind not in "iu":
            return False
        info = np.iinfo(dtype)
        for dim in sizes if isinstance(sizes, tuple) else (sizes,):
            if dim is None or type(dim) is int:
                continue
            low, high = self.interval(dim)
            if low is None or high is None or low < info.min or high > info.max:
                return False
        return True


def attributes_of_op(operation: ir.Operation) -> Attributes:
    """An op's attributes, as the builder takes them."""
    attributes = operation.attributes
    if not len(attributes):
        return ()
    found: Any = tuple(attributes_of(attributes).items())
    return found


# ---- ranges: an index that is computed from a loop's counter is in range without a clamp ----------------------------


@dataclass(frozen=True, slots=True)
class Range:
    """The least and the greatest value of an integer scalar."""

    low: Dim
    high: Dim

    def within(self, interval: Callable[[Dim], Interval], room: Dim) -> bool:
        """Whether all of it is in `[0, room]`, by the least and the greatest value of dimensions."""
        least, rest = interval(self.low)[0], interval(room - self.high)[0]
        return least is not None and least >= 0 and rest is not None and rest >= 0


def counter(env: Mapping[ir.Value, Live], operation: ir.Operation) -> tuple[int, Range] | None:
    """Which carry of a `while` is its counter, and its range in the body; `env` has the values outside of it."""

    def dim(value: ir.Value) -> Dim | None:
        known, number = env.get(value), constant(value)
        if known is None and number is not None and number.size == 1 and number.dtype.kind in "iu":
            return int(number.reshape(()))
        return None if known is None or known.dims else _size(known.tensor)

    try:
        found = counter_of(operation, dim)
    except Refused:
        return None
    if found.direction != "LT" or found.step < 1:
        return None
    return found.carry, Range(found.start, found.limit - 1)


def propagate(
    ranges: dict[int, Range],
    exact: Callable[[tuple[Dim, Dim], DType], bool],
    name: str,
    operands: Sequence[Tensor],
    result: Tensor,
) -> None:
    """Records the range of a scalar that is computed from one that has a range.

    Args:
        ranges: what is known, by uid.
        exact: whether values of a dtype are what their sizes say.
        name: the op's name.
        operands: the op's operands.
        result: its result.
    """
    found = [ranges.get(x.uid) for x in operands]
    known: Range | None = None
    if name == "stablehlo.convert":
        known = found[0]
    elif name in ("stablehlo.add", "stablehlo.subtract"):
        (a, b), (left, right) = found, map(_size, operands)
        sign = 1 if name == "stablehlo.add" else -1
        if a is not None and right is not None:
            known = Range(a.low + sign * right, a.high + sign * right)
        elif b is not None and left is not None:
            low, high = (b.low, b.high) if sign == 1 else (b.high, b.low)
            known = Range(left + sign * low, left + sign * high)
    if known is not None and exact((known.low, known.high), result.dtype):
        ranges[result.uid] = known


def _size(tensor: Tensor) -> Dim | None:
    sizes = tensor.sizes
    return None if isinstance(sizes, tuple) else sizes
