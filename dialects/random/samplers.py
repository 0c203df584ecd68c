"""How JAX draws the random variables of PyTensor, Aesara and PyMC: their parameters, random numbers as `jax.random`.

A draw is JAX's sampler with that key and nothing else, so that it can be made again by hand; docs/reference/random.md
has the formulas. What `jax.random` has not is drawn by formulas of SciPy or PyMC, or by rejection.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, random
from jax.scipy.special import gammaln, ndtr, ndtri

from .sampling import Array, Sampler, Shape, of_numbers, refuses, samples

# ---- continuous ones -------------------------------------------------------------------------------------------------

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
    angle = mu.astype(np.float64) + vonmises(key, kappa, shape)
    return jnp.mod(angle + np.pi, 2 * np.pi) - np.pi


def _by_root(key: Array, shape: Shape, dtype: Any, mean: Array, cov: Array, values_of: Callable[..., Array]) -> Array:
    vectors, values = lax.linalg.eigh(cov)
    noise = jnp.finfo(dtype).eps * cov.shape[-1] * jnp.max(jnp.abs(values), axis=-1, keepdims=True, initial=0)
    values = values_of(jnp.where(jnp.abs(values) <= noise, 0, values))
    root = jnp.einsum("...ij,...j,...kj->...ik", vectors, jnp.sqrt(values), vectors)
    standard = random.normal(key, (*shape, mean.shape[-1]), dtype)
    return mean + jnp.einsum("...ij,...j->...i", root, standard)


# ---- discrete ones ---------------------------------------------------------------------------------------------------

_WIDE = np.float64


def _negative_binomial(key: Array, shape: Shape, dtype: Any, n: Array, p: Array) -> Array:
    rate_key, count_key = random.split(key)
    rate = random.gamma(rate_key, n, shape, _WIDE) * ((1 - p) / p)
    return random.poisson(count_key, rate, shape, np.int64)


def _beta_binomial(key: Array, shape: Shape, dtype: Any, n: Array, a: Array, b: Array) -> Array:
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
    return x if jnp.issubdtype(x.dtype, jnp.floating) else x.astype(_WIDE)


samples("BernoulliRV")(lambda k, n, t, p: random.bernoulli(k, _real(p), n))
samples("PoissonRV")(lambda k, n, t, rate: random.poisson(k, _real(rate), n, np.int64))
samples("GeometricRV")(lambda k, n, t, p: random.geometric(k, _real(p), n, np.int64))
samples("CategoricalRV")(lambda k, n, t, p: random.categorical(k, jnp.log(_real(p)), axis=-1, shape=n))
samples("HyperGeometricRV")(lambda k, n, t, good, bad, count: hypergeometric(k, good, bad, count, n))
samples("IntegersRV", "RandIntRV", "pymc.data.MinibatchIndexRV")(
    lambda k, n, t, low, high: random.randint(k, n, low, high, t)
)


# ---- orders of items, of a number that only the call may know: permutations, choices without replacement -------------

# An order is JAX's: rounds of sorting by random 32-bit keys, so many that no two items had the same in all of them.
# More items than the first number take a round, more than the second take another one, ...
_ROUNDS = tuple((2.0**32 - 1) ** (k / 3) for k in range(4))


def _order(key: Array, count: Any) -> Array:
    def again(_: Any, state: Any) -> Any:
        key, order = state
        key, subkey = random.split(key)
        bits = random.bits(subkey, (count,), np.uint32)
        return key, lax.sort_key_val(bits, order)[1]

    state = key, jnp.arange(count)
    if isinstance(count, int):
        for _ in range(sum(count > limit for limit in _ROUNDS)):
            state = again(0, state)
        return state[1]
    rounds = sum((jnp.asarray(count) > limit).astype(np.int64) for limit in _ROUNDS)
    return lax.fori_loop(0, rounds, again, state)[1]


def _each(function: Sampler) -> Sampler:
    def sample(key: Array, shape: Shape, dtype: Any, *arrays: Array) -> Array:
        if not shape:
            return function(key, *arrays)
        each, rank = function, len(shape)
        for _ in shape:
            each = jax.vmap(each)
        return each(random.split(key, shape), *[jnp.broadcast_to(x, (*shape, *x.shape[rank:])) for x in arrays])

    return sample


def _take(x: Array, places: Array) -> Array:
    if not isinstance(x.shape[0], int):
        x = jnp.concatenate([x, jnp.zeros((1, *x.shape[1:]), x.dtype)])
    return x[places]


def choice(key: Array, items: Array, *rest: Array) -> Array:
    """Some of the items, each at most once; see `_chosen`."""
    return _take(items, _chosen(key, items, *rest))


def _chosen(key: Array, items: Array, *rest: Array) -> Array:
    """The first places of an order; with chances, of that by their logarithms and Gumbel variables.

    Args:
        key: the key.
        items: as many as there are to choose from.
        rest: the chances, where there are any, and an array of the shape of the choice.
    """
    *chances, like = rest
    if chances:
        p = chances[0] if jnp.issubdtype(chances[0].dtype, jnp.floating) else chances[0].astype(np.float64)
        order = jnp.argsort(-(random.gumbel(key, p.shape, p.dtype) + jnp.log(p)))
    else:
        order = _order(key, items.shape[0])
    return _take(order, jnp.arange(like.size).reshape(like.shape))


samples("PermutationRV")(_each(lambda key, x: _take(x, _order(key, x.shape[0]))))
samples("PermutationRV of a count")(_each(lambda key, like: _order(key, like.shape[0])))
samples("ChoiceWithoutReplacement")(_each(choice))
samples("ChoiceWithoutReplacement of a count")(_each(_chosen))


# ---- by rejection: elements draw until all are accepted --------------------------------------------------------------
#
# Draws are in float64. Every round takes its own key, and each random number depends on the place of its element,
# so that padding changes nothing.

Trial = Callable[..., "tuple[Array, Array]"]


def _until_accepted(key: Array, shape: Shape, uniforms: int, trial: Trial) -> Array:
    """Rounds of trials; `trial` takes this many uniform numbers for each element, and gives values and flags."""

    def again(state: Any) -> Any:
        key, found, done = state
        key, *keys = random.split(key, 1 + uniforms)
        value, accepted = trial(*[random.uniform(k, shape, np.float64) for k in keys])
        return key, jnp.where(done, found, value), done | accepted

    start = key, jnp.zeros(shape, np.float64), jnp.zeros(shape, bool)
    return lax.while_loop(lambda state: ~jnp.all(state[2]), again, start)[1]


def vonmises(key: Array, kappa: Array, shape: Shape) -> Array:
    """Angles around 0, from a wrapped Cauchy variable (Best and Fisher, 1979)."""
    kappa = jnp.broadcast_to(kappa, shape).astype(np.float64)
    kept = jnp.clip(kappa, 1e-8, 1e6)
    r = 1 + jnp.sqrt(1 + 4 * kept * kept)
    rho = 2 * kept / (r + jnp.sqrt(2 * r))  # (r - sqrt(2 r)) / (2 kappa)
    scale = (1 + rho * rho) / (2 * rho)

    def trial(u: Array, v: Array, side: Array) -> tuple[Array, Array]:
        z = jnp.cos(math.pi * u)
        cosine = (1 + scale * z) / (scale + z)
        y = kept * (scale - cosine)
        accepted = (y * (2 - y) > v) | (jnp.log(y / v) + 1 >= y)
        sine = jnp.sqrt(jnp.maximum((1 - cosine) * (1 + cosine), 0))
        angle = jnp.arctan2(sine, cosine)
        return jnp.where(side < 0.5, -angle, angle), accepted | jnp.isnan(kept)

    uniform_key, normal_key, key = random.split(key, 3)
    angle = _until_accepted(key, shape, 3, trial)
    flat = math.pi * (2 * random.uniform(uniform_key, shape, np.float64) - 1)
    narrow = random.normal(normal_key, shape, np.float64) / jnp.sqrt(jnp.maximum(kappa, 1.0))
    angle = jnp.where(kappa < 1e-8, flat, jnp.where(kappa > 1e6, narrow, angle))
    return jnp.where(kappa >= 0, angle, jnp.nan)


def normal_tail(key: Array, low: Array, high: Array, shape: Shape) -> Array:
    """A standard normal variable between `low` > 0 and `high` (Marsaglia, 1964): that of a Rayleigh variable."""
    low, high = (jnp.broadcast_to(x, shape).astype(np.float64) for x in (low, high))
    missing = -jnp.expm1(-(high - low) * (high + low) / 2)

    def trial(u: Array, v: Array) -> tuple[Array, Array]:
        x = jnp.sqrt(low * low - 2 * jnp.log1p(-u * missing))
        return x, (v * x <= low) | jnp.isnan(x)

    return _until_accepted(key, shape, 2, trial)


_FEW = 10  # this many are drawn one by one


def hypergeometric(key: Array, good: Array, bad: Array, count: Array, shape: Shape) -> Array:
    """How many of those drawn are good: one by one where that is few, else by ratio of uniforms (Stadlober, 1990)."""
    good, bad, count = (jnp.broadcast_to(x, shape).astype(np.float64) for x in (good, bad, count))
    total = good + bad
    less, more = jnp.minimum(good, bad), jnp.maximum(good, bad)
    drawn = jnp.minimum(count, total - count)
    urn_key, key = random.split(key)
    many = _until_accepted(key, shape, 2, _ratio_of_uniforms(less, more, drawn))
    found = jnp.where(drawn <= _FEW, _from_an_urn(urn_key, less, total, drawn, shape), many)
    found = jnp.where(good > bad, drawn - found, found)
    found = jnp.where(drawn < count, good - found, found)
    valid = (good >= 0) & (bad >= 0) & (count >= 0) & (count <= total)
    return jnp.where(valid, found, jnp.nan)


def zipf(key: Array, a: Array, shape: Shape) -> Array:
    """Ranks with chances in proportion to `rank**-a`, from a Pareto variable (Devroye, 1986, X.6.1)."""
    power = jnp.broadcast_to(a, shape).astype(np.float64) - 1
    scale = 2**power

    def trial(u: Array, v: Array) -> tuple[Array, Array]:
        rank = jnp.floor((1 - u) ** (-1 / power))
        ratio = (1 + 1 / rank) ** power
        accepted = (v * rank * (ratio - 1) / (scale - 1) <= ratio / scale) & (rank < 2.0**63)
        return rank, accepted | ~(power > 0)

    return jnp.where(power > 0, _until_accepted(key, shape, 2, trial), jnp.nan)


def _from_an_urn(key: Array, good: Array, total: Array, count: Array, shape: Shape) -> Array:
    found = jnp.zeros(shape, np.float64)
    for number, k in enumerate(random.split(key, _FEW)):
        chance = (good - found) / jnp.maximum(total - number, 1)
        hit = (random.uniform(k, shape, np.float64) < chance) & (number < count)
        found = found + hit
    return found


def _ratio_of_uniforms(less: Array, more: Array, count: Array) -> Trial:
    """Trials in a table mountain hat around the mode; Stadlober's constants 2 sqrt(2 / e) and 3 - 2 sqrt(3 / e)."""
    total = less + more
    p = less / jnp.maximum(total, 1)
    center = count * p + 0.5
    deviation = jnp.sqrt((total - count) * count * p * (1 - p) / jnp.maximum(total - 1, 1) + 0.5)
    width = 2 * math.sqrt(2 / math.e) * deviation + (3 - 2 * math.sqrt(3 / math.e))
    mode = jnp.floor((count + 1) * (less + 1) / (total + 2))

    def log_mass(k: Array) -> Array:
        parts = (k, less - k, count - k, more - count + k)
        return -sum(gammaln(part + 1) for part in parts)

    most = jnp.minimum(jnp.minimum(count, less) + 1, jnp.floor(center + 16 * deviation))
    few = ~(count > _FEW)

    def trial(u: Array, v: Array) -> tuple[Array, Array]:
        place = center + width * (v - 0.5) / u
        k = jnp.floor(place)
        inside = (place >= 0) & (place < most)
        accepted = inside & (2 * jnp.log(u) <= log_mass(jnp.where(inside, k, mode)) - log_mass(mode))
        return k, accepted | few

    return trial


