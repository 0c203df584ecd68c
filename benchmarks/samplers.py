"""What users of PyMC feel, on eleven models: a call of value and gradient, the first call, whole runs of nutpie.

    python benchmarks/samplers.py [--parts calls pointers first runs] [--models NAME ...] [--rounds N] [--draws N]
        [--markdown PATH] [--write FOLDER]

calls     value and gradient, NumPy arrays in and out, through Python: hlograph's function and mode, PyTensor's JAX and
          Numba modes, whose functions trust their inputs; interleaved.
pointers  the same as C functions, called in a loop in C where there is a compiler, else by ctypes: hlograph's and the
          one that nutpie makes with Numba; and hlograph's from two threads at once.
first     from the graph to the first result, and the most memory that the process had, each in a process of its own
          with empty caches. PyMC has made the graph, and the libraries are imported, before the clock starts.
runs      nutpie, 4 chains on 2 cores, in a process of its own with empty caches: from the model to the compiled model,
          to the first draw, to the last one.

Five models more, of little but linear algebra, are measured where `--models` names them. `--quick` of `run.py` takes
three models, and leaves out Numba and the runs.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from harness import Report, Target, Timing, check_equal, compare, empty_caches, run_child, settle, show
from sampler_models import LINEAR_ALGEBRA, MODELS, value_and_gradient

TITLE = "Samplers: eleven models of PyMC"
OURS, MODE, JAX, NUMBA = "hlograph", "STABLEHLO mode", "JAX mode", "Numba mode"
PEERS = (OURS, MODE, JAX, NUMBA)
POINTER, THREADS, NUMBA_POINTER = "hlograph, C", "hlograph, C, 2 threads", "Numba, C"
ALL = MODELS | LINEAR_ALGEBRA
RUNS = ("hlograph", "numba", "jax")
PARTS = ("calls", "pointers", "first", "runs")
QUICK = ("eight schools", "radon", "local level")
SLICE = 1e-2  # seconds of calls of a pointer that are timed together

LOOP = """
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
typedef int logp(size_t, const double *, double *, double *, const void *);
typedef struct { logp *function; size_t dim; const double *x; const void *user; long calls, failed; } job;
static void *work(void *given) {
    job *j = given;
    long failed = 0;
    // No thread's results lie in another's cache lines.
    double value, *gradient = aligned_alloc(128, (j->dim * sizeof(double) + 127) / 128 * 128);
    for (long i = 0; i < j->calls; i++) failed += j->function(j->dim, j->x, gradient, &value, j->user) != 0;
    free(gradient);
    j->failed = failed;
    return NULL;
}
long run(long threads, long calls, logp *function, size_t dim, const double *x, const void *user) {
    pthread_t ids[64];
    job jobs[64];
    long failed = 0;
    for (long i = 0; i < threads; i++) jobs[i] = (job){function, dim, x, user, calls, 0};
    for (long i = 1; i < threads; i++) pthread_create(&ids[i], NULL, work, &jobs[i]);
    work(&jobs[0]);
    for (long i = 1; i < threads; i++) pthread_join(ids[i], NULL);
    for (long i = 0; i < threads; i++) failed += jobs[i].failed;
    return failed;
}
"""

Call = Callable[[], Any]


# ---- through Python -------------------------------------------------------------------------------------------------


def compiled(peer: str, x: Any, outputs: Sequence[Any]) -> Callable[[np.ndarray], Sequence[Any]]:
    """One peer's function, compiled when it is first called."""
    if peer == OURS:
        import hlograph

        return hlograph.function([x], outputs, outputs="numpy")
    import pytensor

    import hlograph.pytensor

    modes = {MODE: hlograph.Mode(), JAX: "JAX", NUMBA: "NUMBA"}
    with pytensor.config.change_flags(numba__cache=False):
        return pytensor.function([x], outputs, mode=modes[peer], trust_input=True)


def _call(peer: str, function: Callable[[np.ndarray], Sequence[Any]], point: np.ndarray) -> Call:
    """A call that ends with NumPy arrays."""
    if peer == JAX:
        return lambda: [np.asarray(result) for result in function(point)]
    return partial(function, point)


def calls(names: Sequence[str], peers: Sequence[str], rounds: int, progress: Callable[[str], None]) -> Report:
    """All peers in this process, interleaved."""
    import_module("hlograph.runtime.direct.verdict").asked(wait=True)
    report = Report(f"{TITLE}: a call through Python (ratio to the JAX mode)", ("model", *peers))
    ratios: dict[str, Mapping[str, Timing]] = {}
    for name in names:
        x, outputs, start = value_and_gradient(ALL[name]())
        point = near(start)
        candidates: dict[str, Call] = {}
        for peer in peers:
            progress(f"{name}: {peer}")
            function = compiled(peer, x, outputs)
            candidates[peer] = _call(peer, function, point)
            for _ in range(12):  # from the tenth on kernels are called directly
                candidates[peer]()
            if peer == OURS:
                settle(function, candidates[peer])
        check_equal({peer: [np.asarray(r) for r in call()] for peer, call in candidates.items()}, 1e-6)
        ratios[name] = compare(candidates, JAX, rounds=rounds)
        report.add(name, ratios[name], "us")
    report.targets.append(Target("geometric mean: hlograph to the JAX mode", mean(ratios, OURS, JAX), 0.3))
    if NUMBA in peers:
        report.targets += _beside_numba(ratios)
    return report


