"""Kernels called without PJRT: which models load, whether the bits are the same, and what a call takes.

    python benchmarks/direct_call.py [--jaxlib VERSION ...] [--quick] [--markdown PATH]

Without --jaxlib: in this environment. With it: in an environment for each version, made in build/. Each model is a
log-density with its gradient, compiled as one kernel for a synchronous client, and called with NumPy arrays until its
results are NumPy arrays: through `jax.jit`; through PJRT as hlograph calls it (`NumpyCalls`); and directly. A model is
refused unless the bits are those of PJRT, for its arguments and for random inputs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parent.parent
MARK = "results: "
Model = tuple[Callable[..., Any], list[np.ndarray]]

# One kernel for the whole module; few flags, since a release may drop any of them.
OPTIONS = {
    "xla_disable_hlo_passes": "dot-library-rewriter,cpu-parallel-task-assigner",
    "xla_cpu_prefer_vector_width": 512,
    "xla_backend_optimization_level": 1,
}


def models() -> dict[str, Model]:
    """Functions of JAX arrays and arguments to try them with."""
    import jax
    import jax.numpy as jnp

    random = np.random.default_rng(1)
    made: dict[str, Model] = {}

    def add(name: str, density: Callable[..., Any], *parameters: Any) -> None:
        def value_and_gradient(*arguments: Any) -> tuple[Any, ...]:
            value, gradient = jax.value_and_grad(density, argnums=tuple(range(len(parameters))))(*arguments)
            return value, *gradient

        made[name] = value_and_gradient, [np.asarray(parameter) for parameter in parameters]

    effects, errors = np.array([28.0, 8, -3, 7, -1, 1, 18, 12]), np.array([15.0, 10, 16, 11, 9, 11, 10, 18])

    def schools(mu: Any, log_tau: Any, theta: Any) -> Any:
        tau = jnp.exp(log_tau)
        likelihood = -0.5 * (((effects - mu - tau * theta) / errors) ** 2).sum()
        return likelihood - 0.5 * (theta**2).sum() - 0.02 * mu**2 - jnp.log1p((tau / 5) ** 2) + log_tau

    add("eight schools", schools, 0.3, 0.1, random.normal(size=8))

    def schools_vector(q: Any) -> Any:
        return schools(q[0], q[1], q[2:])

    def flat(q: Any) -> Any:
        value, gradient = jax.value_and_grad(schools_vector)(q)
        return jnp.append(gradient, value)

    made["eight schools, a vector in and out"] = flat, [np.append([0.3, 0.1], random.normal(size=8))]

    county = np.sort(random.integers(0, 85, 919))
    floor, radon_level = (random.random(919) < 0.2).astype(float), random.normal(1.3, 0.8, 919)
    members = [np.flatnonzero(county == group) for group in range(85)]
    table = np.full((85, max(map(len, members))), 919)  # no scatter in one kernel: a padded gather in its place
    for group, rows in enumerate(members):
        table[group, : len(rows)] = rows

    @jax.custom_vjp
    def by_county(effect: Any) -> Any:
        return effect[county]

    by_county.defvjp(
        lambda effect: (effect[county], None),
        lambda _, cotangent: (jnp.append(cotangent, 0.0)[table].sum(1),),
    )

    def radon(mu: Any, log_tau: Any, slope: Any, log_sigma: Any, effect: Any) -> Any:
        mean = mu + jnp.exp(log_tau) * by_county(effect) + slope * floor
        likelihood = -0.5 * (((radon_level - mean) / jnp.exp(log_sigma)) ** 2).sum() - 919 * log_sigma
        return likelihood - 0.5 * (effect**2).sum() - 0.5 * (mu**2 + slope**2 + log_tau**2 + log_sigma**2)

    add("radon", radon, 1.0, -1.0, -0.6, -0.3, random.normal(size=85))

    returns = random.normal(size=1000) * np.exp(random.normal(size=1000) / 2)

    def volatility(h: Any, phi: Any, log_scale: Any, log_freedom: Any) -> Any:
        freedom = jnp.exp(log_freedom)
        walk = -0.5 * ((h[1:] - phi * h[:-1]) / jnp.exp(log_scale)) ** 2 - log_scale
        constant = jax.scipy.special.gammaln((freedom + 1) / 2) - jax.scipy.special.gammaln(freedom / 2)
        tails = constant - 0.5 * log_freedom - (freedom + 1) / 2 * jnp.log1p((returns * jnp.exp(-h / 2)) ** 2 / freedom)
        return walk.sum() + (tails - h / 2).sum()

    add("stochastic volatility", volatility, random.normal(size=1000), 0.9, -1.0, 1.5)

    points = random.normal(size=500) + random.integers(0, 3, 500) * 4

    def mixture(logits: Any, means: Any, log_scales: Any) -> Any:
        parts = -0.5 * ((points[:, None] - means) / jnp.exp(log_scales)) ** 2 - log_scales
        return jax.scipy.special.logsumexp(jax.nn.log_softmax(logits) + parts, axis=1).sum()

    add("mixture", mixture, np.zeros(3), np.array([0.0, 4, 8]), np.zeros(3))

    answers = (random.random((100, 20)) < 0.6).astype(float)

    def item_response(ability: Any, difficulty: Any, log_discrimination: Any) -> Any:
        eta = jnp.exp(log_discrimination) * (ability[:, None] - difficulty)
        likelihood = (answers * eta - jnp.maximum(eta, 0) - jnp.log1p(jnp.exp(-jnp.abs(eta)))).sum()
        return likelihood - 0.5 * ((ability**2).sum() + (difficulty**2).sum() + (log_discrimination**2).sum())

    add("item response", item_response, *(random.normal(size=size) for size in (100, 20, 20)))

    rows, outcome = random.normal(size=(500, 10)), (random.random(500) < 0.5).astype(float)

    def logistic(weights: Any) -> Any:
        eta = rows @ weights
        return (outcome * eta - jnp.maximum(eta, 0) - jnp.log1p(jnp.exp(-jnp.abs(eta)))).sum() - (weights**2).sum()

    add("logistic regression", logistic, random.normal(size=10) / 4)

    series = random.normal(size=500)

    def state_space(log_scale: Any, log_noise: Any) -> Any:
        def step(carry: tuple[Any, Any], observed: Any) -> tuple[tuple[Any, Any], Any]:
            mean, variance = carry[0], carry[1] + jnp.exp(log_noise)
            total = variance + jnp.exp(log_scale)
            gain, error = variance / total, observed - mean
            return (mean + gain * error, variance * (1 - gain)), -0.5 * (jnp.log(total) + error**2 / total)

        return jax.lax.scan(step, (0.0 * log_scale, 1 + 0.0 * log_scale), series)[1].sum()

    add("state space", state_space, 0.0, -1.0)

    inputs, labels = random.normal(size=(100, 2)), (random.random(100) < 0.5).astype(float)

    def network(first: Any, second: Any, last: Any) -> Any:
        eta = jnp.tanh(jnp.tanh(inputs @ first) @ second) @ last
        likelihood = (labels * eta - jnp.maximum(eta, 0) - jnp.log1p(jnp.exp(-jnp.abs(eta)))).sum()
        return likelihood - 0.5 * ((first**2).sum() + (second**2).sum() + (last**2).sum())

    add("neural network", network, *(random.normal(size=size) for size in ((2, 5), (5, 5), 5)))

    exposure, counts = random.random(200).astype(np.float32), random.poisson(3, 200).astype(np.float32)

    def poisson(log_rate: Any, slope: Any) -> Any:
        eta = log_rate + slope * exposure
        return (counts * eta - jnp.exp(eta) - jax.scipy.special.gammaln(counts + 1)).sum()

    add("Poisson, float32", poisson, np.float32(1), np.float32(0.1))

    def picked(values: Any, positions: Any, mask: Any) -> tuple[Any, ...]:
        chosen = values[positions]
        return jnp.where(mask, chosen, jnp.cumsum(chosen)), positions.max(), mask.sum(dtype=jnp.int32)

    positions = random.integers(0, 20, 12)
    made["gather, several dtypes"] = picked, [random.normal(size=20), positions, random.random(12) < 0.5]
    return made


def small_call(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as one kernel: a call that XLA:CPU does not inline and compiles as a whole."""
    import jax
    from jax.experimental.xla_metadata import set_xla_metadata

    def body(*arguments: Any) -> Any:
        with set_xla_metadata(xla_cpu_small_call=None, inlineable=None):
            return function(*arguments)

    def outer(*arguments: Any) -> Any:
        with set_xla_metadata(xla_cpu_small_call="true", inlineable="false"):
            return jax.jit(body)(*arguments)

    return outer


