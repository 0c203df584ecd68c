module @main attributes {hlograph.digest = "hlograph 0.1.0 format 1 sha256 95f5aeb394ef514c70d7067e1d4ead8cb51910b7628b2e91f4c7d8e1604b7512", hlograph.format = "1"} {
  func.func public @main(%x: tensor<?x3xf64> {hlograph.dims = ["n", "3"], hlograph.name = "x"}, %k: tensor<i64> {hlograph.dims = [], hlograph.name = "k", hlograph.values = ["k"]}) -> (tensor<3xf64> {hlograph.dims = ["3"], hlograph.name = "out0"}, tensor<?xi64> {hlograph.dims = ["max(k, 0)"], hlograph.name = "out1"}) {
    // Constants and sizes.
    %c = stablehlo.constant dense<0> : tensor<2xi64>
    %0 = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x3xf64>) -> tensor<i32>
    %1 = stablehlo.convert %0 : (tensor<i32>) -> tensor<i64>
    %c_0 = stablehlo.constant dense<-1> : tensor<i64>
    // Values.
    %2 = stablehlo.multiply %k, %c_0 : tensor<i64>
    %c_1 = stablehlo.constant dense<0> : tensor<i64>
    %3 = stablehlo.maximum %2, %c_1 : tensor<i64>
    %c_2 = stablehlo.constant dense<1> : tensor<i64>
    %4 = stablehlo.minimum %3, %c_2 : tensor<i64>
    %5 = stablehlo.multiply %1, %4 : tensor<i64>
    %6 = stablehlo.add %5, %k : tensor<i64>
    %7 = stablehlo.maximum %6, %c_1 : tensor<i64>
    %8 = stablehlo.minimum %7, %1 : tensor<i64>
    %9 = stablehlo.reshape %8 : (tensor<i64>) -> tensor<1xi64>
    %c_3 = stablehlo.constant dense<3> : tensor<1xi64>
    %10 = stablehlo.concatenate %9, %c_3, dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
    %c_4 = stablehlo.constant dense<1> : tensor<2xi64>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    %11 = stablehlo.maximum %k, %c_1 : tensor<i64>
    %12 = stablehlo.reshape %11 : (tensor<i64>) -> tensor<1xi64>
    %c_5 = stablehlo.constant dense<2> : tensor<i64>
    %13 = stablehlo.real_dynamic_slice %x, %c, %10, %c_4 : (tensor<?x3xf64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x3xf64>
    %14 = stablehlo.reduce(%13 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<?x3xf64>, tensor<f64>) -> tensor<3xf64>
    %15 = stablehlo.dynamic_iota %12, dim = 0 : (tensor<1xi64>) -> tensor<?xi64>
    %16 = stablehlo.dynamic_broadcast_in_dim %c_5, %12, dims = [] : (tensor<i64>, tensor<1xi64>) -> tensor<?xi64>
    %17 = stablehlo.multiply %15, %16 : tensor<?xi64>
    return %14, %17 : tensor<3xf64>, tensor<?xi64>
  }
}

