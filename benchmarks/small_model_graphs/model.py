"""What a small model is: a PyTensor graph, a JAX function, and a point to evaluate them at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class SmallModel:
    """A log-density and its gradient by every parameter.

    Attributes:
        name: for the tables.
        sizes: what is measured, in words.
        graph: inputs and outputs of the PyTensor graph; the outputs are the value and the gradient by each input.
        value: the same as a JAX function of the same arguments, without the gradient.
        point: float64 values for the arguments.
        traced: hlograph takes the JAX function with its gradient through `hlograph.jit`, not the graph.
        numba_limit: how many of Numba's call times a call may take.
    """

    name: str
    sizes: str
    graph: Callable[[], tuple[list[Any], list[Any]]]
    value: Callable[..., Any]
    point: Callable[[], list[np.ndarray]]
    traced: bool = False
    numba_limit: float = 1.0

    def by_hand(self) -> Callable[..., tuple[Any, ...]]:
        """The JAX function of value and gradient, fresh: JAX knows functions that it has compiled by identity."""
        import jax

        count = len(self.point())
        derivative = jax.value_and_grad(lambda *arguments: self.value(*arguments), argnums=tuple(range(count)))

        def value_and_gradient(*arguments: Any) -> tuple[Any, ...]:
            value, gradients = derivative(*arguments)
            return (value, *gradients)

        return value_and_gradient
