"""Rounding of float32 sums over a loop's steps, against sums in float64: in the loop, and of the stack by `jax.jit`.

Errors are the greatest of five draws, in units of eps * sum(|terms|). Terms are of one sign, of both, or cancel: each
step takes away nearly what the one before has added.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from harness import Report, Target

TITLE = "Rounding of float32 sums over a loop's steps (units of eps times the sum of magnitudes)"
WIDTH = 8
EPS = float(np.finfo(np.float32).eps)


def stacked(xs: Any) -> Any:
    """What a loop reads, stacked."""
    import jax
    import jax.numpy as jnp

    return jax.lax.scan(lambda c, x: (c + 1, x + 0 * c), jnp.float32(0), xs)[1]


def sums() -> dict[str, tuple[Callable[[Any], Any], Callable[[np.ndarray], np.ndarray], float]]:
    """Functions, their terms in float64, and the bound that holds for ours."""
    import jax.numpy as jnp

    return {
        "over time": (lambda x: stacked(x).sum(0), lambda x: x, 0.5),
        "of all": (lambda x: stacked(x).sum(), lambda x: x.reshape(-1, 1), WIDTH / 2),
        "strided": (lambda x: stacked(x)[:, ::2].sum(1).sum(0), lambda x: x[:, ::2].reshape(-1, 1), WIDTH / 4),
        "of products": (lambda x: (stacked(x) * x[::-1]).sum(0), lambda x: x * x[::-1], 1.0),
        "a dot": (lambda x: jnp.einsum("tb,tb->b", stacked(x), x[::-1]), lambda x: x * x[::-1], 1.0),
    }


def data(kind: str, steps: int, rng: np.random.Generator) -> np.ndarray:
    """Terms of one kind."""
    x = rng.normal(size=(steps, WIDTH))
    if kind == "one sign":
        x = rng.uniform(1, 2, x.shape)
    if kind == "cancel":
        x = 1e4 * np.repeat(x[::2], 2, axis=0) * np.resize([1, -1], steps)[:, None] + 0.01 * x
    return x.astype(np.float32)


def run(quick: bool, progress: Callable[[str], None]) -> Report:
    """Every sum, kind of terms and number of steps."""
    import jax

    import hlograph

    lengths = (64, 1024) if quick else (64, 1024, 16384)
    columns = [f"{who}, {steps:,} steps" for steps in lengths for who in ("jax.jit", "hlograph.jit")]
    report = Report(TITLE, ("sum", "terms", *columns, "bound"))
    for name, (function, terms, bound) in sums().items():
        functions = {"jax.jit": jax.jit(function), "hlograph.jit": hlograph.jit(function)}
        for kind in ("one sign", "both signs", "cancel"):
            progress(f"{name}, {kind}")
            cells = []
            for steps in lengths:
                worst = dict.fromkeys(functions, 0.0)
                for seed in range(5):
                    x = data(kind, steps, np.random.default_rng(seed))
                    exact = terms(x.astype(np.float64))
                    for who, call in functions.items():
                        worst[who] = max(worst[who], error(np.asarray(call(x)), exact))
                cells += [f"{worst[who]:.2g}" for who in functions]
                report.data.append({"sum": name, "terms": kind, "steps": steps} | worst)
                report.targets.append(Target(f"{name}, {kind}, {steps:,} steps", worst["hlograph.jit"], bound))
            report.rows.append((name, kind, *cells, f"{bound:g}"))
    return report


def error(found: np.ndarray, terms: np.ndarray) -> float:
    """The greatest error of the sums of the columns."""
    exact = np.array([math.fsum(column) for column in terms.T])
    return float(np.max(np.abs(found.astype(np.float64).ravel() - exact) / (EPS * np.abs(terms).sum(0))))
