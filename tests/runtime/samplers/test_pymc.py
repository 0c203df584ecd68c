"""PyMC models in the mode and as functions of JAX, beside PyTensor's own evaluation; PyMC 6 on the main line.

PyMC 5.28, which needs PyTensor 2.38, runs the same tests but those of what came with PyMC 6.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import jax
import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
import scipy.sparse
from pytensor.compile.mode import Mode as PyTensorMode
from pytensor.graph.rewriting.db import RewriteDatabaseQuery

import hlograph
import hlograph.pytensor

pm = pytest.importorskip("pymc")

MODE = "STABLEHLO"
is_new = int(pm.__version__.split(".")[0]) >= 6
REFERENCE = PyTensorMode("py", RewriteDatabaseQuery(include=["fast_run"], exclude=["inplace", "fusion", "BlasOpt"]))
EFFECTS, ERRORS = np.array([28.0, 8, -3, 7, -1, 1, 18, 12]), np.array([15.0, 10, 16, 11, 9, 11, 10, 18])
DOCS = Path(__file__).resolve().parents[3] / "docs" / "pytensor_mode.md"


@pytest.fixture(autouse=True)
def failing_rewrites_raise(monkeypatch):
    """PyTensor logs a rewrite that fails and goes on without it."""
    monkeypatch.setattr(pytensor.config, "on_opt_error", "raise")


def eight_schools():
    with pm.Model(coords={"school": list("ABCDEFGH")}) as model:
        mean, spread = pm.Normal("mean", 0, 5), pm.HalfCauchy("spread", 5)
        schools = pm.Normal("schools", mean, spread, dims="school")
        pm.Normal("effects", schools, ERRORS, observed=EFFECTS, dims="school")
    return model


def logistic():
    rows = np.random.default_rng(1).normal(size=(30, 3))
    with pm.Model() as model:
        X, y = pm.Data("X", rows), pm.Data("y", (rows[:, 0] > 0).astype(int))
        weights = pm.Normal("weights", 0, 2, shape=3)
        pm.Bernoulli("outcome", logit_p=pm.StudentT("level", 4) + X @ weights, observed=y, shape=y.shape)
    return model


def varying_intercepts():
    r = np.random.default_rng(2)
    with pm.Model(coords={"county": range(5), "house": range(30)}) as model:
        county = pm.Data("county_of", r.integers(0, 5, 30), dims="house")
        level = pm.Normal("level", pm.Normal("mean"), pm.HalfNormal("spread"), dims="county")
        pm.Normal("radon", level[county], pm.Exponential("noise", 1), observed=r.normal(size=30), dims="house")
    return model


def mixture():
    ordered = pm.distributions.transforms.ordered
    with pm.Model() as model:
        weights = pm.Dirichlet("weights", np.ones(3))
        centres = pm.Normal("centres", 0, 3, shape=3, transform=ordered, initval=[-1.0, 0.0, 1.0])
        pm.NormalMixture("y", weights, centres, pm.Gamma("width", 2, 1), observed=np.linspace(-2, 2, 9))
    return model


def categories():
    with pm.Model() as model:
        p = pm.Dirichlet("p", np.ones((2, 4)))
        pm.Categorical("y", p[np.array([0, 1, 0, 1, 1])], observed=np.array([0, 3, 2, 1, 1]))
        pm.Multinomial("counts", 10, p[0], observed=np.array([1, 2, 3, 4]))
    return model


def bounded():
    with pm.Model() as model:
        mean, spread = pm.Normal("mean"), pm.HalfNormal("spread")
        pm.Censored("censored", pm.Normal.dist(mean, spread), -1, 1, observed=np.array([-1.0, 0.3, 1.0]))
        pm.TruncatedNormal("truncated", mean, spread, lower=0, observed=np.array([0.4, 2.0]))
        pm.Potential("pull", -((pm.Uniform("u", -1, 2) - pm.Beta("b", 2, 3)) ** 2))
        pm.OrderedLogistic("grade", mean, np.array([-1.0, 1.0]), observed=np.array([0, 1, 2]))
    return model


def covariance():
    r = np.random.default_rng(4)
    with pm.Model() as model:
        factor, *_ = pm.LKJCholeskyCov("factor", n=3, eta=2.0, sd_dist=pm.Exponential.dist(1.0))
        pm.MvNormal("y", pm.Normal("mean", shape=3), chol=factor, observed=r.normal(size=(6, 3)))
    return model


def horseshoe():
    r = np.random.default_rng(6)
    with pm.Model() as model:
        tau, scale, slab = (
            pm.HalfStudentT("tau", 2, 0.1),
            pm.HalfCauchy("scale", 1, shape=4),
            pm.InverseGamma("c", 1, 1),
        )
        weights = pm.Normal("z", shape=4) * tau * scale * pt.sqrt(slab / (slab + tau**2 * scale**2))
        pm.Normal("y", r.normal(size=(12, 4)) @ weights, pm.HalfNormal("noise"), observed=r.normal(size=12))
    return model


def walk():
    with pm.Model() as model:
        level = pm.GaussianRandomWalk("level", sigma=pm.HalfNormal("step"), init_dist=pm.Normal.dist(), steps=7)
        pm.NegativeBinomial("y", pm.math.exp(level), 2.0, observed=np.arange(8))
    return model


def neighbours():
    flags = np.triu(np.random.default_rng(4).random((9, 9)) < 0.3, 1) | np.eye(9, k=1, dtype=bool)
    return scipy.sparse.csr_matrix((flags | flags.T).astype("float64"))


def areas(W):
    with pm.Model() as model:
        alpha, tau = pm.Beta("alpha", 2, 2), pm.Gamma("tau", 2, 2)
        level = pm.CAR("level", mu=np.zeros(9), W=W, alpha=alpha, tau=tau, shape=9)
        pm.Poisson("y", pm.math.exp(level), observed=np.arange(9))
    return model


def constant_areas():
    return areas(neighbours())


def shared_areas():
    return areas(pytensor.shared(neighbours(), name="W"))


def intrinsic_areas():
    with pm.Model() as model:
        level = pm.ICAR("level", W=neighbours().toarray())
        pm.Poisson("y", pm.math.exp(pm.HalfNormal("scale") * level), observed=np.arange(9))
    return model


def points(model):
    start = model.initial_point(random_seed=1)
    r = np.random.default_rng(3)
    moved = {k: v + 0.3 * r.normal(size=np.shape(v)) if v.dtype.kind == "f" else v for k, v in start.items()}
    return start, moved


MODELS = [
    *(eight_schools, logistic, varying_intercepts, mixture, categories),
    *(bounded, covariance, horseshoe, walk),
    *(constant_areas, shared_areas, intrinsic_areas),
]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("build", MODELS)
def test_densities_and_gradients_are_those_of_pytensor(build):
    model = build()
    for name, rtol in (("compile_logp", 1e-9), ("compile_dlogp", 1e-9)):
        ours, theirs = (getattr(model, name)(mode=mode) for mode in (MODE, REFERENCE))
        for point in points(model):
            expected = theirs(point)
            assert np.isfinite(expected).all()
            np.testing.assert_allclose(ours(point), expected, rtol=rtol, atol=1e-11)


def test_sampling_and_predictions():
    options = {"random_seed": 1, "compile_kwargs": {"mode": MODE}}
    with eight_schools():
        trace = pm.sample(50, tune=100, chains=2, cores=1, progressbar=False, **options)
        prior, again = (pm.sample_prior_predictive(20, **options) for _ in range(2))
        predicted = pm.sample_posterior_predictive(trace, progressbar=False, **options)
    assert trace.posterior["schools"].shape == (2, 50, 8)
    assert np.isfinite(trace.posterior["schools"]).all()
    assert (trace.posterior["mean"].std() > 0).all()
    assert predicted.posterior_predictive["effects"].shape == (2, 50, 8)
    np.testing.assert_array_equal(prior.prior["schools"], again.prior["schools"])
    assert len(np.unique(prior.prior["mean"])) == 20


@pytest.mark.skipif("backend" not in inspect.signature(pm.sample).parameters, reason="came with PyMC 6")
def test_the_backend_of_sampling():
    with eight_schools():
        options = {"random_seed": 1, "chains": 1, "cores": 1, "progressbar": False, "compute_convergence_checks": False}
        found = pm.sample(20, tune=20, backend=MODE, **options)
        same = pm.sample(20, tune=20, compile_kwargs={"mode": MODE}, **options)
    np.testing.assert_allclose(found.posterior["mean"], same.posterior["mean"])


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
    for point in points(model):
        np.testing.assert_allclose(ours(point), theirs(point), rtol=1e-9, atol=1e-11)
    function = hlograph.function(model.continuous_value_vars, model.logp())
    assert "level: float64[city]" in str(function.program.signature)
    values = [point[v.name] for v in model.continuous_value_vars]
    np.testing.assert_allclose(function(*values), model.compile_logp(mode=REFERENCE)(point), rtol=1e-6)


@pytest.mark.skipif(not is_new, reason="pymc.dims needs PyMC 6")
def test_sampling_with_named_dimensions():
    options = {"random_seed": 1, "compile_kwargs": {"mode": MODE}}
    with with_named_dimensions():
        trace = pm.sample(
            20, tune=20, chains=1, cores=1, progressbar=False, compute_convergence_checks=False, **options
        )
        predicted = pm.sample_posterior_predictive(trace, progressbar=False, **options)
    assert trace.posterior["level"].dims == ("chain", "draw", "city")
    assert np.isfinite(predicted.posterior_predictive["y"]).all()


def test_the_mode_for_everything(monkeypatch):
    monkeypatch.setattr(pytensor.config, "mode", MODE)
    with logistic() as model:
        ours = pm.find_MAP(progressbar=False)
    monkeypatch.setattr(pytensor.config, "mode", REFERENCE)
    with model:
        theirs = pm.find_MAP(progressbar=False)
    np.testing.assert_allclose(ours["weights"], theirs["weights"], rtol=1e-4)


def test_data_of_other_lengths():
    model = logistic()
    function, reference = model.compile_dlogp(mode=MODE), model.compile_dlogp(mode=REFERENCE)
    point = model.initial_point(random_seed=1)
    for size in (30, 7, 1):
        with model:
            pm.set_data({"X": np.linspace(-1, 1, 3 * size).reshape(size, 3), "y": np.arange(size) % 2})
        np.testing.assert_allclose(function(point), reference(point), rtol=1e-9, atol=1e-12)


def test_outside_the_support():
    with pm.Model() as model:
        pm.Normal("x", 0, pm.Normal("spread"), observed=np.ones(3))
    logp = model.compile_logp(mode=MODE)
    assert np.isneginf(logp({"spread": -1.0}))
    assert np.isfinite(logp({"spread": 1.0}))


def test_second_derivatives_that_pymc_takes_by_a_scan():
    model = eight_schools()
    point = model.initial_point()
    wanted = model.compile_d2logp(mode="FAST_COMPILE")(point)
    np.testing.assert_allclose(model.compile_d2logp(mode=MODE)(point), wanted, rtol=1e-9, atol=1e-12)


def time_series(kind):
    values = np.cumsum(np.random.default_rng(0).normal(size=60)) * 0.1
    with pm.Model() as model:
        if kind == "AR":
            rho = pm.Normal("rho", 0, 1, shape=2)
            pm.AR("y", rho, sigma=pm.HalfNormal("s", 1), init_dist=pm.Normal.dist(0, 10, shape=2), observed=values)
        elif kind == "GARCH11":
            rates = {"omega": pm.HalfNormal("o", 1), "alpha_1": pm.Beta("a", 1, 5), "beta_1": pm.Beta("b", 5, 1)}
            pm.GARCH11("y", initial_vol=pm.HalfNormal("v", 1), observed=values, **rates)
        else:
            drift = (lambda x, rate: (-rate * x, pt.constant(0.3)), (pm.HalfNormal("rate", 1),))
            pm.EulerMaruyama("y", 0.1, *drift, init_dist=pm.Normal.dist(0, 1), steps=49)
    return model


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", ["AR", "GARCH11", "EulerMaruyama"])
def test_time_series(kind):
    model = time_series(kind)
    point = model.initial_point()
    for compile_ in (model.compile_logp, model.compile_dlogp):
        np.testing.assert_allclose(compile_(mode=MODE)(point), compile_(mode="FAST_COMPILE")(point), rtol=1e-9)


@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")
def test_chains_in_forked_processes():
    """PyMC's default on Linux, for a model that needs none of XLA's threads."""
    options = {"random_seed": 1, "compile_kwargs": {"mode": MODE}, "progressbar": False}
    with eight_schools():
        found = pm.sample(20, tune=20, chains=2, cores=2, mp_ctx="fork", compute_convergence_checks=False, **options)
        alone = pm.sample(20, tune=20, chains=2, cores=1, compute_convergence_checks=False, **options)
    np.testing.assert_allclose(found.posterior["mean"], alone.posterior["mean"])


def test_the_gradient_of_a_gaussian_process():
    """The distance of a point to itself is zero but for rounding, and XLA must round it once."""
    rng = np.random.default_rng(0)
    with pm.Model() as model:
        scale, height = pm.LogNormal("scale", -1, 1), pm.HalfNormal("height")
        process = pm.gp.Marginal(cov_func=height**2 * pm.gp.cov.Matern52(1, ls=scale))
        inputs = np.linspace(0, 1, 10)[:, None]
        process.marginal_likelihood("y", X=inputs, y=rng.normal(size=10), sigma=pm.HalfNormal("noise"))
    function, reference = model.compile_dlogp(mode=MODE), model.compile_dlogp(mode=REFERENCE)
    for seed in range(5):
        point = {name: rng.normal(size=np.shape(value)) / 2 for name, value in model.initial_point(seed).items()}
        np.testing.assert_allclose(function(point), reference(point), rtol=1e-6)


def test_the_examples_in_the_documentation():
    text = DOCS.read_text().partition("## PyMC")[2].partition("\n## ")[0]
    namespace: dict = {}
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(block, str(DOCS), "exec"), namespace)
    model, point = namespace["model"], namespace["point"]
    reference = model.compile_dlogp(mode=REFERENCE)(point)
    gradients = np.concatenate([np.ravel(g) for g in namespace["gradients"]])
    np.testing.assert_allclose(gradients, reference, rtol=1e-5)  # float32 in JAX


def test_derivatives_in_jax():
    model = eight_schools()
    function = hlograph.function(model.continuous_value_vars, model.logp())
    point = points(model)[1]
    with jax.enable_x64(True):
        value, gradient = jax.value_and_grad(lambda values: function(*values))(
            [point[v.name] for v in model.continuous_value_vars]
        )
    np.testing.assert_allclose(value, model.compile_logp(mode=REFERENCE)(point), rtol=1e-9)
    expected = model.compile_dlogp(mode=REFERENCE)(point)
    np.testing.assert_allclose(np.concatenate([np.ravel(g) for g in gradient]), expected, rtol=1e-9)
