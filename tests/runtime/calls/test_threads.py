"""Programs in many threads at once: emitted, loaded, rewritten, merged, compiled and called, against one thread.

JAX has an MLIR context for each Python thread from 0.12 on, and one for each module before. Ours are per program, so a
program may be made in one thread, used in another and freed in a third.
"""

import gc
import os
import queue
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec

import hlograph

THREADS = 8 if "HLOGRAPH_NIGHTLY" in os.environ else 4
ROUNDS = 12  # more than JAX uses one context for
X, SIZES = np.linspace(0.5, 2, 6), (3, 6)


def of_number(number: int) -> Callable[[Any], Any]:
    """A function with a loop, a sum and a factorization; another for each number."""

    def function(x: Any) -> Any:
        total = jax.lax.scan(lambda c, y: (c * 0.5 + y, c), jnp.float64(number), x)[1]
        matrix = x[:, None] * x + (number + 1.0) * jnp.eye(x.shape[0])
        return jnp.linalg.cholesky(matrix)[-1, -1] + (total * jnp.sin(x * number)).sum()

    return function


def in_numpy(number: int, x: np.ndarray) -> float:
    """What `of_number(number)` computes."""
    carried, total = float(number), 0.0
    for y in x:
        total += carried * np.sin(y * number)
        carried = carried * 0.5 + y
    return float(np.linalg.cholesky(np.outer(x, x) + (number + 1.0) * np.eye(len(x)))[-1, -1] + total)


def short(number: int) -> Callable[[Any], Any]:
    """One that compiles fast; another for each number."""
    return lambda x: jnp.sin(x * number).sum()


def emitted(number: int, of_number: Callable[[int], Callable[[Any], Any]] = of_number) -> hlograph.Program:
    with jax.enable_x64(True):
        spec = jax.ShapeDtypeStruct(X.shape, X.dtype)
        return hlograph.jit(of_number(number), dims={"x": "n"}).program(spec)


def at_once(work: Callable[[int], Any]) -> list[Any]:
    """What `work` gives for each thread's number; the threads begin together."""
    start = threading.Barrier(THREADS)

    def begin(number: int) -> Any:
        start.wait()
        return work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(begin, range(THREADS)))


def test_emission_passes_calls_and_programs_merged_into_one_module() -> None:
    """Each thread's functions, and one that all share, in JAX's modules, with their derivatives and batches."""
    shared = emitted(9).compile()

    def outer(own: Callable[..., Any], x: Any) -> Any:
        return own(x) * shared(x) + own(2.0 * x)

    def work(number: int) -> tuple[str, list[float], list[Any]]:
        program = emitted(number)
        optimized = program.optimize().compile(policy="exact")
        called = [float(optimized(X[:size])) for size in SIZES]
        with jax.enable_x64(True):
            fn = hlograph.jit(of_number(number), dims={"x": "n"})

            def merged(x: Any) -> Any:
                batch = jax.vmap(lambda x: shared(x) - fn(x))(jnp.stack([x, x + 1]))
                return outer(fn, x), batch, jax.grad(lambda x: fn(x) * 3.0)(x)

            return program.text, called, [np.asarray(found) for found in jax.jit(merged)(X)]

    for number, (text, called, (value, batch, gradient)) in enumerate(at_once(work)):
        assert text == emitted(number).text

        def own(x: np.ndarray, number: int = number) -> float:
            return in_numpy(number, x)

        np.testing.assert_allclose(called, [own(X[:size]) for size in SIZES], rtol=1e-12)
        np.testing.assert_allclose(value, own(X) * in_numpy(9, X) + own(2 * X), rtol=1e-12)
        np.testing.assert_allclose(batch, [in_numpy(9, x) - own(x) for x in (X, X + 1)], rtol=1e-11)
        step = 1e-6 * np.eye(len(X))
        np.testing.assert_allclose(gradient, [3 * (own(X + d) - own(X - d)) / 2e-6 for d in step], rtol=1e-6, atol=1e-7)


def test_modules_with_other_dialects() -> None:
    """Shardings are ops of a dialect that StableHLO does not have; JAX's contexts know it, and so do ours."""
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("i",))
    sharding = jax.sharding.NamedSharding(mesh, PartitionSpec("i"))

    def constrained(x: Any) -> Any:
        return jax.lax.with_sharding_constraint(x * 2.0, sharding) + 1.0

    def work(number: int) -> tuple[bool, np.ndarray]:
        with jax.enable_x64(True):
            lowered = jax.jit(constrained).lower(X)
            program = hlograph.Program.parse(lowered.as_text())
            fn = program.compile()
            found = np.asarray(jax.jit(lambda x: fn(fn(x)))(X * number))
        return "sdy." in program.text, found

    for number, (has_ops, found) in enumerate(at_once(work)):
        assert has_ops
        np.testing.assert_allclose(found, 4 * X * number + 3, rtol=1e-15)


def test_made_in_one_thread_used_in_another_and_freed_in_a_third(young_heap: None) -> None:
    made: queue.SimpleQueue[Any] = queue.SimpleQueue()
    used: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def make() -> None:
        for number in range(ROUNDS):
            with jax.enable_x64(True):
                made.put((emitted(number, short), hlograph.jit(short(number)).lower(X)))

    def use() -> list[float]:
        values = []
        for _ in range(ROUNDS):
            program, lowered = made.get(timeout=60)
            function = program.specialize({"n": len(X)}).compile()
            with jax.enable_x64(True):
                values.append(float(function(X)) + float(lowered.compile()(X)))
            used.put((program, lowered, lowered.stages, function))
        return values

    def free() -> None:
        for _ in range(ROUNDS):
            used.get(timeout=60)
            gc.collect()

    with ThreadPoolExecutor(3) as pool:
        making, using, freeing = (pool.submit(work) for work in (make, use, free))
        making.result()
        expected = [2 * np.sin(X * number).sum() for number in range(ROUNDS)]
        np.testing.assert_allclose(using.result(), expected, rtol=1e-12)
        freeing.result()
