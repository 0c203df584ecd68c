// What keeps elementwise work out of the loop that reads it: the module stays as it is, and the reason is said.
//
// RUN: %hlograph opt %s --split-input-file --pass work_into_loops --explain work_into_loops 2> %t.err | filecheck %s
// RUN: filecheck %s --check-prefix=WHY < %t.err

// CHECK-LABEL: module @whole
// CHECK: stablehlo.subtract %arg0, %arg1 : tensor<4x8xf32>
// WHY: stablehlo.subtract {{.*}}: left alone: the whole array is used by func.return
module @whole {
  func.func @main(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> (tensor<1x8xf32>, tensor<4x8xf32>) {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c1 = stablehlo.constant dense<1> : tensor<i32>
    %c4 = stablehlo.constant dense<4> : tensor<i32>
    %zeros = stablehlo.constant dense<0.0> : tensor<1x8xf32>
    %d = stablehlo.subtract %x, %y : tensor<4x8xf32>
    %0:2 = stablehlo.while(%i = %c0, %g = %zeros) : tensor<i32>, tensor<1x8xf32>
    cond {
      %q = stablehlo.compare LT, %i, %c4 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %q : tensor<i1>
    } do {
      %r = stablehlo.dynamic_slice %d, %i, %c0, sizes = [1, 8] : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
      %h = stablehlo.multiply %g, %r : tensor<1x8xf32>
      %k = stablehlo.add %i, %c1 : tensor<i32>
      stablehlo.return %k, %h : tensor<i32>, tensor<1x8xf32>
    }
    return %0#1, %d : tensor<1x8xf32>, tensor<4x8xf32>
  }
}

// -----

// CHECK-LABEL: module @again
// CHECK: stablehlo.exponential %arg0 : tensor<512x4096xf32>
// WHY: stablehlo.exponential {{.*}}: left alone: what makes it is used elsewhere too, or is read more than once, and is expensive to do again
module @again {
  func.func @main(%x: tensor<512x4096xf32>) -> tensor<1x4096xf32> {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c1 = stablehlo.constant dense<1> : tensor<i32>
    %many = stablehlo.constant dense<4096> : tensor<i32>
    %c511 = stablehlo.constant dense<511> : tensor<i32>
    %zeros = stablehlo.constant dense<0.0> : tensor<1x4096xf32>
    %d = stablehlo.exponential %x : tensor<512x4096xf32>
    %0:2 = stablehlo.while(%i = %c0, %g = %zeros) : tensor<i32>, tensor<1x4096xf32>
    cond {
      %q = stablehlo.compare LT, %i, %many : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %q : tensor<i1>
    } do {
      %j = stablehlo.and %i, %c511 : tensor<i32>
      %r = stablehlo.dynamic_slice %d, %j, %c0, sizes = [1, 4096] : (tensor<512x4096xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4096xf32>
      %h = stablehlo.multiply %g, %r : tensor<1x4096xf32>
      %k = stablehlo.add %i, %c1 : tensor<i32>
      stablehlo.return %k, %h : tensor<i32>, tensor<1x4096xf32>
    }
    return %0#1 : tensor<1x4096xf32>
  }
}

// -----

// CHECK-LABEL: module @memory
// CHECK: stablehlo.negate {{.*}} : tensor<4x8xf32>
// WHY: stablehlo.negate {{.*}}: left alone: what it is made from is not kept otherwise and takes as much memory (128 bytes)
module @memory {
  func.func @main(%x: tensor<4x3xf32>, %y: tensor<3x8xf32>) -> tensor<1x8xf32> {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c1 = stablehlo.constant dense<1> : tensor<i32>
    %c4 = stablehlo.constant dense<4> : tensor<i32>
    %zeros = stablehlo.constant dense<0.0> : tensor<1x8xf32>
    %m = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<4x3xf32>, tensor<3x8xf32>) -> tensor<4x8xf32>
    %d = stablehlo.negate %m : tensor<4x8xf32>
    %0:2 = stablehlo.while(%i = %c0, %g = %zeros) : tensor<i32>, tensor<1x8xf32>
    cond {
      %q = stablehlo.compare LT, %i, %c4 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %q : tensor<i1>
    } do {
      %r = stablehlo.dynamic_slice %d, %i, %c0, sizes = [1, 8] : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
      %h = stablehlo.multiply %g, %r : tensor<1x8xf32>
      %k = stablehlo.add %i, %c1 : tensor<i32>
      stablehlo.return %k, %h : tensor<i32>, tensor<1x8xf32>
    }
    return %0#1 : tensor<1x8xf32>
  }
}