def _beside_numba(ratios: Mapping[str, Mapping[str, Timing]]) -> list[Target]:
    targets = [Target("geometric mean: hlograph to the Numba mode", mean(ratios, OURS, NUMBA), 0.6)]
    for name, found in ratios.items():
        targets.append(Target(f"{name}: hlograph to the Numba mode", found[OURS].ratio / found[NUMBA].ratio, 1.0))
        beyond = (found[MODE].seconds - found[NUMBA].seconds) * 1e6
        targets.append(Target(f"{name}: us of the mode beyond the Numba mode", beyond, 1.0))
    return targets


def near(start: np.ndarray) -> np.ndarray:
    """A point as samplers have them: not the prior's mean."""
    return start + 0.01 * np.random.default_rng(1).normal(size=start.shape)


def mean(ratios: Mapping[str, Mapping[str, Timing]], peer: str, other: str) -> float:
    """The geometric mean over the models of a peer's time relative to another's."""
    logs = [math.log(found[peer].ratio / found[other].ratio) for found in ratios.values()]
    return math.exp(statistics.fmean(logs))


# ---- pointers -------------------------------------------------------------------------------------------------------


def looped(folder: str) -> Callable[..., int]:
    """`run` of the program in C, or the same by ctypes where there is no compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return _by_ctypes
    source, library = Path(folder, "loop.c"), Path(folder, "loop.so")
    source.write_text(LOOP)
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", library, source, "-lpthread"], check=True)
    found = ctypes.CDLL(str(library)).run
    pointer = ctypes.c_void_p
    found.argtypes = [ctypes.c_long, ctypes.c_long, pointer, ctypes.c_size_t, pointer, pointer]
    found.restype = ctypes.c_long
    return found


def _by_ctypes(threads: int, count: int, address: int, dim: int, x: int, user: int | None) -> int:
    pointer = ctypes.c_void_p
    function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_size_t, pointer, pointer, pointer, pointer)(address)
    codes = []

    def work() -> None:
        gradient, value = np.empty(dim), np.empty(1)
        given = dim, x, gradient.ctypes.data, value.ctypes.data, user
        codes.append(sum(function(*given) != 0 for _ in range(count)))

    others = [threading.Thread(target=work) for _ in range(threads - 1)]
    for each in others:
        each.start()
    work()
    for each in others:
        each.join()
    return sum(codes)


def pointers(names: Sequence[str], numba: bool, rounds: int, progress: Callable[[str], None]) -> Report:
    """C functions: hlograph's, from one thread and from two, and nutpie's by Numba."""
    import hlograph

    peers = (POINTER, THREADS, *((NUMBA_POINTER,) if numba else ()))
    report = Report(f"{TITLE}: a call in C (ratio to {NUMBA_POINTER})", ("model", *peers))
    ratios: dict[str, Mapping[str, Timing]] = {}
    with tempfile.TemporaryDirectory() as folder:
        run = looped(folder)
        for name in names:
            progress(f"{name}: pointers")
            model = ALL[name]()
            x, outputs, start = value_and_gradient(model)
            point = near(start)
            ours = hlograph.function([x], outputs, outputs="numpy").c_function(form="logp")
            kept: list[Any] = [ours]
            addresses = {POINTER: (1, ours.address, None), THREADS: (2, ours.address, None)}
            if numba:
                kept.append(_nutpie_by_numba(model))
                addresses[NUMBA_POINTER] = 1, kept[1].compiled_logp_func.address, kept[1].user_data.ctypes.data
                _check_pointers(addresses, point, outputs, x)
            single = partial(run_checked, run, 1, 1, ours.address, point, None)
            single()
            began = time.perf_counter()
            single()
            count = max(1, int(SLICE / (time.perf_counter() - began)))
            timings = compare(
                {
                    peer: partial(run_checked, run, threads, count, address, point, user)
                    for peer, (threads, address, user) in addresses.items()
                },
                peers[-1] if numba else POINTER,
                rounds=rounds,
            )
            ratios[name] = {peer: Timing(t.seconds / count, t.ratio) for peer, t in timings.items()}
            report.add(name if ours.native else f"{name} (through Python)", ratios[name], "us")
    if numba:
        what = f"geometric mean: {POINTER} to {NUMBA_POINTER}"
        report.targets.append(Target(what, mean(ratios, POINTER, NUMBA_POINTER), 0.6))
        for name, found in ratios.items():
            report.targets.append(Target(f"{name}: {POINTER} to {NUMBA_POINTER}", found[POINTER].ratio, 1.0))
    what = "geometric mean: as many calls from each of two threads, to one thread"
    report.targets.append(Target(what, mean(ratios, THREADS, POINTER), 1.2))
    return report


def run_checked(run: Callable[..., int], threads: int, count: int, address: int, x: np.ndarray, user: Any) -> None:
    failed = run(threads, count, address, x.size, x.ctypes.data, user)
    if failed:
        raise RuntimeError(f"{failed} of {threads * count} calls failed")


def _nutpie_by_numba(model: Any) -> Any:
    import nutpie

    return nutpie.compile_pymc_model(model, backend="numba")


def _check_pointers(addresses: Mapping[str, Any], point: np.ndarray, outputs: Sequence[Any], x: Any) -> None:
    """Both are the same function."""
    results = {}
    for peer, (_, address, user) in addresses.items():
        gradient, value = np.empty(point.size), np.empty(1)
        pointer = ctypes.c_void_p
        function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_size_t, pointer, pointer, pointer, pointer)(address)
        code = function(point.size, point.ctypes.data, gradient.ctypes.data, value.ctypes.data, user)
        if code:
            raise RuntimeError(f"{peer} gave {code}")
        results[peer] = [value, gradient]
    check_equal(results, 1e-6)


# ---- in processes of their own --------------------------------------------------------------------------------------


def measure_first(peer: str, name: str) -> dict[str, float]:
    """In the child: one peer's first call."""
    import jax

    jax.config.update("jax_enable_x64", True)
    jax.devices()
    _import(peer)
    x, outputs, start = value_and_gradient(ALL[name]())
    before = most_memory()
    began, worked = time.perf_counter(), time.process_time()
    _call(peer, compiled(peer, x, outputs), start)()
    seconds, work = time.perf_counter() - began, time.process_time() - worked
    return {"seconds": seconds, "processor": work, "most": most_memory(), "before": before}


