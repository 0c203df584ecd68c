"""Random Scans: loops with sequences, states and bodies of many kinds, what is read of them, and their gradients.

A recipe's steps are of the kinds "loop" (at most one), "sequence", "state", "read", and the body's ops; each has
numbers that choose among what is possible at its place, so that a recipe with less in it is a program too.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.scan.utils import until

from .programs.recipes import Choices, Recipe

STEPS = 7  # of loops whose length is a constant, at most
ROOTS = {"X": ("n", "k"), "x": ("n",), "Z": ("n", "k", "k"), "w": ("k",), "W": ("k", "k"), "V": ("n", "k")}
Body = dict[str, tuple[int, Callable[["_Body", Choices], Any]]]
BODY: Body = {}


@dataclass
class Scans:
    """A program to test.

    Attributes:
        inputs: variables, whose names `values` takes.
        outputs: what is read of the loop, then gradients.
        dims: names of the inputs' sizes; `=2` is one that is 2.
    """

    inputs: list[Any]
    outputs: list[Any]
    dims: dict[str, tuple[str, ...]]

    def names(self) -> dict[str, tuple[str | None, ...]]:
        """What `dims=` takes."""
        return {x: tuple(None if name[0] == "=" else name for name in names) for x, names in self.dims.items()}

    def values(self, seed: int, n: int, k: int, count: int) -> list[np.ndarray]:
        """One array for each input: sequences of n rows of k columns, and so many steps."""
        rng = np.random.default_rng([seed, n, k, count])
        sizes = {"n": n, "k": k}
        found = []
        for x in self.inputs:
            if x.name == "count":
                found.append(np.array(count))
            else:
                shape = tuple(sizes[d] if d in sizes else int(d[1:]) for d in self.dims[x.name])
                found.append(rng.uniform(-1, 1, shape).astype(x.type.dtype))
        return found


def random_recipe(seed: int) -> Recipe:
    """The recipe of a seed."""
    source = random.Random(seed)

    def some(kind: str, count: int) -> list[tuple[str, tuple[int, ...]]]:
        return [(kind, tuple(source.randrange(5040) for _ in range(10))) for _ in range(count)]

    weights = [weight for weight, _ in BODY.values()]
    body = [step for kind in source.choices(list(BODY), weights, k=source.randint(1, 7)) for step in some(kind, 1)]
    parts = [*some("loop", 1), *some("sequence", source.randint(0, 3)), *some("state", source.randint(0, 3))]
    return Recipe(seed, (), (*parts, *body, *some("read", source.randint(1, 4))))


def _body(name: str, weight: int = 1) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        BODY[name] = weight, function
        return function

    return register


class _Body:
    """Values of one step, from which ops take some."""

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = list(values)

    def pick(self, c: Choices, *ranks: int) -> Any:
        """A real value of one of some ranks; the latest are the likeliest."""
        fitting = [x for x in reversed(self.values) if x.dtype == "float64" and (not ranks or x.ndim in ranks)]
        return fitting[min(c.below(len(fitting)), c.below(len(fitting)))] if fitting else None

    def other(self, c: Choices, rank: int) -> Any:
        """A value of a rank, made of another one if there is none."""
        found = self.pick(c, rank)
        if found is not None:
            return found
        w = self.pick(c, 1)
        return w.sum() if rank == 0 else pt.outer(w, w)


UNARY: list[Callable[[Any], Any]] = [
    pt.tanh,
    pt.sin,
    pt.sigmoid,
    lambda x: 0.7 * x + 0.1,
    lambda x: pt.exp(-(x**2)),
    lambda x: pt.sqrt(1 + x**2) / 2,
    lambda x: x[::-1] if x.ndim else -x,
    lambda x: pt.concatenate([x[1:], x[:1]]) if x.ndim else x / 2,
    lambda x: pt.cumsum(x, axis=0) / x.shape[0] if x.ndim else x,
    lambda x: pt.clip(x, -0.4, 0.6),
]
BINARY: list[Callable[[Any, Any], Any]] = [
    lambda a, b: (a + b) / 2,
    lambda a, b: a - b,
    lambda a, b: a * b,
    pt.maximum,
    lambda a, b: pt.where(a < b, a, b * 0.5),
    lambda a, b: a / (1 + b**2),
    lambda a, b: pt.switch(b > 0, pt.log1p(a**2), a),
]


@_body("unary", weight=4)
def _unary(body: _Body, c: Choices) -> Any:
    return c.pick(UNARY)(body.pick(c))


@_body("binary", weight=5)
def _binary(body: _Body, c: Choices) -> Any:
    return c.pick(BINARY)(body.pick(c), body.pick(c))


@_body("dot", weight=2)
def _dot(body: _Body, c: Choices) -> Any:
    a, b = body.other(c, c.pick([2, 1, 2])), body.other(c, c.pick([1, 2]))
    return pt.tanh(a @ b)


@_body("reduce", weight=2)
def _reduce(body: _Body, c: Choices) -> Any:
    x = body.other(c, c.pick([1, 2]))
    return c.pick([pt.sum, pt.mean, pt.max, pt.prod])(x, axis=c.below(x.ndim))


@_body("outer")
def _outer(body: _Body, c: Choices) -> Any:
    return pt.outer(body.other(c, 1), body.other(c, 1))


@_body("element")
def _element(body: _Body, c: Choices) -> Any:
    x = body.other(c, c.pick([1, 2]))
    return x[c.pick([0, -1])]


@_body("picked")
def _picked(body: _Body, c: Choices) -> Any:
    """An element at a place that is computed."""
    x = body.other(c, c.pick([1, 2]))
    counts = [value for value in body.values if value.dtype == "int64" and value.ndim == 0]
    place = counts[c.below(len(counts))] if counts else pt.cast(body.other(c, 0) * 5, "int64")
    return x[place % x.shape[0]]


@_body("replaced")
def _replaced(body: _Body, c: Choices) -> Any:
    x = body.other(c, c.pick([1, 2]))
    place = c.pick([0, -1, slice(1, None), slice(None, None, 2)])
    rows = x[place]
    return c.pick([pt.set_subtensor, pt.inc_subtensor])(rows, body.other(c, 0))


@_body("nested")
def _nested(body: _Body, c: Choices) -> Any:
    """A loop over the rows of a value."""
    x, start, factor = body.other(c, c.pick([1, 2])), body.other(c, 0), body.other(c, 0)
    if x.ndim == 2:
        start = x[0]
    rows = pytensor.scan(
        lambda e, s, f: pt.tanh(e + f * s),
        sequences=x,
        outputs_info=start,
        non_sequences=factor,
        go_backwards=bool(c.below(2)),
        return_updates=False,
    )
    return c.pick([rows[-1], rows[-1], rows.sum(0)])


STATE_TAPS = [[-1], [-1], [-1], [-1, -2], [-2], [-1, -3], [-6, -1], [-2, -5]]
SEQUENCE_TAPS = [[0], [0], [0], [0, 1], [-1, 0], [-1, 1], [-2, 0]]
READS: list[Callable[[Any], Any]] = [
    lambda t: t,
    lambda t: t[-1],
    lambda t: t[-2:],
    lambda t: t[1:],
    lambda t: t[2:],
    lambda t: t[::2],
    lambda t: t[:-1],
    lambda t: t[:3],
    lambda t: t[::-1],
    lambda t: t.sum(0),
    lambda t: pt.cumsum(t, 0)[-2:],
    lambda t: t[0],
    lambda t: t[-3:-1] * 2,
]


class _Loop:
    """The parts of a recipe, and the loop of them."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        numbers = {"loop": (), **dict(recipe.steps)}["loop"]
        self.c = Choices(numbers)
        self.inputs = {"w": pt.dvector("w"), "W": pt.dmatrix("W")}
        self.dims: dict[str, tuple[str, ...]] = {"w": ROOTS["w"], "W": ROOTS["W"]}
        self.sequences = [self._sequence(Choices(numbers)) for kind, numbers in recipe.steps if kind == "sequence"]
        self.kinds: list[str] = []
        self.states = [self._state(Choices(numbers)) for kind, numbers in recipe.steps if kind == "state"]
        self.body = [(BODY[kind][1], numbers) for kind, numbers in recipe.steps if kind in BODY]

    def _sequence(self, c: Choices) -> dict[str, Any]:
        name = c.pick(["X", "x", "V", "i", "Z"])
        taps = c.pick(SEQUENCE_TAPS)
        if name == "i":  # places in another argument
            return {"input": pt.arange(self._argument("x", ROOTS["x"]).shape[0]), "taps": taps}
        return {"input": self._argument(name, ROOTS[name]), "taps": taps}

    def _argument(self, name: str, dims: tuple[str, ...]) -> Any:
        if name not in self.inputs:
            self.inputs[name] = pt.tensor(name, shape=(None,) * len(dims), dtype="float64")
            self.dims[name] = dims
        return self.inputs[name]

    def _state(self, c: Choices) -> dict[str, Any]:
        """A state's start; int64 counts and flags are carried too."""
        rank, taps, dtype = c.pick([1, 0, 2, 1]), c.pick(STATE_TAPS), c.pick(["float64"] * 5 + ["int64", "bool"])
        depth = 0 if taps == [-1] else -min(taps)
        if dtype != "float64":
            self.kinds.append(dtype)
            return {"initial": pt.zeros((depth,) if depth else (), dtype), "taps": taps}
        self.kinds.append(f"{rank}")
        sizes = ("k",) * rank
        if c.below(4) == 3:
            k = self.inputs["w"].shape[0]
            return {"initial": pt.zeros(((depth,) if depth else ()) + (k,) * rank, "float64"), "taps": taps}
        rows = (f"={depth}",) if depth else ()
        return {"initial": self._argument(f"start{len(self.kinds)}", rows + sizes), "taps": taps}

    def _step(self, *values: Any) -> Any:
        body = _Body(values)
        for op, numbers in self.body:
            body.values.append(op(body, Choices(numbers)))
        c = Choices(dict(self.recipe.steps).get("loop", ())[5:])
        following = [self._next(body, kind, c) for kind in self.kinds]
        others = body.values[len(values) :][-self.others :] if self.others else []
        if self.ends:
            return [*following, *others], until(pt.abs(body.other(c, 0)) > c.pick([0.6, 0.2, 0.9]))
        return [*following, *others]

    def _next(self, body: _Body, kind: str, c: Choices) -> Any:
        """A state for the next step: of its rank, and never large."""
        if kind == "int64":
            same = [x for x in body.values if x.dtype == kind and x.ndim == 0]
            return same[c.below(len(same))] + pt.cast(body.other(c, 0) > 0, "int64") * 2
        if kind == "bool":
            return body.other(c, 0) > 0.1
        value = pt.tanh(body.other(c, int(kind)))
        if kind == "0":
            return value
        w = self.inputs["w"]  # so that the shape is known where a value's is not
        return value * pt.ones_like(w if kind == "1" else pt.outer(w, w))

    def traces(self) -> list[Any]:
        """The loop's traces."""
        c = self.c
        count = pt.lscalar("count")
        lengths: list[Any] = [c.pick([2, 1, 0, STEPS, 5]), count]
        steps = c.pick([None, None, None, *lengths] if self.sequences else lengths)
        if steps is count:
            self.inputs["count"] = count
        self.ends = c.one_in(5)
        backwards = c.one_in(3)
        self.others = min(c.below(3), len(self.body))
        if not self.states and not self.others:
            self.others = 1
        if not self.body:
            self.body, self.others = [(BODY["unary"][1], ())], max(self.others, 1)
        info = [{**state} for state in self.states] + [None] * self.others
        found = pytensor.scan(
            self._step,
            sequences=[{**sequence} for sequence in self.sequences],
            outputs_info=info,
            non_sequences=[self.inputs["w"], self.inputs["W"]],
            n_steps=steps,
            go_backwards=backwards,
            name="random",
            return_updates=False,
        )
        return list(found) if isinstance(found, list | tuple) else [found]


def build(recipe: Recipe) -> Scans:
    """The program of a recipe."""
    loop = _Loop(recipe)
    traces = loop.traces()
    reads = [Choices(numbers) for kind, numbers in recipe.steps if kind == "read"] or [Choices(())]
    outputs = []
    for c in reads:
        trace, read = c.pick(traces), c.pick(READS)
        outputs.append(trace if trace.dtype == "bool" else read(trace))
    inputs = list(loop.inputs.values())
    smooth = [x for x in inputs if x.dtype == "float64"]
    losses = [(x * pt.cos(1 + x)).sum() for x in outputs if x.dtype == "float64"]
    if losses and not loop.c.one_in(4):
        loss = sum(losses[1:], losses[0])
        outputs += pytensor.grad(loss, smooth, disconnected_inputs="ignore", return_disconnected="zero")
    return Scans(inputs, outputs, loop.dims)
