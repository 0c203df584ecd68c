"""Compiles every example, benchmark model and lowering rule for devices that are not here: `make aot`.

    python tests/aot/run.py [--platform tpu cuda] [--group models rules ...] [--only TEXT ...]
                            [--policy exact padded] [--devices 1 4] [--markdown docs/reference/aot.md]

Results are kept in build/aot/results.json; a run replaces those of the programs that it compiles, so that the table can
be made in parts. Exit code 1 when something does not compile that is not among the known refusals (`refusals.py`), or
something compiles that is. `gpu` is a GPU that is here: the programs run on it, and are compared with the CPU; `cpu`
tries the same without one.
"""

import argparse
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from programs import GROUPS, Case, read_index
from refusals import known, stale
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from table import write
from worker import ANSWER

REPOSITORY = Path(__file__).resolve().parent.parent.parent
FOLDER = REPOSITORY / "build" / "aot"
PLATFORMS = ("tpu", "cuda", "gpu", "cpu")
HERE = ("gpu", "cpu")  # where programs are run
LIMIT = 600  # seconds for one program


class Worker:
    """A process that compiles for a platform, started when first needed and again when it has ended."""

    def __init__(self, platform: str) -> None:
        self.platform = platform
        self.process: subprocess.Popen[str] | None = None

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to a request; an error where the process ended over it or took too long."""
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, Path(__file__).with_name("worker.py"), self.platform],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=(FOLDER / f"{self.platform}.log").open("a"),
                text=True,
            )
        process = self.process
        assert process.stdin is not None
        assert process.stdout is not None
        timer = threading.Timer(LIMIT, process.kill)
        timer.start()
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            for line in process.stdout:
                if line.startswith(ANSWER):
                    answer: dict[str, Any] = json.loads(line.removeprefix(ANSWER))
                    return answer
        except BrokenPipeError:
            pass
        finally:
            timer.cancel()
        code = process.wait()
        self.process = None
        return {"error": f"the compiler ended the process (exit code {code}); see build/aot/{self.platform}.log"}

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process is not None and self.process.stdin is not None:
            self.process.stdin.close()
            self.process.wait()


def variants(case: Case, policies: list[str], devices: list[int], platform: str) -> Iterator[tuple[str, int]]:
    """How a program is compiled: a static one has nothing to pad, and a run takes one device."""
    for policy in policies:
        for count in devices:
            if (policy == "exact" or case.sizes) and (platform not in HERE or count == 1):
                yield policy, count


def main() -> int:
    """Collects, compiles, keeps, reports."""
    parser = argparse.ArgumentParser(description="compiles every program for devices that are not here")
    parser.add_argument("--platform", nargs="+", choices=PLATFORMS, metavar="NAME",
                        help="default: tpu, cuda, and gpu where there is one")  # fmt: skip
    parser.add_argument("--group", nargs="+", choices=GROUPS, default=GROUPS, metavar="NAME", help=", ".join(GROUPS))
    parser.add_argument("--only", nargs="+", default=[], metavar="TEXT", help="programs whose group/name holds this")
    parser.add_argument("--policy", nargs="+", choices=("exact", "padded"), default=["exact", "padded"])
    parser.add_argument("--devices", nargs="+", type=int, choices=(1, 4), default=[1, 4])
    parser.add_argument("--missing", action="store_true", help="only what has no result yet, or failed")
    parser.add_argument("--kept", action="store_true", help="the programs in build/aot/programs, collected before")
    parser.add_argument("--workers", type=int, default=1, help="processes that compile or run at the same time")
    parser.add_argument("--markdown", type=Path, help="put the tables into this file, between its markers")
    options = parser.parse_args()

    console = Console(width=None if sys.stdout.isatty() else 160)
    programs = FOLDER / "programs"
    collected = 0
    if not options.kept:
        with console.status("collecting programs"):
            command = [sys.executable, Path(__file__).with_name("programs.py"), programs]
            collected = subprocess.run(command, check=False).returncode
    cases = read_index(programs)
    kept = FOLDER / "results.json"
    results: dict[str, dict[str, Any]] = json.loads(kept.read_text()) if kept.exists() else {}
    chosen = [
        case
        for case in cases
        if case.group in options.group and (not options.only or any(text in case.key for text in options.only))
    ]
    asked: list[str] = []
    for platform in options.platform or ["tpu", "cuda", *(["gpu"] if gpu_is_here() else [])]:
        work = [(case, *v) for case in chosen for v in variants(case, options.policy, options.devices, platform)]
        if options.missing:
            work = [item for item in work if not settled(results, result_key(platform, *item))]
        try:
            asked += compile_for(platform, work, results, console, options.workers)
        finally:
            kept.write_text(json.dumps(results, indent=1))

    possible = [
        result_key(platform, case, *v)
        for platform in PLATFORMS
        for case in cases
        for v in variants(case, ["exact", "padded"], [1, 4], platform)
    ]
    results = {key: results[key] for key in possible if key in results}
    if options.markdown:
        write(options.markdown, cases, results)
    failed = [key for key in asked if not settled(results, key)]
    refused = [key for key in asked if results[key]["error"] and key not in failed]
    good = len(asked) - len(failed) - len(refused)
    console.print(f"{good} of {len(asked)} compile, {len(refused)} are known refusals, {len(failed)} fail")
    outdated = stale(possible, {key: result["error"] for key, result in results.items()})
    for refusal in outdated:
        console.print(f"[red]{refusal.where}[/red] is a known refusal, and compiles", highlight=False)
    return 1 if failed or outdated or collected else 0


def compile_for(
    platform: str,
    work: list[tuple[Case, str, int]],
    results: dict[str, dict[str, Any]],
    console: Console,
    workers: int = 1,
) -> list[str]:
    """Compiles programs for a platform, and puts what came of it into `results`; their keys."""
    asked: list[str] = []
    left, interrupted = iter(work), threading.Event()

    def compile_some(compiler: Worker) -> None:
        for case, policy, count in left:
            if interrupted.is_set():
                return
            bar.update(task, what=f"{case.key} {policy}, {count} device{'s' * (count > 1)}")
            key = result_key(platform, case, policy, count)
            path = str(FOLDER / "programs" / case.path)
            results[key] = compiler.ask({"path": path, "sizes": case.sizes, "policy": policy, "devices": count})
            asked.append(key)
            if not settled(results, key):
                console.print(f"[red]{key}[/red]: {first_line(results[key]['error'])}", highlight=False)
            bar.advance(task)
            if len(asked) % 20 == 0 and not console.is_terminal:
                console.print(f"{platform}: {len(asked)} of {len(work)}", highlight=False)

    with progress(console) as bar, ExitStack() as stack, ThreadPoolExecutor(workers) as pool:
        task = bar.add_task(platform, total=len(work), what="")
        compilers = [stack.enter_context(Worker(platform)) for _ in range(workers)]
        try:
            list(pool.map(compile_some, compilers))
        finally:
            interrupted.set()
    return asked


def settled(results: dict[str, dict[str, Any]], key: str) -> bool:
    """Whether there is a result that another run would not change: it compiles, or is known not to."""
    return key in results and (not results[key]["error"] or known(key, results[key]["error"]) is not None)


def gpu_is_here() -> bool:
    """Whether JAX has a GPU."""
    found = subprocess.run(
        [sys.executable, "-c", "import jax; jax.devices('gpu')"],
        env=os.environ | {"JAX_PLATFORMS": "cuda,cpu"},
        capture_output=True,
        check=False,
    )
    return found.returncode == 0


def result_key(platform: str, case: Case, policy: str, devices: int) -> str:
    """`tpu/exact/4/models/gp (JAX)`."""
    return f"{platform}/{policy}/{devices}/{case.key}"


def first_line(text: str) -> str:
    """The beginning of an error."""
    return text.strip().partition("\n")[0][:300]


def progress(console: Console) -> Progress:
    """A bar, on a terminal."""
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    return Progress(*columns, TextColumn("{task.fields[what]}"), console=console, transient=True)


if __name__ == "__main__":
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    sys.exit(main())
