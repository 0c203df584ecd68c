# RUN: %python %s | filecheck %s
"""One program, with a call of Python for what has no StableHLO, and one call for two of them, one behind the other."""

import pytensor.tensor as pt
import scipy.ndimage
from pytensor.compile.ops import wrap_py

import hlograph


@wrap_py(itypes=[pt.dvector], otypes=[pt.dvector], infer_shape=lambda node, shapes: [shapes[0]])
def median_filtered(values):
    return scipy.ndimage.median_filter(values, 3)


x = pt.dvector("x")

# CHECK-LABEL: module @selective.dynamic
# CHECK: [[TWICE:%\w+]] = stablehlo.multiply %x, %{{\w+}} : tensor<?xf64>
# CHECK: [[CALL:%\w+]]:2 = stablehlo.custom_call @hlograph.host(%{{\w+}}, [[TWICE]], {{.*}}) {{{.*}}backend_config = {name = "host_0"}{{.*}}}
# CHECK: stablehlo.negate [[CALL]]#1 : tensor<?xf64>
# CHECK: stablehlo.tanh %x : tensor<?xf64>
outputs = [pt.exp(-median_filtered(x * 2)).sum(), pt.tanh(x)]
print(hlograph.emit_stablehlo(([x], outputs), name="selective.dynamic").text)

# CHECK-LABEL: module @selective.static
# CHECK: [[TWICE:%\w+]] = stablehlo.multiply %x, %{{\w+}} : tensor<4xf64>
# CHECK-NEXT: [[CALL:%\w+]]:2 = stablehlo.custom_call @hlograph.host(%{{\w+}}, [[TWICE]]) {{{.*}}parts = [{name = "host_0", operands = array<i64: 0>, results = [tensor<4xf64>]}, {name = "host_1", operands = array<i64: 1>, results = [tensor<4xf64>]}], returned = array<i64: 2>
# CHECK-NEXT: stablehlo.negate [[CALL]]#1 : tensor<4xf64>
twice = pt.exp(-median_filtered(median_filtered(x * 2)))
program = hlograph.emit_stablehlo(([x], [twice]), dims={"x": (4,)}, name="selective.static")
print(program.run_passes(["merge_host_calls"]).text)
