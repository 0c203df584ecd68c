// A sum of a counter with itself, or with what is computed of it alone, becomes a difference; other sums stay.
//
// RUN: %hlograph opt %s --split-input-file --pass doubled_counters | filecheck %s

// CHECK-LABEL: module @counter
// CHECK: do {
// CHECK: [[M:%[^ ]+]] = stablehlo.negate [[I:%[^ ]+]] : tensor<i64>
// CHECK-NEXT: [[N:%[^ ]+]] = stablehlo.subtract [[I]], [[M]] : tensor<i64>
// CHECK-NEXT: stablehlo.return [[N]]
module @counter {
  func.func public @main(%x: tensor<?xf32> {hlograph.dims = ["n"]}) -> tensor<i64> {
    %size = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
    %limit = stablehlo.convert %size : (tensor<i32>) -> tensor<i64>
    %one = stablehlo.constant dense<1> : tensor<i64>
    %r = stablehlo.while(%i = %one) : tensor<i64>
     cond {
      %c = stablehlo.compare LT, %i, %limit : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %n = stablehlo.add %i, %i : tensor<i64>
      stablehlo.return %n : tensor<i64>
    }
    return %r : tensor<i64>
  }
}

// -----

// Steps by a constant, sums of two carries, of floats and of more elements stay.

// CHECK-LABEL: module @others
// CHECK-NOT: stablehlo.subtract
module @others {
  func.func public @main(%a: tensor<i64>, %b: tensor<f32>, %v: tensor<2xi64>) -> (tensor<i64>, tensor<i64>, tensor<f32>, tensor<2xi64>) {
    %zero = stablehlo.constant dense<0> : tensor<i64>
    %limit = stablehlo.constant dense<9> : tensor<i64>
    %outside = stablehlo.add %a, %a : tensor<i64>
    %r:4 = stablehlo.while(%i = %zero, %s = %outside, %f = %b, %w = %v) : tensor<i64>, tensor<i64>, tensor<f32>, tensor<2xi64>
     cond {
      %c = stablehlo.compare LT, %i, %limit : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i64>
      %n = stablehlo.add %i, %one : tensor<i64>
      %t = stablehlo.add %s, %i : tensor<i64>
      %g = stablehlo.add %f, %f : tensor<f32>
      %u = stablehlo.add %w, %w : tensor<2xi64>
      stablehlo.return %n, %t, %g, %u : tensor<i64>, tensor<i64>, tensor<f32>, tensor<2xi64>
    }
    return %r#0, %r#1, %r#2, %r#3 : tensor<i64>, tensor<i64>, tensor<f32>, tensor<2xi64>
  }
}
