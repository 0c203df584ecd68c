"""Names of other libraries that are replaced for as long as somebody wants it.

In: what replaces them, and gives back what undoes that. Out: a `Use`, which is undone once, by `undo` or at the end of
its `with` block; the names are theirs again after the last one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial, wraps
from typing import Any


class Replaced:
    """Some names, by what replaces them.

    Attributes:
        users: how many want it now.
        lock: held while names change.
    """

    def __init__(self, replace: Callable[[], Callable[[], None]]) -> None:
        self._replace = replace
        self._undo: Callable[[], None] = lambda: None
        self.users = 0
        self.lock = threading.RLock()

    def use(self) -> Use:
        """Replaces them, if nobody has before."""
        with self.lock:
            if not self.users:
                self._undo = self._replace()
            self.users += 1
        return Use(self)

    def leave(self) -> None:
        """One user less; for `Use`."""
        with self.lock:
            self.users -= 1
            if not self.users:
                self._undo()


class Use(AbstractContextManager["Use"]):
    """One user, until `undo`; as a context manager, to the end of the block."""

    def __init__(self, of: Replaced) -> None:
        self._of: Replaced | None = of

    def undo(self) -> None:
        """Gives the names back as they were, unless another user still wants them replaced."""
        of, self._of = self._of, None
        if of is not None:
            of.leave()

    def __exit__(self, *error: object) -> None:
        self.undo()


def replacing(function: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """What makes of an original the function that takes it first, and then what the original takes."""
    return lambda original: wraps(original)(partial(function, original))
