module @main attributes {hlograph.digest = "hlograph 0.1.0 format 1 sha256 257c21993550a4092559d7e4f28e1bcf0b5609628233a7541e93fe959f464679", hlograph.format = "1", hlograph.parameters = ["parameters.safetensors", "efa13981d18a81a9c9fbba291ec23c1326a2dbdc454bc92cf5f1a4583ebb7d47"]} {
  func.func public @main(%x: tensor<?x3xf64> {hlograph.dims = ["n", "3"], hlograph.name = "x"}, %parameter_0: tensor<3x40xf64> {hlograph.dims = ["3", "40"], hlograph.name = "parameter_0", hlograph.parameter = "parameter_0"}) -> (tensor<?x40xf64> {hlograph.dims = ["n", "40"], hlograph.name = "out0"}) {
    %0 = stablehlo.dot_general %x, %parameter_0, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<?x3xf64>, tensor<3x40xf64>) -> tensor<?x40xf64>
    %1 = stablehlo.tanh %0 : tensor<?x40xf64>
    return %1 : tensor<?x40xf64>
  }
}

