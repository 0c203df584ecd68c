// What a loop has to save: the module stays as it is, and the reason is said.
//
// RUN: %hlograph opt %s --split-input-file --pass recompute_saved --explain recompute_saved 2> %t.err | filecheck %s
// RUN: filecheck %s --check-prefix=WHY < %t.err

// In a small array a stack costs less than an exponential.
// CHECK-LABEL: module @small
// CHECK: [[F:%[^:]+]]:5 = stablehlo.while
// WHY: stablehlo.while {{.*}}: left alone: all of the 3 stacks that it saves are needed: none is cheap work on the others
module @small {
  func.func @main(%h0: tensor<1x8xf32>, %w: tensor<1x8xf32>) -> (tensor<1x8xf32>, tensor<1x8xf32>) {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c1 = stablehlo.constant dense<1> : tensor<i32>
    %c3 = stablehlo.constant dense<3> : tensor<i32>
    %c4 = stablehlo.constant dense<4> : tensor<i32>
    %zeros = stablehlo.constant dense<0.0> : tensor<4x8xf32>
    %z = stablehlo.constant dense<0.0> : tensor<1x8xf32>
    %f:5 = stablehlo.while(%i = %c0, %h = %h0, %s0 = %zeros, %s1 = %zeros, %s2 = %zeros) : tensor<i32>, tensor<1x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
    cond {
      %p = stablehlo.compare LT, %i, %c4 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %e = stablehlo.exponential %h : tensor<1x8xf32>
      %s = stablehlo.sine %h : tensor<1x8xf32>
      %h1 = stablehlo.add %e, %s : tensor<1x8xf32>
      %w0 = stablehlo.dynamic_update_slice %s0, %h, %i, %c0 : (tensor<4x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
      %w1 = stablehlo.dynamic_update_slice %s1, %e, %i, %c0 : (tensor<4x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
      %w2 = stablehlo.dynamic_update_slice %s2, %s, %i, %c0 : (tensor<4x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
      %k = stablehlo.add %i, %c1 : tensor<i32>
      stablehlo.return %k, %h1, %w0, %w1, %w2 : tensor<i32>, tensor<1x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
    }
    %b:2 = stablehlo.while(%j = %c0, %g = %z) : tensor<i32>, tensor<1x8xf32>
    cond {
      %p = stablehlo.compare LT, %j, %c4 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %r = stablehlo.subtract %c3, %j : tensor<i32>
      %l0 = stablehlo.dynamic_slice %f#2, %r, %c0, sizes = [1, 8] : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
      %l1 = stablehlo.dynamic_slice %f#3, %r, %c0, sizes = [1, 8] : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
      %l2 = stablehlo.dynamic_slice %f#4, %r, %c0, sizes = [1, 8] : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
      %a = stablehlo.add %g, %l0 : tensor<1x8xf32>
      %b = stablehlo.multiply %a, %l1 : tensor<1x8xf32>
      %n = stablehlo.multiply %b, %l2 : tensor<1x8xf32>
      %k = stablehlo.add %j, %c1 : tensor<i32>
      stablehlo.return %k, %n : tensor<i32>, tensor<1x8xf32>
    }
    return %b#1, %f#1 : tensor<1x8xf32>, tensor<1x8xf32>
  }
}

// -----

// CHECK-LABEL: module @needed
// CHECK: [[F:%[^:]+]]:4 = stablehlo.while
// CHECK: stablehlo.dynamic_slice [[F]]#2
// CHECK: stablehlo.dynamic_slice [[F]]#3
// WHY: stablehlo.while {{.*}}: left alone: all of the 2 stacks that it saves are needed: none is cheap work on the others
module @needed {
  func.func @main(%h0: tensor<1x8xf32>, %w: tensor<1x8xf32>, %m: tensor<8x8xf32>) -> (tensor<1x8xf32>, tensor<1x8xf32>) {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c1 = stablehlo.constant dense<1> : tensor<i32>
    %c3 = stablehlo.constant dense<3> : tensor<i32>
    %c4 = stablehlo.constant dense<4> : tensor<i32>
    %zeros = stablehlo.constant dense<0.0> : tensor<4x8xf32>
    %z = stablehlo.constant dense<0.0> : tensor<1x8xf32>
    %f:4 = stablehlo.while(%i = %c0, %h = %h0, %s0 = %zeros, %s1 = %zeros) : tensor<i32>, tensor<1x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
    cond {
      %p = stablehlo.compare LT, %i, %c4 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %s = stablehlo.sine %h : tensor<1x8xf32>
      %d = stablehlo.dot_general %h, %m, contracting_dims = [1] x [0] : (tensor<1x8xf32>, tensor<8x8xf32>) -> tensor<1x8xf32>
      %h1 = stablehlo.add %s, %d : tensor<1x8xf32>
      %w0 = stablehlo.dynamic_update_slice %s0, %s, %i, %c0 : (tensor<4x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
      %w1 = stablehlo.dynamic_update_slice %s1, %d, %i, %c0 : (tensor<4x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
      %k = stablehlo.add %i, %c1 : tensor<i32>
      stablehlo.return %k, %h1, %w0, %w1 : tensor<i32>, tensor<1x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
    }
    %b:2 = stablehlo.while(%j = %c0, %g = %z) : tensor<i32>, tensor<1x8xf32>
    cond {
      %p = stablehlo.compare LT, %j, %c4 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %r = stablehlo.subtract %c3, %j : tensor<i32>
      %l0 = stablehlo.dynamic_slice %f#2, %r, %c0, sizes = [1, 8] : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
      %l1 = stablehlo.dynamic_slice %f#3, %r, %c0, sizes = [1, 8] : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
      %a = stablehlo.add %g, %l0 : tensor<1x8xf32>
      %n = stablehlo.multiply %a, %l1 : tensor<1x8xf32>
      %k = stablehlo.add %j, %c1 : tensor<i32>
      stablehlo.return %k, %n : tensor<i32>, tensor<1x8xf32>
    }
    return %b#1, %f#1 : tensor<1x8xf32>, tensor<1x8xf32>
  }
}

// -----

// CHECK-LABEL: module @returned
// CHECK: [[F:%[^:]+]]:4 = stablehlo.while
// WHY: stablehlo.while {{.*}}: left alone: all that it saves is also used in another way than row by row in one later loop
module @returned {
  func.func @main(%h0: tensor<1x8xf32>, %w: tensor<1x8xf32>) -> (tensor<1x8xf32>, tensor<1x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c1 = stablehlo.constant dense<1> : tensor<i32>
    %c3 = stablehlo.constant dense<3> : tensor<i32>
    %c4 = stablehlo.constant dense<4> : tensor<i32>
    %zeros = stablehlo.constant dense<0.0> : tensor<4x8xf32>
    %z = stablehlo.constant dense<0.0> : tensor<1x8xf32>
    %f:4 = stablehlo.while(%i = %c0, %h = %h0, %s0 = %zeros, %s1 = %zeros) : tensor<i32>, tensor<1x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
    cond {
      %p = stablehlo.compare LT, %i, %c4 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %s = stablehlo.sine %h : tensor<1x8xf32>
      %h1 = stablehlo.negate %s : tensor<1x8xf32>
      %w0 = stablehlo.dynamic_update_slice %s0, %s, %i, %c0 : (tensor<4x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
      %w1 = stablehlo.dynamic_update_slice %s1, %h1, %i, %c0 : (tensor<4x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
      %k = stablehlo.add %i, %c1 : tensor<i32>
      stablehlo.return %k, %h1, %w0, %w1 : tensor<i32>, tensor<1x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
    }
    %b:2 = stablehlo.while(%j = %c0, %g = %z) : tensor<i32>, tensor<1x8xf32>
    cond {
      %p = stablehlo.compare LT, %j, %c4 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %r = stablehlo.subtract %c3, %j : tensor<i32>
      %l0 = stablehlo.dynamic_slice %f#2, %r, %c0, sizes = [1, 8] : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
      %l1 = stablehlo.dynamic_slice %f#3, %r, %c0, sizes = [1, 8] : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
      %a = stablehlo.add %g, %l0 : tensor<1x8xf32>
      %n = stablehlo.multiply %a, %l1 : tensor<1x8xf32>
      %k = stablehlo.add %j, %c1 : tensor<i32>
      stablehlo.return %k, %n : tensor<i32>, tensor<1x8xf32>
    }
    return %b#1, %f#1, %f#2, %f#3 : tensor<1x8xf32>, tensor<1x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
  }
}

// -----

// A row that is the same at every step.
// CHECK-LABEL: module @no_steps
// CHECK: [[F:%[^:]+]]:4 = stablehlo.while
// WHY: stablehlo.while {{.*}}: left alone: no later loop reads row by row what it saves
module @no_steps {
  func.func @main(%h0: tensor<1x8xf32>, %w: tensor<1x8xf32>) -> (tensor<1x8xf32>, tensor<1x8xf32>) {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c1 = stablehlo.constant dense<1> : tensor<i32>
    %c3 = stablehlo.constant dense<3> : tensor<i32>
    %c4 = stablehlo.constant dense<4> : tensor<i32>
    %zeros = stablehlo.constant dense<0.0> : tensor<4x8xf32>
    %z = stablehlo.constant dense<0.0> : tensor<1x8xf32>
    %f:4 = stablehlo.while(%i = %c0, %h = %h0, %s0 = %zeros, %s1 = %zeros) : tensor<i32>, tensor<1x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
    cond {
      %p = stablehlo.compare LT, %i, %c4 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %s = stablehlo.sine %h : tensor<1x8xf32>
      %h1 = stablehlo.negate %s : tensor<1x8xf32>
      %w0 = stablehlo.dynamic_update_slice %s0, %s, %i, %c0 : (tensor<4x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
      %w1 = stablehlo.dynamic_update_slice %s1, %h1, %i, %c0 : (tensor<4x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
      %k = stablehlo.add %i, %c1 : tensor<i32>
      stablehlo.return %k, %h1, %w0, %w1 : tensor<i32>, tensor<1x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
    }
    %b:2 = stablehlo.while(%j = %c0, %g = %z) : tensor<i32>, tensor<1x8xf32>
    cond {
      %p = stablehlo.compare LT, %j, %c4 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %r = stablehlo.subtract %c3, %j : tensor<i32>
      %l0 = stablehlo.dynamic_slice %f#2, %c3, %c0, sizes = [1, 8] : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
      %l1 = stablehlo.dynamic_slice %f#3, %c3, %c0, sizes = [1, 8] : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
      %a = stablehlo.add %g, %l0 : tensor<1x8xf32>
      %n = stablehlo.multiply %a, %l1 : tensor<1x8xf32>
      %k = stablehlo.add %j, %c1 : tensor<i32>
      stablehlo.return %k, %n : tensor<i32>, tensor<1x8xf32>
    }
    return %b#1, %f#1 : tensor<1x8xf32>, tensor<1x8xf32>
  }
}

// -----

// CHECK-LABEL: module @count
// CHECK: [[F:%[^:]+]]:4 = stablehlo.while
// WHY: stablehlo.while {{.*}}: left alone: the number of its steps is not known: its condition does not compare a counter with a constant
module @count {
  func.func @main(%h0: tensor<1x8xf32>, %w: tensor<1x8xf32>, %count: tensor<i32>) -> (tensor<1x8xf32>, tensor<1x8xf32>) {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c1 = stablehlo.constant dense<1> : tensor<i32>
    %c3 = stablehlo.constant dense<3> : tensor<i32>
    %c4 = stablehlo.constant dense<4> : tensor<i32>
    %zeros = stablehlo.constant dense<0.0> : tensor<4x8xf32>
    %z = stablehlo.constant dense<0.0> : tensor<1x8xf32>
    %f:4 = stablehlo.while(%i = %c0, %h = %h0, %s0 = %zeros, %s1 = %zeros) : tensor<i32>, tensor<1x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
    cond {
      %p = stablehlo.compare LT, %i, %count : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %s = stablehlo.sine %h : tensor<1x8xf32>
      %h1 = stablehlo.negate %s : tensor<1x8xf32>
      %w0 = stablehlo.dynamic_update_slice %s0, %s, %i, %c0 : (tensor<4x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
      %w1 = stablehlo.dynamic_update_slice %s1, %h1, %i, %c0 : (tensor<4x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
      %k = stablehlo.add %i, %c1 : tensor<i32>
      stablehlo.return %k, %h1, %w0, %w1 : tensor<i32>, tensor<1x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
    }
    %b:2 = stablehlo.while(%j = %c0, %g = %z) : tensor<i32>, tensor<1x8xf32>
    cond {
      %p = stablehlo.compare LT, %j, %c4 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %r = stablehlo.subtract %c3, %j : tensor<i32>
      %l0 = stablehlo.dynamic_slice %f#2, %r, %c0, sizes = [1, 8] : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
      %l1 = stablehlo.dynamic_slice %f#3, %r, %c0, sizes = [1, 8] : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
      %a = stablehlo.add %g, %l0 : tensor<1x8xf32>
      %n = stablehlo.multiply %a, %l1 : tensor<1x8xf32>
      %k = stablehlo.add %j, %c1 : tensor<i32>
      stablehlo.return %k, %n : tensor<i32>, tensor<1x8xf32>
    }
    return %b#1, %f#1 : tensor<1x8xf32>, tensor<1x8xf32>
  }
}
