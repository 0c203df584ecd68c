"""Models whose data have a length that changes, as JAX functions: value and gradients by the parameters.

Each takes its parameters first and then arrays whose leading axis has the length `n`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Ragged:
    """A model of variable length.

    Attributes:
        name: for the tables.
        value: from the parameters and the data to a scalar.
        parameters: values of the parameters, by name.
        data: names of the data arguments, with their axes.
        make: the data for a length.
        lengths: lengths for steady calls.
        dot_heavy: whether contractions over the length dominate.
    """

    name: str
    value: Callable[..., Any]
    parameters: dict[str, np.ndarray]
    data: dict[str, tuple[Any, ...]]
    make: Callable[[int], list[np.ndarray]]
    lengths: tuple[int, ...]
    dot_heavy: bool = False

    def function(self) -> Callable[..., Any]:
        """Value and gradients by all parameters."""
        import jax

        return jax.value_and_grad(self.value, argnums=tuple(range(len(self.parameters))))

    def arguments(self, length: int) -> list[np.ndarray]:
        """All arguments for a length."""
        return [*self.parameters.values(), *self.make(length)]


def logistic(w: Any, X: Any, y: Any) -> Any:
    """Logistic regression's log-likelihood."""
    import jax.numpy as jnp

    predictor = X @ w
    return jnp.sum(y * predictor - jnp.logaddexp(0.0, predictor))


def mlp(W1: Any, b1: Any, W2: Any, b2: Any, X: Any, y: Any) -> Any:
    """A regression with one hidden layer: mean squared error."""
    import jax.numpy as jnp

    found = jnp.tanh(X @ W1 + b1) @ W2 + b2
    return jnp.mean((found - y) ** 2)


def gaussian_process(scale: Any, noise: Any, X: Any, y: Any) -> Any:
    """Log-density of observations under a squared-exponential kernel, by a Cholesky factor."""
    import jax.numpy as jnp
    from jax.scipy.linalg import solve_triangular

    distance = jnp.sum((X[:, None, :] - X[None, :, :]) ** 2, axis=-1)
    covariance = jnp.exp(-0.5 * distance / scale**2) + noise**2 * jnp.eye(X.shape[0])
    factor = jnp.linalg.cholesky(covariance)
    residual = solve_triangular(factor, y, lower=True)
    return -0.5 * jnp.sum(residual**2) - jnp.sum(jnp.log(jnp.diagonal(factor)))


def rnn(W: Any, U: Any, v: Any, x: Any, y: Any) -> Any:
    """An Elman network over the sequence: squared error of a read-out at every step."""
    import jax
    import jax.numpy as jnp

    def step(state: Any, pair: Any) -> Any:
        inputs, target = pair
        state = jnp.tanh(W @ state + U @ inputs)
        return state, (v @ state - target) ** 2

    _, errors = jax.lax.scan(step, jnp.zeros(W.shape[0]), (x, y))
    return jnp.sum(errors)


def mixture(weights: Any, means: Any, scales: Any, x: Any) -> Any:
    """Log-likelihood of a mixture of normals."""
    import jax
    import jax.numpy as jnp

    each = -0.5 * ((x[:, None] - means) / scales) ** 2 - jnp.log(scales)
    return jnp.sum(jax.nn.logsumexp(each + jax.nn.log_softmax(weights), axis=1))


def quantile(shift: Any, x: Any) -> Any:
    """Mean of the lower half, by sorting: a quantile-based statistic."""
    import jax.numpy as jnp

    ordered = jnp.sort(x * shift)
    n = x.shape[0]
    return jnp.sum(jnp.where(jnp.arange(n) < n // 2, ordered, 0.0)) / n


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)


def _logistic(features: int, lengths: tuple[int, ...]) -> Ragged:
    def make(n: int) -> list[np.ndarray]:
        return [_rng().normal(size=(n, features)), (_rng().random(n) < 0.5).astype(float)]

    parameters = {"w": _rng().normal(size=features) / 4}
    data: dict[str, tuple[Any, ...]] = {"X": ("n", features), "y": ("n",)}
    return Ragged(f"logistic, {features} features", logistic, parameters, data, make, lengths, features >= 64)


MODELS = {
    "logistic8": _logistic(8, (9_000, 700)),
    "logistic64": _logistic(64, (9_000, 700)),
    "mlp": Ragged(
        "MLP, 64-128-1",
        mlp,
        {
            "W1": _rng().normal(size=(64, 128)) / 8,
            "b1": np.zeros(128),
            "W2": _rng().normal(size=128) / 11,
            "b2": np.zeros(()),
        },
        {"X": ("n", 64), "y": ("n",)},
        lambda n: [_rng().normal(size=(n, 64)), _rng().normal(size=n)],
        (1_000, 300),
        True,
    ),
    "gp": Ragged(
        "Gaussian process",
        gaussian_process,
        {"scale": np.array(0.7), "noise": np.array(0.5)},
        {"X": ("n", 2), "y": ("n",)},
        lambda n: [_rng().normal(size=(n, 2)), _rng().normal(size=n)],
        (200, 90),
    ),
    "rnn": Ragged(
        "RNN, 16 units",
        rnn,
        {"W": _rng().normal(size=(16, 16)) / 8, "U": _rng().normal(size=(16, 4)) / 4, "v": _rng().normal(size=16) / 4},
        {"x": ("n", 4), "y": ("n",)},
        lambda n: [_rng().normal(size=(n, 4)), _rng().normal(size=n)],
        (900, 200),
    ),
    "mixture": Ragged(
        "mixture of 4",
        mixture,
        {"weights": np.zeros(4), "means": np.arange(4.0) - 1.5, "scales": np.full(4, 0.8)},
        {"x": ("n",)},
        lambda n: [_rng().normal(size=n)],
        (2_000, 700),
    ),
    "quantile": Ragged(
        "quantile by sorting",
        quantile,
        {"shift": np.array(1.5)},
        {"x": ("n",)},
        lambda n: [_rng().normal(size=n)],
        (9_000, 700),
    ),
}
