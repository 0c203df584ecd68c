"""hlograph as an Aesara mode; importing this module registers it.

import hlograph.aesara

fn = aesara.function(inputs, outputs, mode="STABLEHLO")
fn = aesara.function(inputs, outputs, mode=hlograph.aesara.Mode(policy="padded", outputs="jax"))
aesara.config.mode = "STABLEHLO"  # for everything that follows
"""

from __future__ import annotations

from .runtime.aesara.linker import Mode, StableHLOLinker

__all__ = ["Mode", "StableHLOLinker"]
