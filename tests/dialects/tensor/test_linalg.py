"""Products, factorizations, solves, determinants, matrix equations: against PyTensor.

On two sizes where the graph leaves them open.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytensor.tensor as pt
import pytest
import scipy.linalg
from matrices import RNG, normal, positive, weighted, well
from pytensor.gradient import grad
from pytensor.tensor import blas, nlinalg
from pytensor.tensor import linalg as ptl
from pytensor.tensor.blockwise import Blockwise
from support import Case, assert_same, cases, check_lowering, reference

import hlograph

pytestmark = pytest.mark.sampled(4)

A, B, V = pt.dmatrix("a"), pt.dmatrix("b"), pt.dvector("v")
A3, B3 = pt.dtensor3("a3"), pt.dtensor3("b3")
BOTH = (True, False)
BATCHES = [((2, 3, 3), (2, 3, 4)), ((1, 3, 3), (2, 3, 4)), ((2, 3, 3), (1, 3, 4))]
SINGULAR = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]])

# A factorization rounds differently in another order of sums: the matrices below have small condition numbers.
LOOSE = 1e-10


def two(left: tuple[int, ...], right: tuple[int, ...]) -> list[Any]:
    """Variables of open sizes, but where they are 1."""
    return [
        pt.tensor(name, dtype="float64", shape=tuple(1 if n == 1 else None for n in shape))
        for name, shape in (("x", left), ("y", right))
    ]


def slogdet_op() -> Any:
    return (getattr(ptl, "SLogDet", None) or nlinalg.SLogDet)()


def lu_ops() -> tuple[Any, Any]:
    """PyTensor's op classes; their module moved in PyTensor 3."""
    try:
        from pytensor.tensor.linalg.decomposition.lu import LUFactor, PivotToPermutations
    except ImportError:
        from pytensor.tensor.slinalg import LUFactor, PivotToPermutations
    return LUFactor, PivotToPermutations


# ---- products -------------------------------------------------------------------------------------------------------


@cases(sampled=2)
def test_products() -> Iterator[Case]:
    shapes = [((3,), (3,)), ((3,), (3, 2)), ((4, 3), (3,)), ((4, 3), (3, 2)), ((2, 1), (1, 3))]
    for left, right in shapes:
        xs = [pt.tensor(name, dtype="float64", shape=(None,) * len(s)) for name, s in (("x", left), ("y", right))]
        yield f"dot {left} {right}", xs, pt.dot(*xs), [normal(*left), normal(*right)]
    # The reference interpreter (jaxlib 0.10) aborts on a contraction of no elements.
    yield "dot over none", [A, B], pt.dot(A, B), [normal(2, 0), normal(0, 3)], {"interpret": False}
    for dtype in ("float32", "complex64", "complex128", "int8", "uint8", "int32", "int64", "bool"):
        x, y = pt.matrix("x", dtype=dtype), pt.matrix("y", dtype=dtype)
        values = [np.array(RNG.integers(0, 2, size=s) * 3 - (dtype[0] != "u"), dtype) for s in ((2, 4), (4, 3))]
        yield f"dot {dtype}", [x, y], pt.dot(x, y), values
    x, y = pt.imatrix("x"), pt.fmatrix("y")
    yield "dot of two dtypes", [x, y], pt.dot(x, y), [RNG.integers(-5, 5, (2, 3)), normal(3, 2).astype("float32")]
    stacks = [((2, 4, 3), (2, 3, 5)), ((2, 4, 3), (3, 5)), ((4, 3), (2, 3, 5)), ((1, 4, 3), (2, 3, 5))]
    for left, right in [*stacks, ((6, 1, 4, 3), (2, 3, 5))]:
        x, y = two(left, right)
        yield f"matmul {left} {right}", [x, y], x @ y, [normal(*left), normal(*right)]
    for name, left, right in (("vecdot", (2, 3), (2, 3)), ("matvec", (2, 4, 3), (2, 3)), ("vecmat", (2, 3), (2, 3, 4))):
        xs = two(left, right)
        yield name, xs, getattr(pt, name)(*xs), [normal(*left), normal(*right)]


