"""Rows of different lengths: `hlograph.jit(jax.vmap(f))` beside masks written by hand, and beside a call for each row.

An RNN over 64 sequences of up to 40 steps, a transformer block with attention over the same, and the log-likelihood of
1,000 groups of up to 200 observations with its gradient. By hand: `jax.jit(jax.vmap(f))` of a function that takes a
padded row and its length, and masks what it must. "Its program alone" leaves out what recognizes arguments and lengths.
A call for each row is one compiled function of `hlograph.jit` for all lengths. Rows come padded to the greatest length,
with their lengths; "from a list" counts the padding too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from harness import Report, Target, check_equal, compare, show

TITLE = "Rows of different lengths (ratio to masks by hand)"
NAMES = ("masks by hand", "hlograph", "its program alone", "from a list", "each row")
HEADS, WIDTH, HIDDEN = 4, 32, 16


@dataclass(frozen=True)
class Case:
    """A function of one row, the same with a mask written by hand, what rows share, and rows."""

    function: Callable[..., Any]
    masked: Callable[..., Any]
    shared: Any
    rows: Sequence[np.ndarray[Any, Any]]


def rnn(w: Any, x: Any) -> Any:
    """The mean of a readout of all steps."""
    import jax
    import jax.numpy as jnp

    def step(h: Any, xt: Any) -> Any:
        h = jnp.tanh(w["W"] @ h + w["U"] @ xt)
        return h, h

    return (jax.lax.scan(step, jnp.zeros(HIDDEN, x.dtype), x)[1] @ w["v"]).mean()


def masked_rnn(w: Any, x: Any, n: Any) -> Any:
    """The same of a padded row."""
    import jax
    import jax.numpy as jnp

    live = jnp.arange(x.shape[0]) < n

    def step(h: Any, row: Any) -> Any:
        xt, inside = row
        h = jnp.where(inside, jnp.tanh(w["W"] @ h + w["U"] @ xt), h)
        return h, h

    hs = jax.lax.scan(step, jnp.zeros(HIDDEN, x.dtype), (x, live))[1]
    return jnp.where(live, hs @ w["v"], 0).sum() / n


def block(p: Any, x: Any, mask: Any = None) -> Any:
    """Attention and a feed-forward layer; keys behind the row are left out where there is a mask."""
    import jax
    import jax.numpy as jnp

    def heads(y: Any) -> Any:
        return y.reshape(x.shape[0], HEADS, WIDTH // HEADS).transpose(1, 0, 2)

    q, k, v = heads(x @ p["q"]), heads(x @ p["k"]), heads(x @ p["v"])
    scores = q @ k.transpose(0, 2, 1) / np.float32(np.sqrt(WIDTH // HEADS))
    if mask is not None:
        scores = jnp.where(mask[None, None, :], scores, -jnp.inf)
    x = x + (jax.nn.softmax(scores, -1) @ v).transpose(1, 0, 2).reshape(x.shape) @ p["o"]
    y = (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)
    return x + jax.nn.gelu(y @ p["a"]) @ p["b"]


def masked_block(p: Any, x: Any, n: Any) -> Any:
    """The same of a padded row."""
    import jax.numpy as jnp

    return block(p, x, jnp.arange(x.shape[0]) < n)


def likelihood(t: Any, y: Any) -> Any:
    """Of a normal distribution, with a penalty on what is far from the group's mean."""
    import jax.numpy as jnp

    z = (y - t["mean"]) / jnp.exp(t["scale"])
    return (-0.5 * z * z - t["scale"]).sum() - 0.01 * jnp.log1p(jnp.abs(y - y.mean())).sum()


def masked_likelihood(t: Any, y: Any, n: Any) -> Any:
    """The same of a padded row."""
    import jax.numpy as jnp

    live = jnp.arange(y.shape[0]) < n
    z = (y - t["mean"]) / jnp.exp(t["scale"])
    mean = jnp.where(live, y, 0).sum() / n
    each = jnp.where(live, jnp.log1p(jnp.abs(y - mean)), 0)
    return jnp.where(live, -0.5 * z * z - t["scale"], 0).sum() - 0.01 * each.sum()


def cases() -> dict[str, Case]:
    """The three, in float32."""
    import jax

    rng = np.random.default_rng(0)

    def normal(*shape: int) -> np.ndarray[Any, Any]:
        return (0.2 * rng.normal(size=shape)).astype(np.float32)

    lengths, groups = rng.integers(1, 41, 64), rng.integers(1, 201, 1000)
    lengths[0], groups[0] = 40, 200
    layers = {name: normal(WIDTH, WIDTH) for name in "qkvo"} | {"a": normal(WIDTH, 64), "b": normal(64, WIDTH)}
    return {
        "RNN 16, 64 sequences up to 40": Case(
            rnn, masked_rnn, {"W": normal(16, 16), "U": normal(16, 4), "v": normal(16)}, [normal(n, 4) for n in lengths]
        ),
        "transformer block, the same lengths": Case(block, masked_block, layers, [normal(n, WIDTH) for n in lengths]),
        "log-likelihood and gradient, 1,000 groups up to 200": Case(
            jax.value_and_grad(likelihood),
            jax.value_and_grad(masked_likelihood),
            {"mean": np.float32(0.3), "scale": np.float32(0.1)},
            [normal(n) for n in groups],
        ),
    }


