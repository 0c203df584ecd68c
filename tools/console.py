"""The commands' output: aligned columns, sizes and times."""

from __future__ import annotations

from collections.abc import Sequence

Rows = list[tuple[str, ...]]


def columns(rows: Sequence[Sequence[str]], *, indent: str = "") -> str:
    """Rows of text as lines, each column as wide as its longest cell. No line ends in spaces."""
    if not rows:
        return ""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = [
        indent + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    return "\n".join(lines)


def count(number: int, noun: str) -> str:
    """`1 input`, `2 inputs`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def format_dims(dims: Sequence[object]) -> str:
    """Dimensions in parentheses: `(n, 8)`, `()` for a scalar."""
    return f"({', '.join(str(dim) for dim in dims)})"


def format_seconds(seconds: float) -> str:
    """Three digits with the unit that suits: `1.23 s`, `45.6 ms`, `7.89 us`."""
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 1 or unit == "us":
            break
    value = seconds * scale
    return f"{value:.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"