@cases(sampled=2)
def test_blas_ops() -> Iterator[Case]:
    """Made directly. The scalars are inputs in one case and the constants 0 and 1 in the others."""
    y, x, alpha, beta = pt.dvector("y"), pt.dvector("x"), pt.dscalar("alpha"), pt.dscalar("beta")
    start, matrix, vector = normal(4), normal(4, 3), normal(3)
    for op in (blas.gemv_no_inplace, blas.gemv_inplace):
        for a, b in ((1.0, 0.0), (0.0, 1.0), (2.0, -3.0)):
            graph, expected = op(y, np.float64(a), A, x, np.float64(b)), b * start + a * matrix @ vector
            yield f"{op} {a} {b}", [y, A, x], graph, [start, matrix, vector], {"expected": [expected]}
        graph, expected = op(y, alpha, A, x, beta), -0.5 * start + 1.5 * matrix @ vector
        yield f"{op}", [y, A, x, alpha, beta], graph, [start, matrix, vector, 1.5, -0.5], {"expected": [expected]}
    unread, one = blas.gemv_no_inplace(y, np.float64(1), A, x, np.float64(0)), np.float64(1)
    values = [[np.nan, np.inf, 0, 0], matrix, vector]
    yield "gemv does not read what is scaled by zero", [y, A, x], unread, values, {"expected": [matrix @ vector]}
    left, right = pt.dmatrix("x"), pt.dmatrix("y")
    for shape in [(4, 5), (1, 5), (4, 1), (1, 1)]:
        z = pt.tensor("z", dtype="float64", shape=tuple(1 if n == 1 else None for n in shape))
        values = [normal(*shape), np.float64(0.5), normal(4, 3), normal(3, 5), np.float64(-2)]
        expected = values[4] * values[0] + values[1] * values[2] @ values[3]
        inputs = [z, alpha, left, right, beta]
        yield f"gemm {shape}", inputs, blas.gemm_no_inplace(*inputs), values, {"expected": [expected]}
    values = [normal(4, 5), normal(4, 3), normal(3, 5)]
    expected = values[0] + values[1] @ values[2]
    yield "gemm in place", [A, B, left], blas.gemm_inplace(A, one, B, left, one), values, {"expected": [expected]}
    if hasattr(blas, "ger"):  # PyTensor 3.3 has no such op
        yield "ger", [A, alpha, x, y], blas.ger(A, alpha, x, y), [normal(4, 3), -2.0, normal(4), normal(3)]
    dots = [blas._dot22(A, B), blas._dot22scalar(A, B, alpha)]
    yield "dot22 and its scaled form", [A, B, alpha], dots, [normal(4, 3), normal(3, 2), 1.5]
    batched = getattr(blas, "_batched_dot", None) or blas.BatchedDot()
    yield "batched dot", [A3, B3], batched(A3, B3), [normal(2, 4, 3), normal(2, 3, 5)]


