"""Which ops are elementwise: each element of the result comes from the operands' elements at the same place.

In: nothing. Out: the names, for passes that treat all of these alike. Decision to know: `bitcast_convert` is among them
only where it keeps the shape, and `select` and `clamp` may have scalar operands; who uses the names looks at shapes.
"""

from __future__ import annotations

_STABLEHLO = """
abs add and atan2 bitcast_convert cbrt ceil clamp compare complex convert cosine count_leading_zeros divide
exponential exponential_minus_one floor imag is_finite log log_plus_one logistic maximum minimum multiply negate not
or popcnt power real reduce_precision remainder round_nearest_afz round_nearest_even rsqrt select shift_left
shift_right_arithmetic shift_right_logical sign sine sqrt subtract tan tanh xor
"""
_CHLO = """
acos acosh asin asinh atan atanh bessel_i1e conj constant_like cosh digamma erf erf_inv erfc is_inf is_neg_inf
is_pos_inf lgamma mulhi next_after polygamma sinh square tan zeta
"""

STABLEHLO = frozenset(f"stablehlo.{name}" for name in _STABLEHLO.split())
CHLO = frozenset(f"chlo.{name}" for name in _CHLO.split())
