"""How JAX draws what PyTensor's random variables are: parameters as PyTensor has them, random numbers as `jax.random`.

In: a `RandomVariable` op. Out: a function of one key and the parameters, for JAX to trace. A draw is JAX's sampler with
that key and nothing else, so that it can be made again by hand; docs/random.md has the formulas. Decision to know: an
op has a sampler if its class is PyTensor's own. A subclass from elsewhere may draw something else under the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import random

from . import rejection

Array: TypeAlias = Any
Shape: TypeAlias = "tuple[Any, ...]"
Sampler = Callable[..., Array]

IMPLEMENTATION = "threefry2x32"

_MODULE = "pytensor.tensor.random.basic"

_SAMPLERS: dict[str, Sampler] = {}


def samples(name: str) -> Callable[[Sampler], Sampler]:
    """Registers the sampler of a class: from (key, shape, dtype, parameters) to draws of that shape.

    The shape has the axes of `size` alone. Parameters broadcast against it, behind it are their core axes.
    """

    def register(sampler: Sampler) -> Sampler:
        _SAMPLERS[name] = sampler
        return sampler

    return register


def refusal(op: Any) -> str | None:
    """Why JAX cannot draw a random variable; None when it can."""
    if type(op).__module__ != _MODULE or type(op).__name__ not in _SAMPLERS:
        return f"jax.random has no sampler for {type(op).__name__}"
    if getattr(op, "method", "cholesky") != "cholesky":
        return f"method={op.method!r} is not supported, use method='cholesky'"
    return None


def static_parameters(op: Any) -> tuple[int, ...]:
    """Positions of the integer parameters whose values decide the draw's shape."""
    name = type(op).__name__
    implicit = (0,) if name in ("PermutationRV", "ChoiceWithoutReplacement") and op.ndims_params[0] == 0 else ()
    return (*implicit, len(op.ndims_params) - 1) if name == "ChoiceWithoutReplacement" else implicit


@dataclass(frozen=True)
class Sampling:
    """Draws of one random variable over batch axes, as a function of arrays; equal ones trace to the same program.

    Attributes:
        name: the op's class.
        dtype: of the draws.
        rank: number of axes that `size` has.
        size: the draw's shape without core axes; None if it is that of the first parameter.
        statics: (position, value) of the parameters that the shape depends on.
        mapped: for the key and each array parameter, whether it has each batch axis, or 1 there.
    """

    name: str
    dtype: str
    rank: int
    size: tuple[int, ...] | None
    statics: tuple[tuple[int, Any], ...]
    mapped: tuple[tuple[bool, ...], ...]

    def __call__(self, key: Array, *parameters: Array) -> Array:
        """The draws.

        Args:
            key: uint32[batch..., 2].
            parameters: [batch..., size..., core...]; those of `statics` left out.
        """
        return over_batch(self._core, self.mapped, key, *parameters)

    def _core(self, key: Array, *arrays: Array) -> Array:
        shape = arrays[0].shape[: self.rank] if self.size is None else self.size
        given = iter(arrays)
        statics = dict(self.statics)
        count = len(arrays) + len(statics)
        parameters = [statics[place] if place in statics else next(given) for place in range(count)]
        key = random.wrap_key_data(key, impl=IMPLEMENTATION)
        dtype = jnp.dtype(self.dtype)
        return _SAMPLERS[self.name](key, shape, dtype, *parameters).astype(dtype)


@dataclass(frozen=True)
class Split:
    """`count` keys from each of a batch: uint32[batch..., 2] to uint32[batch..., count, 2]."""

    count: int
    batch_ndim: int = 0

    def __call__(self, key: Array) -> Array:
        """The keys' data."""
        return over_batch(self._core, ((True,) * self.batch_ndim,), key)

    def _core(self, key: Array) -> Array:
        keys = random.split(random.wrap_key_data(key, impl=IMPLEMENTATION), self.count)
        return random.key_data(keys)


@dataclass(frozen=True)
class FoldIn:
    """`jax.random.fold_in` of each number: uint32[batch..., 2] and integers [n] to uint32[batch..., n, 2]."""

    batch_ndim: int = 0

    def __call__(self, key: Array, numbers: Array) -> Array:
        """The keys' data."""
        core = self._core
        for _ in range(self.batch_ndim):
            core = jax.vmap(core, in_axes=(0, None))
        return core(key, numbers)

    def _core(self, key: Array, numbers: Array) -> Array:
        whole = random.wrap_key_data(key, impl=IMPLEMENTATION)
        return random.key_data(jax.vmap(random.fold_in, in_axes=(None, 0))(whole, numbers))


def over_batch(function: Sampler, mapped: Sequence[Sequence[bool]], *arrays: Array) -> Array:
    """`jax.vmap` over leading axes; an array with 1 in place of an axis is the same for all elements."""
    if not mapped[0]:
        return function(*arrays)
    flags, rest = [m[0] for m in mapped], [m[1:] for m in mapped]
    arrays = tuple(x if flag else jnp.squeeze(x, 0) for x, flag in zip(arrays, flags, strict=True))
    inner = lambda *elements: over_batch(function, rest, *elements)  # noqa: E731
    if not any(flags):
        return inner(*arrays)[None]
    return jax.vmap(inner, in_axes=tuple(0 if flag else None for flag in flags))(*arrays)


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


# ---- orders ---------------------------------------------------------------------------------------------------


def _each(function: Sampler, key: Array, shape: Shape, arrays: Sequence[Array]) -> Array:
    """One draw for each element of `shape`, each with a key of its own where there are such axes."""
    if not shape:
        return function(key, *arrays)
    rank = len(shape)
    arrays = [jnp.broadcast_to(x, (*shape, *x.shape[rank:])) for x in arrays]
    keys = random.split(key, shape)
    return over_batch(function, [(True,) * rank] * (1 + len(arrays)), keys, *arrays)


@samples("PermutationRV")
def _permutation(key: Array, shape: Shape, dtype: Any, x: Array) -> Array:
    if isinstance(x, int):
        return _each(lambda k: random.permutation(k, x), key, shape, [])
    return _each(random.permutation, key, shape, [x])


@samples("ChoiceWithoutReplacement")
def _choice(key: Array, shape: Shape, dtype: Any, a: Array, *rest: Array) -> Array:
    *p, count = rest
    arrays = list(p) if isinstance(a, int) else [a, *p]

    def choose(key: Array, *arrays: Array) -> Array:
        items, *chances = (a, *arrays) if isinstance(a, int) else arrays
        return random.choice(key, items, count, replace=False, p=chances[0] if chances else None)

    return _each(choose, key, shape, arrays)
