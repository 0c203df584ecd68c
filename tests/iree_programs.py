"""Programs of examples/, for IREE: graphs with arguments of five sizes each.

In: the examples, which are run as modules. Out: for each program what `hlograph.emit_stablehlo` takes, how to make its
arguments of a size, and what they should give by PyTensor's own evaluation.
"""

from __future__ import annotations

import functools
import runpy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
        *(breast_cancer, hierarchical, without_jax, stages, hidden_markov, ode, state_space, sparse_logistic_prior),
    )
}
