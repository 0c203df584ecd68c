"""The self-test of direct calls: what becomes of one that dies, hangs or fails, where its verdict is, who waits."""

import dataclasses
import errno
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import hlograph
from hlograph.runtime.direct import object_code, verdict
from hlograph.runtime.direct.verdict import Verdict

pytestmark = [
    pytest.mark.optimized,
    pytest.mark.skipif(bool(verdict.unsupported()), reason="no direct calls here"),
]

GOOD = Verdict(True, "all passed", made=1.0, tried=("densities: direct call of the kernels",))
BAD = Verdict(False, "died of SIGSEGV in: threads")
USERS_CACHE = os.environ.get("XDG_CACHE_HOME")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, no other places, and nothing known."""
    for name in ("cache", "temporary"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.setattr(verdict, "_known", None)
    monkeypatch.setattr(verdict, "_asking", None)
    return tmp_path / "cache"


def place() -> Path:
    found = verdict.place()
    assert found is not None
    return found


def run(code: str, monkeypatch: pytest.MonkeyPatch) -> Verdict:
    """What becomes of a self-test that is this program."""
    monkeypatch.setattr(verdict, "SELF_TEST", ("-c", code))
    return verdict.found()


def test_a_verdict_is_kept_for_what_it_was_found_for(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert verdict.read() is None
    verdict.store(GOOD)
    assert verdict.read() == verdict.known() == GOOD
    assert place().is_relative_to(cache)
    of: Any = verdict.identity
    found = of()
    assert found == of.__wrapped__()
    changes = {"_package": lambda _: ("9.9", ""), "_processor": lambda: "", "_PACKAGES": ()}
    for name, change in changes.items():
        with monkeypatch.context() as patch:
            patch.setattr(verdict, name, change)
            other = of.__wrapped__()
            assert other != found
            patch.setattr(verdict, "identity", lambda other=other: other)
            assert verdict.read() is None


def test_it_is_for_the_same_in_a_checkout_and_for_the_self_test() -> None:
    code = "from hlograph.runtime.direct import verdict; print(verdict.identity())"
    root = Path(__file__).resolve().parents[3]
    commands = [[sys.executable, *options, "-c", code] for options in ([], ["-P"])]
    runs = [subprocess.run(command, cwd=root, capture_output=True, text=True, check=True) for command in commands]
    assert [run.stdout.strip() for run in runs] == [verdict.identity()] * 2


BROKEN = {"good": "yes", "made": None, "tried": 3}


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", "\x00\xff", "good", "[" * 60_000, *[json.dumps({k: v}) for k, v in BROKEN.items()]]
)
def test_a_broken_file_is_no_verdict(text: str) -> None:
    verdict.store(GOOD)
    if text.startswith('{"'):
        text = json.dumps(json.loads(place().read_text()) | json.loads(text))
    place().write_bytes(text.encode("latin-1"))
    found = verdict.read()
    assert found is None or not found.good


@pytest.mark.parametrize(
    ("age", "good", "counts"), [(0, False, True), (2, False, False), (-9, False, False), (99, True, True)]
)
def test_a_bad_one_counts_for_a_day(age: int, good: bool, counts: bool) -> None:
    found = Verdict(good, "hung", time.time() - age * verdict.EXPIRES)
    verdict.store(found)
    assert (verdict.read() == found) == counts


def test_many_write_at_once() -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(verdict.store, [dataclasses.replace(GOOD, made=float(i)) for i in range(40)]))
    assert dataclasses.replace(verdict.read() or BAD, made=1.0) == GOOD
    assert [path.suffix for path in place().parent.iterdir()] == [".json"]


# ---- who can have written it -----------------------------------------------------------------------------------------


def of_somebody_else(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid():
        monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    else:
        os.chown(path, 65534, 65534)


def led_elsewhere(path: Path) -> None:
    path.rename(path.with_suffix(".other"))
    path.symlink_to(path.with_suffix(".other"))


def a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path, 0o600)


POISONED: dict[str, tuple[Callable[[Path, pytest.MonkeyPatch], Any], bool]] = {
    "as it was written": (lambda path, patch: None, True),
    "a file of somebody else": (of_somebody_else, False),
    "a folder of somebody else": (lambda path, patch: of_somebody_else(path.parent, patch), False),
    "the user's cache is somebody else's": (lambda path, patch: of_somebody_else(path.parents[2], patch), False),
    "a file that all can write to": (lambda path, patch: path.chmod(0o666), False),
    "a file that a group can write to": (lambda path, patch: path.chmod(0o620), False),
    "a file that all can read": (lambda path, patch: path.chmod(0o644), True),
    "a folder that all can write to": (lambda path, patch: path.parent.chmod(0o777), False),
    "a folder above it that a group can write to": (lambda path, patch: path.parents[2].chmod(0o770), False),
    "a sticky folder above it, as /tmp is": (lambda path, patch: path.parents[2].chmod(0o1777), True),
    "a link in place of the file": (lambda path, patch: led_elsewhere(path), False),
    "a link of the user's in place of a folder": (lambda path, patch: led_elsewhere(path.parent), True),
    "a pipe": (lambda path, patch: a_pipe(path), False),
    "truncated": (lambda path, patch: path.write_bytes(path.read_bytes()[:-40]), False),
}


@pytest.mark.parametrize("case", POISONED)
def test_a_verdict_is_believed_if_nobody_else_can_have_written_it(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    change, believed = POISONED[case]
    verdict.store(GOOD)
    path = place()
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    change(path, monkeypatch)
    assert (verdict.read() == GOOD) == (verdict.known() == GOOD) == believed


def test_another_folder_where_the_cache_cannot_be_written_to(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has the verdict for the next process, which runs no self-test; where there is none either, nobody runs one."""
    cache.rmdir()
    cache.write_text("in the way")
    runs: list[Any] = []
    monkeypatch.setattr(verdict, "_tried", lambda folder: runs.append(folder) or GOOD)
    assert verdict.found() == verdict.found() == verdict.read() == GOOD
    assert place().is_relative_to(tmp_path / "temporary" / f"hlograph-{os.geteuid()}")
    assert len(runs) == 1
    (tmp_path / "temporary").chmod(0o777)  # without the sticky bit
    assert verdict.read() is verdict.place() is None
    monkeypatch.setattr(verdict, "_run", lambda *arguments, **options: pytest.fail("each process would run one"))
    assert verdict.refusal(wait=False) == ""
    assert verdict.awaited() == verdict.found() == Verdict(False, verdict.NOWHERE)
    assert "set XDG_CACHE_HOME" in verdict.refusal(wait=True) == verdict.refusal(wait=False)
    with pytest.raises(OSError, match="XDG_CACHE_HOME"):
        verdict.store(GOOD)


