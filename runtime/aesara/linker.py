"""hlograph as a mode of Aesara: `aesara.function(inputs, outputs, mode="STABLEHLO")`.

The classes of `runtime/mode/classes.py` in front of Aesara's. Importing this module imports Aesara and JAX, and
registers the mode.
"""

from __future__ import annotations

from aesara.compile.function.types import Function as AesaraFunction
from aesara.compile.function.types import FunctionMaker
from aesara.compile.mode import Mode as AesaraMode
from aesara.compile.sharedvalue import SharedVariable
from aesara.configdefaults import config
from aesara.graph.rewriting.db import RewriteDatabaseQuery
from aesara.link.basic import Container, LocalLinker
from aesara.scalar.basic import ScalarType
from aesara.tensor.random.type import RandomType
from aesara.tensor.type import TensorType

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
        function=AesaraFunction,
        container=Container,
        device_container=DeviceContainer,
        config=config,
        library=library("aesara"),
    )


class Compiled(CompiledParts, AesaraFunction):
    __doc__ = CompiledParts.__doc__
    __slots__ = ("__call__",)


class Maker(MakerParts, FunctionMaker):
    __doc__ = MakerParts.__doc__
    compiled = Compiled


class StableHLOMode(AnyMode, AesaraMode):
    # Aesara takes a default mode that it has made before for one of every class of that name.
    __doc__ = AnyMode.__doc__
    linker_class = StableHLOLinker
    maker_class = Maker
    query = RewriteDatabaseQuery


Mode = StableHLOMode
register("aesara", Mode)
