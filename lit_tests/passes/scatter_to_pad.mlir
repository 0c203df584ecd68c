// A scatter over evenly spaced rows is a pad, or the updates themselves.
//
// RUN: %hlograph opt %s --split-input-file --pass 'scatter_to_pad{reassociate=false}' | filecheck %s --check-prefix=EXACT
// RUN: %hlograph opt %s --split-input-file --pass scatter_to_pad --explain scatter_to_pad 2>&1 | filecheck %s

// CHECK-COUNT-2: scatter_to_pad: {{.*}}: rewritten
// CHECK-NEXT: scatter_to_pad: {{.*}}: rewritten
// CHECK-NEXT: scatter_to_pad: {{.*}}: left alone: tensor<?xf32> has a dynamic dimension

// What the gradient of `x[arange(1, 3)]` is; to keep every bit, -0.0 is made 0.0 by it.
module @add_to_zeros {
  func.func @main(%u: tensor<2x3xf32>) -> tensor<4x3xf32> {
    %z = stablehlo.constant dense<0.0> : tensor<4x3xf32>
    %i = stablehlo.constant dense<[[1], [2]]> : tensor<2x1xi32>
    %s = "stablehlo.scatter"(%z, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %n = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %n : tensor<f32>
    }) : (tensor<4x3xf32>, tensor<2x1xi32>, tensor<2x3xf32>) -> tensor<4x3xf32>
    return %s : tensor<4x3xf32>
  }
}
// CHECK-LABEL: module @add_to_zeros
// CHECK: stablehlo.pad %arg0, {{%[^ ]+}}, low = [1, 0], high = [1, 0], interior = [0, 0]
// EXACT-LABEL: module @add_to_zeros
// EXACT: stablehlo.compare EQ, %arg0
// EXACT: [[POSITIVE:%[^ ]+]] = stablehlo.select
// EXACT: stablehlo.pad [[POSITIVE]], {{%[^ ]+}}, low = [1, 0], high = [1, 0], interior = [0, 0]

// -----

// Every other element, backwards, overwritten.
module @strided {
  func.func @main(%u: tensor<2xi32>) -> tensor<4xi32> {
    %z = stablehlo.constant dense<7> : tensor<4xi32>
    %i = stablehlo.constant dense<[[2], [0]]> : tensor<2x1xi32>
    %s = "stablehlo.scatter"(%z, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      stablehlo.return %b : tensor<i32>
    }) : (tensor<4xi32>, tensor<2x1xi32>, tensor<2xi32>) -> tensor<4xi32>
    return %s : tensor<4xi32>
  }
}
// CHECK-LABEL: module @strided
// CHECK: [[BACK:%[^ ]+]] = stablehlo.reverse %arg0, dims = [0]
// CHECK: [[SEVEN:%[^ ]+]] = stablehlo.constant dense<7> : tensor<i32>
// CHECK: stablehlo.pad [[BACK]], [[SEVEN]], low = [0], high = [1], interior = [1]

// -----

module @overwrite_all {
  func.func @main(%x: tensor<2xf32>, %u: tensor<2xf32>) -> tensor<2xf32> {
    %i = stablehlo.constant dense<[[0], [1]]> : tensor<2x1xi32>
    %s = "stablehlo.scatter"(%x, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      stablehlo.return %b : tensor<f32>
    }) : (tensor<2xf32>, tensor<2x1xi32>, tensor<2xf32>) -> tensor<2xf32>
    return %s : tensor<2xf32>
  }
}
// CHECK-LABEL: module @overwrite_all
// CHECK: return %arg1

// -----

module @dynamic {
  func.func @main(%x: tensor<?xf32>, %u: tensor<2xf32>) -> tensor<?xf32> {
    %i = stablehlo.constant dense<[[0], [1]]> : tensor<2x1xi32>
    %s = "stablehlo.scatter"(%x, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      stablehlo.return %b : tensor<f32>
    }) : (tensor<?xf32>, tensor<2x1xi32>, tensor<2xf32>) -> tensor<?xf32>
    return %s : tensor<?xf32>
  }
}
// CHECK-LABEL: module @dynamic
// CHECK: stablehlo.scatter
