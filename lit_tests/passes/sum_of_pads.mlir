// A sum of pads is a concatenate. To keep every bit, 0.0 is written in place of -0.0.
//
// RUN: %hlograph opt %s --split-input-file --pass 'sum_of_pads{reassociate=false}' --explain sum_of_pads 2>&1 | filecheck %s --check-prefix=EXACT
// RUN: %hlograph opt %s --split-input-file --pass sum_of_pads --explain sum_of_pads 2>&1 | filecheck %s

// The reasons come first, on stderr.
// CHECK: sum_of_pads: {{.*}}: rewritten
// CHECK-NEXT: sum_of_pads: {{.*}}: rewritten
// CHECK-NEXT: sum_of_pads: {{.*}}: left alone: {{.*}} has a dynamic dimension
// CHECK-NEXT: sum_of_pads: {{.*}}: rewritten
// EXACT: sum_of_pads: {{.*}}: left alone: 2 terms are no pads, and up to 1 pads fill the same places: {{.*}} changes rounding

module @gaps_are_zeros {
  func.func @main(%a: tensor<2xf32>, %b: tensor<1xf32>) -> tensor<5xf32> {
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %p = stablehlo.pad %a, %z, low = [3], high = [0], interior = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<5xf32>
    %q = stablehlo.pad %b, %z, low = [1], high = [3], interior = [0] : (tensor<1xf32>, tensor<f32>) -> tensor<5xf32>

    %s = stablehlo.add %p, %q : tensor<5xf32>
    return %s : tensor<5xf32>
  }
}
// CHECK-LABEL: module @gaps_are_zeros
// CHECK: stablehlo.concatenate {{%[^ ]+}}, %arg1, {{%[^ ]+}}, %arg0, dim = 0 : (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<2xf32>) -> tensor<5xf32>
// CHECK-NOT: stablehlo.select
// EXACT-LABEL: module @gaps_are_zeros
// EXACT: [[SUM:%[^ ]+]] = stablehlo.concatenate
// EXACT: [[ZERO:%[^ ]+]] = stablehlo.compare EQ, [[SUM]]
// EXACT: stablehlo.select [[ZERO]]

// -----

// Rows of a grid: along each axis pads are at the same place or apart. Integers have no -0.
module @grid {
  func.func @main(%a: tensor<2x1xi32>, %b: tensor<2x2xi32>, %c: tensor<1x3xi32>) -> tensor<3x3xi32> {
    %z = stablehlo.constant dense<0> : tensor<i32>
    %p = stablehlo.pad %a, %z, low = [0, 0], high = [1, 2], interior = [0, 0] : (tensor<2x1xi32>, tensor<i32>) -> tensor<3x3xi32>
    %q = stablehlo.pad %b, %z, low = [0, 1], high = [1, 0], interior = [0, 0] : (tensor<2x2xi32>, tensor<i32>) -> tensor<3x3xi32>
    %r = stablehlo.pad %c, %z, low = [2, 0], high = [0, 0], interior = [0, 0] : (tensor<1x3xi32>, tensor<i32>) -> tensor<3x3xi32>
    %s = stablehlo.add %p, %q : tensor<3x3xi32>
    %t = stablehlo.add %s, %r : tensor<3x3xi32>
    return %t : tensor<3x3xi32>
  }
}
// CHECK-LABEL: module @grid
// CHECK: [[ROW:%[^ ]+]] = stablehlo.concatenate %arg0, %arg1, dim = 1
// CHECK-NEXT: [[ALL:%[^ ]+]] = stablehlo.concatenate [[ROW]], %arg2, dim = 0
// CHECK-NEXT: return [[ALL]]

// -----

// Sizes that are not known yet.
module @dynamic {
  func.func @main(%a: tensor<?xf32>, %b: tensor<2xf32>) -> tensor<?xf32> {
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %p = stablehlo.pad %a, %z, low = [0], high = [2], interior = [0] : (tensor<?xf32>, tensor<f32>) -> tensor<?xf32>
    %q = stablehlo.pad %a, %z, low = [2], high = [0], interior = [0] : (tensor<?xf32>, tensor<f32>) -> tensor<?xf32>
    %s = stablehlo.add %p, %q : tensor<?xf32>
    return %s : tensor<?xf32>
  }
}
// CHECK-LABEL: module @dynamic
// CHECK: stablehlo.pad
// CHECK: stablehlo.pad
// CHECK: stablehlo.add

// -----

module @terms {
  func.func @main(%a: tensor<2xf32>, %b: tensor<1xf32>, %x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xf32> {
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %p = stablehlo.pad %a, %z, low = [0], high = [1], interior = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<3xf32>
    %q = stablehlo.pad %b, %z, low = [2], high = [0], interior = [0] : (tensor<1xf32>, tensor<f32>) -> tensor<3xf32>
    %r = stablehlo.add %p, %x : tensor<3xf32>
    %s = stablehlo.add %r, %q : tensor<3xf32>
    %t = stablehlo.add %s, %y : tensor<3xf32>
    return %t : tensor<3xf32>
  }
}
// CHECK-LABEL: module @terms
// CHECK: [[PADS:%[^ ]+]] = stablehlo.concatenate %arg0, %arg1, dim = 0
// CHECK-NEXT: [[SUM:%[^ ]+]] = stablehlo.add %arg2, [[PADS]]
// CHECK-NEXT: stablehlo.add %arg3, [[SUM]]
// EXACT-LABEL: module @terms
// EXACT: stablehlo.pad
// EXACT: stablehlo.pad
