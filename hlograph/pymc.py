"""PyMC's samplers on hlograph; importing this module lets `pm.sample(backend="STABLEHLO")` run nutpie.

    import hlograph.pymc

    trace = hlograph.pymc.sample(model)
    trace = pm.sample(model=model, backend="STABLEHLO")  # the same

What the import puts into PyMC and nutpie acts on modes of hlograph's only; `uninstall()` takes it out, `install()` puts
it back. See docs/samplers.md.
"""

from __future__ import annotations

from .runtime.samplers.hooks import install, uninstall
from .runtime.samplers.sample import sample

__all__ = ["install", "sample", "uninstall"]

install()
