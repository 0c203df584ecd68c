module @main attributes {hlograph.digest = "hlograph 0.1.0 format 1 sha256 82f58de5240117377db4bf379e37ee76b41e1c52bc29d9b84fbf4434ef618fc2", hlograph.format = "1"} {
  func.func public @main(%x: tensor<?xf64> {hlograph.dims = ["n"], hlograph.name = "x"}, %y: tensor<?xf64> {hlograph.dims = ["m"], hlograph.name = "y"}) -> (tensor<?xf64> {hlograph.dims = ["n"], hlograph.name = "out0"}, tensor<f64> {hlograph.dims = [], hlograph.name = "out1"}) attributes {hlograph.constraints = [["n == m", "axis 0 of the elementwise operation at an unnamed Elemwise node"], ["n >= 5", "index 4 of axis 0 at an unnamed Subtensor node", "index"]]} {
    %0 = stablehlo.multiply %x, %y : tensor<?xf64>
    %1 = stablehlo.slice %x [4:5] : (tensor<?xf64>) -> tensor<1xf64>
    %2 = stablehlo.reshape %1 : (tensor<1xf64>) -> tensor<f64>
    return %0, %2 : tensor<?xf64>, tensor<f64>
  }
}

