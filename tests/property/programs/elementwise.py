"""Steps that work element by element."""

import math
from dataclasses import replace

import numpy as np

from hlograph import builder as hlo

from .maker import Maker, grid_of, is_exact_number, is_float, is_index, is_number, kind
from .recipes import BOOL, F32, F64, I32, I64, LIMIT, Choices, InapplicableError, Value


@kind("unary", 6)
def _unary(m: Maker, c: Choices) -> None:
    """Ops that do not round; those that jump, on exact values."""
    x = m.operand(c, is_number)
    names = ["negate", "abs", "square"]
    if x.exact:
        names.append("sign")
        names += (
            ["floor", "ceil", "round_nearest_even", "round_nearest_afz"] if is_float(x) else ["not_", "popcnt", "clz"]
        )
    name = c.pick(names)
    t = x.tensor
    if name == "negate":
        m.add(replace(x, tensor=hlo.negate(t), low=-x.high, high=-x.low))
    elif name == "abs":
        m.add(
            replace(x, tensor=hlo.abs(t), low=0 if x.low <= 0 <= x.high else min(abs(x.low), abs(x.high)), high=x.size)
        )
    elif name == "square":
        grid = None if x.grid is None else 2 * x.grid
        error = 0 if x.exact else 2 * x.size * x.error + x.size**2
        squared = hlo.square(t) if is_float(x) else hlo.multiply(t, t)
        m.add(Value(squared, 0, x.size**2, grid, error, x.special))
    elif name == "sign":
        m.add(Value(hlo.sign(t), -1, 1, 0, 0, x.special))
    elif name == "not_":
        m.add(Value(hlo.not_(t), -x.size - 1, x.size + 1))
    elif name in ("popcnt", "clz"):
        m.add(Value((hlo.popcnt if name == "popcnt" else hlo.count_leading_zeros)(t), 0, 64))
    else:
        m.add(replace(x, tensor=getattr(hlo, name)(t), low=math.floor(x.low), high=math.ceil(x.high), grid=0))


# name -> (from, to, steepest slope there, rounding in ulps, least and greatest result; None: at the ends)
_SMOOTH: dict[str, tuple[float, float, float, float, tuple[float, float] | None]] = {
    "acos": (-0.75, 0.75, 1.6, 16, (0, 3.2)),
    "acosh": (1.5, 1e6, 1, 16, (0, 15)),
    "asin": (-0.75, 0.75, 1.6, 16, (-1, 1)),
    "asinh": (-1e6, 1e6, 1, 16, (-15, 15)),
    "atan": (-1e6, 1e6, 1, 16, (-1.6, 1.6)),
    "atanh": (-0.75, 0.75, 2.3, 16, (-1, 1)),
    "cbrt": (0.25, 1e6, 1, 16, (0.6, 100)),
    "cosh": (-4, 4, 28, 16, (1, 28)),
    "cosine": (-100, 100, 1, 100, (-1, 1)),
    "digamma": (0.5, 50, 5, 200, (-2, 4)),
    "erf": (-1e6, 1e6, 1.2, 16, (-1, 1)),
    "erfc": (-8, 8, 1.2, 16, (0, 2)),
    "exponential": (-50, 4, 55, 16, (0, 55)),
    "exponential_minus_one": (-50, 4, 55, 16, (-1, 55)),
    "lgamma": (0.5, 50, 4, 200, (-0.2, 145)),
    "log": (0.25, 1e6, 4, 16, (-1.4, 14)),
    "log_plus_one": (-0.5, 1e6, 2, 16, (-0.7, 14)),
    "logistic": (-1e6, 1e6, 0.25, 16, (0, 1)),
    "rsqrt": (0.25, 1e6, 4, 16, (0.001, 2)),
    "sine": (-100, 100, 1, 100, (-1, 1)),
    "sinh": (-4, 4, 28, 16, (-28, 28)),
    "sqrt": (0.25, 1e6, 1, 4, (0.5, 1000)),
    "tan": (-1, 1, 3.5, 16, (-1.6, 1.6)),
    "tanh": (-1e6, 1e6, 1, 16, (-1, 1)),
}


@kind("smooth", 6)
def _smooth(m: Maker, c: Choices) -> None:
    """A function that rounds; its operand is clamped to where the function is tame, if it is not there already."""
    x = m.operand(c, is_float)
    name = c.pick(list(_SMOOTH))
    start, stop, slope, ulps, ends = _SMOOTH[name]
    if name in ("sqrt", "cbrt") and x.exact and x.low >= 0:
        start = 0
    if x.special and name in ("lgamma", "digamma", "acosh", "asinh", "atanh"):
        raise InapplicableError("other NaN in other implementations")
    t = x.tensor
    if x.low < start or x.high > stop:
        t = hlo.clamp(start, t, stop)
    low, high = ends or (start, stop)
    m.add(
        Value(
            getattr(hlo, name)(t),
            low if start else 0,
            high,
            None,
            slope * x.error + ulps * max(abs(low), abs(high)),
            x.special,
        )
    )


