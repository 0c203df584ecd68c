"""Loops over a named axis: one padded program for all lengths beside a program for the one length.

Squared errors of a scan over the data, and of `loops.py` the functions of data over time. The padded program's bound is
512; it is called with 460 steps, and so are `jax.jit` and `hlograph.jit` without names, which compile for 460. "Not
sunk" is the padded program without the passes on loops. Temporary memory is XLA's own account.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from harness import Report, Target, check_equal, compare, show
from loops import BATCH, STEPS, WIDTH, Case, cases

TITLE = "Loops over a named axis, padded: time and temporary memory"
LENGTH = 460
NAMES = ("jax.jit", "no names", "padded", "not sunk")
OVER_TIME = ("data", "inputs", "targets")


def squared_error(h: Any, w: Any, data: Any) -> Any:
    """The mean squared error of a filter's outputs."""
    import jax
    import jax.numpy as jnp

    def step(h: Any, x: Any) -> Any:
        h = h * w + 0.1 * x
        return h, h

    return jnp.mean((jax.lax.scan(step, h, data)[1] - data) ** 2)


def over_time() -> dict[str, Case]:
    """The functions of data over time, in float32."""
    import jax
    import jax.numpy as jnp

    rng = np.random.default_rng(0)
    filtered = (
        jnp.zeros((BATCH, WIDTH), jnp.float32),
        jnp.float32(0.5),
        jnp.asarray(rng.normal(size=(STEPS, BATCH, WIDTH)).astype(np.float32)),
    )
    others = {name: case for name, case in cases("float32").items() if "step" in name or "masked" in name}
    return {
        "squared error": Case(squared_error, filtered),
        "squared error with gradient": Case(jax.value_and_grad(squared_error, argnums=(0, 1)), filtered),
    } | others


def run(quick: bool, progress: Callable[[str], None]) -> Report:
    """Every case."""
    import inspect

    import jax

    import hlograph

    report = Report(TITLE, ("function", *NAMES, "memory of the four, MB"))
    for name, case in over_time().items():
        parameters = list(inspect.signature(case.written).parameters)
        places = [place for place, parameter in enumerate(parameters) if parameter in OVER_TIME]
        progress(name)
        arguments = list(case.arguments)
        dims = {parameters[place]: ("t", *arguments[place].shape[1:]) for place in places}
        for place in places:
            arguments[place] = arguments[place][:LENGTH]
        functions = {
            "jax.jit": jax.jit(case.written),
            "no names": hlograph.jit(case.written),
            "padded": hlograph.jit(case.written, dims=dims, policy={"t": STEPS}),
            "not sunk": hlograph.jit(case.written, dims=dims, policy={"t": STEPS}, optimize=["roll_loops", "simplify"]),
        }
        memory = {
            who: function.lower(*arguments).compile().memory_analysis().temp_size_in_bytes
            for who, function in functions.items()
        }
        calls = {
            who: lambda function=function, arguments=arguments: jax.block_until_ready(function(*arguments))
            for who, function in functions.items()
        }
        check_equal({who: jax.tree.leaves(call()) for who, call in calls.items()}, 2e-4)
        timings = compare(calls, "no names", rounds=2 if quick else 15)
        cells = [f"{show(timings[who].seconds, 'ms')} ({timings[who].ratio:.2f})" for who in NAMES]
        report.rows.append((name, *cells, ", ".join(f"{memory[who] / 1e6:.2f}" for who in NAMES)))
        report.data.append(
            {"case": name}
            | {who: {"seconds": timings[who].seconds, "temporary bytes": memory[who]} for who in functions}
        )
        ratio = memory["padded"] / max(1, memory["no names"])
        report.targets += [
            Target(f"{name}: temporary memory, padded beside no names", ratio, 1.2),
            Target(f"{name}: time, padded beside not sunk", timings["padded"].seconds / timings["not sunk"].seconds, 1),
        ]
    return report
