"""An explanation as its users have it: fields, text, and a page."""

from __future__ import annotations

import os
from pathlib import Path

from ..console import columns, page
from .record import Record
from .text import sections

_SHOWN_ROWS = 25


class Explanation(Record):
    """The sizes of a program, explained; see `explain`."""

    @property
    def text(self) -> str:
        """The explanation as plain text."""
        lines = [f"program {self.name}"]
        for title, rows in sections(self):
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
        """The explanation as one HTML page, which needs no other file and no network."""
        return page(f"program {self.name}", sections(self))

    def save_html(self, path: str | os.PathLike[str]) -> Path:
        """Writes the HTML page to a file; returns its path."""
        target = Path(path)
        target.write_text(self.html, encoding="utf-8")
        return target

    def _repr_html_(self) -> str:
        """The page, for notebooks."""
        return self.html
