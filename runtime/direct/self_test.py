"""The self-test of the direct call: run in a process of its own, which a mistake may end.

In: nothing. Out: lines on the standard output, for `supervisor`: what was tried and what came of it, and in the last
one where it is, or how it ended. Functions of every kind that the loader takes are compiled as users' are, once as one
kernel where that can be and once as XLA splits them, compared with PJRT bit by bit, and called from threads, under
signals, and in a forked process.
"""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...codegen.ir.jax_compat import enable_x64
from ..jit import jit
from ..options import CpuOptions
from .supervisor import FAILED
from .verdict import Verdict, assume

THREADS = 8
SECONDS = 1.0  # that they call
ALARMS = 0.002  # seconds between them
INTERRUPTS = 5

Bits = list[tuple[Any, tuple[int, ...], bytes]]


class Failed(Exception):
    """The self-test has not passed; the message says why."""


# ---- the functions ---------------------------------------------------------------------------------------------------


def _densities(x: Any, scale: Any) -> Any:
    def density(x: Any, scale: Any) -> Any:
        return (
            jnp.sum(-0.5 * (x / jnp.exp(scale)) ** 2 - scale + jax.lax.lgamma(1 + x * x))
            - jnp.log1p(jnp.exp(scale))
            + jnp.log(1 + scale**2)
        )

    return jax.value_and_grad(density, argnums=(0, 1))(x, scale)


def _elementary(x: Any) -> Any:
    functions: list[Any] = [jnp.sin, jnp.cos, jnp.tan, jnp.tanh, jnp.exp, jnp.expm1, jnp.log, jnp.cbrt, jax.lax.erf]
    return *(f(x) for f in functions), jnp.power(jnp.abs(x), x), jnp.arctan2(x, 1 - x), jnp.fmod(x, x.dtype.type(0.3))


def _types(values: Any, positions: Any, mask: Any) -> Any:
    picked = jnp.where(mask, values[positions], 0.5)
    narrow = positions.astype(jnp.uint8) << 1, positions.astype(jnp.float16), positions.astype(jnp.int16) * 3
    return picked, positions.max(), mask.sum(dtype=jnp.int32), jnp.exp(1j * values), (positions * 3) % 5, *narrow


def _loop(scale: Any, start: Any) -> Any:
    return jax.lax.scan(lambda x, step: (x * scale + step, x), start, jnp.arange(40.0))


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
    positive = a @ a.T + jnp.eye(len(a))
    factor = jnp.linalg.cholesky(positive)
    return factor, jax.scipy.linalg.solve_triangular(factor, a[:, 0], lower=True)


_LINE, _SQUARE = np.linspace(-1, 1, 9), np.linspace(-1, 1, 36).reshape(6, 6)
# Each kind of thing that an executable may consist of: a function and its arguments.
FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "densities": (_densities, (_LINE, np.array(0.3))),
    "elementary functions": (_elementary, (_LINE,)),
    "elementary functions, float32": (_elementary, (_LINE.astype(np.float32),)),
    "types": (_types, (_LINE[:4], np.array([3, 1, 0, 2]), np.array([True, False, True, False]))),
    "loop": (_loop, (np.array(0.9), np.array(1.0))),
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


def _compiled() -> Iterator[tuple[str, Callable[[], Bits]]]:
    """Calls of those functions that have a direct call."""
    for name, (function, arguments) in FUNCTIONS.items():
        for regions in (True, False):
            what = name if regions else f"{name}, as XLA splits it"
            print(what, end="", flush=True)
            fn = jit(function, outputs="numpy", cpu=CpuOptions(direct=True, regions=regions))
            fn(*arguments)
            (executable,) = fn.stats.by_executable
            note = executable.plan[-1]
            print(f": {note}", flush=True)
            if "differs" in note:
                raise Failed(f"{what}: {note}")
            if not note.startswith("no direct call"):
                yield what, partial(_bits, fn, arguments)


def _bits(fn: Any, arguments: Any) -> Bits:
    return [(x.dtype, x.shape, x.tobytes()) for x in jax.tree.leaves(fn(*arguments))]


# ---- what is done to them --------------------------------------------------------------------------------------------


class _Expected:
    """Functions, and what they gave at first."""

    def __init__(self, calls: dict[str, Callable[[], Bits]]) -> None:
        self.calls = calls
        self.first = {name: call() for name, call in calls.items()}

    def check(self, where: str) -> None:
        for name, call in self.calls.items():
            if call() != self.first[name]:
                raise Failed(f"{name} gives other bits {where}")


def _subnormal_numbers(expected: _Expected) -> None:
    """Zero inside, and themselves outside and afterwards."""
    tiny = np.array([np.finfo(np.float64).tiny])
    expected.check("with subnormal numbers")
    if not (tiny * 0.25)[0] > 0:
        raise Failed("subnormal numbers are zero after a call")


def _threads(expected: _Expected) -> None:
    end = time.monotonic() + SECONDS

    def work(_: int) -> None:
        while time.monotonic() < end:
            expected.check("among several threads")

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(THREADS)))


def _signals(expected: _Expected) -> None:
    """A handler that returns, and one that raises."""
    alarms: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, frame: alarms.append(number))
    signal.setitimer(signal.ITIMER_REAL, ALARMS, ALARMS)
    while len(alarms) < 50:
        expected.check("when signals come")
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in range(INTERRUPTS):
        timer = threading.Timer(0.02 + 0.003 * number, os.kill, (os.getpid(), signal.SIGINT))
        until = time.monotonic() + 5  # a finalizer that is interrupted swallows what is raised
        try:
            timer.start()
            while time.monotonic() < until:
                expected.check("before Ctrl-C")
        except KeyboardInterrupt:
            pass
        timer.join()
    expected.check("after Ctrl-C")


def _fork(expected: _Expected) -> None:
    child = os.fork()
    if not child:
        signal.alarm(60)  # nobody else ends it
        try:
            expected.check("in a forked process")
            os._exit(0)
        finally:
            os._exit(1)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status:
        raise Failed(f"a forked process ended with {status}")
    expected.check("after a fork")


def _memory(expected: _Expected) -> None:
    """Code and constants of the others stay where they are when some functions go."""
    for name in list(expected.calls)[::2]:
        del expected.calls[name]
    jax.clear_caches()
    gc.collect()
    rubbish = [np.full(size, np.nan) for size in range(1, 1000, 7)]
    expected.check("after others were freed")
    del rubbish


_TREATMENTS = {
    "subnormal numbers": _subnormal_numbers,
    "threads": _threads,
    "signals": _signals,
    "fork": _fork,
    "memory": _memory,
}


def run() -> int:
    """The exit status; what is to be known is printed."""
    os.nice(10)  # others wait for their programs, and nobody for this one
    assume(Verdict(True, "assumed by the self-test"))
    try:
        with enable_x64(True):
            calls = dict(_compiled())
        if not calls:
            raise Failed("no function could be called directly")
        passed = f"{len(calls):d} functions, then {', '.join(_TREATMENTS)}"
        expected = _Expected(calls)
        for name, treatment in _TREATMENTS.items():
            print(name, end="", flush=True)
            treatment(expected)
            print(": passed", flush=True)
    except Failed as error:
        print(f"\n{error}", flush=True)
        return FAILED
    except Exception as error:
        print(f" ({type(error).__name__}: {error})", flush=True)
        return 1
    print(passed, flush=True)
    return 0
