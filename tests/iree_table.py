"""What IREE makes of the graphs of `op_cases`, with known sizes: the table of docs/iree.md.

    python tests/iree_table.py [--jobs 2] [--only Softmax,Pad]

Cases are run in processes of their own. Without `--only` the table of the page is written anew (some minutes).
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


def outcome(name: str) -> str:
    """`works`, or what is in the way, in a line."""
    import jax

    case = CASES[name]
    try:
        program = hlograph.emit_stablehlo(case.build(static=True)[:2]).run_passes(["for_iree"])
    except HlographError as error:
        return f"refused: {str(error).partition(' (at ')[0].partition(';')[0].removeprefix('for_iree: ')}"
    try:
        function = iree_runs.compiled(program, seconds=60)
    except iree_runs.CannotCompile as error:
        return f"no compile: {str(error)[:90]}"
    inputs, outputs, arrays = case.build(5)
    key = [jax.random.key(7)] if case.draws else []
    wanted = hlograph.emit_stablehlo((inputs, outputs)).compile(policy="exact")(*key, *arrays)
    found = function(*[np.asarray(jax.random.key_data(each)) for each in key], *arrays)
    for result, right in zip(found, wanted if isinstance(wanted, tuple | list) else [wanted], strict=False):
        if not np.allclose(result, np.asarray(right), rtol=1e-9, atol=1e-11, equal_nan=True):
            return "WRONG"
    return "works"


def _tried(name: str) -> str:
    try:
        found = outcome(name)
    except Exception as error:  # whatever IREE's runtime raises
        found = f"error: {type(error).__name__}: {str(error)[:80]}"
    return " ".join(found.replace("|", "/").split())


def _apart(names: list[str]) -> dict[str, str]:
    """The outcomes, from a process of their own; alone where that ends."""
    command = [sys.executable, "-W", "ignore", __file__, "--these", ",".join(names)]
    try:
        text = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False).stdout
    except subprocess.TimeoutExpired as error:
        text = (error.stdout or b"").decode()
    found = dict(line.split("\t") for line in text.splitlines() if line.count("\t") == 1)
    missing = [name for name in names if name not in found]
    if missing == names:
        return dict.fromkeys(names, "the process ended")
    for name in missing:
        found |= _apart([name])
    return found


def table(names: list[str], jobs: int) -> str:
    """The names of those that work in a paragraph, the others in a table."""
    with ThreadPoolExecutor(jobs) as pool:
        parts = pool.map(_apart, [names[k : k + CHUNK] for k in range(0, len(names), CHUNK)])
        found = {name: value for part in parts for name, value in part.items()}
    count = Counter(value.partition(":")[0] for value in found.values())
    shown = ", ".join(f"{number} {kind}" for kind, number in count.most_common())
    works = ", ".join(name for name in names if found[name] == "works")
    lines = ["", f"Of {len(found)} ops: {shown}.", "", f"Right: {works}.", ""]
    groups: dict[str, list[str]] = {}
    for name in names:
        if found[name] != "works":
            groups.setdefault(_short(found[name]), []).append(name)
    lines += ["| ops | |", "|---|---|", *(f"| {', '.join(group)} | {what} |" for what, group in groups.items())]
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
            print(name, _tried(name), sep="\t", flush=True)
        return
    text = table([name for name in options.only.split(",") if name] or list(CASES), options.jobs)
    if options.only:
        print(text)
        return
    before, _, rest = PAGE.read_text().partition(START)
    PAGE.write_text(before + START + text + END + rest.partition(END)[2])


if __name__ == "__main__":
    main()
