module @main attributes {hlograph.digest = "hlograph 0.1.0 format 1 sha256 7c89cefd4ff06a67e7433c54c744383b65e42f25132d7af2588ca2b3f6df1e13", hlograph.format = "1"} {
  func.func public @main(%x: tensor<?x3xf64> {hlograph.dims = ["n", "3"], hlograph.name = "x"}, %w: tensor<3xf64> {hlograph.dims = ["3"], hlograph.name = "w"}) -> (tensor<?xf64> {hlograph.dims = ["n"], hlograph.name = "out0"}, tensor<3xf64> {hlograph.dims = ["3"], hlograph.name = "out1"}) {
    // Constants and sizes.
    %0 = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x3xf64>) -> tensor<i32>
    %1 = stablehlo.convert %0 : (tensor<i32>) -> tensor<i64>
    %2 = stablehlo.reshape %1 : (tensor<i64>) -> tensor<1xi64>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f64>
    // Values.
    %3 = stablehlo.reshape %w : (tensor<3xf64>) -> tensor<3x1xf64>
    %4 = stablehlo.dot_general %x, %3, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<?x3xf64>, tensor<3x1xf64>) -> tensor<?x1xf64>
    %5 = stablehlo.dynamic_reshape %4, %2 : (tensor<?x1xf64>, tensor<1xi64>) -> tensor<?xf64>
    %6 = stablehlo.logistic %5 : tensor<?xf64>
    %7 = chlo.erf %x : tensor<?x3xf64> -> tensor<?x3xf64>
    %8 = stablehlo.reduce(%7 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<?x3xf64>, tensor<f64>) -> tensor<3xf64>
    return %6, %8 : tensor<?xf64>, tensor<3xf64>
  }
  module @pullback attributes {hlograph.from = ["0", "1"], hlograph.of = ["0", "1"]} {
    func.func public @main(%arg0: tensor<?x3xf64> {hlograph.dims = ["n", "3"], hlograph.name = "x"}, %arg1: tensor<3xf64> {hlograph.dims = ["3"], hlograph.name = "w"}, %arg2: tensor<?xf64> {hlograph.dims = ["n"], hlograph.name = "cotangent"}, %arg3: tensor<3xf64> {hlograph.dims = ["3"], hlograph.name = "cotangent_1"}) -> (tensor<?x3xf64> {hlograph.dims = ["n", "3"], hlograph.name = "out0"}, tensor<3xf64> {hlograph.dims = ["3"], hlograph.name = "out1"}) {
      %0 = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?x3xf64>) -> tensor<i32>
      %1 = stablehlo.convert %0 : (tensor<i32>) -> tensor<i64>
      %2 = stablehlo.reshape %1 : (tensor<i64>) -> tensor<1xi64>
      %cst = stablehlo.constant dense<1.000000e+00> : tensor<f64>
      %c = stablehlo.constant dense<1> : tensor<1xi64>
      %3 = stablehlo.concatenate %2, %c, dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
      %c_0 = stablehlo.constant dense<3> : tensor<1xi64>
      %4 = stablehlo.concatenate %2, %c_0, dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
      %cst_1 = stablehlo.constant dense<1.1283791670955126> : tensor<f64>
      %5 = stablehlo.reshape %arg1 : (tensor<3xf64>) -> tensor<3x1xf64>
      %6 = stablehlo.dot_general %arg0, %5, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<?x3xf64>, tensor<3x1xf64>) -> tensor<?x1xf64>
      %7 = stablehlo.dynamic_reshape %6, %2 : (tensor<?x1xf64>, tensor<1xi64>) -> tensor<?xf64>
      %8 = stablehlo.logistic %7 : tensor<?xf64>
      %9 = stablehlo.multiply %arg2, %8 : tensor<?xf64>
      %10 = stablehlo.dynamic_broadcast_in_dim %cst, %2, dims = [] : (tensor<f64>, tensor<1xi64>) -> tensor<?xf64>
      %11 = stablehlo.subtract %10, %8 : tensor<?xf64>
      %12 = stablehlo.multiply %9, %11 : tensor<?xf64>
      %13 = stablehlo.dynamic_reshape %12, %3 : (tensor<?xf64>, tensor<2xi64>) -> tensor<?x1xf64>
      %14 = stablehlo.dot_general %13, %5, contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<?x1xf64>, tensor<3x1xf64>) -> tensor<?x3xf64>
      %15 = chlo.erf %arg0 : tensor<?x3xf64> -> tensor<?x3xf64>
      %16 = stablehlo.dynamic_broadcast_in_dim %arg3, %4, dims = [1] : (tensor<3xf64>, tensor<2xi64>) -> tensor<?x3xf64>
      %17 = stablehlo.dynamic_broadcast_in_dim %cst_1, %4, dims = [] : (tensor<f64>, tensor<2xi64>) -> tensor<?x3xf64>
      %18 = stablehlo.multiply %16, %17 : tensor<?x3xf64>
      %19 = stablehlo.negate %arg0 : tensor<?x3xf64>
      %20 = stablehlo.multiply %19, %arg0 : tensor<?x3xf64>
      %21 = stablehlo.exponential %20 : tensor<?x3xf64>
      %22 = stablehlo.multiply %18, %21 : tensor<?x3xf64>
      %23 = stablehlo.add %14, %22 : tensor<?x3xf64>
      %24 = stablehlo.dot_general %arg0, %13, contracting_dims = [0] x [0], precision = [HIGHEST, HIGHEST] : (tensor<?x3xf64>, tensor<?x1xf64>) -> tensor<3x1xf64>
      %25 = stablehlo.reshape %24 : (tensor<3x1xf64>) -> tensor<3xf64>
      return %23, %25 : tensor<?x3xf64>, tensor<3xf64>
    }
  }
}

