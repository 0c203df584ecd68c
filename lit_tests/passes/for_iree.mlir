// Forms that IREE compiles for all sizes at once, and runs right.
//
// RUN: not %hlograph opt %s --split-input-file --pass for_iree 2> %t.err | filecheck %s
// RUN: filecheck %s --check-prefix=ERROR < %t.err
// RUN: not %hlograph opt %s --split-input-file --pass 'for_iree{n=1}' 2>&1 | filecheck %s --check-prefix=OPTION

// ERROR: hlograph: error: for_iree: IREE has no stablehlo.reduce_precision of unknown sizes
// OPTION: hlograph: error: pass 'for_iree' has no option 'n'; it takes asserts (true or false)

// CHECK-LABEL: module @product
// CHECK: stablehlo.dynamic_broadcast_in_dim %arg1, {{.*}}known_nonexpanding_dimensions = array<i64: 0>
// CHECK: stablehlo.multiply
// CHECK: stablehlo.reduce({{.*}}) applies stablehlo.add across dimensions = [1]
// CHECK-NOT: dot_general
module @product {
  func.func @main(%x: tensor<?x?xf64>, %y: tensor<?xf64>) -> tensor<?xf64> {
    %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<?x?xf64>, tensor<?xf64>) -> tensor<?xf64>
    return %0 : tensor<?xf64>
  }
}

// -----
// A constraint is a flag of the results.
// CHECK-LABEL: module @constraint
// CHECK: hlograph.checks = {{.*}}"n == m: there"
// CHECK: call @sizes_fit
// CHECK: func.func private @sizes_fit
// CHECK: stablehlo.compare EQ
module @constraint {
  func.func @main(%x: tensor<?xf64> {hlograph.name = "x", hlograph.dims = ["n"]}, %y: tensor<?xf64> {hlograph.name = "y", hlograph.dims = ["m"]}) -> tensor<?xf64> attributes {hlograph.constraints = [["n == m", "there"]]} {
    %0 = stablehlo.add %x, %y : tensor<?xf64>
    return %0 : tensor<?xf64>
  }
}

// -----
// Static ones: only what IREE computes wrong becomes something else.
// CHECK-LABEL: module @static
// CHECK: stablehlo.dot_general
// CHECK-NOT: log_plus_one
// CHECK: stablehlo.log %
module @static {
  func.func @main(%x: tensor<3x3xf64>, %y: tensor<3xf64>) -> tensor<3xf64> {
    %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<3x3xf64>, tensor<3xf64>) -> tensor<3xf64>
    %1 = stablehlo.log_plus_one %0 : tensor<3xf64>
    return %1 : tensor<3xf64>
  }
}

// -----

module @refused {
  func.func @main(%x: tensor<?xf64>) -> tensor<?xf64> {
    %0 = stablehlo.reduce_precision %x, format = e5m10 : tensor<?xf64>
    return %0 : tensor<?xf64>
  }
}
