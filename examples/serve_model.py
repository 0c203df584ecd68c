"""A fitted PyMC model behind FastAPI: one file, loaded by a server that needs neither PyMC nor PyTensor.

python examples/serve_model.py radon.hlo       # fits the model and writes the file; needs PyMC
MODEL=radon.hlo uvicorn examples.serve_model:app --factory --workers 2
curl localhost:8000/predict -H 'content-type: application/json' \
    -d '{"floor": [0, 1], "county": ["AITKIN", "ELSEWHERE"], "seed": 7}'
"""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np

import hlograph

COUNTIES = ["AITKIN", "ANOKA", "BECKER"]
RESULTS = ["mean", 0.05, 0.95]
ROWS = [1, 64]  # requests of up to 64 rows, and of a few counties, compile nothing


def fit(path: str, draws: int = 500) -> None:
    """Varying intercepts of counties; the file has executables for requests of up to 64 rows."""
    import pymc as pm

    import hlograph.pymc

    rng = np.random.default_rng(0)
    county, floor = rng.integers(0, 3, 90), rng.integers(0, 2, 90)
    radon = np.array([1.0, 2.0, 0.5])[county] - 0.7 * floor + 0.3 * rng.normal(size=90)
    with pm.Model(coords={"county": COUNTIES}) as model:
        place, below = pm.Data("place", county, dims="house"), pm.Data("floor", floor.astype(float), dims="house")
        level = pm.Normal("level", pm.Normal("mean", 0, 2), pm.HalfNormal("spread", 1), dims="county")
        noise = pm.HalfNormal("noise", 1)
        pm.Normal("radon", level[place] + pm.Normal("slope") * below, noise, observed=radon, dims="house")
        trace = pm.sample(draws, tune=500, chains=2, backend="STABLEHLO", random_seed=1, progressbar=False)
    predict = hlograph.pymc.predictor(model, trace, results=RESULTS, new_levels="county", policy="padded")
    predict.save(path, [{"house": rows, "county": len(COUNTIES)} for rows in ROWS])


def answer(predict: hlograph.Predictor, floor: list[float], county: list[str], seed: int = 0) -> dict[str, list[float]]:
    """The mean and a 90% interval for each house; counties that the model has not seen are drawn from their prior."""
    counties = list(dict.fromkeys(county))
    place = [counties.index(name) for name in county]
    found = predict(floor=floor, place=place, seed=seed, coords={"county": counties})
    return {name.removeprefix("radon_"): x.tolist() for name, x in found.items()}


def app() -> Any:
    """The FastAPI application. A worker loads the file once; any number of threads call it."""
    from fastapi import FastAPI, HTTPException
    from pydantic import BaseModel

    class Houses(BaseModel):
        floor: list[float]
        county: list[str]
        seed: int = 0

    globals()["Houses"] = Houses  # where FastAPI looks for what annotations name
    predict = hlograph.Predictor.load(os.environ["MODEL"], trusted=True)
    served = FastAPI()

    @served.post("/predict")
    def radon(houses: Houses) -> dict[str, list[float]]:
        try:
            return answer(predict, houses.floor, houses.county, houses.seed)
        except hlograph.errors.HlographError as error:
            raise HTTPException(422, str(error)) from None

    return served


if __name__ == "__main__":
    fit(sys.argv[1])
