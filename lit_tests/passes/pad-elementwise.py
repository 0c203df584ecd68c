"""What the padding of elementwise ops holds: a sum of the result (a disjunction of truth values) needs a mask or not.

The operands' padding is 0. A line says `op: masked` or `op: as it is`, and the static type of what is summed.
"""

# RUN: %python %s | filecheck %s

# CHECK: stablehlo.abs: as it is
# CHECK-NEXT: stablehlo.add: as it is
# CHECK-NEXT: stablehlo.and: as it is
# CHECK-NEXT: stablehlo.atan2: masked
# CHECK-NEXT: stablehlo.bitcast_convert: masked
# CHECK-NEXT: stablehlo.cbrt: as it is
# CHECK-NEXT: stablehlo.ceil: as it is
# CHECK-NEXT: stablehlo.clamp: as it is
# CHECK-NEXT: stablehlo.compare: as it is
# CHECK-NEXT: stablehlo.complex: as it is
# CHECK-NEXT: stablehlo.convert: as it is
# CHECK-NEXT: stablehlo.cosine: masked
# CHECK-NEXT: stablehlo.count_leading_zeros: masked
# CHECK-NEXT: stablehlo.divide: masked
# CHECK-NEXT: stablehlo.exponential: masked
# CHECK-NEXT: stablehlo.exponential_minus_one: as it is
# CHECK-NEXT: stablehlo.floor: as it is
# CHECK-NEXT: stablehlo.imag: as it is
# CHECK-NEXT: stablehlo.is_finite: masked
# CHECK-NEXT: stablehlo.log: masked
# CHECK-NEXT: stablehlo.log_plus_one: as it is
# CHECK-NEXT: stablehlo.logistic: masked
# CHECK-NEXT: stablehlo.maximum: as it is
# CHECK-NEXT: stablehlo.minimum: as it is
# CHECK-NEXT: stablehlo.multiply: as it is
# CHECK-NEXT: stablehlo.negate: as it is
# CHECK-NEXT: stablehlo.not: masked
# CHECK-NEXT: stablehlo.or: as it is
# CHECK-NEXT: stablehlo.popcnt: masked
# CHECK-NEXT: stablehlo.power: masked
# CHECK-NEXT: stablehlo.real: as it is
# CHECK-NEXT: stablehlo.reduce_precision: masked
# CHECK-NEXT: stablehlo.remainder: masked
# CHECK-NEXT: stablehlo.round_nearest_afz: as it is
# CHECK-NEXT: stablehlo.round_nearest_even: as it is
# CHECK-NEXT: stablehlo.rsqrt: masked
# CHECK-NEXT: stablehlo.select: as it is
# CHECK-NEXT: stablehlo.shift_left: masked
# CHECK-NEXT: stablehlo.shift_right_arithmetic: masked
# CHECK-NEXT: stablehlo.shift_right_logical: masked
# CHECK-NEXT: stablehlo.sign: as it is
# CHECK-NEXT: stablehlo.sine: as it is
# CHECK-NEXT: stablehlo.sqrt: as it is
# CHECK-NEXT: stablehlo.subtract: as it is
# CHECK-NEXT: stablehlo.tan: as it is
# CHECK-NEXT: stablehlo.tanh: as it is
# CHECK-NEXT: stablehlo.xor: as it is
# CHECK-NEXT: chlo.acos: masked
# CHECK-NEXT: chlo.acosh: masked
# CHECK-NEXT: chlo.asin: as it is
# CHECK-NEXT: chlo.asinh: as it is
# CHECK-NEXT: chlo.atan: as it is
# CHECK-NEXT: chlo.atanh: as it is
# CHECK-NEXT: chlo.bessel_i1e: masked
# CHECK-NEXT: chlo.conj: as it is
# CHECK-NEXT: chlo.constant_like: masked
# CHECK-NEXT: chlo.cosh: masked
# CHECK-NEXT: chlo.digamma: masked
# CHECK-NEXT: chlo.erf: as it is
# CHECK-NEXT: chlo.erf_inv: masked
# CHECK-NEXT: chlo.erfc: masked
# CHECK-NEXT: chlo.is_inf: as it is
# CHECK-NEXT: chlo.is_neg_inf: masked
# CHECK-NEXT: chlo.is_pos_inf: masked
# CHECK-NEXT: chlo.lgamma: masked
# CHECK-NEXT: chlo.mulhi: masked
# CHECK-NEXT: chlo.next_after: masked
# CHECK-NEXT: chlo.polygamma: masked
# CHECK-NEXT: chlo.sinh: as it is
# CHECK-NEXT: chlo.square: as it is
# CHECK-NEXT: chlo.tan: masked
# CHECK-NEXT: chlo.zeta: masked

from __future__ import annotations

from hlograph import Program
from hlograph.codegen.passes.pad import elementwise

INTEGERS = [
    "and",
    "count_leading_zeros",
    "not",
    "or",
    "popcnt",
    "remainder",
    "shift_left",
    "shift_right_arithmetic",
    "shift_right_logical",
    "xor",
    "mulhi",
]
COMPLEX = {"real", "imag", "conj"}
TRUTH = {"compare", "is_finite", "is_inf", "is_neg_inf", "is_pos_inf"}
BINARY = [
    "add",
    "and",
    "atan2",
    "complex",
    "compare",
    "divide",
    "maximum",
    "minimum",
    "multiply",
    "or",
    "polygamma",
    "power",
    "remainder",
    "shift_left",
    "shift_right_arithmetic",
    "shift_right_logical",
    "subtract",
    "xor",
    "zeta",
    "mulhi",
    "next_after",
]
ATTRIBUTES = {
    "compare": "{comparison_direction = #stablehlo<comparison_direction LT>}",
    "constant_like": "{value = 0.0 : f32}",
    "reduce_precision": "{exponent_bits = 8 : i32, mantissa_bits = 7 : i32}",
}
TERNARY = {"clamp", "select"}


def text_of(name: str) -> str:
    """A module that sums what the op gives."""
    short = name.partition(".")[2]
    operand = "i32" if short in INTEGERS else "complex<f32>" if short in COMPLEX else "f32"
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


for name in elementwise.NAMES:
    program = Program.parse(text_of(name))
    padded = program.pad({"n": 4})
    masks = padded.op_counts().get("stablehlo.select", 0) - program.op_counts().get("stablehlo.select", 0)
    assert masks in (0, 1), padded.text
    assert "?" not in padded.text
    print(f"{name}: {'masked' if masks else 'as it is'}")
