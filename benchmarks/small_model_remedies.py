"""What each remedy of the CPU plan brings: the small models with one of them left out at a time.

Beside it, how far the plan's results are from those of the plain compile, relative to the greatest element of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from harness import Report, Target, Timing, check_equal, compare
from small_model_graphs import SMALL_MODELS
from small_models import by_hlograph, to_call, to_numpy

TITLE = "Remedies on and off, value and gradient of small models, NumPy in and out (ratio to the first)"

DIFFERENCE = 1e-12


def difference(found: Iterable[np.ndarray], expected: Iterable[np.ndarray]) -> float:
    """The largest difference of an element, relative to the greatest element of its array."""
    pairs = zip(found, expected, strict=True)
    return max(float(np.max(np.abs(a - b)) / (np.max(np.abs(b)) or 1)) for a, b in pairs)


def variants() -> dict[str, dict[str, Any]]:
    """By name: options of `hlograph.function` and `hlograph.jit`. The first is what the others are compared with."""
    from hlograph import CpuOptions

    return {
        "plan": {},
        "plain": {"cpu": "plain"},
        "JAX's client": {"cpu": "jax"},
        "no regions": {"cpu": CpuOptions(regions=False)},
        "no math": {"cpu": CpuOptions(math=False)},
        "no forms": {"cpu": CpuOptions(forms=False)},
        "no packing": {"cpu": CpuOptions(pack=False)},
        "vectors of 256 bits": {"cpu": CpuOptions(vector_width=256)},
        "LLVM at level 3": {"cpu": CpuOptions(backend_level=3)},
    }


def run(quick: bool, progress: Callable[[str], None], models: Iterable[str] = tuple(SMALL_MODELS)) -> Report:
    """All models with each variant."""
    options = variants()
    report = Report(TITLE, ("model", *options))
    for name in models:
        model = SMALL_MODELS[name]
        point = model.point()
        functions = {}
        for variant, chosen in options.items():
            progress(f"{name}: compiling, {variant}")
            functions[variant] = by_hlograph(model, **chosen)()
        results = {variant: to_numpy(function(*point)) for variant, function in functions.items()}
        check_equal(results)
        what = f"{name}: difference between plan and plain, relative"
        report.targets.append(Target(what, difference(results["plan"], results["plain"]), DIFFERENCE))
        progress(f"{name}: calls")
        calls = {variant: to_call(function, point) for variant, function in functions.items()}
        timings: dict[str, Timing] = compare(calls, next(iter(options)), rounds=5 if quick else 40)
        report.add(name, timings, "us")
    return report
