"""An epidemic by Euler steps, its rates fitted to daily counts: the gradient goes through 1,000 steps.

python examples/epidemic.py
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt
from scipy.optimize import minimize

import hlograph

PEOPLE, DAYS, STEPS_A_DAY = 10_000.0, 50, 20


def new_cases(rates: Any) -> Any:
    """Infections of each day; `rates` are logarithms: of infection, of recovery, and of how many are ill first."""
    infection, recovery, ill = pt.exp(rates[0]), pt.exp(rates[1]), pt.exp(rates[2])

    def step(healthy: Any, ill: Any) -> Any:
        infected = infection * healthy * ill / PEOPLE / STEPS_A_DAY
        return healthy - infected, ill + infected - recovery * ill / STEPS_A_DAY, infected

    *_, infected = pytensor.scan(
        step, outputs_info=[PEOPLE - ill, ill, None], n_steps=DAYS * STEPS_A_DAY, return_updates=False, name="sir"
    )
    return infected.reshape((DAYS, STEPS_A_DAY)).sum(1)


def main() -> np.ndarray:
    """Counts are drawn with known rates, which are then found again."""
    rates, counts = pt.dvector("rates"), pt.dvector("counts")
    expected = new_cases(rates)
    loss = (expected - counts * pt.log(expected)).sum()
    simulate = hlograph.function([rates], expected, outputs="numpy")
    fit = hlograph.function([rates, counts], [loss, pytensor.grad(loss, rates)], outputs="numpy")

    truth = np.log([0.6, 0.2, 5.0])
    drawn = np.random.default_rng(0).poisson(simulate(truth)).astype("float64")
    found = minimize(lambda p: fit(p, drawn), np.log([1.0, 0.5, 1.0]), jac=True, method="L-BFGS-B")
    print("new cases, every tenth day:", drawn[::10].astype(int))
    print("infection, recovery, ill first: true ", np.exp(truth).round(3))
    print(f"found in {found.nfev} evaluations:      ", np.exp(found.x).round(3))
    print("reproduction number:", np.exp(found.x[0] - found.x[1]).round(2), "of", np.exp(truth[0] - truth[1]).round(2))
    return np.exp(found.x)


if __name__ == "__main__":
    main()
