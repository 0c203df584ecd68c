# RUN: %python %s | filecheck %s
"""A mask that rounding decides goes through a square root, so that XLA computes it once; others do not."""

from building import show_line

from hlograph.codegen import builder as hlo

for size in (4, "n"):
    kind = "static" if size == 4 else "dynamic"
    real = ("float64", size)

    def zero(x):
        return x.builder.constant(0.0, "float64")

    def computed(x, y):
        return hlo.compare("GT", hlo.multiply(x, y), x)

    show_line(f"computed.{kind}", (real, real), lambda x, y: hlo.convert(computed(x, y), "float64"))
    show_line(f"given.{kind}", (real, real), lambda x, y: hlo.convert(hlo.compare("GT", x, y), "float64"))
    show_line(f"selects_zero.{kind}", (real, real), lambda x, y: hlo.select_mask(computed(x, y), x, zero(x)))
    show_line(f"selects_other.{kind}", (real, real), lambda x, y: hlo.select_mask(computed(x, y), x, y))

# CHECK-LABEL: computed.static:
# CHECK-SAME: stablehlo.compare GT
# CHECK-SAME: stablehlo.convert {{.*}} -> tensor<4xf64>
# CHECK-SAME: stablehlo.sqrt {{.*}} : tensor<4xf64>; return
# CHECK-LABEL: given.static:
# CHECK-NOT: sqrt
# CHECK-LABEL: selects_zero.static:
# CHECK-SAME: stablehlo.sqrt {{.*}} : tensor<4xf32>
# CHECK-SAME: stablehlo.compare NE
# CHECK-SAME: stablehlo.select
# CHECK-LABEL: selects_other.static:
# CHECK-NOT: sqrt
# CHECK-LABEL: computed.dynamic:
# CHECK-SAME: stablehlo.sqrt {{.*}} : tensor<?xf64>
# CHECK-LABEL: given.dynamic:
# CHECK-NOT: sqrt
# CHECK-LABEL: selects_zero.dynamic:
# CHECK-SAME: stablehlo.sqrt {{.*}} : tensor<?xf32>
# CHECK-LABEL: selects_other.dynamic:
# CHECK-NOT: sqrt
