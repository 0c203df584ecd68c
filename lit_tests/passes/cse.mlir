// RUN: %hlograph opt %s --split-input-file --pass cse | filecheck %s

// CHECK-LABEL: module @static
// CHECK: [[EXP:%[^ ]+]] = stablehlo.exponential %arg0 : tensor<4xf64>
// CHECK-NEXT: stablehlo.add [[EXP]], [[EXP]] : tensor<4xf64>
module @static {
  func.func @main(%arg0: tensor<4xf64>) -> tensor<4xf64> {
    %0 = stablehlo.exponential %arg0 : tensor<4xf64>
    %1 = stablehlo.exponential %arg0 : tensor<4xf64>
    %2 = stablehlo.add %0, %1 : tensor<4xf64>
    return %2 : tensor<4xf64>
  }
}

// -----

// CHECK-LABEL: module @dynamic
// CHECK: [[EXP:%[^ ]+]] = stablehlo.exponential %arg0 : tensor<?xf64>
// CHECK-NEXT: stablehlo.add [[EXP]], [[EXP]] : tensor<?xf64>
module @dynamic {
  func.func @main(%arg0: tensor<?xf64>) -> tensor<?xf64> {
    %0 = stablehlo.exponential %arg0 : tensor<?xf64>
    %1 = stablehlo.exponential %arg0 : tensor<?xf64>
    %2 = stablehlo.add %0, %1 : tensor<?xf64>
    return %2 : tensor<?xf64>
  }
}
