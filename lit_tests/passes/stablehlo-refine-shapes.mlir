// RUN: %hlograph opt %s --split-input-file --pass stablehlo-refine-shapes | filecheck %s

// Sizes go on from static arguments.
// CHECK-LABEL: module @static
// CHECK: stablehlo.dynamic_reshape %arg0, {{.*}} -> tensor<6xf64>
// CHECK: stablehlo.negate {{.*}} : tensor<6xf64>
module @static {
  func.func @main(%arg0: tensor<2x3xf64>) -> tensor<?xf64> {
    %shape = stablehlo.constant dense<6> : tensor<1xi64>
    %0 = stablehlo.dynamic_reshape %arg0, %shape : (tensor<2x3xf64>, tensor<1xi64>) -> tensor<?xf64>
    %1 = stablehlo.negate %0 : tensor<?xf64>
    return %1 : tensor<?xf64>
  }
}

// -----

// Where the argument's size is not known, the types stay.
// CHECK-LABEL: module @dynamic
// CHECK: stablehlo.negate %arg0 : tensor<?xf64>
module @dynamic {
  func.func @main(%arg0: tensor<?xf64>) -> tensor<?xf64> {
    %0 = stablehlo.negate %arg0 : tensor<?xf64>
    return %0 : tensor<?xf64>
  }
}

// -----

// Nothing to refine.
// CHECK-LABEL: module @nothing
// CHECK: stablehlo.negate %arg0 : tensor<3xf64>
module @nothing {
  func.func @main(%arg0: tensor<3xf64>) -> tensor<3xf64> {
    %0 = stablehlo.negate %arg0 : tensor<3xf64>
    return %0 : tensor<3xf64>
  }
}
