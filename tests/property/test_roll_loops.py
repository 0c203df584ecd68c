"""Random unrolled loops: rolled up, they give what they gave before, in the reference interpreter.

A program is a block of random ops, traced once per repetition: with values carried over one or more repetitions,
slices and constants that depend on the repetition, results that are collected in several ways, and a second loop that
goes through what the first one saved backwards. In half of the programs one repetition differs from the others.
"""

import os
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax

import hlograph

PROGRAMS = int(os.environ.get("HLOGRAPH_PROGRAMS", "25"))
VECTOR = 3
UNARY = (lax.sin, lax.cos, lax.tanh, lax.neg, lax.logistic, lax.abs)
BINARY = (lax.add, lax.sub, lax.mul, lax.max, lax.min)
KINDS = ("unary", "binary", "binary", "read", "constant", "argument", "move", "dot", "integer")
WAYS = ("join", "pads", "update", "sum", "one", "max")


class Block:
    """The random choices of a program; those of the block are the same for all repetitions."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.steps = int(rng.integers(8, 25))
        self.length = 2 * self.steps + 6
        self.shapes = [(VECTOR,) * int(rng.integers(2)) for _ in range(rng.integers(1, 4))]
        self.lags = [int(rng.integers(1, 4)) for _ in self.shapes]
        self.ops = [
            (str(rng.choice(KINDS)), *map(int, rng.integers(0, 1 << 30, 4))) for _ in range(rng.integers(8, 16))
        ]
        self.odd = int(rng.integers(self.steps)) if rng.integers(2) else -1
        self.oddity = str(rng.choice(["op", "constant", "place", "extra"]))
        order = rng.permutation(self.length) if rng.integers(6) == 0 else np.arange(self.length)
        stride = int(rng.integers(1, 3)) * (-1 if rng.integers(2) else 1)
        begin = 2 if stride > 0 else self.length - 3
        self.places = [int(order[begin + stride * step]) for step in range(self.steps)]
        self.table = rng.standard_normal(self.steps) if rng.integers(2) else np.full(self.steps, 0.5)
        self.ways = [str(way) for way in rng.choice(WAYS, size=2)]
        self.backwards = bool(rng.integers(3))

    def repetition(self, step: int, known: list[Any], given: tuple[Any, ...], strange: str) -> list[Any]:
        """The values of a repetition; what is strange about it, if anything."""
        items, rows, fixed, _, matrix = given
        known = list(known)
        for kind, a, b, c, d in self.ops:
            first, second = known[-1 - a % min(5, len(known))], known[b % len(known)]
            if kind == "unary":
                known.append(lax.floor(first) if strange == "op" else UNARY[c % len(UNARY)](first))
            elif kind == "binary":
                shape = first.shape or second.shape
                known.append(BINARY[c % len(BINARY)](fit(first, shape), fit(second, shape)))
            elif kind == "read":
                place = min(self.places[step] + (strange == "place"), self.length - 1)
                known.append(lax.index_in_dim(rows if d % 2 else items, place, keepdims=False))
            elif kind == "constant":
                known.append(fit(jnp.float32(self.table[step] + (strange == "constant")), first.shape))
            elif kind == "argument":
                known.append(fixed)
            elif kind == "integer":
                known.append(lax.sin(jnp.float32(7 - 3 * step)))
            elif kind == "move" and first.shape:
                low, high = ((0, 1), (1, 0))[c % 2]
                known.append(lax.pad(first[high : VECTOR - low], jnp.float32(0), [(low, high, 0)]))
            elif kind == "dot" and first.shape:
                known.append(lax.dot(first, matrix))
        return [*known, lax.cos(known[-1])] if strange == "extra" else known

    def carry(self, carries: list[list[Any]], known: list[Any]) -> None:
        for number, (history, shape) in enumerate(zip(carries, self.shapes, strict=True)):
            history.append(lax.tanh(fit(known[-1 - number % len(known)], shape)))

    def collect(self, way: str, step: int, before: Any, one: Any) -> Any:
        """What there is of the results so far, with that of one more repetition, as an array of one element."""
        place, item = self.places[step], lax.reshape(one, ())
        if way == "join":
            return [*before, one]
        if way == "pads":
            return before + lax.pad(one, jnp.float32(0), [(place, self.length - 1 - place, 0)])
        if way == "update":
            return lax.dynamic_update_slice(before, one, (place,))
        if way == "one":
            return item if step == self.steps // 2 else before
        return before + item if way == "sum" else lax.max(before, item)

    def function(self, *given: Any) -> list[Any]:
        """The program."""
        items, _, fixed, start, _ = given
        carries = [[start if shape else fixed] * lag for shape, lag in zip(self.shapes, self.lags, strict=True)]
        begin = [list(history) for history in carries]
        zeros = lax.broadcast(jnp.float32(0), (self.length,))
        collected: dict[str, Any] = {"pads": zeros, "update": items, "sum": fixed, "max": fixed, "join": []}
        ways, saved = sorted(set(self.ways)), []
        for step in range(self.steps):
            latest = [history[-lag] for history, lag in zip(carries, self.lags, strict=True)]
            known = self.repetition(step, latest, given, self.oddity if step == self.odd else "")
            self.carry(carries, known)
            one = lax.reshape(fit(known[-1], ()), (1,))
            for way in ways:
                collected[way] = self.collect(way, step, collected.get(way), one)
            saved.append([known[index % len(known)] for index in (-1, 3, 5)])
        results = [lax.concatenate(collected[way], 0) if way == "join" else collected[way] for way in ways]
        if self.backwards:
            carries = begin
            for step in reversed(range(self.steps)):
                latest = [history[-lag] for history, lag in zip(carries, self.lags, strict=True)]
                self.carry(carries, self.repetition(step, [*latest, *saved[step]], given, ""))
        return [*results, *(history[-1] for history in carries)]


def fit(x: Any, shape: tuple[int, ...]) -> Any:
    """A number as a vector, or a vector's sum."""
    if x.shape == shape:
        return x
    return lax.broadcast(x, shape) if shape else lax.reduce(x, jnp.float32(0), lax.add, (0,))


