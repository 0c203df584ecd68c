# RUN: %python %s | filecheck %s
"""AdvancedIncSubtensor1, AdvancedIncSubtensor: writing and accumulating at integer tensors, and where a mask holds."""

import pytensor.tensor as pt
from common import of_another_release, show, this_or_another_release
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.tensor import subtensor
from pytensor.tensor.subtensor import inc_subtensor, set_subtensor


def _older(set_instead_of_inc=False):
    """The op that one index vector had before PyTensor 3.3."""
    members = {"make_node": lambda self, x, y, i: Apply(self, [x, y, i], [x.type()]), "perform": None}
    op = of_another_release(Op, "AdvancedIncSubtensor1", set_instead_of_inc=set_instead_of_inc, **members)
    return op()


AdvancedIncSubtensor1 = this_or_another_release(subtensor, "AdvancedIncSubtensor1", lambda: _older)
x, y, v = pt.dmatrix("x"), pt.dmatrix("y"), pt.dvector("v")
i, j = pt.lvector("i"), pt.lvector("j")
mask = pt.tensor("mask", dtype="bool", shape=(None, None))

# CHECK-LABEL: module @AdvancedIncSubtensor1.static
# CHECK-NOT: dynamic_
# CHECK: func.func {{.*}}hlograph.checks = {{\[\[}}"IndexError", "index is out of bounds for axis 0 at an unnamed AdvancedIncSubtensor1 node"]]
# CHECK-NEXT: [[CONST:%\w+]] = stablehlo.constant dense<0> : tensor<i64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<5> : tensor<i64>
# CHECK-NEXT: [[CONST3:%\w+]] = stablehlo.constant dense<true> : tensor<i1>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim [[CONST]], dims = [] : (tensor<i64>) -> tensor<20xi64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare LT, %arg2, [[WIDE]] : (tensor<20xi64>, tensor<20xi64>) -> tensor<20xi1>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.broadcast_in_dim [[CONST2]], dims = [] : (tensor<i64>) -> tensor<20xi64>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add %arg2, [[WIDE2]] : tensor<20xi64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[TEST]], [[SUM]], %arg2 : tensor<20xi1>, tensor<20xi64>
# CHECK-NEXT: [[TEST2:%\w+]] = stablehlo.compare GE, [[CHOSEN]], [[WIDE]] : (tensor<20xi64>, tensor<20xi64>) -> tensor<20xi1>
# CHECK-NEXT: [[TEST3:%\w+]] = stablehlo.compare LT, [[CHOSEN]], [[WIDE2]] : (tensor<20xi64>, tensor<20xi64>) -> tensor<20xi1>
# CHECK-NEXT: [[AND:%\w+]] = stablehlo.and [[TEST2]], [[TEST3]] : tensor<20xi1>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce([[AND]] init: [[CONST3]]) applies stablehlo.and across dimensions = [0] : (tensor<20xi1>, tensor<i1>) -> tensor<i1>
# CHECK-NEXT: [[SCATTERED:%\w+]] = "stablehlo.scatter"(%arg0, [[CHOSEN]], %arg1) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
# CHECK: [[SUM2:%\w+]] = stablehlo.add %arg3, %arg4 : tensor<f64>
# CHECK-NEXT: stablehlo.return [[SUM2]] : tensor<f64>
# CHECK-NEXT: }) : (tensor<5x6xf64>, tensor<20xi64>, tensor<20x6xf64>) -> tensor<5x6xf64>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape [[REDUCED]] : (tensor<i1>) -> tensor<1xi1>
# CHECK-NEXT: return [[SCATTERED]], [[SHAPED]] : tensor<5x6xf64>, tensor<1xi1>
show(
    [x, y, i],
    AdvancedIncSubtensor1()(x, y, i),
    name="AdvancedIncSubtensor1.static",
    dims={"x": (5, 6), "y": (20, 6), "i": (20,)},
)

