// Sizes and values into a `?` module: types, the signature's dims, values, constraints.
//
// RUN: %hlograph opt %s --split-input-file --pass 'specialize{n=3}' | filecheck %s
// RUN: %hlograph opt %s --split-input-file --pass 'specialize{n=0}' | filecheck %s --check-prefix=ZERO
// RUN: sed -n '/^module @calls /,/^}/{s/?/3/g;s/"n"/"3"/g;p;}' %s | %hlograph opt - --pass specialize | filecheck %s --check-prefix=STATIC
// RUN: sed -n '/^module @calls /,/^}/{s/?/3/g;s/"n"/"3"/g;p;}' %s | not %hlograph opt - --pass 'specialize{n=3}' 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not %hlograph opt %s --split-input-file --pass 'specialize{n=3.5}' 2>&1 | filecheck %s --check-prefix=NUMBER
// RUN: not %hlograph opt %s --split-input-file --pass 'specialize{n' 2>&1 | filecheck %s --check-prefix=MALFORMED

// NUMBER: hlograph: error: pass 'specialize': n is an integer, not '3.5'
// MALFORMED: hlograph: error: malformed pass 'specialize{n'

// Every op becomes static, shape vectors and size arithmetic go away, and the signature follows.
// CHECK-LABEL: module @sizes
// CHECK: func.func {{.*}}@main(%x: tensor<3x8xf64> {hlograph.dims = ["3", "8"], hlograph.name = "x"})
// CHECK-SAME: -> (tensor<24xf64> {hlograph.dims = ["24"], hlograph.name = "y"})
// CHECK-NEXT: [[ONE:%[^ ]+]] = stablehlo.constant dense<1.000000e+00> : tensor<f64>
// CHECK-NEXT: [[ONES:%[^ ]+]] = stablehlo.broadcast_in_dim [[ONE]], dims = [] : (tensor<f64>) -> tensor<3x8xf64>
// CHECK-NEXT: [[SUM:%[^ ]+]] = stablehlo.add %x, [[ONES]] : tensor<3x8xf64>
// CHECK-NEXT: [[FLAT:%[^ ]+]] = stablehlo.reshape [[SUM]] : (tensor<3x8xf64>) -> tensor<24xf64>
// CHECK-NEXT: return [[FLAT]] : tensor<24xf64>
// ZERO-LABEL: module @sizes
// ZERO: stablehlo.reshape {{.*}} : (tensor<0x8xf64>) -> tensor<0xf64>
module @sizes {
  func.func @main(%arg0: tensor<?x8xf64> {hlograph.name = "x", hlograph.dims = ["n", "8"]})
      -> (tensor<?xf64> {hlograph.name = "y", hlograph.dims = ["8*n"]}) {
    %size = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?x8xf64>) -> tensor<i32>
    %n = stablehlo.convert %size : (tensor<i32>) -> tensor<i64>
    %vector = stablehlo.reshape %n : (tensor<i64>) -> tensor<1xi64>
    %eight = stablehlo.constant dense<8> : tensor<1xi64>
    %shape = stablehlo.concatenate %vector, %eight, dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
    %count = stablehlo.multiply %vector, %eight : tensor<1xi64>
    %one = stablehlo.constant dense<1.0> : tensor<f64>
    %ones = stablehlo.dynamic_broadcast_in_dim %one, %shape, dims = [] : (tensor<f64>, tensor<2xi64>) -> tensor<?x8xf64>
    %sum = stablehlo.add %arg0, %ones : tensor<?x8xf64>
    %flat = stablehlo.dynamic_reshape %sum, %count : (tensor<?x8xf64>, tensor<1xi64>) -> tensor<?xf64>
    return %flat : tensor<?xf64>
  }
}

// -----

