"""What IREE makes of the graphs of `op_cases`, with open sizes and static ones: the table of docs/iree.md.

    python tests/iree_table.py [--jobs 2] [--only Softmax,Pad]

Cases are run in processes of their own; with static sizes those that do not work with open ones. Without `--only` the
table of the page is written anew (some minutes).
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import iree_runs
import numpy as np
from op_cases import CASES

import hlograph
from hlograph.errors import HlographError

PAGE = Path(__file__).resolve().parent.parent / "docs" / "iree.md"
START, END = "<!-- the table: python tests/iree_table.py -->\n", "<!-- its end -->\n"
SECONDS, CHUNK = 300, 12
Row = tuple[str, str, str]


def outcome(name: str, *, static: bool) -> str:
    """`works`, or what is in the way, in a line."""
    import jax

    case = CASES[name]
    try:
        program = hlograph.emit_stablehlo(case.build(static=static)[:2]).run_passes(["for_iree"])
    except HlographError as error:
        return f"refused: {str(error).partition(' (at ')[0].partition(';')[0].removeprefix('for_iree: ')}"
    try:
        function = iree_runs.compiled(program, seconds=60)
    except iree_runs.CannotCompile as error:
        return f"no compile: {str(error)[:90]}"
    for size in (5,) if static else (5, 3, 8):
        inputs, outputs, arrays = case.build(size)
        key = [jax.random.key(7)] if case.draws else []
        wanted = hlograph.emit_stablehlo((inputs, outputs)).compile(policy="exact")(*key, *arrays)
        found = function(*[np.asarray(jax.random.key_data(each)) for each in key], *arrays)
        for result, right in zip(found, wanted if isinstance(wanted, tuple | list) else [wanted], strict=False):
            if not np.allclose(result, np.asarray(right), rtol=1e-9, atol=1e-11, equal_nan=True):
                return f"WRONG at size {size}"
    return "works"


def _tried(name: str, *, static: bool) -> str:
    try:
        found = outcome(name, static=static)
    except Exception as error:  # whatever IREE's runtime raises
        found = f"error: {type(error).__name__}: {str(error)[:80]}"
    return " ".join(found.replace("|", "/").split())


def _apart(names: list[str]) -> dict[str, tuple[str, str]]:
    """The outcomes with open sizes and with static ones, from a process of their own; alone where that ends."""
    command = [sys.executable, "-W", "ignore", __file__, "--these", ",".join(names)]
    try:
        text = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False).stdout
    except subprocess.TimeoutExpired as error:
        text = (error.stdout or b"").decode()
    lines = [line.split("\t") for line in text.splitlines() if line.count("\t") == 2]
    found = {name: (of_open, of_static) for name, of_open, of_static in lines}
    missing = [name for name in names if name not in found]
    if missing == names:
        return dict.fromkeys(names, ("the process ended", "-"))
    for name in missing:
        found |= _apart([name])
    return found


def rows(names: list[str], jobs: int) -> list[Row]:
    """Name, with open sizes, with static ones."""
    with ThreadPoolExecutor(jobs) as pool:
        parts = pool.map(_apart, [names[k : k + CHUNK] for k in range(0, len(names), CHUNK)])
        found = {name: value for part in parts for name, value in part.items()}
    return [(name, *found[name]) for name in names]


def table(found: list[Row]) -> str:
    """The names of those that work in a paragraph, the others in a table."""
    count = Counter(row[1].partition(":")[0].partition(" at ")[0] for row in found)
    shown = ", ".join(f"{number} {kind}" for kind, number in count.most_common())
    works = ", ".join(name for name, of_open, _ in found if of_open == "works")
    lines = ["", f"Of {len(found)} ops with open sizes: {shown}.", "", f"Right: {works}.", ""]
    groups: dict[tuple[str, str], list[str]] = {}
    for name, of_open, of_static in found:
        if of_open != "works":
            groups.setdefault((_short(of_open), _short(of_static)), []).append(name)
    lines += ["| ops | with open sizes | with static ones |", "|---|---|---|"]
    lines += [f"| {', '.join(names)} | {a} | {b} |" for (a, b), names in groups.items()]
    return "\n".join([*lines, "", ""])


def _short(outcome: str) -> str:
    """An outcome without what differs from op to op: numbers of values, bytes, names of sizes."""
    text = re.sub(r"\(\w+_\d+(, \w+_\d+)*\) ", "", outcome)
    text = re.sub(r": %\d+ = .*| for function\. Got .*|Got \d+.*", "", text)
    return text.replace(
        "Please report issues to https://github.com/iree-org/iree/issues and include the crash back", "a crash"
    )


def main() -> None:
    """Writes the page, or shows what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="")
    parser.add_argument("--these", default="", help="of a process that does a part")
    options = parser.parse_args()
    if options.these:
        for name in options.these.split(","):
            found = _tried(name, static=False)
            print(name, found, "" if found == "works" else _tried(name, static=True), sep="\t", flush=True)
        return
    text = table(rows([name for name in options.only.split(",") if name] or list(CASES), options.jobs))
    if options.only:
        print(text)
        return
    before, _, rest = PAGE.read_text().partition(START)
    PAGE.write_text(before + START + text + END + rest.partition(END)[2])


if __name__ == "__main__":
    main()
