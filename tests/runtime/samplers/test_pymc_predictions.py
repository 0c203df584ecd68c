"""PyMC's functions over a posterior in the mode: against PyMC's own, with PyTensor's evaluation in Python."""

import warnings
from typing import Any

import jax
import numpy as np
import pytest

pm = pytest.importorskip("pymc", minversion="6")
xr = pytest.importorskip("xarray")
pymc_on_hlograph = pytest.importorskip("hlograph.pymc")

from pymc_models import PLAIN, REFERENCE, build, imputed, name_of, parameter_out_of_bounds  # noqa: E402
from scipy.stats import ks_2samp  # noqa: E402

from hlograph.errors import OneByOneWarning  # noqa: E402
from hlograph.runtime.samplers import predictions  # noqa: E402

MODE = {"compile_kwargs": {"mode": "STABLEHLO"}}
PYTHON = {"compile_kwargs": {"mode": REFERENCE}}
QUIET: dict[str, Any] = {"progressbar": False}
DRAWS = 200


def discrete():
    kind, mean = pm.Categorical("kind", [0.2, 0.8], shape=5), pm.Normal("mean", shape=2)
    pm.Deterministic("product", mean[kind] * pm.Poisson("count", 3.0))
    pm.Poisson("y", pm.math.exp(mean[kind]), observed=np.arange(5))


def correlated():
    chol, _, _ = pm.LKJCholeskyCov("chol", n=2, eta=2.0, sd_dist=pm.Exponential.dist(1.0, shape=2))
    rows = pm.MvNormal("rows", np.zeros(2), chol=chol, shape=(4, 2))
    start = pm.MvNormal.dist(np.zeros(2), np.eye(2))
    walk = pm.MvGaussianRandomWalk("walk", mu=np.zeros(2), cov=np.eye(2), steps=3, init_dist=start)
    pm.MvNormal("y", rows + walk, chol=chol, observed=np.ones((4, 2)))


def no_rows():
    x = pm.Data("x", np.zeros(0))
    pm.Deterministic("line", pm.Normal("slope") * x)
    pm.Normal("y", 0.0, 1.0, shape=x.shape, observed=np.zeros(0))


def labelled():
    x = pm.Data("x", [1, 2, 3], dims="row")
    slope = pm.Normal("slope", dims="kind")
    line = pm.Deterministic("line", x * slope.sum(), dims="row")
    pm.Normal("y", line, pm.HalfNormal("noise"), observed=pm.Data("seen", [0.0, 1.0, 2.0], dims="row"), dims="row")


COORDS = {"row": ["a", "b", "c"], "kind": [2, 4]}
OWN = [discrete, correlated, no_rows, labelled]


def posterior(model: Any, names: Any = None) -> Any:
    """A posterior of values from the prior, of the free variables alone."""
    with model, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # potentials do not count
        prior = pm.sample_prior_predictive(DRAWS, random_seed=3).prior.dataset
    return xr.DataTree.from_dict({"posterior": prior[[x.name for x in model.free_RVs] if names is None else names]})


def same(found: Any, wanted: Any) -> None:
    assert found.sizes == wanted.sizes
    assert set(found) == set(wanted)
    for name, x in wanted.items():
        assert (found[name].dtype, found[name].dims) == (x.dtype, x.dims)
        assert all(np.array_equal(found.coords[dim], x.coords[dim]) for dim in x.coords)
        np.testing.assert_allclose(found[name], x, rtol=1e-8, atol=1e-10, err_msg=name)


def alike(found: Any, wanted: Any) -> None:
    """Whether two samples are of one distribution, coordinate by coordinate."""
    found, wanted = (
        np.asarray(x).reshape(np.prod(np.shape(x)[:2]), np.prod(np.shape(x)[2:], dtype=int)).T for x in (found, wanted)
    )
    values = [ks_2samp(one, other).pvalue for one, other in zip(found, wanted, strict=True)]
    assert min(values, default=1) * max(len(values), 1) > 1e-4


@pytest.mark.sampled(5)
@pytest.mark.parametrize("content", [*OWN, *(x for x in PLAIN if x is not parameter_out_of_bounds)], ids=name_of)
def test_values_are_those_of_pymc(content):
    model = build(content, coords=COORDS) if content is labelled else build(content)
    trace = posterior(model)
    with model:
        for function in (pm.compute_log_likelihood, pm.stats.compute_log_prior):
            same(*(function(trace, extend_inferencedata=False, **QUIET, **how) for how in (MODE, PYTHON)))
        if content is not imputed:  # whose deterministic draws what is not missing
            same(*(pm.compute_deterministics(trace.posterior.dataset, **QUIET, **how) for how in (MODE, PYTHON)))


@pytest.mark.parametrize("content", [*OWN, imputed], ids=name_of)
def test_predictions_are_distributed_as_those_of_pymc(content):
    model = build(content, coords=COORDS) if content is labelled else build(content)
    trace = posterior(model)
    with model:
        found, again, wanted = (
            pm.sample_posterior_predictive(trace, random_seed=5, **QUIET, **how).posterior_predictive.dataset
            for how in (MODE, MODE, PYTHON)
        )
        xr.testing.assert_equal(found, again)
        assert found.sizes == wanted.sizes
        assert set(found) == set(wanted)
        for name, x in wanted.items():
            assert (found[name].dtype, found[name].dims) == (x.dtype, x.dims)
            alike(found[name], x)


