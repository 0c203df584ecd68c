"""What each remedy of the CPU plan brings: the small models and loops with one of them left out at a time.

    python benchmarks/small_model_remedies.py [--models NAME ...] [--rounds N]

A second copy of the plan shows what two copies of one function differ by.
Last, how far the plan's results are from those of the plain compile, relative to the greatest element of each.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from harness import Report, Target, Timing, check_equal, compare
from small_model_graphs import SMALL_MODELS
from small_model_graphs.loops import LOOP_PROGRAMS
from small_models import Function, by_hlograph, to_call, to_numpy

TITLE = "Remedies on and off, value and gradient of small models, NumPy in and out (ratio to the first)"

DIFFERENCE = 1e-12
PROGRAMS = (*SMALL_MODELS, *LOOP_PROGRAMS)


def difference(found: Iterable[np.ndarray], expected: Iterable[np.ndarray]) -> float:
    """The largest difference of an element, relative to the greatest element of its array."""
    pairs = zip(found, expected, strict=True)
    return max(float(np.max(np.abs(a - b)) / (np.max(np.abs(b)) or 1)) for a, b in pairs)


def variants() -> dict[str, dict[str, Any]]:
    """By name: options of `hlograph.function` and `hlograph.jit`. The first is what the others are compared with."""
    from hlograph import CpuOptions

    changes: dict[str, dict[str, Any]] = {
        "plan": {},
        "plan, again": {},
        "JAX's client": {"client": "jax"},
        "no regions": {"regions": False},
        "no math": {"math": False},
        "no forms": {"forms": False},
        "no packing": {"pack": False},
    }
    found = {name: {"cpu": CpuOptions(**change)} for name, change in changes.items()}
    return found | {"plain": {"cpu": "plain"}}


def compiled(name: str, chosen: dict[str, Any]) -> tuple[Function, list[np.ndarray]]:
    """A model's or a loop's function, with arguments."""
    import hlograph

    if name in SMALL_MODELS:
        return by_hlograph(SMALL_MODELS[name], **chosen)(), SMALL_MODELS[name].point()
    program = LOOP_PROGRAMS[name]
    return hlograph.jit(program.function(), outputs="numpy", **chosen), program.point()


def run(
    quick: bool, progress: Callable[[str], None], models: Iterable[str] = PROGRAMS, rounds: int | None = None
) -> Report:
    """All models with each variant."""
    options = variants()
    report = Report(TITLE, ("model", *options))
    for name in models:
        functions = {}
        for variant, chosen in options.items():
            progress(f"{name}: compiling, {variant}")
            functions[variant], point = compiled(name, chosen)
        results = {variant: to_numpy(function(*point)) for variant, function in functions.items()}
        check_equal(results)
        what = f"{name}: difference between plan and plain, relative"
        report.targets.append(Target(what, difference(results["plan"], results["plain"]), DIFFERENCE))
        progress(f"{name}: calls")
        calls = {variant: to_call(function, point) for variant, function in functions.items()}
        timings: dict[str, Timing] = compare(calls, next(iter(options)), rounds=rounds or (5 if quick else 40))
        report.add(name, timings, "us")
    return report


def main() -> None:
    """A part of the benchmark, printed."""
    import run as runner  # which sets up the process; it imports the benchmarks by name when they are run

    parser = argparse.ArgumentParser(description="Remedies on and off")
    parser.add_argument("--models", nargs="+", choices=PROGRAMS, default=PROGRAMS, metavar="NAME")
    parser.add_argument("--rounds", type=int, default=40)
    options = parser.parse_args()

    import jax

    jax.config.update("jax_enable_x64", True)
    console = runner.Console(width=240)
    with runner.Console(stderr=True).status("remedies") as status:
        report = run(False, lambda text: runner.update(status, "remedies", text), options.models, options.rounds)
    console.print(runner.table(report))
    for target in report.targets:
        console.print(f"  {target}", highlight=False)


if __name__ == "__main__":
    main()
