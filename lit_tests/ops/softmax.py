# RUN: %python %s | filecheck %s
"""Softmax, LogSoftmax, SoftmaxGrad: shifted by the largest element, so that nothing overflows."""

import pytensor.tensor as pt
from common import of_another_release, show
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.tensor.special import log_softmax, softmax


def _make_node(self, dy, sm):
    return Apply(self, [dy, sm], [sm.type()])


x, dy = pt.dmatrix("x"), pt.dmatrix("dy")
softmax_grad = of_another_release(Op, "SoftmaxGrad", make_node=_make_node, perform=None, axis=1)()

# CHECK-LABEL: module @Softmax.static
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce(%arg0 init: [[CONST]]) applies stablehlo.maximum across dimensions = [1] : (tensor<3x4xf64>, tensor<f64>) -> tensor<3xf64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim [[REDUCED]], dims = [0] : (tensor<3xf64>) -> tensor<3x4xf64>
# CHECK-NEXT: [[DIFFERENCE:%\w+]] = stablehlo.subtract %arg0, [[WIDE]] : tensor<3x4xf64>
# CHECK-NEXT: [[EXP:%\w+]] = stablehlo.exponential [[DIFFERENCE]] : tensor<3x4xf64>
# CHECK-NEXT: [[REDUCED2:%\w+]] = stablehlo.reduce([[EXP]] init: [[CONST2]]) applies stablehlo.add across dimensions = [1] : (tensor<3x4xf64>, tensor<f64>) -> tensor<3xf64>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.broadcast_in_dim [[REDUCED2]], dims = [0] : (tensor<3xf64>) -> tensor<3x4xf64>
# CHECK-NEXT: [[QUOTIENT:%\w+]] = stablehlo.divide [[EXP]], [[WIDE2]] : tensor<3x4xf64>
# CHECK-NEXT: return [[QUOTIENT]] : tensor<3x4xf64>
show([x], softmax(x, axis=1), name="Softmax.static", dims={"x": (3, 4)})

# CHECK-LABEL: module @Softmax.dynamic
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
# CHECK: [[CONST2:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce(%arg0 init: [[CONST]]) applies stablehlo.maximum across dimensions = [0] : (tensor<?x4xf64>, tensor<f64>) -> tensor<4xf64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[REDUCED]], %{{[0-9]+}}, dims = [1] : (tensor<4xf64>, tensor<2xi64>) -> tensor<?x4xf64>
# CHECK-NEXT: [[DIFFERENCE:%\w+]] = stablehlo.subtract %arg0, [[WIDE]] : tensor<?x4xf64>
# CHECK-NEXT: [[EXP:%\w+]] = stablehlo.exponential [[DIFFERENCE]] : tensor<?x4xf64>
# CHECK-NEXT: [[REDUCED2:%\w+]] = stablehlo.reduce([[EXP]] init: [[CONST2]]) applies stablehlo.add across dimensions = [0] : (tensor<?x4xf64>, tensor<f64>) -> tensor<4xf64>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[REDUCED2]], %{{[0-9]+}}, dims = [1] : (tensor<4xf64>, tensor<2xi64>) -> tensor<?x4xf64>
# CHECK-NEXT: [[QUOTIENT:%\w+]] = stablehlo.divide [[EXP]], [[WIDE2]] : tensor<?x4xf64>
# CHECK-NEXT: return [[QUOTIENT]] : tensor<?x4xf64>
show([x], softmax(x, axis=0), name="Softmax.dynamic", dims={"x": ("n", 4)})

# CHECK-LABEL: module @LogSoftmax.static
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce(%arg0 init: [[CONST]]) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<3x4xf64>, tensor<f64>) -> tensor<f64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim [[REDUCED]], dims = [] : (tensor<f64>) -> tensor<3x4xf64>
# CHECK-NEXT: [[DIFFERENCE:%\w+]] = stablehlo.subtract %arg0, [[WIDE]] : tensor<3x4xf64>
# CHECK-NEXT: [[EXP:%\w+]] = stablehlo.exponential [[DIFFERENCE]] : tensor<3x4xf64>
# CHECK-NEXT: [[REDUCED2:%\w+]] = stablehlo.reduce([[EXP]] init: [[CONST2]]) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x4xf64>, tensor<f64>) -> tensor<f64>
# CHECK-NEXT: [[LOG:%\w+]] = stablehlo.log [[REDUCED2]] : tensor<f64>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.broadcast_in_dim [[LOG]], dims = [] : (tensor<f64>) -> tensor<3x4xf64>
# CHECK-NEXT: [[DIFFERENCE2:%\w+]] = stablehlo.subtract [[DIFFERENCE]], [[WIDE2]] : tensor<3x4xf64>
# CHECK-NEXT: return [[DIFFERENCE2]] : tensor<3x4xf64>
show([x], log_softmax(x, axis=None), name="LogSoftmax.static", dims={"x": (3, 4)})

