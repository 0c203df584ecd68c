// Forms that IREE computes right: what it has wrong becomes something else, and nothing more.
//
// RUN: %hlograph opt %s --pass for_iree | filecheck %s
// RUN: sed 's/tensor<3/tensor<?/g' %s | not %hlograph opt - --pass for_iree 2>&1 | filecheck %s --check-prefix=OPEN
// RUN: not %hlograph opt %s --pass 'for_iree{n=1}' 2>&1 | filecheck %s --check-prefix=OPTION

// OPEN: hlograph: error: for_iree: the program has dynamic sizes, or sizes that it computes from data
// OPTION: hlograph: error: pass 'for_iree' takes no options

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
