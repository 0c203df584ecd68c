"""Sums over a matrix of pairs of points: as written, in blocks by hand (`jax.lax.map`), and `hlograph.jit` as written.

Time of a call and temporary memory of the executable (XLA's own account), float32, three coordinates a point. Where the
matrix takes 10 GB, `jax.jit` of the function as written is compiled, for its memory, and not called.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from harness import Report, Target, Timing, check_equal, show

TITLE = "Sums over pairs of points: in blocks"
WIDTH, BLOCK = 3, 2 << 20
AS_WRITTEN, BY_HAND, OURS = "jax.jit", "jax.lax.map", "hlograph.jit"


def functions() -> dict[str, Callable[..., Any]]:
    """Of points x and y, and weights b of y."""
    import jax
    import jax.numpy as jnp

    def differences(x: Any, y: Any, b: Any) -> Any:
        return jnp.exp(-((x[:, None, :] - y[None, :, :]) ** 2).sum(-1)) @ b

    def dots(x: Any, y: Any, b: Any) -> Any:
        return jnp.exp(2 * x @ y.T - (x * x).sum(1)[:, None] - (y * y).sum(1)) @ b

    def softmax(x: Any, y: Any, b: Any) -> Any:
        return jax.nn.softmax(x @ y.T, axis=1) @ b

    return {"Gaussian of differences": differences, "Gaussian by dots": dots, "softmax": softmax}


def by_hand(function: Callable[..., Any], size: int) -> Callable[..., Any]:
    """The same, some rows at a time; for its gradient each block is computed again."""
    import jax

    rows = next(rows for rows in range(max(1, BLOCK // (4 * size)), 0, -1) if size % rows == 0)

    def blocks(x: Any, y: Any, b: Any) -> Any:
        part = jax.checkpoint(lambda points: function(points, y, b))
        return jax.lax.map(part, x.reshape(size // rows, rows, WIDTH)).reshape(size)

    return blocks


def with_gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient of a sum of squares."""
    import jax

    return jax.grad(lambda *args: (function(*args) ** 2).sum(), argnums=(0, 1, 2))


def run(quick: bool, progress: Callable[[str], None]) -> Report:
    """Every function, with and without gradient; the first one at a size where the matrix takes 10 GB, too."""
    import jax

    import hlograph

    report = Report(
        TITLE,
        ("case", "points", *(f"{who}, {what}" for who in (AS_WRITTEN, BY_HAND, OURS) for what in ("time", "memory"))),
    )
    for size in (4_000,) if quick else (10_000, 50_000):
        rng = np.random.default_rng(0)
        shapes = (size, WIDTH), (size, WIDTH), (size,)
        given = [jax.numpy.asarray(rng.normal(size=shape).astype(np.float32)) for shape in shapes]
        for name, function in list(functions().items())[: 3 if size < 50_000 else 1]:
            for what, derived in ((name, lambda f: f), (f"{name}, gradient", with_gradient)):
                progress(f"{what}, {size:,}")
                written, blocks = jax.jit(derived(function)), jax.jit(derived(by_hand(function, size)))
                candidates = {AS_WRITTEN: written, BY_HAND: blocks, OURS: hlograph.jit(derived(function))}
                memory = {
                    who: each.lower(*given).compile().memory_analysis().temp_size_in_bytes
                    for who, each in candidates.items()
                }
                called = {who: each for who, each in candidates.items() if memory[who] < 4 << 30}
                results = {who: jax.tree.leaves(each(*given)) for who, each in called.items()}
                check_equal({who: [np.asarray(x) for x in found] for who, found in results.items()}, rtol=1e-4)
                timings = interleaved(called, given, 3 if size > 10_000 else 7)
                row(report, what, size, timings, memory)
    return report


def interleaved(called: Mapping[str, Callable[..., Any]], given: list[Any], rounds: int) -> dict[str, Timing]:
    """Medians over rounds, in each of which every candidate is called once."""
    import jax

    order, samples = random.Random(0), {who: list[float]() for who in called}
    for _ in range(rounds):
        for who in order.sample(list(called), len(called)):
            start = time.perf_counter()
            jax.block_until_ready(called[who](*given))
            samples[who].append(time.perf_counter() - start)
    hand = samples[BY_HAND]
    return {
        who: Timing(statistics.median(own), statistics.median(a / b for a, b in zip(own, hand, strict=True)))
        for who, own in samples.items()
    }


def row(report: Report, what: str, size: int, timings: Mapping[str, Timing], memory: Mapping[str, int]) -> None:
    """One line of the table, and its targets."""
    cells = []
    for who in (AS_WRITTEN, BY_HAND, OURS):
        found = timings.get(who)
        cells.append("-" if found is None else f"{show(found.seconds, 'ms')} ({found.ratio:.2f})")
        cells.append(f"{memory[who] / 1e6:,.0f} MB")
    report.rows.append((what, f"{size:,}", *cells))
    seconds = {who: found.seconds for who, found in timings.items()}
    report.data.append({"case": what, "points": size, "seconds": seconds, "memory": dict(memory)})
    report.targets.append(Target(f"{what}, {size:,}: time beside lax.map", timings[OURS].ratio, 1.1))
    report.targets.append(Target(f"{what}, {size:,}: memory in GB", memory[OURS] / 1e9, 1))
