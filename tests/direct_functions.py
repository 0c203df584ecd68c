"""Processes that call functions directly while something happens to them; run by name: `direct_functions.py exit`."""

import gc
import multiprocessing
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import hlograph
from hlograph.runtime.direct import verdict

X, Y = np.linspace(0, 1, 20).astype(np.float32), np.float32(2)
DIRECT = hlograph.CpuOptions(direct=True)


def called(options: hlograph.CpuOptions = DIRECT) -> tuple[Any, list[bytes]]:
    """A function and the bits of its results for `X` and `Y`."""
    verdict.assume("")

    def function(x: Any, y: Any) -> Any:
        looped = jax.lax.fori_loop(0, 300, lambda _, z: z * 1.0001 + 1e-3 * x, x)
        return looped, jnp.sin(x).sum(), jnp.cumsum(x) * y

    fn = hlograph.jit(function, outputs="numpy", cpu=options)
    return fn, bits(fn)


def bits(fn: Any) -> list[bytes]:
    """Of a call's results."""
    return [result.tobytes() for result in fn(X, Y)]


def note(fn: Any) -> str:
    """The last line on how it is called."""
    (executable,) = fn.stats.by_executable
    return str(executable.plan[-1])


def at_exit() -> None:
    """The interpreter ends while daemon threads call."""
    fn, _ = called()

    def forever() -> None:
        while True:
            fn(X, Y)

    for _ in range(4):
        threading.Thread(target=forever, daemon=True).start()
    time.sleep(0.2)
    print(note(fn).partition(";")[0])


def _calls(fn: Any, until: float) -> None:
    while time.monotonic() < until:
        fn(X, Y)


def interrupted() -> None:
    """Ctrl-C, again and again; a process that was started in the background may ignore it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    fn, expected = called()
    for count in range(5):
        timer = threading.Timer(0.05 + 0.0007 * count, os.kill, (os.getpid(), signal.SIGINT))
        until = time.monotonic() + 5  # a finalizer that is interrupted swallows what is raised
        try:
            timer.start()
            _calls(fn, until)  # CPython's jump back from the end of a loop is in no `try` of the same function
        except KeyboardInterrupt:
            pass
        timer.join()
        assert bits(fn) == expected
    print(note(fn).partition(";")[0])


def forked() -> None:
    """Processes that are forked before a function goes the direct way, and after; they collect garbage first."""
    warnings.simplefilter("ignore")
    fn, expected = called(hlograph.CpuOptions())
    for _ in range(2):
        child = os.fork()
        if not child:
            gc.collect()
            right = all(bits(fn) == expected for _ in range(20))
            os._exit(0 if right and note(fn).startswith(("direct call of", "no direct call: ")) else 1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        for _ in range(20):
            assert bits(fn) == expected


def _in_a_new_process(_: int) -> list[bytes]:
    return called()[1]


def spawned() -> None:
    """Processes that are started anew give the same bits."""
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        print(pool.map(_in_a_new_process, range(2)) == [called()[1]] * 2)


def growth(calls: int, threads: int = 8) -> float:
    """By how many MiB the process grows in so many calls from several threads, after a tenth as many."""
    fn, expected = called()
    wrong = []

    def work(count: int) -> None:
        for number in range(count):
            found = fn(X, Y)
            if number % 100 == 0 and [result.tobytes() for result in found] != expected:
                wrong.append(number)

    def run(count: int) -> float:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(work, [count // threads] * threads))
        gc.collect()
        with open("/proc/self/statm") as text:
            return int(text.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20

    grown = -run(calls // 10) + run(calls)
    assert not wrong
    return grown


RUNS: dict[str, Callable[[], None]] = {"exit": at_exit, "interrupt": interrupted, "fork": forked, "spawn": spawned}

if __name__ == "__main__":
    for name in sys.argv[1:]:
        RUNS[name]()
