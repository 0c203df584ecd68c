# RUN: %python %s | filecheck %s
"""Linear algebra: products, factorizations, solves, inverses, equations of matrices."""

import pytensor.tensor as pt
import pytensor.tensor.blas as blas
import pytensor.tensor.linalg as ptl
from common import of_another_release, show, this_or_another_release
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.tensor.blas import _batched_dot as batched_dot
from pytensor.tensor.blas import _dot22 as dot22
from pytensor.tensor.blas import _dot22scalar as dot22scalar
from pytensor.tensor.blas import gemm_no_inplace, gemv_no_inplace
from pytensor.tensor.linalg.solvers.linear_control import TRSYL
from pytensor.tensor.math import dot

# ---- Dot, Dot22, Dot22Scalar, Gemv, Gemm, Ger, BatchedDot: products of matrices and vectors

# Before PyTensor 3 the op took vectors.
older_ger = of_another_release(
    Op, "Ger", make_node=lambda self, *xs: Apply(self, [*xs], [pt.dmatrix()]), perform=None, destructive=False
)

ger = this_or_another_release(blas, "ger", older_ger)  # before PyTensor 3.3
x, y, z = pt.dmatrix("x"), pt.dmatrix("y"), pt.dmatrix("z")
u, v = pt.dvector("u"), pt.dvector("v")
a, b = pt.dscalar("a"), pt.dscalar("b")
s, t = pt.dtensor3("s"), pt.dtensor3("t")

# CHECK: Dot.dynamic: constraints: k == l, dot, contracted axis at an unnamed Dot node
# CHECK-NEXT: return dot_general<[1], [0]>(x, y) : tensor<?x5xf64>
show("Dot.dynamic", [x, y], dot(x, y), {"x": ("n", "k"), "y": ("l", 5)})
# CHECK: Dot22.dynamic: dot_general<[1], [0]>(x, y) : tensor<?x5xf64>
show("Dot22.dynamic", [x, y], dot22(x, y), {"x": ("n", 4), "y": (4, 5)})
# CHECK: Dot22Scalar.dynamic: multiply(dot_general<[1], [0]>(x, y), a) : tensor<?x5xf64>
show("Dot22Scalar.dynamic", [x, y, a], dot22scalar(x, y, a), {"x": ("n", 4), "y": (4, 5)})
# CHECK: Gemv.dynamic: add(multiply(a, dot_general<[1], [0]>(x, v)), multiply(b, u)) : tensor<?xf64>
show("Gemv.dynamic", [u, a, x, v, b], gemv_no_inplace(u, a, x, v, b), {"u": ("n",), "x": ("n", 4), "v": (4,)})
# CHECK: Gemm.dynamic: add(multiply(a, dot_general<[1], [0]>(x, y)), multiply(b, z)) : tensor<?x5xf64>
show("Gemm.dynamic", [z, a, x, y, b], gemm_no_inplace(z, a, x, y, b), {"z": ("n", 5), "x": ("n", 4), "y": (4, 5)})
# CHECK: Ger.dynamic: add(x, multiply(a, multiply(dynamic_broadcast_in_dim<[0], ?x4xf64>(u, [size<0>(x), 4]), dynamic_broadcast_in_dim<[1], ?x4xf64>(v, [size<0>(x), 4])))) : tensor<?x4xf64>
show("Ger.dynamic", [x, a, u, v], ger(x, a, u, v), {"x": ("n", 4), "u": ("n",), "v": (4,)})
# CHECK: BatchedDot.dynamic: dot_general<[2], [1], batch [0], [0]>(s, t) : tensor<?x3x5xf64>
show("BatchedDot.dynamic", [s, t], batched_dot(s, t), {"s": ("n", 3, 4), "t": ("n", 4, 5)})

# ---- Cholesky, CholeskySolve
a = pt.dmatrix("a")

