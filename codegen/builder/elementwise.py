"""Elementwise ops: the full StableHLO and CHLO sets, from tables.

In: handles of one shape (a scalar or a Python number stretches to the other's shape). Out: a handle of that shape.
Dimensions that differ by name are equated, so that `x + y` with `x: (n,)` and `y: (m,)` records `n == m`.
Arithmetic on integers whose values are known as dimensions gives dimensions (`Tensor.sizes`), element by element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dims as dimension
from ..dims import Dim
from ..ir.bindings import ir
from ..ir.evaluate import ELEMENTWISE
from .core import Tensor
from .places import BOOL, Attributes, DType
from .shape import broadcast_in_dim, reshape

Operand = Tensor | int | float | bool | complex | np.generic
Unary = Callable[[Tensor], Tensor]
Binary = Callable[[Operand, Operand], Tensor]


# ---- sizes: what is known of integers -------------------------------------------------------------------------

# Of small constants of these kinds, which may be sizes later, NumPy's result, which wraps around as the op's.
_FOLDED = {"stablehlo.not": "b"} | {
    f"stablehlo.{name}": "iu" for name in ("add", "subtract", "multiply", "minimum", "maximum")
}


def wide_integer(dtype: DType) -> bool:
    """Dtypes whose arithmetic on sizes does not wrap: 32 and 64 bit integers."""
    return dtype.kind in "iu" and dtype.itemsize >= 4


def _fit(sizes: Sequence[Dim], dtype: DType) -> bool:
    """Whether dimensions are the values that integers of the dtype have: unsigned ones are never negative."""
    return dtype.kind != "u" or all(
        type(dim) is int or ((low := dimension.bounds(dim)[0]) is not None and low >= 0) for dim in sizes
    )


def _rows(operands: list[Tensor]) -> list[tuple[Dim, ...]]:
    columns = [x.sizes for x in operands]
    return [] if None in columns else [*zip(*columns, strict=True)]


def _wrapped(dim: Dim, dtype: DType) -> Dim:
    if type(dim) is not int or dtype.kind == "b":
        return dim
    return (dim - (least := int(np.iinfo(dtype).min))) % 2 ** (8 * dtype.itemsize) + least


# ---- shapes ---------------------------------------------------------------------------------------------------


def align(*operands: Operand) -> list[Tensor]:
    """Handles of one shape: Python numbers become constants, scalars are broadcast, sizes are equated."""
    one = operands[0]
    if all(isinstance(x, Tensor) and (x is one or x.dims == one.dims) for x in operands):  # type: ignore[union-attr]
        return [*operands]  # type: ignore[list-item]
    builder = next(x for x in operands if isinstance(x, Tensor)).builder
    shaped = max((x for x in operands if isinstance(x, Tensor)), key=lambda x: x.ndim)
    handles = [x if isinstance(x, Tensor) else builder.constant(np.asarray(x, shaped.dtype)) for x in operands]
    dims = list(shaped.dims)
    for handle in handles:
        if handle.ndim and handle.dims != tuple(dims):
            if handle.ndim != shaped.ndim:
                raise ValueError(f"operands of rank {handle.ndim} and {shaped.ndim} in an elementwise op")
            dims = [builder.equate(a, b) for a, b in zip(dims, handle.dims, strict=True)]
    result = tuple(dims)
    return [broadcast_in_dim(x, result, ()) if not x.ndim and result else x for x in handles]


def result_dims(handles: list[Tensor]) -> tuple[Dim, ...]:
    """The shape of aligned handles: a static dimension wins over a symbolic one that equals it."""
    dims = handles[0].dims
    if all(handle.dims == dims for handle in handles[1:]):
        return dims
    columns = zip(*[handle.dims for handle in handles], strict=True)
    return tuple(next((dim for dim in column if type(dim) is int), column[0]) for column in columns)


def unify(*operands: Operand) -> list[Tensor]:
    """Handles of one shape as `align` gives them, and of one *type* too, as calls and loops demand.

    `align` leaves `tensor<4xf64>` beside `tensor<?xf64>` where the two sizes are equal by demand.
    """
    handles = align(*operands)
    dims = result_dims(handles)
    static = [type(dim) is int for dim in dims]
    return [x if [type(dim) is int for dim in x.dims] == static else reshape(x, dims) for x in handles]


# ---- tables ---------------------------------------------------------------------------------------------------


def _op(name: str, result: Callable[[DType], DType] = lambda dtype: dtype) -> Callable[..., Tensor]:
    sizes, kinds = dimension.LOGICAL.get(name), _FOLDED.get(name, "")
    rule = sizes or dimension.ARITHMETIC.get(name)

    def apply(*operands: Operand) -> Tensor:
        handles = align(*operands)
        x, builder = handles[0], handles[0].builder
        if any(other.dtype is not x.dtype and other.dtype != x.dtype for other in handles[1:]):
            raise TypeError(f"{name} of {' and '.join(str(handle.dtype) for handle in handles)}")
        if kinds and x.dtype.kind in kinds and all(y.literal is not None and y.literal.size <= 64 for y in handles):
            with np.errstate(over="ignore"):
                return builder.constant(ELEMENTWISE[name](*[handle.literal for handle in handles]).astype(x.dtype))
        if rule is not None and (x.dtype == BOOL if sizes is not None else wide_integer(x.dtype)):
            rows = _rows(handles)
            values = [value for row in rows if (value := rule(builder.interval, *row)) is not None]
            if 0 < len(values) == len(rows) and _fit(values, x.dtype):
                known = tuple([_wrapped(value, x.dtype) for value in values])
                return builder.known_as(known, x.dims, x.dtype, lambda: builder.op(name, handles, x.dims, x.dtype))
        return builder.op(name, handles, result_dims(handles), result(x.dtype))

    apply.__name__ = name.partition(".")[2]
    apply.__doc__ = f"`{name}`, elementwise on tensors of one shape and dtype."
    return apply


_unary: Callable[..., Unary] = _op
_binary: Callable[..., Binary] = _op


def _to_bool(dtype: DType) -> DType:
    return BOOL


def real_dtype(dtype: DType) -> DType:
    """The dtype of a real part."""
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


abs = _unary("stablehlo.abs", real_dtype)
cbrt = _unary("stablehlo.cbrt")
ceil = _unary("stablehlo.ceil")
cosine = _unary("stablehlo.cosine")
count_leading_zeros = _unary("stablehlo.count_leading_zeros")
exponential = _unary("stablehlo.exponential")
exponential_minus_one = _unary("stablehlo.exponential_minus_one")
floor = _unary("stablehlo.floor")
imag = _unary("stablehlo.imag", real_dtype)
is_finite = _unary("stablehlo.is_finite", _to_bool)
log = _unary("stablehlo.log")
log_plus_one = _unary("stablehlo.log_plus_one")
logistic = _unary("stablehlo.logistic")
negate = _unary("stablehlo.negate")
popcnt = _unary("stablehlo.popcnt")
real = _unary("stablehlo.real", real_dtype)
round_nearest_afz = _unary("stablehlo.round_nearest_afz")
round_nearest_even = _unary("stablehlo.round_nearest_even")
rsqrt = _unary("stablehlo.rsqrt")
sign = _unary("stablehlo.sign")
sine = _unary("stablehlo.sine")
sqrt = _unary("stablehlo.sqrt")
tan = _unary("stablehlo.tan")
tanh = _unary("stablehlo.tanh")

acos = _unary("chlo.acos")
acosh = _unary("chlo.acosh")
asin = _unary("chlo.asin")
asinh = _unary("chlo.asinh")
atan = _unary("chlo.atan")
atanh = _unary("chlo.atanh")
bessel_i1e = _unary("chlo.bessel_i1e")
conj = _unary("chlo.conj")
cosh = _unary("chlo.cosh")
digamma = _unary("chlo.digamma")
erf = _unary("chlo.erf")
erf_inv = _unary("chlo.erf_inv")
erfc = _unary("chlo.erfc")
is_inf = _unary("chlo.is_inf", _to_bool)
is_neg_inf = _unary("chlo.is_neg_inf", _to_bool)
is_pos_inf = _unary("chlo.is_pos_inf", _to_bool)
lgamma = _unary("chlo.lgamma")
sinh = _unary("chlo.sinh")
square = _unary("chlo.square")

add = _binary("stablehlo.add")
and_ = _binary("stablehlo.and")
atan2 = _binary("stablehlo.atan2")
complex = _binary("stablehlo.complex", lambda dtype: np.dtype(f"c{2 * dtype.itemsize}"))
divide = _binary("stablehlo.divide")
maximum_ = _binary("stablehlo.maximum")
minimum_ = _binary("stablehlo.minimum")
multiply = _binary("stablehlo.multiply")
or_ = _binary("stablehlo.or")
power = _binary("stablehlo.power")
remainder = _binary("stablehlo.remainder")
shift_left = _binary("stablehlo.shift_left")
shift_right_arithmetic = _binary("stablehlo.shift_right_arithmetic")
shift_right_logical = _binary("stablehlo.shift_right_logical")
subtract = _binary("stablehlo.subtract")
xor = _binary("stablehlo.xor")
mulhi = _binary("chlo.mulhi")
next_after = _binary("chlo.next_after")
polygamma = _binary("chlo.polygamma")
zeta = _binary("chlo.zeta")
not_ = _unary("stablehlo.not")


# ---- ops with more to say ---------------------------------------------------------------------------------------


def compare(direction: str, lhs: Operand, rhs: Operand, compare_type: str | None = None) -> Tensor:
    """`stablehlo.compare`: booleans.

    Args:
        direction: EQ, NE, GE, GT, LE or LT.
        lhs: left operand.
        rhs: right operand, same dtype.
        compare_type: FLOAT, TOTALORDER, SIGNED or UNSIGNED; StableHLO's default for the dtype if None.
    """
    x, y = align(lhs, rhs)
    if x.dtype != y.dtype:
        raise TypeError(f"compare of {x.dtype} and {y.dtype}")
    attributes: Attributes = (("comparison_direction", f"#stablehlo<comparison_direction {direction}>"),)
    if compare_type is not None:
        attributes += (("compare_type", f"#stablehlo<comparison_type {compare_type}>"),)

    def computed() -> Tensor:
        return x.builder.op("stablehlo.compare", [x, y], result_dims([x, y]), BOOL, attributes)

    known = tuple([dimension.COMPARE[direction](a, b) for a, b in _rows([x, y])])
    # The operands may have wrapped around; then what is known of them as sizes compares otherwise.
    if known and x.builder.exact(x.sizes, x.dtype) and x.builder.exact(y.sizes, y.dtype):
        return x.builder.known_as(known, x.dims, BOOL, computed)
    return x.builder.knowing(computed(), known) if known else computed()


def select(pred: Tensor, on_true: Operand, on_false: Operand) -> Tensor:
    """`stablehlo.select`: `on_true` where `pred`, else `on_false`; a scalar `pred` chooses for the whole tensor."""
    if pred.literal is not None and pred.ndim == 0:
        both = align(on_true, on_false)
        return both[0] if bool(pred.literal) else both[1]
    if pred.ndim == 0:
        x, y = align(on_true, on_false)
        handles = [x, y]
    else:
        pred, x, y = handles = align(pred, on_true, on_false)
    c, a, b = pred.dim, x.dim, y.dim

    def computed() -> Tensor:
        return x.builder.op("stablehlo.select", [pred, x, y], result_dims(handles), x.dtype)

    if c is not None and a is not None and b is not None and wide_integer(x.dtype):
        low, high = x.builder.interval(c)
        if low == high:  # decided by what is known of the sizes
            c = low or 0
        return x.builder.known_as((b + (a - b) * c,), (), x.dtype, computed)
    return computed()


def select_mask(pred: Tensor, on_true: Tensor, on_false: Tensor) -> Tensor:
    """`select`, for masks: where zero is selected, what rounding decides is decided once; see `once`."""
    if decided_by_rounding(pred) and (is_zero(on_true) or is_zero(on_false)):
        number = once(pred.builder.op("stablehlo.convert", [pred], pred.dims, np.dtype(np.float32)))
        pred = compare("NE", number, pred.builder.constant(np.zeros((), np.float32)))
    return select(pred, on_true, on_false)


def clamp(low: Operand, x: Tensor, high: Operand) -> Tensor:
    """`stablehlo.clamp`: `min(max(x, low), high)`; the op takes scalar bounds as they are."""
    lo, hi = (v if isinstance(v, Tensor) else x.builder.constant(np.asarray(v, x.dtype)) for v in (low, high))
    handles = align(lo, x, hi) if lo.ndim or hi.ndim else [lo, x, hi]
    dims = result_dims(handles) if lo.ndim or hi.ndim else x.dims
    return x.builder.op("stablehlo.clamp", handles, dims, x.dtype)


def convert(x: Tensor, dtype: DType | type | str) -> Tensor:
    """`stablehlo.convert`, with NumPy's meaning for what StableHLO leaves open: to bool is `x != 0`."""
    target = np.dtype(dtype)
    if target == x.dtype:
        return x
    if x.literal is not None and x.literal.size <= 64 and not (x.dtype.kind == "c" and target.kind != "c"):
        with np.errstate(all="ignore"):
            literal = x.literal.astype(target)
        return x.builder.constant(literal)
    sizes = x.sizes
    fits = sizes is not None and _fit(sizes, target)
    if fits and x.literal is None and x.builder.exact(sizes, x.dtype):
        if wide_integer(target):
            return x.builder.of_sizes([_wrapped(dim, target) for dim in sizes], x.dims, target)  # type: ignore[union-attr]
        if target == BOOL and not x.dims:
            return x.builder.size(dimension.truth(sizes[0]), target)  # type: ignore[index]
    if target == BOOL:
        zero = x.builder.constant(np.zeros((), x.dtype))
        return compare("NE", x, zero)
    if x.dtype.kind == "c" and target.kind != "c":
        return convert(real(x), target)
    if x.dtype == BOOL and target.kind in "fc":
        # XLA makes a selection of a product with a boolean that is converted at once: inf * False would be 0.
        number = convert(convert(x, np.int8), target)
        return once(number) if target.kind == "f" and decided_by_rounding(x) else number
    result = x.builder.op("stablehlo.convert", [x], x.dims, target)
    turns = x.dtype.kind == "u" and target.kind == "i"  # of one width: the greatest numbers are negative ones then
    if fits and target.kind in "iu" and (x.dtype.itemsize + turns <= target.itemsize or wide_integer(target)):
        x.builder.knowing(result, sizes)
    return result


