// Loops, branches and calls: facts about padding flow through them.
//
// RUN: %hlograph opt %s --split-input-file --pass 'pad{n=8}' | filecheck %s

// The carry's padding stays 0, so that the sum behind the loop needs no mask; the trip count is the live size.
// CHECK-LABEL: module @stablehlo.while
// CHECK: [[SIZE:%[^ ]+]] = stablehlo.convert %n : (tensor<i32>) -> tensor<i64>
// CHECK: stablehlo.while(
// CHECK: stablehlo.compare LT, {{.*}}
// CHECK-NOT: stablehlo.select
// CHECK: stablehlo.tanh {{.*}} : tensor<8xf64>
// CHECK-NOT: stablehlo.select
// CHECK: applies stablehlo.add
// exp makes 1 of it: the second time the padding is taken for unknown, and the sum is masked.
// CHECK-LABEL: module @stablehlo.while.weaker
// CHECK: stablehlo.while(
// CHECK-COUNT-1: stablehlo.exponential
// CHECK: stablehlo.select
// CHECK-NEXT: stablehlo.reduce({{.*}}) applies stablehlo.add
module @stablehlo.while {
  func.func @main(%x: tensor<?xf64> {hlograph.dims = ["n"]}) -> tensor<f64> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %init = stablehlo.constant dense<0.0> : tensor<f64>
    %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf64>) -> tensor<i32>
    %0:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<?xf64>
     cond {
      %2 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %2 = stablehlo.add %i, %one : tensor<i32>
      %3 = stablehlo.tanh %y : tensor<?xf64>
      stablehlo.return %2, %3 : tensor<i32>, tensor<?xf64>
    }
    %1 = stablehlo.reduce(%0#1 init: %init) applies stablehlo.add across dimensions = [0] : (tensor<?xf64>, tensor<f64>) -> tensor<f64>
    return %1 : tensor<f64>
  }
}

// -----

module @stablehlo.while.weaker {
  func.func @main(%x: tensor<?xf64> {hlograph.dims = ["n"]}, %p: tensor<i1>) -> tensor<f64> {
    %init = stablehlo.constant dense<0.0> : tensor<f64>
    %0:2 = stablehlo.while(%go = %p, %y = %x) : tensor<i1>, tensor<?xf64>
     cond {
      stablehlo.return %go : tensor<i1>
    } do {
      %2 = stablehlo.not %go : tensor<i1>
      %3 = stablehlo.exponential %y : tensor<?xf64>
      stablehlo.return %2, %3 : tensor<i1>, tensor<?xf64>
    }
    %1 = stablehlo.reduce(%0#1 init: %init) applies stablehlo.add across dimensions = [0] : (tensor<?xf64>, tensor<f64>) -> tensor<f64>
    return %1 : tensor<f64>
  }
}

// -----

// Both branches leave zeros, and so does the result; a third leaves ones.
// CHECK-LABEL: module @stablehlo.if
// CHECK: "stablehlo.if"(%arg1)
// CHECK-NOT: stablehlo.select
// CHECK: applies stablehlo.add
// CHECK-LABEL: module @stablehlo.case
// CHECK: "stablehlo.case"(%arg1)
// CHECK: stablehlo.select
// CHECK-NEXT: stablehlo.reduce({{.*}}) applies stablehlo.add
module @stablehlo.if {
  func.func @main(%x: tensor<?xf64> {hlograph.dims = ["n"]}, %p: tensor<i1>) -> tensor<f64> {
    %init = stablehlo.constant dense<0.0> : tensor<f64>
    %0 = "stablehlo.if"(%p) ({
      stablehlo.return %x : tensor<?xf64>
    }, {
      %2 = stablehlo.tanh %x : tensor<?xf64>
      stablehlo.return %2 : tensor<?xf64>
    }) : (tensor<i1>) -> tensor<?xf64>
    %1 = stablehlo.reduce(%0 init: %init) applies stablehlo.add across dimensions = [0] : (tensor<?xf64>, tensor<f64>) -> tensor<f64>
    return %1 : tensor<f64>
  }
}

// -----

module @stablehlo.case {
  func.func @main(%x: tensor<?xf64> {hlograph.dims = ["n"]}, %p: tensor<i32>) -> tensor<f64> {
    %init = stablehlo.constant dense<0.0> : tensor<f64>
    %0 = "stablehlo.case"(%p) ({
      stablehlo.return %x : tensor<?xf64>
    }, {
      %2 = stablehlo.exponential %x : tensor<?xf64>
      stablehlo.return %2 : tensor<?xf64>
    }) : (tensor<i32>) -> tensor<?xf64>
    %1 = stablehlo.reduce(%0 init: %init) applies stablehlo.add across dimensions = [0] : (tensor<?xf64>, tensor<f64>) -> tensor<f64>
    return %1 : tensor<f64>
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