@pytest.mark.parametrize(
    ("inputs", "output", "shapes", "message"),
    [
        ([A3, B3], A3 @ B3, [(1, 3, 3), (2, 3, 3)], r"a3_0 == b3_0.*a3_0 = 1, b3_0 = 2"),  # 1 by chance: no stretching
        ([A, B], pt.dot(A, B), [(2, 3), (2, 3)], r"a_1 == b_0.*a_1 = 3, b_0 = 2"),
        ([A], ptl.det(A), [(2, 3)], "a_0 == a_1"),
        ([A], ptl.cholesky(A), [(2, 3)], "a_0 == a_1"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(inputs: Any, output: Any, shapes: Any, message: str) -> None:
    function = hlograph.emit_stablehlo((inputs, [output])).compile()
    with pytest.raises(hlograph.errors.ArgumentShapeError, match=message):
        function(*[normal(*shape) for shape in shapes])


# ---- factorizations, solves, inverses --------------------------------------------------------------------------------

ASSUME = ["gen", "sym", "her", "pos", "tridiagonal", "banded", "diagonal", "upper triangular", "lower triangular"]


@cases(sampled=2, rtol=LOOSE)
def test_cholesky() -> Iterator[Case]:
    for lower in BOTH:
        graph, side = ptl.cholesky(A, lower=lower), np.tril if lower else np.triu
        for n in (0, 1, 2, 7):
            yield f"{lower} {n}", [A], graph, [positive(n, n)]
        matrix = side(positive(4, 4)) + np.triu(np.full((4, 4), 9.0), 1) * lower
        yield f"{lower} reads one triangle", [A], graph, [matrix]
        x = A @ A.T + 4 * pt.eye(A.shape[0])
        yield f"{lower} gradient", [A], grad(weighted(ptl.cholesky(x, lower=lower)), A), [normal(4, 4)]
        outputs = [ptl.cho_solve((A, lower), B), ptl.cho_solve((A, lower), V)]
        factor = np.linalg.cholesky(positive(4, 4))
        yield f"{lower} solve", [A, B, V], outputs, [factor if lower else factor.T, normal(4, 2), normal(4)]
    batch = [ptl.cholesky(A3), ptl.cholesky(A3, lower=False)]
    yield "batch", [A3], batch, [positive(3, 4, 4)]
    yield "empty batch", [A3], batch, [np.zeros((0, 4, 4))], {"expected": [np.zeros((0, 4, 4))] * 2}
    for dtype in ("float32", "int64", "complex128"):
        x = pt.matrix("x", dtype=dtype)
        matrix = np.array([[4, 1, 2], [1, 5, -1], [2, -1, 6]], dtype)
        if dtype.startswith("complex"):
            matrix = matrix + 1j * np.array([[0, 1, -1], [-1, 0, 1], [1, -1, 0]])
        options = {"rtol": 1e-5} if dtype == "float32" else {}
        yield dtype, [x], [ptl.cholesky(x), ptl.cholesky(x, lower=False)], [matrix], options
    # What is not positive definite: the triangle is NaN, the other one stays zero, and so do other matrices.
    for bad in ([[1.0, 2.0], [2.0, 1.0]], [[-1.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]]):
        ones, values = np.ones((2, 2)), np.stack([np.array(bad), np.eye(2) * 4])
        expected = [np.stack([np.where(f(ones) > 0, np.nan, 0), np.eye(2) * 2]) for f in (np.tril, np.triu)]
        yield f"NaN of {bad}", [A3], batch, [values], {"expected": expected}
    graph = ptl.cho_solve((A[None], True), B3, b_ndim=2)
    yield "solve of a batch with one factor", [A, B3], graph, [np.linalg.cholesky(positive(3, 3)), normal(4, 3, 2)]


@cases(sampled=3, rtol=LOOSE)
def test_solve_triangular() -> Iterator[Case]:
    for lower in BOTH:
        for unit in BOTH:
            for trans in (0, 1, 2):  # the other triangle, and a unit diagonal, hold numbers that must not be read
                options = {"lower": lower, "trans": trans, "unit_diagonal": unit}
                outputs = [ptl.solve_triangular(A, B, **options), ptl.solve_triangular(A, V, **options)]
                yield f"{lower} {unit} {trans}", [A, B, V], outputs, [well(4, 4), normal(4, 3), normal(4)]
            x = ptl.solve_triangular(A, B, lower=lower, unit_diagonal=unit)
            yield f"{lower} {unit} gradient", [A, B], grad(weighted(x), [A, B]), [positive(4, 4), normal(4, 2)]
    outputs = [ptl.solve_triangular(A, B), ptl.solve_triangular(A, V, lower=True)]
    for n in (0, 1):
        yield f"few: {n}", [A, B, V], outputs, [positive(n, n), normal(n, 2), normal(n)]
    yield "no right-hand sides", [A, B], ptl.solve_triangular(A, B), [positive(3, 3), normal(3, 0)]
    for left, right in BATCHES:
        x, y = two(left, right)
        yield f"batch {left}", [x, y], ptl.solve_triangular(x, y, lower=True), [positive(*left), normal(*right)]
    yield "vectors", [A3, B], ptl.solve_triangular(A3, B, b_ndim=1), [positive(2, 3, 3), normal(2, 3)]
    singular = np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 4.0], [0.0, 0.0, 5.0]])
    outputs = [ptl.solve_triangular(A, V), ptl.solve_triangular(A, V, unit_diagonal=True)]
    yield "singular", [A, V], outputs, [singular, normal(3)]


