"""Gradients through `eigh` where eigenvalues are equal, against formulas that know no eigenvectors."""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
import scipy.linalg
from pytensor.tensor.linalg import eigh

import hlograph
import hlograph.pytensor

SIZE = 6
Y = np.linspace(-1, 2, SIZE)
_TIMES = np.linspace(0, 3, SIZE)[:, None]
_TURN = np.linalg.qr(np.random.default_rng(0).normal(size=(SIZE, SIZE)))[0]
MATRICES = {
    "identity": np.eye(SIZE),
    "zero": np.zeros((SIZE, SIZE)),
    "blocks": (_TURN * [1, 1, 1, 2, 2, 5.0]) @ _TURN.T,
    "nearly": (_TURN * [1, 1 + 1e-12, 1 + 1e-8, 2, 2 + 1e-7, 5.0]) @ _TURN.T,
    "rank two": np.cos(_TIMES - _TIMES.T),
    "distinct": (_TURN * np.arange(1.0, 7)) @ _TURN.T,
}

matrix, vector = pt.dmatrix("matrix"), pt.dvector("vector")
values, vectors = eigh(matrix)
QUADRATIC = ((vectors.T @ vector) ** 2 / (values + 1)).sum()


@pytest.fixture(autouse=True)
def wide() -> Iterator[None]:
    """Matrices whose eigenvalues are equal in 64 bits stay so in `jax.grad`."""
    with jax.enable_x64(True):
        yield


def _by_triangle(gradient: np.ndarray) -> np.ndarray:
    """By the lower triangle, which is read, of that by all elements of a symmetric matrix."""
    return np.tril(gradient) + np.tril(gradient, -1)


def _symmetric(gradient: np.ndarray) -> np.ndarray:
    return (gradient + gradient.T) / 2


def _folded(gradient: Any) -> np.ndarray:
    """What counts of a gradient by all elements, of a symmetric matrix."""
    return np.tril(gradient) + np.swapaxes(np.triu(gradient, 1), -1, -2)


def quadratic(a: np.ndarray) -> np.ndarray:
    x = np.linalg.solve(a + np.eye(len(a)), Y)
    return -np.outer(x, x)


def determinant(a: np.ndarray) -> np.ndarray:
    return np.linalg.inv(a + np.eye(len(a)))


def root(a: np.ndarray) -> np.ndarray:
    """Of `y sqrt(A + 1) y`: the solution G of S G + G S = y y', where S is the root."""
    s = scipy.linalg.sqrtm(a + np.eye(len(a))).real
    return scipy.linalg.solve_sylvester(s, s, np.outer(Y, Y))


def exponential(a: np.ndarray) -> np.ndarray:
    return _symmetric(scipy.linalg.expm_frechet(-a, -np.outer(Y, Y), compute_expm=False))


def likelihood(a: np.ndarray) -> np.ndarray:
    """Of log(y (A + 1)^-1 y) + log det(A + 1): the eigenvalues meet in a number."""
    return quadratic(a) / (Y @ np.linalg.solve(a + np.eye(len(a)), Y)) + determinant(a)


