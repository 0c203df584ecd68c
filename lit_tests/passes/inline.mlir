// RUN: %hlograph opt %s --pass inline | filecheck %s
// RUN: sed 's/4xf64/?xf64/g' %s | %hlograph opt - --pass inline | filecheck %s

// CHECK-LABEL: module @called
// CHECK: stablehlo.negate %arg0 : tensor<{{[4?]}}xf64>
// CHECK: call @lu
// CHECK-NEXT: call @stays
// CHECK-NOT: @inner
module @called {
  func.func @main(%arg0: tensor<4xf64>) -> tensor<4xf64> {
    %0 = call @inner(%arg0) : (tensor<4xf64>) -> tensor<4xf64>
    %1 = call @lu(%0) : (tensor<4xf64>) -> tensor<4xf64>
    %2 = call @stays(%1) : (tensor<4xf64>) -> tensor<4xf64>
    return %2 : tensor<4xf64>
  }
  func.func private @stays(%arg0: tensor<4xf64>) -> tensor<4xf64> attributes {mhlo.frontend_attributes = {inlineable = "false"}} {
    return %arg0 : tensor<4xf64>
  }
  func.func private @lu(%arg0: tensor<4xf64>) -> tensor<4xf64> attributes {hlograph.implements = "lu"} {
    return %arg0 : tensor<4xf64>
  }
  func.func private @inner(%arg0: tensor<4xf64>) -> tensor<4xf64> {
    %0 = stablehlo.negate %arg0 : tensor<4xf64>
    return %0 : tensor<4xf64>
  }
}
