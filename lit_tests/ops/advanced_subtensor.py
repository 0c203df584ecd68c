# RUN: %python %s | filecheck %s
"""AdvancedSubtensor1, AdvancedSubtensor, MakeSlice: indexing by integer tensors, which are checked to be in range."""

import numpy as np
import pytensor.tensor as pt
from common import of_another_release, show, this_or_another_release
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.tensor import subtensor
from pytensor.tensor.type_other import make_slice


def _make_node(self, x, *entries):
    return Apply(self, [x, *entries], [pt.dmatrix()])


# Before PyTensor 3.3 one index vector had an op of its own.
older1 = of_another_release(Op, "AdvancedSubtensor1", make_node=_make_node, perform=None)
advanced_subtensor1 = this_or_another_release(subtensor, "AdvancedSubtensor1", lambda: older1)()
x, t = pt.dmatrix("x"), pt.dtensor3("t")
i, j = pt.lvector("i"), pt.lvector("j")
m = pt.lmatrix("m")

# CHECK-LABEL: module @AdvancedSubtensor1.static
# CHECK-NOT: dynamic_
# CHECK: func.func {{.*}}hlograph.checks = {{\[\[}}"IndexError", "index is out of bounds for axis 0 at an unnamed AdvancedSubtensor1 node"]]
# CHECK-NEXT: [[CONST:%\w+]] = stablehlo.constant dense<0> : tensor<i64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<5> : tensor<i64>
# CHECK-NEXT: [[CONST3:%\w+]] = stablehlo.constant dense<true> : tensor<i1>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim [[CONST]], dims = [] : (tensor<i64>) -> tensor<20xi64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare LT, %arg1, [[WIDE]] : (tensor<20xi64>, tensor<20xi64>) -> tensor<20xi1>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.broadcast_in_dim [[CONST2]], dims = [] : (tensor<i64>) -> tensor<20xi64>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add %arg1, [[WIDE2]] : tensor<20xi64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[TEST]], [[SUM]], %arg1 : tensor<20xi1>, tensor<20xi64>
# CHECK-NEXT: [[TEST2:%\w+]] = stablehlo.compare GE, [[CHOSEN]], [[WIDE]] : (tensor<20xi64>, tensor<20xi64>) -> tensor<20xi1>
# CHECK-NEXT: [[TEST3:%\w+]] = stablehlo.compare LT, [[CHOSEN]], [[WIDE2]] : (tensor<20xi64>, tensor<20xi64>) -> tensor<20xi1>
# CHECK-NEXT: [[AND:%\w+]] = stablehlo.and [[TEST2]], [[TEST3]] : tensor<20xi1>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce([[AND]] init: [[CONST3]]) applies stablehlo.and across dimensions = [0] : (tensor<20xi1>, tensor<i1>) -> tensor<i1>
# CHECK-NEXT: [[GATHERED:%\w+]] = "stablehlo.gather"(%arg0, [[CHOSEN]]) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 6>}> : (tensor<5x6xf64>, tensor<20xi64>) -> tensor<20x6xf64>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape [[REDUCED]] : (tensor<i1>) -> tensor<1xi1>
# CHECK-NEXT: return [[GATHERED]], [[SHAPED]] : tensor<20x6xf64>, tensor<1xi1>
show([x, i], advanced_subtensor1(x, i), name="AdvancedSubtensor1.static", dims={"x": (5, 6), "i": (20,)})

# A constant index in range needs no check.
# CHECK-LABEL: module @AdvancedSubtensor1.static.constant
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<[0, 4]> : tensor<2xi64>
# CHECK-NEXT: [[GATHERED:%\w+]] = "stablehlo.gather"(%arg0, [[CONST]]) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 6>}> : (tensor<5x6xf64>, tensor<2xi64>) -> tensor<2x6xf64>
# CHECK-NEXT: return [[GATHERED]] : tensor<2x6xf64>
show([x], advanced_subtensor1(x, pt.constant([0, 4])), name="AdvancedSubtensor1.static.constant", dims={"x": (5, 6)})

