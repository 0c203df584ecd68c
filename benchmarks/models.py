"""The models, once as PyTensor graphs and once as JAX functions of the same formula, with data; and who runs them.

Every function of a model takes its arguments in the same order and returns the value and then its gradients. JAX and
PyTensor are imported where they are needed: a process that measures one must not pay for the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Model:
    """A model and its derivative.

    Attributes:
        name: for the tables.
        sizes: the sizes that are measured, in words.
        graph: inputs and outputs of the PyTensor graph.
        value: the same as a JAX function, without the gradients.
        parameters: positions of the arguments to differentiate by.
        data: arguments for a number of rows; the first two have that many.
        rows: the number of rows to measure with.
    """

    name: str
    sizes: str
    graph: Callable[[], tuple[list[Any], list[Any]]]
    value: Callable[..., Any]
    parameters: tuple[int, ...]
    data: Callable[[int], list[np.ndarray]]
    rows: int


def logistic_graph() -> tuple[list[Any], list[Any]]:
    """Logistic regression's log-density with a normal prior, and its gradient."""
    import pytensor
    import pytensor.tensor as pt

    X, y, weights = pt.matrix("X"), pt.vector("y"), pt.vector("weights")
    predictor = X @ weights
    value = pt.sum(y * predictor - pt.softplus(predictor)) - 0.5 * pt.sum(weights**2)
    return [X, y, weights], [value, pytensor.grad(value, weights)]


def logistic_value(X: Any, y: Any, weights: Any) -> Any:
    """`logistic_graph`'s value in JAX."""
    import jax
    import jax.numpy as jnp

    predictor = X @ weights
    return jnp.sum(y * predictor - jax.nn.softplus(predictor)) - 0.5 * jnp.sum(weights**2)


def logistic_data(rows: int) -> list[np.ndarray]:
    """20 features."""
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(rows, 20)), rng.normal(size=20) / 4
    return [X, (rng.random(rows) < 1 / (1 + np.exp(-X @ weights))).astype(float), weights]


def mlp_graph() -> tuple[list[Any], list[Any]]:
    """A classifier with one hidden layer: mean cross-entropy, and its gradient by all weights. Y is one-hot."""
    import pytensor
    import pytensor.tensor as pt

    X, Y = pt.matrix("X"), pt.matrix("Y")
    weights = [pt.matrix("W1"), pt.vector("b1"), pt.matrix("W2"), pt.vector("b2")]
    W1, b1, W2, b2 = weights
    logits = pt.tanh(X @ W1 + b1) @ W2 + b2
    value = -pt.mean(pt.sum(Y * pt.special.log_softmax(logits, axis=-1), axis=1))
    return [X, Y, *weights], [value, *pytensor.grad(value, weights)]


def mlp_value(X: Any, Y: Any, W1: Any, b1: Any, W2: Any, b2: Any) -> Any:
    """`mlp_graph`'s value in JAX."""
    import jax
    import jax.numpy as jnp

    logits = jnp.tanh(X @ W1 + b1) @ W2 + b2
    return -jnp.mean(jnp.sum(Y * jax.nn.log_softmax(logits, axis=-1), axis=1))


def mlp_data(rows: int) -> list[np.ndarray]:
    """64 features, 128 hidden units, 10 classes."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(rows, 64)), np.eye(10)[rng.integers(0, 10, rows)]
    return [X, Y, rng.normal(size=(64, 128)) / 8, np.zeros(128), rng.normal(size=(128, 10)) / 11, np.zeros(10)]


def schools_graph() -> tuple[list[Any], list[Any]]:
    """Eight schools, not centred: normal effects with a half-Cauchy scale, given by its logarithm; and its gradient."""
    import pytensor
    import pytensor.tensor as pt

    y, sigma, theta = pt.vector("y"), pt.vector("sigma"), pt.vector("theta")
    mu, log_tau = pt.scalar("mu"), pt.scalar("log_tau")
    tau = pt.exp(log_tau)
    residual = (y - mu - tau * theta) / sigma
    prior = -0.5 * (mu / 5) ** 2 - pt.log1p((tau / 5) ** 2) + log_tau - 0.5 * pt.sum(theta**2)
    value = prior + pt.sum(-0.5 * residual**2 - pt.log(sigma))
    parameters = [mu, log_tau, theta]
    return [y, sigma, *parameters], [value, *pytensor.grad(value, parameters)]


def schools_value(y: Any, sigma: Any, mu: Any, log_tau: Any, theta: Any) -> Any:
    """`schools_graph`'s value in JAX."""
    import jax.numpy as jnp

    tau = jnp.exp(log_tau)
    residual = (y - mu - tau * theta) / sigma
    prior = -0.5 * (mu / 5) ** 2 - jnp.log1p((tau / 5) ** 2) + log_tau - 0.5 * jnp.sum(theta**2)
    return prior + jnp.sum(-0.5 * residual**2 - jnp.log(sigma))


def schools_data(rows: int) -> list[np.ndarray]:
    """The eight schools of Rubin (1981), repeated to fill the rows."""
    y = np.resize([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0], rows)
    sigma = np.resize([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0], rows)
    return [y, sigma, np.array(4.0), np.array(1.1), np.linspace(-1.0, 1.0, rows)]


MODELS = {
    "logistic": Model("logistic", "10,000 x 20", logistic_graph, logistic_value, (2,), logistic_data, 10_000),
    "schools": Model("eight schools", "8", schools_graph, schools_value, (2, 3, 4), schools_data, 8),
    "mlp": Model("MLP", "1,000 rows, 64-128-10", mlp_graph, mlp_value, (2, 3, 4, 5), mlp_data, 1_000),
}


# ---- who runs them --------------------------------------------------------------------------------------------------


def by_hlograph(inputs: list[Any], outputs: Any, policy: str = "auto") -> Callable[..., Any]:
    """hlograph, at its defaults but for the policy."""
    import hlograph

    return hlograph.function(inputs, outputs, policy=policy)


def by_pytensor_jax(inputs: list[Any], outputs: Any) -> Callable[..., Any]:
    """PyTensor's JAX mode, at its defaults."""
    import pytensor

    return pytensor.function(inputs, outputs, mode="JAX")


def by_pytensor_numba(inputs: list[Any], outputs: Any) -> Callable[..., Any]:
    """PyTensor's Numba mode, at its defaults."""
    import pytensor

    return pytensor.function(inputs, outputs, mode="NUMBA")


def by_jax(model: Model) -> Callable[..., Any]:
    """What one writes by hand: `jax.jit` of value and gradient."""
    return _value_and_gradient(model.value, model.parameters)


def by_jax_grad(model: Model) -> Callable[..., Any]:
    """hlograph's function of the value alone, and `jax.jit` of `jax.value_and_grad` of that."""
    import hlograph

    inputs, (value, *_) = model.graph()
    return _value_and_gradient(hlograph.function(inputs, value), model.parameters)


def _value_and_gradient(function: Callable[..., Any], parameters: tuple[int, ...]) -> Callable[..., Any]:
    import jax

    derivative = jax.value_and_grad(function, argnums=parameters)

    def call(*arguments: Any) -> tuple[Any, ...]:
        value, gradients = derivative(*arguments)
        return (value, *gradients)

    return jax.jit(call)


JAX_GRAD = "jax.grad of hlograph's"
GRAPH_PEERS = {"hlograph": by_hlograph, "PyTensor JAX": by_pytensor_jax, "PyTensor Numba": by_pytensor_numba}
PEERS = ("hlograph", "jax.jit", "PyTensor JAX", "PyTensor Numba")
