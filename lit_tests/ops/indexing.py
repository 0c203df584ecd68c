# RUN: %python %s | filecheck %s
"""Indices: slices, gathers, scatters, and what the places of elements are computed for."""

import pytensor.tensor as pt
from common import of_another_release, show, this_or_another_release
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.tensor import subtensor
from pytensor.tensor.basic import permute_row_elements
from pytensor.tensor.subtensor import inc_subtensor, set_subtensor
from pytensor.tensor.type_other import make_slice

# ---- Subtensor: slices and integer indices
x, v = pt.dmatrix("x"), pt.dvector("v")
i, k = pt.lscalar("i"), pt.lscalar("k")

# An index that is an argument is data: checked when the program runs, and no size.
# CHECK: Subtensor.dynamic: real_dynamic_slice(x, concatenate<0>(minimum(size<0>(x), 1), 0), [size<0>(x), 6], 1) : tensor<?x6xf64>
show("Subtensor.dynamic", [x], x[1:], {"x": ("n", 6)})
# CHECK: Subtensor.dynamic.reverse: reverse<[0]>(v) : tensor<?xf64>
show("Subtensor.dynamic.reverse", [v], v[::-1], {"v": ("n",)})

# CHECK: Subtensor.dynamic.runtime: checks: IndexError, index is out of bounds for axis 0 at an unnamed Subtensor node: the index into 'x', of length n
# CHECK-NEXT: constraints: n >= 1, index of axis 0 at an unnamed Subtensor node, index
# CHECK-NEXT: a = select(LT(i, 0), add(i, size<0>(x)), i) : tensor<i64>
# CHECK-NEXT: return reshape<6xf64>(dynamic_slice<[1, 6]>(x, a, 0)), and(GE(a, 0), LT(a, size<0>(x))) : tensor<6xf64>, tensor<1xi1>
show("Subtensor.dynamic.runtime", [x, i], x[i], {"x": ("n", 6)})

# CHECK: Subtensor.dynamic.stride: constraints: max(-k, k) >= 1, the absolute step of a slice of axis 0 at an unnamed Subtensor node
# CHECK: return dynamic_gather(v, add(multiply(dynamic_iota<0, ?xi64>(add(divide<"(n - 1)//max(-k, k, 1)">(
show("Subtensor.dynamic.stride", [v, k], v[::k], {"v": ("n",)})

# ---- IncSubtensor: writing to, and adding at, slices and integer indices
y = pt.dvector("y")

# Not contiguous: through padding and a mask.
# CHECK: IncSubtensor.static.runtime: checks: IndexError, index is out of bounds for axis 0 at an unnamed IncSubtensor node: the index into 'x', of length 5
# CHECK-NEXT: a = select(LT(i, 0), add(i, 5), i) : tensor<i64>
# CHECK-NEXT: return dynamic_update_slice(x, reshape<1x6xf64>(v), a, 0), and(GE(a, 0), LT(a, 5)) : tensor<5x6xf64>, tensor<1xi1>
show("IncSubtensor.static.runtime", [x, v, i], set_subtensor(x[i], v), {"x": (5, 6), "v": (6,)})

# CHECK: IncSubtensor.dynamic: constraints: max(n - 1, 0) == m, the written value, axis 0 at an unnamed IncSubtensor node
# CHECK-NEXT: return dynamic_update_slice(v, y, minimum(size<0>(v), 1)) : tensor<?xf64>
show("IncSubtensor.dynamic", [v, y], set_subtensor(v[1:], y), {"v": ("n",), "y": ("m",)})

# ---- AdvancedSubtensor1, AdvancedSubtensor, MakeSlice: indexing by integer tensors, which are checked to be in range


def _make_node(self, x, *entries):
    return Apply(self, [x, *entries], [pt.dmatrix()])


# Before PyTensor 3.3 one index vector had an op of its own.
older1 = of_another_release(Op, "AdvancedSubtensor1", make_node=_make_node, perform=None)
advanced_subtensor1 = this_or_another_release(subtensor, "AdvancedSubtensor1", lambda: older1)()
i, j = pt.lvector("i"), pt.lvector("j")

