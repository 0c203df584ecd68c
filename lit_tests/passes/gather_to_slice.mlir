// A gather at evenly spaced indices is a slice, and a choice that is known is no choice.
//
// RUN: %hlograph opt %s --split-input-file --pass gather_to_slice --pass known_select --explain gather_to_slice --explain known_select 2>&1 | filecheck %s

// CHECK: gather_to_slice: {{.*}}: rewritten
// CHECK-NEXT: gather_to_slice: {{.*}}: rewritten
// CHECK-NEXT: gather_to_slice: {{.*}}: left alone: tensor<?x2xf32> has a dynamic dimension
// CHECK-NEXT: known_select: {{.*}}: rewritten

// What `jax.numpy.take` writes: negative indices wrap, and rows that do not exist are NaN.
module @iota {
  func.func @main(%x: tensor<9x3xf32>) -> tensor<4x3xf32> {
    %zero = stablehlo.constant dense<0> : tensor<4xi32>
    %two = stablehlo.constant dense<2> : tensor<4xi32>
    %nine = stablehlo.constant dense<9> : tensor<4xi32>
    %last = stablehlo.constant dense<8> : tensor<4x1xi32>
    %first = stablehlo.constant dense<0> : tensor<4x1xi32>
    %true = stablehlo.constant dense<true> : tensor<i1>
    %nan = stablehlo.constant dense<0x7FC00000> : tensor<4x3xf32>
    %0 = stablehlo.iota dim = 0 : tensor<4xi32>
    %1 = stablehlo.add %0, %two : tensor<4xi32>
    %2 = stablehlo.compare LT, %1, %zero, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %3 = stablehlo.add %1, %nine : tensor<4xi32>
    %4 = stablehlo.select %2, %3, %1 : tensor<4xi1>, tensor<4xi32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<4xi32>) -> tensor<4x1xi32>
    %6 = stablehlo.compare GE, %5, %first, SIGNED : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x1xi1>
    %7 = stablehlo.compare LE, %5, %last, SIGNED : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x1xi1>
    %8 = stablehlo.and %6, %7 : tensor<4x1xi1>
    %9 = stablehlo.reduce(%8 init: %true) applies stablehlo.and across dimensions = [1] : (tensor<4x1xi1>, tensor<i1>) -> tensor<4xi1>
    %10 = "stablehlo.gather"(%x, %5) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<9x3xf32>, tensor<4x1xi32>) -> tensor<4x3xf32>
    %11 = stablehlo.broadcast_in_dim %9, dims = [0] : (tensor<4xi1>) -> tensor<4x3xi1>
    %12 = stablehlo.select %11, %10, %nan : tensor<4x3xi1>, tensor<4x3xf32>
    return %12 : tensor<4x3xf32>
  }
}
// CHECK-LABEL: module @iota
// CHECK: [[ROWS:%[^ ]+]] = stablehlo.slice %arg0 [2:6, 0:3] : (tensor<9x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: return [[ROWS]]

// -----

// Strided and backwards, along the second axis.
module @backwards {
  func.func @main(%x: tensor<3x9xf32>) -> tensor<3x3xf32> {
    %i = stablehlo.constant dense<[7, 4, 1]> : tensor<3xi64>
    %g = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 3, 1>}> : (tensor<3x9xf32>, tensor<3xi64>) -> tensor<3x3xf32>
    return %g : tensor<3x3xf32>
  }
}
// CHECK-LABEL: module @backwards
// CHECK: [[PART:%[^ ]+]] = stablehlo.slice %arg0 [0:3, 1:8:3]
// CHECK-NEXT: stablehlo.reverse [[PART]], dims = [1]

// -----

module @dynamic {
  func.func @main(%x: tensor<?x2xf32>) -> tensor<2x2xf32> {
    %i = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
    %g = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>}> : (tensor<?x2xf32>, tensor<2xi64>) -> tensor<2x2xf32>
    return %g : tensor<2x2xf32>
  }
}
// CHECK-LABEL: module @dynamic
// CHECK: stablehlo.gather
