"""The programs of examples/, for IREE: graphs, or JAX functions, with arguments of five sizes each.

In: the examples, which are run as modules. Out: for each program what `hlograph.emit_stablehlo` takes, how to make its
arguments of a size, and what they should give by PyTensor's own evaluation, or JAX's. Programs without open sizes get
other numbers, not other sizes.
"""

from __future__ import annotations

import functools
import inspect
import runpy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
from support import reference

import hlograph

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
Arrays = list[np.ndarray[Any, Any]]


@dataclass(frozen=True)
class Example:
    """A program of an example.

    Attributes:
        program: as it is emitted.
        wanted: what should come of arguments, evaluated without hlograph (draws: by hlograph on CPU).
        data: arguments, from a size and a source of random numbers.
        sizes: the sizes to try.
    """

    program: hlograph.Program
    wanted: Callable[[Arrays], Sequence[Any]]
    data: Callable[[int, np.random.Generator], Arrays]
    sizes: tuple[int, ...] = (1, 2, 5, 8, 17)


@functools.cache
def _of(name: str) -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))


def _graph(
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    data: Callable[[int, np.random.Generator], Arrays],
    sizes: tuple[int, ...] = (1, 2, 5, 8, 17),
    **options: Any,
) -> Example:
    """An example that is a PyTensor graph."""
    program = hlograph.emit_stablehlo((list(inputs), list(outputs)), **options)
    return Example(program, lambda arrays: reference(inputs, outputs, arrays), data, sizes)


def _with_gradient(value: Any, *parameters: Any) -> list[Any]:
    import pytensor

    return [value, *pytensor.grad(value, list(parameters))]


def breast_cancer() -> Example:
    inputs, outputs = _of("breast_cancer")["model"]()
    return _graph(
        inputs,
        outputs,
        lambda n, rng: [rng.normal(size=(n, 30)), rng.integers(0, 2, n).astype(float), rng.normal(size=31) / 8],
        dims={"X": ("n", 30), "y": ("n",)},
        rewrite=True,
    )


def hidden_markov() -> Example:
    import pytensor.tensor as pt

    seen, moves = pt.dmatrix("seen"), pt.dmatrix("moves")
    value = _of("hidden_markov")["log_likelihood"](seen, moves)
    return _graph(
        [seen, moves],
        _with_gradient(value, seen),
        lambda n, rng: [rng.normal(size=(n, 3)), np.log(_of("hidden_markov")["MOVES"])],
        (2, 3, 5, 8, 17),  # PyTensor's gradient of a scan of no steps fails
    )


def hierarchical() -> Example:
    import pytensor.tensor as pt

    x, y, group = pt.vector("x"), pt.vector("y"), pt.vector("group", dtype="int64")
    intercepts, slope = pt.vector("intercepts"), pt.scalar("slope")
    residual = y - intercepts[group] - slope * x
    value = -0.5 * pt.sum(residual**2) - 0.5 * pt.sum(intercepts**2) - 0.5 * slope**2

    def data(n: int, rng: np.random.Generator) -> Arrays:
        groups = n // 3 + 1
        return [
            *(rng.normal(size=n), rng.normal(size=n)),
            *(rng.integers(0, groups, n), rng.normal(size=groups), np.array(0.5)),
        ]

    return _graph(
        [x, y, group, intercepts, slope],
        _with_gradient(value, intercepts, slope),
        data,
        dims={"x": ("rows",), "y": ("rows",), "group": ("rows",), "intercepts": ("groups",)},
    )


def ode() -> Example:
    import pytensor.tensor as pt

    rate, start, steps = pt.dscalar("rate"), pt.dvector("start"), pt.lscalar("steps")
    y = _of("ode")["runge_kutta"](lambda y: pt.stack([y[1], -(rate**2) * y[0]]), start, 10.0, steps)
    return _graph(
        [rate, start, steps],
        _with_gradient(y[0], rate),
        lambda n, rng: [np.array(1.5), np.array([1.0, 0.0]), np.array(n)],
        (1, 2, 5, 30, 100),
    )


def recurrent_net() -> Example:
    import pytensor.tensor as pt

    example = _of("recurrent_net")
    units = example["UNITS"]
    rows, sums = pt.dtensor3("rows"), pt.dvector("sums")
    weights, bias, last = pt.dmatrix("weights"), pt.dvector("bias"), pt.dvector("last")
    loss = ((example["predicted"](rows, weights, bias, last) - sums) ** 2).mean()
    return _graph(
        [rows, sums, weights, bias, last],
        _with_gradient(loss, weights, bias, last),
        lambda n, rng: [
            *(rng.normal(size=(n, 4, 2)), rng.normal(size=4), rng.normal(size=(2 + units, 4 * units)) / 5),
            *(rng.normal(size=4 * units), rng.normal(size=units)),
        ],
    )


def sparse_logistic() -> Example:
    inputs, value = _of("sparse_logistic")["log_density_graph"]()
    return _graph(
        inputs,
        _with_gradient(value, *inputs[:3]),
        lambda n, rng: [
            *(np.array(0.3), rng.normal(size=6), rng.normal(size=6), rng.normal(size=(n, 6))),
            rng.integers(0, 2, n),
        ],
    )


def sparse_logistic_prediction() -> Example:
    inputs, draws = _of("sparse_logistic")["prediction_graph"]()
    return _drawn(inputs, [draws], lambda n, rng: [rng.normal(size=6), rng.normal(size=(n, 6))])


