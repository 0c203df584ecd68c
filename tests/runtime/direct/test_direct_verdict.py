"""The self-test of direct calls: what becomes of one that dies, hangs or fails, where its verdict is, who waits."""

import errno
import logging
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
from textwrap import dedent
from typing import Any

import jax
import jax.numpy as jnp
import jaxlib
import numpy as np
import pytest

import hlograph
from hlograph.codegen.ir import jax_compat
from hlograph.runtime.direct import kept, object_code, self_test, verdict
from hlograph.runtime.executables import direct_way

pytestmark = [
    pytest.mark.optimized,
    pytest.mark.skipif(bool(verdict.unsupported()), reason="no direct calls here"),
]

BAD = "died of SIGSEGV in: threads"
GOOD = verdict.line("", "all passed")
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
    found = kept.place(verdict.name())
    assert found is not None
    return found


def store(last: str) -> None:
    """A record that ends with this line."""
    kept.store(verdict.name(), f"random program 0: direct call of the kernels\n{last}\n".encode())


def run(code: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """What becomes of a self-test that is this program."""
    monkeypatch.setattr(verdict, "SELF_TEST", ("-c", code))
    return verdict.found()


def test_a_verdict_is_kept_for_what_it_was_found_for(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert verdict.read() is None
    store(GOOD)
    assert verdict.read() == verdict.known() == ""
    assert place().is_relative_to(cache)
    of: Any = verdict.identity
    found = of()
    assert found == of.__wrapped__()
    changes = {"_package": lambda _: ("9.9", ""), "processor_of_system": lambda: ""}
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


@pytest.mark.parametrize(
    "text", ["", "{", "\x00\xff", "good 1: x", "[" * 60_000 + "\n", "good: x\n", "fine 1: x\n", "\n"]
)
def test_a_broken_record_is_no_verdict(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store(GOOD)
    place().write_bytes(text.encode("latin-1"))
    assert verdict.read() is None
    assert run(f"print('{GOOD}')", monkeypatch) == verdict.read() == ""


@pytest.mark.parametrize(
    ("age", "word", "counts"), [(0, "bad", True), (2, "bad", False), (-9, "bad", False), (99, "good", True)]
)
def test_a_bad_one_counts_for_a_day(age: int, word: str, counts: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    store(f"{word} {int(time.time() - age * verdict.EXPIRES):d}: hung")
    refusal = "" if word == "good" else "hung"
    assert verdict.read() == (refusal if counts else None)
    assert run(f"print('{GOOD}')", monkeypatch) == (refusal if counts else "")
    assert len(verdict.lines()) == 1 + counts


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
    "truncated": (lambda path, patch: path.write_bytes(path.read_bytes()[:-1]), False),
}


@pytest.mark.parametrize("case", POISONED)
def test_a_verdict_is_believed_if_nobody_else_can_have_written_it(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    change, believed = POISONED[case]
    store(GOOD)
    path = place()
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    change(path, monkeypatch)
    assert (verdict.read() == "") == (verdict.known() == "") == believed
    monkeypatch.setattr(verdict, "SELF_TEST", ("-c", f"print('{verdict.line(BAD)}')"))
    assert verdict.found() == ("" if believed else BAD) == verdict.read()  # where it will be believed


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_what_is_in_the_way_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder in place of the record; and where the thread that waits dies, nobody takes that for a good verdict."""
    place().mkdir()
    assert "could not be run: " in verdict.refusal(wait=True)
    verdict.assume(None)
    monkeypatch.setattr(verdict, "found", lambda: 1 / 0)
    assert verdict.refusal(wait=True) == "the self-test ended without a result"


def test_another_folder_where_the_cache_cannot_be_written_to(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has the verdict for the next process, which runs no self-test; where there is none either, nobody runs one."""
    cache.rmdir()
    cache.write_text("in the way")
    monkeypatch.setattr(verdict, "SELF_TEST", ("-c", "print('good 1: all passed')"))
    assert verdict.found() == verdict.read() == ""
    monkeypatch.setattr(verdict, "SELF_TEST", ("-c", "print('bad 1: again')"))
    assert verdict.found() == ""
    assert place().is_relative_to(tmp_path / "temporary" / f"hlograph-{os.geteuid()}")
    (tmp_path / "temporary").chmod(0o777)  # without the sticky bit
    assert verdict.read() is kept.place(verdict.name()) is None
    monkeypatch.setattr(verdict, "_tried", lambda record: pytest.fail("each process would run one"))
    assert verdict.refusal(wait=False) == ""
    assert verdict.asked(wait=True) == verdict.found() == verdict.NOWHERE
    assert "set XDG_CACHE_HOME" in verdict.refusal(wait=True) == verdict.refusal(wait=False)


def test_a_full_disk_tells_before_the_self_test(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And one that is full afterwards leaves a record that is no verdict."""
    make: Any = tempfile.TemporaryFile

    def full(dir: Path, **options: Any) -> Any:
        if dir.is_relative_to(cache):
            raise OSError(errno.ENOSPC, "no space left")
        return make(dir=dir, **options)

    with monkeypatch.context() as patch:
        patch.setattr(tempfile, "TemporaryFile", full)
        assert place().is_relative_to(tmp_path / "temporary")
    full_now = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (9, 9)); "
    found = run(f"{full_now}print('{GOOD}', flush=True)", monkeypatch)
    assert found == f"the self-test failed with status 1 in: {GOOD[:9]}"


# ---- what becomes of it ----------------------------------------------------------------------------------------------

TEST = """
from hlograph.runtime.direct import self_test

def last():
    {}
    return "direct call of the kernels"

self_test.trials = lambda: [("names", lambda: "ok"), ("loop", lambda: "direct call of the kernels"), ("threads", last)]
self_test.run()
"""
LIGHT = """
import os, signal, time
for each in (signal.SIGINT, signal.SIGHUP):  # which a run in the background may ignore, with all that it starts
    signal.signal(each, signal.SIG_DFL)
print("names: ok\\nloop: direct call of the kernels\\nthreads", end="", flush=True)
{}
"""
ALL = "2 of 2 programs are called directly, from threads and after a fork too"


@pytest.mark.parametrize(
    ("code", "good", "reason"),
    [
        (TEST.format("pass"), True, ALL),
        (TEST.format("return 'no direct call: it is a loop'"), True, ALL.replace("2 of", "1 of")),
        (TEST.format("raise OSError('no\\nspace')"), False, "failed with status 1 in: threads (OSError: no space)"),
        (LIGHT.format("os.kill(os.getpid(), signal.SIGSEGV)"), False, "died of SIGSEGV in: threads"),
        (LIGHT.format("os.kill(os.getpid(), signal.SIGKILL)"), False, "died of SIGKILL in: threads"),
        (LIGHT.format("signal.alarm(1); time.sleep(60)"), False, "hung in: threads"),
        (LIGHT.format("signal.setitimer(signal.ITIMER_PROF, 0.1)\nwhile True: pass"), False, "hung in: threads"),
        (LIGHT.format(f"os.fork() or time.sleep(60); print(': x\\n{GOOD}')"), True, "all passed"),
        (LIGHT.format(f"print('\\n{GOOD}', flush=True); os._exit(3)"), False, "failed with status 3 in: its start"),
        (LIGHT.format(f"'HLOGRAPH_DIRECT' in os.environ or print(': x\\n{GOOD}')"), True, "all passed"),
    ],
)
def test_what_becomes_of_a_self_test(code: str, good: bool, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    start = time.monotonic()
    monkeypatch.setenv(verdict.SWITCH, "0")
    found = run(code, monkeypatch)
    assert found == verdict.read() == ("" if good else f"the self-test {reason}")
    assert verdict.lines()[:2] == ["names: ok", "loop: direct call of the kernels"]
    assert verdict.lines()[-1].endswith(f": {reason}" if good else found)
    assert time.monotonic() - start < 40  # nobody waits for what it has forked


def test_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The verdict that all other tests have, of the real self-test; the user's options of XLA do not reach it."""
    if USERS_CACHE is None:
        monkeypatch.delenv("XDG_CACHE_HOME")
    else:
        monkeypatch.setenv("XDG_CACHE_HOME", USERS_CACHE)
    with monkeypatch.context() as patch:
        patch.setenv("XLA_FLAGS", "--xla_unknown")
        assert verdict.asked(wait=True) == ""
    assert verdict.refusal(wait=True) == verdict.refusal(wait=False) == ""
    tried = verdict.lines()[-1].partition(": ")[2]
    assert int(tried.split()[0]) > 24
    command = [sys.executable, "-P", "-m", "hlograph.runtime.direct"]
    printed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert printed.returncode == 0
    assert f": {tried}\ndirect calls\n" in printed.stdout


def test_of_several_that_want_one_at_once_one_runs_it(tmp_path: Path) -> None:
    """It goes on where that one is killed meanwhile."""
    runs, over = tmp_path / "runs", tmp_path / "over"
    test = f"""
import os, time
open({str(runs)!r}, "a").write("x")
while not os.path.exists({str(over)!r}): time.sleep(0.01)
print("good 1: all passed")
"""
    code = f"""
from hlograph.runtime.direct import verdict
verdict.SELF_TEST = ("-c", {test!r})
print(verdict.found(), verdict.lines()[-1])
"""
    processes = []
    for _ in range(3):
        processes.append(subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True))
        while not runs.exists():
            time.sleep(0.01)
    processes[0].kill()
    over.touch()
    assert [process.communicate()[0] for process in processes] == ["", *[" good 1: all passed\n"] * 2]
    assert runs.read_text() == "x"


@pytest.mark.parametrize("end", ["SIGTERM", "SIGINT", "SIGHUP", "SIGKILL"])
def test_what_was_tried_is_not_tried_again(end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who wants a verdict after a self-test that somebody has ended goes on with its record; with a kill, of both."""
    code = LIGHT.format(f"os.kill(os.getpid(), signal.{end})")
    if end == "SIGKILL":
        with open(place(), "xb", opener=lambda path, flags: os.open(path, flags, 0o600)) as record:
            subprocess.run([sys.executable, "-c", code], stdout=record, check=False)
    else:
        assert run(code, monkeypatch) == f"the self-test died of {end} in: threads"
    assert (place().read_text(), verdict.read()) == ("names: ok\nloop: direct call of the kernels\nthreads", None)
    if end == "SIGTERM":
        again = TEST.format("pass").replace('"loop", lambda: "direct call of the kernels"', '"loop", lambda: 1 / 0')
        assert run(again, monkeypatch) == ""
        assert verdict.lines()[-1].endswith(ALL)
        assert verdict.lines()[2] == "threads: direct call of the kernels"
    else:
        assert run(f"print('threads: x\\n{GOOD}')", monkeypatch) == ""
    assert verdict.lines()[:2] == ["names: ok", "loop: direct call of the kernels"]
    assert len(verdict.lines()) == 4


MISTAKES = {
    "constants": "call._copied = lambda data, make=call._copied: make(data[1:] + data[:1])",
    "code": "call.ObjectCode.address = lambda self, name, find=call.ObjectCode.address: find(self, name) + 3",
    "buffers": """steps.Steps._buffer = lambda *a, find=steps.Steps._buffer, **b: (
        lambda word: word + 64 if isinstance(word, int) else (word[0], word[1] + 64))(find(*a, **b))""",
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_of_the_loader_are_found(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They end in a crash or a difference, and both in a refusal."""
    found = run(
        "from hlograph.runtime.direct import call, steps, self_test\n"
        f"{MISTAKES[mistake]}\n"
        "self_test.CHOSEN = {name: self_test.CHOSEN[name] for name in ('constants', 'copies')}\n"
        "self_test.run()\n",
        monkeypatch,
    )
    assert "differs" in found or "died of SIG" in found


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_only_who_asks_for_it_waits(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "hlograph")
    over, runs = threading.Event(), list[str]()
    monkeypatch.setattr(verdict, "found", lambda: runs.append("run") or "" * over.wait(60))
    monkeypatch.setattr(verdict, "QUIET", 0.01)
    assert verdict.asked() is verdict.asked() is verdict.known() is None
    child = os.fork()
    if not child:  # which asks anew
        verdict.found = lambda: BAD
        signal.alarm(60)
        os._exit(0 if verdict.asked(wait=True) == BAD else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(verdict.asked, wait=True)
        time.sleep(0.1)
        assert not waiting.done()
        over.set()
        assert waiting.result(60) == verdict.asked() == ""
    assert (runs, [record.levelname for record in caplog.records]) == (["run"], ["INFO", "WARNING"])
    assert str(place()) in caplog.messages[0] == caplog.messages[1]
    assert "python -m hlograph.runtime.direct" in caplog.messages[0]


# ---- a release that nobody has tried ---------------------------------------------------------------------------------

# What is said, and what it is said of.
RENAMED = {
    "jaxlib.xla_client has no make_cpu_client(asynchronous=...)": """
        import jax, jaxlib.xla_client as client
        jax.devices()
        client.make_cpu_client = lambda threads: None
    """,
    "'ExecuteReplicated' object has no attribute 'kept_var_idx": """
        from jax._src.interpreters import pxla
        new, find = {"kept_var_idx": "kept_var_idx_new"}, object.__getattribute__
        pxla.ExecuteReplicated.__getattribute__ = lambda self, name: find(self, new.get(name, name))
    """,
}


@pytest.mark.parametrize("what", RENAMED)
def test_a_private_name_that_is_gone_is_found_by_the_self_test(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    test = "\nfrom hlograph.runtime.direct import self_test\nself_test.run()"
    found = run(dedent(RENAMED[what]) + test, monkeypatch)
    assert "in: names (AttributeError: " in found
    assert what in found


def test_more_programs_are_tried_where_the_tests_have_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    familiar = dict(self_test.trials())
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    others = dict(self_test.trials())
    assert len(others) > len(familiar) + 100
    assert list(others)[: len(familiar)] == list(familiar)


@pytest.mark.parametrize("word", ["good", "bad"])
def test_a_new_release_of_jaxlib(word: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Its first calls are PJRT's, by JAX's own way, until the self-test is over; one line of log says that it runs."""
    monkeypatch.delenv(verdict.SWITCH, raising=False)
    monkeypatch.setattr(direct_way, "_fastest", lambda ways, arrays: [1e-6, 2e-6])
    monkeypatch.setattr(direct_way, "LONG", float("inf"))
    monkeypatch.setattr(verdict, "proven_jaxlib", lambda: False)
    monkeypatch.setattr(
        jax_compat, "own_call", lambda compiled, call=jax_compat.own_call: verdict.proven() and call(compiled)
    )
    monkeypatch.setattr(
        verdict, "SELF_TEST", ("-c", f"import time; time.sleep(3); print('{word} {int(time.time()):d}: tried')")
    )

    def notes() -> tuple[str, ...]:
        for shift in range(direct_way.FIRST + 3):
            x = np.arange(4.0) + shift
            for found, expected in zip(function(x), (np.sort(-x), np.exp(x).sum()), strict=True):
                np.testing.assert_allclose(found, expected, rtol=1e-12)
        return function.stats.by_executable[0].plan

    with jax.enable_x64(True):
        function = hlograph.jit(lambda x: (jnp.sort(-x), jnp.exp(x).sum()), outputs="numpy")
        before = notes()
        assert before[-1] == "direct call: to be tried when the self-test has passed"
        assert [note for note in before if note.startswith("no regions: nobody has tried")]
        assert f"jaxlib {jaxlib.__version__} is not one that the tests have run with" in function.stats.unproven
        assert verdict.asked(wait=True) == ("" if word == "good" else "tried")
        assert notes()[-1].startswith("direct call of the kernels" if word == "good" else "no direct call: tried")
        assert (function.stats.unproven == "") == (word == "good")
        again = hlograph.jit(lambda x: jnp.exp(x), outputs="numpy")
        again(np.arange(4.0))
        assert again.stats.by_executable[0].plan != before
    assert {record.levelname for record in caplog.records if record.name == "hlograph"} == {"WARNING"}


@pytest.mark.parametrize(
    ("interpreter", "reason"),
    [
        ("", "no Python interpreter"),
        ("/usr/bin/uwsgi", "no Python interpreter"),
        ("/nowhere/python3", "could not be run"),
        ("{tmp}/python3", "failed with status 3 in: its start"),
    ],
)
def test_interpreters_that_do_not_run_it(
    interpreter: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "python3").write_text("#!/bin/sh\nexit 3\n")
    (tmp_path / "python3").chmod(0o755)
    monkeypatch.setattr(sys, "executable", interpreter.format(tmp=tmp_path))
    assert reason in verdict.refusal(wait=True)
    assert verdict.read() is None


@pytest.mark.parametrize("value", ["0", "off", " False", "", "1"])
def test_the_switch(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(verdict.SWITCH, value)
    assert verdict.switched_off() == (value not in ("", "1"))


OTHERS: dict[str, tuple[Any, str, Any, str]] = {
    "switched off": (os.environ, verdict.SWITCH, "0", "switched off by HLOGRAPH_DIRECT"),
    "a Mac with an Intel processor": (sys, "platform", "darwin", "machine code is loaded on x86-64 Linux, ARM Linux"),
    "RISC-V": (platform, "machine", lambda: "riscv64", "machine code is loaded on x86-64 Linux, ARM Linux"),
    "free-threaded Python": (sys, "_is_gil_enabled", lambda: False, "nobody has tried it in free-threaded Python"),
    "no llvmlite": (verdict, "_package", lambda _: ("", ""), "llvmlite is not installed: pip install 'llvmlite>=0.44'"),
    "an old llvmlite": (verdict, "_package", lambda _: ("0.43.0", ""), "llvmlite is 0.43.0: pip install"),
}


@pytest.mark.parametrize("case", OTHERS)
def test_without_direct_calls(case: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Calls are PJRT's, the statistics say why, and nobody looks for a verdict or loads code."""
    owner, name, value, reason = OTHERS[case]
    request.addfinalizer(verdict.unsupported.cache_clear)
    verdict.unsupported.cache_clear()
    if owner is os.environ:
        monkeypatch.setenv(name, value)
    else:
        monkeypatch.setattr(owner, name, value, raising=False)
    monkeypatch.setattr(object_code, "binding", lambda: pytest.fail("code is loaded"))
    for used in ("read", "found"):
        monkeypatch.setattr(verdict, used, lambda: pytest.fail("nobody asks"))
    for cpu in ("auto", "direct"):
        function = hlograph.jit(lambda x: jnp.linalg.cholesky(x @ x.T), outputs="numpy", cpu=cpu)
        for _ in range(12):
            np.testing.assert_allclose(function(2 * np.eye(2, dtype="f")), 2 * np.eye(2))
        (executable,) = function.stats.by_executable
        assert any(note.startswith(f"no direct call: {reason}") or reason in note for note in executable.plan)
