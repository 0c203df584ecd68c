"""One command for a machine with a GPU: what is tested and measured there, in 35 minutes at most; `make gpu`.

    python benchmarks/gpu.py prepare                 # where PyTensor and PyMC are: programs into build/gpu
    python benchmarks/gpu.py [--device gpu] [--seconds 2100] [--steps NAME ...] [--again] [--markdown PAGE]

Nothing is installed: a step whose libraries are missing is left out, and the page says so. Each step is a process of
its own, limited to what is left of the time. Its result is kept in build/gpu/DEVICE.json at once: another run goes on
with the steps that have none. `--device cpu` tries everything where there is no GPU, and keeps its page in build/gpu.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent
FOLDER = REPOSITORY / "build" / "gpu"
RANDOM_PROGRAMS = 120
WORKERS = max((os.cpu_count() or 2) // 2, 1)


@dataclass(frozen=True)
class Step:
    """One process.

    Attributes:
        what: the heading of its part of the page.
        command: its arguments after the interpreter; DEVICE stands for `gpu` or `cpu`.
        needs: libraries without which it is left out.
        reads: a file in build/ that `prepare` writes, likewise.
        limit: seconds at most, of what is left.
        timed: whether it measures; it then runs alone. The others run at the same time.
    """

    what: str
    command: tuple[str, ...]
    needs: tuple[str, ...] = ()
    limit: int = 600
    timed: bool = False
    reads: str = ""


def benchmark(what: str, *names: str, needs: tuple[str, ...] = (), limit: int = 600) -> Step:
    """Some of `benchmarks/run.py`, whose tables go onto the page."""
    return Step(
        what, ("benchmarks/run.py", "--only", *names, "--markdown", f"build/gpu/{names[0]}.md"), needs, limit, True
    )


STEPS = {
    "tests": Step(
        "Tests marked `gpu`",
        ("-P", "-m", "pytest", "-q", "-m", "gpu", "tests/runtime", "tests/aot"),
        ("pytest", "pytensor"),
        300,
    ),
    "golden": Step(
        "Golden programs beside the CPU's values, exact and padded",
        ("tests/aot/run.py", "--platform", "DEVICE", "--kept", "--missing", "--workers", str(WORKERS)),
        limit=900,
        reads="aot/programs/index.json",
    ),
    "random": Step(
        "Random programs: exact, padded with zeros, padded with garbage, and interpreted on the CPU",
        ("benchmarks/gpu.py", "random", "--count", str(RANDOM_PROGRAMS)),
    ),
    "loops": benchmark("Loops: time and memory", "loops"),
    "chains": benchmark("Many chains", "chains", needs=("numpyro",), limit=300),
    "padded": benchmark("What a bucket costs", "padded", needs=("pytensor",), limit=400),
}


def prepare() -> int:
    """Writes what a machine without PyTensor and PyMC cannot: the golden programs, and densities."""
    aot = REPOSITORY / "build" / "aot" / "programs"
    subprocess.run([sys.executable, "tests/aot/programs.py", str(aot)], cwd=REPOSITORY, check=True)
    subprocess.run([sys.executable, "benchmarks/chains.py"], cwd=REPOSITORY, check=True)
    print(f"{len(list(aot.glob('*.mlir')))} programs; take along build/aot/programs and build/gpu")
    return 0


def random_program(seed: int) -> dict[str, int] | str:
    """Evaluates one in all ways on JAX's default device: how many were compared by way, or the error's text."""
    sys.path[:0] = [str(REPOSITORY / "tests")] * (str(REPOSITORY / "tests") not in sys.path)
    from property.programs import random_recipe
    from property.test_padding_programs import run

    from hlograph.codegen.errors import PaddingError

    try:
        return dict(run(random_recipe(seed))[1])
    except PaddingError:
        return {"refused": 1}
    except Exception as error:  # one that differs must not keep the others from running
        return f"seed {seed}: {type(error).__name__}: {str(error).splitlines()[0][:200]}"


def random_programs(count: int) -> int:
    """Evaluates random programs in several processes; 1 where two evaluations differ, or it was cut off."""
    total, wrong, done = Counter[str](), 0, 0
    pool = ProcessPoolExecutor(WORKERS, mp_context=get_context("spawn"))
    try:
        for found in pool.map(random_program, range(count)):
            done += 1
            if isinstance(found, str):
                wrong += 1
                print(found, flush=True)
            else:
                total.update(found)
    except KeyboardInterrupt:
        pass
    counts = ", ".join(f"{number} {what}" for what, number in total.items())
    print(f"{done} programs: {wrong} differ; {counts}", flush=True)
    pool.shutdown(cancel_futures=True)
    return int(wrong > 0 or done < count)


def environment(device: str) -> dict[str, str]:
    """Of each step: JAX's platforms, no file of an earlier run, and a place where `import hlograph` finds this one."""
    links = FOLDER / "path" / "hlograph"
    links.mkdir(parents=True, exist_ok=True)
    folders = [REPOSITORY / name for name in ("codegen", "dialects", "runtime", "tools")]
    for source in [*(REPOSITORY / "hlograph").iterdir(), *folders]:
        if source.name != "__pycache__" and not (links / source.name).is_symlink():
            (links / source.name).symlink_to(source)
    paths = [str(links.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    found = os.environ | {
        "JAX_PLATFORMS": "cpu" if device == "cpu" else "cuda,cpu",
        "PYTHONPATH": os.pathsep.join(paths),
    }
    # Float32 products as on a CPU, not in TF32: what differs is then a fault.
    found |= {"NVIDIA_TF32_OVERRIDE": "0", "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    found.pop("JAX_COMPILATION_CACHE_DIR", None)
    return found


def run_step(name: str, device: str, seconds: float) -> dict[str, Any]:
    """What came of a step: its state in a word, its seconds, and the last lines that it wrote."""
    step = STEPS[name]
    missing = [name for name in step.needs if find_spec(name) is None]
    why = f"not installed here: {', '.join(missing)}" if missing else ""
    if step.reads and not (REPOSITORY / "build" / step.reads).exists():
        why = f"build/{step.reads} is not here: `make gpu-programs` writes it where PyTensor and PyMC are"
    if why:
        return {"state": "left out", "seconds": 0, "tail": [why]}
    command = [sys.executable, "-W", "ignore", *(part.replace("DEVICE", device) for part in step.command)]
    if device == "cpu":  # a trial
        command += ["--quick"] * ("--markdown" in command)
        command += ["--count", str(RANDOM_PROGRAMS // 10)] * (name == "random")
    began = time.perf_counter()
    log = FOLDER / f"{name}.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            command, cwd=REPOSITORY, env=environment(device), stdout=output, stderr=subprocess.STDOUT, text=True
        )
        try:
            status = process.wait(timeout=min(step.limit, seconds) if device == "gpu" else seconds)
            state = "passed" if status == 0 else "failed"
        except subprocess.TimeoutExpired:
            state = "cut off"
            process.send_signal(signal.SIGINT)  # which lets it keep what it has
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
    lines = [line.rstrip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    lines = [line for line in lines if not re.fullmatch(r"\w+: \d+ of \d+", line)]  # of progress
    return {"state": state, "seconds": round(time.perf_counter() - began), "tail": lines[-12:]}


def about(device: str) -> str:
    """Device, date and versions, in one line."""
    code = "import jax; d = jax.devices()[0]; print(d.device_kind)"
    kind = subprocess.run([sys.executable, "-c", code], env=environment(device), capture_output=True, text=True)
    if kind.returncode:
        raise SystemExit(f"JAX has no {device} here: {kind.stderr.strip().splitlines()[-1]}")
    packages = []
    for name in ("jax", "jaxlib", "numpyro", "pytensor", "pymc"):
        try:
            packages.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            packages.append(f"no {name}")
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=REPOSITORY, capture_output=True, text=True)
    return ", ".join(
        (kind.stdout.strip(), time.strftime("%Y-%m-%d"), f"commit {commit.stdout.strip() or 'unknown'}",
         f"Python {platform.python_version()}", *packages)
    )  # fmt: skip


def page(facts: str, results: dict[str, dict[str, Any]], device: str) -> str:
    """The page: one part for each step, with its tables."""
    facts = f"{facts}. Written by `make gpu`." if device == "gpu" else f"**A trial on a CPU.** {facts}."
    lines = ["# On a GPU", "", facts, ""]
    for name, step in STEPS.items():
        result = results.get(name, {"state": "not run yet", "seconds": 0, "tail": []})
        lines += [f"## {step.what}", "", f"`{' '.join(step.command)}`: {result['state']}, {result['seconds']} s", ""]
        table = FOLDER / f"{name}.md"
        if table.exists() and result["state"] == "passed" and "--markdown" in step.command:
            lines += [*table.read_text().replace("\n## ", "\n### ").replace("## ", "### ", 1).splitlines(), ""]
        elif result["tail"]:
            lines += ["```text", *result["tail"], "```", ""]
    return "\n".join(lines).rstrip() + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the steps that have no result yet, and writes the page."""
    parser = argparse.ArgumentParser(description="tests and measurements on a GPU")
    parser.add_argument("verb", nargs="?", choices=("run", "prepare", "random"), default="run")
    parser.add_argument("--device", choices=("gpu", "cpu"), default="gpu")
    parser.add_argument("--seconds", type=int, default=2100, help="for all steps together")
    parser.add_argument("--steps", nargs="+", choices=STEPS, default=list(STEPS), metavar="NAME", help=", ".join(STEPS))
    parser.add_argument("--again", action="store_true", help="also the steps that have a result")
    parser.add_argument("--count", type=int, default=RANDOM_PROGRAMS, help="of random programs")
    parser.add_argument("--markdown", type=Path, help="where the page goes (default: build/gpu/DEVICE.md)")
    options = parser.parse_args(arguments)
    if options.verb != "run":
        return prepare() if options.verb == "prepare" else random_programs(options.count)

    FOLDER.mkdir(parents=True, exist_ok=True)
    facts, kept = about(options.device), FOLDER / f"{options.device}.json"
    results: dict[str, dict[str, Any]] = json.loads(kept.read_text()) if kept.exists() else {}
    end = time.perf_counter() + options.seconds
    print(facts)
    settled = set() if options.again else {n for n, x in results.items() if x["state"] in ("passed", "failed")}
    chosen = [name for name in options.steps if name not in settled]
    together = [name for name in chosen if not STEPS[name].timed]
    for names in [together, *([name] for name in chosen if name not in together)]:
        left = end - time.perf_counter()
        if left < 20:
            print("the time is over; run it again for the rest")
            break
        print(*(f"==> {STEPS[name].what}" for name in names), sep="\n", flush=True)
        with ThreadPoolExecutor() as pool:
            running = {pool.submit(run_step, name, options.device, left): name for name in names}
            for done in as_completed(running):
                results[running[done]] = result = done.result()
                print(
                    running[done],
                    *result["tail"][-3:],
                    f"{result['state']}, {result['seconds']} s",
                    sep="\n",
                    flush=True,
                )
                kept.write_text(json.dumps(results, indent=1))
                (options.markdown or FOLDER / f"{options.device}.md").write_text(page(facts, results, options.device))
    return int(any(results.get(name, {}).get("state") != "passed" for name in options.steps))


if __name__ == "__main__":
    sys.exit(main())
