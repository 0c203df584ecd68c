"""Call overhead through `pytensor.function`: our mode beside PyTensor's JAX and Numba modes, NumPy arrays in and out.

PyTensor's JAX mode returns JAX arrays; its call is over when the array is there, as ours and Numba's are when theirs
is.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from harness import Report, Target, check_equal, compare

TITLE = "Call overhead through pytensor.function (ratio to the JAX mode)"
OURS, JAX, NUMBA = "STABLEHLO", "JAX", "NUMBA"
BEYOND_NUMBA = 3e-6  # seconds


def run(quick: bool, progress: Callable[[str], None]) -> Report:
    """Two vectors of 8; arguments that PyTensor is told to trust; a shared variable with an update; six arguments."""
    import jax

    report = Report(TITLE, ("function", JAX, NUMBA, OURS))
    rounds = 5 if quick else 60
    for case, build, values in _cases():
        progress(case)
        candidates = {mode: partial(build(mode), *values) for mode in (JAX, NUMBA, OURS)}
        check_equal({mode: [call()] for mode, call in candidates.items()})
        candidates[JAX] = partial(_waiting, jax.block_until_ready, candidates[JAX])
        timings = compare(candidates, JAX, rounds=rounds)
        report.add(case, timings, "us")
        if case == "a + b":
            report.targets.append(Target(f"{case}: ratio to the JAX mode", timings[OURS].ratio, 0.5))
            beyond = (timings[OURS].seconds - timings[NUMBA].seconds) * 1e6
            report.targets.append(Target(f"{case}: us beyond the Numba mode", beyond, BEYOND_NUMBA * 1e6))
    return report


def _waiting(wait: Callable[[Any], Any], call: Callable[[], Any]) -> Any:
    return wait(call())


def _cases() -> list[tuple[str, Callable[[str], Callable[..., Any]], list[Any]]]:
    import pytensor
    import pytensor.tensor as pt

    import hlograph.pytensor  # noqa: F401  registers the mode

    a, b = pt.dvector("a"), pt.dvector("b")
    many = [pt.dvector(f"x{i}") for i in range(6)]
    values = [np.arange(8.0), np.ones(8)]

    def plain(mode: str) -> Callable[..., Any]:
        return pytensor.function([a, b], a + b, mode=mode)

    def trusting(mode: str) -> Callable[..., Any]:
        return pytensor.function([a, b], a + b, mode=mode, trust_input=True)

    def updating(mode: str) -> Callable[..., Any]:
        state = pytensor.shared(np.zeros(8))
        return pytensor.function([a], a * 2, updates={state: state + a}, mode=mode)

    def six(mode: str) -> Callable[..., Any]:
        return pytensor.function(many, sum(many[1:], many[0]), mode=mode)

    return [
        ("a + b", plain, values),
        ("a + b, trust_input", trusting, values),
        ("a shared variable with an update", updating, values[:1]),
        ("six arguments", six, [np.full(8, float(i)) for i in range(6)]),
    ]