# CHECK-LABEL: module @AdvancedSubtensor1.dynamic.constant
# CHECK: func.func {{.*}}hlograph.constraints = {{\[\[}}"n >= 1", "index 0 of axis 0 at an unnamed AdvancedSubtensor1 node"]]
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<[0, -1]> : tensor<2xi64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<[false, true]> : tensor<2xi1>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim %{{[0-9]+}}, dims = [] : (tensor<i64>) -> tensor<2xi64>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add [[CONST]], [[WIDE]] : tensor<2xi64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[CONST2]], [[SUM]], [[CONST]] : tensor<2xi1>, tensor<2xi64>
# CHECK-NEXT: [[GATHERED:%\w+]] = "stablehlo.gather"(%arg0, [[CHOSEN]]) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 6>}> : (tensor<?x6xf64>, tensor<2xi64>) -> tensor<2x6xf64>
# CHECK-NEXT: return [[GATHERED]] : tensor<2x6xf64>
show(
    [x], advanced_subtensor1(x, pt.constant([0, -1])), name="AdvancedSubtensor1.dynamic.constant", dims={"x": ("n", 6)}
)

# CHECK-LABEL: module @AdvancedSubtensor1.dynamic
# CHECK: func.func {{.*}}hlograph.checks = {{\[\[}}"IndexError", "index is out of bounds for axis 0 at an unnamed AdvancedSubtensor1 node"]]
# CHECK-SAME: hlograph.constraints = {{\[\[}}"n >= min(k, 1)", "index of axis 0 at an unnamed AdvancedSubtensor1 node"]]
# CHECK-NEXT: [[CONST:%\w+]] = stablehlo.constant dense<0> : tensor<i64>
# CHECK: [[CONST2:%\w+]] = stablehlo.constant dense<true> : tensor<i1>
# CHECK: [[WIDE:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CONST]], %{{[0-9]+}}, dims = [] : (tensor<i64>, tensor<1xi64>) -> tensor<?xi64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare LT, %arg1, [[WIDE]] : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi1>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.dynamic_broadcast_in_dim %{{[0-9]+}}, %{{[0-9]+}}, dims = [] : (tensor<i64>, tensor<1xi64>) -> tensor<?xi64>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add %arg1, [[WIDE2]] : tensor<?xi64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[TEST]], [[SUM]], %arg1 : tensor<?xi1>, tensor<?xi64>
# CHECK-NEXT: [[TEST2:%\w+]] = stablehlo.compare GE, [[CHOSEN]], [[WIDE]] : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi1>
# CHECK-NEXT: [[TEST3:%\w+]] = stablehlo.compare LT, [[CHOSEN]], [[WIDE2]] : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi1>
# CHECK-NEXT: [[AND:%\w+]] = stablehlo.and [[TEST2]], [[TEST3]] : tensor<?xi1>
# CHECK-NEXT: stablehlo.reduce([[AND]] init: [[CONST2]]) applies stablehlo.and across dimensions = [0] : (tensor<?xi1>, tensor<i1>) -> tensor<i1>
# CHECK-NEXT: [[GATHERED:%\w+]] = "stablehlo.dynamic_gather"(%arg0, [[CHOSEN]], %{{[0-9]+}}) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false}> : (tensor<?x6xf64>, tensor<?xi64>, tensor<2xi64>) -> tensor<?x6xf64>
# CHECK: return [[GATHERED]], %{{[0-9]+}} : tensor<?x6xf64>, tensor<1xi1>
show([x, i], advanced_subtensor1(x, i), name="AdvancedSubtensor1.dynamic", dims={"x": ("n", 6), "i": ("k",)})

