"""Random programs through the direct call, in processes of their own: none may die, none differ from PJRT by a bit.

    python tests/direct_programs.py --count 10000 --jobs 2 --first 0 [--done FOLDER]

Each program is compiled under one of several plans, with `cpu="direct"` insisted on: that compares nine inputs. Then
every call is compared with PJRT's (`direct_way.EVERY = 1`), from several threads. What is no kernel is refused; it is
counted by reason. A process that ends is named with the seed that it was at.
"""

import argparse
import re
import sys
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import resumed
import workers

CHUNK = 50  # programs of one process
SECONDS = 300  # of a program
OTHERS = 3  # inputs of calls after the first one
THREADS = 2
DIRECT = "direct call of the kernels"
WRONG = "wrong: "


def run_all(first: int, count: int, jobs: int, seconds: float = SECONDS, kept: Path | None = None) -> Counter[str]:
    """Runs the programs of the seeds from `first` on; how many were `DIRECT`, `WRONG...` or refused, and why."""
    found = workers.all_of(__file__, range(first, first + count), CHUNK, jobs=jobs, seconds=seconds, kept=kept)
    return Counter(judged(*each) for each in found)


def judged(seed: int, note: str) -> str:
    """What a program's last note means."""
    if "differs" in note or "other bits" in note or note.startswith(("died", "hung")):
        return f"{WRONG}seed {seed}: {note}"
    return note if note == DIRECT else re.sub(r"[\w.-]*\d[\w.-]*", "N", note.removeprefix("no direct call: "))


def work(seeds: str) -> None:
    """What becomes of programs."""
    from hlograph.runtime.direct import verdict
    from hlograph.runtime.executables import direct_way

    verdict.assume("")
    direct_way.EVERY, direct_way.CHECKS = 1, 1 << 30  # to the end
    warnings.simplefilter("error", RuntimeWarning)
    workers.serve(seeds, tried)


def tried(seed: int) -> str:
    """How a program is called: `DIRECT`, or why not so."""
    import numpy as np
    from property.programs import arrays_of, build, random_recipe, sizes_of

    import hlograph
    from hlograph.runtime.direct.call import varied

    recipe = random_recipe(seed)
    case = build(recipe)
    sizes = list(sizes_of(case, recipe, 1))
    if not sizes or not case.program.signature.results:
        return "no results, or no sizes that were tried fulfil the program's constraints"
    # A plan: kernels of many ops or of few, packed or not.
    forms, regions, math, pack = (bool(seed >> bit & 1) for bit in range(4))
    options: dict[str, Any] = {"forms": forms, "regions": regions or math, "math": math, "pack": pack}
    cpu = hlograph.CpuOptions(**options, direct=True)
    fn = case.program.compile(outputs="numpy", policy="exact", cpu=cpu)

    def note() -> str:
        (executable,) = fn.stats.by_executable
        return [*(note for note in executable.plan if "direct call" in note), "the plan has no direct call"][0]

    arrays, random = arrays_of(case, recipe, sizes[0]), np.random.default_rng(seed)
    fn(*arrays)
    if note() == DIRECT:  # with other values of the same kinds; integers stay, as they may be sizes and places
        others = [
            [varied(x, trial, random) if np.asarray(x).dtype.kind in "fc" else x for x in arrays]
            for trial in range(OTHERS)
        ]
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(lambda given: fn(*given), others))
    return note()


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=10_000, help="number of programs")
    parser.add_argument("--jobs", type=int, default=2, help="processes at once")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of a program, after which it hangs")
    parser.add_argument("--done", type=Path, help="a folder for what was found, which is not run again")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        work(given.worker)
        return 0
    kept = resumed.place(given.done, "programs") if given.done else None
    found = run_all(given.first, given.count, given.jobs, given.seconds, kept)
    print(*(f"{count:6d}  {what}" for what, count in found.most_common()), sep="\n")
    return 1 if any(what.startswith(WRONG) for what in found) else 0


if __name__ == "__main__":
    sys.exit(main())
