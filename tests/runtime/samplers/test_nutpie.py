"""PyMC models for nutpie and walnutpie, and PyMC's own way there, beside PyTensor's evaluation and nutpie's Numba."""

import ctypes
import inspect
import os
import re
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
import xarray
from pytensor.raise_op import Assert

import hlograph

pm = pytest.importorskip("pymc", minversion="6")
nutpie = pytest.importorskip("nutpie")

from pymc.pytensorf import collect_default_updates  # noqa: E402
from pymc_models import PLAIN, REFERENCE, Y, build, loop, masked, name_of, parameter_out_of_bounds, unknown  # noqa: E402

import hlograph.nutpie  # noqa: E402
import hlograph.pymc  # noqa: E402
from hlograph.errors import (  # noqa: E402
    ArgumentError,
    ArgumentShapeError,
    ArgumentTypeError,
    GraphError,
    OptionError,
    PythonCallWarning,
    UnsupportedGraphError,
    UnsupportedOpError,
)
from hlograph.runtime.samplers import hooks  # noqa: E402
from hlograph.runtime.samplers import nutpie as ours  # noqa: E402

DOCS = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "samplers.md"
QUICK: dict[str, Any] = {"draws": 20, "tune": 30, "chains": 2, "cores": 2, "progressbar": False, "quiet": True}
pytestmark = pytest.mark.filterwarnings("ignore::hlograph.errors.PythonCallWarning")


def narrow() -> None:
    pm.Normal("y", pm.Normal("mu", shape=2)[:1], 1, observed=Y.astype("float32"))


def regression() -> Any:
    with pm.Model(coords={"place": ["low", "high"]}) as model:
        x = pm.Data("x", np.linspace(0, 2, 12), dims="obs")
        b = pm.Normal("b", 0, [2.0, 1.0], dims="place")
        s = pm.HalfNormal("s")
        pm.Deterministic("ratio", b[0] / s)
        pm.Normal("y", b[0] + b[1] * x, s, observed=pm.Data("seen", Y, dims="obs"), dims="obs")
    return model


def of_regression(point: np.ndarray, x: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    """Its density and gradient at an unconstrained point, by hand."""
    (b0, b1), t = point[:2], point[2]
    s = np.exp(t)
    rest = y - b0 - b1 * x
    logp = -0.5 * (b0**2 / 4 + b1**2 + s**2) + t - rest @ rest / (2 * s**2) - y.size * t
    logp += -0.5 * (3 + y.size) * np.log(2 * np.pi) - np.log(2) + np.log(2)
    gradient = [rest.sum() / s**2 - b0 / 4, rest @ x / s**2 - b1, 1 - s**2 + rest @ rest / s**2 - y.size]
    return float(logp), np.array(gradient)


def call(compiled: Any, point: np.ndarray) -> tuple[int, float, np.ndarray, int, np.ndarray]:
    """Code, value and gradient, and code and expanded variables: by the addresses, as nutpie calls them."""
    pointers, user = [ctypes.c_void_p] * 4, compiled.user_data.ctypes.data
    logp = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_size_t, *pointers)(compiled.compiled_logp_func.address)
    expand_type = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_size_t, ctypes.c_size_t, *pointers[:3])
    expand = expand_type(compiled.compiled_expand_func.address)
    value, gradient, expanded = np.full((), 7.0), np.full(point.shape, 7.0), np.full(compiled.n_expanded, 7.0)
    code = logp(point.size, point.ctypes.data, gradient.ctypes.data, value.ctypes.data, user)
    expand_code = expand(point.size, expanded.size, point.ctypes.data, expanded.ctypes.data, user)
    return code, float(value), gradient, expand_code, expanded


# ---- what nutpie calls -----------------------------------------------------------------------------------------------


