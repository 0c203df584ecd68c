// Sizes, order and place: what moves live elements, and what leaves them where they are.
//
// RUN: %hlograph opt %s --split-input-file --pass 'pad{n=8}' | filecheck %s

// CHECK-LABEL: module @stablehlo.broadcast_in_dim
// CHECK: stablehlo.broadcast_in_dim %arg0, dims = [0] : (tensor<8xf64>) -> tensor<8x2xf64>
// CHECK: stablehlo.broadcast_in_dim %arg0, dims = [0] : (tensor<8xf64>) -> tensor<8x8xf64>
// CHECK: stablehlo.transpose %arg1, dims = [1, 0] : (tensor<8x3xf64>) -> tensor<3x8xf64>
// CHECK: stablehlo.iota dim = 0 : tensor<8x2xi64>
// CHECK: stablehlo.broadcast_in_dim {{.*}}, dims = [0] : (tensor<4xf64>) -> tensor<4x2xf64>
module @stablehlo.broadcast_in_dim {
  func.func @main(%x: tensor<?xf64> {hlograph.dims = ["n"]}, %m: tensor<?x3xf64> {hlograph.dims = ["n", "3"]})
      -> (tensor<?x2xf64>, tensor<?x?xf64>, tensor<3x?xf64>, tensor<?x2xi64>, tensor<4x2xf64>) {
    %two = stablehlo.constant dense<2> : tensor<1xi32>
    %size = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf64>) -> tensor<i32>
    %n = stablehlo.reshape %size : (tensor<i32>) -> tensor<1xi32>
    %by2 = stablehlo.concatenate %n, %two, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %byn = stablehlo.concatenate %n, %n, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %0 = stablehlo.dynamic_broadcast_in_dim %x, %by2, dims = [0] : (tensor<?xf64>, tensor<2xi32>) -> tensor<?x2xf64>
    %1 = stablehlo.dynamic_broadcast_in_dim %x, %byn, dims = [0] : (tensor<?xf64>, tensor<2xi32>) -> tensor<?x?xf64>
    %2 = stablehlo.transpose %m, dims = [1, 0] : (tensor<?x3xf64>) -> tensor<3x?xf64>
    %3 = stablehlo.dynamic_iota %by2, dim = 0 : (tensor<2xi32>) -> tensor<?x2xi64>
    %4 = stablehlo.iota dim = 0 : tensor<4xf64>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<4xf64>) -> tensor<4x2xf64>
    return %0, %1, %2, %3, %5 : tensor<?x2xf64>, tensor<?x?xf64>, tensor<3x?xf64>, tensor<?x2xi64>, tensor<4x2xf64>
  }
}

// -----

// The major axis of what is merged or split costs nothing; a minor one moves the elements together by a gather.
// CHECK-LABEL: module @stablehlo.dynamic_reshape
// CHECK: stablehlo.reshape %arg0 : (tensor<8x3xf64>) -> tensor<24xf64>
// CHECK-NOT: stablehlo.gather
// CHECK: [[TURNED:%[^ ]+]] = stablehlo.transpose %arg0
// CHECK: [[FLAT:%[^ ]+]] = stablehlo.reshape [[TURNED]] : (tensor<3x8xf64>) -> tensor<24xf64>
// CHECK: "stablehlo.gather"([[FLAT]], {{.*}}) {{.*}} : (tensor<24xf64>, tensor<24xi64>) -> tensor<24xf64>
module @stablehlo.dynamic_reshape {
  func.func @main(%x: tensor<?x3xf64> {hlograph.dims = ["n", "3"]}) -> (tensor<?xf64>, tensor<?xf64>) {
    %three = stablehlo.constant dense<3> : tensor<i32>
    %size = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x3xf64>) -> tensor<i32>
    %count = stablehlo.multiply %size, %three : tensor<i32>
    %shape = stablehlo.reshape %count : (tensor<i32>) -> tensor<1xi32>
    %0 = stablehlo.dynamic_reshape %x, %shape : (tensor<?x3xf64>, tensor<1xi32>) -> tensor<?xf64>
    %1 = stablehlo.transpose %x, dims = [1, 0] : (tensor<?x3xf64>) -> tensor<3x?xf64>
    %2 = stablehlo.dynamic_reshape %1, %shape : (tensor<3x?xf64>, tensor<1xi32>) -> tensor<?xf64>
    return %0, %2 : tensor<?xf64>, tensor<?xf64>
  }
}

// -----

// Reversed along the padded axis the live elements are at the end: a window brings them to the front.
// CHECK-LABEL: module @stablehlo.reverse
// CHECK: [[TURNED:%[^ ]+]] = stablehlo.reverse %arg0, dims = [0] : tensor<8xf64>
// CHECK: [[LONG:%[^ ]+]] = stablehlo.pad [[TURNED]], {{.*}}, low = [0], high = [8], interior = [0]
// CHECK: stablehlo.dynamic_slice [[LONG]], {{.*}}, sizes = [8] : (tensor<16xf64>, tensor<i64>) -> tensor<8xf64>
module @stablehlo.reverse {
  func.func @main(%x: tensor<?xf64> {hlograph.dims = ["n"]}) -> tensor<?xf64> {
    %0 = stablehlo.reverse %x, dims = [0] : tensor<?xf64>
    return %0 : tensor<?xf64>
  }
}

