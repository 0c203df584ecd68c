module @main attributes {hlograph.digest = "hlograph 0.1.0 format 1 sha256 6afcfcbb27d659ba88f6396a050c03e51dd16cfe5592107d368c5474dc6d9842", hlograph.format = "1"} {
  func.func public @main(%a: tensor<?x?xf64> {hlograph.dims = ["n", "n"], hlograph.name = "a"}) -> (tensor<?x?xf64> {hlograph.dims = ["n", "n"], hlograph.name = "out0"}, tensor<?x?xf64> {hlograph.dims = ["n", "n"], hlograph.name = "out1"}) {
    // Constants and sizes.
    %0 = stablehlo.get_dimension_size %a, dim = 0 : (tensor<?x?xf64>) -> tensor<i32>
    %1 = stablehlo.convert %0 : (tensor<i32>) -> tensor<i64>
    %2 = stablehlo.reshape %1 : (tensor<i64>) -> tensor<1xi64>
    %3 = stablehlo.concatenate %2, %2, dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %c = stablehlo.constant dense<1> : tensor<1xi64>
    %4 = stablehlo.concatenate %2, %c, dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
    %c_0 = stablehlo.constant dense<1> : tensor<i64>
    %5 = stablehlo.minimum %1, %c_0 : tensor<i64>
    %6 = stablehlo.reshape %5 : (tensor<i64>) -> tensor<1xi64>
    %7 = stablehlo.concatenate %6, %2, dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
    %8 = stablehlo.multiply %1, %1 : tensor<i64>
    %9 = stablehlo.reshape %8 : (tensor<i64>) -> tensor<1xi64>
    %c_1 = stablehlo.constant dense<0> : tensor<1xi64>
    %10 = stablehlo.add %1, %c_0 : tensor<i64>
    %11 = stablehlo.reshape %10 : (tensor<i64>) -> tensor<1xi64>
    %c_2 = stablehlo.constant dense<false> : tensor<i1>
    %cst_3 = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    // Values.
    %12 = stablehlo.cholesky %a, lower = true : tensor<?x?xf64>
    %13 = stablehlo.dynamic_iota %3, dim = 0 : (tensor<2xi64>) -> tensor<?x?xi64>
    %14 = stablehlo.dynamic_iota %3, dim = 1 : (tensor<2xi64>) -> tensor<?x?xi64>
    %15 = stablehlo.compare GE, %13, %14 : (tensor<?x?xi64>, tensor<?x?xi64>) -> tensor<?x?xi1>
    %16 = stablehlo.dynamic_broadcast_in_dim %cst, %3, dims = [] : (tensor<f64>, tensor<2xi64>) -> tensor<?x?xf64>
    %17 = stablehlo.select %15, %12, %16 : tensor<?x?xi1>, tensor<?x?xf64>
    %18 = stablehlo.compare EQ, %13, %14 : (tensor<?x?xi64>, tensor<?x?xi64>) -> tensor<?x?xi1>
    %19 = stablehlo.convert %18 : (tensor<?x?xi1>) -> tensor<?x?xi8>
    %20 = stablehlo.convert %19 : (tensor<?x?xi8>) -> tensor<?x?xf64>
    %21:2 = call @lu_float64(%a) : (tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xi32>)
    %22 = stablehlo.dynamic_reshape %21#1, %4 : (tensor<?xi32>, tensor<2xi64>) -> tensor<?x1xi32>
    %23 = "stablehlo.dynamic_gather"(%20, %22, %7) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false}> : (tensor<?x?xf64>, tensor<?x1xi32>, tensor<2xi64>) -> tensor<?x?xf64>
    %24 = "stablehlo.triangular_solve"(%21#0, %23) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = true}> : (tensor<?x?xf64>, tensor<?x?xf64>) -> tensor<?x?xf64>
    %25 = "stablehlo.triangular_solve"(%21#0, %24) <{left_side = true, lower = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<?x?xf64>, tensor<?x?xf64>) -> tensor<?x?xf64>
    %26 = stablehlo.dynamic_reshape %21#0, %9 : (tensor<?x?xf64>, tensor<1xi64>) -> tensor<?xf64>
    %27 = stablehlo.real_dynamic_slice %26, %c_1, %9, %11 : (tensor<?xf64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf64>
    %28 = stablehlo.dynamic_broadcast_in_dim %cst, %2, dims = [] : (tensor<f64>, tensor<1xi64>) -> tensor<?xf64>
    %29 = stablehlo.compare EQ, %27, %28 : (tensor<?xf64>, tensor<?xf64>) -> tensor<?xi1>
    %30 = stablehlo.reduce(%29 init: %c_2) applies stablehlo.or across dimensions = [0] : (tensor<?xi1>, tensor<i1>) -> tensor<i1>
    %31 = stablehlo.dynamic_broadcast_in_dim %30, %3, dims = [] : (tensor<i1>, tensor<2xi64>) -> tensor<?x?xi1>
    %32 = stablehlo.dynamic_broadcast_in_dim %cst_3, %3, dims = [] : (tensor<f64>, tensor<2xi64>) -> tensor<?x?xf64>
    %33 = stablehlo.select %31, %32, %25 : tensor<?x?xi1>, tensor<?x?xf64>
    return %17, %33 : tensor<?x?xf64>, tensor<?x?xf64>
  }
  func.func private @lu_float64(%arg0: tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xi32>) attributes {hlograph.implements = "lu"} {
    %0 = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?x?xf64>) -> tensor<i32>
    %1 = stablehlo.convert %0 : (tensor<i32>) -> tensor<i64>
    %2 = stablehlo.reshape %1 : (tensor<i64>) -> tensor<1xi64>
    %3 = stablehlo.concatenate %2, %2, dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %cst_0 = stablehlo.constant dense<-1.000000e+00> : tensor<f64>
    %cst_1 = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
    %c_2 = stablehlo.constant dense<9223372036854775807> : tensor<i64>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %c_4 = stablehlo.constant dense<1> : tensor<i64>
    %4 = stablehlo.dynamic_iota %3, dim = 0 : (tensor<2xi64>) -> tensor<?x?xi64>
    %5 = stablehlo.dynamic_iota %3, dim = 1 : (tensor<2xi64>) -> tensor<?x?xi64>
    %6 = stablehlo.dynamic_iota %2, dim = 0 : (tensor<1xi64>) -> tensor<?xi64>
    %7 = stablehlo.dynamic_iota %2, dim = 0 : (tensor<1xi64>) -> tensor<?xi32>
    %8:3 = stablehlo.while(%iterArg = %c, %iterArg_5 = %arg0, %iterArg_6 = %7) : tensor<i64>, tensor<?x?xf64>, tensor<?xi32>
    cond {
      %9 = stablehlo.compare LT, %iterArg, %1 : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %9 : tensor<i1>
    } do {
      %9 = stablehlo.dynamic_broadcast_in_dim %iterArg, %3, dims = [] : (tensor<i64>, tensor<2xi64>) -> tensor<?x?xi64>
      %10 = stablehlo.compare EQ, %5, %9 : (tensor<?x?xi64>, tensor<?x?xi64>) -> tensor<?x?xi1>
      %11 = stablehlo.dynamic_broadcast_in_dim %cst, %3, dims = [] : (tensor<f64>, tensor<2xi64>) -> tensor<?x?xf64>
      %12 = stablehlo.select %10, %iterArg_5, %11 : tensor<?x?xi1>, tensor<?x?xf64>
      %13 = stablehlo.reduce(%12 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<?x?xf64>, tensor<f64>) -> tensor<?xf64>
      %14 = stablehlo.abs %13 : tensor<?xf64>
      %15 = stablehlo.dynamic_broadcast_in_dim %iterArg, %2, dims = [] : (tensor<i64>, tensor<1xi64>) -> tensor<?xi64>
      %16 = stablehlo.compare GE, %6, %15 : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi1>
      %17 = stablehlo.dynamic_broadcast_in_dim %cst_0, %2, dims = [] : (tensor<f64>, tensor<1xi64>) -> tensor<?xf64>
      %18 = stablehlo.select %16, %14, %17 : tensor<?xi1>, tensor<?xf64>
      %19:2 = stablehlo.reduce(%18 init: %cst_1), (%6 init: %c_2) across dimensions = [0] : (tensor<?xf64>, tensor<?xi64>, tensor<f64>, tensor<i64>) -> (tensor<f64>, tensor<i64>)
       reducer(%arg1: tensor<f64>, %arg3: tensor<f64>) (%arg2: tensor<i64>, %arg4: tensor<i64>)  {
        %65 = stablehlo.compare GT, %arg1, %arg3 : (tensor<f64>, tensor<f64>) -> tensor<i1>
        %66 = stablehlo.compare EQ, %arg1, %arg3 : (tensor<f64>, tensor<f64>) -> tensor<i1>
        %67 = stablehlo.compare NE, %arg1, %arg1 : (tensor<f64>, tensor<f64>) -> tensor<i1>
        %68 = stablehlo.compare NE, %arg3, %arg3 : (tensor<f64>, tensor<f64>) -> tensor<i1>
        %69 = stablehlo.compare EQ, %arg3, %arg3 : (tensor<f64>, tensor<f64>) -> tensor<i1>
        %70 = stablehlo.and %67, %69 : tensor<i1>
        %71 = stablehlo.or %65, %70 : tensor<i1>
        %72 = stablehlo.and %67, %68 : tensor<i1>
        %73 = stablehlo.or %66, %72 : tensor<i1>
        %74 = stablehlo.compare LT, %arg2, %arg4 : (tensor<i64>, tensor<i64>) -> tensor<i1>
        %75 = stablehlo.and %73, %74 : tensor<i1>
        %76 = stablehlo.or %71, %75 : tensor<i1>
        %77 = stablehlo.select %76, %arg1, %arg3 : tensor<i1>, tensor<f64>
        %78 = stablehlo.select %76, %arg2, %arg4 : tensor<i1>, tensor<i64>
        stablehlo.return %77, %78 : tensor<f64>, tensor<i64>
      }
      %20 = stablehlo.compare EQ, %4, %9 : (tensor<?x?xi64>, tensor<?x?xi64>) -> tensor<?x?xi1>
      %21 = stablehlo.dynamic_broadcast_in_dim %19#1, %3, dims = [] : (tensor<i64>, tensor<2xi64>) -> tensor<?x?xi64>
      %22 = stablehlo.compare EQ, %4, %21 : (tensor<?x?xi64>, tensor<?x?xi64>) -> tensor<?x?xi1>
      %23 = stablehlo.select %20, %iterArg_5, %11 : tensor<?x?xi1>, tensor<?x?xf64>
      %24 = stablehlo.reduce(%23 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<?x?xf64>, tensor<f64>) -> tensor<?xf64>
      %25 = stablehlo.dynamic_broadcast_in_dim %24, %3, dims = [1] : (tensor<?xf64>, tensor<2xi64>) -> tensor<?x?xf64>
      %26 = stablehlo.select %22, %iterArg_5, %11 : tensor<?x?xi1>, tensor<?x?xf64>
      %27 = stablehlo.reduce(%26 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<?x?xf64>, tensor<f64>) -> tensor<?xf64>
      %28 = stablehlo.dynamic_broadcast_in_dim %27, %3, dims = [1] : (tensor<?xf64>, tensor<2xi64>) -> tensor<?x?xf64>
      %29 = stablehlo.select %22, %25, %iterArg_5 : tensor<?x?xi1>, tensor<?x?xf64>
      %30 = stablehlo.select %20, %28, %29 : tensor<?x?xi1>, tensor<?x?xf64>
      %31 = stablehlo.compare EQ, %6, %15 : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi1>
      %32 = stablehlo.dynamic_broadcast_in_dim %19#1, %2, dims = [] : (tensor<i64>, tensor<1xi64>) -> tensor<?xi64>
      %33 = stablehlo.compare EQ, %6, %32 : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi1>
      %34 = stablehlo.dynamic_broadcast_in_dim %c_3, %2, dims = [] : (tensor<i32>, tensor<1xi64>) -> tensor<?xi32>
      %35 = stablehlo.select %31, %iterArg_6, %34 : tensor<?xi1>, tensor<?xi32>
      %36 = stablehlo.reduce(%35 init: %c_3) applies stablehlo.add across dimensions = [0] : (tensor<?xi32>, tensor<i32>) -> tensor<i32>
      %37 = stablehlo.dynamic_broadcast_in_dim %36, %2, dims = [] : (tensor<i32>, tensor<1xi64>) -> tensor<?xi32>
      %38 = stablehlo.select %33, %iterArg_6, %34 : tensor<?xi1>, tensor<?xi32>
      %39 = stablehlo.reduce(%38 init: %c_3) applies stablehlo.add across dimensions = [0] : (tensor<?xi32>, tensor<i32>) -> tensor<i32>
      %40 = stablehlo.dynamic_broadcast_in_dim %39, %2, dims = [] : (tensor<i32>, tensor<1xi64>) -> tensor<?xi32>
      %41 = stablehlo.select %33, %37, %iterArg_6 : tensor<?xi1>, tensor<?xi32>
      %42 = stablehlo.select %31, %40, %41 : tensor<?xi1>, tensor<?xi32>
      %43 = stablehlo.select %10, %30, %11 : tensor<?x?xi1>, tensor<?x?xf64>
      %44 = stablehlo.reduce(%43 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<?x?xf64>, tensor<f64>) -> tensor<?xf64>
      %45 = stablehlo.select %20, %30, %11 : tensor<?x?xi1>, tensor<?x?xf64>
      %46 = stablehlo.reduce(%45 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<?x?xf64>, tensor<f64>) -> tensor<?xf64>
      %47 = stablehlo.dynamic_broadcast_in_dim %cst, %2, dims = [] : (tensor<f64>, tensor<1xi64>) -> tensor<?xf64>
      %48 = stablehlo.select %31, %46, %47 : tensor<?xi1>, tensor<?xf64>
      %49 = stablehlo.reduce(%48 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<?xf64>, tensor<f64>) -> tensor<f64>
      %50 = stablehlo.dynamic_broadcast_in_dim %49, %2, dims = [] : (tensor<f64>, tensor<1xi64>) -> tensor<?xf64>
      %51 = stablehlo.compare GT, %6, %15 : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi1>
      %52 = stablehlo.compare NE, %50, %47 : (tensor<?xf64>, tensor<?xf64>) -> tensor<?xi1>
      %53 = stablehlo.and %51, %52 : tensor<?xi1>
      %54 = stablehlo.divide %44, %50 : tensor<?xf64>
      %55 = stablehlo.select %53, %54, %47 : tensor<?xi1>, tensor<?xf64>
      %56 = stablehlo.dynamic_broadcast_in_dim %55, %3, dims = [0] : (tensor<?xf64>, tensor<2xi64>) -> tensor<?x?xf64>
      %57 = stablehlo.select %51, %46, %47 : tensor<?xi1>, tensor<?xf64>
      %58 = stablehlo.dynamic_broadcast_in_dim %57, %3, dims = [1] : (tensor<?xf64>, tensor<2xi64>) -> tensor<?x?xf64>
      %59 = stablehlo.multiply %56, %58 : tensor<?x?xf64>
      %60 = stablehlo.dynamic_broadcast_in_dim %53, %3, dims = [0] : (tensor<?xi1>, tensor<2xi64>) -> tensor<?x?xi1>
      %61 = stablehlo.and %10, %60 : tensor<?x?xi1>
      %62 = stablehlo.add %iterArg, %c_4 : tensor<i64>
      %63 = stablehlo.subtract %30, %59 : tensor<?x?xf64>
      %64 = stablehlo.select %61, %56, %63 : tensor<?x?xi1>, tensor<?x?xf64>
      stablehlo.return %62, %64, %42 : tensor<i64>, tensor<?x?xf64>, tensor<?xi32>
    }
    return %8#1, %8#2 : tensor<?x?xf64>, tensor<?xi32>
  }
}

