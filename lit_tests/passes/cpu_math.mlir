// Float64 logarithms and gamma functions become arithmetic; what has symbolic sizes, few elements or another type stays.
//
// RUN: %hlograph opt %s --split-input-file --pass cpu_math | filecheck %s
// RUN: %hlograph opt %s --split-input-file --pass 'cpu_math{inline=0}' | filecheck %s --check-prefix=CALL
// RUN: %hlograph opt %s --split-input-file --pass cpu_math --explain cpu_math 2>&1 | filecheck %s --check-prefix=WHY
// RUN: sed '1,/^}/s/100xf64/?xf64/g' %s | %hlograph opt - --split-input-file --pass cpu_math --explain cpu_math 2>&1 | filecheck %s --check-prefix=OPEN

// The exponent and the mantissa by their bits; one division; what is not a positive number by selection.
// CHECK-LABEL: module @log
// CHECK: stablehlo.bitcast_convert %arg0 : (tensor<100xf64>) -> tensor<100xi64>
// CHECK: stablehlo.shift_right_logical
// CHECK: stablehlo.divide
// CHECK-NOT: stablehlo.divide
// CHECK: stablehlo.select
// CHECK: return
// OPEN: log: {{.*}} = stablehlo.log %arg0 : tensor<?xf64>{{.*}}: left alone: tensor<?xf64> has a dynamic dimension
// OPEN-LABEL: module @log
// OPEN: stablehlo.log
// CALL-LABEL: module @log
// CALL: [[R:%[^ ]+]] = call @cpu_math.log(%arg0) {mhlo.frontend_attributes = {inlineable = "false"}} : (tensor<100xf64>) -> tensor<100xf64>
// CALL-NEXT: return [[R]]
// CALL: func.func private @cpu_math.log(%arg0: tensor<100xf64>) -> tensor<100xf64>
module @log {
  func.func @main(%arg0: tensor<100xf64>) -> tensor<100xf64> {
    %0 = stablehlo.log %arg0 : tensor<100xf64>
    return %0 : tensor<100xf64>
  }
}

// -----

// No bits and no selection: exp(-abs(x)) is in [0, 1].
// CHECK-LABEL: module @softplus
// CHECK: [[E:%[^ ]+]] = stablehlo.exponential
// CHECK-NOT: stablehlo.bitcast_convert
// CHECK-NOT: stablehlo.select
// CHECK: stablehlo.divide
// CHECK: return
module @softplus {
  func.func @main(%arg0: tensor<100xf64>) -> tensor<100xf64> {
    %0 = stablehlo.abs %arg0 : tensor<100xf64>
    %1 = stablehlo.negate %0 : tensor<100xf64>
    %2 = stablehlo.exponential %1 : tensor<100xf64>
    %3 = stablehlo.log_plus_one %2 : tensor<100xf64>
    return %3 : tensor<100xf64>
  }
}

// -----

// CHECK-LABEL: module @others
// CHECK: stablehlo.log %arg0 : tensor<100xf32>
// CHECK: stablehlo.exponential
// CHECK-NEXT: stablehlo.log
// CHECK: chlo.polygamma
// WHY: log: {{.*}} = stablehlo.log %arg0 : tensor<100xf32>{{.*}}: left alone: only float64 is slow
// WHY: log: {{.*}}: left alone: XLA simplifies the logarithm of stablehlo.exponential
// WHY: polygamma: {{.*}}: left alone: only polygamma(1, x), the trigamma function, has a formula
module @others {
  func.func @main(%arg0: tensor<100xf32>, %arg1: tensor<100xf64>) -> (tensor<100xf32>, tensor<100xf64>) {
    %0 = stablehlo.log %arg0 : tensor<100xf32>
    %1 = stablehlo.exponential %arg1 : tensor<100xf64>
    %2 = stablehlo.log %1 : tensor<100xf64>
    %3 = stablehlo.constant dense<2.0> : tensor<100xf64>
    %4 = chlo.polygamma %3, %2 : tensor<100xf64>, tensor<100xf64> -> tensor<100xf64>
    return %0, %4 : tensor<100xf32>, tensor<100xf64>
  }
}
