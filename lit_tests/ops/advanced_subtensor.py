# RUN: %python %s | filecheck %s
"""AdvancedSubtensor1, AdvancedSubtensor, MakeSlice: indexing by integer tensors, which are checked to be in range."""

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

# CHECK-LABEL: module @AdvancedSubtensor1.dynamic
# CHECK-NEXT: checks: IndexError, index is out of bounds for axis 0 at an unnamed AdvancedSubtensor1 node
# CHECK-NEXT: constraints: n >= min(k, 1), index of axis 0 at an unnamed AdvancedSubtensor1 node
# CHECK-NEXT: a = select(LT(i, 0), add(i, size<0>(x)), i) : tensor<?xi64>
# CHECK-NEXT: b = dynamic_gather(x, a, concatenate<0>(minimum(size<0>(x), 1), 6)) {offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false} : tensor<?x6xf64>
# CHECK-NEXT: return b,
show([x, i], advanced_subtensor1(x, i), name="AdvancedSubtensor1.dynamic", dims={"x": ("n", 6), "i": ("k",)})

# CHECK-LABEL: module @AdvancedSubtensor.dynamic
# CHECK-NEXT: checks: IndexError, index is out of bounds for axis 0 at an unnamed AdvancedSubtensor node
# CHECK-NEXT: checks: IndexError, index is out of bounds for axis 1 at an unnamed AdvancedSubtensor node
# CHECK-NEXT: constraints: n >= min(k, 1), index of axis 0 at an unnamed AdvancedSubtensor node
# CHECK-NEXT: a = concatenate<0>(size<0>(i), 1) : tensor<2xi64>
# CHECK-NEXT: b = select(LT(i, 0), add(i, size<0>(x)), i) : tensor<?xi64>
# CHECK-NEXT: c = select(LT(j, 0), add(j, 6), j) : tensor<?xi64>
# CHECK-NEXT: d = dynamic_gather(x, concatenate<1>(dynamic_reshape<?x1xi64>(b, a), dynamic_reshape<?x1xi64>(c, a)), concatenate<0>(minimum(size<0>(x), 1), 1)) {collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1, indices_are_sorted = false} : tensor<?xf64>
# CHECK-NEXT: return d,
show([x, i, j], x[i, j], name="AdvancedSubtensor.dynamic", dims={"x": ("n", 6), "i": ("k",), "j": ("k",)})

# CHECK-LABEL: module @AdvancedSubtensor.dynamic.apart
# CHECK-NEXT: checks: IndexError, index is out of bounds for axis 0 at an unnamed AdvancedSubtensor node
# CHECK-NEXT: checks: IndexError, index is out of bounds for axis 2 at an unnamed AdvancedSubtensor node
# CHECK-NEXT: a = concatenate<0>(size<0>(i), 1) : tensor<2xi64>
# CHECK-NEXT: b = select(LT(i, 0), add(i, 4), i) : tensor<?xi64>
# CHECK-NEXT: c = select(LT(j, 0), add(j, 6), j) : tensor<?xi64>
# CHECK-NEXT: d = dynamic_gather(t, concatenate<1>(dynamic_reshape<?x1xi64>(b, a), dynamic_reshape<?x1xi64>(c, a)), concatenate<0>(1, size<1>(t), 1)) {offset_dims = [1], collapsed_slice_dims = [0, 2], start_index_map = [0, 2], index_vector_dim = 1, indices_are_sorted = false} : tensor<?x?xf64>
# CHECK-NEXT: return d,
show([t, i, j], t[i, :, j], name="AdvancedSubtensor.dynamic.apart", dims={"t": (4, "n", 6), "i": ("k",), "j": ("k",)})

# Before PyTensor 3 slices are operands.
older = of_another_release(Op, "AdvancedSubtensor", make_node=_make_node, perform=None)()

# CHECK-LABEL: module @MakeSlice.dynamic
# CHECK-NEXT: a = minimum(size<0>(x), 1) : tensor<i64>
# CHECK-NEXT: b = minimum(size<0>(x), 3) : tensor<i64>
# CHECK-NEXT: c = dynamic_gather(real_dynamic_slice(x, concatenate<0>(a, 0), concatenate<0>(b, 6), 1), [2, 0], concatenate<0>(add(multiply(a, -1), b), 1)) {offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1, indices_are_sorted = false} : tensor<?x2xf64>
show([x], older(x, make_slice(slice(1, 3)), pt.constant([2, 0])), name="MakeSlice.dynamic", dims={"x": ("n", 6)})

# ---- sizes from data -----------------------------------------------------------------------------------------------

w, mask = pt.dvector("w"), pt.tensor("mask", dtype="bool", shape=(None,))
table = pt.tensor("table", dtype="bool", shape=(None, None))

# CHECK-LABEL: module @AdvancedSubtensor.dynamic.mask
# CHECK-NEXT: counts: nonzero_0, n
# CHECK: c = @hlograph.size(b) {hlograph.bound = "n", hlograph.dim = "nonzero_0"} : tensor<i64>
# CHECK: g = dynamic_gather(w, real_dynamic_slice(f, 0, c, 1), minimum(size<0>(w), 1)) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false} : tensor<?xf64>
show([w, mask], w[mask], name="AdvancedSubtensor.dynamic.mask", dims={"w": ("n",), "mask": ("n",)})

# A mask over several axes takes places in all of them made one.
# CHECK-LABEL: module @AdvancedSubtensor.dynamic.table
# CHECK-NEXT: counts: nonzero_0, 12
# CHECK: b = @hlograph.size(a) {hlograph.bound = "12", hlograph.dim = "nonzero_0"} : tensor<i64>
# CHECK: g = gather(reshape<12xf64>(x), real_dynamic_slice(f, 0, b, 1)) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<?xf64>
show([x, table], x[table], name="AdvancedSubtensor.dynamic.table", dims={"x": (3, 4), "table": (3, 4)})

# An index tensor that may have one column in a call takes it for all the columns of the other.
rows, columns = pt.lmatrix("rows"), pt.lvector("columns")
# CHECK-LABEL: module @AdvancedSubtensor.dynamic.stretched
# CHECK: constraints: {{.*}}, index tensors that broadcast together, axis 1
# CHECK: dynamic_iota<0, ?xi64>
# CHECK: dynamic_gather({{.}}, minimum({{.}}, {{.}}), concatenate<0>(2, minimum(size<1>(rows), 1)))
# CHECK: dynamic_gather({{.}}, minimum({{.}}, add(size<0>(columns), -1)), minimum(size<0>(columns), 1))
# CHECK: gather(x, concatenate<2>(
show(
    [x, rows, columns],
    x[rows, columns],
    name="AdvancedSubtensor.dynamic.stretched",
    dims={"x": (3, 4), "rows": (2, "n"), "columns": ("m",)},
    stretched_indices=True,
)
