"""Reductions of what a loop stacks: they move into the loop, the stack goes, the numbers stay.

Expected values are those of the program before the pass, from the reference interpreter and from XLA. Sums may be in
another order: 1e-5 relative to float32's largest element. Choices, logic and integers must be equal bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from rewritten_runs import stacks

from hlograph import Program
from hlograph.codegen.ir.values import walk
from hlograph.codegen.passes.registry import exact
from hlograph.passes import Report

STEPS = 6
STATE = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
DATA = np.random.default_rng(0).normal(size=(STEPS, 2, 3)).astype(np.float32)


def stacked(h: Any, steps: int = STEPS, **options: Any) -> Any:
    """The states of a loop."""

    def step(h: Any, _: Any) -> tuple[Any, Any]:
        h = jnp.tanh(h) * 1.5 + 0.1
        return h, h

    return lax.scan(step, h, None, length=steps, **options)[1]


def sums(xs: Any, reverse: bool = False) -> Any:
    """A loop that stacks what it reads, so that data decides what is stacked."""
    return lax.scan(lambda c, x: (c + 1, x + 0 * c), jnp.float32(0), xs, reverse=reverse)[1]


def lowered(function: Callable[..., Any], *arrays: Any) -> Program:
    return Program.parse(jax.jit(function, keep_unused=True).lower(*arrays).as_text())


def carried(program: Program) -> list[tuple[int, ...]]:
    """The shapes of what the program's loops carry."""
    module = program.copy_module()  # which must outlive the handles of its operations
    loops = [op for op in walk(module) if op.name == "stablehlo.while"]
    return [tuple(result.type.shape) for op in loops for result in op.results]


def sunk(program: Program, keeps_bits: bool = False) -> tuple[Program, Report]:
    reports: list[Report] = []
    passes = ["loop_writes", "sink_reductions"]
    found = program.optimize(exact(passes) if keeps_bits else passes, reports=reports)
    return found, reports[1]


def compare(before: Program, after: Program, *arrays: Any, exact: bool = False, interpret: bool = True) -> None:
    runs = [[np.asarray(x) for x in jax.tree.leaves(p.compile(optimize="none")(*arrays))] for p in (before, after)]
    if interpret:
        runs += [list(p.optimize(["inline"]).interpret(*arrays)) for p in (before, after)]
    for found in runs[1:]:
        for a, b in zip(runs[0], found, strict=True):
            if exact or a.dtype.kind != "f":
                np.testing.assert_array_equal(b, a)
            else:
                largest = np.max(np.abs(np.where(np.isfinite(a), a, 0)), initial=1.0)
                np.testing.assert_allclose(b, a, rtol=1e-5, atol=1e-5 * largest)


def softmax_sum(y: Any) -> Any:
    return jnp.exp(y - y.max(0)).sum(0)


def spread(x: Any, y: Any) -> Any:
    """A result of a reduction over time, for every step."""
    return lax.broadcast_in_dim(x, y.shape, tuple(range(1, y.ndim)))


def variance_spread_first(y: Any) -> Any:
    return ((y - spread(y.sum(0), y) / y.shape[0]) ** 2).sum(0)


def softmax_sum_spread_first(y: Any) -> Any:
    return jnp.exp(y - jnp.maximum(spread(y.max(0), y), -jnp.inf)).sum(0)


def written(h: Any, place: Callable[[Any], Any] = lambda i: i) -> Any:
    """The states of a loop that writes them by index."""

    def step(i: Any, state: tuple[Any, Any]) -> tuple[Any, Any]:
        h, ys = state
        h = jnp.tanh(h) * 1.5 + 0.1
        return h, ys.at[place(i)].set(h)

    return lax.fori_loop(0, STEPS, step, (h, jnp.zeros((STEPS, *h.shape), h.dtype)))[1]


