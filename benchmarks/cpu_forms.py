"""cpu_forms: what each of its rewrites pays on the CPU, as kernels of its own and within one kernel.

    python benchmarks/cpu_forms.py [--quick] [--only WORD ...]

A case is a function as a JAX user writes it. It is run `TURNS` times in a loop of the module, in which each turn reads
what the one before has made, so that starting a program is no part of the time; the time is that of one turn, with the
sum of the results, which keeps XLA from leaving anything out. All forms run on the same arrays, in turn, on a
synchronous client; results are compared first. "regions" is with
`cpu_regions`, which makes one kernel of what can be one.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
from harness import Report, check_equal, compare, show

TITLE = "cpu_forms: time of one op in other forms, on the CPU (ratio to the form as written)"
TURNS = 50
COLUMNS = ("as written", "forms", "as written, regions", "forms, regions")

Case = tuple[Callable[..., Any], list[np.ndarray]]


def cases(quick: bool) -> dict[str, Case]:
    """By name: a function and its arguments, of which the first one changes from turn to turn."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    rng = np.random.default_rng(0)

    def array(*shape: int) -> np.ndarray:
        return rng.normal(size=shape)

    def running(x: jax.Array) -> jax.Array:
        window, low = (x.shape[0], *[1] * (x.ndim - 1)), [(x.shape[0] - 1, 0), *[(0, 0)] * (x.ndim - 1)]
        return lax.reduce_window(x, 0.0, lax.add, window, [1] * x.ndim, low)

    def factor(x: jax.Array) -> jax.Array:
        return lax.linalg.cholesky(x, symmetrize_input=False)

    def solve(b: jax.Array, a: np.ndarray) -> jax.Array:
        return lax.linalg.triangular_solve(a, b, left_side=True, lower=True)

    def covariance(*shape: int) -> np.ndarray:
        rows = array(*shape[:-1], shape[-1] + 3)
        return rows @ np.swapaxes(rows, -1, -2)

    def padded(x: jax.Array, count: int) -> jax.Array:
        size = x.size // count
        parts = [jnp.tanh(x[i * size : (i + 1) * size]) for i in range(count)]
        pads = [jnp.pad(part, (i * size, x.size - (i + 1) * size)) for i, part in enumerate(parts)]
        return sum(pads[1:], pads[0])

    found: dict[str, Case] = {}
    for shape in ((500, 50), (1000, 20), (50, 500)):
        found[f"running_loop: {' x '.join(map(str, shape))}, axis 0"] = running, [array(*shape)]
    for shape in ((3, 3), (4, 4), (100, 3, 3), (100, 6, 6)):
        found[f"small_cholesky: {' x '.join(map(str, shape))}"] = factor, [covariance(*shape)]
    for n, count in ((3, 1), (3, 1000)):
        found[f"small_triangular_solve: {n} x {n}, {count} columns"] = (
            solve,
            [array(n, count), np.linalg.cholesky(covariance(n, n))],
        )
    for size in (50, 1000, 10_000):
        found[f"reciprocal_once: {size} by a number"] = (lambda s, x: x / s[0]), [array(3), array(size)]
    found["reciprocal_once: 200 x 20 by 20"] = (lambda s, x: x / s), [array(20), array(200, 20)]
    for count, size in ((20, 3), (93, 10)):
        found[f"pads_in_kernel: {count} of {size}"] = partial(padded, count=count), [array(count * size)]
    return dict(list(found.items())[::5]) if quick else found


def repeated(function: Callable[..., Any]) -> Callable[..., Any]:
    """The sum of a function's results over many turns, each of which changes one element of its first argument."""
    import jax
    import jax.numpy as jnp

    def turn(_: int, carries: Any, rest: tuple[Any, ...]) -> Any:
        x, total = carries
        summed = sum(each.sum() for each in jax.tree.leaves(function(x, *rest)))
        first = x[(0,) * x.ndim] + 1e-9 * jnp.tanh(summed)
        return jax.lax.dynamic_update_slice(x, first.reshape((1,) * x.ndim), (0,) * x.ndim), total + summed

    def turns(x: Any, *rest: Any) -> Any:
        return jax.lax.fori_loop(0, TURNS, lambda i, c: turn(i, c, rest), (x, jnp.zeros(())))[1]

    return turns


def run(quick: bool, progress: Callable[[str], None], only: Iterable[str] = ()) -> Report:
    """Every case in all forms, interleaved, in float64."""
    import jax

    import hlograph
    from hlograph.codegen.ir.jax_compat import enable_x64
    from hlograph.codegen.program import Program

    report = Report(TITLE, ("case", *COLUMNS))
    words = list(only)
    for name, (function, arguments) in cases(quick).items():
        if words and not any(word in name for word in words):
            continue
        progress(name)
        with enable_x64(True):
            # For the CPU, JAX lowers factorizations to LAPACK's calls, which hlograph does after this pass.
            text = jax.jit(repeated(function)).trace(*arguments).lower(lowering_platforms=("tpu",)).as_text()
        before = Program.parse(text).optimize(["inline", "canonicalize", "cse"])
        passes = {"as written": "cse", "forms": "cpu_forms{kernels=true}"}
        programs = {which: before.optimize([passes[which.partition(",")[0]]]) for which in COLUMNS}
        if programs["forms"].text == before.text:
            raise AssertionError(f"{name}: nothing was rewritten")
        calls: dict[str, Callable[[], Any]] = {}
        for which, program in programs.items():
            if program.text == before.text and not which.startswith("as written"):
                continue
            cpu = hlograph.CpuOptions("sync", forms=False, math=False, regions="regions" in which, pack=False)
            calls[which] = partial(program.compile(optimize="none", cpu=cpu, outputs="numpy"), *arguments)
        check_equal({which: [call()] for which, call in calls.items()}, 1e-9)
        timings = compare(calls, "as written", rounds=2 if quick else 5)
        cells = [
            f"{show(timings[which].seconds / TURNS, 'us')} ({timings[which].ratio:.2f})" if which in timings else "-"
            for which in COLUMNS
        ]
        report.rows.append((name, *cells))
        report.data.append(
            {"case": name} | {which: {"seconds": t.seconds / TURNS, "ratio": t.ratio} for which, t in timings.items()}
        )
    return report


def main() -> None:
    """Prints the table as it is measured."""
    parser = argparse.ArgumentParser(description=TITLE)
    parser.add_argument("--quick", action="store_true", help="a few cases, few repetitions")
    parser.add_argument("--only", nargs="+", default=(), metavar="WORD", help="cases with one of these in the name")
    options = parser.parse_args()
    report = run(options.quick, lambda name: None, options.only)
    print("| " + " | ".join(report.columns) + " |\n|" + "---|" * len(report.columns))
    for row in report.rows:
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
