// Transposes go into the dimension numbers of a dot; one that orders the result's axes stays, and says so.
//
// RUN: %hlograph opt %s --split-input-file --pass transpose_into_dot --explain transpose_into_dot 2>&1 | filecheck %s

// CHECK-COUNT-2: transpose_into_dot: {{.*}}: rewritten
// CHECK-NEXT: transpose_into_dot: {{.*}}: left alone: the left operand's axes [2, 1] would come in another order in the result
// CHECK-NEXT: transpose_into_dot: {{.*}}: rewritten

module @vector {
  func.func @main(%a: tensor<3x4xf32>, %v: tensor<3xf32>) -> tensor<4xf32> {
    %t = stablehlo.transpose %a, dims = [1, 0] : (tensor<3x4xf32>) -> tensor<4x3xf32>
    %d = stablehlo.dot_general %t, %v, contracting_dims = [1] x [0], precision = [HIGHEST, DEFAULT] : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4xf32>
    return %d : tensor<4xf32>
  }
}
// CHECK-LABEL: module @vector
// CHECK-NEXT: func.func
// CHECK-NEXT: stablehlo.dot_general %arg0, %arg1, contracting_dims = [0] x [0], precision = [HIGHEST, DEFAULT]

// -----

module @batched {
  func.func @main(%a: tensor<3x2x4xf32>, %b: tensor<5x2x3xf32>) -> tensor<2x4x5xf32> {
    %t = stablehlo.transpose %a, dims = [1, 2, 0] : (tensor<3x2x4xf32>) -> tensor<2x4x3xf32>
    %u = stablehlo.transpose %b, dims = [1, 2, 0] : (tensor<5x2x3xf32>) -> tensor<2x3x5xf32>
    %d = stablehlo.dot_general %t, %u, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x3xf32>, tensor<2x3x5xf32>) -> tensor<2x4x5xf32>
    return %d : tensor<2x4x5xf32>
  }
}
// CHECK-LABEL: module @batched
// CHECK-NEXT: func.func
// CHECK-NEXT: stablehlo.dot_general %arg0, %arg1, batching_dims = [1] x [1], contracting_dims = [0] x [2]

// -----

module @order {
  func.func @main(%a: tensor<3x2x4xf32>, %b: tensor<3xf32>) -> tensor<4x2xf32> {
    %t = stablehlo.transpose %a, dims = [2, 1, 0] : (tensor<3x2x4xf32>) -> tensor<4x2x3xf32>
    %d = stablehlo.dot_general %t, %b, contracting_dims = [2] x [0] : (tensor<4x2x3xf32>, tensor<3xf32>) -> tensor<4x2xf32>
    return %d : tensor<4x2xf32>
  }
}
// CHECK-LABEL: module @order
// CHECK: stablehlo.transpose

// -----

module @dynamic {
  func.func @main(%a: tensor<?x4xf32>, %v: tensor<?xf32>) -> tensor<4xf32> {
    %t = stablehlo.transpose %a, dims = [1, 0] : (tensor<?x4xf32>) -> tensor<4x?xf32>
    %d = stablehlo.dot_general %t, %v, contracting_dims = [1] x [0] : (tensor<4x?xf32>, tensor<?xf32>) -> tensor<4xf32>
    return %d : tensor<4xf32>
  }
}
// CHECK-LABEL: module @dynamic
// CHECK-NEXT: func.func
// CHECK-NEXT: stablehlo.dot_general %arg0, %arg1, contracting_dims = [0] x [0]
