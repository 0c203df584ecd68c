// reassociate=false keeps every bit: a sum stays, a maximum moves.
//
// RUN: %hlograph opt %s --split-input-file --pass 'sink_reductions{reassociate=false}' --explain sink_reductions 2> %t.err | filecheck %s
// RUN: filecheck %s --check-prefix=WHY < %t.err

// WHY: left alone: stack 2: the whole stack is needed: stablehlo.reduce in another order rounds differently, and reassociate=false is asked for
// CHECK-LABEL: module @rounding
// CHECK: dynamic_update_slice
module @rounding {
  func.func @main(%h0: tensor<4xf32>, %data: tensor<8x4xf32>) -> (tensor<f32>, tensor<4xf32>) {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c1 = stablehlo.constant dense<1> : tensor<i32>
    %c8 = stablehlo.constant dense<8> : tensor<i32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %zeros = stablehlo.constant dense<0.0> : tensor<8x4xf32>
    %r:3 = stablehlo.while(%i = %c0, %h = %h0, %ys = %zeros) : tensor<i32>, tensor<4xf32>, tensor<8x4xf32>
    cond {
      %p = stablehlo.compare LT, %i, %c8 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %h1 = stablehlo.tanh %h : tensor<4xf32>
      %row = stablehlo.reshape %h1 : (tensor<4xf32>) -> tensor<1x4xf32>
      %ys1 = stablehlo.dynamic_update_slice %ys, %row, %i, %c0 : (tensor<8x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<8x4xf32>
      %i1 = stablehlo.add %i, %c1 : tensor<i32>
      stablehlo.return %i1, %h1, %ys1 : tensor<i32>, tensor<4xf32>, tensor<8x4xf32>
    }
    %s = stablehlo.reduce(%r#2 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<f32>
    %m = stablehlo.reduce(%r#2 init: %low) applies stablehlo.maximum across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
    return %s, %m : tensor<f32>, tensor<4xf32>
  }
}

// -----

// CHECK-LABEL: module @exact
// CHECK: stablehlo.maximum
// CHECK-NOT: dynamic_update_slice
module @exact {
  func.func @main(%h0: tensor<4xf32>, %data: tensor<8x4xf32>) -> (tensor<4xf32>) {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c1 = stablehlo.constant dense<1> : tensor<i32>
    %c8 = stablehlo.constant dense<8> : tensor<i32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %zeros = stablehlo.constant dense<0.0> : tensor<8x4xf32>
    %r:3 = stablehlo.while(%i = %c0, %h = %h0, %ys = %zeros) : tensor<i32>, tensor<4xf32>, tensor<8x4xf32>
    cond {
      %p = stablehlo.compare LT, %i, %c8 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %h1 = stablehlo.tanh %h : tensor<4xf32>
      %row = stablehlo.reshape %h1 : (tensor<4xf32>) -> tensor<1x4xf32>
      %ys1 = stablehlo.dynamic_update_slice %ys, %row, %i, %c0 : (tensor<8x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<8x4xf32>
      %i1 = stablehlo.add %i, %c1 : tensor<i32>
      stablehlo.return %i1, %h1, %ys1 : tensor<i32>, tensor<4xf32>, tensor<8x4xf32>
    }
    %m = stablehlo.reduce(%r#2 init: %low) applies stablehlo.maximum across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
    return %m : tensor<4xf32>
  }
}
