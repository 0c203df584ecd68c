"""A fitted model as one program and as one file: against PyMC's own predictions of the same posterior."""

import ctypes
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytensor
import pytest

pm = pytest.importorskip("pymc", minversion="6")
xr = pytest.importorskip("xarray")
pymc_on_hlograph = pytest.importorskip("hlograph.pymc")

from pymc_models import PLAIN, REFERENCE, build, name_of, parameter_out_of_bounds  # noqa: E402
from scipy.stats import ks_2samp  # noqa: E402
from scripts import run_script  # noqa: E402

import hlograph  # noqa: E402
from hlograph.errors import ArgumentError, ArgumentShapeError, ArtifactError, OptionError  # noqa: E402

DRAWS = 400
COUNTY = {"county": ["a", "b", "c"], "slope": ["x", "z"]}
DATA = {"x": np.linspace(-1, 1, 5), "place": np.array([0, 1, 2, 1, 0], np.int32)}


def radon() -> Any:
    """Varying intercepts, not centred, and correlated slopes."""
    with pm.Model(coords=COUNTY) as model:
        x, place = pm.Data("x", DATA["x"], dims="row"), pm.Data("place", DATA["place"], dims="row")
        level = pm.Normal("level", pm.Normal("mean", 0, 3), pm.HalfNormal("spread"), dims="county")
        slopes = pm.MvNormal("slopes", np.zeros(2), [[1.0, 0.5], [0.5, 1.0]], dims=("county", "slope"))
        offset = pm.Deterministic("offset", level * 2, dims="county")
        line = pm.Deterministic("line", offset[place] + slopes[place, 0] * x + slopes[place, 1], dims="row")
        pm.Normal("y", line, 0.1, observed=pm.Data("seen", np.zeros(5), dims="row"), dims="row")
    return model


def posterior(model: Any) -> Any:
    with model:
        prior = pm.sample_prior_predictive(DRAWS, random_seed=3, compile_kwargs={"mode": REFERENCE}).prior.dataset
    return xr.DataTree.from_dict({"posterior": prior[[x.name for x in model.free_RVs]]})


def alike(found: Any, wanted: Any) -> None:
    pairs = zip(*(np.reshape(x, (len(x), -1)).T for x in (found, wanted)), strict=True)
    values = [ks_2samp(*pair).pvalue for pair in pairs]
    assert min(values, default=1) * max(len(values), 1) > 1e-4


def data_of(model: Any) -> dict[str, Any]:
    return {x.name: x.get_value() for x in model.data_vars if hasattr(x, "get_value")}


@pytest.mark.filterwarnings("ignore:The effect of Potentials", "ignore::pymc.exceptions.ImputationWarning")
@pytest.mark.sampled(5)
@pytest.mark.parametrize("content", [x for x in PLAIN if x is not parameter_out_of_bounds], ids=name_of)
def test_predictions_are_those_of_pymc(content):
    model = build(content)
    if not model.observed_RVs:
        pytest.skip("nothing is observed")
    trace, how = posterior(model), {"progressbar": False, "compile_kwargs": {"mode": REFERENCE}}
    predict = pymc_on_hlograph.predictor(model, trace, results=["draws", "mean", 0.0, 0.3, "log_likelihood"])
    given = {name: x for name, x in data_of(model).items() if name in predict.data}
    found = predict(**given, seed=1)
    with model:
        names = [x.name for x in model.observed_RVs]
        drawn = pm.sample_posterior_predictive(trace, random_seed=1, var_names=names, **how).posterior_predictive
        likelihoods = pm.compute_log_likelihood(trace, extend_inferencedata=False, **how)
    for name in names:
        draws = found[name]
        alike(draws, drawn[name].values[0])
        assert draws.dtype == drawn[name].dtype
        np.testing.assert_allclose(found[f"{name}_mean"], draws.mean(0), rtol=1e-9, atol=1e-12)
        for level in (0.0, 0.3):
            np.testing.assert_allclose(
                found[f"{name}_{level}"], np.quantile(draws, level, axis=0), rtol=1e-9, atol=1e-12
            )
        wanted = likelihoods[name].values[0]
        np.testing.assert_allclose(found[f"{name}_log_likelihood"], wanted, rtol=1e-8, atol=1e-10)
    np.testing.assert_array_equal(predict(**given, seed=1)[names[0]], found[names[0]])


def test_lengths_thinning_and_names():
    model = radon()
    trace = posterior(model)
    predict = pymc_on_hlograph.predictor(model, trace, var_names=["line", "offset"], thin=2)
    assert predict.data == ["x", "place"]
    assert predict.dims == {"line": ["draw", "row"], "offset": ["draw", "county"]}
    values = trace.posterior.isel(draw=slice(None, None, 2))
    level, slopes = (values[name].values[0] for name in ("level", "slopes"))
    np.testing.assert_allclose(predict(**DATA)["offset"], 2 * level)
    for length in (5, 0, 1, 7):
        x, place = np.arange(float(length)), np.arange(length) % 3
        wanted = 2 * level[:, place] + slopes[:, place, 0] * x + slopes[:, place, 1]
        np.testing.assert_allclose(predict(x=x, place=place)["line"], wanted, rtol=1e-12)
    one = pymc_on_hlograph.predictor(model, trace.isel(draw=[7]), results=[0.5])
    assert one(**DATA)["y_0.5"].shape == (5,)