@pytest.mark.sampled(16)
@pytest.mark.parametrize("content", [narrow, *[content for content in PLAIN if content is not masked]], ids=name_of)
def test_value_gradient_and_expansion(content: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside PyTensor in Python, at starting points and far from them; what is not finite has nutpie's codes."""
    monkeypatch.setattr(pytensor.config, "floatX", "float32" if content is narrow else "float64")
    model = build(content)
    compiled = hlograph.nutpie.compile_pymc_model(model)
    _, _, logp, expand, *_ = ours.make_functions(
        model, mode=REFERENCE, compute_grad=True, join_expanded=True, pymc_initial_point_fn=model.initial_point
    )
    random, finite = np.random.default_rng(1), 0
    for scale in (0, 0.5, 1, 2, 20):
        tolerance = 1e-4 if content is narrow else 1e-9 if scale < 20 else 1e-7
        point = compiled.initial_point_func(3) + scale * random.normal(size=compiled.n_dim)
        code, value, gradient, expand_code, expanded = call(compiled, point)
        wanted, wanted_gradient = logp(point)
        if code == 0:
            np.testing.assert_allclose(value, wanted, rtol=tolerance)
            np.testing.assert_allclose(gradient, wanted_gradient, rtol=tolerance, atol=tolerance)
            finite += 1
        else:
            assert code == (4 if np.isfinite(wanted_gradient).all() else 3)
            assert not (np.isfinite(wanted) and np.isfinite(wanted_gradient).all())
        assert expand_code == 0
        np.testing.assert_allclose(expanded, expand(point)[0], rtol=tolerance, atol=tolerance)
    assert finite > 1
    if content is parameter_out_of_bounds:
        assert call(compiled, np.array([-1.0]))[:2] == (4, -np.inf)


@pytest.mark.skipif("HLOGRAPH_NIGHTLY" not in os.environ, reason="Numba compiles for half a minute")
@pytest.mark.parametrize("model", ["regression", "loop"])
def test_draws_are_those_of_numba(model: str) -> None:
    """The same seed gives the same draws, until rounding has grown; the same groups, coordinates and dims."""
    built = regression() if model == "regression" else build(loop)
    options: dict[str, Any] = {"draws": 20, "tune": 20, "chains": 2, "cores": 2, "seed": 5, "progress_bar": False}
    ours, theirs = (
        nutpie.sample(compile_model(built), store_unconstrained=True, **options)
        for compile_model in (hlograph.nutpie.compile_pymc_model, nutpie.compile_pymc_model)
    )
    assert list(ours.children) == list(theirs.children)
    for group in ("warmup_posterior", "warmup_unconstrained_posterior"):
        first = {"draw": slice(0, 3)}
        xarray.testing.assert_allclose(ours[group].to_dataset().isel(first), theirs[group].to_dataset().isel(first))
    assert ours.posterior.to_dataset().coords.equals(theirs.posterior.to_dataset().coords)
    assert {name: x.dims for name, x in ours.posterior.items()} == {n: x.dims for n, x in theirs.posterior.items()}


def test_other_data_needs_no_compile() -> None:
    model = regression()
    compiled = hlograph.nutpie.compile_pymc_model(model)
    random = np.random.default_rng(0)

    def check(compiled: Any, x: np.ndarray, y: np.ndarray) -> None:
        for point in random.normal(size=(3, 3)):
            code, value, gradient, _, expanded = call(compiled, point)
            wanted, wanted_gradient = of_regression(point, x, y)
            np.testing.assert_allclose(value, wanted, rtol=1e-12)
            np.testing.assert_allclose(gradient, wanted_gradient, rtol=1e-11)
            np.testing.assert_allclose(expanded[-1], point[0] / np.exp(point[2]), rtol=1e-12)
            assert code == 0

    x = np.asarray(model["x"].get_value())
    check(compiled, x, Y)
    same = compiled.with_data(x=x + 1, seen=Y - 1)
    check(same, x + 1, Y - 1)
    check(compiled, x, Y)
    assert same.compiled_logp_func._executable is compiled.compiled_logp_func._executable
    assert same.compiled_expand_func is compiled.compiled_expand_func
    check(compiled.with_data(x=(x * 10).astype(int)), (x * 10).astype(int), Y)
    long = compiled.with_data(x=np.arange(31.0), seen=np.ones(31))
    check(long, np.arange(31.0), np.ones(31))
    for size in (3, 32, 1):
        shorter = long.with_data(x=np.arange(float(size)), seen=np.ones(size))
        check(shorter, np.arange(float(size)), np.ones(size))
        assert shorter.compiled_logp_func._executable is long.compiled_logp_func._executable
    trace = nutpie.sample(long, draws=5, tune=5, chains=1, seed=1, progress_bar=False)
    assert trace.posterior.b.dims == ("chain", "draw", "place")


def test_what_data_alone_decide_is_computed_before() -> None:
    """Many rows in few groups: other data, and of another length, beside PyMC's own density of these."""
    random = np.random.default_rng(0)

    def rows(count: int) -> dict[str, Any]:
        return {"x": random.normal(size=count), "place": np.arange(count) % 4, "seen": random.normal(size=count)}

    with pm.Model() as model:
        data = {name: pm.Data(name, value) for name, value in rows(400).items()}
        mean = pm.Normal("a", shape=4)[data["place"]] + pm.Normal("b") * data["x"]
        pm.Normal("y", mean, pm.HalfNormal("s"), observed=data["seen"])
    compiled = hlograph.nutpie.compile_pymc_model(model)
    density = compiled.compiled_logp_func
    for count in (400, 400, 900):
        new = rows(count)
        other = compiled.with_data(**new)
        pm.set_data(new, model=model)
        point = random.normal(size=6)
        logp = model.compile_logp(mode=REFERENCE, sum=True)
        code, value, *_ = call(other, point)
        names = [v.name for v in model.value_vars]
        wanted = logp(dict(zip(names, (point[:4], point[4], point[5]), strict=True)))
        np.testing.assert_allclose(value, wanted, rtol=1e-12)
        assert code == 0
        assert (other.compiled_logp_func._executable is density._executable) == (count == 400)


def test_data_that_does_not_fit() -> None:
    with pm.Model() as model:
        x, groups = pm.Data("x", Y), pm.Data("groups", np.arange(12) % 3)
        mean = pm.Deterministic("mean", pm.Normal("a", shape=3)[groups] * x)
        pm.Normal("y", mean, 1, observed=x)
    compiled = hlograph.nutpie.compile_pymc_model(model)
    for error, match, data in [
        (ArgumentError, "no data 'z'; what they use: groups, x", {"z": 1}),
        (ArgumentShapeError, "data 'x' has rank 1, got 2", {"x": np.ones((12, 1))}),
        (ArgumentTypeError, "data 'x' has dtype float64, got values of complex128", {"x": Y + 0j}),
        (ArgumentTypeError, "data 'groups' has dtype int.*, got values of float64", {"groups": Y}),
        (ArgumentShapeError, "got groups_0 = 12, x_0 = 5", {"x": np.ones(5)}),
        (ArgumentShapeError, "a draw expands to 8 numbers and not 15", {"x": Y[:5], "groups": np.arange(5) % 3}),
    ]:
        with pytest.raises(error, match=match):
            compiled.with_data(**data)
    frozen = hlograph.nutpie.compile_pymc_model(model, freeze_model=True)
    with pytest.raises(ArgumentError, match="what they use: none"):
        frozen.with_data(x=Y)


@pytest.mark.parametrize("policy", ["auto", "padded"])
@pytest.mark.parametrize("control", [1, 3])
def test_dims_of_one(control: int, policy: Any) -> None:
    """A parameter of length 1 has a gradient of the data's length, which is no other; all other lengths are open."""
    random = np.random.default_rng(0)
    with pm.Model(coords={"control": range(control), "one": [0]}) as model:
        x = pm.Data("x", random.normal(size=(12, control, 1)), dims=("date", "control", "one"))
        g, h = pm.Normal("g", dims=("control", "one")), pm.Normal("h", dims="one")
        seen = pm.Data("seen", Y, dims="date")
        pm.Normal("y", (x * g * h).sum((-1, -2)), 1, observed=seen, dims="date")
    compiled = hlograph.nutpie.compile_pymc_model(model, mode=hlograph.Mode(policy=policy))
    for size in (12, 20):
        values, y = random.normal(size=(size, control, 1)), np.linspace(-1, 1, size)
        point = random.normal(size=compiled.n_dim)
        code, value, gradient, *_ = call(compiled.with_data(x=values, seen=y), point)
        rest, slopes = y - values[..., 0] @ point[:-1] * point[-1], values[..., 0] * point[-1]
        wanted = -0.5 * (point @ point + rest @ rest + (size + point.size) * np.log(2 * np.pi))
        np.testing.assert_allclose(value, wanted, rtol=1e-12)
        by_slopes = rest @ np.column_stack([slopes, values[..., 0] @ point[:-1]])
        np.testing.assert_allclose(gradient, by_slopes - point, rtol=1e-10)
        assert code == 0
    for other in (0, 2):
        with pytest.raises(ArgumentShapeError, match=f"{other}"):
            compiled.with_data(x=np.ones((12, other, 1)))


def test_data_that_decide_a_size() -> None:
    """They become constants, in words; starting points and their jitter stay what they were."""
    with pm.Model() as model:
        x, kept = pm.Data("x", Y), pm.Data("kept", np.arange(12) % 2 == 0)
        b = pm.Normal("b", shape=2)
        pm.Potential("p", -0.5 * pt.sum((x[kept] - b[0]) ** 2))
    options: dict[str, Any] = {"initial_points": {b: np.array([3.0, -4.0])}, "jitter_rvs": {b}}
    with pytest.warns(UserWarning, match="computed from the data kept, x: they are constants.*freeze_model=True"):
        compiled = hlograph.nutpie.compile_pymc_model(model, **options)
    started = compiled.initial_point_func(0)
    assert (abs(started - [3, -4]) < 1).all()
    assert (started != [3, -4]).all()
    point = np.array([0.3, -0.7])
    code, value, gradient, *_ = call(compiled, point)
    rest = Y[::2] - point[0]
    np.testing.assert_allclose(value, -0.5 * (point @ point + rest @ rest) - np.log(2 * np.pi), rtol=1e-12)
    np.testing.assert_allclose(gradient, [rest.sum() - point[0], -point[1]], rtol=1e-12)
    assert code == 0
    with pytest.raises(ArgumentError, match="what they use: none"):
        compiled.with_data(x=Y)


def test_what_nutpie_takes_goes_on() -> None:
    """Starting points, their strategy and jitter, the variables that are kept."""
    model = regression()
    options: dict[str, Any] = {
        "initial_points": {"b": np.array([3.0, -4.0])},
        "jitter_rvs": set(),
        "var_names": ["ratio"],
    }
    compiled = hlograph.nutpie.compile_pymc_model(model, **options)
    np.testing.assert_array_equal(compiled.initial_point_func(0)[:2], [3, -4])
    assert set(compiled.shapes) == {"b", "s_log__", "ratio"}
    assert compiled.reparameterized_names == ["s_log__"]
    prior = hlograph.nutpie.compile_pymc_model(model, default_initialization_strategy="prior")
    assert not np.array_equal(prior.initial_point_func(0), prior.initial_point_func(1))
    adapted = prior.with_transform_adapt(num_layers=2)
    assert adapted._transform_adapt_args == {"num_layers": 2}
    assert call(adapted, compiled.point)[:2] == call(compiled, compiled.point)[:2]


def failing_check(a: Any) -> Any:
    return Assert("too far")(-(a**2), pt.lt(a, 1))


def test_a_failed_check_rejects_the_point() -> None:
    """As nutpie's Numba backend has it: the chain goes on."""
    compiled = hlograph.nutpie.compile_pymc_model(build(lambda: pm.Potential("p", failing_check(pm.Normal("a")))))
    assert call(compiled, np.array([2.0]))[0] == 100
    trace = nutpie.sample(compiled, draws=50, tune=50, chains=1, seed=1, progress_bar=False)
    assert trace.posterior.a.max() < 1
    assert trace.sample_stats.diverging.any()


def test_walnutpie_takes_the_same() -> None:
    """Its type of functions; codes but 0 would end its run, so a point outside has the density 0."""
    compiled = hlograph.nutpie.compile_pymc_model(build(parameter_out_of_bounds))
    function, data = compiled.for_walnutpie
    double = ctypes.POINTER(ctypes.c_double)
    wanted = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_size_t, double, double, double, ctypes.c_void_p)
    assert isinstance(function, wanted)
    assert data is None
    values = np.array([-1.0, 7.0, 7.0])
    x, gradient, value = (values[i:].ctypes.data_as(double) for i in range(3))
    assert function(1, x, gradient, value, None) == 0
    np.testing.assert_array_equal(values, [-1, 0, -np.inf])
    walnutpie = pytest.importorskip("walnutpie")
    chains = walnutpie.walnuts_pyfunc(compiled.for_walnutpie, num_params=1, inits=np.ones((4, 1)))
    draws = np.concatenate(chains)
    assert draws.min() > 0
    assert abs(draws.mean() - np.sqrt(np.mean(Y**2))) < 0.3


