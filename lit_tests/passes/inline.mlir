// RUN: %hlograph opt %s --split-input-file --pass inline | filecheck %s

// CHECK-LABEL: module @static
// CHECK: stablehlo.negate %arg0 : tensor<4xf64>
// CHECK-NOT: @inner
module @static {
  func.func @main(%arg0: tensor<4xf64>) -> tensor<4xf64> {
    %0 = call @inner(%arg0) : (tensor<4xf64>) -> tensor<4xf64>
    return %0 : tensor<4xf64>
  }
  func.func private @inner(%arg0: tensor<4xf64>) -> tensor<4xf64> {
    %0 = stablehlo.negate %arg0 : tensor<4xf64>
    return %0 : tensor<4xf64>
  }
}

// -----

// CHECK-LABEL: module @dynamic
// CHECK: stablehlo.negate %arg0 : tensor<?xf64>
// CHECK-NOT: @inner
module @dynamic {
  func.func @main(%arg0: tensor<?xf64>) -> tensor<?xf64> {
    %0 = call @inner(%arg0) : (tensor<?xf64>) -> tensor<?xf64>
    return %0 : tensor<?xf64>
  }
  func.func private @inner(%arg0: tensor<?xf64>) -> tensor<?xf64> {
    %0 = stablehlo.negate %arg0 : tensor<?xf64>
    return %0 : tensor<?xf64>
  }
}
