"""Decompositions of JAX as what is unique of them: signs and phases of vectors cancel in products."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Array = np.ndarray[Any, Any]
SQUARE, ANY = [(1, 1), (5, 5)], [(6, 2), (2, 5), (4, 4)]


def adjoint(a: Any) -> Any:
    return a.swapaxes(-1, -2).conj()


def eigh(a: Any) -> Any:
    values, vectors = jnp.linalg.eigh(a)
    return values, (vectors * values[..., None, :]) @ adjoint(vectors), adjoint(vectors) @ vectors


def svd(a: Any, full: bool) -> Any:
    u, s, v = jnp.linalg.svd(a, full_matrices=full)
    k = s.shape[-1]
    return s, (u[..., :k] * s[..., None, :]) @ v[..., :k, :], adjoint(u) @ u, v @ adjoint(v)


def qr(a: Any, mode: str) -> Any:
    q, r = jnp.linalg.qr(a, mode=mode)
    return q @ r, jnp.tril(r, -1), adjoint(q) @ q


def pivoted(a: Any) -> Any:
    q, r, order = jax.lax.linalg.qr(a, pivoting=True, full_matrices=False)
    moved = (order[..., None, :] == jnp.arange(a.shape[-1])[:, None]).astype(a.dtype)
    own = jnp.arange(r.shape[-2])[:, None] == jnp.arange(r.shape[-1])
    return q @ r - a @ moved, jnp.abs(jnp.where(own, r, 0).sum(-1)), order


# What is computed, of which shapes, and whether of Hermitian matrices.
CASES: dict[str, tuple[Callable[[Any], Any], list[tuple[int, int]], bool]] = {
    "eigh": (eigh, SQUARE, True),
    "eigh_upper": (
        lambda a: jax.lax.linalg.eigh(jnp.triu(a), lower=False, symmetrize_input=False)[1],
        SQUARE,
        True,
    ),
    "svd": (lambda a: svd(a, False), ANY, False),
    "svd_full": (lambda a: svd(a, True), ANY, False),
    "values": (jnp.linalg.svdvals, ANY, False),
    "qr": (lambda a: qr(a, "reduced"), ANY, False),
    "qr_full": (lambda a: qr(a, "complete"), ANY, False),
    "qr_pivoted": (pivoted, ANY, False),
    "lu": (jax.lax.linalg.lu, ANY, False),
    "cholesky": (lambda a: jnp.linalg.cholesky(a @ adjoint(a) + jnp.eye(a.shape[-1], dtype=a.dtype)), SQUARE, False),
    "triangular": (
        lambda a: jax.lax.linalg.triangular_solve(
            a + 9 * jnp.eye(a.shape[-1], dtype=a.dtype), a, left_side=True, lower=True, transpose_a=True
        ),
        SQUARE,
        False,
    ),
    "solve": (
        lambda a: jnp.linalg.solve(a @ adjoint(a) + jnp.eye(a.shape[-1], dtype=a.dtype), a),
        SQUARE,
        False,
    ),
}


def matrix(shape: tuple[int, ...], dtype: str, hermitian: bool = False) -> Array:
    """Normal numbers; a Hermitian matrix has them twice on its diagonal."""
    rng = np.random.default_rng(shape)
    a = rng.normal(size=shape) + (1j * rng.normal(size=shape) if dtype.startswith("complex") else 0)
    return (a + adjoint(a) if hermitian else a).astype(dtype)


def check(found: Any, wanted: Any, a: Array) -> None:
    """Results of a function of `a`, to some units of rounding of its largest element."""
    results, expected = jax.tree.leaves(found), jax.tree.leaves(wanted)
    assert len(results) == len(expected)
    tolerance = (2e-5 if a.dtype in (np.float32, np.complex64) else 1e-12) * (10 + 10 * float(np.abs(a).max()))
    for x, y in zip(results, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)
