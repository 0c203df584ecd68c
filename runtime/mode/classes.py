"""The classes of a mode, without those of the graph library that they extend: linker, compiled function, maker, mode.

`runtime/pytensor/linker.py` and `runtime/aesara/linker.py` put them in front of their library's (`in_front_of`). The
names that the two libraries' classes go by are the same, so nothing here says which it is, but for `Mode` itself:
called by its own name it makes one of the library that is imported.
"""

from __future__ import annotations

import copyreg
import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

from ...codegen.errors import OptionError
from ...dialects.frontend import OnUnsupported
from ...dialects.library import Library
from ...dialects.library import library as graph_library
from ...dialects.registry import LIBRARIES
from ...dialects.rewrites.selection import EXCLUDED, Rewrite
from ..options import CompileOptions, Options, taking_options
from .binding import Binding, signature_of
from .values import DeviceContents

if TYPE_CHECKING:
    from typing import Any as Extended
else:
    Extended = object  # in front of a class of the library

NAME = "STABLEHLO"
SELECTION = "stablehlo"  # hlograph's selection of rewrites in the library's database


# Which rewrites a mode asks the library for; the linker excludes those for other backends. The canonicalization's
# database is always there, and empty, so that `Mode.including` finds the rewrites in it.
_REWRITES = {True: ["canonicalize_db", SELECTION], False: ["canonicalize_db"], "full": ["fast_run"]}


class LinkerParts(Extended):
    """Compiles a whole function graph as one StableHLO program.

    Args:
        options: those of `hlograph.function`, but that NumPy arrays are returned by default.
        allow_gc: whether a call's arguments are forgotten when it returns; the library's `config.allow_gc` by default.
        scheduler: the library's; the emitter has an order of its own.
        on_unsupported: see `hlograph.function`.
    """

    library: ClassVar[Library]
    device_container: ClassVar[type]  # of a container whose value may be on a device
    required_rewrites = ("minimum_compile",)
    incompatible_rewrites = EXCLUDED

    def __init__(
        self,
        *,
        allow_gc: bool | None = None,
        scheduler: Any = None,
        on_unsupported: OnUnsupported = "refuse",
        **options: Any,
    ) -> None:
        super().__init__(allow_gc=allow_gc, scheduler=scheduler)
        self.options = CompileOptions.of(**{"outputs": "numpy", **options})
        self.on_unsupported: OnUnsupported = on_unsupported
        self._given = {**options, **({} if on_unsupported == "refuse" else {"on_unsupported": on_unsupported})}
        self.fgraph: Any = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._given.items())})"

    def accept(self, fgraph: Any, no_recycling: Any = None, profile: Any = None) -> Any:
        """The linker for a function graph: this one, or a copy when it has another graph."""
        linker = self if self.fgraph is None or self.fgraph is fgraph else self.clone()
        linker.fgraph = fgraph
        return linker

    def make_all(self, input_storage: Any = None, output_storage: Any = None, storage_map: Any = None) -> Any:
        """The thunk, and the containers of inputs and outputs.

        Raises:
            UnsupportedOpError: ops without a lowering rule, all of them.
        """
        fgraph = self.fgraph
        storages = [[None] for _ in fgraph.inputs] if input_storage is None else input_storage
        results = [[None] for _ in fgraph.outputs] if output_storage is None else output_storage
        bound = Binding(self, storages)
        thunk = bound.thunk(results)
        thunk.storage_map = dict(zip([*fgraph.inputs, *fgraph.outputs], [*storages, *results], strict=True))
        kind = self.library.module("link.basic").Container if bound.on_cpu else self.device_container
        return (
            thunk,
            [kind(variable, storage) for variable, storage in zip(fgraph.inputs, storages, strict=True)],
            [kind(variable, storage, readonly=True) for variable, storage in zip(fgraph.outputs, results, strict=True)],
            [thunk],
            list(fgraph.apply_nodes),
        )


class CompiledParts(Extended):
    """A library's compiled function, without its checks for arguments like those of an earlier call.

    What a call runs is written for its arguments, where that can be done (see `Function`); else it is the library's own
    call, or a part of what JAX traces.
    """

    __call__: Any  # a slot of the class that extends it

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        binding = self.vm.binding
        self.__signature__ = signature_of(self.maker.inputs)
        self.__call__ = binding.call(self)
        binding.take_over([self.maker.inputs[i].variable for i in binding.updates.values()])

    def copy(self, share_memory: bool = False, swap: Mapping[Any, Any] | None = None, **options: Any) -> Any:
        """The library's copy; `swap` has other shared variables in the place of some."""
        copied = super().copy(share_memory, swap, **options)
        copied.vm.binding.take_over((swap or {}).values())
        return copied

    def __reduce_ex__(self, protocol: Any) -> Any:
        return copyreg.dispatch_table[self.vm.binding.library.function](self)


