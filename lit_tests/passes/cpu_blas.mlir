// Products, factors and solves are calls of BLAS; what XLA has kernels for, and what is in a kernel of many ops, stays.
//
// RUN: %hlograph opt %s --split-input-file --pass cpu_blas | filecheck %s
// RUN: sed 's/3x7x/?x7x/g; s/3x5x/?x5x/g' %s | %hlograph opt - --split-input-file --pass cpu_blas | filecheck %s --check-prefix=OPEN

// CHECK-LABEL: module @stack
// CHECK: [[Y:%[^ ]+]] = stablehlo.custom_call @hlograph_gemm(%arg0, %arg1) {api_version = 4 : i32, backend_config = {left = true, right = false}, operand_layouts = [dense<[2, 1, 0]> : tensor<3xindex>, dense<[2, 1, 0]> : tensor<3xindex>], result_layouts = [dense<[2, 1, 0]> : tensor<3xindex>]} : (tensor<3x7x5xf64>, tensor<3x7x4xf64>) -> tensor<3x5x4xf64>
// CHECK-NEXT: return [[Y]]
// OPEN-LABEL: module @stack
// OPEN-NOT: custom_call
// OPEN: stablehlo.dot_general
module @stack {
  func.func public @main(%a: tensor<3x7x5xf64>, %b: tensor<3x7x4xf64>) -> tensor<3x5x4xf64> {
    %y = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<3x7x5xf64>, tensor<3x7x4xf64>) -> tensor<3x5x4xf64>
    return %y : tensor<3x5x4xf64>
  }
}

// -----

// Several axes are one; an order that is no matrix's is changed.
// CHECK-LABEL: module @several
// CHECK: [[T:%[^ ]+]] = stablehlo.transpose %arg0, dims = [0, 2, 1] : (tensor<2x3x4xf32>) -> tensor<2x4x3xf32>
// CHECK: [[A:%[^ ]+]] = stablehlo.reshape [[T]] : (tensor<2x4x3xf32>) -> tensor<8x3xf32>
// CHECK: [[Y:%[^ ]+]] = stablehlo.custom_call @hlograph_gemm([[A]], %arg1) {{.*}}left = false, right = true{{.*}} -> tensor<8x6xf32>
// CHECK: stablehlo.reshape [[Y]] : (tensor<8x6xf32>) -> tensor<2x4x6xf32>
module @several {
  func.func public @main(%a: tensor<2x3x4xf32>, %b: tensor<6x3xf32>) -> tensor<2x4x6xf32> {
    %y = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<2x3x4xf32>, tensor<6x3xf32>) -> tensor<2x4x6xf32>
    return %y : tensor<2x4x6xf32>
  }
}

// -----

// CHECK-LABEL: module @others
// CHECK-NOT: custom_call
module @others {
  func.func public @main(%a: tensor<8x5xf64>, %x: tensor<5xf64>, %n: tensor<5x4xi32>, %e: tensor<5x0xf64>, %c: tensor<6x6xcomplex<f64>>, %f: tensor<0x6x6xf64>) -> (tensor<8xf64>, tensor<5x5xi32>, tensor<8x0xf64>, tensor<8x8xf64>, tensor<5x8x5xf64>, tensor<6x6xcomplex<f64>>, tensor<0x6x6xf64>) {
    %v = stablehlo.dot_general %a, %x, contracting_dims = [1] x [0] : (tensor<8x5xf64>, tensor<5xf64>) -> tensor<8xf64>
    %i = stablehlo.dot_general %n, %n, contracting_dims = [1] x [1] : (tensor<5x4xi32>, tensor<5x4xi32>) -> tensor<5x5xi32>
    %z = stablehlo.dot_general %a, %e, contracting_dims = [1] x [0] : (tensor<8x5xf64>, tensor<5x0xf64>) -> tensor<8x0xf64>
    %k = call @kernel(%a) {mhlo.frontend_attributes = {inlineable = "false", xla_cpu_small_call = "true"}} : (tensor<8x5xf64>) -> tensor<8x8xf64>
    %o = stablehlo.dot_general %x, %a, contracting_dims = [] x [] : (tensor<5xf64>, tensor<8x5xf64>) -> tensor<5x8x5xf64>
    %l = stablehlo.cholesky %c, lower = true : tensor<6x6xcomplex<f64>>
    %m = stablehlo.cholesky %f, lower = true : tensor<0x6x6xf64>
    return %v, %i, %z, %k, %o, %l, %m : tensor<8xf64>, tensor<5x5xi32>, tensor<8x0xf64>, tensor<8x8xf64>, tensor<5x8x5xf64>, tensor<6x6xcomplex<f64>>, tensor<0x6x6xf64>
  }
  func.func private @kernel(%a: tensor<8x5xf64>) -> tensor<8x8xf64> {
    %s = stablehlo.dot_general %a, %a, contracting_dims = [1] x [1] : (tensor<8x5xf64>, tensor<8x5xf64>) -> tensor<8x8xf64>
    return %s : tensor<8x8xf64>
  }
}

// -----

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
