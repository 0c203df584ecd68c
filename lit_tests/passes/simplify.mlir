// What each rewrite of simplify makes, where sizes are known and where they are not; what changes rounding, or would need
// a 0.0 added to -0.0, is left out or written otherwise under reassociate=false (the prefix EXACT).
//
// RUN: %hlograph opt %s --split-input-file --pass simplify --explain simplify 2>&1 | filecheck %s
// RUN: %hlograph opt %s --split-input-file --pass 'simplify{reassociate=false}' --explain simplify 2>&1 | filecheck %s --check-prefix=EXACT

// The reasons come first, on stderr.
// CHECK: transpose_into_dot: {{.*}}: left alone: the left operand's axes [2, 1] would come in another order in the result
// CHECK: gather_to_slice: {{.*}}: left alone: tensor<?x2xf32> has a dynamic dimension
// EXACT: power_to_multiply: every op: left alone: it changes rounding, and reassociate=false is asked for

// A scatter that is a pad, and a term of a sum.
// CHECK-LABEL: @main
// CHECK: stablehlo.concatenate %arg1, %arg0, {{%[^ ]+}}, dim = 0 : (tensor<1xf32>, tensor<2xf32>, tensor<1xf32>)
// CHECK-NEXT: return
// EXACT-LABEL: @main
// EXACT-NOT: stablehlo.scatter
// EXACT: [[SUM:%[^ ]+]] = stablehlo.concatenate
// EXACT: [[ZERO:%[^ ]+]] = stablehlo.compare EQ, [[SUM]]
// EXACT: stablehlo.select [[ZERO]]
func.func @main(%u: tensor<2xf32>, %v: tensor<1xf32>) -> tensor<4xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.constant dense<0.0> : tensor<4xf32>
  %i = stablehlo.constant dense<[[1], [2]]> : tensor<2x1xi32>
  %s = "stablehlo.scatter"(%0, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %n = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %n : tensor<f32>
  }) : (tensor<4xf32>, tensor<2x1xi32>, tensor<2xf32>) -> tensor<4xf32>
  %p = stablehlo.pad %v, %z, low = [0], high = [3], interior = [0] : (tensor<1xf32>, tensor<f32>) -> tensor<4xf32>
  %t = stablehlo.add %s, %p : tensor<4xf32>
  return %t : tensor<4xf32>
}

// Rows of a grid: along each axis pads are at the same place or apart. Integers have no -0.
// CHECK-LABEL: @sum_of_pads.grid
// CHECK: [[ROW:%[^ ]+]] = stablehlo.concatenate %arg0, %arg1, dim = 1
// CHECK-NEXT: [[ALL:%[^ ]+]] = stablehlo.concatenate [[ROW]], %arg2, dim = 0
// CHECK-NEXT: return [[ALL]]
func.func private @sum_of_pads.grid(%a: tensor<2x1xi32>, %b: tensor<2x2xi32>, %c: tensor<1x3xi32>) -> tensor<3x3xi32> {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %p = stablehlo.pad %a, %z, low = [0, 0], high = [1, 2], interior = [0, 0] : (tensor<2x1xi32>, tensor<i32>) -> tensor<3x3xi32>
  %q = stablehlo.pad %b, %z, low = [0, 1], high = [1, 0], interior = [0, 0] : (tensor<2x2xi32>, tensor<i32>) -> tensor<3x3xi32>
  %r = stablehlo.pad %c, %z, low = [2, 0], high = [0, 0], interior = [0, 0] : (tensor<1x3xi32>, tensor<i32>) -> tensor<3x3xi32>
  %s = stablehlo.add %p, %q : tensor<3x3xi32>
  %t = stablehlo.add %s, %r : tensor<3x3xi32>
  return %t : tensor<3x3xi32>
}

// Strided and backwards, along the second axis.
// CHECK-LABEL: @gather_to_slice.backwards
// CHECK: [[PART:%[^ ]+]] = stablehlo.slice %arg0 [0:3, 1:8:3]
// CHECK-NEXT: stablehlo.reverse [[PART]], dims = [1]
func.func private @gather_to_slice.backwards(%x: tensor<3x9xf32>) -> tensor<3x3xf32> {
  %i = stablehlo.constant dense<[7, 4, 1]> : tensor<3xi64>
  %g = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 3, 1>}> : (tensor<3x9xf32>, tensor<3xi64>) -> tensor<3x3xf32>
  return %g : tensor<3x3xf32>
}