@kind("binary", 12)
def _binary(m: Maker, c: Choices) -> None:
    x = m.operand(c, is_number)
    name = c.pick(["add", "subtract", "multiply", "maximum", "minimum", "divide", "remainder", "atan2", "power"])
    y = m.shaped(c, x.dims, x.dtype)
    if is_index(x) and name in ("atan2", "power"):
        name = "add"
    if c.one_in(2) and name in ("add", "subtract", "multiply", "maximum", "minimum"):
        x, y = y, x
    m.add(_combined(name, x, y))


def _combined(name: str, x: Value, y: Value) -> Value:
    """A binary op on two values of one shape."""
    special, grid = x.special or y.special, grid_of(x, y)
    a, b = x.tensor, y.tensor
    corners = [p * q for p in (x.low, x.high) for q in (y.low, y.high)]
    if name == "add":
        error = x.error + y.error + (0 if grid is not None else x.size + y.size)
        return Value(hlo.add(a, b), x.low + y.low, x.high + y.high, grid, error, special)
    if name == "subtract":
        error = x.error + y.error + (0 if grid is not None else x.size + y.size)
        return Value(hlo.subtract(a, b), x.low - y.high, x.high - y.low, grid, error, special)
    if name == "multiply":
        error = 0.0 if grid is not None else x.size * y.error + y.size * x.error + x.size * y.size
        together = None if grid is None else (x.grid or 0) + (y.grid or 0)
        return Value(hlo.multiply(a, b), min(corners), max(corners), together, error, special)
    if name in ("maximum", "minimum"):
        function, pick = (hlo.maximum_, max) if name == "maximum" else (hlo.minimum_, min)
        return Value(function(a, b), pick(x.low, y.low), pick(x.high, y.high), grid, max(x.error, y.error), special)
    if y.low < 0.25 or y.special:
        raise InapplicableError("the right operand may be 0")
    if name == "divide" and is_index(x):
        return Value(hlo.divide(a, b), -x.size, x.size)
    if name == "remainder":
        if grid is None or x.special:
            raise InapplicableError("it jumps")
        return Value(hlo.remainder(a, b), -y.high if x.low < 0 else 0, y.high, grid)
    if name == "divide":
        error = x.error / y.low + x.size * y.error / y.low**2 + 2 * x.size / y.low
        return Value(hlo.divide(a, b), -x.size / y.low, x.size / y.low, None, error, special)
    if name == "atan2":
        return Value(hlo.atan2(a, b), -1.6, 1.6, None, 4 * x.error + 4 * x.size * y.error + 16, special)
    if y.size > 4 or x.size > 4 or x.special:
        raise InapplicableError("a large power")
    return Value(hlo.power(b, a), 0, 256, None, 2000 * (x.error + y.error) + 256 * 32)


@kind("compare", 4)
def _compare(m: Maker, c: Choices) -> None:
    x = m.operand(c, is_exact_number)
    y = m.shaped(c, x.dims, x.dtype, lambda v: v.exact)
    m.add(Value(hlo.compare(c.pick(["LT", "GE", "EQ", "NE", "GT", "LE"]), x.tensor, y.tensor), 0, 1))


@kind("logical", 4)
def _logical(m: Maker, c: Choices) -> None:
    """Bits of booleans and of integers; shifts."""
    x = m.operand(c, lambda v: v.dtype.kind in "bi")
    name = c.pick(["and_", "or_", "xor", "not_", "shift_left", "shift_right_arithmetic", "shift_right_logical"])
    if name == "not_" or (x.dtype == BOOL and name.startswith("shift")):
        m.add(
            replace(
                x,
                tensor=hlo.not_(x.tensor),
                low=-x.high - 1 if is_index(x) else 0,
                high=-x.low - 1 if is_index(x) else 1,
            )
        )
        return
    if name.startswith("shift"):
        if name == "shift_right_logical" and x.low < 0:
            raise InapplicableError("the result is huge")
        low, high = (4 * x.low, 4 * x.high) if name == "shift_left" else (min(x.low, 0), max(x.high, 0))
        m.add(Value(getattr(hlo, name)(x.tensor, m.number(c.pick([1, 0, 2]), x.dtype).tensor), low, high))
        return
    y = m.shaped(c, x.dims, x.dtype)
    reach = 2 ** math.ceil(math.log2(max(x.size, y.size, 1) + 1))
    result = getattr(hlo, name)(x.tensor, y.tensor)
    m.add(Value(result, 0, 1) if x.dtype == BOOL else Value(result, -reach, reach))