def measure(rounds: int) -> dict[str, Any]:
    """Every model in this process: microseconds, or why not."""
    import jax
    import jaxlib
    from harness import compare

    from hlograph.runtime.calls.from_numpy import NumpyCalls, alone
    from hlograph.runtime.direct.call import DirectCall, DirectCallRefused
    from hlograph.runtime.executables.devices import synchronous_device

    jax.config.update("jax_enable_x64", True)
    device = synchronous_device()
    placed = jax.sharding.SingleDeviceSharding(device)
    found: dict[str, Any] = {"jaxlib": jaxlib.__version__, "models": {}}
    for name, (function, arguments) in models().items():
        jitted = jax.jit(
            small_call(function), keep_unused=True, compiler_options=OPTIONS, in_shardings=placed, out_shardings=placed
        )
        try:
            compiled = jitted.lower(*arguments).compile()
        except jax.errors.JaxRuntimeError as error:
            found["models"][name] = {"refused": "XLA: " + str(error).splitlines()[0]}
            continue
        started = time.perf_counter()
        try:
            direct = DirectCall.of(compiled, arguments)
        except DirectCallRefused as error:
            found["models"][name] = {"refused": str(error)}
            continue
        seconds = time.perf_counter() - started
        places = [alone(jax.tree.leaves(of)) for of in (compiled.args_info, compiled.out_info)]
        staged = NumpyCalls(compiled, *places, device).written(None)
        timings = compare(
            {
                "jit": lambda f=jitted, a=arguments: [np.asarray(leaf) for leaf in jax.tree.leaves(f(*a))],
                "PJRT": lambda f=staged, a=arguments: f(*a),
                "direct": lambda f=direct, a=arguments: f(*a),
            },
            "jit",
            rounds=rounds,
        )
        found["models"][name] = {who: timing.seconds * 1e6 for who, timing in timings.items()}
        found["models"][name]["load"] = seconds * 1e3
    return found


