"""hlograph as a mode of PyTensor: `pytensor.function(inputs, outputs, mode="STABLEHLO")`.

Importing this module imports PyTensor and JAX, and registers the mode.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

from ..mode.classes import in_front_of, register

DeviceContainer, StableHLOLinker, Compiled, Maker, PlainMode = in_front_of("pytensor", __name__)


class Mode(PlainMode):  # type: ignore[misc, valid-type]
    __doc__ = PlainMode.__doc__

    @property
    def linker(self) -> Any:
        """The mode's linker; PyMC asks for it to choose the sampler."""
        _warn_of_another_sampler(self._linker, sys._getframe(1))
        return self._linker

    @linker.setter
    def linker(self, linker: Any) -> None:
        self._linker = linker


# What PyMC's functions do with a linker that they do not know.
_OTHERWISE = {
    "sample": "pm.sample leaves nutpie for PyMC's own sampler, which runs in Python",
    "_sample_external_nuts": "pm.sample has nutpie compile the model with Numba, whatever the mode",
}


def _warn_of_another_sampler(linker: Any, caller: Any) -> None:
    names, function = caller.f_globals, caller.f_code.co_name
    if names.get("__name__") != "pymc.sampling.mcmc" or function not in _OTHERWISE:
        return
    if not isinstance(linker, names.get("NumbaLinker", ())):
        message = f"{_OTHERWISE[function]}; `import hlograph.pymc` first, and nutpie runs functions of this mode"
        warnings.warn(message, stacklevel=4 if function == "sample" else 5)


register("pytensor", Mode)
