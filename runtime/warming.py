"""Compiles before the first calls: `Function.warm` and `hlograph.jit(f).warm`.

In: sets of sizes by name. Out: what the calls with these sizes will run on, compiled, and how long each took. Nothing
is run, so that no check fails and no loop is entered with data that are nobody's. Several are compiled in threads at
once, as XLA does not need Python's lock meanwhile.
"""

from __future__ import annotations

import operator
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeAlias

import numpy as np

from ..codegen.errors import ArgumentError
from ..codegen.program import Program
from .executables.executable import Executable
from .executables.policy import PolicyArgument
from .lowered.ahead import all_sizes, known_sizes

SHOWN_AFTER = 2.0  # seconds
Sizes: TypeAlias = "Mapping[str, int] | Sequence[Mapping[str, int]]"


def sets_of(sizes: Sizes) -> list[Mapping[str, int]]:
    """The sets of sizes, also where one is given alone.

    Raises:
        ArgumentError: it is neither.
    """
    found = [sizes] if isinstance(sizes, Mapping) else list(sizes)
    for entry in found:
        if not isinstance(entry, Mapping):
            raise ArgumentError(f"sizes: expected dictionaries of size names, such as {{'n': 1000}}, got {entry!r}")
    return found


def expected_counts(program: Program, given: Mapping[str, int]) -> dict[str, int]:
    """Of the sizes that were given those that the program computes from data."""
    counts = {count.name for count in program.signature.counts}
    return {name: operator.index(size) for name, size in given.items() if name in counts}


def completed(program: Program, policy: PolicyArgument, given: Mapping[str, int]) -> dict[str, int]:
    """The size of every root, with those of shared variables and those that a policy or a constraint gives.

    Raises:
        ArgumentError: a size is missing or unknown.
        ArgumentShapeError: the sizes contradict the program's constraints.
    """
    signature, known = program.signature, dict(given)
    shapes = {i: np.shape(shared.get_value(borrow=True)) for i, shared in program.bindings.items()}
    for root in signature.roots:
        if root.axis is not None and root.argument in shapes:
            known.setdefault(root.name, shapes[root.argument][root.axis])
    return all_sizes(signature, known_sizes(signature, known), policy)


def compile_all(
    name: str, works: Sequence[Callable[[], Sequence[Executable]]], mode: Callable[[], AbstractContextManager[Any]]
) -> dict[str, float]:
    """Compiles, in threads where there are several.

    Args:
        name: the program's.
        works: each finds the executables that a call runs on, and makes their modules if they are new.
        mode: gives the context in which calls run.

    Returns:
        From the sizes of each executable ("n=1000", "n<=1024") to the seconds that it took; 0 where it was there.
    """
    seconds: dict[str, float] = {}

    def compile_one(work: Callable[[], Sequence[Executable]]) -> None:
        start = time.perf_counter()
        with mode():
            for executable in work():
                new, sizes = executable.compile(), str(executable.sizes)
                now = time.perf_counter()
                seconds[sizes] = now - start if new else seconds.get(sizes, 0.0)
                start = now
        done()

    with _progress(name, len(works)) as done:
        if len(works) == 1:
            compile_one(works[0])
        else:
            with ThreadPoolExecutor(min(len(works), os.cpu_count() or 1)) as pool:
                for future in [pool.submit(compile_one, work) for work in works]:
                    future.result()
    return seconds


@contextmanager
def _progress(name: str, count: int) -> Iterator[Callable[[], None]]:
    """Says on stderr how far it is, if that is a terminal and it takes long; gives what is called after each one."""
    finished: list[None] = []
    shown = threading.Event()
    ended = threading.Event()

    def show() -> None:
        while not ended.wait(0.0 if shown.is_set() else SHOWN_AFTER):
            shown.set()
            print(f"\rcompiling {name}: {len(finished)} of {count}", end="", file=sys.stderr, flush=True)
            ended.wait(0.5)
        if shown.is_set():
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    thread = threading.Thread(target=show, daemon=True) if sys.stderr is not None and sys.stderr.isatty() else None
    if thread is not None:
        thread.start()
    try:
        yield lambda: finished.append(None)
    finally:
        ended.set()
        if thread is not None:
            thread.join()
