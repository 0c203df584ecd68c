// A large array that is made only to be reduced is made block by block, in a loop.
//
// RUN: %hlograph opt %s --split-input-file --pass 'reduce_in_blocks{elements=200,block=128}' | filecheck %s

// Two rows of sixteen columns at a time; the last one, which is left over, once more.
// CHECK-LABEL: module @product
// CHECK: [[SUM:%[^ ]+]]:2 = stablehlo.while({{.*}}) : tensor<i32>, tensor<17xf32>
// CHECK: do {
// CHECK: [[X:%[^ ]+]] = stablehlo.dynamic_slice %arg0, [[I:%[^ ]+]], sizes = [2] : (tensor<17xf32>, tensor<i32>) -> tensor<2xf32>
// CHECK: stablehlo.broadcast_in_dim [[X]], dims = [0] : (tensor<2xf32>) -> tensor<2x16xf32>
// CHECK: [[E:%[^ ]+]] = stablehlo.exponential {{%[^ ]+}} : tensor<2x16xf32>
// CHECK: [[PART:%[^ ]+]] = stablehlo.dot_general [[E]], %arg2, {{.*}} -> tensor<2xf32>
// CHECK: stablehlo.dynamic_update_slice {{%[^ ]+}}, [[PART]], [[I]]
// CHECK: stablehlo.dynamic_slice %arg0, {{%[^ ]+}}, sizes = [1]
// CHECK: [[LAST:%[^ ]+]] = stablehlo.dot_general {{.*}} -> tensor<1xf32>
// CHECK: stablehlo.dynamic_update_slice [[SUM]]#1, [[LAST]]
// CHECK-NOT: 17x16xf32
module @product {
  func.func @main(%x: tensor<17xf32>, %y: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<17xf32> {
    %r = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<17xf32>) -> tensor<17x16xf32>
    %c = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<16xf32>) -> tensor<17x16xf32>
    %m = stablehlo.multiply %r, %c : tensor<17x16xf32>
    %e = stablehlo.exponential %m : tensor<17x16xf32>
    %s = stablehlo.dot_general %e, %b, contracting_dims = [1] x [0] : (tensor<17x16xf32>, tensor<16xf32>) -> tensor<17xf32>
    return %s : tensor<17xf32>
  }
}

// -----

// Sums over both axes, in one loop: those over the rows are added, in float64.
// CHECK-LABEL: module @both
// CHECK: stablehlo.while({{.*}}) : tensor<i32>, tensor<16xf32>, tensor<16xf64>
// CHECK: do {
// CHECK: stablehlo.dynamic_update_slice
// CHECK: [[WIDE:%[^ ]+]] = stablehlo.convert {{%[^ ]+}} : (tensor<16xf32>) -> tensor<16xf64>
// CHECK: stablehlo.add {{%[^ ]+}}, [[WIDE]] : tensor<16xf64>
// CHECK: stablehlo.convert {{%[^ ]+}} : (tensor<16xf64>) -> tensor<16xf32>
module @both {
  func.func @main(%x: tensor<16xf32>, %y: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %r = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<16xf32>) -> tensor<16x16xf32>
    %c = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<16xf32>) -> tensor<16x16xf32>
    %m = stablehlo.multiply %r, %c : tensor<16x16xf32>
    %e = stablehlo.exponential %m : tensor<16x16xf32>
    %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<16x16xf32>, tensor<f32>) -> tensor<16xf32>
    %t = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<16x16xf32>, tensor<f32>) -> tensor<16xf32>
    return %s, %t : tensor<16xf32>, tensor<16xf32>
  }
}

// -----

// Nothing is done where sizes are not known.
// CHECK-LABEL: module @dynamic
// CHECK-NOT: stablehlo.while
module @dynamic {
  func.func @main(%x: tensor<?x8xf32>, %b: tensor<8xf32>) -> tensor<?xf32> {
    %e = stablehlo.exponential %x : tensor<?x8xf32>
    %s = stablehlo.dot_general %e, %b, contracting_dims = [1] x [0] : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?xf32>
    return %s : tensor<?xf32>
  }
}