def sparse_logistic_prior() -> Example:
    inputs, draws = _of("sparse_logistic")["prior_graph"]()
    # Of all four IREE's compiler says "circular dependency".
    return _drawn(inputs, draws[1:], lambda n, rng: [rng.normal(size=(n, 6))])


def _drawn(
    inputs: Sequence[Any], outputs: Sequence[Any], data: Callable[[int, np.random.Generator], Arrays]
) -> Example:
    """A graph with random variables: its first argument is a key's data."""

    program = hlograph.emit_stablehlo((list(inputs), list(outputs)))
    exact = program.compile(policy="exact")

    def wanted(arrays: Arrays) -> Sequence[Any]:
        return jax.tree.leaves(exact(jax.random.wrap_key_data(arrays[0]), *arrays[1:]))

    def with_key(n: int, rng: np.random.Generator) -> Arrays:
        return [np.asarray(jax.random.key_data(jax.random.key(n))), *data(n, rng)]

    return Example(program, wanted, with_key)


def stages() -> Example:
    import pytensor.tensor as pt

    x, y = pt.dvector("x"), pt.dvector("y")
    loss = _of("stages")["loss"](pt, x, y)
    return _graph(
        [x, y],
        _with_gradient(loss, x, y),
        lambda n, rng: [rng.normal(size=n), 1 + rng.random(n)],
        dims={"x": ("n",), "y": ("n",)},
    )


def state_space() -> Example:
    import pytensor.tensor as pt

    y, log_scales = pt.tensor("y", shape=(None, 1), dtype="float64"), pt.dvector("log_scales")
    value, states = _of("state_space")["local_level"](y, log_scales)

    def data(n: int, rng: np.random.Generator) -> Arrays:
        seen = rng.normal(size=(n, 1))
        seen[::7] = np.nan
        return [seen, np.array([-0.3, 0.1])]

    return _graph([y, log_scales], [*_with_gradient(value, log_scales), states], data)


def autoregression() -> Example:
    import pytensor.tensor as pt

    loss, truth, _ = _of("time_series")["MODELS"]["AR(2)"]
    y, p = pt.dvector("y"), pt.dvector("p")
    return _graph(
        [y, p],
        _with_gradient(loss(y, p), p),
        lambda n, rng: [rng.normal(size=n), np.asarray(truth)],
        (3, 4, 8, 20, 300),
    )


def varying_slopes() -> Example:
    """The houses' data are shared variables, given here as arguments."""
    from pytensor.graph.replace import graph_replace

    example = _of("nutpie_varying_slopes")
    model = example["varying_slopes"](*example["houses"](20, seed=0))
    shared = [model["county_of"], model["floor"], model["radon"]]
    given = [x.type(name=x.name) for x in shared]
    inputs = model.value_vars
    outputs = graph_replace(_with_gradient(model.logp(), *inputs), dict(zip(shared, given, strict=True)))
    start = model.initial_point(0)

    def data(n: int, rng: np.random.Generator) -> Arrays:
        county, floor, radon = example["houses"](n, seed=n)
        at = [np.asarray(start[x.name] + 0.3 * rng.normal(size=np.shape(start[x.name]))) for x in inputs]
        return [county.astype(given[0].dtype), floor, radon, *at]

    dims = {x.name: ("house",) for x in given}
    lengths = [model.dim_lengths[name] for name in ("effect", "county")]  # shared variables: arguments as well
    whole = lambda n, rng: [*data(n, rng), *(x.get_value() for x in lengths)]  # noqa: E731
    found = _graph([*given, *inputs], outputs, whole, dims=dims)
    return replace(found, wanted=lambda arrays: reference([*given, *inputs], outputs, arrays[: -len(lengths)]))


def tridiagonal_solve() -> Example:
    """A JAX function of own_rewrites.py, as written, of any size."""

    function, arrays = _of("own_rewrites")["examples"]()["tridiagonal_to_lapack"]
    specs = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in arrays]
    with jax.enable_x64(True):
        dims = dict.fromkeys(inspect.signature(function).parameters, ("n",))
        program = hlograph.emit_stablehlo(function, *specs, dims=dims)

    def wanted(given: Arrays) -> Sequence[Any]:
        with jax.enable_x64(True):
            return jax.tree.leaves(jax.jit(function)(*given))

    return Example(program, wanted, lambda n, rng: [np.ascontiguousarray(x[:n]) for x in arrays])


def without_jax() -> Example:
    import pytensor.tensor as pt

    features, labels, beta = pt.dmatrix("X"), pt.dvector("y"), pt.dvector("beta")
    eta = features @ beta
    loss = (pt.softplus(eta) - labels * eta).sum()
    return _graph(
        [features, labels, beta],
        _with_gradient(loss, beta),
        lambda n, rng: [rng.normal(size=(n, 3)), rng.integers(0, 2, n).astype(float), rng.normal(size=3)],
        dims={"X": ("n", 3), "y": ("n",), "beta": (3,)},
    )


PROGRAMS: dict[str, Callable[[], Example]] = {
    each.__name__: each
    for each in (
        *(breast_cancer, hierarchical, varying_slopes, sparse_logistic, without_jax, stages, hidden_markov, ode),
        *(recurrent_net, state_space, autoregression, sparse_logistic_prior, sparse_logistic_prediction),
        tridiagonal_solve,
    )
}