# CHECK-LABEL: module @AdvancedIncSubtensor1.static.set
# CHECK-NOT: dynamic_
# CHECK: func.func {{.*}}hlograph.checks = {{\[\[}}"IndexError", "index is out of bounds for axis 0 at an unnamed AdvancedIncSubtensor1 node"]]
# CHECK-NEXT: [[CONST:%\w+]] = stablehlo.constant dense<0> : tensor<i64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<5> : tensor<i64>
# CHECK-NEXT: [[CONST3:%\w+]] = stablehlo.constant dense<true> : tensor<i1>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim [[CONST]], dims = [] : (tensor<i64>) -> tensor<20xi64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare LT, %arg2, [[WIDE]] : (tensor<20xi64>, tensor<20xi64>) -> tensor<20xi1>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.broadcast_in_dim [[CONST2]], dims = [] : (tensor<i64>) -> tensor<20xi64>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add %arg2, [[WIDE2]] : tensor<20xi64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[TEST]], [[SUM]], %arg2 : tensor<20xi1>, tensor<20xi64>
# CHECK-NEXT: [[TEST2:%\w+]] = stablehlo.compare GE, [[CHOSEN]], [[WIDE]] : (tensor<20xi64>, tensor<20xi64>) -> tensor<20xi1>
# CHECK-NEXT: [[TEST3:%\w+]] = stablehlo.compare LT, [[CHOSEN]], [[WIDE2]] : (tensor<20xi64>, tensor<20xi64>) -> tensor<20xi1>
# CHECK-NEXT: [[AND:%\w+]] = stablehlo.and [[TEST2]], [[TEST3]] : tensor<20xi1>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce([[AND]] init: [[CONST3]]) applies stablehlo.and across dimensions = [0] : (tensor<20xi1>, tensor<i1>) -> tensor<i1>
# CHECK-NEXT: [[SCATTERED:%\w+]] = "stablehlo.scatter"(%arg0, [[CHOSEN]], %arg1) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
# CHECK: stablehlo.return %arg4 : tensor<f64>
# CHECK-NEXT: }) : (tensor<5x6xf64>, tensor<20xi64>, tensor<20x6xf64>) -> tensor<5x6xf64>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape [[REDUCED]] : (tensor<i1>) -> tensor<1xi1>
# CHECK-NEXT: return [[SCATTERED]], [[SHAPED]] : tensor<5x6xf64>, tensor<1xi1>
show(
    [x, y, i],
    AdvancedIncSubtensor1(set_instead_of_inc=True)(x, y, i),
    name="AdvancedIncSubtensor1.static.set",
    dims={"x": (5, 6), "y": (20, 6), "i": (20,)},
)

# CHECK-LABEL: module @AdvancedIncSubtensor1.dynamic
# CHECK: func.func {{.*}}hlograph.checks = {{\[\[}}"IndexError", "index is out of bounds for axis 0 at an unnamed AdvancedIncSubtensor1 node"]]
# CHECK-SAME: hlograph.constraints = {{\[\[}}"n >= min(k, 1)", "index of axis 0 at an unnamed AdvancedIncSubtensor1 node"]]
# CHECK-NEXT: [[CONST:%\w+]] = stablehlo.constant dense<0> : tensor<i64>
# CHECK: [[CONST2:%\w+]] = stablehlo.constant dense<true> : tensor<i1>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CONST]], %{{[0-9]+}}, dims = [] : (tensor<i64>, tensor<1xi64>) -> tensor<?xi64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare LT, %arg2, [[WIDE]] : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi1>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.dynamic_broadcast_in_dim %{{[0-9]+}}, %{{[0-9]+}}, dims = [] : (tensor<i64>, tensor<1xi64>) -> tensor<?xi64>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add %arg2, [[WIDE2]] : tensor<?xi64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[TEST]], [[SUM]], %arg2 : tensor<?xi1>, tensor<?xi64>
# CHECK-NEXT: [[TEST2:%\w+]] = stablehlo.compare GE, [[CHOSEN]], [[WIDE]] : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi1>
# CHECK-NEXT: [[TEST3:%\w+]] = stablehlo.compare LT, [[CHOSEN]], [[WIDE2]] : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi1>
# CHECK-NEXT: [[AND:%\w+]] = stablehlo.and [[TEST2]], [[TEST3]] : tensor<?xi1>
# CHECK-NEXT: stablehlo.reduce([[AND]] init: [[CONST2]]) applies stablehlo.and across dimensions = [0] : (tensor<?xi1>, tensor<i1>) -> tensor<i1>
# CHECK-NEXT: [[SCATTERED:%\w+]] = "stablehlo.scatter"(%arg0, [[CHOSEN]], %arg1) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
# CHECK: [[SUM2:%\w+]] = stablehlo.add %arg3, %arg4 : tensor<f64>
# CHECK-NEXT: stablehlo.return [[SUM2]] : tensor<f64>
# CHECK-NEXT: }) : (tensor<?x6xf64>, tensor<?xi64>, tensor<?x6xf64>) -> tensor<?x6xf64>
# CHECK: return [[SCATTERED]], %{{[0-9]+}} : tensor<?x6xf64>, tensor<1xi1>
show(
    [x, y, i],
    AdvancedIncSubtensor1()(x, y, i),
    name="AdvancedIncSubtensor1.dynamic",
    dims={"x": ("n", 6), "y": ("k", 6), "i": ("k",)},
)

