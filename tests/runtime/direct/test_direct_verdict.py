"""The self-test of direct calls: what becomes of one that dies, hangs or fails, where its verdict is, who waits."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import platform
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
from hlograph.runtime.direct import object_code, supervisor, verdict
from hlograph.runtime.direct.verdict import Verdict

pytestmark = [
    pytest.mark.optimized,
    pytest.mark.skipif(
        sys.platform != "linux" or platform.machine() != "x86_64", reason="machine code is loaded on x86-64 Linux only"
    ),
]

GOOD = Verdict(True, "all passed", made=1.0, seconds=2.0, tried=("densities: direct call of the kernels",))
NAMES = {"jaxlib", "hlograph", "numpy", "scipy", "python", "processor", "flags", "code", "libraries"}
USERS_CACHE = os.environ.get("XDG_CACHE_HOME")
COMMAND = [sys.executable, "-P", *verdict.COMMAND]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, no other places, and nothing known."""
    found = tmp_path / "cache"
    found.mkdir()
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(found))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.setattr(verdict, "_inquiry", verdict._Inquiry())
    return found


def place() -> Path:
    found = verdict.place()
    assert found is not None
    return found


def test_a_verdict_is_kept_for_what_it_was_found_for(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert verdict.read() is None
    verdict.store(GOOD)
    assert verdict.read() == verdict.known() == GOOD
    assert place().is_relative_to(cache)
    assert set(verdict.identity()) == NAMES
    text = GOOD.to_json()
    for name in verdict.identity():
        other = {**verdict.identity(), name: "another"}
        with monkeypatch.context() as patch:
            patch.setattr(verdict, "identity", lambda other=other: other)
            assert verdict.read() is None
            assert Verdict.of_json(text) is None


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"identity": 1}', "\x00\xff", "good"])
def test_a_broken_file_is_no_verdict(text: str) -> None:
    verdict.store(GOOD)
    place().write_bytes(text.encode("latin-1"))
    assert verdict.read() is None
    for name, value in {"good": "yes", "made": None, "tried": 3, "reason": 1, "more": 1}.items():
        broken = json.loads(GOOD.to_json()) | {name: value}
        place().write_text(json.dumps(broken))
        assert verdict.read() is None
    verdict.store(GOOD)
    assert verdict.read() == GOOD


def test_what_may_be_the_moments_fault_counts_for_a_day() -> None:
    now = time.time()
    hung = Verdict(False, "hung", lasting=False, made=now)
    for found, counts in [
        (hung, True),
        (dataclasses.replace(hung, made=now - 2 * verdict.EXPIRES), False),
        (dataclasses.replace(hung, made=now + 1e6), False),
        (dataclasses.replace(hung, made=0.0, lasting=True), True),
    ]:
        verdict.store(found)
        assert (verdict.read() == found) == counts


def test_many_write_at_once() -> None:
    verdicts = [dataclasses.replace(GOOD, seconds=float(i)) for i in range(40)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(verdict.store, verdicts))
        for _ in range(20):
            pool.submit(verdict.store, verdicts[0])
            assert verdict.read() in verdicts
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
    "truncated": (lambda path, patch: path.write_text(GOOD.to_json()[:-40]), False),
    "nested too deep": (lambda path, patch: path.write_text("[" * 60_000), False),
    "nothing in it": (lambda path, patch: path.write_text(""), False),
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
    """The session's, then one for temporary files; it has the verdict for the next process, which runs no self-test."""
    cache.rmdir()
    cache.write_text("in the way")
    runs: list[Any] = []
    monkeypatch.setattr(supervisor, "run", lambda arguments: runs.append(arguments) or GOOD)
    for session in (True, False):
        root = tmp_path / ("session" if session else f"temporary/hlograph-{os.geteuid()}")
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(root) if session else "relative")
        assert supervisor.supervise() == supervisor.supervise() == verdict.read() == GOOD
        assert place() == next(root.glob("hlograph/direct/*.json"))
        assert root.stat().st_mode & 0o777 == 0o700
    assert len(runs) == 2
    (tmp_path / "temporary").chmod(0o777)  # without the sticky bit
    assert verdict.read() is None
    assert verdict.place() is None


def test_no_self_test_where_no_verdict_can_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdict, "place", lambda: None)
    monkeypatch.setattr(verdict, "_from_another_process", lambda: pytest.fail("each process would run one"))
    assert verdict.refusal(wait=False) == ""
    asked = verdict.asked()
    assert asked is not None
    assert not asked.good
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
    monkeypatch.setattr(supervisor, "run", lambda arguments: GOOD)
    assert supervisor.supervise(again=True) == GOOD
    assert [path.suffix for path in place().parent.iterdir()] == [".lock"]


