// RUN: %hlograph opt %s --split-input-file --pass sccp | filecheck %s

// A constant argument of every call is a constant in the function.
// CHECK-LABEL: module @static
// CHECK: func.func private @inner
// CHECK: [[CONST:%[^ ]+]] = stablehlo.constant dense<2.000000e+00> : tensor<4xf64>
// CHECK: stablehlo.add %arg0, [[CONST]] : tensor<4xf64>
module @static {
  func.func @main(%arg0: tensor<4xf64>) -> tensor<4xf64> {
    %two = stablehlo.constant dense<2.0> : tensor<4xf64>
    %0 = call @inner(%arg0, %two) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
    return %0 : tensor<4xf64>
  }
  func.func private @inner(%arg0: tensor<4xf64>, %arg1: tensor<4xf64>) -> tensor<4xf64> {
    %0 = stablehlo.add %arg0, %arg1 : tensor<4xf64>
    return %0 : tensor<4xf64>
  }
}

// -----

// CHECK-LABEL: module @dynamic
// CHECK: func.func private @inner
// CHECK: [[SHAPE:%[^ ]+]] = stablehlo.constant dense<5> : tensor<1xi64>
// CHECK: stablehlo.dynamic_broadcast_in_dim %arg0, [[SHAPE]], dims = [] : (tensor<f64>, tensor<1xi64>) -> tensor<?xf64>
module @dynamic {
  func.func @main(%arg0: tensor<f64>) -> tensor<?xf64> {
    %shape = stablehlo.constant dense<5> : tensor<1xi64>
    %0 = call @inner(%arg0, %shape) : (tensor<f64>, tensor<1xi64>) -> tensor<?xf64>
    return %0 : tensor<?xf64>
  }
  func.func private @inner(%arg0: tensor<f64>, %arg1: tensor<1xi64>) -> tensor<?xf64> {
    %0 = stablehlo.dynamic_broadcast_in_dim %arg0, %arg1, dims = [] : (tensor<f64>, tensor<1xi64>) -> tensor<?xf64>
    return %0 : tensor<?xf64>
  }
}
