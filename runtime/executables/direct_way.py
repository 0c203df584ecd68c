"""How an executable's calls come to take the direct way, without PJRT, and how they leave it again.

In: what writes functions that run the executable by PJRT or directly, and the user's calls. Out: functions that take
these calls, one after the other, and a line on each change. Decision to know: the first calls run by PJRT and are
timed, so that a function of a few calls pays for nothing, and a long one is not tried; the tenth compares and times
both ways. Whoever waits for the verdict of a self-test goes on by PJRT.

    PJRT, 9 calls ── the 10th: compared, timed ── direct, every 10,000th call compared ── direct, after 3 such calls
                       └─ no verdict yet: PJRT until it is there      └─ a difference: PJRT
"""

from __future__ import annotations

import itertools
import math
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...codegen import forks
from ...codegen.interrupts import raised_by_handler
from ..calls.from_numpy import Due, NumpyCalls, Way
from ..direct import verdict
from ..direct.call import DirectCall, StepFailed, compare, difference, serialized
from ..object_files import DirectCallRefused
from ..options import CpuOptions

FIRST = 9  # calls by PJRT before the direct way is tried
LONG = 2e-3  # seconds of a call: from there on nothing is gained, and trials take long
TURNS = 5  # calls of each way that are timed
LARGE = 1 << 24  # bytes of a module whose constants nobody wants twice in memory
EVERY = 10_000  # calls by the direct way after which one is compared
CHECKS = 3  # such comparisons that are enough


