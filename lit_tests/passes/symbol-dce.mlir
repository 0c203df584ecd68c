// RUN: %hlograph opt %s --split-input-file --pass symbol-dce | filecheck %s

// CHECK-LABEL: module @static
// CHECK: call @used
// CHECK-NOT: @unused
// CHECK: func.func private @used(%arg0: tensor<4xf64>)
// CHECK-NOT: @unused
module @static {
  func.func @main(%arg0: tensor<4xf64>) -> tensor<4xf64> {
    %0 = call @used(%arg0) : (tensor<4xf64>) -> tensor<4xf64>
    return %0 : tensor<4xf64>
  }
  func.func private @unused(%arg0: tensor<4xf64>) -> tensor<4xf64> {
    return %arg0 : tensor<4xf64>
  }
  func.func private @used(%arg0: tensor<4xf64>) -> tensor<4xf64> {
    return %arg0 : tensor<4xf64>
  }
}

// -----

// CHECK-LABEL: module @dynamic
// CHECK-NOT: @unused
module @dynamic {
  func.func @main(%arg0: tensor<?xf64>) -> tensor<?xf64> {
    return %arg0 : tensor<?xf64>
  }
  func.func private @unused(%arg0: tensor<?xf64>) -> tensor<?xf64> {
    return %arg0 : tensor<?xf64>
  }
}
