module @main attributes {hlograph.digest = "hlograph 0.1.0 format 1 sha256 b2e6d90656604bcaa56e346277cabe699f6314d1fd4cec37ded8f0afb50066f4", hlograph.format = "1", hlograph.padding = "any"} {
  func.func public @main(%x: tensor<8x3xf64> {hlograph.dims = ["8", "3"], hlograph.live = ["n", "3"], hlograph.name = "x"}, %n: tensor<i32> {hlograph.dims = [], hlograph.name = "n", hlograph.size = "n"}) -> (tensor<3xf64> {hlograph.dims = ["3"], hlograph.name = "mean"}, tensor<f64> {hlograph.dims = [], hlograph.name = "out1"}, tensor<3xi1> {hlograph.flags = true}) attributes {hlograph.checks = [["hlograph.codegen.errors.ArgumentShapeError(ValueError)", "n >= 0 must hold: its bound"], ["hlograph.codegen.errors.ArgumentShapeError(ValueError)", "8 >= n must hold: its bound"], ["hlograph.codegen.errors.ArgumentShapeError(ValueError)", "n >= 1 must hold: maximum over axis 0 of no elements at an unnamed Max node"]]} {
    %cst = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
    %c = stablehlo.constant dense<3> : tensor<1xi64>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %c_1 = stablehlo.constant dense<1> : tensor<i64>
    %c_2 = stablehlo.constant dense<8> : tensor<i64>
    %c_3 = stablehlo.constant dense<0> : tensor<i64>
    %0 = stablehlo.convert %n : (tensor<i32>) -> tensor<i64>
    %1 = stablehlo.convert %0 : (tensor<i64>) -> tensor<i32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<i32>) -> tensor<8xi32>
    %3 = stablehlo.iota dim = 0 : tensor<8xi32>
    %4 = stablehlo.compare LT, %3, %2 : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
    %5 = stablehlo.reshape %0 : (tensor<i64>) -> tensor<1xi64>
    %6 = stablehlo.concatenate %5, %c, dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
    %7 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<8xi1>) -> tensor<8x3xi1>
    %8 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<8x3xf64>
    %9 = stablehlo.select %7, %x, %8 : tensor<8x3xi1>, tensor<8x3xf64>
    %10 = stablehlo.reduce(%9 init: %cst_0) applies stablehlo.add across dimensions = [0] : (tensor<8x3xf64>, tensor<f64>) -> tensor<3xf64>
    %11 = stablehlo.convert %6 : (tensor<2xi64>) -> tensor<2xf64>
    %12 = stablehlo.slice %11 [0:1] : (tensor<2xf64>) -> tensor<1xf64>
    %13 = stablehlo.reshape %12 : (tensor<1xf64>) -> tensor<f64>
    %14 = stablehlo.broadcast_in_dim %13, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %15 = stablehlo.divide %10, %14 : tensor<3xf64>
    %16 = stablehlo.exponential %x : tensor<8x3xf64>
    %17 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<8x3xf64>
    %18 = stablehlo.select %7, %16, %17 : tensor<8x3xi1>, tensor<8x3xf64>
    %19 = stablehlo.reduce(%18 init: %cst) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<8x3xf64>, tensor<f64>) -> tensor<f64>
    %20 = stablehlo.compare GE, %0, %c_3 : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %21 = stablehlo.reshape %20 : (tensor<i1>) -> tensor<1xi1>
    %22 = stablehlo.compare GE, %c_2, %0 : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %23 = stablehlo.reshape %22 : (tensor<i1>) -> tensor<1xi1>
    %24 = stablehlo.compare GE, %0, %c_1 : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %25 = stablehlo.reshape %24 : (tensor<i1>) -> tensor<1xi1>
    %26 = stablehlo.concatenate %21, %23, %25, dim = 0 : (tensor<1xi1>, tensor<1xi1>, tensor<1xi1>) -> tensor<3xi1>
    return %15, %19, %26 : tensor<3xf64>, tensor<f64>, tensor<3xi1>
  }
}

