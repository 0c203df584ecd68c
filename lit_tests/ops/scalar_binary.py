# RUN: %python %s | filecheck %s --match-full-lines
"""Scalar ops of several operands: arithmetic, comparisons, logic, choice."""

import pytensor.scalar as ps
from common import of_another_release, show_scalar
from pytensor.tensor.math import MulWithoutZeros

# CHECK: Add.static: add(x, y) : tensor<4xf64>
# CHECK-NEXT: Add.dynamic: add(x, y) : tensor<?xf64>
show_scalar(ps.add, "float64", "float64")
# CHECK-NEXT: Add.static.mixed: add(add(convert<f64>(x), y), convert<f64>(z)) : tensor<4xf64>
# CHECK-NEXT: Add.dynamic.mixed: add(add(convert<f64>(x), y), convert<f64>(z)) : tensor<?xf64>
show_scalar(ps.add, "int32", "float64", "int32", what="mixed")
# CHECK-NEXT: Sub.static: subtract(x, y) : tensor<4xf64>
# CHECK-NEXT: Sub.dynamic: subtract(x, y) : tensor<?xf64>
show_scalar(ps.sub, "float64", "float64")
# CHECK-NEXT: Mul.static: multiply(x, y) : tensor<4xf64>
# CHECK-NEXT: Mul.dynamic: multiply(x, y) : tensor<?xf64>
show_scalar(ps.mul, "float64", "float64")
# CHECK-NEXT: Mul.static.three: multiply(multiply(x, y), z) : tensor<4xf32>
# CHECK-NEXT: Mul.dynamic.three: multiply(multiply(x, y), z) : tensor<?xf32>
show_scalar(ps.mul, "float32", "float32", "float32", what="three")
# CHECK-NEXT: TrueDiv.static: divide(x, y) : tensor<4xf64>
# CHECK-NEXT: TrueDiv.dynamic: divide(x, y) : tensor<?xf64>
show_scalar(ps.true_div, "float64", "float64")
# CHECK-NEXT: TrueDiv.static.int64: divide(convert<f64>(x), convert<f64>(y)) : tensor<4xf64>
# CHECK-NEXT: TrueDiv.dynamic.int64: divide(convert<f64>(x), convert<f64>(y)) : tensor<?xf64>
show_scalar(ps.true_div, "int64", "int64", what="int64")
# CHECK-NEXT: TrueDivide.static: divide(x, y) : tensor<4xf64>
# CHECK-NEXT: TrueDivide.dynamic: divide(x, y) : tensor<?xf64>
show_scalar(of_another_release(type(ps.true_div), "TrueDivide")(ps.upcast_out), "float64", "float64")
# CHECK-NEXT: Pow.static: power(x, y) : tensor<4xf64>
# CHECK-NEXT: Pow.dynamic: power(x, y) : tensor<?xf64>
show_scalar(ps.pow, "float64", "float64")
# CHECK-NEXT: Pow.static.int64: a = negate(1); select(LT(y, 0), select(EQ(x, a), select(EQ(and(y, 1), 1), a, 1), select(EQ(x, 1), 1, 0)), while(maximum(y, 0), x, 1)#2) : tensor<4xi64>
# CHECK-NEXT: Pow.dynamic.int64: a = negate(1); select(LT(y, 0), select(EQ(x, a), select(EQ(and(y, 1), 1), a, 1), select(EQ(x, 1), 1, 0)), while(maximum(y, 0), x, 1)#2) : tensor<?xi64>
show_scalar(ps.pow, "int64", "int64", what="int64")
# CHECK-NEXT: ArcTan2.static: atan2(x, y) : tensor<4xf64>
# CHECK-NEXT: ArcTan2.dynamic: atan2(x, y) : tensor<?xf64>
show_scalar(ps.arctan2, "float64", "float64")

# Division that rounds down: StableHLO's rounds towards zero. An integer divided by 0 gives 0, as in NumPy.