# CHECK-LABEL: module @AdvancedSubtensor.static
# CHECK-NOT: dynamic_
# CHECK: func.func {{.*}}hlograph.checks = {{\[\[}}"IndexError", "index is out of bounds for axis 0 at an unnamed AdvancedSubtensor node"], ["IndexError", "index is out of bounds for axis 1 at an unnamed AdvancedSubtensor node"]]
# CHECK-NEXT: [[CONST:%\w+]] = stablehlo.constant dense<0> : tensor<i64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<5> : tensor<i64>
# CHECK-NEXT: [[CONST3:%\w+]] = stablehlo.constant dense<true> : tensor<i1>
# CHECK-NEXT: [[CONST4:%\w+]] = stablehlo.constant dense<6> : tensor<i64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim [[CONST]], dims = [] : (tensor<i64>) -> tensor<20xi64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare LT, %arg1, [[WIDE]] : (tensor<20xi64>, tensor<20xi64>) -> tensor<20xi1>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.broadcast_in_dim [[CONST2]], dims = [] : (tensor<i64>) -> tensor<20xi64>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add %arg1, [[WIDE2]] : tensor<20xi64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[TEST]], [[SUM]], %arg1 : tensor<20xi1>, tensor<20xi64>
# CHECK-NEXT: [[TEST2:%\w+]] = stablehlo.compare GE, [[CHOSEN]], [[WIDE]] : (tensor<20xi64>, tensor<20xi64>) -> tensor<20xi1>
# CHECK-NEXT: [[TEST3:%\w+]] = stablehlo.compare LT, [[CHOSEN]], [[WIDE2]] : (tensor<20xi64>, tensor<20xi64>) -> tensor<20xi1>
# CHECK-NEXT: [[AND:%\w+]] = stablehlo.and [[TEST2]], [[TEST3]] : tensor<20xi1>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce([[AND]] init: [[CONST3]]) applies stablehlo.and across dimensions = [0] : (tensor<20xi1>, tensor<i1>) -> tensor<i1>
# CHECK-NEXT: [[TEST4:%\w+]] = stablehlo.compare LT, %arg2, [[WIDE]] : (tensor<20xi64>, tensor<20xi64>) -> tensor<20xi1>
# CHECK-NEXT: [[WIDE3:%\w+]] = stablehlo.broadcast_in_dim [[CONST4]], dims = [] : (tensor<i64>) -> tensor<20xi64>
# CHECK-NEXT: [[SUM2:%\w+]] = stablehlo.add %arg2, [[WIDE3]] : tensor<20xi64>
# CHECK-NEXT: [[CHOSEN2:%\w+]] = stablehlo.select [[TEST4]], [[SUM2]], %arg2 : tensor<20xi1>, tensor<20xi64>
# CHECK-NEXT: [[TEST5:%\w+]] = stablehlo.compare GE, [[CHOSEN2]], [[WIDE]] : (tensor<20xi64>, tensor<20xi64>) -> tensor<20xi1>
# CHECK-NEXT: [[TEST6:%\w+]] = stablehlo.compare LT, [[CHOSEN2]], [[WIDE3]] : (tensor<20xi64>, tensor<20xi64>) -> tensor<20xi1>
# CHECK-NEXT: [[AND2:%\w+]] = stablehlo.and [[TEST5]], [[TEST6]] : tensor<20xi1>
# CHECK-NEXT: [[REDUCED2:%\w+]] = stablehlo.reduce([[AND2]] init: [[CONST3]]) applies stablehlo.and across dimensions = [0] : (tensor<20xi1>, tensor<i1>) -> tensor<i1>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape [[CHOSEN]] : (tensor<20xi64>) -> tensor<20x1xi64>
# CHECK-NEXT: [[SHAPED2:%\w+]] = stablehlo.reshape [[CHOSEN2]] : (tensor<20xi64>) -> tensor<20x1xi64>
# CHECK-NEXT: [[JOINED:%\w+]] = stablehlo.concatenate [[SHAPED]], [[SHAPED2]], dim = 1 : (tensor<20x1xi64>, tensor<20x1xi64>) -> tensor<20x2xi64>
# CHECK-NEXT: [[GATHERED:%\w+]] = "stablehlo.gather"(%arg0, [[JOINED]]) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<5x6xf64>, tensor<20x2xi64>) -> tensor<20xf64>
# CHECK-NEXT: [[SHAPED3:%\w+]] = stablehlo.reshape [[REDUCED]] : (tensor<i1>) -> tensor<1xi1>
# CHECK-NEXT: [[SHAPED4:%\w+]] = stablehlo.reshape [[REDUCED2]] : (tensor<i1>) -> tensor<1xi1>
# CHECK-NEXT: [[JOINED2:%\w+]] = stablehlo.concatenate [[SHAPED3]], [[SHAPED4]], dim = 0 : (tensor<1xi1>, tensor<1xi1>) -> tensor<2xi1>
# CHECK-NEXT: return [[GATHERED]], [[JOINED2]] : tensor<20xf64>, tensor<2xi1>
show([x, i, j], x[i, j], name="AdvancedSubtensor.static", dims={"x": (5, 6), "i": (20,), "j": (20,)})

