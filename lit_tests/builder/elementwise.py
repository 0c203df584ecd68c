# RUN: %python %s | filecheck %s
"""Elementwise functions of the builder that no lowering rule uses (the others: ops/scalar.py)."""

from building import show_line

from hlograph.codegen import builder as hlo

show_line("cbrt", "float64", hlo.cbrt)
show_line("rsqrt", "float64", hlo.rsqrt)
show_line("square", "float64", hlo.square)
show_line("bessel_i1e", "float64", hlo.bessel_i1e)
show_line("zeta", "float64 float64", hlo.zeta)
show_line("next_after", "float64 float64", hlo.next_after)
show_line("is_finite", "float64", hlo.is_finite)
show_line("is_pos_inf", "float64", hlo.is_pos_inf)
show_line("is_neg_inf", "float64", hlo.is_neg_inf)
show_line("popcnt", "uint32", hlo.popcnt)
show_line("count_leading_zeros", "uint32", hlo.count_leading_zeros)
show_line("mulhi", "uint32 uint32", hlo.mulhi)
show_line("shift_left", "int32 int32", hlo.shift_left)
show_line("shift_right_arithmetic", "int32 int32", hlo.shift_right_arithmetic)
show_line("shift_right_logical", "int32 int32", hlo.shift_right_logical)
show_line("bitcast_convert", "float64", lambda x: hlo.bitcast_convert(x, "uint64"))
show_line("reduce_precision", "float64", lambda x: hlo.reduce_precision(x, 8, 7))
show_line("clamp", "float64 float64 float64", hlo.clamp)
show_line("compare", "float64 float64", lambda x, y: hlo.compare("LT", x, y, "TOTALORDER"))

# CHECK: cbrt: cbrt(arg0) : tensor<4xf64>
# CHECK-NEXT: rsqrt: rsqrt(arg0) : tensor<4xf64>
# CHECK-NEXT: square: square(arg0) : tensor<4xf64>
# CHECK-NEXT: bessel_i1e: bessel_i1e(arg0) : tensor<4xf64>
# CHECK-NEXT: zeta: zeta(arg0, arg1) : tensor<4xf64>
# CHECK-NEXT: next_after: next_after(arg0, arg1) : tensor<4xf64>
# CHECK-NEXT: is_finite: is_finite(arg0) : tensor<4xi1>
# CHECK-NEXT: is_pos_inf: is_pos_inf(arg0) : tensor<4xi1>
# CHECK-NEXT: is_neg_inf: is_neg_inf(arg0) : tensor<4xi1>
# CHECK-NEXT: popcnt: popcnt(arg0) : tensor<4xui32>
# CHECK-NEXT: count_leading_zeros: count_leading_zeros(arg0) : tensor<4xui32>
# CHECK-NEXT: mulhi: mulhi(arg0, arg1) : tensor<4xui32>
# CHECK-NEXT: shift_left: shift_left(arg0, arg1) : tensor<4xi32>
# CHECK-NEXT: shift_right_arithmetic: shift_right_arithmetic(arg0, arg1) : tensor<4xi32>
# CHECK-NEXT: shift_right_logical: shift_right_logical(arg0, arg1) : tensor<4xi32>
# CHECK-NEXT: bitcast_convert: bitcast_convert<4xui64>(arg0) : tensor<4xui64>
# CHECK-NEXT: reduce_precision: reduce_precision<8, 7>(arg0) : tensor<4xf64>
# CHECK-NEXT: clamp: clamp(arg0, arg1, arg2) : tensor<4xf64>
# CHECK-NEXT: compare: LT(arg0, arg1) : tensor<4xi1>
