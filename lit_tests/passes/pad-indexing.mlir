// Indices clamp, or are dropped, at the live size; sorting puts padding last.
//
// RUN: %hlograph opt %s --split-input-file --pass 'pad{n=8}' | filecheck %s

// CHECK-LABEL: module @stablehlo.dynamic_slice
// CHECK: [[START:%[^ ]+]] = stablehlo.clamp {{.*}}, {{.*}}, [[ROOM:%[^ ]+]] : tensor<i64>
// CHECK: stablehlo.dynamic_slice %arg0, [[START]], sizes = [2] : (tensor<8xf64>, tensor<i64>) -> tensor<2xf64>
// CHECK: stablehlo.dynamic_update_slice %arg0, {{.*}}, [[START]] : (tensor<8xf64>, tensor<2xf64>, tensor<i64>) -> tensor<8xf64>
module @stablehlo.dynamic_slice {
  func.func @main(%x: tensor<?xf64> {hlograph.dims = ["n"]}, %i: tensor<i64>) -> (tensor<2xf64>, tensor<?xf64>) {
    %0 = stablehlo.dynamic_slice %x, %i, sizes = [2] : (tensor<?xf64>, tensor<i64>) -> tensor<2xf64>
    %1 = stablehlo.dynamic_update_slice %x, %0, %i : (tensor<?xf64>, tensor<2xf64>, tensor<i64>) -> tensor<?xf64>
    return %0, %1 : tensor<2xf64>, tensor<?xf64>
  }
}

// -----

// CHECK-LABEL: module @stablehlo.gather
// CHECK: [[PLACES:%[^ ]+]] = stablehlo.clamp {{.*}}, %arg1, {{.*}} : (tensor<i64>, tensor<3xi64>, tensor<i64>) -> tensor<3xi64>
// CHECK: "stablehlo.gather"(%arg0, [[PLACES]]) {{.*}} : (tensor<8xf64>, tensor<3xi64>) -> tensor<3xf64>
module @stablehlo.gather {
  func.func @main(%x: tensor<?xf64> {hlograph.dims = ["n"]}, %i: tensor<3xi64>) -> tensor<3xf64> {
    %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<?xf64>, tensor<3xi64>) -> tensor<3xf64>
    return %0 : tensor<3xf64>
  }
}

// -----

// The slice is as long as the axis: nothing is clamped but to 0.
// CHECK-LABEL: module @stablehlo.dynamic_gather
// CHECK: "stablehlo.gather"({{.*}}) {{.*}}slice_sizes = array<i64: 1, 8>{{.*}} : (tensor<4x8xf64>, tensor<3xi64>) -> tensor<3x8xf64>
module @stablehlo.dynamic_gather {
  func.func @main(%x: tensor<4x?xf64> {hlograph.dims = ["4", "n"]}, %i: tensor<3xi64>) -> tensor<3x?xf64> {
    %one = stablehlo.constant dense<1> : tensor<1xi32>
    %size = stablehlo.get_dimension_size %x, dim = 1 : (tensor<4x?xf64>) -> tensor<i32>
    %n = stablehlo.reshape %size : (tensor<i32>) -> tensor<1xi32>
    %sizes = stablehlo.concatenate %one, %n, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %0 = "stablehlo.dynamic_gather"(%x, %i, %sizes) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<4x?xf64>, tensor<3xi64>, tensor<2xi32>) -> tensor<3x?xf64>
    return %0 : tensor<3x?xf64>
  }
}

// -----

// Updates of padded indices go to where nothing is.
// CHECK-LABEL: module @stablehlo.scatter
// CHECK: [[OUTSIDE:%[^ ]+]] = stablehlo.constant dense<-9223372036854775808> : tensor<i64>
// CHECK: [[PADDING:%[^ ]+]] = stablehlo.not
// CHECK: [[AWAY:%[^ ]+]] = stablehlo.broadcast_in_dim [[OUTSIDE]]
// CHECK: [[PLACES:%[^ ]+]] = stablehlo.select [[PADDING]], [[AWAY]], %arg1 : tensor<8xi1>, tensor<8xi64>
// CHECK: "stablehlo.scatter"(%arg0, [[PLACES]], %arg2)
module @stablehlo.scatter {
  func.func @main(%x: tensor<4xf64>, %i: tensor<?xi64> {hlograph.dims = ["n"]}, %u: tensor<?xf64> {hlograph.dims = ["n"]}) -> tensor<4xf64> {
    %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%a: tensor<f64>, %b: tensor<f64>):
      %1 = stablehlo.add %a, %b : tensor<f64>
      stablehlo.return %1 : tensor<f64>
    }) : (tensor<4xf64>, tensor<?xi64>, tensor<?xf64>) -> tensor<4xf64>
    return %0 : tensor<4xf64>
  }
}

// -----

// A window that begins at 0 covers what is live of it; what its padding was written over is put back.
// CHECK-LABEL: module @beginning
// CHECK: [[LIVE:%[^ ]+]] = stablehlo.compare LT
// CHECK: [[WRITTEN:%[^ ]+]] = "stablehlo.scatter"(%arg0, %arg1, %arg2)
// CHECK: [[REACHED:%[^ ]+]] = stablehlo.broadcast_in_dim [[LIVE]], dims = [0] : (tensor<9xi1>) -> tensor<9x5xi1>
// CHECK: stablehlo.select [[REACHED]], [[WRITTEN]], %arg0
module @beginning {
  func.func @main(%x: tensor<9x5xf64>, %i: tensor<2x1xi64>, %u: tensor<?x2xf64> {hlograph.dims = ["n", "2"]}) -> tensor<9x5xf64> {
    %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>}> ({
    ^bb0(%a: tensor<f64>, %b: tensor<f64>):
      stablehlo.return %b : tensor<f64>
    }) : (tensor<9x5xf64>, tensor<2x1xi64>, tensor<?x2xf64>) -> tensor<9x5xf64>
    return %0 : tensor<9x5xf64>
  }
}

// -----

// Integers in order: the padding holds the greatest. An order that is not known gets a leading key.
// CHECK-LABEL: module @stablehlo.sort
// CHECK: [[FILLED:%[^ ]+]] = stablehlo.select {{.*}}, %arg0, {{.*}} : tensor<8xi1>, tensor<8xi32>
// CHECK: "stablehlo.sort"([[FILLED]])
// CHECK: [[KEY:%[^ ]+]] = stablehlo.convert {{.*}} : (tensor<8xi1>) -> tensor<8xi32>
// CHECK: "stablehlo.sort"([[KEY]], %arg1)
// CHECK: chlo.top_k
module @stablehlo.sort {
  func.func @main(%x: tensor<?xi32> {hlograph.dims = ["n"]}, %y: tensor<?xf64> {hlograph.dims = ["n"]}) -> (tensor<?xi32>, tensor<?xf64>, tensor<2xf64>) {
    %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %2 = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    }) : (tensor<?xi32>) -> tensor<?xi32>
    %1 = "stablehlo.sort"(%y) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<f64>, %b: tensor<f64>):
      %2 = stablehlo.abs %a : tensor<f64>
      %3 = stablehlo.abs %b : tensor<f64>
      %4 = stablehlo.compare LT, %2, %3 : (tensor<f64>, tensor<f64>) -> tensor<i1>
      stablehlo.return %4 : tensor<i1>
    }) : (tensor<?xf64>) -> tensor<?xf64>
    %values, %places = chlo.top_k(%y, k = 2) : tensor<?xf64> -> (tensor<2xf64>, tensor<2xi32>)
    return %0, %1, %values : tensor<?xi32>, tensor<?xf64>, tensor<2xf64>
  }
}
