// Calls, and ops that the builder does not write; the others are in pad-rules.py.
//
// RUN: %hlograph opt %s --split-input-file --pass 'pad{n=8}' | filecheck %s

// The padding holds the least value, which is behind live ones that equal it.
// CHECK-LABEL: module @chlo.top_k
// CHECK: [[FILLED:%[^ ]+]] = stablehlo.select {{.*}}, %arg0, {{.*}} : tensor<8xi1>, tensor<8xf64>
// CHECK: chlo.top_k([[FILLED]], k = 2)
module @chlo.top_k {
  func.func @main(%x: tensor<?xf64> {hlograph.dims = ["n"]}) -> tensor<2xf64> {
    %values, %places = chlo.top_k(%x, k = 2) : tensor<?xf64> -> (tensor<2xf64>, tensor<2xi32>)
    return %values : tensor<2xf64>
  }
}

// -----

// Functions are walked where they are called.
// CHECK-LABEL: module @func.call
// CHECK-NOT: call
// CHECK: stablehlo.exponential %arg0 : tensor<8xf64>
// CHECK: stablehlo.negate %arg0 : tensor<8xf64>
// CHECK-NOT: func.func private
// CHECK-LABEL: module @stablehlo.custom_call
// CHECK-NOT: shape_assertion
// CHECK: return %arg0 : tensor<8xf64>
module @func.call {
  func.func @main(%x: tensor<?xf64> {hlograph.dims = ["n"]}) -> (tensor<?xf64>, tensor<?xf64>) {
    %0 = call @inner(%x) : (tensor<?xf64>) -> tensor<?xf64>
    %1 = stablehlo.composite "our.negate" %x {decomposition = @decomposed} : (tensor<?xf64>) -> tensor<?xf64>
    return %0, %1 : tensor<?xf64>, tensor<?xf64>
  }
  func.func private @inner(%x: tensor<?xf64>) -> tensor<?xf64> {
    %0 = stablehlo.exponential %x : tensor<?xf64>
    return %0 : tensor<?xf64>
  }
  func.func private @decomposed(%x: tensor<?xf64>) -> tensor<?xf64> {
    %0 = stablehlo.negate %x : tensor<?xf64>
    return %0 : tensor<?xf64>
  }
}

// -----

module @stablehlo.custom_call {
  func.func @main(%x: tensor<?xf64> {hlograph.dims = ["n"]}) -> tensor<?xf64> {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf64>) -> tensor<i32>
    %0 = stablehlo.compare GE, %n, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%0, %n) {has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
    return %x : tensor<?xf64>
  }
}

// -----

// A size from data is a result, clamped to its bound; what has it is as long as the bound.
// CHECK-LABEL: module @hlograph.size
// CHECK-SAME: {{.*}}
// CHECK: -> (tensor<8xi64> {hlograph.dims = ["8"], hlograph.live = ["count_0"], {{.*}}}, tensor<i32> {{{.*}}hlograph.size = "count_0"})
// CHECK: stablehlo.clamp
// CHECK: stablehlo.iota dim = 0 : tensor<8xi64>
module @hlograph.size {
  func.func @main(%x: tensor<?xf64> {hlograph.dims = ["n"]}, %k: tensor<i64>) -> (tensor<?xi64> {hlograph.dims = ["count_0"]})
      attributes {hlograph.counts = [["count_0", "n"]]} {
    %0 = stablehlo.custom_call @hlograph.size(%k) {hlograph.dim = "count_0", hlograph.bound = "n"} : (tensor<i64>) -> tensor<i64>
    %1 = stablehlo.reshape %0 : (tensor<i64>) -> tensor<1xi64>
    %2 = stablehlo.dynamic_iota %1, dim = 0 : (tensor<1xi64>) -> tensor<?xi64>
    return %2 : tensor<?xi64>
  }
}

// -----

// Where data is placed is left to the compiler.
// CHECK-LABEL: module @sdy.sharding_constraint
// CHECK: return %arg0 : tensor<8xf64>
module @sdy.sharding_constraint {
  sdy.mesh @mesh = <["x"=1]>
  func.func @main(%x: tensor<?xf64> {hlograph.dims = ["n"]}) -> tensor<?xf64> {
    %0 = sdy.sharding_constraint %x <@mesh, [{?}]> : tensor<?xf64>
    return %0 : tensor<?xf64>
  }
}

// -----

// A Python function gets the live sizes of what it takes and of what it gives.
// CHECK-LABEL: module @hlograph.host
// CHECK: [[N:%[^ ]+]] = stablehlo.reshape {{.*}} : (tensor<i32>) -> tensor<1xi32>
// CHECK: [[S:%[^ ]+]] = stablehlo.concatenate [[N]], [[N]], dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
// CHECK: [[R:%[^ ]+]]:2 = stablehlo.custom_call @hlograph.host(%c, %arg0, [[S]]) {{{.*}}backend_config = {live = true, name = "host_0"}, has_side_effect = true} : (tensor<i32>, tensor<8xf64>, tensor<2xi32>) -> (tensor<i32>, tensor<8xf64>)
// CHECK: return [[R]]#1
module @hlograph.host {
  func.func @main(%x: tensor<?xf64> {hlograph.dims = ["n"]}) -> (tensor<?xf64> {hlograph.dims = ["n"]}) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %none = stablehlo.constant dense<> : tensor<0xi64>
    %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf64>) -> tensor<i32>
    %m = stablehlo.convert %n : (tensor<i32>) -> tensor<i64>
    %s = stablehlo.reshape %m : (tensor<i64>) -> tensor<1xi64>
    %r:2 = stablehlo.custom_call @hlograph.host(%zero, %x, %none, %s) {api_version = 4 : i32, backend_config = {name = "host_0"}, has_side_effect = true, indices_of_shape_operands = dense<[2, 3]> : tensor<2xi64>} : (tensor<i32>, tensor<?xf64>, tensor<0xi64>, tensor<1xi64>) -> (tensor<i32>, tensor<?xf64>)
    return %r#1 : tensor<?xf64>
  }
}
