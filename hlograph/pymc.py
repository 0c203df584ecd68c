"""PyMC on hlograph: its samplers, its JAX functions, and a model's density as a function in JAX.

    import hlograph.pymc

    trace = hlograph.pymc.sample(model)
    trace = pm.sample(model=model, backend="STABLEHLO")  # the same

    with hlograph.pymc.as_jax_backend():
        trace = pm.sample(model=model, nuts_sampler="numpyro")

    density = hlograph.pymc.logp(model)
    jax.value_and_grad(density)(density.initial_point)

    predict = hlograph.pymc.predictor(model, trace, "model.hlo", results=["mean", 0.05, 0.95])

What the import puts into PyMC and nutpie acts on modes of hlograph's only; `uninstall()` takes it out, `install()` puts
it back. Without nutpie, or with PyMC 5, nothing is put there. See docs/how-to/samplers.md and docs/how-to/pymc.md.
"""

from __future__ import annotations

from .runtime.samplers.hooks import install, sample, uninstall
from .runtime.samplers.in_jax import JaxBackend, LogDensity, as_jax_backend, logp
from .runtime.samplers.predictor import predictor

__all__ = ["JaxBackend", "LogDensity", "as_jax_backend", "install", "logp", "predictor", "sample", "uninstall"]

install(nutpie=False)
