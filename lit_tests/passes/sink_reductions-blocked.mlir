// Why a stack stays.
//
// RUN: %hlograph opt %s --split-input-file --pass sink_reductions --explain sink_reductions 2> %t.err | filecheck %s
// RUN: filecheck %s --check-prefix=WHY < %t.err

// CHECK-LABEL: module @returned
// CHECK: dynamic_update_slice
// WHY: stablehlo.while {{.*}}: left alone: stack 2: the whole stack is needed: it is returned
module @returned {
  func.func @main(%h0: tensor<4xf32>, %data: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<f32>) {
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
    return %r#2, %s : tensor<8x4xf32>, tensor<f32>
  }
}

// -----

// CHECK-LABEL: module @part
// CHECK: dynamic_update_slice
// WHY: stablehlo.while {{.*}}: left alone: stack 2: the whole stack is needed: stablehlo.slice takes a part of the steps
module @part {
  func.func @main(%h0: tensor<4xf32>, %data: tensor<8x4xf32>) -> (tensor<f32>) {
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
    %t = stablehlo.slice %r#2 [1:8, 0:4] : (tensor<8x4xf32>) -> tensor<7x4xf32>
    %s = stablehlo.reduce(%t init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<7x4xf32>, tensor<f32>) -> tensor<f32>
    return %s : tensor<f32>
  }
}

// -----

// CHECK-LABEL: module @last_state
// CHECK: dynamic_update_slice
// WHY: stablehlo.while {{.*}}: left alone: stack 2: the whole stack is needed: stablehlo.multiply combines it with another result of the loop
module @last_state {
  func.func @main(%h0: tensor<4xf32>, %data: tensor<8x4xf32>) -> (tensor<f32>) {
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
    %b = stablehlo.broadcast_in_dim %r#1, dims = [1] : (tensor<4xf32>) -> tensor<8x4xf32>
    %d = stablehlo.subtract %data, %b : tensor<8x4xf32>
    %q = stablehlo.multiply %r#2, %d : tensor<8x4xf32>
    %s = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<f32>
    return %s : tensor<f32>
  }
}

// -----

// CHECK-LABEL: module @own_sum
// CHECK: dynamic_update_slice
// WHY: stablehlo.while {{.*}}: left alone: stack 2: the whole stack is needed: it is compared with a reduction of itself in a way that is not known
module @own_sum {
  func.func @main(%h0: tensor<4xf32>, %data: tensor<8x4xf32>) -> (tensor<f32>) {
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
    %m = stablehlo.reduce(%r#2 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
    %b = stablehlo.broadcast_in_dim %m, dims = [1] : (tensor<4xf32>) -> tensor<8x4xf32>
    %d = stablehlo.subtract %r#2, %b : tensor<8x4xf32>
    %q = stablehlo.abs %d : tensor<8x4xf32>
    %s = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<f32>
    return %s : tensor<f32>
  }
}

// -----

// CHECK-LABEL: module @no_monoid
// CHECK: dynamic_update_slice
// WHY: stablehlo.while {{.*}}: left alone: stack 2: the whole stack is needed: it combines elements with stablehlo.subtract, which is no monoid that is known
module @no_monoid {
  func.func @main(%h0: tensor<4xf32>, %data: tensor<8x4xf32>) -> (tensor<f32>) {
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
    %s = stablehlo.reduce(%r#2 init: %zero) across dimensions = [0, 1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<f32>
      reducer(%a: tensor<f32>, %b: tensor<f32>) {
        %t = stablehlo.subtract %a, %b : tensor<f32>
        stablehlo.return %t : tensor<f32>
      }
    return %s : tensor<f32>
  }
}

// -----

// CHECK-LABEL: module @unknown_end
// CHECK: dynamic_update_slice
// WHY: stablehlo.while {{.*}}: left alone: the number of its steps is not known: its condition does not compare a counter with a constant
module @unknown_end {
  func.func @main(%h0: tensor<4xf32>, %data: tensor<8x4xf32>, %n: tensor<i32>) -> (tensor<f32>) {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c1 = stablehlo.constant dense<1> : tensor<i32>
    %c8 = stablehlo.constant dense<8> : tensor<i32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %zeros = stablehlo.constant dense<0.0> : tensor<8x4xf32>
    %r:3 = stablehlo.while(%i = %c0, %h = %h0, %ys = %zeros) : tensor<i32>, tensor<4xf32>, tensor<8x4xf32>
    cond {
      %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %h1 = stablehlo.tanh %h : tensor<4xf32>
      %row = stablehlo.reshape %h1 : (tensor<4xf32>) -> tensor<1x4xf32>
      %ys1 = stablehlo.dynamic_update_slice %ys, %row, %i, %c0 : (tensor<8x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<8x4xf32>
      %i1 = stablehlo.add %i, %c1 : tensor<i32>
      stablehlo.return %i1, %h1, %ys1 : tensor<i32>, tensor<4xf32>, tensor<8x4xf32>
    }
    %s = stablehlo.reduce(%r#2 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<f32>
    return %s : tensor<f32>
  }
}

// -----

// What a reduction of pairs over other axes leaves is no single thinner stack.
// CHECK-LABEL: module @pairs
// CHECK: dynamic_update_slice
// WHY: stablehlo.while {{.*}}: left alone: stack 2: the whole stack is needed: a reduction of several arrays over other axes gives several results
module @pairs {
  func.func @main(%h0: tensor<4xf32>, %t: tensor<8x4xf32>) -> (tensor<f32>, tensor<f32>) {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c1 = stablehlo.constant dense<1> : tensor<i32>
    %c8 = stablehlo.constant dense<8> : tensor<i32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
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
    %m:2 = stablehlo.reduce(%r#2 init: %zero), (%t init: %zero) across dimensions = [1] : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<f32>, tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>)
     reducer(%a: tensor<f32>, %b: tensor<f32>) (%u: tensor<f32>, %v: tensor<f32>) {
      %p = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %x = stablehlo.select %p, %a, %b : tensor<i1>, tensor<f32>
      %y = stablehlo.select %p, %u, %v : tensor<i1>, tensor<f32>
      stablehlo.return %x, %y : tensor<f32>, tensor<f32>
    }
    %s = stablehlo.reduce(%m#0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
    %q = stablehlo.reduce(%m#1 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
    return %s, %q : tensor<f32>, tensor<f32>
  }
}
