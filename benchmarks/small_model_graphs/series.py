"""Models of time: stochastic volatility, and a local level by the Kalman filter."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from .model import SmallModel

# ---- stochastic volatility ------------------------------------------------------------------------------------------

DAYS = 1_000


@cache
def returns() -> np.ndarray:
    """Daily returns in percent."""
    rng = np.random.default_rng(10)
    return np.exp(np.cumsum(rng.normal(scale=0.1, size=DAYS)) / 2) * rng.standard_t(8, size=DAYS)


def volatility_graph() -> tuple[list[Any], list[Any]]:
    """Log-volatility is a random walk, returns are Student t; step and degrees of freedom are estimated."""
    import pytensor.tensor as pt

    from .densities import LogDensity, exponential, normal, parameter, student_t

    log_step, log_nu, volatility = parameters = [
        parameter("log_step"),
        parameter("log_nu"),
        parameter("volatility", DAYS),
    ]
    step, nu, sigma = pt.exp(log_step), pt.exp(log_nu), pt.exp(volatility)
    model = LogDensity()
    model.add(exponential(step, 0.1), jacobian=log_step)
    model.add(exponential(nu, 10.0), jacobian=log_nu)
    model.add(normal(volatility[0], 0.0, 10.0))
    model.add(normal(volatility[1:] - volatility[:-1], 0.0, step), step > 0)
    model.add(student_t(returns(), nu, sigma), nu > 0, sigma > 0)
    return parameters, model.outputs(parameters)


def volatility_value(log_step: Any, log_nu: Any, volatility: Any) -> Any:
    """`volatility_graph`'s value in JAX."""
    import jax.numpy as jnp
    from jax.scipy.stats import norm, t

    step, nu = jnp.exp(log_step), jnp.exp(log_nu)
    prior = jnp.log(10.0) - step * 10 + log_step - jnp.log(10.0) - nu / 10 + log_nu
    walk = norm.logpdf(volatility[0], 0, 10) + norm.logpdf(jnp.diff(volatility), 0, step).sum()
    return prior + walk + t.logpdf(returns(), nu, 0, jnp.exp(volatility)).sum()


def volatility_point() -> list[np.ndarray]:
    """A walk beside the one that made the data."""
    return [np.array(-2.2), np.array(2.0), np.cumsum(np.random.default_rng(11).normal(scale=0.07, size=DAYS))]


STOCHASTIC_VOLATILITY = SmallModel(
    "stochastic volatility", "1,000 steps", volatility_graph, volatility_value, volatility_point
)


# ---- state space ----------------------------------------------------------------------------------------------------

STEPS = 500


@cache
def levels() -> np.ndarray:
    """A random walk, observed with noise."""
    rng = np.random.default_rng(12)
    return np.cumsum(rng.normal(scale=0.5, size=STEPS)) + rng.normal(size=STEPS)


def state_space_graph() -> tuple[list[Any], list[Any]]:
    """The local level model's likelihood by the Kalman filter, a loop; both variances by logarithms of their roots."""
    import pytensor
    import pytensor.tensor as pt

    from .densities import LogDensity, as_float64, half_normal, normal, parameter

    start, log_level, log_noise = parameters = [
        parameter("start"),
        parameter("log_sigma_level"),
        parameter("log_sigma_noise"),
    ]
    sigma_level, sigma_noise = pt.exp(log_level), pt.exp(log_noise)

    def step(y: Any, mean: Any, variance: Any, level: Any, noise: Any) -> list[Any]:
        innovation, spread = y - mean, variance + noise
        gain = variance / spread
        density = -0.5 * (pt.log(2.0 * np.pi) + pt.log(spread) + innovation**2 / spread)
        return [mean + gain * innovation, variance * (1.0 - gain) + level, density]

    *_, densities = pytensor.scan(
        step,
        sequences=[as_float64(levels())],
        outputs_info=[start, as_float64(1.0), None],
        non_sequences=[sigma_level**2, sigma_noise**2],
        return_updates=False,
    )
    model = LogDensity()
    model.add(normal(start, 0.0, 5.0))
    model.add(half_normal(sigma_level, 1.0), jacobian=log_level)
    model.add(half_normal(sigma_noise, 1.0), jacobian=log_noise)
    model.add(densities)
    return parameters, model.outputs(parameters)


def state_space_value(start: Any, log_sigma_level: Any, log_sigma_noise: Any) -> Any:
    """`state_space_graph`'s value in JAX."""
    import jax
    import jax.numpy as jnp
    from jax.scipy.stats import norm

    sigma_level, sigma_noise = jnp.exp(log_sigma_level), jnp.exp(log_sigma_noise)
    level, noise = sigma_level**2, sigma_noise**2

    def step(carry: Any, y: Any) -> Any:
        mean, variance = carry
        innovation, spread = y - mean, variance + noise
        gain = variance / spread
        density = -0.5 * (jnp.log(2 * jnp.pi * spread) + innovation**2 / spread)
        return (mean + gain * innovation, variance * (1 - gain) + level), density

    densities = jax.lax.scan(step, (start, jnp.ones_like(start)), levels())[1]
    prior = norm.logpdf(start, 0, 5)
    for sigma, log_sigma in ((sigma_level, log_sigma_level), (sigma_noise, log_sigma_noise)):
        prior += jnp.log(2.0) + norm.logpdf(sigma) + log_sigma
    return prior + densities.sum()


def state_space_point() -> list[np.ndarray]:
    """Not far from the mode."""
    return [np.array(0.3), np.array(-0.8), np.array(0.1)]


STATE_SPACE = SmallModel(
    "state space", "500 steps", state_space_graph, state_space_value, state_space_point, traced=True
)
