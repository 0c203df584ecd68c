"""Elementwise ops by NumPy: what an op gives of arrays that are known.

In: the op's full name, or a comparison's direction. Out: the function. Decision to know: integers wrap and truth values
combine as StableHLO has it (`add` of them is "or"); of floats these are IEEE's results, which a compiler may round
otherwise, so who asks decides for which dtypes and values that is good enough.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

COMPARISONS: Mapping[str, Callable[..., Any]] = {
    "EQ": np.equal,
    "NE": np.not_equal,
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
}

ELEMENTWISE: Mapping[str, Callable[..., Any]] = {
    "stablehlo.abs": np.abs,
    "stablehlo.add": np.add,
    "stablehlo.and": np.bitwise_and,
    "stablehlo.ceil": np.ceil,
    "stablehlo.clamp": lambda low, x, high: np.minimum(np.maximum(x, low), high),
    "stablehlo.floor": np.floor,
    "stablehlo.is_finite": np.isfinite,
    "stablehlo.maximum": np.maximum,
    "stablehlo.minimum": np.minimum,
    "stablehlo.multiply": np.multiply,
    "stablehlo.negate": np.negative,
    "stablehlo.not": np.invert,
    "stablehlo.or": np.bitwise_or,
    "stablehlo.round_nearest_even": np.rint,
    "stablehlo.select": np.where,
    "stablehlo.sign": lambda x: np.where(x == 0, x, np.sign(x)),  # -0.0 stays
    "stablehlo.subtract": np.subtract,
    "stablehlo.xor": np.bitwise_xor,
    "chlo.is_inf": np.isinf,
    "chlo.square": np.square,
}
