"""Eight schools with BlackJAX's NUTS: a PyTensor log-density goes into a JAX sampler as it is.

python examples/nuts.py          # needs blackjax, which is in the extra `bench`
"""

from __future__ import annotations

from typing import Any

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
import pytensor.tensor as pt

import hlograph

Y = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
SIGMA = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def log_density_graph() -> tuple[list[Any], Any]:
    """The effects are `mu + tau * theta`; tau has a half-Cauchy prior and is given by its logarithm."""
    mu, log_tau, theta = pt.dscalar("mu"), pt.dscalar("log_tau"), pt.dvector("theta")
    tau = pt.exp(log_tau)
    residual = (Y - mu - tau * theta) / SIGMA
    prior = -0.5 * (mu / 5) ** 2 - pt.log1p((tau / 5) ** 2) + log_tau - 0.5 * (theta**2).sum()
    return [mu, log_tau, theta], prior - 0.5 * (residual**2).sum()


def main() -> None:
    """Warm-up, 2,000 draws, and the posterior means of the effects."""
    jax.config.update("jax_enable_x64", True)
    function = hlograph.function(*log_density_graph(), name="eight_schools")

    def log_density(position: dict[str, Any]) -> Any:
        return function(position["mu"], position["log_tau"], position["theta"])

    start = {"mu": jnp.asarray(0.0), "log_tau": jnp.asarray(0.0), "theta": jnp.zeros(8)}
    warmup = blackjax.window_adaptation(blackjax.nuts, log_density)
    (state, parameters), _ = warmup.run(jax.random.key(0), start, num_steps=500)
    kernel = blackjax.nuts(log_density, **parameters)

    @jax.jit
    def sample(state: Any, keys: Any) -> Any:
        def step(state: Any, key: Any) -> Any:
            state, _ = kernel.step(key, state)
            return state, state.position

        return jax.lax.scan(step, state, keys)[1]

    draws = sample(state, jax.random.split(jax.random.key(1), 2000))
    effects = draws["mu"][:, None] + jnp.exp(draws["log_tau"])[:, None] * draws["theta"]
    print("observed ", Y)
    print("posterior", effects.mean(axis=0).round(1), "+-", effects.std(axis=0).round(1))


if __name__ == "__main__":
    main()
