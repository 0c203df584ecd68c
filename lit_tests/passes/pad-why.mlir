// Why padding is what it is, and why there is a mask, or none: of a value or an op by its name or line.
//
// RUN: %hlograph opt %s --pass 'pad{n=8}' --explain pad:%2 2>&1 >%t | filecheck %s --check-prefix=NONE
// RUN: %hlograph opt %s --pass 'pad{n=8}' --explain 'pad:line 30' 2>&1 >%t | filecheck %s --check-prefix=MASK
// RUN: %hlograph opt %s --pass 'pad{n=8}' --explain pad:%4 2>&1 >%t | filecheck %s --check-prefix=UNKNOWN
// RUN: %hlograph opt %s --pass 'pad{n=8,poison=true}' --explain pad:%arg0 2>&1 >%t | filecheck %s --check-prefix=POISON
// RUN: %hlograph explain %s --bounds n=8 | filecheck %s --check-prefix=EXPLAIN

// Why is this padding 0 without a mask?
// NONE: pad: %2 = stablehlo.tanh %arg0 : tensor<?xf64> (line 31): its padding along dim 0 (n of 8) is 0.0, because tanh of padding 0.0 is 0.0
// NONE-NEXT: pad: %3 = stablehlo.reduce : tensor<f64> (line 32): operand %2 needs no mask along dim 0 (n of 8): its padding is 0.0, because tanh of padding 0.0 is 0.0

// Why is there a mask?
// MASK: pad: %1 = stablehlo.reduce : tensor<f64> (line 30): operand %0 was masked with 0.0 along dim 0 (n of 8): its padding is 1.0, because exponential of padding 0.0 is 1.0
// MASK-NOT: pad:

// Why is the padding of this value unknown?
// UNKNOWN: pad: %4 = stablehlo.divide %arg0, %arg1 : tensor<?xf64> (line 33): its padding along dim 0 (n of 8) is unknown, because divide of padding 0.0 and 0.0 is unknown
// UNKNOWN: pad: %5 = stablehlo.dot_general {{.*}}: operand %4 was masked with 0.0 along dim 0 (n of 8): its padding is unknown, because

// POISON: pad: %arg0 : tensor<?xf64>: its padding along dim 0 (n of 8) is unknown, because arguments are padded with unknown

// EXPLAIN: padding: 6 of 6 operations touched; 2 mask (bounds n = 8)
// EXPLAIN-NEXT: mask n with 0.0 at reduce (line 30) its padding is 1.0, because exponential of padding 0.0 is 1.0
// EXPLAIN-NEXT: mask n with 0.0 at dot_general (line 34) its padding is unknown, because divide of padding 0.0 and 0.0 is unknown
func.func @main(%x: tensor<?xf64> {hlograph.dims = ["n"]}, %y: tensor<?xf64> {hlograph.dims = ["n"]})
    -> (tensor<f64>, tensor<f64>, tensor<f64>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %exp = stablehlo.exponential %x : tensor<?xf64>
  %sum = stablehlo.reduce(%exp init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<?xf64>, tensor<f64>) -> tensor<f64>
  %tanh = stablehlo.tanh %x : tensor<?xf64>
  %other = stablehlo.reduce(%tanh init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<?xf64>, tensor<f64>) -> tensor<f64>
  %ratio = stablehlo.divide %x, %y : tensor<?xf64>
  %dot = stablehlo.dot_general %ratio, %tanh, contracting_dims = [0] x [0] : (tensor<?xf64>, tensor<?xf64>) -> tensor<f64>
  return %sum, %other, %dot : tensor<f64>, tensor<f64>, tensor<f64>
}
