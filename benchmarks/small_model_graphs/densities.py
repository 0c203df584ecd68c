"""Log-densities of distributions as PyMC writes them in PyTensor, and the log-density of a model made of them.

A check of parameters becomes, as in a compiled PyMC model, `switch(condition, term, -inf)` in the value and nothing in
the gradient. Sources: `pymc/distributions/`, `pymc/logprob/transforms.py` and `pymc/logprob/utils.py` of PyMC 5.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt


class LogDensity:
    """A sum of terms, each with the conditions under which it counts."""

    def __init__(self) -> None:
        self.terms: list[Any] = []
        self.checked: list[Any] = []

    def add(self, term: Any, *conditions: Any, jacobian: Any = 0.0) -> None:
        """Adds a term; -inf where a condition fails.

        Args:
            term: log-density of each element.
            conditions: what the distribution asks of its parameters.
            jacobian: logarithm of the derivative of the change of variables, for each element.
        """
        checked = pt.switch(pt.all([pt.all(c) for c in conditions]), term, -np.inf) if conditions else term
        self.terms.append(pt.sum(term + jacobian))
        self.checked.append(pt.sum(checked + jacobian))

    def outputs(self, parameters: list[Any]) -> list[Any]:
        """The value and its gradient by each parameter."""
        return [pt.sum(self.checked), *pytensor.grad(pt.sum(self.terms), parameters)]


def parameter(name: str, *shape: int) -> Any:
    """A free parameter on the real line."""
    return pt.tensor(name, shape=shape, dtype="float64")


def as_float64(number: Any) -> Any:
    """Numbers as float64: so PyMC takes a distribution's parameters, where PyTensor alone makes float32."""
    return pt.as_tensor(number, dtype="float64")


def normal(value: Any, mu: Any, sigma: Any) -> Any:
    """Of the normal distribution; asks for sigma > 0."""
    mu, sigma = as_float64(mu), as_float64(sigma)
    return -0.5 * ((value - mu) / sigma) ** 2 - pt.log(pt.sqrt(2.0 * np.pi)) - pt.log(sigma)


def half_normal(value: Any, sigma: Any) -> Any:
    """Of the half-normal distribution."""
    sigma = as_float64(sigma)
    density = -0.5 * (value / sigma) ** 2 + pt.log(pt.sqrt(2.0 / np.pi)) - pt.log(sigma)
    return pt.switch(value >= 0.0, density, -np.inf)


def half_cauchy(value: Any, beta: Any) -> Any:
    """Of the half-Cauchy distribution."""
    beta = as_float64(beta)
    density = np.log(2.0) - np.log(np.pi) - pt.log(beta) - pt.log1p((value / beta) ** 2)
    return pt.switch(value >= 0.0, density, -np.inf)


def exponential(value: Any, scale: Any) -> Any:
    """Of the exponential distribution with a mean of `scale`."""
    scale = as_float64(scale)
    return pt.switch(value >= 0.0, -pt.log(scale) - value / scale, -np.inf)


def gamma(value: Any, alpha: Any, beta: Any) -> Any:
    """Of the gamma distribution; beta is the rate."""
    alpha, beta = as_float64(alpha), as_float64(beta)
    density = -pt.gammaln(alpha) + log_power(beta, alpha) - beta * value + log_power(value, alpha - 1)
    return pt.switch(value >= 0.0, density, -np.inf)


def student_t(value: Any, nu: Any, sigma: Any) -> Any:
    """Of Student's t distribution around zero; asks for nu > 0 and sigma > 0."""
    precision = sigma**-2.0
    return (
        pt.gammaln((nu + 1.0) / 2.0)
        + 0.5 * pt.log(precision / (nu * np.pi))
        - pt.gammaln(nu / 2.0)
        - (nu + 1.0) / 2.0 * pt.log1p(precision * value**2 / nu)
    )


def bernoulli(value: Any, logit: Any) -> Any:
    """Log-probability of the Bernoulli distribution; PyTensor makes it stable."""
    p = pt.sigmoid(logit)
    probability = pt.switch(value, pt.log(p), pt.log1p(-p))
    return pt.switch(pt.or_(pt.lt(value, 0), pt.gt(value, 1)), -np.inf, probability)


def poisson(value: Any, mu: Any) -> Any:
    """Log-probability of the Poisson distribution; asks for mu >= 0."""
    value = pt.as_tensor(value)
    probability = log_power(mu, value) - pt.gammaln(value + 1) - mu
    probability = pt.switch(pt.lt(value, 0), -np.inf, probability)
    return pt.switch(pt.eq(mu, 0) * pt.eq(value, 0), 0.0, probability)


def log_power(x: Any, m: Any) -> Any:
    """The logarithm of x**m, also where both are zero."""
    return pt.switch(pt.eq(x, 0), pt.switch(pt.eq(m, 0), 0.0, -np.inf), m * pt.log(x))