# CHECK: AdvancedSubtensor1.dynamic: checks: IndexError, index is out of bounds for axis 0 at an unnamed AdvancedSubtensor1 node: 'i' into 'x', of length n
# CHECK-NEXT: constraints: n >= min(k, 1), index of axis 0 at an unnamed AdvancedSubtensor1 node, index
# CHECK-NEXT: a = select(LT(i, 0), add(i, size<0>(x)), i) : tensor<?xi64>
# CHECK-NEXT: return dynamic_gather(x, a, concatenate<0>(minimum(size<0>(x), 1), 6)) {offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false}, reduce<[0], and>(and(GE(a, 0), LT(a, size<0>(x))), true) : tensor<?x6xf64>, tensor<1xi1>
show("AdvancedSubtensor1.dynamic", [x, i], advanced_subtensor1(x, i), {"x": ("n", 6), "i": ("k",)})

# CHECK: AdvancedSubtensor.dynamic: checks: IndexError, index is out of bounds for axis 0 at an unnamed AdvancedSubtensor node: 'i' into 'x', of length n
# CHECK-NEXT: checks: IndexError, index is out of bounds for axis 1 at an unnamed AdvancedSubtensor node: 'j' into 'x', of length 6
# CHECK-NEXT: constraints: n >= min(k, 1), index of axis 0 at an unnamed AdvancedSubtensor node, index
# CHECK: return dynamic_gather(x, concatenate<1>(dynamic_reshape<?x1xi64>(a, [size<0>(i), 1]), dynamic_reshape<?x1xi64>(b, [size<0>(i), 1])), concatenate<0>(minimum(size<0>(x), 1), 1)) {collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1, indices_are_sorted = false}, concatenate<0>(reduce<[0], and>(and(GE(a, 0), LT(a, size<0>(x))), true), reduce<[0], and>(and(GE(b, 0), LT(b, 6)), true)) : tensor<?xf64>, tensor<2xi1>
show("AdvancedSubtensor.dynamic", [x, i, j], x[i, j], {"x": ("n", 6), "i": ("k",), "j": ("k",)})

# Before PyTensor 3 slices are operands.
older = of_another_release(Op, "AdvancedSubtensor", make_node=_make_node, perform=None)()

# CHECK: MakeSlice.dynamic: a = minimum(size<0>(x), 1) : tensor<i64>
# CHECK-NEXT: b = minimum(size<0>(x), 3) : tensor<i64>
# CHECK-NEXT: return dynamic_gather(real_dynamic_slice(x, concatenate<0>(a, 0), concatenate<0>(b, 6), 1), [2, 0], concatenate<0>(add(multiply(a, -1), b), 1)) {offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1, indices_are_sorted = false} : tensor<?x2xf64>
show("MakeSlice.dynamic", [x], older(x, make_slice(slice(1, 3)), pt.constant([2, 0])), {"x": ("n", 6)})

# ---- sizes from data -----------------------------------------------------------------------------------------------
w, mask = pt.dvector("w"), pt.tensor("mask", dtype="bool", shape=(None,))

# CHECK: AdvancedSubtensor.dynamic.mask: counts: nonzero_0, n
# CHECK: c = @hlograph.size(b) {hlograph.bound = "n", hlograph.dim = "nonzero_0"} : tensor<i64>
# CHECK: return dynamic_gather(w, real_dynamic_slice(f, 0, c, 1), minimum(size<0>(w), 1)) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false} : tensor<?xf64>
show("AdvancedSubtensor.dynamic.mask", [w, mask], w[mask], {"w": ("n",), "mask": ("n",)})

# ---- AdvancedIncSubtensor1, AdvancedIncSubtensor: writing and accumulating at integer tensors, and where a mask holds


def _older(set_instead_of_inc=False):
    """The op that one index vector had before PyTensor 3.3."""
    members = {"make_node": lambda self, x, y, i: Apply(self, [x, y, i], [x.type()]), "perform": None}
    op = of_another_release(Op, "AdvancedIncSubtensor1", set_instead_of_inc=set_instead_of_inc, **members)
    return op()


AdvancedIncSubtensor1 = this_or_another_release(subtensor, "AdvancedIncSubtensor1", lambda: _older)

y = pt.dmatrix("y")

# CHECK: AdvancedIncSubtensor1.dynamic: checks: IndexError, index is out of bounds for axis 0 at an unnamed AdvancedIncSubtensor1 node: 'i' into 'x', of length n
# CHECK-NEXT: constraints: n >= min(k, 1), index of axis 0 at an unnamed AdvancedIncSubtensor1 node, index
# CHECK-NEXT: a = select(LT(i, 0), add(i, size<0>(x)), i) : tensor<?xi64>
# CHECK-NEXT: return scatter(x, a, y) {indices_are_sorted = false, update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add}, reduce<[0], and>(and(GE(a, 0), LT(a, size<0>(x))), true) : tensor<?x6xf64>, tensor<1xi1>
show(
    "AdvancedIncSubtensor1.dynamic",
    [x, y, i],
    AdvancedIncSubtensor1()(x, y, i),
    {"x": ("n", 6), "y": ("k", 6), "i": ("k",)},
)

