"""Executables that earlier processes of this user compiled, kept in a folder by what they are made of.

In: a function's program and options, and the plan of an executable. Out: a `Stored`, which has what was kept under that
key, and takes what is compiled where there is nothing. The key is a digest of everything that decides on the machine
code (docs/how-to/serving.md lists it); where it would not be all, nothing is kept. Decisions to know: only executables
with NumPy arrays on the CPU are kept, as others run by `jax.jit`, which has a cache of its own; an entry is believed
only where nobody else can have written it (`direct.kept`), and its digest, which is over the key too, is right.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import pickle
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import cache
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
LIMIT, MOST = 1 << 30, 2000  # bytes of all entries, and their number; the least recently used one goes first
LARGEST = LIMIT >> 4  # of one entry, which is in memory several times while it is written


def folders() -> list[Path]:
    """Where entries may be; none where the cache is switched off."""
    given = os.environ.get(SWITCH, "").strip()
    if given.lower() in ("0", "off", "false", "no"):
        return []
    default = given.lower() in ("", "1", "on", "true", "yes")
    return kept.folders("executables") if default else [Path(os.path.abspath(os.path.expanduser(given)))]


def entry(program: Program, options: CompileOptions, plan: Plan, device: Any, donated: Sequence[int]) -> Stored | None:
    """What is kept of an executable with this plan, on a device (None: JAX's default); None where nothing is to be."""
    numpy, passes = options.numpy, options.passes
    # Of calls of Python and rewrites of the user's the key would have the names alone.
    by_name = program.host_calls or any(parse_spec(spec)[0] not in PASSES for spec in passes)
    if numpy is None or by_name or not folders() or not lies_in_memory(program.signature, device):
        return None
    where = default_device() if device is None else device
    machine, wait = Machine.of(where), bool(options.cpu.direct)
    decided = replace(options, device=None, cache_size=1, policy="auto")  # of these three the plan and `where` say more

    def tried() -> list[Any]:
        """Whether there may be functions of ours, and kernels of many ops: a plan has them where they were tried."""
        return [verdict.refusal(wait=wait), verdict.known() is not None, verdict.proven()]

    @cache  # when it is loaded: it may wait for a self-test
    def key() -> tuple[str, list[Any]]:
        code, found = program.to_bytecode(), tried()
        told = [
            hashlib.sha256(code).hexdigest(),
            sorted((k, str(v)) for k, v in getattr(program.check, "keywords", {}).items() if k != "filename"),
            [plan.key, json.dumps(asdict(decided), default=sorted), donated],
            [machine, processor_of_system(), where.id, is_synchronous(where)],
            len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
            sorted(item for item in os.environ.items() if item[0].startswith("XLA_")),
            [found, settings(), _code(), sys.version],
            [version(package) for package in ("jax", "ml_dtypes", "numpy", "scipy")],
        ]
        return hashlib.sha256(repr(told).encode()).hexdigest() if len(code) <= LARGEST else "", found

    def keep(made: Kept) -> None:
        name, before = key()
        if name and tried() == before:  # no verdict has come meanwhile
            write(name, made)

    return Stored(plan, machine, is_synchronous(where), True, 0.0, lambda: read(key()[0]), keep=keep)


@cache
def _code() -> str:
    root, found = Path(__file__).parents[2], hashlib.sha256()
    for path in sorted(path for folder in ("codegen", "runtime") for path in (root / folder).rglob("*.py")):
        found.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes())
    return found.hexdigest()


# ---- the folder ------------------------------------------------------------------------------------------------------


def read(key: str) -> bytes:
    """The pickle of what was kept under a key; empty where there is none that is whole."""
    for data in kept.read(f"{key}.xla", folders(), LARGEST):
        if data[:32] == hashlib.sha256(key.encode() + data[32:]).digest():
            for path in kept.paths(f"{key}.xla", folders()):
                with contextlib.suppress(OSError):
                    os.utime(path)
            return data[32:]
    return b""


def write(key: str, made: Kept) -> None:
    """Keeps an executable, and makes room for it. What goes wrong is told in the log: the next process compiles."""
    data = pickle.dumps(made)
    data = hashlib.sha256(key.encode() + data).digest() + data  # another one's content is not this one's
    if len(data) > LARGEST:
        return
    try:
        path = kept.store(f"{key}.xla", data, folders())
    except OSError as error:
        level = logging.WARNING if os.environ.get(SWITCH) else logging.INFO
        logging.getLogger("hlograph").log(level, f"no executable is kept in {folders()[0]}: {error}")
    else:
        with contextlib.suppress(OSError):  # another process makes room, too
            _make_room(path.parent)


def _make_room(folder: Path) -> None:
    """Deletes entries until the rest is within the limit, and what processes that were killed have left."""
    total = 0
    found = sorted(((path, path.lstat()) for path in folder.iterdir()), key=lambda each: -each[1].st_mtime)
    for number, (path, status) in enumerate(found):
        total += status.st_size if path.suffix == ".xla" else 0
        abandoned = path.suffix == ".new" and time.time() - status.st_mtime > 3600
        if abandoned or (path.suffix == ".xla" and (total > LIMIT or number >= MOST)):
            path.unlink(missing_ok=True)
