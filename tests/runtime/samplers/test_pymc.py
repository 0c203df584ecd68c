"""PyMC models in the mode and as functions of JAX, beside PyTensor's own evaluation; PyMC 6 on the main line.

PyMC 5.28, which needs PyTensor 2.38, runs the same tests but those of what came with PyMC 6.
"""

import re
from pathlib import Path

import numpy as np
import pytensor
import pytest

import hlograph
import hlograph.pytensor

pm = pytest.importorskip("pymc")

from pymc_models import PLAIN, REFERENCE, SCIPY, build, logistic, moved, name_of, process, reference, schools  # noqa: E402

MODE = "STABLEHLO"
is_new = int(pm.__version__.split(".")[0]) >= 6
DOCS = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "pytensor_mode.md"


@pytest.fixture(autouse=True)
def failing_rewrites_raise(monkeypatch):
    """PyTensor logs a rewrite that fails and goes on without it."""
    monkeypatch.setattr(pytensor.config, "on_opt_error", "raise")


@pytest.mark.sampled(16)
@pytest.mark.parametrize("content", [*PLAIN, *SCIPY], ids=name_of)
def test_densities_and_gradients_are_those_of_pytensor(content):
    model = build(content)
    for name in ("compile_logp", "compile_dlogp"):
        ours, theirs = (getattr(model, name)(mode=mode) for mode in (MODE, REFERENCE))
        for point in (moved(model, 0), moved(model)):
            expected = theirs(point)
            assert np.isfinite(expected).all()
            np.testing.assert_allclose(ours(point), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_sampling_and_predictions():
    options = {"random_seed": 1, "compile_kwargs": {"mode": MODE}}
    with build(schools):
        trace = pm.sample(50, tune=100, chains=2, cores=1, progressbar=False, **options)
        prior, again = (pm.sample_prior_predictive(20, **options) for _ in range(2))
        predicted = pm.sample_posterior_predictive(trace, progressbar=False, **options)
    assert trace.posterior["effect"].shape == (2, 50, 4)
    assert np.isfinite(trace.posterior["effect"]).all()
    assert (trace.posterior["mean"].std() > 0).all()
    assert predicted.posterior_predictive["y"].shape == (2, 50, 4)
    np.testing.assert_array_equal(prior.prior["effect"], again.prior["effect"])
    assert len(np.unique(prior.prior["mean"])) == 20


def test_interventions_and_observations():
    """`pm.do` and `pm.observe` make other models of the same graph."""
    with pm.Model() as model:
        mean = pm.Normal("mean")
        pm.Normal("y", mean, 2.0)
    observed = pm.observe(model, {"y": 1.5})
    ours, theirs = (observed.compile_logp(mode=mode) for mode in (MODE, REFERENCE))
    np.testing.assert_allclose(ours({"mean": 0.3}), theirs({"mean": 0.3}), rtol=1e-12)
    with pm.do(model, {"mean": 100.0}):
        draws = pm.sample_prior_predictive(50, random_seed=1, compile_kwargs={"mode": MODE})
    assert abs(float(draws.prior["y"].mean()) - 100) < 2


def with_named_dimensions():
    pmd = pytest.importorskip("pymc.dims")
    r = np.random.default_rng(7)
    with pm.Model(coords={"city": list("abc"), "obs": range(20)}) as model:
        place = pmd.Data("place", r.integers(0, 3, 20), dims=("obs",))
        slope, spread = pmd.Normal("slope"), pmd.HalfNormal("spread")
        level = pmd.Normal("level", pmd.Normal("mean"), spread, dims=("city",))
        seen = pmd.as_xtensor(r.normal(size=20), dims=("obs",))
        eta = level.isel(city=place) + slope * pmd.Data("x", r.normal(size=20), dims=("obs",))
        pmd.Normal("y", eta, pmd.HalfNormal("noise"), observed=seen)
    return model


@pytest.mark.skipif(not is_new, reason="pymc.dims needs PyMC 6")
def test_named_dimensions():
    model = with_named_dimensions()
    ours, theirs = (model.compile_dlogp(mode=mode) for mode in (MODE, REFERENCE))
    for point in (moved(model, 0), moved(model)):
        np.testing.assert_allclose(ours(point), theirs(point), rtol=1e-9, atol=1e-11)
    function = hlograph.function(model.continuous_value_vars, model.logp())
    assert "level: float64[city]" in str(function.program.signature)
    values = [point[v.name] for v in model.continuous_value_vars]
    np.testing.assert_allclose(function(*values), model.compile_logp(mode=REFERENCE)(point), rtol=1e-6)


def test_data_of_other_lengths():
    model = build(logistic)
    function, theirs = model.compile_dlogp(mode=MODE), model.compile_dlogp(mode=REFERENCE)
    point = moved(model, 0)
    for size in (30, 7, *range(1, 12)):
        with model:
            pm.set_data({"X": np.linspace(-1, 1, 3 * size).reshape(size, 3), "seen": np.arange(size) % 2})
        np.testing.assert_allclose(function(point), theirs(point), rtol=1e-9, atol=1e-12)
    assert function.f.vm.function.stats.compiles < 7


def test_outside_the_support():
    with pm.Model() as model:
        pm.Normal("x", 0, pm.Normal("spread"), observed=np.ones(3))
    logp = model.compile_logp(mode=MODE)
    assert np.isneginf(logp({"spread": -1.0}))
    assert np.isfinite(logp({"spread": 1.0}))


def test_second_derivatives_that_pymc_takes_by_a_scan():
    model = build(schools)
    point = model.initial_point()
    wanted = model.compile_d2logp(mode="FAST_COMPILE")(point)
    np.testing.assert_allclose(model.compile_d2logp(mode=MODE)(point), wanted, rtol=1e-9, atol=1e-12)


def test_the_gradient_of_a_gaussian_process():
    """The distance of a point to itself is zero but for rounding, and XLA must round it once."""
    model = build(process)
    ours, theirs = (model.compile_dlogp(mode=mode) for mode in (MODE, REFERENCE))
    for seed in range(5):
        point = moved(model, 0.5, seed)
        np.testing.assert_allclose(ours(point), theirs(point), rtol=1e-6)


def test_the_examples_in_the_documentation():
    text = DOCS.read_text().partition("## PyMC")[2].partition("\n## ")[0]
    namespace: dict = {}
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(block, str(DOCS), "exec"), namespace)
    model, point = namespace["model"], namespace["point"]
    wanted = reference(model, point, "dlogp")
    gradients = np.concatenate([np.ravel(g) for g in namespace["gradients"]])
    np.testing.assert_allclose(gradients, wanted, rtol=1e-5)  # float32 in JAX