# CHECK-LABEL: module @AdvancedIncSubtensor.static
# CHECK-NOT: dynamic_
# CHECK: func.func {{.*}}hlograph.checks = {{\[\[}}"IndexError", "index is out of bounds for axis 0 at an unnamed AdvancedIncSubtensor node"], ["IndexError", "index is out of bounds for axis 1 at an unnamed AdvancedIncSubtensor node"]]
# CHECK-NEXT: [[CONST:%\w+]] = stablehlo.constant dense<0> : tensor<i64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<5> : tensor<i64>
# CHECK-NEXT: [[CONST3:%\w+]] = stablehlo.constant dense<true> : tensor<i1>
# CHECK-NEXT: [[CONST4:%\w+]] = stablehlo.constant dense<6> : tensor<i64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim [[CONST]], dims = [] : (tensor<i64>) -> tensor<20xi64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare LT, %arg2, [[WIDE]] : (tensor<20xi64>, tensor<20xi64>) -> tensor<20xi1>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.broadcast_in_dim [[CONST2]], dims = [] : (tensor<i64>) -> tensor<20xi64>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add %arg2, [[WIDE2]] : tensor<20xi64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[TEST]], [[SUM]], %arg2 : tensor<20xi1>, tensor<20xi64>
# CHECK-NEXT: [[TEST2:%\w+]] = stablehlo.compare GE, [[CHOSEN]], [[WIDE]] : (tensor<20xi64>, tensor<20xi64>) -> tensor<20xi1>
# CHECK-NEXT: [[TEST3:%\w+]] = stablehlo.compare LT, [[CHOSEN]], [[WIDE2]] : (tensor<20xi64>, tensor<20xi64>) -> tensor<20xi1>
# CHECK-NEXT: [[AND:%\w+]] = stablehlo.and [[TEST2]], [[TEST3]] : tensor<20xi1>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce([[AND]] init: [[CONST3]]) applies stablehlo.and across dimensions = [0] : (tensor<20xi1>, tensor<i1>) -> tensor<i1>
# CHECK-NEXT: [[TEST4:%\w+]] = stablehlo.compare LT, %arg3, [[WIDE]] : (tensor<20xi64>, tensor<20xi64>) -> tensor<20xi1>
# CHECK-NEXT: [[WIDE3:%\w+]] = stablehlo.broadcast_in_dim [[CONST4]], dims = [] : (tensor<i64>) -> tensor<20xi64>
# CHECK-NEXT: [[SUM2:%\w+]] = stablehlo.add %arg3, [[WIDE3]] : tensor<20xi64>
# CHECK-NEXT: [[CHOSEN2:%\w+]] = stablehlo.select [[TEST4]], [[SUM2]], %arg3 : tensor<20xi1>, tensor<20xi64>
# CHECK-NEXT: [[TEST5:%\w+]] = stablehlo.compare GE, [[CHOSEN2]], [[WIDE]] : (tensor<20xi64>, tensor<20xi64>) -> tensor<20xi1>
# CHECK-NEXT: [[TEST6:%\w+]] = stablehlo.compare LT, [[CHOSEN2]], [[WIDE3]] : (tensor<20xi64>, tensor<20xi64>) -> tensor<20xi1>
# CHECK-NEXT: [[AND2:%\w+]] = stablehlo.and [[TEST5]], [[TEST6]] : tensor<20xi1>
# CHECK-NEXT: [[REDUCED2:%\w+]] = stablehlo.reduce([[AND2]] init: [[CONST3]]) applies stablehlo.and across dimensions = [0] : (tensor<20xi1>, tensor<i1>) -> tensor<i1>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape [[CHOSEN]] : (tensor<20xi64>) -> tensor<20x1xi64>
# CHECK-NEXT: [[SHAPED2:%\w+]] = stablehlo.reshape [[CHOSEN2]] : (tensor<20xi64>) -> tensor<20x1xi64>
# CHECK-NEXT: [[JOINED:%\w+]] = stablehlo.concatenate [[SHAPED]], [[SHAPED2]], dim = 1 : (tensor<20x1xi64>, tensor<20x1xi64>) -> tensor<20x2xi64>
# CHECK-NEXT: [[SCATTERED:%\w+]] = "stablehlo.scatter"(%arg0, [[JOINED]], %arg1) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>, unique_indices = false}> ({
# CHECK: [[SUM3:%\w+]] = stablehlo.add %arg4, %arg5 : tensor<f64>
# CHECK-NEXT: stablehlo.return [[SUM3]] : tensor<f64>
# CHECK-NEXT: }) : (tensor<5x6xf64>, tensor<20x2xi64>, tensor<20xf64>) -> tensor<5x6xf64>
# CHECK-NEXT: [[SHAPED3:%\w+]] = stablehlo.reshape [[REDUCED]] : (tensor<i1>) -> tensor<1xi1>
# CHECK-NEXT: [[SHAPED4:%\w+]] = stablehlo.reshape [[REDUCED2]] : (tensor<i1>) -> tensor<1xi1>
# CHECK-NEXT: [[JOINED2:%\w+]] = stablehlo.concatenate [[SHAPED3]], [[SHAPED4]], dim = 0 : (tensor<1xi1>, tensor<1xi1>) -> tensor<2xi1>
# CHECK-NEXT: return [[SCATTERED]], [[JOINED2]] : tensor<5x6xf64>, tensor<2xi1>
show(
    [x, v, i, j],
    inc_subtensor(x[i, j], v),
    name="AdvancedIncSubtensor.static",
    dims={"x": (5, 6), "v": (20,), "i": (20,), "j": (20,)},
)

