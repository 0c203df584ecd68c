"""Models with varying effects: eight schools, radon in Minnesota's counties, item response theory."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from .model import SmallModel

# ---- eight schools --------------------------------------------------------------------------------------------------

TREATMENT = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])  # Rubin (1981)
STANDARD_ERROR = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def schools_graph() -> tuple[list[Any], list[Any]]:
    """Not centred; the scale has a half-Cauchy prior and is given by its logarithm."""
    import pytensor.tensor as pt

    from .densities import LogDensity, half_cauchy, normal, parameter

    mu, log_tau, theta = parameters = [parameter("mu"), parameter("log_tau"), parameter("theta", 8)]
    tau = pt.exp(log_tau)
    model = LogDensity()
    model.add(normal(mu, 0.0, 5.0))
    model.add(half_cauchy(tau, 5.0), jacobian=log_tau)
    model.add(normal(theta, 0.0, 1.0))
    model.add(normal(TREATMENT, mu + tau * theta, STANDARD_ERROR))
    return parameters, model.outputs(parameters)


def schools_value(mu: Any, log_tau: Any, theta: Any) -> Any:
    """`schools_graph`'s value in JAX."""
    import jax.numpy as jnp
    from jax.scipy.stats import cauchy, norm

    tau = jnp.exp(log_tau)
    prior = norm.logpdf(mu, 0, 5) + jnp.log(2) + cauchy.logpdf(tau, 0, 5) + log_tau + norm.logpdf(theta).sum()
    return prior + norm.logpdf(TREATMENT, mu + tau * theta, STANDARD_ERROR).sum()


def schools_point() -> list[np.ndarray]:
    """Somewhere near the mode."""
    return [np.array(4.0), np.array(1.1), np.linspace(-1.0, 1.0, 8)]


EIGHT_SCHOOLS = SmallModel("eight schools", "8", schools_graph, schools_value, schools_point, numba_limit=2.2)


# ---- radon ----------------------------------------------------------------------------------------------------------

COUNTIES, HOUSES = 85, 919


@cache
def radon_data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """County of each house, whether it was measured on the first floor, and log radon.

    Made up, with as many houses and counties as Gelman and Hill's (2006) data for Minnesota.
    """
    rng = np.random.default_rng(1)
    share = rng.lognormal(0.0, 1.1, COUNTIES)
    sizes = 1 + rng.multinomial(HOUSES - COUNTIES, share / share.sum())
    county = np.repeat(np.arange(COUNTIES), sizes)
    floor = (rng.random(HOUSES) < 0.17).astype(float)
    intercept, slope = rng.normal(1.4, 0.3, COUNTIES), rng.normal(-0.6, 0.3, COUNTIES)
    return county, floor, intercept[county] + slope[county] * floor + rng.normal(0, 0.7, HOUSES)


def radon_graph() -> tuple[list[Any], list[Any]]:
    """Varying intercepts and slopes, not centred; the index of the county is a constant."""
    import pytensor.tensor as pt

    from .densities import LogDensity, exponential, normal, parameter

    county, floor, radon = radon_data()
    scalars = [parameter(name) for name in ("mu_a", "mu_b", "log_sigma_a", "log_sigma_b", "log_sigma")]
    vectors = [parameter(name, COUNTIES) for name in ("z_a", "z_b")]
    mu_a, mu_b, log_sigma_a, log_sigma_b, log_sigma = scalars
    z_a, z_b = vectors
    sigma_a, sigma_b, sigma = pt.exp(log_sigma_a), pt.exp(log_sigma_b), pt.exp(log_sigma)
    intercept, slope = mu_a + sigma_a * z_a, mu_b + sigma_b * z_b
    model = LogDensity()
    model.add(normal(mu_a, 0.0, 10.0))
    model.add(normal(mu_b, 0.0, 10.0))
    model.add(exponential(sigma_a, 1.0), jacobian=log_sigma_a)
    model.add(exponential(sigma_b, 1.0), jacobian=log_sigma_b)
    model.add(exponential(sigma, 1.0), jacobian=log_sigma)
    model.add(normal(z_a, 0.0, 1.0))
    model.add(normal(z_b, 0.0, 1.0))
    model.add(normal(radon, intercept[county] + slope[county] * floor, sigma), sigma > 0)
    return [*scalars, *vectors], model.outputs([*scalars, *vectors])


