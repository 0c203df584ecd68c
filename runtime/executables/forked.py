"""Calls in processes that were forked, where XLA's threads are not: with a time limit.

In: a call. Out: what it returns, or an error that says what to use in place of a fork.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from ...codegen.errors import DeviceError
from ...codegen.ir.jax_compat import enable_x64, x64_flag

Made = TypeVar("Made")
SECONDS = 20.0  # for a first call there, which has no compile to wait for


def within(seconds: float, work: Callable[[], Made]) -> Made:
    """What `work` returns or raises, made in another thread.

    XLA splits some programs (sorts, large factorizations) among threads, which are not in a process that was forked; no
    one knows which before they run.

    Raises:
        DeviceError: it does not come back.
    """
    from concurrent.futures import Future, wait

    done: Future[Made] = Future()
    wide = x64_flag().value

    def attempt() -> None:
        try:
            with enable_x64(wide):
                done.set_result(work())
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=attempt, daemon=True).start()
    if wait([done], seconds).not_done:
        raise DeviceError(
            f"a call did not come back within {seconds:g} s: XLA's threads are not in a process that was forked after "
            'the first function was compiled; use multiprocessing\'s "forkserver" or "spawn", which is '
            'pm.sample(..., mp_ctx="forkserver") in PyMC, or one process (cores=1)'
        )
    return done.result()


def once_within(call: Callable[..., Any]) -> Callable[..., Any]:
    """A call of which the first one has a time limit; where that was over, those after it fail at once."""
    has_come, failed = False, ""

    def guarded(*args: Any) -> Any:
        nonlocal has_come, failed
        if has_come:
            return call(*args)
        if failed:
            raise DeviceError(failed)
        try:
            found = within(SECONDS, lambda: call(*args))
        except DeviceError as error:
            failed = str(error)
            raise
        has_come = True
        return found

    return guarded
