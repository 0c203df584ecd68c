"""hlograph as a mode of PyTensor: `pytensor.function(inputs, outputs, mode="STABLEHLO")`.

The classes of `runtime/mode/classes.py` in front of PyTensor's. Importing this module imports PyTensor and JAX, and
registers the mode.
"""

from __future__ import annotations

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


class Maker(MakerParts, FunctionMaker):
    __doc__ = MakerParts.__doc__
    compiled = Compiled


class Mode(AnyMode, PyTensorMode):
    __doc__ = AnyMode.__doc__
    linker_class = StableHLOLinker
    maker_class = Maker
    query = RewriteDatabaseQuery


register("pytensor", Mode)
