"""Densities of constant data, value and gradients, one call at a time: over fewer rows and over all of them.

    python benchmarks/run.py --only data

"all rows" is hlograph without the passes `compress_rows` and `fold_constants`. NumPy arrays in, NumPy arrays out; a
function is settled before it is timed (docs/explanation/direct_call.md). A first call is from the graph with its
gradient to the first result, in this process; its ratio is the median of three in turn. `--quick` leaves Numba out.
"""

from __future__ import annotations

import gc
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, partial
from typing import Any

import numpy as np
from harness import Report, Target, Timing, check_equal, compare, settle

TITLE = "Densities of constant data, value and gradients (ratio to all rows)"
ALL = "all rows"
NUMBA = "PyTensor Numba"
POINTER, NUMBA_POINTER = "C pointer", "Numba C pointer"
PASSES = ("compress_rows", "fold_constants")

Graph = tuple[list[Any], list[Any]]
ROWS, FEW, GROUPS, RADON = 100_000, 200, 386, 12_573


@cache
def data(rows: int, width: int, distinct: int = 0) -> np.ndarray:
    """Covariates; with few distinct rows where a number of them is given."""
    rng = np.random.default_rng(rows + distinct)
    if distinct:
        return rng.normal(size=(distinct, width))[rng.integers(0, distinct, rows)]
    return rng.normal(size=(rows, width))


def gaussian(mean: Callable[..., Any], rows: int, *shapes: tuple[int, ...]) -> Graph:
    """A normal outcome, whose mean is a function of the parameters, which have normal priors."""
    import pytensor.tensor as pt
    from small_model_graphs.densities import LogDensity, normal, parameter

    log_sigma, *parameters = [parameter("log_sigma"), *(parameter(f"p{k}", *s) for k, s in enumerate(shapes))]
    model, sigma = LogDensity(), pt.exp(log_sigma)
    for each in (log_sigma, *parameters):
        model.add(normal(each, 0.0, 2.0))
    y = np.random.default_rng(1).normal(size=rows)
    model.add(normal(y, mean(*parameters), sigma), sigma > 0)
    return [log_sigma, *parameters], model.outputs([log_sigma, *parameters])


def counted(density: str, distinct: int) -> Graph:
    """A logistic, Poisson or ordered regression."""
    import pytensor.tensor as pt
    from small_model_graphs.densities import LogDensity, bernoulli, normal, parameter, poisson

    X, rng = data(ROWS, 5, distinct), np.random.default_rng(2)
    intercept, weights = parameters = [parameter("intercept"), parameter("weights", 5)]
    model, linear = LogDensity(), intercept + X @ weights
    if density == "ordered":
        steps = parameter("cuts", 3)
        parameters.append(steps)
        cuts = pt.concatenate([[-30.0], pt.extra_ops.cumsum(pt.exp(steps)) - 2.0, [30.0]])
        y = rng.integers(0, 4, ROWS)
        model.add(pt.log(pt.sigmoid(cuts[y + 1] - linear) - pt.sigmoid(cuts[y] - linear)))
    elif density == "logistic":
        model.add(bernoulli(rng.integers(0, 2, ROWS), linear))
    else:
        model.add(poisson(rng.poisson(1.0, ROWS), pt.exp(linear)))
    for each in parameters:
        model.add(normal(each, 0.0, 2.0))
    return parameters, model.outputs(parameters)


def answers(patterns: int) -> Graph:
    """A two-parameter item response model of 1,000 people and 40 items, by quadrature over abilities."""
    import pytensor.tensor as pt
    from small_model_graphs.densities import LogDensity, normal, parameter

    rng = np.random.default_rng(3)
    table = rng.integers(0, 2, (patterns, 40))[rng.integers(0, patterns, 1_000)] if patterns else None
    table = (rng.integers(0, 2, (1_000, 40)) if table is None else table).astype(float)
    nodes, weights = np.polynomial.hermite_e.hermegauss(15)
    a, b = parameters = [parameter("a", 40), parameter("b", 40)]
    model, logits = LogDensity(), a[:, None] * (nodes[None, :] - b[:, None])
    each = -(table @ pt.softplus(-logits)) - (1 - table) @ pt.softplus(logits)
    model.add(pt.logsumexp(each + np.log(weights / weights.sum()), axis=1))
    for each in parameters:
        model.add(normal(each, 0.0, 1.0))
    return parameters, model.outputs(parameters)


def process() -> Graph:
    """A Gaussian process of 300 points whose kernel has fixed parameters."""
    import pytensor
    import pytensor.tensor as pt
    from small_model_graphs.densities import parameter

    mean, times = parameter("mean"), pt.constant(np.linspace(0, 1, 300))
    factor = pt.linalg.cholesky(pt.exp(-((times[:, None] - times) ** 2) / 0.1) + 0.01 * pt.eye(300))
    z = pt.linalg.solve_triangular(factor, np.random.default_rng(4).normal(size=300) - mean, lower=True)
    value = -0.5 * (z * z).sum() - pt.log(pt.diag(factor)).sum()
    return [mean], [value, pytensor.grad(value, mean)]