GRAPHS: dict[str, tuple[Any, Callable[[np.ndarray], np.ndarray]]] = {
    "quadratic": (QUADRATIC, quadratic),
    "determinant": (pt.log(values + 1).sum() + 0 * vector.sum(), determinant),
    "root": (vector @ (vectors * pt.sqrt(values + 1)) @ vectors.T @ vector, root),
    "exponential": (vector @ (vectors * pt.exp(-values)) @ vectors.T @ vector, exponential),
    "likelihood": (pt.log(QUADRATIC) + pt.log(values + 1).sum(), likelihood),
    "values by vectors": (
        ((vectors.T @ vector) ** 2 / (pt.diagonal(vectors.T @ matrix @ vectors) + 1)).sum(),
        quadratic,
    ),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_functions_of_the_matrix(name: str) -> None:
    graph, formula = GRAPHS[name]
    graphs = pytensor.function([matrix, vector], pytensor.grad(graph, matrix), mode="STABLEHLO")
    functions = [graphs, jax.grad(hlograph.function([matrix, vector], graph))] if name == "likelihood" else [graphs]
    for kind, a in MATRICES.items():
        expected = _by_triangle(formula(a))
        bound = 1e-7 if kind == "nearly" and name in ("likelihood", "values by vectors") else 1e-12
        for found in (function(a, Y) for function in functions):
            np.testing.assert_allclose(_folded(found), expected, 0, bound * abs(expected).max(), err_msg=kind)


def test_batches_loops_float32_upper_and_empty() -> None:
    stack = np.stack([MATRICES["identity"], MATRICES["blocks"]])
    expected = np.stack([_by_triangle(quadratic(a)) for a in stack])
    many = pt.dtensor3("many")
    w, v = eigh(many)
    graph = (pt.matmul(pt.swapaxes(v, -1, -2), vector) ** 2 / (w + 1)).sum()
    found = pytensor.function([many, vector], pytensor.grad(graph, many), mode="STABLEHLO")(stack, Y)
    np.testing.assert_allclose(_folded(found), expected, 0, 1e-14)

    def step(a: Any, y: Any) -> Any:
        w, v = eigh(a)
        return ((v.T @ y) ** 2 / (w + 1)).sum()

    loop = pytensor.scan(step, sequences=[many], non_sequences=[vector], return_updates=False).sum()
    found = pytensor.function([many, vector], pytensor.grad(loop, many), mode="STABLEHLO")(stack, Y)
    np.testing.assert_allclose(_folded(found), expected, 0, 1e-14)
    found = jax.vmap(jax.grad(hlograph.function([matrix, vector], QUADRATIC)), (0, None))(stack, Y)
    np.testing.assert_allclose(_folded(found), expected, 0, 1e-14)

    small, short = pt.fmatrix("small"), pt.fvector("short")
    w, v = eigh(small)
    graph = ((v.T @ short) ** 2 / (w + 1)).sum()
    found = pytensor.function([small, short], pytensor.grad(graph, small), mode="STABLEHLO")(
        stack[1].astype("float32"), Y.astype("float32")
    )
    np.testing.assert_allclose(_folded(found), expected[1], 0, 1e-5)

    w, v = eigh(matrix, lower=False)
    graph = ((v.T @ vector) ** 2 / (w + 1)).sum()
    upper = pytensor.function([matrix, vector], pytensor.grad(graph, matrix), mode="STABLEHLO")
    np.testing.assert_allclose(np.triu(upper(stack[1], Y)), expected[1].T, 0, 1e-14)
    assert upper(np.zeros((0, 0)), np.zeros(0)).shape == (0, 0)
    full = hlograph.function([matrix, vector], pytensor.grad(QUADRATIC, matrix), rewrite="full")
    np.testing.assert_allclose(_folded(full(stack[1], Y)), expected[1], 0, 1e-14)


def test_two_matrices() -> None:
    other = pt.dmatrix("other")
    w, v = eigh(matrix, other)
    graph = ((v.T @ vector) ** 2 / (w + 1)).sum()  # y (A + B)^-1 y
    b = MATRICES["distinct"]
    function = pytensor.function([matrix, other, vector], pytensor.grad(graph, [matrix, other]), mode="STABLEHLO")
    for a in (2 * b, MATRICES["blocks"]):
        x = np.linalg.solve(a + b, Y)
        for found in function(a, b, Y):
            np.testing.assert_allclose(_folded(found), _by_triangle(-np.outer(x, x)), 0, 1e-12)


def test_second_derivatives() -> None:
    along = np.arange(36.0).reshape(6, 6) + np.arange(36.0).reshape(6, 6).T
    lower = np.tril(along)
    function = hlograph.function([matrix, vector], QUADRATIC)
    _, found = jax.jvp(jax.grad(lambda a: function(a, Y)), (2 * np.eye(SIZE),), (lower,))
    np.testing.assert_allclose((lower * found).sum(), 2 * Y @ along @ along @ Y / 27, 1e-12)


def test_one_eigenvector_of_equal_eigenvalues_is_nan() -> None:
    """Its elements have no derivative, and eigenvectors that leave the graph say nothing of what becomes of them."""
    for graph in (vectors[0, 0], vectors[0, 0] ** 2):
        gradient = jax.grad(hlograph.function([matrix], graph))
        assert np.isnan(gradient(MATRICES["identity"])).all()
        assert np.isnan(gradient(MATRICES["blocks"])).all()
        assert np.isfinite(gradient(MATRICES["distinct"])).all()
    pair = hlograph.function([matrix], [values, vectors])

    def outside(a: Any) -> Any:
        w, v = pair(a)
        return ((v.T @ Y) ** 2 / (w + 1)).sum()

    assert np.isnan(jax.grad(outside)(MATRICES["blocks"])).any()
    distinct = MATRICES["distinct"]
    np.testing.assert_allclose(_folded(jax.grad(outside)(distinct)), _by_triangle(quadratic(distinct)), 0, 1e-12)
    logs = jax.grad(lambda a: jax.numpy.log(pair(a)[0] + 1).sum())(MATRICES["blocks"])
    np.testing.assert_allclose(_folded(logs), _by_triangle(determinant(MATRICES["blocks"])), 0, 1e-12)
