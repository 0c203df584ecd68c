"""An LSTM that learns to add: the two marked numbers of a row of random ones.

    python examples/recurrent_net.py

The weights are shared variables, and a call is a step of Adam: PyTensor's own way to train, in hlograph's mode.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt

import hlograph

UNITS, BATCH = 24, 64
rng = np.random.default_rng(0)


def shared(*shape: int) -> Any:
    """A variable that a step changes, of small random numbers."""
    return pytensor.shared(rng.normal(size=shape) / np.sqrt(shape[0]))


def predicted(rows: Any, weights: Any, bias: Any, last: Any) -> Any:
    """The number that the net says for each row of the batch; `rows` are steps, batch, inputs."""

    def cell(x: Any, hidden: Any, memory: Any) -> Any:
        z = pt.concatenate([x, hidden], axis=1) @ weights + bias
        enter, keep, leave = (pt.sigmoid(z[:, i * UNITS : (i + 1) * UNITS]) for i in range(3))
        memory = keep * memory + enter * pt.tanh(z[:, 3 * UNITS :])
        return leave * pt.tanh(memory), memory

    zeros = pt.zeros((rows.shape[1], UNITS), "float64")
    hidden, _ = pytensor.scan(cell, sequences=rows, outputs_info=[zeros, zeros], return_updates=False)
    return hidden[-1] @ last


def adam(loss: Any, parameters: list[Any], rate: float = 0.02) -> dict[Any, Any]:
    """What a step of Adam makes of the parameters and of its two averages."""
    updates: dict[Any, Any] = {}
    for x, slope in zip(parameters, pytensor.grad(loss, parameters), strict=True):
        mean, square = (pytensor.shared(np.zeros_like(x.get_value())) for _ in range(2))
        updates[mean] = 0.9 * mean + 0.1 * slope
        updates[square] = 0.99 * square + 0.01 * slope**2
        updates[x] = x - rate * updates[mean] / (pt.sqrt(updates[square]) + 1e-6)
    return updates


def batch(steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Random numbers with marks beside two of them, one in each half, and the sum of these two."""
    values, marks = rng.uniform(size=(steps, BATCH)), np.zeros((steps, BATCH))
    for low, high in ((0, steps // 2), (steps // 2, steps)):
        marks[rng.integers(low, high, BATCH), np.arange(BATCH)] = 1
    return np.stack([values, marks], -1), (values * marks).sum(0)


def main() -> list[float]:
    """Errors while it learns, of rows of 10 numbers, and then of rows of 15, by the same program."""
    rows, sums = pt.dtensor3("rows"), pt.dvector("sums")
    weights, bias, last = shared(2 + UNITS, 4 * UNITS), shared(4 * UNITS), shared(UNITS)
    loss = ((predicted(rows, weights, bias, last) - sums) ** 2).mean()
    train = pytensor.function(
        [rows, sums], loss, updates=adam(loss, [weights, bias, last]), mode=hlograph.Mode(), name="train"
    )
    errors = [float(train(*batch(10))) for _ in range(500)]
    for step in range(0, 500, 100):
        print(f"steps {step:4} to {step + 99}: mean squared error {np.mean(errors[step : step + 100]):.4f}")
    print(f"rows of 15: {float(train(*batch(15))):.4f}; always saying 1 would be {1 / 6:.4f}")
    return errors


if __name__ == "__main__":
    main()
