"""The self-test of the direct call: run in a process of its own, which a mistake may end.

In: nothing. Out: on the standard output a line on each thing before it is done, and at last what has gone well, or what
has not, with exit status 1. Functions of every kind that the loader takes are compiled as users' are, once as one
kernel where that can be and once as XLA splits them, compared with PJRT bit by bit, and called from threads and in a
forked process.
"""

from __future__ import annotations

import itertools
import os
import signal
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..jit import jit
from ..options import CpuOptions
from .verdict import Verdict, assume

LIMIT = 240  # seconds that it may take; 20 are usual
THREADS = 8
SECONDS = 1.0  # that they call
_said = "its start"  # the last line

Bits = list[tuple[Any, tuple[int, ...], bytes]]


def _densities(x: Any, scale: Any) -> Any:
    def density(x: Any, scale: Any) -> Any:
        likelihood = jnp.sum(-0.5 * (x / jnp.exp(scale)) ** 2 - scale + jax.lax.lgamma(1 + x * x))
        return likelihood - jnp.log1p(jnp.exp(scale)) + jnp.log(1 + scale**2)

    return jax.value_and_grad(density, argnums=(0, 1))(x, scale)


def _elementary(x: Any) -> Any:
    functions: list[Any] = [jnp.sin, jnp.cos, jnp.tan, jnp.tanh, jnp.exp, jnp.expm1, jnp.log, jnp.cbrt, jax.lax.erf]
    return *(f(x) for f in functions), jnp.power(jnp.abs(x), x), jnp.arctan2(x, 1 - x), jnp.fmod(x, x.dtype.type(0.3))


def _types(values: Any, positions: Any, mask: Any) -> Any:
    picked = jnp.where(mask, values[positions], 0.5)
    narrow = positions.astype(jnp.uint8) << 1, positions.astype(jnp.float16), positions.astype(jnp.int16) * 3
    return picked, positions.max(), mask.sum(dtype=jnp.int32), jnp.exp(1j * values), (positions * 3) % 5, *narrow


def _gradient_of_a_loop(scale: Any) -> Any:
    def total(scale: Any) -> Any:
        return jax.lax.scan(lambda x, step: (jnp.tanh(x * scale + step), x), jnp.zeros(3), jnp.ones((30, 3)))[1].sum()

    return jax.value_and_grad(total)(scale)


def _constants(positions: Any) -> Any:
    tables = np.linspace(0, 1, 300), np.arange(200, dtype=np.int8), np.linspace(0, 1, 77) * 1j, np.arange(99) > 7
    return [jnp.asarray(table)[positions] for table in tables]


def _branches(x: Any, which: Any) -> Any:
    chosen = jax.lax.switch(which, [jnp.sort, jnp.cumsum, lambda x: x * 2], x)
    return chosen, jax.lax.cond(which > 0, lambda: jnp.sin(chosen).sum(), lambda: chosen.max())


def _loop_of_several(a: Any) -> Any:
    """A loop over a factorization and a sort, which are not in one kernel."""
    return jax.lax.fori_loop(0, 4, lambda _, b: jnp.linalg.cholesky(b @ b.T + jnp.eye(len(b))) + jnp.sort(b), a)


def _matrices(a: Any) -> Any:
    factor = jnp.linalg.cholesky(a @ a.T + jnp.eye(len(a)))
    return factor, jax.scipy.linalg.solve_triangular(factor, a[:, 0], lower=True)


_LINE, _SQUARE = np.linspace(-1, 1, 9), np.linspace(-1, 1, 36).reshape(6, 6)
# Each kind of thing that an executable may consist of: a function and its arguments.
FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "densities": (_densities, (_LINE, np.array(0.3))),
    "elementary functions": (_elementary, (_LINE,)),
    "elementary functions, float32": (_elementary, (_LINE.astype(np.float32),)),
    "types": (_types, (_LINE[:4], np.array([3, 1, 0, 2]), np.array([True, False, True, False]))),
    "gradient of a loop": (_gradient_of_a_loop, (np.array(0.9),)),
    "reductions": (lambda x: (x.sum(), x.max(), x.argmax(), x.prod(), jnp.cumsum(x)), (np.linspace(0, 1, 500),)),
    "scatter": (lambda x, at: jnp.zeros(20).at[at].add(x), (_LINE, np.array([3, 1, 8, 8, 2, 3, 4, 5, 6]))),
    "sort": (lambda x: (jnp.sort(x), jnp.argsort(x)), (_LINE**2,)),
    "products": (lambda a, b: (a @ b, jnp.tanh(a @ b[:, 0])), (_SQUARE, _SQUARE**2)),
    "large product": (lambda a: a @ a, (np.linspace(-1, 1, 3600).reshape(60, 60),)),
    "factorizations": (_matrices, (_SQUARE,)),
    "large factorizations": (_matrices, (np.linspace(-1, 1, 2500).reshape(50, 50),)),
    "branches": (_branches, (_LINE, np.array(1))),
    "loop over several kernels": (_loop_of_several, (_SQUARE,)),
    "work groups": (lambda x: (jnp.exp(x), jnp.sin(x).sum()), (np.linspace(-1, 1, 200_000),)),
    "constants": (_constants, (np.array([3, 5, 7]),)),
    "copies": (lambda x, y: (x, x[:0], x, y.sum(), y), (np.arange(3.0), np.zeros((0, 3)))),
}


def _bits(fn: Any, arguments: Any) -> Bits:
    return [(x.dtype, x.shape, x.tobytes()) for x in jax.tree.leaves(fn(*arguments))]


def tried() -> str:
    """What has gone well."""
    calls: dict[str, tuple[Any, Any, Bits]] = {}
    for (name, (function, arguments)), regions in itertools.product(FUNCTIONS.items(), (True, False)):
        what = name if regions else f"{name}, as XLA splits it"
        say(what)
        fn = jit(function, outputs="numpy", cpu=CpuOptions(direct=True, regions=regions))
        first = _bits(fn, arguments)
        (executable,) = fn.stats.by_executable
        note = executable.plan[-1]
        if "differs" in note:
            raise RuntimeError(f"{what}: {note}")
        if not note.startswith("no direct call"):
            calls[what] = fn, arguments, first
    if not calls:
        raise RuntimeError("no function could be called directly")

    def check(where: str) -> None:
        for name, (fn, arguments, first) in calls.items():
            if _bits(fn, arguments) != first:
                raise RuntimeError(f"{name} gives other bits {where}")

    def work(_: int) -> None:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            check("among several threads")

    say("threads")
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(THREADS)))
    if not (np.array([np.finfo(np.float64).tiny]) * 0.25)[0] > 0:
        raise RuntimeError("subnormal numbers are zero after a call")
    say("fork")
    child = os.fork()
    if not child:
        signal.alarm(60)  # nobody else ends it
        try:
            check("in a forked process")
            os._exit(0)
        finally:
            os._exit(1)
    if status := os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        raise RuntimeError(f"a forked process ended with {status}")
    check("after a fork")
    return f"{len(calls):d} functions called directly, then threads and a fork"


def say(line: str) -> None:
    """A line of the self-test's."""
    global _said
    _said = line
    print(*line.split(), flush=True)


def run() -> None:
    """The self-test, in a process that does nothing else."""
    os.nice(10)  # others wait for their programs, and nobody for this one
    signal.alarm(LIMIT)
    assume(Verdict(True, "assumed by the self-test"))
    jax.config.update("jax_enable_x64", True)
    try:
        say(tried())
    except Exception as error:
        say(f"{_said} ({type(error).__name__}: {error})")
        sys.exit(1)


if __name__ == "__main__":
    run()
