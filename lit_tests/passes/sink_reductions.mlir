// What loops stack only to be reduced afterwards is reduced in the loop.
//
// RUN: %hlograph opt %s --pass sink_reductions | filecheck %s
// RUN: sed 's/8x4xf32/?x4xf32/g; s/<8xf32/<?xf32/g' %s | %hlograph opt - --pass sink_reductions | filecheck %s --check-prefix=OPEN

// The elementwise work and the reduction move into the body; what is compared is read row by row. The sum over the steps
// is taken in a wider type. Where the time axis stays, a thinner stack does.
// CHECK-LABEL: module @squared_error
// CHECK: func.func {{.*}}@main(%arg0: tensor<4xf32>, [[DATA:%[^:]+]]: tensor<8x4xf32>,
// CHECK: [[R:%[^:]+]]:4 = stablehlo.while({{.*}}) : tensor<i32>, tensor<4xf32>, tensor<f64>, tensor<8xf32>
// CHECK: do {
// CHECK: [[ROW:%.+]] = stablehlo.dynamic_slice [[DATA]], %iterArg,
// CHECK: [[D:%.+]] = stablehlo.subtract {{.*}}, [[ROW]] : tensor<1x4xf32>
// CHECK: [[Q:%.+]] = stablehlo.multiply [[D]], [[D]]
// CHECK: [[S:%.+]] = stablehlo.reduce([[Q]] init: {{.*}} : (tensor<1x4xf32>, tensor<f32>) -> tensor<f32>
// CHECK: [[W:%.+]] = stablehlo.convert [[S]] : (tensor<f32>) -> tensor<f64>
// CHECK: stablehlo.add %iterArg_{{[0-9]+}}, [[W]] : tensor<f64>
// CHECK: [[T:%.+]] = stablehlo.reduce({{.*}} across dimensions = [1] : (tensor<1x4xf32>, tensor<f32>) -> tensor<1xf32>
// CHECK: stablehlo.dynamic_update_slice {{.*}}, [[T]], %iterArg
// CHECK-NOT: dynamic_update_slice
// CHECK: [[SUM:%.+]] = stablehlo.convert [[R]]#2 : (tensor<f64>) -> tensor<f32>
// CHECK: return [[SUM]], [[R]]#3
// OPEN-LABEL: module @squared_error
// OPEN: stablehlo.while({{.*}}) : tensor<i32>, tensor<4xf32>, tensor<?x4xf32>
// OPEN: stablehlo.reduce({{.*}} : (tensor<?x4xf32>
module @squared_error {
  func.func @main(%h0: tensor<4xf32>, %data: tensor<8x4xf32>, %zeros: tensor<8x4xf32>) -> (tensor<f32>, tensor<8xf32>) {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c1 = stablehlo.constant dense<1> : tensor<i32>
    %c8 = stablehlo.constant dense<8> : tensor<i32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %r:3 = stablehlo.while(%i = %c0, %h = %h0, %ys = %zeros) : tensor<i32>, tensor<4xf32>, tensor<8x4xf32>
    cond {
      %p = stablehlo.compare LT, %i, %c8 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %h1 = stablehlo.tanh %h : tensor<4xf32>
      %row = stablehlo.reshape %h1 : (tensor<4xf32>) -> tensor<1x4xf32>
      %ys1 = stablehlo.dynamic_update_slice %ys, %row, %i, %c0 : (tensor<8x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<8x4xf32>
      %i1 = stablehlo.add %i, %c1 : tensor<i32>
      stablehlo.return %i1, %h1, %ys1 : tensor<i32>, tensor<4xf32>, tensor<8x4xf32>
    }
    %d = stablehlo.subtract %r#2, %data : tensor<8x4xf32>
    %q = stablehlo.multiply %d, %d : tensor<8x4xf32>
    %s = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<f32>
    %t = stablehlo.reduce(%r#2 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
    return %s, %t : tensor<f32>, tensor<8xf32>
  }
}
