// A choice that is known is no choice; one that is known but not the same everywhere stays, and says so.
//
// RUN: %hlograph opt %s --split-input-file --pass known_select --explain known_select 2>&1 | filecheck %s

// CHECK: known_select: {{.*}}: rewritten
// CHECK-NEXT: known_select: {{.*}}: left alone: the predicate is known, but true in some places and false in others

// Rows from an index on, checked against the size.
module @all {
  func.func @main(%x: tensor<3x2xf32>, %y: tensor<3x2xf32>) -> tensor<3x2xf32> {
    %i = stablehlo.iota dim = 0 : tensor<3xi32>
    %size = stablehlo.constant dense<3> : tensor<3xi32>
    %m = stablehlo.compare LT, %i, %size, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %b = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<3xi1>) -> tensor<3x2xi1>
    %s = stablehlo.select %b, %x, %y : tensor<3x2xi1>, tensor<3x2xf32>
    return %s : tensor<3x2xf32>
  }
}
// CHECK-LABEL: module @all
// CHECK: return %arg0

// -----

module @some {
  func.func @main(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xf32> {
    %i = stablehlo.iota dim = 0 : tensor<3xi32>
    %one = stablehlo.constant dense<1> : tensor<3xi32>
    %m = stablehlo.compare GE, %i, %one, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %s = stablehlo.select %m, %x, %y : tensor<3xi1>, tensor<3xf32>
    return %s : tensor<3xf32>
  }
}
// CHECK-LABEL: module @some
// CHECK: stablehlo.select

// -----

module @unknown {
  func.func @main(%m: tensor<?xi1>, %x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
    %s = stablehlo.select %m, %x, %y : tensor<?xi1>, tensor<?xf32>
    return %s : tensor<?xf32>
  }
}
// CHECK-LABEL: module @unknown
// CHECK: stablehlo.select