@cases(sampled=3, rtol=LOOSE)
def test_solve() -> Iterator[Case]:
    for assume_a in ASSUME:
        for lower in BOTH:
            matrix = positive(4, 4) if assume_a in ("sym", "her", "pos") else well(4, 4) + 5 * np.eye(4)
            if assume_a in ("tridiagonal", "banded"):
                matrix = np.triu(np.tril(matrix, 1), -1 if assume_a == "tridiagonal" else -2)
            elif assume_a in ("sym", "her", "pos"):
                side = np.tril if lower else np.triu
                matrix = side(matrix) + 7 * (1 - side(np.ones((4, 4))))  # the other triangle must not be read
            options = {"assume_a": assume_a, "lower": lower}
            solutions = [ptl.solve(A, B, **options), ptl.solve(A, V, **options)]
            outputs = [*solutions, ptl.solve(A, B, transposed=True, **options)]
            yield f"{assume_a} {lower}", [A, B, V], outputs, [matrix, normal(4, 3), normal(4)]
    outputs = [ptl.solve(A, B), ptl.solve(A, V)]
    for n in (1, 2):
        yield f"few: {n}", [A, B, V], outputs, [well(n, n), normal(n, 2), normal(n)]
    nothing = {"expected": [np.zeros((0, 2)), np.zeros(0)]}
    yield "nothing", [A, B, V], outputs, [normal(0, 0), normal(0, 2), normal(0)], nothing
    # The first pivots are zero: elimination without exchanges divides by zero.
    matrix = np.array([[0.0, 2.0, 1.0], [1.0, 0.0, 0.0], [3.0, 0.0, 4.0]])
    yield "row exchanges", [A, V], ptl.solve(A, V), [matrix, normal(3)]
    for assume_a in ("gen", "sym", "pos"):
        singular, nan = np.array([[1.0, 2.0], [2.0, 4.0]]), {"expected": [np.full((2, 2), np.nan)]}
        yield f"singular {assume_a}", [A, B], ptl.solve(A, B, assume_a=assume_a), [singular, np.eye(2)], nan
        loss = weighted(ptl.solve(A, B, assume_a=assume_a), ptl.solve(A, V, assume_a=assume_a))
        values = [positive(4, 4), normal(4, 2), normal(4)]
        yield f"gradient {assume_a}", [A, B, V], grad(loss, [A, B, V]), values
    for left, right in BATCHES:
        x, y = two(left, right)
        for assume_a in ("gen", "pos"):
            graph = ptl.solve(x, y, assume_a=assume_a)
            yield f"batch {left} {assume_a}", [x, y], graph, [positive(*left), normal(*right)]
    matrices = np.stack([np.eye(3)[[1, 2, 0]] * 2, np.eye(3)[[2, 1, 0]] * 3, well(3, 3)])
    yield "other row exchanges in each", [A3, B], ptl.solve(A3, B, b_ndim=1), [matrices, normal(3, 3)]
    matrices, sides = np.stack([np.ones((2, 2)), np.eye(2) * 2]), normal(2, 2, 1)
    expected = np.stack([np.full((2, 1), np.nan), sides[1] / 2])
    yield "one is singular", [A3, B3], ptl.solve(A3, B3), [matrices, sides], {"expected": [expected]}
    sides = np.zeros((0, 3, 2))
    yield "empty batch", [A3, B3], ptl.solve(A3, B3), [np.zeros((0, 3, 3)), sides], {"expected": [sides]}
    loss = weighted(ptl.solve(A3, B3))
    yield "gradient of a batch", [A3, B3], grad(loss, [A3, B3]), [well(2, 3, 3), normal(2, 3, 2)]
    for dtype in ("float32", "int64", "complex128"):
        x, y = pt.matrix("x", dtype=dtype), pt.matrix("y", dtype=dtype)
        matrix = np.array([[0, 2, 1], [4, 1, -1], [1, 3, 5]], dtype)
        if dtype.startswith("complex"):
            matrix = matrix * np.exp(1j * np.arange(9).reshape(3, 3))
        values = [matrix, np.array([[1, 2], [3, 4], [-5, 6]], dtype)]
        options = {"rtol": 1e-5} if dtype == "float32" else {}
        yield dtype, [x, y], [ptl.solve(x, y), ptl.inv(x), ptl.det(x)], values, options
    x, y = pt.zmatrix("x"), pt.zmatrix("y")
    factor = well(3, 3) + 1j * normal(3, 3)
    hermitian = factor @ factor.conj().T + 3 * np.eye(3)
    outputs = [ptl.solve(x, y, assume_a="her"), ptl.solve(x, y, assume_a="pos"), ptl.solve_triangular(x, y, trans=2)]
    outputs += [ptl.cho_solve((ptl.cholesky(x), True), y)]
    yield "complex ones conjugate", [x, y], outputs, [hermitian, normal(3, 2) + 1j * normal(3, 2)]
    n = A.shape[0]  # LU is a function of its own in the module; the size of its matrix is 2 n + 1
    big = pt.set_subtensor(pt.eye(2 * n + 1)[:n, :n], A)
    yield "a size that is no axis of an input", [A], [ptl.inv(big), ptl.det(big)], [well(3, 3)]


