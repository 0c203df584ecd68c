# RUN: %python %s | filecheck %s
"""Elementwise functions of the builder that no lowering rule uses (the others: ops/scalar_*.py)."""

from building import show, show_line

from hlograph.codegen import builder as hlo

for size in (4, "n"):
    kind = "static" if size == 4 else "dynamic"
    real, number, word = ("float64", size), ("int32", size), ("uint32", size)

    def line(name, function, *arguments, kind=kind):
        show_line(f"{name}.{kind}", arguments, function)

    line("cbrt", hlo.cbrt, real)
    line("rsqrt", hlo.rsqrt, real)
    line("square", hlo.square, real)
    line("bessel_i1e", hlo.bessel_i1e, real)
    line("zeta", hlo.zeta, real, real)
    line("next_after", hlo.next_after, real, real)
    line("is_finite", hlo.is_finite, real)
    line("is_pos_inf", hlo.is_pos_inf, real)
    line("is_neg_inf", hlo.is_neg_inf, real)
    line("popcnt", hlo.popcnt, word)
    line("count_leading_zeros", hlo.count_leading_zeros, word)
    line("mulhi", hlo.mulhi, word, word)
    line("shift_left", hlo.shift_left, number, number)
    line("shift_right_arithmetic", hlo.shift_right_arithmetic, number, number)
    line("shift_right_logical", hlo.shift_right_logical, number, number)
    line("bitcast_convert", lambda x: hlo.bitcast_convert(x, "uint64"), real)
    line("reduce_precision", lambda x: hlo.reduce_precision(x, 8, 7), real)
    line("clamp", hlo.clamp, real, real, real)
    line("compare", lambda x, y: hlo.compare("LT", x, y, "TOTALORDER"), real, real)

# CHECK: cbrt.static: stablehlo.cbrt %arg0 : tensor<4xf64>; return %0
# CHECK: rsqrt.static: stablehlo.rsqrt %arg0 : tensor<4xf64>; return %0
# CHECK: square.static: chlo.square %arg0 : tensor<4xf64> -> tensor<4xf64>; return %0
# CHECK: bessel_i1e.static: chlo.bessel_i1e %arg0 : tensor<4xf64> -> tensor<4xf64>; return %0
# CHECK: zeta.static: chlo.zeta %arg0, %arg1 : tensor<4xf64>, tensor<4xf64> -> tensor<4xf64>; return %0
# CHECK: next_after.static: chlo.next_after %arg0, %arg1 : tensor<4xf64>, tensor<4xf64> -> tensor<4xf64>; return %0
# CHECK: is_finite.static: stablehlo.is_finite %arg0 : (tensor<4xf64>) -> tensor<4xi1>; return %0
# CHECK: is_pos_inf.static: chlo.is_pos_inf %arg0 : tensor<4xf64> -> tensor<4xi1>; return %0
# CHECK: is_neg_inf.static: chlo.is_neg_inf %arg0 : tensor<4xf64> -> tensor<4xi1>; return %0
# CHECK: popcnt.static: stablehlo.popcnt %arg0 : tensor<4xui32>; return %0
# CHECK: count_leading_zeros.static: stablehlo.count_leading_zeros %arg0 : tensor<4xui32>; return %0
# CHECK: mulhi.static: chlo.mulhi %arg0, %arg1 : tensor<4xui32>, tensor<4xui32> -> tensor<4xui32>; return %0
# CHECK: shift_left.static: stablehlo.shift_left %arg0, %arg1 : tensor<4xi32>; return %0
# CHECK: shift_right_arithmetic.static: stablehlo.shift_right_arithmetic %arg0, %arg1 : tensor<4xi32>; return %0
# CHECK: shift_right_logical.static: stablehlo.shift_right_logical %arg0, %arg1 : tensor<4xi32>; return %0
# CHECK: bitcast_convert.static: stablehlo.bitcast_convert %arg0 : (tensor<4xf64>) -> tensor<4xui64>; return %0
# CHECK: reduce_precision.static: stablehlo.reduce_precision %arg0, format = e8m7 : tensor<4xf64>; return %0
# CHECK: clamp.static: stablehlo.clamp %arg0, %arg1, %arg2 : tensor<4xf64>; return %0
# CHECK: compare.static: stablehlo.compare LT, %arg0, %arg1, TOTALORDER : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xi1>; return %0

