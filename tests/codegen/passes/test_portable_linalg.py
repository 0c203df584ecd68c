"""portable_linalg: calls of LAPACK and large factorizations in StableHLO's own ops, beside NumPy and SciPy.

The modules run in XLA as they are, or in the reference interpreter: neither finds a library to call.
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

DTYPES = {"float64": "f64", "float32": "f32"}
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


def portable(op: str, *arrays: np.ndarray) -> hlograph.Program:
    """A module of one op, written with {0}, {1} for the types of %a0, %a1, after the pass."""
    types = [f"tensor<{''.join(f'{n}x' for n in a.shape)}{DTYPES[a.dtype.name]}>" for a in arrays]
    arguments = ", ".join(f"%a{i}: {t}" for i, t in enumerate(types))
    text = f"func.func @main({arguments}) -> {types[-1]} {{\n  %r = {op.format(*types)}\n  return %r : {types[-1]}\n}}"
    program = hlograph.Program.parse(text).run_passes(["portable_linalg"])
    assert (
        not {"stablehlo.cholesky", "stablehlo.triangular_solve", "stablehlo.custom_call"} & program.op_counts().keys()
    )
    return program


def run(program: hlograph.Program, *arrays: np.ndarray) -> np.ndarray:
    """Through XLA, which finds nothing to call a library for."""
    return np.asarray(program.compile(cpu="plain")(*arrays))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(9, 9), (2, 12, 12), (43, 43)])
@pytest.mark.parametrize("lower", [True, False])
def test_cholesky(lower: bool, shape: tuple[int, ...], dtype: str) -> None:
    """Of the matrix one triangle is read: the other one holds NaN."""
    matrix = definite(dtype, *shape)
    side = np.tril if lower else np.triu
    one_side = np.where(side(np.ones(shape[-2:])) > 0, matrix, np.nan).astype(dtype)
    program = portable(f"stablehlo.cholesky %a0, lower = {str(lower).lower()} : {{0}}", one_side)
    expected = np.linalg.cholesky(matrix)
    expected = expected if lower else adjoint(expected)
    found = run(program, one_side)
    np.testing.assert_allclose(found, expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype] * 10)


@pytest.mark.parametrize("place", [0, 5, 11])
@pytest.mark.parametrize("value", [0.0, -1.0, np.nan])
def test_what_is_not_positive_definite_gives_nan(place: int, value: float) -> None:
    matrix = np.eye(12)
    matrix[place, place] = value
    program = portable("stablehlo.cholesky %a0, lower = true : {0}", matrix)
    (found,) = program.interpret(matrix)
    assert np.isnan(found[np.tril_indices(12)]).all()


@pytest.mark.sampled(24)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"])
@pytest.mark.parametrize("unit", [True, False])
@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("shape", [(10, 10), (2, 13, 13)])
def test_triangular_solve(shape: tuple[int, ...], lower: bool, left: bool, unit: bool, kind: str, dtype: str) -> None:
    n, side = shape[-1], (np.tril if lower else np.triu)
    matrix = side(random(dtype, *shape)) / n + np.eye(n, dtype=dtype) * (0 if unit else 2)
    given = np.where(side(np.ones((n, n)), -1 if lower else 1) + (0 if unit else np.eye(n)) > 0, matrix, np.nan)
    given = given.astype(dtype)
    right = random(dtype, *shape[:-2], *((n, 3) if left else (3, n)))
    true = side(matrix, -1 if lower else 1) + np.eye(n) if unit else matrix
    true = {"NO_TRANSPOSE": true, "TRANSPOSE": np.swapaxes(true, -1, -2), "ADJOINT": adjoint(true)}[kind]
    op = (
        f'"stablehlo.triangular_solve"(%a0, %a1) <{{{{left_side = {str(left).lower()}, lower = {str(lower).lower()}, '
        f"transpose_a = #stablehlo<transpose {kind}>, unit_diagonal = {str(unit).lower()}}}}}> : "
        "({0}, {1}) -> {1}"
    )
    if unit:  # what stands on the diagonal is not read, but it is multiplied by zeros: no NaN
        given[..., range(n), range(n)] = 7
    program = portable(op, given, right)
    found = run(program, given, right)
    expected = np.linalg.solve(true, right) if left else adjoint(np.linalg.solve(adjoint(true), adjoint(right)))
    np.testing.assert_allclose(found, expected, rtol=TOLERANCE[dtype] * 10, atol=TOLERANCE[dtype] * 10)


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
        program = emitted.run_passes(["device_linalg{platform=cpu}"])
    assert "lapack_" in program.text
    after = program.run_passes(["portable_linalg"])
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
        assert program.run_passes(["portable_linalg"]).op_counts() == program.op_counts()
