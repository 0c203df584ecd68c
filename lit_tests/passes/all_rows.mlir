// Sums over fewer rows that need a branch become sums over all rows again; other branches stay.
//
// RUN: %hlograph opt %s --split-input-file --pass 'compress_rows{rows=32}' --pass all_rows | filecheck %s

// CHECK-LABEL: module @squares
// CHECK-NOT: stablehlo.if
// CHECK-NOT: tensor<2xf64>
// CHECK: [[R:%[^ ]+]] = stablehlo.subtract {{.*}} : tensor<64xf64>
// CHECK: [[Q:%[^ ]+]] = stablehlo.multiply [[R]], [[R]] : tensor<64xf64>
// CHECK: [[S:%[^ ]+]] = stablehlo.reduce([[Q]] init: %cst{{.*}}) applies stablehlo.add
// CHECK-NOT: stablehlo.is_finite
// CHECK: return [[S]]
module @squares {
  func.func @main(%m: tensor<f64>) -> tensor<f64> {
    %zero = stablehlo.constant dense<0.0> : tensor<f64>
    %y = stablehlo.iota dim = 0 : tensor<64xf64>
    %b = stablehlo.broadcast_in_dim %m, dims = [] : (tensor<f64>) -> tensor<64xf64>
    %r = stablehlo.subtract %y, %b : tensor<64xf64>
    %q = stablehlo.multiply %r, %r : tensor<64xf64>
    %s = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<64xf64>, tensor<f64>) -> tensor<f64>
    return %s : tensor<f64>
  }
}

// -----

// CHECK-LABEL: module @chosen
// CHECK: stablehlo.if
module @chosen {
  func.func @main(%c: tensor<i1>, %x: tensor<?xf64>) -> tensor<?xf64> {
    %s = "stablehlo.if"(%c) ({
      stablehlo.return %x : tensor<?xf64>
    }, {
      %n = stablehlo.negate %x : tensor<?xf64>
      stablehlo.return %n : tensor<?xf64>
    }) : (tensor<i1>) -> tensor<?xf64>
    return %s : tensor<?xf64>
  }
}
