// Rows of data that are only added up become fewer rows with the same sums.
//
// RUN: %hlograph opt %s --split-input-file --pass 'compress_rows{rows=32}' | filecheck %s

// A row of ones and the outcome: its mean, and what is left without it, times the root of the count; the rows as they
// were are added up where the sum is not finite, or nearly overflows.
// CHECK-LABEL: module @squares
// CHECK: [[Y:%[^ ]+]] = stablehlo.constant {{.*}} : tensor<2xf64>
// CHECK: [[MEAN:%[^ ]+]] = stablehlo.multiply {{.*}} : tensor<2xf64>
// CHECK: [[R:%[^ ]+]] = stablehlo.subtract {{.*}}, [[MEAN]] : tensor<2xf64>
// CHECK: [[Q:%[^ ]+]] = stablehlo.multiply [[R]], [[R]] : tensor<2xf64>
// CHECK: [[S:%[^ ]+]] = stablehlo.reduce([[Q]] init: %cst{{.*}}) applies stablehlo.add
// CHECK: [[SIZE:%[^ ]+]] = stablehlo.abs [[S]]
// CHECK: stablehlo.constant dense<1.6349{{.*}}E+296> : tensor<f64>
// CHECK: stablehlo.compare LT, [[SIZE]]
// CHECK: stablehlo.if
// CHECK: stablehlo.return [[S]]
// CHECK: stablehlo.subtract {{.*}} : tensor<64xf64>
module @squares {
  func.func @main(%m: tensor<f64>) -> tensor<f64> {
    %zero = stablehlo.constant dense<0.0> : tensor<f64>
    %i = stablehlo.iota dim = 0 : tensor<64xi32>
    %y = stablehlo.convert %i : (tensor<64xi32>) -> tensor<64xf64>
    %o = stablehlo.constant dense<0.0> : tensor<64xf64>
    %t = stablehlo.add %o, %y : tensor<64xf64>
    %b = stablehlo.broadcast_in_dim %m, dims = [] : (tensor<f64>) -> tensor<64xf64>
    %r = stablehlo.subtract %t, %b : tensor<64xf64>
    %q = stablehlo.multiply %r, %r : tensor<64xf64>
    %s = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<64xf64>, tensor<f64>) -> tensor<f64>
    return %s : tensor<f64>
  }
}

// -----

// Two places in turn: each is looked at once, and counted.
// CHECK-LABEL: module @counted
// CHECK-NOT: 64x
// CHECK: [[E:%[^ ]+]] = stablehlo.exponential %arg0 : tensor<2xf64>
// CHECK: [[N:%[^ ]+]] = stablehlo.constant dense<3.200000e+01> : tensor<2xf64>
// CHECK: [[W:%[^ ]+]] = stablehlo.multiply [[E]], [[N]] : tensor<2xf64>
// CHECK: stablehlo.reduce([[W]]
// CHECK-NOT: stablehlo.if
module @counted {
  func.func @main(%a: tensor<2xf64>) -> tensor<f64> {
    %zero = stablehlo.constant dense<0.0> : tensor<f64>
    %i = stablehlo.iota dim = 0 : tensor<64x1xi32>
    %one = stablehlo.constant dense<1> : tensor<64x1xi32>
    %p = stablehlo.and %i, %one : tensor<64x1xi32>
    %g = "stablehlo.gather"(%a, %p) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<2xf64>, tensor<64x1xi32>) -> tensor<64xf64>
    %e = stablehlo.exponential %g : tensor<64xf64>
    %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<64xf64>, tensor<f64>) -> tensor<f64>
    return %s : tensor<f64>
  }
}

// -----

// Nothing is done where sizes are not known.
// CHECK-LABEL: module @dynamic
// CHECK: stablehlo.reduce({{.*}} (tensor<?xf64>, tensor<f64>) -> tensor<f64>
module @dynamic {
  func.func @main(%x: tensor<?xf64>) -> tensor<f64> {
    %zero = stablehlo.constant dense<0.0> : tensor<f64>
    %y = stablehlo.constant dense<1.0> : tensor<64xf64>
    %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<?xf64>, tensor<f64>) -> tensor<f64>
    return %s : tensor<f64>
  }
}