# CHECK-LABEL: module @AdvancedIncSubtensor.static.duplicates
# CHECK-NOT: dynamic_
# CHECK: func.func {{.*}}hlograph.checks = {{\[\[}}"IndexError", "index is out of bounds for axis 0 at an unnamed AdvancedIncSubtensor node"], ["IndexError", "index is out of bounds for axis 1 at an unnamed AdvancedIncSubtensor node"]]
# CHECK-NEXT: [[CONST:%\w+]] = stablehlo.constant dense<0> : tensor<i64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<5> : tensor<i64>
# CHECK-NEXT: [[CONST3:%\w+]] = stablehlo.constant dense<true> : tensor<i1>
# CHECK-NEXT: [[CONST4:%\w+]] = stablehlo.constant dense<6> : tensor<i64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim [[CONST]], dims = [] : (tensor<i64>) -> tensor<20xi64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare LT, %arg2, [[WIDE]] : (tensor<20xi64>, tensor<20xi64>) -> tensor<20xi1>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.broadcast_in_dim [[CONST2]], dims = [] : (tensor<i64>) -> tensor<20xi64>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add %arg2, [[WIDE2]] : tensor<20xi64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[TEST]], [[SUM]], %arg2 : tensor<20xi1>, tensor<20xi64>
# CHECK-NEXT: [[TEST2:%\w+]] = stablehlo.compare GE, [[CHOSEN]], [[WIDE]] : (tensor<20xi64>, tensor<20xi64>) -> tensor<20xi1>
# CHECK-NEXT: [[TEST3:%\w+]] = stablehlo.compare LT, [[CHOSEN]], [[WIDE2]] : (tensor<20xi64>, tensor<20xi64>) -> tensor<20xi1>
# CHECK-NEXT: [[AND:%\w+]] = stablehlo.and [[TEST2]], [[TEST3]] : tensor<20xi1>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce([[AND]] init: [[CONST3]]) applies stablehlo.and across dimensions = [0] : (tensor<20xi1>, tensor<i1>) -> tensor<i1>
# CHECK-NEXT: [[TEST4:%\w+]] = stablehlo.compare LT, %arg3, [[WIDE]] : (tensor<20xi64>, tensor<20xi64>) -> tensor<20xi1>
# CHECK-NEXT: [[WIDE3:%\w+]] = stablehlo.broadcast_in_dim [[CONST4]], dims = [] : (tensor<i64>) -> tensor<20xi64>
# CHECK-NEXT: [[SUM2:%\w+]] = stablehlo.add %arg3, [[WIDE3]] : tensor<20xi64>
# CHECK-NEXT: [[CHOSEN2:%\w+]] = stablehlo.select [[TEST4]], [[SUM2]], %arg3 : tensor<20xi1>, tensor<20xi64>
# CHECK-NEXT: [[TEST5:%\w+]] = stablehlo.compare GE, [[CHOSEN2]], [[WIDE]] : (tensor<20xi64>, tensor<20xi64>) -> tensor<20xi1>
# CHECK-NEXT: [[TEST6:%\w+]] = stablehlo.compare LT, [[CHOSEN2]], [[WIDE3]] : (tensor<20xi64>, tensor<20xi64>) -> tensor<20xi1>
# CHECK-NEXT: [[AND2:%\w+]] = stablehlo.and [[TEST5]], [[TEST6]] : tensor<20xi1>
# CHECK-NEXT: [[REDUCED2:%\w+]] = stablehlo.reduce([[AND2]] init: [[CONST3]]) applies stablehlo.and across dimensions = [0] : (tensor<20xi1>, tensor<i1>) -> tensor<i1>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape [[CHOSEN]] : (tensor<20xi64>) -> tensor<20x1xi64>
# CHECK-NEXT: [[SHAPED2:%\w+]] = stablehlo.reshape [[CHOSEN2]] : (tensor<20xi64>) -> tensor<20x1xi64>
# CHECK-NEXT: [[JOINED:%\w+]] = stablehlo.concatenate [[SHAPED]], [[SHAPED2]], dim = 1 : (tensor<20x1xi64>, tensor<20x1xi64>) -> tensor<20x2xi64>
# CHECK-NEXT: [[GATHERED:%\w+]] = "stablehlo.gather"(%arg0, [[JOINED]]) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<5x6xf64>, tensor<20x2xi64>) -> tensor<20xf64>
# CHECK-NEXT: [[SUM3:%\w+]] = stablehlo.add [[GATHERED]], %arg1 : tensor<20xf64>
# CHECK-NEXT: [[SCATTERED:%\w+]] = "stablehlo.scatter"(%arg0, [[JOINED]], [[SUM3]]) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>, unique_indices = false}> ({
# CHECK: stablehlo.return %arg5 : tensor<f64>
# CHECK-NEXT: }) : (tensor<5x6xf64>, tensor<20x2xi64>, tensor<20xf64>) -> tensor<5x6xf64>
# CHECK-NEXT: [[SHAPED3:%\w+]] = stablehlo.reshape [[REDUCED]] : (tensor<i1>) -> tensor<1xi1>
# CHECK-NEXT: [[SHAPED4:%\w+]] = stablehlo.reshape [[REDUCED2]] : (tensor<i1>) -> tensor<1xi1>
# CHECK-NEXT: [[JOINED2:%\w+]] = stablehlo.concatenate [[SHAPED3]], [[SHAPED4]], dim = 0 : (tensor<1xi1>, tensor<1xi1>) -> tensor<2xi1>
# CHECK-NEXT: return [[SCATTERED]], [[JOINED2]] : tensor<5x6xf64>, tensor<2xi1>
show(
    [x, v, i, j],
    inc_subtensor(x[i, j], v, ignore_duplicates=True),
    name="AdvancedIncSubtensor.static.duplicates",
    dims={"x": (5, 6), "v": (20,), "i": (20,), "j": (20,)},
)

