module @main attributes {hlograph.digest = "hlograph 0.1.0 format 1 sha256 9fad7848a538e891e50e6db5d982d6d49d8a693cfe3bc056ddcf135ff6d808f5", hlograph.format = "1"} {
  func.func public @main(%x: tensor<?xf64> {hlograph.dims = ["n"], hlograph.name = "x"}) -> (tensor<?xf64> {hlograph.dims = ["nonzero_0"], hlograph.name = "out0"}, tensor<?xi64> {hlograph.dims = ["nonzero_0"], hlograph.name = "out1"}) attributes {hlograph.counts = [["nonzero_0", "n"]]} {
    // Constants and sizes.
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %0 = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf64>) -> tensor<i32>
    %1 = stablehlo.convert %0 : (tensor<i32>) -> tensor<i64>
    %2 = stablehlo.reshape %1 : (tensor<i64>) -> tensor<1xi64>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %c_0 = stablehlo.constant dense<-1> : tensor<i64>
    %3 = stablehlo.add %1, %c_0 : tensor<i64>
    %4 = stablehlo.maximum %3, %c : tensor<i64>
    %5 = stablehlo.reshape %4 : (tensor<i64>) -> tensor<1xi64>
    %c_1 = stablehlo.constant dense<0> : tensor<1xi64>
    %6 = stablehlo.concatenate %5, %c_1, dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
    %c_2 = stablehlo.constant dense<1> : tensor<i64>
    %7 = stablehlo.maximum %1, %c_2 : tensor<i64>
    %8 = stablehlo.reshape %7 : (tensor<i64>) -> tensor<1xi64>
    %c_3 = stablehlo.constant dense<1> : tensor<1xi64>
    %9 = stablehlo.concatenate %2, %c_3, dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
    %10 = stablehlo.minimum %1, %c_2 : tensor<i64>
    %11 = stablehlo.reshape %10 : (tensor<i64>) -> tensor<1xi64>
    // Values.
    %12 = stablehlo.dynamic_broadcast_in_dim %cst, %2, dims = [] : (tensor<f64>, tensor<1xi64>) -> tensor<?xf64>
    %13 = stablehlo.compare GT, %x, %12 : (tensor<?xf64>, tensor<?xf64>) -> tensor<?xi1>
    %14 = stablehlo.convert %13 : (tensor<?xi1>) -> tensor<?xi64>
    %15 = stablehlo.reduce(%14 init: %c) applies stablehlo.add across dimensions = [0] : (tensor<?xi64>, tensor<i64>) -> tensor<i64>
    %16 = stablehlo.custom_call @hlograph.size(%15) {api_version = 4 : i32, backend_config = {}, hlograph.bound = "n", hlograph.dim = "nonzero_0"} : (tensor<i64>) -> tensor<i64>
    %17 = stablehlo.reshape %16 : (tensor<i64>) -> tensor<1xi64>
    %18 = stablehlo.reshape %6 : (tensor<2xi64>) -> tensor<1x2xi64>
    %19 = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%14, %c, %8, %c_3, %c_3, %c_3, %18) {api_version = 2 : i32, called_computations = [@add_int64]} : (tensor<?xi64>, tensor<i64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1x2xi64>) -> tensor<?xi64>
    %20 = stablehlo.dynamic_iota %2, dim = 0 : (tensor<1xi64>) -> tensor<?xi64>
    %21 = stablehlo.dynamic_broadcast_in_dim %c_2, %2, dims = [] : (tensor<i64>, tensor<1xi64>) -> tensor<?xi64>
    %22 = stablehlo.subtract %19, %21 : tensor<?xi64>
    %23 = stablehlo.dynamic_broadcast_in_dim %15, %2, dims = [] : (tensor<i64>, tensor<1xi64>) -> tensor<?xi64>
    %24 = stablehlo.add %20, %23 : tensor<?xi64>
    %25 = stablehlo.subtract %24, %19 : tensor<?xi64>
    %26 = stablehlo.select %13, %22, %25 : tensor<?xi1>, tensor<?xi64>
    %27 = stablehlo.dynamic_broadcast_in_dim %c, %2, dims = [] : (tensor<i64>, tensor<1xi64>) -> tensor<?xi64>
    %28 = stablehlo.dynamic_reshape %26, %9 : (tensor<?xi64>, tensor<2xi64>) -> tensor<?x1xi64>
    %29 = "stablehlo.scatter"(%27, %28, %20) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
    ^bb0(%arg1: tensor<i64>, %arg2: tensor<i64>):
      stablehlo.return %arg2 : tensor<i64>
    }) : (tensor<?xi64>, tensor<?x1xi64>, tensor<?xi64>) -> tensor<?xi64>
    %30 = stablehlo.real_dynamic_slice %29, %c_1, %17, %c_3 : (tensor<?xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xi64>
    %31 = "stablehlo.dynamic_gather"(%x, %30, %11) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false}> : (tensor<?xf64>, tensor<?xi64>, tensor<1xi64>) -> tensor<?xf64>
    return %31, %30 : tensor<?xf64>, tensor<?xi64>
  }
  func.func private @add_int64(%arg0: tensor<i64>, %arg1: tensor<i64>) -> tensor<i64> {
    %0 = stablehlo.add %arg0, %arg1 : tensor<i64>
    return %0 : tensor<i64>
  }
}

