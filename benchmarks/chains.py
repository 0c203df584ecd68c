"""Many chains at once: a log-density and its gradient under `jax.vmap`, ours beside NumPyro's vectorized way.

`chain_method="vectorized"` of NumPyro maps the potential of a model over chains; here the same is done with the
program of the PyMC model, by `jax.vmap` of what `hlograph.load` gives. Both have the same parametrization, and their
values are compared before anything is timed. Our programs check parameters, as PyMC's graphs say; on a GPU the check
is a call of Python, so that NumPyro's function is timed with such a check as well. Programs are kept in
build/gpu/densities, so that a machine without PyMC measures what another one has written (`python benchmarks/chains.py
FOLDER`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from harness import Report, Target, check_equal, compare

TITLE = "Value and gradient of 1,024 chains: `jax.vmap` of hlograph's program and of NumPyro's potential"
CHAINS = 1024
FOLDER = Path(__file__).parent.parent / "build" / "gpu" / "densities"


def write(folder: Path) -> None:
    """Saves the programs of the PyMC models: a vector in, the log-density and its gradient out."""
    import sampler_models

    import hlograph

    folder.mkdir(parents=True, exist_ok=True)
    for name in POTENTIALS:
        x, outputs, start = sampler_models.value_and_gradient(getattr(sampler_models, name)())
        program = hlograph.emit_stablehlo(([x], outputs), dims={x: (len(start),)}, rewrite=True)
        program.save(folder / f"{name}.mlir", derivatives=0)


def radon() -> Callable[[Any], Any]:
    """The log-density of `sampler_models.radon` by NumPyro."""
    import numpyro
    from numpyro.distributions import HalfNormal, Normal

    rng = np.random.default_rng(0)
    county, floor = rng.integers(0, 85, 919), rng.integers(0, 2, 919).astype(float)
    y = rng.normal(1.3, 0.8, 919)

    def model() -> None:
        mu = numpyro.sample("mu", Normal(0, 10).expand([2]))
        sigma = numpyro.sample("sigma", HalfNormal(2).expand([2]))
        a = numpyro.sample("a", Normal(0, 1).expand([85]))
        b = numpyro.sample("b", Normal(0, 1).expand([85]))
        mean = mu[0] + sigma[0] * a[county] + (mu[1] + sigma[1] * b[county]) * floor
        numpyro.sample("y", Normal(mean, numpyro.sample("error", HalfNormal(2))), obs=y)

    return density(model, {"mu": (2,), "sigma": (2,), "a": (85,), "b": (85,), "error": ()})


def logistic() -> Callable[[Any], Any]:
    """The log-density of `sampler_models.logistic` by NumPyro."""
    import numpyro
    from numpyro.distributions import BernoulliLogits, Normal

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(10_000, 20)), rng.integers(0, 2, 10_000)

    def model() -> None:
        weights = numpyro.sample("weights", Normal(0, 1).expand([20]))
        intercept = numpyro.sample("intercept", Normal(0, 1))
        numpyro.sample("y", BernoulliLogits(intercept + X @ weights), obs=y)

    return density(model, {"weights": (20,), "intercept": ()})


POTENTIALS: dict[str, Callable[[], Callable[[Any], Any]]] = {"radon": radon, "logistic": logistic}


def density(model: Callable[[], None], sites: dict[str, tuple[int, ...]]) -> Callable[[Any], Any]:
    """A NumPyro model's log-density as a function of one vector: its unconstrained sites, in this order."""
    import jax
    from numpyro.infer.util import initialize_model

    potential = initialize_model(jax.random.key(0), model).potential_fn

    def of_vector(x: Any) -> Any:
        point, place = {}, 0
        for name, shape in sites.items():
            size = int(np.prod(shape))
            point[name] = x[place : place + size].reshape(shape)
            place += size
        return -potential(point)

    return of_vector


def checked(function: Callable[[Any], Any], x: Any) -> Any:
    """The results, with a check that values are finite."""
    import jax

    values, gradients = function(x)
    jax.debug.callback(lambda good: None, jax.numpy.isfinite(values).all())
    return values, gradients


def finished(function: Callable[[Any], Any], x: Any) -> Any:
    """The results, once they are there."""
    import jax

    return jax.block_until_ready(function(x))


def run(quick: bool, progress: Callable[[str], None]) -> Report:
    """Each model for which there is a program."""
    import jax

    import hlograph

    report = Report(TITLE, ("model", "hlograph", "NumPyro", "NumPyro, checked"))
    if not FOLDER.is_dir():
        write(FOLDER)
    for name, potential in POTENTIALS.items():
        progress(name)
        program = hlograph.load(FOLDER / f"{name}.mlir")
        (size,) = program.signature.arguments[0].dims
        x = jax.device_put(0.1 * np.random.default_rng(1).normal(size=(CHAINS, size)))
        ours = jax.jit(jax.vmap(program.compile()))
        mapped = jax.vmap(jax.value_and_grad(potential()))
        functions = {
            "hlograph": ours,
            "NumPyro": jax.jit(mapped),
            "NumPyro, checked": jax.jit(partial(checked, mapped)),
        }
        calls = {who: partial(finished, function, x) for who, function in functions.items()}
        check_equal({who: list(call()) for who, call in calls.items()}, 1e-9)
        report.add(name, compare(calls, "NumPyro", rounds=2 if quick else 15), "ms")
        report.targets.append(Target(f"{name}: time", report.data[-1]["hlograph"]["ratio"], 1.0))
    return report


if __name__ == "__main__":
    write(Path(sys.argv[1]) if sys.argv[1:] else FOLDER)