// Rows from an index on, checked against the size; what is true in some places only stays.
// CHECK-LABEL: @known_select.all_and_some
// CHECK: [[SOME:%[^ ]+]] = stablehlo.select
// CHECK-NEXT: return %arg0, [[SOME]]
func.func private @known_select.all_and_some(%x: tensor<3x2xf32>, %y: tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>) {
  %i = stablehlo.iota dim = 0 : tensor<3xi32>
  %size = stablehlo.constant dense<3> : tensor<3xi32>
  %one = stablehlo.constant dense<1> : tensor<3xi32>
  %m = stablehlo.compare LT, %i, %size, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
  %n = stablehlo.compare GE, %i, %one, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
  %b = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<3xi1>) -> tensor<3x2xi1>
  %c = stablehlo.broadcast_in_dim %n, dims = [0] : (tensor<3xi1>) -> tensor<3x2xi1>
  %s = stablehlo.select %b, %x, %y : tensor<3x2xi1>, tensor<3x2xf32>
  %t = stablehlo.select %c, %x, %y : tensor<3x2xi1>, tensor<3x2xf32>
  return %s, %t : tensor<3x2xf32>, tensor<3x2xf32>
}

// Every other element, backwards, into a number; and all of an array.
// CHECK-LABEL: @scatter_to_pad.overwrites
// CHECK: [[BACK:%[^ ]+]] = stablehlo.reverse %arg1, dims = [0]
// CHECK: [[SEVEN:%[^ ]+]] = stablehlo.constant dense<7> : tensor<i32>
// CHECK: [[PAD:%[^ ]+]] = stablehlo.pad [[BACK]], [[SEVEN]], low = [0], high = [1], interior = [1]
// CHECK-NEXT: return [[PAD]], %arg1
func.func private @scatter_to_pad.overwrites(%x: tensor<2xi32>, %u: tensor<2xi32>) -> (tensor<4xi32>, tensor<2xi32>) {
  %z = stablehlo.constant dense<7> : tensor<4xi32>
  %i = stablehlo.constant dense<[[2], [0]]> : tensor<2x1xi32>
  %j = stablehlo.constant dense<[[0], [1]]> : tensor<2x1xi32>
  %s = "stablehlo.scatter"(%z, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    stablehlo.return %b : tensor<i32>
  }) : (tensor<4xi32>, tensor<2x1xi32>, tensor<2xi32>) -> tensor<4xi32>
  %t = "stablehlo.scatter"(%x, %j, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    stablehlo.return %b : tensor<i32>
  }) : (tensor<2xi32>, tensor<2x1xi32>, tensor<2xi32>) -> tensor<2xi32>
  return %s, %t : tensor<4xi32>, tensor<2xi32>
}

// CHECK-LABEL: @abs_of_negate.both
// CHECK: stablehlo.abs %arg0 : tensor<?xf64>
// CHECK: stablehlo.abs %arg1 : tensor<4xf32>
// CHECK-NEXT: return
func.func private @abs_of_negate.both(%x: tensor<?xf64>, %y: tensor<4xf32>) -> (tensor<?xf64>, tensor<4xf32>) {
  %n = stablehlo.negate %x : tensor<?xf64>
  %a = stablehlo.abs %n : tensor<?xf64>
  %z = stablehlo.constant dense<-0.0> : tensor<4xf32>
  %m = stablehlo.negate %y : tensor<4xf32>
  %d = stablehlo.subtract %m, %z : tensor<4xf32>
  %b = stablehlo.abs %d : tensor<4xf32>
  return %a, %b : tensor<?xf64>, tensor<4xf32>
}

// CHECK-LABEL: @power_to_multiply.seventh
// CHECK: [[TWO:%[^ ]+]] = stablehlo.multiply %arg0, %arg0
// CHECK: [[THREE:%[^ ]+]] = stablehlo.multiply %arg0, [[TWO]]
// CHECK: [[FOUR:%[^ ]+]] = stablehlo.multiply [[TWO]], [[TWO]]
// CHECK: stablehlo.multiply [[THREE]], [[FOUR]]
func.func private @power_to_multiply.seventh(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c = stablehlo.constant dense<7> : tensor<4xi32>
  %p = stablehlo.power %x, %c : tensor<4xi32>
  return %p : tensor<4xi32>
}

// Over the axis that the broadcast made; and over another one too.
// CHECK-LABEL: @reduce_of_broadcast.maximum_and_sum
// CHECK: [[SUM:%[^ ]+]] = stablehlo.reduce(%arg0 init: {{%[^ ]+}}) applies stablehlo.add across dimensions = [0]
// CHECK: [[COPIES:%[^ ]+]] = stablehlo.constant dense<6.400000e+01>
// CHECK: [[ALL:%[^ ]+]] = stablehlo.multiply [[SUM]], [[COPIES]]
// CHECK: return %arg0, [[ALL]]
func.func private @reduce_of_broadcast.maximum_and_sum(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>) {
  %i = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %b = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<4xf32>) -> tensor<4x64xf32>
  %r = stablehlo.reduce(%b init: %i) applies stablehlo.maximum across dimensions = [1] : (tensor<4x64xf32>, tensor<f32>) -> tensor<4xf32>
  %s = stablehlo.reduce(%b init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x64xf32>, tensor<f32>) -> tensor<f32>
  return %r, %s : tensor<4xf32>, tensor<f32>
}