// An argument whose value is a root stays in the signature; in the body a constant takes its place.
// CHECK-LABEL: module @value
// CHECK: func.func {{.*}}@main(%n: tensor<i64> {hlograph.dims = [], hlograph.name = "n"})
// CHECK-SAME: -> (tensor<3xi64> {hlograph.dims = ["3"], hlograph.name = "y"})
// CHECK-NEXT: [[PLACES:%[^ ]+]] = stablehlo.iota dim = 0 : tensor<3xi64>
// CHECK-NEXT: return [[PLACES]] : tensor<3xi64>
module @value {
  func.func @main(%arg0: tensor<i64> {hlograph.name = "n", hlograph.dims = [], hlograph.values = ["n"]})
      -> (tensor<?xi64> {hlograph.name = "y", hlograph.dims = ["n"]}) attributes {hlograph.constraints = [["n >= 0", "ARange"]]} {
    %shape = stablehlo.reshape %arg0 : (tensor<i64>) -> tensor<1xi64>
    %places = stablehlo.dynamic_iota %shape, dim = 0 : (tensor<1xi64>) -> tensor<?xi64>
    return %places : tensor<?xi64>
  }
}

// -----

// Calls are followed.
// CHECK-LABEL: module @calls
// CHECK: call @{{.*}} : (tensor<3xf64>) -> tensor<3xf64>
// CHECK: func.func private @{{.*}}(%arg0: tensor<3xf64>) -> tensor<3xf64>
// CHECK-NEXT: stablehlo.negate %arg0 : tensor<3xf64>
// A module without open sizes takes none, and no sizes leave it alone.
// NONE: hlograph: error: specialize: the program has no size 'n' (its sizes: none)
// STATIC: @main(%x: tensor<3xf64> {hlograph.dims = ["3"], hlograph.name = "x"})
// STATIC-NEXT: call @inner(%x)
module @calls {
  func.func @main(%arg0: tensor<?xf64> {hlograph.name = "x", hlograph.dims = ["n"]})
      -> (tensor<?xf64> {hlograph.name = "y", hlograph.dims = ["n"]}) {
    %0 = call @inner(%arg0) : (tensor<?xf64>) -> tensor<?xf64>
    return %0 : tensor<?xf64>
  }
  func.func private @inner(%arg0: tensor<?xf64>) -> tensor<?xf64> {
    %0 = stablehlo.negate %arg0 : tensor<?xf64>
    return %0 : tensor<?xf64>
  }
}

// -----

// A transform waits for its lengths.
// CHECK-LABEL: module @transform
// CHECK: stablehlo.fft %arg0, type = RFFT, length = [7] : (tensor<3x7xf64>) -> tensor<3x4xcomplex<f64>>
module @transform {
  func.func @main(%x: tensor<?x?xf64> {hlograph.dims = ["n", "n + 4"]}) -> tensor<?x?xcomplex<f64>> {
    %0 = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x?xf64>) -> tensor<i32>
    %1 = stablehlo.constant dense<2> : tensor<i32>
    %2 = stablehlo.divide %0, %1 : tensor<i32>
    %3 = stablehlo.constant dense<3> : tensor<i32>
    %4 = stablehlo.add %2, %3 : tensor<i32>
    %5 = stablehlo.reshape %0 : (tensor<i32>) -> tensor<1xi32>
    %6 = stablehlo.reshape %4 : (tensor<i32>) -> tensor<1xi32>
    %7 = stablehlo.concatenate %5, %6, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %8 = stablehlo.custom_call @hlograph.fft(%x, %7) {api_version = 4 : i32, backend_config = {kind = "RFFT", rank = 1 : i64}, indices_of_shape_operands = dense<1> : tensor<1xi64>} : (tensor<?x?xf64>, tensor<2xi32>) -> tensor<?x?xcomplex<f64>>
    return %8 : tensor<?x?xcomplex<f64>>
  }
}

// -----