@cases(sampled=2, rtol=LOOSE)
def test_det_and_inverse() -> Iterator[Case]:
    outputs, batch = [ptl.det(A), ptl.inv(A), *slogdet_op()(A)], [ptl.det(A3), ptl.inv(A3)]
    for n in (0, 1, 2, 5):
        yield f"{n}", [A], outputs, [well(n, n)]
        yield f"batch {n}", [A3], batch, [well(3, n, n)]
    yield "slogdet of a batch", [A3], list(Blockwise(slogdet_op())(A3)), [well(3, 4, 4)]
    yield "singular", [A], [outputs[0], *outputs[2:]], [SINGULAR], {"expected": [0.0, 0.0, -np.inf]}
    yield "inverse of a singular one", [A], ptl.inv(A), [np.ones((2, 2))], {"expected": [np.full((2, 2), np.nan)]}
    for rows in ([0, 1, 2], [1, 0, 2], [1, 2, 0], [2, 1, 0]):
        permutation = np.eye(3)[rows]
        parity = np.linalg.det(permutation)
        options = {"expected": [parity, parity, 0.0]}
        yield f"sign {rows}", [A], [outputs[0], *outputs[2:]], [permutation], options
    for name, function in {"det": ptl.det, "inv": ptl.inv, "slogdet": lambda x: ptl.slogdet(x)[1]}.items():
        yield f"gradient of {name}", [A], grad(weighted(function(A)), A), [well(4, 4)]
    yield "gradient of a batch", [A3], grad(weighted(*batch), A3), [well(2, 3, 3)]
    factor, permutations = lu_ops()
    for n in (1, 2, 5):
        factors, pivots = factor()(A)
        outputs = [factors, pivots, permutations(inverse=True)(pivots), permutations(inverse=False)(pivots)]
        yield f"lu_factor {n}", [A], outputs, [np.random.default_rng(n).normal(size=(n, n))]
    factors, pivots = Blockwise(factor())(A3)
    outputs = [factors, pivots, Blockwise(permutations(inverse=False))(pivots)]
    yield "lu_factor of a batch", [A3], outputs, [np.random.default_rng(0).normal(size=(3, 4, 4))]


