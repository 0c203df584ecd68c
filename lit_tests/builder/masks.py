# RUN: %python %s | filecheck %s
"""A mask that rounding decides goes through a square root, so that XLA computes it once; others do not."""

from building import show_line

from hlograph.codegen import builder as hlo


def computed(x, y):
    return hlo.compare("GT", hlo.multiply(x, y), x)


def zero(x):
    return x.builder.constant(0.0, "float64")


both = "float64 float64"
show_line("computed", both, lambda x, y: hlo.convert(computed(x, y), "float64"))
show_line("given", both, lambda x, y: hlo.convert(hlo.compare("GT", x, y), "float64"))
show_line("selects_zero", both, lambda x, y: hlo.select_mask(computed(x, y), x, zero(x)))
show_line("selects_other", both, lambda x, y: hlo.select_mask(computed(x, y), x, y))

# CHECK: computed: sqrt(convert<f64>(convert<i8>(GT(multiply(arg0, arg1), arg0)))) : tensor<4xf64>
# CHECK-NEXT: given: convert<f64>(convert<i8>(GT(arg0, arg1))) : tensor<4xf64>
# CHECK-NEXT: selects_zero: select(NE(sqrt(convert<f32>(GT(multiply(arg0, arg1), arg0))), 0), arg0, 0) : tensor<4xf64>
# CHECK-NEXT: selects_other: select(GT(multiply(arg0, arg1), arg0), arg0, arg1) : tensor<4xf64>
