"""Files that are written whole or not at all, and regular files opened for reading.

In: a path, and what writes to a stream. Out: the file with the new content, or the old one as it was.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from ..errors import ArtifactError, ArtifactNotFoundError

_NEW = 0o666  # less the process's umask, which the system takes off


@contextmanager
def open_regular(path: str | os.PathLike[str], *, pipes: bool = False) -> Iterator[BinaryIO]:
    """A regular file, opened for reading; devices and pipes, whose bytes may never end or never come, are refused.

    Args:
        path: it.
        pipes: whether it may be a pipe, too.

    Raises:
        ArtifactNotFoundError: there is no such file.
        ArtifactError: it is a folder, a pipe or a device; or it cannot be opened, or read in the block.
    """
    if "\0" in os.fspath(path):
        raise ArtifactError(f"cannot read {path!r}: no file has a NUL character in its name")
    try:
        mode = os.stat(path).st_mode
        if pipes and stat.S_ISFIFO(mode):
            with open(path, "rb") as stream:
                yield stream
            return
        _check_regular(path, mode)  # to open a pipe, even for a moment, takes its writer's reader away
        with open(path, "rb", opener=_without_waiting) as stream:
            _check_regular(path, os.fstat(stream.fileno()).st_mode)
            yield stream
    except FileNotFoundError:
        raise ArtifactNotFoundError(f"no such file: {path}") from None
    except OSError as error:
        raise ArtifactError(f"cannot read {path}: {error.strerror or error}") from None


def _check_regular(path: str | os.PathLike[str], mode: int) -> None:
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # to open a folder says what it is
        raise ArtifactError(f"cannot read {path}: it is no regular file; copy what it gives to one")


def _without_waiting(path: str, flags: int) -> int:
    """Opens a file without waiting for the other end of what is a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


@contextmanager
def write_atomically(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A binary stream whose content takes the place of a file's when the block ends well.

    A file that is there keeps its mode; a symbolic link stays, and what it leads to is written. What is no regular file
    (a pipe, a terminal) is written to as it is.

    Raises:
        OSError: the folder or the file cannot be written to, or the disk is full; it has the name of the file.
    """
    target = Path(os.path.realpath(path))
    mode = target.stat().st_mode if target.exists() else None
    if mode is not None and not stat.S_ISREG(mode):
        with target.open("wb") as stream:
            yield stream
        return
    if mode is not None and not os.access(target, os.W_OK):
        raise PermissionError(13, os.strerror(13), str(path))
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _NEW)
        with os.fdopen(descriptor, "wb") as stream:
            yield stream
        if mode is not None:
            os.chmod(temporary, stat.S_IMODE(mode))
        os.replace(temporary, target)
    except OSError as error:
        if error.filename is None:  # the system names no file where it was a write that failed
            error.filename = str(path)
        raise
    finally:
        temporary.unlink(missing_ok=True)
