"""State space models by pymc-extras' Kalman filters, with missing data: a local level, and a SARIMAX in PyMC.

    python examples/state_space.py          # needs pymc-extras, and PyMC 6 with it

A filter is a Scan over time. Months that nobody saw are NaN, and the filter steps over them.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pymc as pm
import pytensor
import pytensor.tensor as pt
from pymc_extras.statespace import BayesianSARIMAX
from pymc_extras.statespace.filters import StandardFilter
from scipy.optimize import minimize

import hlograph


def local_level(y: Any, log_scales: Any) -> tuple[Any, Any]:
    """Log-likelihood and filtered level of a random walk that is seen with noise, from the scales of noise and walk."""
    noise, walk = (pt.exp(2 * log_scales[i]).reshape((1, 1)) for i in (0, 1))
    start, no_drift, no_shift = (pt.zeros(1) for _ in range(3))
    moves, sees, pushes = (pt.ones((1, 1)) for _ in range(3))
    wide = pt.as_tensor([[1e3]])
    states, *_, likelihood = StandardFilter().build_graph(
        y, start, wide, no_drift, no_shift, moves, sees, pushes, noise, walk
    )
    return likelihood.sum(), states[:, 0]


def series() -> tuple[np.ndarray, np.ndarray]:
    """A level that walks, and 120 months of it, seen with noise; every seventh is missing, and one whole year."""
    rng = np.random.default_rng(0)
    level = np.cumsum(0.3 * rng.normal(size=120))
    seen = level + 0.5 * rng.normal(size=120)
    seen[::7], seen[60:72] = np.nan, np.nan
    return level, seen


def fitted_level(level: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """The scales of greatest likelihood."""
    y, log_scales = pt.tensor("y", shape=(None, 1), dtype="float64"), pt.dvector("log_scales")
    likelihood, states = local_level(y, log_scales)
    fn = hlograph.function([y, log_scales], [-likelihood, -pytensor.grad(likelihood, log_scales)], outputs="numpy")
    found = minimize(lambda p: fn(seen[:, None], p), np.zeros(2), jac=True)
    followed = hlograph.function([y, log_scales], states)(seen[:, None], found.x)
    print(f"noise and walk: true [0.5 0.3], found {np.exp(found.x).round(2)} in {found.nfev} evaluations")
    print(f"the filtered level is off by {np.abs(followed - level)[1:].mean():.2f} in the mean")
    return np.exp(found.x)


def sarimax(seen: np.ndarray) -> tuple[float, float]:
    """The slope of a model's log-density along a direction: by its gradient, and by a difference."""
    model = BayesianSARIMAX(order=(1, 1, 1), stationary_initialization=False, verbose=False)
    data = pd.DataFrame(seen[:, None], index=pd.date_range("2015-01-01", periods=len(seen), freq="MS"))
    with pm.Model(coords=model.coords) as pymc_model:
        for name, info in model.param_info.items():
            if name == "P0":
                pm.Deterministic(name, pt.eye(info["shape"][0]) * 10, dims=info["dims"])
            elif name == "sigma_state":
                pm.Exponential(name, 1)
            else:
                pm.Normal(name, 0, 0.3, dims=info["dims"])
        model.build_statespace_graph(data)
    logp, dlogp = (make(mode=hlograph.Mode()) for make in (pymc_model.compile_logp, pymc_model.compile_dlogp))
    point = pymc_model.initial_point(0)
    step, gradient = 1e-5, dlogp(point)
    ahead, behind = ({name: value + by for name, value in point.items()} for by in (step, -step))
    slope = float((logp(ahead) - logp(behind)) / (2 * step))
    print(f"SARIMAX: log-density {logp(point):.4f}, slope {gradient.sum():.4f}, by a difference {slope:.4f}")
    return float(gradient.sum()), slope


def main() -> tuple[np.ndarray, tuple[float, float]]:
    """Both."""
    warnings.simplefilter("ignore")  # pymc-extras says that data are missing
    level, seen = series()
    return fitted_level(level, seen), sarimax(seen)


if __name__ == "__main__":
    main()
