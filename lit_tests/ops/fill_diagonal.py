# RUN: %python %s | filecheck %s
"""FillDiagonal and FillDiagonalOffset: a selection by place."""

import pytensor.tensor as pt
from common import show

table, cube, value, k = pt.dmatrix("table"), pt.dtensor3("cube"), pt.dscalar("value"), pt.lscalar("k")

# CHECK-LABEL: module @FillDiagonal.dynamic
# CHECK-NEXT: constraints: cube_0 == cube_1, FillDiagonal, axis 1 at an unnamed FillDiagonal node
# CHECK-NEXT: constraints: cube_0 == cube_2, FillDiagonal, axis 2 at an unnamed FillDiagonal node
# CHECK-NEXT: a = concatenate<0>(size<0>(cube), size<0>(cube), size<0>(cube)) : tensor<3xi64>
# CHECK-NEXT: b = dynamic_iota<0, ?x?x?xi64>(a) : tensor<?x?x?xi64>
# CHECK-NEXT: return select(and(EQ(b, dynamic_iota<1, ?x?x?xi64>(a)), EQ(b, dynamic_iota<2, ?x?x?xi64>(a))), value, cube) : tensor<?x?x?xf64>
show([cube, value], pt.fill_diagonal(cube, value), name="FillDiagonal.dynamic")

# CHECK-LABEL: module @FillDiagonalOffset.dynamic
# CHECK-NEXT: a = concatenate<0>(size<0>(table), size<1>(table)) : tensor<2xi64>
# CHECK-NEXT: return select(EQ(add(dynamic_iota<0, ?x?xi64>(a), k), dynamic_iota<1, ?x?xi64>(a)), value, table) : tensor<?x?xf64>
show([table, value, k], pt.fill_diagonal_offset(table, value, k), name="FillDiagonalOffset.dynamic")