# CHECK: AdvancedIncSubtensor.static.duplicates: checks: IndexError, index is out of bounds for axis 0 at an unnamed AdvancedIncSubtensor node: 'i' into 'x', of length 5
# CHECK-NEXT: checks: IndexError, index is out of bounds for axis 1 at an unnamed AdvancedIncSubtensor node: 'j' into 'x', of length 6
# CHECK: d = gather(x, c) {collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1, 1]} : tensor<20xf64>
# CHECK-NEXT: return scatter(x, c, add(d, v)) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, (p0, p1) -> p1}, concatenate<0>(reduce<[0], and>(and(GE(a, 0), LT(a, 5)), true), reduce<[0], and>(and(GE(b, 0), LT(b, 6)), true)) : tensor<5x6xf64>, tensor<2xi1>
show(
    "AdvancedIncSubtensor.static.duplicates",
    [x, v, i, j],
    inc_subtensor(x[i, j], v, ignore_duplicates=True),
    {"x": (5, 6), "v": (20,), "i": (20,), "j": (20,)},
)

# CHECK: AdvancedIncSubtensor.dynamic: checks: IndexError, index is out of bounds for axis 0 at an unnamed AdvancedIncSubtensor node: 'i' into 'x', of length n
# CHECK-NEXT: checks: IndexError, index is out of bounds for axis 1 at an unnamed AdvancedIncSubtensor node: 'j' into 'x', of length 6
# CHECK-NEXT: constraints: n >= min(k, 1), index of axis 0 at an unnamed AdvancedIncSubtensor node, index
# CHECK: return scatter(x, concatenate<1>(dynamic_reshape<?x1xi64>(a, [size<0>(v), 1]), dynamic_reshape<?x1xi64>(b, [size<0>(v), 1])), v) {indices_are_sorted = false, inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, unique_indices = false, (p0, p1) -> p1}, concatenate<0>(reduce<[0], and>(and(GE(a, 0), LT(a, size<0>(x))), true), reduce<[0], and>(and(GE(b, 0), LT(b, 6)), true)) : tensor<?x6xf64>, tensor<2xi1>
show(
    "AdvancedIncSubtensor.dynamic",
    [x, v, i, j],
    set_subtensor(x[i, j], v),
    {"x": ("n", 6), "v": ("k",), "i": ("k",), "j": ("k",)},
)

# ---- Indices that come with a value each: by arithmetic, or one gather or scatter of elements
x, table = pt.dvector("x"), pt.dmatrix("table")

# CHECK: UnravelIndex.dynamic: checks: ValueError, index is out of bounds for the array at an unnamed UnravelIndex node
# CHECK-NEXT: return remainder(i, 3), divide(i, 3), reduce<[0], and>(and(GE(i, 0), LT(i, 12)), true) : tensor<?xi64>, tensor<?xi64>, tensor<1xi1>
show("UnravelIndex.dynamic", [i], [*pt.unravel_index(i, (3, 4), order="F")])

# CHECK: RavelMultiIndex.static: checks: ValueError, invalid entry in coordinates array at an unnamed RavelMultiIndex node
# CHECK-NEXT: checks: ValueError, invalid entry in coordinates array at an unnamed RavelMultiIndex node
# CHECK-NEXT: return add(multiply(i, 4), j), concatenate<0>(reduce<[0], and>(and(GE(i, 0), LT(i, 3)), true), reduce<[0], and>(and(GE(j, 0), LT(j, 4)), true)) : tensor<2xi64>, tensor<2xi1>
show("RavelMultiIndex.static", [i, j], pt.ravel_multi_index([i, j], (3, 4)), {"i": (2,), "j": (2,)})