def test_a_full_disk_tells_before_the_self_test(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And one that is full afterwards leaves no part of a verdict."""
    make: Any = tempfile.TemporaryFile

    def full(dir: Path, **options: Any) -> Any:
        if dir.is_relative_to(cache):
            raise OSError(errno.ENOSPC, "no space left")
        return make(dir=dir, **options)

    with monkeypatch.context() as patch:
        patch.setattr(tempfile, "TemporaryFile", full)
        verdict.store(GOOD)
        assert place().is_relative_to(tmp_path / "temporary")
    monkeypatch.setattr(os, "replace", lambda *names: full(cache))
    place().unlink(missing_ok=True)
    monkeypatch.setattr(verdict, "_tried", lambda folder: GOOD)
    assert verdict.found() == GOOD
    assert not list(place().parent.iterdir())


# ---- what becomes of it ----------------------------------------------------------------------------------------------

TEST = """
import os, signal, time
from hlograph.runtime.direct import self_test

def test():
    self_test.say("loop"); self_test.say("threads")
    {}
    return "3 functions"

self_test.tried = test
self_test.run()
"""


@pytest.mark.parametrize(
    ("code", "good", "reason"),
    [
        ("pass", True, "3 functions"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", False, "the self-test died of SIGSEGV in: threads"),
        ("os.kill(os.getpid(), signal.SIGKILL)", False, "the self-test died of SIGKILL in: threads"),
        ("signal.alarm(1); time.sleep(60)", False, "the self-test hung in: threads"),
        ("os.fork() or time.sleep(60) or os._exit(0)", True, "3 functions"),
        ("raise OSError('no space')", False, "the self-test failed in: threads (OSError: no space)"),
        ("os._exit(3)", False, "the self-test failed in: threads"),
        ("assert 'HLOGRAPH_DIRECT' not in os.environ", True, "3 functions"),
    ],
)
def test_what_becomes_of_a_self_test(code: str, good: bool, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    start = time.monotonic()
    monkeypatch.setenv(verdict.SWITCH, "0")
    found = run(TEST.format(code), monkeypatch)
    assert (found.good, found.reason) == (good, reason)
    assert found.tried[0] == "loop"
    assert verdict.read() == found
    assert time.monotonic() - start < 40  # nobody waits for what it has forked


def test_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The verdict that all other tests have, of the real self-test; the user's options of XLA do not reach it."""
    if USERS_CACHE is None:
        monkeypatch.delenv("XDG_CACHE_HOME")
    else:
        monkeypatch.setenv("XDG_CACHE_HOME", USERS_CACHE)
    with monkeypatch.context() as patch:
        patch.setenv("XLA_FLAGS", "--xla_unknown")
        found = verdict.awaited()
    assert found.good, found
    assert verdict.refusal(wait=True) == verdict.refusal(wait=False) == ""
    assert int(found.reason.split()[0]) > 30
    command = [sys.executable, "-P", "-m", "hlograph.runtime.direct"]
    printed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert printed.returncode == 0
    assert f"direct calls: {found.reason}" in printed.stdout


def test_of_several_that_want_one_at_once_one_runs_it(tmp_path: Path) -> None:
    """Also where the first one is killed meanwhile."""
    code = f"""
from hlograph.runtime.direct import verdict
def test(folder):
    open({str(tmp_path / "runs")!r}, "a").write("x")
    print("runs", flush=True); input()
    return verdict.Verdict(True, "all passed")
verdict._tried = test
print("ready", flush=True); input()
print(verdict.found().reason)
"""
    command = [sys.executable, "-c", code]
    three = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    first: Any = three[0]
    for process in three:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.stdin.write("\n" if process is first else "\n\n")
        process.stdin.flush()
        if process is first:
            assert process.stdout.readline() == "runs\n"
    first.kill()
    printed = sorted(process.communicate()[0] for process in three)
    assert printed == ["", "all passed\n", "runs\nall passed\n"]
    assert (tmp_path / "runs").read_text() == "xx"


MISTAKES = {
    "constants": "call._copied = lambda data, make=call._copied: make(data[1:] + data[:1])",
    "code": "call.ObjectCode.address = lambda self, name, find=call.ObjectCode.address: find(self, name) + 3",
    "buffers": "steps.Steps._buffer = lambda *a, find=steps.Steps._buffer, **b: f'{find(*a, **b)} + 64'",
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_of_the_loader_are_found(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They end in a crash or a difference, and both in a refusal."""
    found = run(
        "from hlograph.runtime.direct import call, steps, self_test\n"
        f"{MISTAKES[mistake]}\n"
        "self_test.FUNCTIONS = {name: self_test.FUNCTIONS[name] for name in ('constants', 'copies')}\n"
        "self_test.run()\n",
        monkeypatch,
    )
    assert not found.good
    assert "differs" in found.reason or "died of SIG" in found.reason


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_only_who_asks_for_it_waits(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    over, runs = threading.Event(), list[str]()
    monkeypatch.setattr(verdict, "_ask", lambda: runs.append("run") or (over.wait(60) and GOOD))
    monkeypatch.setattr(verdict, "QUIET", 0.01)
    assert verdict.asked() is verdict.asked() is verdict.known() is None
    child = os.fork()
    if not child:  # which asks anew
        verdict._ask = lambda: BAD
        signal.alarm(60)
        os._exit(0 if verdict.awaited() == BAD else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(verdict.awaited)
        time.sleep(0.1)
        assert not waiting.done()
        over.set()
        assert waiting.result(60) == verdict.asked() == GOOD
    assert (runs, capsys.readouterr().err.splitlines()) == (["run"], [verdict.TRYING])


@pytest.mark.parametrize(
    ("interpreter", "reason"),
    [
        ("", "no Python interpreter"),
        ("/usr/bin/uwsgi", "no Python interpreter"),
        ("/nowhere/python3", "could not be started"),
        ("{tmp}/python3", "could not be run"),
    ],
)
def test_interpreters_that_do_not_run_it(
    interpreter: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "python3").write_text("#!/bin/sh\necho hello\nexit 3\n")
    (tmp_path / "python3").chmod(0o755)
    monkeypatch.setattr(sys, "executable", interpreter.format(tmp=tmp_path))
    assert reason in verdict.awaited().reason
    assert verdict.read() is None


@pytest.mark.parametrize("value", ["0", "off", " False", "", "1"])
def test_the_switch(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(verdict.SWITCH, value)
    assert verdict.switched_off() == (value not in ("", "1"))


OTHERS: dict[str, tuple[Any, str, Any, str]] = {
    "switched off": (os.environ, verdict.SWITCH, "0", "switched off by HLOGRAPH_DIRECT"),
    "a Mac with an Intel processor": (sys, "platform", "darwin", "machine code is loaded on x86-64 Linux, ARM Linux"),
    "RISC-V": (platform, "machine", lambda: "riscv64", "machine code is loaded on x86-64 Linux, ARM Linux"),
    "a new jaxlib": (verdict, "proven_jaxlib", lambda: False, "not tried with jaxlib"),
    "no llvmlite": (verdict, "_package", lambda _: ("", ""), "llvmlite is not installed: pip install 'llvmlite>=0.44'"),
    "an old llvmlite": (verdict, "_package", lambda _: ("0.43.0", ""), "llvmlite is 0.43.0: pip install"),
}


@pytest.mark.parametrize("case", OTHERS)
def test_without_direct_calls(case: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Calls are PJRT's, the statistics say why, and nobody looks for a verdict or loads code."""
    owner, name, value, reason = OTHERS[case]
    request.addfinalizer(verdict.unsupported.cache_clear)
    verdict.unsupported.cache_clear()
    (monkeypatch.setitem if owner is os.environ else monkeypatch.setattr)(owner, name, value)
    monkeypatch.setattr(object_code, "binding", lambda: pytest.fail("code is loaded"))
    for used in ("read", "place", "_ask"):
        monkeypatch.setattr(verdict, used, lambda: pytest.fail("nobody asks"))
    for cpu in ("auto", "direct"):
        function = hlograph.jit(lambda x: jnp.linalg.cholesky(x @ x.T), outputs="numpy", cpu=cpu)
        for _ in range(12):
            np.testing.assert_allclose(function(2 * np.eye(2, dtype="f")), 2 * np.eye(2))
        (executable,) = function.stats.by_executable
        assert any(note.startswith(f"no direct call: {reason}") or reason in note for note in executable.plan)
