"""Loops that run a live size of steps, in padded modules: their stacks go as those of other loops do.

Expected values are those of the exact program, one for each size, or NumPy's; padded programs run with zeros and with
NaN in the padding of their arguments. How many stacks are left is compared with the program of fixed sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from padded_runs import check_padded, grid
from rewritten_runs import as_arrays, close, stacks

import hlograph
from hlograph import Program
from hlograph.passes import Report

SIZES = {"t": 6, "b": 4}
DIMS = [("t", 3, 2), ("t", "b", 2)]
Loss = Callable[[Any], Any]


def cell(h: Any, x: Any) -> Any:
    return jnp.tanh(h * 0.7 + x)


def sine(h: Any, x: Any) -> Any:
    return jnp.sin(h) * x + jnp.cos(h)


def scan(xs: Any, step: Callable[[Any, Any], Any] = cell, **options: Any) -> Any:
    """The states of a loop over the leading axis."""

    def body(h: Any, x: Any) -> Any:
        h = step(h, x)
        return h, h

    return lax.scan(body, jnp.full(xs.shape[1:], 0.3, xs.dtype), xs, **options)[1]


def lstm(xs: Any) -> Any:
    def body(state: Any, x: Any) -> Any:
        h, c = state
        c = jax.nn.sigmoid(x + h) * c + jax.nn.sigmoid(x - h) * jnp.tanh(x * h)
        h = jax.nn.sigmoid(x + 2 * h) * jnp.tanh(c)
        return (h, c), h

    zeros = jnp.zeros(xs.shape[1:], xs.dtype)
    return lax.scan(body, (zeros, zeros), xs)[1]


def written(xs: Any, low: int = 0, high: int = 0, place: Callable[[Any, Any], Any] = lambda i, n: i) -> Any:
    """The states of a loop that writes them by index; those at both ends may be left out."""
    n = xs.shape[0]

    def step(i: Any, state: Any) -> Any:
        h, ys = state
        h = cell(h, lax.dynamic_index_in_dim(xs, i, 0, keepdims=False))
        return h, ys.at[place(i, n)].set(h)

    return lax.fori_loop(low, n - high, step, (jnp.zeros(xs.shape[1:]), jnp.ones_like(xs)))[1]


def emitted(function: Loss, dims: tuple[Any, ...]) -> Program:
    """The `?` program of a function of one array."""
    shape = tuple(SIZES.get(dim, dim) for dim in dims)
    jitted = hlograph.jit(lambda x: function(x), dims={"x": dims}, policy="exact")
    return jitted.lower(jnp.ones(shape, jnp.float32)).stages["emitted"].program()


def bounds(dims: tuple[Any, ...]) -> dict[str, int]:
    return {dim: SIZES[dim] for dim in dims if isinstance(dim, str)}


SUNK: dict[str, Loss] = {
    "sum": lambda x: scan(x).sum(),
    "mean": lambda x: scan(x).mean(),
    "product over time": lambda x: scan(x).prod(0),
    "squared error": lambda x: jnp.mean((scan(x) - x) ** 2),
    "what is 1 in the padding": lambda x: jnp.exp(scan(x)).sum(),
    "reversed": lambda x: ((scan(x, reverse=True) - x) ** 2).sum(0),
    "max": lambda x: scan(x).max(),
    "argmax": lambda x: scan(x).argmax(0),
    "argmin, reversed": lambda x: scan(x, reverse=True).argmin(0),
    "all and any": lambda x: (lambda y: ((y > -1).all(), (y > 0).any(0)))(scan(x)),
    "count": lambda x: (scan(x) > 0).sum(),
    "variance": lambda x: scan(x).var(0),
    "variance, reversed": lambda x: scan(x, reverse=True).var(0, ddof=1),
    "logsumexp": lambda x: jax.nn.logsumexp(scan(x), axis=0),
    "a dot over time": lambda x: jnp.einsum("tbd,tbe->de", scan(x), x),
    "a dot for each step": lambda x: jnp.einsum("tbd,tbd->t", scan(x), x).max(),
    "weights by time": lambda x: (scan(x) * jnp.arange(x.shape[0], dtype=x.dtype)[:, None, None]).sum(),
    "masked": lambda x: jnp.where(x > 0, scan(x), 0).sum((0, 1)),
    "transposed": lambda x: scan(x).transpose(2, 0, 1).sum((1, 2)),
    "one size less": lambda x: ((scan(x[1:]) - x[:-1]) ** 2).sum(0),
    "one size less, reversed": lambda x: ((scan(x[1:], reverse=True) - x[1:]) ** 2).mean(),
    "several sums of a sine": lambda x: (lambda y: (jnp.sin(y).sum(0), y.var(0), y.max()))(scan(x, sine)),
    "nested": lambda x: lax.scan(lambda h, _: (h * 0.9, scan(x + h).max(0)), jnp.float32(0.1), None, length=3)[1].sum(),
    "mapped": lambda x: lax.map(jnp.exp, x).sum(0),
    "written by index": lambda x: ((written(x) - x) ** 2).sum(),
    "written by index, from the end": lambda x: (written(x, place=lambda i, n: n - 1 - i) * x).sum(0),
}
# A mask of two axes at once is no mask of time alone.
SUNK_OF_ONE_SIZE: dict[str, Loss] = {
    "variance of all": lambda x: scan(x).var(),
    "logsumexp of all": lambda x: jax.nn.logsumexp(scan(x)),
    "argmax of all": lambda x: scan(x).argmax(),
    "flat": lambda x: (scan(x) - x).reshape(-1).sum(),
}
SAVED: dict[str, Loss] = {
    "sum": lambda x: scan(x).sum(),
    "squared error": lambda x: jnp.mean((scan(x) - x) ** 2),
    "squared error, reversed": lambda x: jnp.mean((scan(x, reverse=True) - x) ** 2),
    "one size less": lambda x: jnp.mean((scan(x[1:]) - x[:-1]) ** 2),
    "lstm": lambda x: jnp.mean((lstm(x) - x) ** 2),
    "sine": lambda x: scan(x, sine).sum(),
    "max": lambda x: scan(x).max(0).sum(),
    "variance": lambda x: scan(x).var(),
    "one after the other": lambda x: (scan(scan(x)) ** 2).sum(),
}


def check(program: Program, sizes: Mapping[str, int], *, least: int = 1, **options: Any) -> None:
    """At one step (or the least number of them), at one less than the bound, and at the bound."""
    some = [dict.fromkeys(sizes, least), {name: bound - 1 for name, bound in sizes.items()}, dict(sizes)]
    check_padded(program, sizes, sizes=some, interpret=False, **options)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("dims", DIMS, ids=str)
@pytest.mark.parametrize("name", SUNK)
def test_the_stack_is_gone(name: str, dims: tuple[Any, ...]) -> None:
    program = emitted(SUNK[name], dims)
    static = program.specialize(bounds(dims))
    for fixed in (program.pad(bounds(dims)), static):
        assert stacks(fixed) > 0
        assert stacks(fixed.optimize()) == 0
    reference = jax.jit(lambda x: jax.tree.leaves(SUNK[name](x)))
    x = np.random.default_rng(0).normal(size=[SIZES.get(dim, dim) for dim in dims]).astype(np.float32)
    for found, wanted in zip(as_arrays(static.compile()(x)), reference(x), strict=True):
        close(found, np.asarray(wanted), 1e-5)
    check(program, bounds(dims), least=2 if "one size less" in name else 1, exact=reference)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", SUNK_OF_ONE_SIZE)
def test_the_stack_of_one_size_is_gone(name: str) -> None:
    program = emitted(SUNK_OF_ONE_SIZE[name], DIMS[0])
    for fixed in (program.pad({"t": 6}), program.specialize({"t": 6})):
        assert stacks(fixed.optimize()) == 0
    check(program, {"t": 6})
    of_two = emitted(SUNK_OF_ONE_SIZE[name], DIMS[1])
    check(of_two, SIZES)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dims", DIMS, ids=str)
@pytest.mark.parametrize("name", SAVED)
def test_a_gradient_saves_no_more(name: str, dims: tuple[Any, ...]) -> None:
    """As few stacks as the program of fixed sizes."""
    program = emitted(jax.value_and_grad(SAVED[name]), dims)
    padded = program.pad(bounds(dims))
    left = stacks(padded.optimize())
    assert left == stacks(program.specialize(bounds(dims)).optimize())
    assert left < stacks(padded)
    check(program, bounds(dims), least=2 if name == "one size less" else 1)


# ---- no steps -------------------------------------------------------------------------------------------------------


def running(x: np.ndarray, sine: bool) -> tuple[np.ndarray, ...]:
    ys, h = np.zeros_like(x), np.zeros(3, x.dtype)
    for i, row in enumerate(x):
        ys[i] = h = np.sin(h + row) if sine else h + row
    return (
        ys.sum(0),
        np.float32(((ys - x) ** 2).sum()),
        ys.max(0, initial=-np.inf),
        np.float32(ys.sum(1).max(initial=-np.inf)),
    )


@pytest.mark.parametrize("sine", [False, True], ids=["a sum", "a sine"])
def test_every_number_of_steps(sine: bool) -> None:
    """None, one, up to the bound, against NumPy; the stack does not begin with zeros."""

    def function(x: Any) -> Any:
        def step(i: Any, state: Any) -> Any:
            h = jnp.sin(state[0] + x[i]) if sine else state[0] + x[i]
            return h, state[1].at[i].set(h)

        ys = lax.fori_loop(0, x.shape[0], step, (jnp.zeros(3), jnp.full_like(x, 2)))[1]
        return ys.sum(0), ((ys - x) ** 2).sum(), ys.max(0, initial=-jnp.inf), ys.sum(1).max(initial=-jnp.inf)

    program = emitted(function, ("t", 3))
    padded = program.pad({"t": 5})
    assert stacks(padded) == 1
    assert stacks(padded.optimize()) == 0
    assert [row["t"] for row in grid({"t": 5})] == [0, 1, 2, 4, 5]
    check_padded(program, {"t": 5}, exact=lambda x: running(x, sine), interpret=False)


# ---- what lies behind the last step ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "function",
    [
        lambda x: jnp.exp(scan(x)).sum((1, 2)),
        lambda x: (scan(x, reverse=True) * x).sum((1, 2)),
        lambda x: (lambda y: (y.sum((1, 2)), y.max(0)))(scan(x, sine, reverse=True)),
    ],
    ids=["ones", "reversed", "a sine and what is reduced"],
)
def test_a_thinner_stack_keeps_its_padding(function: Loss) -> None:
    """The whole arrays are the same as before the pass, and not only their live parts: others may rely on these."""
    before = emitted(function, ("t", 4, 4)).pad({"t": 6})
    after = before.optimize(["sink_reductions"])
    assert "tensor<6xf32>" in str(after.text)
    assert stacks(after) > 0
    loops = [line for line in after.text.splitlines() if "stablehlo.while" in line]
    assert "tensor<6x4x4xf32>, tensor<6x4x4xf32>" not in loops[0]  # it only reads one
    x = np.random.default_rng(0).normal(size=(6, 4, 4)).astype(np.float32)
    both = [p.compile(optimize="none") for p in (before, after)]
    for size in (1, 3, 6):
        given = np.where(np.arange(6)[:, None, None] < size, x, 0).astype(np.float32)
        wanted, found = (jax.tree.leaves(run(given, np.int32(size))) for run in both)
        for a, b in zip(wanted, found, strict=True):
            np.testing.assert_allclose(np.asarray(b), np.asarray(a), rtol=1e-5, atol=1e-6)


STAYS: dict[str, tuple[Loss, str]] = {
    "the last row is not written": (
        lambda x: written(x, high=1).sum(0),
        "rows that the loop does not write may count in what is reduced",
    ),
    "the first row is not written": (lambda x: written(x, low=1).sum(0), ""),
    "the last row is not written, and is masked": (
        lambda x: jnp.exp(written(x, high=1)).max(0),
        "rows that the loop does not write may count in what is reduced",
    ),
    "returned": (scan, "the whole stack is needed: it is returned"),
    "the last row is read": (lambda x: scan(x)[-1], "the whole stack is needed: stablehlo.dynamic_slice"),
}


@pytest.mark.parametrize("name", STAYS)
def test_what_stays_and_why(name: str) -> None:
    function, reason = STAYS[name]
    program = emitted(function, DIMS[0])
    reports: list[Report] = []
    padded = program.pad({"t": 6})
    after = padded.optimize(["loop_writes", "sink_reductions"], reports=reports)
    assert any(reason in report.text for report in reports)
    assert stacks(after) == stacks(padded) == 1
    check(program, {"t": 6})


# ---- what users see -------------------------------------------------------------------------------------------------


def temporary(function: Any, *arrays: Any) -> int:
    """XLA's account of the memory that a call needs besides arguments and results."""
    return function.lower(*arrays).compile().memory_analysis().temp_size_in_bytes


@pytest.mark.parametrize("policy", ["padded", "exact"])
@pytest.mark.parametrize("name", ["mean", "max", "variance", "logsumexp"])
def test_memory_of_a_value(name: str, policy: Any) -> None:
    """One program for all lengths needs no more memory than one for this length alone."""
    x = jnp.ones((256, 16, 16), jnp.float32)
    named = hlograph.jit(lambda x: SUNK[name](x), dims={"x": ("t", 16, 16)}, policy=policy)
    assert temporary(named, x) < x.nbytes / 10
    assert temporary(jax.jit(SUNK[name]), x) >= x.nbytes


def test_memory_of_a_gradient() -> None:
    x = jnp.ones((256, 16, 16), jnp.float32)
    function = jax.value_and_grad(SAVED["squared error"])
    alone = temporary(hlograph.jit(lambda x: function(x)), x)
    padded = temporary(hlograph.jit(lambda x: function(x), dims={"x": ("t", 16, 16)}, policy={"t": 256}), x)
    assert alone < temporary(jax.jit(function), x)
    assert padded <= alone + x.nbytes / 10