# CHECK: Choose.dynamic: constraints: i_0 == table_1, Choose, axis 0 at an unnamed Choose node
# CHECK-NEXT: constraints: table_0 >= 1, the number of choices at an unnamed Choose node
# CHECK-NEXT: a = dynamic_gather(table, concatenate<2>(dynamic_reshape<1x?x1xi64>(dynamic_reshape<1x?xi64>(clamp(0, i, maximum(add(size<0>(table), -1), 0)), [1, size<0>(i)]), [1, size<0>(i), 1]), dynamic_reshape<1x?x1xi64>(dynamic_iota<1, 1x?xi64>([1, size<0>(i)]), [1, size<0>(i), 1])), concatenate<0>(minimum(size<0>(table), 1), minimum(size<0>(i), 1))) {collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2, indices_are_sorted = false} : tensor<1x?xf64>
# CHECK-NEXT: return dynamic_reshape<?xf64>(a, size<0>(i)) : tensor<?xf64>
show("Choose.dynamic", [i, table], pt.choose(i, table, mode="clip"))

# CHECK: MakeList.dynamic: constraints: i_0 == x_0, Choose, axis 0 at an unnamed Choose node
# CHECK-NEXT: a = dynamic_gather(concatenate<0>(dynamic_broadcast_in_dim<[1], 1x?xf64>(x, [1, size<0>(i)]), dynamic_broadcast_in_dim<[1], 1x?xf64>(negate(x), [1, size<0>(i)])), concatenate<2>(dynamic_reshape<1x?x1xi64>(dynamic_reshape<1x?xi64>(clamp(0, i, 1), [1, size<0>(i)]), [1, size<0>(i), 1]), dynamic_reshape<1x?x1xi64>(dynamic_iota<1, 1x?xi64>([1, size<0>(i)]), [1, size<0>(i), 1])), concatenate<0>(1, minimum(size<0>(i), 1))) {collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2, indices_are_sorted = false} : tensor<1x?xf64>
# CHECK-NEXT: return dynamic_reshape<?xf64>(a, size<0>(i)) : tensor<?xf64>
show("MakeList.dynamic", [i, x], pt.choose(i, [x, -x], mode="clip"))

# CHECK: PermuteRowElements.static: checks: IndexError, index is out of bounds for axis 1 at an unnamed PermuteRowElements node: the index into 'table', of length 3
# CHECK-NEXT: a = broadcast_in_dim<[1], 2x3xi64>(i) : tensor<2x3xi64>
# CHECK-NEXT: b = select(LT(a, 0), add(a, 3), a) : tensor<2x3xi64>
# CHECK-NEXT: return gather(table, concatenate<2>(reshape<2x3x1xi64>(iota<0, 2x3xi64>()), reshape<2x3x1xi64>(b))) {collapsed_slice_dims = [0, 1], start_index_map = [0, 1], index_vector_dim = 2, indices_are_sorted = false, slice_sizes = [1, 1]}, reduce<[0, 1], and>(and(GE(b, 0), LT(b, 3)), true) : tensor<2x3xf64>, tensor<1xi1>
show("PermuteRowElements.static", [table, i], permute_row_elements(table, i), {"table": (2, 3), "i": (3,)})

# ---- FillDiagonal and FillDiagonalOffset: a selection by place
cube, value = pt.dtensor3("cube"), pt.dscalar("value")

# CHECK: FillDiagonal.dynamic: constraints: cube_0 == cube_1, FillDiagonal, axis 1 at an unnamed FillDiagonal node
# CHECK-NEXT: constraints: cube_0 == cube_2, FillDiagonal, axis 2 at an unnamed FillDiagonal node
# CHECK-NEXT: a = dynamic_iota<0, ?x?x?xi64>([size<0>(cube), size<0>(cube), size<0>(cube)]) : tensor<?x?x?xi64>
# CHECK-NEXT: return select(and(EQ(a, dynamic_iota<1, ?x?x?xi64>([size<0>(cube), size<0>(cube), size<0>(cube)])), EQ(a, dynamic_iota<2, ?x?x?xi64>([size<0>(cube), size<0>(cube), size<0>(cube)]))), value, cube) : tensor<?x?x?xf64>
show("FillDiagonal.dynamic", [cube, value], pt.fill_diagonal(cube, value))
# CHECK: FillDiagonalOffset.dynamic: select(EQ(add(dynamic_iota<0, ?x?xi64>([size<0>(table), size<1>(table)]), k), dynamic_iota<1, ?x?xi64>([size<0>(table), size<1>(table)])), value, table) : tensor<?x?xf64>
show("FillDiagonalOffset.dynamic", [table, value, k], pt.fill_diagonal_offset(table, value, k))

# ---- SearchsortedOp: bisection, for all values at once, as many steps as the size has bits
k = pt.lvector("k")

