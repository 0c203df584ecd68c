// Loops that run a live size of steps, in what `pad` makes: the stack goes, and with it the masks of time.
//
// RUN: %hlograph opt %s --split-input-file --pass 'pad{t=8}' --pass sink_reductions | filecheck %s
// RUN: %hlograph opt %s --split-input-file --pass 'pad{t=8}' --pass sink_reductions --explain sink_reductions 2>&1 | filecheck %s --check-prefix=WHY

// A maximum needs a mask, since -inf is not what the padding holds; in the loop's steps the mask is always true. A loop
// of no steps gives the initial value. Rows from outside are read a step each.
// CHECK-LABEL: module @masked
// CHECK: func.func {{.*}}@main(%x: tensor<8x4xf32> {{.*}}, %t: tensor<i32> {{{.*}}hlograph.size = "t"})
// CHECK: [[LOW:%[^ ]+]] = stablehlo.constant dense<0xFF800000> : tensor<f32>
// CHECK: [[START:%[^ ]+]] = stablehlo.broadcast_in_dim [[LOW]], dims = [] : (tensor<f32>) -> tensor<4xf32>
// CHECK: stablehlo.while({{.*}} = [[START]]) : tensor<i32>, tensor<1x4xf32>, tensor<4xf32>
// CHECK: stablehlo.compare LT, %iterArg{{[^ ]*}}, {{%[^ ]+}}
// CHECK: do {
// CHECK-NOT: stablehlo.select
// CHECK-NOT: stablehlo.dynamic_update_slice
// CHECK: stablehlo.maximum {{.*}} : tensor<4xf32>
// CHECK: return {{%[^ ]+}}#2 : tensor<4xf32>
// WHY: sink_reductions: {{.*}}: stack 2 became stablehlo.reduce
module @masked {
  func.func @main(%x: tensor<?x4xf32> {hlograph.name = "x", hlograph.dims = ["t", "4"]}) -> tensor<4xf32> {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c1 = stablehlo.constant dense<1> : tensor<i32>
    %four = stablehlo.constant dense<4> : tensor<1xi32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %t = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>
    %t1 = stablehlo.reshape %t : (tensor<i32>) -> tensor<1xi32>
    %shape = stablehlo.concatenate %t1, %four, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %h0 = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<1x4xf32>
    %ys0 = stablehlo.dynamic_broadcast_in_dim %zero, %shape, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x4xf32>
    %r:3 = stablehlo.while(%i = %c0, %h = %h0, %ys = %ys0) : tensor<i32>, tensor<1x4xf32>, tensor<?x4xf32>
    cond {
      %p = stablehlo.compare LT, %i, %t : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %row = stablehlo.dynamic_slice %x, %i, %c0, sizes = [1, 4] : (tensor<?x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
      %h1 = stablehlo.add %h, %row : tensor<1x4xf32>
      %ys1 = stablehlo.dynamic_update_slice %ys, %h1, %i, %c0 : (tensor<?x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<?x4xf32>
      %i1 = stablehlo.add %i, %c1 : tensor<i32>
      stablehlo.return %i1, %h1, %ys1 : tensor<i32>, tensor<1x4xf32>, tensor<?x4xf32>
    }
    %e = stablehlo.exponential %r#2 : tensor<?x4xf32>
    %m = stablehlo.reduce(%e init: %low) applies stablehlo.maximum across dimensions = [0] : (tensor<?x4xf32>, tensor<f32>) -> tensor<4xf32>
    return %m : tensor<4xf32>
  }
}

// -----

// What is reduced has a row more than the loop writes, and the row is live: the stack stays.
// CHECK-LABEL: module @a_row_more
// CHECK: stablehlo.while({{.*}}) : tensor<i32>, tensor<1x4xf32>, tensor<9x4xf32>
// CHECK: stablehlo.dynamic_update_slice
// CHECK: stablehlo.reduce({{.*}}) applies stablehlo.maximum across dimensions = [0] {hlograph.live = ["t + 1"]}
// WHY: stack 2: rows that the loop does not write may count in what is reduced
module @a_row_more {
  func.func @main(%x: tensor<?x4xf32> {hlograph.name = "x", hlograph.dims = ["t", "4"]}) -> tensor<4xf32> {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c1 = stablehlo.constant dense<1> : tensor<i32>
    %four = stablehlo.constant dense<4> : tensor<1xi32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %t = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>
    %more = stablehlo.add %t, %c1 : tensor<i32>
    %t1 = stablehlo.reshape %more : (tensor<i32>) -> tensor<1xi32>
    %shape = stablehlo.concatenate %t1, %four, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %h0 = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<1x4xf32>
    %ys0 = stablehlo.dynamic_broadcast_in_dim %zero, %shape, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x4xf32>
    %r:3 = stablehlo.while(%i = %c0, %h = %h0, %ys = %ys0) : tensor<i32>, tensor<1x4xf32>, tensor<?x4xf32>
    cond {
      %p = stablehlo.compare LT, %i, %t : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %row = stablehlo.dynamic_slice %x, %i, %c0, sizes = [1, 4] : (tensor<?x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
      %h1 = stablehlo.add %h, %row : tensor<1x4xf32>
      %ys1 = stablehlo.dynamic_update_slice %ys, %h1, %i, %c0 : (tensor<?x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<?x4xf32>
      %i1 = stablehlo.add %i, %c1 : tensor<i32>
      stablehlo.return %i1, %h1, %ys1 : tensor<i32>, tensor<1x4xf32>, tensor<?x4xf32>
    }
    %m = stablehlo.reduce(%r#2 init: %low) applies stablehlo.maximum across dimensions = [0] : (tensor<?x4xf32>, tensor<f32>) -> tensor<4xf32>
    return %m : tensor<4xf32>
  }
}
