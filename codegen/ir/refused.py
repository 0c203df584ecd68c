"""What a rewrite raises that leaves an op alone, before it has changed anything."""

from __future__ import annotations

from typing import Any, TypeVar

T = TypeVar("T")


class Refused(Exception):
    """A rewrite's precondition does not hold; the text says which, in the user's terms."""


def require(condition: Any, reason: str) -> None:
    """Raises `Refused` with the reason unless the condition holds."""
    if not condition:
        raise Refused(reason)


def needed(value: T | None, reason: str) -> T:
    """A value that must be there; raises `Refused` with the reason where it is None."""
    if value is None:
        raise Refused(reason)
    return value
