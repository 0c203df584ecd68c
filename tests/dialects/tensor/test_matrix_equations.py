"""The matrix exponential, block diagonals, products, Sylvester's and Lyapunov's equations, tridiagonal systems."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytensor.tensor as pt
import pytest
import scipy.linalg
from matrices import normal, positive, weighted, well
from pytensor.gradient import grad
from pytensor.tensor import linalg as ptl
from support import Case, check_case, each

A, B, C = pt.dmatrix("a"), pt.dmatrix("b"), pt.dmatrix("c")
A3, B3 = pt.dtensor3("a3"), pt.dtensor3("b3")
Q, R = pt.dmatrix("q"), pt.dmatrix("r")
LOOSE = 1e-9
OF_LIBRARY = {"interpret": False, "padded": False}  # Schur forms are LAPACK's, on CPU alone


def exponentials() -> Iterator[Case]:
    for size in (1e-3, 0.05, 0.3, 1.0, 3.0, 40.0):  # of each degree, and with squarings
        for n in (1, 2, 5):
            yield f"{size} {n}", [A], ptl.expm(A), [normal(n, n) * size / n], {"rtol": 1e-8}
    for dtype in ("float32", "complex64", "complex128", "int64"):
        x = pt.matrix("x", dtype=dtype)
        value = np.array([[1, 2, 0], [-1, 0, 1], [3, 1, -2]]).astype(dtype)
        value = value * np.exp(0.5j).astype(dtype) if dtype.startswith("complex") else value
        yield dtype, [x], ptl.expm(x), [value], {"rtol": 1e-4 if dtype in ("float32", "complex64") else LOOSE}
    batch = normal(3, 4, 4) * np.array([1e-3, 1.0, 20.0])[:, None, None]
    yield "a batch of very different sizes", [A3], ptl.expm(A3), [batch], {"rtol": 1e-8}
    yield "an empty batch", [A3], ptl.expm(A3), [np.zeros((0, 3, 3))], {"expected": [np.zeros((0, 3, 3))]}
    yield "zero", [A], ptl.expm(A), [np.zeros((3, 3))], {"expected": [np.eye(3)]}
    nilpotent, expected = np.array([[0.0, 1e3], [0.0, 0.0]]), np.array([[1.0, 1e3], [0.0, 1.0]])
    yield "nilpotent", [A], ptl.expm(A), [nilpotent], {"expected": [expected]}
    yield "gradient", [A], grad(weighted(ptl.expm(A)), A), [normal(3, 3)], {"rtol": 1e-7}
    for power in (0, 1, 2, 5, -2):
        yield f"power {power}", [A], ptl.matrix_power(A, power), [well(3, 3)]


def blocks() -> Iterator[Case]:
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


def equations() -> Iterator[Case]:
    from pytensor.tensor.linalg.solvers.linear_control import TRSYL

    for sizes in ((4, 3), (5, 6)):
        for pairs in ((False, False), (True, False), (False, True), (True, True)):
            a, b = (schur_form(n, complex_pairs=found) for n, found in zip(sizes, pairs, strict=True))
            yield f"trsyl {sizes} {pairs}", [A, B, C], TRSYL()(A, B, C), [a, b, normal(*sizes)]
    for dtype in ("float32", "complex64", "complex128"):
        a, b, c = (pt.matrix(name, dtype=dtype) for name in "abc")
        values = [np.triu(normal(3, 3)) + 3 * np.eye(3), np.triu(normal(2, 2)) + 3 * np.eye(2), normal(3, 2)]
        values = [(x * np.exp(0.2j) if dtype.startswith("complex") else x).astype(dtype) for x in values]
        rtol = LOOSE if dtype == "complex128" else 1e-4
        yield f"trsyl {dtype}", [a, b, c], TRSYL()(a, b, c), values, {"rtol": rtol}
    for dtype in ("float32", "float64", "complex128"):
        a, b, c = (pt.matrix(name, dtype=dtype) for name in "abc")
        values = [x.astype(dtype) for x in (normal(3, 3) + 4 * np.eye(3), normal(4, 4) + 4 * np.eye(4), normal(3, 4))]
        outputs = [ptl.solve_sylvester(a, b, c), ptl.solve_continuous_lyapunov(a, a)]
        if dtype == "float64":
            outputs += grad(weighted(outputs[0]), [a, b, c])
        rtol = 1e-3 if dtype == "float32" else LOOSE
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


def tridiagonal_systems() -> Iterator[Case]:
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
        rtol = LOOSE if dtype == "complex128" else 1e-3
        yield dtype, [a, b], [*own, tridiagonal_lu_solve(own, b, b_ndim=2)], values, {"rtol": rtol}
    graph = tridiagonal_lu_solve(tridiagonal_lu_factor(A3), B3, b_ndim=2)
    yield "batch", [A3, B3], graph, [tridiagonal(3, 4, 4), normal(3, 4, 2)]
    singular = np.diag([1.0, 0.0, 0.0, 2.0]) + np.diag([0.0, 0.0, 1.0], -1) + np.diag([3.0, 1.0, 1.0], 1)
    yield "singular", [A], list(factors), [singular]


@pytest.mark.sampled(6)
@each(exponentials())
def test_expm(case: Case) -> None:
    check_case(case, rtol=LOOSE)


@pytest.mark.sampled(2)
@each(blocks())
def test_blocks(case: Case) -> None:
    check_case(case, rtol=LOOSE)


@pytest.mark.sampled(4)
@each(equations())
def test_equations(case: Case) -> None:
    check_case(case, rtol=LOOSE)


@pytest.mark.sampled(3)
@each(tridiagonal_systems())
def test_tridiagonal_systems(case: Case) -> None:
    check_case(case, rtol=LOOSE)
