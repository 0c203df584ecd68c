"""Executables that earlier processes of this user compiled, kept in a folder by what they are made of.

In: a function's program and options, and the plan of an executable. Out: a `Stored`, which has what was kept under that
key, and takes what is compiled where there is nothing. The key is a digest of everything that decides on the machine
code (docs/serving.md lists it): where that is not all known here, nothing is kept. Decisions to know: only executables
with NumPy arrays on the CPU are kept, as others run by `jax.jit`, which has a cache of its own; an entry is believed
only where nobody else can have written it (`direct.kept`), and its digest, which is over the key too, is right.

    HLOGRAPH_CACHE=/path   another folder         HLOGRAPH_CACHE=0   no cache
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import pickle
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ...codegen.ir.jax_compat import processor_of_system, settings
from ...codegen.passes.registry import PASSES, parse_spec
from ...codegen.program import Program
from ..direct import kept, verdict
from ..options import CompileOptions
from .compiling import lies_in_memory
from .devices import default_device, is_synchronous
from .policy import Plan
from .stored import Kept, Machine, Stored

SWITCH = "HLOGRAPH_CACHE"
LIMIT = 1 << 30  # bytes of all entries; the one that was used least recently goes first
LARGEST = LIMIT >> 4  # of one entry, which is in memory several times while it is written
_ABANDONED = 3600.0  # seconds after which an unfinished file is deleted
_SUFFIX = ".xla"
_DIGEST = hashlib.sha256().digest_size
_PACKAGES = ("jax", "ml_dtypes", "numpy", "scipy")
_log = logging.getLogger("hlograph")


def folders() -> list[Path]:
    """Where entries may be; none where the cache is switched off."""
    given = os.environ.get(SWITCH, "").strip()
    if given.lower() in ("0", "off", "false", "no"):
        return []
    if given.lower() in ("", "1", "on", "true", "yes"):
        return kept.folders("executables")
    return [Path(os.path.abspath(os.path.expanduser(given)))]


class Cache:
    """The entries of one function.

    Args:
        program, options: the function's.
    """

    def __init__(self, program: Program, options: CompileOptions) -> None:
        self._program, self._options = program, options

    def stored(self, plan: Plan, device: Any, donated: Sequence[int]) -> Stored | None:
        """The entry of an executable; None where nothing is to be kept of it.

        Args:
            plan: the executable's.
            device: where it runs, None for JAX's default.
            donated: arguments whose memory its results may take.
        """
        numpy = self._options.numpy
        if numpy is None or not self._may_be_kept or not lies_in_memory(self._program.signature, device):
            return None
        if not folders():
            return None
        device = default_device() if device is None else device

        @cache  # when it is loaded: it may wait for a self-test
        def key() -> tuple[str, list[Any]]:
            tried = self._verdict()
            return self._key(plan, device, donated, tried), tried

        def keep(made: Kept) -> None:
            name, tried = key()
            if self._verdict() == tried:  # none has come meanwhile
                write(name, made)

        return Stored(plan, Machine.of(device), is_synchronous(device), True, 0.0, lambda: read(key()[0]), keep=keep)

    @cached_property
    def _may_be_kept(self) -> bool:
        """Not where the key would not say all: calls of Python, and rewrites of the user's; nor with much data."""
        if self._program.host_calls or any(parse_spec(spec)[0] not in PASSES for spec in self._options.passes):
            return False
        return len(self._program.to_bytecode()) <= LARGEST

    @cached_property
    def _of_program(self) -> str:
        """The module, and what a file that it is from may call."""
        check: Any = self._program.check
        allowed = [] if check is None else [check.keywords["trusted"], sorted(check.keywords["allow"])]
        return f"{hashlib.sha256(self._program.to_bytecode()).hexdigest()} {allowed}"

    def _key(self, plan: Plan, device: Any, donated: Sequence[int], tried: Sequence[Any]) -> str:
        options = self._options
        told = [
            self._of_program,
            plan.key,
            options.passes,
            sorted(asdict(options.cpu).items()),
            [sorted(places) for places in vars(options.numpy).values()],  # there is one
            donated,
            [Machine.of(device), processor_of_system(), device.id, is_synchronous(device)],
            [len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()],
            tried,
            sorted(item for item in os.environ.items() if item[0].startswith("XLA_")),
            settings(),
            _code(),
            [sys.version, *(f"{package} {version(package)}" for package in _PACKAGES)],
        ]
        return hashlib.sha256(repr(told).encode()).hexdigest()

    def _verdict(self) -> list[Any]:
        """Whether there may be functions of ours, and kernels of many ops: a plan has them where they were tried."""
        return [verdict.refusal(wait=bool(self._options.cpu.direct)), verdict.known() is not None, verdict.proven()]


@cache
def _code() -> str:
    """A digest of the code that makes executables of emitted modules."""
    root = Path(__file__).parents[2]
    found = hashlib.sha256()
    for folder in ("codegen", "runtime"):
        for path in sorted((root / folder).rglob("*.py")):
            found.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes())
    return found.hexdigest()


# ---- the folder ------------------------------------------------------------------------------------------------------


def read(key: str) -> bytes:
    """The pickle of what was kept under a key; empty where there is none that is whole."""
    name = key + _SUFFIX
    for data in kept.read(name, folders(), LARGEST):
        if data[:_DIGEST] == _digest(key, data[_DIGEST:]):
            for path in kept.paths(name, folders()):
                with contextlib.suppress(OSError):
                    os.utime(path)
            return data[_DIGEST:]
    return b""


def write(key: str, made: Kept) -> None:
    """Keeps an executable, and makes room for it. What goes wrong is told in the log: the next process compiles."""
    try:
        data = pickle.dumps(made)
        if len(data) <= LARGEST:
            path = kept.store(key + _SUFFIX, _digest(key, data) + data, folders())
            _make_room(path.parent)
    except OSError as error:
        _log.log(logging.WARNING if os.environ.get(SWITCH) else logging.INFO, f"no executable is kept: {error}")


def _digest(key: str, data: bytes) -> bytes:
    return hashlib.sha256(key.encode() + data).digest()


def _make_room(folder: Path) -> None:
    """Deletes entries until the rest is within the limit, and what processes that were killed have left."""
    entries, now = [], time.time()
    for entry in os.scandir(folder):
        with contextlib.suppress(OSError):  # another process has deleted it
            status = entry.stat(follow_symlinks=False)
            if entry.name.endswith(_SUFFIX):
                entries.append((status.st_mtime, status.st_size, entry.path))
            elif entry.name.endswith(".new") and now - status.st_mtime > _ABANDONED:
                os.unlink(entry.path)
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries):
        if total <= LIMIT:
            return
        with contextlib.suppress(OSError):
            os.unlink(path)
        total -= size