# CHECK-NEXT: IntDiv.static: a = remainder(x, y); b = divide(subtract(x, a), y); c = select(and(NE(a, 0), NE(LT(a, 0), LT(y, 0))), subtract(b, 1), b); d = floor(c); select(EQ(y, 0), divide(x, y), select(GT(subtract(c, d), 0.5), add(d, 1), d)) : tensor<4xf64>
# CHECK-NEXT: IntDiv.dynamic: a = remainder(x, y); b = divide(subtract(x, a), y); c = select(and(NE(a, 0), NE(LT(a, 0), LT(y, 0))), subtract(b, 1), b); d = floor(c); select(EQ(y, 0), divide(x, y), select(GT(subtract(c, d), 0.5), add(d, 1), d)) : tensor<?xf64>
show_scalar(ps.int_div, "float64", "float64")
# CHECK-NEXT: IntDiv.static.int64: a = EQ(y, 0); b = select(a, 1, y); c = divide(x, b); d = remainder(x, b); select(a, 0, select(and(NE(d, 0), NE(LT(d, 0), LT(b, 0))), subtract(c, 1), c)) : tensor<4xi64>
# CHECK-NEXT: IntDiv.dynamic.int64: a = EQ(y, 0); b = select(a, 1, y); c = divide(x, b); d = remainder(x, b); select(a, 0, select(and(NE(d, 0), NE(LT(d, 0), LT(b, 0))), subtract(c, 1), c)) : tensor<?xi64>
show_scalar(ps.int_div, "int64", "int64", what="int64")
# CHECK-NEXT: IntDiv.static.uint32: a = EQ(y, 0); select(a, 0, divide(x, select(a, 1, y))) : tensor<4xui32>
# CHECK-NEXT: IntDiv.dynamic.uint32: a = EQ(y, 0); select(a, 0, divide(x, select(a, 1, y))) : tensor<?xui32>
show_scalar(ps.int_div, "uint32", "uint32", what="uint32")
# CHECK-NEXT: FloorDivide.static: a = EQ(y, 0); select(a, 0, divide(x, select(a, 1, y))) : tensor<4xui32>
# CHECK-NEXT: FloorDivide.dynamic: a = EQ(y, 0); select(a, 0, divide(x, select(a, 1, y))) : tensor<?xui32>
show_scalar(of_another_release(type(ps.int_div), "FloorDivide")(ps.upcast_out), "uint32", "uint32")
# CHECK-NEXT: Mod.static: a = remainder(x, y); b = LT(y, 0); select(EQ(a, 0), select(b, -0, 0), select(NE(LT(a, 0), b), add(a, y), a)) : tensor<4xf64>
# CHECK-NEXT: Mod.dynamic: a = remainder(x, y); b = LT(y, 0); select(EQ(a, 0), select(b, -0, 0), select(NE(LT(a, 0), b), add(a, y), a)) : tensor<?xf64>
show_scalar(ps.mod, "float64", "float64")
# CHECK-NEXT: Mod.static.int64: a = select(EQ(y, 0), 1, y); b = remainder(x, a); select(and(NE(b, 0), NE(LT(b, 0), LT(a, 0))), add(b, a), b) : tensor<4xi64>
# CHECK-NEXT: Mod.dynamic.int64: a = select(EQ(y, 0), 1, y); b = remainder(x, a); select(and(NE(b, 0), NE(LT(b, 0), LT(a, 0))), add(b, a), b) : tensor<?xi64>
show_scalar(ps.mod, "int64", "int64", what="int64")
# CHECK-NEXT: Mod.static.uint32: remainder(x, select(EQ(y, 0), 1, y)) : tensor<4xui32>
# CHECK-NEXT: Mod.dynamic.uint32: remainder(x, select(EQ(y, 0), 1, y)) : tensor<?xui32>
show_scalar(ps.mod, "uint32", "uint32", what="uint32")

# Comparisons, in the operands' common dtype.

