"""PyMC models for nutpie, compiled by hlograph: no Numba, and no interpreter's lock in nutpie's threads.

    import hlograph.nutpie

    compiled = hlograph.nutpie.compile_pymc_model(model)
    trace = nutpie.sample(compiled)

docs/how-to/samplers.md says what runs without Python, and what else the functions' addresses are good for.
"""

from __future__ import annotations

from .runtime.samplers.nutpie import CompiledModel, compile_pymc_model

__all__ = ["CompiledModel", "compile_pymc_model"]
