// RUN: %hlograph opt %s --split-input-file --pass canonicalize | filecheck %s

// Ops without a use go.
// CHECK-LABEL: module @static
// CHECK: func.func {{.*}}@main(%arg0: tensor<4xf64>)
// CHECK-NEXT: return %arg0 : tensor<4xf64>
module @static {
  func.func @main(%arg0: tensor<4xf64>) -> tensor<4xf64> {
    %0 = stablehlo.negate %arg0 : tensor<4xf64>
    return %arg0 : tensor<4xf64>
  }
}

// -----

// CHECK-LABEL: module @dynamic
// CHECK: func.func {{.*}}@main(%arg0: tensor<?xf64>)
// CHECK-NEXT: return %arg0 : tensor<?xf64>
module @dynamic {
  func.func @main(%arg0: tensor<?xf64>) -> tensor<?xf64> {
    %0 = stablehlo.negate %arg0 : tensor<?xf64>
    return %arg0 : tensor<?xf64>
  }
}
