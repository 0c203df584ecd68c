"""The matrix exponential, block diagonals, products, Sylvester's and Lyapunov's equations, tridiagonal systems."""

from __future__ import annotations

import numpy as np
import pytensor.tensor as pt
import pytest
import scipy.linalg
from matrices import normal, positive, weighted, well
from pytensor.gradient import grad
from pytensor.tensor import linalg as ptl
from support import check_lowering

pytestmark = pytest.mark.sampled(8)

A, B, C = pt.dmatrix("a"), pt.dmatrix("b"), pt.dmatrix("c")
A3, B3 = pt.dtensor3("a3"), pt.dtensor3("b3")
LOOSE = 1e-9

# ---- the exponential ------------------------------------------------------------------------------------------------


@pytest.mark.sampled(6)
@pytest.mark.parametrize("size", [1e-3, 0.05, 0.3, 1.0, 3.0, 40.0])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_expm(n: int, size: float) -> None:
    """Of each degree, and with squarings."""
    check_lowering([A], ptl.expm(A), normal(n, n) * size / n, rtol=1e-8)


@pytest.mark.parametrize("dtype", ["float32", "complex64", "complex128", "int64"])
def test_expm_dtypes(dtype: str) -> None:
    x = pt.matrix("x", dtype=dtype)
    value = np.array([[1, 2, 0], [-1, 0, 1], [3, 1, -2]]).astype(dtype)
    if dtype.startswith("complex"):
        value = value * np.exp(0.5j).astype(dtype)
    check_lowering([x], ptl.expm(x), value, rtol=1e-4 if dtype in ("float32", "complex64") else LOOSE)


def test_expm_of_a_batch() -> None:
    """Matrices of very different sizes, and none."""
    batch = normal(3, 4, 4) * np.array([1e-3, 1.0, 20.0])[:, None, None]
    check_lowering([A3], ptl.expm(A3), batch, rtol=1e-8)
    check_lowering([A3], ptl.expm(A3), np.zeros((0, 3, 3)), expected=[np.zeros((0, 3, 3))])


def test_expm_of_zero_is_the_identity() -> None:
    check_lowering([A], ptl.expm(A), np.zeros((3, 3)), expected=[np.eye(3)])


def test_expm_of_a_nilpotent_matrix() -> None:
    check_lowering([A], ptl.expm(A), np.array([[0.0, 1e3], [0.0, 0.0]]), expected=[np.array([[1.0, 1e3], [0.0, 1.0]])])


def test_gradient_of_expm() -> None:
    check_lowering([A], grad(weighted(ptl.expm(A)), A), normal(3, 3), rtol=1e-7)


@pytest.mark.parametrize("power", [0, 1, 2, 5, -2])
def test_matrix_power(power: int) -> None:
    check_lowering([A], ptl.matrix_power(A, power), well(3, 3), rtol=LOOSE)


# ---- blocks and products --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shapes", [[(2, 3), (1, 2)], [(1, 1), (0, 2), (3, 1)], [(2, 0), (2, 2)]])
def test_block_diagonal(shapes: list[tuple[int, int]]) -> None:
    inputs = [pt.dmatrix(f"x{i}") for i in range(len(shapes))]
    check_lowering(inputs, ptl.block_diag(*inputs), *[normal(*shape) for shape in shapes])


def test_block_diagonal_of_dtypes_and_batches() -> None:
    x, y = pt.imatrix("x"), pt.ftensor3("y")
    graph = ptl.block_diag(x, y)
    values = [np.arange(4, dtype="int32").reshape(2, 2), normal(3, 1, 2).astype("float32")]
    expected = np.stack([scipy.linalg.block_diag(values[0], y) for y in values[1]])
    check_lowering([x, y], graph, *values, expected=[expected.astype(graph.dtype)])


def test_gradient_of_block_diagonal() -> None:
    check_lowering([A, B], grad(weighted(ptl.block_diag(A, B)), [A, B]), normal(2, 3), normal(1, 2), static=False)


