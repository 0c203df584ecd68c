"""What the builder remembers of how a tensor was made, so that users of it can read through to what it was made from.

In: handles. Out: records, which `places.Frame` keeps by the result's uid until the function is finished; results that
all their users have read through are then erased.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from ..dims import Dim

Handle = TypeVar("Handle")


@dataclass
class Transpose(Generic[Handle]):
    """A transpose: axis i of the result is axis `permutation[i]` of the source."""

    source: Handle
    permutation: tuple[int, ...]
    result: Handle


@dataclass
class Join(Generic[Handle]):
    """What consists of parts, one behind the other along `axis`: the size of each, and what gives it.

    `last` gives as many of the last elements, in another way.
    """

    parts: tuple[tuple[Dim, Callable[[], Handle]], ...]
    axis: int
    result: Handle
    last: tuple[Dim, Callable[[], Handle]] | None = None


@dataclass
class Rows(Generic[Handle]):
    """Rows of another tensor: row i of the result is row `first + step * i` of the source."""

    source: Handle
    first: Dim
    step: int
    result: Handle


@dataclass
class Expansion(Generic[Handle]):
    """A reshape that only inserts axes of size 1: axis i of the source is axis `kept[i]` of the result."""

    source: Handle
    kept: tuple[int, ...]
    result: Handle
