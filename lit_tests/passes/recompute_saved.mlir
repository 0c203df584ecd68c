// What a loop saves for a later loop is computed again there, where that is cheaper than to store it.
//
// RUN: %hlograph opt %s --pass recompute_saved | filecheck %s
// RUN: sed 's/4x8xf32/?x8xf32/g' %s | %hlograph opt - --pass recompute_saved | filecheck %s --check-prefix=OPEN

// y = sin(h) w + cos(h) is computed again from the sine and the cosine, which are kept.
// CHECK-LABEL: module @cheap
// CHECK: [[F:%[^:]+]]:4 = stablehlo.while
// CHECK: stablehlo.while({{.*}}) : tensor<i32>, tensor<1x8xf32>
// CHECK: do {
// CHECK-DAG: [[S:%[^ ]+]] = stablehlo.dynamic_slice [[F]]#{{.*}} -> tensor<1x8xf32>
// CHECK-DAG: [[C:%[^ ]+]] = stablehlo.dynamic_slice [[F]]#{{.*}} -> tensor<1x8xf32>
// CHECK: [[P:%[^ ]+]] = stablehlo.multiply {{%[^ ]+}}, %arg1 : tensor<1x8xf32>
// CHECK: [[Y:%[^ ]+]] = stablehlo.add [[P]], {{%[^ ]+}} : tensor<1x8xf32>
// OPEN-LABEL: module @cheap
// OPEN: [[F:%[^:]+]]:5 = stablehlo.while
// OPEN-COUNT-3: stablehlo.dynamic_slice [[F]]#
module @cheap {
  func.func @main(%h0: tensor<1x8xf32>, %w: tensor<1x8xf32>, %zeros: tensor<4x8xf32>) -> (tensor<1x8xf32>, tensor<1x8xf32>) {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c1 = stablehlo.constant dense<1> : tensor<i32>
    %c3 = stablehlo.constant dense<3> : tensor<i32>
    %c4 = stablehlo.constant dense<4> : tensor<i32>
    %z = stablehlo.constant dense<0.0> : tensor<1x8xf32>
    %f:5 = stablehlo.while(%i = %c0, %h = %h0, %s0 = %zeros, %s1 = %zeros, %s2 = %zeros) : tensor<i32>, tensor<1x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
    cond {
      %p = stablehlo.compare LT, %i, %c4 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %s = stablehlo.sine %h : tensor<1x8xf32>
      %c = stablehlo.cosine %h : tensor<1x8xf32>
      %p = stablehlo.multiply %s, %w : tensor<1x8xf32>
      %h1 = stablehlo.add %p, %c : tensor<1x8xf32>
      %w0 = stablehlo.dynamic_update_slice %s0, %h1, %i, %c0 : (tensor<4x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
      %w1 = stablehlo.dynamic_update_slice %s1, %s, %i, %c0 : (tensor<4x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
      %w2 = stablehlo.dynamic_update_slice %s2, %c, %i, %c0 : (tensor<4x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
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
      %e = stablehlo.multiply %a, %l1 : tensor<1x8xf32>
      %n = stablehlo.multiply %e, %l2 : tensor<1x8xf32>
      %k = stablehlo.add %j, %c1 : tensor<i32>
      stablehlo.return %k, %n : tensor<i32>, tensor<1x8xf32>
    }
    return %b#1, %f#1 : tensor<1x8xf32>, tensor<1x8xf32>
  }
}
