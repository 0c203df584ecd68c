"""Small log-densities with their gradients, one call at a time: NumPy arrays in, NumPy arrays out.

    python benchmarks/small_models.py [--models NAME ...] [--peers NAME ...] [--cpu PLAN] [--rounds N] [--compiles N]
        [--markdown PATH]

A call, and the first call: from the graph with its gradient (for `jax.jit` from the Python function) to the first
result. First calls are measured in this process, JAX's caches emptied before each, after every peer has compiled
something else, so that imports are not in it; Numba, which takes tens of seconds, compiles once and without
PyTensor's cache on disk. PyTensor's functions trust their inputs, as PyMC's samplers have them do.

`--quick` of `run.py` leaves Numba out.
"""

from __future__ import annotations

import argparse
import gc
import math
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from harness import Report, Target, Timing, check_equal, compare, settle
from small_model_graphs import SMALL_MODELS, SmallModel

TITLE = "Small models, value and gradient, NumPy in and out (ratio to PyTensor JAX)"
BASELINE = "PyTensor JAX"
NUMBA = "PyTensor Numba"
GEOMETRIC_MEAN = 0.4
OPTIONS: dict[str, Any] = {"outputs": "numpy"}  # for hlograph, whatever else is asked for

Function = Callable[..., Sequence[Any]]
Compiler = Callable[[], Function]


def by_hlograph(model: SmallModel, **options: Any) -> Compiler:
    """hlograph. As all of these, builds the graph now and compiles it when the result is called."""
    import hlograph

    options = OPTIONS | options
    if model.traced:
        return lambda: hlograph.jit(model.by_hand(), **options)
    inputs, outputs = model.graph()
    return lambda: hlograph.function(inputs, outputs, **options)


def by_pytensor(model: SmallModel, mode: str) -> Compiler:
    """One of PyTensor's modes."""
    import pytensor

    inputs, outputs = model.graph()

    def compiled() -> Function:
        with pytensor.config.change_flags(numba__cache=False):
            function = pytensor.function(inputs, outputs, mode=mode)
        function.trust_input = True
        return function

    return compiled


def by_jax(model: SmallModel) -> Compiler:
    """`jax.jit` of what one writes by hand."""
    import jax

    return lambda: jax.jit(model.by_hand())


PEERS: dict[str, Callable[[SmallModel], Compiler]] = {
    "hlograph": by_hlograph,
    BASELINE: partial(by_pytensor, mode="JAX"),
    NUMBA: partial(by_pytensor, mode="NUMBA"),
    "jax.jit": by_jax,
}


def run(
    quick: bool,
    progress: Callable[[str], None],
    models: Iterable[str] = tuple(SMALL_MODELS),
    peers: Iterable[str] = tuple(PEERS),
    rounds: int | None = None,
    compiles: int | None = None,
) -> Report:
    """All models and peers, or those named."""
    peers = [peer for peer in peers if not (quick and peer == NUMBA)]
    rounds, compiles = rounds or (5 if quick else 40), compiles or (1 if quick else 3)
    report = Report(TITLE, ("model", *peers))
    for peer in peers:
        progress(f"{peer}: warm-up")
        function = PEERS[peer](WARM_UP)()
        to_numpy(function(*WARM_UP.point()))
    ratios: dict[str, dict[str, Timing]] = {}
    for name in models:
        model = SMALL_MODELS[name]
        calls, firsts = first_calls(model, peers, compiles, progress)
        progress(f"{name}: calls")
        timings = compare(calls, BASELINE if BASELINE in peers else peers[0], rounds=rounds)
        for measure, unit, found in (("call", "us", timings), ("first call", "s", firsts)):
            report.add(f"{name}, {measure}", found, unit)
            report.data[-1] |= {"model": name, "sizes": model.sizes, "measure": measure}
        report.targets += targets(model, timings, firsts)
        ratios[name] = timings
    if len(ratios) > 1 and {"hlograph", BASELINE} <= set(peers):
        mean = math.exp(statistics.fmean(math.log(found["hlograph"].ratio) for found in ratios.values()))
        what = f"geometric mean over {len(ratios)} models: ratio to {BASELINE}"
        report.targets.insert(0, Target(what, mean, GEOMETRIC_MEAN))
    return report


