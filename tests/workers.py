"""Work in processes of their own, which may die or hang over it: items by number, and what became of each.

A worker is a script that is called with `--worker NUMBER,NUMBER,...` and serves these items.
"""

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

Found = list[tuple[int, str]]  # of each item what became of it
OUTPUT = sys.stdout


def tell(item: int, stage: str, what: str = "") -> None:
    """At which stage an item is; at "end" what became of it."""
    print(json.dumps([item, stage, what]), file=OUTPUT, flush=True)


def serve(items: str, one: Callable[[int], str]) -> None:
    """What a worker does; `one` says what became of an item."""
    for item in map(int, items.split(",")):
        tell(item, "run")
        tell(item, "end", one(item))


def all_of(
    script: str, items: Sequence[int], chunk: int, *options: str, jobs: int, seconds: float, kept: Path | None = None
) -> Found:
    """What became of all items, so many of them in a process; behind one that ends it there is another process.

    Args:
        script: the worker's file.
        items: numbers.
        chunk: items of one process.
        options: of the script.
        jobs: processes at a time.
        seconds: that one stage of an item may take.
        kept: a file for what became of each item: those that are in it are not run again.
    """
    known = [tuple(json.loads(line)) for line in kept.read_text().splitlines()] if kept and kept.exists() else []
    over = {item for item, _ in known}
    items = [item for item in items if item not in over]

    def ended(item: int, what: str) -> None:
        if kept:
            with kept.open("a") as file:
                file.write(json.dumps([item, what]) + "\n")

    def run(rest: Sequence[int]) -> Found:
        found = Found()
        while rest:
            command = [sys.executable, script, "--worker", ",".join(map(str, rest)), *options]
            environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
            with tempfile.TemporaryFile() as errors:
                process = subprocess.Popen(
                    command, stdout=subprocess.PIPE, stderr=errors, env=environment, start_new_session=True
                )
                found += watch(process, seconds, ended)
                errors.seek(0)
                if "--quiet" in options and process.returncode == 0 and (printed := errors.read()):
                    found.append((found[-1][0], f"raw stderr: {printed.decode(errors='replace')[:300]}"))
            rest = rest[rest.index(found[-1][0]) + 1 :]
        return found

    with ThreadPoolExecutor(jobs) as pool:
        parts = pool.map(run, [items[i : i + chunk] for i in range(0, len(items), chunk)])
        return [*known, *(each for found in parts for each in found)]


def watch(
    process: subprocess.Popen[bytes], seconds: float, ended: Callable[[int, str], object] = lambda item, what: None
) -> Found:
    """What a process says of its items until it ends, and which one it ended over; `ended` is told of each."""
    assert process.stdout is not None
    found, item, stage, what, buffer = Found(), 0, "start", "", b""
    while True:
        ready, _, _ = select.select([process.stdout], [], [], seconds)
        part = os.read(process.stdout.fileno(), 2**16) if ready else b""
        if not part:
            break
        *lines, buffer = (buffer + part).split(b"\n")
        for line in lines:
            item, stage, what = json.loads(line)
            if stage == "end":
                found.append((item, what))
                ended(item, what)
    if not ready:
        os.killpg(process.pid, signal.SIGKILL)
    status = process.wait()
    process.stdout.close()
    if stage == "start":
        raise RuntimeError(f"the worker ended with status {status} at its start")
    if stage != "end":
        end = f"died of {status}" if ready else "hung"
        found.append((item, f"{end} in {stage} {what}".rstrip()))
        ended(*found[-1])
    return found
