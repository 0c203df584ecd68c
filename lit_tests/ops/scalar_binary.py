# RUN: %python %s | filecheck %s --match-full-lines
"""Scalar ops of several operands: arithmetic, comparisons, logic, choice."""

import pytensor.scalar as ps
from common import of_another_release, show_scalar
from pytensor.tensor.math import MulWithoutZeros

# CHECK: Add: add(x, y) : f64
show_scalar(ps.add, "float64", "float64")
# CHECK-NEXT: Add.mixed: add(add(convert<f64>(x), y), convert<f64>(z)) : f64
show_scalar(ps.add, "int32", "float64", "int32", what="mixed")
# CHECK-NEXT: Sub: subtract(x, y) : f64
show_scalar(ps.sub, "float64", "float64")
# CHECK-NEXT: Mul: multiply(x, y) : f64
show_scalar(ps.mul, "float64", "float64")
# CHECK-NEXT: Mul.three: multiply(multiply(x, y), z) : f32
show_scalar(ps.mul, "float32", "float32", "float32", what="three")
# CHECK-NEXT: TrueDiv: divide(x, y) : f64
show_scalar(ps.true_div, "float64", "float64")
# CHECK-NEXT: TrueDiv.int64: divide(convert<f64>(x), convert<f64>(y)) : f64
show_scalar(ps.true_div, "int64", "int64", what="int64")
# CHECK-NEXT: TrueDivide: divide(x, y) : f64
show_scalar(of_another_release(type(ps.true_div), "TrueDivide")(ps.upcast_out), "float64", "float64")
# CHECK-NEXT: Pow: power(x, y) : f64
show_scalar(ps.pow, "float64", "float64")
# CHECK-NEXT: Pow.int64: a = negate(1); select(LT(y, 0), select(EQ(x, a), select(EQ(and(y, 1), 1), a, 1), select(EQ(x, 1), 1, 0)), while<(p0, p1, p2) -> reduce<[0], or>(GT(p0, 0), false), (p0, p1, p2) -> (shift_right_logical(p0, 1), multiply(p1, p1), select(EQ(and(p0, 1), 1), multiply(p2, p1), p2))>(maximum(y, 0), x, 1)#2) : i64
show_scalar(ps.pow, "int64", "int64", what="int64")
# CHECK-NEXT: ArcTan2: atan2(x, y) : f64
show_scalar(ps.arctan2, "float64", "float64")

# Division that rounds down: StableHLO's rounds towards zero. An integer divided by 0 gives 0, as in NumPy.

# CHECK-NEXT: IntDiv: a = remainder(x, y); b = divide(subtract(x, a), y); c = select(and(NE(a, 0), NE(LT(a, 0), LT(y, 0))), subtract(b, 1), b); d = floor(c); select(EQ(y, 0), divide(x, y), select(GT(subtract(c, d), 0.5), add(d, 1), d)) : f64
show_scalar(ps.int_div, "float64", "float64")
# CHECK-NEXT: IntDiv.int64: a = EQ(y, 0); b = select(a, 1, y); c = divide(x, b); d = remainder(x, b); select(a, 0, select(and(NE(d, 0), NE(LT(d, 0), LT(b, 0))), subtract(c, 1), c)) : i64
show_scalar(ps.int_div, "int64", "int64", what="int64")
# CHECK-NEXT: IntDiv.uint32: a = EQ(y, 0); select(a, 0, divide(x, select(a, 1, y))) : ui32
show_scalar(ps.int_div, "uint32", "uint32", what="uint32")
# CHECK-NEXT: FloorDivide: a = EQ(y, 0); select(a, 0, divide(x, select(a, 1, y))) : ui32
show_scalar(of_another_release(type(ps.int_div), "FloorDivide")(ps.upcast_out), "uint32", "uint32")
# CHECK-NEXT: Mod: a = remainder(x, y); b = LT(y, 0); select(EQ(a, 0), select(b, -0, 0), select(NE(LT(a, 0), b), add(a, y), a)) : f64
show_scalar(ps.mod, "float64", "float64")
# CHECK-NEXT: Mod.int64: a = select(EQ(y, 0), 1, y); b = remainder(x, a); select(and(NE(b, 0), NE(LT(b, 0), LT(a, 0))), add(b, a), b) : i64
show_scalar(ps.mod, "int64", "int64", what="int64")
# CHECK-NEXT: Mod.uint32: remainder(x, select(EQ(y, 0), 1, y)) : ui32
show_scalar(ps.mod, "uint32", "uint32", what="uint32")

# Comparisons, in the operands' common dtype.

# CHECK-NEXT: LT: LT(x, y) : i1
show_scalar(ps.lt, "float64", "float64")
# CHECK-NEXT: LT.mixed: LT(convert<f64>(x), y) : i1
show_scalar(ps.lt, "int32", "float64", what="mixed")
# CHECK-NEXT: GT: GT(x, y) : i1
show_scalar(ps.gt, "float64", "float64")
# CHECK-NEXT: LE: LE(x, y) : i1
show_scalar(ps.le, "float64", "float64")
# CHECK-NEXT: GE: GE(x, y) : i1
show_scalar(ps.ge, "float64", "float64")
# CHECK-NEXT: EQ: EQ(x, y) : i1
show_scalar(ps.eq, "float64", "float64")
# CHECK-NEXT: NEQ: NE(x, y) : i1
show_scalar(ps.neq, "float64", "float64")
# CHECK-NEXT: Maximum: maximum(x, y) : f64
show_scalar(ps.maximum, "float64", "float64")
# CHECK-NEXT: Minimum: minimum(x, y) : f64
show_scalar(ps.minimum, "float64", "float64")
# CHECK-NEXT: ScalarMaximum: maximum(x, y) : f64
show_scalar(of_another_release(type(ps.maximum), "ScalarMaximum")(ps.upcast_out), "float64", "float64")
# CHECK-NEXT: ScalarMinimum: minimum(x, y) : f64
show_scalar(of_another_release(type(ps.minimum), "ScalarMinimum")(ps.upcast_out), "float64", "float64")

# Logic, of booleans and of bits.

# CHECK-NEXT: AND: and(x, y) : i1
show_scalar(ps.and_, "bool", "bool")
# CHECK-NEXT: AND.int64: and(x, y) : i64
show_scalar(ps.and_, "int64", "int64", what="int64")
# CHECK-NEXT: OR: or(x, y) : i1
show_scalar(ps.or_, "bool", "bool")
# CHECK-NEXT: XOR: xor(x, y) : i1
show_scalar(ps.xor, "bool", "bool")

# Choice.

# CHECK-NEXT: Switch: select(x, y, z) : f64
show_scalar(ps.switch, "bool", "float64", "float64")
# CHECK-NEXT: Switch.mixed: select(NE(x, 0), convert<f64>(y), z) : f64
show_scalar(ps.switch, "float64", "int32", "float64", what="mixed")
# CHECK-NEXT: Second: y : f64
show_scalar(ps.second, "float64", "float64")
# CHECK-NEXT: Clip: select(LT(x, y), y, select(GT(x, z), z, x)) : f64
show_scalar(ps.clip, "float64", "float64", "float64")
# CHECK-NEXT: MulWithoutZeros: select(EQ(x, 0), y, select(EQ(y, 0), x, multiply(x, y))) : f64
show_scalar(MulWithoutZeros(ps.upcast_out), "float64", "float64")
