# RUN: %python %s | filecheck %s
"""SearchsortedOp: bisection, for all values at once, as many steps as the size has bits."""

import pytensor.tensor as pt
from common import show

x, k = pt.dvector("x"), pt.lvector("k")

# CHECK-LABEL: module @SearchsortedOp.static
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0> : tensor<i64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<8> : tensor<i64>
# CHECK-NEXT: [[CONST3:%\w+]] = stablehlo.constant dense<2> : tensor<i64>
# CHECK-NEXT: [[CONST4:%\w+]] = stablehlo.constant dense<1> : tensor<i64>
# CHECK-NEXT: [[CONVERTED:%\w+]] = stablehlo.convert %arg1 : (tensor<3xi64>) -> tensor<3xf64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim [[CONST]], dims = [] : (tensor<i64>) -> tensor<3xi64>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.broadcast_in_dim [[CONST2]], dims = [] : (tensor<i64>) -> tensor<3xi64>
# CHECK-NEXT: [[LOOP:%\w+]]:3 = stablehlo.while([[CARRY:%\w+]] = [[CONST2]], [[CARRY2:%\w+]] = [[WIDE]], [[CARRY3:%\w+]] = [[WIDE2]]) : tensor<i64>, tensor<3xi64>, tensor<3xi64>
# CHECK-NEXT: cond {
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare GT, [[CARRY]], [[CONST]] : (tensor<i64>, tensor<i64>) -> tensor<i1>
# CHECK-NEXT: stablehlo.return [[TEST]] : tensor<i1>
# CHECK-NEXT: } do {
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add [[CARRY2]], [[CARRY3]] : tensor<3xi64>
# CHECK-NEXT: [[WIDE3:%\w+]] = stablehlo.broadcast_in_dim [[CONST3]], dims = [] : (tensor<i64>) -> tensor<3xi64>
# CHECK-NEXT: [[QUOTIENT:%\w+]] = stablehlo.divide [[SUM]], [[WIDE3]] : tensor<3xi64>
# CHECK-NEXT: [[TAKEN:%\w+]] = "stablehlo.gather"(%arg0, [[QUOTIENT]]) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<8xf64>, tensor<3xi64>) -> tensor<3xf64>
# CHECK-NEXT: [[TEST2:%\w+]] = stablehlo.compare LT, [[TAKEN]], [[CONVERTED]] : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xi1>
# CHECK-NEXT: [[TEST3:%\w+]] = stablehlo.compare EQ, [[TAKEN]], [[TAKEN]] : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xi1>
# CHECK-NEXT: [[TEST4:%\w+]] = stablehlo.compare NE, [[CONVERTED]], [[CONVERTED]] : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xi1>
# CHECK-NEXT: [[AND:%\w+]] = stablehlo.and [[TEST3]], [[TEST4]] : tensor<3xi1>
# CHECK-NEXT: [[OR:%\w+]] = stablehlo.or [[TEST2]], [[AND]] : tensor<3xi1>
# CHECK-NEXT: [[TEST5:%\w+]] = stablehlo.compare LT, [[CARRY2]], [[CARRY3]] : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi1>
# CHECK-NEXT: [[QUOTIENT2:%\w+]] = stablehlo.divide [[CARRY]], [[CONST3]] : tensor<i64>
# CHECK-NEXT: [[AND2:%\w+]] = stablehlo.and [[TEST5]], [[OR]] : tensor<3xi1>
# CHECK-NEXT: [[WIDE4:%\w+]] = stablehlo.broadcast_in_dim [[CONST4]], dims = [] : (tensor<i64>) -> tensor<3xi64>
# CHECK-NEXT: [[SUM2:%\w+]] = stablehlo.add [[QUOTIENT]], [[WIDE4]] : tensor<3xi64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[AND2]], [[SUM2]], [[CARRY2]] : tensor<3xi1>, tensor<3xi64>
# CHECK-NEXT: [[NOT:%\w+]] = stablehlo.not [[TEST5]] : tensor<3xi1>
# CHECK-NEXT: [[OR2:%\w+]] = stablehlo.or [[NOT]], [[OR]] : tensor<3xi1>
# CHECK-NEXT: [[CHOSEN2:%\w+]] = stablehlo.select [[OR2]], [[CARRY3]], [[QUOTIENT]] : tensor<3xi1>, tensor<3xi64>
# CHECK-NEXT: stablehlo.return [[QUOTIENT2]], [[CHOSEN]], [[CHOSEN2]] : tensor<i64>, tensor<3xi64>, tensor<3xi64>
# CHECK: return [[LOOP]]#1 : tensor<3xi64>
show([x, k], pt.searchsorted(x, k), name="SearchsortedOp.static", dims={"x": (8,), "k": (3,)})

