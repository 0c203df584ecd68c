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

# CHECK-LABEL: module @AdvancedIncSubtensor1.dynamic
# CHECK-NEXT: checks: IndexError, index is out of bounds for axis 0 at an unnamed AdvancedIncSubtensor1 node
# CHECK-NEXT: constraints: n >= min(k, 1), index of axis 0 at an unnamed AdvancedIncSubtensor1 node
# CHECK-NEXT: a = select(LT(i, 0), add(i, size<0>(x)), i) : tensor<?xi64>
# CHECK-NEXT: b = scatter(x, a, y) {indices_are_sorted = false, update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add} : tensor<?x6xf64>
# CHECK-NEXT: return b,
show(
    [x, y, i],
    AdvancedIncSubtensor1()(x, y, i),
    name="AdvancedIncSubtensor1.dynamic",
    dims={"x": ("n", 6), "y": ("k", 6), "i": ("k",)},
)

# CHECK-LABEL: module @AdvancedIncSubtensor.static.duplicates
# CHECK-NEXT: checks: IndexError, index is out of bounds for axis 0 at an unnamed AdvancedIncSubtensor node
# CHECK-NEXT: checks: IndexError, index is out of bounds for axis 1 at an unnamed AdvancedIncSubtensor node
# CHECK-NEXT: a = select(LT(i, 0), add(i, 5), i) : tensor<20xi64>
# CHECK-NEXT: b = select(LT(j, 0), add(j, 6), j) : tensor<20xi64>
# CHECK-NEXT: c = concatenate<1>(reshape<20x1xi64>(a), reshape<20x1xi64>(b)) : tensor<20x2xi64>
# CHECK-NEXT: d = gather(x, c) {collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1, 1]} : tensor<20xf64>
# CHECK-NEXT: e = scatter(x, c, add(d, v)) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, (p0, p1) -> p1} : tensor<5x6xf64>
# CHECK-NEXT: return e,
show(
    [x, v, i, j],
    inc_subtensor(x[i, j], v, ignore_duplicates=True),
    name="AdvancedIncSubtensor.static.duplicates",
    dims={"x": (5, 6), "v": (20,), "i": (20,), "j": (20,)},
)

# CHECK-LABEL: module @AdvancedIncSubtensor.dynamic
# CHECK-NEXT: checks: IndexError, index is out of bounds for axis 0 at an unnamed AdvancedIncSubtensor node
# CHECK-NEXT: checks: IndexError, index is out of bounds for axis 1 at an unnamed AdvancedIncSubtensor node
# CHECK-NEXT: constraints: n >= min(k, 1), index of axis 0 at an unnamed AdvancedIncSubtensor node
# CHECK-NEXT: a = concatenate<0>(size<0>(v), 1) : tensor<2xi64>
# CHECK-NEXT: b = select(LT(i, 0), add(i, size<0>(x)), i) : tensor<?xi64>
# CHECK-NEXT: c = select(LT(j, 0), add(j, 6), j) : tensor<?xi64>
# CHECK-NEXT: d = scatter(x, concatenate<1>(dynamic_reshape<?x1xi64>(b, a), dynamic_reshape<?x1xi64>(c, a)), v) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, (p0, p1) -> p1} : tensor<?x6xf64>
# CHECK-NEXT: return d,
show(
    [x, v, i, j],
    set_subtensor(x[i, j], v),
    name="AdvancedIncSubtensor.dynamic",
    dims={"x": ("n", 6), "v": ("k",), "i": ("k",), "j": ("k",)},
)

# CHECK-LABEL: module @AdvancedIncSubtensor.dynamic.mask
# CHECK-NEXT: return select(mask, 0, x) : tensor<?x6xf64>
show(
    [x, mask],
    set_subtensor(x[mask], 0.0),
    name="AdvancedIncSubtensor.dynamic.mask",
    dims={"x": ("n", 6), "mask": ("n", 6)},
)

# ---- sizes from data -----------------------------------------------------------------------------------------------

w, row = pt.dvector("w"), pt.tensor("row", dtype="bool", shape=(None,))

# One value for each true element: the running count says which one a place takes. Their number is checked.
# What was read with the mask is written without a check.
# CHECK-LABEL: module @AdvancedIncSubtensor.dynamic.spread
# CHECK-NEXT: counts: nonzero_0, n
# CHECK: c = @hlograph.size(b) {hlograph.bound = "n", hlograph.dim = "nonzero_0"} : tensor<i64>
# CHECK: h = dynamic_gather(w, real_dynamic_slice(g, 0, c, 1), minimum(size<0>(w), 1)) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false} : tensor<?xf64>
# CHECK-NEXT: i = dynamic_pad(h, 0, 0, add(size<0>(w), multiply(c, -1)), 0) : tensor<?xf64>
# CHECK-NEXT: j = dynamic_gather(i, f, minimum(size<0>(w), 1)) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false} : tensor<?xf64>
# CHECK-NEXT: return select(row, add(w, j), w) : tensor<?xf64>
show([w, row], w[row].inc(w[row]), name="AdvancedIncSubtensor.dynamic.spread", dims={"w": ("n",), "row": ("n",)})
