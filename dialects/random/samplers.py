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
from .sampling import Array, Shape, samples

# ---- location and scale ---------------------------------------------------------------------------------------


def _location_scale(name: str, standard: Callable[[Array, Shape, Any], Array]) -> None:
    @samples(name)
    def sample(key: Array, shape: Shape, dtype: Any, location: Array, scale: Array) -> Array:
        return location.astype(dtype) + scale.astype(dtype) * standard(key, shape, dtype)


_location_scale("NormalRV", random.normal)
_location_scale("CauchyRV", random.cauchy)
_location_scale("GumbelRV", random.gumbel)
_location_scale("LaplaceRV", random.laplace)
_location_scale("LogisticRV", random.logistic)
_location_scale("HalfNormalRV", lambda *args: jnp.abs(random.normal(*args)))
_location_scale("HalfCauchyRV", lambda *args: jnp.abs(random.cauchy(*args)))


@samples("LogNormalRV")
def _lognormal(key: Array, shape: Shape, dtype: Any, mean: Array, sigma: Array) -> Array:
    return jnp.exp(mean.astype(dtype) + sigma.astype(dtype) * random.normal(key, shape, dtype))


@samples("ExponentialRV")
def _exponential(key: Array, shape: Shape, dtype: Any, scale: Array) -> Array:
    return scale.astype(dtype) * random.exponential(key, shape, dtype)


# ---- other continuous ones ------------------------------------------------------------------------------------


@samples("UniformRV")
def _uniform(key: Array, shape: Shape, dtype: Any, low: Array, high: Array) -> Array:
    return random.uniform(key, shape, dtype, low.astype(dtype), high.astype(dtype))


@samples("GammaRV")
def _gamma(key: Array, shape: Shape, dtype: Any, a: Array, scale: Array) -> Array:
    return scale.astype(dtype) * random.gamma(key, a.astype(dtype), shape, dtype)


@samples("InvGammaRV")
def _inverse_gamma(key: Array, shape: Shape, dtype: Any, a: Array, scale: Array) -> Array:
    return scale.astype(dtype) / random.gamma(key, a.astype(dtype), shape, dtype)


@samples("GenGammaRV")
def _generalized_gamma(key: Array, shape: Shape, dtype: Any, alpha: Array, p: Array, scale: Array) -> Array:
    """`scipy.stats.gengamma(alpha / p, p)`: a gamma variable to the power 1 / p."""
    alpha, p = alpha.astype(dtype), p.astype(dtype)
    return scale.astype(dtype) * jnp.exp(random.loggamma(key, alpha / p, shape, dtype) / p)


@samples("BetaRV")
def _beta(key: Array, shape: Shape, dtype: Any, a: Array, b: Array) -> Array:
    return random.beta(key, a.astype(dtype), b.astype(dtype), shape, dtype)


@samples("StudentTRV")
def _student_t(key: Array, shape: Shape, dtype: Any, df: Array, location: Array, scale: Array) -> Array:
    return location.astype(dtype) + scale.astype(dtype) * random.t(key, df.astype(dtype), shape, dtype)


@samples("ParetoRV")
def _pareto(key: Array, shape: Shape, dtype: Any, b: Array, scale: Array) -> Array:
    return scale.astype(dtype) * random.pareto(key, b.astype(dtype), shape, dtype)


@samples("WeibullRV")
def _weibull(key: Array, shape: Shape, dtype: Any, concentration: Array) -> Array:
    return random.weibull_min(key, jnp.ones((), dtype), concentration.astype(dtype), shape, dtype)


@samples("WaldRV")
def _wald(key: Array, shape: Shape, dtype: Any, mean: Array, scale: Array) -> Array:
    """JAX's has scale 1; a multiple of an inverse Gaussian variable is one."""
    mean, scale = mean.astype(dtype), scale.astype(dtype)
    return scale * random.wald(key, mean / scale, shape, dtype)


@samples("TriangularRV")
def _triangular(key: Array, shape: Shape, dtype: Any, left: Array, mode: Array, right: Array) -> Array:
    return random.triangular(key, left.astype(dtype), mode.astype(dtype), right.astype(dtype), shape, dtype)


@samples("TruncExponentialRV")
def _truncated_exponential(key: Array, shape: Shape, dtype: Any, b: Array, location: Array, scale: Array) -> Array:
    """Inversion: exponential on [0, b]."""
    chance = random.uniform(key, shape, dtype)
    return location.astype(dtype) - scale.astype(dtype) * jnp.log1p(chance * jnp.expm1(-b.astype(dtype)))


@samples("VonMisesRV")
def _vonmises(key: Array, shape: Shape, dtype: Any, mu: Array, kappa: Array) -> Array:
    """An angle around `mu`, brought to where it is between -pi and pi."""
    angle = mu.astype(np.float64) + rejection.vonmises(key, kappa, shape)
    return jnp.mod(angle + np.pi, 2 * np.pi) - np.pi


