"""Scalar ops that are special functions: error, gamma and beta functions and their inverses, Bessel functions.

In and out as in `scalar.py`, whose table these rules join. Most functions come from `jax.scipy.special` or from
`by_jax.py`; others are called in SciPy, and the gamma functions that densities have are written here.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ...codegen import builder as hlo
from ...codegen.builder import Tensor
from ...codegen.errors import UnsupportedGraphError
from .scalar import DType, functions, number, to_output


def _jax(name: str, *operands: Tensor) -> Tensor:
    """A function of `jax.scipy.special`, imported as a private function of the module."""
    import jax.scipy.special as special

    function = getattr(special, name, None)
    if function is None:
        raise UnsupportedGraphError(f"jax.scipy.special has no {name} in this release of JAX; upgrade jax")
    return hlo.import_elementwise(name, function, operands)


for _op in ("Gamma", "GammaInc", "GammaIncC", "BetaInc", "I0", "I1", "I0e", "I1e", "Erfcx"):
    functions({_op: partial(_jax, _op.lower())})
functions(
    {
        "GammaU": lambda k, x: _jax("gammaincc", k, x) * _jax("gamma", k),
        "GammaL": lambda k, x: _jax("gammainc", k, x) * _jax("gamma", k),
        # -ndtri(x / 2) / sqrt(2), accurate for tiny x where erf_inv(1 - x) is not.
        "Erfcinv": lambda x: _jax("ndtri", x * 0.5) * number(x, -math.sqrt(0.5)),
    }
)


@to_output("Psi")
def _digamma(dtype: DType, x: Tensor) -> Tensor:
    """As `scipy.special.psi`, -inf at 0 and inf at -0, where CHLO's is NaN."""
    at_zero = hlo.compare("EQ", x, 0)
    return hlo.select(at_zero, hlo.divide(-1, x), hlo.digamma(x))


@to_output("PolyGamma")
def _polygamma(dtype: DType, n: Tensor, x: Tensor) -> Tensor:
    """CHLO's at 0 and right of it, from where the recurrence leads further left."""
    zero = number(x, 0)
    left = (x <= zero) & (n > 0)
    right = hlo.select(left, x + hlo.ceil(-x), x)
    rest = _in_float64("polygamma_left", dtype, n, x)
    at_pole = left & hlo.compare("EQ", right, zero)
    one = hlo.polygamma(hlo.convert(n, dtype), hlo.select(at_pole, number(x, 1), right))
    return hlo.select(left, one + rest, one)


@to_output("TriGamma")
def _trigamma(dtype: DType, x: Tensor) -> Tensor:
    """Left of 0 by reflection, pi^2 / sin(pi x)^2 - trigamma(1 - x): CHLO's series is for x > -9."""
    one = number(x, 1)
    negative = x < 0
    right = hlo.polygamma(one, hlo.select(negative, one - x, x))
    far = x > 10000000000.0  # CHLO's squares it
    right = hlo.select(far, one / (x - 0.5), right)
    wave = hlo.sine((x - hlo.floor(x)) * number(x, math.pi))
    ratio = number(x, math.pi) / wave
    return hlo.select(negative, ratio * ratio - right, right)


def _in_float64(name: str, dtype: DType, *operands: Tensor) -> Tensor:
    """A function of `by_jax.py`, which needs more digits than a result in float32 has."""
    function = getattr(importlib.import_module(".by_jax", __package__), name)
    wide = [hlo.convert(x, np.float64) for x in hlo.unify(*operands)]
    return hlo.convert(hlo.import_elementwise(name, function, wide), dtype)


def _by_scipy(name: str, dtype: DType, *operands: Tensor) -> Tensor:
    """A function that no density has, and JAX has not: a call of SciPy's."""

    def function(arrays: Sequence[Any]) -> list[Any]:
        return [getattr(importlib.import_module("scipy.special"), name)(*arrays)]

    first, *rest = hlo.unify(*operands)
    call = hlo.HostCall(name, function, "it is SciPy's")
    return hlo.host_call(first.builder, call, [first, *rest], [(first.dims, dtype)])[0]


for _op in ("Ive", "Iv", "Kve", "NdtriExp", "GammaIncInv", "GammaIncCInv", "BetaIncInv"):
    to_output(_op)(lambda dtype, *operands, op=_op: _in_float64(op.lower(), dtype, *operands))
for _op in ("J0", "J1", "Jv", "Owens_t", "Hyp2F1"):
    to_output(_op)(lambda dtype, *operands, op=_op: _by_scipy(op.lower(), dtype, *operands))