def per_row(kind: str) -> Graph:
    """What stays a row each: a regression written as a sum of columns, varying slopes, areas with neighbours."""
    import pytensor.tensor as pt
    from small_model_graphs.densities import LogDensity, bernoulli, normal, parameter, poisson

    rng, model = np.random.default_rng(7), LogDensity()
    if kind == "columns":
        parameters = [parameter("b", 10)]
        linear = sum(parameters[0][k] * rng.normal(size=3_000) for k in range(10))
        model.add(bernoulli(rng.integers(0, 2, 3_000), linear))
    elif kind == "slopes":
        place, parameters = rng.integers(0, GROUPS, RADON), [parameter("a", GROUPS), parameter("b", GROUPS)]
        linear = parameters[0][place] + parameters[1][place] * rng.normal(size=RADON)
        model.add(poisson(rng.poisson(1.0, RADON), pt.exp(linear)))
    else:
        areas, edges = 1_921, 5_460
        parameters = [parameter("mean"), parameter("phi", areas)]
        one, other = rng.integers(0, areas, edges), rng.integers(0, areas, edges)
        model.add(-0.5 * (parameters[1][one] - parameters[1][other]) ** 2)
        model.add(poisson(rng.poisson(2.0, areas), pt.exp(parameters[0] + parameters[1])))
    for each in parameters:
        model.add(normal(each, 0.0, 2.0))
    return parameters, model.outputs(parameters)


def models() -> dict[str, Callable[[], Graph]]:
    """The graphs by name."""
    rng = np.random.default_rng(5)
    places, floor = rng.integers(0, GROUPS, RADON), rng.integers(0, 2, RADON).astype(float)
    slope, X = rng.normal(size=RADON), data(ROWS, 10)
    time_of, knots = np.linspace(0, 1, 20_000), np.linspace(0, 1, 22)[1:-1]
    spline = np.maximum(0, time_of[:, None] - knots) ** 3
    angles = 2 * np.pi * np.arange(1, 7) * time_of[:, None] * 12
    season = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
    first, second = rng.integers(0, 50, 20_000), rng.integers(0, 20, 20_000)
    return {
        "normal regression, 100,000 x 10": lambda: gaussian(lambda a, b: a + X @ b, ROWS, (), (10,)),
        "the same as a sum of columns": lambda: gaussian(
            lambda b: sum(b[k] * X[:, k] for k in range(10)), ROWS, (10,)
        ),
        "varying intercepts, 12,573 rows, 386 groups": lambda: gaussian(
            lambda a, b: a[places] + b * floor, RADON, (GROUPS,), ()
        ),
        "varying slopes, the same": lambda: gaussian(
            lambda a, b: a[places] + b[places] * slope, RADON, (GROUPS,), (GROUPS,)
        ),
        "crossed groups, 20,000 rows, 50 x 20": lambda: gaussian(
            lambda a, b: a[first] + b[second], 20_000, (50,), (20,)
        ),
        "spline, 20,000 x 20": lambda: gaussian(lambda a, b: a + spline @ b, 20_000, (), (20,)),
        "seasons, 20,000 x 12": lambda: gaussian(lambda a, b: a + season @ b, 20_000, (), (12,)),
        **{f"{name}, 100,000 rows, 200 distinct": partial(counted, name, FEW)
           for name in ("logistic", "Poisson", "ordered")},
        **{f"{name}, 100,000 distinct rows": partial(counted, name, 0) for name in ("logistic", "Poisson")},
        "item response, 1,000 x 40, 60 patterns": partial(answers, 60),
        "item response, 1,000 x 40, no repeats": partial(answers, 0),
        "Gaussian process, 300 points, fixed kernel": process,
        "logistic, 3,000 rows, a sum of 10 columns": partial(per_row, "columns"),
        "Poisson, varying slopes, 12,573 rows, 386 groups": partial(per_row, "slopes"),
        "Poisson, 1,921 areas with 5,460 neighbours": partial(per_row, "areas"),
    }  # fmt: skip


# At most so many of the times of all rows; the others may not lose.
WANTED = {"normal": 0.01, "varying": 0.1, "distinct": 0.01, "spline": 0.2, "seasons": 0.2, "crossed": 0.2}


