"""What a compiled function calls where no call can have sizes that its graph takes."""

from __future__ import annotations

from typing import Any


class Refusal:
    """A function of which every call raises the same error."""

    changed: Any = None
    needs_x64 = False

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __call__(self, *args: Any) -> Any:
        raise type(self._error)(*self._error.args)
