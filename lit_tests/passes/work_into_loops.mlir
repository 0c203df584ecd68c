// Elementwise work on an array that a loop reads step by step moves into the loop.
//
// RUN: %hlograph opt %s --pass work_into_loops | filecheck %s
// RUN: sed 's/4x8xf32/?x8xf32/g' %s | %hlograph opt - --pass work_into_loops | filecheck %s --check-prefix=OPEN

// The cotangent of a squared error: no array of four rows is made.
// CHECK-LABEL: module @cotangent
// CHECK: stablehlo.while({{.*}}) : tensor<i32>, tensor<1x8xf32>
// CHECK: do {
// CHECK-DAG: [[Y:%[^ ]+]] = stablehlo.dynamic_slice %arg0, [[ROW:%[^ ]+]], {{.*}} -> tensor<1x8xf32>
// CHECK-DAG: [[DATA:%[^ ]+]] = stablehlo.dynamic_slice %arg1, [[ROW]], {{.*}} -> tensor<1x8xf32>
// CHECK: [[D:%[^ ]+]] = stablehlo.subtract [[Y]], [[DATA]] : tensor<1x8xf32>
// CHECK: [[CT:%[^ ]+]] = stablehlo.multiply {{%[^ ]+}}, [[D]] : tensor<1x8xf32>
// CHECK: stablehlo.add {{%[^ ]+}}, [[CT]] : tensor<1x8xf32>
// OPEN-LABEL: module @cotangent
// OPEN: stablehlo.multiply %arg2, {{.*}} : tensor<?x8xf32>
// OPEN: stablehlo.while
module @cotangent {
  func.func @main(%ys: tensor<4x8xf32>, %data: tensor<4x8xf32>, %scale: tensor<4x8xf32>) -> tensor<1x8xf32> {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c1 = stablehlo.constant dense<1> : tensor<i32>
    %c3 = stablehlo.constant dense<3> : tensor<i32>
    %c4 = stablehlo.constant dense<4> : tensor<i32>
    %zeros = stablehlo.constant dense<0.0> : tensor<1x8xf32>
    %d = stablehlo.subtract %ys, %data : tensor<4x8xf32>
    %ct = stablehlo.multiply %scale, %d : tensor<4x8xf32>
    %0:3 = stablehlo.while(%i = %c0, %g = %zeros, %a = %ct) : tensor<i32>, tensor<1x8xf32>, tensor<4x8xf32>
    cond {
      %p = stablehlo.compare LT, %i, %c4 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %j = stablehlo.subtract %c3, %i : tensor<i32>
      %r = stablehlo.dynamic_slice %a, %j, %c0, sizes = [1, 8] : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
      %h = stablehlo.add %g, %r : tensor<1x8xf32>
      %n = stablehlo.sine %h : tensor<1x8xf32>
      %k = stablehlo.add %i, %c1 : tensor<i32>
      stablehlo.return %k, %n, %a : tensor<i32>, tensor<1x8xf32>, tensor<4x8xf32>
    }
    return %0#1 : tensor<1x8xf32>
  }
}