# CHECK-LABEL: module @AdvancedSubtensor.static.matrix
# CHECK-NOT: dynamic_
# CHECK: func.func {{.*}}hlograph.checks = {{\[\[}}"IndexError", "index is out of bounds for axis 1 at an unnamed AdvancedSubtensor node"]]
# CHECK-NEXT: [[CONST:%\w+]] = stablehlo.constant dense<0> : tensor<i64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<5> : tensor<i64>
# CHECK-NEXT: [[CONST3:%\w+]] = stablehlo.constant dense<true> : tensor<i1>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim [[CONST]], dims = [] : (tensor<i64>) -> tensor<2x30xi64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare LT, %arg1, [[WIDE]] : (tensor<2x30xi64>, tensor<2x30xi64>) -> tensor<2x30xi1>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.broadcast_in_dim [[CONST2]], dims = [] : (tensor<i64>) -> tensor<2x30xi64>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add %arg1, [[WIDE2]] : tensor<2x30xi64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[TEST]], [[SUM]], %arg1 : tensor<2x30xi1>, tensor<2x30xi64>
# CHECK-NEXT: [[TEST2:%\w+]] = stablehlo.compare GE, [[CHOSEN]], [[WIDE]] : (tensor<2x30xi64>, tensor<2x30xi64>) -> tensor<2x30xi1>
# CHECK-NEXT: [[TEST3:%\w+]] = stablehlo.compare LT, [[CHOSEN]], [[WIDE2]] : (tensor<2x30xi64>, tensor<2x30xi64>) -> tensor<2x30xi1>
# CHECK-NEXT: [[AND:%\w+]] = stablehlo.and [[TEST2]], [[TEST3]] : tensor<2x30xi1>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce([[AND]] init: [[CONST3]]) applies stablehlo.and across dimensions = [0, 1] : (tensor<2x30xi1>, tensor<i1>) -> tensor<i1>
# CHECK-NEXT: [[GATHERED:%\w+]] = "stablehlo.gather"(%arg0, [[CHOSEN]]) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 3], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 4, 1, 6>}> : (tensor<4x5x6xf64>, tensor<2x30xi64>) -> tensor<4x2x30x6xf64>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape [[REDUCED]] : (tensor<i1>) -> tensor<1xi1>
# CHECK-NEXT: return [[GATHERED]], [[SHAPED]] : tensor<4x2x30x6xf64>, tensor<1xi1>
show([t, m], t[:, m], name="AdvancedSubtensor.static.matrix", dims={"t": (4, 5, 6), "m": (2, 30)})

# CHECK-LABEL: module @AdvancedSubtensor.static.mixed
# CHECK-NOT: dynamic_
# CHECK: func.func {{.*}}hlograph.checks = {{\[\[}}"IndexError", "index is out of bounds for axis 2 at an unnamed AdvancedSubtensor node"]]
# CHECK-NEXT: [[CONST:%\w+]] = stablehlo.constant dense<0> : tensor<i64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<6> : tensor<i64>
# CHECK-NEXT: [[CONST3:%\w+]] = stablehlo.constant dense<true> : tensor<i1>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim [[CONST]], dims = [] : (tensor<i64>) -> tensor<20xi64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare LT, %arg1, [[WIDE]] : (tensor<20xi64>, tensor<20xi64>) -> tensor<20xi1>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.broadcast_in_dim [[CONST2]], dims = [] : (tensor<i64>) -> tensor<20xi64>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add %arg1, [[WIDE2]] : tensor<20xi64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[TEST]], [[SUM]], %arg1 : tensor<20xi1>, tensor<20xi64>
# CHECK-NEXT: [[TEST2:%\w+]] = stablehlo.compare GE, [[CHOSEN]], [[WIDE]] : (tensor<20xi64>, tensor<20xi64>) -> tensor<20xi1>
# CHECK-NEXT: [[TEST3:%\w+]] = stablehlo.compare LT, [[CHOSEN]], [[WIDE2]] : (tensor<20xi64>, tensor<20xi64>) -> tensor<20xi1>
# CHECK-NEXT: [[AND:%\w+]] = stablehlo.and [[TEST2]], [[TEST3]] : tensor<20xi1>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce([[AND]] init: [[CONST3]]) applies stablehlo.and across dimensions = [0] : (tensor<20xi1>, tensor<i1>) -> tensor<i1>
# CHECK-NEXT: [[SLICED:%\w+]] = stablehlo.slice %arg0 [1:4, 0:5, 0:6] : (tensor<4x5x6xf64>) -> tensor<3x5x6xf64>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape [[WIDE]] : (tensor<20xi64>) -> tensor<20x1xi64>
# CHECK-NEXT: [[SHAPED2:%\w+]] = stablehlo.reshape [[CHOSEN]] : (tensor<20xi64>) -> tensor<20x1xi64>
# CHECK-NEXT: [[JOINED:%\w+]] = stablehlo.concatenate [[SHAPED]], [[SHAPED2]], dim = 1 : (tensor<20x1xi64>, tensor<20x1xi64>) -> tensor<20x2xi64>
# CHECK-NEXT: [[GATHERED:%\w+]] = "stablehlo.gather"([[SLICED]], [[JOINED]]) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1, 2], start_index_map = [1, 2], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 3, 1, 1>}> : (tensor<3x5x6xf64>, tensor<20x2xi64>) -> tensor<3x20xf64>
# CHECK-NEXT: [[SHAPED3:%\w+]] = stablehlo.reshape [[REDUCED]] : (tensor<i1>) -> tensor<1xi1>
# CHECK-NEXT: return [[GATHERED]], [[SHAPED3]] : tensor<3x20xf64>, tensor<1xi1>
show([t, i], t[1:, 0, i], name="AdvancedSubtensor.static.mixed", dims={"t": (4, 5, 6), "i": (20,)})

