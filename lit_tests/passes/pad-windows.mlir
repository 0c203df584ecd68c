// Windows and factorizations: the padding holds what the op itself pads with, or an identity block.
//
// RUN: %hlograph opt %s --split-input-file --pass 'pad{n=8}' | filecheck %s

// CHECK-LABEL: module @stablehlo.reduce_window
// CHECK: [[FILLED:%[^ ]+]] = stablehlo.select {{.*}}, %arg0
// CHECK: "stablehlo.reduce_window"([[FILLED]], {{.*}} window_dimensions = array<i64: 2>
// CHECK: (tensor<8xf64>, tensor<f64>) -> tensor<7xf64>
module @stablehlo.reduce_window {
  func.func @main(%x: tensor<?xf64> {hlograph.dims = ["n"]}) -> tensor<?xf64> {
    %least = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
    %0 = "stablehlo.reduce_window"(%x, %least) <{window_dimensions = array<i64: 2>}> ({
    ^bb0(%a: tensor<f64>, %b: tensor<f64>):
      %1 = stablehlo.maximum %a, %b : tensor<f64>
      stablehlo.return %1 : tensor<f64>
    }) : (tensor<?xf64>, tensor<f64>) -> tensor<?xf64>
    return %0 : tensor<?xf64>
  }
}

// -----

// A running sum: the window over all of the axis is as long as the bound. Its padding is 0 as it is.
// CHECK-LABEL: module @stablehlo.dynamic_reduce_window
// CHECK-NOT: stablehlo.select
// CHECK: "stablehlo.reduce_window"(%arg0, {{.*}}padding = dense<{{\[\[}}7, 0]]> {{.*}}window_dimensions = array<i64: 8>
module @stablehlo.dynamic_reduce_window {
  func.func @main(%x: tensor<?xf64> {hlograph.dims = ["n"]}) -> tensor<?xf64> {
    %zero = stablehlo.constant dense<0.0> : tensor<f64>
    %one = stablehlo.constant dense<1> : tensor<1xi32>
    %less = stablehlo.constant dense<-1> : tensor<i32>
    %none = stablehlo.constant dense<0> : tensor<1xi32>
    %size = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf64>) -> tensor<i32>
    %n = stablehlo.reshape %size : (tensor<i32>) -> tensor<1xi32>
    %before = stablehlo.add %size, %less : tensor<i32>
    %low = stablehlo.reshape %before : (tensor<i32>) -> tensor<1xi32>
    %pair = stablehlo.concatenate %low, %none, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %padding = stablehlo.reshape %pair : (tensor<2xi32>) -> tensor<1x2xi32>
    %0 = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%x, %zero, %n, %one, %one, %one, %padding) {called_computations = [@sum]} : (tensor<?xf64>, tensor<f64>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1x2xi32>) -> tensor<?xf64>
    return %0 : tensor<?xf64>
  }
  func.func private @sum(%a: tensor<f64>, %b: tensor<f64>) -> tensor<f64> {
    %0 = stablehlo.add %a, %b : tensor<f64>
    return %0 : tensor<f64>
  }
}

// -----

