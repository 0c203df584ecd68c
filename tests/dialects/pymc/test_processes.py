"""Gaussian processes of PyMC in the mode: densities, their derivatives, predictions, covariances, beside PyMC's own."""

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from support import NIGHTLY

import hlograph.pytensor

pm = pytest.importorskip("pymc")
if "backend" not in inspect.signature(pm.sample).parameters:
    pytest.skip("the cases are those of PyMC 6", allow_module_level=True)

from pymc_models import REFERENCE  # noqa: E402

X = np.linspace(0, 2, 6)[:, None]
NEW = np.array([[0.3], [1.7], [2.5]])
Y = np.sin(3 * X[:, 0])
GRID = [np.linspace(0, 1, 2)[:, None], np.linspace(0, 2, 3)[:, None]]
NEW_GRID = np.array([[0.2, 0.5], [0.7, 1.5]])


def _radial() -> Any:
    return pm.HalfNormal("height", 1.0, initval=0.8) ** 2 * pm.gp.cov.ExpQuad(1, ls=pm.LogNormal("length", 0.0, 1.0))


def _mean() -> Any:
    return pm.gp.mean.Constant(pm.Normal("level"))


def latent(reparameterize: bool = True) -> Any:
    process = pm.gp.Latent(mean_func=_mean(), cov_func=_radial())
    process.prior("f", X, reparameterize=reparameterize)
    process.conditional("new", NEW)
    return process


def latent_of_many() -> Any:
    process = pm.gp.Latent(cov_func=_radial())
    process.prior("f", X, n_outputs=2)
    process.conditional("new", NEW)
    return process


def student() -> Any:
    process = pm.gp.TP(mean_func=_mean(), scale_func=_radial(), nu=5)
    process.prior("f", X, reparameterize=False)
    process.conditional("new", NEW)
    return process


def marginal(noise: bool = False) -> Any:
    process = pm.gp.Marginal(mean_func=_mean(), cov_func=_radial())
    sigma = pm.HalfNormal("noise", 0.5)
    process.marginal_likelihood("y", X=X, y=Y, sigma=sigma)
    process.conditional("new", NEW, pred_noise=noise)
    return process


def marginal_with_given_noise() -> Any:
    process = pm.gp.Marginal(cov_func=_radial())
    process.marginal_likelihood("y", X=X, y=Y, sigma=pm.gp.cov.WhiteNoise(0.1) + pm.gp.cov.Matern12(1, ls=0.2))
    process.conditional("new", NEW)
    return process


def added() -> Any:
    first, second = (pm.gp.Marginal(cov_func=cov) for cov in (_radial(), pm.gp.cov.Linear(1, c=0.5)))
    process = first + second
    process.marginal_likelihood("y", X=X, y=Y, sigma=pm.HalfNormal("noise", 0.5))
    first.conditional("new", NEW, given={"X": X, "y": Y, "sigma": 0.3, "gp": process})
    return process


def approximate(name: str) -> Callable[[], Any]:
    def build() -> Any:
        process = pm.gp.MarginalApprox(approx=name, mean_func=_mean(), cov_func=_radial())
        sigma = pm.HalfNormal("noise", 0.5)
        process.marginal_likelihood("y", X=X, Xu=X[1::2], y=Y, sigma=sigma)
        process.conditional("new", NEW)
        return process

    return build


def latent_on_a_grid() -> Any:
    covariances = [_radial(), pm.gp.cov.Matern32(1, ls=0.7)]
    process = pm.gp.LatentKron(mean_func=_mean(), cov_funcs=covariances)
    process.prior("f", Xs=GRID)
    process.conditional("new", NEW_GRID)
    return process


def marginal_on_a_grid() -> Any:
    covariances = [_radial(), pm.gp.cov.Matern32(1, ls=0.7)]
    process = pm.gp.MarginalKron(mean_func=_mean(), cov_funcs=covariances)
    process.marginal_likelihood("y", Xs=GRID, y=np.arange(6.0) / 3, sigma=pm.HalfNormal("noise", 0.5))
    process.conditional("new", NEW_GRID, pred_noise=True)
    return process


def hilbert(parametrization: str, first: bool = False) -> Callable[[], Any]:
    def build() -> Any:
        process = pm.gp.HSGP(m=[5], c=1.5, drop_first=first, parametrization=parametrization, cov_func=_radial())
        f = process.prior("f", X)
        pm.Normal("y", f, 0.3, observed=Y)
        process.conditional("new", NEW)
        return process

    return build


