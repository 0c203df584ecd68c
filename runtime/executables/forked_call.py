"""First calls in a forked process, of what was compiled before the fork and runs in the caller's thread.

XLA splits some programs (sorts, large factorizations) among threads, which are not there; no one knows which before
they run. So the first call is made in a thread of its own, and waited for; those after it are as they were.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from ...codegen.errors import DeviceError
from ...codegen.ir.jax_compat import enable_x64, x64_flag

SECONDS = 20.0  # for a first call, which has no compile to wait for
Made = TypeVar("Made")


def within(seconds: float, work: Callable[[], Made]) -> Made:
    """What `work` returns or raises, made in another thread.

    Raises:
        DeviceError: it does not come back.
    """
    done: list[tuple[Any, BaseException | None]] = []
    wide = x64_flag().value

    def attempt() -> None:
        try:
            with enable_x64(wide):
                done.append((work(), None))
        except BaseException as error:
            done.append((None, error))

    thread = threading.Thread(target=attempt, daemon=True)
    thread.start()
    thread.join(seconds)
    if not done:
        raise DeviceError(
            f"a call did not come back within {seconds:g} s: XLA's threads are not in a process that was forked after "
            'the first function was compiled; use multiprocessing\'s "forkserver" or "spawn", which is '
            'pm.sample(..., mp_ctx="forkserver") in PyMC, or one process (cores=1)'
        )
    result, error = done[0]
    if error is not None:
        raise error
    found: Made = result
    return found


def once_within(call: Callable[..., Any], seconds: float = SECONDS) -> Callable[..., Any]:
    """A call of which the first one has a time limit; where that was over, those after it fail at once."""
    outcome: bool | DeviceError = False  # whether one has come through

    def guarded(*args: Any) -> Any:
        nonlocal outcome
        if outcome is True:
            return call(*args)
        if outcome:
            raise DeviceError(*outcome.args)
        try:
            found = within(seconds, lambda: call(*args))
        except DeviceError as error:
            outcome = error
            raise
        outcome = True
        return found

    return guarded
