"""What the walk carries: values of the padded program, the builder that makes them, and integers as sizes.

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
from ...analysis.live_sizes import Element, LiveSizes
from ...builder import Builder, Tensor
from ...builder.core import SizeSource
from ...builder.types import BOOL, Attributes, DType, Sizes
from ...constraints import Constraints
from ...dims import Dim
from ...ir.bindings import ir
from ...ir.values import attributes_of
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

    def again(
        self, operation: ir.Operation, operands: Sequence[Tensor], types: Sequence[tuple[Dims, DType]]
    ) -> list[Tensor]:
        """An op of the source module on other operands; two of them with equal operands are not one."""
        made = operation.clone(ip=self.insertion_point)
        places = made.operands
        for place, x in enumerate(operands):
            places[place] = x.value
        for value, type_ in zip(made.results, types, strict=True):
            value.set_type(self.tensor_type(*type_))
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


class KnownSizes(LiveSizes):
    """Integers of the source module, as far as the walk knows them as sizes."""

    def __init__(self, env: Mapping[ir.Value, Live], intervals: Mapping[str, Interval]) -> None:
        super().__init__(intervals=intervals)
        self._env = env

    def _given(self, element: Element) -> Dim | None:
        value, place = element
        sizes = self._env[value].tensor.sizes if value in self._env else None
        return sizes[place] if isinstance(sizes, tuple) else sizes
