"""Values that are made once in a process, also where threads ask for them at the same time.

`functools.cache` makes one for each such thread and keeps one of them. Of machine code that is not enough: an address
in the other one, which somebody may have, is no address any more when that is freed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache, wraps
from typing import TypeVar

from ...codegen import forks

Made = TypeVar("Made")


def once(make: Callable[[], Made]) -> Callable[[], Made]:
    """A function that returns what its first call has made; an error is not kept."""
    made, lock = cache(make), forks.lock(threading.RLock)

    @wraps(make)
    def found() -> Made:
        with lock:
            return made()

    return found