def test_what_a_killed_writer_leaves_is_in_nobodys_way(monkeypatch: pytest.MonkeyPatch) -> None:
    path = place()
    path.with_suffix(".new").write_text(GOOD.to_json()[:50])
    code = "from hlograph.runtime.direct import supervisor as s\nwith s._alone(s.place()): print(flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()  # it has the lock
        holder.kill()
    monkeypatch.setattr(supervisor, "run", lambda arguments: GOOD)
    assert supervisor.supervise() == verdict.read() == GOOD


# ---- what becomes of it ----------------------------------------------------------------------------------------------

PRINTS = "import os, sys, time, signal\nprint('stage: threads', flush=True)\nprint('loop: direct', flush=True)\n"


@pytest.mark.parametrize(
    ("code", "good", "lasting", "reason"),
    [
        ("print('passed: 3 functions')", True, True, "3 functions"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", False, True, "died of SIGSEGV in: threads"),
        ("os.abort()", False, True, "died of SIGABRT in: threads"),
        ("os.kill(os.getpid(), signal.SIGKILL)", False, False, "died of SIGKILL in: threads"),
        ("time.sleep(60)", False, False, "hung for 1 s in: threads"),
        ("os.fork() or time.sleep(60); print('passed: x')", True, True, "x"),
        ("print('failed: loop gives other bits'); sys.exit(1)", False, True, "failed: loop gives other bits"),
        ("print('passed: x', flush=True); os.abort()", False, True, "died of SIGABRT"),
        ("raise OSError('no space')", False, False, "stopped in: threads (OSError: no space)"),
        ("pass", False, False, "stopped in: threads"),
    ],
)
def test_what_becomes_of_a_self_test(code: str, good: bool, lasting: bool, reason: str) -> None:
    start = time.monotonic()
    found = supervisor.run([sys.executable, "-c", PRINTS + code], seconds=1 if "hung" in reason else 30)
    assert (found.good, found.lasting) == (good, lasting)
    assert reason in found.reason
    assert found.tried == ("loop: direct",)
    assert time.monotonic() - start < 40  # nobody waits for what it has forked
    assert Verdict.of_json(found.to_json()) == found


def test_it_runs_without_the_users_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_FLAGS", "--xla_unknown")
    monkeypatch.setenv("JAX_PLATFORMS", "cuda")
    code = "import os; print('passed:', os.environ.get('XLA_FLAGS'), os.environ['JAX_PLATFORMS'])"
    assert supervisor.run([sys.executable, "-c", code]).reason == "None cpu"


def test_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The verdict that all other tests have, of the real self-test."""
    if USERS_CACHE is None:
        monkeypatch.delenv("XDG_CACHE_HOME")
    else:
        monkeypatch.setenv("XDG_CACHE_HOME", USERS_CACHE)
    found = verdict.awaited()
    assert found.good, found
    assert verdict.refusal(wait=True) == verdict.refusal(wait=False) == ""
    assert len(found.tried) > 15
    assert sum(": direct call" in line for line in found.tried) > 15
    printed = subprocess.run(COMMAND, capture_output=True, text=True, check=False)
    assert printed.returncode == 0
    assert f"direct calls: {found.reason}" in printed.stdout


def test_of_several_that_want_one_at_once_one_runs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = []

    def run(arguments: Any) -> Verdict:
        runs.append(arguments)
        time.sleep(0.2)
        return GOOD

    monkeypatch.setattr(supervisor, "run", run)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: supervisor.supervise(), range(4))) == [GOOD] * 4
    assert len(runs) == 1
    assert supervisor.supervise(again=True) == GOOD
    assert len(runs) == 2


def test_of_two_processes_one_runs_it(tmp_path: Path) -> None:
    code = f"""
import time
from hlograph.runtime.direct import supervisor, verdict
def run(arguments):
    open({str(tmp_path / "runs")!r}, "a").write("x")
    time.sleep(1)
    return verdict.Verdict(True, "all passed")
supervisor.run = run
print("ready", flush=True); input()
print(supervisor.supervise().reason)
"""
    command = [sys.executable, "-c", code]
    both = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.stdout and process.stdout.readline() for process in both] == ["ready\n"] * 2
    for process in both:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    assert [process.communicate()[0] for process in both] == ["all passed\n"] * 2
    assert (tmp_path / "runs").read_text() == "x"


MISTAKES = {
    "constants": "image._constant = lambda data, make=image._constant: make(data[1:] + data[:1])",
    "code": "image.ObjectCode.address = lambda self, name, find=image.ObjectCode.address: find(self, name) + 3",
    "buffers": "image.Image.place = lambda self, value, find=image.Image.place: find(self, value) + 64",
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_of_the_loader_are_found(mistake: str) -> None:
    """They end in a crash or a difference, and both in a refusal."""
    code = (
        "from hlograph.runtime.direct import image, self_test\n"
        f"{MISTAKES[mistake]}\n"
        "self_test.FUNCTIONS = {name: self_test.FUNCTIONS[name] for name in ('constants', 'copies')}\n"
        "sys_exit = self_test.run()\n"
    )
    found = supervisor.run([sys.executable, "-c", code])
    assert not found.good
    assert found.lasting, found
    assert "differs" in found.reason or "died of SIG" in found.reason


# ---- who waits -------------------------------------------------------------------------------------------------------


class Listener:
    def __init__(self) -> None:
        self.told = threading.Event()

    def tell(self) -> None:
        self.told.set()


def test_only_who_asks_for_it_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    over, runs = threading.Event(), []

    def another_process() -> Verdict:
        runs.append(over.wait(60))
        return GOOD

    monkeypatch.setattr(verdict, "_from_another_process", another_process)
    monkeypatch.setattr(verdict, "QUIET", 0.01)
    listener, gone = Listener(), Listener()
    assert verdict.asked(listener.tell) is None
    assert verdict.asked(gone.tell) is None
    assert verdict.known() is None
    del gone
    lines: list[str] = []
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(verdict.awaited, lines.append)
        assert not listener.told.wait(0.1)
        over.set()
        assert waiting.result(60) == GOOD
    assert listener.told.wait(60)
    assert runs == [True]
    assert len(lines) == 1
    assert verdict.asked(listener.tell) == GOOD


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
    found = verdict.awaited()
    assert not found.good
    assert reason in found.reason
    assert verdict.read() is None


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_asks_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdict, "_from_another_process", lambda: threading.Event().wait() and GOOD)
    assert verdict.asked() is None
    child = os.fork()
    if not child:
        verdict._from_another_process = lambda: GOOD  # type: ignore[assignment]
        os._exit(0 if verdict.awaited() == GOOD else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize(("value", "off"), [("0", True), ("off", True), (" False", True), ("", False), ("1", False)])
def test_the_switch(value: str, off: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(verdict.SWITCH, value)
    assert verdict.switched_off() == off


def test_switched_off_no_verdict_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(verdict.SWITCH, "0")
    for name in ("read", "place", "_from_another_process"):
        monkeypatch.setattr(verdict, name, lambda: pytest.fail("the switch is off"))
    for cpu in ("auto", "direct"):
        function = hlograph.jit(lambda x: jnp.linalg.cholesky(x), outputs="numpy", cpu=cpu)
        for _ in range(12):
            np.testing.assert_allclose(function(4 * np.eye(2, dtype="f")), 2 * np.eye(2))
        (executable,) = function.stats.by_executable
        assert f"no direct call: switched off by {verdict.SWITCH}" in executable.plan


def test_jaxlibs_that_are_not_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    found: Any = verdict.unsupported
    assert found() == ""
    monkeypatch.setattr(verdict, "proven_jaxlib", lambda: False)
    assert "not tried with jaxlib" in found.__wrapped__()


@pytest.mark.parametrize(("system", "machine"), [("linux", "aarch64"), ("darwin", "arm64"), ("win32", "AMD64")])
def test_on_other_machines_no_code_is_loaded(
    system: str, machine: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Calls are PJRT's, and the statistics say why."""
    request.addfinalizer(verdict.unsupported.cache_clear)
    verdict.unsupported.cache_clear()
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(object_code.ObjectCode, "__init__", lambda *_: pytest.fail("code is loaded"))
    verdict.assume(GOOD)
    for cpu in ("auto", "direct"):
        function = hlograph.jit(lambda x: jnp.linalg.cholesky(x @ x.T), outputs="numpy", cpu=cpu)
        for _ in range(12):
            np.testing.assert_allclose(function(2 * np.eye(2, dtype="f")), 2 * np.eye(2))
        (executable,) = function.stats.by_executable
        assert any("no direct call: machine code is loaded on x86-64 Linux only" in note for note in executable.plan)
