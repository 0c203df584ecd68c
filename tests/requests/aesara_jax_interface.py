"""Functions compiled from a model are ones that JAX can transform as they are: aesara-devs/aesara#1385, #1194 and #684.

The model of #1385 is a sparse logistic regression, of which three functions are wanted: draws from the prior, the log
density, and predictive draws; the first and the last under `jax.vmap`, the second under `jax.grad`. #1194 asks for the
same of `x + 1`, and #684 for graphs of which JAX compiles only a part. Expected values are SciPy's, and Aesara's own.
"""

from typing import Any

import aeppl
import aesara
import aesara.tensor as at
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from aesara.compile.mode import Mode
from scipy import stats

import hlograph.aesara

MODE = "STABLEHLO"
X, TAU, LAMBDA, BETA, Y = np.ones((3, 2)), 1.0, np.ones(2), np.ones(2), np.ones(3)


class Model:
    """The model of the request."""

    def __init__(self) -> None:
        self.X_at = at.matrix("X")
        srng = at.random.RandomStream(0)
        self.tau_rv = srng.halfcauchy(0, 1)
        self.lambda_rv = srng.halfcauchy(0, 1, size=self.X_at.shape[-1])
        self.beta_rv = srng.normal(0, self.tau_rv * self.lambda_rv, size=self.X_at.shape[-1])
        eta = self.X_at @ self.beta_rv
        p = at.sigmoid(-eta)
        self.Y_rv = srng.bernoulli(p)
        self.latent = [self.tau_rv, self.lambda_rv, self.beta_rv]


@pytest.fixture
def model() -> Model:
    return Model()


def log_density(x: Any, tau: Any, lambda_: Any, beta: Any, y: Any) -> float:
    p = 1 / (1 + np.exp(x @ beta))
    priors = stats.halfcauchy.logpdf(tau) + stats.halfcauchy.logpdf(lambda_).sum()
    return priors + stats.norm.logpdf(beta, 0, tau * lambda_).sum() + stats.bernoulli.logpmf(y.astype(int), p).sum()


def test_the_log_density_has_gradients(model: Model) -> None:
    """No attribute of the function, no wrapper that takes a tuple apart, and `np.ones(3)` for what is 0 or 1."""
    logprob, vvs = aeppl.joint_logprob(*model.latent, model.Y_rv)
    logdensity_fn = aesara.function([model.X_at, *vvs], logprob, mode=MODE)
    gradient = jax.grad(logdensity_fn)(X, TAU, LAMBDA, BETA, Y)
    s = 1 / (1 + np.exp(-2.0))
    np.testing.assert_allclose(gradient, np.full((3, 2), -s), rtol=1e-6)
    by_beta = jax.jit(jax.grad(logdensity_fn, argnums=3))(X, TAU, LAMBDA, BETA, Y)
    np.testing.assert_allclose(by_beta, -1 - 3 * s, rtol=1e-6)
    np.testing.assert_allclose(logdensity_fn(X, TAU, LAMBDA, BETA, Y.astype(int)), log_density(X, TAU, LAMBDA, BETA, Y))
    several = np.stack([BETA, -BETA])
    batch = jax.vmap(logdensity_fn, (None, None, None, 0, None))(X, TAU, LAMBDA, several, Y)
    np.testing.assert_allclose(batch, [log_density(X, TAU, LAMBDA, beta, Y) for beta in several], rtol=1e-6)
    [value] = logdensity_fn.vm.jit_fn(X, TAU, LAMBDA, BETA, Y)
    np.testing.assert_allclose(value, log_density(X, TAU, LAMBDA, BETA, Y))
    with pytest.raises(Exception, match="must be whole numbers"):
        jax.block_until_ready(jax.jit(logdensity_fn)(X, TAU, LAMBDA, BETA, Y / 2))


def test_draws_are_functions_of_one_key(model: Model) -> None:
    """The key goes in and draws come out, one set for each key of a batch; arguments are those of the model."""
    prior = hlograph.function([model.X_at], model.latent)
    keys = jax.random.split(jax.random.key(0), 4000)
    tau, lambda_, beta = jax.vmap(prior, (0, None))(keys, X)
    assert (tau.shape, lambda_.shape, beta.shape) == ((4000,), (4000, 2), (4000, 2))
    for draws in (tau, lambda_[:, 0], lambda_[:, 1]):
        assert stats.kstest(np.asarray(draws), "halfcauchy").pvalue > 1e-3
    standard = np.asarray(beta / (tau[:, None] * lambda_)).ravel()
    assert stats.kstest(standard, "norm").pvalue > 1e-3
    predictive = hlograph.function([model.X_at, *model.latent], model.Y_rv)
    some = [x[:200] for x in (keys, tau, lambda_, beta)]
    draws = jax.vmap(predictive, (0, None, 0, 0, 0))(some[0], X, *some[1:])
    assert draws.shape == (200, 3)
    p = 1 / (1 + np.exp(np.clip(np.asarray(some[3]) @ X.T, -500, 500)))
    assert abs((np.asarray(draws) - p).mean()) < 4 * np.sqrt((p * (1 - p)).mean() / p.size)
    assert not prior.derived.loops
    assert not predictive.derived.loops


def test_what_the_mode_draws_follows_the_models_generators(model: Model) -> None:
    draw = aesara.function([model.X_at], model.latent, mode=MODE)
    first, second = draw(X), draw(X)
    assert all((a != b).all() for a, b in zip(first, second, strict=True))


def test_a_compiled_function_is_one_that_jax_takes() -> None:
    """#1194."""
    x = at.scalar("x")
    fn = aesara.function((x,), x + 1, mode=MODE)
    assert isinstance(fn(1), np.ndarray | np.generic)
    np.testing.assert_allclose(jax.vmap(fn)(jnp.array([1.0, 2.0, 3.0])), [2, 3, 4])
    np.testing.assert_allclose(jax.grad(fn)(1.0), 1)


def test_sizes_that_jax_cannot_compile() -> None:
    """#684: a gradient through sizes that are known in the run, masks, and loops that end by a condition."""
    n, v = at.lscalar("n"), at.dvector("v")
    loss = (at.arange(n) * v[:n] ** 2).sum() + v[v > 0].sum()
    outputs = [loss, aesara.grad(loss, v)]
    fn = aesara.function([n, v], outputs, mode=MODE)
    wanted = aesara.function([n, v], outputs, mode=Mode("py", None))
    for size in (2, 3):
        for found, expected in zip(fn(size, np.array([1.0, -2, 3])), wanted(size, np.array([1.0, -2, 3])), strict=True):
            np.testing.assert_allclose(found, expected)
