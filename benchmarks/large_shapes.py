"""Large graphs as models have them: from the graph to the first result, and how long each pass takes.

    python benchmarks/run.py --only large_shapes

A graph is written in Python loops, as users write them, with its gradient. The clock starts when the graph is there and
stops when all results are NumPy arrays. hlograph's time by pass is that of another run, in which each step of the
recipe is timed: the rewriting of the graph, its emission, each pass, and what XLA takes after that. PyTensor's JAX mode
gets the shapes that it compiles in about a minute; values are compared where both are measured.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from harness import Report, check_equal, show

TITLE = "Large graphs: to the first result, and by pass"
SLOWEST = 10

Graph = tuple[list[Any], list[Any]]


@dataclass(frozen=True)
class Shape:
    """A graph with values for its inputs.

    Attributes:
        make: how often its block is repeated to the graph's inputs, its value, and what the gradient is taken by.
        repeats: how often.
        quick: how often in a quick run.
        by_jax: whether PyTensor's JAX mode compiles it in about a minute.
    """

    make: Callable[[int], tuple[list[Any], Any, list[np.ndarray]]]
    repeats: int
    quick: int
    by_jax: bool = True

    def graph(self, quick: bool) -> tuple[Graph, list[np.ndarray]]:
        """The value and its gradient by the first input, and a point."""
        import pytensor

        inputs, value, point = self.make(self.quick if quick else self.repeats)
        return (inputs, [value, pytensor.grad(value, inputs[0])]), point


def potentials(count: int) -> tuple[list[Any], Any, list[np.ndarray]]:
    """One term for each group, on data of its own, as a loop over `pm.Potential` writes it."""
    import pytensor.tensor as pt

    rng = np.random.default_rng(0)
    x = pt.vector("x", shape=(count + 2,))
    terms = []
    for group in range(count):
        data = rng.normal(size=5)
        mean, sd = x[group], pt.exp(x[-1])
        terms.append((-0.5 * ((data - mean) / sd) ** 2 - pt.log(sd)).sum() - pt.log1p(pt.exp(x[group] * x[-2])))
    return [x], sum(terms[1:], terms[0]), [rng.normal(size=count + 2)]


def mixture(count: int) -> tuple[list[Any], Any, list[np.ndarray]]:
    """For each observation the log of a sum over four components, both loops in Python."""
    import pytensor.tensor as pt

    rng = np.random.default_rng(1)
    x = pt.vector("x", shape=(12,))
    weights = pt.special.log_softmax(x[:4])
    total: Any = 0.0
    for observation in rng.normal(size=count):
        parts = []
        for k in range(4):
            sd = pt.exp(x[8 + k])
            parts.append(weights[k] - 0.5 * ((observation - x[4 + k]) / sd) ** 2 - pt.log(sd))
        total = total + pt.log(sum(pt.exp(part) for part in parts))
    return [x], total, [rng.normal(size=12)]


def ode(steps: int) -> tuple[list[Any], Any, list[np.ndarray]]:
    """Lorenz' equations by the classical stepper, and how far the trajectory is from data."""
    import pytensor.tensor as pt

    rng = np.random.default_rng(2)
    x = pt.vector("x", shape=(6,))
    a, b, c = x[3], x[4], x[5]

    def slope(y: Any) -> Any:
        return pt.stack([a * (y[1] - y[0]), y[0] * (b - y[2]) - y[1], y[0] * y[1] - c * y[2]])

    y, h, trajectory = x[:3], 1e-3, []
    for _ in range(steps):
        k1 = slope(y)
        k2 = slope(y + h / 2 * k1)
        k3 = slope(y + h / 2 * k2)
        k4 = slope(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        trajectory.append(y)
    error = pt.stack(trajectory) - rng.normal(size=(steps, 3))
    return [x], (error**2).sum(), [np.array([1.0, 1.0, 1.0, 10.0, 28.0, 8 / 3])]


def joins(count: int) -> tuple[list[Any], Any, list[np.ndarray]]:
    """A long vector of parts that are computed apart, then indexed part by part."""
    import pytensor.tensor as pt

    rng = np.random.default_rng(3)
    x = pt.vector("x", shape=(count + 1,))
    whole = pt.concatenate([x[i] * rng.normal(size=3 + i % 4) + pt.tanh(x[-1]) for i in range(count)])
    starts = np.cumsum([0, *(3 + i % 4 for i in range(count))])
    parts = [pt.logsumexp(whole[starts[i] : starts[i + 1]]) for i in range(count)]
    return [x], pt.stack(parts).sum(), [rng.normal(size=count + 1)]


def lstm(steps: int) -> tuple[list[Any], Any, list[np.ndarray]]:
    """A recurrent net of 16 cells, its steps written out."""
    import pytensor.tensor as pt

    rng = np.random.default_rng(4)
    cells, width = 16, 8
    size = (width + cells + 1) * 4 * cells
    x = pt.vector("x", shape=(size,))
    weights, bias = x[: -4 * cells].reshape((width + cells, 4 * cells)), x[-4 * cells :]
    inputs = rng.normal(size=(steps, 4, width))
    h, c, total = pt.zeros((4, cells)), pt.zeros((4, cells)), 0.0
    for step in range(steps):
        gates = pt.concatenate([pt.as_tensor(inputs[step]), h], axis=1) @ weights + bias
        i, f, o, g = (gates[:, k * cells : (k + 1) * cells] for k in range(4))
        c = pt.sigmoid(f) * c + pt.sigmoid(i) * pt.tanh(g)
        h = pt.sigmoid(o) * pt.tanh(c)
        total = total + (h**2).mean()
    return [x], total, [0.1 * rng.normal(size=size)]


SHAPES = {
    "potentials": Shape(potentials, 387, 40, by_jax=False),
    "mixture by loops": Shape(mixture, 60, 10, by_jax=False),
    "ODE, unrolled": Shape(ode, 100, 10),
    "joins": Shape(joins, 300, 30),
    "joins, 50,000 ops": Shape(joins, 720, 40, by_jax=False),
    "LSTM, unrolled": Shape(lstm, 60, 10),
}


class Clock:
    """Seconds of each pass, as a watch of a recipe."""

    detailed = False

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()

    def ran(self, spec: str, _bytecode: bytes, seconds: float, _report: Any) -> None:
        """A pass has run."""
        self.seconds[spec.partition("{")[0]] += seconds

    def skipped(self, spec: str) -> None:
        """A pass that has nothing to do."""


def by_pass(graph: Graph, point: Sequence[np.ndarray]) -> tuple[Counter[str], int]:
    """Seconds of each step from a graph to an executable, one after the other, and the ops of what is emitted."""
    import jax

    from hlograph.codegen.passes.registry import resolve
    from hlograph.codegen.recipe import Recipe
    from hlograph.dialects.frontend import emit_graph
    from hlograph.dialects.library import library
    from hlograph.runtime.compile import compile as compiled
    from hlograph.runtime.executables.cpu_plan import CpuPlanner
    from hlograph.runtime.options import CpuOptions

    clock = Clock()

    def timed(name: str, step: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        made = step()
        clock.seconds[name] += time.perf_counter() - start
        return made

    rewritten = timed("rewriting", lambda: library("pytensor").rewrites.apply(*graph, True))
    program = timed("emission", lambda: emit_graph(tuple(rewritten)))
    ops = sum(program.op_counts().values())
    planner = CpuPlanner(CpuOptions(), True, True, tuple(range(len(graph[1]))))
    recipe = Recipe({}, passes=resolve("default")).on("cpu", planner=planner)
    timed("all passes", lambda: recipe.apply(program, clock))
    timed("XLA", jax.jit(compiled(program)).lower(*point).compile)
    return clock.seconds, ops


def run(quick: bool, progress: Callable[[str], None]) -> Report:
    """Every shape: hlograph and PyTensor's JAX mode, and hlograph by pass."""
    import jax
    import pytensor

    import hlograph

    sys.setrecursionlimit(max(sys.getrecursionlimit(), 100_000))  # for gradients and for the JAX mode
    report = Report(TITLE, ("graph", "ops", "PyTensor JAX", "hlograph", "rewriting", "emission", "passes", "XLA",
                            "slowest"))  # fmt: skip
    total: Counter[str] = Counter()
    peers: dict[str, Callable[[Graph], Any]] = {
        "hlograph": lambda graph: hlograph.function(*graph, outputs="numpy"),
        "PyTensor JAX": lambda graph: pytensor.function(*graph, mode="JAX"),
    }
    for peer in peers.values():  # imports
        peer(potentials_of(2)[0])(*potentials_of(2)[1])
    for name, shape in SHAPES.items():
        graph, point = shape.graph(quick)
        first: dict[str, float] = {}
        values = {}
        for peer, compiled in peers.items():
            if peer == "PyTensor JAX" and not shape.by_jax and not quick:
                continue
            progress(f"{name}: {peer}")
            jax.clear_caches()
            start = time.perf_counter()
            values[peer] = [np.asarray(x) for x in compiled(graph)(*point)]
            first[peer] = time.perf_counter() - start
        check_equal(values, 1e-8)
        progress(f"{name}: by pass")
        seconds, ops = by_pass(graph, point)
        whole, xla = seconds.pop("all passes"), seconds.pop("XLA")
        total += seconds
        slow = ", ".join(f"{step} {show(taken, 's')}" for step, taken in seconds.most_common(5))
        cells = [show(first[peer], "s") if peer in first else "-" for peer in reversed(peers)]
        parts = [show(seconds[step], "s") for step in ("rewriting", "emission")]
        report.rows.append((f"{name} ({shape.quick if quick else shape.repeats})", f"{ops:,}", *cells, *parts,
                            show(whole, "s"), show(xla, "s"), slow))  # fmt: skip
        report.data.append({"shape": name, "ops": ops, "first": first, "passes": whole, "xla": xla,
                            "seconds": dict(seconds)})  # fmt: skip
    for step, taken in total.most_common(SLOWEST):
        report.rows.append((f"all: {step}", "-", "-", show(taken, "s"), *"-----"))
    return report


def potentials_of(count: int) -> tuple[Graph, list[np.ndarray]]:
    """A small graph, for what is imported when a first one is compiled."""
    return Shape(potentials, count, count).graph(True)
