"""Long loops with small carries, and long straight code of small ops: hlograph and its plain compile beside `jax.jit`.

    python benchmarks/small_loops.py [--programs NAME ...] [--rounds N]

Each program is called with NumPy arrays, to NumPy arrays, and with JAX arrays; what calls run on is
settled before anything is timed. `jax.jit, again` is a second copy of the baseline: how far it is from 1 is what two
copies of the same function differ by.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from harness import Report, Target, Timing, check_equal, compare, settle
from small_model_graphs.loops import LOOP_PROGRAMS, LoopProgram

TITLE = "Small loops (ratio to jax.jit)"
BASELINE = "jax.jit"
AGAIN = "jax.jit, again"
GEOMETRIC_MEAN = 0.6
NOISE = 1.03  # so far above 1 are two copies of one function

Call = Callable[[], Any]


def in_numpy(program: LoopProgram) -> tuple[dict[str, Call], dict[str, list[np.ndarray]]]:
    """Calls from NumPy arrays to NumPy arrays, and their results."""
    import jax

    import hlograph

    point = program.point()

    def by_jax() -> Call:
        function = jax.jit(program.function())
        return lambda: [np.asarray(x) for x in function(*point)]

    def by_hlograph(cpu: Any) -> Call:
        function = hlograph.jit(program.function(), outputs="numpy", cpu=cpu)
        call = lambda: function(*point)  # noqa: E731
        call()
        settle(function, call)
        return call

    calls = {BASELINE: by_jax(), AGAIN: by_jax(), "hlograph": by_hlograph("auto"), "plain": by_hlograph("plain")}
    return calls, {name: [np.asarray(x) for x in call()] for name, call in calls.items()}


def in_jax(program: LoopProgram) -> tuple[dict[str, Call], dict[str, list[np.ndarray]]]:
    """Calls with JAX arrays, and their results."""
    import jax

    import hlograph

    point = [jax.device_put(x) for x in program.point()]

    def made(function: Any) -> Call:
        return lambda: jax.block_until_ready(function(*point))

    def by_hlograph(cpu: Any) -> Call:
        function = hlograph.jit(program.function(), cpu=cpu)
        call = made(function)
        call()
        settle(function, call)
        return call

    calls = {
        BASELINE: made(jax.jit(program.function())),
        AGAIN: made(jax.jit(program.function())),
        "hlograph": by_hlograph("auto"),
        "plain": by_hlograph("plain"),
    }
    return calls, {name: [np.asarray(x) for x in call()] for name, call in calls.items()}


def run(
    quick: bool,
    progress: Callable[[str], None],
    programs: Iterable[str] = tuple(LOOP_PROGRAMS),
    rounds: int | None = None,
) -> Report:
    """All programs, or those named."""
    report = Report(TITLE, ("program", BASELINE, AGAIN, "hlograph", "plain"))
    for arrays, calls_of in (("NumPy arrays", in_numpy), ("JAX arrays", in_jax)):
        ratios: list[float] = []
        for name in programs:
            program = LOOP_PROGRAMS[name]
            progress(f"{name}, {arrays}: compiling and trying")
            calls, results = calls_of(program)
            check_equal(results)
            progress(f"{name}, {arrays}: calls")
            timings: dict[str, Timing] = compare(calls, BASELINE, rounds=rounds or (5 if quick else 20))
            report.add(f"{name}, {arrays}", timings, "us")
            report.data[-1] |= {"program": name, "sizes": program.sizes, "arrays": arrays}
            ratio, plain = timings["hlograph"].ratio, timings["plain"].ratio
            ratios.append(ratio)
            report.targets.append(Target(f"{name}, {arrays}: ratio to {BASELINE}", ratio, NOISE))
            report.targets.append(Target(f"{name}, {arrays}: ratio to plain", ratio / plain, NOISE))
        if len(ratios) > 1:
            mean = math.exp(statistics.fmean(map(math.log, ratios)))
            what = f"{arrays}: geometric mean over {len(ratios)} programs: ratio to {BASELINE}"
            report.targets.append(Target(what, mean, GEOMETRIC_MEAN))
    return report


def main() -> None:
    """A part of the benchmark, printed."""
    import run as runner  # which sets up the process; it imports the benchmarks by name when they are run

    parser = argparse.ArgumentParser(description="Long loops with small carries")
    parser.add_argument("--programs", nargs="+", choices=LOOP_PROGRAMS, default=list(LOOP_PROGRAMS), metavar="NAME")
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()

    import jax

    jax.config.update("jax_enable_x64", True)
    console = runner.Console(width=160)
    with runner.Console(stderr=True).status("small_loops") as status:
        report = run(False, lambda text: runner.update(status, "small_loops", text), options.programs, options.rounds)
    console.print(runner.table(report))
    for target in report.targets:
        console.print(f"  {target}", highlight=False)


if __name__ == "__main__":
    main()
