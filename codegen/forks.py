"""Forked processes: locks that are free there, and an error in place of what would never come back.

A process that is forked from one in which JAX or XLA has started has none of their threads: nothing can be compiled in
it, traced, or run on JAX's devices, and whatever tries waits forever. A process that was forked before that is like
any other.
"""

from __future__ import annotations

import gc
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any, Protocol

from .errors import DeviceError
from .ir.jax_compat import has_clients


class Forkable(Protocol):
    """What changes in a forked process."""

    def after_fork(self) -> None:
        """Called there, where clients' threads are missing."""


_locks: weakref.WeakSet[Any] = weakref.WeakSet()
_watched: weakref.WeakSet[Forkable] = weakref.WeakSet()
_has_own_client = False
_forked = False


def lock(make: Callable[[], Any] = threading.Lock) -> Any:
    """A lock that is free in a forked process, whichever thread held it where that was forked from.

    Args:
        make: `threading.Lock` or `threading.RLock`.
    """
    made = make()
    _locks.add(made)
    return made


def watch(forkable: Forkable) -> None:
    """Has an object told, for as long as it lives, that this is a forked process without threads."""
    _watched.add(forkable)


def own_client_made() -> None:
    """Takes note of a client besides JAX's."""
    global _has_own_client
    _has_own_client = True


def was_forked() -> bool:
    """Whether this process was forked from one that had clients."""
    return _forked


def refuse_forked(what: str) -> None:
    """Refuses what needs threads in a process without them.

    Args:
        what: the beginning of the message, up to the verb: "f cannot be compiled for n=5".

    Raises:
        DeviceError: this process was forked from one that had clients.
    """
    if _forked:
        raise DeviceError(
            f"{what} in this process: it was forked from one in which JAX had started, and has none of its threads. "
            'What outputs="numpy" gives runs here for sizes that were compiled before the fork (`fn.warm(sizes=...)`). '
            "Otherwise fork before anything is compiled or called, or start processes by multiprocessing's "
            '"forkserver" or "spawn" (pm.sample(..., mp_ctx="forkserver") in PyMC)'
        )


def _after_fork() -> None:
    """Leaves what clients have left behind: to free their contexts ends a process without their threads."""
    global _forked
    for held in list(_locks):
        reset = getattr(held, "_at_fork_reinit", None)
        if reset is not None:
            reset()
    if _has_own_client or has_clients():
        gc.freeze()
        _forked = True
        for forkable in list(_watched):
            forkable.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
