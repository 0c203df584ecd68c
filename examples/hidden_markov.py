"""A hidden Markov model: the forward algorithm as a Scan, the states' probabilities as its gradient.

    python examples/hidden_markov.py

The derivative of the log-likelihood by `seen[t, k]`, the log-density of what is seen at t in state k, is the
probability of state k at t given all that is seen. So nothing but the forward pass has to be written down.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt

import hlograph

CENTRES = np.array([-1.0, 0.0, 2.0])
MOVES = np.array([[0.90, 0.08, 0.02], [0.05, 0.90, 0.05], [0.02, 0.08, 0.90]])


def log_likelihood(seen: Any, moves: Any) -> Any:
    """Of all paths through the states, from uniform probabilities at the start."""

    def step(row: Any, before: Any) -> Any:
        return row + pt.logsumexp(before[:, None] + moves, axis=0)

    first = seen[0] - pt.log(seen.shape[1])
    rest = pytensor.scan(step, sequences=seen[1:], outputs_info=first, return_updates=False)
    return pt.logsumexp(pt.concatenate([first[None], rest])[-1])


def enumerated(seen: np.ndarray, moves: np.ndarray) -> float:
    """The same, path by path."""
    count, states = seen.shape
    paths = np.stack(np.meshgrid(*[np.arange(states)] * count), -1).reshape(-1, count)
    logp = seen[np.arange(count), paths].sum(1) + moves[paths[:, :-1], paths[:, 1:]].sum(1) - np.log(states)
    return float(np.log(np.exp(logp).sum()))


def main() -> tuple[float, float, float, float]:
    """A check against all paths of a short series; then how many states of a long one are found."""
    seen, moves = pt.dmatrix("seen"), pt.dmatrix("moves")
    value = log_likelihood(seen, moves)
    fn = hlograph.function([seen, moves], [value, pytensor.grad(value, seen)], outputs="numpy")

    rng = np.random.default_rng(0)
    states = [0]
    for _ in range(1_999):
        states.append(rng.choice(3, p=MOVES[states[-1]]))
    data = CENTRES[states] + rng.normal(size=2_000)
    rows = -0.5 * (data[:, None] - CENTRES) ** 2

    short, all_paths = float(fn(rows[:8], np.log(MOVES))[0]), enumerated(rows[:8], np.log(MOVES))
    print(f"8 steps: log-likelihood {short:.6f}, of all {3**8} paths {all_paths:.6f}")
    found, probabilities = fn(rows, np.log(MOVES))
    right = float((np.argmax(probabilities, 1) == states).mean())
    alone = float((np.argmax(rows, 1) == states).mean())
    print(f"2000 steps: log-likelihood {found:.3f}; {right:.0%} of the states are found, {alone:.0%} without the moves")
    return short, all_paths, right, alone


if __name__ == "__main__":
    main()