# CHECK: Cholesky.dynamic: select(GE(dynamic_iota<0, ?x?xi64>([size<0>(a), size<0>(a)]), dynamic_iota<1, ?x?xi64>([size<0>(a), size<0>(a)])), cholesky<lower>(a), 0) : tensor<?x?xf64>
show("Cholesky.dynamic", [a], ptl.Cholesky(lower=True)(a), {"a": ("n", "n")})
# CHECK: CholeskySolve.dynamic: dynamic_reshape<?xf64>(triangular_solve<left, upper>(a, triangular_solve<left, upper, ADJOINT>(a, dynamic_reshape<?x1xf64>(v, [size<0>(a), 1]))), size<0>(a)) : tensor<?xf64>
show("CholeskySolve.dynamic", [a, v], ptl.CholeskySolve(lower=False, b_ndim=1)(a, v), {"a": ("n", "n"), "v": ("n",)})

# ---- Det, SLogDet, MatrixInverse: through LU
# CHECK: Det.dynamic: b:2 = @lu_float64(a) : tensor<?x?xf64>, tensor<?xi32>
# CHECK-NEXT: return multiply(reduce<[0], multiply>(real_dynamic_slice(dynamic_reshape<?xf64>(b#0, multiply(size<0>(a), size<0>(a))), 0, multiply(size<0>(a), size<0>(a)), add(size<0>(a), 1)), 1), reduce<[0, 1], multiply>(select(and(LT(dynamic_iota<0, ?x?xi64>([size<0>(a), size<0>(a)]), dynamic_iota<1, ?x?xi64>([size<0>(a), size<0>(a)])), GT(dynamic_broadcast_in_dim<[0], ?x?xi32>(b#1, [size<0>(a), size<0>(a)]), dynamic_broadcast_in_dim<[1], ?x?xi32>(b#1, [size<0>(a), size<0>(a)]))), -1, 1), 1)) : tensor<f64>
show("Det.dynamic", [a], ptl.Det()(a), {"a": ("n", "n")})

# CHECK: SLogDet.dynamic: b:2 = @lu_float64(a) : tensor<?x?xf64>, tensor<?xi32>
# CHECK-NEXT: c = real_dynamic_slice(dynamic_reshape<?xf64>(b#0, multiply(size<0>(a), size<0>(a))), 0, multiply(size<0>(a), size<0>(a)), add(size<0>(a), 1)) : tensor<?xf64>
# CHECK-NEXT: return multiply(reduce<[0], multiply>(sign(c), 1), reduce<[0, 1], multiply>(select(and(LT(dynamic_iota<0, ?x?xi64>([size<0>(a), size<0>(a)]), dynamic_iota<1, ?x?xi64>([size<0>(a), size<0>(a)])), GT(dynamic_broadcast_in_dim<[0], ?x?xi32>(b#1, [size<0>(a), size<0>(a)]), dynamic_broadcast_in_dim<[1], ?x?xi32>(b#1, [size<0>(a), size<0>(a)]))), -1, 1), 1)), reduce<[0], add>(log(abs(c)), 0) : tensor<f64>, tensor<f64>
show("SLogDet.dynamic", [a], ptl.SLogDet()(a), {"a": ("n", "n")})

# CHECK: MatrixInverse.dynamic: b:2 = @lu_float64(a) : tensor<?x?xf64>, tensor<?xi32>
# CHECK-NEXT: c = dynamic_gather(convert<f64>(convert<i8>(EQ(dynamic_iota<0, ?x?xi64>([size<0>(a), size<0>(a)]), dynamic_iota<1, ?x?xi64>([size<0>(a), size<0>(a)])))), b#1, concatenate<0>(minimum(size<0>(a), 1), size<0>(a))) {offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false} : tensor<?x?xf64>
# CHECK-NEXT: return select(reduce<[0], or>(EQ(real_dynamic_slice(dynamic_reshape<?xf64>(b#0, multiply(size<0>(a), size<0>(a))), 0, multiply(size<0>(a), size<0>(a)), add(size<0>(a), 1)), 0), false), nan, triangular_solve<left, upper>(b#0, triangular_solve<left, lower, unit>(b#0, c))) : tensor<?x?xf64>
show("MatrixInverse.dynamic", [a], ptl.MatrixInverse()(a), {"a": ("n", "n")})

# ---- Solve, SolveTriangular
b = pt.dmatrix("b")