class DirectWay:
    """The direct way of one executable.

    Args:
        name: of the function, for warnings.
        calls: writes the functions that take calls, directly or by PJRT.
        options: of the user.
        size: bytes of the module, its constants included.
        use: called with what takes calls from now on, after `begin`.
        data: what XLA made, as PJRT serialized it, of an executable that was loaded or has been serialized.

    Attributes:
        way: what takes calls.
        note: a line on why.
        refused: whether no call will take it.
    """

    def __init__(
        self,
        name: str,
        calls: NumpyCalls,
        options: CpuOptions,
        size: int,
        use: Callable[[Way], object],
        data: bytes = b"",
    ) -> None:
        self.way = self._pjrt = calls.way()
        self.note, self.refused = "", False
        self._name, self._calls, self._options, self._use = name, calls, options, use
        self._lock = forks.lock()
        self._begun = self._waits = False
        self._equal = 0
        self._serialized, refusal = b"", ""
        if not all(place.numpy for place in (*calls.arguments, *calls.results)):
            refusal = "some arrays are JAX's"
        if size > LARGE and not options.direct:
            refusal = refusal or f"its constants would be in memory twice ({size >> 20:,} MiB)"
        try:
            self._serialized = b"" if refusal else data or serialized(calls.compiled)
        except DirectCallRefused as error:
            refusal = str(error)
        self._refusal = refusal

    def _keep(self, way: Way, note: str) -> None:
        self.way, self.note = way, note
        if self._begun:
            self._use(way)

    # ---- until it is tried -------------------------------------------------------------------------------------------

    def insist(self, args: Sequence[Any]) -> None:
        """The direct way at once, whether it is faster or not, after the end of the self-test."""
        if refusal := self._refusal or verdict.refusal(wait=True):
            self._refuse(refusal)
        else:
            self._try(args, ask=False)

    def begin(self) -> None:
        """From now on calls come: the first ones, where nobody has insisted."""
        self._begun = True
        if self.note:
            self._use(self.way)
        elif refusal := self._refusal or verdict.refusal(wait=False):
            self._refuse(refusal)
        else:
            self._wait("after a few calls")

    def _wait(self, note: str) -> None:
        """After a few calls by PJRT, which are timed, the next one tries."""
        number, seconds = itertools.count().__next__, list[float]()

        def timed(run: Callable[..., Any]) -> Callable[..., Any]:
            def call(*args: Any) -> Any:
                start = time.perf_counter()
                outputs = run(*args)
                seconds.append(time.perf_counter() - start)
                if number() >= FIRST:
                    self._turn(args, min(seconds))
                return outputs

            return call

        self._waits = True
        self._keep(Way(timed(self._pjrt.run), timed(self._pjrt.trusting)), f"direct call: to be tried {note}")

    def _turn(self, args: Sequence[Any], seconds: float) -> None:
        if not self._lock.acquire(blocking=False):
            return
        try:
            if not self._waits:
                return
            self._waits = False
            if seconds > LONG:
                self._refuse(f"calls of {text(seconds)} gain nothing by it")
            elif (found := verdict.asked()) is None:
                self._wait("when the self-test has passed")
            elif found:
                self._refuse(found)
            else:
                self._try(args, ask=True)
        except BaseException as error:
            if not isinstance(error, Exception) or raised_by_handler(error):
                self._waits = True
                raise
            self._refuse(f"{type(error).__name__}: {error}")  # the call has its results: they are not taken from it
        finally:
            self._lock.release()

    # ---- trying ------------------------------------------------------------------------------------------------------

    def _try(self, args: Sequence[Any], *, ask: bool) -> None:
        """Takes the direct way if it gives the same bits.

        Args:
            args: of the call.
            ask: whether it must be faster.
        """
        arrays, note = self._copied(args), "direct call of the kernels"
        try:
            self._call = DirectCall.loaded(self._serialized, len(arrays))
            self._direct = self._calls.way(self._call)
            compare(self._direct.trusting, self._pjrt.trusting, arrays)
        except DirectCallRefused as error:
            self._refuse(str(error))
            return
        self._serialized = b""
        if ask:
            direct, pjrt = _fastest((self._direct.trusting, self._pjrt.trusting), arrays)
            times = f"{text(direct)}, and {text(pjrt)} by PJRT"
            if direct >= pjrt:
                self._refuse(times)
                return
            note += f": {times}"
        tick: Any = itertools.chain.from_iterable(itertools.repeat(bytes(EVERY - 1) + b"\1")).__next__
        self._keep(self._calls.way(self._call, Due(tick, self._compared)), note)

    def _refuse(self, reason: str) -> None:
        self.refused, self._serialized = True, b""
        self._keep(self._pjrt, f"no direct call: {reason}")

    def _copied(self, args: Sequence[Any]) -> list[np.ndarray]:
        return [np.array(x, place.dtype) for x, place in zip(args, self._calls.arguments, strict=True)]

    # ---- afterwards --------------------------------------------------------------------------------------------------

    def _compared(self, *args: Any) -> Any:
        if self.refused:
            return self._pjrt.trusting(*args)
        if forks.was_forked():  # PJRT may wait for threads that do not exist
            return self._direct.trusting(*args)
        arrays = self._copied(args)
        expected = self._pjrt.trusting(*arrays)
        try:
            found = difference(self._direct.trusting(*arrays), expected)
        except StepFailed as error:
            found = str(error)
        if found:
            self._leave(found)
        elif self._lock.acquire(blocking=False):  # it may never be free in a process that was forked
            try:
                self._equal += 1
                if self._equal == CHECKS and not self.refused:
                    self._keep(self._direct, f"{self.note}; compared {CHECKS:d} times more, in calls")
            finally:
                self._lock.release()
        return expected

    def _leave(self, found: str) -> None:
        self.refused = True
        self._keep(self._pjrt, f"no direct call any more: {found} after {EVERY:,} calls or more")
        warnings.warn(
            f"{self._name}: a direct call of its kernels gave other bits than PJRT ({found}); its calls run by PJRT "
            f"from now on, but those before may have been wrong. Please report the program; {verdict.SWITCH}=0 "
            "switches direct calls off",
            RuntimeWarning,
            stacklevel=5,
        )


def text(seconds: float) -> str:
    """A time, in microseconds."""
    return f"{seconds * 1e6:,.1f} us"


def _fastest(ways: Sequence[Callable[..., Any]], arrays: Sequence[np.ndarray]) -> list[float]:
    """Seconds of the fastest call by each of them, in turn: what else the machine does only adds to the others."""
    seconds = [math.inf] * len(ways)
    for _ in range(TURNS):
        for number, way in enumerate(ways):
            start = time.perf_counter()
            way(*arrays)
            seconds[number] = min(seconds[number], time.perf_counter() - start)
    return seconds
