// Factorizations become calls of the platform's library; what JAX has no library for stays as it is.
//
// RUN: %hlograph opt %s --split-input-file --pass device_linalg | filecheck %s --check-prefixes=CHECK,CPU
// RUN: %hlograph opt %s --split-input-file --pass 'device_linalg{platform=cuda}' | filecheck %s --check-prefixes=CHECK,CUDA
// RUN: sed 's/8x8xf64/?x?xf64/g' %s | not %hlograph opt - --split-input-file --pass device_linalg 2>&1 | filecheck %s --check-prefix=OPEN

// OPEN: hlograph: error: device_linalg needs static shapes; specialize first

// One function for equal calls, its result type the op's.
// CHECK-LABEL: module @cholesky
// CPU: [[L:%[^ ]+]] = call @cholesky_cpu(%arg0) : (tensor<8x8xf64>) -> tensor<8x8xf64>
// CPU-NEXT: [[M:%[^ ]+]] = call @cholesky_cpu([[L]]) : (tensor<8x8xf64>) -> tensor<8x8xf64>
// CPU-NEXT: return [[M]]
// CPU: func.func private @cholesky_cpu(%arg0: tensor<8x8xf64>) -> tensor<8x8xf64>
// CPU: stablehlo.custom_call @lapack_dpotrf_ffi(%arg0) {{.*}}uplo = 76
// CPU-NOT: func.func
// CUDA: call @cholesky_cuda(%arg0) : (tensor<8x8xf64>) -> tensor<8x8xf64>
// CUDA: stablehlo.custom_call @cusolver_potrf_ffi(%arg0) {{.*}}lower = true
module @cholesky {
  func.func @main(%arg0: tensor<8x8xf64>) -> tensor<8x8xf64> {
    %0 = stablehlo.cholesky %arg0, lower = true : tensor<8x8xf64>
    %1 = stablehlo.cholesky %0, lower = true : tensor<8x8xf64>
    return %1 : tensor<8x8xf64>
  }
}

// -----

// CHECK-LABEL: module @triangular_solve
// CPU: call @triangular_solve_cpu(%arg0, %arg1) : (tensor<8x8xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
// CPU: stablehlo.custom_call @lapack_strsm_ffi(%arg0, %arg1) {{.*}}diag = 85 : ui8, side = 76 : ui8, trans_x = 84 : ui8, uplo = 76
// CUDA: "stablehlo.triangular_solve"(%arg0, %arg1)
// CUDA-SAME: transpose_a = #stablehlo<transpose TRANSPOSE>, unit_diagonal = true
module @triangular_solve {
  func.func @main(%arg0: tensor<8x8xf32>, %arg1: tensor<8x2xf32>) -> tensor<8x2xf32> {
    %0 = "stablehlo.triangular_solve"(%arg0, %arg1) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose TRANSPOSE>, unit_diagonal = true}> : (tensor<8x8xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
    return %0 : tensor<8x2xf32>
  }
}

// -----

// A call of a function that is marked as LU; the portable function goes.
// CHECK-LABEL: module @lu
// CPU: call @lu_cpu(%arg0) : (tensor<3x3xf64>) -> (tensor<3x3xf64>, tensor<3xi32>)
// CPU-NOT: @portable
// CPU: stablehlo.custom_call @lapack_dgetrf_ffi(%arg0)
// CUDA: call @lu_cuda(%arg0) : (tensor<3x3xf64>) -> (tensor<3x3xf64>, tensor<3xi32>)
// CUDA-NOT: @portable
// CUDA: stablehlo.custom_call @cusolver_getrf_ffi(%arg0)
module @lu {
  func.func @main(%arg0: tensor<3x3xf64>) -> (tensor<3x3xf64>, tensor<3xi32>) {
    %0:2 = call @portable(%arg0) : (tensor<3x3xf64>) -> (tensor<3x3xf64>, tensor<3xi32>)
    return %0#0, %0#1 : tensor<3x3xf64>, tensor<3xi32>
  }
  func.func private @portable(%arg0: tensor<3x3xf64>) -> (tensor<3x3xf64>, tensor<3xi32>) attributes {hlograph.implements = "lu"} {
    %0 = stablehlo.iota dim = 0 : tensor<3xi32>
    return %arg0, %0 : tensor<3x3xf64>, tensor<3xi32>
  }
}
