"""Log-densities, once as PyTensor graphs and once as JAX functions of the same formula, for tests of derivatives.

They are those of benchmarks/models.py, with data of a few elements, and a Gaussian process.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytensor.tensor as pt

import hlograph

sys.path.append(str(Path(__file__).resolve().parent.parent / "benchmarks"))
import models


@dataclass(frozen=True)
class Model:
    """A log-density as a graph and as a JAX function, with values for its arguments."""

    outputs: Callable[[], tuple[list[Any], list[Any]]]
    value: Callable[..., Any]
    data: Callable[[], list[np.ndarray]]
    parameters: tuple[int, ...]

    def graph(self) -> tuple[list[Any], Any]:
        inputs, (value, *_) = self.outputs()
        return inputs, value

    def function(self, **options: Any) -> hlograph.Function:
        return hlograph.function(*self.graph(), name="logp", **options)


def logistic_data(rows: int = 7) -> list[np.ndarray]:
    X, y, weights = models.logistic_data(rows)
    return [X[:, :3], y, 4 * weights[:3]]


def mlp_data() -> list[np.ndarray]:
    X, Y, *weights = models.mlp_data(5)
    cut = [
        8 * x[tuple(slice(n) for n in shape)] for x, shape in zip(weights, ((3, 4), (4,), (4, 2), (2,)), strict=True)
    ]
    return [X[:, :3], np.eye(2)[Y.argmax(1) % 2], *cut]


def gaussian_process_graph() -> tuple[list[Any], list[Any]]:
    x, y, log_scale = pt.dvector("x"), pt.dvector("y"), pt.dscalar("log_scale")
    distance = (x[:, None] - x[None, :]) ** 2
    covariance = pt.exp(-0.5 * distance / pt.exp(2 * log_scale)) + 0.1 * pt.eye(x.shape[0])
    factor = pt.linalg.cholesky(covariance)
    white = pt.linalg.solve_triangular(factor, y, lower=True)
    return [x, y, log_scale], [-0.5 * (white**2).sum() - pt.log(pt.diag(factor)).sum()]


def gaussian_process_value(x: Any, y: Any, log_scale: Any) -> Any:
    distance = (x[:, None] - x[None, :]) ** 2
    covariance = jnp.exp(-0.5 * distance / jnp.exp(2 * log_scale)) + 0.1 * jnp.eye(len(x))
    factor = jnp.linalg.cholesky(covariance)
    white = jax.scipy.linalg.solve_triangular(factor, y, lower=True)
    return -0.5 * (white**2).sum() - jnp.log(jnp.diag(factor)).sum()


def gaussian_process_data() -> list[np.ndarray]:
    return [np.linspace(0, 1, 6), np.random.default_rng(2).normal(size=6), np.array(-0.7)]


MODELS = {
    "logistic": Model(models.logistic_graph, models.logistic_value, logistic_data, (2,)),
    "schools": Model(models.schools_graph, models.schools_value, lambda: models.schools_data(8), (2, 3, 4)),
    "mlp": Model(models.mlp_graph, models.mlp_value, mlp_data, (2, 3, 4, 5)),
    "gaussian process": Model(gaussian_process_graph, gaussian_process_value, gaussian_process_data, (0, 2)),
}
