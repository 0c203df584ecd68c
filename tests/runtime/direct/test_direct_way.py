"""How calls come to take the direct way by themselves, how they leave it, and what processes do to them meanwhile."""

import signal
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from direct_functions import growth

import hlograph
from hlograph.runtime.direct import verdict
from hlograph.runtime.executables import direct_way
from hlograph.runtime.object_files import DirectCallRefused

TESTS = Path(__file__).resolve().parents[2]
GOOD, BAD = "", "died of SIGSEGV in: threads"
X = np.linspace(0.1, 1, 7).astype(np.float32)

pytestmark = [
    pytest.mark.optimized,
    pytest.mark.skipif(bool(verdict.unsupported()), reason="no direct calls here"),
]


@pytest.fixture(autouse=True)
def _good(monkeypatch: pytest.MonkeyPatch) -> None:
    """A good verdict; any time is better than PJRT's, and no call is too long, so that no noise decides."""
    monkeypatch.setattr(verdict, "_known", GOOD)
    monkeypatch.delenv(verdict.SWITCH, raising=False)
    monkeypatch.setattr(direct_way, "_fastest", lambda ways, arrays: [1e-6, 2e-6])
    monkeypatch.setattr(direct_way, "LONG", float("inf"))


def compiled(**options: Any) -> Any:
    def function(x: Any) -> Any:
        return jnp.log(x).sum(), x * 2

    return hlograph.jit(function, outputs="numpy", cpu=hlograph.CpuOptions(**options))


def right(fn: Any, x: np.ndarray = X) -> bool:
    total, twice = fn(x)
    return bool(np.isclose(total, np.log(x).sum(), rtol=1e-5)) and twice.tolist() == (x * 2).tolist()


def note(fn: Any) -> str:
    """The last line on how it is called."""
    (executable,) = fn.stats.by_executable
    return [line for line in ("", *executable.plan) if "direct call" in line or not line][-1]


def settle(fn: Any, calls: int = direct_way.FIRST + 3) -> str:
    """The last line on how it is called, after some calls."""
    assert all(right(fn, X + k) for k in range(calls))
    return note(fn)


def test_after_a_few_calls() -> None:
    fn = compiled()
    assert settle(fn, direct_way.FIRST) == "direct call: to be tried after a few calls"
    assert settle(fn) == "direct call of the kernels: 1.0 us, and 2.0 us by PJRT"
    assert right(fn, X[::-1])
    assert fn(jnp.asarray(X))[1].tolist() == (X * 2).tolist()  # arguments that are converted
    assert fn.stats.compiles == 1
    assert settle(compiled(direct=True), 1) == "direct call of the kernels"  # insisted on


def refuse(*_: Any) -> Any:
    raise DirectCallRefused("unknown")


NOT: dict[str, tuple[Any, str, Any, str]] = {
    "long calls": (direct_way, "LONG", 0.0, "gain nothing by it"),
    "large constants": (direct_way, "LARGE", 10, "in memory twice"),
    "slower": (direct_way, "_fastest", lambda ways, arrays: [3e-6, 2e-6], "no direct call: 3.0 us, and 2.0 us by PJRT"),
    "no good verdict": (verdict, "_known", BAD, f"no direct call: {BAD}"),
    "the loader": (direct_way.DirectCall, "loaded", refuse, "no direct call: unknown"),
}


