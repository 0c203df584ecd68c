"""Models of one outcome and many covariates: logistic, Poisson, and a Bayesian neural network."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from .model import SmallModel

# ---- logistic regression --------------------------------------------------------------------------------------------


@cache
def logistic_data() -> tuple[np.ndarray, np.ndarray]:
    """Covariates and outcomes."""
    rng = np.random.default_rng(5)
    X, weights = rng.normal(size=(10_000, 20)), rng.normal(size=20) / 4
    return X, (rng.random(10_000) < 1 / (1 + np.exp(-0.3 - X @ weights))).astype(int)


def logistic_graph() -> tuple[list[Any], list[Any]]:
    """Normal priors."""
    from .densities import LogDensity, bernoulli, normal, parameter

    X, y = logistic_data()
    intercept, weights = parameters = [parameter("intercept"), parameter("weights", 20)]
    model = LogDensity()
    model.add(normal(intercept, 0.0, 5.0))
    model.add(normal(weights, 0.0, 2.5))
    model.add(bernoulli(y, intercept + X @ weights))
    return parameters, model.outputs(parameters)


def logistic_value(intercept: Any, weights: Any) -> Any:
    """`logistic_graph`'s value in JAX."""
    import jax
    import jax.numpy as jnp
    from jax.scipy.stats import norm

    X, y = logistic_data()
    logit = intercept + X @ weights
    prior = norm.logpdf(intercept, 0, 5) + norm.logpdf(weights, 0, 2.5).sum()
    return prior + jnp.sum(y * logit - jax.nn.softplus(logit))


def logistic_point() -> list[np.ndarray]:
    """Not far from the mode."""
    return [np.array(0.2), np.random.default_rng(6).normal(size=20) / 4]


LOGISTIC = SmallModel("logistic", "10,000 x 20", logistic_graph, logistic_value, logistic_point)


# ---- Poisson regression ---------------------------------------------------------------------------------------------


@cache
def poisson_data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Covariates, exposures and counts."""
    rng = np.random.default_rng(7)
    X, exposure = rng.normal(size=(1_500, 4)), rng.uniform(0.5, 10.0, 1_500)
    return X, exposure, rng.poisson(exposure * np.exp(0.3 + X @ np.array([0.3, -0.2, 0.1, 0.4])))


def poisson_graph() -> tuple[list[Any], list[Any]]:
    """Normal priors; the logarithm of the exposure is an offset."""
    import pytensor.tensor as pt

    from .densities import LogDensity, normal, parameter, poisson

    X, exposure, y = poisson_data()
    intercept, weights = parameters = [parameter("intercept"), parameter("weights", 4)]
    mu = pt.exp(intercept + X @ weights + np.log(exposure))
    model = LogDensity()
    model.add(normal(intercept, 0.0, 5.0))
    model.add(normal(weights, 0.0, 2.5))
    model.add(poisson(y, mu), mu >= 0)
    return parameters, model.outputs(parameters)


def poisson_value(intercept: Any, weights: Any) -> Any:
    """`poisson_graph`'s value in JAX."""
    import jax.numpy as jnp
    from jax.scipy.stats import norm
    from scipy.special import gammaln

    X, exposure, y = poisson_data()
    predictor = intercept + X @ weights + np.log(exposure)
    prior = norm.logpdf(intercept, 0, 5) + norm.logpdf(weights, 0, 2.5).sum()
    return prior + jnp.sum(y * predictor - jnp.exp(predictor)) - gammaln(y + 1.0).sum()


def poisson_point() -> list[np.ndarray]:
    """Not far from the mode."""
    return [np.array(0.25), np.array([0.2, -0.1, 0.1, 0.3])]


POISSON = SmallModel("Poisson", "1,500 x 4", poisson_graph, poisson_value, poisson_point)


# ---- Bayesian neural network ----------------------------------------------------------------------------------------

FEATURES, HIDDEN = 10, 6
LAYERS = {"W1": (FEATURES, HIDDEN), "b1": (HIDDEN,), "W2": (HIDDEN, HIDDEN), "b2": (HIDDEN,), "w": (HIDDEN,), "b": ()}


@cache
def network_data() -> tuple[np.ndarray, np.ndarray]:
    """Features and classes."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(500, FEATURES))
    return X, (np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=500) > 0).astype(int)


def network_graph() -> tuple[list[Any], list[Any]]:
    """Two hidden layers with tanh; standard normal priors for all weights."""
    import pytensor.tensor as pt

    from .densities import LogDensity, bernoulli, normal, parameter

    X, y = network_data()
    W1, b1, W2, b2, w, b = parameters = [parameter(name, *shape) for name, shape in LAYERS.items()]
    hidden = pt.tanh(pt.tanh(X @ W1 + b1) @ W2 + b2)
    model = LogDensity()
    for weights in parameters:
        model.add(normal(weights, 0.0, 1.0))
    model.add(bernoulli(y, hidden @ w + b))
    return parameters, model.outputs(parameters)


def network_value(W1: Any, b1: Any, W2: Any, b2: Any, w: Any, b: Any) -> Any:
    """`network_graph`'s value in JAX."""
    import jax
    import jax.numpy as jnp
    from jax.scipy.stats import norm

    X, y = network_data()
    logit = jnp.tanh(jnp.tanh(X @ W1 + b1) @ W2 + b2) @ w + b
    prior = sum(norm.logpdf(weights).sum() for weights in (W1, b1, W2, b2, w, b))
    return prior + jnp.sum(y * logit - jax.nn.softplus(logit))


def network_point() -> list[np.ndarray]:
    """A draw from the prior, smaller."""
    rng = np.random.default_rng(9)
    return [0.5 * rng.normal(size=shape) if shape else np.array(0.1) for shape in LAYERS.values()]


NETWORK = SmallModel("neural network", "500 x 10, two layers of 6", network_graph, network_value, network_point)
