"""What a user calls: functions, jitted functions, whatever runs when they are called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self


class Written:
    """A callable whose calls run what was written for their arguments.

    Python finds what stands in the slot `__call__` of the instance and calls it, with nothing in between: it may be
    replaced at any time, in one step, and costs no class and no second Python function. What it holds, executables and
    caches among it, is neither copied nor pickled.
    """

    __slots__ = ("__call__", "__dict__", "__weakref__")
    __call__: Callable[..., Any]

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self