# CHECK-NEXT: LT.static: LT(x, y) : tensor<4xi1>
# CHECK-NEXT: LT.dynamic: LT(x, y) : tensor<?xi1>
show_scalar(ps.lt, "float64", "float64")
# CHECK-NEXT: LT.static.mixed: LT(convert<f64>(x), y) : tensor<4xi1>
# CHECK-NEXT: LT.dynamic.mixed: LT(convert<f64>(x), y) : tensor<?xi1>
show_scalar(ps.lt, "int32", "float64", what="mixed")
# CHECK-NEXT: GT.static: GT(x, y) : tensor<4xi1>
# CHECK-NEXT: GT.dynamic: GT(x, y) : tensor<?xi1>
show_scalar(ps.gt, "float64", "float64")
# CHECK-NEXT: LE.static: LE(x, y) : tensor<4xi1>
# CHECK-NEXT: LE.dynamic: LE(x, y) : tensor<?xi1>
show_scalar(ps.le, "float64", "float64")
# CHECK-NEXT: GE.static: GE(x, y) : tensor<4xi1>
# CHECK-NEXT: GE.dynamic: GE(x, y) : tensor<?xi1>
show_scalar(ps.ge, "float64", "float64")
# CHECK-NEXT: EQ.static: EQ(x, y) : tensor<4xi1>
# CHECK-NEXT: EQ.dynamic: EQ(x, y) : tensor<?xi1>
show_scalar(ps.eq, "float64", "float64")
# CHECK-NEXT: NEQ.static: NE(x, y) : tensor<4xi1>
# CHECK-NEXT: NEQ.dynamic: NE(x, y) : tensor<?xi1>
show_scalar(ps.neq, "float64", "float64")
# CHECK-NEXT: Maximum.static: maximum(x, y) : tensor<4xf64>
# CHECK-NEXT: Maximum.dynamic: maximum(x, y) : tensor<?xf64>
show_scalar(ps.maximum, "float64", "float64")
# CHECK-NEXT: Minimum.static: minimum(x, y) : tensor<4xf64>
# CHECK-NEXT: Minimum.dynamic: minimum(x, y) : tensor<?xf64>
show_scalar(ps.minimum, "float64", "float64")
# CHECK-NEXT: ScalarMaximum.static: maximum(x, y) : tensor<4xf64>
# CHECK-NEXT: ScalarMaximum.dynamic: maximum(x, y) : tensor<?xf64>
show_scalar(of_another_release(type(ps.maximum), "ScalarMaximum")(ps.upcast_out), "float64", "float64")
# CHECK-NEXT: ScalarMinimum.static: minimum(x, y) : tensor<4xf64>
# CHECK-NEXT: ScalarMinimum.dynamic: minimum(x, y) : tensor<?xf64>
show_scalar(of_another_release(type(ps.minimum), "ScalarMinimum")(ps.upcast_out), "float64", "float64")

# Logic, of booleans and of bits.

# CHECK-NEXT: AND.static: and(x, y) : tensor<4xi1>
# CHECK-NEXT: AND.dynamic: and(x, y) : tensor<?xi1>
show_scalar(ps.and_, "bool", "bool")
# CHECK-NEXT: AND.static.int64: and(x, y) : tensor<4xi64>
# CHECK-NEXT: AND.dynamic.int64: and(x, y) : tensor<?xi64>
show_scalar(ps.and_, "int64", "int64", what="int64")
# CHECK-NEXT: OR.static: or(x, y) : tensor<4xi1>
# CHECK-NEXT: OR.dynamic: or(x, y) : tensor<?xi1>
show_scalar(ps.or_, "bool", "bool")
# CHECK-NEXT: XOR.static: xor(x, y) : tensor<4xi1>
# CHECK-NEXT: XOR.dynamic: xor(x, y) : tensor<?xi1>
show_scalar(ps.xor, "bool", "bool")

# Choice.

# CHECK-NEXT: Switch.static: select(x, y, z) : tensor<4xf64>
# CHECK-NEXT: Switch.dynamic: select(x, y, z) : tensor<?xf64>
show_scalar(ps.switch, "bool", "float64", "float64")
# CHECK-NEXT: Switch.static.mixed: select(NE(x, 0), convert<f64>(y), z) : tensor<4xf64>
# CHECK-NEXT: Switch.dynamic.mixed: select(NE(x, 0), convert<f64>(y), z) : tensor<?xf64>
show_scalar(ps.switch, "float64", "int32", "float64", what="mixed")
# CHECK-NEXT: Second.static: y : tensor<4xf64>
# CHECK-NEXT: Second.dynamic: y : tensor<?xf64>
show_scalar(ps.second, "float64", "float64")
# CHECK-NEXT: Clip.static: select(LT(x, y), y, select(GT(x, z), z, x)) : tensor<4xf64>
# CHECK-NEXT: Clip.dynamic: select(LT(x, y), y, select(GT(x, z), z, x)) : tensor<?xf64>
show_scalar(ps.clip, "float64", "float64", "float64")
# CHECK-NEXT: MulWithoutZeros.static: select(EQ(x, 0), y, select(EQ(y, 0), x, multiply(x, y))) : tensor<4xf64>
# CHECK-NEXT: MulWithoutZeros.dynamic: select(EQ(x, 0), y, select(EQ(y, 0), x, multiply(x, y))) : tensor<?xf64>
show_scalar(MulWithoutZeros(ps.upcast_out), "float64", "float64")
