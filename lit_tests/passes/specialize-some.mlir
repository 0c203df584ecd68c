// Some sizes given: the signature has them, and what is left of the constraints; types wait for the rest, since shape
// refinement has no partial form. A violated constraint is refused.
//
// RUN: %hlograph opt %s --split-input-file --pass 'specialize{m=4}' | filecheck %s
// RUN: %hlograph opt %s --split-input-file --pass 'specialize{m=4,n=4}' | filecheck %s --check-prefix=BOTH
// RUN: not %hlograph opt %s --split-input-file --pass 'specialize{m=4,n=5}' 2>&1 | filecheck %s --check-prefix=VIOLATED

// VIOLATED: hlograph: error: specialize: constraint n == m is violated by {{.*}}'m': 4, 'n': 5{{.*}}(Dot)
// CHECK-LABEL: module @some
// CHECK: func.func {{.*}}@main(%x: tensor<?x2xf64> {hlograph.dims = ["n", "2"], hlograph.name = "x"}, %y: tensor<?xf64> {hlograph.dims = ["4"], hlograph.name = "y"})
// CHECK-SAME: tensor<?xf64> {hlograph.dims = ["n + 4"], hlograph.name = "z"}
// CHECK-SAME: hlograph.constraints = {{\[\[}}"n == 4", "Dot"]]
// CHECK: stablehlo.concatenate %{{.*}}, %y, dim = 0 : (tensor<?xf64>, tensor<?xf64>) -> tensor<?xf64>
// BOTH-LABEL: module @some
// BOTH-NOT: hlograph.constraints
// BOTH: stablehlo.concatenate %{{.*}}, %y, dim = 0 : (tensor<4xf64>, tensor<4xf64>) -> tensor<8xf64>
module @some {
  func.func @main(%arg0: tensor<?x2xf64> {hlograph.name = "x", hlograph.dims = ["n", "2"]},
                  %arg1: tensor<?xf64> {hlograph.name = "y", hlograph.dims = ["m"]})
      -> (tensor<?xf64> {hlograph.name = "z", hlograph.dims = ["m + n"]}) attributes {hlograph.constraints = [["n == m", "Dot"]]} {
    %zero = stablehlo.constant dense<0.0> : tensor<f64>
    %sums = stablehlo.reduce(%arg0 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<?x2xf64>, tensor<f64>) -> tensor<?xf64>
    %0 = stablehlo.concatenate %sums, %arg1, dim = 0 : (tensor<?xf64>, tensor<?xf64>) -> tensor<?xf64>
    return %0 : tensor<?xf64>
  }
}

// -----

// What was left open is given later, in another pass.
// RUN: %hlograph opt %s --split-input-file --pass 'specialize{m=4}' --pass 'specialize{n=4}' | filecheck %s --check-prefix=LATER
// LATER-LABEL: module @some
// LATER: func.func {{.*}}@main(%x: tensor<4x2xf64> {{.*}}, %y: tensor<4xf64>
// LATER-NOT: hlograph.constraints
// LATER: stablehlo.concatenate %{{.*}}, %y, dim = 0 : (tensor<4xf64>, tensor<4xf64>) -> tensor<8xf64>
