// RUN: %hlograph opt %s --split-input-file --pass stablehlo-canonicalize-dynamism | filecheck %s

// CHECK-LABEL: module @static
// CHECK-NOT: dynamic_
// CHECK: stablehlo.reshape %arg0 : (tensor<2x3xf64>) -> tensor<6xf64>
module @static {
  func.func @main(%arg0: tensor<2x3xf64>) -> tensor<6xf64> {
    %shape = stablehlo.constant dense<6> : tensor<1xi64>
    %0 = stablehlo.dynamic_reshape %arg0, %shape : (tensor<2x3xf64>, tensor<1xi64>) -> tensor<6xf64>
    return %0 : tensor<6xf64>
  }
}

// -----

// A shape that is not known stays dynamic.
// CHECK-LABEL: module @dynamic
// CHECK: stablehlo.dynamic_reshape %arg0, %arg1 : (tensor<?x3xf64>, tensor<1xi64>) -> tensor<?xf64>
module @dynamic {
  func.func @main(%arg0: tensor<?x3xf64>, %arg1: tensor<1xi64>) -> tensor<?xf64> {
    %0 = stablehlo.dynamic_reshape %arg0, %arg1 : (tensor<?x3xf64>, tensor<1xi64>) -> tensor<?xf64>
    return %0 : tensor<?xf64>
  }
}
