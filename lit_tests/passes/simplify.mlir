// All rewrites of simplify in one module; and one in which nothing applies comes out as it was, dead ops too.
//
// RUN: %hlograph opt %s --split-input-file --pass simplify | filecheck %s
// RUN: %hlograph opt %s --split-input-file --pass 'simplify{reassociate=false}' --explain simplify 2>&1 | filecheck %s --check-prefix=EXACT

// EXACT: power_to_multiply: every op: left alone: it changes rounding, and reassociate=false is asked for

// CHECK-LABEL: module @several
// CHECK-NOT: stablehlo.scatter
// CHECK-NOT: stablehlo.power
// CHECK: stablehlo.concatenate
// CHECK: stablehlo.multiply
// EXACT-LABEL: module @several
// EXACT-NOT: stablehlo.scatter
// EXACT: stablehlo.concatenate
// EXACT: stablehlo.power
module @several {
  func.func @main(%u: tensor<2xf32>, %v: tensor<1xf32>) -> tensor<4xf32> {
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.constant dense<0.0> : tensor<4xf32>
    %i = stablehlo.constant dense<[[1], [2]]> : tensor<2x1xi32>
    %s = "stablehlo.scatter"(%0, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %n = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %n : tensor<f32>
    }) : (tensor<4xf32>, tensor<2x1xi32>, tensor<2xf32>) -> tensor<4xf32>
    %p = stablehlo.pad %v, %z, low = [0], high = [3], interior = [0] : (tensor<1xf32>, tensor<f32>) -> tensor<4xf32>
    %t = stablehlo.add %s, %p : tensor<4xf32>
    %e = stablehlo.constant dense<4.0> : tensor<4xf32>
    %q = stablehlo.power %t, %e : tensor<4xf32>
    return %q : tensor<4xf32>
  }
}

// -----

// CHECK-LABEL: module @nothing
// CHECK: stablehlo.cosine
// CHECK: stablehlo.power
// EXACT-LABEL: module @nothing
module @nothing {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %dead = stablehlo.cosine %x : tensor<4xf32>
    %p = stablehlo.power %x, %x : tensor<4xf32>
    return %p : tensor<4xf32>
  }
}

// -----

// CHECK-LABEL: module @dynamic
// CHECK-NEXT: func.func
// CHECK-NEXT: stablehlo.dot_general %arg0, %arg1, contracting_dims = [0] x [0]
// EXACT-LABEL: module @dynamic
// EXACT: stablehlo.transpose
module @dynamic {
  func.func @main(%a: tensor<?x4xf32>, %v: tensor<?xf32>) -> tensor<4xf32> {
    %t = stablehlo.transpose %a, dims = [1, 0] : (tensor<?x4xf32>) -> tensor<4x?xf32>
    %d = stablehlo.dot_general %t, %v, contracting_dims = [1] x [0] : (tensor<4x?xf32>, tensor<?xf32>) -> tensor<4xf32>
    return %d : tensor<4xf32>
  }
}