# ---- PyMC's own random variables, by their formulas; what PyMC itself cannot draw is refused -------------------------

_CONTINUOUS = "pymc.distributions.continuous"
_MULTIVARIATE = "pymc.distributions.multivariate"

_NO_LAW = "no law to draw from: its density has no integral; leave it out of what is drawn, or give it another prior"
refuses(f"{_CONTINUOUS}.FlatRV", _NO_LAW)
refuses(f"{_CONTINUOUS}.HalfFlatRV", _NO_LAW)
refuses(f"{_MULTIVARIATE}.ICARRV", f"{_NO_LAW} (CAR)")


_TAIL = 5.0  # standard deviations from which a truncated tail is drawn by rejection


@samples(f"{_CONTINUOUS}.TruncatedNormalRV")
def _truncated_normal(
    key: Array, shape: Shape, dtype: Any, mu: Array, sigma: Array, lower: Array, upper: Array
) -> Array:
    """By inversion, on the side of the mean where most of the interval is; a tail by Marsaglia's rejection (1964)."""
    mu, sigma, lower, upper = (jnp.broadcast_to(x, shape).astype(np.float64) for x in (mu, sigma, lower, upper))
    a, b = (lower - mu) / sigma, (upper - mu) / sigma
    turned = a + b > 0
    low, high = jnp.where(turned, -b, a), jnp.where(turned, -a, b)
    inversion_key, key = random.split(key)
    u = random.uniform(inversion_key, shape, np.float64, np.finfo(np.float64).tiny, 1)
    below = ndtr(low)
    inverted = ndtri(below + u * (ndtr(high) - below))
    near, far = jnp.where(high < -_TAIL, -high, _TAIL), jnp.where(high < -_TAIL, -low, math.inf)
    tail = -normal_tail(key, near, far, shape)
    z = jnp.clip(jnp.where(high < -_TAIL, tail, inverted), low, high)
    found = jnp.clip(mu + sigma * jnp.where(turned, -z, z), lower, upper)
    return jnp.where((sigma > 0) & (a < b), found, jnp.nan)


