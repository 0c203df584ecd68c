# RUN: %python %s | filecheck %s
"""Ops that Aesara has and PyTensor has not, or writes as graphs of others."""

import pytensor.tensor as pt
from common import of_another_release, show
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op


def op(name, *results, **properties):
    """An op of that name whose results have these types."""

    def make_node(self, *xs):
        return Apply(self, [pt.as_tensor(x) for x in xs], [kind() for kind in results])

    return of_another_release(Op, name, make_node=make_node, perform=None, **properties)()


a, b, q, v, w = pt.dmatrix("a"), pt.dmatrix("b"), pt.dmatrix("q"), pt.dvector("v"), pt.dvector("w")
n = pt.lscalar("n")
SHAPES = {"a": 2, "b": 2, "q": 2, "v": 1, "w": 1}


def shapes(names, size):
    """Square matrices and vectors of that size."""
    return {name: (size,) * SHAPES[name] for name in names.split()}


broadcast = op("BroadcastTo", pt.dmatrix)
# CHECK-LABEL: module @BroadcastTo.dynamic
# CHECK-NEXT: constraints: n >= 0, size 0 of BroadcastTo at an unnamed BroadcastTo node
# CHECK-NEXT: return dynamic_broadcast_in_dim<[1], ?x3xf64>(v, concatenate<0>(n, 3)) : tensor<?x3xf64>
show([v, n], broadcast(v, n, 3), name="BroadcastTo.dynamic", dims={"v": (3,)})

# CHECK-LABEL: module @MatMul.dynamic
# CHECK-NEXT: return dot_general(a, b) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], precision_config = [HIGHEST, HIGHEST]} : tensor<?x2xf64>
show([a, b], op("MatMul", pt.dmatrix, dtype=None)(a, b), name="MatMul.dynamic", dims={"a": ("n", 4), "b": (4, 2)})

# CHECK-LABEL: module @Inv.dynamic
# CHECK-NEXT: b = concatenate<0>(size<0>(a), size<0>(a)) : tensor<2xi64>
# CHECK-NEXT: c:2 = @lu_float64(a) : tensor<?x?xf64>, tensor<?xi32>
# CHECK-NEXT: d = dynamic_gather(convert<f64>(convert<i8>(EQ(dynamic_iota<0, ?x?xi64>(b), dynamic_iota<1, ?x?xi64>(b)))), c#1, concatenate<0>(minimum(size<0>(a), 1), size<0>(a))) {offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false} : tensor<?x?xf64>
# CHECK-NEXT: e = triangular_solve(c#0, d) {left_side = true, lower = true, transpose_a = NO_TRANSPOSE, unit_diagonal = true} : tensor<?x?xf64>
# CHECK-NEXT: f = triangular_solve(c#0, e) {left_side = true, lower = false, transpose_a = NO_TRANSPOSE, unit_diagonal = false} : tensor<?x?xf64>
# CHECK-NEXT: return select(reduce<[0], or>(EQ(real_dynamic_slice(dynamic_reshape<?xf64>(c#0, multiply(size<0>(a), size<0>(a))), 0, multiply(size<0>(a), size<0>(a)), add(size<0>(a), 1)), 0), false), nan, f) : tensor<?x?xf64>
show([a], op("Inv", pt.dmatrix)(a), name="Inv.dynamic", dims=shapes("a", "n"))

# CHECK-LABEL: module @QRFull.dynamic
# CHECK-NEXT: b = concatenate<0>(size<0>(a), 3) : tensor<2xi64>
# CHECK-NEXT: c:2 = @householder_qr_float64(a) : tensor<?x3xf64>, tensor<?xf64>
# CHECK-NEXT: return @householder_product_float64(real_dynamic_slice(c#0, 0, concatenate<0>(size<0>(a), minimum(size<0>(a), 3)), 1), c#1), real_dynamic_slice(select(LE(dynamic_iota<0, ?x3xi64>(b), dynamic_iota<1, ?x3xi64>(b)), c#0, 0), 0, concatenate<0>(minimum(size<0>(a), 3), 3), 1) : tensor<?x?xf64>, tensor<?x3xf64>
show([a], op("QRFull", pt.dmatrix, pt.dmatrix, mode="reduced")(a), name="QRFull.dynamic", dims={"a": ("n", 3)})

eigh_gradient = op("EighGrad", pt.dmatrix, UPLO="L")