# Those that lengths with names do not change are in test_live.py, which runs them with known lengths too.
SUNK: dict[str, Callable[[Any, Any], Any]] = {
    "sum from another start": lambda h, d: lax.reduce(stacked(h), np.float32(2), lax.add, [0]),
    "data computed after the loop": lambda h, d: (lambda y: (y - jnp.exp(d) * 2).sum(0))(stacked(h)),
    "merged with an inner axis": lambda h, d: stacked(h).reshape(-1, 3).max(0),
    "padded and sliced": lambda h, d: jnp.pad(stacked(h), ((0, 0), (1, 0), (0, 2)))[:, 1:].sum(0),
    "concatenated along another axis": lambda h, d: jnp.concatenate([stacked(h), d], 1).sum(0),
    "a dot with weights": lambda h, d: jnp.tanh(stacked(h) @ d[0].T).sum(0),
    "unrolled": lambda h, d: ((stacked(h, unroll=3) - d) ** 2).sum(),
    "unrolled and reversed": lambda h, d: ((stacked(h, unroll=2, reverse=True) - d) ** 2).sum(),
    "unrolled with a rest": lambda h, d: ((stacked(h, unroll=4) - d) ** 2).sum(0),
    "unrolled with a rest: variance": lambda h, d: stacked(h, unroll=4).var(0),
    "unrolled with a rest, reversed: argmax": lambda h, d: stacked(h, unroll=4, reverse=True).argmax(0),
    "mean and variance": lambda h, d: (lambda y: (y.mean((0, 1)), y.var((0, 1))))(stacked(h)),
    "sum relative to the greatest": lambda h, d: softmax_sum(stacked(h)),
    "variance, the sum spread before it is divided": lambda h, d: variance_spread_first(stacked(h) * d),
    "unrolled with a rest: variance, the sum spread": lambda h, d: variance_spread_first(stacked(h, unroll=4)),
    "logsumexp, the greatest spread": lambda h, d: jnp.log(softmax_sum_spread_first(stacked(h) * d)),
    "integers that wrap around": lambda h, d: (
        lax.scan(lambda c, _: (c * 3 + 1, c), jnp.int32(7), None, length=40)[1].sum() + 0 * h.sum()
    ),
    "one step": lambda h, d: (lambda y: (y.var(0), jax.nn.logsumexp(y, axis=0)))(stacked(h, 1)),
    "in functions that are called": lambda h, d: (lambda f: f(h) + f(2 * h))(jax.jit(lambda h: stacked(h).sum(0))),
    "two forms of one variance": lambda h, d: (lambda y: (variance_spread_first(y), y.var(0)))(stacked(h)),
    "two stacks": lambda h, d: (lambda a, b: ((a - b).sum(0), (a * b).max(), b.min(0)))(
        *lax.scan(lambda h, x: ((g := jnp.tanh(h + x)), (g, g * x)), h, d)[1]
    ),
}
EXACT: dict[str, Callable[[Any], Any]] = {
    "max": lambda y: y.max(0),
    "min": lambda y: y.min(),
    "argmax": lambda y: y.argmax(0),
    "argmin": lambda y: y.argmin(0),
    "argmax of all": lambda y: y.argmax(),
    "all": lambda y: (y > -1).all(),
    "any": lambda y: (y > 0).any(0),
    "count": lambda y: (y > 0).sum(0),
    "integers": lambda y: (jnp.where(jnp.isnan(y), 3, 7) ** 2).prod(0),
}
ROUNDED: dict[str, Callable[[Any], Any]] = {
    "sum": lambda y: y.sum(0),
    "prod": lambda y: y.prod(0),
    "mean": lambda y: y.mean(),
    "variance": lambda y: y.var(0),
    "variance of all": lambda y: y.var(),
    "logsumexp": lambda y: jax.nn.logsumexp(y, axis=0),
    "logsumexp of all": lambda y: jax.nn.logsumexp(y),
    "sum relative to the greatest": softmax_sum,
    "variance, the sum spread before it is divided": variance_spread_first,
    "sum relative to the greatest, which is spread": softmax_sum_spread_first,
}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", SUNK)
def test_the_stack_is_gone(name):
    before = lowered(SUNK[name], STATE, DATA)
    after, report = sunk(before)
    assert report.rewritten, report.text
    assert stacks(before) > 0
    assert stacks(after) == 0, after.text
    compare(before, after, STATE, DATA)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("name", "exact"), [*((name, True) for name in EXACT), *((name, False) for name in ROUNDED)])