def bitcast_convert(x: Tensor, dtype: DType | type) -> Tensor:
    """`stablehlo.bitcast_convert` between dtypes of one width."""
    return x.builder.op("stablehlo.bitcast_convert", [x], x.dims, np.dtype(dtype))


def reduce_precision(x: Tensor, exponent_bits: int, mantissa_bits: int) -> Tensor:
    """`stablehlo.reduce_precision`: rounds to a format with that many exponent and mantissa bits."""
    attributes = (("exponent_bits", f"{exponent_bits} : i32"), ("mantissa_bits", f"{mantissa_bits} : i32"))
    return x.builder.op("stablehlo.reduce_precision", [x], x.dims, x.dtype, attributes)


Tensor.__add__ = Tensor.__radd__ = add
Tensor.__mul__ = Tensor.__rmul__ = multiply
Tensor.__sub__, Tensor.__truediv__ = subtract, divide
Tensor.__rsub__ = lambda x, other: subtract(other, x)
Tensor.__and__, Tensor.__or__ = and_, or_
Tensor.__neg__, Tensor.__invert__ = negate, not_
Tensor.__lt__ = lambda x, other: compare("LT", x, other)
Tensor.__le__ = lambda x, other: compare("LE", x, other)
Tensor.__gt__ = lambda x, other: compare("GT", x, other)
Tensor.__ge__ = lambda x, other: compare("GE", x, other)


