// Long sums in blocks, where XLA:CPU's library for them is off. Each refusal says why.
//
// RUN: %hlograph opt %s --split-input-file --pass cpu_sums --explain cpu_sums 2>&1 | filecheck %s
// RUN: sed 's/40x6xf64/?x6xf64/g' %s | %hlograph opt - --split-input-file --pass cpu_sums --explain cpu_sums 2>&1 | filecheck %s --check-prefix=OPEN
// RUN: %hlograph opt %s --split-input-file --pass "cpu_sums{libraries=true}" | filecheck %s --check-prefix=LIBRARIES

// CHECK: sum_in_blocks: {{.*}}: rewritten
// OPEN: sum_in_blocks: {{.*}}: left alone: tensor<?x6xf64> has a dynamic dimension

// Sums of columns, four or eight rows at a time.
module @columns {
  func.func @main(%x: tensor<40x6xf64>) -> tensor<6xf64> {
    %z = stablehlo.constant dense<0.0> : tensor<f64>
    %s = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<40x6xf64>, tensor<f64>) -> tensor<6xf64>
    return %s : tensor<6xf64>
  }
}
// OPEN-LABEL: module @columns
// OPEN: stablehlo.reduce(%arg0
// CHECK-LABEL: module @columns
// CHECK: [[X:%[^ ]+]] = stablehlo.reshape %arg0 : (tensor<40x6xf64>) -> tensor<1x4x10x6xf64>
// CHECK: [[S:%[^ ]+]] = stablehlo.reduce([[X]] init: {{.*}} across dimensions = [1]
// CHECK: [[B:%[^ ]+]] = stablehlo.optimization_barrier [[S]]
// CHECK: [[T:%[^ ]+]] = stablehlo.reshape [[B]] : (tensor<1x10x6xf64>) -> tensor<1x5x2x6xf64>
// CHECK: stablehlo.reduce([[T]] init: {{.*}} across dimensions = [1]

// -----

// What is left over of a length comes last; a dot without rows and columns is a sum of products.
module @dot {
  func.func @main(%x: tensor<1031xf32>, %y: tensor<1031xf32>) -> tensor<f32> {
    %s = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<1031xf32>, tensor<1031xf32>) -> tensor<f32>
    return %s : tensor<f32>
  }
}
// CHECK-LABEL: module @dot
// CHECK: stablehlo.multiply {{.*}} : tensor<1031xf32>
// CHECK: stablehlo.slice {{.*}} [0:1, 0:257, 0:1]
// CHECK: stablehlo.slice {{.*}} [0:1, 771:1028, 0:1]
// CHECK: [[R:%[^ ]+]] = stablehlo.slice {{.*}} [0:1, 1028:1031, 0:1]
// CHECK: stablehlo.reduce([[R]]
// CHECK: stablehlo.add {{.*}} : tensor<1x257x1xf32>
// CHECK-NOT: stablehlo.dot_general

// -----

// Where the libraries are on, a sum stays; a vector's product with the rows of a matrix is a sum of eight.
module @vector {
  func.func @main(%x: tensor<2048x3xf64>, %w: tensor<2048xf64>) -> (tensor<3xf64>, tensor<3xf64>) {
    %d = stablehlo.dot_general %w, %x, contracting_dims = [0] x [0] : (tensor<2048xf64>, tensor<2048x3xf64>) -> tensor<3xf64>
    %z = stablehlo.constant dense<0.0> : tensor<f64>
    %s = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<2048x3xf64>, tensor<f64>) -> tensor<3xf64>
    return %d, %s : tensor<3xf64>, tensor<3xf64>
  }
}
// LIBRARIES-LABEL: module @vector
// LIBRARIES-DAG: [[X:%[^ ]+]] = stablehlo.reshape %arg0 : (tensor<2048x3xf64>) -> tensor<8x256x3xf64>
// LIBRARIES-DAG: [[W:%[^ ]+]] = stablehlo.reshape %arg1 : (tensor<2048xf64>) -> tensor<8x256xf64>
// LIBRARIES: [[D:%[^ ]+]] = stablehlo.dot_general [[X]], [[W]], batching_dims = [0] x [0], contracting_dims = [1] x [1] : {{.*}} -> tensor<8x3xf64>
// LIBRARIES: stablehlo.reduce([[D]] init: {{.*}} across dimensions = [0]
// LIBRARIES: stablehlo.reduce(%arg0 init:
