"""Functions of arrays of one size, written without a thought of hlograph: a decorator in `jax.jit`'s place.

There is little to be gained, and nothing is to be lost. Calls take JAX arrays; the time is that until the result is
there. A first call traces, compiles and runs a function that no one has seen; it is the median of a few, by turns.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from harness import Report, Target, Timing, check_equal, compare, settle, show

TITLE = "Functions of one size, JAX arrays (ratio to jax.jit)"
OURS, JAX = "hlograph.jit", "jax.jit"


def run(quick: bool, progress: Callable[[str], None]) -> Report:
    """Calls, and first calls."""
    import jax

    import hlograph

    report = Report(TITLE, ("function", OURS, JAX, "first call", "first call of jax.jit"))
    calls: dict[str, float] = {}
    firsts: dict[str, float] = {}
    for name, (function, values) in _cases().items():
        progress(name)
        arrays = jax.tree.map(jax.numpy.asarray, values)
        both = {JAX: jax.jit(function), OURS: hlograph.jit(function)}
        settle(both[OURS], lambda f=both[OURS], a=arrays: jax.block_until_ready(f(*a)))
        found = {kind: [np.asarray(x, float) for x in jax.tree.leaves(f(*arrays))] for kind, f in both.items()}
        check_equal(found)
        timed = compare(
            {kind: (lambda f=f, a=arrays: jax.block_until_ready(f(*a))) for kind, f in both.items()},
            JAX,
            rounds=5 if quick else 40,
        )
        first = _first_calls(function, arrays, 3 if quick else 9)
        calls[name], firsts[name] = timed[OURS].ratio, first[OURS].ratio
        cells = [f"{show(timed[kind].seconds, 'us')} ({timed[kind].ratio:.2f})" for kind in (OURS, JAX)]
        cells += [f"{show(first[kind].seconds, 'ms')} ({first[kind].ratio:.2f})" for kind in (OURS, JAX)]
        report.rows.append((name, *cells))
        report.data.append({"case": name, "ratio": timed[OURS].ratio, "first": first[OURS].ratio})
    for what, ratios, limit in (("calls", calls, 1.05), ("first calls", firsts, 1.3)):
        worst = max(ratios, key=ratios.__getitem__)
        report.targets.append(Target(f"{what}, worst ({worst})", ratios[worst], limit))
        report.targets.append(Target(f"{what}, geometric mean", statistics.geometric_mean(ratios.values()), 1.05))
    return report


def _first_calls(function: Callable[..., Any], arrays: Any, rounds: int) -> dict[str, Timing]:
    """Of new functions each time, so that nothing is in a cache of JAX's."""
    import jax

    import hlograph

    seconds: dict[str, list[float]] = {JAX: [], OURS: []}
    for _ in range(rounds + 1):
        for kind, jit in ((JAX, jax.jit), (OURS, hlograph.jit)):
            jitted = jit(lambda *args: function(*args))
            start = time.perf_counter()
            jax.block_until_ready(jitted(*arrays))
            seconds[kind].append(time.perf_counter() - start)
    pairs = list(zip(seconds[OURS], seconds[JAX], strict=True))[1:]
    ratio = statistics.median(a / b for a, b in pairs)
    return {
        OURS: Timing(statistics.median(a for a, _ in pairs), ratio),
        JAX: Timing(statistics.median(b for _, b in pairs), 1.0),
    }


