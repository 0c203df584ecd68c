// A module without open sizes takes none, and no sizes leave it alone.
//
// RUN: %hlograph opt %s --pass specialize | filecheck %s
// RUN: not %hlograph opt %s --pass 'specialize{n=3}' 2>&1 | filecheck %s --check-prefix=NONE

// NONE: hlograph: error: specialize: the program has no size 'n' (its sizes: none)
// CHECK: func.func {{.*}}@main(%x: tensor<3xf64> {hlograph.dims = ["3"], hlograph.name = "x"})
// CHECK-NEXT: [[NEGATED:%[^ ]+]] = stablehlo.negate %x : tensor<3xf64>
// CHECK-NEXT: return [[NEGATED]]
func.func @main(%arg0: tensor<3xf64> {hlograph.name = "x", hlograph.dims = ["3"]})
    -> (tensor<3xf64> {hlograph.name = "y", hlograph.dims = ["3"]}) {
  %0 = stablehlo.negate %arg0 : tensor<3xf64>
  return %0 : tensor<3xf64>
}