def test_new_levels_are_drawn_from_their_prior_and_known_ones_are_not():
    model = radon()
    trace = posterior(model)
    predict = pymc_on_hlograph.predictor(model, trace, var_names=["level", "slopes", "y"], new_levels="county")
    x, place = np.zeros(4), np.arange(4)
    found = predict(x=x, place=place, seed=2, coords={"county": ["c", "new", "a", "other"]})
    values = {name: trace.posterior[name].values[0] for name in ("level", "slopes", "mean", "spread")}
    for name in ("level", "slopes"):
        np.testing.assert_array_equal(found[name][:, [0, 2]], values[name][:, [2, 0]])
        assert not np.isin(found[name][:, [1, 3]], values[name]).any()
    anew = (found["level"][:, [1, 3]] - values["mean"][:, None]) / values["spread"][:, None]
    alike(anew, np.random.default_rng(0).normal(size=(DRAWS, 2)))
    np.testing.assert_allclose(np.cov(found["slopes"][:, 1].T), [[1, 0.5], [0.5, 1]], atol=0.25)
    np.testing.assert_allclose(found["y"], 2 * found["level"] + found["slopes"][:, :, 1], atol=1)
    np.testing.assert_array_equal(predict(x=x[:3], place=place[:3])["level"], values["level"])
    with model:
        pm.set_data({"x": x, "place": place, "seen": x})
        model.set_dim("county", 4, list("wxyz"))
        names = ["level", "slopes"]
        how = {"progressbar": False, "predictions": True, "compile_kwargs": {"mode": REFERENCE}}
        theirs = pm.sample_posterior_predictive(trace, sample_vars=names, var_names=["y"], random_seed=1, **how)
    ours = predict(x=x, place=place, coords={"county": list("wxyz")})["y"]
    alike(ours, theirs.predictions["y"].values[0])


def test_dims_that_no_data_has_follow_the_coords():
    with pm.Model(coords={"row": range(3)}) as model:
        x = pm.Data("x", np.arange(3.0))
        pm.Normal("y", pm.Normal("slope") * x, 1e-9, dims="row")
    predict = pymc_on_hlograph.predictor(model, posterior_of_slope(), var_names="y")
    assert predict(x=np.ones(3))["y"].shape == (6, 3)
    np.testing.assert_allclose(predict(x=np.ones(5), coords={"row": range(5)})["y"][:, 4], np.arange(6.0), atol=1e-6)
    with pytest.raises(ArgumentShapeError):
        predict(x=np.ones(5))


def test_a_deterministic_stands_for_what_the_posterior_lacks():
    with pm.Model(coords=COUNTY) as model:
        place, scale = pm.Data("place", [0, 1, 2], dims="row"), pm.HalfNormal("scale")
        level = pm.Deterministic("level", scale * pm.Normal("offset", dims="county"), dims="county")
        pm.Normal("y", level[place], 1e-9, dims="row")
    values = {
        "scale": (("chain", "draw"), np.ones((1, 300))),
        "level": (("chain", "draw", "county"), np.ones((1, 300, 3))),
    }
    predict = pymc_on_hlograph.predictor(model, xr.Dataset(values), var_names="y")
    np.testing.assert_allclose(predict(place=[0, 1, 1, 2])["y"], 1, atol=1e-6)
    with pytest.raises(OptionError, match="one joint distribution over all levels of 'county'"):
        pymc_on_hlograph.predictor(model, xr.Dataset(values), var_names="y", new_levels="county")


def test_new_levels_follow_new_levels_of_the_same_draw():
    with pm.Model(coords={"c": ["a", "b"]}) as model:
        outer = pm.Normal("outer", pm.Normal("mean"), 1e-9, dims="c")
        inner = pm.Normal("inner", outer, 1e-9, dims="c")
        pm.Normal("y", inner, 1e-9, dims="c")
    mean = 10 * np.arange(50.0)
    values = {"mean": mean, "outer": mean[:, None] + [1, 2], "inner": mean[:, None] + [3, 4]}
    trace = xr.Dataset({k: (("chain", "draw", "c")[: x.ndim + 1], x[None]) for k, x in values.items()})
    predict = pymc_on_hlograph.predictor(model, trace, var_names=["outer", "inner", "y"], new_levels="c")
    found = predict(coords={"c": ["b", "new"]})
    for name, known in {"outer": 2, "inner": 4, "y": 4}.items():
        np.testing.assert_allclose(found[name], mean[:, None] + [known, 0], atol=1e-6)


def posterior_of_slope(dtype: str = "float64") -> Any:
    return xr.Dataset({"slope": (("chain", "draw"), np.arange(6.0).astype(dtype).reshape(2, 3))})