@pytest.mark.parametrize("reverse", [False, True])
def test_special_values_go_the_same_way(name, exact, reverse):
    """Choices, logic and counts keep every bit; of infinities and NaN all have the same."""
    large = 1e5 if name == "prod" else 1e30  # the order decides whether a product overflows before its factor 0
    values = np.array([0, -0.0, 1, -2.5, large, np.inf, -np.inf, np.nan], np.float32)
    rng = np.random.default_rng(len(name) + reverse)
    function = EXACT[name] if exact else ROUNDED[name]
    before = lowered(lambda xs: function(sums(xs, reverse)), np.ones((STEPS, 4, 2), np.float32))
    after, report = sunk(before, keeps_bits=exact)
    assert report.rewritten, report.text
    for pool in (values[:5], values[:6], values, values[6:7], values[4:7]):
        compare(before, after, rng.choice(pool, size=(STEPS, 4, 2)), exact=exact, interpret=False)


@pytest.mark.parametrize("name", ROUNDED)
def test_without_reassociation_what_rounds_stays(name):
    before = lowered(lambda xs: ROUNDED[name](sums(xs)), np.ones((STEPS, 4, 2), np.float32))
    after, report = sunk(before, keeps_bits=True)
    assert not report.rewritten
    assert "reassociate=false is asked for" in report.text
    assert after.text == before.text


def by_while(
    test: Callable[[Any, Any], Any], advance: Callable[[Any], Any] = lambda i: i + 1, start: Any = 1
) -> Callable[[Any, Any], Any]:
    """The sum of what a loop writes at the places that its counter has, while something holds of it and the state."""

    def step(s: Any) -> Any:
        return advance(s[0]), s[1] + 1, lax.dynamic_update_index_in_dim(s[2], s[1], s[0], 0)

    return lambda h, d: lax.while_loop(lambda s: test(s[0], s[1]), step, (start, h, d))[2].sum()


STAYS: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "returned": (lambda h, d: (stacked(h), stacked(h).sum()), "the whole stack is needed: it is returned"),
    "one of two": (
        lambda h, d: (lambda y: (y.sum(), y[::-1]))(stacked(h)),
        "the whole stack is needed: stablehlo.reverse turns the order of the steps round",
    ),
    "sorted": (lambda h, d: jnp.sort(stacked(h), 0)[0], "the whole stack is needed: stablehlo.sort"),
    "a prefix": (lambda h, d: stacked(h)[: STEPS - 1].sum(), "stablehlo.slice takes a part of the steps"),
    "compared with its own sum": (
        lambda h, d: (lambda y: jnp.abs(y - y.sum(0)).sum())(stacked(h)),
        "it is compared with a reduction of itself in a way that is not known",
    ),
    "another mean": (
        lambda h, d: (lambda y: ((y - y.sum(0) / (STEPS + 1)) ** 2).sum(0))(stacked(h)),
        "it is compared with a reduction of itself in a way that is not known",
    ),
    "with the last state": (
        lambda h, d: (lambda s, ys: (ys * s).sum())(*lax.scan(lambda h, _: (h * 2, h), h, None, length=STEPS)),
        "combines it with another result of the loop",
    ),
    "chosen from another axis": (
        lambda h, d: stacked(h).argmax(1).sum(0),
        "a reduction of several arrays over other axes gives several results",
    ),
    "no monoid": (
        lambda h, d: lax.reduce(stacked(h), np.float32(0), lambda a, b: a - b, [0]),
        "the whole stack is needed: it combines elements with stablehlo.subtract, which is no monoid that is known",
    ),
    "steps shifted": (lambda h, d: (stacked(h)[1:] - stacked(h)[:-1]).max(), "takes a part of the steps"),
    "a while without a known end": (
        by_while(lambda i, h: h.sum() < 10),
        "not known: its condition does not compare a counter with a constant",
    ),
    "a counter that is doubled": (
        by_while(lambda i, h: i < STEPS, lambda i: i * 2),
        "not known: its counter does not advance by a constant",
    ),
    "a counter that never arrives": (
        by_while(lambda i, h: i >= 0),
        "not known: its counter never reaches its limit",
    ),
    "a counter that wraps around": (
        by_while(lambda i, h: i <= 255, start=jnp.uint8(1)),
        "not known: its counter wraps around",
    ),
}


