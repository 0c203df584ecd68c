"""Small Cholesky factors and triangular solves, against NumPy, SciPy and the LAPACK calls that they replace."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from rewritten_runs import as_arrays, close, rewritten


def cholesky(shape, lower: bool, kind: str = "f64") -> str:
    t = f"tensor<{'x'.join(map(str, shape))}x{kind}>"
    return f"""func.func @main(%a: {t}) -> {t} {{
  %0 = stablehlo.cholesky %a, lower = {str(lower).lower()} : {t}
  return %0 : {t}
}}"""


def solve(a, b, *, left=True, lower=True, unit=False, transpose="NO_TRANSPOSE", kind="f64") -> str:
    s, t = (f"tensor<{'x'.join(map(str, shape))}x{kind}>" for shape in (a, b))
    return f"""func.func @main(%a: {s}, %b: {t}) -> {t} {{
  %0 = "stablehlo.triangular_solve"(%a, %b) <{{left_side = {str(left).lower()}, lower = {str(lower).lower()},
    unit_diagonal = {str(unit).lower()}, transpose_a = #stablehlo<transpose {transpose}>}}> : ({s}, {t}) -> {t}
  return %0 : {t}
}}"""


def covariance(shape, rng) -> np.ndarray:
    rows = rng.normal(size=(*shape[:-1], shape[-1] + 3))
    return rows @ np.swapaxes(rows, -1, -2)


CHOLESKY = [(1, 1), (2, 2), (3, 3), (4, 4), (3, 2, 2), (8, 6, 6), (2, 5, 3, 3)]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("lower", [True, False], ids=["lower", "upper"])
@pytest.mark.parametrize("shape", CHOLESKY)
def test_cholesky(shape, lower):
    rng = np.random.default_rng(0)
    a = covariance(shape, rng)
    after = rewritten(cholesky(shape, lower), ["cpu_forms"])
    assert after.applied == {"small_cholesky": 1}
    expected = np.linalg.cholesky(a)
    expected = expected if lower else np.swapaxes(expected, -1, -2)
    # The other triangle must not be read.
    read = np.tril(np.ones(shape[-2:], bool)) if lower else np.triu(np.ones(shape[-2:], bool))
    given = np.where(read, a, np.nan)
    (interpreted,) = as_arrays(after.program.interpret(given))
    close(interpreted, expected, 1e-12)
    (found,) = as_arrays(after.program.compile(optimize="none", cpu="plain")(given))
    close(found, expected, 1e-12)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("lower", [True, False], ids=["lower", "upper"])
@pytest.mark.parametrize("bad", [-1.0, 0.0, np.nan])
def test_failure_is_as_with_lapack(bad, lower):
    n = 3
    a = np.eye(n)
    a[n - 2, n - 2] = bad
    text = cholesky((n, n), lower)
    assert rewritten(text, ["cpu_forms"]).applied
    (found,) = as_arrays(rewritten(text, ["cpu_forms"]).program.compile(optimize="none", cpu="plain")(a))
    (library,) = as_arrays(rewritten(text, ["device_linalg"]).program.compile(optimize="none", cpu="plain")(a))
    np.testing.assert_array_equal(found, library)
    if bad <= 0:
        triangle = np.tril(np.ones((n, n))) if lower else np.triu(np.ones((n, n)))
        np.testing.assert_array_equal(np.isnan(found), triangle)


def test_one_failure_leaves_the_others_of_the_batch():
    a = np.stack([np.eye(2), -np.eye(2), 4 * np.eye(2)])
    (found,) = as_arrays(rewritten(cholesky(a.shape, True), ["cpu_forms"]).program.interpret(a))
    np.testing.assert_array_equal(found, [np.eye(2), [[np.nan, 0], [np.nan, np.nan]], 2 * np.eye(2)])


SOLVES = [((3, 3), (3, 1)), ((4, 4), (4, 5)), ((7, 7), (7, 2)), ((9, 6, 6), (9, 6, 2)), ((2, 3, 3), (2, 3, 2))]
SOLVES += [((1, 8, 8), (1, 8, 3))]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("transpose", ["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"])
@pytest.mark.parametrize("left", [True, False], ids=["left", "right"])
@pytest.mark.parametrize("lower", [True, False], ids=["lower", "upper"])
@pytest.mark.parametrize(("a", "b"), SOLVES)
def test_triangular_solve(a, b, lower, left, transpose):
    rng = np.random.default_rng(0)
    unit = a[-1] % 2 == 1
    matrix = rng.normal(size=a) / a[-1] + 2 * np.eye(a[-1])
    right = rng.normal(size=b)
    right = right if left else np.swapaxes(right, -1, -2)
    text = solve(a, right.shape, left=left, lower=lower, unit=unit, transpose=transpose)
    after = rewritten(text, ["cpu_forms"])
    assert after.applied == {"small_triangular_solve": 1}
    expected = np.empty_like(right)
    for place in np.ndindex(a[:-2]):
        # x op(a) = b is op(a)' x' = b'.
        trans = (transpose != "NO_TRANSPOSE") != (not left)
        columns = right[place] if left else right[place].T
        x = scipy.linalg.solve_triangular(matrix[place], columns, trans=int(trans), lower=lower, unit_diagonal=unit)
        expected[place] = x if left else x.T
    # Neither the other triangle nor, if it is known, the diagonal may be read.
    read = np.tril(np.ones(a[-2:], bool), -unit) if lower else np.triu(np.ones(a[-2:], bool), int(unit))
    (found,) = as_arrays(after.program.interpret(np.where(read, matrix, np.nan), right))
    close(found, expected, 1e-12)


SHARED = [((3, 3), (6, 3, 2)), ((1, 9, 9), (4, 9, 1)), ((1, 1, 9, 9), (2, 3, 9, 3))]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("transpose", ["NO_TRANSPOSE", "TRANSPOSE"])
@pytest.mark.parametrize("left", [True, False], ids=["left", "right"])
@pytest.mark.parametrize("lower", [True, False], ids=["lower", "upper"])
@pytest.mark.parametrize(("a", "b"), SHARED)
def test_one_matrix_for_all_of_a_batch(a, b, lower, left, transpose):
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=a) / a[-1] + 2 * np.eye(a[-1])
    right = rng.normal(size=b)
    right = right if left else np.swapaxes(right, -1, -2)
    spread = (*right.shape[:-2], *a[-2:])
    s, t = (f"tensor<{'x'.join(map(str, shape))}xf64>" for shape in (a, spread))
    places = list(range(len(spread) - len(a), len(spread)))
    head, rest = solve(spread, right.shape, left=left, lower=lower, transpose=transpose).split("{\n", 1)
    text = f"""{head.replace(f"%a: {t}", f"%m: {s}", 1)} {{
  %a = stablehlo.broadcast_in_dim %m, dims = {places} : ({s}) -> {t}
{rest}"""
    after = rewritten(text, ["cpu_forms"])
    assert after.applied["shared_solve"] == 1
    triangle = np.tril(matrix) if lower else np.triu(matrix)
    triangle = np.swapaxes(triangle, -1, -2) if transpose == "TRANSPOSE" else triangle
    expected = np.linalg.solve(triangle, right) if left else right @ np.linalg.inv(triangle)
    (found,) = as_arrays(after.program.interpret(matrix, right))
    close(found, expected, 1e-11)


def test_matrices_that_differ_stay_a_batch():
    after = rewritten(solve((5, 9, 9), (5, 9, 1)), ["cpu_forms"])
    assert not after.applied


def test_triangular_solve_on_the_device():
    rng = np.random.default_rng(0)
    matrix, right = np.tril(rng.normal(size=(3, 3))) + 3 * np.eye(3), rng.normal(size=(3, 40))
    program = rewritten(solve((3, 3), (3, 40)), ["cpu_forms"]).program
    (found,) = as_arrays(program.compile(optimize="none", cpu="plain")(matrix, right))
    close(found, scipy.linalg.solve_triangular(matrix, right, lower=True), 1e-12)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (cholesky((5, 5), True), "a matrix of 5 x 5 is for LAPACK"),
        (cholesky((0, 3, 3), True), "the matrix has no elements"),
        (solve((9, 9), (9, 1)), "a matrix of 9 x 9 is for LAPACK"),
        (solve((2, 7, 7), (2, 7, 1)), "2 matrices of 7 x 7 are for LAPACK"),
        (solve((3, 3), (3, 0)), "the right-hand side has no elements"),
    ],
)
def test_refusals(text, reason):
    after = rewritten(text, ["cpu_forms"])
    assert not after.applied
    assert reason in after.text


def test_complex_matrices_are_left_to_lapack():
    text = cholesky((2, 2), True, "f64").replace("f64", "complex<f64>")
    assert not rewritten(text, ["cpu_forms"]).changed
