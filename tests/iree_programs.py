"""The programs of examples/, for IREE: graphs, or JAX functions, most with their gradients.

In: the examples, which are run as modules. Out: for each program what `hlograph.emit_stablehlo` makes of it, and what
it should give by PyTensor's own evaluation, or JAX's. Arguments are those of `aot/worker.py`, of any size.
"""

from __future__ import annotations

import functools
import inspect
import runpy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
from aot.programs import choose_sizes
from aot.worker import values
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
        change: what its data have that others' have not.
    """

    program: hlograph.Program
    wanted: Callable[[Arrays], Sequence[Any]]
    change: Callable[[Arrays], Any] = lambda arrays: None

    def data(self, size: int) -> Arrays:
        """Arguments whose open sizes are this one, or as little more as the program demands."""
        sizes = choose_sizes(self.program, tuple(range(size, size + 4)))
        assert sizes is not None
        arrays = values(self.program, sizes)
        for place, shared in self.program.bindings.items():
            arrays[place] = shared.get_value()
        self.change(arrays)
        return arrays


@functools.cache
def _of(name: str) -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))


def _graph(
    inputs: Sequence[Any], outputs: Sequence[Any], change: Callable[[Arrays], Any] = lambda arrays: None, **options: Any
) -> Example:
    """An example that is a PyTensor graph."""
    program = hlograph.emit_stablehlo((list(inputs), list(outputs)), **options)
    return Example(program, lambda arrays: reference(inputs, outputs, arrays[: len(inputs)]), change)


def _with_gradient(value: Any, *parameters: Any) -> list[Any]:
    import pytensor

    return [value, *pytensor.grad(value, list(parameters))]


def breast_cancer() -> Example:
    return _graph(*_of("breast_cancer")["model"](), dims={"X": ("n", 30), "y": ("n",)}, rewrite=True)


def hidden_markov() -> Example:
    import pytensor.tensor as pt

    seen, moves = pt.dmatrix("seen"), pt.dmatrix("moves")
    value = _of("hidden_markov")["log_likelihood"](seen, moves)
    return _graph([seen, moves], _with_gradient(value, seen), dims={"seen": ("n", 3), "moves": (3, 3)})


def hierarchical() -> Example:
    import pytensor.tensor as pt

    x, y, group = pt.vector("x"), pt.vector("y"), pt.vector("group", dtype="int64")
    intercepts, slope = pt.vector("intercepts"), pt.scalar("slope")
    residual = y - intercepts[group] - slope * x
    value = -0.5 * pt.sum(residual**2) - 0.5 * pt.sum(intercepts**2) - 0.5 * slope**2
    dims = {"x": ("rows",), "y": ("rows",), "group": ("rows",), "intercepts": ("groups",)}
    return _graph([x, y, group, intercepts, slope], _with_gradient(value, intercepts, slope), dims=dims)


def ode() -> Example:
    import pytensor.tensor as pt

    rate, start, steps = pt.dscalar("rate"), pt.dvector("start"), pt.lscalar("steps")
    y = _of("ode")["runge_kutta"](lambda y: pt.stack([y[1], -(rate**2) * y[0]]), start, 10.0, steps)
    return _graph([rate, start, steps], _with_gradient(y[0], rate), dims={"start": (2,)})


def recurrent_net() -> Example:
    import pytensor.tensor as pt

    example = _of("recurrent_net")
    units = example["UNITS"]
    rows, sums = pt.dtensor3("rows"), pt.dvector("sums")
    weights, bias, last = pt.dmatrix("weights"), pt.dvector("bias"), pt.dvector("last")
    loss = ((example["predicted"](rows, weights, bias, last) - sums) ** 2).mean()
    dims = {
        "rows": ("n", 4, 2),
        "sums": (4,),
        "weights": (2 + units, 4 * units),
        "bias": (4 * units,),
        "last": (units,),
    }
    return _graph([rows, sums, weights, bias, last], _with_gradient(loss, weights, bias, last), dims=dims)


def sparse_logistic() -> Example:
    inputs, value = _of("sparse_logistic")["log_density_graph"]()
    return _graph(inputs, _with_gradient(value, *inputs[:3]))


def sparse_logistic_prediction() -> Example:
    inputs, draws = _of("sparse_logistic")["prediction_graph"]()
    return _drawn(inputs, [draws])


def sparse_logistic_prior() -> Example:
    inputs, draws = _of("sparse_logistic")["prior_graph"]()
    return _drawn(inputs, draws[1:])  # of all four IREE's compiler says "circular dependency"


def _drawn(inputs: Sequence[Any], outputs: Sequence[Any]) -> Example:
    """A graph with random variables: its first argument is a key's data."""
    program = hlograph.emit_stablehlo((list(inputs), list(outputs)))
    exact = program.compile(policy="exact")

    def wanted(arrays: Arrays) -> Sequence[Any]:
        return jax.tree.leaves(exact(jax.random.wrap_key_data(arrays[0]), *arrays[1:]))

    return Example(program, wanted)


def stages() -> Example:
    import pytensor.tensor as pt

    x, y = pt.dvector("x"), pt.dvector("y")
    loss = _of("stages")["loss"](pt, x, y)
    return _graph([x, y], _with_gradient(loss, x, y), dims={"x": ("n",), "y": ("n",)})


def state_space() -> Example:
    import pytensor.tensor as pt

    y, log_scales = pt.tensor("y", shape=(None, 1), dtype="float64"), pt.dvector("log_scales")
    value, states = _of("state_space")["local_level"](y, log_scales)

    def with_gaps(arrays: Arrays) -> None:
        arrays[0][::7] = np.nan

    outputs = [*_with_gradient(value, log_scales), states]
    return _graph([y, log_scales], outputs, with_gaps, dims={"y": ("n", 1), "log_scales": (2,)})


def autoregression() -> Example:
    import pytensor.tensor as pt

    loss, truth, _ = _of("time_series")["MODELS"]["AR(2)"]
    y, p = pt.dvector("y"), pt.dvector("p")
    return _graph([y, p], _with_gradient(loss(y, p), p), dims={"p": (len(truth),)})


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
    dims = {x.name: ("house",) for x in given} | {x.name: np.shape(start[x.name]) for x in inputs}
    return _graph([*given, *inputs], outputs, dims=dims)


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

    def the_examples(given: Arrays) -> None:
        given[:] = [np.ascontiguousarray(x[: len(given[0])]) for x in arrays]

    return Example(program, wanted, the_examples)


def without_jax() -> Example:
    import pytensor.tensor as pt

    features, labels, beta = pt.dmatrix("X"), pt.dvector("y"), pt.dvector("beta")
    eta = features @ beta
    loss = (pt.softplus(eta) - labels * eta).sum()
    dims = {"X": ("n", 3), "y": ("n",), "beta": (3,)}
    return _graph([features, labels, beta], _with_gradient(loss, beta), dims=dims)


PROGRAMS: dict[str, Callable[[], Example]] = {
    each.__name__: each
    for each in (
        *(breast_cancer, hierarchical, varying_slopes, sparse_logistic, without_jax, stages, hidden_markov, ode),
        *(recurrent_net, state_space, autoregression, sparse_logistic_prior, sparse_logistic_prediction),
        tridiagonal_solve,
    )
}
