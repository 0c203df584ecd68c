module @main attributes {hlograph.digest = "hlograph 0.1.0 format 1 sha256 cc370a2dbae660a01c039fb5dfd21fd635eedd7e3f728bb26e2f54deded21d33", hlograph.format = "1"} {
  func.func public @main(%x: tensor<8x3xf64> {hlograph.dims = ["8", "3"], hlograph.live = ["n", "3"], hlograph.name = "x"}, %n: tensor<i32> {hlograph.dims = [], hlograph.name = "n", hlograph.size = "n"}) -> (tensor<3xf64> {hlograph.dims = ["3"], hlograph.name = "mean"}, tensor<f64> {hlograph.dims = [], hlograph.name = "out1"}) attributes {hlograph.constraints = [["n >= 1", "maximum over axis 0 of no elements at an unnamed Max node"]]} {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %0 = stablehlo.convert %n : (tensor<i32>) -> tensor<i64>
    %1 = stablehlo.reshape %0 : (tensor<i64>) -> tensor<1xi64>
    %c = stablehlo.constant dense<3> : tensor<1xi64>
    %2 = stablehlo.concatenate %1, %c, dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
    %3 = stablehlo.convert %0 : (tensor<i64>) -> tensor<i32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<i32>) -> tensor<8xi32>
    %5 = stablehlo.iota dim = 0 : tensor<8xi32>
    %6 = stablehlo.compare LT, %5, %4 : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
    %cst_0 = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
    %7 = stablehlo.reduce(%x init: %cst) applies stablehlo.add across dimensions = [0] {hlograph.live = ["n"]} : (tensor<8x3xf64>, tensor<f64>) -> tensor<3xf64>
    %8 = stablehlo.convert %2 : (tensor<2xi64>) -> tensor<2xf64>
    %9 = stablehlo.slice %8 [0:1] : (tensor<2xf64>) -> tensor<1xf64>
    %10 = stablehlo.reshape %9 : (tensor<1xf64>) -> tensor<f64>
    %11 = stablehlo.broadcast_in_dim %10, dims = [] : (tensor<f64>) -> tensor<3xf64>
    %12 = stablehlo.divide %7, %11 : tensor<3xf64>
    %13 = stablehlo.exponential %x : tensor<8x3xf64>
    %14 = stablehlo.broadcast_in_dim %6, dims = [0] : (tensor<8xi1>) -> tensor<8x3xi1>
    %15 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f64>) -> tensor<8x3xf64>
    %16 = stablehlo.select %14, %13, %15 : tensor<8x3xi1>, tensor<8x3xf64>
    %17 = stablehlo.reduce(%16 init: %cst_0) applies stablehlo.maximum across dimensions = [0, 1] {hlograph.live = ["n", "3"]} : (tensor<8x3xf64>, tensor<f64>) -> tensor<f64>
    return %12, %17 : tensor<3xf64>, tensor<f64>
  }
}