# CHECK-LABEL: module @AdvancedIncSubtensor.static.mask
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim [[CONST]], dims = [] : (tensor<f64>) -> tensor<5x6xf64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select %arg1, [[WIDE]], %arg0 : tensor<5x6xi1>, tensor<5x6xf64>
# CHECK-NEXT: return [[CHOSEN]] : tensor<5x6xf64>
show(
    [x, mask], set_subtensor(x[mask], 0.0), name="AdvancedIncSubtensor.static.mask", dims={"x": (5, 6), "mask": (5, 6)}
)

# CHECK-LABEL: module @AdvancedIncSubtensor.dynamic
# CHECK: func.func {{.*}}hlograph.checks = {{\[\[}}"IndexError", "index is out of bounds for axis 0 at an unnamed AdvancedIncSubtensor node"], ["IndexError", "index is out of bounds for axis 1 at an unnamed AdvancedIncSubtensor node"]]
# CHECK-SAME: hlograph.constraints = {{\[\[}}"n >= min(k, 1)", "index of axis 0 at an unnamed AdvancedIncSubtensor node"]]
# CHECK-NEXT: [[CONST:%\w+]] = stablehlo.constant dense<0> : tensor<i64>
# CHECK: [[CONST2:%\w+]] = stablehlo.constant dense<true> : tensor<i1>
# CHECK-NEXT: [[CONST3:%\w+]] = stablehlo.constant dense<6> : tensor<i64>
# CHECK: [[WIDE:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CONST]], %{{[0-9]+}}, dims = [] : (tensor<i64>, tensor<1xi64>) -> tensor<?xi64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare LT, %arg2, [[WIDE]] : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi1>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.dynamic_broadcast_in_dim %{{[0-9]+}}, %{{[0-9]+}}, dims = [] : (tensor<i64>, tensor<1xi64>) -> tensor<?xi64>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add %arg2, [[WIDE2]] : tensor<?xi64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[TEST]], [[SUM]], %arg2 : tensor<?xi1>, tensor<?xi64>
# CHECK-NEXT: [[TEST2:%\w+]] = stablehlo.compare GE, [[CHOSEN]], [[WIDE]] : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi1>
# CHECK-NEXT: [[TEST3:%\w+]] = stablehlo.compare LT, [[CHOSEN]], [[WIDE2]] : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi1>
# CHECK-NEXT: [[AND:%\w+]] = stablehlo.and [[TEST2]], [[TEST3]] : tensor<?xi1>
# CHECK-NEXT: stablehlo.reduce([[AND]] init: [[CONST2]]) applies stablehlo.and across dimensions = [0] : (tensor<?xi1>, tensor<i1>) -> tensor<i1>
# CHECK-NEXT: [[TEST4:%\w+]] = stablehlo.compare LT, %arg3, [[WIDE]] : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi1>
# CHECK-NEXT: [[WIDE3:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CONST3]], %{{[0-9]+}}, dims = [] : (tensor<i64>, tensor<1xi64>) -> tensor<?xi64>
# CHECK-NEXT: [[SUM2:%\w+]] = stablehlo.add %arg3, [[WIDE3]] : tensor<?xi64>
# CHECK-NEXT: [[CHOSEN2:%\w+]] = stablehlo.select [[TEST4]], [[SUM2]], %arg3 : tensor<?xi1>, tensor<?xi64>
# CHECK-NEXT: [[TEST5:%\w+]] = stablehlo.compare GE, [[CHOSEN2]], [[WIDE]] : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi1>
# CHECK-NEXT: [[TEST6:%\w+]] = stablehlo.compare LT, [[CHOSEN2]], [[WIDE3]] : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi1>
# CHECK-NEXT: [[AND2:%\w+]] = stablehlo.and [[TEST5]], [[TEST6]] : tensor<?xi1>
# CHECK-NEXT: stablehlo.reduce([[AND2]] init: [[CONST2]]) applies stablehlo.and across dimensions = [0] : (tensor<?xi1>, tensor<i1>) -> tensor<i1>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.dynamic_reshape [[CHOSEN]], %{{[0-9]+}} : (tensor<?xi64>, tensor<2xi64>) -> tensor<?x1xi64>
# CHECK-NEXT: [[SHAPED2:%\w+]] = stablehlo.dynamic_reshape [[CHOSEN2]], %{{[0-9]+}} : (tensor<?xi64>, tensor<2xi64>) -> tensor<?x1xi64>
# CHECK-NEXT: [[JOINED:%\w+]] = stablehlo.concatenate [[SHAPED]], [[SHAPED2]], dim = 1 : (tensor<?x1xi64>, tensor<?x1xi64>) -> tensor<?x2xi64>
# CHECK-NEXT: [[SCATTERED:%\w+]] = "stablehlo.scatter"(%arg0, [[JOINED]], %arg1) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1>, unique_indices = false}> ({
# CHECK: stablehlo.return %arg5 : tensor<f64>
# CHECK-NEXT: }) : (tensor<?x6xf64>, tensor<?x2xi64>, tensor<?xf64>) -> tensor<?x6xf64>
# CHECK: return [[SCATTERED]], %{{[0-9]+}} : tensor<?x6xf64>, tensor<2xi1>
show(
    [x, v, i, j],
    set_subtensor(x[i, j], v),
    name="AdvancedIncSubtensor.dynamic",
    dims={"x": ("n", 6), "v": ("k",), "i": ("k",), "j": ("k",)},
)

