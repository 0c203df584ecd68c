// Calls of LAPACK, and large factorizations, in StableHLO's own ops.
//
// RUN: %hlograph opt %s --split-input-file --pass portable_linalg | filecheck %s
// RUN: sed 's/9x9xf64/?x?xf64/g' %s | not %hlograph opt - --split-input-file --pass portable_linalg 2>&1 | filecheck %s --check-prefix=OPEN

// OPEN: hlograph: error: portable_linalg needs static shapes; specialize first

// A panel of 9 columns, one at a time.
// CHECK-LABEL: module @cholesky
// CHECK: call @cholesky_blocks(%arg0) : (tensor<9x9xf64>) -> tensor<9x9xf64>
// CHECK: func.func private @cholesky_blocks(%arg0: tensor<9x9xf64>) -> tensor<9x9xf64>
// CHECK: stablehlo.while({{.*}}) : tensor<i64>, tensor<9x9xf64>
// CHECK: stablehlo.dot_general {{.*}} : (tensor<9x9xf64>, tensor<{{.*}}xf64>) -> tensor<9x1xf64>
// CHECK-NOT: stablehlo.cholesky
module @cholesky {
  func.func @main(%arg0: tensor<9x9xf64>) -> tensor<9x9xf64> {
    %0 = stablehlo.cholesky %arg0, lower = true : tensor<9x9xf64>
    return %0 : tensor<9x9xf64>
  }
}

// -----

// CHECK-LABEL: module @solve
// CHECK: call @triangular_solve_blocks(%arg0, %arg1)
// CHECK: stablehlo.dot_general {{.*}} : (tensor<4x12xf64>, tensor<12x2xf64>) -> tensor<4x2xf64>
module @solve {
  func.func @main(%arg0: tensor<12x12xf64>, %arg1: tensor<12x2xf64>) -> tensor<12x2xf64> {
    %0 = "stablehlo.triangular_solve"(%arg0, %arg1) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<12x12xf64>, tensor<12x2xf64>) -> tensor<12x2xf64>
    return %0 : tensor<12x2xf64>
  }
}

// -----

// CHECK-LABEL: module @lu
// CHECK: call @getrf_portable(%arg0) : (tensor<5x5xf64>) -> (tensor<5x5xf64>, tensor<5xi32>, tensor<i32>)
// CHECK-NOT: custom_call
module @lu {
  func.func @main(%arg0: tensor<5x5xf64>) -> (tensor<5x5xf64>, tensor<5xi32>) {
    %0:3 = stablehlo.custom_call @lapack_dgetrf_ffi(%arg0) {mhlo.backend_config = {}} : (tensor<5x5xf64>) -> (tensor<5x5xf64>, tensor<5xi32>, tensor<i32>)
    return %0#0, %0#1 : tensor<5x5xf64>, tensor<5xi32>
  }
}