// Calls that stand for ops of JAX's until their sizes are known. A function that says what it implements stays one, and
// may be called with what was open when the others were not.
// CHECK-LABEL: module @waiting
// CHECK: [[W:%[^ ]+]] = call @eigh(%arg0) : (tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: [[SUM:%[^ ]+]] = "stablehlo.reduce_window"([[W]], {{.*}}) <{{{.*}}padding = dense<{{\[\[}}2, 0], [0, 0]]> : tensor<2x2xi64>
// CHECK-SAME: window_dimensions = array<i64: 3, 1>
// CHECK-NEXT: ^bb0([[A:%[^ ]+]]: tensor<f64>, [[B:%[^ ]+]]: tensor<f64>):
// CHECK-NEXT: stablehlo.maximum [[A]], [[B]] : tensor<f64>
// CHECK: }) : (tensor<3x3xf64>, tensor<f64>) -> tensor<3x3xf64>
// CHECK: call @eigh([[SUM]]) : (tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK: chlo.top_k({{.*}}, k = 2) : tensor<3x3xf64> -> (tensor<3x2xf64>, tensor<3x2xi32>)
// CHECK: stablehlo.rng_bit_generator {{.*}} algorithm = DEFAULT : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3xui32>)
// CHECK: func.func private @eigh(%arg0: tensor<3x3xf64>) -> tensor<3x3xf64>
// CHECK-NOT: @maximum
// ZERO-LABEL: module @waiting
// ZERO: window_dimensions = array<i64: 1, 1>
// ZERO: }) : (tensor<0x0xf64>, tensor<f64>) -> tensor<0x0xf64>
module @waiting {
  func.func @main(%x: tensor<?x?xf64> {hlograph.dims = ["n", "n"]}, %state: tensor<2xui64> {hlograph.dims = ["2"]})
      -> (tensor<?x?xf64>, tensor<?x?xf64>, tensor<?xui32>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %ones = stablehlo.constant dense<1> : tensor<2xi32>
    %none = stablehlo.constant dense<0> : tensor<3xi32>
    %init = stablehlo.constant dense<0.0> : tensor<f64>
    %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x?xf64>) -> tensor<i32>
    %size = stablehlo.maximum %n, %one : tensor<i32>
    %low = stablehlo.subtract %size, %one : tensor<i32>
    %less = stablehlo.subtract %n, %one : tensor<i32>
    %k = stablehlo.maximum %less, %zero : tensor<i32>
    %shape = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
    %length = stablehlo.reshape %size : (tensor<i32>) -> tensor<1xi32>
    %unit = stablehlo.reshape %one : (tensor<i32>) -> tensor<1xi32>
    %first = stablehlo.reshape %low : (tensor<i32>) -> tensor<1xi32>
    %window = stablehlo.concatenate %length, %unit, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %flat = stablehlo.concatenate %first, %none, dim = 0 : (tensor<1xi32>, tensor<3xi32>) -> tensor<4xi32>
    %padding = stablehlo.reshape %flat : (tensor<4xi32>) -> tensor<2x2xi32>
    %0 = call @eigh(%x) : (tensor<?x?xf64>) -> tensor<?x?xf64>
    %1 = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%0, %init, %window, %ones, %ones, %ones, %padding) {api_version = 2 : i32, called_computations = [@maximum]} : (tensor<?x?xf64>, tensor<f64>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2x2xi32>) -> tensor<?x?xf64>
    %2 = call @eigh(%1) : (tensor<?x?xf64>) -> tensor<?x?xf64>
    %3:2 = stablehlo.custom_call @stablehlo.dynamic_top_k(%2, %k) {api_version = 2 : i32} : (tensor<?x?xf64>, tensor<i32>) -> (tensor<?x?xf64>, tensor<?x?xi32>)
    %4:2 = stablehlo.custom_call @stablehlo.dynamic_rng_bit_generator(%state, %shape) {api_version = 2 : i32, rng_algorithm = #stablehlo<rng_algorithm DEFAULT>} : (tensor<2xui64>, tensor<1xi32>) -> (tensor<2xui64>, tensor<?xui32>)
    return %2, %3#0, %4#1 : tensor<?x?xf64>, tensor<?x?xf64>, tensor<?xui32>
  }
  func.func private @eigh(%arg0: tensor<?x?xf64>) -> tensor<?x?xf64> attributes {hlograph.implements = "eigh"} {
    %0 = stablehlo.negate %arg0 : tensor<?x?xf64>
    return %0 : tensor<?x?xf64>
  }
  func.func private @maximum(%arg0: tensor<f64>, %arg1: tensor<f64>) -> tensor<f64> {
    %0 = stablehlo.maximum %arg0, %arg1 : tensor<f64>
    return %0 : tensor<f64>
  }
}