# CHECK: SolveTriangular.dynamic: select(reduce<[0], or>(EQ(real_dynamic_slice(dynamic_reshape<?xf64>(a, multiply(size<0>(a), size<0>(a))), 0, multiply(size<0>(a), size<0>(a)), add(size<0>(a), 1)), 0), false), nan, triangular_solve<left, lower>(a, b)) : tensor<?x2xf64>
show(
    "SolveTriangular.dynamic", [a, b], ptl.SolveTriangular(lower=True, b_ndim=2)(a, b), {"a": ("n", "n"), "b": ("n", 2)}
)

# LU is a private function, for a platform's library to take its place.
# CHECK: Solve.static.pos: c = select(GE(iota<0, 3x3xi64>(), iota<1, 3x3xi64>()), cholesky<lower>(a), 0) : tensor<3x3xf64>
# CHECK-NEXT: return triangular_solve<left, lower, ADJOINT>(c, triangular_solve<left, lower>(c, b)) : tensor<3x2xf64>
show("Solve.static.pos", [a, b], ptl.Solve(b_ndim=2, assume_a="pos", lower=True)(a, b), {"a": (3, 3), "b": (3, 2)})

# CHECK: Solve.dynamic: b:2 = @lu_float64(a) : tensor<?x?xf64>, tensor<?xi32>
# CHECK-NEXT: c = dynamic_gather(dynamic_reshape<?x1xf64>(v, [size<0>(a), 1]), b#1, concatenate<0>(minimum(size<0>(a), 1), 1)) {offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false} : tensor<?x1xf64>
# CHECK-NEXT: return dynamic_reshape<?xf64>(select(reduce<[0], or>(EQ(real_dynamic_slice(dynamic_reshape<?xf64>(b#0, multiply(size<0>(a), size<0>(a))), 0, multiply(size<0>(a), size<0>(a)), add(size<0>(a), 1)), 0), false), nan, triangular_solve<left, upper>(b#0, triangular_solve<left, lower, unit>(b#0, c))), size<0>(a)) : tensor<?xf64>
show("Solve.dynamic", [a, v], ptl.Solve(b_ndim=1)(a, v), {"a": ("n", "n"), "v": ("n",)})

# ---- TensorInv and TensorSolve: solves between reshapes
a = pt.dtensor3("a")
x = pt.dtensor4("x")

# CHECK: TensorSolve.dynamic: {{.*}}
# CHECK: b:2 = @lu_float64(dynamic_reshape<?x?xf64>(x, concatenate<0>(a, a))) : tensor<?x?xf64>, tensor<?xi32>
# CHECK: return dynamic_reshape<?x?xf64>(select(reduce<[0], or>(EQ(real_dynamic_slice(dynamic_reshape<?xf64>(b#0, multiply(multiply(multiply(size<0>(x), size<0>(x)), size<1>(x)), size<1>(x))), 0, multiply(multiply(multiply(size<0>(x), size<0>(x)), size<1>(x)), size<1>(x)), add(a, 1)), 0), false), nan, triangular_solve<left, upper>(b#0, triangular_solve<left, lower, unit>(b#0, c))), [size<2>(x), size<3>(x)]) : tensor<?x?xf64>
show("TensorSolve.dynamic", [x, y], ptl.TensorSolve()(x, y), {"x": ("m", "n", "k", "l"), "y": ("m", "n")})

# CHECK: TensorInv.dynamic: constraints: a_0 == m*n, tensorinv at an unnamed TensorInv node
# CHECK: d:2 = @lu_float64(dynamic_reshape<?x?xf64>(a, c)) : tensor<?x?xf64>, tensor<?xi32>
# CHECK-NEXT: e = dynamic_gather(convert<f64>(convert<i8>(EQ(dynamic_iota<0, ?x?xi64>(c), dynamic_iota<1, ?x?xi64>(c)))), d#1, concatenate<0>(minimum(b, 1), b)) {offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1, indices_are_sorted = false} : tensor<?x?xf64>
# CHECK-NEXT: return dynamic_reshape<?x?x?xf64>(select(reduce<[0], or>(EQ(real_dynamic_slice(dynamic_reshape<?xf64>(d#0, multiply(multiply(multiply(size<1>(a), size<1>(a)), size<2>(a)), size<2>(a))), 0, multiply(multiply(multiply(size<1>(a), size<1>(a)), size<2>(a)), size<2>(a)), add(b, 1)), 0), false), nan, triangular_solve<left, upper>(d#0, triangular_solve<left, lower, unit>(d#0, e))), concatenate<0>(size<1>(a), size<2>(a), b)) : tensor<?x?x?xf64>
show("TensorInv.dynamic", [a], ptl.TensorInv(1)(a), {"a": (None, "m", "n")})