@samples(f"{_CONTINUOUS}.InterpolatedRV")
def _interpolated(key: Array, shape: Shape, dtype: Any, x: Array, pdf: Array, cdf: Array) -> Array:
    p = random.uniform(key, shape, np.float64)
    place = jnp.sum(cdf <= p[..., None], axis=-1) - 1
    place = jnp.clip(place, 0, x.shape[-1] - 2)

    def at(values: Array, place: Array) -> Array:
        values = jnp.broadcast_to(values, (*shape, values.shape[-1]))
        return jnp.take_along_axis(values, place[..., None], axis=-1)[..., 0]

    height = at(pdf, place)
    slope = (at(pdf, place + 1) - height) / (at(x, place + 1) - at(x, place))
    rest = p - at(cdf, place)
    root = height + jnp.sqrt(jnp.maximum(height * height + 2 * slope * rest, 0))
    return at(x, place) + jnp.where(root > 0, 2 * rest / jnp.where(root > 0, root, 1), 0)


def _clipped_beta(key: Array, shape: Shape, dtype: Any, a: Array, b: Array) -> Array:
    low, high = np.nextafter(0, 1, dtype=dtype), np.nextafter(1, 0, dtype=dtype)
    return jnp.clip(random.beta(key, a, b, shape, dtype), low, high)