def test_float32_and_dtypes_of_data():
    with pytensor.config.change_flags(floatX="float32"), pm.Model() as model:
        x = pm.Data("x", np.arange(3.0, dtype="float32"), dims="row")
        pm.Normal("y", pm.Normal("slope") * x, 1.0, dims="row")
    found = pymc_on_hlograph.predictor(model, posterior_of_slope("float32"), var_names="y")(x=[1, 2])
    assert found["y"].dtype == np.float32


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path, dict[str, Any]]:
    path = tmp_path_factory.mktemp("predictor") / "radon.hlo"
    model = radon()
    predict = pymc_on_hlograph.predictor(model, posterior(model), path, results=["draws", "mean", 0.9])
    return predict, path, predict(**DATA, seed=5)


def test_a_file_is_called_without_pymc(file, tmp_path):
    _, path, wanted = file
    np.savez(tmp_path / "wanted.npz", **DATA, **wanted)
    run_script(
        f"""
        import sys
        import numpy as np
        import hlograph

        known = np.load({str(tmp_path / "wanted.npz")!r})
        predict = hlograph.Predictor.load({str(path)!r}, trusted=True)
        found = predict(x=known["x"], place=known["place"], seed=5)
        for name, x in found.items():
            np.testing.assert_array_equal(x, known[name])
        assert predict.function.stats.compiles == 0, predict.function.stats
        assert predict.dims["y"] == ["draw", "row"] and predict.coords["county"] == ["a", "b", "c"]
        assert predict(x=np.zeros(9), place=np.zeros(9, int))["y_mean"].shape == (9,)
        assert not {{"pymc", "pytensor", "xarray"}} & set(sys.modules)
        """
    )


def test_it_runs_in_jax_in_c_and_as_plain_stablehlo(file):
    predict, _, wanted = file
    program, given = predict.function.program, (np.uint32(5), DATA["x"], DATA["place"])
    with jax.enable_x64(True):
        in_jax = jax.jit(program.compile())(*given)
    in_c = predict.function.c_function(*given)
    outputs = [np.empty(x.shape, x.dtype) for x in wanted.values()]
    assert in_c.ctypes(in_c_pointers(given), in_c_pointers(outputs), None) == 0
    plain = program.plain(bounds={"row": 8})
    padded = [np.pad(x, (0, 3)) for x in given[1:]]
    in_plain = plain.interpret(given[0], *padded, np.int32(5))
    for name, each in zip(wanted, zip(in_jax, outputs, in_plain, strict=True), strict=True):
        for x in each:
            x = np.asarray(x)[..., :5]
            np.testing.assert_allclose(x, wanted[name], rtol=1e-9, atol=1e-12, err_msg=name)


def in_c_pointers(arrays: Any) -> Any:
    arrays = [np.asarray(x) for x in arrays]
    made = (ctypes.c_void_p * len(arrays))(*[x.ctypes.data for x in arrays])
    made.kept = arrays
    return made


def not_batched():
    with pm.Model(coords=COUNTY) as model:
        pm.Normal("y", pm.ZeroSumNormal("level", dims="county"), 1.0, observed=np.zeros(3), dims="county")
    return model


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"var_names": ["z"]}, r"no 'z'; there are .*'level'"),
        ({"new_levels": "town"}, r"no 'town'"),
        ({"results": ["median"]}, "numbers from 0 to 1, got 'median'"),
        ({"results": [1.5]}, "numbers from 0 to 1, got 1.5"),
        ({"results": "log_likelihood", "new_levels": "county"}, "without new_levels"),
        ({"results": "log_likelihood", "var_names": "line"}, "observed variables"),
        ({"thin": 0}, "thin of 1"),
        ({"new_levels": "row", "var_names": "y"}, "no 'row'; there are 'county', 'slope'"),
    ],
)
def test_what_is_refused(options, text):
    model = radon()
    with pytest.raises(OptionError, match=text):
        pymc_on_hlograph.predictor(model, posterior(model), **options)


def test_other_refusals(file, tmp_path):
    model = not_batched()
    with pytest.raises(OptionError, match="one joint distribution over all levels of 'county'"):
        pymc_on_hlograph.predictor(model, posterior(model), new_levels="county")
    predict, _, _ = file
    for data, options in (({"x": DATA["x"]}, {}), ({**DATA, "z": 1}, {}), (DATA, {"coords": {"town": []}})):
        with pytest.raises(ArgumentError):
            predict(**data, **options)
    for seed in (-1, 2**32):
        with pytest.raises(ArgumentError, match=f"seed: .*{seed}"):
            predict(**DATA, seed=seed)
    with pytest.raises(ArgumentShapeError):
        predict(x=np.zeros(3), place=np.zeros(2, int))
    with pytest.raises(IndexError):
        predict(x=np.zeros(1), place=[3])
    x = pytensor.tensor.dvector("x")
    other = hlograph.bundle(hlograph.emit_stablehlo(([x], x + 1)), tmp_path / "other.hlo", sizes=())
    with pytest.raises(ArtifactError, match="is not a predictor"):
        hlograph.Predictor.load(other, trusted=True)
