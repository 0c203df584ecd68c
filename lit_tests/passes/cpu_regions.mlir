// What one kernel can hold becomes a function of its own, called where the last of its ops stood. An op that needs XLA's
// runtime stays. Arguments are behind a barrier: XLA could find one constant. Modules with sizes that are not known, or
// with arrays without elements, stay as they are.
//
// RUN: %hlograph opt %s --split-input-file --pass cpu_regions | filecheck %s
// RUN: %hlograph opt %s --split-input-file --pass 'cpu_regions{ops=2}' | filecheck %s --check-prefix SPLIT
// RUN: %hlograph opt %s --split-input-file --pass cpu_regions --explain cpu_regions 2>&1 | filecheck %s --check-prefix WHY

// CHECK-LABEL: module @static
// CHECK: func.func {{.*}}@main(%arg0: tensor<8xf64>)
// CHECK-NEXT: [[GIVEN:%[^ ]+]] = stablehlo.optimization_barrier %arg0 : tensor<8xf64>
// CHECK-NEXT: [[FIRST:%[^ ]+]]:2 = call @[[BEFORE:[^(]+]]([[GIVEN]]) {mhlo.frontend_attributes = {inlineable = "false", xla_cpu_small_call = "true"}}
// CHECK-NEXT: [[SORTED:%[^ ]+]] = "stablehlo.sort"([[FIRST]]#0)
// CHECK: [[KEPT:%[^ ]+]] = stablehlo.optimization_barrier [[SORTED]] : tensor<8xf64>
// CHECK-NEXT: [[LAST:%[^ ]+]]:2 = call @[[AFTER:[^(]+]]([[KEPT]]) {mhlo.frontend_attributes
// CHECK-NEXT: return [[LAST]]#0 : tensor<8xf64>
// CHECK: func.func private @[[AFTER]](
// CHECK: stablehlo.tanh %arg0 : tensor<8xf64>
// CHECK: stablehlo.slice %arg0 [0:1] : (tensor<8xf64>) -> tensor<1xf64>
// CHECK: func.func private @[[BEFORE]](
// CHECK: stablehlo.exponential %arg0 : tensor<8xf64>
// SPLIT-LABEL: module @static
// SPLIT-COUNT-2: call @region_
// WHY: stablehlo.sort{{.*}}: left alone: XLA:CPU compiles no stablehlo.sort inside of a kernel
module @static {
  func.func @main(%arg0: tensor<8xf64>) -> tensor<8xf64> {
    %0 = stablehlo.exponential %arg0 : tensor<8xf64>
    %1 = stablehlo.add %0, %arg0 : tensor<8xf64>
    %2 = "stablehlo.sort"(%1) <{dimension = 0 : i64}> ({
    ^bb0(%a: tensor<f64>, %b: tensor<f64>):
      %5 = stablehlo.compare LT, %a, %b, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
      stablehlo.return %5 : tensor<i1>
    }) : (tensor<8xf64>) -> tensor<8xf64>
    %3 = stablehlo.tanh %2 : tensor<8xf64>
    %4 = stablehlo.multiply %3, %3 : tensor<8xf64>
    return %4 : tensor<8xf64>
  }
}

// -----

// Sizes are computed from shapes, and specialization must find that arithmetic where it was.
//
// CHECK-LABEL: module @dynamic
// CHECK-NOT: call
// CHECK: stablehlo.tanh %arg1
// CHECK-NOT: call
// CHECK: return
// SPLIT-LABEL: module @dynamic
// SPLIT-NOT: call
// SPLIT: return
// WHY: stablehlo.get_dimension_size{{.*}}: left alone: its sizes are not known: specialize the program first
module @dynamic {
  func.func @main(%arg0: tensor<?xf64>, %arg1: tensor<f64>) -> tensor<?xf64> {
    %0 = stablehlo.tanh %arg1 : tensor<f64>
    %1 = stablehlo.sine %0 : tensor<f64>
    %2 = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?xf64>) -> tensor<i32>
    %3 = stablehlo.reshape %2 : (tensor<i32>) -> tensor<1xi32>
    %4 = stablehlo.dynamic_broadcast_in_dim %1, %3, dims = [] : (tensor<f64>, tensor<1xi32>) -> tensor<?xf64>
    %5 = stablehlo.exponential %arg0 : tensor<?xf64>
    %6 = stablehlo.multiply %5, %4 : tensor<?xf64>
    return %6 : tensor<?xf64>
  }
}

// -----

// CHECK-LABEL: module @empty
// CHECK-NOT: call
// CHECK: return
// SPLIT-LABEL: module @empty
// WHY: stablehlo.slice{{.*}}: left alone: XLA:CPU may end the process over an array without elements
module @empty {
  func.func @main(%arg0: tensor<8xf64>) -> (tensor<8xf64>, tensor<0xf64>) {
    %0 = stablehlo.exponential %arg0 : tensor<8xf64>
    %1 = stablehlo.add %0, %arg0 : tensor<8xf64>
    %2 = stablehlo.slice %1 [3:3] : (tensor<8xf64>) -> tensor<0xf64>
    return %1, %2 : tensor<8xf64>, tensor<0xf64>
  }
}

// -----

// What a transform is of must be row-major, which nothing asks of a kernel's results.
// CHECK-LABEL: module @fft
// CHECK-NOT: call
// CHECK: return
// SPLIT-LABEL: module @fft
// WHY: stablehlo.fft{{.*}}: left alone: XLA:CPU's transforms take row-major arrays, which a kernel may not give
module @fft {
  func.func @main(%arg0: tensor<4x6xcomplex<f64>>) -> tensor<6x4xcomplex<f64>> {
    %0 = stablehlo.exponential %arg0 : tensor<4x6xcomplex<f64>>
    %1 = stablehlo.add %0, %arg0 : tensor<4x6xcomplex<f64>>
    %2 = stablehlo.transpose %1, dims = [1, 0] : (tensor<4x6xcomplex<f64>>) -> tensor<6x4xcomplex<f64>>
    %3 = stablehlo.fft %2, type = FFT, length = [4] : (tensor<6x4xcomplex<f64>>) -> tensor<6x4xcomplex<f64>>
    return %3 : tensor<6x4xcomplex<f64>>
  }
}