# A vector that may be empty gets one more element, so that there is one to read.
# CHECK: SearchsortedOp.dynamic: {{.*}}
# CHECK: g:3 = while<(p0, p1, p2) -> GT(p0, 0)>(size<0>(x), 0, size<0>(x)) : tensor<i64>, tensor<?xi64>, tensor<?xi64>
# CHECK: d = gather(b, c) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<?xf64>
# CHECK: return g#1 : tensor<?xi64>
show("SearchsortedOp.dynamic", [x, k], pt.searchsorted(x, k, side="right"), {"x": ("n",), "k": ("m",)})

# ---- Nonzero: the places of true elements, written to the front of a vector; the first of them are the result

# The places in a constant are one.
# The marker says that a size comes from data, its name, and what it cannot exceed.
# CHECK: Nonzero.dynamic: counts: nonzero_0, 8
# CHECK: c = @hlograph.size(b) {hlograph.bound = "8", hlograph.dim = "nonzero_0"} : tensor<i64>
# CHECK-NEXT: d = reduce_window(a, 0) {padding = [7, 0], window_dimensions = [8], add} : tensor<8xi64>
# CHECK: f = scatter(0, select(mask, subtract(d, 1), subtract(add(e, b), d)), e) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = true, (p0, p1) -> p1} : tensor<8xi64>
# CHECK-NEXT: return real_dynamic_slice(f, 0, c, 1) : tensor<?xi64>
show("Nonzero.dynamic", [mask], mask.nonzero()[0], {"mask": (8,)})

# ---- Unique: sorted, marked where an element differs from the one before, compacted as by Nonzero

# NaN equals NaN. Index, inverse and counts follow the values.
# CHECK: Unique.dynamic: counts: unique_0, 8
# CHECK: b:2 = sort(x, a) {dimension = 0, is_stable = true, (p0, p1, p2, p3) -> or(LT(p0, p1), and(EQ(p0, p0), NE(p1, p1)))} : tensor<8xf64>, tensor<8xi64>
# CHECK-NEXT: c = gather(b#0, maximum(subtract(a, 1), 0)) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]} : tensor<8xf64>
# CHECK: g = @hlograph.size(f) {hlograph.bound = "8", hlograph.dim = "unique_0"} : tensor<i64>
# CHECK-NEXT: h = reduce_window(e, 0) {padding = [7, 0], window_dimensions = [8], add} : tensor<8xi64>
# CHECK: j = scatter(0, select(d, i, subtract(add(a, f), h)), a) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = true, (p0, p1) -> p1} : tensor<8xi64>
# CHECK-NEXT: k = real_dynamic_slice(j, 0, g, 1) : tensor<?xi64>
# CHECK-NEXT: l = scatter(0, i, 1) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add} : tensor<8xi64>
# CHECK-NEXT: return gather(b#0, k) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]}, gather(b#1, k) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]}, scatter(0, b#1, i) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, (p0, p1) -> p1}, real_dynamic_slice(l, 0, g, 1) : tensor<?xf64>, tensor<?xi64>, tensor<8xi64>, tensor<?xi64>
show("Unique.dynamic", [x], pt.unique(x, True, True, True), {"x": (8,)})

# ---- Repeat: element i stands where i elements have ended: a running sum of the ends; their number comes from data

# Nothing bounds the result's size.
# CHECK: Repeat.dynamic: checks: ValueError, repeats may not contain negative values.
# CHECK-NEXT: constraints: 8 == n, the counts of Repeat at an unnamed Repeat node
# CHECK-NEXT: counts: repeat_0
# CHECK: b = @hlograph.size(reduce<[0], add>(a, 0)) {hlograph.dim = "repeat_0"} : tensor<i64>
# CHECK-NEXT: c = reduce_window(a, 0) {padding = [7, 0], window_dimensions = [8], add} : tensor<8xi64>
# CHECK-NEXT: d = scatter(0, c, 1) {indices_are_sorted = false, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1, unique_indices = false, add} : tensor<?xi64>
# CHECK-NEXT: e = @stablehlo.dynamic_reduce_window(d, 0, maximum(b, 1), 1, 1, 1, reshape<1x2xi64>(concatenate<0>(maximum(add(b, -1), 0), 0))) {called_computations = [@add_int64]} : tensor<?xi64>
# CHECK-NEXT: return gather(x, e) {collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false, slice_sizes = [1]}, reduce<[0], and>(GE(k, 0), true) : tensor<?xf64>, tensor<1xi1>
show("Repeat.dynamic", [x, k], pt.repeat(x, k), {"x": (8,), "k": ("n",)})
