"""The state space models of pymc-extras, whose Kalman filters are Scans, beside PyTensor's own evaluation."""

from types import SimpleNamespace

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

import hlograph

pm = pytest.importorskip("pymc")
pytest.importorskip("pymc_extras", reason="its release of today needs PyMC 6, and Python 3.12")
pd = pytest.importorskip("pandas")

from pymc_extras import statespace  # noqa: E402
from pymc_extras.statespace import filters, structural  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # of pymc-extras, about the data's index and missing values

STATES, SEEN, SHOCKS = 3, 2, 2
SHAPES = {
    "data": (None, SEEN), "a0": (STATES,), "P0": (STATES, STATES), "c": (STATES,), "d": (SEEN,),
    "T": (STATES, STATES), "Z": (SEEN, STATES), "R": (STATES, SHOCKS), "H": (SEEN, SEEN), "Q": (SHOCKS, SHOCKS),
}  # fmt: skip


def symbols(**shapes):
    return SimpleNamespace(
        **{name: pt.tensor(name, shape=shapes.get(name, shape), dtype="float64") for name, shape in SHAPES.items()}
    )


def values_of(rows, missing=True):
    """A stable system and data, of which a row and a half are missing."""
    rng = np.random.default_rng(rows)
    data = rng.normal(size=(rows, SEEN))
    if missing:
        data[2], data[4, 0] = np.nan, np.nan
    moves, root = rng.normal(size=(STATES, STATES)), rng.normal(size=(SHOCKS, SHOCKS))
    return {
        "data": data,
        **{name: 0.3 * rng.normal(size=SHAPES[name]) for name in ("a0", "c", "d")},
        "P0": np.eye(STATES),
        "T": 0.5 * moves / np.abs(np.linalg.eigvals(moves)).max(),
        **{name: rng.normal(size=SHAPES[name]) for name in ("Z", "R")},
        "H": np.diag(rng.uniform(0.5, 1, SEEN)),
        "Q": root @ root.T + np.eye(SHOCKS),
    }


def check(inputs, outputs, *calls, rtol=1e-9, **options):
    """In our mode and in PyTensor's Python, for each set of values by the inputs' names."""
    ours = pytensor.function(inputs, outputs, mode=hlograph.Mode(**options), on_unused_input="ignore")
    theirs = pytensor.function(inputs, outputs, mode="FAST_COMPILE", on_unused_input="ignore")
    for values in calls:
        arguments = [values[x.name] for x in inputs]
        for found, expected in zip(ours(*arguments), theirs(*arguments), strict=True):
            assert np.isfinite(expected).all()
            np.testing.assert_allclose(found, expected, rtol=rtol, atol=1e-9 * np.abs(expected).max())


def filtered(kind, inputs, **options):
    """All that a filter gives, and the gradient of the likelihood."""
    outputs = getattr(filters, kind)().build_graph(**vars(inputs), **options)
    if kind == "UnivariateFilter":  # of the last series only, and said to be of all
        outputs = [x for x in outputs if "observed" not in str(x.name)]
    parameters = [x for name, x in vars(inputs).items() if name != "data"]
    return [*outputs, *pytensor.grad(outputs[-1].sum(), parameters, disconnected_inputs="ignore")]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("kind", ["StandardFilter", "SquareRootFilter", "UnivariateFilter", "in time", "smoother"])
def test_filters_and_gradients(kind):
    """Data of several lengths, with and without missing values, are one program; matrices that change with time."""
    inputs, options = symbols(), {"policy": "padded" if kind == "StandardFilter" else "auto"}
    calls = [values_of(8), values_of(5), values_of(1, missing=False)]
    if kind == "in time":
        inputs, calls = symbols(T=(None, STATES, STATES), d=(None, SEEN)), [values_of(6)]
        factors = np.linspace(0.5, 1, 6)[:, None]
        calls[0] |= {"T": calls[0]["T"] * factors[..., None], "d": calls[0]["d"] * factors}
        outputs = filtered("StandardFilter", inputs, time_varying_names=["transition", "obs_intercept"])
    elif kind == "smoother":
        states, *_, covariances = filters.StandardFilter().build_graph(**vars(inputs))[:4]
        outputs = filters.KalmanSmoother().build_graph(inputs.T, inputs.R, inputs.Q, states, covariances)
        calls, options = calls[:2], {"rtol": 1e-7}
    else:
        outputs = filtered(kind, inputs)
    check(list(vars(inputs).values()), outputs, *calls, **options)


