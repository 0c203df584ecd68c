"""Cholesky factors and triangular solves, by each pass that has a form of its own for them, against NumPy.

What may not be read of a matrix holds NaN: the other triangle, and a diagonal that is all ones.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from rewritten_runs import as_arrays, cholesky, close, rewritten, solve

from hlograph.runtime.direct import native_code, verdict

Array = np.ndarray
SIZES = [1, 7, 32, 33, 70]  # BLAS works in blocks of 32
# By pass: shapes of matrices to factor; of those to solve with, and how many columns; the element types of both.
FORMS = {
    "expand_linalg": (
        [(0, 0), (1, 1), (4, 4), (2, 3, 3), (2, 2, 2, 2)],
        [((0, 0), 2), ((1, 1), 1), ((3, 3), 0), ((2, 3, 3), 2), ((4, 4), 1), ((3, 3), 2)],
        ("f64 f32 c128", "c128"),
    ),
    "portable_linalg": ([(9, 9), (2, 12, 12), (43, 43)], [((10, 10), 3), ((2, 13, 13), 3)], ("f64 f32", "f64 f32")),
    "cpu_blas": ([(2, n, n) for n in SIZES], [((2, n, n), 5) for n in SIZES], ("f64 f32", "f64 f32")),
    "cpu_forms": (
        [(1, 1), (2, 2), (3, 3), (4, 4), (3, 2, 2), (8, 6, 6), (2, 5, 3, 3)],
        [((3, 3), 1), ((4, 4), 5), ((9, 6, 6), 2), ((2, 3, 3), 2)],
        ("f64", "f64"),
    ),
}
DTYPES = {"f64": ("f64", "f8", 1e-11), "f32": ("f32", "f4", 3e-4), "c128": ("complex<f64>", "c16", 1e-11)}
SIDES = pytest.mark.parametrize("lower", [True, False], ids=["lower", "upper"])


def random(dtype: str, *shape: int) -> Array:
    rng = np.random.default_rng(shape)
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if dtype == "c16" else x).astype(dtype)


def adjoint(x: Array) -> Array:
    return np.conj(np.swapaxes(x, -1, -2))


def triangle(n: int, lower: bool, unit: bool = False) -> Array:
    """Which elements may be read."""
    return np.tril(np.ones((n, n), bool), -unit) if lower else np.triu(np.ones((n, n), bool), int(unit))


def results(name: str, text: str, *arrays: Array) -> Iterator[Array]:
    """The result after the pass, of XLA, which finds no other library to call, and of the interpreter."""
    if name == "cpu_blas":
        if verdict.unsupported():
            pytest.skip("no direct calls here")
        assert native_code.register_blas() == ""
    program = rewritten(text, [name]).program
    assert not {"stablehlo.cholesky", "stablehlo.triangular_solve"} & program.op_counts().keys()
    yield from as_arrays(program.compile(optimize="none", cpu="plain")(*arrays))
    if name == "cpu_blas":
        assert "@hlograph_" in program.text
    else:
        assert "custom_call" not in program.text
        yield program.interpret(*arrays)[0]


def cases(of: int) -> list[tuple[str, Any, str]]:
    return [(name, case, kind) for name, form in FORMS.items() for case in form[of] for kind in form[2][of].split()]


FACTORS, SOLVES = cases(0), cases(1)


@pytest.mark.sampled(6)
@SIDES
@pytest.mark.parametrize(("name", "shape", "kind"), FACTORS)
def test_factors(name: str, shape: tuple[int, ...], kind: str, lower: bool) -> None:
    element, dtype, rtol = DTYPES[kind]
    x = random(dtype, *shape)
    matrices = (x @ adjoint(x) + shape[-1] * np.eye(shape[-1])).astype(dtype)
    expected = np.linalg.cholesky(matrices)
    given = np.where(triangle(shape[-1], lower), matrices, np.nan).astype(dtype)
    for found in results(name, cholesky(shape, lower, element), given):
        close(found, expected if lower else adjoint(expected), rtol)


@SIDES
@pytest.mark.parametrize("place", [0, 5, 8])
@pytest.mark.parametrize("bad", [-1.0, 0.0, np.nan])
@pytest.mark.parametrize("name", FORMS)
def test_what_is_not_positive_definite_gives_nan_in_that_matrix_only(
    name: str, bad: float, place: int, lower: bool
) -> None:
    """Also where the pivot of zero is the last one, and dividing by it leaves no trace."""
    n = 3 if name == "cpu_forms" else 9
    matrices = np.stack([np.eye(n), np.eye(n)])
    matrices[1, place % n, place % n] = bad
    text = cholesky(matrices.shape, lower)
    library = rewritten(text, ["device_linalg"]).program.compile(optimize="none", cpu="plain")(matrices)
    for found in results(name, text, matrices):
        np.testing.assert_array_equal(found[0], np.eye(n))
        if name == "cpu_forms":
            np.testing.assert_array_equal(found, library)
        if bad <= 0 or name == "portable_linalg":
            assert np.isnan(found[1][triangle(n, lower)]).all()


OPTIONS = list(itertools.product([True, False], [True, False], ["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"]))


@pytest.mark.sampled(12)
@SIDES
@pytest.mark.parametrize(("left", "unit", "transpose"), OPTIONS)
@pytest.mark.parametrize(("name", "case", "kind"), SOLVES)
def test_solves(name: str, case: Any, kind: str, left: bool, unit: bool, transpose: str, lower: bool) -> None:
    (shape, columns), (element, dtype, rtol) = case, DTYPES[kind]
    n = shape[-1]
    matrices = random(dtype, *shape) / max(n, 1) + 2 * np.eye(n, dtype=dtype)
    right = random(dtype, *shape[:-2], *((n, columns) if left else (columns, n)))
    read = triangle(n, lower, unit)
    given = np.where(read, matrices, np.nan).astype(dtype)
    if unit and name == "portable_linalg":  # it multiplies what is on the diagonal by zeros
        given[..., range(n), range(n)] = 7
    op = np.where(read, matrices, 0) + unit * np.eye(n)
    op = {"NO_TRANSPOSE": op, "TRANSPOSE": np.swapaxes(op, -1, -2), "ADJOINT": adjoint(op)}[transpose]
    expected = np.linalg.solve(op, right) if left else adjoint(np.linalg.solve(adjoint(op), adjoint(right)))
    text = solve(shape, right.shape, left=left, lower=lower, unit=unit, transpose=transpose, kind=element)
    for found in results(name, text, given, right):
        close(found, expected.astype(dtype), rtol)