# CHECK-LABEL: module @AdvancedSubtensor.static.mask
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<[0, 2]> : tensor<2xi64>
# CHECK-NEXT: [[GATHERED:%\w+]] = "stablehlo.gather"(%arg0, [[CONST]]) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 6>}> : (tensor<3x6xf64>, tensor<2xi64>) -> tensor<2x6xf64>
# CHECK-NEXT: return [[GATHERED]] : tensor<2x6xf64>
show([x], x[np.array([True, False, True])], name="AdvancedSubtensor.static.mask", dims={"x": (3, 6)})

# CHECK-LABEL: module @AdvancedSubtensor.dynamic
# CHECK: func.func {{.*}}hlograph.checks = {{\[\[}}"IndexError", "index is out of bounds for axis 0 at an unnamed AdvancedSubtensor node"], ["IndexError", "index is out of bounds for axis 1 at an unnamed AdvancedSubtensor node"]]
# CHECK-SAME: hlograph.constraints = {{\[\[}}"n >= min(k, 1)", "index of axis 0 at an unnamed AdvancedSubtensor node"]]
# CHECK-NEXT: [[CONST:%\w+]] = stablehlo.constant dense<0> : tensor<i64>
# CHECK: [[CONST2:%\w+]] = stablehlo.constant dense<true> : tensor<i1>
# CHECK-NEXT: [[CONST3:%\w+]] = stablehlo.constant dense<6> : tensor<i64>
# CHECK: [[WIDE:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CONST]], %{{[0-9]+}}, dims = [] : (tensor<i64>, tensor<1xi64>) -> tensor<?xi64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare LT, %arg1, [[WIDE]] : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi1>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.dynamic_broadcast_in_dim %{{[0-9]+}}, %{{[0-9]+}}, dims = [] : (tensor<i64>, tensor<1xi64>) -> tensor<?xi64>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add %arg1, [[WIDE2]] : tensor<?xi64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[TEST]], [[SUM]], %arg1 : tensor<?xi1>, tensor<?xi64>
# CHECK-NEXT: [[TEST2:%\w+]] = stablehlo.compare GE, [[CHOSEN]], [[WIDE]] : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi1>
# CHECK-NEXT: [[TEST3:%\w+]] = stablehlo.compare LT, [[CHOSEN]], [[WIDE2]] : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi1>
# CHECK-NEXT: [[AND:%\w+]] = stablehlo.and [[TEST2]], [[TEST3]] : tensor<?xi1>
# CHECK-NEXT: stablehlo.reduce([[AND]] init: [[CONST2]]) applies stablehlo.and across dimensions = [0] : (tensor<?xi1>, tensor<i1>) -> tensor<i1>
# CHECK-NEXT: [[TEST4:%\w+]] = stablehlo.compare LT, %arg2, [[WIDE]] : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi1>
# CHECK-NEXT: [[WIDE3:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CONST3]], %{{[0-9]+}}, dims = [] : (tensor<i64>, tensor<1xi64>) -> tensor<?xi64>
# CHECK-NEXT: [[SUM2:%\w+]] = stablehlo.add %arg2, [[WIDE3]] : tensor<?xi64>
# CHECK-NEXT: [[CHOSEN2:%\w+]] = stablehlo.select [[TEST4]], [[SUM2]], %arg2 : tensor<?xi1>, tensor<?xi64>
# CHECK-NEXT: [[TEST5:%\w+]] = stablehlo.compare GE, [[CHOSEN2]], [[WIDE]] : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi1>
# CHECK-NEXT: [[TEST6:%\w+]] = stablehlo.compare LT, [[CHOSEN2]], [[WIDE3]] : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi1>
# CHECK-NEXT: [[AND2:%\w+]] = stablehlo.and [[TEST5]], [[TEST6]] : tensor<?xi1>
# CHECK-NEXT: stablehlo.reduce([[AND2]] init: [[CONST2]]) applies stablehlo.and across dimensions = [0] : (tensor<?xi1>, tensor<i1>) -> tensor<i1>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.dynamic_reshape [[CHOSEN]], %{{[0-9]+}} : (tensor<?xi64>, tensor<2xi64>) -> tensor<?x1xi64>
# CHECK-NEXT: [[SHAPED2:%\w+]] = stablehlo.dynamic_reshape [[CHOSEN2]], %{{[0-9]+}} : (tensor<?xi64>, tensor<2xi64>) -> tensor<?x1xi64>
# CHECK-NEXT: [[JOINED:%\w+]] = stablehlo.concatenate [[SHAPED]], [[SHAPED2]], dim = 1 : (tensor<?x1xi64>, tensor<?x1xi64>) -> tensor<?x2xi64>
# CHECK-NEXT: [[GATHERED:%\w+]] = "stablehlo.dynamic_gather"(%arg0, [[JOINED]], %{{[0-9]+}}) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1>, indices_are_sorted = false}> : (tensor<?x6xf64>, tensor<?x2xi64>, tensor<2xi64>) -> tensor<?xf64>
# CHECK: return [[GATHERED]], %{{[0-9]+}} : tensor<?xf64>, tensor<2xi1>
show([x, i, j], x[i, j], name="AdvancedSubtensor.dynamic", dims={"x": ("n", 6), "i": ("k",), "j": ("k",)})

