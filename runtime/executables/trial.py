"""A plan that may be slower than a plain compile is tried, in the user's own calls.

In: what runs an executable's calls by its plan, what compiles the same program plainly, and how long the plan's compile
took. Out: functions that take the executable's calls until it is decided, and then word of which is to be kept. The
decision to know: the plain compile is made when the calls have taken as long as the plan's compile did, so that at most
as much is spent on it as has been spent already; from there the calls run by turns, and the medians decide: of 25 calls
each, or of 3 where these are long and leave no doubt.

    calls by the plan, of which the first few are timed ── compile ── calls by turns, all timed ── the better one

Until it is decided a call costs about 0.1 us more; afterwards nothing is left of it. Any number of threads may call:
one of them compiles, and the others go on by the plan.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from ...codegen import forks

SIZED = 9  # calls that are timed to know how many take as long as a compile
TURNS = 25  # calls of each that are timed to decide
CLEAR = 3  # long calls of each that are enough where one takes less than half of the other
BETTER = 0.97  # of the plan's median a plain compile's must be, which noise alone hardly makes it


class Ways(NamedTuple):
    """What runs an executable's calls: with any arguments, and with arguments that are known to be right."""

    run: Callable[..., Any]
    trusting: Callable[..., Any]


class Trial:
    """One executable's trial.

    Args:
        planned: the executable's, by its plan.
        compile_plain: compiles plainly, and runs the call with these arguments; its results, and what runs further
            calls.
        compile_seconds: what the plan's compile took.
        settled: called once, with whether the plain compile is kept, and a line on why.
        wait: waits for a call's results; None where they are there when the call returns.
        clock: the time in seconds.

    Attributes:
        ways: take the executable's calls; they go on to the better one when it is known.
    """

    def __init__(
        self,
        planned: Ways,
        compile_plain: Callable[[Sequence[Any]], tuple[Any, Ways]],
        compile_seconds: float,
        settled: Callable[[bool, str], object],
        wait: Callable[[Any], object] | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._planned = self._plain = self._kept = planned
        self._compile_plain = compile_plain
        self._compile_seconds = compile_seconds
        self._settled = settled
        self._wait = wait
        self._clock = clock
        self._process = os.getpid()
        self._lock = forks.lock()
        self._calls = itertools.count().__next__  # atomic, and so is `list.append`
        self._turns = itertools.count().__next__
        self._due: float = 0  # the number of the call up to which nothing but the plan is run
        self._first: list[float] = []
        self._seconds: tuple[list[float], list[float]] = [], []
        self._take: Callable[[int, Sequence[Any]], Any] = self._size
        self.ways = Ways(self._way(0), self._way(1))

    def _way(self, kind: int) -> Callable[..., Any]:
        """Takes calls in the place of the plan's `run` (0) or `trusting` (1)."""
        number, planned = self._calls, self._planned[kind]

        def call(*args: Any) -> Any:
            if number() < self._due:
                return planned(*args)
            return self._take(kind, args)

        return call

    def _timed(self, way: Callable[..., Any], args: Sequence[Any], seconds: list[float]) -> Any:
        start = self._clock()
        outputs = way(*args)
        if self._wait is not None:
            self._wait(outputs)
        seconds.append(self._clock() - start)
        return outputs

    def _size(self, kind: int, args: Sequence[Any]) -> Any:
        """One of the first calls."""
        outputs = self._timed(self._planned[kind], args, self._first)
        if len(self._first) >= SIZED or sum(self._first) >= self._compile_seconds:
            with self._lock:
                if self._take == self._size:
                    self._take = self._compile
                    call = max(float(np.median(self._first)), 1e-7)
                    self._due = self._calls() + max(0.0, self._compile_seconds - sum(self._first)) / call
        return outputs

    def _compile(self, kind: int, args: Sequence[Any]) -> Any:
        """The call that compiles, and those of other threads meanwhile."""
        if not self._lock.acquire(blocking=False):
            return self._planned[kind](*args)
        try:
            if self._take == self._compile:
                if os.getpid() != self._process:
                    self._keep(False, "not tried: XLA cannot compile in a process that was forked")
                else:
                    try:
                        outputs, self._plain = self._compile_plain(args)
                    except jax.errors.JaxRuntimeError:
                        self._keep(False, "not tried: XLA refused the plain compile")
                    else:
                        self._take = self._turn
                        return outputs
        finally:
            self._lock.release()
        return self._take(kind, args)

    def _turn(self, kind: int, args: Sequence[Any]) -> Any:
        """A call by one or the other; each comes first as often as second."""
        number = self._turns()
        which = (number ^ number >> 1) & 1
        outputs = self._timed((self._planned, self._plain)[which][kind], args, self._seconds[which])
        turns = min(map(len, self._seconds))
        if turns >= TURNS or (turns >= CLEAR and self._is_clear()):
            with self._lock:
                if self._take == self._turn:
                    plan, plain = self._medians()
                    better = plain < BETTER * plan
                    kept = "plain compile" if better else "plan"
                    self._keep(better, f"tried: plan {text(plan)}, plain {text(plain)}: {kept} kept")
        return outputs

    def _medians(self) -> tuple[float, float]:
        plan, plain = (float(np.median(list(seconds))) for seconds in self._seconds)
        return plan, plain

    def _is_clear(self) -> bool:
        """Whether a few long calls tell: those so far have taken as long as a compile."""
        plan, plain = self._medians()
        spent = sum(map(sum, self._seconds))
        return spent >= self._compile_seconds and 2 * min(plan, plain) < max(plan, plain)

    def _keep(self, plain: bool, note: str) -> None:
        """Ends the trial; called with the lock held."""
        self._kept = self._plain if plain else self._planned
        self._take = self._go_on
        if not plain:
            self._due = float("inf")
        self._settled(plain, note)

    def _go_on(self, kind: int, args: Sequence[Any]) -> Any:
        """A call by who has not heard yet that it is decided."""
        return self._kept[kind](*args)


def text(seconds: float) -> str:
    """A time, in microseconds."""
    return f"{seconds * 1e6:,.1f} us"
