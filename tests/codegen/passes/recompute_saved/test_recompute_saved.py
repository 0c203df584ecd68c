"""What loops save for later loops: fewer stacks, the same numbers.

Expected values are those of the program before the pass: bit for bit in the reference interpreter, which computes op by
op; within a few roundings on PJRT, where XLA fuses what it finds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from rewritten_runs import with_less_saved, within_roundings

from hlograph import Program
from hlograph.codegen.ir.values import walk
from hlograph.codegen.passes import recompute_saved, work_into_loops
from hlograph.codegen.passes.registry import ON_LOOPS
from hlograph.passes import Report, ir

STEPS, ROWS, COLUMNS = 5, 2, 3


def lowered(function: Callable[..., Any], *arrays: Any) -> Program:
    with jax.enable_x64(True):
        return Program.parse(jax.jit(function, keep_unused=True).lower(*arrays).as_text())


def check(program: Program, *arrays: Any, pjrt: bool = False) -> tuple[Program, Report]:
    """The program after the passes, which gives the same numbers."""
    before, after, report = with_less_saved(program)
    for a, b in zip(after.interpret(*arrays), before.interpret(*arrays), strict=True):
        np.testing.assert_array_equal(a, b)
    if pjrt:
        results = [p.compile(optimize="none")(*arrays) for p in (after, before)]
        for a, b in zip(*([np.asarray(leaf) for leaf in jax.tree.leaves(result)] for result in results), strict=True):
            assert within_roundings(a, b)
    return after, report


def stacks(program: Program, steps: int = STEPS) -> list[tuple[int, ...]]:
    """The shapes of the arrays along time that loops carry and write."""
    found = []
    module = program.copy_module()  # which must outlive the handles of its operations
    for op in walk(module):
        if op.name == "stablehlo.while":
            for result in op.results:
                shape = tuple(ir.RankedTensorType(result.type).shape)
                if len(shape) > 1 and shape[0] in (steps, steps + 1) and list(result.uses):
                    found.append(shape)
    return found


def arrays_of(dtype: str = "float64", steps: int = STEPS, seed: int = 0) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    shapes = {
        "h": (ROWS, COLUMNS),
        "w": (COLUMNS, 4 * COLUMNS),
        "u": (COLUMNS, 4 * COLUMNS),
        "b": (4 * COLUMNS,),
        "xs": (steps, ROWS, COLUMNS),
        "data": (steps, ROWS, COLUMNS),
    }
    return {name: random.normal(size=shape).astype(dtype) for name, shape in shapes.items()}


def sine(h: Any, x: Any, p: Any) -> Any:
    return jnp.sin(h) * p["b"][:COLUMNS] + jnp.cos(h)


def cheap(h: Any, x: Any, p: Any) -> Any:
    return h * p["b"][:COLUMNS] + 0.1


def rnn(h: Any, x: Any, p: Any) -> Any:
    return jnp.tanh(x @ p["w"][:, :COLUMNS] + h @ p["u"][:, :COLUMNS] + p["b"][:COLUMNS])


def gru(h: Any, x: Any, p: Any) -> Any:
    n = COLUMNS
    gates = jax.nn.sigmoid(x @ p["w"][:, : 2 * n] + h @ p["u"][:, : 2 * n] + p["b"][: 2 * n])
    z, r = gates[:, :n], gates[:, n:]
    c = jnp.tanh(x @ p["w"][:, 2 * n : 3 * n] + (r * h) @ p["u"][:, 2 * n : 3 * n])
    return (1 - z) * h + z * c


def lstm(hc: Any, x: Any, p: Any) -> Any:
    h, c = hc
    i, f, g, o = jnp.split(x @ p["w"] + h @ p["u"] + p["b"], 4, axis=1)
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    return jax.nn.sigmoid(o) * jnp.tanh(c), c


def training(cell: Callable[..., Any]) -> Callable[..., Any]:
    """Value and gradient of the squared error of a scan, with regard to its parameters."""

    def loss(weights: Any, p: Any) -> Any:
        p = {**p, **weights}
        start = (p["h"], p["h"]) if cell is lstm else p["h"]

        def body(h: Any, x: Any) -> Any:
            h = cell(h, x, p)
            return h, h[0] if cell is lstm else h

        ys = lax.scan(body, start, p["xs"])[1]
        return jnp.mean((ys - p["data"]) ** 2)

    return lambda p: jax.value_and_grad(loss)({name: p[name] for name in "bhuw"}, p)


# How many arrays along time the forward loop writes, after. The loss reads `ys`, and it stays.
#   sine: ys; the sine, the cosine.        cheap: ys, from whose rows the carry is read too.       rnn: the same.
#   gru: ys; z and r in one array, c.      lstm: ys; the four gates, the cell and its tanh.
CELLS = {"sine": (sine, 3), "cheap": (cheap, 1), "rnn": (rnn, 1), "gru": (gru, 3), "lstm": (lstm, 7)}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CELLS)
def test_a_training_step(name: str, dtype: str):
    cell, most = CELLS[name]
    p = arrays_of(dtype)
    program = lowered(training(cell), p)
    arrays = jax.tree.leaves(p)
    after, report = check(program, *arrays, pjrt=True)
    assert report.rewritten
    assert len(stacks(after)) == most < len(stacks(with_less_saved(program)[0]))
    again = with_less_saved(after)[2]
    assert not again.rewritten
    assert "stacks that it saves are needed" in again.text or "all that it saves is also used" in again.text


# The same when the loss's sum has moved into the loop too, which leaves no `ys`; rnn, gru and lstm keep their state.
SUNK = {"sine": 2, "cheap": 1, "rnn": 1, "gru": 3, "lstm": 7}


@pytest.mark.parametrize("name", SUNK)
def test_a_training_step_with_its_sum_in_the_loop(name: str):
    p = arrays_of()
    program = lowered(training(CELLS[name][0]), p)
    after = program.optimize(ON_LOOPS)
    assert len(stacks(after)) == SUNK[name]
    before = with_less_saved(program)[0]
    for a, b in zip(after.interpret(*jax.tree.leaves(p)), before.interpret(*jax.tree.leaves(p)), strict=True):
        assert within_roundings(a, b)


@pytest.mark.parametrize(("rows", "most"), [(2, 3), (64, 2)])
def test_an_exponential_costs_less_than_a_stack_that_leaves_the_cache(rows: int, most: int):
    """Kept are the state and the cosine; the exponential where that is cheap."""
    steps, h = 512, np.ones((rows, 256), np.float32)

    def loss(h: Any) -> Any:
        return lax.scan(lambda h, _: (jnp.exp(h) * h + jnp.sin(h), None), h, None, length=steps)[0].sum()

    assert len(stacks(with_less_saved(lowered(jax.grad(loss), h))[1], steps)) == most


def numbered(p: Any) -> Any:
    """What is computed from the step's number is computed again from the later loop's counter."""

    def body(h: Any, i: Any) -> Any:
        scaled = jnp.sin(h) * (i + 1.0) / jnp.where(i < 2, 2.0, 3.0)
        return scaled, scaled * i

    return jnp.sum(lax.scan(body, p["h"], jnp.arange(STEPS))[1] * p["data"])


def dropout(p: Any) -> Any:
    def body(h: Any, key: Any) -> Any:
        keep = jax.random.bernoulli(key, 0.7, h.shape)
        h = jnp.where(keep, jnp.maximum(h @ p["u"][:, :COLUMNS], 0), 0.1 * h)
        return h, h

    keys = jax.random.split(jax.random.wrap_key_data(p["b"][:2].astype(jnp.uint32)), STEPS)
    return jnp.mean((lax.scan(body, p["h"], keys)[1] - p["data"]) ** 2)


def second_derivatives(p: Any) -> Any:
    gradient = jax.grad(lambda h: training(gru)({**p, "h": h})[0])
    return jax.jvp(gradient, (p["h"],), (p["h"],))


def special() -> dict[str, np.ndarray]:
    """NaN and infinities."""
    p = arrays_of("float32")
    p["xs"][1, 0, 0], p["xs"][2, 1, 1], p["data"][0, 0, 1], p["h"][1, 2] = np.nan, np.inf, -np.inf, np.inf
    return p


# Functions of the arrays, and the arrays: numbers stay, whether or not something is saved less. Scans in scans, in both
# directions, unrolled and of few steps: tests/property/test_loops.py.
OTHERS: dict[str, tuple[Callable[..., Any], dict[str, np.ndarray]]] = {
    **{f"special values, {cell.__name__}": (training(cell), special()) for cell in (sine, gru)},
    "the number of the step": (jax.value_and_grad(numbered), arrays_of()),
    "masks and dropout": (jax.value_and_grad(dropout), arrays_of()),
    "derivatives of derivatives": (second_derivatives, arrays_of(steps=3)),
    "rematerialized": (training(jax.checkpoint(gru)), arrays_of()),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_loops(name: str):
    function, p = OTHERS[name]
    _, report = check(lowered(function, p), *jax.tree.leaves(p), pjrt=name == "masks and dropout")
    assert report.rewritten or name != "the number of the step"


def test_two_later_loops():
    """Two pullbacks read the same stacks: those stay."""
    p = arrays_of()

    def both(h: Any, a: Any, b: Any) -> Any:
        _, pull = jax.vjp(lambda h: lax.scan(lambda h, x: (gru(h, x, p),) * 2, h, p["xs"])[1], h)
        return pull(a), pull(2 * b)

    _, report = check(lowered(both, p["h"], p["data"], p["xs"]), p["h"], p["data"], p["xs"])
    assert "also used in another way than row by row in one later loop" in report.text


def two_loops(place: Callable[[Any], Any], **numbers: int) -> Program:
    """A loop that writes rows, and one from `begin` on that reads them."""
    first, step, end = (np.int32(numbers[name]) for name in ("first", "step", "end"))
    begin, down, stop, scale = (np.int64(numbers[name]) for name in ("begin", "down", "stop", "scale"))

    def function(h0: Any, w: Any) -> Any:
        def forward(state: Any) -> Any:
            i, h, sines, scaled = state
            at, sine = (place(i - first), np.int32(0)), jnp.sin(h)
            product = sine * i.astype("float64")
            rows = [
                lax.dynamic_update_slice(stack, row, at, allow_negative_indices=False)
                for stack, row in ((sines, sine), (scaled, product))
            ]
            return i + step, product + w, *rows

        zeros = jnp.zeros((5, 4))
        _, _, *stacks = lax.while_loop(lambda state: state[0] < end, forward, (first, h0, zeros, zeros))

        def back(state: Any) -> Any:
            j, g = state
            at = (begin - j) * scale, np.int64(0)
            sine, scaled = (lax.dynamic_slice(x, at, (1, 4), allow_negative_indices=False) for x in stacks)
            return j + down, g * sine + scaled

        return lax.while_loop(lambda state: state[0] > stop, back, (begin, h0))[1]

    return lowered(function, *np.ones((2, 1, 4)))


def forward(a: Any) -> Any:
    return a


def backward(a: Any) -> Any:
    return np.int32(4) - a


def halved(a: Any) -> Any:
    return lax.div(a, np.int32(2))


@pytest.mark.parametrize(
    ("numbers", "place", "understood"),
    [
        ({"first": 7, "step": 1, "end": 12, "begin": 10, "down": -1, "stop": 5, "scale": 1}, forward, True),
        ({"first": 7, "step": 1, "end": 12, "begin": 10, "down": -2, "stop": 7, "scale": 1}, forward, True),  # 0, 2
        ({"first": 7, "step": 1, "end": 12, "begin": 10, "down": -1, "stop": 5, "scale": 1}, backward, True),
        ({"first": 3, "step": 2, "end": 12, "begin": 10, "down": -1, "stop": 5, "scale": 1}, halved, True),
        ({"first": 3, "step": 2, "end": 12, "begin": 9, "down": -3, "stop": 0, "scale": 1}, halved, False),
    ],
    ids=[
        "shifted counters",
        "every other row",
        "from the end",
        "counter by 2",
        "counter by 2, rows that there are not",
    ],
)
def test_counters(numbers: dict[str, int], place: Callable[[Any], Any], understood: bool):
    """Other counters than JAX's."""
    program = two_loops(place, **numbers)
    random = np.random.default_rng(1)
    after, report = check(program, random.normal(size=(1, 4)), random.normal(size=(1, 4)))
    assert len(stacks(after)) == (1 if understood else 2)
    assert bool(report.rewritten) == understood


def test_what_does_not_match_stays():
    """The text is the same, and the reason is said."""
    numbers = {"first": 7, "step": 1, "end": 12, "begin": 10, "down": -1, "stop": 5, "scale": 1}
    module = two_loops(lambda a: lax.min(a, np.int32(2)), **numbers).copy_module()
    text, report = str(module), Report("recompute_saved", True)
    work_into_loops.run(module, report)
    recompute_saved.run(module, report, reassociate=False)
    assert str(module) == text
    assert [note.reason for note in report.notes] == ["no later loop reads row by row what it saves"]