# CHECK: cbrt.dynamic: stablehlo.cbrt %arg0 : tensor<?xf64>; return %0
# CHECK: rsqrt.dynamic: stablehlo.rsqrt %arg0 : tensor<?xf64>; return %0
# CHECK: square.dynamic: chlo.square %arg0 : tensor<?xf64> -> tensor<?xf64>; return %0
# CHECK: bessel_i1e.dynamic: chlo.bessel_i1e %arg0 : tensor<?xf64> -> tensor<?xf64>; return %0
# CHECK: zeta.dynamic: chlo.zeta %arg0, %arg1 : tensor<?xf64>, tensor<?xf64> -> tensor<?xf64>; return %0
# CHECK: next_after.dynamic: chlo.next_after %arg0, %arg1 : tensor<?xf64>, tensor<?xf64> -> tensor<?xf64>; return %0
# CHECK: is_finite.dynamic: stablehlo.is_finite %arg0 : (tensor<?xf64>) -> tensor<?xi1>; return %0
# CHECK: is_pos_inf.dynamic: chlo.is_pos_inf %arg0 : tensor<?xf64> -> tensor<?xi1>; return %0
# CHECK: is_neg_inf.dynamic: chlo.is_neg_inf %arg0 : tensor<?xf64> -> tensor<?xi1>; return %0
# CHECK: popcnt.dynamic: stablehlo.popcnt %arg0 : tensor<?xui32>; return %0
# CHECK: count_leading_zeros.dynamic: stablehlo.count_leading_zeros %arg0 : tensor<?xui32>; return %0
# CHECK: mulhi.dynamic: chlo.mulhi %arg0, %arg1 : tensor<?xui32>, tensor<?xui32> -> tensor<?xui32>; return %0
# CHECK: shift_left.dynamic: stablehlo.shift_left %arg0, %arg1 : tensor<?xi32>; return %0
# CHECK: shift_right_arithmetic.dynamic: stablehlo.shift_right_arithmetic %arg0, %arg1 : tensor<?xi32>; return %0
# CHECK: shift_right_logical.dynamic: stablehlo.shift_right_logical %arg0, %arg1 : tensor<?xi32>; return %0
# CHECK: bitcast_convert.dynamic: stablehlo.bitcast_convert %arg0 : (tensor<?xf64>) -> tensor<?xui64>; return %0
# CHECK: reduce_precision.dynamic: stablehlo.reduce_precision %arg0, format = e8m7 : tensor<?xf64>; return %0
# CHECK: clamp.dynamic: stablehlo.clamp %arg0, %arg1, %arg2 : tensor<?xf64>; return %0
# CHECK: compare.dynamic: stablehlo.compare LT, %arg0, %arg1, TOTALORDER : (tensor<?xf64>, tensor<?xf64>) -> tensor<?xi1>; return %0

# Scalar bounds stay scalars.

# CHECK-LABEL: module @clamp.static.scalars
# CHECK-NOT: broadcast_in_dim
# CHECK: stablehlo.clamp %arg0, %arg1, %cst : (tensor<f64>, tensor<4xf64>, tensor<f64>) -> tensor<4xf64>
show("clamp.static.scalars", [("float64",), ("float64", 4)], lambda low, x: hlo.clamp(low, x, 1.0))
# CHECK-LABEL: module @clamp.dynamic.scalars
# CHECK-NOT: broadcast_in_dim
# CHECK: stablehlo.clamp %arg0, %arg1, %cst : (tensor<f64>, tensor<?xf64>, tensor<f64>) -> tensor<?xf64>
show("clamp.dynamic.scalars", [("float64",), ("float64", "n")], lambda low, x: hlo.clamp(low, x, 1.0))
# CHECK-LABEL: module @clamp.dynamic.mixed
# CHECK: [[HIGH:%[^ ]+]] = stablehlo.dynamic_broadcast_in_dim %cst, {{.*}}, dims = [] : (tensor<f64>, tensor<1xi64>) -> tensor<?xf64>
# CHECK-NEXT: stablehlo.clamp %arg0, %arg1, [[HIGH]] : tensor<?xf64>
show("clamp.dynamic.mixed", [("float64", "n"), ("float64", "n")], lambda low, x: hlo.clamp(low, x, 1.0))