# A vector that may be empty gets one more element, so that there is one to read.
# CHECK-LABEL: module @SearchsortedOp.dynamic
# CHECK: [[PADDED:%\w+]] = stablehlo.pad %arg0, %{{\w+}}, low = [0], high = [1], interior = [0] : (tensor<?xf64>, tensor<f64>) -> tensor<?xf64>
# CHECK: [[LOOP:%\w+]]:3 = stablehlo.while([[CARRY:%\w+]] = %{{\w+}}, [[CARRY2:%\w+]] = %{{\w+}}, [[CARRY3:%\w+]] = %{{\w+}}) : tensor<i64>, tensor<?xi64>, tensor<?xi64>
# CHECK: [[TEST:%\w+]] = stablehlo.compare GT, [[CARRY]], %{{\w+}} : (tensor<i64>, tensor<i64>) -> tensor<i1>
# CHECK-NEXT: stablehlo.return [[TEST]] : tensor<i1>
# CHECK: [[TAKEN:%\w+]] = "stablehlo.gather"([[PADDED]], %{{\w+}}) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<?xf64>, tensor<?xi64>) -> tensor<?xf64>
# CHECK-NEXT: [[TEST2:%\w+]] = stablehlo.compare LT, %{{\w+}}, [[TAKEN]] : (tensor<?xf64>, tensor<?xf64>) -> tensor<?xi1>
# CHECK-NEXT: [[TEST3:%\w+]] = stablehlo.compare EQ, %{{\w+}}, %{{\w+}} : (tensor<?xf64>, tensor<?xf64>) -> tensor<?xi1>
# CHECK-NEXT: [[TEST4:%\w+]] = stablehlo.compare NE, [[TAKEN]], [[TAKEN]] : (tensor<?xf64>, tensor<?xf64>) -> tensor<?xi1>
# CHECK-NEXT: [[AND:%\w+]] = stablehlo.and [[TEST3]], [[TEST4]] : tensor<?xi1>
# CHECK-NEXT: [[OR:%\w+]] = stablehlo.or [[TEST2]], [[AND]] : tensor<?xi1>
# CHECK-NEXT: [[NOT:%\w+]] = stablehlo.not [[OR]] : tensor<?xi1>
# CHECK-NEXT: [[TEST5:%\w+]] = stablehlo.compare LT, [[CARRY2]], [[CARRY3]] : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi1>
# CHECK: [[AND2:%\w+]] = stablehlo.and [[TEST5]], [[NOT]] : tensor<?xi1>
# CHECK: [[CHOSEN:%\w+]] = stablehlo.select [[AND2]], %{{\w+}}, [[CARRY2]] : tensor<?xi1>, tensor<?xi64>
# CHECK-NEXT: [[NOT2:%\w+]] = stablehlo.not [[TEST5]] : tensor<?xi1>
# CHECK-NEXT: [[OR2:%\w+]] = stablehlo.or [[NOT2]], [[NOT]] : tensor<?xi1>
# CHECK-NEXT: [[CHOSEN2:%\w+]] = stablehlo.select [[OR2]], [[CARRY3]], %{{\w+}} : tensor<?xi1>, tensor<?xi64>
# CHECK-NEXT: stablehlo.return %{{\w+}}, [[CHOSEN]], [[CHOSEN2]] : tensor<i64>, tensor<?xi64>, tensor<?xi64>
# CHECK: return [[LOOP]]#1 : tensor<?xi64>
show([x, k], pt.searchsorted(x, k, side="right"), name="SearchsortedOp.dynamic", dims={"x": ("n",), "k": ("m",)})