def test_draws():
    """The variance of each step is that of the one before, moved, and what is added."""
    moves, pushed, noise = np.array([[0.8, 0.1], [0.0, 0.5]]), 0.3 * np.eye(2), 0.2 * np.eye(1)
    start = 1e-9 * np.eye(2)  # nearly certain: pymc-extras draws the start and the first step from one generator
    parameters = [np.zeros(2), start, np.zeros(2), np.zeros(1), moves, np.eye(2)[:1], np.eye(2), noise, pushed]
    states, seen = filters.LinearGaussianStateSpace.dist(*map(pt.as_tensor, parameters), steps=4, method="cholesky")
    draws, seen_draws = pm.draw([states, seen], draws=2_000, mode=hlograph.Mode(), random_seed=1)
    covariance = start
    for step in range(5):
        np.testing.assert_allclose(np.cov(draws[:, step].T), covariance, atol=0.06)
        np.testing.assert_allclose(seen_draws[:, step].var(), covariance[0, 0] + 0.2, atol=0.08)
        covariance = moves @ covariance @ moves.T + pushed


def seasonal():
    parts = structural.LevelTrend(order=2, innovations_order=[0, 1]) + structural.MeasurementError("noise")
    parts += structural.TimeSeasonality(season_length=4, name="season") + structural.Autoregressive(order=1)
    return parts.build(verbose=False)


def sarimax(stationary=False):
    more = {} if stationary else {"seasonal_order": (1, 0, 0, 4), "measurement_error": True}
    order = (1, 0 if stationary else 1, 1)
    return statespace.BayesianSARIMAX(order=order, stationary_initialization=stationary, verbose=False, **more)


def smoothing():
    options = {"seasonal_periods": 4, "measurement_error": True, "verbose": False}
    return statespace.BayesianETS(order=("A", "A", "A"), endog_names=["y0"], **options)


def vector_autoregression():
    options = {"stationary_initialization": True, "verbose": False}
    return statespace.BayesianVARMAX(order=(1, 0), endog_names=["y0", "y1"], **options)


def priors(model):
    """Some that hold the parameters where they must be."""
    for name, info in model.param_info.items():
        if "cov" in name or name.startswith("P0"):
            pm.Deterministic(name, pt.eye(info["shape"][0]) * pm.Gamma(f"{name}_scale", 2, 1), dims=info["dims"])
        elif info["constraints"] == "Positive":
            pm.Gamma(name, 2, 2, dims=info["dims"])
        elif "0 <" in str(info["constraints"]):
            pm.Beta(name, 2, 2, dims=info["dims"])
        else:
            pm.Normal(name, 0, 0.3, dims=info["dims"])


def conditioned(make):
    """The PyMC model, of 12 months of which two are missing."""
    model = make()
    series = model.k_endog
    rows = np.cumsum(np.random.default_rng(1).normal(size=(12, series)), 0)
    rows[[4, 9]] = np.nan
    months = pd.date_range("2000-01-01", periods=12, freq="MS")
    with pm.Model(coords=model.coords) as pymc_model:
        priors(model)
        model.build_statespace_graph(pd.DataFrame(rows, index=months, columns=[f"y{i}" for i in range(series)]))
    return pymc_model


MODELS = {
    "vectors": vector_autoregression,
    "seasonal": seasonal,
    "sarimax": sarimax,
    "stationary": lambda: sarimax(stationary=True),
    "smoothing": smoothing,
}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", MODELS)
def test_models(name):
    model = conditioned(MODELS[name])
    point = model.initial_point(random_seed=0)
    graph = [model.logp(), model.dlogp()]
    ours, theirs = (model.compile_fn(graph, mode=mode) for mode in (hlograph.Mode(), "FAST_COMPILE"))
    for moved in (0.0, 0.1):
        values = {name: value + moved for name, value in point.items()}
        for found, expected in zip(ours(values), theirs(values), strict=True):
            assert np.isfinite(expected).all()
            np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9 * np.abs(expected).max())
