"""An explanation as its users have it: text, and a page."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from ..console import Rows, columns, page
from .drawing import draw
from .walk import Block

_SHOWN_ROWS = 25


@dataclass(frozen=True)
class Explanation:
    """The sizes of a program, explained; see `explain`.

    Attributes:
        name: the program's.
        sections: the parts, each with a title and rows.
        sizes: the names of its sizes.
        blocks: its functions, loops and branches as graphs, `main` first.
    """

    name: str
    sections: tuple[tuple[str, Rows], ...]
    sizes: tuple[str, ...] = field(repr=False)
    blocks: tuple[Block, ...] = field(repr=False, compare=False)

    @property
    def text(self) -> str:
        """The explanation as plain text."""
        lines = [f"program {self.name}"]
        for title, rows in self.sections:
            lines.append(title)
            if rows:
                hidden = len(rows) - _SHOWN_ROWS
                lines.append(columns(rows[:_SHOWN_ROWS], indent="  "))
                if hidden > 0:
                    lines.append(f"  ... and {hidden} more")
        return "\n".join(lines) + "\n"

    def __str__(self) -> str:
        return self.text

    @property
    def html(self) -> str:
        """The explanation as one HTML page with the graph drawn, which needs no other file and no network.

        Raises:
            ModuleNotFoundError: the extra `explain` is not installed.
        """
        return page(f"program {self.name}", self.sections, draw(self.blocks, self.sizes))

    def save_html(self, path: str | os.PathLike[str]) -> Path:
        """Writes the HTML page to a file; returns its path."""
        target = Path(path)
        target.write_text(self.html, encoding="utf-8")
        return target

    def _repr_html_(self) -> str | None:
        """The page, for notebooks; None, and so the text, where it cannot be made."""
        try:
            return self.html
        except ModuleNotFoundError:
            return None
