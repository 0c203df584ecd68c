// What depends on constants alone is computed once, in advance.
//
// RUN: %hlograph opt %s --split-input-file --pass fold_constants | filecheck %s

// CHECK-LABEL: module @logs
// CHECK-NOT: stablehlo.log
// CHECK: [[C:%[^ ]+]] = stablehlo.constant dense<[0.000000e+00, {{.*}}]> : tensor<10xf64>
// CHECK: stablehlo.add %arg0, [[C]]
module @logs {
  func.func @main(%x: tensor<10xf64>) -> tensor<10xf64> {
    %i = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0]> : tensor<10xf64>
    %l = stablehlo.log %i : tensor<10xf64>
    %s = stablehlo.add %x, %l : tensor<10xf64>
    return %s : tensor<10xf64>
  }
}

// -----

// Cheap work whose result is larger than what it is made of stays; and what depends on an argument, or is open.
// CHECK-LABEL: module @stays
// CHECK: stablehlo.subtract {{.*}} : tensor<10x10xf64>
// CHECK: stablehlo.exponential %arg1 : tensor<?xf64>
module @stays {
  func.func @main(%x: tensor<10x10xf64>, %y: tensor<?xf64>) -> (tensor<10x10xf64>, tensor<?xf64>) {
    %i = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0]> : tensor<10xf64>
    %r = stablehlo.broadcast_in_dim %i, dims = [0] : (tensor<10xf64>) -> tensor<10x10xf64>
    %c = stablehlo.broadcast_in_dim %i, dims = [1] : (tensor<10xf64>) -> tensor<10x10xf64>
    %d = stablehlo.subtract %r, %c : tensor<10x10xf64>
    %s = stablehlo.add %x, %d : tensor<10x10xf64>
    %e = stablehlo.exponential %y : tensor<?xf64>
    return %s, %e : tensor<10x10xf64>, tensor<?xf64>
  }
}
