"""What each remedy of the CPU plan brings: the small models with one of them left out at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from harness import Report, Timing, check_equal, compare
from small_model_graphs import SMALL_MODELS
from small_models import by_hlograph, to_call, to_numpy

TITLE = "Remedies on and off, value and gradient of small models, NumPy in and out (ratio to the first)"


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
        check_equal({variant: to_numpy(function(*point)) for variant, function in functions.items()})
        progress(f"{name}: calls")
        calls = {variant: to_call(function, point) for variant, function in functions.items()}
        timings: dict[str, Timing] = compare(calls, next(iter(options)), rounds=5 if quick else 40)
        report.add(name, timings, "us")
    return report
