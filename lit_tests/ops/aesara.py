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
# CHECK: BroadcastTo.dynamic: constraints: n >= 0, size 0 of BroadcastTo at an unnamed BroadcastTo node
# CHECK-NEXT: return dynamic_broadcast_in_dim<[1], ?x3xf64>(v, [n, 3]) : tensor<?x3xf64>
show("BroadcastTo.dynamic", [v, n], broadcast(v, n, 3), {"v": (3,)})
# CHECK: MatMul.dynamic: dot_general<[1], [0]>(a, b) : tensor<?x2xf64>
show("MatMul.dynamic", [a, b], op("MatMul", pt.dmatrix, dtype=None)(a, b), {"a": ("n", 4), "b": (4, 2)})

# CHECK: Inv.dynamic: b:2 = @lu_float64(a) : tensor<?x?xf64>, tensor<?xi32>
# CHECK-NEXT: c = dynamic_gather(convert<f64>(convert<i8>(EQ(dynamic_iota<0, ?x?xi64>([size<0>(a), size<0>(a)]), dynamic_iota<1, ?x?xi64>([size<0>(a), size<0>(a)])))), b#1, concatenate<0>(minimum(size<0>(a), 1), size<0>(a))) {offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false} : tensor<?x?xf64>
# CHECK-NEXT: return select(reduce<[0], or>(EQ(real_dynamic_slice(dynamic_reshape<?xf64>(b#0, multiply(size<0>(a), size<0>(a))), 0, multiply(size<0>(a), size<0>(a)), add(size<0>(a), 1)), 0), false), nan, triangular_solve<left, upper>(b#0, triangular_solve<left, lower, unit>(b#0, c))) : tensor<?x?xf64>
show("Inv.dynamic", [a], op("Inv", pt.dmatrix)(a), shapes("a", "n"))

# CHECK: QRFull.dynamic: b:2 = @householder_qr_float64(a) : tensor<?x3xf64>, tensor<?xf64>
# CHECK-NEXT: return @householder_product_float64(real_dynamic_slice(b#0, 0, concatenate<0>(size<0>(a), minimum(size<0>(a), 3)), 1), b#1), real_dynamic_slice(select(LE(dynamic_iota<0, ?x3xi64>([size<0>(a), 3]), dynamic_iota<1, ?x3xi64>([size<0>(a), 3])), b#0, 0), 0, concatenate<0>(minimum(size<0>(a), 3), 3), 1) : tensor<?x?xf64>, tensor<?x3xf64>
show("QRFull.dynamic", [a], op("QRFull", pt.dmatrix, pt.dmatrix, mode="reduced")(a), {"a": ("n", 3)})

eigh_gradient = op("EighGrad", pt.dmatrix, UPLO="L")

# CHECK: EighGrad.dynamic: {{.*}}
# CHECK: f = dot_general<[1], [1]>(dot_general<[1], [0]>(b, select(e, dynamic_broadcast_in_dim<[0], ?x?xf64>(w, [size<0>(a), size<0>(a)]), select(e, 0, divide(dot_general<[0], [0]>(q, b), select(e, 1, subtract(dynamic_broadcast_in_dim<[0], ?x?xf64>(v, [size<0>(a), size<0>(a)]), dynamic_broadcast_in_dim<[1], ?x?xf64>(v, [size<0>(a), size<0>(a)]))))))), b) : tensor<?x?xf64>
# CHECK-NEXT: return add(select(GE(c, d), f, 0), transpose<[1, 0]>(select(LE(add(c, 1), d), f, 0))) : tensor<?x?xf64>
show("EighGrad.dynamic", [a, v, b, w, q], eigh_gradient(a, v, b, w, q), shapes("a v b w q", "n"))

eigvalsh_gradient = op("EigvalshGrad", pt.dmatrix, pt.dmatrix, lower=True)

# CHECK: EigvalshGrad.dynamic: {{.*}}
# CHECK: m = LE(add(c, 1), d) : tensor<?x?xi1>
# CHECK-NEXT: return add(select(e, k, 0), transpose<[1, 0]>(select(m, k, 0))), add(select(e, l, 0), transpose<[1, 0]>(select(m, l, 0))) : tensor<?x?xf64>, tensor<?x?xf64>
show("EigvalshGrad.dynamic", [a, b, v], eigvalsh_gradient(a, b, v), shapes("a b v", "n"))

# CHECK: ExpmGrad.dynamic: {{.*}}
# CHECK: return real_dynamic_slice(real_dynamic_slice(while<(p0, p1) -> LT(convert<f64>(p0), j), (p0, p1) -> (add(p0, 1), select(LT(convert<f64>(p0), j), dot_general<[1], [0]>(p1, p1), p1))>(0, triangular_solve<left, upper>(a2#0, triangular_solve<left, lower, unit>(a2#0, b2)))#1, 0, e, 1), [0, size<0>(a)], e, 1) : tensor<?x?xf64>
show("ExpmGrad.dynamic", [a, b], op("ExpmGrad", pt.dmatrix)(a, b), shapes("a b", "n"))

# CHECK: SolveContinuousLyapunov.dynamic: {{.*}}
# CHECK: return real(dot_general<[1], [1]>(dot_general<[1], [0]>(b#1, g#1), conj(c#1))) : tensor<?x?xf64>
show("SolveContinuousLyapunov.dynamic", [a, q], op("SolveContinuousLyapunov", pt.dmatrix)(a, q), shapes("a q", "n"))

bilinear = op("BilinearSolveDiscreteLyapunov", pt.dmatrix)

# CHECK: BilinearSolveDiscreteLyapunov.dynamic: {{.*}}
# CHECK: return real(dot_general<[1], [1]>(dot_general<[1], [0]>(m#1, b1#1), conj(n#1))) : tensor<?x?xf64>
show("BilinearSolveDiscreteLyapunov.dynamic", [a, q], bilinear(a, q), shapes("a q", "n"))

# CHECK: Convolve.dynamic: constraints: n >= 1, size 0 of an operand of Convolve at an unnamed Convolve node
# CHECK-NEXT: a = concatenate<0>(add(size<0>(v), 2), 3) : tensor<2xi64>
# CHECK-NEXT: b = pad(dynamic_reshape<1x?xf64>(v, [1, size<0>(v)]), 0) {edge_padding_high = [0, 2], edge_padding_low = [0, 2], interior_padding = [0, 0]} : tensor<1x?xf64>
# CHECK-NEXT: c = gather(b, add(dynamic_iota<0, ?x3xi64>(a), dynamic_iota<1, ?x3xi64>(a))) {offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 2, indices_are_sorted = false, slice_sizes = [1, 1]} : tensor<1x?x3xf64>
# CHECK-NEXT: return dynamic_reshape<?xf64>(dot_general<[2], [1], batch [0], [0]>(c, reshape<1x3xf64>(reverse<[0]>(w))), add(size<0>(v), 2)) : tensor<?xf64>
show("Convolve.dynamic", [v, w], op("Convolve", pt.dvector, mode="full")(v, w), {"v": ("n",), "w": (3,)})
# CHECK: Mean.dynamic: divide(reduce<[0], add>(a, 0), convert<f64>(size<0>(a))) : tensor<3xf64>
show("Mean.dynamic", [a], op("Mean", pt.dvector, axis=0)(a), {"a": ("n", 3)})
