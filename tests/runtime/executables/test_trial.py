"""What a trial decides, with a clock of the test's own."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import Any

import jax
import pytest

from hlograph.runtime.executables.trial import BETTER, CLEAR, SIZED, TURNS, Trial, Ways

pytestmark = pytest.mark.optimized  # what XLA makes of a module

COMPILE = 3.0  # seconds of the plan's compile


class Machine:
    """Two executables whose calls take as long as a test says, and a clock."""

    def __init__(self, plan: float, plain: float, *, compile_plain: Any = None, wait: Any = None) -> None:
        self.now = 0.0
        self.seconds = {"plan": plan, "plain": plain}
        self.calls: list[str] = []
        self.settled: list[tuple[bool, str]] = []
        self.compiles = 0
        ways = Ways(self.way("plan"), self.way("plan, trusting"))
        self.trial = Trial(ways, compile_plain or self.compile_plain, COMPILE, self.settle, wait, lambda: self.now)

    def way(self, name: str) -> Any:
        def run(*args: Any) -> tuple[str, tuple[Any, ...]]:
            self.calls.append(name)
            self.now += self.seconds[name.split(",")[0]]
            return name, args

        return run

    def compile_plain(self, args: Sequence[Any]) -> tuple[Any, Ways]:
        self.compiles += 1
        self.now += COMPILE
        ways = Ways(self.way("plain"), self.way("plain, trusting"))
        return ways.run(*args), ways

    def settle(self, plain: bool, note: str) -> None:
        self.settled.append((plain, note))

    def until_settled(self, limit: int = 100_000) -> None:
        for number in range(limit):
            if self.settled:
                return
            _, args = self.trial.ways.run(number)
            assert args == (number,)
        raise AssertionError(f"not settled in {limit} calls")


@pytest.mark.parametrize(
    ("plan", "plain", "kept"), [(1e-3, 2e-3, "plan"), (2e-3, 1e-3, "plain"), (1e-3, BETTER * 1e-3 + 1e-6, "plan")]
)
def test_the_better_one_is_kept(plan, plain, kept):
    machine = Machine(plan, plain)
    machine.until_settled()
    ((plain_is_kept, note),) = machine.settled
    assert plain_is_kept == (kept == "plain")
    assert f"plan {plan * 1e6:,.1f} us, plain {plain * 1e6:,.1f} us" in note
    machine.calls.clear()
    for way in machine.trial.ways:  # of who has not heard of it
        for _ in range(1000):
            way()
    assert {name.split(",")[0] for name in machine.calls} == {kept}


@pytest.mark.parametrize("seconds", [1e-4, 1e-3, 0.1])
def test_the_second_compile_is_made_when_the_calls_have_taken_as_long_as_the_first(seconds):
    machine = Machine(seconds, seconds)
    machine.until_settled()
    before = machine.calls.index("plain")
    assert seconds * before == pytest.approx(COMPILE, abs=(SIZED + 3) * seconds)
    assert machine.compiles == 1


@pytest.mark.parametrize(("plan", "plain"), [(20.0, 1.0), (1.0, 20.0)])
def test_long_calls_that_leave_no_doubt_end_the_trial_soon(plan, plain):
    machine = Machine(plan * COMPILE, plain * COMPILE)
    machine.until_settled()
    ((plain_is_kept, _),) = machine.settled
    assert plain_is_kept == (plain < plan)
    assert machine.calls.index("plain") <= 2
    assert len(machine.calls) <= 2 + 2 * (CLEAR + 1)


def test_they_take_turns():
    machine = Machine(1e-3, 1.01e-3)
    machine.until_settled()
    turns = machine.calls[machine.calls.index("plain") + 1 :]
    assert abs(turns.count("plan") - turns.count("plain")) <= 1
    assert turns.count("plan") in (TURNS, TURNS + 1)
    first = [turns[i] for i in range(0, len(turns) - 1, 2)]
    assert abs(first.count("plan") - first.count("plain")) <= 1


def test_single_slow_calls_decide_nothing():
    """Medians: a fifth of the plain calls is interrupted."""
    machine = Machine(1.2e-3, 1e-3)
    run = machine.trial.ways.run
    for number in range(100_000):
        if machine.settled:
            break
        machine.seconds["plain"] = 1.0 if number % 5 == 0 else 1e-3
        run()
    assert machine.settled[0][0]


def test_calls_of_both_kinds_are_of_one_trial():
    machine = Machine(1e-3, 0.5e-3)
    for number in range(100_000):
        if machine.settled:
            break
        way = machine.trial.ways[number & 1]
        name, _ = way()
        assert name.endswith("trusting") == bool(number & 1) or name == "plain"  # the call that compiles
    assert machine.settled[0][0]


def test_a_plain_compile_that_xla_refuses_leaves_the_plan():
    def refuse(args: Sequence[Any]) -> Any:
        raise jax.errors.JaxRuntimeError("no")

    machine = Machine(1e-3, 1e-3, compile_plain=refuse)
    machine.until_settled()
    assert machine.settled == [(False, "not tried: XLA refused the plain compile")]
    assert set(machine.calls) == {"plan"}
    assert machine.trial.ways.run(5) == ("plan", (5,))


def test_an_error_of_a_call_is_the_callers():
    machine = Machine(1e-3, 1e-3)

    def fail(*args: Any) -> Any:
        raise ValueError("the call")

    trial = Trial(Ways(fail, fail), machine.compile_plain, COMPILE, machine.settle)
    with pytest.raises(ValueError, match="the call"):
        trial.ways.run()
    assert not machine.settled


def test_results_are_waited_for():
    waited: list[Any] = []
    machine = Machine(1e-3, 1e-3, wait=waited.append)
    machine.until_settled()
    assert len(waited) >= SIZED + 2 * TURNS


def test_a_forked_process_compiles_nothing(monkeypatch):
    machine = Machine(1e-3, 0.5e-3)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    machine.until_settled()
    assert machine.compiles == 0
    assert machine.settled == [(False, "not tried: XLA cannot compile in a process that was forked")]


def test_other_threads_go_on_by_the_plan_while_one_compiles():
    compiling, done = threading.Event(), threading.Event()
    machine = Machine(1e-3, 1e-3)

    def slow(args: Sequence[Any]) -> Any:
        compiling.set()
        assert done.wait(60)
        return machine.compile_plain(args)

    machine.trial._compile_plain = slow
    run = machine.trial.ways.run
    thread = threading.Thread(target=lambda: [run() for _ in range(int(COMPILE / 1e-3) + 2 * SIZED)])
    thread.start()
    assert compiling.wait(60)
    assert {run()[0] for _ in range(100)} == {"plan"}
    done.set()
    thread.join(60)
    machine.until_settled()
    assert machine.compiles == 1
