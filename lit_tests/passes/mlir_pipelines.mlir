// Passes that MLIR and StableHLO have are wired: each does to these two modules what its name says.
//
// RUN: %hlograph opt %s --split-input-file --pass canonicalize | filecheck %s --check-prefix CANONICALIZE
// RUN: %hlograph opt %s --split-input-file --pass cse | filecheck %s --check-prefix CSE
// RUN: %hlograph opt %s --split-input-file --pass sccp | filecheck %s --check-prefix SCCP
// RUN: %hlograph opt %s --split-input-file --pass symbol-dce | filecheck %s --check-prefix SYMBOLS
// RUN: %hlograph opt %s --split-input-file --pass chlo-legalize-to-stablehlo | filecheck %s --check-prefix CHLO
// RUN: %hlograph opt %s --split-input-file --pass stablehlo-refine-shapes | filecheck %s --check-prefix SHAPES
// RUN: %hlograph opt %s --split-input-file --pass stablehlo-canonicalize-dynamism | filecheck %s --check-prefix SIZES

// CANONICALIZE-LABEL: module @static
// CANONICALIZE-NOT: stablehlo.negate

// CSE-LABEL: module @static
// CSE: [[EXP:%[^ ]+]] = stablehlo.exponential %arg0
// CSE-NOT: stablehlo.exponential
// CSE: stablehlo.add [[EXP]], [[EXP]]

// A constant argument of every call is a constant in the function.
// SCCP-LABEL: module @static
// SCCP: func.func private @inner
// SCCP: [[TWO:%[^ ]+]] = stablehlo.constant dense<2.000000e+00>
// SCCP: stablehlo.multiply %arg0, [[TWO]]

// SYMBOLS-LABEL: module @static
// SYMBOLS-NOT: @unused
// SYMBOLS: func.func private @inner
// SYMBOLS-NOT: @unused

// CHLO-LABEL: module @static
// CHLO-NOT: chlo.
// CHLO: stablehlo.multiply %arg0, %arg0 : tensor<2x3xf64>

// There is nothing to refine.
// SHAPES-LABEL: module @static
// SHAPES: stablehlo.add {{.*}} : tensor<2x3xf64>

// SIZES-LABEL: module @static
// SIZES: stablehlo.reshape {{.*}} : (tensor<2x3xf64>) -> tensor<3x2xf64>
module @static {
  func.func @main(%x: tensor<2x3xf64>) -> (tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>, tensor<3x2xf64>) {
    %unused = stablehlo.negate %x : tensor<2x3xf64>
    %first = stablehlo.exponential %x : tensor<2x3xf64>
    %second = stablehlo.exponential %x : tensor<2x3xf64>
    %sum = stablehlo.add %first, %second : tensor<2x3xf64>
    %two = stablehlo.constant dense<2.0> : tensor<2x3xf64>
    %twice = call @inner(%x, %two) : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x3xf64>
    %square = chlo.square %x : tensor<2x3xf64> -> tensor<2x3xf64>
    %shape = stablehlo.constant dense<[3, 2]> : tensor<2xi64>
    %turned = stablehlo.dynamic_reshape %x, %shape : (tensor<2x3xf64>, tensor<2xi64>) -> tensor<3x2xf64>
    return %sum, %twice, %square, %turned : tensor<2x3xf64>, tensor<2x3xf64>, tensor<2x3xf64>, tensor<3x2xf64>
  }
  func.func private @inner(%x: tensor<2x3xf64>, %y: tensor<2x3xf64>) -> tensor<2x3xf64> {
    %0 = stablehlo.multiply %x, %y : tensor<2x3xf64>
    return %0 : tensor<2x3xf64>
  }
  func.func private @unused(%x: tensor<2x3xf64>) -> tensor<2x3xf64> {
    return %x : tensor<2x3xf64>
  }
}

// -----

// CANONICALIZE-LABEL: module @dynamic
// CANONICALIZE-NOT: stablehlo.negate

// CSE-LABEL: module @dynamic
// CSE: [[EXP:%[^ ]+]] = stablehlo.exponential %arg0
// CSE: stablehlo.add [[EXP]], [[EXP]]

// SCCP-LABEL: module @dynamic
// SCCP: func.func private @inner
// SCCP: [[SIX:%[^ ]+]] = stablehlo.constant dense<6>
// SCCP: stablehlo.dynamic_reshape %arg0, [[SIX]]

// SYMBOLS-LABEL: module @dynamic
// SYMBOLS: func.func private @inner
// SYMBOLS-NOT: @unused

// CHLO-LABEL: module @dynamic
// CHLO: stablehlo.multiply %arg0, %arg0 : tensor<?xf64>

// Sizes go on from static arguments and constants; what an argument's size would say stays open.
// SHAPES-LABEL: module @dynamic
// SHAPES: stablehlo.exponential %arg0 : tensor<?xf64>
// SHAPES: stablehlo.dynamic_reshape %arg1, {{.*}} -> tensor<6xf64>
// SHAPES: stablehlo.sine {{.*}} : tensor<6xf64>

// SIZES-LABEL: module @dynamic
// SIZES: stablehlo.dynamic_reshape %arg0, %arg1 : (tensor<?xf64>, tensor<1xi64>) -> tensor<?xf64>
module @dynamic {
  func.func @main(%x: tensor<?xf64>, %y: tensor<2x3xf64>) -> (tensor<?xf64>, tensor<?xf64>, tensor<?xf64>, tensor<?xf64>) {
    %unused = stablehlo.negate %x : tensor<?xf64>
    %first = stablehlo.exponential %x : tensor<?xf64>
    %second = stablehlo.exponential %x : tensor<?xf64>
    %sum = stablehlo.add %first, %second : tensor<?xf64>
    %six = stablehlo.constant dense<6> : tensor<1xi64>
    %flat = call @inner(%x, %six) : (tensor<?xf64>, tensor<1xi64>) -> tensor<?xf64>
    %square = chlo.square %x : tensor<?xf64> -> tensor<?xf64>
    %known = stablehlo.dynamic_reshape %y, %six : (tensor<2x3xf64>, tensor<1xi64>) -> tensor<?xf64>
    %sine = stablehlo.sine %known : tensor<?xf64>
    return %sum, %flat, %square, %sine : tensor<?xf64>, tensor<?xf64>, tensor<?xf64>, tensor<?xf64>
  }
  func.func private @inner(%x: tensor<?xf64>, %shape: tensor<1xi64>) -> tensor<?xf64> {
    %0 = stablehlo.dynamic_reshape %x, %shape : (tensor<?xf64>, tensor<1xi64>) -> tensor<?xf64>
    return %0 : tensor<?xf64>
  }
  func.func private @unused(%x: tensor<?xf64>) -> tensor<?xf64> {
    return %x : tensor<?xf64>
  }
}
