"""expand_linalg: factorizations as loops, against NumPy, on the module's text and through XLA and the interpreter."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import hlograph
from hlograph import errors

RNG = np.random.default_rng(9)
DTYPES = {"float64": "f64", "float32": "f32", "complex128": "complex<f64>"}


def random(dtype: str, *shape: int) -> np.ndarray:
    x = RNG.normal(size=shape)
    return (x + 1j * RNG.normal(size=shape) if dtype.startswith("complex") else x).astype(dtype)


def module(op: str, *arrays: np.ndarray) -> hlograph.Program:
    """A module that applies one op, written with %0, %1, ... for its operands, to arguments like the arrays."""
    types = [f"tensor<{''.join(f'{n}x' for n in a.shape)}{DTYPES[a.dtype.name]}>" for a in arrays]
    arguments = ", ".join(f"%a{i}: {t}" for i, t in enumerate(types))
    return hlograph.Program.parse(
        f"func.func @main({arguments}) -> {types[-1]} {{\n  %r = {op.format(*types)}\n  return %r : {types[-1]}\n}}"
    )


def run(op: str, *arrays: np.ndarray) -> list[np.ndarray]:
    """The expanded module through XLA, and through the reference interpreter, which expands it itself."""
    before = module(op, *arrays)
    after = before.run_passes(["expand_linalg"])
    assert not {"stablehlo.cholesky", "stablehlo.triangular_solve"} & after.op_counts().keys()
    return [np.asarray(after.compile()(*arrays)), before.interpret(*arrays)[0]]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(0, 0), (1, 1), (4, 4), (2, 3, 3), (2, 2, 2, 2)])
@pytest.mark.parametrize("lower", [True, False])
def test_cholesky(lower: bool, shape: tuple[int, ...], dtype: str) -> None:
    x = random(dtype, *shape)
    matrix = x @ np.conj(np.swapaxes(x, -1, -2)) + shape[-1] * np.eye(shape[-1])
    matrix = matrix.astype(dtype)
    side = np.tril if lower else np.triu
    text = "true" if lower else "false"
    for factor in run(f"stablehlo.cholesky %a0, lower = {text} : {{0}}", side(matrix)):
        factor = side(factor)
        adjoint = np.conj(np.swapaxes(factor, -1, -2))
        product = factor @ adjoint if lower else adjoint @ factor
        np.testing.assert_allclose(product, matrix, rtol=2e-5 if dtype == "float32" else 1e-12, atol=1e-6)
        assert (np.diagonal(factor, axis1=-2, axis2=-1).real > 0).all()


def test_cholesky_that_fails_is_nan_in_that_matrix_only() -> None:
    """A pivot of zero fails too, also in the last place, where dividing by it leaves no trace."""
    matrices = np.stack([np.eye(2), np.zeros((2, 2)), np.ones((2, 2)), -np.eye(2), np.diag([1.0, -1.0])])
    for factor in run("stablehlo.cholesky %a0, lower = true : {0}", matrices):
        assert np.isnan(np.tril(factor)[1:][:, [0, 1, 1], [0, 0, 1]]).all()
        np.testing.assert_array_equal(np.tril(factor[0]), np.eye(2))


OPTIONS = list(itertools.product([True, False], [True, False], [True, False], ["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"]))


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("left", "lower", "unit", "transpose"), OPTIONS)
def test_triangular_solve(left: bool, lower: bool, unit: bool, transpose: str) -> None:
    """The other triangle, and a unit diagonal, are not read: they hold NaN."""
    dtype = "complex128"
    a = random(dtype, 2, 3, 3) + 4 * np.eye(3)
    b = random(dtype, 2, *((3, 2) if left else (2, 3)))
    read = np.tril(a) if lower else np.triu(a)
    nan = np.full((3, 3), np.nan)
    hidden = np.triu(nan, 1 - unit) if lower else np.tril(nan, unit - 1)
    if unit:
        read = read - read * np.eye(3) + np.eye(3)
    op = {"NO_TRANSPOSE": read, "TRANSPOSE": np.swapaxes(read, -1, -2), "ADJOINT": np.conj(np.swapaxes(read, -1, -2))}
    options = (
        f"left_side = {str(left).lower()}, lower = {str(lower).lower()}, unit_diagonal = {str(unit).lower()}, "
        f"transpose_a = #stablehlo<transpose {transpose}>"
    )
    text = f'"stablehlo.triangular_solve"(%a0, %a1) <{{{{{options}}}}}> : ({{0}}, {{1}}) -> {{1}}'
    for x in run(text, np.where(np.isnan(hidden), hidden, a), b):
        product = op[transpose] @ x if left else x @ op[transpose]
        np.testing.assert_allclose(product, b, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("shape", [(0, 2), (1, 1), (3, 0)])
def test_triangular_solve_of_few(shape: tuple[int, int]) -> None:
    a, b = np.eye(shape[0]) * 2, np.ones(shape)
    text = (
        '"stablehlo.triangular_solve"(%a0, %a1) <{{left_side = true, lower = true, unit_diagonal = false, '
        "transpose_a = #stablehlo<transpose NO_TRANSPOSE>}}> : ({0}, {1}) -> {1}"
    )
    for x in run(text, a, b):
        np.testing.assert_array_equal(x, b / 2)


@pytest.mark.parametrize("op", ["cholesky %a, lower = true : {0}", "triangular_solve"])
def test_open_sizes(op: str) -> None:
    """One module for matrices of all sizes."""
    matrix = "tensor<?x?xf64>"
    solve = (
        '"stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose '
        f"TRANSPOSE>, unit_diagonal = false}}> : ({matrix}, {matrix}) -> {matrix}"
    )
    line = solve if op == "triangular_solve" else f"stablehlo.{op.format(matrix)}"
    text = f"func.func @main(%a: {matrix}, %b: {matrix}) -> {matrix} {{\n  %r = {line}\n  return %r : {matrix}\n}}"
    fn = hlograph.Program.parse(text).run_passes(["expand_linalg"]).compile(policy="exact")
    for n in (1, 4):
        x = RNG.normal(size=(n, n))
        lower = np.linalg.cholesky(x @ x.T + n * np.eye(n))
        if op == "triangular_solve":
            np.testing.assert_allclose(fn(lower, x), np.linalg.solve(lower.T, x), rtol=1e-10)
        else:
            np.testing.assert_allclose(np.tril(fn(lower @ lower.T, x)), lower, rtol=1e-10)


def test_transforms_of_open_sizes_are_refused() -> None:
    program = hlograph.Program.parse(
        "func.func @main(%a: tensor<?xcomplex<f64>>) -> tensor<?xcomplex<f64>> {\n"
        "  %r = stablehlo.fft %a, type = FFT, length = [4] : (tensor<?xcomplex<f64>>) -> tensor<?xcomplex<f64>>\n"
        "  return %r : tensor<?xcomplex<f64>>\n}"
    )
    with pytest.raises(errors.PassError, match="needs a transform's sizes; specialize first"):
        program.run_passes(["expand_linalg"])
