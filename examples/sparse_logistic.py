"""A sparse logistic regression: one PyTensor model, and JAX for everything that is done with it.

    python examples/sparse_logistic.py

    tau ~ HalfCauchy(0, 1)                    lambda_j ~ HalfCauchy(0, 1), one for each column of X
    beta_j ~ Normal(0, tau * lambda_j)        y_i ~ Bernoulli(sigmoid(X_i @ beta))

Draws from the prior are the graph of the random variables, with a JAX key as the first argument; the log-density is
another graph. Both are JAX functions: `vmap` gives many draws and several chains, `grad` drives the sampler.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytensor.tensor as pt

import hlograph


def prior_graph() -> tuple[list[Any], list[Any]]:
    """Draws of all variables, for given X."""
    X = pt.dmatrix("X")
    tau = pt.random.halfcauchy(0.0, 1.0)
    lam = pt.random.halfcauchy(0.0, 1.0, size=X.shape[-1])
    beta = pt.random.normal(0.0, tau * lam)
    y = pt.random.bernoulli(pt.sigmoid(X @ beta))
    return [X], [tau, lam, beta, y]


def log_density_graph() -> tuple[list[Any], Any]:
    """The log-density of logarithms of the scales, standardized weights and data."""
    log_tau, log_lam, z = pt.dscalar("log_tau"), pt.dvector("log_lam"), pt.dvector("z")
    X, y = pt.dmatrix("X"), pt.lvector("y")
    eta = X @ (z * pt.exp(log_tau + log_lam))
    likelihood = (y * pt.log(pt.sigmoid(eta)) + (1 - y) * pt.log(1 - pt.sigmoid(eta))).sum()
    scales = [log_tau - pt.log1p(pt.exp(2 * log_tau)), (log_lam - pt.log1p(pt.exp(2 * log_lam))).sum()]
    return [log_tau, log_lam, z, X, y], likelihood + sum(scales) - 0.5 * (z**2).sum()


def prediction_graph() -> tuple[list[Any], Any]:
    """New data for given weights."""
    beta, X = pt.dvector("beta"), pt.dmatrix("X")
    return [beta, X], pt.random.bernoulli(pt.sigmoid(X @ beta))


def main() -> None:
    """Draws from the prior, from the posterior, and predictions."""
    jax.config.update("jax_enable_x64", True)
    key = jax.random.key(0)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 6))
    true = np.array([2.0, 0.0, 0.0, -1.5, 0.0, 0.0])
    y = (rng.random(120) < 1 / (1 + np.exp(-X @ true))).astype(int)

    prior = hlograph.function(*prior_graph(), name="prior")
    _, _, betas, outcomes = jax.vmap(prior, in_axes=(0, None))(jax.random.split(key, 100), X)
    print(f"prior: {betas.shape[0]} draws of beta, largest {jnp.abs(betas).max():.0f}; mean of y {outcomes.mean():.2f}")

    log_density = hlograph.function(*log_density_graph(), name="log_density")
    draws, accepted = jax.jit(lambda key: sample(lambda at: log_density(at[0], at[1:7], at[7:], X, y), key))(key)
    weights = draws[:, 7:] * jnp.exp(draws[:, :1] + draws[:, 1:7])
    print(f"posterior: {len(draws)} draws, {accepted:.0%} accepted")
    print("  mean of beta", weights.mean(axis=0).round(2), "for", true)

    predict = hlograph.function(*prediction_graph(), name="predict")
    keys = jax.random.split(key, len(draws))
    predicted = jax.jit(jax.vmap(predict, in_axes=(0, 0, None)))(keys, weights, X)
    right = ((predicted.mean(axis=0) > 0.5) == y).mean()
    print(f"posterior predictive: {predicted.shape[0]} draws for {predicted.shape[1]} rows, {right:.0%} right")


def sample(log_density: Callable[[Any], Any], key: Any) -> tuple[Any, Any]:
    """Four chains of Hamiltonian Monte Carlo side by side: positions (draws, 13), and the share of accepted steps."""
    gradient = jax.grad(log_density)

    def leapfrog(state: Any, _: Any) -> Any:
        at, momentum = state
        momentum = momentum + 0.02 * gradient(at)
        at = at + 0.04 * momentum
        return (at, momentum + 0.02 * gradient(at)), None

    def step(at: Any, key: Any) -> Any:
        first, second = jax.random.split(key)
        momentum = jax.random.normal(first, at.shape)
        (proposal, end), _ = jax.lax.scan(leapfrog, (at, momentum), length=40)
        gain = log_density(proposal) - 0.5 * (end**2).sum() - log_density(at) + 0.5 * (momentum**2).sum()
        accept = jnp.log(jax.random.uniform(second)) < gain
        return jnp.where(accept, proposal, at), (jnp.where(accept, proposal, at), accept)

    def chain(key: Any) -> Any:
        start, rest = jax.random.split(key)
        return jax.lax.scan(step, 0.1 * jax.random.normal(start, (13,)), jax.random.split(rest, 1000))[1]

    positions, accepted = jax.vmap(chain)(jax.random.split(key, 4))
    return positions[:, 500:].reshape(-1, 13), accepted[:, 500:].mean()


if __name__ == "__main__":
    main()
