"""cpu_math: float64 logarithms and gamma functions on the CPU, XLA's own beside the pass's.

Each case is one function of an array of 100, 1,000 or 10,000 elements, which is on the device, on a synchronous client;
"an addition" is what such a call costs by itself. Results are compared first. XLA's thread pool and its library for
sums are off for the formulas, as in docs/explanation/cpu_math.md; XLA's own ops are compiled as they are by default.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from harness import Report, check_equal, compare, show

TITLE = "cpu_math: with and without the pass, on the CPU"
OPTIONS = {"xla_disable_hlo_passes": "dot-library-rewriter,cpu-parallel-task-assigner"}


def functions() -> dict[str, Callable[..., Any]]:
    """By name, a JAX function of a positive array."""
    import jax.numpy as jnp
    from jax import lax

    return {
        "an addition": lambda x: x + 1.0,
        "log": jnp.log,
        "log1p": jnp.log1p,
        "softplus": lambda x: jnp.maximum(x, 0.0) + jnp.log1p(jnp.exp(-jnp.abs(x))),
        "lgamma": lax.lgamma,
        "lgamma(exp(x))": lambda x: lax.lgamma(jnp.exp(x)),
        "digamma": lax.digamma,
        "digamma(exp(x))": lambda x: lax.digamma(jnp.exp(x)),
        "trigamma": lambda x: lax.polygamma(jnp.ones_like(x), x),
        "sum(log(x) * x)": lambda x: (jnp.log(x) * x).sum(),
    }


def run(quick: bool, progress: Callable[[str], None]) -> Report:
    """Every case with and without the pass, interleaved."""
    import jax

    from hlograph.codegen.ir.jax_compat import enable_x64
    from hlograph.codegen.program import Program

    report = Report(TITLE, ("case", "XLA's own", "cpu_math", "compile", "cpu_math"))
    rng = np.random.default_rng(0)
    for size in (100, 1000) if quick else (100, 1000, 10_000):
        x = rng.uniform(0.1, 9, size)
        for name, function in functions().items():
            case = f"{name}, {size:,}"
            progress(case)
            with enable_x64(True):
                before = Program.parse(jax.jit(function).lower(x).as_text())
            programs = {"XLA's own": before, "cpu_math": before.optimize(["inline", "cpu_math{elements=1}"])}
            calls, seconds = {}, {}
            for which, program in programs.items():
                start = time.perf_counter()
                calls[which] = compiled(program, x, None if which == "XLA's own" else OPTIONS)
                seconds[which] = time.perf_counter() - start
            check_equal({which: [call()] for which, call in calls.items()}, 1e-11)
            timings = compare(calls, "XLA's own", rounds=2 if quick else 9)
            cells = [f"{show(timings[which].seconds, 'us')} ({timings[which].ratio:.2f})" for which in calls]
            report.rows.append((case, *cells, *(show(seconds[which], "ms") for which in calls)))
            report.data.append(
                {"case": case, "compile": seconds}
                | {which: {"seconds": t.seconds, "ratio": t.ratio} for which, t in timings.items()}
            )
    return report


def compiled(program: Any, x: np.ndarray[Any, Any], options: dict[str, str] | None) -> Callable[[], Any]:
    """A call of a program with one argument and one result, compiled as it is for a synchronous client."""
    from jaxlib import _jax
    from jaxlib.xla_client import CompileOptions

    from hlograph.runtime.executables.devices import synchronous_device

    device = synchronous_device()
    compile_options = CompileOptions()
    compile_options.env_option_overrides = list((options or {}).items())
    executable = device.client.compile_and_load(program.to_bytecode(), _jax.DeviceList((device,)), compile_options)
    import jax

    from hlograph.codegen.ir.jax_compat import enable_x64

    with enable_x64(True):
        argument = jax.device_put(x, device)

    def call() -> Any:
        return executable.execute_sharded([argument]).disassemble_into_single_device_arrays()[0][0].block_until_ready()

    return call
