"""Slopes that vary by county, sampled by nutpie with hlograph's functions; then the same model with other data.

python examples/nutpie_varying_slopes.py          # needs pymc 6 and nutpie
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import nutpie
import pymc as pm

import hlograph.nutpie

COUNTIES = 40


def houses(count: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """County, floor and log-radon of some houses; slopes are -0.7 in the mean, with a deviation of 0.3."""
    random = np.random.default_rng(seed)
    county, floor = random.integers(0, COUNTIES, count), random.integers(0, 2, count).astype(float)
    levels = 1.5 + 0.3 * np.random.default_rng(0).normal(size=COUNTIES)
    slopes = -0.7 + 0.3 * np.random.default_rng(1).normal(size=COUNTIES)
    return county, floor, levels[county] + slopes[county] * floor + 0.5 * random.normal(size=count)


def varying_slopes(county: np.ndarray, floor: np.ndarray, radon: np.ndarray) -> Any:
    """Level and slope of each county around a common mean."""
    with pm.Model(coords={"county": range(COUNTIES), "effect": ["level", "slope"]}) as model:
        of_house, on_floor = pm.Data("county_of", county, dims="house"), pm.Data("floor", floor, dims="house")
        seen = pm.Data("radon", radon, dims="house")
        mean, spread = pm.Normal("mean", 0, 2, dims="effect"), pm.HalfNormal("spread", 1, dims="effect")
        effects = mean + spread * pm.Normal("offset", dims=("county", "effect"))
        expected = effects[of_house, 0] + effects[of_house, 1] * on_floor
        pm.Normal("y", expected, pm.HalfNormal("noise"), observed=seen, dims="house")
    return model


def main() -> list[float]:
    """The mean slope for three sets of houses, of which the second and third need one compile, or none."""
    start = time.perf_counter()
    compiled = hlograph.nutpie.compile_pymc_model(varying_slopes(*houses(900, seed=2)))
    found = []
    for count in (900, 1500, 1200):
        if count != 900:
            county, floor, radon = houses(count, seed=count)
            start = time.perf_counter()
            compiled = compiled.with_data(county_of=county, floor=floor, radon=radon)
        made = time.perf_counter() - start
        trace = nutpie.sample(compiled, draws=500, tune=500, chains=4, cores=2, seed=1, progress_bar=False)
        found.append(float(trace.posterior["mean"].sel(effect="slope").mean()))
        print(f"{count} houses: compiled in {made:.3f} s, mean slope {found[-1]:.2f}")
    return found


if __name__ == "__main__":
    main()
