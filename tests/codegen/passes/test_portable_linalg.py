"""portable_linalg: calls of LAPACK in StableHLO's own ops, in the reference interpreter, beside LAPACK itself.

Large factors and solves of triangular systems: test_triangles.py.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
from jax_factors import CASES, SQUARE, check, matrix

import hlograph
from hlograph.codegen.passes.portable_linalg import COLUMNS, SMALLEST

LAPACK = ("eigh", "svd", "svd_full", "values", "qr", "qr_full", "lu")


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
@pytest.mark.parametrize("name", LAPACK)
def test_calls_of_lapack(name: str, dtype: str) -> None:
    function, shapes, hermitian = CASES[name]
    a = matrix((2, 5, 5) if shapes is SQUARE else (2, 5, 3), dtype, hermitian)
    with jax.enable_x64(True):
        emitted = hlograph.emit_stablehlo(function, jax.ShapeDtypeStruct(a.shape, a.dtype))
        program = emitted.optimize(["device_linalg{platform=cpu}"])
        wanted = jax.jit(function)(a)
    assert "lapack_" in program.text
    after = program.optimize(["portable_linalg"])
    assert "custom_call" not in after.text
    check(after.interpret(a), wanted, a)


def test_what_stays() -> None:
    """Small and complex matrices, and many right-hand sides, are for XLA; what has no other form stays too."""
    small = f"func.func @main(%a: tensor<{SMALLEST}x{SMALLEST}xf64>) -> tensor<{SMALLEST}x{SMALLEST}xf64> {{\n"
    small += f"%r = stablehlo.cholesky %a, lower = true : tensor<{SMALLEST}x{SMALLEST}xf64>\n"
    small += f"return %r : tensor<{SMALLEST}x{SMALLEST}xf64>\n}}"
    many = hlograph.emit_stablehlo(
        lambda a, b: jax.scipy.linalg.solve_triangular(a, b, lower=True),
        jax.ShapeDtypeStruct((20, 20), "float32"),
        jax.ShapeDtypeStruct((20, COLUMNS + 1), "float32"),
    )
    eig = hlograph.emit_stablehlo(jnp.linalg.eigvals, jax.ShapeDtypeStruct((4, 4), "float32"))
    complex_ = hlograph.emit_stablehlo(jnp.linalg.cholesky, jax.ShapeDtypeStruct((20, 20), "complex64"))
    for program in (hlograph.Program.parse(small), many, eig, complex_):
        assert program.optimize(["portable_linalg"]).op_counts() == program.op_counts()