def hilbert_of_a_period() -> Any:
    covariance = pm.gp.cov.Periodic(1, period=1.3, ls=pm.LogNormal("length", 0.0, 1.0))
    process = pm.gp.HSGPPeriodic(m=4, scale=pm.HalfNormal("height"), cov_func=covariance)
    pm.Normal("y", process.prior("f", X), 0.3, observed=Y)
    process.conditional("new", NEW)
    return process


# Name -> (class of pymc.gp, what builds the process inside a model).
PROCESSES: dict[str, tuple[str, Callable[[], Any]]] = {
    "latent": ("Latent", latent),
    "latent, centred": ("Latent", lambda: latent(reparameterize=False)),
    "latent, two outputs": ("Latent", latent_of_many),
    "student": ("TP", student),
    "marginal": ("Marginal", marginal),
    "marginal, noise in predictions": ("Marginal", lambda: marginal(noise=True)),
    "marginal, noise with a covariance": ("Marginal", marginal_with_given_noise),
    "marginal, a sum": ("Marginal", added),
    "approximate, VFE": ("MarginalApprox", approximate("VFE")),
    "approximate, FITC": ("MarginalApprox", approximate("FITC")),
    "approximate, DTC": ("MarginalApprox", approximate("DTC")),
    "grid, latent": ("LatentKron", latent_on_a_grid),
    "grid, marginal": ("MarginalKron", marginal_on_a_grid),
    "Hilbert, centred": ("HSGP", hilbert("centered")),
    "Hilbert, not centred": ("HSGP", hilbert("noncentered", first=True)),
    "Hilbert, periodic": ("HSGPPeriodic", hilbert_of_a_period),
}
# The class's old name.
NO_PROCESSES = {"MarginalSparse": "deprecated: MarginalApprox under another name"}


def _warp(x: Any, scale: Any) -> Any:
    return pt.tanh(x * scale)


def covariances(length: Any) -> dict[str, Any]:
    """One of each class, on points of two axes, of a length scale."""
    cov = pm.gp.cov
    smooth, rough = cov.ExpQuad(2, ls=length), cov.Matern12(2, ls=0.7, active_dims=[0])
    return {
        "Constant": cov.Constant(1.5),
        "WhiteNoise": cov.WhiteNoise(0.3),
        "ExpQuad": cov.ExpQuad(2, ls=[length, 2.0]),
        "RatQuad": cov.RatQuad(2, ls=length, alpha=1.2),
        "Matern52": cov.Matern52(2, ls=length),
        "Matern32": cov.Matern32(2, ls_inv=length),
        "Matern12": cov.Matern12(2, ls=length),
        "Exponential": cov.Exponential(2, ls=length),
        "Cosine": cov.Cosine(2, ls=length),
        "Periodic": cov.Periodic(2, period=1.3, ls=length),
        "Linear": cov.Linear(2, c=[0.3, length]),
        "Polynomial": cov.Polynomial(2, c=0.3, d=3, offset=length),
        "Circular": cov.Circular(2, period=3.0, tau=4 + length, active_dims=[1]),
        "WarpedInput": cov.WarpedInput(2, cov_func=smooth, warp_func=_warp, args=(length,)),
        "WrappedPeriodic": cov.WrappedPeriodic(cov.Matern52(2, ls=length, active_dims=[1]), period=1.7),
        "Gibbs": cov.Gibbs(2, lambda x, a: 0.5 + a * pt.sqr(x[:, 0]), args=(length,), active_dims=[0]),
        "ScaledCov": cov.ScaledCov(2, cov_func=smooth, scaling_func=lambda x, a: a + x[:, :1], args=(length,)),
        "Coregion": cov.Coregion(2, W=np.array([[0.3], [0.2], [1.0]]), kappa=[length, 1.0, 0.5], active_dims=[1]),
        "Add": smooth + rough + 0.5,
        "Prod": smooth * rough * length,
        "Exponentiated": smooth**2,
        "Kron": cov.Kron([cov.ExpQuad(1, ls=length), cov.Matern32(1, ls=0.7)]),
    }


# Classes of `pymc.gp.cov` that are only derived from.
NO_COVARIANCES = {"BaseCovariance", "Covariance", "Combination", "Stationary"}


def means(slope: Any) -> dict[str, Any]:
    """One of each class, on points of two axes."""
    mean = pm.gp.mean
    line = mean.Linear(pt.stack([slope, 0.5]), intercept=0.2)
    return {
        "Zero": mean.Zero(),
        "Constant": mean.Constant(slope),
        "Linear": line,
        "Add": line + mean.Constant(2.0),
        "Prod": line * mean.Constant(slope),
    }


def classes(module, base):
    return {name for name, x in vars(module).items() if inspect.isclass(x) and issubclass(x, base)}