def run(quick: bool, progress: Callable[[str], None]) -> Report:
    """All models."""
    import hlograph
    from hlograph.codegen.passes.registry import DEFAULT

    before = [name for name in DEFAULT if name not in PASSES]
    report = Report(TITLE, ("model", "hlograph", ALL, *(() if quick else (NUMBA, POINTER, NUMBA_POINTER))))
    for name, graph in models().items():
        inputs, outputs = graph()
        point = [0.1 * np.random.default_rng(6).normal(size=x.type.shape) for x in inputs]
        makers: dict[str, Callable[[], Any]] = {
            "hlograph": partial(hlograph.function, inputs, outputs, outputs="numpy"),
            ALL: partial(hlograph.function, inputs, outputs, outputs="numpy", optimize=before),
        }
        seconds: dict[str, list[float]] = {peer: [] for peer in makers}
        calls: dict[str, Callable[[], Any]] = {}
        for number in range(1 if quick else 3):
            for peer in (makers, reversed(makers))[number % 2]:
                progress(f"{name}: {peer}, first call")
                seconds[peer].append(_first(makers[peer], point, calls, peer))
        for call in calls.values():
            settle(call.func, call)  # type: ignore[attr-defined]
        if not quick:
            progress(f"{name}: {NUMBA}")
            with suppress(Exception):  # it does not compile all graphs
                calls[NUMBA] = by_numba(inputs, outputs, point)
        check_equal({peer: [np.asarray(x) for x in call()] for peer, call in calls.items()}, rtol=1e-8)
        progress(f"{name}: calls")
        timings = compare(calls, ALL, rounds=3 if quick else 20)
        report.add(f"{name}, call", timings, "us")
        firsts = {peer: Timing(statistics.median(x), float(statistics.median(np.divide(x, seconds[ALL]))))
                  for peer, x in seconds.items()}  # fmt: skip
        report.add(f"{name}, first call", firsts, "s")
        if not quick:
            progress(f"{name}: pointers")
            with suppress(Exception):
                found = by_pointers(inputs, outputs, point)
                report.add(f"{name}, a call in C (ratio to {NUMBA_POINTER})", found, "us")
                report.targets.append(Target(f"{name}: {POINTER} to {NUMBA_POINTER}", found[POINTER].ratio, 1.0))
        limit = next((limit for start, limit in WANTED.items() if start in name and "distinct rows" not in name), 1.02)
        report.targets.append(Target(f"{name}: ratio to {ALL}", timings["hlograph"].ratio, limit))
        report.targets.append(Target(f"{name}: first call", firsts["hlograph"].ratio, 1.3))
    return report


def _first(make: Callable[[], Any], point: Sequence[Any], calls: dict[str, Callable[[], Any]], peer: str) -> float:
    import jax

    jax.clear_caches()
    gc.collect()
    start = time.perf_counter()
    function = make()
    function(*point)
    calls[peer] = partial(function, *point)
    return time.perf_counter() - start


def by_numba(inputs: Sequence[Any], outputs: Sequence[Any], point: Sequence[Any]) -> Callable[[], Any]:
    """PyTensor's Numba mode, which trusts its arguments."""
    import pytensor

    with pytensor.config.change_flags(numba__cache=False):
        function = pytensor.function(list(inputs), list(outputs), mode="NUMBA")
    function.trust_input = True
    function(*point)
    return partial(function, *point)


def by_pointers(inputs: Sequence[Any], outputs: Sequence[Any], point: Sequence[Any]) -> dict[str, Timing]:
    """hlograph's and nutpie's C functions of one vector of all parameters, called from C."""
    import numba
    import pytensor
    import pytensor.tensor as pt
    from nutpie.compile_pymc import _make_c_logp_func, make_user_data
    from pytensor.graph.replace import graph_replace
    from samplers import looped, run_checked

    import hlograph

    x, start = np.concatenate([np.ravel(each) for each in point]), 0
    vector, parts = pt.vector("x", shape=(x.size,), dtype="float64"), {}
    for variable, value in zip(inputs, point, strict=True):
        parts[variable] = vector[start : start + np.size(value)].reshape(np.shape(value))
        start += np.size(value)
    (density,) = graph_replace([outputs[0]], parts)
    results = [density, pytensor.grad(density, vector)]
    ours = hlograph.function([vector], results, outputs="numpy").c_function(form="logp")
    user = make_user_data({}, {})
    raw, kind = _make_c_logp_func(x.size, pytensor.function([vector], results, mode="NUMBA").vm.jit_fn, user, {}, {})
    theirs = numba.cfunc(kind)(raw)
    with tempfile.TemporaryDirectory() as folder:
        run, addresses = (
            looped(folder),
            {POINTER: (ours.address, None), NUMBA_POINTER: (theirs.address, user.ctypes.data)},
        )
        once = partial(run_checked, run, 1, 1)
        once(*addresses[NUMBA_POINTER][:1], x, addresses[NUMBA_POINTER][1])
        began = time.perf_counter()
        once(theirs.address, x, user.ctypes.data)
        count = max(1, int(0.01 / (time.perf_counter() - began)))
        calls = {
            peer: partial(run_checked, run, 1, count, address, x, data) for peer, (address, data) in addresses.items()
        }
        timings = compare(calls, NUMBA_POINTER, rounds=20)
    return {peer: Timing(timing.seconds / count, timing.ratio) for peer, timing in timings.items()}
