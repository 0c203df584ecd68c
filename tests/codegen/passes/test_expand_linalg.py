"""expand_linalg: one module for matrices of all sizes. Its factors and solves of known sizes: test_triangles.py."""

from __future__ import annotations

import numpy as np
import pytest

import hlograph
from hlograph import errors


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
        x = np.random.default_rng(n).normal(size=(n, n))
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