def run(quick: bool, progress: Callable[[str], None]) -> Report:
    """All cases, and the compiles of 300 random batches."""
    import inspect

    import jax
    import jax.numpy as jnp

    import hlograph

    report = Report(TITLE, ("function", *NAMES))
    for name, case in cases().items():
        progress(name)
        argument = list(inspect.signature(case.function).parameters)[1]
        rest = case.rows[0].shape[1:]
        ours = hlograph.jit(jax.vmap(case.function, in_axes=(None, 0)), dims={argument: ("b", "n[b]", *rest)})
        one = hlograph.jit(case.function, dims={argument: ("n", *rest)}, policy="padded")
        hand = jax.jit(jax.vmap(case.masked, in_axes=(None, 0, 0)))
        shared = jax.tree.map(jnp.asarray, case.shared)
        host = hlograph.Ragged.from_rows(case.rows)
        rows = hlograph.Ragged(jnp.asarray(host.values), jnp.asarray(host.lengths[0]))
        calls = {
            "masks by hand": lambda h=hand, s=shared, r=rows: jax.block_until_ready(h(s, r.values, r.lengths[0])),
            "hlograph": lambda f=ours, s=shared, r=rows: jax.block_until_ready(f(s, r)),
            "from a list": lambda f=ours, s=shared, c=case: jax.block_until_ready(f(s, c.rows)),
            "each row": lambda f=one, s=shared, c=case: jax.block_until_ready([f(s, x) for x in c.rows]),
        }
        _check(case, calls)
        (function,) = ours.functions
        count = len(jax.tree.leaves(shared))
        lengths = jnp.asarray(host.lengths[0], jnp.int32)
        alone = [*jax.tree.leaves(shared), rows.values, lengths, jnp.ones(len(case.rows), bool)]
        assert [x.shape for x in alone[count:]] == [a.dims for a in function.program.signature.arguments[count:]]
        calls["its program alone"] = lambda f=function, a=alone: jax.block_until_ready(f(*a))
        timings = compare(calls, "masks by hand", rounds=2 if quick else 11)
        report.add(name, timings, "ms")
        each = timings["each row"].seconds / timings["hlograph"].seconds
        report.targets += [
            Target(f"{name}: time beside masks by hand", timings["hlograph"].ratio, 1.1),
            Target(f"{name}: calls of one row beside it", each, 10, at_least=True),
        ]
    progress("300 random batches")
    compiles = _compiles(20 if quick else 300)
    report.rows.append((f"RNN, 300 random batches: {compiles} compiles", *["-"] * len(NAMES)))
    report.data.append({"case": "compiles", "count": compiles})
    report.targets.append(Target("compiles for 300 random batches", compiles, 20))
    return report


def _check(case: Case, calls: dict[str, Callable[[], Any]]) -> None:
    """All of them give the same for every row."""
    import jax

    import hlograph

    def leaves(found: Any, number: int) -> list[Any]:
        flat = jax.tree.leaves(found, is_leaf=lambda x: isinstance(x, hlograph.Ragged))
        return [np.asarray(x[number])[: len(case.rows[number])] if np.ndim(x[number]) else x[number] for x in flat]

    found = {who: call() for who, call in calls.items()}
    for number in range(0, len(case.rows), 50):
        expected = jax.tree.leaves(found["each row"][number])
        check_equal({"each row": expected, "by hand": leaves(found["masks by hand"], number)}, 2e-4)
        check_equal({"each row": expected, "hlograph": leaves(found["hlograph"], number)}, 2e-4)


def _compiles(batches: int) -> int:
    """Of batches of 1 to 64 sequences of 1 to 40 steps."""
    import jax

    import hlograph

    case, rng = cases()["RNN 16, 64 sequences up to 40"], np.random.default_rng(1)
    fn = hlograph.jit(jax.vmap(rnn, in_axes=(None, 0)), dims={"x": ("b", "n[b]", 4)})
    for _ in range(batches):
        rows = [rng.normal(size=(n, 4)).astype(np.float32) for n in rng.integers(1, 41, rng.integers(1, 65))]
        fn(case.shared, rows)
    return int(sum(function.stats.executables for function in fn.functions))


__all__ = ["TITLE", "run", "show"]
