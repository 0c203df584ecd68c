"""AR(2) and GARCH(1, 1) as PyTensor's Scan, fitted by their gradients: one program for every length of the series.

    python examples/time_series.py

A recurrence becomes one loop on the device, and what a step needs of earlier ones is carried.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt
from scipy.optimize import minimize

import hlograph


def autoregression(y: Any, p: Any) -> Any:
    """Minus the log-density of `y[t] = p[0] + p[1] y[t-1] + p[2] y[t-2] + noise`, whose log-scale is `p[3]`."""
    before = {"input": y, "taps": [0, -1, -2]}
    residual = pytensor.scan(
        lambda now, last, earlier: now - p[0] - p[1] * last - p[2] * earlier, sequences=before, return_updates=False
    )
    return (0.5 * (residual * pt.exp(-p[3])) ** 2 + p[3]).sum()


def volatility(y: Any, p: Any) -> Any:
    """Minus the log-density of noise whose variance is `h[t] = a + b y[t-1]^2 + c h[t-1]`; `p` are their logarithms."""
    a, b, c = pt.exp(p[0]), pt.exp(p[1]), pt.exp(p[2])
    variance = pytensor.scan(
        lambda last, h: a + b * last**2 + c * h, sequences=y[:-1], outputs_info=pt.var(y), return_updates=False
    )
    return 0.5 * (pt.log(variance) + y[1:] ** 2 / variance).sum()


def simulated(kind: str, steps: int) -> np.ndarray:
    """A series with the parameters that are to be found."""
    noise, y, h = np.random.default_rng(0).normal(size=steps), np.zeros(steps), 1.0
    for t in range(2, steps):
        if kind == "AR(2)":
            y[t] = 0.3 + 0.5 * y[t - 1] + 0.2 * y[t - 2] + 0.7 * noise[t]
        else:
            h = 0.1 + 0.2 * y[t - 1] ** 2 + 0.7 * h
            y[t] = np.sqrt(h) * noise[t]
    return y


MODELS = {
    "AR(2)": (autoregression, [0.3, 0.5, 0.2, np.log(0.7)], np.zeros(4)),
    "GARCH(1, 1)": (volatility, np.log([0.1, 0.2, 0.7]), np.log([0.2, 0.1, 0.5])),
}


def main() -> dict[str, np.ndarray]:
    """Parameters found from longer and longer series, beside the true ones."""
    found = {}
    for name, (loss, truth, start) in MODELS.items():
        y, p = pt.dvector("y"), pt.dvector("p")
        value = loss(y, p)
        fn = hlograph.function([y, p], [value, pytensor.grad(value, p)], outputs="numpy", name=loss.__name__)
        print(f"{name}: true parameters {np.round(truth, 2)}")
        for steps in (300, 1_000, 10_000):
            data = simulated(name, steps)
            found[name] = minimize(lambda p, fn=fn, data=data: fn(data, p), start, jac=True, method="BFGS").x
            print(f"{steps:7} steps: {found[name].round(2)}")
    return found


if __name__ == "__main__":
    main()
