// A call that repeats an earlier one is dropped, unless the function has side effects.
//
// RUN: %hlograph opt %s --split-input-file --pass duplicate_calls --explain duplicate_calls 2>&1 | filecheck %s

// CHECK-COUNT-2: duplicate_calls: {{.*}}: rewritten
// CHECK-NEXT: duplicate_calls: {{.*}}: left alone: @f has side effects: stablehlo.rng
// CHECK-NEXT: duplicate_calls: {{.*}}: left alone: @f has side effects: custom_call @print
// CHECK-NEXT: duplicate_calls: {{.*}}: rewritten

// What is called with what two calls gave is the same too, once those are one.
module @pure {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %2 = call @g(%0) : (tensor<4xf32>) -> tensor<4xf32>
    %3 = call @g(%1) : (tensor<4xf32>) -> tensor<4xf32>
    %4 = stablehlo.add %2, %3 : tensor<4xf32>
    return %4 : tensor<4xf32>
  }
  func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.sine %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func private @g(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
// CHECK-LABEL: module @pure
// CHECK: [[F:%[^ ]+]] = call @f(%arg0)
// CHECK-NEXT: [[G:%[^ ]+]] = call @g([[F]])
// CHECK-NEXT: stablehlo.add [[G]], [[G]]

// -----

module @random {
  func.func @main(%a: tensor<f32>, %b: tensor<f32>) -> tensor<4xf32> {
    %0 = call @f(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<4xf32>
    %1 = call @f(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<4xf32>
    %2 = stablehlo.add %0, %1 : tensor<4xf32>
    return %2 : tensor<4xf32>
  }
  func.func private @f(%a: tensor<f32>, %b: tensor<f32>) -> tensor<4xf32> {
    %n = stablehlo.constant dense<4> : tensor<1xi64>
    %0 = stablehlo.rng %a, %b, %n, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
// CHECK-LABEL: module @random
// CHECK: call @f
// CHECK: call @f

// -----

module @prints {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %2 = stablehlo.add %0, %1 : tensor<4xf32>
    return %2 : tensor<4xf32>
  }
  func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.custom_call @print(%x) {has_side_effect = true} : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
// CHECK-LABEL: module @prints
// CHECK: call @f
// CHECK: call @f

// -----

// CHECK-LABEL: module @dynamic
// CHECK: [[F:%[^ ]+]] = call @f(%arg0)
// CHECK-NEXT: stablehlo.add [[F]], [[F]]
module @dynamic {
  func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
    %0 = call @f(%x) : (tensor<?xf32>) -> tensor<?xf32>
    %1 = call @f(%x) : (tensor<?xf32>) -> tensor<?xf32>
    %2 = stablehlo.add %0, %1 : tensor<?xf32>
    return %2 : tensor<?xf32>
  }
  func.func private @f(%x: tensor<?xf32>) -> tensor<?xf32> {
    %0 = stablehlo.sine %x : tensor<?xf32>
    return %0 : tensor<?xf32>
  }
}
