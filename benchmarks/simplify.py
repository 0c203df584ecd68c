"""simplify: what each of its rewrites pays, as XLA compiles a module for the CPU with and without it.

A case is a function as a JAX user writes it, lowered. Both modules run on the same arrays, in turn; results are
compared first. Compile times are those of the first call. The last rows are the pass's own time on long modules.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from harness import Report, Target, check_equal, compare, show

TITLE = "simplify: with and without each rewrite, on the CPU"


def cases(quick: bool, dtype: type) -> dict[str, tuple[Callable[..., Any], list[np.ndarray]]]:
    """By name, which begins with the rewrite's: a function, and its arguments."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    rng = np.random.default_rng(0)
    zero = np.zeros((), dtype)

    def array(*shape: int) -> np.ndarray:
        return rng.normal(size=shape).astype(dtype)

    def unrolled(x: jax.Array, rows: int) -> jax.Array:
        return sum(jnp.sin(x[i]) * (i + 1) for i in range(rows))

    def pads(x: jax.Array, rows: int) -> jax.Array:
        terms = [lax.pad(jnp.sin(x[i])[None], zero, [(i, rows - 1 - i, 0), *[(0, 0, 0)] * (x.ndim - 1)])
                 for i in range(rows)]  # fmt: skip
        return sum(terms[1:], terms[0])

    def power(exponent: float) -> Callable[[jax.Array], jax.Array]:
        return lambda x: lax.pow(x, jnp.full(x.shape, exponent, x.dtype))

    def wide(x: jax.Array) -> jax.Array:
        return lax.broadcast_in_dim(x, (*x.shape, 64), range(x.ndim))

    def likelihood(w: jax.Array, rows: jax.Array, y: jax.Array) -> jax.Array:
        def softplus(z: jax.Array) -> jax.Array:
            return lax.max(z, 0.0 * z) + lax.log1p(lax.exp(-lax.abs(z)))

        z = rows @ w
        return -lax.select(y > 0, softplus(-z), softplus(z)).sum()

    x, square = array(1000, 64), array(3000, 3000) if not quick else array(300, 300)
    positive = np.abs(array(100_000)) + dtype(0.5)
    scalars, rows = (256, 64) if quick else (300, 200)
    place = np.arange(900)

    def filled(x: jax.Array) -> jax.Array:
        return x.at[jnp.arange(10, 900)].get(mode="fill", fill_value=jnp.nan)

    found: dict[str, tuple[Callable[..., Any], list[np.ndarray]]] = {
        f"sum_of_pads: {scalars} scalars": (lambda x: pads(x, scalars), [array(scalars)]),
        "sum_of_pads: 50 of (64, 256)": (lambda x: pads(x, 50), [array(50, 64, 256)]),
        f"sum_of_pads: gradient of {rows} rows": (jax.grad(lambda x: unrolled(x, rows).sum()), [array(rows, 64)]),
        "gather_to_slice: 890 of 1000 rows": (lambda x: x[jnp.arange(10, 900)], [x]),
        "gather_to_slice: 890 of 1000 columns": (lambda x: x[:, jnp.arange(10, 900)], [np.ascontiguousarray(x.T)]),
        "known_select: 890 rows, with a check": (filled, [x]),
        "scatter_to_pad: gradient of 890 rows": (jax.grad(lambda x: (x[jnp.arange(10, 900)] ** 2).sum()), [x]),
        "scatter_to_pad: into zeros": (lambda u: jnp.zeros_like(x).at[place].add(u), [x[:900]]),
        "scatter_to_pad: all rows overwritten": (lambda x, u: x.at[jnp.arange(1000)].set(u), [x, x + 1]),
        "reduce_of_broadcast: maximum": (lambda x: wide(x).max(1), [x[:, 0]]),
        "reduce_of_broadcast: sum of all": (lambda x: wide(x).sum(), [x[:, 0]]),
        "reduce_of_broadcast: sum of copies": (lambda x: wide(x).sum(1), [x[:, 0]]),
        "abs_of_negate: a logistic likelihood": (
            jax.value_and_grad(likelihood),
            [array(20), array(10_000, 20), array(10_000)],
        ),
        **{f"power_to_multiply: x**{e:g}": (power(e), [positive]) for e in (2.0, 3.0, 4.0, 5.0, -2.0, -0.5)},
        f"transpose_into_dot: A.T @ v, {len(square)}": (lambda a, v: a.T @ v, [square, square[0]]),
        "transpose_into_dot: A.T @ B, 300": (lambda a, b: a.T @ b, [array(300, 300), array(300, 300)]),
    }
    return found


