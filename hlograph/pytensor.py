"""hlograph as a PyTensor mode; importing this module registers it.

    import hlograph.pytensor

    fn = pytensor.function(inputs, outputs, mode="STABLEHLO")
    fn = pytensor.function(inputs, outputs, mode=hlograph.Mode(policy="padded", outputs="jax"))
    pytensor.config.mode = "STABLEHLO"  # for everything that follows

PyTensor checks its configuration before any other module is there, so `PYTENSOR_FLAGS=mode=STABLEHLO` is refused; set
the mode after this import.
"""

from __future__ import annotations

from .dialects.replaced import Use as Extension
from .runtime.pytensor.extend_jax import extend_jax
from .runtime.pytensor.linker import Mode, StableHLOLinker

__all__ = ["Extension", "Mode", "StableHLOLinker", "extend_jax"]
