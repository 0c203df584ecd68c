"""Whether kernels may be called directly on this machine: the verdict of a self-test, kept on disk.

In: what the direct call depends on (`identity`). Out: a `Verdict`: one from the disk, or else of a self-test that
another process runs meanwhile, see `supervisor`. Decision to know: nobody's call waits for it; who is refused without
a verdict is told when there is one, and only who asks for a C function, or insists on the direct call, waits.

    known()     from this process's memory or the disk; None where nobody has tried yet
    asked(who)  the same; without one a self-test begins in the background, and `who` is called when it is over
    awaited()   the same, after the end of the self-test
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import platform
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from ...codegen.ir.jax_compat import PROVEN_JAXLIB, proven_jaxlib
from .processor import processor

SWITCH = "HLOGRAPH_DIRECT"
EXPIRES = 24 * 3600.0  # seconds for which a verdict counts that may be the moment's fault
QUIET = 2.0  # seconds of waiting before a line says what is waited for
COMMAND = ("-m", "hlograph.runtime.direct")


@dataclass(frozen=True)
class Verdict:
    """What a self-test has found.

    Attributes:
        good: whether kernels may be called directly.
        reason: what was tried, or what went wrong.
        lasting: whether another try would find the same; a verdict that does not last counts for a day.
        made: when, in seconds since 1970.
        seconds: how long it took.
        tried: a line for each kind of program, and for each thing that was done to them.
    """

    good: bool
    reason: str
    lasting: bool = True
    made: float = 0.0
    seconds: float = 0.0
    tried: tuple[str, ...] = ()

    @property
    def counts(self) -> bool:
        """Whether it is still to be believed."""
        return self.good or self.lasting or 0 <= time.time() - self.made < EXPIRES

    def to_json(self) -> str:
        """As one line, with what it was found for."""
        return json.dumps({"identity": identity(), **dataclasses.asdict(self)})

    @staticmethod
    def of_json(text: str) -> Verdict | None:
        """From such a line; None where it is broken, or was found for something else."""
        try:
            found = json.loads(text)
            if found.pop("identity") != identity():
                return None
            verdict = Verdict(**{**found, "tried": tuple(map(str, found["tried"]))})
        except (ValueError, TypeError, KeyError, AttributeError):
            return None
        types = {"good": bool, "reason": str, "lasting": bool, "made": float, "seconds": float}
        return verdict if all(isinstance(getattr(verdict, name), type_) for name, type_ in types.items()) else None


# ---- what it is for --------------------------------------------------------------------------------------------------


def switched_off() -> bool:
    """Whether the environment says that there are to be no direct calls."""
    return os.environ.get(SWITCH, "").strip().lower() in ("0", "false", "off", "no")


@cache
def unsupported() -> str:
    """Why there are no direct calls here, whatever a self-test says; "" where there may be."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return f"machine code is loaded on x86-64 Linux only, not on {platform.platform()}"
    if not proven_jaxlib():
        return f"not tried with jaxlib {metadata.version('jaxlib')}, only with {', '.join(PROVEN_JAXLIB)}"
    return ""


@cache
def identity() -> Mapping[str, str]:
    """What the direct call depends on, by name."""
    found = processor()
    flags = " ".join(sorted(found.features))
    return {
        "jaxlib": metadata.version("jaxlib"),
        "processor": found.model or platform.processor(),
        "flags": hashlib.sha256(flags.encode()).hexdigest()[:16],
        "libc": _libc(),
        "hlograph": metadata.version("hlograph"),
        "code": _digest_of_code(),
    }


def _libc() -> str:
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (ValueError, OSError, AttributeError):
        return "unknown"


def _digest_of_code() -> str:
    """Of all files of this package."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*")):
        if path.suffix in (".py", ".o"):
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


# ---- on disk ---------------------------------------------------------------------------------------------------------


def place() -> Path:
    """Its file, in the user's cache."""
    root = os.environ.get("XDG_CACHE_HOME", "")
    folder = Path(root) if os.path.isabs(root) else Path(os.path.expanduser("~")) / ".cache"
    name = hashlib.sha256(json.dumps(identity(), sort_keys=True).encode()).hexdigest()[:20]
    return folder / "hlograph" / "direct" / f"{name}.json"


def read() -> Verdict | None:
    """The verdict on disk that still counts."""
    try:
        found = Verdict.of_json(place().read_text())
    except (OSError, ValueError, RuntimeError):
        return None
    return found if found is not None and found.counts else None


