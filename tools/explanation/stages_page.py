"""The page of stages: one HTML file with the table and, for each stage, its module beside the one before.

In: what `lower` returned. Out: HTML. Lines that are the same on both sides are folded but for a few around each
difference; values that are only numbered anew do not count as different.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from ...runtime.lowered.recorder import Stage, align
from .page import template

if TYPE_CHECKING:
    from ...runtime.lowered.stages import Lowered

LIMIT = 2000  # rows of one comparison that are written
_LINES = 5000  # of a module that are compared
_CONTEXT = 4  # lines kept on either side of a difference


@dataclass(frozen=True)
class Row:
    """A line of both modules: "same", "changed", or "folded", where `old` says how many lines are left out."""

    kind: str
    old: str
    new: str


@dataclass(frozen=True)
class Comparison:
    """A stage beside the one before.

    Attributes:
        before, after: their names.
        rows: the lines.
        cut: how many rows, or lines of the modules, are left out at the end.
        summary: what was changed, in a line.
    """

    before: str
    after: str
    rows: list[Row]
    cut: int
    summary: str


def render(lowered: Lowered, title: str, measured: Sequence[str]) -> str:
    """The page.

    Args:
        lowered: what to show.
        title: the heading.
        measured: the stages whose costs are in the table; they are compiled if they have not been.

    Raises:
        ModuleNotFoundError: the extra `explain` is not installed.
    """
    heading, *rows = lowered.table(measured)
    stages = list(lowered.stages)
    comparisons = [compare(before, after) for before, after in pairwise(stages)]
    first = stages[0].short_text()
    return template("stages.html.jinja").render(
        title=title, heading=heading, rows=rows, first=stages[0].name, text=_cut_text(first), comparisons=comparisons,
        remarks=lowered.stages.remarks(),
    )  # fmt: skip


def compare(before: Stage, after: Stage) -> Comparison:
    """The rows of two stages, side by side."""
    texts = [stage.short_text() for stage in (before, after)]
    left_out = max(max(len(text.splitlines()) - _LINES, 0) for text in texts)
    old, new = ("\n".join(text.splitlines()[:_LINES]) for text in texts)
    rows: list[Row] = []
    blocks = align(old, new)
    for number, (tag, left, right) in enumerate(blocks):
        if tag == "equal":
            rows += _folded(left, right, number == 0, number == len(blocks) - 1)
        else:
            height = max(len(left), len(right))
            both = zip(left + [""] * (height - len(left)), right + [""] * (height - len(right)), strict=True)
            rows += [Row("changed", a, b) for a, b in both]
    return Comparison(before.name, after.name, rows[:LIMIT], left_out + max(len(rows) - LIMIT, 0), after.change(before))


def _folded(left: list[str], right: list[str], first: bool, last: bool) -> list[Row]:
    rows = [Row("same", a, b) for a, b in zip(left, right, strict=True)]
    head, tail = (0 if first else _CONTEXT), (0 if last else _CONTEXT)
    hidden = len(rows) - head - tail
    if hidden <= 1:
        return rows
    return [*rows[:head], Row("folded", str(hidden), ""), *rows[len(rows) - tail :]]


def _cut_text(text: str) -> str:
    lines = text.rstrip().splitlines()
    more = len(lines) - LIMIT
    return "\n".join([*lines[:LIMIT], *([f"... {more} more lines"] if more > 0 else [])])
