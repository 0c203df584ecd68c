// What is broadcast only to be reduced is not broadcast.
//
// RUN: %hlograph opt %s --split-input-file --pass reduce_of_broadcast --explain reduce_of_broadcast 2>&1 | filecheck %s

// CHECK-COUNT-2: reduce_of_broadcast: {{.*}}: rewritten
// CHECK-NEXT: reduce_of_broadcast: {{.*}}: left alone: tensor<?xf32> has a dynamic dimension

module @maximum {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %i = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %b = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<4xf32>) -> tensor<4x64xf32>
    %r = stablehlo.reduce(%b init: %i) applies stablehlo.maximum across dimensions = [1] : (tensor<4x64xf32>, tensor<f32>) -> tensor<4xf32>
    return %r : tensor<4xf32>
  }
}
// CHECK-LABEL: module @maximum
// CHECK: return %arg0

// -----

// Over the axis that the broadcast made and another one.
module @sum {
  func.func @main(%x: tensor<4xf32>) -> tensor<f32> {
    %i = stablehlo.constant dense<0.0> : tensor<f32>
    %b = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<4xf32>) -> tensor<4x64xf32>
    %r = stablehlo.reduce(%b init: %i) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x64xf32>, tensor<f32>) -> tensor<f32>
    return %r : tensor<f32>
  }
}
// CHECK-LABEL: module @sum
// CHECK: [[SUM:%[^ ]+]] = stablehlo.reduce(%arg0 init: {{%[^ ]+}}) applies stablehlo.add across dimensions = [0]
// CHECK: [[COPIES:%[^ ]+]] = stablehlo.constant dense<6.400000e+01>
// CHECK: stablehlo.multiply [[SUM]], [[COPIES]]

// -----

module @dynamic {
  func.func @main(%x: tensor<?xf32>) -> tensor<4xf32> {
    %i = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %b = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<?xf32>) -> tensor<4x3xf32>
    %r = stablehlo.reduce(%b init: %i) applies stablehlo.maximum across dimensions = [1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
    return %r : tensor<4xf32>
  }
}
// CHECK-LABEL: module @dynamic
// CHECK: stablehlo.broadcast_in_dim
