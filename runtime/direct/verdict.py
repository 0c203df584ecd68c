"""Whether kernels may be called directly on this machine: what a self-test has found, kept on disk.

In: what the direct call depends on (`identity`). Out: a *refusal*: why there are no direct calls, "" where there are,
None where nobody has tried yet. Who wants one that is not on disk starts another process, which goes on if this one
ends, and which a mistake may end (`self_test`). Its record has a line for each program that it has tried, and at last
the verdict; if it dies or hangs, that is the verdict. A record without one is continued. Decisions to know: no call
waits, only those for a C function, or that insist on the direct call; of several processes that want a verdict one runs
the self-test, the others wait; a record is believed only where nobody but this user and root can have written it
(`kept`).
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import platform
import re
import signal
import subprocess
import sys
import threading
import time
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from ...codegen import forks
from ...codegen.ir.jax_compat import PROVEN_JAXLIB, processor_of_system, proven_jaxlib
from ..object_files import DirectCallRefused
from . import kept, object_code

SWITCH = "HLOGRAPH_DIRECT"
EXPIRES = 24 * 3600.0  # seconds for which a bad verdict counts, which may be the moment's fault
QUIET = 2.0  # seconds of waiting before a line says what is waited for
SELF_TEST = ("-P", "-m", "hlograph.runtime.direct.self_test")
NOWHERE = f"a self-test would have to be repeated by each process: {kept.NOWHERE}"
_VERDICT = re.compile(r"(good|bad) (\d+): (.+)")  # the last line, with its time
# For the self-test: the CPU alone, without options and caches of JAX's and XLA's that may be set.
_SET = {"JAX_PLATFORMS": "cpu", "JAX_ENABLE_COMPILATION_CACHE": "false", "PYTHONWARNINGS": "ignore"}
_SET |= {"HLOGRAPH_CACHE": "off"}


# ---- what it is for --------------------------------------------------------------------------------------------------


def switched_off() -> bool:
    """Whether the environment says that there are to be no direct calls."""
    return os.environ.get(SWITCH, "").strip().lower() in ("0", "false", "off", "no")


@cache
def unsupported() -> str:
    """Why there are no direct calls here, whatever a self-test says; "" where there may be."""
    try:
        object_code.here()
    except DirectCallRefused as error:
        return str(error)
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return "nobody has tried it in free-threaded Python; use the one with a lock (python3.13 for python3.13t)"
    version, _ = _package("llvmlite")
    if version and tuple(map(int, version.split(".")[:2])) >= (0, 44):
        return ""
    return f"LLVM loads the machine code, and llvmlite is {version or 'not installed'}: pip install 'llvmlite>=0.44'"


def is_familiar() -> bool:
    """Whether the tests have run with this release of jaxlib on such a machine; more programs are tried elsewhere."""
    return proven_jaxlib() and (sys.platform, platform.machine()) == ("linux", "x86_64")


def proven() -> bool:
    """Whether private parts of jaxlib may be used: they have been tried, by the tests or on this machine."""
    return proven_jaxlib() or (not refusal(wait=False) and known() is not None)


def unproven() -> str:
    """What is off in a release of jaxlib that has not been tried, and why; "" where nothing is."""
    if proven():
        return ""
    return (
        f"jaxlib {metadata.version('jaxlib')} is not one that the tests have run with ({PROVEN_JAXLIB[0]} to "
        f"{PROVEN_JAXLIB[-1]}): kernels of many ops and calls below JAX's own are off until a self-test has passed; "
        f"{refusal(wait=False) or 'python -m hlograph.runtime.direct shows it'}"
    )


@cache
def identity() -> str:
    """A digest of what the direct call depends on: packages, with the installer's digests of their files, Python, the C
    library, the processor, and the code here.
    """
    folder = Path(__file__).parent
    code = sorted(path for path in folder.rglob("*") if path.suffix in (".py", ".src"))
    told = [text for package in ("jaxlib", "llvmlite", "numpy", "scipy") for text in _package(package)]
    # No list of hlograph's own files: in a checkout that depends on the current folder, which the self-test ignores.
    system = "" if sys.platform == "linux" else platform.platform()  # which brings the C library
    told += [_package("hlograph")[0], sys.version, *platform.libc_ver(), system, processor_of_system()]
    code.append(folder.parent / "object_files.py")
    parts = ["\n".join(told).encode(), *(path.name.encode() + path.read_bytes() for path in code)]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:32]


def _package(name: str) -> tuple[str, str]:
    """A package's version, and the installer's list of its files with their digests; empty where it is not there."""
    try:
        found = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return "", ""
    return found.version, found.read_text("RECORD") or ""


# ---- the self-test and its record ------------------------------------------------------------------------------------


def name() -> str:
    """Of the record."""
    return f"{identity()}.txt"


def lines() -> list[str]:
    """Those of the record that are complete."""
    return next(kept.read(name()), b"").decode(errors="replace").replace("\r", "").split("\n")[:-1]


def line(refusal: str, tried: str = "") -> str:
    """The last one of a record; `tried` is told where there is no refusal."""
    return f"{'bad' if refusal else 'good'} {int(time.time()):d}: {refusal or tried}"


def read() -> str | None:
    """The refusal on disk, if it still counts, and this user or root has written it."""
    last = _VERDICT.fullmatch((lines() or [""])[-1])
    if last is None or (last[1] == "bad" and not 0 <= time.time() - int(last[2]) < EXPIRES):
        return None
    return "" if last[1] == "good" else last[3]


def found() -> str:
    """The refusal on disk, or else that of a self-test, after its end."""
    path = kept.place(name())
    if path is None:
        return NOWHERE
    try:
        if next(kept.read(name()), None) is None:
            path.unlink(missing_ok=True)  # another process's
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        with open(os.open(path, flags, 0o600), "a+b") as record:
            _lock_file(record, "LOCK_EX")  # for the self-test, too, which has the file open
            try:
                return _tried(record) if (refusal := read()) is None else refusal
            finally:
                _lock_file(record, "LOCK_UN")  # also for what has been forked meanwhile
    except (OSError, ValueError) as error:  # no such signal, for one
        return f"the self-test could not be run: {error}"


def _lock_file(file: Any, how: str) -> None:
    with contextlib.suppress(ImportError, OSError):  # a system or a file system without locks: several may run one
        import fcntl

        fcntl.flock(file, getattr(fcntl, how))


def _tried(record: Any) -> str:
    """What a self-test says, or how it ended."""
    record.seek(0)
    over = _VERDICT.fullmatch((lines() or [""])[-1])  # long ago
    record.truncate(0 if over else record.read().rfind(b"\n") + 1)
    if not os.path.basename(sys.executable or "").startswith("python"):
        raise OSError(f"no Python interpreter to run it with ({sys.executable!r})")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "XLA_", SWITCH))}
    quiet: Any = {"stdin": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
    command = [sys.executable, *SELF_TEST]
    status = subprocess.run(command, check=False, stdout=record, env=environment | _SET, **quiet).returncode
    if not status and (refusal := read()) is not None:
        return refusal
    record.seek(0)
    said = record.read().decode(errors="replace")
    died = signal.Signals(-status).name if status < 0 else ""
    what = "hung" if died in ("SIGALRM", "SIGPROF") else f"died of {died}" if died else f"failed with status {status:d}"
    refusal = f"the self-test {what} in: {said.rpartition(chr(10))[2] or 'its start'}"
    if said and died not in ("SIGHUP", "SIGINT", "SIGTERM"):  # after those the next process goes on with it
        with contextlib.suppress(OSError):
            record.write(f"\n{line(refusal)}\n".encode())
    return refusal


# ---- in this process -------------------------------------------------------------------------------------------------

_lock = forks.lock()
_known: str | None = None
_asking: threading.Thread | None = None  # over in a forked process, which may ask anew


def known() -> str | None:
    """The refusal, if it is known."""
    global _known
    _known = read() if _known is None else _known
    return _known


def asked(*, wait: bool = False) -> str | None:
    """The refusal; where it is not known a self-test begins in the background.

    Args:
        wait: for the end of the self-test; a line of log says so after `QUIET` seconds.
    """
    global _asking
    with _lock:
        if (_asking is None or not _asking.is_alive()) and known() is None:
            _tell(logging.INFO if is_familiar() else logging.WARNING)
            _asking = threading.Thread(target=lambda: assume(found()), name="hlograph self-test", daemon=True)
            _asking.start()
    if wait and _known is None and _asking is not None:
        _asking.join(QUIET)
        if _asking.is_alive():
            _tell(logging.WARNING)
            _asking.join()
    return _known


def _tell(level: int) -> None:
    """Says that a self-test runs, and where its result is."""
    how = "some 20 s" if is_familiar() else "a minute or two: the tests have not seen this release on such a machine"
    if path := kept.place(name()):
        logging.getLogger("hlograph").log(
            level,
            f"direct calls with jaxlib {metadata.version('jaxlib')} are tried in another process, once on this machine "
            f"({how}); until then calls go through PJRT. `python -m hlograph.runtime.direct` shows the result, {path}",
        )


def refusal(*, wait: bool) -> str:
    """Why kernels may not be called directly here; "" where they may.

    Args:
        wait: for the end of the self-test; without it "" also stands for a missing verdict.
    """
    if reason := f"switched off by {SWITCH}" if switched_off() else unsupported():
        return reason
    if not wait:
        return known() or ""
    found = asked(wait=True)
    return "the self-test ended without a result" if found is None else found


def assume(found: str | None) -> str | None:
    """Takes a refusal for what is known in this process, or forgets it (None); what was known before."""
    global _known
    before, _known = _known, found
    return before
