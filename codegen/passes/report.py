"""What a pass did, and what it left alone and why.

In: the ops that a pass looked at. Out: notes, which `hlograph opt --explain NAME` prints and tests read. A rewrite says
why it leaves an op alone by raising `Refused`, before it has changed anything.
"""

from __future__ import annotations

import re
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from ..ir.bindings import ir


@dataclass(frozen=True)
class Note:
    """One op that a rewrite has looked at.

    Attributes:
        rewrite: the rewrite's name.
        op: the op, in a line.
        reason: why it was left alone; "" where it was rewritten.
        result: what became of it, where it was rewritten.
    """

    rewrite: str
    op: str
    reason: str = ""
    result: str = ""

    def __str__(self) -> str:
        return (
            f"{self.rewrite}: {self.op}: {f'left alone: {self.reason}' if self.reason else self.result or 'rewritten'}"
        )


@dataclass
class Report:
    """What one run of a pass did.

    Attributes:
        pass_name: as it was asked for.
        detailed: whether notes are wanted; without them only rewrites are counted.
        notes: in the order of the visits; a reason that is given again for the same op is not repeated.
        rewritten: how often each rewrite was applied.
        silent: the pass is one that takes no notes.
    """

    pass_name: str
    detailed: bool = False
    silent: bool = False
    notes: dict[Note, None] = field(default_factory=dict)
    rewritten: Counter[str] = field(default_factory=Counter)

    def describe(self, op: ir.Operation) -> str:
        """An op in a line, if notes are wanted: what is to be said about it later, when it may have changed."""
        return _line(op) if self.detailed else ""

    def applied(self, op: ir.Operation | str, rewrite: str = "", result: str = "") -> None:
        """Takes note of an op that is about to be rewritten: its text is taken now."""
        self.rewritten[rewrite or self.pass_name] += 1
        if self.detailed:
            self.notes[Note(rewrite or self.pass_name, _line(op), "", result)] = None

    def refused(self, op: ir.Operation | str, reason: str, rewrite: str = "") -> None:
        """Takes note of an op that is left alone."""
        if self.detailed:
            self.notes[Note(rewrite or self.pass_name, _line(op), reason)] = None

    @property
    def changed(self) -> bool:
        """Whether the pass may have changed the module; MLIR's own passes do not tell."""
        return self.silent or bool(self.rewritten)

    @property
    def text(self) -> str:
        """A line for each note."""
        return "".join(f"{note}\n" for note in self.notes)


@contextmanager
def shown(text: str) -> Iterator[None]:
    """Says on the standard error stream, every second from the first one on, that the block takes time."""
    done = threading.Event()

    def tell() -> None:
        seconds = 0
        while not done.wait(1):
            seconds += 1
            print(f"\rhlograph: {text}, {seconds} s", end="", file=sys.stderr, flush=True)
        if seconds:
            print(file=sys.stderr)

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


_LONGEST = 120


def _line(op: ir.Operation | str) -> str:
    """An op as one line: without its regions, and with where it comes from if that is known."""
    if isinstance(op, str):
        return op
    if op.regions:
        names = ", ".join(f"%{result.get_name(use_local_scope=True).lstrip('%')}" for result in op.results[:1])
        types = ", ".join(str(result.type) for result in op.results)
        text = f"{names} = {op.name} : {types}"
    else:
        text = str(op.get_asm(use_local_scope=True, large_elements_limit=4)).strip()
    text = re.sub(r"\s+", " ", text)
    text = text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
    place = re.fullmatch(r'loc\("([^"]+)"(:(\d+):\d+)?\)', str(op.location))
    if place is None:
        return text
    return f"{text} (line {place[3]})" if place[3] else f"{text} ({place[1]})"


class Watch(Protocol):
    """Is told of each step of a module on its way to the compiler."""

    def ran(self, spec: str, bytecode: bytes, seconds: float, report: Report) -> None:
        """A pass has run; the bytecode is that of the module after it."""

    def skipped(self, spec: str) -> None:
        """A pass was not started: it cannot find anything in the module."""