def radon_value(mu_a: Any, mu_b: Any, log_sigma_a: Any, log_sigma_b: Any, log_sigma: Any, z_a: Any, z_b: Any) -> Any:
    """`radon_graph`'s value in JAX."""
    import jax.numpy as jnp
    from jax.scipy.stats import norm

    county, floor, radon = radon_data()
    logs = jnp.stack([log_sigma_a, log_sigma_b, log_sigma])
    scales = jnp.exp(logs)
    sigma_a, sigma_b, sigma = scales
    prior = norm.logpdf(mu_a, 0, 10) + norm.logpdf(mu_b, 0, 10) + jnp.sum(logs - scales)
    prior += norm.logpdf(z_a).sum() + norm.logpdf(z_b).sum()
    intercept, slope = mu_a + sigma_a * z_a, mu_b + sigma_b * z_b
    return prior + norm.logpdf(radon, intercept[county] + slope[county] * floor, sigma).sum()


def radon_point() -> list[np.ndarray]:
    """Somewhere near the mode."""
    rng = np.random.default_rng(2)
    scalars = [np.array(x) for x in (1.4, -0.6, -1.2, -1.1, -0.35)]
    return [*scalars, rng.normal(size=COUNTIES), rng.normal(size=COUNTIES)]


RADON = SmallModel("radon", "919 rows, 85 groups", radon_graph, radon_value, radon_point, numba_limit=1.6)


# ---- item response theory -------------------------------------------------------------------------------------------

PERSONS, ITEMS = 100, 50


@cache
def irt_answers() -> np.ndarray:
    """Right or wrong, one row for each person."""
    rng = np.random.default_rng(3)
    ability, difficulty = rng.normal(size=(PERSONS, 1)), rng.normal(size=ITEMS)
    logit = rng.lognormal(0, 0.4, size=ITEMS) * (ability - difficulty)
    return (rng.random((PERSONS, ITEMS)) < 1 / (1 + np.exp(-logit))).astype(int)


def irt_graph() -> tuple[list[Any], list[Any]]:
    """Two-parameter logistic: ability of persons, difficulty and discrimination (by its logarithm) of items."""
    import pytensor.tensor as pt

    from .densities import LogDensity, bernoulli, half_normal, normal, parameter

    ability, difficulty = parameter("ability", PERSONS), parameter("difficulty", ITEMS)
    log_discrimination, log_scale = parameter("log_discrimination", ITEMS), parameter("log_scale")
    parameters = [ability, difficulty, log_discrimination, log_scale]
    discrimination, scale = pt.exp(log_discrimination), pt.exp(log_scale)
    model = LogDensity()
    model.add(normal(ability, 0.0, 1.0))
    model.add(half_normal(scale, 2.0), jacobian=log_scale)
    model.add(normal(difficulty, 0.0, scale), scale > 0)
    model.add(half_normal(discrimination, 1.0), jacobian=log_discrimination)
    model.add(bernoulli(irt_answers(), discrimination * (ability[:, None] - difficulty)))
    return parameters, model.outputs(parameters)


def irt_value(ability: Any, difficulty: Any, log_discrimination: Any, log_scale: Any) -> Any:
    """`irt_graph`'s value in JAX."""
    import jax
    import jax.numpy as jnp
    from jax.scipy.stats import norm

    discrimination, scale = jnp.exp(log_discrimination), jnp.exp(log_scale)
    prior = norm.logpdf(ability).sum() + norm.logpdf(difficulty, 0, scale).sum()
    prior += jnp.log(2) + norm.logpdf(scale, 0, 2) + log_scale
    prior += jnp.sum(jnp.log(2) + norm.logpdf(discrimination) + log_discrimination)
    logit = discrimination * (ability[:, None] - difficulty)
    return prior + jnp.sum(irt_answers() * logit - jax.nn.softplus(logit))


def irt_point() -> list[np.ndarray]:
    """A draw from the prior, but for the scales."""
    rng = np.random.default_rng(4)
    return [rng.normal(size=PERSONS), rng.normal(size=ITEMS), rng.normal(scale=0.3, size=ITEMS), np.array(0.1)]


IRT = SmallModel("IRT", "100 persons, 50 items", irt_graph, irt_value, irt_point)
