"""A differential equation by Runge-Kutta steps in a Scan: its error falls as it should, and so do its derivatives'.

    python examples/ode.py

The number of steps is an argument: one program takes them all, compiled for each, and for buckets after some.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt

import hlograph


def runge_kutta(slope: Callable[[Any], Any], start: Any, time: Any, steps: Any) -> Any:
    """The state after a time."""
    width = time / steps

    def step(y: Any, width: Any) -> Any:
        a = slope(y)
        b = slope(y + width / 2 * a)
        c = slope(y + width / 2 * b)
        d = slope(y + width * c)
        return y + width / 6 * (a + 2 * b + 2 * c + d)

    return pytensor.scan(step, outputs_info=start, non_sequences=width, n_steps=steps, return_updates=False)[-1]


def main() -> list[float]:
    """A pendulum of small swings, `y'' = -rate^2 y`, whose solution and its derivative by `rate` are known."""
    rate, start, steps = pt.dscalar("rate"), pt.dvector("start"), pt.lscalar("steps")
    y = runge_kutta(lambda y: pt.stack([y[1], -(rate**2) * y[0]]), start, 10.0, steps)
    fn = hlograph.function([rate, start, steps], [y[0], pytensor.grad(y[0], rate)])

    exact = np.array([np.cos(15.0), -10 * np.sin(15.0)])
    errors = []
    for count in (50, 100, 200, 400, 800):
        found = np.array([float(x) for x in fn(1.5, np.array([1.0, 0.0]), count)])
        errors.append(float(np.abs(found - exact).max()))
        fell = f", {errors[-2] / errors[-1]:.1f} times less" if len(errors) > 1 else ""
        print(f"{count:4} steps: position {found[0]:.8f}, by the rate {found[1]:.8f}, error {errors[-1]:.1e}{fell}")
    print(f"{fn.stats.calls} calls, {fn.stats.compiles} compiles")
    return errors


if __name__ == "__main__":
    main()
