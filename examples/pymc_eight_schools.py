"""Eight schools in PyMC, its log-density and gradient run by hlograph.

python examples/pymc_eight_schools.py          # needs pymc 5.28, and PyTensor 2.38 with it
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pymc as pm

import hlograph.pytensor  # registers the mode

Y = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
SIGMA = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def eight_schools() -> Any:
    """The effects are `mu + tau * theta`."""
    with pm.Model() as model:
        mu, tau = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5)
        effects = pm.Deterministic("effects", mu + tau * pm.Normal("theta", shape=8))
        pm.Normal("y", effects, SIGMA, observed=Y)
    return model


def main() -> None:
    """Four chains in two processes, and the posterior means of the effects."""
    mode = hlograph.pytensor.Mode()
    with eight_schools():
        trace = pm.sample(
            1000, tune=1000, chains=4, cores=2, mp_ctx="forkserver", random_seed=1, compile_kwargs={"mode": mode}
        )
    effects = trace.posterior["effects"]
    print("observed ", Y)
    print("posterior", effects.mean(("chain", "draw")).values.round(1))


if __name__ == "__main__":
    main()
