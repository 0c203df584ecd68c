"""Large data and models of PyMC: time and memory of the compile and of a call, beside PyTensor's Numba and JAX modes.

    python benchmarks/large.py STABLEHLO rows     # one measurement, printed as JSON

Each measurement is a process of its own, with empty caches; the peers take turns. The model is there when the clock
starts. Memory is the most that the process had meanwhile, less what it had before; the value and gradient of a point.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from harness import Report, Target, empty_caches, run_child, show

TITLE = "Large models of PyMC: value and gradient (memory beyond what the process had)"
PEERS = ("STABLEHLO", "NUMBA", "JAX")
LIMIT = 1.0


def rows(scale: float) -> Any:
    """A logistic regression on 10^6 rows and 10 columns, 80 MB."""
    import pymc as pm

    rng = np.random.default_rng(0)
    table = rng.normal(size=(int(1_000_000 * scale), 10))
    with pm.Model() as model:
        x = pm.Data("x", table)
        seen = pm.Data("seen", (table[:, 0] + rng.logistic(size=len(table)) > 0).astype("int8"))
        pm.Bernoulli("y", logit_p=pm.Normal("level") + x @ pm.Normal("slopes", shape=10), observed=seen)
    return model


def groups(scale: float) -> Any:
    """5,000 varying intercepts and slopes, 50,000 rows."""
    import pymc as pm

    rng, count = np.random.default_rng(0), int(2500 * scale)
    group = rng.integers(0, count, 20 * count)
    with pm.Model() as model:
        spread = pm.HalfNormal("spread", shape=2)
        effects = pm.Normal("effects", shape=(count, 2)) * spread
        at = pm.Data("at", rng.normal(size=len(group)))
        mean = effects[pm.Data("group", group), 0] + effects[pm.Data("again", group), 1] * at
        pm.Normal("y", mean, pm.HalfNormal("noise"), observed=rng.normal(size=len(group)))
    return model


def process(scale: float) -> Any:
    """A Gaussian process on 1,000 points."""
    import pymc as pm

    points = np.linspace(0, 10, int(1000 * scale))
    with pm.Model() as model:
        covariance = pm.HalfNormal("height") ** 2 * pm.gp.cov.Matern52(1, ls=pm.LogNormal("length", 0.0, 0.5))
        found = pm.gp.Marginal(cov_func=covariance)
        found.marginal_likelihood("y", points[:, None], np.sin(points), pm.HalfNormal("noise"))
    return model


MODELS: dict[str, Callable[[float], Any]] = {"rows": rows, "groups": groups, "process": process}


def measure(peer: str, name: str, scale: str = "1") -> dict[str, float]:
    """In the child: one peer, one model."""
    if peer == "STABLEHLO":
        import hlograph.pytensor  # noqa: F401
    elif peer == "JAX":
        import pytensor.link.jax.dispatch
    else:
        import pytensor.link.numba.dispatch  # noqa: F401
    model = MODELS[name](float(scale))
    point = np.concatenate([np.ravel(x) for x in model.initial_point().values()]) + 0.1
    before = memory("VmRSS")
    _forget_peak()
    start = time.perf_counter()
    function = model.logp_dlogp_function(ravel_inputs=True, mode=peer)
    function.set_extra_values({})
    value, gradient = map(np.asarray, function(point))
    first, compiling = time.perf_counter() - start, memory("VmHWM")
    _forget_peak()
    calls = []
    for number in range(20):
        start = time.perf_counter()
        _ = [np.asarray(x) for x in function(point + 1e-3 * number)]
        calls.append(time.perf_counter() - start)
    return {
        "first": first,
        "call": min(calls),
        "compile memory": compiling - before,
        "call memory": memory("VmHWM") - before,
        "value": float(value),
        "norm": float(np.linalg.norm(gradient)),
    }


def memory(what: str) -> float:
    """In MB, what the process has (`VmRSS`), or the most that it had (`VmHWM`)."""
    found = re.search(rf"{what}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) / 1024 if found else float("nan")


def _forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


WHAT = ("first", "call", "compile memory", "call memory")


def run(quick: bool, progress: Callable[[str], None]) -> Report:
    """In the parent: all peers in turn, several times; medians, of calls the fastest."""
    report = Report(TITLE, ("model", "", *PEERS))
    scale = "0.1" if quick else "1"
    for name, build in MODELS.items():
        found: dict[str, list[dict[str, float]]] = {peer: [] for peer in PEERS}
        for number in range(1 if quick else 3):
            for peer in PEERS:
                progress(f"{name}: {peer}, round {number + 1}")
                with tempfile.TemporaryDirectory() as empty:
                    found[peer].append(run_child(__file__, peer, name, scale, environment=empty_caches(empty)))
        for key in ("value", "norm"):
            for peer in PEERS[1:]:
                np.testing.assert_allclose(
                    found[peer][0][key], found[PEERS[0]][0][key], rtol=1e-6, err_msg=f"{name}: {key}"
                )
        for what in WHAT:
            combine = min if what == "call" else statistics.median
            of = {peer: combine(x[what] for x in found[peer]) for peer in PEERS}
            cells = [
                f"{of[p]:.0f} MB" if "memory" in what else show(of[p], "ms" if what == "call" else "s") for p in PEERS
            ]
            report.rows.append((str(build.__doc__), what, *cells))
            report.data.append({"case": name, "what": what, **of})
            report.targets.append(
                Target(f"{name}: {what}, to the better peer", of[PEERS[0]] / min(of[p] for p in PEERS[1:]), LIMIT)
            )
    return report


if __name__ == "__main__":
    print(json.dumps(measure(*sys.argv[1:])))