def test_two_sizes_in_one_program() -> None:
    outputs = [ptl.det(A), ptl.det(B), ptl.inv(A.T), ptl.det(A @ A)]
    program = check_lowering([A, B], outputs, well(3, 3), well(4, 4), rtol=LOOSE)
    function = program.compile()
    for n, m in ((1, 5), (6, 6)):
        values = [well(n, n), well(m, m)]
        for found, expected in zip(function(*values), reference([A, B], outputs, values), strict=True):
            assert_same(found, expected, rtol=LOOSE)


def test_rewritten_linear_algebra_has_rules() -> None:
    """PyTensor's own rewrites make solves and factorizations of inverses and determinants."""
    x = A @ A.T + pt.eye(A.shape[0])
    outputs = [ptl.inv(x) @ B, pt.log(ptl.det(x)), ptl.solve(x, B, assume_a="pos"), B.T @ ptl.inv(x) @ B]
    outputs += [ptl.solve(A, B), ptl.solve(A, 2 * B), ptl.solve(A.T, B), ptl.inv(A) @ B]
    function = hlograph.function([A, B], outputs, rewrite="full")
    for n in (2, 5):
        values = [normal(n, n), normal(n, 3)]
        for found, expected in zip(function(*values), reference([A, B], outputs, values), strict=True):
            assert_same(found, expected, rtol=LOOSE)


# ---- the matrix exponential, blocks, Sylvester's and Lyapunov's equations, tridiagonal systems -----------------------

C, Q, R = pt.dmatrix("c"), pt.dmatrix("q"), pt.dmatrix("r")
LOOSER = 1e-9
OF_LIBRARY = {"interpret": False, "padded": False}  # Schur forms are LAPACK's, on CPU alone


@cases(sampled=6, rtol=LOOSER)
def test_expm() -> Iterator[Case]:
    for size in (1e-3, 0.05, 0.3, 1.0, 3.0, 40.0):  # of each degree, and with squarings
        for n in (1, 2, 5):
            yield f"{size} {n}", [A], ptl.expm(A), [normal(n, n) * size / n], {"rtol": 1e-8}
    for dtype in ("float32", "complex64", "complex128", "int64"):
        x = pt.matrix("x", dtype=dtype)
        value = np.array([[1, 2, 0], [-1, 0, 1], [3, 1, -2]]).astype(dtype)
        value = value * np.exp(0.5j).astype(dtype) if dtype.startswith("complex") else value
        yield dtype, [x], ptl.expm(x), [value], {"rtol": 1e-4 if dtype in ("float32", "complex64") else LOOSER}
    batch = normal(3, 4, 4) * np.array([1e-3, 1.0, 20.0])[:, None, None]
    yield "a batch of very different sizes", [A3], ptl.expm(A3), [batch], {"rtol": 1e-8}
    yield "an empty batch", [A3], ptl.expm(A3), [np.zeros((0, 3, 3))], {"expected": [np.zeros((0, 3, 3))]}
    yield "zero", [A], ptl.expm(A), [np.zeros((3, 3))], {"expected": [np.eye(3)]}
    nilpotent, expected = np.array([[0.0, 1e3], [0.0, 0.0]]), np.array([[1.0, 1e3], [0.0, 1.0]])
    yield "nilpotent", [A], ptl.expm(A), [nilpotent], {"expected": [expected]}
    yield "gradient", [A], grad(weighted(ptl.expm(A)), A), [normal(3, 3)], {"rtol": 1e-7}
    for power in (0, 1, 2, 5, -2):
        yield f"power {power}", [A], ptl.matrix_power(A, power), [well(3, 3)]


