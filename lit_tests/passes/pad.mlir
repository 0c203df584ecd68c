// Static shapes at bounds, live sizes as arguments: the signature, masks where they are needed and none elsewhere.
//
// RUN: %hlograph opt %s --split-input-file --pass 'pad{n=8}' | filecheck %s
// RUN: %hlograph opt %s --split-input-file --pass 'pad{n=8,poison=true}' | filecheck %s --check-prefix=POISON
// RUN: sed -n '/^module @stablehlo.reduce /,/^}/{s/?/8/g;s/"n"/"8"/;p;}' %s | %hlograph opt - --pass pad | filecheck %s --check-prefix=STATIC
// RUN: not %hlograph opt %s --split-input-file --pass 'pad{n=many}' 2>&1 | filecheck %s --check-prefix=NUMBER
// RUN: not %hlograph opt %s --split-input-file --pass 'pad{n=-1}' 2>&1 | filecheck %s --check-prefix=NEGATIVE
// RUN: not %hlograph opt %s --split-input-file --pass 'pad{q=3}' 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not %hlograph opt %s --split-input-file --pass 'pad' 2>&1 | filecheck %s --check-prefix=MISSING

// NUMBER: hlograph: error: pass 'pad': n is an integer, not 'many'
// NEGATIVE: hlograph: error: pad: the bound n = -1 is not between 0 and 2147483647
// UNKNOWN: hlograph: error: pad: the program has no size 'q' (its sizes: n)
// MISSING: hlograph: error: pad: no bound is given for n

// The padding of an argument is 0, which a sum does not see; exp makes 1 of it, which is masked. One mask serves twice.
// CHECK-LABEL: module @stablehlo.reduce
// CHECK: func.func {{.*}}@main(%x: tensor<8xf64> {hlograph.dims = ["8"], hlograph.live = ["n"], hlograph.name = "x"},
// CHECK-SAME: %n: tensor<i32> {hlograph.dims = [], hlograph.name = "n", hlograph.size = "n"})
// CHECK-NOT: stablehlo.select
// CHECK: stablehlo.reduce(%x init: {{.*}}) applies stablehlo.add across dimensions = [0] {hlograph.live = ["n"]} : (tensor<8xf64>, tensor<f64>) -> tensor<f64>
// CHECK: [[EXP:%[^ ]+]] = stablehlo.exponential %x : tensor<8xf64>
// CHECK: [[MASKED:%[^ ]+]] = stablehlo.select [[LIVE:%[^ ]+]], [[EXP]], {{.*}} : tensor<8xi1>, tensor<8xf64>
// CHECK-NEXT: stablehlo.reduce([[MASKED]] init: {{.*}}) applies stablehlo.add
// CHECK: stablehlo.select [[LIVE]], %x
// CHECK-NOT: stablehlo.iota
// CHECK: stablehlo.reduce({{.*}}) applies stablehlo.maximum
// What is in the padding of the arguments is not known now: each reduction masks.
// POISON-LABEL: module @stablehlo.reduce
// POISON: stablehlo.select {{.*}}, %x
// POISON: applies stablehlo.add
// POISON: stablehlo.select
// POISON: applies stablehlo.add
// POISON: stablehlo.select
// POISON: applies stablehlo.maximum
// A program without sizes stays as it is.
// STATIC: @main(%x: tensor<8xf64> {hlograph.dims = ["8"], hlograph.name = "x"}) -> (tensor<f64>
// STATIC-NOT: stablehlo.select
// STATIC: stablehlo.reduce(%x init: {{.*}}) applies stablehlo.maximum
module @stablehlo.reduce {
  func.func @main(%x: tensor<?xf64> {hlograph.name = "x", hlograph.dims = ["n"]}) -> (tensor<f64>, tensor<f64>, tensor<f64>) {
    %zero = stablehlo.constant dense<0.0> : tensor<f64>
    %least = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
    %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<?xf64>, tensor<f64>) -> tensor<f64>
    %1 = stablehlo.exponential %x : tensor<?xf64>
    %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<?xf64>, tensor<f64>) -> tensor<f64>
    %3 = stablehlo.reduce(%x init: %least) applies stablehlo.maximum across dimensions = [0] : (tensor<?xf64>, tensor<f64>) -> tensor<f64>
    return %0, %2, %3 : tensor<f64>, tensor<f64>, tensor<f64>
  }
}

// -----

// Zeros on one side are enough if the other side is finite in its padding; here that is so.
// CHECK-LABEL: module @stablehlo.dot_general
// CHECK-NOT: stablehlo.select
// CHECK: stablehlo.dot_general %arg0, %arg1, contracting_dims = [0] x [0] {hlograph.live = ["n"]} : (tensor<8x3xf64>, tensor<8xf64>) -> tensor<3xf64>
// Where it is not, the smaller side is masked, and the greater one too only where it may hold NaN.
// CHECK: [[LOG:%[^ ]+]] = stablehlo.log %arg1
// CHECK: [[MASKED:%[^ ]+]] = stablehlo.select {{.*}}, [[LOG]]
// CHECK-NEXT: stablehlo.dot_general %arg0, [[MASKED]]
// POISON-LABEL: module @stablehlo.dot_general
// POISON: stablehlo.select {{.*}}, %arg0
// POISON: stablehlo.select {{.*}}, %arg1
// POISON: stablehlo.dot_general
module @stablehlo.dot_general {
  func.func @main(%x: tensor<?x3xf64> {hlograph.dims = ["n", "3"]}, %y: tensor<?xf64> {hlograph.dims = ["n"]}) -> (tensor<3xf64>, tensor<3xf64>) {
    %0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<?x3xf64>, tensor<?xf64>) -> tensor<3xf64>
    %1 = stablehlo.log %y : tensor<?xf64>
    %2 = stablehlo.dot_general %x, %1, contracting_dims = [0] x [0] : (tensor<?x3xf64>, tensor<?xf64>) -> tensor<3xf64>
    return %0, %2 : tensor<3xf64>, tensor<3xf64>
  }
}
