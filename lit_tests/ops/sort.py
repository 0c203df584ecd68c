# RUN: %python %s | filecheck %s
"""SortOp and ArgSortOp: one stable sort, numbers before NaN; the places travel along for ArgSortOp."""

import pytensor.tensor as pt
from common import show

x, k = pt.dmatrix("x"), pt.lvector("k")

# CHECK-LABEL: module @SortOp.static
# CHECK-NOT: dynamic_
# CHECK: [[SORTED:%\w+]] = "stablehlo.sort"(%arg0) <{dimension = 1 : i64, is_stable = true}> ({
# CHECK-NEXT: ^bb0(%arg1: tensor<f64>, %arg2: tensor<f64>):
# CHECK-NEXT: [[LESS:%\w+]] = stablehlo.compare LT, %arg1, %arg2 : (tensor<f64>, tensor<f64>) -> tensor<i1>
# CHECK-NEXT: [[NUMBER:%\w+]] = stablehlo.compare EQ, %arg1, %arg1 : (tensor<f64>, tensor<f64>) -> tensor<i1>
# CHECK-NEXT: [[NAN:%\w+]] = stablehlo.compare NE, %arg2, %arg2 : (tensor<f64>, tensor<f64>) -> tensor<i1>
# CHECK-NEXT: [[BOTH:%\w+]] = stablehlo.and [[NUMBER]], [[NAN]] : tensor<i1>
# CHECK-NEXT: [[BEFORE:%\w+]] = stablehlo.or [[LESS]], [[BOTH]] : tensor<i1>
# CHECK-NEXT: stablehlo.return [[BEFORE]] : tensor<i1>
# CHECK-NEXT: }) : (tensor<3x4xf64>) -> tensor<3x4xf64>
# CHECK-NEXT: return [[SORTED]] : tensor<3x4xf64>
show([x], pt.sort(x, axis=-1), name="SortOp.static", dims={"x": (3, 4)})

# CHECK-LABEL: module @SortOp.dynamic
# CHECK: [[SORTED:%\w+]] = "stablehlo.sort"(%arg0) <{dimension = 0 : i64, is_stable = true}> ({
# CHECK: }) : (tensor<?xi64>) -> tensor<?xi64>
# CHECK-NEXT: return [[SORTED]] : tensor<?xi64>
show([k], pt.sort(k), name="SortOp.dynamic", dims={"k": ("n",)})

# CHECK-LABEL: module @ArgSortOp.static
# CHECK-NOT: dynamic_
# CHECK: [[PLACES:%\w+]] = stablehlo.iota dim = 0 : tensor<5xi64>
# CHECK-NEXT: [[SORTED:%\w+]]:2 = "stablehlo.sort"(%arg0, [[PLACES]]) <{dimension = 0 : i64, is_stable = true}> ({
# CHECK-NEXT: ^bb0(%arg1: tensor<i64>, %arg2: tensor<i64>, %arg3: tensor<i64>, %arg4: tensor<i64>):
# CHECK-NEXT: [[LESS:%\w+]] = stablehlo.compare LT, %arg1, %arg2 : (tensor<i64>, tensor<i64>) -> tensor<i1>
# CHECK-NEXT: stablehlo.return [[LESS]] : tensor<i1>
# CHECK-NEXT: }) : (tensor<5xi64>, tensor<5xi64>) -> (tensor<5xi64>, tensor<5xi64>)
# CHECK-NEXT: return [[SORTED]]#1 : tensor<5xi64>
show([k], pt.argsort(k), name="ArgSortOp.static", dims={"k": (5,)})

# CHECK-LABEL: module @ArgSortOp.dynamic
# CHECK: [[PLACES:%\w+]] = stablehlo.dynamic_iota %{{[0-9]+}}, dim = 0 : (tensor<2xi64>) -> tensor<?x4xi64>
# CHECK-NEXT: [[SORTED:%\w+]]:2 = "stablehlo.sort"(%arg0, [[PLACES]]) <{dimension = 0 : i64, is_stable = true}> ({
# CHECK: }) : (tensor<?x4xf64>, tensor<?x4xi64>) -> (tensor<?x4xf64>, tensor<?x4xi64>)
# CHECK-NEXT: return [[SORTED]]#1 : tensor<?x4xi64>
show([x], pt.argsort(x, axis=0), name="ArgSortOp.dynamic", dims={"x": ("n", 4)})
