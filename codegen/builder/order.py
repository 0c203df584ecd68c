"""Orders: which of two elements is the larger one, for every dtype, as NumPy has it.

In: handles of one shape and dtype. Out: booleans, or the element. Complex numbers have NumPy's lexicographic order,
real parts first; StableHLO has none for them. These also are the bodies of reductions and sorts.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from .core import Tensor
from .elementwise import and_, compare, imag, maximum_, minimum_, or_, real, select
from .types import DType

Extreme = Literal["maximum", "minimum"]


def is_nan(x: Tensor) -> Tensor:
    """True where x is NaN; for complex numbers where a part is."""
    if x.dtype.kind == "c":
        return or_(is_nan(real(x)), is_nan(imag(x)))
    return compare("NE", x, x)


def is_number(x: Tensor) -> Tensor:
    """False where x is NaN."""
    return and_(is_number(real(x)), is_number(imag(x))) if x.dtype.kind == "c" else compare("EQ", x, x)


def ordered(direction: str, x: Tensor, y: Tensor) -> Tensor:
    """`x > y` and its like, as NumPy compares: false where NaN decides.

    Args:
        direction: GE, GT, LE or LT.
        x: left operand.
        y: right operand, of the same dtype.
    """
    if x.dtype.kind != "c":
        return compare(direction, x, y)
    numbers = and_(is_number(imag(x)), is_number(imag(y)))
    first = and_(compare(direction[0] + "T", real(x), real(y)), numbers)
    return or_(first, and_(compare("EQ", real(x), real(y)), compare(direction, imag(x), imag(y))))


def larger(x: Tensor, y: Tensor) -> Tensor:
    """`numpy.maximum`: NaN where an operand is."""
    return maximum_(x, y) if x.dtype.kind != "c" else _first_unless("GE", x, y)


def smaller(x: Tensor, y: Tensor) -> Tensor:
    """`numpy.minimum`: NaN where an operand is."""
    return minimum_(x, y) if x.dtype.kind != "c" else _first_unless("LE", x, y)


def _first_unless(direction: str, x: Tensor, y: Tensor) -> Tensor:
    return select(or_(is_nan(x), ordered(direction, x, y)), x, y)


def least_of(kind: Extreme, dtype: DType) -> np.ndarray[Any, Any]:
    """The complex number that is the result of a reduction of no elements: all others come before it."""
    end = -np.inf if kind == "maximum" else np.inf
    return np.array(complex(end, end), dtype)


def less_nan_last(a: Tensor, b: Tensor) -> Tensor:
    """NumPy's order: numbers first, NaN last. For use as a comparator.

    Among complex numbers those with a NaN come last: by the imaginary part's NaN first, and then by the real part's.
    """
    if a.dtype.kind == "c":
        return _complex_nan_last(a, b)
    less = compare("LT", a, b)
    return or_(less, and_(is_number(a), is_nan(b))) if a.dtype.kind == "f" else less


def _complex_nan_last(a: Tensor, b: Tensor) -> Tensor:
    x, y = real(a), real(b)
    number, other = is_number(imag(a)), is_nan(imag(b))
    below = and_(compare("LT", x, y), or_(number, other))
    above = and_(compare("GT", x, y), and_(number, other))
    same = or_(compare("EQ", x, y), and_(is_nan(x), is_nan(y)))
    tied = and_(same, or_(compare("LT", imag(a), imag(b)), and_(number, other)))
    last = and_(is_number(x), is_nan(y))
    return or_(or_(below, above), or_(tied, last))
