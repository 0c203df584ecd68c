"""What the pass was asked for, as its rewrites see it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_KERNEL: ContextVar[bool] = ContextVar("kernel", default=False)


def for_kernel() -> bool:
    """Whether all of the module is to become one kernel, in which XLA:CPU has no scatter, sort or library call."""
    return _KERNEL.get()


@contextmanager
def kernel(wanted: bool) -> Iterator[None]:
    """Sets what `for_kernel` says."""
    token = _KERNEL.set(wanted)
    try:
        yield
    finally:
        _KERNEL.reset(token)
