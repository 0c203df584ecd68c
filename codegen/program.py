"""`Program`: a StableHLO module with its signature, as a value.

In: a module (from `emit_stablehlo`, from text, from a file). Out: other programs. Passes return a new program
(`optimize_own` is for whoever has just made one). The signature is always read from the module's attributes, so that a
saved program is the whole program. Decision to know: what reads, writes, runs and exports a program lies above it. Its
methods for that are `Verb`s, which `hlograph/__init__.py` says the places of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from . import forks
from . import signature as signatures
from .errors import ArtifactError, UnsupportedGraphError
from .interrupts import collector_paused
from .ir.bindings import ir
from .ir.host_calls import HostCall
from .ir.modules import clone_bytes, clone_module, to_bytecode, verify
from .ir.values import main_function, module_name, op_counts
from .parameters import Parameter
from .renamed import missing, renamed_options
from .signature import Signature
from .verbs import Verb

if TYPE_CHECKING:
    from .passes.registry import Optimize
    from .passes.report import Report, Watch

Found = TypeVar("Found")
PUBLIC = (
    *("signature", "text", "parse", "save", "describe", "compile", "interpret", "to_jax_export"),
    *("optimize", "specialize", "pad", "plain", "with_derivatives"),
)


@dataclass(frozen=True)
class Made:
    """A program made from another.

    Attributes:
        program: it.
        places: for each of its results, which result (pushforward, batched) or argument (pullback, gradient) of the
            other it belongs to.
    """

    program: Program
    places: tuple[int, ...]


class Source(Protocol):
    """Makes programs from one that was made from this; None stands for one without results.

    All methods raise `UnsupportedGraphError`, or a kind of it, where there is no such program.
    """

    @property
    def inline(self) -> Callable[[Sequence[Any]], list[Any]] | None:
        """The program as a function for JAX to trace and transform itself; None where it is no such function."""

    @property
    def shares(self) -> bool:
        """Whether JAX's own derivatives are better inside `jax.jit`, where its reverse mode need not compute again."""

    @property
    def repeats(self) -> bool:
        """Whether a derivative that computes it again has the same results: eigenvectors may come with other signs."""

    @property
    def scales(self) -> bool:
        """Whether what a number's cotangent gives is its multiple of what 1 gives: no rule of the user's clips it, and
        nothing underflows that would not if the number were scaled."""

    def pushforward(self, program: Program, active: tuple[int, ...]) -> Made | None:
        """From the arguments, and tangents of the active ones, to tangents of the results that are no integers."""

    def pullback(self, program: Program, active: tuple[int, ...], seeded: tuple[int, ...]) -> Made | None:
        """From the arguments, and cotangents of the seeded results, to cotangents of the active arguments."""

    def gradient(self, program: Program, active: tuple[int, ...], of: int) -> Made | None:
        """From the arguments to the results, and then the gradients of one of them, a real number.

        Only the gradients have places.
        """

    def batched(self, program: Program, mapped: tuple[bool, ...]) -> Made:
        """With a leading batch axis on the mapped arguments, and on all results."""


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
        return replace(self, program=self.program.optimize(for_pullback(passes, sizes)))


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

    # From text or bytes; to text, to a file, to other formats.
    parse: Verb[Program] = Verb(static=True)
    to_text: Verb[str] = Verb()
    save: Verb[Path] = Verb()
    plain: Verb[Program] = Verb()
    describe: Verb[dict[str, Any]] = Verb()
    to_jax_export: Verb[Any] = Verb()
    # Run; and the program with its derivative.
    compile: Verb[Any] = Verb()
    interpret: Verb[tuple[np.ndarray[Any, Any], ...]] = Verb()
    with_derivatives: Verb[Program] = Verb()

    def __dir__(self) -> tuple[str, ...]:
        """What users need; the rest is for hlograph's own rooms."""
        return PUBLIC

    if not TYPE_CHECKING:  # for whom nothing is missing then

        def __getattr__(self, name):
            raise missing("Program", name)

    def __reduce__(self) -> tuple[Callable[..., Program], tuple[Any, ...]]:
        """For pickles: the module, the values that it is bound to, and its pullback, but not what it was made from.

        Raises:
            UnsupportedGraphError: it calls Python.
        """
        self.refuse_host_calls("a pickle has none of them")
        kept = {name: getattr(self, name) for name in ("filename", "bindings", "pullback", "check")}
        return _unpickled, (version("jaxlib"), self.to_bytecode(), kept, self.optimized)

    def __deepcopy__(self, memo: dict[int, Any]) -> Program:
        changes = {name: deepcopy(getattr(self, name), memo) for name in ("pullback", "bindings")}
        copied = self._with(self.copy_module(), **changes)
        copied.optimized = self.optimized
        return copied

    @property
    def text(self) -> str:
        """The module's text, without locations."""
        return self.to_text()

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Program {self.name}{self.signature}>"

    @property
    def name(self) -> str:
        """The module's name."""
        return module_name(self._module)

    def to_bytecode(self) -> bytes:
        """MLIR bytecode of the module without pullback, for use by the same jaxlib."""
        with self._lock:
            return to_bytecode(self._module)

    def refuse_host_calls(self, what: str) -> None:
        """Refuses to go on where the program calls Python.

        Raises:
            UnsupportedGraphError: it does; `what` says why that is no good here.
        """
        if self.host_calls:
            names = ", ".join(dict.fromkeys(call.name for call in self.host_calls.values()))
            raise UnsupportedGraphError(
                f"{self.name} calls Python functions of this process ({names}), and {what}; leave these calls "
                "out, or, of ops of a graph, register a lowering rule for them (@hlograph.builder.lowers)"
            )

    def alone(self) -> Program:
        """The program without its pullback."""
        return self if self.pullback is None else self._with(self._module, pullback=None)

    # ---- passes -------------------------------------------------------------------------------------------------

    def copy_module(self) -> ir.Module:
        """A copy of the module in its own context, for a pass to change."""
        return clone_bytes(self.to_bytecode())

    def _with(self, module: ir.Module, **changes: Any) -> Program:
        """Another module with what this program has besides, but for changes; in one context they share the lock."""
        names = ("filename", "bindings", "source", "pullback", "host_calls", "check")
        made = Program(module, **({name: getattr(self, name) for name in names} | changes))
        if module.context == self._module.context:
            made._lock = self._lock
        return made

    def with_parameters(self, values: Mapping[str, Parameter]) -> Program:
        """The program with values for its last arguments, by their names: parameters, which callers do not give."""
        arguments = [replace(a, parameter=a.name) if a.name in values else a for a in self.signature.arguments]
        module = self._module
        with self._lock:
            signatures.write(main_function(module), replace(self.signature, arguments=tuple(arguments)))
        return self._with(module, bindings={i: values[a.name] for i, a in enumerate(arguments) if a.name in values})

    def _twin(self) -> Program:
        """A copy in the same context, for a tenth of what one of its own costs; it shares the lock for that."""
        with self._lock:
            module = clone_module(self._module)
        twin = self._with(module)
        twin.optimized = self.optimized
        return twin

    __copy__ = _twin

    @renamed_options
    def optimize(self, passes: Optimize = "default", *, reports: list[Report] | None = None) -> Program:
        """The program after passes, in order, which change a loaded program's pullback too.

        Compiled functions do this for each executable. Most passes need static shapes: `specialize` first. What does
        not match stays as it is.

        Args:
            passes: "default"; "exact", which keeps every bit of the results and leaves out what cannot; "none"; or a
                list of passes, of which a name may carry options: `specialize{n=3}`; see docs/reference/passes.md.
            reports: takes each pass's account of what it did to which op, and what it left alone and why.

        Raises:
            PassError: for an unknown pass, wrong options, a pass that fails, or that the pullback cannot follow
                (`pad`); this program is unchanged.
        """
        from .passes import run_all
        from .passes.registry import keeps_function, resolve

        names = resolve(passes)
        pullback = None if self.pullback is None else self.pullback.after(names)
        module = self.copy_module()
        found = run_all(module, names, detailed=reports is not None)
        if reports is not None:
            reports.extend(found)
        return self._with(module, pullback=pullback, source=self.source if keeps_function(names) else None)

    def optimize_own(self, passes: Sequence[str], watch: Watch | None = None) -> bool:
        """`optimize`, in place, by those that may find something: for whoever made the program and alone has it.

        Args:
            passes: what `passes.registry.resolve` returns.
            watch: is told of each of them.

        Returns:
            Whether anything was rewritten.
        """
        from .passes import run_all

        with self._lock, collector_paused():
            reports = run_all(self._module, passes, promising=True, watch=watch)
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
        return self._with(module, pullback=pullback)

    def pad(self, bounds: Mapping[str, int], *, cpu: bool = False) -> Program:
        """A static program for all sizes up to bounds: the live sizes become further arguments (scalar int32).

        Its arguments have the bounds as their shape (what is beyond the live sizes must be zero), and so have its
        results (what is beyond their live sizes means nothing). Sizes that are computed from data become further
        results.

        Args:
            bounds: root name to its greatest size; for a root that is an argument's value, its greatest magnitude.
            cpu: it will run on a CPU, for which some ops have another form.

        Raises:
            PassError: an unknown root, a root without a bound, or a program with a pullback, which cannot follow: see
                `with_derivatives`.
            PaddingError: an op that has no right padding rule; it is named.
        """
        from .passes.pad import pad

        if self.pullback is not None:
            self.pullback.after(["pad"])
        with self._lock, collector_paused():
            module = pad(self._module, bounds, cpu=cpu)
        verify(module, "the padded module")
        if self.check is not None:
            self.check(module)
        return self._with(module, pullback=None, source=None)

    # ---- looking ------------------------------------------------------------------------------------------------

    def op_counts(self) -> dict[str, int]:
        """How often each op occurs in the module, most frequent first; terminators and functions are not counted."""
        with self._lock:
            return dict(op_counts(self._module).most_common())

    def find(self, look: Callable[[ir.Module], Found]) -> Found:
        """What a function finds in the module, which it must not change nor keep anything of."""
        with self._lock:
            return look(self._module)


def _unpickled(writer: str, bytecode: bytes, kept: dict[str, Any], optimized: tuple[str, ...]) -> Program:
    """The program in a pickle, which the release of jaxlib reads that wrote it.

    Raises:
        ArtifactError: this is another one.
    """
    if writer != version("jaxlib"):
        raise ArtifactError(
            f"{kept['filename']} was pickled with jaxlib {writer}, and here is {version('jaxlib')}, which may not read "
            "that: save the program to a file (`program.save(path)`), which other releases read"
        )
    program = Program(clone_bytes(bytecode), **kept)
    program.optimized = optimized
    return program
