"""How a static program is run on the CPU: which client, which kernels, which forms of ops, which compile options.

In: a program that is about to be compiled for CPU, and what the user says (`cpu=`). Out: a `CpuPlan`: the module as XLA
gets it, the options, the device, where results lie, and a line on each decision (`hlograph.explain`,
`Function.stats`). Decision to know: everything is decided from the module alone, by the few numbers below and in the
passes; a plan that XLA refuses is dropped for a plain compile, once, and counted.

    synchronous client       NumPy arrays in and out           no hop to another thread: 8 to 40 us
    one kernel               more than one op, at most OPS     1 us a kernel, 1.5 us a step of a loop
    other forms of ops       where the passes find them        docs/cpu_forms.md, docs/cpu_math.md
    one flat result          several small ones, NumPy out     1.6 us each
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from ...codegen.analysis.loops import Loop
from ...codegen.ir.bindings import ir
from ...codegen.ir.kinds import having
from ...codegen.ir.modules import clone_bytes, to_bytecode, verify
from ...codegen.ir.refused import Refused
from ...codegen.ir.types import numpy_dtype
from ...codegen.ir.walk import main_function, walk
from ...codegen.passes import cpu_regions, device_linalg, run
from ...codegen.passes.pack_results import PackedResult, pack_results
from ...codegen.program import Program
from ..transforms.callee import Module, Shape
from .devices import compile_options, platform_of
from .one_kernel import forms_one_kernel
from .sync_client import is_synchronous, synchronous_device

OPS = 4000  # of a program: from there on the passes would cost more than is saved
MANY = 100  # from which XLA may start so many kernels that calls with JAX arrays gain
STARTS = 10  # of ops with which it starts one, for the same; others it puts into one with what they read
WORK = 1 << 22  # elements computed outside of loops: from there on kernels are long, and XLA's threads help

LIBRARY = 1 << 22  # multiplications in dots and LAPACK calls: a millisecond and more, on threads and in other libraries
# LLVM's optimization levels for kernels of many ops. At level 1 it is done in a fraction of the time, and straight code
# is as fast; in loops it keeps what is carried in memory, and copies it in every step: a scan with 60 scalar carries
# and its gradient takes 6 to 7 times as long as at level 2 (jaxlib 0.12), which compiles it no slower.
LEVEL = 1
LEVEL_LOOPS = 2
MATH_JAX = 4096  # elements from which cpu-math pays on JAX's own client

_STARTING = having("starts")

# A library's kernels or XLA's threads would break up what is to be computed together; inside of a region XLA refuses
# them.
_ONE_KERNEL = {"xla_disable_hlo_passes": "dot-library-rewriter,cpu-parallel-task-assigner"}

Client: TypeAlias = Literal["auto", "jax", "sync"]
CpuArgument: TypeAlias = 'Literal["auto", "jax", "sync", "direct", "plain"] | CpuOptions'


@dataclass(frozen=True)
class CpuOptions:
    """What a plan for CPU may use; each remedy has its switch. `cpu="plain"` is all of them off.

    Attributes:
        client: "jax", JAX's own; "sync", a synchronous one; "auto", that one where NumPy arrays come back.
        forms: other forms of ops (the pass `cpu-forms`).
        math: vectorised logarithms and gamma functions (the pass `cpu-math`).
        regions: kernels of many ops (the pass `cpu-regions`).
        pack: one flat array for small results, where NumPy arrays come back.
        vector_width: bits of a vector in kernels of many ops.
        backend_level: LLVM's optimization level for them; None for the plan's choice.
        trial: where the plan may be slower than a plain compile, both are timed in calls of the user's, once these have
            taken as long as the compile (see `runtime/executables/trial.py`); results of the two differ in rounding.
        direct: calls of the compiled kernels without PJRT, on the synchronous client: an experiment, see
            docs/direct_call.md.
    """

    client: Client = "auto"
    forms: bool = True
    math: bool = True
    regions: bool = True
    pack: bool = True
    vector_width: int = 512
    backend_level: int | None = None
    direct: bool = False
    trial: bool = True

    @staticmethod
    def of(argument: CpuArgument, reassociate: bool = True) -> CpuOptions:
        """The options that `cpu=` means; without a trial for who wants every bit the same (`reassociate=False`).

        Raises:
            ValueError: it is nothing that `cpu=` takes.
        """
        if not reassociate:
            return replace(CpuOptions.of(argument), trial=False)
        if isinstance(argument, CpuOptions):
            return argument
        found = _NAMED.get(argument) if isinstance(argument, str) else None
        if found is None:
            close = difflib.get_close_matches(str(argument), _NAMED, 1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            names = ", ".join(f'"{name}"' for name in _NAMED)
            raise ValueError(f"cpu must be {names} or hlograph.CpuOptions(...), got {argument!r}{hint}")
        return found

    def __post_init__(self) -> None:
        if self.client not in get_args(Client):
            raise ValueError(f'CpuOptions: client must be "auto", "jax" or "sync", got {self.client!r}')
        if self.vector_width not in (128, 256, 512):
            raise ValueError(f"CpuOptions: vector_width must be 128, 256 or 512, got {self.vector_width!r}")
        if self.backend_level not in (None, 0, 1, 2, 3):
            raise ValueError(f"CpuOptions: backend_level must be None, 0, 1, 2 or 3, got {self.backend_level!r}")

    @property
    def plain(self) -> bool:
        """Whether the module is compiled as it is."""
        return not (self.forms or self.math or self.regions or self.pack or self.direct)


_NAMED = {
    "auto": CpuOptions(),
    "jax": CpuOptions("jax"),
    "sync": CpuOptions("sync"),
    "direct": CpuOptions(direct=True),
    "plain": CpuOptions("jax", forms=False, math=False, regions=False, pack=False),
}


@dataclass(frozen=True)
class CpuPlan:
    """How one executable is compiled and run.

    Attributes:
        module: what is put into JAX's module.
        options: compile options.
        outputs: shape and dtype of what the executable returns; None for the program's own results.
        places: where the results are among them, if they are packed.
        direct: whether it may be called without PJRT.
        unsure: whether a plain compile may be faster, so that only a trial tells.
        notes: a line on each decision.
    """

    module: Module
    options: Mapping[str, Any] | None = None
    outputs: tuple[tuple[Shape, np.dtype[Any]], ...] | None = None
    places: tuple[PackedResult, ...] | None = None
    direct: bool = False
    unsure: bool = False
    notes: tuple[str, ...] = ()

    @property
    def planned(self) -> bool:
        """Whether there is anything to fall back from."""
        return isinstance(self.module, PlannedModule)


class PlannedModule(Module):
    """A module that has been made ready for the CPU; `places` are those of the packed outputs."""

    def __init__(self, module: Module, bytecode: bytes, count: int | None) -> None:
        super().__init__(module.program, module.sizes)
        self.checks = module.checks
        self.places = module.places if count is None else tuple(range(count))
        self._prepared["cpu", False] = bytecode


def choose_device(options: CpuOptions, device: Any, *, numpy: bool) -> Any:
    """Where executables run: the synchronous client's device, or the one that was asked for.

    Args:
        options: what may be used.
        device: the `jax.Device` that was asked for, or None for JAX's default.
        numpy: NumPy arrays come back.
    """
    wanted = options.client == "sync" or (options.client == "auto" and numpy)
    if not wanted or platform_of(device) != "cpu":
        return device
    return synchronous_device() or device


def plan(
    module: Module, options: CpuOptions, device: Any, *, numpy: bool, alone: Collection[int] = frozenset()
) -> CpuPlan:
    """The plan for a module.

    Args:
        module: with a static program.
        options: what may be used.
        device: the `jax.Device` that it is for, or None for JAX's default.
        numpy: NumPy arrays come back.
        alone: numbers of results that are not packed.
    """
    program = module.optimize()
    plain = CpuPlan(module, compile_options(program, device))
    if options.plain or not program.signature.is_static or platform_of(device) != "cpu":
        return plain
    notes = [f"client: {'synchronous' if is_synchronous(device) else 'JAX'}"]
    counts = program.op_counts()
    total = sum(counts.values())
    if total > OPS:
        why = f"{total:,} ops are too many for a plan (at most {OPS:,}): compiled as it is"
        return replace(plain, notes=(*notes, why))
    source = clone_bytes(program.to_bytecode())
    with source.context:
        if options.forms:
            _note(notes, run(source, "cpu-forms"))
        if not device_linalg.OPS.isdisjoint(counts):
            run(source, "device-linalg{platform=cpu}")
        run(source, "cpu-updates")
        run(source, "cpu-initial")
        compile_with = dict(plain.options or {})
        made = None
        if options.math:
            # To JAX's client arithmetic is work for another thread, and a logarithm is none.
            made = run(source, "cpu-math" if is_synchronous(device) else f"cpu-math{{elements={MATH_JAX:d}}}")
            _note(notes, made)
        work = cpu_regions.Work.of(source)
        if made is not None and made.rewritten and work.library <= LIBRARY and forms_one_kernel(_ONE_KERNEL):
            compile_with |= _ONE_KERNEL
        outputs, places = None, None
        if options.pack and numpy and len(module.places) > 1:
            places = pack_results(source, module.places, alone)
            outputs = _output_types(source)
            if len(outputs) < len(places):
                arrays = f"{len(outputs)} arrays" if len(outputs) > 1 else "one array"
                notes.append(f"{len(places)} results come back in {arrays}")
        unsure = False
        if options.regions:
            note, unsure = _regions(source, work, options, compile_with)
            notes.append(note)
        verify(source, f"the plan for {program.name}")
        direct = options.direct and numpy and is_synchronous(device)
        if direct and _may_run_forever(source):
            direct = False
            notes.append("no direct call: a loop's number of steps depends on data, so it cannot be tried")
        planned = PlannedModule(module, to_bytecode(source), None if outputs is None else len(outputs))
    return CpuPlan(planned, compile_with or None, outputs, places, direct, unsure and not direct, tuple(notes))


def describe(program: Program, options: CpuOptions, *, numpy: bool = False) -> tuple[str, ...]:
    """What the plan for a static program would be, on the default device; () where that is no CPU."""
    device = choose_device(options, None, numpy=numpy)
    return plan(Module(program), options, device, numpy=numpy).notes


def pays(program: Program) -> bool:
    """Whether calls with JAX arrays may gain by a plan what they lose to `jax.jit`'s shorter way: 2 us."""
    counts = program.op_counts()
    total = sum(counts.values())
    if "stablehlo.while" in counts:
        return True
    starts = sum(count for name, count in counts.items() if name in _STARTING)
    if not MANY <= total <= OPS or starts < STARTS or not program.signature.is_static:
        return False
    source = clone_bytes(program.to_bytecode())
    with source.context:
        return not _too_long(cpu_regions.Work.of(source)) and bool(run(source, "cpu-regions").rewritten)