# ---- LU: the factors taken apart, and the permutation in three forms
a = pt.dmatrix("a")

# CHECK: LU.dynamic: b:2 = @lu_float64(a) : tensor<?x?xf64>, tensor<?xi32>
# CHECK-NEXT: c = dynamic_iota<0, ?x?xi64>([size<0>(a), size<0>(a)]) : tensor<?x?xi64>
# CHECK-NEXT: d = dynamic_iota<1, ?x?xi64>([size<0>(a), size<0>(a)]) : tensor<?x?xi64>
# CHECK-NEXT: return convert<f64>(convert<i8>(EQ(c, dynamic_broadcast_in_dim<[1], ?x?xi64>(convert<i64>(b#1), [size<0>(a), size<0>(a)])))), add(select(GE(add(c, -1), d), b#0, 0), convert<f64>(convert<i8>(EQ(c, d)))), select(LE(c, d), b#0, 0) : tensor<?x?xf64>, tensor<?x?xf64>, tensor<?x?xf64>
# CHECK-NEXT: @lu_float64(tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xi32>) implements "lu":
show("LU.dynamic", [a], ptl.LU()(a), {"a": ("n", "n")})

# ---- LUFactor and PivotToPermutations: a private function for the factors, a loop of exchanges for the permutation
pivots = pt.ivector("pivots")

# CHECK: LUFactor.dynamic: b:2 = @lu_factor_float64(a) : tensor<?x?xf64>, tensor<?xi32>
# CHECK-NEXT: return select(reduce<[0], or>(EQ(real_dynamic_slice(dynamic_reshape<?xf64>(b#0, multiply(size<0>(a), size<0>(a))), 0, multiply(size<0>(a), size<0>(a)), add(size<0>(a), 1)), 0), false), nan, b#0), b#1 : tensor<?x?xf64>, tensor<?xi32>
# CHECK-NEXT: @lu_factor_float64(tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xi32>) implements "lu_factor":
show("LUFactor.dynamic", [a], ptl.LUFactor()(a), {"a": ("n", "n")})

# The other direction sorts the places by the permutation.
# CHECK: PivotToPermutations.dynamic: {{.*}}
# CHECK: d:2 = while<(p0, p1) -> LT(p0, size<0>(pivots))>(0, a) : tensor<i64>, tensor<?xi64>
# CHECK: e:2 = sort(d#1, a) {dimension = 0, is_stable = true, (p0, p1, p2, p3) -> LT(p0, p1)} : tensor<?xi64>, tensor<?xi64>
# CHECK-NEXT: return e#1 : tensor<?xi64>
show("PivotToPermutations.dynamic", [pivots], ptl.PivotToPermutations(inverse=False)(pivots), {"pivots": ("n",)})

# ---- QR: private functions for the packed factors and for the product of their reflections
# CHECK: QR.dynamic: b:2 = @householder_qr_float64(a) : tensor<?x?xf64>, tensor<?xf64>
# CHECK-NEXT: c = dynamic_pad(real_dynamic_slice(b#0, 0, concatenate<0>(size<0>(a), minimum(size<0>(a), size<1>(a))), 1), 0, 0, concatenate<0>(0, maximum(add(size<0>(a), multiply(size<1>(a), -1)), 0)), 0) : tensor<?x?xf64>
# CHECK-NEXT: return @householder_product_float64(c, b#1), select(LE(dynamic_iota<0, ?x?xi64>([size<0>(a), size<1>(a)]), dynamic_iota<1, ?x?xi64>([size<0>(a), size<1>(a)])), b#0, 0) : tensor<?x?xf64>, tensor<?x?xf64>
# CHECK-NEXT: @householder_qr_float64(tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xf64>) implements "householder_qr":
# CHECK: @householder_product_float64(tensor<?x?xf64>, tensor<?xf64>) -> tensor<?x?xf64> implements "householder_product":
show("QR.dynamic", [a], ptl.QR()(a), {"a": ("m", "n")})

