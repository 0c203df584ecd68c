"""Whether kernels may be called directly on this machine: the verdict of a self-test, kept on disk.

In: what the direct call depends on (`identity`). Out: a `Verdict`. Who wants one that is not on disk starts
`python -m hlograph.runtime.direct`, which goes on if that process ends: it runs the self-test in a further one, which a
mistake may end, and stores a verdict whatever becomes of it (`found`). Where several want one at once, one of them runs
it, the others wait for its verdict. Decisions to know: nobody's call waits for it, and only who asks for a C function,
or insists on the direct call, waits. A verdict is read only where nobody but this user and root can have written it,
and no self-test begins where none can be kept.

    known()    from this process's memory or the disk; None where nobody has tried yet
    asked()    the same; without one a self-test begins in the background
    awaited()  the same, after the end of the self-test
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from ...codegen import forks
from ...codegen.ir.jax_compat import PROVEN_JAXLIB, proven_jaxlib
from .. import kept, platforms
from ..object_files import DirectCallRefused

SWITCH = "HLOGRAPH_DIRECT"
EXPIRES = 24 * 3600.0  # seconds for which a bad verdict counts, which may be the moment's fault
QUIET = 2.0  # seconds of waiting before a line says what is waited for
COMMAND = ("-P", "-m", "hlograph.runtime.direct")
SELF_TEST = ("-P", "-m", "hlograph.runtime.direct.self_test")
TRYING = "hlograph: trying direct calls of kernels in another process, once on this machine (about 20 s)"
NOWHERE = f"a self-test would have to be repeated by each process: {kept.NOWHERE}"
_PACKAGES = ("jaxlib", "llvmlite", "numpy", "scipy")
# For the self-test: the CPU alone, without options and caches of JAX's and XLA's that may be set.
_SET = {"JAX_PLATFORMS": "cpu", "JAX_ENABLE_COMPILATION_CACHE": "false", "PYTHONWARNINGS": "ignore"}


@dataclass(frozen=True)
class Verdict:
    """What a self-test has found.

    Attributes:
        good: whether kernels may be called directly.
        reason: what was tried, or what went wrong.
        made: when, in seconds since 1970.
        tried: a line for each kind of program, and for each thing that was done to them.
    """

    good: bool
    reason: str
    made: float = 0.0
    tried: tuple[str, ...] = ()


# ---- what it is for --------------------------------------------------------------------------------------------------


def switched_off() -> bool:
    """Whether the environment says that there are to be no direct calls."""
    return os.environ.get(SWITCH, "").strip().lower() in ("0", "false", "off", "no")


@cache
def unsupported() -> str:
    """Why there are no direct calls here, whatever a self-test says; "" where there may be."""
    try:
        platforms.here()
    except DirectCallRefused as error:
        return str(error)
    if not proven_jaxlib():
        return f"not tried with jaxlib {metadata.version('jaxlib')}, only with {', '.join(PROVEN_JAXLIB)}"
    found, _ = _package("llvmlite")
    if found and tuple(map(int, found.split(".")[:2])) >= (0, 44):
        return ""
    return f"LLVM loads the machine code, and llvmlite is {found or 'not installed'}: pip install 'llvmlite>=0.44'"


@cache
def identity() -> str:
    """A digest of what the direct call depends on: packages, with the installer's digests of their files, Python, the C
    library, the processor, and the code here.
    """
    folder = Path(__file__).parent
    code = sorted(path for path in folder.rglob("*") if path.suffix in (".py", ".o"))
    code += [folder.parent / f"{name}.py" for name in ("object_files", "platforms", "wire")]
    told = [text for package in _PACKAGES for text in _package(package)]
    # No list of hlograph's own files: in a checkout that depends on the current folder, which the self-test ignores.
    told += [_package("hlograph")[0], sys.version, *platform.libc_ver(), _processor()]
    parts = ["\n".join(told).encode(), *(path.name.encode() + path.read_bytes() for path in code)]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:32]


def _processor() -> str:
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().partition("\n\n")[0].splitlines()
        return "\n".join(line for line in lines if line.startswith(("model name", "flags")))
    return platform.processor()


def _package(name: str) -> tuple[str, str]:
    """A package's version, and the installer's list of its files with their digests; empty where it is not there."""
    try:
        found = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return "", ""
    return found.version, found.read_text("RECORD") or ""


# ---- on disk ---------------------------------------------------------------------------------------------------------


def files() -> list[Path]:
    """Where a verdict may be: in the user's cache, else in a place that ends with the machine's uptime."""
    return kept.paths(f"{identity()}.json")


def place() -> Path | None:
    """The file for it in the first folder that it can be kept in, which is made; None where there is no such folder."""
    return kept.place(f"{identity()}.json")


def read() -> Verdict | None:
    """The first verdict on disk that still counts, and that this user or root has written."""
    for data in kept.read(f"{identity()}.json"):
        with contextlib.suppress(ValueError, TypeError, KeyError, RecursionError):
            found = json.loads(str(data, "utf-8"))
            good, tried = found["good"] is True, tuple(map(str, found["tried"]))
            if good or 0 <= time.time() - found["made"] < EXPIRES:
                return Verdict(good, str(found["reason"]), found["made"] + 0.0, tried)
    return None


def store(verdict: Verdict) -> None:
    """Puts it in the place of the one on disk, as a whole or not at all.

    Raises:
        OSError: there is nowhere to keep it.
    """
    kept.store(f"{identity()}.json", json.dumps(dataclasses.asdict(verdict)).encode())


# ---- the self-test ---------------------------------------------------------------------------------------------------


def found() -> Verdict:
    """The verdict on disk, or else that of a self-test, after its end; one process at a time runs one."""
    import fcntl

    path = place()
    if path is None:
        return Verdict(False, NOWHERE)
    folder = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(folder, fcntl.LOCK_EX)
        verdict = read()
        if verdict is None:
            verdict = _tried(path.parent)
            with contextlib.suppress(OSError):
                store(verdict)
        return verdict
    finally:
        os.close(folder)


def _tried(folder: Path) -> Verdict:
    """What a self-test says: a line on each thing before it does it, at last what has gone well, or what has not."""
    with tempfile.TemporaryFile(dir=folder) as said:  # whatever the self-test has forked may hold it open
        status = _run(SELF_TEST, stdout=said)
        said.seek(0)
        *tried, last = said.read().decode(errors="replace").splitlines() or ["its start"]
    if status:
        name = signal.Signals(-status).name if status < 0 else ""
        what = f"died of {name}" if name else "failed"
        last = f"the self-test {'hung' if name == 'SIGALRM' else what} in: {last}"
    return Verdict(not status, last, time.time(), tuple(tried))


def _run(arguments: Sequence[str], **options: Any) -> int:
    """The exit status of a Python process, without options of JAX's and XLA's, and with direct calls not switched off.

    Raises:
        OSError: it cannot be started.
    """
    if not os.path.basename(sys.executable or "").startswith("python"):
        raise OSError(f"no Python interpreter to run it with ({sys.executable!r})")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "XLA_", SWITCH))}
    options |= {"stdin": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": environment | _SET}
    return subprocess.run([sys.executable, *arguments], check=False, **options).returncode


# ---- the self-test in the background ---------------------------------------------------------------------------------

_lock = forks.lock()
_known: Verdict | None = None
_asking: threading.Thread | None = None  # over in a forked process, which may ask anew


def known() -> Verdict | None:
    """The verdict, if there is one."""
    global _known
    _known = _known or read()
    return _known


def asked() -> Verdict | None:
    """The verdict; where there is none a self-test begins in the background."""
    global _asking
    with _lock:
        if (_asking is None or not _asking.is_alive()) and known() is None:
            _asking = threading.Thread(target=lambda: assume(_ask()), name="hlograph self-test", daemon=True)
            _asking.start()
        return _known


def awaited() -> Verdict:
    """The verdict, after the end of the self-test; a line on the standard error stream says what is waited for."""
    while (verdict := asked()) is None:
        assert _asking is not None
        _asking.join(QUIET)
        if _asking.is_alive():
            print(TRYING, file=sys.stderr, flush=True)
            _asking.join()
    return verdict


def refusal(*, wait: bool) -> str:
    """Why kernels may not be called directly here; "" where they may.

    Args:
        wait: for the end of the self-test; without it "" stands also for a verdict that is not there yet.
    """
    if reason := f"switched off by {SWITCH}" if switched_off() else unsupported():
        return reason
    verdict = awaited() if wait else known()
    return "" if verdict is None or verdict.good else verdict.reason


def assume(verdict: Verdict | None) -> Verdict | None:
    """Takes a verdict for this process's, or forgets it; what was known before."""
    global _known
    before, _known = _known, verdict
    return before


def _ask() -> Verdict:
    """The verdict of a process that goes on if this one ends."""
    if place() is None:
        return Verdict(False, NOWHERE)
    try:
        status = _run(COMMAND, stdout=subprocess.DEVNULL, start_new_session=True)
        reason = f"could not be run by {sys.executable} (exit status {status})"
    except OSError as error:
        reason = f"could not be started: {error}"
    return read() or Verdict(False, f"the self-test {reason}")
