"""Call overhead: adding two vectors of 8.

NumPy arrays come back from the column that says so and from PyTensor's Numba mode, JAX arrays from the others, with no
conversion in the time.

With `jax_enable_x64` off, JAX alone adds in float32; hlograph still computes the graph's float64, and switches JAX's
mode for the time of the call. To get float64 from `jax.jit` there, one switches the mode oneself: the second JAX
column.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from harness import Report, Target, check_equal, compare
from models import GRAPH_PEERS, PEERS

TITLE = "Call overhead, two vectors of 8 (ratio to jax.jit)"
SWITCHED = "jax.jit in enable_x64"
NUMPY = "hlograph, NumPy out"


def run(quick: bool, progress: Callable[[str], None]) -> Report:
    """float64 with x64 on, float64 with x64 off, float32 with x64 off."""
    import jax
    import jax.numpy as jnp
    import pytensor.tensor as pt

    import hlograph
    from hlograph.codegen.ir.jax_compat import enable_x64

    report = Report(TITLE, ("arguments", PEERS[0], NUMPY, PEERS[1], SWITCHED, *PEERS[2:]))
    add = jax.jit(lambda a, b: a + b)

    def switched(a: Any, b: Any) -> Any:
        with enable_x64(True):
            return add(a, b)

    rounds = 5 if quick else 60
    for dtype, x64 in (("float64", True), ("float64", False), ("float32", False)):
        a, b = pt.vector("a", dtype=dtype), pt.vector("b", dtype=dtype)
        functions: dict[str, Callable[..., Any]] = {"jax.jit": add}
        functions |= {peer: build([a, b], a + b) for peer, build in GRAPH_PEERS.items() if x64 or peer == "hlograph"}
        functions[NUMPY] = hlograph.function([a, b], a + b, outputs="numpy")
        if not x64 and dtype == "float64":
            functions[SWITCHED] = switched
        values = [np.arange(8, dtype=dtype), np.ones(8, dtype)]
        before = jax.config.jax_enable_x64
        with enable_x64(True):
            arrays = [jnp.asarray(x) for x in values]
        jax.config.update("jax_enable_x64", x64)
        try:
            check_equal({peer: [function(*values)] for peer, function in functions.items()})
            for kind, arguments in (("JAX arrays", arrays), ("NumPy arrays", values)):
                case = f"{dtype}, x64 {'on' if x64 else 'off'}, {kind}"
                progress(case)
                takes = [n for n in functions if kind == "NumPy arrays" or not n.startswith(("PyTensor", NUMPY))]
                candidates = {name: partial(functions[name], *arguments) for name in takes}
                timings = compare(candidates, "jax.jit", rounds=rounds)
                report.add(case, timings, "us")
                report.targets.append(Target(f"{case}: ratio to jax.jit", timings["hlograph"].ratio, 1.05))
                if NUMPY in timings:
                    report.targets.append(Target(f"{case}, NumPy out: ratio to jax.jit", timings[NUMPY].ratio, 1.0))
        finally:
            jax.config.update("jax_enable_x64", before)
    return report