# CHECK-LABEL: module @EighGrad.dynamic
# CHECK: g = dot_general(q, b) {lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0], precision_config = [HIGHEST, HIGHEST]} : tensor<?x?xf64>
# CHECK-NEXT: h = dot_general(b, select(f, dynamic_broadcast_in_dim<[0], ?x?xf64>(w, c), select(f, 0, divide(g, select(f, 1, subtract(dynamic_broadcast_in_dim<[0], ?x?xf64>(v, c), dynamic_broadcast_in_dim<[1], ?x?xf64>(v, c))))))) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], precision_config = [HIGHEST, HIGHEST]} : tensor<?x?xf64>
# CHECK-NEXT: i = dot_general(h, b) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], precision_config = [HIGHEST, HIGHEST]} : tensor<?x?xf64>
# CHECK-NEXT: return add(select(GE(d, e), i, 0), transpose<[1, 0]>(select(LE(add(d, 1), e), i, 0))) : tensor<?x?xf64>
show([a, v, b, w, q], eigh_gradient(a, v, b, w, q), name="EighGrad.dynamic", dims=shapes("a v b w q", "n"))

eigvalsh_gradient = op("EigvalshGrad", pt.dmatrix, pt.dmatrix, lower=True)

# CHECK-LABEL: module @EigvalshGrad.dynamic
# CHECK: a1 = LE(add(e, 1), f) : tensor<?x?xi1>
# CHECK: return add(select(g, n, 0), transpose<[1, 0]>(select(a1, n, 0))), add(select(g, o, 0), transpose<[1, 0]>(select(a1, o, 0))) : tensor<?x?xf64>, tensor<?x?xf64>
show([a, b, v], eigvalsh_gradient(a, b, v), name="EigvalshGrad.dynamic", dims=shapes("a b v", "n"))

# CHECK-LABEL: module @ExpmGrad.dynamic
# CHECK: return (add(p0, 1), select(LT(convert<f64>(p0), j), l2, p1))
# CHECK: return real_dynamic_slice(real_dynamic_slice(m2#1, 0, e, 1), concatenate<0>(0, size<0>(a)), e, 1) : tensor<?x?xf64>
show([a, b], op("ExpmGrad", pt.dmatrix)(a, b), name="ExpmGrad.dynamic", dims=shapes("a b", "n"))

# CHECK-LABEL: module @SolveContinuousLyapunov.dynamic
# CHECK: o = dot_general(n, conj(e#1)) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], precision_config = [HIGHEST, HIGHEST]} : tensor<?x?xcomplex<f64>>
# CHECK: return real(o) : tensor<?x?xf64>
show(
    [a, q],
    op("SolveContinuousLyapunov", pt.dmatrix)(a, q),
    name="SolveContinuousLyapunov.dynamic",
    dims=shapes("a q", "n"),
)

bilinear = op("BilinearSolveDiscreteLyapunov", pt.dmatrix)

# CHECK-LABEL: module @BilinearSolveDiscreteLyapunov.dynamic
# CHECK: o1 = dot_general(n1, conj(f1#1)) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], precision_config = [HIGHEST, HIGHEST]} : tensor<?x?xcomplex<f64>>
# CHECK: return real(o1) : tensor<?x?xf64>
show([a, q], bilinear(a, q), name="BilinearSolveDiscreteLyapunov.dynamic", dims=shapes("a q", "n"))

# CHECK-LABEL: module @Convolve.dynamic
# CHECK-NEXT: constraints: n >= 1, size 0 of an operand of Convolve at an unnamed Convolve node
# CHECK-NEXT: a = concatenate<0>(add(size<0>(v), 2), 3) : tensor<2xi64>
# CHECK-NEXT: b = pad(dynamic_reshape<1x?xf64>(v, concatenate<0>(1, size<0>(v))), 0) {edge_padding_high = [0, 2], edge_padding_low = [0, 2], interior_padding = [0, 0]} : tensor<1x?xf64>
# CHECK-NEXT: c = gather(b, add(dynamic_iota<0, ?x3xi64>(a), dynamic_iota<1, ?x3xi64>(a))) {offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 2, indices_are_sorted = false, slice_sizes = [1, 1]} : tensor<1x?x3xf64>
# CHECK-NEXT: d = dot_general(c, reshape<1x3xf64>(reverse<[0]>(w))) {lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1], precision_config = [HIGHEST, HIGHEST]} : tensor<1x?xf64>
# CHECK-NEXT: return dynamic_reshape<?xf64>(d, add(size<0>(v), 2)) : tensor<?xf64>
show([v, w], op("Convolve", pt.dvector, mode="full")(v, w), name="Convolve.dynamic", dims={"v": ("n",), "w": (3,)})

# CHECK-LABEL: module @Mean.dynamic
# CHECK-NEXT: return divide(reduce<[0], add>(a, 0), convert<f64>(size<0>(a))) : tensor<3xf64>
show([a], op("Mean", pt.dvector, axis=0)(a), name="Mean.dynamic", dims={"a": ("n", 3)})