def _skew_student_t(key: Array, shape: Shape, dtype: Any, a: Array, b: Array, mu: Array, sigma: Array) -> Array:
    first, second = random.split(key)
    ratio = random.loggamma(first, a, shape, dtype) - random.loggamma(second, b, shape, dtype)
    return mu + sigma * jnp.sinh(ratio / 2) * jnp.sqrt(a + b)


def _skew_normal(key: Array, shape: Shape, dtype: Any, mu: Array, sigma: Array, alpha: Array) -> Array:
    hidden, noise = (random.normal(k, shape, dtype) for k in random.split(key))
    return mu + sigma * ((alpha * jnp.abs(hidden) + noise) / jnp.hypot(1, alpha))


def _rice(key: Array, shape: Shape, dtype: Any, b: Array, sigma: Array) -> Array:
    x, y = (random.normal(k, shape, dtype) for k in random.split(key))
    return sigma * jnp.hypot(b + x, y)


of_numbers(
    {
        f"{_CONTINUOUS}.BetaClippedRV": _clipped_beta,
        f"{_CONTINUOUS}.WaldRV": lambda k, n, t, mu, lam, alpha: alpha + lam * random.wald(k, mu / lam, n, t),
        f"{_CONTINUOUS}.SkewStudentTRV": _skew_student_t,
        f"{_CONTINUOUS}.SkewNormalRV": _skew_normal,
        f"{_CONTINUOUS}.RiceRV": _rice,
        # minus the logarithm of a chi-square variable
        f"{_CONTINUOUS}.MoyalRV": lambda k, n, t, mu, sigma: mu - sigma * 2 * jnp.log(jnp.abs(random.normal(k, n, t))),
        "pymc.distributions.discrete.DiscreteUniformRV": lambda k, n, t, low, high: random.randint(
            k, n, low, high + 1, t
        ),
        f"{_MULTIVARIATE}.MatrixNormalRV": lambda k, n, t, mu, rows, columns: (
            mu + rows @ random.normal(k, (*n, rows.shape[-1], columns.shape[-1]), t) @ jnp.swapaxes(columns, -1, -2)
        ),
    }
)


