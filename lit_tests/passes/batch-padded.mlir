// Rows of different lengths: a padded program's size becomes a vector, and its mask gets an axis. Without padding first,
// sizes that are open are refused.
//
// RUN: %hlograph opt %s --pass 'pad{n=8}' --pass 'batch{size=3}' | filecheck %s
// RUN: not %hlograph opt %s --pass 'batch{size=3}' 2>&1 | filecheck %s --check-prefix=OPEN

// CHECK-LABEL: module @mean
// CHECK: func.func @main(%arg0: tensor<3x8xf64> {{.*}}, %n: tensor<3xi32> {{.*}}) -> (tensor<3xf64>
// CHECK: [[SIZES:%[^ ]+]] = stablehlo.broadcast_in_dim {{%[^ ]+}}, dims = [0] : (tensor<3xi32>) -> tensor<3x8xi32>
// CHECK: stablehlo.compare LT, {{%[^ ]+}}, [[SIZES]]
// CHECK: [[MASKED:%[^ ]+]] = stablehlo.select {{%[^ ]+}}, {{%[^ ]+}}, {{%[^ ]+}} : tensor<3x8xi1>, tensor<3x8xf64>
// CHECK: stablehlo.reduce([[MASKED]] {{.*}} across dimensions = [1]
// CHECK: stablehlo.divide {{.*}} : tensor<3xf64>
// OPEN: batch needs static shapes: specialize or pad the program first
module @mean {
  func.func @main(%x: tensor<?xf64> {hlograph.dims = ["n"]}) -> tensor<f64> {
    %zero = stablehlo.constant dense<0.0> : tensor<f64>
    %e = stablehlo.exponential %x : tensor<?xf64>
    %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<?xf64>, tensor<f64>) -> tensor<f64>
    %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf64>) -> tensor<i32>
    %f = stablehlo.convert %n : (tensor<i32>) -> tensor<f64>
    %mean = stablehlo.divide %sum, %f : tensor<f64>
    return %mean : tensor<f64>
  }
}
