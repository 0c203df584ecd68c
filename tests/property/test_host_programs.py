"""Random graphs with ops that nothing lowers: the program calls them, and agrees with PyTensor's Python.

The ops have several operands and results, sizes of their own or none that are known, and gradients where they are
differentiable; they stand in the graph, in steps of a Scan and in branches, one behind the other or with compiled ops
between. Programs run exact, padded, in a batch, and call each op as often as PyTensor does.

`make test` runs the same few graphs each time; more, or others:

    HLOGRAPH_SEED=123 HLOGRAPH_PROGRAMS=50 .venv/bin/pytest tests/property/test_host_programs.py
"""

import os
import random
from collections import Counter
from typing import Any

import jax
import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import Mode
from pytensor.gradient import DisconnectedType
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op

import hlograph

try:
    from pytensor.conditional.op import ifelse
except ImportError:  # before PyTensor 3.3
    from pytensor.ifelse import ifelse

FIRST = int(os.environ.get("HLOGRAPH_SEED", "0"))
PROGRAMS = int(os.environ.get("HLOGRAPH_PROGRAMS", "60" if "HLOGRAPH_NIGHTLY" in os.environ else "2"))
PYTHON = Mode("vm", None)
CALLS: Counter[str] = Counter()
X, Y, K = pt.dvector("x"), pt.dvector("y"), pt.dscalar("k")


class Unlowered(Op):
    """An op of the test's own: counts its calls."""

    __props__ = ()

    def perform(self, node: Any, inputs: Any, outputs: Any) -> None:
        CALLS[type(self).__name__] += 1
        results = self.compute(*inputs)
        for storage, x, result in zip(outputs, node.outputs, results, strict=True):
            storage[0] = np.asarray(result, x.type.dtype)

    def grad(self, inputs: Any, cotangents: Any) -> Any:  # its name before PyTensor 3
        return self.pullback(inputs, None, cotangents)


class Sheared(Unlowered):
    """Two vectors and a scalar to two vectors."""

    def make_node(self, x: Any, y: Any, k: Any) -> Apply:
        return Apply(self, [x, y, k], [pt.dvector(), pt.dvector()])

    def compute(self, x: Any, y: Any, k: Any) -> Any:
        return x + k * y, k * x

    def infer_shape(self, *given: Any) -> Any:
        return [given[-1][0]] * 2

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> Any:
        x, y, k = inputs
        first, second = (pt.zeros_like(x) if isinstance(g.type, DisconnectedType) else g for g in cotangents)
        return [first + k * second, k * first, (first * y).sum() + (second * x).sum()]


class Turned(Unlowered):
    """A vector backwards: linear, and its own transpose."""

    def make_node(self, x: Any) -> Apply:
        return Apply(self, [x], [pt.dvector()])

    def compute(self, x: Any) -> Any:
        return [x[::-1] * 0.5]

    def infer_shape(self, *given: Any) -> Any:
        return given[-1]

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> Any:
        return [Turned()(cotangents[0])]


class Measured(Unlowered):
    """A vector to a scalar and to an integer; its type says the sizes."""

    def make_node(self, x: Any) -> Apply:
        return Apply(self, [x], [pt.dscalar(), pt.lscalar()])

    def compute(self, x: Any) -> Any:
        return x.sum() / (x.size + 1), x.size

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> Any:
        (x,), (mean, _) = inputs, cotangents
        return [pt.zeros_like(x) if isinstance(mean.type, DisconnectedType) else pt.full_like(x, mean) / (x.size + 1)]


class Positive(Unlowered):
    """The positive elements: nobody knows before how many there are."""

    def make_node(self, x: Any) -> Apply:
        return Apply(self, [x], [pt.dvector()])

    def compute(self, x: Any) -> Any:
        return [x[x > 0]]


