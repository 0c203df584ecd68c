"""Eleven models as PyMC's users write them, and five of little but linear algebra.

Their log-densities are as PyMC's samplers get them: one vector in.

PyMC is imported where a model is made. The data are made up, from a fixed seed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np


def eight_schools() -> Any:
    """Eight effects with known errors, not centered."""
    import pymc as pm

    effects = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
    errors = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
    with pm.Model() as model:
        mu, tau = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5)
        theta = pm.Normal("theta", 0, 1, shape=8)
        pm.Normal("y", mu + tau * theta, errors, observed=effects)
    return model


def radon() -> Any:
    """919 houses in 85 counties, an intercept and a slope for each."""
    import pymc as pm

    rng = np.random.default_rng(0)
    county, floor = rng.integers(0, 85, 919), rng.integers(0, 2, 919).astype(float)
    with pm.Model() as model:
        mu, sigma = pm.Normal("mu", 0, 10, shape=2), pm.HalfNormal("sigma", 2, shape=2)
        a, b = pm.Normal("a", 0, 1, shape=85), pm.Normal("b", 0, 1, shape=85)
        mean = mu[0] + sigma[0] * a[county] + (mu[1] + sigma[1] * b[county]) * floor
        pm.Normal("y", mean, pm.HalfNormal("error", 2), observed=rng.normal(1.3, 0.8, 919))
    return model


def logistic() -> Any:
    """Logistic regression of 10,000 rows on 20 columns."""
    import pymc as pm

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(10_000, 20)), rng.integers(0, 2, 10_000)
    with pm.Model() as model:
        weights, intercept = pm.Normal("weights", 0, 1, shape=20), pm.Normal("intercept", 0, 1)
        pm.Bernoulli("y", logit_p=intercept + X @ weights, observed=y)
    return model


def poisson() -> Any:
    """Poisson regression of 500 rows on 5 columns, with an offset."""
    import pymc as pm

    rng = np.random.default_rng(0)
    X, offset, y = rng.normal(size=(500, 5)), rng.normal(size=500), rng.poisson(3, 500)
    with pm.Model() as model:
        weights, intercept = pm.Normal("weights", 0, 1, shape=5), pm.Normal("intercept", 0, 1)
        pm.Poisson("y", pm.math.exp(intercept + X @ weights + offset), observed=y)
    return model


def item_response() -> Any:
    """Two parameters for each of 20 questions, one for each of 200 students."""
    import pymc as pm

    y = np.random.default_rng(0).integers(0, 2, (200, 20))
    with pm.Model() as model:
        ability = pm.Normal("ability", 0, 1, shape=200)
        slope, difficulty = pm.LogNormal("slope", 0, 0.5, shape=20), pm.Normal("difficulty", 0, 1, shape=20)
        pm.Bernoulli("y", logit_p=slope * (ability[:, None] - difficulty), observed=y)
    return model


def gaussian_process(points: int = 200) -> Any:
    """The marginal likelihood of some points."""
    import pymc as pm

    x = np.linspace(0, 10, points)[:, None]
    y = np.sin(x[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=points)
    with pm.Model() as model:
        length, scale = pm.Gamma("length", 2, 1), pm.HalfNormal("scale", 1)
        noise = pm.HalfNormal("noise", 1)
        process = pm.gp.Marginal(cov_func=scale**2 * pm.gp.cov.ExpQuad(1, length))
        process.marginal_likelihood("y", x, y, noise)
    return model


def stochastic_volatility() -> Any:
    """500 returns, whose logarithmic scale is a random walk."""
    import pymc as pm

    returns = np.random.default_rng(0).normal(size=500) * 0.01
    with pm.Model() as model:
        step, nu = pm.Exponential("step", 50), pm.Exponential("nu", 0.1)
        volatility = pm.GaussianRandomWalk("volatility", sigma=step, shape=500, init_dist=pm.Normal.dist(0, 100))
        pm.StudentT("y", nu, lam=pm.math.exp(-2 * volatility), observed=returns)
    return model


def mixture() -> Any:
    """500 points from three normal distributions."""
    import pymc as pm

    y = np.random.default_rng(0).normal(size=500)
    with pm.Model() as model:
        weights, mu = pm.Dirichlet("weights", np.ones(3)), pm.Normal("mu", 0, 10, shape=3)
        pm.NormalMixture("y", weights, mu, pm.HalfNormal("sigma", 1, shape=3), observed=y)
    return model


def lkj() -> Any:
    """300 rows in 30 groups, whose intercepts and slopes are correlated."""
    import pymc as pm

    rng = np.random.default_rng(0)
    group, x, y = rng.integers(0, 30, 300), rng.normal(size=300), rng.normal(size=300)
    with pm.Model() as model:
        factor, _, _ = pm.LKJCholeskyCov("factor", n=2, eta=2, sd_dist=pm.Exponential.dist(1, shape=2))
        mu, z = pm.Normal("mu", 0, 5, shape=2), pm.Normal("z", 0, 1, shape=(30, 2))
        effects = mu + z @ factor.T
        mean = effects[group, 0] + effects[group, 1] * x
        pm.Normal("y", mean, pm.HalfNormal("sigma", 1), observed=y)
    return model


def correlated_slopes(count: int) -> Any:
    """300 rows in 30 groups, each with correlated slopes on some columns."""
    import pymc as pm

    rng = np.random.default_rng(0)
    group, x, y = rng.integers(0, 30, 300), rng.normal(size=(300, count)), rng.normal(size=300)
    with pm.Model() as model:
        scales = pm.Exponential.dist(1, shape=count)
        factor, _, _ = pm.LKJCholeskyCov("factor", n=count, eta=2, sd_dist=scales)
        slopes = pm.Normal("mu", 0, 5, shape=count) + pm.Normal("z", 0, 1, shape=(30, count)) @ factor.T
        pm.Normal("y", (slopes[group] * x).sum(axis=1), pm.HalfNormal("sigma", 1), observed=y)
    return model


def multivariate_normal(size: int) -> Any:
    """50 observations of a vector whose covariance is unknown."""
    import pymc as pm

    y = np.random.default_rng(0).normal(size=(50, size))
    with pm.Model() as model:
        scales = pm.Exponential.dist(1, shape=size)
        factor, _, _ = pm.LKJCholeskyCov("factor", n=size, eta=2, sd_dist=scales)
        pm.MvNormal("y", pm.Normal("mu", 0, 1, shape=size), chol=factor, observed=y)
    return model


def local_level() -> Any:
    """The Kalman filter of a local level, 200 steps of a Scan."""
    import pymc as pm
    import pytensor
    import pytensor.tensor as pt

    y = np.random.default_rng(0).normal(size=200).cumsum()

    def step(observed: Any, mean: Any, variance: Any, total: Any, drift: Any, noise: Any) -> Any:
        residual, scale = observed - mean, variance + noise**2
        gain = variance / scale
        density = total - 0.5 * (pt.log(scale) + residual**2 / scale)
        return mean + gain * residual, variance * (1 - gain) + drift**2, density

    with pm.Model() as model:
        drift, noise = pm.HalfNormal("drift", 1), pm.HalfNormal("noise", 1)
        start = [pt.constant(value, dtype="float64") for value in (0.0, 10.0, 0.0)]
        *_, totals = pytensor.scan(
            step, sequences=[pt.as_tensor(y)], outputs_info=start, non_sequences=[drift, noise], return_updates=False
        )
        pm.Potential("density", totals[-1])
    return model


def bayesian_network() -> Any:
    """18 linear equations in each other's variables, every second of them observed: 102 random variables."""
    import pymc as pm

    rng = np.random.default_rng(0)
    nodes: list[Any] = []
    with pm.Model() as model:
        for i in range(18):
            parents = nodes[max(0, i - 3) : i]
            weights = [pm.Normal(f"weight{i}_{j}", 0, 1) for j in range(len(parents))]
            scale, intercept = pm.HalfNormal(f"scale{i}", 1), pm.Normal(f"intercept{i}", 0, 1)
            mean = sum((w * parent for w, parent in zip(weights, parents, strict=True)), intercept)
            more = {"observed": rng.normal(size=100)} if i % 2 else {"shape": 100}
            nodes.append(pm.Normal(f"x{i}", mean, scale, **more))
    return model