@pytest.mark.parametrize("case", NOT)
def test_where_nothing_is_gained(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, name, value, expected = NOT[case]
    monkeypatch.setattr(owner, name, value)
    assert expected in settle(compiled())
    if owner is not direct_way:
        assert settle(compiled(direct=True)) == expected


def test_a_time_limit_in_the_call_that_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a signal's handler raises is raised by the call, and no reason not to try again."""

    def limit(*_: Any) -> None:
        raise TimeoutError("one second")

    def late(*_: Any) -> None:
        signal.raise_signal(signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, limit)
    try:
        fn = compiled()
        assert settle(fn, direct_way.FIRST + 1) == "direct call: to be tried after a few calls"
        with monkeypatch.context() as patch:
            patch.setattr(direct_way, "compare", late)
            with pytest.raises(TimeoutError, match="one second"):
                right(fn)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert settle(fn, 1).startswith("direct call of the kernels")


def test_options() -> None:
    assert "direct" not in settle(compiled(direct=False))
    with pytest.raises(ValueError, match="direct must be None, False or True"):
        hlograph.CpuOptions(direct="yes")  # type: ignore[arg-type]


def test_calls_that_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    monkeypatch.setattr(direct_way, "EVERY", 4)
    monkeypatch.setattr(direct_way, "difference", lambda *both: found.append(both) or "")
    fn = compiled(direct=True)
    assert settle(fn, 1) == "direct call of the kernels"
    settle(fn, 40)
    assert len(found) == 3
    assert note(fn).endswith("; compared 3 times more, in calls")
    for ours, theirs in found:
        assert [one.tobytes() for one in ours] == [one.tobytes() for one in theirs]


def test_a_forked_process_compares_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """PJRT might wait for threads that are not there."""
    monkeypatch.setattr(direct_way, "EVERY", 2)
    monkeypatch.setattr(direct_way.forks, "was_forked", lambda: True)
    monkeypatch.setattr(direct_way, "difference", lambda *_: pytest.fail("compared"))
    fn = compiled(direct=True)
    assert settle(fn, 1) == "direct call of the kernels"
    assert settle(fn, 10) == "direct call of the kernels"


def test_a_difference_that_is_found_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """The constants of the loaded code are changed in memory."""
    loaded: list[Any] = []
    load = direct_way.DirectCall.loaded
    monkeypatch.setattr(direct_way.DirectCall, "loaded", lambda *args: loaded.append(load(*args)) or loaded[0])
    monkeypatch.setattr(direct_way, "EVERY", 4)
    table = np.linspace(0, 1, 300)
    with jax.enable_x64(True):
        options = hlograph.CpuOptions(direct=True, regions=False)  # a constant has a buffer of its own
        fn = hlograph.jit(lambda at: jnp.asarray(table)[at], outputs="numpy", cpu=options)
        places = np.array([7, 9, 11])
        assert fn(places).tolist() == table[places].tolist()
        assert note(fn) == "direct call of the kernels"
        for constant in loaded[0].constants.values():
            constant[:] = 0
        assert [fn(places).tolist() for _ in range(2)] == [[0, 0, 0]] * 2
        with pytest.warns(RuntimeWarning, match=r"a direct call .* gave other bits than PJRT \(result 0 differs"):
            assert fn(places).tolist() == table[places].tolist()
        assert note(fn).startswith("no direct call any more: result 0 differs from PJRT's")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert all(fn(places).tolist() == table[places].tolist() for _ in range(20))


def test_many_threads_while_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct_way, "EVERY", 50)
    fn = compiled()
    with ThreadPoolExecutor(8) as pool:
        for _ in range(200):  # while the code is loaded, which takes a while the first time, calls go on by PJRT
            assert all(pool.map(lambda k: right(fn, X + k), range(1000)))
            if note(fn).endswith("; compared 3 times more, in calls"):
                break
        else:
            raise AssertionError(note(fn))


def test_errors_and_interrupts_of_a_try_do_not_reach_results(monkeypatch: pytest.MonkeyPatch) -> None:
    errors: list[BaseException] = [KeyboardInterrupt(), MemoryError("none left")]

    def fails(*_: Any) -> Any:
        raise errors.pop(0)

    monkeypatch.setattr(direct_way, "compare", fails)
    fn = compiled()
    with pytest.raises(KeyboardInterrupt):
        settle(fn)
    assert settle(fn, 2) == "no direct call: MemoryError: none left"


def test_the_pytensor_mode() -> None:
    pytensor = pytest.importorskip("pytensor")
    pt = pytest.importorskip("pytensor.tensor")
    x = pt.dvector("x")
    fn = pytensor.function([x], [pt.log(x).sum(), x * 2], mode=hlograph.Mode())
    values = np.linspace(1, 2, 5)
    for k in range(direct_way.FIRST + 5):
        total, twice = fn(values + k)
        np.testing.assert_allclose(total, np.log(values + k).sum(), rtol=1e-12)
        np.testing.assert_array_equal(twice, 2 * (values + k))
    (executable,) = fn.vm.function.stats.by_executable
    assert executable.plan[-1].startswith("direct call of the kernels")


def test_processes() -> None:
    """A process that starts others, is interrupted, forks, and ends while threads call."""
    run = subprocess.run(
        [sys.executable, str(TESTS / "direct_functions.py"), "spawn", "interrupt", "fork", "exit"],
        capture_output=True,
        text=True,
        check=False,
    )
    way = "direct call of the kernels\n"
    assert (run.returncode, run.stdout, run.stderr) == (0, f"True\n{way}0\n0\n{way}", "")


@pytest.mark.parametrize("calls", [20_000, pytest.param(10_000_000, marks=pytest.mark.sampled(4))])
def test_calls_from_many_threads_take_no_memory(calls: int) -> None:
    assert growth(calls) < 4  # MiB
