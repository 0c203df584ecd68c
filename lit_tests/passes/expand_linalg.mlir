// Factorizations as loops, one column or row a step, and transforms as products, for the reference interpreter.
//
// RUN: %hlograph opt %s --split-input-file --pass expand_linalg | filecheck %s
// RUN: sed 's/3x3xf64/?x?xf64/g' %s | not %hlograph opt - --split-input-file --pass expand_linalg 2>&1 | filecheck %s --check-prefix=OPEN
// OPEN: expand_linalg needs static shapes; specialize first

// CHECK-LABEL: module @cholesky
// CHECK: call @cholesky_expanded(%arg0) : (tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: func.func private @cholesky_expanded(%arg0: tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[END:%[^ ]+]] = stablehlo.constant dense<3> : tensor<i64>
// CHECK: stablehlo.while({{.*}}) : tensor<i64>, tensor<3x3xf64>
// CHECK: stablehlo.compare LT, %iterArg{{.*}}, [[END]]
// CHECK: stablehlo.sqrt {{.*}} : tensor<1x1xf64>
// CHECK-NOT: stablehlo.cholesky
module @cholesky {
  func.func @main(%arg0: tensor<3x3xf64>) -> tensor<3x3xf64> {
    %0 = stablehlo.cholesky %arg0, lower = true : tensor<3x3xf64>
    return %0 : tensor<3x3xf64>
  }
}

// -----

// Batch axes stay in front.
// CHECK-LABEL: module @solve
// CHECK: call @triangular_solve_expanded(%arg0, %arg1) : (tensor<5x3x3xf64>, tensor<5x3x2xf64>) -> tensor<5x3x2xf64>
// CHECK: stablehlo.while({{.*}}) : tensor<i64>, tensor<5x3x2xf64>
// CHECK: stablehlo.dot_general {{.*}}, batching_dims = [0] x [0], contracting_dims = [2] x [1]
// CHECK: stablehlo.divide {{.*}} : tensor<5x1x2xf64>
// CHECK-NOT: stablehlo.triangular_solve
module @solve {
  func.func @main(%arg0: tensor<5x3x3xf64>, %arg1: tensor<5x3x2xf64>) -> tensor<5x3x2xf64> {
    %0 = "stablehlo.triangular_solve"(%arg0, %arg1) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<5x3x3xf64>, tensor<5x3x2xf64>) -> tensor<5x3x2xf64>
    return %0 : tensor<5x3x2xf64>
  }
}

// -----

// CHECK-LABEL: module @fft
// CHECK: func.func private @fft_expanded(%arg0: tensor<2x4xf64>) -> tensor<2x3xcomplex<f64>>
// CHECK: stablehlo.complex %arg0
// CHECK: stablehlo.dot_general {{.*}}, contracting_dims = [1] x [0]{{.*}} : (tensor<2x4xcomplex<f64>>, tensor<4x4xcomplex<f64>>)
// CHECK: stablehlo.slice {{.*}} [0:2, 0:3] : (tensor<2x4xcomplex<f64>>) -> tensor<2x3xcomplex<f64>>
// CHECK-NOT: stablehlo.fft
module @fft {
  func.func @main(%arg0: tensor<2x4xf64>) -> tensor<2x3xcomplex<f64>> {
    %0 = stablehlo.fft %arg0, type = RFFT, length = [4] : (tensor<2x4xf64>) -> tensor<2x3xcomplex<f64>>
    return %0 : tensor<2x3xcomplex<f64>>
  }
}