# ---- Lstsq: from singular values; the number of residuals is data
c = pt.dscalar("c")

# CHECK: Lstsq.dynamic: {{.*}}
# CHECK: e:3 = @svd_float64(select(d, a, 0)) : tensor<?x?xf64>, tensor<?xf64>, tensor<?x?xf64>
# CHECK: i = dot_general<[0], [0]>(select(d, e#2, nan), multiply(dot_general<[0], [0]>(select(d, e#0, nan), b), dynamic_broadcast_in_dim<[0], ?x?xf64>(select(h, divide(1, select(h, f, 1)), 0), concatenate<0>(minimum(size<0>(a), size<1>(a)), size<1>(b))))) : tensor<?x?xf64>
# CHECK: @svd_float64(tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xf64>, tensor<?x?xf64>) implements "svd":
show("Lstsq.dynamic", [a, b, c], ptl.Lstsq()(a, b, c), {"a": ("m", "n"), "b": ("m", "k")})

# ---- Eig and Schur: private functions whose body is a call that only a library can stand for
# CHECK: Eig.dynamic: b = reduce<[0, 1], and>(is_finite(a), true) : tensor<i1>
# CHECK-NEXT: c:2 = @eig_float64(select(b, a, 0)) : tensor<?xcomplex<f64>>, tensor<?x?xcomplex<f64>>
# CHECK-NEXT: return select(b, c#0, (0x7FF8000000000000,0.000000e+00)), select(b, c#1, (0x7FF8000000000000,0.000000e+00)) : tensor<?xcomplex<f64>>, tensor<?x?xcomplex<f64>>
# CHECK-NEXT: @eig_float64(tensor<?x?xf64>) -> (tensor<?xcomplex<f64>>, tensor<?x?xcomplex<f64>>) implements "eig":
show("Eig.dynamic", [a], ptl.Eig()(a), {"a": ("n", "n")})

# CHECK: Schur.dynamic: b:2 = @schur_float64(select(reduce<[0, 1], and>(is_finite(a), true), a, 0)) : tensor<?x?xf64>, tensor<?x?xf64>
# CHECK-NEXT: return select(reduce<[0, 1], and>(is_finite(a), true), b#0, nan), select(reduce<[0, 1], and>(is_finite(a), true), b#1, nan) : tensor<?x?xf64>, tensor<?x?xf64>
# CHECK-NEXT: @schur_float64(tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?x?xf64>) implements "schur":
show("Schur.dynamic", [a], ptl.Schur()(a), {"a": ("n", "n")})

# ---- Eigh and Eigvalsh: a private function for eigenvectors and values; what is not finite does not get there
a, b = pt.dmatrices("a", "b")

# CHECK: Eigh.dynamic: b = reduce<[0, 1], and>(is_finite(a), true) : tensor<i1>
# CHECK-NEXT: c:2 = @eigh_float64(select(b, a, 0)) : tensor<?x?xf64>, tensor<?xf64>
# CHECK-NEXT: return select(b, c#1, nan), select(b, c#0, nan) : tensor<?xf64>, tensor<?x?xf64>
# CHECK-NEXT: @eigh_float64(tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xf64>) implements "eigh":
show("Eigh.dynamic", [a], ptl.Eigh()(a), {"a": ("n", "n")})

# CHECK: Eigvalsh.dynamic: b = transpose<[1, 0]>(a) : tensor<?x?xf64>
# CHECK-NEXT: c = reduce<[0, 1], and>(is_finite(b), true) : tensor<i1>
# CHECK-NEXT: return select(c, @eigh_float64(select(c, b, 0))#1, nan) : tensor<?xf64>
# CHECK-NEXT: @eigh_float64(tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xf64>) implements "eigh":
show("Eigvalsh.dynamic", [a], ptl.Eigvalsh(lower=False)(a), {"a": ("n", "n")})