def test_every_class_is_a_case():
    assert {*(name for name, _ in PROCESSES.values()), *NO_PROCESSES} == classes(pm.gp, pm.gp.gp.Base)
    given = classes(pm.gp.cov, pm.gp.cov.BaseCovariance)
    assert set(covariances(pt.dscalar())) | NO_COVARIANCES == given
    assert set(means(pt.dscalar())) | {"Mean"} == classes(pm.gp.mean, pm.gp.mean.Mean)


def model_of(name):
    with pm.Model() as model, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        process = PROCESSES[name][1]()
    return model, process


@pytest.mark.sampled(48)
@pytest.mark.parametrize("policy", ["exact", "padded"])
@pytest.mark.parametrize("name", PROCESSES)
def test_densities_and_derivatives(name, policy):
    """Of the process and of its conditional at other points, in one density."""
    model, _ = model_of(name)
    start, rng = model.initial_point(1), np.random.default_rng(3)
    moved = {key: value + 0.3 * rng.normal(size=np.shape(value)) for key, value in start.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outputs = [model.logp(), model.dlogp()]
        ours, theirs = (
            pm.pytensorf.compile(model.value_vars, outputs, mode=mode, on_unused_input="ignore")
            for mode in (hlograph.Mode(policy=policy), REFERENCE)
        )
    for point in (start, moved):
        for found, wanted in zip(ours(**point), theirs(**point), strict=True):
            assert np.isfinite(wanted).all()
            scale = np.max(np.abs(wanted))  # covariances with a condition number of 1e6 lose that many digits
            np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-8 * scale)


PREDICTED = [name for name, (kind, _) in PROCESSES.items() if kind.startswith("Marginal")]


@pytest.mark.sampled(32)
@pytest.mark.parametrize("name", PREDICTED)
def test_predictions(name, monkeypatch):
    """Mean and variances at other points, by `predict`, which follows PyTensor's configuration."""
    model, process = model_of(name)
    places = NEW_GRID if "grid" in name else NEW
    point = {x.name: pm.draw(x, random_seed=1, mode=REFERENCE) for x in model.free_RVs if x.name != "new"}
    given = {"given": {"gp": process}} if name.endswith("a sum") else {}

    def predict(mode):
        monkeypatch.setattr(pytensor.config, "mode", mode)
        with warnings.catch_warnings(), model:
            warnings.simplefilter("ignore")
            return [process.predict(places, point=point, diag=diag, **given) for diag in (True, False)]

    for found, wanted in zip(predict("STABLEHLO"), predict(REFERENCE), strict=True):
        for ours, theirs in zip(found, wanted, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-9)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("policy", ["exact", "padded"])
def test_covariances_and_means(policy):
    """In one program: of one set of points, of two, on the diagonal, with derivatives; all of them at night."""
    points, others, length = pt.dmatrix("points"), pt.dmatrix("others"), pt.dscalar("length")
    outputs, costs = {}, []
    for name, covariance in list(covariances(length).items())[:: 1 if NIGHTLY else 6]:
        if name == "Kron":  # splits points that are arrays alone
            values = np.linspace(0, 1, 8).reshape(4, 2)
            outputs[name] = covariance(values)
            continue
        outputs |= {f"{name}, diagonal": covariance(points, diag=True), f"{name}, full": covariance(points)}
        outputs[f"{name}, cross"] = covariance(points, others)
        costs.append((covariance(points, others) ** 2).sum())
        for of in ("power_spectral_density", "power_spectral_density_approx"):
            argument = points if of == "power_spectral_density" else pt.arange(4)
            try:
                outputs[f"{name}, {of}"] = getattr(covariance, of)(argument)
            except (AttributeError, NotImplementedError, ValueError):  # PyMC has none
                continue
    for name, mean in means(length).items():
        outputs[f"mean {name}"] = mean(points)
        costs.append(pt.sum(mean(points) ** 2))
    options = {"disconnected_inputs": "ignore", "return_disconnected": "zero"}
    for place, cost in enumerate(costs):
        gradients = pytensor.grad(cost, [points, length], **options)
        outputs |= {f"gradient {place} by {x.name}": g for x, g in zip((points, length), gradients, strict=True)}
    inputs, rng = [points, others, length], np.random.default_rng(0)
    ours = pytensor.function(inputs, list(outputs.values()), mode=hlograph.Mode(policy=policy))
    theirs = pytensor.function(inputs, list(outputs.values()), mode=REFERENCE)
    for rows, columns in ((4, 3), (1, 2)):
        arrays = [np.stack([rng.uniform(0, 2, n), np.arange(n) % 3], axis=1) for n in (rows, columns)]
        for name, found, wanted in zip(outputs, ours(*arrays, 0.8), theirs(*arrays, 0.8), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-10, err_msg=f"{name}, {rows} points")
