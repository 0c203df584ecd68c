// Sections are transformed each by itself; one of comments only gives nothing.
//
// RUN: %hlograph opt %s --split-input-file --pass canonicalize --pass cse | filecheck %s

// CHECK-LABEL: func.func @main(%arg0: tensor<?xf32>)
// CHECK: [[SUM:%[^ ]+]] = stablehlo.add %arg0, %arg0 : tensor<?xf32>
// CHECK-NEXT: [[PRODUCT:%[^ ]+]] = stablehlo.multiply [[SUM]], [[SUM]] : tensor<?xf32>
// CHECK-NEXT: return [[PRODUCT]]
// CHECK: // -----
func.func @main(%arg0: tensor<?xf32>) -> tensor<?xf32> {
  %0 = stablehlo.add %arg0, %arg0 : tensor<?xf32>
  %1 = stablehlo.add %arg0, %arg0 : tensor<?xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<?xf32>
  return %2 : tensor<?xf32>
}

// -----
// Nothing here.

// -----

// CHECK-LABEL: func.func @main(%arg0: tensor<4xf64>)
// CHECK-NOT: stablehlo
// CHECK: return %arg0
// CHECK-NOT: // -----
func.func @main(%arg0: tensor<4xf64>) -> tensor<4xf64> {
  %0 = stablehlo.constant dense<1.0> : tensor<4xf64>
  return %arg0 : tensor<4xf64>
}
