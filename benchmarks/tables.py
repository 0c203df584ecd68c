"""Tables of benchmarks in the pages of docs/, each between `<!-- table: NAME -->` and `<!-- its end -->`.

`run.py --write docs`, which is `make bench`, replaces what stands between them: the table, the targets that it missed,
and below them the command, the day, the releases and the machine. Everything outside of the markers is written by hand.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from pathlib import Path

from harness import Report

MARKED = re.compile(r"(<!-- table: ([\w ]+) -->\n).*?(<!-- its end -->)", re.DOTALL)


def rows(report: Report) -> list[str]:
    """A report's table as Markdown."""
    return [f"| {' | '.join(cells)} |" for cells in (report.columns, ("---",) * len(report.columns), *report.rows)]


def body(report: Report, command: str, about: Mapping[str, str]) -> str:
    """What stands between the markers."""
    lines = ["", *rows(report), ""]
    if missed := [target for target in report.targets if not target.met]:
        lines += [f"- {' '.join(str(target).split())}" for target in missed]
    if report.targets:
        lines += [f"- met: {len(report.targets) - len(missed)} of {len(report.targets)} targets", ""]
    facts = ", ".join(f"{value} cores" if name == "cores" else f"{name} {value}" for name, value in about.items())
    return "\n".join([*lines, f"`{command}`, {time.strftime('%Y-%m-%d')}: {facts}", "", ""])


def write(folder: Path, name: str, report: Report, command: str, about: Mapping[str, str]) -> list[Path]:
    """Replaces the table `name` in each page of a folder that has it, and returns these pages."""
    text, found = body(report, command, about), []
    for page in sorted(folder.rglob("*.md")):
        before = page.read_text()
        after = MARKED.sub(lambda match: match[1] + text + match[3] if match[2] == name else match[0], before)
        if name in {match[2] for match in MARKED.finditer(before)}:
            page.write_text(after)
            found.append(page)
    return found
