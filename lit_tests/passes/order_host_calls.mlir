// Calls of Python functions take the first result of the call before them: through loops, and out of branches.
//
// RUN: %hlograph opt %s --split-input-file --pass order_host_calls | filecheck %s

// CHECK-LABEL: module @symbolic_loop
// CHECK: [[W:%[^ ]+]]:3 = stablehlo.while({{.*}}, [[X:%[^ ]+]] = %arg0, [[O:%[^ ]+]] = %{{[^ )]+}})
// CHECK: cond
// CHECK: stablehlo.custom_call @hlograph.host([[O]], [[X]])
// CHECK: do
// CHECK: [[A:%[^ ]+]]:2 = stablehlo.custom_call @hlograph.host([[O]], [[X]])
// CHECK: stablehlo.return {{.*}}, [[A]]#1, [[A]]#0
// CHECK: stablehlo.custom_call @hlograph.host([[W]]#2, [[W]]#1)
module @symbolic_loop {
  func.func public @main(%x: tensor<?xf64> {hlograph.dims = ["n"]}) -> tensor<f64> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<?xf64> cond {
      %c:2 = stablehlo.custom_call @hlograph.host(%zero, %v) {api_version = 4 : i32, backend_config = {name = "host_0"}, has_side_effect = true} : (tensor<i32>, tensor<?xf64>) -> (tensor<i32>, tensor<i1>)
      stablehlo.return %c#1 : tensor<i1>
    } do {
      %s = stablehlo.add %i, %one : tensor<i32>
      %a:2 = stablehlo.custom_call @hlograph.host(%zero, %v) {api_version = 4 : i32, backend_config = {name = "host_1"}, has_side_effect = true} : (tensor<i32>, tensor<?xf64>) -> (tensor<i32>, tensor<?xf64>)
      stablehlo.return %s, %a#1 : tensor<i32>, tensor<?xf64>
    }
    %b:2 = stablehlo.custom_call @hlograph.host(%zero, %r#1) {api_version = 4 : i32, backend_config = {name = "host_2"}, has_side_effect = true} : (tensor<i32>, tensor<?xf64>) -> (tensor<i32>, tensor<f64>)
    return %b#1 : tensor<f64>
  }
}

// -----

// A branch without a call gives what it has got.
// CHECK-LABEL: module @branches
// CHECK: [[A:%[^ ]+]]:2 = stablehlo.custom_call @hlograph.host(%c, %arg1)
// CHECK: [[I:%[^ ]+]]:2 = "stablehlo.if"(%arg0)
// CHECK: [[Y:%[^ ]+]]:2 = stablehlo.custom_call @hlograph.host([[A]]#0, %arg1)
// CHECK: stablehlo.return [[Y]]#1, [[Y]]#0
// CHECK: stablehlo.return %arg1, [[A]]#0
// CHECK: stablehlo.custom_call @hlograph.host([[I]]#1, [[I]]#0)
module @branches {
  func.func public @main(%p: tensor<i1>, %x: tensor<3xf64>) -> (tensor<3xf64>, tensor<f64>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %a:2 = stablehlo.custom_call @hlograph.host(%zero, %x) {api_version = 4 : i32, backend_config = {name = "host_0"}, has_side_effect = true} : (tensor<i32>, tensor<3xf64>) -> (tensor<i32>, tensor<3xf64>)
    %r = "stablehlo.if"(%p) ({
      %y:2 = stablehlo.custom_call @hlograph.host(%zero, %x) {api_version = 4 : i32, backend_config = {name = "host_1"}, has_side_effect = true} : (tensor<i32>, tensor<3xf64>) -> (tensor<i32>, tensor<3xf64>)
      stablehlo.return %y#1 : tensor<3xf64>
    }, {
      stablehlo.return %x : tensor<3xf64>
    }) : (tensor<i1>) -> tensor<3xf64>
    %b:2 = stablehlo.custom_call @hlograph.host(%zero, %r) {api_version = 4 : i32, backend_config = {name = "host_2"}, has_side_effect = true} : (tensor<i32>, tensor<3xf64>) -> (tensor<i32>, tensor<f64>)
    return %a#1, %b#1 : tensor<3xf64>, tensor<f64>
  }
}