# CHECK-LABEL: module @AdvancedIncSubtensor.dynamic.mixed
# CHECK: func.func {{.*}}hlograph.checks = {{\[\[}}"IndexError", "index is out of bounds for axis 1 at an unnamed AdvancedIncSubtensor node"]]
# CHECK-NEXT: [[CONST:%\w+]] = stablehlo.constant dense<0> : tensor<i64>
# CHECK: [[CONST2:%\w+]] = stablehlo.constant dense<6> : tensor<i64>
# CHECK-NEXT: [[CONST3:%\w+]] = stablehlo.constant dense<true> : tensor<i1>
# CHECK: [[CONST4:%\w+]] = stablehlo.constant dense<1> : tensor<2xi64>
# CHECK-NEXT: [[CONST5:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK: [[WIDE:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CONST]], %{{[0-9]+}}, dims = [] : (tensor<i64>, tensor<1xi64>) -> tensor<?xi64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare LT, %arg1, [[WIDE]] : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi1>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CONST2]], %{{[0-9]+}}, dims = [] : (tensor<i64>, tensor<1xi64>) -> tensor<?xi64>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add %arg1, [[WIDE2]] : tensor<?xi64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[TEST]], [[SUM]], %arg1 : tensor<?xi1>, tensor<?xi64>
# CHECK-NEXT: [[TEST2:%\w+]] = stablehlo.compare GE, [[CHOSEN]], [[WIDE]] : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi1>
# CHECK-NEXT: [[TEST3:%\w+]] = stablehlo.compare LT, [[CHOSEN]], [[WIDE2]] : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi1>
# CHECK-NEXT: [[AND:%\w+]] = stablehlo.and [[TEST2]], [[TEST3]] : tensor<?xi1>
# CHECK-NEXT: stablehlo.reduce([[AND]] init: [[CONST3]]) applies stablehlo.and across dimensions = [0] : (tensor<?xi1>, tensor<i1>) -> tensor<i1>
# CHECK-NEXT: [[SLICED:%\w+]] = stablehlo.real_dynamic_slice %arg0, %{{[0-9]+}}, %{{[0-9]+}}, [[CONST4]] : (tensor<?x6xf64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x6xf64>
# CHECK-NEXT: [[WIDE3:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CONST5]], %{{[0-9]+}}, dims = [] : (tensor<f64>, tensor<2xi64>) -> tensor<?x?xf64>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.dynamic_reshape [[CHOSEN]], %{{[0-9]+}} : (tensor<?xi64>, tensor<2xi64>) -> tensor<?x1xi64>
# CHECK-NEXT: [[SCATTERED:%\w+]] = "stablehlo.scatter"([[SLICED]], [[SHAPED]], [[WIDE3]]) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1], index_vector_dim = 1>, unique_indices = false}> ({
# CHECK: stablehlo.return %arg3 : tensor<f64>
# CHECK-NEXT: }) : (tensor<?x6xf64>, tensor<?x1xi64>, tensor<?x?xf64>) -> tensor<?x6xf64>
# CHECK-NEXT: [[UPDATED:%\w+]] = stablehlo.dynamic_update_slice %arg0, [[SCATTERED]], %{{[0-9]+}}, [[CONST]] : (tensor<?x6xf64>, tensor<?x6xf64>, tensor<i64>, tensor<i64>) -> tensor<?x6xf64>
# CHECK: return [[UPDATED]], %{{[0-9]+}} : tensor<?x6xf64>, tensor<1xi1>
show([x, i], set_subtensor(x[1:, i], 0.0), name="AdvancedIncSubtensor.dynamic.mixed", dims={"x": ("n", 6), "i": ("k",)})

