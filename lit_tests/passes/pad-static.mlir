// A program without sizes stays as it is.
//
// RUN: %hlograph opt %s --pass 'pad' | filecheck %s

// CHECK-LABEL: module @static
// CHECK: func.func {{.*}}@main(%x: tensor<3xf64> {hlograph.dims = ["3"], hlograph.name = "x"}) -> (tensor<f64>
// CHECK-NOT: stablehlo.select
// CHECK: stablehlo.reduce(%x init: {{.*}}) applies stablehlo.maximum across dimensions = [0] : (tensor<3xf64>, tensor<f64>) -> tensor<f64>
module @static {
  func.func @main(%x: tensor<3xf64> {hlograph.dims = ["3"], hlograph.name = "x"}) -> tensor<f64> {
    %least = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
    %0 = stablehlo.reduce(%x init: %least) applies stablehlo.maximum across dimensions = [0] : (tensor<3xf64>, tensor<f64>) -> tensor<f64>
    return %0 : tensor<f64>
  }
}
