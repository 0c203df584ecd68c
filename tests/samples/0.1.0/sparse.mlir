module @main attributes {hlograph.digest = "hlograph 0.1.0 format 1 sha256 d5024d3376e664bfc714d30119554f373b85f4c76df0279596a23072d2b8212b", hlograph.format = "1"} {
  func.func public @main(%a_data: tensor<?xf64> {hlograph.dims = ["a_nnz"], hlograph.name = "a_data", hlograph.sparse = ["a", "csr", "data"]}, %a_indices: tensor<?xi32> {hlograph.dims = ["a_nnz"], hlograph.name = "a_indices", hlograph.sparse = ["a", "csr", "indices"]}, %a_indptr: tensor<?xi32> {hlograph.dims = ["a_indptr_0"], hlograph.name = "a_indptr", hlograph.sparse = ["a", "csr", "indptr"]}, %a_columns: tensor<?x0xi8> {hlograph.dims = ["a_columns", "0"], hlograph.name = "a_columns", hlograph.sparse = ["a", "csr", "columns"]}, %x: tensor<?xf64> {hlograph.dims = ["x_0"], hlograph.name = "x"}) -> (tensor<?xf64> {hlograph.dims = ["max(a_indptr_0 - 1, 0)"], hlograph.name = "out0"}, tensor<2xi1> {hlograph.flags = true}) attributes {hlograph.checks = [["ValueError", "indptr of a sparse matrix must start with 0, end with the number of values, and not decrease"], ["ValueError", "indices of a sparse matrix are out of range"]], hlograph.constraints = [["a_columns == x_0", "SpecifyShape: axis 0 at node 'operand of StructuredDot'", "shape"], ["a_indptr_0 - 1 >= 0", "indptr of a sparse matrix at an unnamed Places node"]]} {
    // Constants and sizes.
    %0 = stablehlo.get_dimension_size %a_data, dim = 0 : (tensor<?xf64>) -> tensor<i32>
    %1 = stablehlo.convert %0 : (tensor<i32>) -> tensor<i64>
    %2 = stablehlo.reshape %1 : (tensor<i64>) -> tensor<1xi64>
    %c = stablehlo.constant dense<1> : tensor<1xi64>
    %3 = stablehlo.concatenate %2, %c, dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
    %4 = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf64>) -> tensor<i32>
    %5 = stablehlo.convert %4 : (tensor<i32>) -> tensor<i64>
    %6 = stablehlo.reshape %5 : (tensor<i64>) -> tensor<1xi64>
    %7 = stablehlo.concatenate %6, %c, dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
    %8 = stablehlo.get_dimension_size %a_indptr, dim = 0 : (tensor<?xi32>) -> tensor<i32>
    %9 = stablehlo.convert %8 : (tensor<i32>) -> tensor<i64>
    %10 = stablehlo.reshape %9 : (tensor<i64>) -> tensor<1xi64>
    %c_0 = stablehlo.constant dense<0> : tensor<1xi64>
    %c_1 = stablehlo.constant dense<-1> : tensor<i64>
    %11 = stablehlo.add %9, %c_1 : tensor<i64>
    %12 = stablehlo.reshape %11 : (tensor<i64>) -> tensor<1xi64>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %13 = stablehlo.convert %1 : (tensor<i64>) -> tensor<i32>
    %c_3 = stablehlo.constant dense<true> : tensor<i1>
    %14 = stablehlo.get_dimension_size %a_columns, dim = 0 : (tensor<?x0xi8>) -> tensor<i32>
    %15 = stablehlo.convert %14 : (tensor<i32>) -> tensor<i64>
    %16 = stablehlo.convert %15 : (tensor<i64>) -> tensor<i32>
    %c_4 = stablehlo.constant dense<1> : tensor<i32>
    %17 = stablehlo.add %1, %c_1 : tensor<i64>
    %c_5 = stablehlo.constant dense<0> : tensor<i64>
    %18 = stablehlo.maximum %17, %c_5 : tensor<i64>
    %19 = stablehlo.reshape %18 : (tensor<i64>) -> tensor<1xi64>
    %20 = stablehlo.concatenate %19, %c_0, dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
    %c_6 = stablehlo.constant dense<1> : tensor<i64>
    %21 = stablehlo.maximum %1, %c_6 : tensor<i64>
    %22 = stablehlo.reshape %21 : (tensor<i64>) -> tensor<1xi64>
    %23 = stablehlo.minimum %15, %c_6 : tensor<i64>
    %24 = stablehlo.reshape %23 : (tensor<i64>) -> tensor<1xi64>
    %25 = stablehlo.concatenate %24, %c, dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %26 = stablehlo.concatenate %12, %c, dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
    %c_7 = stablehlo.constant dense<0> : tensor<2xi64>
    %27 = stablehlo.maximum %11, %c_5 : tensor<i64>
    %28 = stablehlo.reshape %27 : (tensor<i64>) -> tensor<1xi64>
    %29 = stablehlo.concatenate %28, %c, dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
    %c_8 = stablehlo.constant dense<1> : tensor<2xi64>
    // Values.
    %30 = stablehlo.dynamic_reshape %a_data, %3 : (tensor<?xf64>, tensor<2xi64>) -> tensor<?x1xf64>
    %31 = stablehlo.dynamic_reshape %x, %7 : (tensor<?xf64>, tensor<2xi64>) -> tensor<?x1xf64>
    %32 = stablehlo.real_dynamic_slice %a_indptr, %c, %10, %c : (tensor<?xi32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xi32>
    %33 = stablehlo.real_dynamic_slice %a_indptr, %c_0, %12, %c : (tensor<?xi32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xi32>
    %34 = stablehlo.slice %a_indptr [0:1] : (tensor<?xi32>) -> tensor<1xi32>
    %35 = stablehlo.reshape %34 : (tensor<1xi32>) -> tensor<i32>
    %36 = stablehlo.dynamic_slice %a_indptr, %11, sizes = [1] : (tensor<?xi32>, tensor<i64>) -> tensor<1xi32>
    %37 = stablehlo.reshape %36 : (tensor<1xi32>) -> tensor<i32>
    %38 = stablehlo.compare EQ, %35, %c_2 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %39 = stablehlo.compare EQ, %37, %13 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %40 = stablehlo.and %38, %39 : tensor<i1>
    %41 = stablehlo.compare LE, %33, %32 : (tensor<?xi32>, tensor<?xi32>) -> tensor<?xi1>
    %42 = stablehlo.reduce(%41 init: %c_3) applies stablehlo.and across dimensions = [0] : (tensor<?xi1>, tensor<i1>) -> tensor<i1>
    %43 = stablehlo.and %40, %42 : tensor<i1>
    %44 = stablehlo.dynamic_broadcast_in_dim %c_2, %2, dims = [] : (tensor<i32>, tensor<1xi64>) -> tensor<?xi32>
    %45 = stablehlo.compare GE, %a_indices, %44 : (tensor<?xi32>, tensor<?xi32>) -> tensor<?xi1>
    %46 = stablehlo.dynamic_broadcast_in_dim %16, %2, dims = [] : (tensor<i32>, tensor<1xi64>) -> tensor<?xi32>
    %47 = stablehlo.compare LT, %a_indices, %46 : (tensor<?xi32>, tensor<?xi32>) -> tensor<?xi1>
    %48 = stablehlo.and %45, %47 : tensor<?xi1>
    %49 = stablehlo.reduce(%48 init: %c_3) applies stablehlo.and across dimensions = [0] : (tensor<?xi1>, tensor<i1>) -> tensor<i1>
    %50 = stablehlo.dynamic_broadcast_in_dim %c_4, %12, dims = [] : (tensor<i32>, tensor<1xi64>) -> tensor<?xi32>
    %51 = "stablehlo.scatter"(%44, %32, %50) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg5: tensor<i32>, %arg6: tensor<i32>):
      %65 = stablehlo.add %arg5, %arg6 : tensor<i32>
      stablehlo.return %65 : tensor<i32>
    }) : (tensor<?xi32>, tensor<?xi32>, tensor<?xi32>) -> tensor<?xi32>
    %52 = stablehlo.reshape %20 : (tensor<2xi64>) -> tensor<1x2xi64>
    %53 = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%51, %c_2, %22, %c, %c, %c, %52) {api_version = 2 : i32, called_computations = [@add_int32]} : (tensor<?xi32>, tensor<i32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1x2xi64>) -> tensor<?xi32>
    %54 = stablehlo.select %48, %a_indices, %44 : tensor<?xi1>, tensor<?xi32>
    %55 = "stablehlo.dynamic_gather"(%31, %54, %25) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false}> : (tensor<?x1xf64>, tensor<?xi32>, tensor<2xi64>) -> tensor<?x1xf64>
    %56 = stablehlo.multiply %30, %55 : tensor<?x1xf64>
    %57 = stablehlo.dynamic_broadcast_in_dim %cst, %26, dims = [] : (tensor<f64>, tensor<2xi64>) -> tensor<?x1xf64>
    %58 = stablehlo.dynamic_reshape %53, %3 : (tensor<?xi32>, tensor<2xi64>) -> tensor<?x1xi32>
    %59 = "stablehlo.scatter"(%57, %58, %56) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg5: tensor<f64>, %arg6: tensor<f64>):
      %65 = stablehlo.add %arg5, %arg6 : tensor<f64>
      stablehlo.return %65 : tensor<f64>
    }) : (tensor<?x1xf64>, tensor<?x1xi32>, tensor<?x1xf64>) -> tensor<?x1xf64>
    %60 = stablehlo.real_dynamic_slice %59, %c_7, %29, %c_8 : (tensor<?x1xf64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x1xf64>
    %61 = stablehlo.dynamic_reshape %60, %28 : (tensor<?x1xf64>, tensor<1xi64>) -> tensor<?xf64>
    %62 = stablehlo.reshape %43 : (tensor<i1>) -> tensor<1xi1>
    %63 = stablehlo.reshape %49 : (tensor<i1>) -> tensor<1xi1>
    %64 = stablehlo.concatenate %62, %63, dim = 0 : (tensor<1xi1>, tensor<1xi1>) -> tensor<2xi1>
    return %61, %64 : tensor<?xf64>, tensor<2xi1>
  }
  func.func private @add_int32(%arg0: tensor<i32>, %arg1: tensor<i32>) -> tensor<i32> {
    %0 = stablehlo.add %arg0, %arg1 : tensor<i32>
    return %0 : tensor<i32>
  }
}

