"""What the builder remembers of how a tensor was made, so that users of it can read through to what it was made from.

In: handles. Out: records, which `places.Frame` keeps by the result's uid until the function is finished; results that
all their users have read through are then erased.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..dims import Dim


@dataclass(kw_only=True)
class Note:
    """How a tensor was made; `result` is the handle on it, as `source` and what a part gives are handles."""

    result: Any


@dataclass
class Transpose(Note):
    """A transpose: axis i of the result is axis `permutation[i]` of the source."""

    source: Any
    permutation: tuple[int, ...]


@dataclass
class Join(Note):
    """What consists of parts, one behind the other along `axis`: the size of each, and what gives it.

    `last` gives as many of the last elements, in another way.
    """

    parts: tuple[tuple[Dim, Callable[[], Any]], ...]
    axis: int
    last: tuple[Dim, Callable[[], Any]] | None = None


@dataclass
class Rows(Note):
    """Rows of another tensor: row i of the result is row `first + step * i` of the source."""

    source: Any
    first: Dim
    step: int


@dataclass
class Expansion(Note):
    """A reshape that only inserts axes of size 1: axis i of the source is axis `kept[i]` of the result."""

    source: Any
    kept: tuple[int, ...]