def _cases() -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    """Functions by name, and their arguments."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    rng = np.random.default_rng(0)

    def normal(*shape: int) -> Any:
        return rng.normal(size=shape)

    def fir_filter(x: Any, h: Any) -> Any:
        return sum(h[k] * jnp.roll(x, k) for k in range(8))

    def iir_filter(x: Any, a: Any) -> Any:
        def step(state: Any, value: Any) -> Any:
            y = value - 0.1 * a[0] * state[0] - 0.1 * a[1] * state[1]
            return (y, state[0]), y

        return lax.scan(step, (0.0, 0.0), x)[1]

    def sieve(n: Any) -> Any:
        prime = jnp.ones(n.shape, bool)
        for p in (2, 3, 5, 7, 11, 13):
            prime = prime & ((n % p != 0) | (n == p))
        return prime

    def sieve_loop(x: Any) -> Any:
        n = jnp.arange(x.shape[0])
        return lax.fori_loop(2, 17, lambda i, s: jnp.where((n % i == 0) & (n > i), 0.0, s), x)

    def where_chain(x: Any) -> Any:
        for k in range(20):
            x = jnp.where(x > k / 10, x * 0.9, x + 0.1)
        return x

    def unrolled_products(a: Any) -> Any:
        p = jnp.eye(len(a))
        for _ in range(12):
            p = p @ a * 0.3
        return p

    def powers(a: Any) -> Any:
        return lax.fori_loop(0, 10, lambda i, p: p @ a * 0.3, jnp.eye(len(a)))

    def short_scan(x: Any) -> Any:
        return lax.scan(lambda total, v: (total * 0.5 + v, total), 0.0, x)

    def newton(x: Any) -> Any:
        return lax.fori_loop(0, 8, lambda i, y: y - (y**3 - x) / (3 * y * y + 1e-3), jnp.ones_like(x))

    def horner(x: Any) -> Any:
        y = jnp.zeros_like(x)
        for c in range(30):
            y = y * (0.1 * x) + c
        return y

    def shortest_paths(d: Any) -> Any:
        return lax.fori_loop(0, len(d), lambda k, d: jnp.minimum(d, d[:, k, None] + d[None, k]), d)

    def bodies(x: Any) -> Any:
        def step(state: Any, _: Any) -> Any:
            p, v = state
            r = p[:, None] - p[None]
            v = v - 0.01 * (r / (jnp.sum(r * r, -1, keepdims=True) + 1)).sum(1)
            return (p + 0.01 * v, v), None

        return lax.scan(step, (x, jnp.zeros_like(x)), None, length=10)[0]

    def sorting_network(x: Any) -> Any:
        def swapped(x: Any) -> Any:
            return jnp.stack([jnp.minimum(x[::2], x[1::2]), jnp.maximum(x[::2], x[1::2])], 1).reshape(-1)

        return lax.fori_loop(0, 10, lambda i, x: swapped(x).at[1:-1].set(swapped(swapped(x)[1:-1])), x)

    def scan_corr(a: Any, b: Any) -> Any:
        def step(total: Any, rows: Any) -> Any:
            x, y = rows
            return total + jnp.outer(x, y), jnp.vdot(x, y)

        total, products = lax.scan(step, jnp.zeros((a.shape[1], b.shape[1])), (a, b))
        return total / len(a), products.mean()

    def unrolled_kalman(transition: Any, observation: Any, ys: Any) -> Any:
        mean, cov, total = jnp.zeros(4), jnp.eye(4), 0.0
        for y in ys:
            mean, cov = transition @ mean, transition @ cov @ transition.T + 0.1 * jnp.eye(4)
            s = observation @ cov @ observation.T + 0.5 * jnp.eye(2)
            gain, residual = jnp.linalg.solve(s, observation @ cov).T, y - observation @ mean
            total -= 0.5 * (residual @ jnp.linalg.solve(s, residual) + jnp.linalg.slogdet(s)[1])
            mean, cov = mean + gain @ residual, cov - gain @ observation @ cov
        return total

    def layers(parameters: Any, x: Any) -> Any:
        for layer in parameters:
            x = jnp.tanh(x @ layer["w"] + layer["b"])
        return x.sum()

    def softmax(x: Any) -> Any:
        return jax.nn.softmax(x)

    def running_median(x: Any) -> Any:
        return jnp.median(jnp.stack([jnp.roll(x, k) for k in range(5)]), 0)

    def distances(x: Any) -> Any:
        return jnp.sqrt(((x[:, None] - x[None]) ** 2).sum(-1) + 1e-9).mean()

    def collatz(n: Any) -> Any:
        def step(state: Any) -> Any:
            n, steps = state
            return jnp.where(n <= 1, n, jnp.where(n % 2 == 0, n // 2, 3 * n + 1)), steps + (n > 1)

        return lax.while_loop(lambda state: jnp.any(state[0] > 1), step, (n, jnp.zeros_like(n)))[1]

    def life(x: Any) -> Any:
        def step(g: Any, _: Any) -> Any:
            n = sum(jnp.roll(g, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
            return ((n == 3) | ((n == 2) & (g == 1))).astype(jnp.int32), None

        return lax.scan(step, (x > 0).astype(jnp.int32), None, length=5)[0]

    def averages(x: Any) -> Any:
        def step(state: Any, v: Any) -> Any:
            fast, slow = state[0] * 0.8 + v * 0.2, state[1] * 0.95 + v * 0.05
            return (fast, slow), fast - slow

        return lax.scan(step, (x[0], x[0]), x)[1]

    parameters = [{"w": normal(16, 16) / 4, "b": normal(16)} for _ in range(4)]
    cases = [
        (fir_filter, (normal(512), normal(8))),
        (iir_filter, (normal(256), normal(2))),
        (sieve, (np.arange(200, dtype=np.int32),)),
        (sieve_loop, (normal(300),)),
        (where_chain, (normal(1000),)),
        (unrolled_products, (normal(12, 12),)),
        (powers, (normal(16, 16),)),
        (short_scan, (normal(20),)),
        (newton, (normal(64),)),
        (horner, (normal(8, 8),)),
        (shortest_paths, (normal(30, 30),)),
        (bodies, (normal(40, 2),)),
        (sorting_network, (normal(100),)),
        (scan_corr, (normal(50, 6), normal(50, 6))),
        (unrolled_kalman, (normal(4, 4) / 4, normal(2, 4), normal(20, 2))),
        (layers, (parameters, normal(8, 16))),
        (softmax, (normal(1000),)),
        (running_median, (normal(256),)),
        (distances, (normal(100, 3),)),
        (collatz, (np.arange(64, dtype=np.int32),)),
        (life, (normal(32, 32),)),
        (averages, (normal(200),)),
    ]
    return {function.__name__: (function, arguments) for function, arguments in cases}
