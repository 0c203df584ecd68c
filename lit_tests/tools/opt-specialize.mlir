// Sizes are given to a pass in braces, and the signature follows.
//
// RUN: %hlograph opt %s --pass 'specialize{n=3}' | filecheck %s
// RUN: not %hlograph opt %s --pass 'specialize{m=3}' 2>&1 | filecheck %s --check-prefix=UNKNOWN

// CHECK: func.func {{.*}}@main({{.*}}tensor<3x8xf64>
// CHECK: stablehlo.add {{.*}} : tensor<3x8xf64>
// CHECK-NOT: tensor<?

// UNKNOWN: hlograph: error: specialize: {{.*}}'m'
func.func @main(%arg0: tensor<?x8xf64> {hlograph.name = "x", hlograph.dims = ["n", "8"]})
    -> (tensor<?x8xf64> {hlograph.name = "y", hlograph.dims = ["n", "8"]}) {
  %0 = stablehlo.add %arg0, %arg0 : tensor<?x8xf64>
  return %0 : tensor<?x8xf64>
}
