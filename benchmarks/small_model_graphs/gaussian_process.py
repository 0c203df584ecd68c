"""The marginal likelihood of a Gaussian process."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from .model import SmallModel

POINTS = 200


@cache
def curve() -> tuple[np.ndarray, np.ndarray]:
    """Places, one column, and what was observed there."""
    rng = np.random.default_rng(14)
    x = np.sort(rng.uniform(0, 10, POINTS))
    return x[:, None], np.sin(x) + 0.5 * np.cos(3 * x) + 0.3 * rng.normal(size=POINTS)


def gaussian_process_graph() -> tuple[list[Any], list[Any]]:
    """Squared exponential kernel; lengthscale, amplitude and noise by their logarithms."""
    import pytensor.tensor as pt

    from .densities import LogDensity, gamma, half_normal, parameter

    X, y = curve()
    logs = [parameter(name) for name in ("log_lengthscale", "log_amplitude", "log_noise")]
    lengthscale, amplitude, noise = (pt.exp(x) for x in logs)
    model = LogDensity()
    model.add(gamma(lengthscale, 2.0, 1.0), jacobian=logs[0])
    model.add(half_normal(amplitude, 3.0), jacobian=logs[1])
    model.add(half_normal(noise, 1.0), jacobian=logs[2])

    # pymc.gp.cov.ExpQuad and pymc.gp.gp.Marginal
    places = X / lengthscale
    squares = pt.sum(pt.square(places), axis=1)
    distance = pt.clip(-2.0 * (places @ places.T) + squares[:, None] + squares[None, :], 0.0, np.inf)
    covariance = amplitude**2 * pt.exp(-0.5 * distance) + pt.diag(noise**2 * pt.ones((POINTS,)))

    # pymc.distributions.multivariate.MvNormal
    factor = pt.linalg.cholesky(covariance, lower=True, on_error="nan")
    diagonal = pt.diagonal(factor)
    whitened = pt.linalg.solve_triangular(factor, pt.as_tensor(y), lower=True, b_ndim=1)
    normalizing = -0.5 * POINTS * np.log(2 * np.pi) - pt.log(diagonal).sum()
    model.add(normalizing - 0.5 * (whitened**2).sum(), diagonal > 0)
    return logs, model.outputs(logs)


def gaussian_process_value(log_lengthscale: Any, log_amplitude: Any, log_noise: Any) -> Any:
    """`gaussian_process_graph`'s value in JAX."""
    import jax.numpy as jnp
    from jax.scipy.linalg import solve_triangular
    from jax.scipy.stats import norm

    X, y = curve()
    lengthscale, amplitude, noise = jnp.exp(log_lengthscale), jnp.exp(log_amplitude), jnp.exp(log_noise)
    prior = jnp.log(lengthscale) - lengthscale + log_lengthscale
    prior += jnp.log(2.0) + norm.logpdf(amplitude, 0, 3) + log_amplitude
    prior += jnp.log(2.0) + norm.logpdf(noise) + log_noise
    covariance = amplitude**2 * jnp.exp(-0.5 * ((X - X.T) / lengthscale) ** 2) + noise**2 * jnp.eye(POINTS)
    factor = jnp.linalg.cholesky(covariance)
    whitened = solve_triangular(factor, y, lower=True)
    return prior + norm.logpdf(whitened).sum() - jnp.log(jnp.diagonal(factor)).sum()


def gaussian_process_point() -> list[np.ndarray]:
    """Not far from the mode."""
    return [np.array(-0.1), np.array(0.2), np.array(-1.1)]


GAUSSIAN_PROCESS = SmallModel(
    "Gaussian process", "200 points", gaussian_process_graph, gaussian_process_value, gaussian_process_point
)