def full_like(x: Tensor, value: Any) -> Tensor:
    """A tensor of `x`'s shape and dtype that holds `value` everywhere."""
    return broadcast_in_dim(x.builder.constant(np.asarray(value, x.dtype)), x.dims, ())


# ---- masks that rounding decides -------------------------------------------------------------------------------------

# XLA may compute `x > 0` again for each user, and round x otherwise; where x is zero but for rounding, what must cancel
# then does not (docs/developers/findings.md). It does not repeat what it holds for expensive, as a square root.
_SAME_ELEMENTS = frozenset(
    f"stablehlo.{name}"
    for name in ("broadcast_in_dim", "dynamic_broadcast_in_dim", "reshape", "dynamic_reshape", "transpose", "convert")
)
_LOGIC = frozenset({"stablehlo.and", "stablehlo.or", "stablehlo.not", "stablehlo.xor"})
_LIMIT = 16  # values that are examined


def once(number: Tensor) -> Tensor:
    """A tensor of zeros and ones, which XLA does not compute again for each of its users."""
    return number.builder.op("stablehlo.sqrt", [number], number.dims, number.dtype)


def decided_by_rounding(mask: Tensor) -> bool:
    """Whether a boolean array comes from comparisons of computed floating-point numbers."""
    if mask.dtype != BOOL or mask.ndim == 0 or mask.literal is not None or mask.sizes is not None:
        return False
    stack: list[Any] = [mask.value]
    for _ in range(_LIMIT):
        if not stack:
            return False
        operation = _origin(stack.pop())
        if operation is None:
            continue
        if operation.name in _LOGIC:
            stack.extend(operation.operands)
        elif operation.name == "stablehlo.compare":
            is_float = isinstance(ir.RankedTensorType(operation.operands[0].type).element_type, ir.FloatType)
            makers = [maker for x in operation.operands if is_float and (maker := _origin(x)) is not None]
            if any(maker.name != "stablehlo.constant" for maker in makers):
                return True
    return False


def is_zero(x: Tensor) -> bool:
    """Whether a tensor is plainly zero everywhere."""
    literal = x.literal if x.literal is not None else x.builder.splats.get(x.uid)
    return literal is not None and not literal.any()


def _origin(value: Any) -> Any:
    """The operation that computes a value's elements, or None for an argument."""
    while not isinstance(value.owner, ir.Block):
        operation = value.owner.operation
        if operation.name not in _SAME_ELEMENTS:
            return operation
        value = operation.operands[0]
    return None