@kind("select", 5)
def _select(m: Maker, c: Choices) -> None:
    pred = m.operand(c, lambda v: v.dtype == BOOL)
    dims = pred.dims
    if not dims:
        dims = m.operand(c).dims
    dtype = c.pick([F64, F32, I32, F64, BOOL])
    x, y = m.shaped(c, dims, dtype), m.shaped(c, dims, dtype)
    result = hlo.select(pred.tensor, x.tensor, y.tensor)
    m.add(Value.joined(result, x, y), huge=True)


@kind("clamp", 3)
def _clamp(m: Maker, c: Choices) -> None:
    """To constants, or to runtime scalars."""
    x = m.operand(c, is_number)
    low = m.shaped(c, () if c.one_in(2) else x.dims, x.dtype)
    high = m.shaped(c, low.dims, x.dtype)
    if low.special or high.special or low.high > high.low:
        low, high = m.number(-2, x.dtype), m.number(3, x.dtype)
    result = hlo.clamp(low.tensor, x.tensor, high.tensor)
    m.add(Value(result, low.low, high.high, grid_of(x, low, high), max(x.error, low.error, high.error), x.special))


@kind("convert", 5)
def _convert(m: Maker, c: Choices) -> None:
    x = m.operand(c)
    dtype = c.pick([F64, F32, I32, I64, BOOL])
    if dtype.kind in "ib" and not (x.exact and (dtype == BOOL or not x.special) and x.size <= LIMIT):
        raise InapplicableError("it jumps")
    result = hlo.convert(x.tensor, dtype)
    if dtype == BOOL:
        m.add(Value(result, 0, 1))
    elif dtype.kind == "i":
        m.add(replace(x, tensor=result, low=math.floor(x.low), high=math.ceil(x.high), grid=0))
    else:
        if x.size > LIMIT:
            raise InapplicableError("it rounds")
        narrower = dtype.itemsize < x.dtype.itemsize
        scale = 1.0 if x.dtype.kind != "f" or narrower else 2.0**29 if dtype.itemsize > x.dtype.itemsize else 1.0
        error = 0.0 if x.exact else x.error * scale + (x.size if narrower else 0)
        m.add(replace(x, tensor=result, error=error))


@kind("finite", 2)
def _finite(m: Maker, c: Choices) -> None:
    """Tests for NaN and inf, and what is made of them."""
    x = m.operand(c, is_float)
    flag = hlo.is_finite(x.tensor) if c.below(2) == 0 else hlo.not_(hlo.is_inf(x.tensor))
    if c.one_in(2):
        m.add(Value(flag, 0, 1))
        return
    finite = hlo.is_finite(x.tensor)
    cleaned = hlo.select(finite, x.tensor, hlo.full_like(x.tensor, 0))
    m.add(replace(x, tensor=cleaned, low=min(x.low, 0), high=max(x.high, 0), special=False))


@kind("bits", 1)
def _bits(m: Maker, c: Choices) -> None:
    """A magnitude by its bits; a rounding that has nothing to round."""
    x = m.operand(c, lambda v: is_float(v) and v.exact and v.size <= LIMIT)
    if c.below(2):
        m.add(replace(x, tensor=hlo.reduce_precision(x.tensor, 8, 23)))
        return
    integers = np.dtype(f"i{x.dtype.itemsize}")
    bits = hlo.bitcast_convert(x.tensor, integers)
    magnitude = hlo.and_(bits, np.iinfo(integers).max)
    m.add(replace(x, tensor=hlo.bitcast_convert(magnitude, x.dtype), low=0, high=x.size))


@kind("complex", 1)
def _complex(m: Maker, c: Choices) -> None:
    x = m.operand(c, lambda v: is_float(v) and not v.special)
    y = m.shaped(c, x.dims, x.dtype, lambda v: not v.special)
    z = hlo.complex(x.tensor, y.tensor)
    if c.below(2):
        z = hlo.conj(z)
    part = (hlo.real if c.below(2) else hlo.imag)(hlo.multiply(z, z))
    reach, grid = x.size**2 + y.size**2, grid_of(x, y)
    error = 0 if grid is not None else 4 * (x.size + y.size) * (x.error + y.error) + 4 * reach
    m.add(Value(part, -reach, reach, None if grid is None else 2 * grid, error))


@kind("size", 3)
def _size(m: Maker, c: Choices) -> None:
    """A size as data."""
    dim = c.pick(m.pool)
    dtype = c.pick([F64, I32, I64, F32])
    scalar = hlo.convert(m.builder.size(dim), dtype)
    m.add(Value(scalar, m.least(dim), m.bound(dim)))
