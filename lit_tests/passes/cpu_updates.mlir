// A reshape of an updated array, and what broadcasts as a reshape does, gets a barrier before it; nothing else does.
//
// RUN: %hlograph opt %s --split-input-file --pass cpu_updates | filecheck %s

// CHECK-LABEL: module @reshaped
// CHECK: [[U:%[^ ]+]] = stablehlo.dynamic_update_slice
// CHECK-NEXT: [[B:%[^ ]+]] = stablehlo.optimization_barrier [[U]] : tensor<8x16xf64>
// CHECK-NEXT: stablehlo.reshape [[B]] : (tensor<8x16xf64>) -> tensor<1x8x16xf64>
module @reshaped {
  func.func public @main(%x: tensor<8x16xf64>) -> tensor<1x8x16xf64> {
    %one = stablehlo.constant dense<1> : tensor<i64>
    %zero = stablehlo.constant dense<0> : tensor<i64>
    %part = stablehlo.slice %x [0:7, 0:16] : (tensor<8x16xf64>) -> tensor<7x16xf64>
    %u = stablehlo.dynamic_update_slice %x, %part, %one, %zero : (tensor<8x16xf64>, tensor<7x16xf64>, tensor<i64>, tensor<i64>) -> tensor<8x16xf64>
    %r = stablehlo.reshape %u : (tensor<8x16xf64>) -> tensor<1x8x16xf64>
    return %r : tensor<1x8x16xf64>
  }
}

// -----

// CHECK-LABEL: module @others
// CHECK-NOT: optimization_barrier
module @others {
  func.func public @main(%x: tensor<8xf64>, %part: tensor<7xf64>, %at: tensor<i64>) -> (tensor<8xf64>, tensor<1x8xf64>) {
    %u = stablehlo.dynamic_update_slice %x, %part, %at : (tensor<8xf64>, tensor<7xf64>, tensor<i64>) -> tensor<8xf64>
    %e = stablehlo.exponential %u : tensor<8xf64>
    %r = stablehlo.reshape %x : (tensor<8xf64>) -> tensor<1x8xf64>
    return %e, %r : tensor<8xf64>, tensor<1x8xf64>
  }
}

// -----

// CHECK-LABEL: module @symbolic
// CHECK: "stablehlo.scatter"
// CHECK: [[B:%[^ ]+]] = stablehlo.optimization_barrier {{.*}} : tensor<8xf64>
// CHECK-NEXT: stablehlo.broadcast_in_dim [[B]], dims = [1] : (tensor<8xf64>) -> tensor<1x8xf64>
// CHECK-NOT: optimization_barrier
module @symbolic {
  func.func public @main(%x: tensor<8xf64>, %part: tensor<3xf64>, %at: tensor<1xi64>, %n: tensor<?xf64>) -> (tensor<1x8xf64>, tensor<?xf64>) {
    %u = "stablehlo.scatter"(%x, %at, %part) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], scatter_dims_to_operand_dims = [0]>}> ({
    ^bb0(%old: tensor<f64>, %new: tensor<f64>):
      stablehlo.return %new : tensor<f64>
    }) : (tensor<8xf64>, tensor<1xi64>, tensor<3xf64>) -> tensor<8xf64>
    %r = stablehlo.broadcast_in_dim %u, dims = [1] : (tensor<8xf64>) -> tensor<1x8xf64>
    %e = stablehlo.exponential %n : tensor<?xf64>
    return %r, %e : tensor<1x8xf64>, tensor<?xf64>
  }
}