// -----

// The second part is written behind the live elements of the first, over its padding.
// CHECK-LABEL: module @stablehlo.concatenate
// CHECK: [[ROOM:%[^ ]+]] = stablehlo.pad %arg0, {{.*}}, low = [0], high = [8], interior = [0] : (tensor<8xf64>, tensor<f64>) -> tensor<16xf64>
// CHECK: stablehlo.dynamic_update_slice [[ROOM]], %arg0, {{.*}} : (tensor<16xf64>, tensor<8xf64>, tensor<i64>) -> tensor<16xf64>
// CHECK: stablehlo.concatenate {{.*}}, %arg0, dim = 0 : (tensor<2xf64>, tensor<8xf64>) -> tensor<10xf64>
module @stablehlo.concatenate {
  func.func @main(%x: tensor<?xf64> {hlograph.dims = ["n"]}) -> (tensor<?xf64>, tensor<?xf64>) {
    %ones = stablehlo.constant dense<1.0> : tensor<2xf64>
    %0 = stablehlo.concatenate %x, %x, dim = 0 : (tensor<?xf64>, tensor<?xf64>) -> tensor<?xf64>
    %1 = stablehlo.concatenate %ones, %x, dim = 0 : (tensor<2xf64>, tensor<?xf64>) -> tensor<?xf64>
    return %0, %1 : tensor<?xf64>, tensor<?xf64>
  }
}

// -----

// A static beginning needs no window; one at a live place does, and nothing is moved by clamping.
// CHECK-LABEL: module @stablehlo.real_dynamic_slice
// CHECK: stablehlo.slice %arg0 [0:2] : (tensor<10xf64>) -> tensor<2xf64>
// CHECK: stablehlo.slice {{.*}} : (tensor<{{1[01]}}xf64>) -> tensor<8xf64>
// CHECK: stablehlo.dynamic_slice {{.*}}, sizes = [2] : (tensor<10xf64>, tensor<i64>) -> tensor<2xf64>
module @stablehlo.real_dynamic_slice {
  func.func @main(%x: tensor<?xf64> {hlograph.dims = ["n + 2"]}, %y: tensor<?xf64> {hlograph.dims = ["n"]})
      -> (tensor<2xf64>, tensor<?xf64>, tensor<?xf64>) {
    %0 = stablehlo.slice %x [0:2] : (tensor<?xf64>) -> tensor<2xf64>
    %one = stablehlo.constant dense<1> : tensor<1xi32>
    %two = stablehlo.constant dense<2> : tensor<i32>
    %size = stablehlo.get_dimension_size %y, dim = 0 : (tensor<?xf64>) -> tensor<i32>
    %n = stablehlo.reshape %size : (tensor<i32>) -> tensor<1xi32>
    %more = stablehlo.add %size, %two : tensor<i32>
    %end = stablehlo.reshape %more : (tensor<i32>) -> tensor<1xi32>
    %before = stablehlo.add %n, %one : tensor<1xi32>
    %1 = stablehlo.real_dynamic_slice %x, %one, %before, %one : (tensor<?xf64>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf64>
    %2 = stablehlo.real_dynamic_slice %x, %n, %end, %one : (tensor<?xf64>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf64>
    return %0, %1, %2 : tensor<2xf64>, tensor<?xf64>, tensor<?xf64>
  }
}

// -----

// The padding is the pad value already where that is 0; else it is filled first.
// CHECK-LABEL: module @stablehlo.pad
// CHECK: stablehlo.pad %arg0, {{.*}}, low = [1], high = [2], interior = [0] : (tensor<8xf64>, tensor<f64>) -> tensor<11xf64>
// CHECK: [[FILLED:%[^ ]+]] = stablehlo.select {{.*}}, %arg0, {{.*}} : tensor<8xi1>, tensor<8xf64>
// CHECK: stablehlo.pad [[FILLED]], {{.*}}, low = [1], high = [2], interior = [0]
// CHECK: stablehlo.dynamic_update_slice
module @stablehlo.pad {
  func.func @main(%x: tensor<?xf64> {hlograph.dims = ["n"]}) -> (tensor<?xf64>, tensor<?xf64>, tensor<?xf64>) {
    %zero = stablehlo.constant dense<0.0> : tensor<f64>
    %one = stablehlo.constant dense<1.0> : tensor<f64>
    %none = stablehlo.constant dense<0> : tensor<1xi32>
    %size = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf64>) -> tensor<i32>
    %n = stablehlo.reshape %size : (tensor<i32>) -> tensor<1xi32>
    %0 = stablehlo.pad %x, %zero, low = [1], high = [2], interior = [0] : (tensor<?xf64>, tensor<f64>) -> tensor<?xf64>
    %1 = stablehlo.pad %x, %one, low = [1], high = [2], interior = [0] : (tensor<?xf64>, tensor<f64>) -> tensor<?xf64>
    %2 = stablehlo.dynamic_pad %x, %zero, %n, %none, %none : (tensor<?xf64>, tensor<f64>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf64>
    return %0, %1, %2 : tensor<?xf64>, tensor<?xf64>, tensor<?xf64>
  }
}
