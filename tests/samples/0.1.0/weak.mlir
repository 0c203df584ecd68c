module @_lambda_ attributes {hlograph.digest = "hlograph 0.1.0 format 1 sha256 a75ddef040f7010c5f2b3f917af27afeeeb8ba1a9fd05dde658a5e3e0b23a42b", hlograph.format = "1"} {
  func.func public @main(%x: tensor<?xf32> {hlograph.dims = ["n"], hlograph.name = "x"}) -> (tensor<f32> {hlograph.dims = [], hlograph.name = "out[0]"}, tensor<f32> {hlograph.dims = [], hlograph.name = "out[1]", hlograph.weak = true}) attributes {hlograph.constraints = [["n >= 1", "JAX's symbolic sizes"]]} {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %cst_1 = stablehlo.constant dense<3.000000e+00> : tensor<f32>
    %0 = stablehlo.reduce(%x init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<?xf32>, tensor<f32>) -> tensor<f32>
    %1 = stablehlo.multiply %cst_0, %cst_1 : tensor<f32>
    return %0, %1 : tensor<f32>, tensor<f32>
  }
}

