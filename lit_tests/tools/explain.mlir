// RUN: %hlograph explain %s | filecheck %s
// RUN: %hlograph opt %s -o %t.mlirbc && %hlograph explain %t.mlirbc | filecheck %s

// CHECK: inputs
// CHECK-NEXT: {{^}}  x  float64  (n, 8){{$}}
// CHECK-NEXT: {{^}}  w  float64  (m){{$}}
// CHECK-NEXT: {{^}}  k  int64    (){{$}}
// CHECK-NEXT: outputs
// CHECK-NEXT: {{^}}  y      float64  (n, 8){{$}}
// CHECK-NEXT: {{^}}  table  float64  (2){{$}}
// CHECK-NEXT: dimensions
// CHECK-NEXT: n  size of axis 0 of x
// CHECK-NEXT: m  size of axis 0 of w
// CHECK-NEXT: k  value of k
// CHECK-NEXT: constraints
// CHECK-NEXT: n == m  Dot.0
// CHECK-NEXT: operations: 4
// CHECK-NEXT: stablehlo.add       3
// CHECK-NEXT: stablehlo.constant  1
// CHECK-NEXT: constants: 1, 16 bytes; the largest
// CHECK-NEXT: tensor<2xf64>  16 bytes
func.func @main(
    %arg0: tensor<?x8xf64> {hlograph.name = "x", hlograph.dims = ["n", "8"]},
    %arg1: tensor<?xf64> {hlograph.name = "w", hlograph.dims = ["m"]},
    %arg2: tensor<i64> {hlograph.name = "k", hlograph.dims = [], hlograph.values = ["k"]})
    -> (tensor<?x8xf64> {hlograph.name = "y", hlograph.dims = ["n", "8"]},
        tensor<2xf64> {hlograph.name = "table", hlograph.dims = ["2"]})
    attributes {hlograph.constraints = [["n == m", "Dot.0"]]} {
  %0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf64>
  %1 = stablehlo.add %arg0, %arg0 : tensor<?x8xf64>
  %2 = stablehlo.add %1, %arg0 : tensor<?x8xf64>
  %3 = stablehlo.add %2, %1 : tensor<?x8xf64>
  return %3, %0 : tensor<?x8xf64>, tensor<2xf64>
}
