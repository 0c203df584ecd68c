"""PyMC beside NUTS, in the mode: steps, optimizers, approximations, predictions; PyMC 6.

What a seed determines must be what PyTensor's own evaluation in Python gives. Random numbers of graphs are others than
NumPy's, so what is made of them is held against what is known of the distribution.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

import hlograph.pytensor

pm = pytest.importorskip("pymc", minversion="6")

from pymc_models import REFERENCE, build, known, regression  # noqa: E402

MODE = "STABLEHLO"
QUIET: dict[str, Any] = {"random_seed": 1, "progressbar": False}


def counts():
    with pm.Model() as model:
        p = pm.Beta("p", 2, 2)
        flags, kinds, n = (
            pm.Bernoulli("flags", p, shape=3),
            pm.Categorical("kinds", [0.2, 0.3, 0.5]),
            pm.Poisson("n", 3),
        )
        level = pt.as_tensor(np.array([-1.0, 0.0, 1.0]))[kinds] + flags.sum() + n
        pm.Normal("y", level, 1.0, observed=4.0)
    return model


def posterior(model: Any, draws: int = 4) -> Any:
    """Points of the prior as if they were draws of the posterior."""
    xarray = pytest.importorskip("xarray")
    with pytensor.config.change_flags(mode=REFERENCE):
        prior = pm.sample_prior_predictive(draws, model=model, random_seed=3)
    return xarray.DataTree.from_dict({"posterior": prior["prior"].to_dataset()})


def steps(model_of: Callable[[], Any], make: Callable[[Any], Any], **options: Any) -> dict[str, Any]:
    options = {"draws": 20, "tune": 10, "chains": 1, "cores": 1, "compute_convergence_checks": False} | options
    with model_of() as model:
        found = pm.sample(step=make(model), **options, **QUIET)
    return {str(name): found.posterior[name].values for name in found.posterior}


def gibbs(model: Any) -> list[Any]:
    flags, kinds = pm.BinaryGibbsMetropolis([model["flags"]]), pm.CategoricalGibbsMetropolis([model["kinds"]])
    return [flags, kinds, pm.Metropolis([model["n"]]), pm.Slice([model["p"]])]


def other_gibbs(model: Any) -> list[Any]:
    flags = pm.BinaryMetropolis([model["flags"]])
    kinds = pm.CategoricalGibbsMetropolis([model["kinds"]], proposal="proportional")
    return [flags, kinds, pm.Metropolis([model["n"]]), pm.NUTS([model["p"]])]


def pointwise() -> dict[str, Any]:
    model = regression()
    given = posterior(model)
    with model:
        likelihood = pm.compute_log_likelihood(given, extend_inferencedata=False, progressbar=False)
        prior = pm.compute_log_prior(given, extend_inferencedata=False, progressbar=False)
        made = pm.compute_deterministics(given.posterior.to_dataset(), progressbar=False)
    return {"y": likelihood["y"].values, "noise": prior["noise"].values, "mean": made["mean"].values}


def over_the_posterior() -> dict[str, Any]:
    from pymc.sampling.forward import vectorize_over_posterior

    with pm.Model() as model:
        a, b = pm.Normal("a"), pm.HalfNormal("b")
        far = (a + pt.arange(3) * b).sum()
        [found] = vectorize_over_posterior([far], posterior(model).posterior, [a, b])
    return {"far": pytensor.function([], found)()}


def curvature() -> dict[str, Any]:
    model = regression()
    best = pm.find_MAP(model=model, progressbar=False)
    return {**best, "hessian": pm.find_hessian(best, model=model), "terms": list(model.point_logps().values())}


DETERMINED: dict[str, Callable[[], dict[str, Any]]] = {
    "log likelihood, log prior, deterministics": pointwise,
    "find_MAP and its hessian": curvature,
    "Metropolis": lambda: steps(regression, lambda model: pm.Metropolis()),
    "Slice": lambda: steps(regression, lambda model: pm.Slice()),
    "DEMetropolis": lambda: steps(regression, lambda model: pm.DEMetropolis(), chains=4),
    "DEMetropolisZ": lambda: steps(regression, lambda model: pm.DEMetropolisZ()),
    "Gibbs steps": lambda: steps(counts, gibbs),
    "other steps of discrete variables": lambda: steps(counts, other_gibbs),
    "the steps that PyMC chooses": lambda: steps(counts, lambda model: None),
    "a graph for each draw": over_the_posterior,
    "HamiltonianMC": lambda: steps(
        regression, lambda model: pm.HamiltonianMC(path_length=0.3, step_scale=0.05), draws=5, tune=0
    ),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", DETERMINED)
def test_what_a_seed_determines(name, monkeypatch):
    found = []
    for mode in (MODE, REFERENCE):
        monkeypatch.setattr(pytensor.config, "mode", mode)
        found.append(DETERMINED[name]())
    ours, theirs = found
    assert ours.keys() == theirs.keys()
    for key, value in theirs.items():
        np.testing.assert_allclose(ours[key], value, rtol=1e-6, atol=1e-9, err_msg=key)


def approximated(**options: Any) -> Any:
    with build(known):
        found = pm.fit(**options, **QUIET)
    return found.sample(400, random_seed=2).posterior["mean"].values.ravel()


def of_batches() -> Any:
    seen = np.linspace(-0.5, 1.5, 20)
    with pm.Model():
        batch = pm.Minibatch(seen, batch_size=10)
        pm.Normal("y", pm.Normal("mean"), 1.0, observed=batch, total_size=20)
        found = pm.fit(600, obj_optimizer=pm.adam(learning_rate=0.03), **QUIET)
    return found.sample(400, random_seed=2).posterior["mean"].values.ravel()


def by_particles(kernel: str) -> Any:
    with build(known):
        found = pm.sample_smc(400, kernel=getattr(pm.smc, kernel), chains=1, cores=1, **QUIET)
    return found.posterior["mean"].values.ravel()


def by_the_mode_given() -> Any:
    """`compile_kwargs` in place of the configuration."""
    with build(known), pytensor.config.change_flags(mode=REFERENCE):
        found = pm.sample_smc(400, chains=1, cores=1, compile_kwargs={"mode": MODE}, **QUIET)
    return found.posterior["mean"].values.ravel()


def pathfinder() -> Any:
    extras = pytest.importorskip("pymc_extras", reason="pymc-extras is not installed")
    with build(known):
        found = extras.fit(method="pathfinder", num_paths=4, num_draws=800, parallel=False, **QUIET)
    return found.posterior["mean"].values.ravel()


RANDOM: dict[str, Callable[[], Any]] = {
    "ADVI": lambda: approximated(n=500, method="advi", obj_optimizer=pm.adam(learning_rate=0.05)),
    "sequential Monte Carlo": lambda: by_particles("IMH"),
    "full-rank ADVI": lambda: approximated(n=500, method="fullrank_advi", obj_optimizer=pm.adam(learning_rate=0.05)),
    "SVGD": lambda: approximated(
        n=100, method="svgd", inf_kwargs={"n_particles": 30}, obj_optimizer=pm.adam(learning_rate=0.1)
    ),
    "ADVI of batches": of_batches,
    "sequential Monte Carlo by Metropolis steps": lambda: by_particles("MH"),
    "sequential Monte Carlo in a mode of its own": by_the_mode_given,
    "Pathfinder": pathfinder,
}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", RANDOM)
def test_a_posterior_that_is_known(name, monkeypatch):
    monkeypatch.setattr(pytensor.config, "mode", MODE)
    draws = RANDOM[name]()
    deviation = (1 / 21) ** 0.5
    assert len(np.unique(draws)) > 20
    np.testing.assert_allclose(draws.mean(), 10 / 21, atol=0.4 * deviation)
    np.testing.assert_allclose(draws.std(), deviation, rtol=0.3)


def test_predictions_for_data_of_other_lengths():
    """Each prediction has the moments that its draws of the posterior say."""
    model = regression()
    given, rows = posterior(model, 300), np.random.default_rng(14).normal(size=(14, 2))
    with model:
        pm.set_data({"X": rows, "seen": rows[:, 0]}, coords={"row": range(14)})
        found = pm.sample_posterior_predictive(given, compile_kwargs={"mode": MODE}, **QUIET)
    slopes, noise = (given.posterior[name].values for name in ("slopes", "noise"))
    residual = (found.posterior_predictive["y"].values - slopes @ rows.T) / noise[..., None]
    assert residual.shape == (1, 300, 14)
    assert abs(residual.mean()) < 0.06
    np.testing.assert_allclose(residual.std(), 1, atol=0.06)


def test_draws():
    scale = pm.Gamma.dist(2, 3, shape=4)
    value = pm.Normal.dist(scale, 0.1)
    found, drawn = pm.draw([scale, value], 500, random_seed=1, mode=MODE)
    np.testing.assert_allclose(found.mean(0), 2 / 3, atol=0.1)
    np.testing.assert_allclose((drawn - found).std(0), 0.1, atol=0.02)
    again = pm.draw(scale, 500, random_seed=1, mode=MODE)
    assert again.shape == (500, 4)
    assert len(np.unique(again)) == 2000


def test_what_has_no_law_is_named_before_anything_is_drawn():
    with pm.Model():
        pm.Normal("y", pm.Flat("a"))
        with pytest.raises(hlograph.errors.UnsupportedOpError, match="FlatRV"):
            pm.sample_prior_predictive(10, random_seed=1, compile_kwargs={"mode": MODE})


# ---- simulations: Python of the user's that draws -------------------------------------------------------------------

SEEN = np.random.default_rng(0).normal(1.0, 1.0, 50)


def simulated(**options):
    """Of normal draws with an unknown mean: what is seen is compared by a statistic of variance 0.1^2 + 1/50."""
    with pm.Model() as model:
        mean = pm.Normal("mean", 0, 3)
        pm.Simulator("y", lambda rng, mean, size: rng.normal(mean, size=size), mean, observed=SEEN, **options)
    return model


def by_steps(step: Any, draws: int) -> Any:
    options: dict[str, Any] = {"chains": 1, "cores": 1, "compute_convergence_checks": False}
    options["initvals"] = {"mean": 1.0}  # far off, the noise is so large that a slice may never be left again
    kwargs = {"compile_kwargs": {"mode": MODE}}
    return pm.sample(draws, tune=100, step=step(**kwargs), **kwargs, **options, **QUIET)


SAMPLERS = {
    "sample_smc": lambda: pm.sample_smc(150, chains=1, cores=1, compile_kwargs={"mode": MODE}, **QUIET),
    "Metropolis": lambda: by_steps(pm.Metropolis, 800),
    "Slice": lambda: by_steps(pm.Slice, 200),
}


@pytest.mark.parametrize("statistic", ["mean", np.mean], ids=["a graph", "Python"])
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_simulations_give_the_posterior(sampler, statistic):
    """Also with a statistic in Python, which says no shape. The variances are those of the kernel and the draws."""
    with simulated(sum_stat=statistic, epsilon=0.1):
        found = SAMPLERS[sampler]().posterior["mean"].values
    np.testing.assert_allclose(found.mean(), SEEN.mean(), atol=0.1)
    assert 0.1 < found.std() < 0.35


def test_predictions_of_simulations():
    model = simulated()
    options = {"random_seed": 1, "compile_kwargs": {"mode": MODE}}
    with model:
        prior = pm.sample_prior_predictive(200, **options)
        later = pm.sample_posterior_predictive(prior.prior, progressbar=False, **options)
    for found in (prior, later):
        noise = found.prior_predictive["y"].values if found is prior else found.posterior_predictive["y"].values
        noise = noise - prior.prior["mean"].values[..., None]
        assert len(np.unique(noise)) == noise.size == 10_000
        np.testing.assert_allclose([noise.mean(), noise.std()], [0, 1], atol=0.03)


def test_draws_of_simulations_and_custom_distributions():
    def random(rate, rng=None, size=None):
        return rng.poisson(rate, size)

    rate = pm.Gamma.dist(20, 10)
    counts = pm.CustomDist.dist(rate, random=random, dtype="int64", shape=3)
    chain = pm.Simulator.dist(lambda rng, x, size: rng.normal(x, 0.1, size), counts * 1.0, shape=(2, 3))
    rates, many, around = pm.draw([rate, counts, chain], 1000, random_seed=1, mode=MODE)
    assert many.dtype == np.int64
    assert (many.shape, around.shape) == ((1000, 3), (1000, 2, 3))
    np.testing.assert_allclose([many.mean(), many.var()], [2, 2.2], atol=0.15)  # of a negative binomial
    np.testing.assert_allclose((around - many[:, None]).std((0, 1)), 0.1, rtol=0.1)
    np.testing.assert_allclose(np.corrcoef(rates, many.mean(1))[0, 1], np.sqrt(0.2 / (0.2 + 2 / 3)), atol=0.08)
    again = pm.draw([rate, counts, chain], 1000, random_seed=1, mode=MODE)
    np.testing.assert_array_equal(again[2], around)


def test_what_a_simulation_gives_may_have_another_shape_than_it_says():
    law = pm.Simulator.dist(lambda rng, mean, size: rng.normal(mean, size=7), 0.0, shape=3)
    assert pm.draw(law, 2, mode=MODE).shape == pm.draw(law, 2, mode=REFERENCE).shape == (2, 7)


def test_errors_of_simulations_are_their_own():
    for make in (
        lambda: pm.CustomDist.dist(0.0, logp=lambda value, mean: -((value - mean) ** 2)),
        lambda: pm.Simulator.dist(lambda rng, mean, size: {}["missing"], 0.0),
    ):
        with pytest.raises((NotImplementedError, KeyError)) as wanted:
            pm.draw(make(), mode=REFERENCE)
        with pytest.raises(type(wanted.value), match=str(wanted.value)[:20]):
            pm.draw(make(), mode=MODE)