class MakerParts(Extended):
    """A library's function maker, for `compiled`."""

    compiled: ClassVar[type]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # The class to make, called function_builder before PyTensor 3 and in Aesara.
        setattr(self, "function_class" if hasattr(self, "function_class") else "function_builder", self.compiled)


class Mode(Extended):
    """A mode of a graph library: `pytensor.function(inputs, outputs, mode=hlograph.Mode(policy="padded"))`.

    Args:
        linker: a `StableHLOLinker`; by default one with the options below.
        optimizer: which of the library's rewrites to apply; by default those that `rewrite` says.
        db: the library's rewrite database.
        policy, device, cache_size, optimize, cpu, on_unsupported: see `hlograph.function`. The device is
            JAX's default one at the time of the compile; functions that are pickled take one by name.
        rewrite: True for hlograph's selection of the library's rewrites ("stablehlo" in its database), "full" for all
            that its own compiled modes apply, False for none.
        outputs: what calls return: "numpy", arrays that can be written to, or "jax", arrays on the device.
        library: "pytensor" or "aesara"; by default the one that is imported, or installed where none is.
    """

    linker_class: ClassVar[Any]
    maker_class: ClassVar[type]
    query: ClassVar[Any]  # the library's class of requests for rewrites

    def __new__(cls, *args: Any, library: str | None = None, **options: Any) -> Any:
        """A mode of the library, where the class is that of none."""
        if cls is Mode:
            cls = import_module(f"...{library or chosen_library()}.linker", __name__).Mode
        return super().__new__(cls)

    @taking_options(outputs="numpy")
    def __init__(
        self,
        linker: Any = None,
        optimizer: Any = None,
        db: Any = None,
        *,
        rewrite: Rewrite = True,
        on_unsupported: OnUnsupported = "refuse",
        library: str | None = None,
        **options: Unpack[Options],
    ) -> None:
        if linker is None:
            linker = self.linker_class(on_unsupported=on_unsupported, **options)
        if rewrite not in _REWRITES:
            raise ValueError(f'rewrite must be True, False or "full", got {rewrite!r}')
        super().__init__(linker, self.query(include=_REWRITES[rewrite]) if optimizer is None else optimizer, db)

    @property
    def function_maker(self) -> type:
        """Makes the compiled functions."""
        return self.maker_class


def in_front_of(package: str, module: str, mode: str = "Mode") -> tuple[Any, ...]:
    """The classes of a library's mode: ours in front of its, as those of a module, where pickles look for them.

    Returns:
        `DeviceContainer`, of values that may be on a device, `StableHLOLinker`, `Compiled`, `Maker`, and the mode's.
    """
    found = graph_library(package)
    links, compiles = found.module("link.basic"), found.module("compile.mode")

    def made(name: str, ours: type, theirs: type, **names: Any) -> Any:
        return type(name, (ours, theirs), {"__module__": module, "__doc__": ours.__doc__, **names})

    container = made("DeviceContainer", DeviceContents, links.Container)
    linker = made("StableHLOLinker", LinkerParts, links.LocalLinker, library=found, device_container=container)
    compiled = made("Compiled", CompiledParts, found.function, __slots__=("__call__",))
    maker = made("Maker", MakerParts, found.module("compile").FunctionMaker, compiled=compiled)
    query = found.module("graph.rewriting.db").RewriteDatabaseQuery
    made_mode = made(mode, Mode, compiles.Mode, linker_class=linker, maker_class=maker, query=query)
    return container, linker, compiled, maker, made_mode


def chosen_library() -> str:
    """The library of a mode when nobody says which.

    Raises:
        OptionError: both are imported, or none is and both are installed.
    """
    imported = [name for name in LIBRARIES if name in sys.modules]
    found = imported or [name for name in LIBRARIES if find_spec(name) is not None] or [LIBRARIES[0]]
    if len(found) > 1:
        names = " and ".join(found)
        raise OptionError(
            f'{names} are both {"imported" if imported else "installed"}: say hlograph.Mode(library="...")'
        )
    return found[0]


# ---- the library's registers -------------------------------------------------------------------------------------


def register(package: str, mode: Any) -> None:
    """Makes the mode known to the library by its name, once."""
    graphs = graph_library(package)
    modes, config = graphs.module("compile.mode"), graphs.module("configdefaults").config
    if NAME in modes.predefined_modes:
        return
    modes.optdb.register(SELECTION, graphs.rewrites.graph_rewriter(), position=2.1)
    modes.register_linker(NAME.lower(), mode.linker_class())
    modes.register_mode(NAME, mode())
    # `config.mode` has a fixed list of names, and no way to add one.
    parameter: Any = config._config_var_dict["mode"]
    check = parameter._apply
    parameter._apply = lambda value: value if value == NAME else check(value)
