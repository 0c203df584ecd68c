"""The self-test of the direct call: run in its own process, which a mistake may end.

In: the record of one that was ended before. Out: on the standard output, which is that record, the name of each further
program before it is tried, how it is called after that, and at last the verdict. Programs are compiled as users' are:
some chosen ones, once as one kernel where that can be and once as XLA splits them, and random ones. Each is compared
with PJRT bit by bit, then called from threads and in a forked process. A difference, or an error, ends it.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...codegen.ir import jax_compat
from ..jit import jit
from ..options import CpuOptions
from . import verdict

LIMIT, WAIT = 120, 600  # seconds of processor time that a program may take (half of one is usual), and in all
THREADS, CALLS = 4, 25
FORKS = sys.platform == "linux"  # elsewhere the system's own libraries do not live through it, or it does not exist
FAMILIAR, OTHERS = 16, 130  # random programs where the tests have run, and elsewhere
DIRECT = "direct call of the kernels"

Program = tuple[Callable[..., Any], tuple[Any, ...]]  # and its arguments


def _elementary(x: Any) -> Any:
    functions: list[Any] = [jnp.sin, jnp.cos, jnp.tan, jnp.tanh, jnp.exp, jnp.expm1, jnp.log, jnp.cbrt, jax.lax.erf]
    return *(f(x) for f in functions), jnp.power(jnp.abs(x), x), jnp.arctan2(x, 1 - x), jnp.fmod(x, x.dtype.type(0.3))


def _types(values: Any, positions: Any, mask: Any) -> Any:
    picked = jnp.where(mask, values[positions], 0.5)
    narrow = positions.astype(jnp.uint8) << 1, positions.astype(jnp.float16), positions.astype(jnp.int16) * 3
    return picked, positions.max(), mask.sum(dtype=jnp.int32), jnp.exp(1j * values), (positions * 3) % 5, *narrow


def _constants(positions: Any) -> Any:
    tables = np.linspace(0, 1, 300), np.arange(200, dtype=np.int8), np.linspace(0, 1, 77) * 1j, np.arange(99) > 7
    return [jnp.asarray(table)[positions] for table in tables]


_LINE = np.linspace(-1, 1, 9)
# What random programs have not got.
CHOSEN: dict[str, Program] = {
    "elementary functions": (_elementary, (_LINE,)),
    "elementary functions, float32": (_elementary, (_LINE.astype(np.float32),)),
    "types": (_types, (_LINE[:4], np.array([3, 1, 0, 2]), np.array([True, False, True, False]))),
    "work groups": (lambda x: (jnp.exp(x), jnp.sin(x).sum()), (np.linspace(-1, 1, 200_000),)),
    "constants": (_constants, (np.array([3, 5, 7]),)),
    "copies": (lambda x, y: (x, x[:0], x, y.sum(), y), (np.arange(3.0), np.zeros((0, 3)))),
}

# Square matrices from two of them, and rows or columns by their numbers.
STEPS: tuple[Callable[[Any, Any, Any], Any], ...] = (
    lambda a, b, at: a / (1 + b * b) - a,
    lambda a, b, at: jnp.where(a > b, jnp.tanh(a), jnp.exp(-b * b)),
    lambda a, b, at: jnp.log1p(a * a) * jnp.sin(b) + jax.lax.erf(a),
    lambda a, b, at: jax.lax.lgamma(1 + a * a) + jnp.arctan2(a, b) * jnp.power(jnp.abs(b), 0.3),
    lambda a, b, at: jnp.cumsum(a, 0) / len(a) + b,
    lambda a, b, at: a - jax.nn.logsumexp(a, 1, keepdims=True),
    lambda a, b, at: b * (a.max(0) - a.mean()) + jnp.argmax(a, 1).astype(a.dtype),
    lambda a, b, at: jnp.sort(a, 1) - jnp.take_along_axis(b, jnp.argsort(a, 0), 0),
    lambda a, b, at: a[at] + b[:, at].T,
    lambda a, b, at: a.at[at // 2].add(b),
    lambda a, b, at: jax.lax.dynamic_update_slice(a, jnp.concatenate([a[:1, 1:], b[:1, :1]], 1), (at[0], 0)),
    lambda a, b, at: (a.astype(jnp.float32) * 3).astype(a.dtype) + (b > 0)[::-1].astype(a.dtype),
    lambda a, b, at: (jnp.clip(a, -9, 9) * 9).astype(jnp.int32).astype(a.dtype) % 7,
    lambda a, b, at: jnp.tanh(a @ b.T),
    lambda a, b, at: jax.lax.fori_loop(0, 5, lambda i, c: jnp.tanh(c * b + i), a),
    lambda a, b, at: jax.lax.scan(lambda c, x: (jnp.cos(c + x), c * x), a[0], b)[1],
    lambda a, b, at: jax.lax.cond(a[0, 0] > 0, jnp.sin, lambda a: a * at[0], a),
    lambda a, b, at: jax.lax.switch(at[-1] % 3, [lambda a, b: a, lambda a, b: jnp.sort(b), jnp.minimum], a, b),
    lambda a, b, at: jnp.linalg.cholesky(a @ a.T / len(a) + jnp.eye(len(a), dtype=a.dtype)),
    lambda a, b, at: jax.scipy.linalg.solve_triangular(jnp.tril(a) / len(a) + jnp.eye(len(a), dtype=a.dtype), b),
)


def random_program(seed: int) -> Program:
    """A function of some `STEPS`, with a gradient or without, and its arguments."""
    random = np.random.default_rng(seed)
    size, dtype = random.choice([1, 2, 3, 5, 8, 13, 60]), random.choice([np.float64, np.float32])
    steps = [(random.choice(len(STEPS)), *random.integers(0, 1 << 20, 2)) for _ in range(random.integers(2, 16))]
    x, y = random.normal(size=(2, size, size)).astype(dtype)

    def function(x: Any, y: Any, at: Any) -> Any:
        values = [x, y]
        for step, *picked in steps:
            values.append(STEPS[step](*(values[number % len(values)] for number in picked), at))
        return values[-1], sum(value.sum() for value in values[2:])

    with_gradient = random.random() < 0.4
    differentiated = jax.value_and_grad(lambda x, y, at: function(x, y, at)[1], (0, 1))
    return differentiated if with_gradient else function, (x, y, random.permutation(size))


def trials() -> Iterator[tuple[str, Callable[[], str]]]:
    """Names, and what tries them and says how they are called."""
    yield "names", names
    for name, program in CHOSEN.items():
        yield name, partial(tried, program)
        yield f"{name}, as XLA splits it", partial(tried, program, regions=False)
    for seed in range(FAMILIAR if verdict.is_familiar() else OTHERS):
        yield f"random program {seed}", partial(tried, random_program(seed), regions=seed % 3 > 0)


def names() -> str:
    """Raises `AttributeError` for what is gone of that which jaxlib promises to nobody."""
    compiled = jax.jit(jnp.sin).lower(1.0).compile()
    if jax_compat.make_synchronous_cpu_client() is None:
        raise AttributeError("jaxlib.xla_client has no make_cpu_client(asynchronous=...)")
    jax_compat.own_call(compiled)
    jax_compat.serialized_executable(compiled.runtime_executable())
    return f"{len(jax_compat.lapack_handlers()):d} functions of LAPACK"


def tried(program: Program, *, regions: bool = True) -> str:
    """How it is called; raises `RuntimeError` for a difference."""
    function, arguments = program
    fn = jit(function, outputs="numpy", cpu=CpuOptions(direct=True, regions=regions))

    def bits() -> list[Any]:
        return [(x.dtype, x.shape, x.tobytes()) for x in jax.tree.leaves(fn(*arguments))]

    first = bits()
    (executable,) = fn.stats.by_executable
    note = executable.plan[-1]
    if "differs" in note or fn.stats.retries:
        raise RuntimeError(note)

    def check(where: str) -> None:
        if bits() != first:
            raise RuntimeError(f"other bits {where}")

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(check, ["among several threads"] * (THREADS * CALLS)))
    if not (np.array([np.finfo(np.float64).tiny]) * 0.25)[0] > 0:
        raise RuntimeError("subnormal numbers are zero after a call")
    child = os.fork() if FORKS and note.startswith(DIRECT) else -1
    if not child:
        limit()  # nobody else ends it
        try:
            os._exit(bits() != first)
        finally:
            os._exit(1)
    if child > 0 and os.waitpid(child, 0)[1]:
        raise RuntimeError("other bits, or an error, in a forked process")
    check("after a fork")
    return note


def limit() -> None:
    """Ends this process if a program takes too long."""
    if hasattr(signal, "alarm"):
        signal.setitimer(signal.ITIMER_PROF, LIMIT)
        signal.alarm(WAIT)
    else:
        faulthandler.dump_traceback_later(WAIT, exit=True)


def run() -> None:
    """The self-test, in a process that does nothing else."""
    if hasattr(os, "nice"):
        os.nice(10)  # others wait for their programs, and nobody for this one
    verdict.assume("")
    jax.config.update("jax_enable_x64", True)
    notes = dict(line.partition(": ")[::2] for line in verdict.lines())
    for name, trial in trials():
        if name in notes:
            continue
        limit()
        print(name, end="", flush=True)
        try:
            notes[name] = trial()
        except Exception as error:
            print(f" ({type(error).__name__}: {' '.join(str(error).split())})", end="", flush=True)
            sys.exit(1)
        print(f": {notes[name]}", flush=True)
    notes.pop("names", None)
    count = sum(note.startswith(DIRECT) for note in notes.values())
    tried = f"{count:d} of {len(notes):d} programs are called directly, from threads{' and after a fork' * FORKS} too"
    print(verdict.line("" if count else f"no program is called directly: {notes.popitem()[1]}", tried))


if __name__ == "__main__":
    run()
