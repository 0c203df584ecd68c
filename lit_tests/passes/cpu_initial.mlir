// An initial value that is no identity is taken in behind the reduction; identities, maxima and few elements stay.
//
// RUN: %hlograph opt %s --split-input-file --pass cpu_initial | filecheck %s
// RUN: sed 's/2x32xf32/2x?xf32/g' %s | %hlograph opt - --split-input-file --pass cpu_initial | filecheck %s --check-prefix=OPEN

// CHECK-LABEL: module @sum
// CHECK: [[ZERO:%[^ ]+]] = stablehlo.constant dense<0.000000e+00> : tensor<f32>
// CHECK: [[S:%[^ ]+]] = stablehlo.reduce(%arg0 init: [[ZERO]]) applies stablehlo.add across dimensions = [1]
// CHECK: [[THREE:%[^ ]+]] = stablehlo.broadcast_in_dim %{{.*}}, dims = [] : (tensor<f32>) -> tensor<2xf32>
// CHECK: [[R:%[^ ]+]] = stablehlo.add [[THREE]], [[S]]
// CHECK: return [[R]]
// OPEN-LABEL: module @sum
// OPEN: [[R:%[^ ]+]] = stablehlo.reduce
// OPEN-NEXT: return [[R]]
module @sum {
  func.func public @main(%x: tensor<2x32xf32>) -> tensor<2xf32> {
    %three = stablehlo.constant dense<3.0> : tensor<f32>
    %r = stablehlo.reduce(%x init: %three) applies stablehlo.add across dimensions = [1] : (tensor<2x32xf32>, tensor<f32>) -> tensor<2xf32>
    return %r : tensor<2xf32>
  }
}

// -----

// The value is an argument, and the body no monoid: pairs with a flag, and `stablehlo.map` for what comes behind.
//
// CHECK-LABEL: module @no_monoid
// CHECK: [[P:%[^:]+]]:2 = stablehlo.reduce(%arg0 init: %arg1), (%{{.*}} init: %{{.*}}) across dimensions = [0]
// CHECK: stablehlo.and
// CHECK-COUNT-2: stablehlo.select
// CHECK: stablehlo.or
// CHECK: [[R:%[^ ]+]] = "stablehlo.map"(%{{.*}}, [[P]]#0)
// CHECK: stablehlo.subtract
// CHECK: return [[R]]
module @no_monoid {
  func.func public @main(%x: tensor<40xf32>, %i: tensor<f32>) -> tensor<f32> {
    %r = stablehlo.reduce(%x init: %i) across dimensions = [0] : (tensor<40xf32>, tensor<f32>) -> tensor<f32>
    reducer(%a: tensor<f32>, %b: tensor<f32>) {
      %s = stablehlo.add %a, %b : tensor<f32>
      %p = stablehlo.multiply %a, %b : tensor<f32>
      %d = stablehlo.subtract %s, %p : tensor<f32>
      stablehlo.return %d : tensor<f32>
    }
    return %r : tensor<f32>
  }
}

// -----

// CHECK-LABEL: module @others
// CHECK-NOT: broadcast_in_dim
module @others {
  func.func public @main(%x: tensor<31xf32>, %y: tensor<32xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
    %three = stablehlo.constant dense<3.0> : tensor<f32>
    %zero = stablehlo.constant dense<-0.0> : tensor<f32>
    %few = stablehlo.reduce(%x init: %three) applies stablehlo.add across dimensions = [0] : (tensor<31xf32>, tensor<f32>) -> tensor<f32>
    %sum = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<32xf32>, tensor<f32>) -> tensor<f32>
    %max = stablehlo.reduce(%y init: %three) applies stablehlo.maximum across dimensions = [0] : (tensor<32xf32>, tensor<f32>) -> tensor<f32>
    return %few, %sum, %max : tensor<f32>, tensor<f32>, tensor<f32>
  }
}