# CHECK-LABEL: module @AdvancedSubtensor.dynamic.apart
# CHECK: func.func {{.*}}hlograph.checks = {{\[\[}}"IndexError", "index is out of bounds for axis 0 at an unnamed AdvancedSubtensor node"], ["IndexError", "index is out of bounds for axis 2 at an unnamed AdvancedSubtensor node"]]
# CHECK-NEXT: [[CONST:%\w+]] = stablehlo.constant dense<0> : tensor<i64>
# CHECK: [[CONST2:%\w+]] = stablehlo.constant dense<4> : tensor<i64>
# CHECK-NEXT: [[CONST3:%\w+]] = stablehlo.constant dense<true> : tensor<i1>
# CHECK-NEXT: [[CONST4:%\w+]] = stablehlo.constant dense<6> : tensor<i64>
# CHECK: [[WIDE:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CONST]], %{{[0-9]+}}, dims = [] : (tensor<i64>, tensor<1xi64>) -> tensor<?xi64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare LT, %arg1, [[WIDE]] : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi1>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CONST2]], %{{[0-9]+}}, dims = [] : (tensor<i64>, tensor<1xi64>) -> tensor<?xi64>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add %arg1, [[WIDE2]] : tensor<?xi64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[TEST]], [[SUM]], %arg1 : tensor<?xi1>, tensor<?xi64>
# CHECK-NEXT: [[TEST2:%\w+]] = stablehlo.compare GE, [[CHOSEN]], [[WIDE]] : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi1>
# CHECK-NEXT: [[TEST3:%\w+]] = stablehlo.compare LT, [[CHOSEN]], [[WIDE2]] : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi1>
# CHECK-NEXT: [[AND:%\w+]] = stablehlo.and [[TEST2]], [[TEST3]] : tensor<?xi1>
# CHECK-NEXT: stablehlo.reduce([[AND]] init: [[CONST3]]) applies stablehlo.and across dimensions = [0] : (tensor<?xi1>, tensor<i1>) -> tensor<i1>
# CHECK-NEXT: [[TEST4:%\w+]] = stablehlo.compare LT, %arg2, [[WIDE]] : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi1>
# CHECK-NEXT: [[WIDE3:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CONST4]], %{{[0-9]+}}, dims = [] : (tensor<i64>, tensor<1xi64>) -> tensor<?xi64>
# CHECK-NEXT: [[SUM2:%\w+]] = stablehlo.add %arg2, [[WIDE3]] : tensor<?xi64>
# CHECK-NEXT: [[CHOSEN2:%\w+]] = stablehlo.select [[TEST4]], [[SUM2]], %arg2 : tensor<?xi1>, tensor<?xi64>
# CHECK-NEXT: [[TEST5:%\w+]] = stablehlo.compare GE, [[CHOSEN2]], [[WIDE]] : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi1>
# CHECK-NEXT: [[TEST6:%\w+]] = stablehlo.compare LT, [[CHOSEN2]], [[WIDE3]] : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi1>
# CHECK-NEXT: [[AND2:%\w+]] = stablehlo.and [[TEST5]], [[TEST6]] : tensor<?xi1>
# CHECK-NEXT: stablehlo.reduce([[AND2]] init: [[CONST3]]) applies stablehlo.and across dimensions = [0] : (tensor<?xi1>, tensor<i1>) -> tensor<i1>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.dynamic_reshape [[CHOSEN]], %{{[0-9]+}} : (tensor<?xi64>, tensor<2xi64>) -> tensor<?x1xi64>
# CHECK-NEXT: [[SHAPED2:%\w+]] = stablehlo.dynamic_reshape [[CHOSEN2]], %{{[0-9]+}} : (tensor<?xi64>, tensor<2xi64>) -> tensor<?x1xi64>
# CHECK-NEXT: [[JOINED:%\w+]] = stablehlo.concatenate [[SHAPED]], [[SHAPED2]], dim = 1 : (tensor<?x1xi64>, tensor<?x1xi64>) -> tensor<?x2xi64>
# CHECK-NEXT: [[GATHERED:%\w+]] = "stablehlo.dynamic_gather"(%arg0, [[JOINED]], %{{[0-9]+}}) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0, 2], start_index_map = [0, 2], index_vector_dim = 1>, indices_are_sorted = false}> : (tensor<4x?x6xf64>, tensor<?x2xi64>, tensor<3xi64>) -> tensor<?x?xf64>
# CHECK: return [[GATHERED]], %{{[0-9]+}} : tensor<?x?xf64>, tensor<2xi1>
show([t, i, j], t[i, :, j], name="AdvancedSubtensor.dynamic.apart", dims={"t": (4, "n", 6), "i": ("k",), "j": ("k",)})