def _note(notes: list[str], report: Any) -> None:
    notes.extend(f"{report.pass_name}: {name} ({count})" for name, count in report.rewritten.items())


def _regions(
    source: Any, work: cpu_regions.Work, options: CpuOptions, compile_with: dict[str, Any]
) -> tuple[str, bool]:
    """Forms regions where they pay; a line on what was done, and whether they may cost more than they save."""
    too_long = _too_long(work)
    if too_long:
        return f"no regions: {too_long}", False
    if not forms_one_kernel(_ONE_KERNEL):
        return "no regions: one-kernel plans do not form with this jaxlib", False
    count = sum(run(source, "cpu-regions").rewritten.values())
    if not count:
        return "no regions: nothing that one kernel would gain", False
    loops = any(op.name == "stablehlo.while" for op in walk(source))
    level = options.backend_level
    if level is None:
        level = LEVEL_LOOPS if loops else LEVEL
    compile_with |= _ONE_KERNEL | {
        "xla_cpu_prefer_vector_width": options.vector_width,
        "xla_backend_optimization_level": level,
    }
    # One kernel without a loop does what the plain compile's kernels do, without starting them.
    return f"{count} region{'s' * (count > 1)} of one kernel each", loops or count > 1


def _too_long(work: cpu_regions.Work) -> str:
    """Why starting kernels is none of a program's troubles; "" where it may be."""
    if work.elements > WORK:
        return f"{work.elements:,} elements are computed, and XLA's threads help"
    if work.library > LIBRARY:
        return f"{work.library:,} multiplications in libraries take much longer than what regions save"
    if work.largest >= cpu_regions.LARGE:
        return f"XLA's threads and libraries help with an array of {work.largest:,} elements"
    return ""


def _may_run_forever(source: Any) -> bool:
    """Whether a loop could go on for ever with other arguments than the user's."""
    for op in walk(source):
        if op.name == "stablehlo.while":
            try:
                if Loop.of(op).is_live:
                    return True
            except Refused:
                return True
    return False


def _output_types(source: Any) -> tuple[tuple[Shape, np.dtype[Any]], ...]:
    results = ir.FunctionType(ir.TypeAttr(main_function(source).attributes["function_type"]).value).results
    types = [ir.RankedTensorType(type_) for type_ in results]
    return tuple((tuple(type_.shape), numpy_dtype(type_.element_type)) for type_ in types)
