"""`Cache`: the executables of one function, and the calls that are known to run on them.

In: plans of sizes, and keys of calls (the sizes and values that decide). Out: executables, the least recently used ones
dropped; what serves a key: an exact executable, or an adapter to a padded one. Decision to know: `entries` is read by
the code of calls without a lock; whoever changes it holds the lock.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...codegen import forks
from .executable import Executable
from .padding import Adapter
from .policy import Plan
from .prepared import PreparedProgram
from .stats import ExecutableStats

Key = tuple[int, ...]
Entry = Executable | Adapter

_KNOWN_CALLS = 4096  # sets of sizes on padded executables that are remembered


class Cache:
    """Executables and known calls.

    Args:
        size: how many executables are kept.
        dropped: called when an executable is dropped, with the lock held.

    Attributes:
        entries: what serves calls by key.
        lock: held while anything changes.
    """

    def __init__(self, size: int, dropped: Callable[[], None]) -> None:
        self.entries: dict[Key, Entry] = {}
        self.lock = forks.lock()
        self._size = size
        self._dropped = dropped
        self._executables: dict[Any, Executable] = {}
        self._prepared: dict[Key, PreparedProgram] = {}
        self._without_threads: list[object] = []
        forks.watch(self)

    def executable(self, plan: Plan, number: int, make: Callable[[], Executable], key: Key | None = None) -> Executable:
        """The executable of a plan, which is made if it is new.

        Args:
            plan: the sizes that it is for.
            number: of the call.
            make: makes one that is not prepared yet.
            key: of the call, which it serves from now on.
        """
        with self.lock:
            found = self._executables.get(plan.key)
            if found is None:
                self._make_room()
                found = self._executables[plan.key] = make()
            if key is not None:
                self.entries[key] = found
            found.used = number
            return found

    def remember(self, key: Key, adapter: Adapter) -> Adapter:
        """Keeps what these sizes need, unless another thread has just done so; the one that is kept."""
        with self.lock:
            known = self.entries.get(key)
            if isinstance(known, Adapter) and known.executable is adapter.executable:
                return known
            if len(self.entries) >= _KNOWN_CALLS + self._size:
                self._forget_calls(lambda entry: isinstance(entry, Adapter))
                self._dropped()
            self.entries[key] = adapter
        return adapter

    def forget(self, executable: Executable) -> None:
        """Leaves nothing behind of an executable whose first run failed."""
        with self.lock:
            if not executable.ready and self._executables.get(executable.sizes.key) is executable:
                self._drop(executable)

    def prepared(self, key: Key, make: Callable[[], PreparedProgram]) -> PreparedProgram:
        """The program for these sizes, as it is put into other modules."""
        with self.lock:
            found = self._prepared.get(key)
        if found is None:
            found = make()
            with self.lock:
                while len(self._prepared) >= self._size:
                    del self._prepared[next(iter(self._prepared))]
                found = self._prepared.setdefault(key, found)
        return found

    def clear(self) -> None:
        """Drops everything."""
        with self.lock:
            self.entries.clear()
            self._executables.clear()
            self._prepared.clear()
            self._dropped()

    def after_fork(self) -> None:
        """Forgets what does not run in a forked process; it is not freed, which would wait for threads."""
        self._without_threads = [dict(self.entries), dict(self._executables)]
        for executable in list(self._executables.values()):
            if not executable.after_fork():
                self._drop(executable)
        self._dropped()

    def stats(self) -> list[ExecutableStats]:
        """What is to be said of each executable, exact ones first."""
        with self.lock:
            for entry in self.entries.values():
                if isinstance(entry, Adapter):
                    entry.report()
            exact = [entry for entry in self.entries.values() if isinstance(entry, Executable)]
            padded = [executable for executable in self._executables.values() if executable not in exact]
            return [*(one.stats("exact") for one in exact), *(one.stats("padded") for one in padded)]

    def _make_room(self) -> None:
        if len(self._executables) >= self._size:
            for entry in self.entries.values():
                if isinstance(entry, Adapter):
                    entry.executable.used = max(entry.executable.used, entry.used)
            self._drop(min(self._executables.values(), key=lambda executable: executable.used))
            self._dropped()

    def _drop(self, executable: Executable) -> None:
        del self._executables[executable.sizes.key]
        self._forget_calls(lambda entry: executable is (entry.executable if isinstance(entry, Adapter) else entry))

    def _forget_calls(self, concerned: Callable[[Entry], bool]) -> None:
        for key, entry in list(self.entries.items()):
            if concerned(entry):
                del self.entries[key]
                if isinstance(entry, Adapter):
                    entry.retire()
