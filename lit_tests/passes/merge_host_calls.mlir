// Calls of Python functions of which one takes what another gives are parts of one, where nothing compiled is between.
//
// RUN: %hlograph opt %s --split-input-file --pass merge_host_calls | filecheck %s
// RUN: %hlograph opt %s --split-input-file --pass merge_host_calls --explain merge_host_calls 2>&1 | filecheck %s --check-prefix=WHY
// RUN: sed '1,/^}/s/3xf64/?xf64/g' %s | %hlograph opt - --split-input-file --pass merge_host_calls --explain merge_host_calls 2>&1 | filecheck %s --check-prefix=OPEN

// What stands between and needs the first one comes behind; what only they use does not cross.
// CHECK-LABEL: module @chain
// CHECK: [[M:%[^ ]+]]:3 = stablehlo.custom_call @hlograph.host(%c, %arg0, %arg1)
// CHECK-SAME: parts = [{name = "host_0", operands = array<i64: 0>, results = [tensor<3xf64>, tensor<f64>]}, {name = "host_1", operands = array<i64: 2, 1>, results = [tensor<3xf64>]}]
// CHECK-SAME: returned = array<i64: 3, 4>
// CHECK-NEXT: [[S:%[^ ]+]] = stablehlo.sine [[M]]#1
// CHECK: return [[S]], [[M]]#2
// WHY: merge_host_calls: {{.*}}the first of 2 parts of a call
// OPEN: left alone: its sizes are not known: specialize the program first
// OPEN-LABEL: module @chain
// OPEN-COUNT-2: backend_config = {name
module @chain {
  func.func public @main(%x: tensor<3xf64>, %y: tensor<3xf64>) -> (tensor<f64>, tensor<3xf64>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %a:3 = stablehlo.custom_call @hlograph.host(%zero, %x) {api_version = 4 : i32, backend_config = {name = "host_0"}, has_side_effect = true} : (tensor<i32>, tensor<3xf64>) -> (tensor<i32>, tensor<3xf64>, tensor<f64>)
    %s = stablehlo.sine %a#2 : tensor<f64>
    %b:2 = stablehlo.custom_call @hlograph.host(%zero, %a#1, %y) {api_version = 4 : i32, backend_config = {name = "host_1"}, has_side_effect = true} : (tensor<i32>, tensor<3xf64>, tensor<3xf64>) -> (tensor<i32>, tensor<3xf64>)
    return %s, %b#1 : tensor<f64>, tensor<3xf64>
  }
}

// -----

// One way of the two goes through compiled code: two calls. So do calls that take nothing of each other.
// CHECK-LABEL: module @between
// CHECK-COUNT-3: backend_config = {name
// WHY: left alone: it takes nothing of another call, or something compiled is between them
module @between {
  func.func public @main(%x: tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %a:2 = stablehlo.custom_call @hlograph.host(%zero, %x) {api_version = 4 : i32, backend_config = {name = "host_0"}, has_side_effect = true} : (tensor<i32>, tensor<3xf64>) -> (tensor<i32>, tensor<3xf64>)
    %s = stablehlo.sine %a#1 : tensor<3xf64>
    %b:2 = stablehlo.custom_call @hlograph.host(%zero, %a#1, %s) {api_version = 4 : i32, backend_config = {name = "host_1"}, has_side_effect = true} : (tensor<i32>, tensor<3xf64>, tensor<3xf64>) -> (tensor<i32>, tensor<3xf64>)
    %c:2 = stablehlo.custom_call @hlograph.host(%zero, %x) {api_version = 4 : i32, backend_config = {name = "host_2"}, has_side_effect = true} : (tensor<i32>, tensor<3xf64>) -> (tensor<i32>, tensor<3xf64>)
    return %b#1, %c#1 : tensor<3xf64>, tensor<3xf64>
  }
}

// -----

// In a step of a loop, with live sizes.
// CHECK-LABEL: module @loop
// CHECK: do
// CHECK: stablehlo.custom_call @hlograph.host(%c, %{{[^ ]+}}, %arg1)
// CHECK-SAME: {live = true, name = "host_0", operands = array<i64: 0, 1>, results = [tensor<3xf64>]}, {live = true, name = "host_1", operands = array<i64: 2, 1>
module @loop {
  func.func public @main(%x: tensor<3xf64>, %n: tensor<2xi32>) -> tensor<3xf64> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<3xf64> cond {
      %go = stablehlo.compare LT, %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %s = stablehlo.add %i, %one : tensor<i32>
      %a:2 = stablehlo.custom_call @hlograph.host(%zero, %v, %n) {api_version = 4 : i32, backend_config = {live = true, name = "host_0"}, has_side_effect = true} : (tensor<i32>, tensor<3xf64>, tensor<2xi32>) -> (tensor<i32>, tensor<3xf64>)
      %b:2 = stablehlo.custom_call @hlograph.host(%zero, %a#1, %n) {api_version = 4 : i32, backend_config = {live = true, name = "host_1"}, has_side_effect = true} : (tensor<i32>, tensor<3xf64>, tensor<2xi32>) -> (tensor<i32>, tensor<3xf64>)
      stablehlo.return %s, %b#1 : tensor<i32>, tensor<3xf64>
    }
    return %r#1 : tensor<3xf64>
  }
}
