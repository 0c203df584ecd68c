// A leading axis on arguments and results: loops turn until the last row is finished.
//
// RUN: %hlograph opt %s --split-input-file --pass 'batch{size=3}' | filecheck %s

// A limit of its own for each row: the greatest ends the loop, and a mask keeps what finished rows have. The index is the
// same for all rows, so that a slice stays a slice, and of the written array only the row of this step is masked.
// CHECK-LABEL: module @counted
// CHECK: func.func @main(%arg0: tensor<3x8xf32> {{.*}}, %arg1: tensor<3xi32>
// CHECK: [[LAST:%[^ ]+]] = stablehlo.reduce({{.*}}) applies stablehlo.maximum across dimensions = [0] : (tensor<3xi32>
// CHECK: stablehlo.while(%iterArg = {{.*}}) : tensor<i32>, tensor<3xf32>, tensor<3x8xf32>
// CHECK: stablehlo.compare LT, %iterArg, [[LAST]]
// CHECK: [[MASK:%[^ ]+]] = stablehlo.compare LT, {{.*}} : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
// CHECK: stablehlo.dynamic_slice %arg0, {{.*}}, sizes = [3, 1]
// CHECK: [[OLD:%[^ ]+]] = stablehlo.dynamic_slice %iterArg{{.*}}, sizes = [3, 1]
// CHECK: [[NEW:%[^ ]+]] = stablehlo.select {{%[^ ]+}}, {{%[^ ]+}}, [[OLD]] : tensor<3x1xi1>
// CHECK: stablehlo.dynamic_update_slice %iterArg{{[^,]*}}, [[NEW]]
// CHECK: stablehlo.select [[MASK]]
module @counted {
  func.func @main(%x: tensor<8xf32>, %n: tensor<i32>) -> (tensor<f32>, tensor<8xf32>) {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c1 = stablehlo.constant dense<1> : tensor<i32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %zeros = stablehlo.constant dense<0.0> : tensor<8xf32>
    %r:3 = stablehlo.while(%i = %c0, %h = %zero, %ys = %zeros) : tensor<i32>, tensor<f32>, tensor<8xf32>
    cond {
      %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %s = stablehlo.dynamic_slice %x, %i, sizes = [1] : (tensor<8xf32>, tensor<i32>) -> tensor<1xf32>
      %e = stablehlo.reshape %s : (tensor<1xf32>) -> tensor<f32>
      %sum = stablehlo.add %h, %e : tensor<f32>
      %h1 = stablehlo.tanh %sum : tensor<f32>
      %row = stablehlo.reshape %h1 : (tensor<f32>) -> tensor<1xf32>
      %ys1 = stablehlo.dynamic_update_slice %ys, %row, %i : (tensor<8xf32>, tensor<1xf32>, tensor<i32>) -> tensor<8xf32>
      %i1 = stablehlo.add %i, %c1 : tensor<i32>
      stablehlo.return %i1, %h1, %ys1 : tensor<i32>, tensor<f32>, tensor<8xf32>
    }
    return %r#1, %r#2 : tensor<f32>, tensor<8xf32>
  }
}

// -----

// A loop that reads from the end: rows end together, so that the place is the same for all of them.
// CHECK-LABEL: module @backwards
// CHECK: [[LAST:%[^ ]+]] = stablehlo.reduce({{.*}}) applies stablehlo.maximum
// CHECK: stablehlo.while
// CHECK: [[LEFT:%[^ ]+]] = stablehlo.subtract [[LAST]], %iterArg
// CHECK: stablehlo.compare GE
// CHECK: [[PLACE:%[^ ]+]] = stablehlo.subtract [[LEFT]]
// CHECK: stablehlo.dynamic_slice %arg0, {{%[^ ]+}}, [[PLACE]], sizes = [3, 1]
// CHECK-NOT: stablehlo.gather
module @backwards {
  func.func @main(%x: tensor<8xf32>, %n: tensor<i32>) -> tensor<f32> {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c1 = stablehlo.constant dense<1> : tensor<i32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %r:2 = stablehlo.while(%i = %c0, %h = %zero) : tensor<i32>, tensor<f32>
    cond {
      %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %left = stablehlo.subtract %n, %i : tensor<i32>
      %place = stablehlo.subtract %left, %c1 : tensor<i32>
      %s = stablehlo.dynamic_slice %x, %place, sizes = [1] : (tensor<8xf32>, tensor<i32>) -> tensor<1xf32>
      %e = stablehlo.reshape %s : (tensor<1xf32>) -> tensor<f32>
      %h1 = stablehlo.add %h, %e : tensor<f32>
      %i1 = stablehlo.add %i, %c1 : tensor<i32>
      stablehlo.return %i1, %h1 : tensor<i32>, tensor<f32>
    }
    return %r#1 : tensor<f32>
  }
}

// -----

// Branches that rows do not agree on are both run; a place of its own makes a slice a gather.
// CHECK-LABEL: module @branches
// CHECK: "stablehlo.gather"(%arg0, {{.*}} operand_batching_dims = [0], start_indices_batching_dims = [0]
// CHECK: [[TAKEN:%[^ ]+]] = stablehlo.broadcast_in_dim %arg1, dims = [0]
// CHECK: stablehlo.select [[TAKEN]]
// CHECK-NOT: stablehlo.if
module @branches {
  func.func @main(%x: tensor<8xf32>, %p: tensor<i1>, %n: tensor<i32>) -> tensor<2xf32> {
    %s = stablehlo.dynamic_slice %x, %n, sizes = [2] : (tensor<8xf32>, tensor<i32>) -> tensor<2xf32>
    %r = "stablehlo.if"(%p) ({
      %a = stablehlo.sine %s : tensor<2xf32>
      stablehlo.return %a : tensor<2xf32>
    }, {
      stablehlo.return %s : tensor<2xf32>
    }) : (tensor<i1>) -> tensor<2xf32>
    return %r : tensor<2xf32>
  }
}
