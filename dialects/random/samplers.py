"""How JAX draws what PyTensor's random variables are: parameters as PyTensor has them, random numbers as `jax.random`.

A draw is JAX's sampler with that key and nothing else, so that it can be made again by hand; docs/random.md has the
formulas.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax, random

from . import rejection
from .sampling import Array, Shape, of_numbers, samples

# ---- continuous ones ------------------------------------------------------------------------------------------

_STANDARD: dict[str, Callable[[Array, Shape, Any], Array]] = {
    "NormalRV": random.normal,
    "CauchyRV": random.cauchy,
    "GumbelRV": random.gumbel,
    "LaplaceRV": random.laplace,
    "LogisticRV": random.logistic,
    "HalfNormalRV": lambda *args: jnp.abs(random.normal(*args)),
    "HalfCauchyRV": lambda *args: jnp.abs(random.cauchy(*args)),
}
of_numbers(
    {
        name: lambda k, n, t, location, scale, standard=standard: location + scale * standard(k, n, t)
        for name, standard in _STANDARD.items()
    }
)

# From the key k, the shape n, the draw's dtype t, and parameters in that dtype.
of_numbers(
    {
        "LogNormalRV": lambda k, n, t, mean, sigma: jnp.exp(mean + sigma * random.normal(k, n, t)),
        "ExponentialRV": lambda k, n, t, scale: scale * random.exponential(k, n, t),
        "UniformRV": lambda k, n, t, low, high: random.uniform(k, n, t, low, high),
        "GammaRV": lambda k, n, t, a, scale: scale * random.gamma(k, a, n, t),
        "InvGammaRV": lambda k, n, t, a, scale: scale / random.gamma(k, a, n, t),
        # `scipy.stats.gengamma(alpha / p, p)`: a gamma variable to the power 1 / p
        "GenGammaRV": lambda k, n, t, alpha, p, scale: scale * jnp.exp(random.loggamma(k, alpha / p, n, t) / p),
        "BetaRV": lambda k, n, t, a, b: random.beta(k, a, b, n, t),
        "StudentTRV": lambda k, n, t, df, location, scale: location + scale * random.t(k, df, n, t),
        "ParetoRV": lambda k, n, t, b, scale: scale * random.pareto(k, b, n, t),
        "WeibullRV": lambda k, n, t, a: random.weibull_min(k, jnp.ones((), t), a, n, t),
        # JAX's has scale 1; a multiple of an inverse Gaussian variable is one
        "WaldRV": lambda k, n, t, mean, scale: scale * random.wald(k, mean / scale, n, t),
        "TriangularRV": lambda k, n, t, left, mode, right: random.triangular(k, left, mode, right, n, t),
        # inversion: exponential on [0, b]
        "TruncExponentialRV": lambda k, n, t, b, location, scale: (
            location - scale * jnp.log1p(random.uniform(k, n, t) * jnp.expm1(-b))
        ),
        "MvNormalRV": lambda k, n, t, mean, cov: random.multivariate_normal(k, mean, cov, n, t, method="cholesky"),
        "MvNormalRV by eigh": lambda k, n, t, mean, cov: _by_root(k, n, t, mean, cov, lambda values: values),
        "MvNormalRV by svd": lambda k, n, t, mean, cov: _by_root(k, n, t, mean, cov, jnp.abs),
        "DirichletRV": lambda k, n, t, alpha: random.dirichlet(k, alpha, n, t),
    }
)


@samples("VonMisesRV")
def _vonmises(key: Array, shape: Shape, dtype: Any, mu: Array, kappa: Array) -> Array:
    """An angle around `mu`, brought to where it is between -pi and pi."""
    angle = mu.astype(np.float64) + rejection.vonmises(key, kappa, shape)
    return jnp.mod(angle + np.pi, 2 * np.pi) - np.pi


def _by_root(key: Array, shape: Shape, dtype: Any, mean: Array, cov: Array, values_of: Callable[..., Array]) -> Array:
    """The symmetric root of a covariance, which is the same whatever signs its eigenvectors have."""
    vectors, values = lax.linalg.eigh(cov)
    noise = jnp.finfo(dtype).eps * cov.shape[-1] * jnp.max(jnp.abs(values), axis=-1, keepdims=True, initial=0)
    values = values_of(jnp.where(jnp.abs(values) <= noise, 0, values))
    root = jnp.einsum("...ij,...j,...kj->...ik", vectors, jnp.sqrt(values), vectors)
    standard = random.normal(key, (*shape, mean.shape[-1]), dtype)
    return mean + jnp.einsum("...ij,...j->...i", root, standard)


# ---- discrete ones --------------------------------------------------------------------------------------------

_WIDE = np.float64


def _negative_binomial(key: Array, shape: Shape, dtype: Any, n: Array, p: Array) -> Array:
    """A Poisson variable whose rate is a gamma variable."""
    rate_key, count_key = random.split(key)
    rate = random.gamma(rate_key, n, shape, _WIDE) * ((1 - p) / p)
    return random.poisson(count_key, rate, shape, np.int64)


def _beta_binomial(key: Array, shape: Shape, dtype: Any, n: Array, a: Array, b: Array) -> Array:
    """A binomial variable whose probability is a beta variable."""
    chance_key, count_key = random.split(key)
    return random.binomial(count_key, n, random.beta(chance_key, a, b, shape, _WIDE), shape, _WIDE)


def _multinomial(key: Array, shape: Shape, dtype: Any, n: Array, p: Array) -> Array:
    # Before jax 0.12 the sampler's own `shape` is that of the result, from then on it leaves out the last axis.
    p = jnp.broadcast_to(p, (*shape, p.shape[-1]))
    return random.multinomial(key, jnp.broadcast_to(n, shape), p, dtype=_WIDE)


of_numbers(
    {
        "BinomialRV": lambda k, n, t, count, p: random.binomial(k, count, p, n, _WIDE),
        "NegBinomialRV": _negative_binomial,
        "BetaBinomialRV": _beta_binomial,
        "MultinomialRV": _multinomial,
    },
    _WIDE,
)


def _real(x: Array) -> Array:
    """A parameter of a discrete variable as it is, integers as float64."""
    return x if jnp.issubdtype(x.dtype, jnp.floating) else x.astype(_WIDE)


samples("BernoulliRV")(lambda k, n, t, p: random.bernoulli(k, _real(p), n))
samples("PoissonRV")(lambda k, n, t, rate: random.poisson(k, _real(rate), n, np.int64))
samples("GeometricRV")(lambda k, n, t, p: random.geometric(k, _real(p), n, np.int64))
samples("CategoricalRV")(lambda k, n, t, p: random.categorical(k, jnp.log(_real(p)), axis=-1, shape=n))
samples("HyperGeometricRV")(lambda k, n, t, good, bad, count: rejection.hypergeometric(k, good, bad, count, n))
samples("IntegersRV", "RandIntRV", "pymc.data.MinibatchIndexRV")(
    lambda k, n, t, low, high: random.randint(k, n, low, high, t)
)