@cases(sampled=2, rtol=LOOSER)
def test_blocks() -> Iterator[Case]:
    for shapes in ([(2, 3), (1, 2)], [(1, 1), (0, 2), (3, 1)], [(2, 0), (2, 2)]):
        inputs = [pt.dmatrix(f"x{i}") for i in range(len(shapes))]
        yield f"{shapes}", inputs, ptl.block_diag(*inputs), [normal(*shape) for shape in shapes]
    x, y = pt.imatrix("x"), pt.ftensor3("y")
    graph = ptl.block_diag(x, y)
    values = [np.arange(4, dtype="int32").reshape(2, 2), normal(3, 1, 2).astype("float32")]
    expected = np.stack([scipy.linalg.block_diag(values[0], y) for y in values[1]]).astype(graph.dtype)
    yield "of dtypes and batches", [x, y], graph, values, {"expected": [expected]}
    outputs = grad(weighted(ptl.block_diag(A, B)), [A, B])
    yield "gradient", [A, B], outputs, [normal(2, 3), normal(1, 2)], {"static": False}
    outputs = [ptl.kron(A, B), *grad(weighted(ptl.kron(A, B)), [A, B])]
    yield "kronecker product", [A, B], outputs, [normal(2, 3), normal(3, 1)]


def schur_form(n: int, *, complex_pairs: bool) -> np.ndarray:
    """A Schur form with eigenvalues on the right; with blocks of two where it has complex pairs."""
    if not complex_pairs:
        return np.triu(normal(n, n)) + 4 * np.eye(n)
    x = normal(n, n)
    form = scipy.linalg.schur(x - x.T + 4 * np.eye(n) + 0.3 * normal(n, n), output="real")[0]
    assert (np.diag(form, -1) != 0).any()
    return form


