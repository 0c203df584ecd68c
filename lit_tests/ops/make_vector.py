# RUN: %python %s | filecheck %s
"""MakeVector, TensorFromScalar, ScalarFromTensor: scalars and short vectors."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.basic import MakeVector, scalar_from_tensor, tensor_from_scalar

x, y = pt.dscalar("x"), pt.dscalar("y")
v = pt.dvector("v")
k = pt.lscalar("k")

# CHECK-LABEL: module @MakeVector.static
# CHECK-NOT: dynamic_
# CHECK: [[SHAPED:%\w+]] = stablehlo.reshape %arg0 : (tensor<f64>) -> tensor<1xf64>
# CHECK-NEXT: [[SHAPED2:%\w+]] = stablehlo.reshape %arg1 : (tensor<f64>) -> tensor<1xf64>
# CHECK-NEXT: [[JOINED:%\w+]] = stablehlo.concatenate [[SHAPED]], [[SHAPED2]], [[SHAPED]], dim = 0 : (tensor<1xf64>, tensor<1xf64>, tensor<1xf64>) -> tensor<3xf64>
# CHECK-NEXT: return [[JOINED]] : tensor<3xf64>
show([x, y], MakeVector("float64")(x, y, x), name="MakeVector.static")

# Sizes make a shape, which the Alloc takes as it is.
# CHECK-LABEL: module @MakeVector.dynamic
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<1.000000e+00> : tensor<f64>
# CHECK: [[WIDE:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CONST]], %{{[0-9]+}}, dims = [] : (tensor<f64>, tensor<2xi64>) -> tensor<?x2xf64>
# CHECK-NEXT: return [[WIDE]] : tensor<?x2xf64>
show([v], pt.ones(MakeVector("int64")(v.shape[0], 2)), name="MakeVector.dynamic", dims={"v": ("n",)})

# A scalar and a tensor without axes are the same here.
# CHECK-LABEL: module @ScalarFromTensor.static
# CHECK-NOT: dynamic_
# CHECK: [[EXP:%\w+]] = stablehlo.exponential %arg0 : tensor<f64>
# CHECK-NEXT: return [[EXP]] : tensor<f64>
show([x], tensor_from_scalar(scalar_from_tensor(pt.exp(x))), name="ScalarFromTensor.static")

# CHECK-LABEL: module @ScalarFromTensor.dynamic
# CHECK: func.func {{.*}}hlograph.constraints = {{\[\[}}"k >= 0", "size 0 of Alloc at an unnamed Alloc node"]]
# CHECK-NEXT: [[CONST:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK: [[WIDE:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CONST]], %{{[0-9]+}}, dims = [] : (tensor<f64>, tensor<1xi64>) -> tensor<?xf64>
# CHECK-NEXT: return [[WIDE]] : tensor<?xf64>
show([k], pt.zeros(tensor_from_scalar(scalar_from_tensor(k))), name="ScalarFromTensor.dynamic")

# CHECK-LABEL: module @TensorFromScalar.static
# CHECK-NOT: dynamic_
# CHECK: [[EXP:%\w+]] = stablehlo.exponential %arg0 : tensor<f64>
# CHECK-NEXT: return [[EXP]] : tensor<f64>
show([x], pt.exp(tensor_from_scalar(scalar_from_tensor(x))), name="TensorFromScalar.static")

# CHECK-LABEL: module @TensorFromScalar.dynamic
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK: [[REDUCED:%\w+]] = stablehlo.reduce(%arg0 init: [[CONST]]) applies stablehlo.add across dimensions = [0] : (tensor<?xf64>, tensor<f64>) -> tensor<f64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[REDUCED]], %{{[0-9]+}}, dims = [] : (tensor<f64>, tensor<1xi64>) -> tensor<?xf64>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add [[WIDE]], %arg0 : tensor<?xf64>
# CHECK-NEXT: return [[SUM]] : tensor<?xf64>
show([v], tensor_from_scalar(scalar_from_tensor(v.sum())) + v, name="TensorFromScalar.dynamic", dims={"v": ("n",)})
