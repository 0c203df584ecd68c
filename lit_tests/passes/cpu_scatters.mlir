// A scatter of integers gets a barrier before its operand, if an axis that it scatters along has one element.
//
// RUN: %hlograph opt %s --split-input-file --pass cpu_scatters | filecheck %s

// CHECK-LABEL: module @one_element
// CHECK: [[ZEROS:%[^ ]+]] = stablehlo.constant dense<0>
// CHECK: [[B:%[^ ]+]] = stablehlo.optimization_barrier [[ZEROS]] : tensor<1xi32>
// CHECK-NEXT: "stablehlo.scatter"([[B]], %arg0, %arg1)
module @one_element {
  func.func public @main(%places: tensor<5x1xi32>, %updates: tensor<5xi32>) -> tensor<1xi32> {
    %zeros = stablehlo.constant dense<0> : tensor<1xi32>
    %r = "stablehlo.scatter"(%zeros, %places, %updates) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%old: tensor<i32>, %new: tensor<i32>):
      %sum = stablehlo.add %old, %new : tensor<i32>
      stablehlo.return %sum : tensor<i32>
    }) : (tensor<1xi32>, tensor<5x1xi32>, tensor<5xi32>) -> tensor<1xi32>
    return %r : tensor<1xi32>
  }
}

// -----

// CHECK-LABEL: module @others
// CHECK-NOT: optimization_barrier
module @others {
  func.func public @main(%x: tensor<3xi32>, %y: tensor<?xi32>, %z: tensor<1xf32>, %places: tensor<5x1xi32>, %updates: tensor<5xi32>, %floats: tensor<5xf32>) -> (tensor<3xi32>, tensor<?xi32>, tensor<1xf32>) {
    %r = "stablehlo.scatter"(%x, %places, %updates) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%old: tensor<i32>, %new: tensor<i32>):
      stablehlo.return %new : tensor<i32>
    }) : (tensor<3xi32>, tensor<5x1xi32>, tensor<5xi32>) -> tensor<3xi32>
    %s = "stablehlo.scatter"(%y, %places, %updates) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%old: tensor<i32>, %new: tensor<i32>):
      stablehlo.return %new : tensor<i32>
    }) : (tensor<?xi32>, tensor<5x1xi32>, tensor<5xi32>) -> tensor<?xi32>
    %t = "stablehlo.scatter"(%z, %places, %floats) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%old: tensor<f32>, %new: tensor<f32>):
      stablehlo.return %new : tensor<f32>
    }) : (tensor<1xf32>, tensor<5x1xi32>, tensor<5xf32>) -> tensor<1xf32>
    return %r, %s, %t : tensor<3xi32>, tensor<?xi32>, tensor<1xf32>
  }
}
