// A module of nobody's, in text: sizes without names.
func.func @main(%x: tensor<?x3xf32>, %y: tensor<3x2xf32>) -> (tensor<2xf32>, tensor<f32>, tensor<?x3xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %half = stablehlo.constant dense<0.5> : tensor<f32>
  %axis = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x3xf32>) -> tensor<i32>
  %rows = stablehlo.reshape %axis : (tensor<i32>) -> tensor<1xi32>
  %three = stablehlo.constant dense<3> : tensor<1xi32>
  %shape = stablehlo.concatenate %rows, %three, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<?x3xf32>, tensor<3x2xf32>) -> tensor<?x2xf32>
  %z = stablehlo.tanh %0 : tensor<?x2xf32>
  %sum = stablehlo.reduce(%z init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<?x2xf32>, tensor<f32>) -> tensor<2xf32>
  %e = stablehlo.exponential %z : tensor<?x2xf32>
  %total = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<?x2xf32>, tensor<f32>) -> tensor<f32>
  %log = stablehlo.log %total : tensor<f32>
  %zeros = stablehlo.dynamic_broadcast_in_dim %zero, %shape, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x3xf32>
  %halves = stablehlo.dynamic_broadcast_in_dim %half, %shape, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x3xf32>
  %scaled = stablehlo.multiply %x, %halves : tensor<?x3xf32>
  %positive = stablehlo.compare GT, %x, %zeros : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xi1>
  %leaky = stablehlo.select %positive, %x, %scaled : tensor<?x3xi1>, tensor<?x3xf32>
  return %sum, %log, %leaky : tensor<2xf32>, tensor<f32>, tensor<?x3xf32>
}
