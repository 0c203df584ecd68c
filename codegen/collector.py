"""Python's cycle collector, kept from walking all handles of a large module again and again.

In: nothing. Out: a context. It is switched off for the whole process, for as long as the outermost user is inside.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused() -> Iterator[None]:
    """No cycles are collected inside; what made them goes at the next collection after."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