MODELS: dict[str, Callable[[], Any]] = {
    "eight schools": eight_schools,
    "radon": radon,
    "logistic, 10,000 x 20": logistic,
    "Poisson with offset": poisson,
    "item response": item_response,
    "Gaussian process, 200": gaussian_process,
    "stochastic volatility": stochastic_volatility,
    "mixture": mixture,
    "LKJ hierarchical": lkj,
    "local level": local_level,
    "Bayesian network": bayesian_network,
}
LINEAR_ALGEBRA: dict[str, Callable[[], Any]] = {
    "Gaussian process, 20": partial(gaussian_process, 20),
    "Gaussian process, 50": partial(gaussian_process, 50),
    "multivariate normal, 8": partial(multivariate_normal, 8),
    "multivariate normal, 30": partial(multivariate_normal, 30),
    "LKJ of five": partial(correlated_slopes, 5),
}


def value_and_gradient(model: Any) -> tuple[Any, list[Any], np.ndarray]:
    """A vector of all free values, the log-density and its gradient as graphs of it, and the vector to start at."""
    import pytensor
    from pymc.pytensorf import join_nonshared_inputs

    point = model.initial_point()
    (value,), x = join_nonshared_inputs(
        point=point, outputs=[model.logp(jacobian=True)], inputs=model.value_vars, shared_inputs={}
    )
    start = np.concatenate([np.ravel(point[variable.name]) for variable in model.value_vars])
    return x, [value, pytensor.grad(value, x)], start.astype(np.float64)