// Rows of a batch do not meet.
// CHECK-LABEL: module @stablehlo.select_and_scatter
// CHECK: "stablehlo.select_and_scatter"(%arg0, %arg1, {{.*}}
// CHECK: (tensor<8x4xf64>, tensor<8x2xf64>, tensor<f64>) -> tensor<8x4xf64>
module @stablehlo.select_and_scatter {
  func.func @main(%x: tensor<?x4xf64> {hlograph.dims = ["n", "4"]}, %s: tensor<?x2xf64> {hlograph.dims = ["n", "2"]}) -> tensor<?x4xf64> {
    %zero = stablehlo.constant dense<0.0> : tensor<f64>
    %0 = "stablehlo.select_and_scatter"(%x, %s, %zero) <{window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>}> ({
    ^bb0(%a: tensor<f64>, %b: tensor<f64>):
      %1 = stablehlo.compare GE, %a, %b : (tensor<f64>, tensor<f64>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }, {
    ^bb0(%a: tensor<f64>, %b: tensor<f64>):
      %1 = stablehlo.add %a, %b : tensor<f64>
      stablehlo.return %1 : tensor<f64>
    }) : (tensor<?x4xf64>, tensor<?x2xf64>, tensor<f64>) -> tensor<?x4xf64>
    return %0 : tensor<?x4xf64>
  }
}

// -----

// Zeros beside the data are what the op pads with. A kernel of unknown length is met by patches instead.
// CHECK-LABEL: module @stablehlo.convolution
// CHECK-NOT: stablehlo.select
// CHECK: stablehlo.convolution(%arg0, %arg1) {{.*}} : (tensor<1x8x1xf64>, tensor<3x1x1xf64>) -> tensor<1x8x1xf64>
// CHECK: "stablehlo.gather"(
// CHECK: stablehlo.select
// CHECK: stablehlo.dot_general
// CHECK-NOT: stablehlo.convolution
// CHECK: return
module @stablehlo.convolution {
  func.func @main(%x: tensor<1x?x1xf64> {hlograph.dims = ["1", "n", "1"]}, %k: tensor<3x1x1xf64>, %long: tensor<?x1x1xf64> {hlograph.dims = ["n", "1", "1"]})
      -> (tensor<1x?x1xf64>, tensor<1x?x1xf64>) {
    %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x?x1xf64>, tensor<3x1x1xf64>) -> tensor<1x?x1xf64>
    %1 = stablehlo.convolution(%x, %long) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x?x1xf64>, tensor<?x1x1xf64>) -> tensor<1x?x1xf64>
    return %0, %1 : tensor<1x?x1xf64>, tensor<1x?x1xf64>
  }
}

// -----

// Transforms of rows; along the padded axis they are refused (pad-refuse.mlir).
// CHECK-LABEL: module @stablehlo.fft
// CHECK: stablehlo.fft %arg0, type = FFT, length = [4] : (tensor<8x4xcomplex<f64>>) -> tensor<8x4xcomplex<f64>>
module @stablehlo.fft {
  func.func @main(%x: tensor<?x4xcomplex<f64>> {hlograph.dims = ["n", "4"]}) -> tensor<?x4xcomplex<f64>> {
    %0 = stablehlo.fft %x, type = FFT, length = [4] : (tensor<?x4xcomplex<f64>>) -> tensor<?x4xcomplex<f64>>
    return %0 : tensor<?x4xcomplex<f64>>
  }
}

// -----

// A chirp of as many elements as are live, by transforms of a known length.
// CHECK-LABEL: module @hlograph.fft
// CHECK: stablehlo.remainder
// CHECK: stablehlo.fft {{.*}}, type = FFT, length = [16] : (tensor<16xcomplex<f64>>) -> tensor<16xcomplex<f64>>
// CHECK: stablehlo.fft {{.*}}, type = FFT, length = [16] : (tensor<2x16xcomplex<f64>>) -> tensor<2x16xcomplex<f64>>
// CHECK: stablehlo.fft {{.*}}, type = IFFT, length = [16] : (tensor<2x16xcomplex<f64>>) -> tensor<2x16xcomplex<f64>>
// CHECK: return {{.*}} : tensor<2x5xcomplex<f64>>
module @hlograph.fft {
  func.func @main(%x: tensor<2x?xf64> {hlograph.dims = ["2", "n"]}) -> (tensor<2x?xcomplex<f64>> {hlograph.dims = ["2", "(n//2) + 1"]}) {
    %0 = stablehlo.get_dimension_size %x, dim = 1 : (tensor<2x?xf64>) -> tensor<i32>
    %1 = stablehlo.constant dense<2> : tensor<i32>
    %2 = stablehlo.constant dense<1> : tensor<i32>
    %3 = stablehlo.divide %0, %1 : tensor<i32>
    %4 = stablehlo.add %3, %2 : tensor<i32>
    %5 = stablehlo.reshape %4 : (tensor<i32>) -> tensor<1xi32>
    %6 = stablehlo.constant dense<2> : tensor<1xi32>
    %7 = stablehlo.concatenate %6, %5, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %8 = stablehlo.custom_call @hlograph.fft(%x, %7) {api_version = 4 : i32, backend_config = {kind = "RFFT", rank = 1 : i64}, indices_of_shape_operands = dense<1> : tensor<1xi64>} : (tensor<2x?xf64>, tensor<2xi32>) -> tensor<2x?xcomplex<f64>>
    return %8 : tensor<2x?xcomplex<f64>>
  }
}

