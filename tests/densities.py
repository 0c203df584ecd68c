"""Log-densities, once as PyTensor graphs and once as JAX functions of the same formula, for tests of derivatives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytensor.tensor as pt

import hlograph


@dataclass(frozen=True)
class Model:
    """A log-density as a graph and as a JAX function, with values for its arguments."""

    graph: Callable[[], tuple[list[Any], Any]]
    value: Callable[..., Any]
    data: Callable[[], list[np.ndarray]]
    parameters: tuple[int, ...]

    def function(self, **options: Any) -> hlograph.Function:
        return hlograph.function(*self.graph(), name="logp", **options)


def logistic_graph() -> tuple[list[Any], Any]:
    X, y, beta = pt.dmatrix("X"), pt.dvector("y"), pt.dvector("beta")
    p = pt.sigmoid(X @ beta)
    return [X, y, beta], (y * pt.log(p) + (1 - y) * pt.log(1 - p)).sum() - 0.5 * (beta**2).sum()


def logistic_value(X: Any, y: Any, beta: Any) -> Any:
    eta = X @ beta
    return (y * jax.nn.log_sigmoid(eta) + (1 - y) * jax.nn.log_sigmoid(-eta)).sum() - 0.5 * (beta**2).sum()


def logistic_data(rows: int = 7) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=(rows, 3)), (rng.random(rows) > 0.5).astype(float), rng.normal(size=3)]


def schools_graph() -> tuple[list[Any], Any]:
    y, sigma, mu, log_tau, theta = (
        pt.dvector("y"),
        pt.dvector("sigma"),
        pt.dscalar("mu"),
        pt.dscalar("log_tau"),
        pt.dvector("theta"),
    )
    tau = pt.exp(log_tau)
    effects = mu + tau * theta
    value = (
        (-0.5 * ((y - effects) / sigma) ** 2 - pt.log(sigma)).sum()
        - 0.5 * (theta**2).sum()
        - 0.5 * (mu / 5) ** 2
        - pt.log1p((tau / 5) ** 2)
        + log_tau
    )
    return [y, sigma, mu, log_tau, theta], value


def schools_value(y: Any, sigma: Any, mu: Any, log_tau: Any, theta: Any) -> Any:
    tau = jnp.exp(log_tau)
    effects = mu + tau * theta
    return (
        (-0.5 * ((y - effects) / sigma) ** 2 - jnp.log(sigma)).sum()
        - 0.5 * (theta**2).sum()
        - 0.5 * (mu / 5) ** 2
        - jnp.log1p((tau / 5) ** 2)
        + log_tau
    )


def schools_data() -> list[np.ndarray]:
    y = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
    sigma = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
    return [y, sigma, np.array(4.0), np.array(1.1), np.linspace(-1, 1, 8)]


def mlp_graph() -> tuple[list[Any], Any]:
    X, Y, W1, b1, W2 = pt.dmatrix("X"), pt.dmatrix("Y"), pt.dmatrix("W1"), pt.dvector("b1"), pt.dmatrix("W2")
    logits = pt.tanh(X @ W1 + b1) @ W2
    return [X, Y, W1, b1, W2], -pt.mean(pt.sum(Y * pt.special.log_softmax(logits, axis=-1), axis=1))


def mlp_value(X: Any, Y: Any, W1: Any, b1: Any, W2: Any) -> Any:
    logits = jnp.tanh(X @ W1 + b1) @ W2
    return -jnp.mean(jnp.sum(Y * jax.nn.log_softmax(logits, axis=-1), axis=1))


def mlp_data() -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    Y = np.eye(2)[rng.integers(0, 2, 5)]
    return [rng.normal(size=(5, 3)), Y, rng.normal(size=(3, 4)), rng.normal(size=4), rng.normal(size=(4, 2))]


def gaussian_process_graph() -> tuple[list[Any], Any]:
    x, y, log_scale = pt.dvector("x"), pt.dvector("y"), pt.dscalar("log_scale")
    distance = (x[:, None] - x[None, :]) ** 2
    covariance = pt.exp(-0.5 * distance / pt.exp(2 * log_scale)) + 0.1 * pt.eye(x.shape[0])
    factor = pt.linalg.cholesky(covariance)
    white = pt.linalg.solve_triangular(factor, y, lower=True)
    return [x, y, log_scale], -0.5 * (white**2).sum() - pt.log(pt.diag(factor)).sum()


def gaussian_process_value(x: Any, y: Any, log_scale: Any) -> Any:
    distance = (x[:, None] - x[None, :]) ** 2
    covariance = jnp.exp(-0.5 * distance / jnp.exp(2 * log_scale)) + 0.1 * jnp.eye(len(x))
    factor = jnp.linalg.cholesky(covariance)
    white = jax.scipy.linalg.solve_triangular(factor, y, lower=True)
    return -0.5 * (white**2).sum() - jnp.log(jnp.diag(factor)).sum()


def gaussian_process_data() -> list[np.ndarray]:
    rng = np.random.default_rng(2)
    return [np.linspace(0, 1, 6), rng.normal(size=6), np.array(-0.7)]


MODELS = {
    "logistic": Model(logistic_graph, logistic_value, logistic_data, (2,)),
    "schools": Model(schools_graph, schools_value, schools_data, (2, 3, 4)),
    "mlp": Model(mlp_graph, mlp_value, mlp_data, (2, 3, 4)),
    "gaussian process": Model(gaussian_process_graph, gaussian_process_value, gaussian_process_data, (0, 2)),
}
