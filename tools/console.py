"""The commands' output: aligned columns, pages, sizes, times, and a sign of life while something slow is under way."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from html import escape

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


_STYLE = ".hlograph {font: 14px/1.5 monospace} .hlograph td {padding-right: 1.5em; white-space: pre-wrap}"


def page(title: str, sections: Iterable[tuple[str, Sequence[Sequence[str]]]]) -> str:
    """An HTML page of parts, each with a title and rows; it holds no script, loads nothing, and may be in another."""
    parts = ["<!DOCTYPE html><meta charset=utf-8>", f"<title>{escape(title)}</title><style>{_STYLE}</style>"]
    parts += ["<div class=hlograph>", f"<h1>{escape(title)}</h1>"]
    for head, rows in sections:
        lines = ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows]
        parts += [f"<h2>{escape(head)}</h2>", "<table>", *[f"<tr>{line}</tr>" for line in lines], "</table>"]
    return "\n".join([*parts, "</div>"]) + "\n"


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


@contextmanager
def progress(label: str) -> Iterator[None]:
    """Show `label`, a spinner and the seconds on stderr until the block ends; nothing unless stderr is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    shown = [SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()]
    # stdout is left alone: it may be a pipe, or the result itself.
    with Progress(*shown, console=Console(stderr=True), transient=True, redirect_stdout=False) as bar:
        bar.add_task(label, total=None)
        yield
