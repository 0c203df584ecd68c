"""What the padding of elementwise ops holds: a sum of the result (a disjunction of truth values) needs a mask or not.

The operands' padding is 0. A line has the ops of a dialect with masks, or without.
"""

# RUN: %python %s | filecheck %s

# CHECK: as it is, stablehlo: abs add and cbrt ceil clamp compare complex convert exponential_minus_one floor imag log_plus_one maximum minimum multiply negate or real round_nearest_afz round_nearest_even select sign sine sqrt subtract tan tanh xor
# CHECK-NEXT: as it is, chlo: asin asinh atan atanh conj erf is_inf sinh square
# CHECK-NEXT: masked, stablehlo: atan2 bitcast_convert cosine count_leading_zeros divide exponential is_finite log logistic not popcnt power reduce_precision remainder rsqrt shift_left shift_right_arithmetic shift_right_logical
# CHECK-NEXT: masked, chlo: acos acosh bessel_i1e constant_like cosh digamma erf_inv erfc is_neg_inf is_pos_inf lgamma mulhi next_after polygamma tan zeta

from __future__ import annotations

from hlograph import Program
from hlograph.codegen.passes.pad import elementwise

INTEGERS = ("and", "count_leading_zeros", "mulhi", "not", "or", "popcnt", "remainder", "xor")
SHIFTS = ("shift_left", "shift_right_arithmetic", "shift_right_logical")
COMPLEX = {"real", "imag", "conj"}
TRUTH = {"compare", "is_finite", "is_inf", "is_neg_inf", "is_pos_inf"}
BINARY = (
    *("add", "and", "atan2", "complex", "compare", "divide", "maximum", "minimum", "mulhi", "multiply", "next_after"),
    *("or", "polygamma", "power", "remainder", "subtract", "xor", "zeta", *SHIFTS),
)
ATTRIBUTES = {
    "compare": "{comparison_direction = #stablehlo<comparison_direction LT>}",
    "constant_like": "{value = 0.0 : f32}",
    "reduce_precision": "{exponent_bits = 8 : i32, mantissa_bits = 7 : i32}",
}
TERNARY = {"clamp", "select"}


def text_of(name: str) -> str:
    """A module that sums what the op gives."""
    short = name.partition(".")[2]
    operand = "i32" if short in (*INTEGERS, *SHIFTS) else "complex<f32>" if short in COMPLEX else "f32"
    result = "i1" if short in TRUTH else "complex<f32>" if short == "complex" else operand
    result = {"real": "f32", "imag": "f32", "bitcast_convert": "i32", "convert": "i32"}.get(short, result)
    operands = [operand] * (3 if short in TERNARY else 2 if short in BINARY else 1)
    if short == "select":
        operands[0] = "i1"
    zero = {"i1": "false", "i32": "0", "f32": "0.0", "complex<f32>": "(0.0, 0.0)"}[result]
    arguments = ", ".join(f'%a{i}: tensor<?x{t}> {{hlograph.dims = ["n"]}}' for i, t in enumerate(operands))
    types = ", ".join(f"tensor<?x{t}>" for t in operands)
    values = ", ".join(f"%a{i}" for i in range(len(operands)))
    combine = "or" if result == "i1" else "add"
    return f"""func.func @main({arguments}) -> tensor<{result}> {{
    %y = "{name}"({values}) {ATTRIBUTES.get(short, "")} : ({types}) -> tensor<?x{result}>
    %zero = stablehlo.constant dense<{zero}> : tensor<{result}>
    %sum = stablehlo.reduce(%y init: %zero) applies stablehlo.{combine} across dimensions = [0]
        : (tensor<?x{result}>, tensor<{result}>) -> tensor<{result}>
    return %sum : tensor<{result}>
}}"""


found: dict[str, list[str]] = {
    f"{how}, {dialect}": [] for how in ("as it is", "masked") for dialect in ("stablehlo", "chlo")
}
for name in elementwise.NAMES:
    program = Program.parse(text_of(name))
    padded = program.pad({"n": 4})
    masks = padded.op_counts().get("stablehlo.select", 0) - program.op_counts().get("stablehlo.select", 0)
    assert masks in (0, 1), padded.text
    assert "?" not in padded.text
    dialect, _, short = name.partition(".")
    found[f"{'masked' if masks else 'as it is'}, {dialect}"].append(short)
for group, names in found.items():
    print(f"{group}: {' '.join(names)}")
