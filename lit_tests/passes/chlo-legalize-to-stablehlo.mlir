// RUN: %hlograph opt %s --split-input-file --pass chlo-legalize-to-stablehlo | filecheck %s

// CHECK-LABEL: module @static
// CHECK-NOT: chlo.
// CHECK: stablehlo.multiply %arg0, %arg0 : tensor<4xf64>
module @static {
  func.func @main(%arg0: tensor<4xf64>) -> tensor<4xf64> {
    %0 = chlo.square %arg0 : tensor<4xf64> -> tensor<4xf64>
    return %0 : tensor<4xf64>
  }
}

// -----

// CHECK-LABEL: module @dynamic
// CHECK-NOT: chlo.
// CHECK: stablehlo.multiply %arg0, %arg0 : tensor<?xf64>
module @dynamic {
  func.func @main(%arg0: tensor<?xf64>) -> tensor<?xf64> {
    %0 = chlo.square %arg0 : tensor<?xf64> -> tensor<?xf64>
    return %0 : tensor<?xf64>
  }
}
