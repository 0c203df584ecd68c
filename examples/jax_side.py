"""A PyTensor function inside `jax.jit`: XLA sees one module and fuses across the border.

python examples/jax_side.py
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytensor
import pytensor.tensor as pt

import hlograph

jax.config.update("jax_enable_x64", True)


def main() -> None:
    """Ten steps of gradient descent in JAX, on a PyTensor gradient."""
    X, y, weights = pt.matrix("X"), pt.vector("y"), pt.vector("weights")
    loss = pt.mean((X @ weights - y) ** 2)
    loss_and_gradient = hlograph.function([X, y, weights], [loss, pytensor.grad(loss, weights)])

    @jax.jit
    def descend(X: jax.Array, y: jax.Array, weights: jax.Array) -> tuple[jax.Array, jax.Array]:
        def step(weights: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
            loss, gradient = loss_and_gradient(X, y, weights)
            return weights - 0.1 * gradient, loss

        return jax.lax.scan(step, weights, length=10)

    rng = np.random.default_rng(0)
    X_data, true_weights = rng.normal(size=(100, 3)), np.array([1.0, -2.0, 0.5])
    weights_found, losses = descend(jnp.asarray(X_data), jnp.asarray(X_data @ true_weights), jnp.zeros(3))
    print("losses", np.round(losses, 3))
    print("weights", np.round(weights_found, 2), "true", true_weights)


if __name__ == "__main__":
    main()
