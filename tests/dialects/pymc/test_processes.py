"""Gaussian processes of PyMC in the mode: densities, their derivatives, predictions, covariances, beside PyMC's own."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import Mode
from pytensor.graph.rewriting.db import RewriteDatabaseQuery
from support import NIGHTLY

import hlograph.pytensor

pm = pytest.importorskip("pymc")
if "backend" not in inspect.signature(pm.sample).parameters:
    pytest.skip("the cases are those of PyMC 6", allow_module_level=True)

from pymc_processes import NEW, NEW_GRID, NO_COVARIANCES, NO_PROCESSES, PROCESSES, covariances, means  # noqa: E402

REFERENCE = Mode("py", RewriteDatabaseQuery(include=["fast_run"], exclude=["inplace", "fusion", "BlasOpt"]))


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


@pytest.mark.sampled(16)
@pytest.mark.parametrize("name", ["marginal", "latent", "grid, latent", "approximate, FITC"])
def test_draws_at_other_points(name):
    """Of the right shapes, with PyMC's own moments of many draws."""
    model, _ = model_of(name)
    new = model["new"]
    ours, theirs = (pm.draw(new, 400, random_seed=seed, mode=mode) for seed, mode in ((1, "STABLEHLO"), (2, REFERENCE)))
    assert ours.shape == theirs.shape
    spread = theirs.std(axis=0)
    np.testing.assert_array_less(abs(np.median(ours, axis=0) - np.median(theirs, axis=0)), 0.5 * spread + 1e-9)


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
