"""Functions of one family of ops each, of a length that changes, short and long, in float32."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Family:
    """A function, names of its axes, its arguments for a length, and two lengths."""

    name: str
    function: Callable[..., Any]
    dims: dict[str, tuple[Any, ...]]
    make: Callable[[int], list[Any]]
    lengths: tuple[int, int]


def families() -> list[Family]:
    """One of each."""
    import jax
    import jax.numpy as jnp

    rng = np.random.default_rng(0)

    def normal(*shape: int) -> Any:
        return rng.normal(size=shape).astype(np.float32)

    def positive(n: int) -> Any:
        root = normal(n, n)
        return root @ root.T / n + np.eye(n, dtype=np.float32)

    def convolved(x: Any, k: Any) -> Any:
        return jax.lax.conv_general_dilated(x[None], k, (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC"))[0]

    def normalized(x: Any) -> Any:
        return (x - x.mean(0)) / jnp.sqrt(x.var(0) + 1e-5)

    def scanned(x: Any) -> Any:
        return jax.lax.scan(lambda c, a: (jnp.tanh(c * 0.5 + a), c), jnp.zeros(64, x.dtype), x)[1]

    vector, rows, square = {"x": ("n",)}, {"x": ("n", 64)}, {"x": ("n", "n")}
    return [
        Family("elementwise", lambda x: jnp.tanh(x) * x + 1, vector, lambda n: [normal(n)], (216, 225_000)),
        Family("convolution", convolved, {"x": ("n", 16)}, lambda n: [normal(n, 16), normal(3, 16, 16)], (108, 7_200)),
        Family("argsort", lambda x: jnp.argsort(x), vector, lambda n: [normal(n)], (216, 7_200)),
        Family("softmax", lambda x: jax.nn.softmax(x), vector, lambda n: [normal(n)], (216, 225_000)),
        Family("softmax of rows", lambda x: jax.nn.softmax(x, -1), square, lambda n: [normal(n, n)], (57, 900)),
        Family("batch norm", normalized, rows, lambda n: [normal(n, 64)], (57, 7_200)),
        Family(
            "gather",
            lambda x, i: x[i],
            {"x": ("n", 64), "i": ("n",)},
            lambda n: [normal(n, 64), rng.integers(0, n, n).astype(np.int32)],
            (57, 7_200),
        ),
        Family("reverse", lambda x: x[::-1], vector, lambda n: [normal(n)], (216, 450_000)),
        Family(
            "concatenate",
            lambda x, y: jnp.concatenate([x, y]),
            {"x": ("n",), "y": ("n",)},
            lambda n: [normal(n), normal(n)],
            (216, 450_000),
        ),
        Family("transpose", lambda x: x.T, rows, lambda n: [normal(n, 64)], (57, 7_200)),
        Family("reshape", lambda x: x.reshape(-1), square, lambda n: [normal(n, n)], (57, 900)),
        Family("Cholesky", lambda x: jnp.linalg.cholesky(x), square, lambda n: [positive(n)], (28, 230)),
        Family(
            "solve",
            lambda x, y: jnp.linalg.solve(x, y),
            {"x": ("n", "n"), "y": ("n",)},
            lambda n: [positive(n), normal(n)],
            (28, 230),
        ),
        Family("matmul", lambda x, w: x @ w, rows, lambda n: [normal(n, 64), normal(64, 64)], (57, 7_200)),
        Family("scan", scanned, rows, lambda n: [normal(n, 64)], (57, 900)),
        Family("sort", lambda x: jnp.sort(x), vector, lambda n: [normal(n)], (216, 7_200)),
    ]