def test_kronecker_product() -> None:
    outputs = [ptl.kron(A, B), *grad(weighted(ptl.kron(A, B)), [A, B])]
    check_lowering([A, B], outputs, normal(2, 3), normal(3, 1), rtol=LOOSE)


# ---- Sylvester's equation -------------------------------------------------------------------------------------------


def schur_form(n: int, *, complex_pairs: bool) -> np.ndarray:
    """A Schur form with eigenvalues on the right; with blocks of two where it has complex pairs."""
    if not complex_pairs:
        return np.triu(normal(n, n)) + 4 * np.eye(n)
    x = normal(n, n)
    form = scipy.linalg.schur(x - x.T + 4 * np.eye(n) + 0.3 * normal(n, n), output="real")[0]
    assert (np.diag(form, -1) != 0).any()
    return form


@pytest.mark.sampled(4)
@pytest.mark.parametrize("pairs", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("sizes", [(4, 3), (5, 6)])
def test_trsyl(sizes: tuple[int, int], pairs: tuple[bool, bool]) -> None:
    from pytensor.tensor.linalg.solvers.linear_control import TRSYL

    a, b = (schur_form(n, complex_pairs=found) for n, found in zip(sizes, pairs, strict=True))
    check_lowering([A, B, C], TRSYL()(A, B, C), a, b, normal(*sizes), rtol=LOOSE)


@pytest.mark.parametrize("dtype", ["float32", "complex64", "complex128"])
def test_trsyl_dtypes(dtype: str) -> None:
    from pytensor.tensor.linalg.solvers.linear_control import TRSYL

    a, b, c = (pt.matrix(name, dtype=dtype) for name in "abc")
    values = [np.triu(normal(3, 3)) + 3 * np.eye(3), np.triu(normal(2, 2)) + 3 * np.eye(2), normal(3, 2)]
    values = [(x * np.exp(0.2j) if dtype.startswith("complex") else x).astype(dtype) for x in values]
    check_lowering([a, b, c], TRSYL()(a, b, c), *values, rtol=LOOSE if dtype == "complex128" else 1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_sylvester_and_lyapunov(dtype: str) -> None:
    """Through Schur forms, which are LAPACK's on CPU; the gradients too."""
    a, b, c = (pt.matrix(name, dtype=dtype) for name in "abc")
    values = [normal(3, 3) + 4 * np.eye(3), normal(4, 4) + 4 * np.eye(4), normal(3, 4)]
    values = [x.astype(dtype) for x in values]
    outputs = [ptl.solve_sylvester(a, b, c), ptl.solve_continuous_lyapunov(a, a)]
    if dtype == "float64":
        outputs += grad(weighted(outputs[0]), [a, b, c])
    rtol = 1e-3 if dtype == "float32" else LOOSE
    check_lowering([a, b, c], outputs, *values, rtol=rtol, interpret=False, padded=False)


@pytest.mark.parametrize("method", ["direct", "bilinear"])
def test_discrete_lyapunov(method: str) -> None:
    graph = ptl.solve_discrete_lyapunov(A, B, method=method)
    portable = method == "direct"
    outputs = [graph, *grad(weighted(graph), [A, B])]
    values = [normal(3, 3) / 4, positive(3, 3)]
    check_lowering([A, B], outputs, *values, rtol=LOOSE, interpret=portable, padded=portable)


def test_sylvester_of_a_batch() -> None:
    graph = ptl.solve_sylvester(A3, B3, A3)
    values = [normal(2, 3, 3) + 4 * np.eye(3), normal(2, 3, 3) + 4 * np.eye(3)]
    check_lowering([A3, B3], graph, *values, rtol=LOOSE, interpret=False, padded=False)


# ---- Riccati's equation ---------------------------------------------------------------------------------------------

Q, R = pt.dmatrix("q"), pt.dmatrix("r")


@pytest.mark.parametrize(("n", "k"), [(1, 1), (4, 2), (3, 3)])
def test_discrete_riccati(n: int, k: int) -> None:
    """Of systems that are unstable by themselves."""
    values = [normal(n, n) * 1.5, normal(n, k), positive(n, n), positive(k, k)]
    expected = scipy.linalg.solve_discrete_are(*values)
    check_lowering([A, B, Q, R], ptl.solve_discrete_are(A, B, Q, R), *values, expected=[expected], rtol=LOOSE)


def test_gradient_of_discrete_riccati() -> None:
    values = [normal(3, 3), normal(3, 2), positive(3, 3), positive(2, 2)]
    outputs = grad(weighted(ptl.solve_discrete_are(A, B, Q, R)), [A, B, Q, R])
    check_lowering([A, B, Q, R], outputs, *values, rtol=1e-7, interpret=False, padded=False)


@pytest.mark.parametrize(
    ("a", "b", "q", "r"),
    [(2.0, 0.0, 1.0, 1.0), (2.0, 1.0, 0.0, 1.0), (0.5, 1.0, 1.0, 0.0), (1.0, 0.0, 0.0, 1.0), (np.nan, 1.0, 1.0, 1.0)],
)
def test_what_does_not_stabilize_is_no_solution(a: float, b: float, q: float, r: float) -> None:
    """Nothing controls, or weighs, what is unstable; or R is singular."""
    values = [np.full((1, 1), x) for x in (a, b, q, r)]
    check_lowering([A, B, Q, R], ptl.solve_discrete_are(A, B, Q, R), *values, expected=[np.full((1, 1), np.nan)])


# ---- tridiagonal systems --------------------------------------------------------------------------------------------


def tridiagonal(*shape: int) -> np.ndarray:
    return np.triu(np.tril(normal(*shape), 1), -1)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("n", [3, 4, 7])
@pytest.mark.parametrize("transposed", [False, True])
def test_tridiagonal_solve(transposed: bool, n: int) -> None:
    """The factors, with exchanges of rows; solutions for a vector and a matrix."""
    from pytensor.tensor.linalg.solvers.tridiagonal import tridiagonal_lu_factor, tridiagonal_lu_solve

    factors = tridiagonal_lu_factor(A)
    vector = pt.dvector("v")
    solutions = [tridiagonal_lu_solve(factors, b, b_ndim=b.ndim, transposed=transposed) for b in (B, vector)]
    outputs = [*factors, *solutions]
    check_lowering([A, B, vector], outputs, tridiagonal(n, n), normal(n, 2), normal(n), rtol=LOOSE)


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_tridiagonal_dtypes(dtype: str) -> None:
    from pytensor.tensor.linalg.solvers.tridiagonal import tridiagonal_lu_factor, tridiagonal_lu_solve

    a, b = pt.matrix("a", dtype=dtype), pt.matrix("b", dtype=dtype)
    factors = tridiagonal_lu_factor(a)
    values = [tridiagonal(4, 4), normal(4, 2)]
    values = [(x + (1j * x[::-1] if dtype[0] == "c" else 0)).astype(dtype) for x in values]
    outputs = [*factors, tridiagonal_lu_solve(factors, b, b_ndim=2)]
    check_lowering([a, b], outputs, *values, rtol=LOOSE if dtype == "complex128" else 1e-3)


def test_tridiagonal_systems_of_a_batch() -> None:
    from pytensor.tensor.linalg.solvers.tridiagonal import tridiagonal_lu_factor, tridiagonal_lu_solve

    graph = tridiagonal_lu_solve(tridiagonal_lu_factor(A3), B3, b_ndim=2)
    check_lowering([A3, B3], graph, tridiagonal(3, 4, 4), normal(3, 4, 2), rtol=LOOSE)


def test_a_singular_tridiagonal_matrix() -> None:
    from pytensor.tensor.linalg.solvers.tridiagonal import tridiagonal_lu_factor

    matrix = np.diag([1.0, 0.0, 0.0, 2.0]) + np.diag([0.0, 0.0, 1.0], -1) + np.diag([3.0, 1.0, 1.0], 1)
    check_lowering([A], list(tridiagonal_lu_factor(A)), matrix)
