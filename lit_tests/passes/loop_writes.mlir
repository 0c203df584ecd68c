// A scatter that writes one row at a step's place is written as an update of that row.
//
// RUN: %hlograph opt %s --pass loop_writes --explain loop_writes 2>&1 | filecheck %s
// RUN: sed 's/8x4xf32/?x4xf32/g' %s | %hlograph opt - --pass loop_writes --explain loop_writes 2>&1 | filecheck %s --check-prefix=OPEN

// This is how JAX lowers `ys.at[i].set(h)` in a loop.
// CHECK: stablehlo.scatter {{.*}}: an update of a row
// CHECK-LABEL: module @rows
// CHECK: [[ROW:%[^ ]+]] = stablehlo.reshape {{%[^ ]+}} : (tensor<4xf32>) -> tensor<1x4xf32>
// CHECK: stablehlo.dynamic_update_slice {{%[^ ]+}}, [[ROW]], %iterArg, {{%[^ ]+}} : (tensor<8x4xf32>
// CHECK-NOT: stablehlo.scatter
// OPEN: stablehlo.scatter {{.*}}: left alone: tensor<?x4xf32> has a dynamic dimension
// OPEN-LABEL: module @rows
// OPEN: stablehlo.scatter
module @rows {
  func.func @main(%h0: tensor<4xf32>, %zeros: tensor<8x4xf32>, %j: tensor<i32>) -> tensor<8x4xf32> {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c1 = stablehlo.constant dense<1> : tensor<i32>
    %c8 = stablehlo.constant dense<8> : tensor<i32>
    %r:3 = stablehlo.while(%i = %c0, %h = %h0, %ys = %zeros) : tensor<i32>, tensor<4xf32>, tensor<8x4xf32>
    cond {
      %p = stablehlo.compare LT, %i, %c8 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %h1 = stablehlo.tanh %h : tensor<4xf32>
      %place = stablehlo.reshape %i : (tensor<i32>) -> tensor<1xi32>
      %ys1 = "stablehlo.scatter"(%ys, %place, %h1) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
      ^bb0(%old: tensor<f32>, %new: tensor<f32>):
        stablehlo.return %new : tensor<f32>
      }) : (tensor<8x4xf32>, tensor<1xi32>, tensor<4xf32>) -> tensor<8x4xf32>
      %i1 = stablehlo.add %i, %c1 : tensor<i32>
      stablehlo.return %i1, %h1, %ys1 : tensor<i32>, tensor<4xf32>, tensor<8x4xf32>
    }
    return %r#2 : tensor<8x4xf32>
  }
}
