"""Whether kernels may be called directly on this machine: the verdict of a self-test, kept on disk.

In: what the direct call depends on (`identity`). Out: a `Verdict`: one from the disk, or else of a self-test that
another process runs meanwhile, see `supervisor`. Decisions to know: nobody's call waits for it; who is refused without
a verdict is told when there is one, and only who asks for a C function, or insists on the direct call, waits. A verdict
is read only where nobody but this user and root can have written it, and no self-test begins where none can be kept.

    known()     from this process's memory or the disk; None where nobody has tried yet
    asked(who)  the same; without one a self-test begins in the background, and `who` is called when it is over
    awaited()   the same, after the end of the self-test
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import platform
import stat
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import metadata, util
from pathlib import Path

from ...codegen.ir.jax_compat import PROVEN_JAXLIB, proven_jaxlib
from .processor import processor

SWITCH = "HLOGRAPH_DIRECT"
EXPIRES = 24 * 3600.0  # seconds for which a verdict counts that may be the moment's fault
QUIET = 2.0  # seconds of waiting before a line says what is waited for
COMMAND = ("-m", "hlograph.runtime.direct")
LARGEST = 1 << 16  # bytes of a file that is read
NOWHERE = (
    "a self-test would have to be repeated by each process: there is no place for its verdict, neither in the user's "
    "cache nor for temporary files; set XDG_CACHE_HOME to a folder that this user alone can write to"
)
_ALGEBRA = ("libblas", "libcblas", "liblapack", "libopenblas", "libflexiblas", "libmkl_rt")  # where SciPy brings none


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
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
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
    code = sorted(path for path in Path(__file__).parent.rglob("*") if path.suffix in (".py", ".o"))
    return {
        **{package: _version(package) for package in ("jaxlib", "hlograph", "numpy", "scipy")},
        "python": sys.version,
        "processor": found.model or platform.processor(),
        "flags": _digest(" ".join(sorted(found.features))),
        "code": _digest(*(path.name.encode() + path.read_bytes() for path in code)),
        "libraries": _digest(*sorted(map(_described, _libraries()))),
    }


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _libraries() -> Iterator[str]:
    """Files with machine code that direct calls run besides their own: jaxlib, SciPy and its BLAS, the C library."""
    with contextlib.suppress(OSError), open("/proc/self/maps") as lines:
        mapped = {line.split(maxsplit=5)[-1].strip() for line in lines if "/lib" in line}
        yield from (path for path in mapped if os.path.basename(path).startswith(("libc.", "libc-", "libm.", "libm-")))
    yield from (*_files("jaxlib", "jaxlib/*.so"), *_files("scipy", "scipy/linalg/cython_*.so"))
    bundled = _files("scipy", "scipy.libs/*")
    yield from bundled
    for folder in () if bundled else (f"{sys.prefix}/lib", "/usr/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib"):
        with contextlib.suppress(OSError):
            yield from (f"{folder}/{name}" for name in os.listdir(folder) if name.startswith(_ALGEBRA))


def _files(package: str, pattern: str) -> list[str]:
    """In the folder that a package is installed in."""
    spec = util.find_spec(package)
    folders = [] if spec is None else list(spec.submodule_search_locations or ())
    return [str(path) for folder in folders for path in Path(folder).parent.glob(pattern)]


def _described(path: str) -> str:
    real = os.path.realpath(path)
    try:
        status = os.stat(real)
    except OSError:
        return path
    return f"{path} {real} {status.st_size} {status.st_mtime_ns}"


def _digest(*parts: str | bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode() if isinstance(part, str) else part)
    return digest.hexdigest()[:16]


# ---- on disk ---------------------------------------------------------------------------------------------------------


def folders() -> list[Path]:
    """Where a verdict may be: in the user's cache, else in places that end with the session or the machine's uptime."""
    given = [os.environ.get(name, "") for name in ("XDG_CACHE_HOME", "XDG_RUNTIME_DIR")]
    cache_, runtime = (Path(root) if os.path.isabs(root) else None for root in given)
    temporary = Path(tempfile.gettempdir()) / f"hlograph-{os.geteuid()}"
    roots = [cache_ or Path(os.path.expanduser("~")) / ".cache", runtime, temporary]
    return [root / "hlograph" / "direct" for root in roots if root is not None and root.is_absolute()]


def place() -> Path | None:
    """The file for it in the first folder that it can be kept in, which is made; None where there is no such folder."""
    for folder in folders():
        with contextlib.suppress(OSError):
            ours, root = (folder.parent, folder), folder.parent.parent
            root.mkdir(0o700, parents=True, exist_ok=True)
            for part in ours if _is_safe(root) else ():
                part.mkdir(0o700, exist_ok=True)
                if os.lstat(part).st_uid == os.geteuid():  # it may have been made for a group
                    part.chmod(0o700)
            if _is_safe(folder):
                with tempfile.TemporaryFile(dir=folder) as file:
                    file.write(bytes(LARGEST))  # a full disk tells now, not after the self-test
                return folder / _name()
    return None


def read() -> Verdict | None:
    """The latest verdict on disk, of those that still count and that this user or root has written."""
    found = [Verdict.of_json(_content(folder / _name())) for folder in folders()]
    return max((verdict for verdict in found if verdict and verdict.counts), key=lambda x: x.made, default=None)


def store(verdict: Verdict, path: Path | None = None) -> None:
    """Puts it in the place of the one on disk.

    Raises:
        OSError: there is nowhere to keep it.
    """
    path = path or place()
    if path is None:
        raise OSError(NOWHERE)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.stem, suffix=".new")
    try:
        with open(handle, "w") as file:
            file.write(verdict.to_json() + "\n")
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _name() -> str:
    return _digest(json.dumps(identity(), sort_keys=True)) + ".json"


def _content(path: Path) -> str:
    """What stands in a file that nobody else can have written; "" for any other."""
    try:
        if not _is_safe(path.parent):
            return ""
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            status = os.fstat(file.fileno())
            safe = stat.S_ISREG(status.st_mode) and _is_own(status)
            return str(file.read(LARGEST), "utf-8") if safe else ""
    except (OSError, ValueError):
        return ""


def _is_safe(folder: Path) -> bool:
    """Whether nobody but this user and root can put something of ours in it aside, or lead its path elsewhere."""
    real = folder.resolve()
    return all(_is_own(os.lstat(part)) for part in {folder, *folder.parents, real, *real.parents})


def _is_own(status: os.stat_result) -> bool:
    """Whether this user or root owns a file, link or folder, and nobody else can change it, or what they own in it."""
    mode = status.st_mode
    sticky = stat.S_ISDIR(mode) and mode & stat.S_ISVTX
    return status.st_uid in (0, os.geteuid()) and bool(stat.S_ISLNK(mode) or sticky or not mode & 0o022)


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
            if self.known() is None and self.over is None and place() is None:
                self.verdict = Verdict(False, NOWHERE, lasting=False)
            if self.verdict is not None:
                return self.verdict
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
        line = "hlograph: trying direct calls of kernels in another process, once on this machine (about 20 s)"
        (say or (lambda line: print(line, file=sys.stderr, flush=True)))(line)
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


def _from_another_process() -> Verdict:
    """What a supervisor finds, who goes on if this process ends."""
    interpreter = sys.executable or ""
    if not os.path.basename(interpreter).startswith("python"):
        return Verdict(False, f"no Python interpreter to run the self-test with ({interpreter!r})", lasting=False)
    command, null = [interpreter, "-P", *COMMAND, "--supervise"], subprocess.DEVNULL
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    try:
        done = subprocess.run(
            command,
            stdin=null,
            stdout=subprocess.PIPE,
            stderr=null,
            env=environment,
            start_new_session=True,
            check=False,
        )
    except (OSError, NotImplementedError) as error:
        return Verdict(False, f"the self-test could not be started: {error}", lasting=False)
    found = Verdict.of_json(done.stdout.decode(errors="replace"))
    if found is None:
        reason = f"the self-test could not be run by {interpreter} (exit status {done.returncode})"
        return Verdict(False, reason, lasting=False)
    return found


def _after_fork() -> None:
    """A forked process has no thread that asks: it may ask anew."""
    global _inquiry
    before, _inquiry = _inquiry, _Inquiry()
    _inquiry.verdict = before.verdict


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