class Graph:
    """A random graph: vectors of one size and scalars, of which steps make others."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.vectors: list[Any] = [X, Y]
        self.scalars: list[Any] = [K]
        self.smooth = {X, Y, K}
        steps = [self.shear, self.turn, self.measure, self.filter, self.compile, self.loop, self.branch]
        for step in [self.shear, *self.rng.choices(steps, (4, 3, 2, 1, 4, 1, 1), k=7), self.turn]:
            step()
        self.outputs = [*self.vectors[-2:], self.scalars[-1]]
        smooth = [x for x in self.vectors[2:] if x in self.smooth]
        self.outputs += pytensor.grad(sum((x**2).sum() for x in smooth[-2:]), [X, K], disconnected_inputs="ignore")

    def vector(self) -> Any:
        """One of the last, more often than not."""
        return self.rng.choice([*self.vectors, *self.vectors[-2:] * 2])

    def made(self, results: list[Any], of: list[Any]) -> None:
        """Takes new values up."""
        for x in results:
            (self.vectors if x.ndim else self.scalars).append(x)
        if all(x in self.smooth for x in of):
            self.smooth |= {x for x in results if x.dtype == "float64"}

    def shear(self) -> None:
        given = [self.vector(), self.vector(), self.rng.choice(self.scalars)]
        self.made(Sheared()(*given[:2], given[2].astype("float64")), given)

    def turn(self) -> None:
        x = self.vector()
        self.made([Turned()(x)], [x])

    def measure(self) -> None:
        x = self.vector()
        mean, count = Measured()(x)
        self.made([pt.tanh(mean), count], [x])

    def filter(self) -> None:
        self.made([Measured()(Positive()(self.vector()))[0]], [pt.dscalar()])

    def compile(self) -> None:
        x, y = self.vector(), self.vector()
        self.made([self.rng.choice([pt.sin(x), x * y, pt.tanh(x + y), x - K])], [x, y])

    def loop(self) -> None:
        start = self.vector()

        def step(x: Any, state: Any) -> Any:
            sheared, scaled = Sheared()(state, start, x)
            return pt.tanh(Turned()(sheared) + scaled)

        states = pytensor.scan(
            step, sequences=self.rng.choice([X, X[:3], Y[:0]]), outputs_info=start, return_updates=False
        )
        self.made([states.sum(0) + start], [start])

    def branch(self) -> None:
        x, y = self.vector(), self.vector()
        chosen = ifelse(pt.gt(self.rng.choice(self.scalars), 0.2), Turned()(Turned()(x)), Sheared()(x, y, K)[0])
        self.made([chosen], [x, y])


@pytest.mark.parametrize("seed", range(FIRST, FIRST + PROGRAMS))
def test_random_graphs(seed: int) -> None:
    graph = Graph(seed)
    inputs, rng = [X, Y, K], np.random.default_rng(seed)
    reference = pytensor.function(inputs, graph.outputs, mode=PYTHON, on_unused_input="ignore")
    options = {"on_unsupported": "host", "dims": {"x": ("n",), "y": ("n",)}}
    ours = [hlograph.function(inputs, graph.outputs, policy=policy, **options) for policy in ("exact", "padded")]
    batch = []
    for size in (4, 1, 0, 4):
        values = rng.normal(size=size), rng.normal(size=size), rng.normal()
        CALLS.clear()
        expected, counted = reference(*values), CALLS.copy()
        for fn in ours:
            CALLS.clear()
            found = fn(*values)
            assert counted == CALLS
            for got, wanted in zip(found, expected, strict=True):
                np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-12)
        batch += [(values, expected)] * (size == 4)
    with jax.enable_x64(True):
        mapped = jax.vmap(ours[0])(*map(np.stack, zip(*[values for values, _ in batch], strict=True)))
    for got, *wanted in zip(mapped, *[expected for _, expected in batch], strict=True):
        np.testing.assert_allclose(got, np.stack(wanted), rtol=1e-9, atol=1e-12)
