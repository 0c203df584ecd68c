"""Float64 arrays as expressions: what `functions.py` writes its formulas with.

In: values of one static float64 type. Out: StableHLO ops at the current place, one for each operator, constants as
splats. Decision to know: nothing is simplified or shared here except constants; XLA does the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...ir import ops
from ...ir.bindings import ir, stablehlo
from ...ir.types import numpy_dtype


class Vector:
    """An array of float64, int64 or bool, with Python's operators.

    Attributes:
        value: the array.
        constants: the splats that the formula has used so far, by dtype and bits.
    """

    def __init__(self, value: ir.Value, constants: dict[tuple[str, bytes], ir.Value] | None = None) -> None:
        self.value = value
        self.constants = {} if constants is None else constants

    def like(self, number: float | int, dtype: Any = None) -> Vector:
        """A constant of this array's shape, and of its dtype unless another is given."""
        kind = ir.RankedTensorType(self.value.type)
        wanted = np.dtype(dtype) if dtype is not None else numpy_dtype(kind.element_type)
        scalar = np.asarray(number, wanted)
        key = (wanted.str, scalar.tobytes())
        if key not in self.constants:
            self.constants[key] = ops.full(scalar, kind.shape)
        return Vector(self.constants[key], self.constants)

    def apply(self, build: Callable[..., Any], *others: Vector | float | int) -> Vector:
        """An elementwise op on this array and others; numbers become constants of this array's dtype."""
        operands = [other if isinstance(other, Vector) else self.like(other) for other in others]
        return Vector(build(self.value, *[operand.value for operand in operands]), self.constants)

    def __add__(self, other: Vector | float | int) -> Vector:
        return self.apply(stablehlo.add, other)

    def __sub__(self, other: Vector | float | int) -> Vector:
        return self.apply(stablehlo.subtract, other)

    def __rsub__(self, other: float | int) -> Vector:
        return self.like(other) - self

    def __mul__(self, other: Vector | float | int) -> Vector:
        return self.apply(stablehlo.multiply, other)

    def __truediv__(self, other: Vector) -> Vector:
        return self.apply(stablehlo.divide, other)

    def __neg__(self) -> Vector:
        return self.apply(stablehlo.negate)

    def __and__(self, other: Vector | int) -> Vector:
        return self.apply(stablehlo.and_, other)

    def __or__(self, other: Vector | int) -> Vector:
        return self.apply(stablehlo.or_, other)

    def __rshift__(self, places: int) -> Vector:
        return self.apply(stablehlo.shift_right_logical, places)

    def __lt__(self, other: Vector | float) -> Vector:
        return self._compare("LT", other)

    def __gt__(self, other: Vector | float) -> Vector:
        return self._compare("GT", other)

    def __ge__(self, other: Vector | float) -> Vector:
        return self._compare("GE", other)

    def is_equal(self, other: Vector | float) -> Vector:
        """Elementwise equality."""
        return self._compare("EQ", other)

    def _compare(self, direction: str, other: Vector | float) -> Vector:
        return self.apply(partial(ops.compare, direction), other)

    def abs(self) -> Vector:
        """Magnitudes."""
        return self.apply(stablehlo.abs)

    def round(self) -> Vector:
        """The nearest whole numbers."""
        return self.apply(stablehlo.round_nearest_even)

    def minimum(self, other: float) -> Vector:
        """The smaller ones; NaN where this array is NaN."""
        return self.apply(stablehlo.minimum, other)

    def maximum(self, other: int) -> Vector:
        """The larger ones."""
        return self.apply(stablehlo.maximum, other)

    def bits(self) -> Vector:
        """The float64 array's bits as int64."""
        return self._as("int64")

    def from_bits(self) -> Vector:
        """The float64 array whose bits this int64 array holds."""
        return self._as("float64")

    def _as(self, dtype: str) -> Vector:
        return Vector(ops.bitcast_convert(self.value, dtype), self.constants)

    def where(self, yes: Vector | float, no: Vector | float) -> Vector:
        """Where this array of bool is true, `yes`, elsewhere `no`."""
        yes, no = (item if isinstance(item, Vector) else self.like(item, "float64") for item in (yes, no))
        return Vector(stablehlo.select(self.value, yes.value, no.value), self.constants)

    def polynomial(self, coefficients: Sequence[float]) -> Vector:
        """A polynomial in this array, by Horner's scheme, the coefficient of the lowest power first."""
        *rest, last = coefficients
        result = self * last if last != 1.0 else self
        for coefficient in reversed(rest[1:]):
            result = (result + coefficient) * self
        return result + rest[0] if rest[0] else result
