// Forms that XLA:CPU is fast at. Each refusal says why.
//
// RUN: %hlograph opt %s --split-input-file --pass cpu_forms --explain cpu_forms 2>&1 | filecheck %s
// RUN: sed 's/2x2xf64/?x?xf64/g' %s | %hlograph opt - --split-input-file --pass cpu_forms | filecheck %s --check-prefix=OPEN

// CHECK: running_loop: {{.*}}: rewritten

// A running sum of columns is a loop. What rounding takes from a float64 sum is carried beside it.
module @running {
  func.func @main(%x: tensor<80x16xf64>) -> tensor<80x16xf64> {
    %z = stablehlo.constant dense<0.0> : tensor<f64>
    %s = "stablehlo.reduce_window"(%x, %z) <{window_dimensions = array<i64: 80, 1>, padding = dense<[[79, 0], [0, 0]]> : tensor<2x2xi64>}> ({
    ^bb0(%a: tensor<f64>, %b: tensor<f64>):
      %n = stablehlo.add %a, %b : tensor<f64>
      stablehlo.return %n : tensor<f64>
    }) : (tensor<80x16xf64>, tensor<f64>) -> tensor<80x16xf64>
    return %s : tensor<80x16xf64>
  }
}
// CHECK-LABEL: module @running
// CHECK: stablehlo.while
// CHECK: [[ROW:%[^ ]+]] = stablehlo.dynamic_slice %arg0
// CHECK: [[SUM:%[^ ]+]] = stablehlo.add [[OLD:%[^ ]+]], [[ROW]] : tensor<1x16xf64>
// CHECK: stablehlo.subtract [[SUM]], [[OLD]]
// CHECK: stablehlo.select
// CHECK: stablehlo.dynamic_update_slice
// CHECK-NOT: stablehlo.reduce_window

// -----

// Smaller floats are accumulated in float64.
module @narrow {
  func.func @main(%x: tensor<80x16xf16>) -> tensor<80x16xf16> {
    %z = stablehlo.constant dense<0.0> : tensor<f16>
    %s = "stablehlo.reduce_window"(%x, %z) <{window_dimensions = array<i64: 80, 1>, padding = dense<[[79, 0], [0, 0]]> : tensor<2x2xi64>}> ({
    ^bb0(%a: tensor<f16>, %b: tensor<f16>):
      %n = stablehlo.add %a, %b : tensor<f16>
      stablehlo.return %n : tensor<f16>
    }) : (tensor<80x16xf16>, tensor<f16>) -> tensor<80x16xf16>
    return %s : tensor<80x16xf16>
  }
}
// CHECK-LABEL: module @narrow
// CHECK: stablehlo.while
// CHECK: stablehlo.convert {{.*}} : (tensor<1x16xf16>) -> tensor<1x16xf64>
// CHECK: stablehlo.add {{.*}} : tensor<1x16xf64>
// CHECK: stablehlo.convert {{.*}} : (tensor<1x16xf64>) -> tensor<1x16xf16>

// -----

// A small Cholesky factor is written out.
module @cholesky {
  func.func @main(%a: tensor<2x2xf64>) -> tensor<2x2xf64> {
    %l = stablehlo.cholesky %a, lower = true : tensor<2x2xf64>
    return %l : tensor<2x2xf64>
  }
}
// OPEN-LABEL: module @cholesky
// OPEN: stablehlo.cholesky
// CHECK-LABEL: module @cholesky
// CHECK: [[FIRST:%[^ ]+]] = stablehlo.sqrt
// CHECK: stablehlo.divide {{%[^ ]+}}, [[FIRST]]
// CHECK: stablehlo.sqrt
// CHECK: stablehlo.concatenate
// CHECK: stablehlo.select

// -----

// One matrix for all of a batch is one system.
module @shared {
  func.func @main(%l: tensor<1x16x16xf64>, %b: tensor<5x16x2xf64>) -> tensor<5x16x2xf64> {
    %a = stablehlo.broadcast_in_dim %l, dims = [0, 1, 2] : (tensor<1x16x16xf64>) -> tensor<5x16x16xf64>
    %x = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<5x16x16xf64>, tensor<5x16x2xf64>) -> tensor<5x16x2xf64>
    return %x : tensor<5x16x2xf64>
  }
}
// CHECK-LABEL: module @shared
// CHECK: [[A:%[^ ]+]] = stablehlo.reshape %arg0 : (tensor<1x16x16xf64>) -> tensor<16x16xf64>
// CHECK: [[T:%[^ ]+]] = stablehlo.transpose %arg1, dims = [1, 0, 2] : (tensor<5x16x2xf64>) -> tensor<16x5x2xf64>
// CHECK: [[B:%[^ ]+]] = stablehlo.reshape [[T]] : (tensor<16x5x2xf64>) -> tensor<16x10xf64>
// CHECK: "stablehlo.triangular_solve"([[A]], [[B]])
// CHECK: stablehlo.transpose {{.*}}, dims = [1, 0, 2] : (tensor<16x5x2xf64>) -> tensor<5x16x2xf64>

// -----

// A quotient by one number is a product with its reciprocal, scaled where that would be too small.
// CHECK-LABEL: module @quotient
// CHECK: [[SCALE:%[^ ]+]] = stablehlo.select
// CHECK: [[SCALED:%[^ ]+]] = stablehlo.multiply %arg1, [[SCALE]] : tensor<f64>
// CHECK: stablehlo.divide {{%[^ ]+}}, [[SCALED]] : tensor<f64>
// CHECK-NOT: stablehlo.divide
module @quotient {
  func.func @main(%x: tensor<40xf64>, %s: tensor<f64>) -> tensor<40xf64> {
    %b = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f64>) -> tensor<40xf64>
    %q = stablehlo.divide %x, %b : tensor<40xf64>
    return %q : tensor<40xf64>
  }
}