def most_memory() -> float:
    """The most that this process had, in MB; what `getrusage` gives is that of its parent, if that had more."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (found,) = (int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
    return found / 1024


def _import(peer: str) -> None:
    """What a peer imports when it first compiles."""
    own = {JAX: ("pytensor.link.jax.dispatch",), NUMBA: ("numba", "pytensor.link.numba.dispatch")}.get(peer, ())
    for name in ("pytensor.sparse", "hlograph.pytensor", "hlograph.runtime.function", *own):
        import_module(name)


def measure_run(backend: str, name: str, draws: int) -> dict[str, float]:
    """In the child: nutpie, from the model to the last draw."""
    import nutpie

    import hlograph.nutpie

    if backend != "hlograph":
        _import({"numba": NUMBA, "jax": JAX}[backend])
    model = ALL[name]()
    first = []

    def progress(chains: Any) -> None:
        if not first and any(chain.finished_draws for chain in chains):
            first.append(time.perf_counter())

    began = time.perf_counter()
    if backend == "hlograph":
        ready = hlograph.nutpie.compile_pymc_model(model)
    else:
        ready = nutpie.compile_pymc_model(model, backend=backend)
    done = time.perf_counter()
    nutpie.sample(
        ready, draws=draws, tune=draws, chains=4, cores=2, seed=1, progress_bar=False, progress_callback=progress,
        progress_rate=10,
    )  # fmt: skip
    end = time.perf_counter()
    first_draw = (first or [end])[0] - began
    return {"compiled": done - began, "first": first_draw, "end": end - began, "most": most_memory()}


def child(*arguments: str) -> dict[str, float]:
    """Runs one of these in a process of its own, with compile caches in an empty folder."""
    with tempfile.TemporaryDirectory() as empty:
        found: dict[str, float] = run_child(__file__, "--child", *arguments, environment=empty_caches(empty))
    return found


def first_calls(names: Sequence[str], peers: Sequence[str], rounds: int, progress: Callable[[str], None]) -> Report:
    """Numba once, the others several times, in turn."""
    report = Report(f"{TITLE}: first call, and most memory (ratio to the JAX mode)", ("model", *peers))
    ratios: dict[str, Mapping[str, Timing]] = {}
    for name in names:
        found: dict[str, list[dict[str, float]]] = {peer: [] for peer in peers}
        for number in range(rounds):
            for peer in peers:
                if peer != NUMBA or not number:
                    progress(f"{name}: {peer}, first call, round {number + 1} of {rounds}")
                    found[peer].append(child("first", peer, name))
        seconds = {peer: statistics.median(one["seconds"] for one in each) for peer, each in found.items()}
        most = {peer: statistics.median(one["most"] for one in each) for peer, each in found.items()}
        ratios[name] = {peer: Timing(value, value / seconds[JAX]) for peer, value in seconds.items()}
        cells = [f"{show(t.seconds, 's')} ({t.ratio:.2f}), {most[p]:,.0f} MB" for p, t in ratios[name].items()]
        report.rows.append((name, *cells))
        report.data.append({"model": name, "seconds": seconds, "most": most, "all": found})
        if NUMBA in peers:
            report.targets.append(Target(f"{name}: most memory, hlograph to Numba", most[OURS] / most[NUMBA], 1.0))
    for other, limit in ((JAX, 0.35), (NUMBA, 0.05)):
        if other in peers:
            report.targets.append(Target(f"geometric mean: hlograph to the {other}", mean(ratios, OURS, other), limit))
            worst = max(found[OURS].ratio / found[other].ratio for found in ratios.values())
            report.targets.append(Target(f"worst model: hlograph to the {other}", worst, limit))
    return report


def runs(names: Sequence[str], draws: int, progress: Callable[[str], None]) -> Report:
    """Whole runs of nutpie, one of each."""
    title = f"{TITLE}: nutpie, 4 chains of {draws} + {draws} draws on 2 cores (compiled, first draw, end)"
    report = Report(title, ("model", *RUNS))
    for name in names:
        found = {}
        for backend in RUNS:
            progress(f"{name}: nutpie with {backend}")
            found[backend] = child("run", backend, name, str(draws))
        cells = [f"{f['compiled']:.1f}, {f['first']:.1f}, {f['end']:.1f} s" for f in found.values()]
        report.rows.append((name, *cells))
        report.data.append({"model": name, "runs": found})
        ours = found["hlograph"]
        for other in ("numba", "jax"):
            ratio = ours["end"] / found[other]["end"]
            report.targets.append(Target(f"{name}: whole run, hlograph to {other}", ratio, 1.0))
        ratio = ours["first"] / found["numba"]["first"]
        report.targets.append(Target(f"{name}: first draw, hlograph to numba", ratio, 0.1))
    return report


# ---- all of it ------------------------------------------------------------------------------------------------------


def run(quick: bool, progress: Callable[[str], None]) -> Report:
    """All parts as one report."""
    parts = ("calls", "pointers", "first") if quick else PARTS
    names = QUICK if quick else tuple(MODELS)
    reports = [reported(part, names, not quick, 3 if quick else 20, 300, progress) for part in parts]
    columns = max((report.columns for report in reports), key=len)
    whole = Report(TITLE, columns)
    for part, report in zip(parts, reports, strict=True):
        missing = len(columns) - len(report.columns)
        whole.rows += [(part, *report.columns[1:], *[""] * missing)]
        whole.rows += [(*row, *[""] * missing) for row in report.rows]
        whole.data.append({"part": part, "results": report.data})
        whole.targets += report.targets
    return whole


def reported(
    part: str, names: Sequence[str], numba: bool, rounds: int, draws: int, progress: Callable[[str], None]
) -> Report:
    """One part."""
    peers = PEERS if numba else PEERS[:-1]
    if part == "calls":
        return calls(names, peers, rounds, progress)
    if part == "pointers":
        return pointers(names, numba, rounds, progress)
    if part == "first":
        return first_calls(names, peers, 3 if rounds > 5 else 1, progress)
    return runs(names, draws, progress)


def main() -> None:
    """Prints the parts that are asked for."""
    import run as runner  # which sets up the process; it imports the benchmarks by name when they are run

    parser = argparse.ArgumentParser(description=TITLE)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--models", nargs="+", choices=ALL, default=list(MODELS), metavar="NAME")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--without-numba", action="store_true", help="which takes minutes to compile")
    parser.add_argument("--markdown", type=Path, help="where to write the tables for the docs")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="also put the tables into the pages of a folder")
    options = parser.parse_args()

    import jax

    jax.config.update("jax_enable_x64", True)
    console = runner.Console(width=160)
    texts = []
    for part in options.parts:
        with runner.Console(stderr=True).status(part) as status:
            progress = partial(runner.update, status, part)
            numba = not options.without_numba
            report = reported(part, options.models, numba, options.rounds, options.draws, progress)
        console.print(runner.table(report))
        for target in report.targets:
            console.print(f"  {target}", highlight=False)
        texts.append(runner.to_markdown(report))
        if options.write:
            command = f"python benchmarks/samplers.py --parts {part}"
            runner.tables.write(options.write, f"samplers {part}", report, command, runner.machine())
    if options.markdown is not None:
        options.markdown.write_text("\n".join(texts))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        what, who, which, *more = sys.argv[2:]
        print(json.dumps(measure_first(who, which) if what == "first" else measure_run(who, which, int(more[0]))))
    else:
        main()
