"""`Cache`: the executables of one function, and the calls that are known to run on them.

In: keys of calls (the sizes and values that decide), and plans of sizes. Out: executables, the least recently used ones
dropped; adapters for sets of sizes on padded ones. Decision to know: `entries` is read by the code of calls without a
lock; whoever changes it holds the lock.
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
        dropped: called when an exact executable is dropped, with the lock held.

    Attributes:
        entries: what serves calls by key: an exact executable, or an adapter to a padded one.
        lock: held while anything changes.
    """

    def __init__(self, size: int, dropped: Callable[[], None]) -> None:
        self.entries: dict[Key, Entry] = {}
        self.lock = forks.lock()
        self._size = size
        self._dropped = dropped
        self._padded: dict[Any, Executable] = {}
        self._prepared: dict[Key, PreparedProgram] = {}
        self._without_threads: list[object] = []
        forks.watch(self)

    def exact(self, key: Key, number: int, make: Callable[[], Executable]) -> Executable:
        """The executable for these sizes alone, which is made if it is new.

        Args:
            key: of the call.
            number: of the call.
            make: makes one that is not prepared yet.
        """
        with self.lock:
            found = self.entries.get(key)
            if not isinstance(found, Executable):
                self._make_room()
                found = self.entries[key] = make()
            found.used = number
            return found

    def padded(self, plan: Plan, number: int, make: Callable[[], Executable]) -> Executable:
        """The executable of a bucket; arguments as for `exact`."""
        with self.lock:
            found = self._padded.get(plan.key)
            if found is None:
                self._make_room()
                found = self._padded[plan.key] = make()
            found.used = number
            return found

    def remember(self, key: Key, adapter: Adapter) -> Adapter:
        """Keeps what these sizes need, unless another thread has just done so; the one that is kept."""
        with self.lock:
            known = self.entries.get(key)
            if isinstance(known, Adapter) and known.executable is adapter.executable:
                return known
            if len(self.entries) >= _KNOWN_CALLS + self._size:
                self._forget_adapters()
            self.entries[key] = adapter
        return adapter

    def forget(self, executable: Executable) -> None:
        """Leaves nothing behind of an executable whose first run failed."""
        with self.lock:
            if executable.ready:
                return
            for key, entry in list(self.entries.items()):
                if entry is executable:
                    del self.entries[key]
            if self._padded.get(executable.sizes.key) is executable:
                del self._padded[executable.sizes.key]
                self._forget_adapters()

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
            self._padded.clear()
            self._prepared.clear()
            self._dropped()

    def after_fork(self) -> None:
        """Forgets what does not run in a forked process; it is not freed, which would wait for threads."""
        self._without_threads = [dict(self.entries), dict(self._padded)]

        def runs(executable: Executable) -> bool:
            if executable not in known:
                known[executable] = executable.after_fork()
            return known[executable]

        known: dict[Executable, bool] = {}
        for key, entry in list(self.entries.items()):
            if not runs(entry.executable if isinstance(entry, Adapter) else entry):
                del self.entries[key]
        self._padded = {key: executable for key, executable in self._padded.items() if runs(executable)}
        self._dropped()

    def stats(self) -> list[ExecutableStats]:
        """What is to be said of each executable, exact ones first."""
        with self.lock:
            for entry in self.entries.values():
                if isinstance(entry, Adapter):
                    entry.report()
            exact = [entry.stats("exact") for entry in self.entries.values() if isinstance(entry, Executable)]
            return exact + [executable.stats("padded") for executable in self._padded.values()]

    def _make_room(self) -> None:
        """Drops the least recently used executable when the cache is full."""
        exact = {key: entry for key, entry in self.entries.items() if isinstance(entry, Executable)}
        if len(exact) + len(self._padded) < self._size:
            return
        for entry in self.entries.values():
            if isinstance(entry, Adapter):
                entry.executable.used = max(entry.executable.used, entry.used)
        oldest_exact = min(exact, key=lambda key: exact[key].used, default=None)
        oldest_padded = min(self._padded, key=lambda key: self._padded[key].used, default=None)
        if oldest_padded is None or (
            oldest_exact is not None and exact[oldest_exact].used <= self._padded[oldest_padded].used
        ):
            assert oldest_exact is not None
            del self.entries[oldest_exact]
            self._dropped()
        else:
            del self._padded[oldest_padded]
            self._forget_adapters()

    def _forget_adapters(self) -> None:
        """Drops what is remembered of sets of sizes on padded executables."""
        for key, entry in list(self.entries.items()):
            if isinstance(entry, Adapter):
                del self.entries[key]
                entry.retire()