// -----

// One that waited for its lengths, which are known of the operand.
// CHECK-LABEL: module @hlograph.fft
// CHECK: stablehlo.fft %arg0, type = RFFT, length = [4] : (tensor<8x4xf64>) -> tensor<8x3xcomplex<f64>>
module @hlograph.fft {
  func.func @main(%x: tensor<?x4xf64> {hlograph.dims = ["n", "4"]}) -> tensor<?x?xcomplex<f64>> {
    %0 = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x4xf64>) -> tensor<i32>
    %1 = stablehlo.reshape %0 : (tensor<i32>) -> tensor<1xi32>
    %2 = stablehlo.constant dense<3> : tensor<1xi32>
    %3 = stablehlo.concatenate %1, %2, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %4 = stablehlo.custom_call @hlograph.fft(%x, %3) {api_version = 4 : i32, backend_config = {kind = "RFFT", rank = 1 : i64}, indices_of_shape_operands = dense<1> : tensor<1xi64>} : (tensor<?x4xf64>, tensor<2xi32>) -> tensor<?x?xcomplex<f64>>
    return %4 : tensor<?x?xcomplex<f64>>
  }
}

// -----

// 1 on the diagonal of the padding. Right-hand sides are 0 there already.
// CHECK-LABEL: module @stablehlo.cholesky
// CHECK: stablehlo.compare EQ
// CHECK: [[EYE:%[^ ]+]] = stablehlo.convert {{.*}} -> tensor<8x8xf64>
// CHECK: [[WHOLE:%[^ ]+]] = stablehlo.select {{.*}}, %arg0, [[EYE]] : tensor<8x8xi1>, tensor<8x8xf64>
// CHECK: stablehlo.cholesky [[WHOLE]], lower = true : tensor<8x8xf64>
// CHECK: "stablehlo.triangular_solve"([[WHOLE]], %arg1)
module @stablehlo.cholesky {
  func.func @main(%a: tensor<?x?xf64> {hlograph.dims = ["n", "n"]}, %b: tensor<?x2xf64> {hlograph.dims = ["n", "2"]}) -> (tensor<?x?xf64>, tensor<?x2xf64>) {
    %0 = stablehlo.cholesky %a, lower = true : tensor<?x?xf64>
    %1 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<?x?xf64>, tensor<?x2xf64>) -> tensor<?x2xf64>
    return %0, %1 : tensor<?x?xf64>, tensor<?x2xf64>
  }
}

// -----