# Before PyTensor 3 slices are operands.
older = of_another_release(Op, "AdvancedSubtensor", make_node=_make_node, perform=None)()

# CHECK-LABEL: module @MakeSlice.static
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<[2, 0]> : tensor<2xi64>
# CHECK-NEXT: [[SLICED:%\w+]] = stablehlo.slice %arg0 [1:3, 0:6] : (tensor<5x6xf64>) -> tensor<2x6xf64>
# CHECK-NEXT: [[GATHERED:%\w+]] = "stablehlo.gather"([[SLICED]], [[CONST]]) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 2, 1>}> : (tensor<2x6xf64>, tensor<2xi64>) -> tensor<2x2xf64>
# CHECK-NEXT: return [[GATHERED]] : tensor<2x2xf64>
show([x], older(x, make_slice(slice(1, 3)), pt.constant([2, 0])), name="MakeSlice.static", dims={"x": (5, 6)})

# CHECK-LABEL: module @MakeSlice.dynamic
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<1> : tensor<2xi64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<[2, 0]> : tensor<2xi64>
# CHECK: [[SLICED:%\w+]] = stablehlo.real_dynamic_slice %arg0, %{{[0-9]+}}, %{{[0-9]+}}, [[CONST]] : (tensor<?x6xf64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x6xf64>
# CHECK-NEXT: [[GATHERED:%\w+]] = "stablehlo.dynamic_gather"([[SLICED]], [[CONST2]], %{{[0-9]+}}) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = false}> : (tensor<?x6xf64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x2xf64>
# CHECK-NEXT: return [[GATHERED]] : tensor<?x2xf64>
show([x], older(x, make_slice(slice(1, 3)), pt.constant([2, 0])), name="MakeSlice.dynamic", dims={"x": ("n", 6)})

