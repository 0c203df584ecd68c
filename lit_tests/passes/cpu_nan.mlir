// A maximum or minimum of 4,096 floats or more gets NaN back; smaller ones, sums and integers are left alone.
//
// RUN: %hlograph opt %s --split-input-file --pass cpu_nan | filecheck %s
// RUN: sed 's/2x4096xf32/2x?xf32/g' %s | %hlograph opt - --split-input-file --pass cpu_nan | filecheck %s --check-prefix=OPEN

// CHECK-LABEL: module @large
// CHECK: [[M:%[^ ]+]] = stablehlo.reduce({{.*}}) applies stablehlo.maximum across dimensions = [1]
// CHECK: [[N:%[^ ]+]] = stablehlo.compare NE, %arg0, %arg0 : (tensor<2x4096xf32>, tensor<2x4096xf32>) -> tensor<2x4096xi1>
// CHECK: [[A:%[^ ]+]] = stablehlo.reduce([[N]] init: {{.*}}) applies stablehlo.or across dimensions = [1]
// CHECK: [[C:%[^ ]+]] = stablehlo.constant dense<0x7FC00000> : tensor<2xf32>
// CHECK: [[R:%[^ ]+]] = stablehlo.select [[A]], [[C]], [[M]] : tensor<2xi1>, tensor<2xf32>
// CHECK: return [[R]]
// OPEN-LABEL: module @large
// OPEN-NOT: stablehlo.compare
module @large {
  func.func public @main(%x: tensor<2x4096xf32>) -> tensor<2xf32> {
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<2x4096xf32>, tensor<f32>) -> tensor<2xf32>
    return %m : tensor<2xf32>
  }
}

// -----

// CHECK-LABEL: module @others
// CHECK-NOT: stablehlo.compare
module @others {
  func.func public @main(%x: tensor<4095xf32>, %y: tensor<4096xf32>, %n: tensor<4096xi32>) -> (tensor<f32>, tensor<f32>, tensor<i32>) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %none = stablehlo.constant dense<0> : tensor<i32>
    %m = stablehlo.reduce(%x init: %zero) applies stablehlo.maximum across dimensions = [0] : (tensor<4095xf32>, tensor<f32>) -> tensor<f32>
    %s = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4096xf32>, tensor<f32>) -> tensor<f32>
    %i = stablehlo.reduce(%n init: %none) applies stablehlo.minimum across dimensions = [0] : (tensor<4096xi32>, tensor<i32>) -> tensor<i32>
    return %m, %s, %i : tensor<f32>, tensor<f32>, tensor<i32>
  }
}