# CHECK-LABEL: module @AdvancedIncSubtensor.dynamic.mask
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK: [[WIDE:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CONST]], %{{[0-9]+}}, dims = [] : (tensor<f64>, tensor<2xi64>) -> tensor<?x6xf64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select %arg1, [[WIDE]], %arg0 : tensor<?x6xi1>, tensor<?x6xf64>
# CHECK-NEXT: return [[CHOSEN]] : tensor<?x6xf64>
show(
    [x, mask],
    set_subtensor(x[mask], 0.0),
    name="AdvancedIncSubtensor.dynamic.mask",
    dims={"x": ("n", 6), "mask": ("n", 6)},
)

# ---- sizes from data -----------------------------------------------------------------------------------------------

w, row = pt.dvector("w"), pt.tensor("row", dtype="bool", shape=(None,))

# One value for each true element: the running count says which one a place takes. Their number is checked.
# CHECK-LABEL: module @AdvancedIncSubtensor.static.spread
# CHECK: func.func {{.*}}hlograph.checks = {{\[\[}}"ValueError", "the written value has not as many slices as the mask has true elements at an unnamed AdvancedIncSubtensor node"]]
# CHECK-NEXT: [[CONST:%\w+]] = stablehlo.constant dense<0> : tensor<i64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<3> : tensor<i64>
# CHECK-NEXT: [[CONST3:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[CONST4:%\w+]] = stablehlo.constant dense<1> : tensor<i64>
# CHECK-NEXT: [[CONVERTED:%\w+]] = stablehlo.convert %arg1 : (tensor<8xi1>) -> tensor<8xi64>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce([[CONVERTED]] init: [[CONST]]) applies stablehlo.add across dimensions = [0] : (tensor<8xi64>, tensor<i64>) -> tensor<i64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare EQ, [[REDUCED]], [[CONST2]] : (tensor<i64>, tensor<i64>) -> tensor<i1>
# CHECK-NEXT: [[PADDED:%\w+]] = stablehlo.pad %arg2, [[CONST3]], low = [0], high = [5], interior = [0] : (tensor<3xf64>, tensor<f64>) -> tensor<8xf64>
# CHECK-NEXT: [[RUNNING:%\w+]] = "stablehlo.reduce_window"([[CONVERTED]], [[CONST]]) <{padding = dense<{{\[\[}}7, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 8>}> ({
# CHECK-NEXT: ^bb0(%arg3: tensor<i64>, %arg4: tensor<i64>):
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add %arg3, %arg4 : tensor<i64>
# CHECK-NEXT: stablehlo.return [[SUM]] : tensor<i64>
# CHECK-NEXT: }) : (tensor<8xi64>, tensor<i64>) -> tensor<8xi64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim [[CONST4]], dims = [] : (tensor<i64>) -> tensor<8xi64>
# CHECK-NEXT: [[DIFF:%\w+]] = stablehlo.subtract [[RUNNING]], [[WIDE]] : tensor<8xi64>
# CHECK-NEXT: [[TAKEN:%\w+]] = "stablehlo.gather"([[PADDED]], [[DIFF]]) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<8xf64>, tensor<8xi64>) -> tensor<8xf64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select %arg1, [[TAKEN]], %arg0 : tensor<8xi1>, tensor<8xf64>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape [[TEST]] : (tensor<i1>) -> tensor<1xi1>
# CHECK-NEXT: return [[CHOSEN]], [[SHAPED]] : tensor<8xf64>, tensor<1xi1>
show([w, row, v], w[row].set(v), name="AdvancedIncSubtensor.static.spread", dims={"w": (8,), "row": (8,), "v": (3,)})