def targets(model: SmallModel, calls: dict[str, Timing], firsts: dict[str, Timing]) -> list[Target]:
    """What hlograph's times are to be, beside the peers that were measured."""
    if not {"hlograph", BASELINE} <= set(calls):
        return []
    ratio = calls["hlograph"].ratio
    found = [Target(f"{model.name}: ratio to {BASELINE}", ratio, 1.0)]
    if NUMBA in calls:
        found.append(Target(f"{model.name}: ratio to {NUMBA}", ratio / calls[NUMBA].ratio, model.numba_limit))
    found.append(Target(f"{model.name}: first call, ratio to {BASELINE}", firsts["hlograph"].ratio, 1.0))
    return found


def first_calls(
    model: SmallModel, peers: Sequence[str], rounds: int, progress: Callable[[str], None]
) -> tuple[dict[str, Callable[[], Any]], dict[str, Timing]]:
    """Compiles with each peer, several times in turn; checks the values.

    Returns:
        For each peer, a call that returns NumPy arrays, and the median time of the first call. The ratio is the median
        of those within rounds.
    """
    import jax

    point = model.point()
    functions: dict[str, Function] = {}
    results: dict[str, Sequence[np.ndarray]] = {}
    seconds: dict[str, list[float]] = {peer: [] for peer in peers}
    for number in range(rounds):
        for peer in peers if number % 2 else peers[::-1]:
            if peer == NUMBA and number:
                continue
            progress(f"{model.name}: {peer}, first call, round {number + 1} of {rounds}")
            compiler = PEERS[peer](model)
            jax.clear_caches()
            gc.collect()
            start = time.perf_counter()
            functions[peer] = compiler()
            results[peer] = to_numpy(functions[peer](*point))
            seconds[peer].append(time.perf_counter() - start)
    if "hlograph" in functions:
        settle(functions["hlograph"], partial(functions["hlograph"], *point))
    check_equal({peer: results[peer] for peer in peers})
    base = seconds[BASELINE if BASELINE in peers else peers[0]]
    firsts = {
        peer: Timing(statistics.median(s), statistics.median(a / b for a, b in zip(s, base, strict=False)))
        for peer, s in seconds.items()
    }
    return {peer: to_call(functions[peer], point) for peer in peers}, firsts


def to_numpy(results: Iterable[Any]) -> list[np.ndarray]:
    """NumPy arrays; waits for JAX's."""
    return [np.asarray(x) for x in results]


def to_call(function: Function, arguments: Sequence[np.ndarray]) -> Callable[[], Any]:
    """A call of a function that ends with NumPy arrays, converted only where the function returns others."""
    if all(isinstance(x, np.ndarray | np.generic) for x in function(*arguments)):
        return partial(function, *arguments)
    return lambda: [np.asarray(x) for x in function(*arguments)]


def _warm_up_graph() -> tuple[list[Any], list[Any]]:
    import pytensor
    import pytensor.tensor as pt

    x = pt.dvector("x")
    value = pt.sum(pt.exp(x))
    return [x], [value, pytensor.grad(value, x)]


def _warm_up_value(x: Any) -> Any:
    import jax.numpy as jnp

    return jnp.sum(jnp.exp(x))


WARM_UP = SmallModel("warm-up", "3", _warm_up_graph, _warm_up_value, lambda: [np.ones(3)])


def main() -> None:
    """A part of the benchmark, printed."""
    import run as runner  # which sets up the process; it imports the benchmarks by name when they are run

    parser = argparse.ArgumentParser(description="Small log-densities with their gradients")
    parser.add_argument("--models", nargs="+", choices=SMALL_MODELS, default=list(SMALL_MODELS), metavar="NAME")
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS), metavar="NAME")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--compiles", type=int, default=3, help="how often each peer compiles a model; Numba once")
    parser.add_argument("--cpu", default="auto", help="hlograph's plan: auto, jax, sync, direct or plain")
    parser.add_argument("--markdown", type=Path, help="where to write the table for the docs")
    options = parser.parse_args()
    OPTIONS["cpu"] = options.cpu

    import jax

    jax.config.update("jax_enable_x64", True)
    console = runner.Console(width=160)
    with runner.Console(stderr=True).status("small_models") as status:
        progress = partial(runner.update, status, "small_models")
        report = run(False, progress, options.models, options.peers, options.rounds, options.compiles)
    console.print(runner.table(report))
    for target in report.targets:
        console.print(f"  {target}", highlight=False)
    if options.markdown is not None:
        options.markdown.write_text(runner.to_markdown(report))


if __name__ == "__main__":
    main()
