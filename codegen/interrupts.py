"""Ctrl-C while modules are imported, put off until they are there; and Python's cycle collector, kept from walking all
handles of a large module again and again.

Some of jaxlib's modules register what cannot be registered twice; an import of one that is interrupted cannot be
repeated, and nothing compiles in that process any more.
"""

from __future__ import annotations

import gc
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def deferred() -> Iterator[None]:
    """Puts Ctrl-C off to the end of the block; in threads other than the main one nothing is to be done."""
    found = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(found):
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
