# RUN: %python %s | filecheck %s
"""Graphs with named dimensions: their names are those of the sizes, and nothing is left of them but that."""

import warnings

import hlograph

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # PyTensor 2 warns that the module is young
    import pytensor.xtensor as px

x, y = px.xtensor("x", dims=("city", "month")), px.xtensor("y", dims=("month",))
fixed = px.xtensor("fixed", dims=("city", "month"), shape=(2, 3))

# CHECK-LABEL: module @xtensor.dynamic
# CHECK-NEXT: func.func public @main(%x: tensor<?x?xf64> {hlograph.dims = ["city", "month"], hlograph.name = "x"}, %y: tensor<?xf64> {hlograph.dims = ["month"], hlograph.name = "y"}) -> (tensor<?xf64> {hlograph.dims = ["city"], hlograph.name = "out0"})
# CHECK: [[WIDE:%\w+]] = stablehlo.dynamic_broadcast_in_dim %y, %{{[0-9]+}}, dims = [1] : (tensor<?xf64>, tensor<2xi64>) -> tensor<?x?xf64>
# CHECK-NEXT: [[PRODUCT:%\w+]] = stablehlo.multiply %x, [[WIDE]] : tensor<?x?xf64>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.reduce([[PRODUCT]] init: %{{\w+}}) applies stablehlo.add across dimensions = [1] : (tensor<?x?xf64>, tensor<f64>) -> tensor<?xf64>
# CHECK-NEXT: return [[SUM]] : tensor<?xf64>
print(hlograph.emit_stablehlo(([x, y], (x * y).sum("month")), name="xtensor.dynamic").text)

# CHECK-LABEL: module @xtensor.static
# CHECK-NOT: dynamic_
# CHECK: func.func public @main(%fixed: tensor<2x3xf64> {{.*}}, %y: tensor<3xf64> {{.*}}) -> (tensor<3x2xf64> {{.*}})
# CHECK: [[PRODUCT:%\w+]] = stablehlo.multiply %{{\w+}}, %{{\w+}} : tensor<3x2xf64>
# CHECK-NEXT: return [[PRODUCT]] : tensor<3x2xf64>
print(hlograph.emit_stablehlo(([fixed, y], y * fixed), name="xtensor.static").text)