// The same for functions that implement a factorization, and for LAPACK's, which keep their target.
// CHECK-LABEL: module @hlograph.lu
// CHECK: [[FIRST:%[^ ]+]] = stablehlo.select {{.*}}, %arg0
// CHECK: call @lu_float64([[FIRST]]) : (tensor<8x8xf64>) -> (tensor<8x8xf64>, tensor<8xi32>)
// CHECK: call @lu_factor_float64([[FIRST]])
// CHECK: stablehlo.custom_call @lapack_dgetrf_ffi([[FIRST]]) {{.*}} : (tensor<8x8xf64>) -> (tensor<8x8xf64>, tensor<8xi32>, tensor<i32>)
// CHECK: [[FACTOR:%[^ ]+]]:2 = stablehlo.custom_call @lapack_dpotrf_ffi([[FIRST]])
// CHECK: [[SIDE:%[^ ]+]] = stablehlo.select {{.*}}, [[FACTOR]]#0, {{.*}} : tensor<8x8xi1>, tensor<8x8xf64>
// CHECK: stablehlo.custom_call @lapack_dtrsm_ffi([[FIRST]], [[SIDE]]) {{.*}} : (tensor<8x8xf64>, tensor<8x8xf64>) -> tensor<8x8xf64>
module @hlograph.lu {
  func.func @main(%a: tensor<?x?xf64> {hlograph.dims = ["n", "n"]}) -> (tensor<?x?xf64>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>) {
    %0:2 = call @lu(%a) : (tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xi32>)
    %1:2 = call @lu_factor(%a) : (tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xi32>)
    %size = stablehlo.get_dimension_size %a, dim = 0 : (tensor<?x?xf64>) -> tensor<i32>
    %n = stablehlo.reshape %size : (tensor<i32>) -> tensor<1xi32>
    %nn = stablehlo.concatenate %n, %n, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %none = stablehlo.constant dense<> : tensor<0xi32>
    %2:3 = stablehlo.custom_call @lapack_dgetrf_ffi(%a, %nn, %n, %none) {indices_of_shape_operands = dense<[1, 2, 3]> : tensor<3xi64>, mhlo.backend_config = {}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>, dense<0> : tensor<1xindex>, dense<0> : tensor<1xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>, dense<> : tensor<0xindex>]} : (tensor<?x?xf64>, tensor<2xi32>, tensor<1xi32>, tensor<0xi32>) -> (tensor<?x?xf64>, tensor<?xi32>, tensor<i32>)
    %3:2 = stablehlo.custom_call @lapack_dpotrf_ffi(%a, %nn, %none) {indices_of_shape_operands = dense<[1, 2]> : tensor<2xi64>, mhlo.backend_config = {uplo = 76 : ui8}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>, dense<0> : tensor<1xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>]} : (tensor<?x?xf64>, tensor<2xi32>, tensor<0xi32>) -> (tensor<?x?xf64>, tensor<i32>)
    %4 = stablehlo.custom_call @lapack_dtrsm_ffi(%a, %3#0, %nn) {indices_of_shape_operands = dense<2> : tensor<1xi64>, mhlo.backend_config = {diag = 78 : ui8, side = 76 : ui8, trans_x = 78 : ui8, uplo = 76 : ui8}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]} : (tensor<?x?xf64>, tensor<?x?xf64>, tensor<2xi32>) -> tensor<?x?xf64>
    return %4, %0#1, %1#1, %2#1 : tensor<?x?xf64>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>
  }
  func.func private @lu(%a: tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xi32>) attributes {hlograph.implements = "lu"} {
    %size = stablehlo.get_dimension_size %a, dim = 0 : (tensor<?x?xf64>) -> tensor<i32>
    %n = stablehlo.reshape %size : (tensor<i32>) -> tensor<1xi32>
    %0 = stablehlo.dynamic_iota %n, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>
    return %a, %0 : tensor<?x?xf64>, tensor<?xi32>
  }
  func.func private @lu_factor(%a: tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xi32>) attributes {hlograph.implements = "lu_factor"} {
    %size = stablehlo.get_dimension_size %a, dim = 0 : (tensor<?x?xf64>) -> tensor<i32>
    %n = stablehlo.reshape %size : (tensor<i32>) -> tensor<1xi32>
    %0 = stablehlo.dynamic_iota %n, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>
    return %a, %0 : tensor<?x?xf64>, tensor<?xi32>
  }
}

// -----

// The op's own padding is a size: by patches.
// CHECK-LABEL: module @stablehlo.dynamic_conv
// CHECK-NOT: stablehlo.convolution
// CHECK: stablehlo.dot_general
module @stablehlo.dynamic_conv {
  func.func @main(%x: tensor<1x?x1xf64> {hlograph.dims = ["1", "n", "1"]}, %k: tensor<3x1x1xf64>) -> tensor<1x?x1xf64> {
    %none = stablehlo.constant dense<0> : tensor<1xi32>
    %size = stablehlo.get_dimension_size %x, dim = 1 : (tensor<1x?x1xf64>) -> tensor<i32>
    %n = stablehlo.reshape %size : (tensor<i32>) -> tensor<1xi32>
    %pair = stablehlo.concatenate %n, %none, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %padding = stablehlo.reshape %pair : (tensor<2xi32>) -> tensor<1x2xi32>
    %0 = "stablehlo.dynamic_conv"(%x, %k, %padding) <{dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, batch_group_count = 1 : i64, feature_group_count = 1 : i64}> : (tensor<1x?x1xf64>, tensor<3x1x1xf64>, tensor<1x2xi32>) -> tensor<1x?x1xf64>
    return %0 : tensor<1x?x1xf64>
  }
}