def long_module(ops: int) -> str:
    """Adds and multiplies, nearly none of which any rewrite has to do with, and one op for each that has."""
    lines = [
        "%z = stablehlo.constant dense<0.0> : tensor<f32>",
        "%a = stablehlo.slice %x [0:1] : (tensor<8xf32>) -> tensor<1xf32>",
        *(
            f"%p{i} = stablehlo.pad %a, %z, low = [{3 * i}], high = [{7 - 3 * i}], interior = [0] : "
            "(tensor<1xf32>, tensor<f32>) -> tensor<8xf32>"
            for i in range(2)
        ),
        "%v0 = stablehlo.add %p0, %p1 : tensor<8xf32>",
        "%c = stablehlo.constant dense<4.0> : tensor<8xf32>",
        "%v1 = stablehlo.power %v0, %c : tensor<8xf32>",
    ]
    lines += [
        f"%v{i} = stablehlo.{'add' if i % 2 else 'multiply'} %v{i - 1}, %v{i // 2} : tensor<8xf32>"
        for i in range(2, ops - 5)
    ]
    body = "\n  ".join(lines)
    return (
        f"func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {{\n  {body}\n  return %v{ops - 6} : tensor<8xf32>\n}}\n"
    )


def run(quick: bool, progress: Callable[[str], None]) -> Report:
    """Every case in both forms, interleaved, in float32 and float64."""
    import jax

    from hlograph.codegen import passes
    from hlograph.codegen.program import Program

    report = Report(TITLE, ("case", "as written", "simplified", "first call", "simplified"))
    for dtype in (np.float32, np.float64):
        for name, (function, arguments) in cases(quick, dtype).items():
            case = f"{name}, {np.dtype(dtype)}"
            progress(case)
            before = Program.parse(jax.jit(function).lower(*arguments).as_text())
            programs = {"as written": before, "simplified": before.optimize(["simplify"])}
            if programs["simplified"].text == before.text:
                raise AssertionError(f"{case}: nothing was rewritten")
            arrays = [jax.device_put(x) for x in arguments]
            calls: dict[str, Callable[[], Any]] = {}
            first: dict[str, float] = {}
            for which, program in programs.items():
                compiled = program.compile(optimize="none")
                start = time.perf_counter()
                jax.block_until_ready(compiled(*arrays))
                first[which] = time.perf_counter() - start
                calls[which] = partial(_call, compiled, arrays)
            tolerance = 1e-4 if dtype == np.float32 else 1e-9
            check_equal({which: jax.tree.leaves(call()) for which, call in calls.items()}, tolerance)
            timings = compare(calls, "as written", rounds=2 if quick else 9)
            cells = [f"{show(timings[which].seconds, 'us')} ({timings[which].ratio:.2f})" for which in calls]
            report.rows.append((case, *cells, *(show(first[which], "s") for which in calls)))
            report.data.append(
                {"case": case, "first call": first}
                | {which: {"seconds": t.seconds, "ratio": t.ratio} for which, t in timings.items()}
            )
    for ops in (1_000, 10_000) if quick else (1_000, 10_000, 100_000):
        progress(f"a module of {ops} ops")
        module = Program.parse(long_module(ops)).copy_module()
        start = time.thread_time()  # what else runs on the machine does not count
        passes.run(module, "simplify")
        each = (time.thread_time() - start) / ops
        report.rows.append((f"the pass on {ops:,} ops", "-", f"{show(each, 'us')} per op", "-", "-"))
        report.data.append({"case": f"the pass on {ops} ops", "seconds per op": each})
        report.targets.append(Target(f"the pass on {ops:,} ops, us per op", each * 1e6, 30.0))
    return report


def _call(function: Callable[..., Any], arrays: list[Any]) -> Any:
    import jax

    return jax.block_until_ready(function(*arrays))
