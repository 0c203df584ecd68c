"""The builder of a padded module: its roots have known intervals, and its attributes are those of the source's ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import dims as dimension
from ...builder import Builder, Tensor
from ...builder.core import SizeSource
from ...builder.types import BOOL, Attributes, DType, Sizes
from ...constraints import Constraints
from ...dims import Dim
from ...ir.attributes import attributes_of
from ...ir.bindings import ir
from .live import Dims, Interval


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

    def checkpoint(self) -> Callable[[], None]:
        """A function that forgets what was remembered of tensors made since, which the caller erases."""
        frame = self._frame
        tables: tuple[dict[Any, Any], ...] = (frame.notes, frame.roots, frame.data)
        lengths = [len(table) for table in tables]
        spare = len(frame.spare)

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