# What was read with the mask is written without a check.
# CHECK-LABEL: module @AdvancedIncSubtensor.dynamic.spread
# CHECK: func.func {{.*}}hlograph.counts = {{\[\[}}"nonzero_0", "n"]]
# CHECK: [[SIZE:%\w+]] = stablehlo.custom_call @hlograph.size(%{{\w+}}) {api_version = 4 : i32, backend_config = {}, hlograph.bound = "n", hlograph.dim = "nonzero_0"} : (tensor<i64>) -> tensor<i64>
# CHECK: [[CHOSEN:%\w+]] = stablehlo.select %arg1, %{{\w+}}, %{{\w+}} : tensor<?xi1>, tensor<?xi64>
# CHECK: stablehlo.return %arg3 : tensor<i64>
# CHECK: [[SLICED:%\w+]] = stablehlo.real_dynamic_slice %{{\w+}}, %{{\w+}}, %{{\w+}}, %{{\w+}} : (tensor<?xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xi64>
# CHECK-NEXT: [[TAKEN:%\w+]] = "stablehlo.dynamic_gather"(%arg0, [[SLICED]], %{{\w+}}) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false}> : (tensor<?xf64>, tensor<?xi64>, tensor<1xi64>) -> tensor<?xf64>
# CHECK-NEXT: [[PADDED:%\w+]] = stablehlo.dynamic_pad [[TAKEN]], %{{\w+}}, %{{\w+}}, %{{\w+}}, %{{\w+}} : (tensor<?xf64>, tensor<f64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf64>
# CHECK-NEXT: [[TAKEN2:%\w+]] = "stablehlo.dynamic_gather"([[PADDED]], %{{\w+}}, %{{\w+}}) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false}> : (tensor<?xf64>, tensor<?xi64>, tensor<1xi64>) -> tensor<?xf64>
# CHECK-NEXT: [[SUM4:%\w+]] = stablehlo.add %arg0, [[TAKEN2]] : tensor<?xf64>
# CHECK-NEXT: [[CHOSEN2:%\w+]] = stablehlo.select %arg1, [[SUM4]], %arg0 : tensor<?xi1>, tensor<?xf64>
# CHECK-NEXT: return [[CHOSEN2]] : tensor<?xf64>
show([w, row], w[row].inc(w[row]), name="AdvancedIncSubtensor.dynamic.spread", dims={"w": ("n",), "row": ("n",)})