@samples(f"{_MULTIVARIATE}.CARRV")
def _car(key: Array, shape: Shape, dtype: Any, mu: Array, w: Array, alpha: Array, tau: Array, is_valid: Array) -> Array:
    """Normal variables of precision tau (D - alpha W): as its density has it, where PyMC draws its square."""
    w, alpha, tau = w.astype(dtype), alpha.astype(dtype)[..., None, None], tau.astype(dtype)[..., None, None]
    precision = tau * (jnp.eye(w.shape[-1], dtype=dtype) * w.sum(axis=-2)[..., None, :] - alpha * w)
    factor = jnp.linalg.cholesky(precision)
    standard = random.normal(key, (*shape, mu.shape[-1], 1), dtype)
    factor = jnp.broadcast_to(factor, (*shape, *factor.shape[-2:]))
    noise = lax.linalg.triangular_solve(factor, standard, left_side=True, lower=True, transpose_a=True)
    valid = is_valid & (jnp.abs(alpha[..., 0, 0]) < 1)
    return jnp.where(valid[..., None], mu.astype(dtype) + noise[..., 0], jnp.nan)


@samples(f"{_MULTIVARIATE}.StickBreakingWeightsRV")
def _stick_breaking_weights(key: Array, shape: Shape, dtype: Any, alpha: Array, like: Array) -> Array:
    alpha = alpha.astype(dtype)[..., None]
    parts = random.beta(key, jnp.ones((), dtype), alpha, (*shape, like.shape[-1]), dtype)
    left = jnp.cumprod(1 - parts, axis=-1)
    before = jnp.concatenate([jnp.ones((*shape, 1), dtype), left], axis=-1)
    return jnp.concatenate([before[..., :-1] * parts, before[..., -1:]], axis=-1)


# ---- ops in Aesara alone, which PyTensor writes as graphs of others --------------------------------------------------


@samples("ChoiceRV")
def _choice_with(key: Array, shape: Shape, dtype: Any, items: Array, *chances: Array) -> Array:
    count = items.shape[-1]
    if chances:
        places = random.categorical(key, jnp.log(chances[0]), axis=-1, shape=shape)
    else:
        places = random.randint(key, shape, 0, count, np.int64)
    return jnp.take_along_axis(jnp.broadcast_to(items, (*shape, count)), places[..., None], -1)[..., 0]


@samples("ChoiceRV without replacement")
def _choice_of_all(key: Array, shape: Shape, dtype: Any, items: Array, *chances: Array) -> Array:
    flat = [x.reshape(-1, x.shape[-1])[0] for x in (items, *chances)]
    return choice(key, *flat, jnp.zeros(shape, bool))


of_numbers(
    {
        "ChiSquareRV": lambda k, n, t, df: random.chisquare(k, df, n, t),
        "FRV": lambda k, n, t, above, below: random.f(k, above, below, n, t),
        "RayleighRV": lambda k, n, t, scale: random.rayleigh(k, scale, n, t),
        "PowerRV": lambda k, n, t, a: jnp.exp(-random.exponential(k, n, t) / a),  # inversion: the chance is x**a
    }
)
samples("ZipfRV")(lambda k, n, t, a: zipf(k, a, n).astype(np.int64))