def store(verdict: Verdict) -> None:
    """Puts it in the place of the one on disk.

    Raises:
        OSError: the folder cannot be written to.
    """
    path = place()
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.stem, suffix=".new")
    try:
        with open(handle, "w") as file:
            file.write(verdict.to_json() + "\n")
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


# ---- the self-test in the background ---------------------------------------------------------------------------------


class _Inquiry:
    """What this process knows, and who waits for more."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.verdict: Verdict | None = None
        self.listeners: list[weakref.WeakMethod[Callable[[], None]]] = []
        self.over: threading.Event | None = None

    def known(self) -> Verdict | None:
        if self.verdict is None:
            self.verdict = read()
        return self.verdict

    def begin(self, listener: Callable[[], None] | None = None) -> Verdict | threading.Event:
        """The verdict; without one what tells the end of the self-test, which begins unless it has."""
        with self.lock:
            found = self.known()
            if found is not None:
                return found
            if listener is not None:
                self.listeners.append(weakref.WeakMethod(listener))
            if self.over is None:
                self.over = threading.Event()
                threading.Thread(target=self._ask, args=(self.over,), name="hlograph self-test", daemon=True).start()
            return self.over

    def _ask(self, over: threading.Event) -> None:
        found = _from_another_process()
        with self.lock:
            self.verdict, listeners, self.listeners = found, self.listeners, []
        over.set()
        for reference in listeners:
            listener = reference()
            if listener is not None:
                listener()


_inquiry = _Inquiry()


def known() -> Verdict | None:
    """The verdict, if there is one."""
    return _inquiry.known()


def asked(listener: Callable[[], None] | None = None) -> Verdict | None:
    """The verdict; where there is none a self-test begins in the background.

    Args:
        listener: a method, called from another thread when the self-test is over, while its object lives.
    """
    found = _inquiry.begin(listener)
    return found if isinstance(found, Verdict) else None


def awaited(say: Callable[[str], object] | None = None) -> Verdict:
    """The verdict, after the end of the self-test.

    Args:
        say: takes a line when it takes longer than two seconds; to the standard error stream without it.
    """
    inquiry = _inquiry
    begun = inquiry.begin()
    if isinstance(begun, Verdict):
        return begun
    if not begun.wait(QUIET):
        (say or _say)("hlograph: trying direct calls of kernels in another process, once on this machine (about 20 s)")
        begun.wait()
    assert inquiry.verdict is not None
    return inquiry.verdict


def refusal(*, wait: bool) -> str:
    """Why kernels may not be called directly here; "" where they may.

    Args:
        wait: for the end of the self-test; without it "" stands also for a verdict that is not there yet.
    """
    if switched_off():
        return f"switched off by {SWITCH}"
    reason = unsupported()
    if reason:
        return reason
    found = awaited() if wait else known()
    return "" if found is None or found.good else found.reason


def assume(verdict: Verdict | None) -> Verdict | None:
    """Takes a verdict for this process's, or forgets it; what was known before."""
    before, _inquiry.verdict = _inquiry.verdict, verdict
    return before


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _from_another_process() -> Verdict:
    """What a supervisor finds, who goes on if this process ends."""
    interpreter = sys.executable or ""
    if not os.path.basename(interpreter).startswith("python"):
        return Verdict(False, f"no Python interpreter to run the self-test with ({interpreter!r})", lasting=False)
    try:
        lines, process = _spawn([interpreter, "-P", *COMMAND, "--supervise"])
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    except ChildProcessError:
        status = 0  # somebody else has waited for it
    except (OSError, NotImplementedError) as error:
        return Verdict(False, f"the self-test could not be started: {error}", lasting=False)
    found = Verdict.of_json(lines)
    if found is None:
        return Verdict(False, f"the self-test could not be run by {interpreter} (exit status {status})", lasting=False)
    return found


def _spawn(arguments: list[str]) -> tuple[str, int]:
    """The first line that a process of its own session prints, and its number."""
    end, start = os.pipe()
    actions: list[Any] = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, start, 1),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
    ]
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    try:
        process = os.posix_spawn(arguments[0], arguments, environment, file_actions=actions, setsid=True)
    except BaseException:
        os.close(end)
        raise
    finally:
        os.close(start)
    with open(end) as stream:
        return stream.readline(), process


def _after_fork() -> None:
    """A forked process has no thread that asks: it may ask anew."""
    global _inquiry
    before, _inquiry = _inquiry, _Inquiry()
    _inquiry.verdict = before.verdict


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
