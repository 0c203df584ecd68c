"""Steady calls in a bucket beside the exact executable at the true size, and beside XLA's own bounded dimensions.

First models; then functions of one family each (`families.py`) in buckets of which nine tenths are full, also under
"auto" after 40 calls, and with arrays that no call has had.

Lengths are where buckets leave the middle of what they can to padding: a tenth to a fifth. The last rows are the
padding pass itself: CPU time of its thread for each op of the module that it is given.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from bounded import bounded
from families import families
from harness import Report, Target, check_equal, compare, show
from ragged import MODELS

TITLE = "Steady call in a bucket, value and gradient (ratio to the exact executable)"
COLUMNS = ("exact", "padded", "XLA's bounded dimensions", "jax.jit")


def run(quick: bool, progress: Callable[[str], None]) -> Report:
    """All models, JAX arrays; then the pass."""
    import jax
    import jax.numpy as jnp

    import hlograph

    report = Report(TITLE, ("model", *COLUMNS))
    ratios, bounded_ratios = [], {}
    for model in MODELS.values():
        function = model.function()
        exact = hlograph.jit(function, dims=model.data, policy="exact")
        padded = hlograph.jit(function, dims=model.data, policy="padded")
        plain = jax.jit(function)
        for length in model.lengths[:1] if quick else model.lengths:
            progress(f"{model.name}, {length:,}")
            arguments = [jnp.asarray(x) for x in model.arguments(length)]
            bound = hlograph.Bucket().bound(length)
            candidates: dict[str, Callable[..., Any]] = {
                "exact": partial(exact, *arguments),
                "padded": partial(padded, *arguments),
                "jax.jit": partial(plain, *arguments),
            }
            if model.dot_heavy and jax.default_backend() == "cpu":  # XLA:GPU refuses the bounded products
                other = bounded(padded.program(*arguments), bound).compile()
                count = len(model.parameters)
                wide = [*arguments[:count], *[_wide(x, bound) for x in arguments[count:]], jnp.int32(length)]
                candidates["XLA's bounded dimensions"] = partial(other, *wide)
            check_equal({key: jax.tree.leaves(call()) for key, call in candidates.items()}, rtol=1e-7)
            waiting = {key: partial(_finished, call) for key, call in candidates.items()}
            timings = compare(waiting, "exact", rounds=5 if quick else 40)
            report.add(f"{model.name}, n = {length:,} of {bound:,}", timings, "us")
            ratios.append(timings["padded"].ratio)
            if "XLA's bounded dimensions" in timings:
                bounded_ratios[f"{model.name}, n = {length:,}"] = (
                    timings["XLA's bounded dimensions"].ratio / timings["padded"].ratio
                )
    geometric = math.exp(statistics.fmean(map(math.log, ratios)))
    report.targets.append(Target("padded to exact, geometric mean", geometric, 1.35))
    _add_families(report, quick, progress)
    for case, ratio in bounded_ratios.items():
        report.targets.append(Target(f"XLA's bounded dimensions to padded, {case}", ratio, 2, at_least=True))
    for name, program, bounds in _programs():
        progress(f"the pass on {name}")
        operations = sum(program.op_counts().values())
        samples = []
        for _ in range(2 if quick else 25):
            start = time.thread_time()
            program.pad(bounds)
            samples.append(time.thread_time() - start)
        per_op = min(samples) / operations  # others on the machine only ever add
        cell = f"{show(per_op, 'us')} per op, {show(min(samples), 'ms')}"
        report.rows.append((f"the pass, {name} ({operations:,} ops)", "-", cell, "-", "-"))
        report.data.append({"case": f"the pass, {name}", "operations": operations, "seconds": min(samples)})
        if operations >= 1_000:
            report.targets.append(Target(f"the pass on {name}: us per op", 1e6 * per_op, 20))
    return report


def _add_families(report: Report, quick: bool, progress: Callable[[str], None]) -> None:
    """One row a function and length; exact, padded, "auto" and `jax.jit` with the same arrays, and with new ones."""
    import jax
    import jax.numpy as jnp

    import hlograph

    ratios: dict[str, list[float]] = {"padded": [], "auto": []}
    for family in families():
        for length in family.lengths[:1] if quick else family.lengths:
            progress(f"{family.name}, {length:,}")
            given = [jnp.asarray(x) for x in family.make(length)]
            bound = -(-length * 10 // 72) * 8  # a ninth more
            functions = {
                "exact": hlograph.jit(family.function, dims=family.dims, policy="exact"),
                "padded": hlograph.jit(family.function, dims=family.dims, policy={"n": bound}),
                "auto": hlograph.jit(family.function, dims=family.dims),
                "jax.jit": jax.jit(family.function),
            }
            functions["auto"](*[jnp.asarray(x) for x in family.make(length - 1)])  # the first one is another
            for _ in range(40):
                functions["auto"](*given)
            calls = {who: partial(_finished, partial(function, *given)) for who, function in functions.items()}
            check_equal({who: jax.tree.leaves(call()) for who, call in calls.items()}, rtol=1e-3)
            timings = compare(calls, "exact", rounds=2 if quick else 9)
            new = compare(
                {who: _New(functions[who], given) for who in ("exact", "padded")}, "exact", rounds=2 if quick else 9
            )
            cells = [
                f"{show(timings[who].seconds, 'us')} ({timings[who].ratio:.2f})" for who in ("exact", "padded", "auto")
            ]
            report.rows.append(
                (
                    f"{family.name}, n = {length:,} of {bound:,}",
                    *cells[:2],
                    f"auto: {cells[2]}",
                    f"new arrays: {new['padded'].ratio:.2f}",
                )
            )
            seconds = {who: timing.seconds for who, timing in timings.items()}
            news = {f"{who}, new arrays": timing.seconds for who, timing in new.items()}
            report.data.append({"case": f"{family.name}, {length}"} | seconds | news)
            for who, found in ratios.items():
                found.append(timings[who].ratio)
                more = 1e6 * (seconds[who] - seconds["exact"])
                long = seconds["exact"] >= 300e-6
                name = f"{family.name}, n = {length:,}, {who}"
                target = (
                    Target(f"{name}: ratio", timings[who].ratio, 1.5) if long else Target(f"{name}: us more", more, 15)
                )
                report.targets += [] if target.met else [target]
    for who, found in ratios.items():
        mean = math.exp(statistics.fmean(map(math.log, found)))
        report.targets.append(Target(f"families: {who} to exact, geometric mean", mean, 1.1))


class _New:
    """Calls with arrays that no call has had, which are made before the clock starts."""

    def __init__(self, function: Callable[..., Any], given: list[Any]) -> None:
        self._function, self._given = function, given

    def __call__(self) -> Any:
        return self.timed(1)

    def timed(self, count: int) -> float:
        """The seconds of one of so many."""
        import jax

        arguments = jax.block_until_ready([[x + 0 for x in self._given] for _ in range(count)])
        start = time.perf_counter()
        for each in arguments:
            jax.block_until_ready(self._function(*each))
        return (time.perf_counter() - start) / count


def _finished(call: Callable[..., Any]) -> Any:
    import jax

    return jax.block_until_ready(call())


def _wide(x: Any, bound: int) -> Any:
    import jax.numpy as jnp

    wide = np.zeros((bound, *x.shape[1:]), x.dtype)
    wide[: x.shape[0]] = x
    return jnp.asarray(wide)


def _programs() -> list[tuple[str, Any, dict[str, int]]]:
    """Programs for the pass: elementwise chains, and what JAX exports of the models."""
    import jax
    import pytensor.tensor as pt
    from emission import chain

    import hlograph

    x = pt.vector("x")
    found = [
        (f"a chain of {n:,}", hlograph.emit_stablehlo(([x], [chain(x, n, pt.tanh, pt.sin)])), {"x_0": 128})
        for n in (1_000, 10_000)
    ]
    weights = [np.eye(16)] * 60
    jitted = hlograph.jit(jax.value_and_grad(_deep), dims={"x": ("n", 16), "y": ("n",)})
    found.append(("60 layers, value and gradient", jitted.program(weights, np.ones((5, 16)), np.ones(5)), {"n": 128}))
    for name in ("gp", "rnn", "mlp"):
        model = MODELS[name]
        jitted = hlograph.jit(model.function(), dims=model.data)
        found.append((model.name, jitted.program(*model.arguments(50)), {"n": 128}))
    return found


def _deep(weights: Any, x: Any, y: Any) -> Any:
    """Layers with a normalization each: reductions, broadcasts and dots beside elementwise ops."""
    import jax.numpy as jnp

    for weight in weights:
        x = jnp.tanh(x @ weight)
        x = x - x.mean(1, keepdims=True)
        x = x / jnp.sqrt((x * x).mean(1, keepdims=True) + 1e-3)
    return jnp.mean((x.sum(1) - y) ** 2)