@pytest.mark.parametrize("content", [discrete, labelled], ids=name_of)
def test_the_prior_is_distributed_as_that_of_pymc(content, monkeypatch):
    model = build(content, coords=COORDS) if content is labelled else build(content)
    calls: list[int] = []
    run = predictions.OverDraws.__call__
    monkeypatch.setattr(predictions.OverDraws, "__call__", lambda *args: calls.append(args[2]) or run(*args))
    with model:
        found, again, other, wanted = (
            pm.sample_prior_predictive(DRAWS, random_seed=seed, **how)
            for seed, how in ((5, MODE), (5, MODE), (6, MODE), (5, PYTHON))
        )
    assert calls == 3 * [DRAWS]  # one call each, for all draws
    for group in ("prior", "prior_predictive"):
        drawn, theirs = found[group].dataset, wanted[group].dataset
        xr.testing.assert_equal(drawn, again[group].dataset)
        assert not drawn.equals(other[group].dataset)
        assert drawn.sizes == theirs.sizes
        assert set(drawn) == set(theirs)
        for name, x in theirs.items():
            assert (drawn[name].dtype, drawn[name].dims) == (x.dtype, x.dims)
            alike(drawn[name], x)


def test_each_draw_goes_with_its_values_in_chunks_of_any_size(monkeypatch):
    with pm.Model() as model:
        mean = pm.Normal("mean", shape=3)
        pm.Normal("y", mean, 1e-9, observed=np.zeros(3))
    trace, found = posterior(model), []
    for chunk in (1, 200, 1 << 20):
        monkeypatch.setattr("hlograph.runtime.samplers.predictions.CHUNK", chunk)
        with pm.do(model, {}):
            drawn = pm.sample_posterior_predictive(trace, random_seed=1, **QUIET, **MODE).posterior_predictive["y"]
        np.testing.assert_allclose(drawn, trace.posterior["mean"], atol=1e-7)
        found.append(drawn.values)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_new_data_of_new_lengths_compile_nothing_in_known_buckets():
    model = build(labelled, coords=COORDS)
    trace, compiles, made = posterior(model), [], []
    jax.monitoring.register_event_duration_secs_listener(lambda name, *_, **__: made.append("backend_compile" in name))
    for length in (3, 45, 41, 50, 0, 1):
        with model:
            data = np.arange(float(length))
            pm.set_data({"x": np.arange(length), "seen": data}, coords={"row": list(map(str, data))})
            done = pm.sample_posterior_predictive(trace, predictions=True, random_seed=1, **QUIET, **MODE)
            assert done.predictions["y"].sizes == {"chain": 1, "draw": DRAWS, "row": length}
            assert list(done.predictions["row"].values) == list(map(str, data))
            same(
                *(
                    pm.compute_log_likelihood(trace, extend_inferencedata=False, **QUIET, **how)
                    for how in (MODE, PYTHON)
                )
            )
        compiles.append(sum(made))
    assert compiles[:4] == [2, 4, 4, 4]  # of two functions


def test_draws_of_variables_are_independent_and_by_seed():
    with pm.Model():
        mean, count = pm.Normal("mean"), pm.Poisson("count", 4)
        y = pm.Normal("y", mean, shape=2)
    how = {"mode": "STABLEHLO"}
    one, other, third = (pm.draw([y, mean, count], 3000, random_seed=seed, **how) for seed in (1, 1, 2))
    for a, b, c in zip(one, other, third, strict=True):
        np.testing.assert_array_equal(a, b)
        assert not np.array_equal(a, c)
    assert one[0].shape == (3000, 2)
    assert one[2].dtype == np.int64
    np.testing.assert_allclose(np.cov(one[0].T), [[2, 1], [1, 2]], atol=0.25)
    np.testing.assert_allclose(np.corrcoef(one[0][:, 0], one[1])[0, 1], 0.5**0.5, atol=0.05)
    alike(one[2][None], np.random.default_rng(1).poisson(4, 3000)[None])
    assert pm.draw(mean, 1, random_seed=1, **how).shape == ()
    assert np.unique(pm.draw(y, 1000, random_seed=3, **how)).size == 2000


def test_python_in_a_model_is_called_draw_by_draw_and_said():
    with pm.Model() as model:
        mean = pm.Normal("mean")
        pm.CustomDist("y", mean, random=lambda mean, rng, size: rng.normal(mean, 1e-9, size), observed=np.zeros(4))
    trace = posterior(model)
    with model, pytest.warns(OneByOneWarning, match="Python"):
        drawn = pm.sample_posterior_predictive(trace, random_seed=1, **QUIET, **MODE).posterior_predictive["y"]
    np.testing.assert_allclose(drawn, np.repeat(trace.posterior["mean"].values[..., None], 4, -1), atol=1e-7)