@pytest.mark.parametrize("name", STAYS)
def test_what_stays_and_why(name):
    function, reason = STAYS[name]
    before = lowered(function, STATE, DATA)
    after, report = sunk(before)
    assert reason in report.text
    assert after.text == before.text


@pytest.mark.parametrize("divided", ["before", "after"])
@pytest.mark.parametrize("turned", ["transposed", "spread along other axes"])
def test_a_mean_that_meets_other_elements(turned, divided):
    """The deviations are not from the mean of the same elements: the stack stays."""

    def function(h: Any) -> Any:
        y = stacked(h)
        mean = y.sum(0).T if turned == "transposed" else y.sum(0)
        mean = spread(mean / STEPS, y) if divided == "before" else spread(mean, y) / STEPS
        return ((y - mean) ** 2).sum(0)

    state = np.linspace(-1, 1, 9, dtype=np.float32).reshape(3, 3) ** 2
    program = lowered(function, state)
    if turned != "transposed":
        spreads = "dims = [1, 2] : (tensor<3x3xf32>) -> tensor<6x3x3xf32>"
        assert program.text.count(spreads) == 1
        program = Program.parse(program.text.replace(spreads, spreads.replace("[1, 2]", "[2, 1]")))
    after, report = sunk(program)
    assert "it is compared with a reduction of itself in a way that is not known" in report.text
    assert after.text == program.text
    y, h = [], state.astype(np.float64)
    for _ in range(STEPS):
        h = np.tanh(h) * 1.5 + 0.1
        y.append(h)
    deviations = np.array(y) - np.mean(y, axis=0).T
    np.testing.assert_allclose(after.interpret(state)[0], (deviations**2).sum(0), rtol=1e-5)


@pytest.mark.parametrize("name", ["variance", "variance, the sum spread before it is divided"])
def test_a_mean_that_overflows(name):
    """Every element is finite; the two passes find an infinite sum, and so infinite deviations."""
    before = lowered(lambda xs: ROUNDED[name](sums(xs)), np.ones((STEPS, 2, 2), np.float32))
    after, report = sunk(before)
    assert report.rewritten, report.text
    xs = np.full((STEPS, 2, 2), 3e38, np.float32)
    xs[:, 1] = [1, 2]
    compare(before, after, xs)
    assert np.isinf(np.asarray(after.interpret(xs)[0])[0]).all()


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        (lambda i: i + 1, "its place may be outside of the array"),
        (lambda i: i // 2, "its place is not an affine function of the step"),
    ],
    ids=["beyond the end", "twice"],
)
def test_rows_that_are_not_all_written_once(place, reason):
    before = lowered(lambda h: written(h, place).sum(0), STATE)
    reports: list[Report] = []
    after = before.optimize(["loop_writes", "sink_reductions"], reports=reports)
    assert not any(report.rewritten for report in reports)
    assert reason in reports[0].text
    compare(before, after, STATE)


def test_a_loop_of_no_steps():
    before = lowered(lambda h: (stacked(h, 0).sum(), stacked(h, 0).max(0, initial=-3.0)), STATE)
    after, report = sunk(before)
    assert after.text == before.text
    assert not report.rewritten
    compare(before, after, STATE)


def test_values_with_another_dtype():
    def function(h):
        y = stacked(h)
        return y.astype(jnp.float16).sum(0), (y > 0).astype(jnp.int8).sum(), (y + 1j).sum()

    before = lowered(function, STATE)
    after, report = sunk(before)
    assert report.rewritten
    runs = [[np.asarray(x) for x in p.compile(optimize="none")(STATE)] for p in (before, after)]
    for a, b, tolerance in zip(*runs, (1e-2, 0, 1e-5), strict=True):
        np.testing.assert_allclose(b, a, rtol=tolerance)
