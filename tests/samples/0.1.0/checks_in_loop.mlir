module @main attributes {hlograph.digest = "hlograph 0.1.0 format 1 sha256 b7b37a676585b2f47c1df8af224bfa8da92735d3bbd6c7507e8e3a9a8205cebe", hlograph.format = "1"} {
  func.func public @main(%x: tensor<?x3xf64> {hlograph.dims = ["n", "3"], hlograph.name = "x"}) -> (tensor<?x3xf64> {hlograph.dims = ["n", "3"], hlograph.name = "out0"}, tensor<1xi32> {hlograph.flags = true}) attributes {hlograph.checks = [["AssertionError", "rows must have a positive norm", "step {} of the scan 'scan_fn'"]]} {
    // Constants and sizes.
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %0 = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x3xf64>) -> tensor<i32>
    %1 = stablehlo.convert %0 : (tensor<i32>) -> tensor<i64>
    %c = stablehlo.constant dense<1> : tensor<i64>
    %c_0 = stablehlo.constant dense<3> : tensor<1xi64>
    %c_1 = stablehlo.constant dense<0> : tensor<i64>
    %c_2 = stablehlo.constant dense<0> : tensor<2xi64>
    %c_3 = stablehlo.constant dense<-1> : tensor<i64>
    %2 = stablehlo.multiply %1, %c_3 : tensor<i64>
    %3 = stablehlo.add %2, %c : tensor<i64>
    %4 = stablehlo.maximum %3, %c_1 : tensor<i64>
    %5 = stablehlo.reshape %4 : (tensor<i64>) -> tensor<1xi64>
    %c_4 = stablehlo.constant dense<0> : tensor<1xi64>
    %6 = stablehlo.concatenate %5, %c_4, dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
    %7 = stablehlo.maximum %1, %c : tensor<i64>
    %8 = stablehlo.reshape %7 : (tensor<i64>) -> tensor<1xi64>
    %9 = stablehlo.concatenate %8, %c_0, dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
    %c_5 = stablehlo.constant dense<1> : tensor<i32>
    %c_6 = stablehlo.constant dense<0> : tensor<i32>
    %10 = stablehlo.reshape %1 : (tensor<i64>) -> tensor<1xi64>
    %11 = stablehlo.concatenate %10, %c_0, dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
    %c_7 = stablehlo.constant dense<1> : tensor<2xi64>
    // Values.
    %12 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %13 = stablehlo.reshape %12 : (tensor<3xf64>) -> tensor<1x3xf64>
    %14 = stablehlo.dynamic_pad %x, %cst, %c_2, %6, %c_2 : (tensor<?x3xf64>, tensor<f64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x3xf64>
    %15 = stablehlo.reshape %13 : (tensor<1x3xf64>) -> tensor<3xf64>
    %16 = stablehlo.dynamic_broadcast_in_dim %cst, %9, dims = [] : (tensor<f64>, tensor<2xi64>) -> tensor<?x3xf64>
    %17:4 = stablehlo.while(%iterArg = %c_1, %iterArg_8 = %15, %iterArg_9 = %16, %iterArg_10 = %c_5) : tensor<i64>, tensor<3xf64>, tensor<?x3xf64>, tensor<i32>
    cond {
      %20 = stablehlo.compare LT, %iterArg, %1 : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %20 : tensor<i1>
    } do {
      %20 = stablehlo.dynamic_slice %14, %iterArg, %c_1, sizes = [1, 3] : (tensor<?x3xf64>, tensor<i64>, tensor<i64>) -> tensor<1x3xf64>
      %21 = stablehlo.reshape %20 : (tensor<1x3xf64>) -> tensor<3xf64>
      %22 = stablehlo.multiply %21, %21 : tensor<3xf64>
      %23 = stablehlo.reduce(%22 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<3xf64>, tensor<f64>) -> tensor<f64>
      %24 = stablehlo.compare GT, %23, %cst : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %25 = stablehlo.add %iterArg_8, %21 : tensor<3xf64>
      %26 = stablehlo.reshape %25 : (tensor<3xf64>) -> tensor<1x3xf64>
      %27 = stablehlo.dynamic_update_slice %iterArg_9, %26, %iterArg, %c_1 : (tensor<?x3xf64>, tensor<1x3xf64>, tensor<i64>, tensor<i64>) -> tensor<?x3xf64>
      %28 = stablehlo.add %iterArg, %c : tensor<i64>
      %29 = stablehlo.compare GT, %iterArg_10, %c_6 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %30 = stablehlo.not %24 : tensor<i1>
      %31 = stablehlo.and %29, %30 : tensor<i1>
      %32 = stablehlo.convert %iterArg : (tensor<i64>) -> tensor<i32>
      %33 = stablehlo.negate %32 : tensor<i32>
      %34 = stablehlo.select %31, %33, %iterArg_10 : tensor<i1>, tensor<i32>
      stablehlo.return %28, %25, %27, %34 : tensor<i64>, tensor<3xf64>, tensor<?x3xf64>, tensor<i32>
    }
    %18 = stablehlo.real_dynamic_slice %17#2, %c_2, %11, %c_7 : (tensor<?x3xf64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x3xf64>
    %19 = stablehlo.reshape %17#3 : (tensor<i32>) -> tensor<1xi32>
    return %18, %19 : tensor<?x3xf64>, tensor<1xi32>
  }
}