def environment(version: str) -> Path:
    """The interpreter of an environment with this version of jaxlib; made if need be."""
    folder = ROOT / "build" / f"jaxlib-{version}"
    python = folder / "bin" / "python"
    if not (folder / ".installed").exists():
        venv.create(folder, with_pip=True, clear=True)
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, f"jax=={version}", f"jaxlib=={version}", "--editable", str(ROOT)], check=True)
        (folder / ".installed").touch()
    return python


def table(runs: list[dict[str, Any]]) -> str:
    """Models by versions: microseconds of a call in the three ways, or why not."""
    reasons: list[str] = []
    versions = [run["jaxlib"] for run in runs]
    lines = ["| us: jax.jit, PJRT, direct | " + " | ".join(versions) + " |", "| --- " * (len(runs) + 1) + "|"]
    for name in runs[0]["models"]:
        cells = []
        for run in runs:
            entry = run["models"][name]
            if "refused" in entry:
                if entry["refused"] not in reasons:
                    reasons.append(entry["refused"])
                cells.append(f"refused ({reasons.index(entry['refused']) + 1:d})")
            else:
                cells.append(f"{entry['jit']:.1f}, {entry['PJRT']:.1f}, {entry['direct']:.1f}")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    loads = [[entry["load"] for entry in run["models"].values() if "load" in entry] for run in runs]
    lines.append(
        "| load and compare, ms | " + " | ".join(f"{np.median(load):.0f}" if load else "-" for load in loads) + " |"
    )
    return "\n".join(lines + [""] + [f"{i:d}. {reason}" for i, reason in enumerate(reasons, 1)])


def main() -> None:
    """Runs it here, or once in each version's environment."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jaxlib", nargs="+", metavar="VERSION", help="versions to run with, each in an environment")
    parser.add_argument("--python", nargs="+", metavar="PATH", help="interpreters to run with")
    parser.add_argument("--quick", action="store_true", help="few repetitions")
    parser.add_argument("--markdown", type=Path, help="also write the table to this file")
    options = parser.parse_args()
    rounds = 3 if options.quick else 15
    pythons = [*map(environment, options.jaxlib or ()), *map(Path, options.python or ())]
    if not pythons:
        runs = [measure(rounds)]
        print(MARK + json.dumps(runs[0]))
    else:
        runs = []
        for python in pythons:
            command = [str(python), __file__, *(["--quick"] if options.quick else [])]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ})
            line = next(line for line in done.stdout.splitlines() if line.startswith(MARK))
            runs.append(json.loads(line.removeprefix(MARK)))
    text = table(runs)
    print(text)
    if options.markdown:
        options.markdown.write_text(text + "\n")


if __name__ == "__main__":
    sys.exit(main())