@pytensor.compile.ops.wrap_py(itypes=[pt.dscalar], otypes=[pt.dscalar])
def halved(x: Any) -> Any:
    return x / 2


def test_a_model_that_calls_python() -> None:
    """It runs, one thread at a time, and says so once."""
    model = build(lambda: pm.Deterministic("half", halved(pm.Normal("a"))))
    with pytest.warns(PythonCallWarning, match="one thread at a time.*") as said:
        compiled = hlograph.nutpie.compile_pymc_model(model)
    assert (len(said), compiled.native, compiled.compiled_logp_func.native) == (1, False, True)
    assert said[0].filename == __file__
    trace = nutpie.sample(compiled, draws=9, tune=9, chains=2, cores=2, seed=1, progress_bar=False)
    np.testing.assert_array_equal(trace.posterior.half, trace.posterior.a / 2)


def minibatch() -> None:
    pm.Normal("y", pm.Normal("mu"), 1, observed=pm.Minibatch(Y, batch_size=4), total_size=12)


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda: build(lambda: [pm.Poisson("count", 3), pm.Normal("a")]), UnsupportedGraphError, "'count' are"),
        (lambda: build(lambda: pm.Normal("y", observed=1.0)), UnsupportedGraphError, "has no free variables"),
        (lambda: build(minibatch), UnsupportedGraphError, "draws random numbers"),
        (lambda: build(unknown), UnsupportedOpError, "Unknown"),
        (lambda: "model", GraphError, "expected a pymc.Model, got str"),
    ],
    ids=["discrete", "nothing_free", "minibatch", "no_rule", "no_model"],
)
def test_models_that_are_refused(make: Callable[[], Any], error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        hlograph.nutpie.compile_pymc_model(make())
    with pytest.raises(OptionError, match=r"mode must be a hlograph\.Mode"):
        hlograph.nutpie.compile_pymc_model(make(), mode="FAST_COMPILE")


def test_the_page() -> None:
    """docs/how-to/samplers.md runs as it is written."""
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", DOCS.read_text(), re.DOTALL):
        if "walnutpie" not in block or find_spec("walnutpie"):
            exec(block, names)
    assert names["trace"].posterior.b.sizes == {"chain": 2, "draw": 100, "place": 2}


# ---- PyMC's way to it ------------------------------------------------------------------------------------------------


def test_all_ways_to_sample_are_one() -> None:
    model = regression()
    wanted = hlograph.pymc.sample(model, random_seed=3, **QUICK)
    with model:
        found = [
            pm.sample(random_seed=3, backend="STABLEHLO", **QUICK),
            pm.sample(random_seed=3, compile_kwargs={"mode": hlograph.Mode()}, nuts_sampler="nutpie", **QUICK),
        ]
    for trace in found:
        xarray.testing.assert_equal(trace.posterior.to_dataset(), wanted.posterior.to_dataset())
        assert list(trace.children) == list(wanted.children)
    assert list(wanted.children) == ["posterior", "sample_stats", "constant_data", "observed_data"]
    assert {"sampling_time", "tuning_steps", "inference_library"} <= set(wanted.posterior.attrs)
    kept = hlograph.pymc.sample(
        model,
        random_seed=3,
        var_names=["b"],
        target_accept=0.95,
        discard_tuned_samples=False,
        idata_kwargs={"include_transformed": True},
        initvals={"b": np.zeros(2)},
        **QUICK,
    )
    assert "warmup_posterior" in kept.children
    assert "unconstrained_posterior" in kept.children
    assert '"target_accept": 0.95' in kept.sample_stats.attrs["inference_library_settings"]


@pytest.mark.parametrize(
    "options",
    [
        {"step": object()},
        {"trace": object()},
        {"callback": print},
        {"return_inferencedata": False},
        {"init": "advi"},
        {"n_init": 3},
        {"nuts_sampler": "numpyro"},
        {"initvals": [{}, {}]},
        {"backend": "NUMBA"},
        {"compile_kwargs": {"mode": "FAST_COMPILE"}},
        {"compile_kwargs": {"gradient_backend": "jax"}},
    ],
    ids=lambda options: "_".join(options),
)
def test_options_that_are_refused(options: dict[str, Any]) -> None:
    (name,) = options
    with pytest.raises(OptionError, match={"compile_kwargs": "mode|backend"}.get(name, name)):
        hlograph.pymc.sample(regression(), **QUICK, **options)


def test_the_import_can_be_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it PyMC warns, since it runs something else than it is asked for."""
    from pymc.sampling import mcmc, parallel
    from pytensor.link.numba.linker import NumbaLinker

    def names() -> list[Any]:
        places = (mcmc, "NumbaLinker"), (parallel, "ParallelSampler"), (mcmc, "_sample_external_nuts")
        return [getattr(place, name) for place, name in (*places, (nutpie, "compile_pymc_model"))]

    changed = names()
    hlograph.pymc.uninstall()
    hlograph.pymc.uninstall()
    try:
        original = names()
        assert original[0] is NumbaLinker
        assert [inspect.unwrap(name) for name in changed[1:3]] == original[1:3]
        with hooks.HOOKS.use(), hooks.HOOKS.use():
            assert hooks.is_ours("STABLEHLO")
            assert names()[0] != NumbaLinker
        assert names() == original
        with monkeypatch.context() as patch:
            patch.setattr(nutpie, "compile_pymc_model", lambda *_, backend, **__: pytest.skip(backend))
            patch.setattr(mcmc, "init_nuts", lambda **_: pytest.skip("PyMC's own"))
            for options, sampler, message in [
                ({"backend": "STABLEHLO", "nuts_sampler": "nutpie"}, "numba", "nutpie compile the model with Numba"),
                ({"backend": "STABLEHLO"}, "PyMC's own", "leaves nutpie for PyMC's own"),
                ({"backend": "NUMBA"}, "numba", None),
            ]:
                ended = pytest.raises(pytest.skip.Exception, match=sampler)
                with warnings.catch_warnings(record=True) as caught, ended:
                    pm.sample(model=regression(), **options, **QUICK)
                said = [str(warning.message) for warning in caught if "hlograph.pymc" in str(warning.message)]
                assert [message in text for text in said] == ([True] if message else [])
    finally:
        hlograph.pymc.install()
    assert [inspect.unwrap(name) for name in names()[1:]] == [inspect.unwrap(name) for name in changed[1:]]
    assert names()[3] is not original[3]


def test_errors_of_nutpie_say_what_codes_mean() -> None:
    with pm.Model() as model:
        group = pm.Data("group", np.r_[7, np.zeros(5, int)])
        pm.Normal("y", pm.Normal("a", shape=4)[group], 1, observed=np.zeros(6))
    compiled = hlograph.nutpie.compile_pymc_model(model)
    words = r"IndexError: index is out of bounds for axis 0 at .*: 'group' into .*, of length 4"
    assert re.fullmatch(words, compiled.compiled_logp_func.meaning(100))
    assert compiled.compiled_logp_func.meaning(4) == "the value is not finite"
    with pytest.raises(RuntimeError, match=words):
        nutpie.sample(compiled, draws=5, tune=5, chains=1, progress_bar=False)
    fine = compiled.with_data(group=np.zeros(6, int))
    assert nutpie.sample(fine, draws=5, tune=5, chains=1, progress_bar=False).posterior["a"].shape == (1, 5, 4)


def test_a_recursive_distribution_has_a_gradient() -> None:
    def step(before: Any, last: Any, rho: Any, sigma: Any) -> Any:
        x = last * rho[0] + before * rho[1] + pm.Normal.dist(sigma=sigma)
        return x, collect_default_updates([x])

    def recursive(init: Any, rho: Any, sigma: Any, size: Any) -> Any:
        states = [{"initial": init, "taps": range(-2, 0)}]
        found = pytensor.scan(step, outputs_info=states, non_sequences=[rho, sigma], n_steps=8, strict=True)
        return found[0]

    seen = np.random.default_rng(0).normal(size=8)
    with pm.Model(coords={"lags": range(2), "steps": range(8)}, check_bounds=False) as model:
        rho, sigma = pm.Normal("rho", dims="lags"), pm.HalfNormal("sigma")
        init = pm.Normal("init", dims="lags")
        pm.CustomDist("seen", init, rho, sigma, dist=recursive, dims="steps", observed=seen)
    point = np.array([0.1, -0.2, 0.3, 0.4, -0.5])
    found = []
    for mode in ("FAST_COMPILE", "STABLEHLO"):
        function = model.logp_dlogp_function(ravel_inputs=True, mode=mode)
        function.set_extra_values({})
        found.append(function(point))
    for wanted, value in zip(*found, strict=True):
        np.testing.assert_allclose(value, wanted, 1e-12)
    assert hlograph.nutpie.compile_pymc_model(model).native
