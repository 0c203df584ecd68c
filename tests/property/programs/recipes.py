"""What random programs are described by: recipes, values, and what is known of a finished program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from hlograph import Program
from hlograph.builder import Dims, DType, Tensor, dims

T = TypeVar("T")
Dim, maximum, minimum = dims.Dim, dims.maximum, dims.minimum

LIMIT = 2**20  # of magnitudes: sums and products of what is below stay exact, also in float32
ELEMENTS = 600  # of a value, at the bounds
F64, F32, I32, I64, BOOL = (np.dtype(name) for name in ("f8", "f4", "i4", "i8", "?"))


@dataclass(frozen=True)
class Recipe:
    """A program in numbers.

    Attributes:
        seed: of the arguments' values and the sizes.
        header: choices of roots, bounds and arguments.
        steps: (kind, choices), one after the other.
    """

    seed: int
    header: tuple[int, ...]
    steps: tuple[tuple[str, tuple[int, ...]], ...]


class Choices:
    """Numbers as choices; where they are used up, the first option is taken."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self._rest = iter(numbers)

    def below(self, count: int) -> int:
        """An integer in `[0, count)`."""
        return next(self._rest, 0) % count

    def pick(self, options: Sequence[T]) -> T:
        """One of some options."""
        return options[self.below(len(options))]

    def one_in(self, count: int) -> bool:
        """True once in so many times."""
        return self.below(count) == count - 1


class InapplicableError(Exception):
    """A step has no operands, or its result would be too large: it is left out."""


@dataclass(frozen=True)
class Value:
    """A value of the program, and what is known of its live elements.

    Attributes:
        low, high: the finite ones are between.
        grid: they are multiples of `2**-grid`, computed without rounding; None where there is rounding.
        error: what rounding may have done, in units of the dtype's epsilon.
        special: there may be NaN or inf among them.
    """

    tensor: Tensor
    low: float
    high: float
    grid: int | None = 0
    error: float = 0.0
    special: bool = False

    @staticmethod
    def joined(tensor: Tensor, *values: Value) -> Value:
        """What has elements of several values and no others."""
        return Value(
            tensor,
            min(v.low for v in values),
            max(v.high for v in values),
            None if any(v.grid is None for v in values) else max(v.grid or 0 for v in values),
            max(v.error for v in values),
            any(v.special for v in values),
        )

    @property
    def dims(self) -> Dims:
        """Sizes of the axes."""
        return self.tensor.dims

    @property
    def dtype(self) -> DType:
        """Dtype of the elements."""
        return self.tensor.dtype

    @property
    def size(self) -> float:
        """Greatest magnitude of a finite element."""
        return max(abs(self.low), abs(self.high))

    @property
    def exact(self) -> bool:
        """Computed without rounding."""
        return self.grid is not None


@dataclass(frozen=True)
class Given:
    """An argument: which values it takes.

    Attributes:
        style: a key of `_STYLES`, or "size" for a scalar that is a size by its value.
    """

    name: str
    dtype: DType
    dims: Dims
    style: str


@dataclass(frozen=True)
class Tolerance:
    """How far two evaluations of a result may differ: not at all, or by an absolute error."""

    exact: bool
    absolute: float

    def agrees(self, a: np.ndarray, b: np.ndarray) -> bool:
        """Whether two evaluations do."""
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        if self.exact:
            return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
        return np.allclose(a, b, rtol=0, atol=self.absolute, equal_nan=True)


@dataclass(frozen=True)
class Case:
    """A program to test.

    Attributes:
        bounds: root name to its greatest size (magnitude, for a value).
        given: the arguments.
        tolerances: one per result.
        kinds: kinds of the steps that were applied.
        interpretable: whether the interpreter gives an op the same meaning as XLA.
    """

    program: Program
    bounds: Mapping[str, int]
    given: tuple[Given, ...]
    tolerances: tuple[Tolerance, ...]
    kinds: tuple[str, ...]
    interpretable: bool