@samples("MvNormalRV")
def _multivariate_normal(key: Array, shape: Shape, dtype: Any, mean: Array, cov: Array) -> Array:
    return random.multivariate_normal(key, mean.astype(dtype), cov.astype(dtype), shape, dtype, method="cholesky")


@samples("MvNormalRV by eigh")
def _multivariate_normal_eigh(key: Array, shape: Shape, dtype: Any, mean: Array, cov: Array) -> Array:
    return _by_root(key, shape, dtype, mean, cov, lambda values: values)


@samples("MvNormalRV by svd")
def _multivariate_normal_svd(key: Array, shape: Shape, dtype: Any, mean: Array, cov: Array) -> Array:
    return _by_root(key, shape, dtype, mean, cov, jnp.abs)


def _by_root(key: Array, shape: Shape, dtype: Any, mean: Array, cov: Array, values_of: Callable[..., Array]) -> Array:
    """The symmetric root of a covariance, which is the same whatever signs its eigenvectors have."""
    vectors, values = lax.linalg.eigh(cov.astype(dtype))
    noise = jnp.finfo(dtype).eps * cov.shape[-1] * jnp.max(jnp.abs(values), axis=-1, keepdims=True, initial=0)
    values = values_of(jnp.where(jnp.abs(values) <= noise, 0, values))
    root = jnp.einsum("...ij,...j,...kj->...ik", vectors, jnp.sqrt(values), vectors)
    standard = random.normal(key, (*shape, mean.shape[-1]), dtype)
    return mean.astype(dtype) + jnp.einsum("...ij,...j->...i", root, standard)


@samples("DirichletRV")
def _dirichlet(key: Array, shape: Shape, dtype: Any, alpha: Array) -> Array:
    return random.dirichlet(key, alpha.astype(dtype), shape, dtype)


# ---- discrete ones --------------------------------------------------------------------------------------------


def _real(x: Array) -> Array:
    """A parameter of a discrete variable as it is, integers as float64."""
    return x if jnp.issubdtype(x.dtype, jnp.floating) else x.astype(np.float64)


@samples("BernoulliRV")
def _bernoulli(key: Array, shape: Shape, dtype: Any, p: Array) -> Array:
    return random.bernoulli(key, _real(p), shape)


@samples("PoissonRV")
def _poisson(key: Array, shape: Shape, dtype: Any, rate: Array) -> Array:
    return random.poisson(key, _real(rate), shape, np.int64)


@samples("GeometricRV")
def _geometric(key: Array, shape: Shape, dtype: Any, p: Array) -> Array:
    return random.geometric(key, _real(p), shape, np.int64)


@samples("BinomialRV")
def _binomial(key: Array, shape: Shape, dtype: Any, n: Array, p: Array) -> Array:
    return random.binomial(key, n.astype(np.float64), p.astype(np.float64), shape, np.float64)


@samples("NegBinomialRV")
def _negative_binomial(key: Array, shape: Shape, dtype: Any, n: Array, p: Array) -> Array:
    """A Poisson variable whose rate is a gamma variable."""
    rate_key, count_key = random.split(key)
    p = p.astype(np.float64)
    rate = random.gamma(rate_key, n.astype(np.float64), shape, np.float64) * ((1 - p) / p)
    return random.poisson(count_key, rate, shape, np.int64)


@samples("BetaBinomialRV")
def _beta_binomial(key: Array, shape: Shape, dtype: Any, n: Array, a: Array, b: Array) -> Array:
    """A binomial variable whose probability is a beta variable."""
    chance_key, count_key = random.split(key)
    chance = random.beta(chance_key, a.astype(np.float64), b.astype(np.float64), shape, np.float64)
    return random.binomial(count_key, n.astype(np.float64), chance, shape, np.float64)


@samples("CategoricalRV")
def _categorical(key: Array, shape: Shape, dtype: Any, p: Array) -> Array:
    return random.categorical(key, jnp.log(_real(p)), axis=-1, shape=shape)


@samples("MultinomialRV")
def _multinomial(key: Array, shape: Shape, dtype: Any, n: Array, p: Array) -> Array:
    # Before jax 0.12 the sampler's own `shape` is that of the result, from then on it leaves out the last axis.
    p = jnp.broadcast_to(p.astype(np.float64), (*shape, p.shape[-1]))
    return random.multinomial(key, jnp.broadcast_to(n.astype(np.float64), shape), p, dtype=np.float64)


@samples("HyperGeometricRV")
def _hypergeometric(key: Array, shape: Shape, dtype: Any, good: Array, bad: Array, count: Array) -> Array:
    return rejection.hypergeometric(key, good, bad, count, shape)


@samples("IntegersRV")
def _integers(key: Array, shape: Shape, dtype: Any, low: Array, high: Array) -> Array:
    return random.randint(key, shape, low, high, dtype)
