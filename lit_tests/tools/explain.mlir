// RUN: %hlograph explain %s | filecheck %s
// RUN: %hlograph opt %s -o %t.mlirbc && %hlograph explain %t.mlirbc | filecheck %s
// RUN: %hlograph explain %s --policy 64 --bound n=32 | filecheck %s --check-prefix=BOUND
// RUN: %hlograph explain %s --html %t.html && filecheck %s --check-prefix=HTML < %t.html
// RUN: not %hlograph explain %s --bound q=32 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not %hlograph explain %s --bound n 2>&1 | filecheck %s --check-prefix=WRONG

// CHECK: program main
// CHECK-NEXT: inputs
// CHECK-NEXT: {{^}}  x  float64  (n, 8){{$}}
// CHECK-NEXT: {{^}}  w  float64  (m){{$}}
// CHECK-NEXT: {{^}}  k  int64    (){{$}}
// CHECK-NEXT: outputs
// CHECK-NEXT: {{^}}  y      float64  (8){{$}}
// CHECK-NEXT: {{^}}  table  float64  (2){{$}}
// CHECK-NEXT: dimensions
// CHECK-NEXT: n  size of axis 0 of x
// CHECK-NEXT: m  size of axis 0 of w
// CHECK-NEXT: k  value of k
// CHECK-NEXT: policy
// CHECK-NEXT: n  auto: exact for 3 sizes, then one compile for each of the bounds 16, 24, 32, 40, 56, ...
// CHECK-NEXT: m  as n
// CHECK-NEXT: k  auto
// CHECK-NEXT: constraints
// CHECK-NEXT: n == m  Dot.0
// CHECK-NEXT: axes
// CHECK-NEXT: n  input size  1 of inputs, 3 of 3 operations
// CHECK-NEXT: add (
// CHECK-NEXT: m  input size  1 of inputs
// CHECK-NEXT: padding: 4 of 4 operations touched; 1 mask (bounds n = 128, k = {{[0-9]+}})
// CHECK-NEXT: mask  n  with 0.0  at reduce (

// BOUND: policy
// BOUND-NEXT: n  one compile for all sizes up to 64
// BOUND: (bounds n = 32, k = 64)

// HTML: <!DOCTYPE html>
// HTML: <td>n == m</td><td>Dot.0</td>
// HTML: <svg

// UNKNOWN: hlograph: error: pad: the program has no size 'q'
// WRONG: sizes are, as in 'n=100,m=3'
func.func @main(
    %arg0: tensor<?x8xf64> {hlograph.name = "x", hlograph.dims = ["n", "8"]},
    %arg1: tensor<?xf64> {hlograph.name = "w", hlograph.dims = ["m"]},
    %arg2: tensor<i64> {hlograph.name = "k", hlograph.dims = [], hlograph.values = ["k"]})
    -> (tensor<8xf64> {hlograph.name = "y", hlograph.dims = ["8"]},
        tensor<2xf64> {hlograph.name = "table", hlograph.dims = ["2"]})
    attributes {hlograph.constraints = [["n == m", "Dot.0"]]} {
  %0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf64>
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %one = stablehlo.add %arg0, %arg0 : tensor<?x8xf64>
  %two = stablehlo.add %one, %arg0 : tensor<?x8xf64>
  %exp = stablehlo.exponential %two : tensor<?x8xf64>
  %sum = stablehlo.reduce(%exp init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<?x8xf64>, tensor<f64>) -> tensor<8xf64>
  return %sum, %0 : tensor<8xf64>, tensor<2xf64>
}