# ---- sizes from data -----------------------------------------------------------------------------------------------

w, mask = pt.dvector("w"), pt.tensor("mask", dtype="bool", shape=(None,))
table = pt.tensor("table", dtype="bool", shape=(None, None))

# CHECK-LABEL: module @AdvancedSubtensor.dynamic.mask
# CHECK: func.func {{.*}}hlograph.counts = {{\[\[}}"nonzero_0", "n"]]
# CHECK: [[SIZE:%\w+]] = stablehlo.custom_call @hlograph.size(%{{\w+}}) {api_version = 4 : i32, backend_config = {}, hlograph.bound = "n", hlograph.dim = "nonzero_0"} : (tensor<i64>) -> tensor<i64>
# CHECK: [[SCATTERED:%\w+]] = "stablehlo.scatter"(%{{\w+}}, %{{\w+}}, %{{\w+}}) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
# CHECK: stablehlo.return %arg3 : tensor<i64>
# CHECK: [[SLICED:%\w+]] = stablehlo.real_dynamic_slice [[SCATTERED]], %{{\w+}}, %{{\w+}}, %{{\w+}} : (tensor<?xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xi64>
# CHECK-NEXT: [[TAKEN:%\w+]] = "stablehlo.dynamic_gather"(%arg0, [[SLICED]], %{{\w+}}) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false}> : (tensor<?xf64>, tensor<?xi64>, tensor<1xi64>) -> tensor<?xf64>
# CHECK-NEXT: return [[TAKEN]] : tensor<?xf64>
show([w, mask], w[mask], name="AdvancedSubtensor.dynamic.mask", dims={"w": ("n",), "mask": ("n",)})

# A mask over several axes takes places in all of them made one.
# CHECK-LABEL: module @AdvancedSubtensor.dynamic.table
# CHECK: func.func {{.*}}hlograph.counts = {{\[\[}}"nonzero_0", "12"]]
# CHECK: [[SHAPED:%\w+]] = stablehlo.reshape %arg0 : (tensor<3x4xf64>) -> tensor<12xf64>
# CHECK: [[SIZE:%\w+]] = stablehlo.custom_call @hlograph.size(%{{\w+}}) {api_version = 4 : i32, backend_config = {}, hlograph.bound = "12", hlograph.dim = "nonzero_0"} : (tensor<i64>) -> tensor<i64>
# CHECK-NEXT: [[SHAPED2:%\w+]] = stablehlo.reshape [[SIZE]] : (tensor<i64>) -> tensor<1xi64>
# CHECK-NEXT: [[SHAPED3:%\w+]] = stablehlo.reshape %arg1 : (tensor<3x4xi1>) -> tensor<12xi1>
# CHECK: stablehlo.return %{{\w+}} : tensor<i64>
# CHECK: [[SHAPED4:%\w+]] = stablehlo.reshape %{{\w+}} : (tensor<12xi64>) -> tensor<12x1xi64>
# CHECK-NEXT: [[SCATTERED:%\w+]] = "stablehlo.scatter"(%{{\w+}}, [[SHAPED4]], %{{\w+}}) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
# CHECK: stablehlo.return %arg3 : tensor<i64>
# CHECK: [[SLICED:%\w+]] = stablehlo.real_dynamic_slice [[SCATTERED]], %{{\w+}}, [[SHAPED2]], %{{\w+}} : (tensor<12xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xi64>
# CHECK-NEXT: [[TAKEN:%\w+]] = "stablehlo.gather"([[SHAPED]], [[SLICED]]) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<12xf64>, tensor<?xi64>) -> tensor<?xf64>
# CHECK-NEXT: return [[TAKEN]] : tensor<?xf64>
show([x, table], x[table], name="AdvancedSubtensor.dynamic.table", dims={"x": (3, 4), "table": (3, 4)})
