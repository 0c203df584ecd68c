"""portable_linalg: calls of LAPACK in StableHLO's own ops, in the reference interpreter, beside NumPy and SciPy.

Large factors and solves of triangular systems: test_triangles.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

import hlograph
from hlograph.codegen.passes.portable_linalg import COLUMNS, SMALLEST

TOLERANCE = {"float64": 1e-12, "float32": 1e-4, "complex128": 1e-12}


def random(dtype: str, *shape: int) -> np.ndarray:
    rng = np.random.default_rng(shape)
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if dtype.startswith("complex") else x).astype(dtype)


def adjoint(x: np.ndarray) -> np.ndarray:
    return np.conj(np.swapaxes(x, -1, -2))


def definite(dtype: str, *shape: int) -> np.ndarray:
    x = random(dtype, *shape)
    return (x @ adjoint(x) + shape[-1] * np.eye(shape[-1])).astype(dtype)


def eigh(a: Any) -> Any:
    values, vectors = jnp.linalg.eigh(a)
    return values, (vectors * values[..., None, :]) @ jnp.conj(jnp.swapaxes(vectors, -1, -2))


def svd(a: Any, full: bool) -> Any:
    u, s, v = jnp.linalg.svd(a, full_matrices=full)
    k = s.shape[-1]
    return s, (u[..., :k] * s[..., None, :]) @ v[..., :k, :], u @ jnp.conj(jnp.swapaxes(u, -1, -2)) if full else s


def singular_values(a: np.ndarray) -> np.ndarray:
    return np.linalg.svd(a, compute_uv=False)


def identity(a: np.ndarray) -> np.ndarray:
    n = a.shape[-2]
    return np.broadcast_to(np.eye(n), (*a.shape[:-2], n, n))


def qr(a: Any) -> Any:
    q, r = jnp.linalg.qr(a, mode="complete")
    return q @ r, jnp.tril(r, -1)


def lu(a: Any) -> Any:
    factors, pivots = jax.scipy.linalg.lu_factor(a)
    return factors, pivots


LAPACK: dict[str, tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]] = {
    "eigh": (eigh, definite, lambda a: (np.linalg.eigvalsh(a), a)),
    "svd": (lambda a: svd(a, False), random, lambda a: (singular_values(a), a, singular_values(a))),
    "svd_complete": (lambda a: svd(a, True), random, lambda a: (singular_values(a), a, identity(a))),
    "singular_values": (lambda a: (jnp.linalg.svd(a, compute_uv=False),), random, lambda a: (singular_values(a),)),
    "qr": (qr, random, lambda a: (a, 0 * np.linalg.qr(a, mode="complete")[1])),
    "lu": (lu, lambda *shape: random(*shape)[0], scipy.linalg.lu_factor),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("name", LAPACK)
def test_calls_of_lapack(name: str, dtype: str) -> None:
    function, make, expected = LAPACK[name]
    matrix = make(dtype, 2, 5, 5) if make is definite or name == "lu" else make(dtype, 2, 5, 3)
    with jax.enable_x64(True):
        emitted = hlograph.emit_stablehlo(function, jax.ShapeDtypeStruct(matrix.shape, matrix.dtype))
        program = emitted.optimize(["device_linalg{platform=cpu}"])
    assert "lapack_" in program.text
    after = program.optimize(["portable_linalg"])
    assert "custom_call" not in after.text
    for found, wanted in zip(after.interpret(matrix), expected(matrix), strict=True):
        np.testing.assert_allclose(
            found, np.broadcast_to(wanted, found.shape), rtol=TOLERANCE[dtype] * 10, atol=TOLERANCE[dtype] * 20
        )


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