# ---- SVD and MatrixPinv: private functions for singular values, with their vectors, or with a complete set of them
# CHECK: SVD.dynamic: b = reduce<[0, 1], and>(is_finite(a), true) : tensor<i1>
# CHECK-NEXT: c:3 = @svd_complete_float64(select(b, a, 0)) : tensor<?x?xf64>, tensor<?xf64>, tensor<?x?xf64>
# CHECK-NEXT: return select(b, c#0, nan), select(b, c#1, nan), select(b, c#2, nan) : tensor<?x?xf64>, tensor<?xf64>, tensor<?x?xf64>
# CHECK-NEXT: @svd_complete_float64(tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xf64>, tensor<?x?xf64>) implements "svd_complete":
show("SVD.dynamic", [a], ptl.SVD()(a), {"a": ("m", "n")})

# CHECK: SVD.dynamic.values: b = reduce<[0, 1], and>(is_finite(a), true) : tensor<i1>
# CHECK-NEXT: return select(b, @singular_values_float64(select(b, a, 0)), nan) : tensor<?xf64>
# CHECK-NEXT: @singular_values_float64(tensor<?x?xf64>) -> tensor<?xf64> implements "singular_values":
show("SVD.dynamic.values", [a], ptl.SVD(compute_uv=False)(a), {"a": ("m", "n")})

# CHECK: MatrixPinv.dynamic: {{.*}}
# CHECK: c:3 = @svd_float64(select(b, a, 0)) : tensor<?x?xf64>, tensor<?xf64>, tensor<?x?xf64>
# CHECK: return dot_general<[1], [1]>(multiply(transpose<[1, 0]>(select(b, c#2, nan)), dynamic_broadcast_in_dim<[1], ?x?xf64>(select(f, divide(1, select(f, d, 1)), 0), concatenate<0>(size<1>(a), minimum(size<0>(a), size<1>(a))))), select(b, c#0, nan)) : tensor<?x?xf64>
# CHECK-NEXT: @svd_float64(tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xf64>, tensor<?x?xf64>) implements "svd":
show("MatrixPinv.dynamic", [a], ptl.MatrixPinv(hermitian=False)(a), {"a": ("m", "n")})

# ---- Expm: a branch for each degree of the approximant, then squarings
# CHECK: Expm.dynamic: {{.*}}
# CHECK: i1:2 = case(add(add(add(add(0, convert<i32>(GT(c, 0.0149559))), convert<i32>(GT(c, 0.25394))), convert<i32>(GT(c, 0.950418))), convert<i32>(GT(c, 2.09785)))) : tensor<?x?xf64>, tensor<?x?xf64>
# CHECK: j1:2 = @lu_float64(subtract(i1#1, i1#0)) : tensor<?x?xf64>, tensor<?xi32>
show("Expm.dynamic", [a], ptl.Expm()(a), {"a": ("n", "n")})

# ---- SolveDiscreteARE: doubling until the closed loop is gone
a, b, q, r = pt.dmatrices("a", "b", "q", "r")

# CHECK: SolveDiscreteARE.dynamic: {{.*}}
# CHECK: d:2 = @lu_float64(r) : tensor<?x?xf64>, tensor<?xi32>
# CHECK: k:4 = while<(p0, p1, p2, p3) -> and(not(LE(reduce<[0, 1], maximum>(abs(p1), -inf), 2.22045e-16)), LT(p0, 60))>(0, a, f, q) : tensor<i64>, tensor<?x?xf64>, tensor<?x?xf64>, tensor<?x?xf64>
# CHECK: g:2 = @lu_float64_1(add(convert<f64>(convert<i8>(EQ(dynamic_iota<0, ?x?xi64>([size<0>(a), size<0>(a)]), dynamic_iota<1, ?x?xi64>([size<0>(a), size<0>(a)])))), dot_general<[1], [0]>(p2, p3))) : tensor<?x?xf64>, tensor<?xi32>
# CHECK: i = triangular_solve<left, upper>(g#0, triangular_solve<left, lower, unit>(g#0, h)) : tensor<?x?xf64>
# CHECK: return select(and(LT(reduce<[0, 1], add>(abs(f), 0), inf), LE(reduce<[0, 1], maximum>(abs(k#1), -inf), 2.22045e-16)), multiply(add(k#3, transpose<[1, 0]>(k#3)), 0.5), nan) : tensor<?x?xf64>
show(
    "SolveDiscreteARE.dynamic",
    [a, b, q, r],
    ptl.solve_discrete_are(a, b, q, r),
    {"a": ("n", "n"), "b": ("n", "k"), "q": ("n", "n"), "r": ("k", "k")},
)

