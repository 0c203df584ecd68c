"""hlograph as a mode of Aesara: `aesara.function(inputs, outputs, mode="STABLEHLO")`.

Importing this module imports Aesara and JAX, and registers the mode.
"""

from __future__ import annotations

from ..mode.classes import in_front_of, register

# Aesara takes a default mode that it has made before for one of every class of that name.
DeviceContainer, StableHLOLinker, Compiled, Maker, StableHLOMode = in_front_of("aesara", __name__, "StableHLOMode")
Mode = StableHLOMode
register("aesara", Mode)
