// A section that cannot be read is named with its line in the file; the others are still printed.
//
// RUN: not %hlograph opt %s --split-input-file > %t.out 2> %t.err
// RUN: filecheck %s < %t.out
// RUN: filecheck %s --check-prefix=ERROR < %t.err
// RUN: not %hlograph opt %s --pass cze 2>&1 | filecheck %s --check-prefix=PASS

// CHECK: func.func @main(%arg0: tensor<2xf32>)
// CHECK: // -----
// CHECK: func.func @main(%arg0: tensor<3xf32>)

// ERROR: hlograph: error: {{.*}}opt-errors.mlir
// ERROR: :21:{{.*}}stablehlo.no_such_op
// ERROR-NOT: Traceback

// PASS: hlograph: error: {{.*}}there is no pass 'cze'; did you mean cse?
func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> { return %arg0 : tensor<2xf32> }

// -----
func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.no_such_op %arg0 : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----
func.func @main(%arg0: tensor<3xf32>) -> tensor<3xf32> { return %arg0 : tensor<3xf32> }
