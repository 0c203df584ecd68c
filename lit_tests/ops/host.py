# RUN: %python %s | filecheck %s
"""Ops that are Python: calls of the host. What comes back is as long as the op says."""

import pytensor.tensor as pt
from common import show
from pytensor.breakpoint import PdbBreakpoint
from pytensor.compile.ops import FromFunctionOp
from pytensor.printing import Print
from pytensor.tensor.linalg import qz
from pytensor.tensor.optimize import minimize, minimize_scalar, root, root_scalar

x, y, k, p = pt.dvector("x"), pt.dmatrix("y"), pt.dscalar("k"), pt.tensor("p", dtype="float64", shape=(3,))

# CHECK-LABEL: module @Print.dynamic
# CHECK-NEXT: a:2 = @hlograph.host(0, x, [], size<0>(x)) {indices_of_shape_operands = [2, 3]} : tensor<i32>, tensor<?xf64>
# CHECK-NEXT: return a#1 : tensor<?xf64>
show([x], Print("x")(x), name="Print.dynamic")

norm = FromFunctionOp(lambda a: (a**2).sum(), [p.type], [pt.dscalar], None)

double = FromFunctionOp(
    lambda a, b: a * 2, [pt.dvector, pt.dmatrix], [pt.dmatrix], lambda *s: [(s[-1][0][0], s[-1][1][1])]
)

# CHECK-LABEL: module @FromFunctionOp.dynamic
# CHECK-NEXT: a:2 = @hlograph.host(0, x, y, [], concatenate<0>(size<0>(x), size<1>(y))) {indices_of_shape_operands = [3, 4]} : tensor<i32>, tensor<?x?xf64>
# CHECK-NEXT: return a#1 : tensor<?x?xf64>
show([x, y], double(x, y), name="FromFunctionOp.dynamic")

# CHECK-LABEL: module @PdbBreakpoint.dynamic
# CHECK-NEXT: a:2 = @hlograph.host(0, GT(k, 0), x, [], size<0>(x)) {indices_of_shape_operands = [3, 4]} : tensor<i32>, tensor<?xf64>
# CHECK-NEXT: return a#1 : tensor<?xf64>
show([k, x], PdbBreakpoint("here")(k > 0, x), name="PdbBreakpoint.dynamic")

# CHECK-LABEL: module @MinimizeScalarOp.dynamic
# CHECK-NEXT: a:3 = @hlograph.host(0, k, x) : tensor<i32>, tensor<f64>, tensor<i1>
# CHECK-NEXT: return a#1, a#2 : tensor<f64>, tensor<i1>
show([k, x], list(minimize_scalar(((k - x) ** 2).sum(), k)), name="MinimizeScalarOp.dynamic")

# CHECK-LABEL: module @MinimizeOp.dynamic
# CHECK-NEXT: a:3 = @hlograph.host(0, x, [], size<0>(x), []) {indices_of_shape_operands = [2, 3, 4]} : tensor<i32>, tensor<?xf64>, tensor<i1>
# CHECK-NEXT: return a#1, a#2 : tensor<?xf64>, tensor<i1>
show([x], list(minimize((x**2).sum(), x)), name="MinimizeOp.dynamic")

# CHECK-LABEL: module @RootScalarOp.dynamic
# CHECK-NEXT: a:3 = @hlograph.host(0, k, x) : tensor<i32>, tensor<f64>, tensor<i1>
# CHECK-NEXT: return a#1, a#2 : tensor<f64>, tensor<i1>
show([k, x], list(root_scalar((k**2 - x).sum(), k)), name="RootScalarOp.dynamic")

# CHECK-LABEL: module @RootOp.dynamic
# CHECK-NEXT: a:3 = @hlograph.host(0, x, [], size<0>(x), []) {indices_of_shape_operands = [2, 3, 4]} : tensor<i32>, tensor<?xf64>, tensor<i1>
# CHECK-NEXT: return a#1, a#2 : tensor<?xf64>, tensor<i1>
show([x], list(root(x**2 - 2, x)), name="RootOp.dynamic")

# CHECK-LABEL: module @QZ.dynamic
# CHECK-NEXT: a = concatenate<0>(size<0>(y), size<1>(y)) : tensor<2xi64>
# CHECK-NEXT: b:5 = @hlograph.host(0, y, y, [], a, a, a, a) {indices_of_shape_operands = [3, 4, 5, 6, 7]} : tensor<i32>, tensor<?x?xf64>, tensor<?x?xf64>, tensor<?x?xf64>, tensor<?x?xf64>
show([y], list(qz(y, y)), name="QZ.dynamic")
