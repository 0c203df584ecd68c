"""hlograph as a mode of PyTensor: `pytensor.function(inputs, outputs, mode="STABLEHLO")`.

The classes of `runtime/mode/classes.py` in front of PyTensor's. Importing this module imports PyTensor and JAX, and
registers the mode.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

from pytensor.compile import Function as PyTensorFunction
from pytensor.compile import FunctionMaker
from pytensor.compile.mode import Mode as PyTensorMode
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.configdefaults import config
from pytensor.graph.rewriting.db import RewriteDatabaseQuery
from pytensor.link.basic import Container, LocalLinker
from pytensor.scalar.basic import ScalarType
from pytensor.tensor.random.type import RandomType
from pytensor.tensor.type import TensorType

from ...dialects.library import library
from ..mode.binding import Kinds
from ..mode.classes import CompiledParts, LinkerParts, MakerParts, register
from ..mode.classes import Mode as AnyMode
from ..mode.values import DeviceContents


class DeviceContainer(DeviceContents, Container):
    """A container whose JAX array becomes a NumPy array when it is read."""


class StableHLOLinker(LinkerParts, LocalLinker):
    __doc__ = LinkerParts.__doc__
    kinds = Kinds(
        shared=SharedVariable,
        generator=RandomType,
        scalar=ScalarType,
        tensor=TensorType,
        function=PyTensorFunction,
        container=Container,
        device_container=DeviceContainer,
        config=config,
        library=library("pytensor"),
    )


class Compiled(CompiledParts, PyTensorFunction):
    __doc__ = CompiledParts.__doc__
    __slots__ = ("__call__",)


class Maker(MakerParts, FunctionMaker):
    __doc__ = MakerParts.__doc__
    compiled = Compiled


class Mode(AnyMode, PyTensorMode):
    __doc__ = AnyMode.__doc__
    linker_class = StableHLOLinker
    maker_class = Maker
    query = RewriteDatabaseQuery

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
    """Says so where PyMC is about to choose otherwise than the mode's user may think."""
    names, function = caller.f_globals, caller.f_code.co_name
    if names.get("__name__") != "pymc.sampling.mcmc" or function not in _OTHERWISE:
        return
    if not isinstance(linker, names.get("NumbaLinker", ())):
        message = f"{_OTHERWISE[function]}; `import hlograph.pymc` first, and nutpie runs functions of this mode"
        warnings.warn(message, stacklevel=4 if function == "sample" else 5)


register("pytensor", Mode)
