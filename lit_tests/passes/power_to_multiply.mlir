// Powers with small whole exponents are multiplications.
//
// RUN: %hlograph opt %s --split-input-file --pass power_to_multiply --explain power_to_multiply 2>&1 | filecheck %s

// CHECK-COUNT-5: power_to_multiply: {{.*}}: rewritten
// CHECK-NEXT: power_to_multiply: {{.*}}: left alone: {{.*}} has a dynamic dimension (specialize the program first)

module @square {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %s = stablehlo.constant dense<2.0> : tensor<f32>
    %c = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %p = stablehlo.power %x, %c : tensor<4xf32>
    return %p : tensor<4xf32>
  }
}
// CHECK-LABEL: module @square
// CHECK: stablehlo.multiply %arg0, %arg0

// -----

module @seventh {
  func.func @main(%x: tensor<4xi32>) -> tensor<4xi32> {
    %c = stablehlo.constant dense<7> : tensor<4xi32>
    %p = stablehlo.power %x, %c : tensor<4xi32>
    return %p : tensor<4xi32>
  }
}
// CHECK-LABEL: module @seventh
// CHECK: [[TWO:%[^ ]+]] = stablehlo.multiply %arg0, %arg0
// CHECK: [[THREE:%[^ ]+]] = stablehlo.multiply %arg0, [[TWO]]
// CHECK: [[FOUR:%[^ ]+]] = stablehlo.multiply [[TWO]], [[TWO]]
// CHECK: stablehlo.multiply [[THREE]], [[FOUR]]

// -----

// The power of the reciprocal: the reciprocal of the power may overflow where the result does not.
module @inverse_square {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %c = stablehlo.constant dense<-2.0> : tensor<4xf32>
    %p = stablehlo.power %x, %c : tensor<4xf32>
    return %p : tensor<4xf32>
  }
}
// CHECK-LABEL: module @inverse_square
// CHECK: [[INVERSE:%[^ ]+]] = stablehlo.divide {{%[^ ]+}}, %arg0
// CHECK: stablehlo.multiply [[INVERSE]], [[INVERSE]]

// -----

// With inf for -0.0 and 0 for -inf, as power has it.
module @inverse_root {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %c = stablehlo.constant dense<-0.5> : tensor<4xf32>
    %p = stablehlo.power %x, %c : tensor<4xf32>
    return %p : tensor<4xf32>
  }
}
// CHECK-LABEL: module @inverse_root
// CHECK: [[ROOT:%[^ ]+]] = stablehlo.sqrt %arg0
// CHECK: [[SIZE:%[^ ]+]] = stablehlo.abs [[ROOT]]
// CHECK: stablehlo.divide {{%[^ ]+}}, [[SIZE]]
// CHECK: stablehlo.select

// -----

// A power of the square root; the exponent is the difference of two constants.
module @half {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %a = stablehlo.constant dense<2.5> : tensor<f32>
    %b = stablehlo.constant dense<1.0> : tensor<f32>
    %e = stablehlo.subtract %a, %b : tensor<f32>
    %c = stablehlo.broadcast_in_dim %e, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %p = stablehlo.power %x, %c : tensor<4xf32>
    return %p : tensor<4xf32>
  }
}
// CHECK-LABEL: module @half
// CHECK: [[ROOT:%[^ ]+]] = stablehlo.sqrt %arg0
// CHECK: [[SIZE:%[^ ]+]] = stablehlo.abs [[ROOT]]
// CHECK: [[SQUARE:%[^ ]+]] = stablehlo.multiply [[SIZE]], [[SIZE]]
// CHECK: stablehlo.multiply [[SIZE]], [[SQUARE]]
// CHECK: stablehlo.select

// -----

// The shape of the exponent is not known, so that it is no constant.
module @dynamic {
  func.func @main(%x: tensor<?xf32>, %n: tensor<1xi32>) -> tensor<?xf32> {
    %s = stablehlo.constant dense<2.0> : tensor<f32>
    %c = stablehlo.dynamic_broadcast_in_dim %s, %n, dims = [] : (tensor<f32>, tensor<1xi32>) -> tensor<?xf32>
    %p = stablehlo.power %x, %c : tensor<?xf32>
    return %p : tensor<?xf32>
  }
}
// CHECK-LABEL: module @dynamic
// CHECK: stablehlo.power