# CHECK-LABEL: module @LogSoftmax.dynamic
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
# CHECK: [[CONST2:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce(%arg0 init: [[CONST]]) applies stablehlo.maximum across dimensions = [1] : (tensor<?x4xf64>, tensor<f64>) -> tensor<?xf64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[REDUCED]], %{{[0-9]+}}, dims = [0] : (tensor<?xf64>, tensor<2xi64>) -> tensor<?x4xf64>
# CHECK-NEXT: [[DIFFERENCE:%\w+]] = stablehlo.subtract %arg0, [[WIDE]] : tensor<?x4xf64>
# CHECK-NEXT: [[EXP:%\w+]] = stablehlo.exponential [[DIFFERENCE]] : tensor<?x4xf64>
# CHECK-NEXT: [[REDUCED2:%\w+]] = stablehlo.reduce([[EXP]] init: [[CONST2]]) applies stablehlo.add across dimensions = [1] : (tensor<?x4xf64>, tensor<f64>) -> tensor<?xf64>
# CHECK-NEXT: [[LOG:%\w+]] = stablehlo.log [[REDUCED2]] : tensor<?xf64>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[LOG]], %{{[0-9]+}}, dims = [0] : (tensor<?xf64>, tensor<2xi64>) -> tensor<?x4xf64>
# CHECK-NEXT: [[DIFFERENCE2:%\w+]] = stablehlo.subtract [[DIFFERENCE]], [[WIDE2]] : tensor<?x4xf64>
# CHECK-NEXT: return [[DIFFERENCE2]] : tensor<?x4xf64>
show([x], log_softmax(x, axis=1), name="LogSoftmax.dynamic", dims={"x": ("n", 4)})

# CHECK-LABEL: module @SoftmaxGrad.static
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[PRODUCT:%\w+]] = stablehlo.multiply %arg0, %arg1 : tensor<3x4xf64>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce([[PRODUCT]] init: [[CONST]]) applies stablehlo.add across dimensions = [1] : (tensor<3x4xf64>, tensor<f64>) -> tensor<3xf64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim [[REDUCED]], dims = [0] : (tensor<3xf64>) -> tensor<3x4xf64>
# CHECK-NEXT: [[PRODUCT2:%\w+]] = stablehlo.multiply %arg1, [[WIDE]] : tensor<3x4xf64>
# CHECK-NEXT: [[DIFFERENCE:%\w+]] = stablehlo.subtract [[PRODUCT]], [[PRODUCT2]] : tensor<3x4xf64>
# CHECK-NEXT: return [[DIFFERENCE]] : tensor<3x4xf64>
show([dy, x], softmax_grad(dy, x), name="SoftmaxGrad.static", dims={"dy": (3, 4), "x": (3, 4)})

# CHECK-LABEL: module @SoftmaxGrad.dynamic
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK: [[PRODUCT:%\w+]] = stablehlo.multiply %arg0, %arg1 : tensor<?x4xf64>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce([[PRODUCT]] init: [[CONST]]) applies stablehlo.add across dimensions = [1] : (tensor<?x4xf64>, tensor<f64>) -> tensor<?xf64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[REDUCED]], %{{[0-9]+}}, dims = [0] : (tensor<?xf64>, tensor<2xi64>) -> tensor<?x4xf64>
# CHECK-NEXT: [[PRODUCT2:%\w+]] = stablehlo.multiply %arg1, [[WIDE]] : tensor<?x4xf64>
# CHECK-NEXT: [[DIFFERENCE:%\w+]] = stablehlo.subtract [[PRODUCT]], [[PRODUCT2]] : tensor<?x4xf64>
# CHECK-NEXT: return [[DIFFERENCE]] : tensor<?x4xf64>
show([dy, x], softmax_grad(dy, x), name="SoftmaxGrad.dynamic", dims={"dy": ("n", 4), "x": ("n", 4)})
