"""Random programs through the direct call, in processes of their own: none may die, none differ from PJRT by a bit.

    python tests/direct_programs.py --count 10000 --jobs 2 --first 0

Each program is compiled under one of several plans, with `cpu="direct"` insisted on: that compares nine inputs. Then
every call is compared with PJRT's (`direct_way.EVERY = 1`), from several threads. What is no kernel is refused; it is
counted by reason. A process that ends is named with the seed that it was at.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

CHUNK = 50  # programs of one process
SECONDS = 600  # of a process
OTHERS = 3  # inputs of calls after the first one
THREADS = 2
DIRECT = "direct call of the kernels"
WORKER = [sys.executable, __file__, "--worker"]


@dataclass
class Outcome:
    """What became of programs.

    Attributes:
        direct: number of those that were called directly.
        refused: reason to number of those that were not.
        wrong: what differed, and which processes died.
    """

    direct: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    @property
    def programs(self) -> int:
        """Number of programs."""
        return self.direct + self.refused.total() + len(self.wrong)

    def add(self, other: Outcome) -> None:
        """Counts another's too."""
        self.direct += other.direct
        self.refused += other.refused
        self.wrong += other.wrong

    def __str__(self) -> str:
        lines = [f"{self.programs} programs: {self.direct} direct, {self.refused.total()} not, {len(self.wrong)} wrong"]
        lines += [f"  {count:6d}  {reason}" for reason, count in self.refused.most_common()]
        return "\n".join([*lines, *self.wrong])


def run_all(first: int, count: int, jobs: int, tell: Any = None) -> Outcome:
    """Runs the programs of the seeds from `first` on."""
    total = Outcome()
    chunks = [(start, min(CHUNK, first + count - start)) for start in range(first, first + count, CHUNK)]
    with ThreadPoolExecutor(jobs) as pool:
        for outcome in pool.map(lambda chunk: run_chunk(*chunk), chunks):
            total.add(outcome)
            if tell is not None:
                tell(total)
    return total


def run_chunk(first: int, count: int) -> Outcome:
    """Those of one process, and of further ones where it ends before its time."""
    outcome, seed = Outcome(), first
    while seed < first + count:
        found, last = _process(seed, first + count - seed)
        outcome.add(found)
        seed = last + 1
    return outcome


def _process(first: int, count: int) -> tuple[Outcome, int]:
    """What a process finds, and the last seed that it was at."""
    command = [*WORKER, "--first", str(first), "--count", str(count)]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    try:
        run = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=SECONDS, check=False)
        printed, status, errors = run.stdout, str(run.returncode), run.stderr
    except subprocess.TimeoutExpired as error:
        printed, status, errors = (error.stdout or b"").decode(), f"no end after {SECONDS} s", ""
    outcome, last, open_ = Outcome(), first, True
    for line in printed.splitlines():
        told = json.loads(line)
        last, open_ = told["seed"], "note" not in told
        if not open_:
            _count(outcome, last, told["note"])
    if open_ or last < first + count - 1:
        outcome.wrong.append(f"seed {last}: the process ended with {status}: {errors[-500:]}")
    return outcome, last


def _count(outcome: Outcome, seed: int, note: str) -> None:
    if note == DIRECT:
        outcome.direct += 1
    elif "differs" in note or "other bits" in note:
        outcome.wrong.append(f"seed {seed}: {note}")
    else:
        reason = re.sub(r"[\w.-]*\d[\w.-]*", "N", note.removeprefix("no direct call: "))
        outcome.refused[reason] += 1


# ---- a process -------------------------------------------------------------------------------------------------------


def work(first: int, count: int) -> None:
    """Prints a line before each program, and one on what became of it."""
    from hlograph.runtime.direct import verdict
    from hlograph.runtime.executables import direct_way

    verdict.assume(verdict.Verdict(True, "for a test"))
    direct_way.EVERY = 1
    warnings.simplefilter("error", RuntimeWarning)
    for seed in range(first, first + count):
        print(json.dumps({"seed": seed}), flush=True)
        print(json.dumps({"seed": seed, "note": _tried(seed)}), flush=True)


def _tried(seed: int) -> str:
    """How a program is called: `DIRECT`, or why not so."""
    from property.programs import arrays_of, build, random_recipe, sizes_of

    recipe = random_recipe(seed)
    case = build(recipe)
    sizes = list(sizes_of(case, recipe, 1))
    if not sizes:
        return "no sizes that were tried fulfil the program's constraints"
    if not case.program.signature.results:
        return "no results"
    fn = case.program.compile(outputs="numpy", policy="exact", cpu=_options(seed))
    arrays = arrays_of(case, recipe, sizes[0])
    fn(*arrays)
    (executable,) = fn.stats.by_executable
    notes = [note for note in executable.plan if "direct call" in note]
    if notes != [DIRECT]:
        return notes[0] if notes else "the plan has no direct call"
    with ThreadPoolExecutor(THREADS) as pool:
        for _ in pool.map(lambda given: fn(*given), _others(arrays, seed)):
            pass
    (executable,) = fn.stats.by_executable
    return DIRECT if executable.plan[-1] == DIRECT else executable.plan[-1]


def _options(seed: int) -> Any:
    """A plan: kernels of many ops or of few, packed or not, by LLVM's optimizer and without."""
    import hlograph

    on = [bool(seed >> bit & 1) for bit in range(4)]
    return hlograph.CpuOptions(
        forms=on[0],
        regions=on[1] or on[2],
        math=on[2],
        pack=on[3],
        direct=True,
        direct_checks="always",
    )


def _others(arrays: list[Any], seed: int) -> Iterator[list[Any]]:
    """Other values of the same kinds; integers stay, as they may be sizes and places."""
    import numpy as np

    from hlograph.runtime.direct.comparison import varied

    random = np.random.default_rng(seed)
    for trial in range(OTHERS):
        yield [varied(array, trial, random) if np.asarray(array).dtype.kind in "fc" else array for array in arrays]


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=10_000, help="number of programs")
    parser.add_argument("--jobs", type=int, default=2, help="processes at once")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        work(given.first, given.count)
        return 0
    start = time.monotonic()

    def tell(total: Outcome) -> None:
        if total.programs % 500 < CHUNK:
            print(f"{time.monotonic() - start:6.0f} s  {str(total).splitlines()[0]}", flush=True)

    total = run_all(given.first, given.count, given.jobs, tell)
    print(total)
    return 1 if total.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
