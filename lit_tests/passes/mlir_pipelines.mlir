// Passes that MLIR and StableHLO have are wired: each does to this module what its name says.
//
// RUN: %hlograph opt %s --pass canonicalize | filecheck %s --check-prefix CANONICALIZE
// RUN: %hlograph opt %s --pass cse | filecheck %s --check-prefix CSE
// RUN: %hlograph opt %s --pass sccp | filecheck %s --check-prefix SCCP
// RUN: %hlograph opt %s --pass symbol-dce | filecheck %s --check-prefix SYMBOLS
// RUN: %hlograph opt %s --pass chlo-legalize-to-stablehlo | filecheck %s --check-prefix CHLO
// RUN: %hlograph opt %s --pass stablehlo-refine-shapes | filecheck %s --check-prefix SHAPES
// RUN: %hlograph opt %s --pass stablehlo-canonicalize-dynamism | filecheck %s --check-prefix SIZES

// CANONICALIZE-NOT: stablehlo.negate

// CSE: [[EXP:%[^ ]+]] = stablehlo.exponential %arg0
// CSE-NOT: stablehlo.exponential
// CSE: stablehlo.add [[EXP]], [[EXP]]

// A constant argument of every call is a constant in the function.
// SCCP: func.func private @inner
// SCCP: [[SIX:%[^ ]+]] = stablehlo.constant dense<6>
// SCCP: stablehlo.dynamic_reshape %arg0, [[SIX]]

// SYMBOLS-NOT: @unused
// SYMBOLS: func.func private @inner
// SYMBOLS-NOT: @unused

// CHLO-NOT: chlo.
// CHLO: stablehlo.multiply %arg0, %arg0 : tensor<?xf64>

// Sizes go on from static arguments and constants; what an argument's size would say stays open.
// SHAPES: stablehlo.exponential %arg0 : tensor<?xf64>
// SHAPES: stablehlo.dynamic_reshape %arg1, {{.*}} -> tensor<6xf64>
// SHAPES: stablehlo.sine {{.*}} : tensor<6xf64>

// SIZES: stablehlo.reshape %arg1 : (tensor<2x3xf64>) -> tensor<3x2xf64>
// SIZES: stablehlo.dynamic_reshape %arg0, %arg1 : (tensor<?xf64>, tensor<1xi64>) -> tensor<?xf64>
func.func @main(%x: tensor<?xf64>, %y: tensor<2x3xf64>) -> (tensor<?xf64>, tensor<?xf64>, tensor<?xf64>, tensor<?xf64>, tensor<3x2xf64>) {
  %unused = stablehlo.negate %x : tensor<?xf64>
  %first = stablehlo.exponential %x : tensor<?xf64>
  %second = stablehlo.exponential %x : tensor<?xf64>
  %sum = stablehlo.add %first, %second : tensor<?xf64>
  %six = stablehlo.constant dense<6> : tensor<1xi64>
  %flat = call @inner(%x, %six) : (tensor<?xf64>, tensor<1xi64>) -> tensor<?xf64>
  %square = chlo.square %x : tensor<?xf64> -> tensor<?xf64>
  %known = stablehlo.dynamic_reshape %y, %six : (tensor<2x3xf64>, tensor<1xi64>) -> tensor<?xf64>
  %sine = stablehlo.sine %known : tensor<?xf64>
  %shape = stablehlo.constant dense<[3, 2]> : tensor<2xi64>
  %turned = stablehlo.dynamic_reshape %y, %shape : (tensor<2x3xf64>, tensor<2xi64>) -> tensor<3x2xf64>
  return %sum, %flat, %square, %sine, %turned : tensor<?xf64>, tensor<?xf64>, tensor<?xf64>, tensor<?xf64>, tensor<3x2xf64>
}
func.func private @inner(%x: tensor<?xf64>, %shape: tensor<1xi64>) -> tensor<?xf64> {
  %0 = stablehlo.dynamic_reshape %x, %shape : (tensor<?xf64>, tensor<1xi64>) -> tensor<?xf64>
  return %0 : tensor<?xf64>
}
func.func private @unused(%x: tensor<?xf64>) -> tensor<?xf64> {
  return %x : tensor<?xf64>
}
