"""Files of this user's that later processes read: verdicts, machine code that was compiled here, executables.

In: a file's name and what is in it. Out: what was stored under that name, only where nobody but this user and root can
have written it: in the user's cache, else in a place that ends with the machine's uptime. A file is stored whole or
not at all. Who reads one still has to see whether it is what it should be.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

NOWHERE = (
    "there is no place to keep it, neither in the user's cache nor for temporary files; set XDG_CACHE_HOME to a folder "
    "that this user alone can write to"
)
LARGEST = 1 << 20  # bytes of a file that is read
_READ = os.O_RDONLY | sum(getattr(os, f"O_{flag}", 0) for flag in ("NOFOLLOW", "NONBLOCK", "CLOEXEC", "BINARY"))


def folders(kind: str) -> list[Path]:
    """Where files of a kind may be, the first one first."""
    given = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA", "")
    roots = [Path(given) if os.path.isabs(given) else Path(os.path.expanduser("~")) / ".cache"]
    if hasattr(os, "geteuid"):  # who owns what can be seen
        roots.append(Path(tempfile.gettempdir()) / f"hlograph-{os.geteuid()}")
    return [root / "hlograph" / kind for root in roots]


def paths(name: str, places: Sequence[Path] = ()) -> list[Path]:
    """Where a file may be; without places it is of the kind "direct"."""
    return [folder / name for folder in places or folders("direct")]


def place(name: str, places: Sequence[Path] = ()) -> Path | None:
    """The path in the first folder that it can be kept in, which is made; None where there is no such folder."""
    for path in paths(name, places):
        folder = path.parent
        with contextlib.suppress(OSError):
            for part in (folder.parent.parent, folder.parent, folder):
                part.mkdir(0o700, parents=part is folder.parent.parent, exist_ok=True)
            if _is_safe(folder):
                with tempfile.TemporaryFile(dir=folder) as file:
                    file.write(bytes(1 << 16))  # a full disk tells now, not when there is something to keep
                return path
    return None


def read(name: str, places: Sequence[Path] = (), largest: int = LARGEST) -> Iterator[bytes]:
    """What is in the files of that name that this user or root has written."""
    for path in paths(name, places):
        with contextlib.suppress(OSError), open(os.open(path, _READ), "rb") as file:
            status = os.fstat(file.fileno())
            if stat.S_ISREG(status.st_mode) and _is_own(status) and _is_safe(path.parent):
                yield file.read(largest)


def store(name: str, data: bytes, places: Sequence[Path] = ()) -> Path:
    """Puts it in the place of the file of that name, as a whole or not at all; its path.

    Raises:
        OSError: there is nowhere to keep it.
    """
    path = place(name, places)
    if path is None:
        raise OSError(NOWHERE)
    handle, new = tempfile.mkstemp(dir=path.parent, prefix=path.stem, suffix=".new")
    try:
        with open(handle, "wb") as file:
            file.write(data)
        os.replace(new, path)
    except BaseException:
        os.unlink(new)
        raise
    return path


def _is_safe(folder: Path) -> bool:
    """Whether nobody but this user and root can put something of ours in it aside, or lead its path elsewhere."""
    real = folder.resolve()
    if not hasattr(os, "geteuid"):  # Windows: what is in the user's own folders nobody else can write to
        own = [Path.home(), Path(os.environ.get("LOCALAPPDATA") or Path.home())]
        return any(real.is_relative_to(home.resolve()) for home in own)
    return all(_is_own(os.lstat(part)) for part in {folder, *folder.parents, real, *real.parents})


def _is_own(status: os.stat_result) -> bool:
    """Whether this user or root owns a file, link or folder, and nobody else can change it, or what they own in it."""
    if not hasattr(os, "geteuid"):  # its folder says it
        return True
    mode = status.st_mode
    sticky = stat.S_ISDIR(mode) and mode & stat.S_ISVTX
    return status.st_uid in (0, os.geteuid()) and bool(stat.S_ISLNK(mode) or sticky or not mode & 0o022)
