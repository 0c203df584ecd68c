"""Handles on SSA values, and what the builder remembers of some of them.

`Tensor(value, dims, dtype)` is what lowering rules pass around and what every builder function takes and returns. The
decision to know: a constant, and a scalar or short vector whose elements are known as dimensions, has no SSA value
until something asks for it.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..dims import Dim
from ..ir.bindings import ir

if TYPE_CHECKING:
    from .core import Builder

DType = np.dtype[Any]
Dims: TypeAlias = "tuple[Dim, ...]"
Sizes: TypeAlias = "Dim | tuple[Dim, ...] | None"
Attributes = tuple[tuple[str, str], ...]

INT64: DType = np.dtype(np.int64)
INT32: DType = np.dtype(np.int32)
BOOL: DType = np.dtype(bool)

_ids = itertools.count()


class Tensor:
    """A handle on one SSA value.

    Attributes:
        builder: where the value lives.
        dims: one dimension per axis: an int, or a `SymbolicDim`.
        dtype: numpy dtype of the elements.
        sizes: for an integer or boolean scalar its value as a dimension (booleans as 0 and 1), for a vector of known
            length a tuple of them, None where nothing is known.
        literal: the value as a numpy array, when it is known on the host.
        uid: equal for handles on the same SSA value.
    """

    __slots__ = ("_value", "builder", "dims", "dtype", "literal", "sizes", "uid")

    def __init__(
        self,
        builder: Builder,
        value: ir.Value | None,
        dims: Dims,
        dtype: DType,
        *,
        sizes: Sizes = None,
        literal: np.ndarray[Any, Any] | None = None,
        uid: int | None = None,
    ) -> None:
        self.builder = builder
        self._value = value
        self.dims = dims
        self.dtype = dtype
        self.sizes = sizes
        self.literal = literal
        self.uid = next(_ids) if uid is None else uid

    @property
    def value(self) -> ir.Value:
        """The SSA value; made now if this is a constant or a size that nothing has used yet."""
        if self._value is None:
            source = self.builder.materialize(self)
            self._value = source.value
            self.uid = source.uid
        return self._value

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.dims)

    @property
    def is_static(self) -> bool:
        """True when every dimension is an int."""
        return all(type(dim) is int for dim in self.dims)

    def __repr__(self) -> str:
        return f"Tensor({'x'.join(map(str, self.dims))}{'x' if self.dims else ''}{self.dtype})"

    def __bool__(self) -> bool:
        raise TypeError("a Tensor is a value of the program being built and has no truth value here")


@dataclass
class Check:
    """A condition that the program tests as it runs; read from its flag after the run."""

    flag: Tensor
    exception: str
    message: str


@dataclass
class Root:
    """Where a symbolic root comes from.

    It is the size of an argument's axis, or an integer argument's element, or (`data`) a size computed in the function,
    which `tensor` holds.
    """

    name: str
    tensor: Tensor
    axis: int | None
    element: int | None = None
    data: bool = False

    @property
    def is_value(self) -> bool:
        """Whether it is an argument's value, which may be negative, and arithmetic on which may wrap."""
        return self.axis is None and not self.data


@dataclass
class Transpose:
    """A transpose: axis i of the result is axis `permutation[i]` of the source."""

    source: Tensor
    permutation: tuple[int, ...]
    result: Tensor


@dataclass
class Expansion:
    """A reshape that only inserts axes of size 1: axis i of the source is axis `kept[i]` of the result."""

    source: Tensor
    kept: tuple[int, ...]
    result: Tensor
