// Cholesky factors and triangular solves are calls of BLAS; complex ones and empty ones stay.
//
// RUN: %hlograph opt %s --split-input-file --pass cpu_factors | filecheck %s

// CHECK-LABEL: module @both
// CHECK: [[L:%[^ ]+]] = stablehlo.custom_call @hlograph_potrf(%arg0) {api_version = 4 : i32, backend_config = {lower = true}, operand_layouts = [dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<16x16xf64>) -> tensor<16x16xf64>
// CHECK: stablehlo.custom_call @hlograph_trsm([[L]], %arg1) {{.*}}backend_config = {left = true, lower = true, transposed = true, unit = false}{{.*}} : (tensor<16x16xf64>, tensor<16x3xf64>) -> tensor<16x3xf64>
module @both {
  func.func public @main(%a: tensor<16x16xf64>, %b: tensor<16x3xf64>) -> tensor<16x3xf64> {
    %l = stablehlo.cholesky %a, lower = true : tensor<16x16xf64>
    %x = "stablehlo.triangular_solve"(%l, %b) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose TRANSPOSE>}> : (tensor<16x16xf64>, tensor<16x3xf64>) -> tensor<16x3xf64>
    return %x : tensor<16x3xf64>
  }
}

// -----

// CHECK-LABEL: module @others
// CHECK-NOT: custom_call
module @others {
  func.func public @main(%a: tensor<16x16xcomplex<f64>>, %b: tensor<0x16x16xf64>, %c: tensor<?x16x16xf64>) -> (tensor<16x16xcomplex<f64>>, tensor<0x16x16xf64>, tensor<?x16x16xf64>) {
    %l = stablehlo.cholesky %a, lower = true : tensor<16x16xcomplex<f64>>
    %m = stablehlo.cholesky %b, lower = true : tensor<0x16x16xf64>
    %n = stablehlo.cholesky %c, lower = true : tensor<?x16x16xf64>
    return %l, %m, %n : tensor<16x16xcomplex<f64>>, tensor<0x16x16xf64>, tensor<?x16x16xf64>
  }
}
