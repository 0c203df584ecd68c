"""`Program`: a StableHLO module with its signature, as a value.

In: a module (from `emit_stablehlo`, from text, from a file). Out: text, files, results from the reference interpreter,
compiled functions, other programs. Passes return a new program (`optimize_own` is for whoever has just made one). The
signature is always read from the module's attributes, so that a saved program is the whole program. Decision to know:
what runs, saves or exports a program lies above; `runtime/api.py` is the one door to it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

import numpy as np

from . import collector, forks
from . import signature as signatures
from .derivations import Made as Made
from .derivations import Source as Source
from .errors import UnsupportedGraphError
from .ir import contents
from .ir.bindings import ir
from .ir.host_calls import HostCall
from .ir.modules import clone_bytes, clone_module, to_bytecode, verify, with_attributes
from .ir.reading import readable
from .ir.walk import main_function, module_name
from .parameters import DEFAULT_LIMIT, Parameter
from .signature import Signature

if TYPE_CHECKING:
    from ..runtime.api import AheadFunction, CpuArgument, Exported, Function, PolicyArgument, TargetCosts, Topology
    from .passes.optimize import Optimize
    from .passes.report import Report, Watch

Found = TypeVar("Found")


@dataclass(frozen=True)
class Pullback:
    """The reverse-mode derivative of a program.

    Attributes:
        program: from the arguments, and cotangents of results, to cotangents of arguments.
        arguments: which arguments' cotangents its results are.
        results: of which results it takes cotangents.
    """

    program: Program
    arguments: tuple[int, ...]
    results: tuple[int, ...]

    def after(self, passes: Sequence[str]) -> Pullback:
        """That of the program after passes; raises `PassError` where it would be none, see `for_pullback`."""
        from .passes.registry import for_pullback

        sizes = {root.name for root in self.program.signature.roots}
        return replace(self, program=self.program.run_passes(for_pullback(passes, sizes)))


class Program:
    """A StableHLO module with one entry, `@main`, and its signature.

    Attributes:
        signature: names, dtypes, dimensions, roots, constraints and checks.
        bindings: by argument index, what has the values of the arguments that callers do not give: containers of the
            graph's shared variables, for a program emitted in this process; and parameters, see `save`.
        source: what it was made from (its derivatives come from there); None for a program that was loaded.
        pullback: its derivative, for a program that was loaded from a file saved with `derivatives=1`; passes change it
            as they change the program, and text and files hold it.
        host_calls: the Python functions that it calls, by name; only a program emitted in this process has some.
        optimized: the passes that `optimize_own` has run.
        check: of a program that was read from a file, what refuses a module of it once sizes are known that were open.
    """

    def __init__(
        self,
        module: ir.Module,
        *,
        filename: str = "<module>",
        bindings: Mapping[int, Any] | None = None,
        source: Source | None = None,
        pullback: Pullback | None = None,
        host_calls: Mapping[str, HostCall] | None = None,
        check: Callable[[ir.Module], None] | None = None,
    ):
        self._module = module
        self._lock = forks.lock()
        self.filename = filename
        self.signature: Signature = signatures.read(module, filename)
        self.bindings: dict[int, Any] = dict(bindings or {})
        self.source = source
        self.pullback = pullback
        self.host_calls: dict[str, HostCall] = dict(host_calls or {})
        self.optimized: tuple[str, ...] = ()
        self.check = check

    def __reduce__(self) -> tuple[Callable[..., Program], tuple[Any, ...]]:
        from ..runtime import api

        return api.pickled(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Program:
        copied = self._with(self.copy_module(), deepcopy(self.pullback, memo))
        copied.bindings, copied.optimized = deepcopy(self.bindings, memo), self.optimized
        return copied

    # ---- reading and writing ------------------------------------------------------------------------------------

    @classmethod
    def parse(
        cls, source: str | bytes, *, filename: str = "<stdin>", trusted: bool | None = None, allow: Collection[str] = ()
    ) -> Program:
        """A program from module text, MLIR bytecode or portable bytecode.

        Args:
            source: text, or bytes of either kind.
            filename: what messages call it.
            trusted: False parses it in a child process first, see `hlograph.load`; bytes are not trusted by default.
            allow: names of custom calls that are taken as they are, see `hlograph.load`; "*" for all.

        Raises:
            ArtifactError: it is malformed, damaged, too large, not StableHLO, or from a newer StableHLO or hlograph.
        """
        from ..runtime import api

        return api.parse(source, filename, trusted, allow)

    @property
    def text(self) -> str:
        """The module's text, without locations."""
        return self.to_text()

    def to_text(
        self, *, locations: bool = False, elements: int | None = None, marks: Mapping[str, str] | None = None
    ) -> str:
        """The module's text, with arguments under their names.

        Args:
            locations: whether each op's graph variable is printed too.
            elements: constants of more than so many are left out (the text cannot be parsed again), all parameters too.
            marks: further attributes of the module, in the text alone.
        """
        from ..runtime import api

        if elements is None and (whole := api.self_contained(self)) is not self:
            return whole.to_text(locations=locations, marks=marks)
        names = [argument.name for argument in self.signature.arguments]
        module = self.whole_module()
        with self._lock, with_attributes(module, marks or {}):
            text = str(module.operation.get_asm(enable_debug_info=locations, large_elements_limit=elements)) + "\n"
            return readable(text, module, names)

    def whole_module(self) -> ir.Module:
        """The module, not to be changed; of a program that has its pullback a copy that holds it, as files do."""
        from ..runtime import api

        return self._module if self.pullback is None else api.whole_module(self)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Program {self.name}{self.signature}>"

    @property
    def name(self) -> str:
        """The module's name."""
        return module_name(self._module)

    def to_bytecode(self) -> bytes:
        """MLIR bytecode of the module without pullback, for use by the same jaxlib; see `to_portable` for files."""
        with self._lock:
            return to_bytecode(self._module)

    def to_portable(self, target_version: str | None = None) -> bytes:
        """StableHLO portable bytecode (VHLO); CHLO ops are legalized to StableHLO first.

        Args:
            target_version: StableHLO version such as "1.9.0" that the reader must support; this jaxlib's by default.

        Raises:
            PassError: when the version is unknown or cannot express the program.
        """
        from ..runtime import api

        return api.to_portable(self, target_version)

    def refuse_host_calls(self, what: str) -> None:
        """Refuses to go on where the program calls Python.

        Raises:
            UnsupportedGraphError: it does; `what` says why that is no good here.
        """
        if self.host_calls:
            names = ", ".join(dict.fromkeys(call.name for call in self.host_calls.values()))
            raise UnsupportedGraphError(
                f"{self.name} calls Python functions of this process ({names}), and {what}; leave these ops out of the "
                "graph, or register a lowering rule for them (@hlograph.lowers)"
            )

    def with_pullback(self) -> Program:
        """The program with its pullback, from what it was made from.

        Raises:
            DerivativeError: there is neither source nor pullback, or no derivative.
        """
        if self.pullback is not None:
            return self
        from ..runtime import api

        return api.with_pullback(self)

    def without_pullback(self) -> Program:
        """The program alone, for what a pullback cannot follow (`pad`), and for files without derivatives."""
        alone = self if self.pullback is None else self._with(self._module, None)
        alone._lock = self._lock
        return alone

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        target: str | None = None,
        target_version: str | None = None,
        locations: bool = False,
        derivatives: int | None = None,
        parameters: str | bool | None = None,
        parameter_limit: int = DEFAULT_LIMIT,
    ) -> Path:
        """Writes the program to a file, whole or not at all.

        Args:
            path: `*.mlir` for text, `*.mlirbc` for portable bytecode.
            target: whom the file is for: a StableHLO version ("1.9.0"), a date ("2025-01-01"), "jax 0.7", "iree" or
                "pjrt", see docs/files.md.
            target_version: for `.mlirbc`, see `to_portable`.
            locations: for `.mlir`, print each op's graph variable.
            derivatives: 1 to write the program's pullback beside it, so that `jax.grad` and `jax.vjp` work on what is
                loaded; the file is then for hlograph alone. 0 to write none. By default the file has what the program
                has: a pullback that was loaded is written again.
            parameters: the name of a file for large constants (`"weights.safetensors"`), in the same folder; or True,
                for one of the module's name. It must go wherever the module goes.
            parameter_limit: constants of so many bytes are large.

        Returns:
            The path.

        Raises:
            ArtifactError: the file cannot be written.
            OptionError: there is no such target, or it does not go with the path; or `parameters` is no file's name.
            PassError, UnsupportedGraphError, DerivativeError: it cannot be had so; what is in the way is named.
        """
        from ..runtime import api

        given = {name: value for name, value in locals().items() if name not in ("self", "path", "api")}
        return api.save(self, path, **given)

    def target_costs(self, target: str) -> TargetCosts:
        """What becomes of the program for a target of `save`: what is rewritten, what is left out, who reads it.

        Raises:
            OptionError, PassError, UnsupportedGraphError: as for `save`.
        """
        from ..runtime import api

        return api.target_costs(self, target)

    # ---- passes -------------------------------------------------------------------------------------------------

    def copy_module(self) -> ir.Module:
        """A copy of the module in a context of its own, for a pass to change."""
        return clone_bytes(self.to_bytecode())

    def _with(self, module: ir.Module, pullback: Pullback | None, *, derived: bool = True) -> Program:
        """Another module and pullback with all else that this program has, but for the source where not `derived`."""
        return Program(
            module,
            filename=self.filename,
            bindings=self.bindings,
            source=self.source if derived else None,
            pullback=pullback,
            host_calls=self.host_calls,
            check=self.check,
        )

    def with_parameters(self, values: Mapping[str, Parameter]) -> Program:
        """The program with values for its last arguments, by their names: parameters, which callers do not give."""
        arguments = [replace(a, parameter=a.name) if a.name in values else a for a in self.signature.arguments]
        module = self._module
        with self._lock:
            signatures.write(main_function(module), replace(self.signature, arguments=tuple(arguments)))
        made = self._with(module, self.pullback)
        made._lock = self._lock
        made.bindings = {i: values[a.name] for i, a in enumerate(arguments) if a.name in values}
        return made

    def _twin(self) -> Program:
        """A copy in the same context, for a tenth of what one of its own costs; it shares the lock for that."""
        with self._lock:
            module = clone_module(self._module)
        twin = self._with(module, self.pullback)
        twin._lock = self._lock
        twin.optimized = self.optimized
        return twin

    __copy__ = _twin

    def run_passes(self, names: Sequence[str], *, reports: list[Report] | None = None) -> Program:
        """The program after the named passes, in order; a name may carry options: `specialize{n=3}`.

        They change a loaded program's pullback too.

        Args:
            names: the passes.
            reports: takes each pass's account of what it did to which op, and what it left alone and why.

        Raises:
            PassError: an unknown pass, wrong options, a pass that fails, or that the pullback cannot follow (`pad`).
        """
        from .passes import run_all
        from .passes.registry import keeps_function

        pullback = None if self.pullback is None else self.pullback.after(names)
        module = self.copy_module()
        found = run_all(module, names, detailed=reports is not None)
        if reports is not None:
            reports.extend(found)
        return self._with(module, pullback, derived=keeps_function(names))

    def optimize(
        self, passes: Optimize = "default", *, reassociate: bool = True, reports: list[Report] | None = None
    ) -> Program:
        """The program with the passes that make it faster or smaller; compiled functions do this for each executable.

        Most of them need static shapes: `specialize` first. What does not match stays as it is.

        Args:
            passes: "default", "none", or a list of passes as for `run_passes`; see docs/passes.md.
            reassociate: False keeps every bit of the results, and turns off what cannot.
            reports: as for `run_passes`.

        Raises:
            PassError: for an unknown pass, wrong options, or a pass that fails; this program is unchanged.
        """
        from .passes.optimize import resolve

        return self.run_passes(resolve(passes, reassociate), reports=reports)

    def optimize_own(self, passes: Sequence[str], watch: Watch | None = None) -> bool:
        """`run_passes`, in place, of those that may find something: for whoever made the program and alone has it.

        Args:
            passes: what `passes.optimize.resolve` returns.
            watch: is told of each of them.

        Returns:
            Whether anything was rewritten.
        """
        from .passes.driver import run_watched

        with self._lock, collector.paused():
            reports = run_watched(self._module, passes, watch, promising=True)
        self.optimized = tuple(passes)
        return any(report.changed for report in reports)

    def specialize(self, sizes: Mapping[str, int]) -> Program:
        """The program for given sizes of its roots; static when all are given.

        Args:
            sizes: root name to size (or value, for roots that are integer arguments).

        Raises:
            PassError: for an unknown root or a size that violates a constraint.
        """
        from .passes.registry import write_spec
        from .passes.specialize import specialize

        if not sizes and self.signature.is_static:
            return self._twin()
        spec = write_spec("specialize", {name: str(size) for name, size in sizes.items()})
        pullback = None if self.pullback is None else self.pullback.after([spec])
        module = self.copy_module()
        specialize(module, sizes)
        if self.check is not None:
            self.check(module)
        return self._with(module, pullback)

    def pad(self, bounds: Mapping[str, int]) -> Program:
        """A static program for all sizes up to bounds: the live sizes become further arguments (scalar int32).

        Its arguments have the bounds as their shape (what is beyond the live sizes must be zero), and so have its
        results (what is beyond their live sizes means nothing). Sizes that are computed from data become further
        results.

        Args:
            bounds: root name to its greatest size; for a root that is an argument's value, its greatest magnitude.

        Raises:
            PassError: an unknown root, a root without a bound, or a program with a pullback, which cannot follow: see
                `without_pullback`.
            PaddingError: an op that has no right padding rule; it is named.
        """
        from .passes.pad import pad

        if self.pullback is not None:
            self.pullback.after(["pad"])
        with self._lock, collector.paused():
            module, _ = pad(self._module, bounds)
        verify(module, "the padded module")
        if self.check is not None:
            self.check(module)
        return self._with(module, None, derived=False)

    def plain(
        self,
        *,
        sizes: Mapping[str, int] | None = None,
        bounds: Mapping[str, int] | None = None,
        padding: Literal["any", "zero"] = "any",
        optimize: Optimize = "default",
        reassociate: bool = True,
    ) -> Program:
        """The program in StableHLO's own ops, static, for any PJRT plugin: see docs/without_jax.md.

        Its arguments are the program's, then the live sizes (int32 scalars); its results are the program's, then sizes
        that are computed from data (int32), then one vector of flags, where something is to be checked: the program's
        own checks, and what its sizes must fulfil. `describe` says which is which. What lies behind the live sizes is
        zero in the results.

        Args:
            sizes: root name to size (or value), for one size only.
            bounds: root name to its greatest size, as for `pad`.
            padding: what callers put behind the live sizes of arguments: "any", or "zero", which they must then, and
                which saves masks.
            optimize: as for `compile`.
            reassociate: as for `optimize`.

        Raises:
            OptionError: an option has no such value, or a root has a size and a bound.
            PassError: a root without size and bound, or an unknown one; sizes that violate a constraint.
            PaddingError: an op that has no padding rule.
            UnsupportedGraphError: it calls Python or a library, or has ops that are not of StableHLO; all are named.
        """
        from ..runtime import api

        return api.plain(self, sizes=sizes, bounds=bounds, padding=padding, optimize=optimize, reassociate=reassociate)

    def describe(self) -> dict[str, Any]:
        """What a caller of a static program must know, ready for JSON: arguments, results, and what flags say.

        Raises:
            PassError: sizes are open.
        """
        from ..runtime import api

        return api.describe(self)

    # ---- running ------------------------------------------------------------------------------------------------

    def interpret(self, *arrays: Any) -> tuple[np.ndarray[Any, Any], ...]:
        """Runs the program in StableHLO's reference interpreter: slow, and shares no code with XLA.

        Args:
            arrays: one per argument, checked as in a call.

        Returns:
            One array per result, always a tuple.
        """
        from ..runtime import api

        return api.interpret(self, arrays)

    @overload
    def compile(
        self,
        device: Any = None,
        *,
        topology: None = None,
        cache_size: int = 128,
        policy: PolicyArgument = "auto",
        optimize: Optimize = "default",
        reassociate: bool = True,
        cpu: CpuArgument = "auto",
        outputs: Literal["jax", "numpy"] = "jax",
    ) -> Function: ...

    @overload
    def compile(
        self,
        *,
        topology: Topology,
        policy: PolicyArgument = "auto",
        optimize: Optimize = "default",
        reassociate: bool = True,
    ) -> AheadFunction: ...

    def compile(
        self,
        device: Any = None,
        *,
        topology: Topology | None = None,
        cache_size: int = 128,
        policy: PolicyArgument = "auto",
        optimize: Optimize = "default",
        reassociate: bool = True,
        cpu: CpuArgument = "auto",
        outputs: Literal["jax", "numpy"] = "jax",
    ) -> Function | AheadFunction:
        """A callable that compiles the program for the sizes that it meets, and runs it.

        Args:
            device: "cpu", "gpu", "tpu", a `jax.Device`, or None for JAX's default device.
            topology: in place of `device`: devices that need not be here, as
                `jax.experimental.topologies.get_topology_desc` describes them. What comes back is not called; its
                `lower` gives what JAX has ahead of time, see `AheadFunction`.
            cache_size: how many executables are kept.
            policy: how sizes are met: "auto", "exact", "padded", a `Bucket`, an int (a bound), or a dictionary of these
                by size name; see `hlograph.function`.
            optimize: passes over each executable's module before it is compiled: "default", "none", or a list; see
                `Program.optimize` and docs/passes.md.
            reassociate: False keeps every bit of the results of what `optimize` does.
            cpu: how executables for CPU are made: "auto", "jax", "sync", "direct", "plain" or a `hlograph.CpuOptions`;
                see `hlograph.function`.
            outputs: "jax" or "numpy", the arrays that calls return.

        Raises:
            ValueError: both `device` and `topology`.
            PassError: `optimize` names an unknown pass.
        """
        from ..runtime import api

        if topology is not None:
            if device is not None:
                raise ValueError("compile takes a device or a topology, not both")
            return api.compile_ahead(self, topology, policy=policy, optimize=optimize, reassociate=reassociate)
        return api.compile(
            self,
            device=device,
            cache_size=cache_size,
            policy=policy,
            optimize=optimize,
            reassociate=reassociate,
            cpu=cpu,
            outputs=outputs,
        )

    def to_jax_export(
        self, platforms: Sequence[str] | None = None, *, checks: Literal["refuse", "return", "drop"] = "refuse"
    ) -> Exported:
        """The program for plain JAX: `jax.export.deserialize` and `call`, with no hlograph installed.

        Symbolic sizes keep their names; as everywhere in JAX they are at least 1. Arguments and results of 64-bit
        types need JAX's x64 mode where it is called. A program that was emitted from a graph has its derivatives too
        (`exported.serialize(vjp_order=1)`).

        Args:
            platforms: "cpu", "cuda", "rocm", "tpu"; by default those that the program was emitted for, or the one that
                JAX runs on, or, where the program calls what that does not have, those that it can run on.
            checks: what becomes of checks that the program makes while it runs: "return" their flags as the last
                result (true where all is well), "drop" them, or "refuse" such a program.

        Raises:
            UnsupportedGraphError: a size is computed from data or is an argument's value, JAX cannot express the
                sizes, there are checks or shared variables, or a platform does not have what the program calls.
            DeviceError: the program was emitted for other platforms.
        """
        from ..runtime import api

        return api.to_jax_export(self, platforms, checks)

    # ---- looking ------------------------------------------------------------------------------------------------

    def op_counts(self) -> dict[str, int]:
        """How often each op occurs in the module, most frequent first; terminators and functions are not counted."""
        with self._lock:
            return dict(contents.op_counts(self._module).most_common())

    def find(self, look: Callable[[ir.Module], Found]) -> Found:
        """What a function finds in the module, which it must not change nor keep anything of."""
        with self._lock:
            return look(self._module)

    def has_reduction(self, bodies: Collection[str], elements: int) -> bool:
        """Whether a static program reduces at least so many elements by one of these ops.

        Args:
            bodies: full names of ops, such as `stablehlo.maximum`.
            elements: number of elements of the operand.
        """
        with self._lock:
            return contents.has_reduction(self._module, bodies, elements)

    def constants(self) -> list[tuple[str, int, str]]:
        """The constants, largest first: (type, bytes, location). A splat counts the bytes of one element."""
        with self._lock:
            return contents.constants(self._module)