@cases(sampled=4, rtol=LOOSER)
def test_equations() -> Iterator[Case]:
    from pytensor.tensor.linalg.solvers.linear_control import TRSYL

    for sizes in ((4, 3), (5, 6)):
        for pairs in ((False, False), (True, False), (False, True), (True, True)):
            a, b = (schur_form(n, complex_pairs=found) for n, found in zip(sizes, pairs, strict=True))
            yield f"trsyl {sizes} {pairs}", [A, B, C], TRSYL()(A, B, C), [a, b, normal(*sizes)]
    for dtype in ("float32", "complex64", "complex128"):
        a, b, c = (pt.matrix(name, dtype=dtype) for name in "abc")
        values = [np.triu(normal(3, 3)) + 3 * np.eye(3), np.triu(normal(2, 2)) + 3 * np.eye(2), normal(3, 2)]
        values = [(x * np.exp(0.2j) if dtype.startswith("complex") else x).astype(dtype) for x in values]
        rtol = LOOSER if dtype == "complex128" else 1e-4
        yield f"trsyl {dtype}", [a, b, c], TRSYL()(a, b, c), values, {"rtol": rtol}
    for dtype in ("float32", "float64", "complex128"):
        a, b, c = (pt.matrix(name, dtype=dtype) for name in "abc")
        values = [x.astype(dtype) for x in (normal(3, 3) + 4 * np.eye(3), normal(4, 4) + 4 * np.eye(4), normal(3, 4))]
        outputs = [ptl.solve_sylvester(a, b, c), ptl.solve_continuous_lyapunov(a, a)]
        if dtype == "float64":
            outputs += grad(weighted(outputs[0]), [a, b, c])
        rtol = 1e-3 if dtype == "float32" else LOOSER
        yield f"sylvester and lyapunov {dtype}", [a, b, c], outputs, values, {"rtol": rtol, **OF_LIBRARY}
    for method in ("direct", "bilinear"):
        graph = ptl.solve_discrete_lyapunov(A, B, method=method)
        outputs, options = [graph, *grad(weighted(graph), [A, B])], {} if method == "direct" else OF_LIBRARY
        yield f"discrete lyapunov {method}", [A, B], outputs, [normal(3, 3) / 4, positive(3, 3)], options
    values = [normal(2, 3, 3) + 4 * np.eye(3), normal(2, 3, 3) + 4 * np.eye(3)]
    yield "sylvester of a batch", [A3, B3], ptl.solve_sylvester(A3, B3, A3), values, OF_LIBRARY
    riccati = ptl.solve_discrete_are(A, B, Q, R)
    for n, k in ((1, 1), (4, 2), (3, 3)):  # of systems that are unstable by themselves
        values = [normal(n, n) * 1.5, normal(n, k), positive(n, n), positive(k, k)]
        expected = scipy.linalg.solve_discrete_are(*values)
        yield f"riccati {n} {k}", [A, B, Q, R], riccati, values, {"expected": [expected]}
    values, outputs = (
        [normal(3, 3), normal(3, 2), positive(3, 3), positive(2, 2)],
        grad(weighted(riccati), [A, B, Q, R]),
    )
    yield "gradient of riccati", [A, B, Q, R], outputs, values, {"rtol": 1e-7, **OF_LIBRARY}
    # Nothing controls, or weighs, what is unstable; or R is singular.
    none = [(2.0, 0.0, 1.0, 1.0), (2.0, 1.0, 0.0, 1.0), (0.5, 1.0, 1.0, 0.0), (1.0, 0.0, 0.0, 1.0)]
    for parts in [*none, (np.nan, 1.0, 1.0, 1.0)]:
        values = [np.full((1, 1), x) for x in parts]
        yield f"no solution {parts}", [A, B, Q, R], riccati, values, {"expected": [np.full((1, 1), np.nan)]}


def tridiagonal(*shape: int) -> np.ndarray:
    return np.triu(np.tril(normal(*shape), 1), -1)


@cases(sampled=3, rtol=LOOSER)
def test_tridiagonal_systems() -> Iterator[Case]:
    """The factors, with exchanges of rows; solutions for a vector and a matrix."""
    from pytensor.tensor.linalg.solvers.tridiagonal import tridiagonal_lu_factor, tridiagonal_lu_solve

    factors, vector = tridiagonal_lu_factor(A), pt.dvector("v")
    for transposed in (False, True):
        solutions = [tridiagonal_lu_solve(factors, b, b_ndim=b.ndim, transposed=transposed) for b in (B, vector)]
        for n in (3, 4, 7):
            values = [tridiagonal(n, n), normal(n, 2), normal(n)]
            yield f"{transposed} {n}", [A, B, vector], [*factors, *solutions], values
    for dtype in ("float32", "complex128"):
        a, b = pt.matrix("a", dtype=dtype), pt.matrix("b", dtype=dtype)
        own = tridiagonal_lu_factor(a)
        values = [tridiagonal(4, 4), normal(4, 2)]
        values = [(x + (1j * x[::-1] if dtype[0] == "c" else 0)).astype(dtype) for x in values]
        rtol = LOOSER if dtype == "complex128" else 1e-3
        yield dtype, [a, b], [*own, tridiagonal_lu_solve(own, b, b_ndim=2)], values, {"rtol": rtol}
    graph = tridiagonal_lu_solve(tridiagonal_lu_factor(A3), B3, b_ndim=2)
    yield "batch", [A3, B3], graph, [tridiagonal(3, 4, 4), normal(3, 4, 2)]
    singular = np.diag([1.0, 0.0, 0.0, 2.0]) + np.diag([0.0, 0.0, 1.0], -1) + np.diag([3.0, 1.0, 1.0], 1)
    yield "singular", [A], list(factors), [singular]
