"""Ctrl-C while modules are imported, put off until they are there; what handlers of signals raise; and Python's cycle
collector, kept from walking all handles of a large module again and again.

Some of jaxlib's modules register what cannot be registered twice; an import of one that is interrupted cannot be
repeated, and nothing compiles in that process any more.
"""

from __future__ import annotations

import gc
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from types import FrameType

from .errors import UnsupportedVersionError


def in_main_interpreter() -> bool:
    """Whether this is the interpreter that the process started with, and none of `concurrent.interpreters`."""
    for name in ("_interpreters", "_xxsubinterpreters"):  # the second one until Python 3.12
        with suppress(ImportError):
            found = import_module(name)
            return bool(found.get_current() == found.get_main())
    return True


def check_interpreter() -> None:
    """Raises `UnsupportedVersionError` in an interpreter that cannot load JAX."""
    if not in_main_interpreter():
        raise UnsupportedVersionError(
            "hlograph needs JAX, which only the main interpreter of a process can load, and this is a sub-interpreter; "
            "use threads or processes"
        )


@contextmanager
def deferred() -> Iterator[None]:
    """Puts Ctrl-C off to the end of the block; outside of the main thread and interpreter nothing is to be done."""
    found = signal.getsignal(signal.SIGINT)
    is_main = threading.current_thread() is threading.main_thread() and in_main_interpreter()
    if not is_main or not callable(found):
        yield
        return
    received: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: received.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, found)
        if received:
            found(*received[0])


def raised_by_handler(error: BaseException) -> bool:
    """Whether a signal's handler has raised it, as a time limit does, and not the code that the signal interrupted."""
    handlers = {getattr(signal.getsignal(number), "__code__", None) for number in signal.valid_signals()}
    place = error.__traceback__
    while place is not None and place.tb_frame.f_code not in handlers:
        place = place.tb_next
    return place is not None


@contextmanager
def collector_paused() -> Iterator[None]:
    """No cycles are collected in the process inside; what made them goes at the next collection after."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
