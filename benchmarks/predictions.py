"""PyMC's functions over a posterior, in its default mode and in ours: 4,000 draws x 1,000 rows of varying intercepts.

Seconds, and in brackets those of processors, the least of five calls after the first, in turns.
"""

from __future__ import annotations

import logging
import time
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr

import hlograph.pymc  # noqa: F401

ROWS, CHAINS, DRAWS, GROUPS = 1000, 4, 1000, 20


def _model() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    with pm.Model(coords={"county": range(GROUPS)}) as model:
        x, county = (
            pm.Data(name, values, dims="row")
            for name, values in (("x", rng.normal(size=ROWS)), ("place", rng.integers(0, GROUPS, ROWS)))
        )
        level = pm.Normal("level", pm.Normal("mean"), pm.HalfNormal("spread"), dims="county")
        line = pm.Deterministic("line", level[county] + pm.Normal("slope") * x, dims="row")
        pm.Normal("y", line, pm.HalfNormal("noise"), observed=rng.normal(size=ROWS), dims="row")
    dims = {x.name: model.named_vars_to_dims.get(x.name, ()) for x in model.free_RVs}
    values = {
        name: (("chain", "draw", *own), rng.random((CHAINS, DRAWS, *[GROUPS for _ in own])))
        for name, own in dims.items()
    }
    return model, xr.DataTree.from_dict({"posterior": xr.Dataset(values)})


def main() -> None:
    """Prints a line for each function."""
    logging.getLogger("pymc").setLevel(logging.ERROR)
    model, trace = _model()
    quiet = {"progressbar": False}
    functions = {
        "sample_posterior_predictive": lambda **how: pm.sample_posterior_predictive(trace, **quiet, **how),
        "sample_prior_predictive": lambda **how: pm.sample_prior_predictive(CHAINS * DRAWS, **how),
        "compute_log_likelihood": lambda **how: pm.compute_log_likelihood(
            trace, extend_inferencedata=False, **quiet, **how
        ),
        "compute_deterministics": lambda **how: pm.compute_deterministics(trace.posterior.dataset, **quiet, **how),
        "draw": lambda compile_kwargs, **how: pm.draw(model["y"], CHAINS * DRAWS, **compile_kwargs),
    }
    with model:
        for name, function in functions.items():
            found: dict[str, list[tuple[float, float]]] = {"default": [], "STABLEHLO": []}
            for _ in range(6):
                for mode, times in found.items():
                    start = time.perf_counter(), time.process_time()
                    function(compile_kwargs={} if mode == "default" else {"mode": mode})
                    times.append((time.perf_counter() - start[0], time.process_time() - start[1]))
            least = {mode: np.min(times[1:], axis=0) for mode, times in found.items()}
            text = ", ".join(f"{mode} {wall:.3f} s ({cpu:.3f})" for mode, (wall, cpu) in least.items())
            first = ", ".join(f"{mode} {times[0][0]:.2f} s" for mode, times in found.items())
            print(f"{name}: {text}; first call: {first}")


if __name__ == "__main__":
    main()
