"""What people use around PyMC: one real model of each package by hlograph to a trace, every night.

`make versions-packages` runs it where all of them are installed; elsewhere those that are.
"""

import os
from typing import Any

import numpy as np
import pytest

pytestmark = [
    pytest.mark.skipif("HLOGRAPH_NIGHTLY" not in os.environ, reason="each takes some seconds"),
    pytest.mark.filterwarnings("ignore"),
]
pm = pytest.importorskip("pymc", minversion="6.3")
pd = pytest.importorskip("pandas")

from pymc_models import build, known  # noqa: E402

import hlograph.pymc  # noqa: E402

QUICK: dict[str, Any] = {"chains": 2, "random_seed": 1, "progressbar": False}
MODE = {"compile_kwargs": {"mode": "STABLEHLO"}}


@pytest.fixture(scope="module")
def rows() -> Any:
    """Numbers and counts that depend on `x`, in groups."""
    rng = np.random.default_rng(0)
    found = pd.DataFrame({"x": rng.normal(size=200), "group": rng.choice(list("abc"), 200)})
    found["y"] = 1 + 2 * found.x + 0.5 * rng.normal(size=200)
    found["count"] = rng.poisson(np.exp(0.3 + 0.5 * found.x))
    return found


@pytest.mark.parametrize("method", ["nutpie", "pymc"])
@pytest.mark.parametrize(
    ("formula", "family", "slope"), [("y ~ x + (1|group)", "gaussian", 2), ("count ~ x", "poisson", 0.5)]
)
def test_bambi(formula: str, family: str, slope: float, method: str, rows: Any) -> None:
    bambi = pytest.importorskip("bambi", reason="bambi is not installed: make versions-packages")
    model = bambi.Model(formula, rows, family=family)
    trace = model.fit(draws=300, tune=300, inference_method=method, **MODE, **QUICK)
    np.testing.assert_allclose(trace.posterior["x"].mean(), slope, atol=0.15)
    assert trace.posterior.sizes["draw"] == 300


def test_pymc_marketing() -> None:
    """With one control, whose dim has the length 1."""
    reason = "pymc-marketing is not installed: make versions-packages"
    mmm = pytest.importorskip("pymc_marketing.mmm.multidimensional", reason=reason)
    from pymc_marketing.mmm import GeometricAdstock, LogisticSaturation

    rng = np.random.default_rng(0)
    channels = pd.DataFrame({"tv": rng.gamma(2, 1, 60), "radio": rng.gamma(2, 1, 60)})
    weeks = pd.date_range("2022-01-03", periods=60, freq="W-MON")
    X = channels.assign(date=weeks, event=rng.binomial(1, 0.2, 60).astype(float))
    y = pd.Series(2 + X.tv / 2 + X.event + 0.1 * rng.normal(size=60), name="y")
    model = mmm.MMM(
        date_column="date",
        channel_columns=["tv", "radio"],
        control_columns=["event"],
        target_column="y",
        adstock=GeometricAdstock(l_max=4),
        saturation=LogisticSaturation(),
        yearly_seasonality=2,
    )
    model.fit(X, y, draws=200, tune=300, nuts_sampler="nutpie", **MODE, **QUICK)
    effect = model.idata.posterior["gamma_control"]
    assert effect.sizes == {"chain": 2, "draw": 200, "control": 1}
    np.testing.assert_allclose(effect.mean() * y.max(), 1, atol=0.3)


def test_blackjax_by_pymc() -> None:
    """Also of releases that lack a keyword which PyMC gives them."""
    pytest.importorskip("blackjax", reason="blackjax is not installed: make versions-packages")
    with hlograph.pymc.as_jax_backend() as backend, build(known):
        options = {"nuts_sampler_kwargs": {"chain_method": "vectorized"}}
        trace = pm.sample(400, tune=200, nuts_sampler="blackjax", **options, **QUICK)
    assert backend.functions
    draws = trace.posterior["mean"].values
    np.testing.assert_allclose(draws.mean(), 10 / 21, atol=0.05)
    np.testing.assert_allclose(draws.std(), (1 / 21) ** 0.5, rtol=0.2)
