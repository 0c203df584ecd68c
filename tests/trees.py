"""Arrays for functions of JAX, and comparisons of what two of them give."""

from typing import Any

import jax
import numpy as np


def random(*shape: int, seed: int = 0) -> np.ndarray:
    """Normal numbers."""
    return np.random.default_rng((seed, *shape)).normal(size=shape).astype(np.float32)


def positive_definite(n: int) -> np.ndarray:
    """A symmetric matrix that has a Cholesky factor."""
    a = random(n, n)
    return a @ a.T + n * np.eye(n, dtype=np.float32)


def assert_same(found: Any, wanted: Any, tolerance: float = 2e-5) -> None:
    """The same tree of the same types; values within a tolerance, which is absolute for those below the largest."""
    assert jax.tree.structure(found) == jax.tree.structure(wanted)
    for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        assert isinstance(x, jax.Array) or x.dtype == jax.dtypes.float0
        assert (np.shape(x), x.dtype) == (np.shape(y), y.dtype)
        if jax.numpy.issubdtype(x.dtype, jax.dtypes.prng_key):
            x, y = jax.random.key_data(x), jax.random.key_data(y)
        if x.dtype != jax.dtypes.float0:
            x, y = (np.asarray(z, complex if np.iscomplexobj(z) else float) for z in (x, y))
            scale = max(1.0, float(np.abs(y[np.isfinite(y)]).max(initial=0)))
            np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance * scale)
