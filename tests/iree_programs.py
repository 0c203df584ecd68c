"""Programs of examples/, for IREE: graphs, most with their gradients.

In: the examples, which are run as modules. Out: for each program what `hlograph.emit_stablehlo` makes of it, and what
it should give by PyTensor's own evaluation. Arguments are those of `aot/worker.py`, of any size.
"""

import functools
import runpy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytensor
import pytensor.tensor as pt
from aot.programs import choose_sizes
from aot.worker import values
from pytensor.graph.replace import graph_replace
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
    """

    program: hlograph.Program
    wanted: Callable[[Arrays], Sequence[Any]]

    def data(self, size: int) -> Arrays:
        """Arguments whose open sizes are this one, or as little more as the program demands."""
        sizes = choose_sizes(self.program, tuple(range(size, size + 4)))
        assert sizes is not None
        arrays = values(self.program, sizes)
        for place, shared in self.program.bindings.items():
            arrays[place] = shared.get_value()
        for array, argument in zip(arrays, self.program.signature.arguments, strict=True):
            if argument.name == "with_gaps":
                array[::7] = np.nan
        return arrays


@functools.cache
def _of(name: str) -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))


def _graph(inputs: Sequence[Any], outputs: Sequence[Any], **options: Any) -> Example:
    program = hlograph.emit_stablehlo((list(inputs), list(outputs)), **options)
    return Example(program, lambda arrays: reference(inputs, outputs, arrays[: len(inputs)]))


def _with_gradient(value: Any, *parameters: Any) -> list[Any]:
    return [value, *pytensor.grad(value, list(parameters))]


def breast_cancer() -> Example:
    return _graph(*_of("breast_cancer")["model"](), dims={"X": ("n", 30), "y": ("n",)}, rewrite=True)


def hidden_markov() -> Example:
    seen, moves = pt.dmatrix("seen"), pt.dmatrix("moves")
    value = _of("hidden_markov")["log_likelihood"](seen, moves)
    return _graph([seen, moves], _with_gradient(value, seen), dims={"seen": ("n", 3), "moves": (3, 3)})


def ode() -> Example:
    rate, start, steps = pt.dscalar("rate"), pt.dvector("start"), pt.lscalar("steps")
    y = _of("ode")["runge_kutta"](lambda y: pt.stack([y[1], -(rate**2) * y[0]]), start, 10.0, steps)
    return _graph([rate, start, steps], _with_gradient(y[0], rate), dims={"start": (2,)})


def recurrent_net() -> Example:
    example = _of("recurrent_net")
    units = example["UNITS"]
    rows, sums = pt.dtensor3("rows"), pt.dvector("sums")
    weights, bias, last = pt.dmatrix("weights"), pt.dvector("bias"), pt.dvector("last")
    loss = ((example["predicted"](rows, weights, bias, last) - sums) ** 2).mean()
    dims = {"rows": ("n", 4, 2), "sums": (4,), "weights": (2 + units, 4 * units), "bias": (4 * units,)}
    outputs = _with_gradient(loss, weights, bias, last)
    return _graph([rows, sums, weights, bias, last], outputs, dims={**dims, "last": (units,)})


def sparse_logistic() -> Example:
    inputs, value = _of("sparse_logistic")["log_density_graph"]()
    return _graph(inputs, _with_gradient(value, *inputs[:3]))


def sparse_logistic_prior() -> Example:
    """With random variables: its first argument is a key's data."""
    inputs, draws = _of("sparse_logistic")["prior_graph"]()
    program = hlograph.emit_stablehlo((inputs, draws[1:]))  # of all four IREE's compiler says "circular dependency"
    exact = program.compile(policy="exact")
    return Example(program, lambda arrays: jax.tree.leaves(exact(jax.random.wrap_key_data(arrays[0]), *arrays[1:])))


def state_space() -> Example:
    y, log_scales = pt.tensor("with_gaps", shape=(None, 1), dtype="float64"), pt.dvector("log_scales")
    value, states = _of("state_space")["local_level"](y, log_scales)
    outputs = [*_with_gradient(value, log_scales), states]
    return _graph([y, log_scales], outputs, dims={"with_gaps": ("n", 1), "log_scales": (2,)})


def autoregression() -> Example:
    loss, truth, _ = _of("time_series")["MODELS"]["AR(2)"]
    y, p = pt.dvector("y"), pt.dvector("p")
    return _graph([y, p], _with_gradient(loss(y, p), p), dims={"p": (len(truth),)})


def varying_slopes() -> Example:
    """The houses' data are shared variables, given here as arguments."""
    example = _of("nutpie_varying_slopes")
    model = example["varying_slopes"](*example["houses"](20, seed=0))
    shared = [model["county_of"], model["floor"], model["radon"]]
    given = [x.type(name=x.name) for x in shared]
    inputs = model.value_vars
    outputs = graph_replace(_with_gradient(model.logp(), *inputs), dict(zip(shared, given, strict=True)))
    start = model.initial_point(0)
    dims = {x.name: ("house",) for x in given} | {x.name: np.shape(start[x.name]) for x in inputs}
    return _graph([*given, *inputs], outputs, dims=dims)


PROGRAMS: dict[str, Callable[[], Example]] = {
    each.__name__: each
    for each in (
        *(breast_cancer, varying_slopes, sparse_logistic, sparse_logistic_prior, hidden_markov),
        *(ode, recurrent_net, state_space, autoregression),
    )
}