// CHECK-LABEL: @transpose_into_dot.batched
// CHECK-NEXT: stablehlo.dot_general %arg0, %arg1, batching_dims = [1] x [1], contracting_dims = [0] x [2], precision = [HIGHEST, DEFAULT]
func.func private @transpose_into_dot.batched(%a: tensor<3x2x4xf32>, %b: tensor<5x2x3xf32>) -> tensor<2x4x5xf32> {
  %t = stablehlo.transpose %a, dims = [1, 2, 0] : (tensor<3x2x4xf32>) -> tensor<2x4x3xf32>
  %u = stablehlo.transpose %b, dims = [1, 2, 0] : (tensor<5x2x3xf32>) -> tensor<2x3x5xf32>
  %d = stablehlo.dot_general %t, %u, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [HIGHEST, DEFAULT] : (tensor<2x4x3xf32>, tensor<2x3x5xf32>) -> tensor<2x4x5xf32>
  return %d : tensor<2x4x5xf32>
}

// CHECK-LABEL: @transpose_into_dot.order
// CHECK: stablehlo.transpose
func.func private @transpose_into_dot.order(%a: tensor<3x2x4xf32>, %b: tensor<3xf32>) -> tensor<4x2xf32> {
  %t = stablehlo.transpose %a, dims = [2, 1, 0] : (tensor<3x2x4xf32>) -> tensor<4x2x3xf32>
  %d = stablehlo.dot_general %t, %b, contracting_dims = [2] x [0] : (tensor<4x2x3xf32>, tensor<3xf32>) -> tensor<4x2xf32>
  return %d : tensor<4x2xf32>
}

// -----

// Where nothing applies a module comes out as it was, dead ops too.
// CHECK-LABEL: @main
// CHECK: stablehlo.cosine
// CHECK: stablehlo.power
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %dead = stablehlo.cosine %x : tensor<4xf32>
  %p = stablehlo.power %x, %x : tensor<4xf32>
  return %p : tensor<4xf32>
}

// -----

// Sizes that are not known yet.
// CHECK-LABEL: @main
// CHECK-NEXT: stablehlo.dot_general %arg0, %arg1, contracting_dims = [0] x [0]
func.func @main(%a: tensor<?x4xf32>, %v: tensor<?xf32>) -> tensor<4xf32> {
  %t = stablehlo.transpose %a, dims = [1, 0] : (tensor<?x4xf32>) -> tensor<4x?xf32>
  %d = stablehlo.dot_general %t, %v, contracting_dims = [1] x [0] : (tensor<4x?xf32>, tensor<?xf32>) -> tensor<4xf32>
  return %d : tensor<4xf32>
}

// CHECK-LABEL: @others.dynamic
// CHECK: stablehlo.power
// CHECK: stablehlo.gather
// CHECK: stablehlo.scatter
// CHECK: stablehlo.broadcast_in_dim {{.*}} -> tensor<4x3xf32>
// CHECK: stablehlo.select
// CHECK: stablehlo.add
func.func private @others.dynamic(%x: tensor<?xf32>, %y: tensor<?x2xf32>, %n: tensor<1xi32>, %m: tensor<?xi1>) -> (tensor<?xf32>, tensor<2x2xf32>, tensor<?xf32>, tensor<4xf32>, tensor<?xf32>, tensor<?xf32>) {
  %two = stablehlo.constant dense<2.0> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %i = stablehlo.constant dense<[[0], [1]]> : tensor<2x1xi32>
  %u = stablehlo.constant dense<1.0> : tensor<2xf32>
  %e = stablehlo.dynamic_broadcast_in_dim %two, %n, dims = [] : (tensor<f32>, tensor<1xi32>) -> tensor<?xf32>
  %p = stablehlo.power %x, %e : tensor<?xf32>
  %g = "stablehlo.gather"(%y, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>}> : (tensor<?x2xf32>, tensor<2x1xi32>) -> tensor<2x2xf32>
  %s = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<?xf32>, tensor<2x1xi32>, tensor<2xf32>) -> tensor<?xf32>
  %b = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<?xf32>) -> tensor<4x3xf32>
  %r = stablehlo.reduce(%b init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
  %c = stablehlo.select %m, %x, %s : tensor<?xi1>, tensor<?xf32>
  %k = stablehlo.pad %x, %zero, low = [0], high = [2], interior = [0] : (tensor<?xf32>, tensor<f32>) -> tensor<?xf32>
  %l = stablehlo.pad %x, %zero, low = [2], high = [0], interior = [0] : (tensor<?xf32>, tensor<f32>) -> tensor<?xf32>
  %t = stablehlo.add %k, %l : tensor<?xf32>
  return %p, %g, %s, %r, %c, %t : tensor<?xf32>, tensor<2x2xf32>, tensor<?xf32>, tensor<4xf32>, tensor<?xf32>, tensor<?xf32>
}
