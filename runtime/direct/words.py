"""What stands in the words of a workspace before they have places: numbers, addresses of buffers and of other words."""

from __future__ import annotations

from dataclasses import dataclass

from .steps import Slice


@dataclass(frozen=True)
class Within:
    """The address of a word of the workspace."""

    word: int


Word = int | Slice | Within
