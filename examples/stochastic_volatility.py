"""Stochastic volatility with BlackJAX's NUTS: a latent recursion of 200 steps, sampled through a Scan.

    python examples/stochastic_volatility.py          # needs blackjax, which is in the extra `bench`

The logarithm of a day's variance is `h[t] = mean + keep (h[t-1] - mean) + scale z[t]`; all z are sampled.
"""

from __future__ import annotations

from typing import Any

import blackjax
import jax
import jax.numpy as jnp
import numpy as np
import pytensor
import pytensor.tensor as pt

import hlograph

DAYS, MEAN, KEEP, SCALE = 200, -1.0, 0.95, 0.3


def returns() -> tuple[np.ndarray, np.ndarray]:
    """Made data: the log-variances and what is seen of them."""
    rng, h = np.random.default_rng(3), np.full(DAYS, MEAN)
    for t in range(1, DAYS):
        h[t] = MEAN + KEEP * (h[t - 1] - MEAN) + SCALE * rng.normal()
    return h, np.exp(h / 2) * rng.normal(size=DAYS)


def graph(y: np.ndarray) -> tuple[list[Any], Any, Any]:
    """Inputs, log-density and log-variances; `keep` and `scale` are given by a logit and a logarithm."""
    mean, logit, log_scale, z = pt.dscalar("mean"), pt.dscalar("logit"), pt.dscalar("log_scale"), pt.dvector("z")
    keep, scale = pt.sigmoid(logit), pt.exp(log_scale)
    h = pytensor.scan(
        lambda e, h: mean + keep * (h - mean) + scale * e, sequences=z, outputs_info=mean, return_updates=False
    )
    prior = -0.5 * ((mean / 2) ** 2 + ((logit - 3) / 1.5) ** 2 + (log_scale + 1) ** 2 + (z**2).sum())
    return [mean, logit, log_scale, z], prior - 0.5 * (h + y**2 * pt.exp(-h)).sum(), h


def main() -> float:
    """Warm-up, 500 draws, and how the mean of the variances follows the true ones."""
    jax.config.update("jax_enable_x64", True)
    truth, y = returns()
    inputs, log_density, h = graph(y)
    density, variances = hlograph.function(inputs, log_density), hlograph.function(inputs, h)
    start = {"mean": jnp.asarray(0.0), "logit": jnp.asarray(2.0), "log_scale": jnp.asarray(-1.0), "z": jnp.zeros(DAYS)}
    names = [x.name for x in inputs]
    target = lambda position: density(*[position[name] for name in names])  # noqa: E731
    warmup = blackjax.window_adaptation(blackjax.nuts, target)
    (state, parameters), _ = warmup.run(jax.random.key(0), start, num_steps=300)
    kernel = blackjax.nuts(target, **parameters)

    def step(state: Any, key: Any) -> Any:
        state, _ = kernel.step(key, state)
        return state, state.position

    draws = jax.jit(lambda state, keys: jax.lax.scan(step, state, keys)[1])(
        state, jax.random.split(jax.random.key(1), 500)
    )
    mean_h = jax.vmap(lambda position: variances(*[position[name] for name in names]))(draws).mean(0)
    correlation = float(np.corrcoef(mean_h, truth)[0, 1])
    print(f"mean  {draws['mean'].mean():6.2f} +- {draws['mean'].std():.2f}   (true {MEAN})")
    keep, scale = jax.nn.sigmoid(draws["logit"]), jnp.exp(draws["log_scale"])
    print(f"keep  {keep.mean():6.2f} +- {keep.std():.2f}   (true {KEEP})")
    print(f"scale {scale.mean():6.2f} +- {scale.std():.2f}   (true {SCALE})")
    print(f"correlation of the log-variances with the true ones: {correlation:.2f}")
    return correlation


if __name__ == "__main__":
    main()