def program(seed: int) -> tuple[hlograph.Program, list[np.ndarray]]:
    """A program and its arguments."""
    rng = np.random.default_rng(seed)
    block = Block(rng)
    shapes = (block.length,), (block.length, VECTOR), (), (VECTOR,), (VECTOR, VECTOR)
    arrays = [np.asarray(rng.standard_normal(shape), np.float32) for shape in shapes]
    text = jax.jit(block.function, keep_unused=True).lower(*arrays).as_text()
    return hlograph.Program.parse(text), arrays


@pytest.fixture(autouse=True, scope="module")
def small_programs_roll_up_too() -> Iterator[None]:
    """The cost rule is for programs of other sizes."""
    limits = {"find.REPEATS": 4, "find.SAVED": 6, "plan.LOOP": 0, "plan.REDUCE": 0, "plan.SINGLE": 0}
    with pytest.MonkeyPatch.context() as patch:
        for name, number in limits.items():
            patch.setattr(f"hlograph.codegen.passes.roll_loops.{name}", number)
        yield


@settings(max_examples=PROGRAMS, derandomize=PROGRAMS == 25)
@given(st.integers(0, 1 << 40), st.booleans())
def test_rolled_up_programs_give_what_they_gave(seed: int, exact: bool) -> None:
    """Bit for bit in the interpreter where rounding must stay, and close to it where it may change."""
    before, arrays = program(seed)
    after = before.optimize(["roll_loops{reassociate=false}" if exact else "roll_loops"])
    for expected, found in zip(before.interpret(*arrays), after.interpret(*arrays), strict=True):
        if exact:
            np.testing.assert_array_equal(found, expected)
        else:
            np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)


def test_most_of_them_do_roll_up() -> None:
    """The programs above are of use only where the pass does something."""
    rolled = 0
    for number in range(10):
        before, _ = program(number)
        rolled += 2 * sum(before.optimize(["roll_loops"]).op_counts().values()) < sum(before.op_counts().values())
    assert rolled >= 6