# ---- LUFactorTridiagonal and SolveLUFactorTridiagonal: loops over the rows
low, main, high, higher, b = pt.dvectors("low", "main", "high", "higher", "b")
factors = [low, main, high, higher, pivots]

# CHECK: LUFactorTridiagonal.dynamic: {{.*}}
# CHECK: b1:6 = while<(p0, p1, p2, p3, p4, p5) -> LT(p0, add(size<0>(main), -1))>(0, a, main, b, 0, add(convert<i32>(c), 1)) : tensor<i64>, tensor<?xf64>, tensor<?xf64>, tensor<?xf64>, tensor<?xf64>, tensor<?xi32>
# CHECK: return real_dynamic_slice(b1#1, 0, size<0>(low), 1), b1#2, real_dynamic_slice(b1#3, 0, size<0>(low), 1), real_dynamic_slice(b1#4, 0, add(size<0>(low), -1), 1), b1#5 : tensor<?xf64>, tensor<?xf64>, tensor<?xf64>, tensor<?xf64>, tensor<?xi32>
show("LUFactorTridiagonal.dynamic", [low, main, high], ptl.LUFactorTridiagonal()(low, main, high))

# CHECK: SolveLUFactorTridiagonal.dynamic: {{.*}}
# CHECK: o:2 = while<(p0, p1) -> LT(p0, a)>(0, dynamic_reshape<?x1xf64>(b, [size<0>(b), 1])) : tensor<i64>, tensor<?x1xf64>
# CHECK: d1:2 = while<(p0, p1) -> LT(p0, size<0>(main))>(0, o#1) : tensor<i64>, tensor<?x1xf64>
# CHECK: return dynamic_reshape<?xf64>(d1#1, size<0>(b)) : tensor<?xf64>
show("SolveLUFactorTridiagonal.dynamic", [*factors, b], ptl.SolveLUFactorTridiagonal(1, False)(*factors, b))

# ---- TRSYL: blocks on the diagonal made triangular, then a triangular solve for each column
a, b, c = pt.dmatrices("a", "b", "c")

# CHECK: TRSYL.dynamic: {{.*}}
# CHECK: n2:2 = while<(p0, p1) -> LT(p0, size<0>(b))>(0, (0.000000e+00,0.000000e+00)) : tensor<i64>, tensor<?x?xcomplex<f64>>
# CHECK: return real(dot_general<[1], [1]>(dot_general<[1], [0]>(f1, n2#1), k2)) : tensor<?x?xf64>
show("TRSYL.dynamic", [a, b, c], TRSYL()(a, b, c), {"a": ("m", "m"), "b": ("n", "n"), "c": ("m", "n")})

# ---- BlockDiagonal: padded blocks, one under the other
a, b = pt.dmatrices("a", "b")

# CHECK: BlockDiagonal.dynamic: c = dynamic_pad(a, 0, 0, [0, size<1>(b)], 0) : tensor<?x?xf64>
# CHECK-NEXT: d = dynamic_pad(b, 0, [0, size<1>(a)], 0, 0) : tensor<?x?xf64>
# CHECK-NEXT: return concatenate<0>(c, d) : tensor<?x?xf64>
show("BlockDiagonal.dynamic", [a, b], ptl.BlockDiagonal(2)(a, b), {"a": ("m", "n"), "b": ("k", "l")})
