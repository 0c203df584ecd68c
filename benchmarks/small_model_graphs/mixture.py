"""A mixture of four normal distributions with ordered means."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from .model import SmallModel

COMPONENTS = 4


@cache
def points() -> np.ndarray:
    """2,000 points, those of a component not together."""
    rng = np.random.default_rng(13)
    component = rng.choice(COMPONENTS, p=[0.2, 0.3, 0.1, 0.4], size=2_000)
    return rng.normal(np.array([-4.0, -1.0, 2.0, 5.0])[component], np.array([0.7, 0.5, 1.0, 0.8])[component])


def mixture_graph() -> tuple[list[Any], list[Any]]:
    """Weights by PyMC's simplex transform, means by its ordered transform, scales by their logarithms."""
    import pytensor.tensor as pt

    from .densities import LogDensity, as_float64, half_normal, normal, parameter

    simplex, ordered = parameter("weights_simplex", COMPONENTS - 1), parameter("means_ordered", COMPONENTS)
    log_scales = parameter("log_scales", COMPONENTS)
    parameters = [simplex, ordered, log_scales]

    # pymc.distributions.transforms.simplex
    total = pt.sum(simplex, axis=-1, keepdims=True)
    expanded = pt.concatenate([simplex, -total], axis=-1)
    scaled = pt.exp(expanded - pt.max(expanded, axis=-1, keepdims=True))
    weights = scaled / pt.sum(scaled, axis=-1, keepdims=True)
    shifted = pt.concatenate([simplex + total, pt.zeros((1,))], axis=-1)
    count = float(COMPONENTS)
    simplex_jacobian = np.log(count) + count * total - count * pt.logsumexp(shifted, axis=-1, keepdims=True)

    # pymc.distributions.transforms.ordered
    steps = pt.zeros((COMPONENTS,))
    steps = pt.set_subtensor(steps[0], ordered[0])
    steps = pt.inc_subtensor(steps[1:], pt.exp(ordered[1:]))
    means, scales = pt.cumsum(steps), pt.exp(log_scales)

    model = LogDensity()
    # a Dirichlet prior with all concentrations 1: (k - 1)! on the simplex
    model.add(pt.gammaln(as_float64(count)), weights >= 0, weights <= 1, jacobian=pt.sum(simplex_jacobian))
    model.add(normal(means, 0.0, 5.0), jacobian=pt.concatenate([pt.zeros((1,)), ordered[1:]]))
    model.add(half_normal(scales, 2.0), jacobian=log_scales)
    components = pt.log(weights) + normal(points()[:, None], means, scales)
    model.add(pt.logsumexp(components, axis=-1), scales > 0, weights >= 0, weights <= 1)
    return parameters, model.outputs(parameters)


def mixture_value(simplex: Any, ordered: Any, log_scales: Any) -> Any:
    """`mixture_graph`'s value in JAX."""
    import jax
    import jax.numpy as jnp
    from jax.scipy.stats import norm

    total = simplex.sum()
    log_weights = jax.nn.log_softmax(jnp.append(simplex, -total))
    means, scales = jnp.cumsum(jnp.append(ordered[0], jnp.exp(ordered[1:]))), jnp.exp(log_scales)
    shifted = jax.nn.logsumexp(jnp.append(simplex + total, 0.0))
    prior = np.log(6.0) + np.log(4.0) + COMPONENTS * total - COMPONENTS * shifted
    prior += norm.logpdf(means, 0, 5).sum() + ordered[1:].sum()
    prior += jnp.sum(jnp.log(2.0) + norm.logpdf(scales, 0, 2) + log_scales)
    components = log_weights + norm.logpdf(points()[:, None], means, scales)
    return prior + jax.nn.logsumexp(components, axis=-1).sum()


def mixture_point() -> list[np.ndarray]:
    """Not far from the mode."""
    return [np.array([-0.2, 0.2, -0.5]), np.array([-3.8, 1.0, 1.1, 1.0]), np.array([-0.3, -0.6, 0.1, -0.2])]


MIXTURE = SmallModel("mixture", "2,000 points, 4 normals", mixture_graph, mixture_value, mixture_point)
