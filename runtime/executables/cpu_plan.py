"""How a static program is run on the CPU: which client, which kernels, which forms of ops, which compile options.

In: a program that is about to be compiled for CPU, and what the user says (`cpu=`). Out: a `CpuPlan`: the module as XLA
gets it (by the program's `Recipe`, with a `CpuPlanner`), the options, the device, where results lie, and a line on each
decision (`hlograph.explain`, `Function.stats`). Decision to know: everything is decided from the module alone, by the
few numbers below and in the passes; a plan that XLA refuses is dropped for a plain compile, once, and counted.

    synchronous client       NumPy arrays in and out           no hop to another thread: 8 to 40 us
    one kernel               more than one op, at most OPS     1 us a kernel, 1.5 us a step of a loop
    other forms of ops       where the passes find them        docs/explanation/cpu_forms.md, cpu_math.md
    one flat result          several small ones, NumPy out     1.6 us each
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...codegen.analysis.loops import Loop
from ...codegen.ir.bindings import ir
from ...codegen.ir.kinds import having
from ...codegen.ir.modules import clone_bytes, verify
from ...codegen.ir.refused import Refused
from ...codegen.ir.values import main_function, numpy_dtype, walk
from ...codegen.passes import cpu_blas, cpu_regions, run
from ...codegen.passes.pack_results import PackedResult, pack_results
from ...codegen.program import Program
from ...codegen.recipe import Recipe, Steps
from ...dialects.jax.trace import equations
from ..direct import verdict
from ..direct.native_code import register_blas
from ..options import CpuOptions
from .devices import choose_device, compile_options, is_synchronous, platform_of
from .prepared import PreparedProgram

OPS = 4000  # of a program: from there on the passes would cost more than is saved
MANY = 100  # from which XLA may start so many kernels that calls with JAX arrays gain
STARTS = 10  # of ops with which it starts one, for the same; others it puts into one with what they read
WORK = 1 << 22  # elements computed outside of loops: from there on kernels are long, and XLA's threads help

# The same for JAX's client, which starts kernels while others run: 20,000 elements gain, 70,000 lose a sixth.
JAX_WORK = 1 << 15
LIBRARY = 1 << 22  # multiplications in dots and LAPACK calls: a millisecond and more, on threads and in other libraries
# LLVM's optimization levels for kernels of many ops. At level 1 it is done in a fraction of the time, and straight code
# is as fast; in loops it keeps what is carried in memory, and copies it in every step: a scan with 60 scalar carries
# and its gradient takes 6 to 7 times as long as at level 2 (jaxlib 0.12), which compiles it no slower.
LEVEL = 1
_VECTOR_WIDTH = 512  # bits
LEVEL_LOOPS = 2
MATH_JAX = 4096  # elements from which cpu_math pays on JAX's own client

Shape = tuple[int, ...]

_STARTING = having("starts")

# A function without loops is lowered to see what passes find in it where it has this many equations, of which some
# (`STARTS`) XLA does not put into one kernel with others; or so many that blocks which repeat cost it time.
_MANY_EQUATIONS = 50
_LONG_CODE = 200
_EQUATIONS = (
    *("dot_general", "concatenate", "gather", "sort", "scatter", "conv_general", "reduce", "cum", "arg", "fft", "lu"),
    *("cholesky", "triangular_solve", "custom_linear_solve", "dynamic_update_slice", "eig", "svd", "qr"),
)

# A library's kernels or XLA's threads would break up what is to be computed together; inside of a region XLA refuses
# them.
_ONE_KERNEL = {"xla_disable_hlo_passes": "dot-library-rewriter,cpu-parallel-task-assigner"}


@dataclass(frozen=True)
class CpuPlan:
    """How one executable is compiled and run.

    Attributes:
        prepared: what is put into JAX's module.
        recipe: what became of the program.
        options: compile options.
        outputs: shape and dtype of what the executable returns; None for the program's own results.
        places: where the results are among them, if they are packed.
        direct: whether it may be called without PJRT, as far as that is known before it is compiled.
        notes: a line on each decision.
        planned: whether there is anything to fall back from.
    """

    prepared: PreparedProgram
    recipe: Recipe
    options: Mapping[str, Any] | None = None
    outputs: tuple[tuple[Shape, np.dtype[Any]], ...] | None = None
    places: tuple[PackedResult, ...] | None = None
    direct: bool = False
    notes: tuple[str, ...] = ()
    planned: bool = False


def plan(
    prepared: PreparedProgram, options: CpuOptions, device: Any, *, numpy: bool, alone: Collection[int] = frozenset()
) -> CpuPlan:
    """The plan for a program.

    Args:
        prepared: a static one.
        options: what may be used.
        device: the `jax.Device` that it is for, or None for JAX's default.
        numpy: NumPy arrays come back.
        alone: numbers of results that are not packed.

    Raises:
        PassError: a pass fails.
    """
    if options.plain or not prepared.program.signature.is_static or platform_of(device) != "cpu":
        return plain(prepared, device)
    planner = CpuPlanner(options, is_synchronous(device), numpy, prepared.places, frozenset(alone))
    recipe = prepared.recipe.on("cpu", planner=planner)
    program = prepared.optimize()
    finished = recipe.finished(program)
    decided: dict[str, Any] = dict(finished.decided or {"notes": (finished.declined,)})
    outputs = decided.get("outputs")
    planned = prepared.with_bytecode(finished.bytecode, None if outputs is None else len(outputs))
    decided["options"] = {**(compile_options(program, device) or {}), **decided.get("options", {})} or None
    return CpuPlan(planned, recipe, planned=finished.decided is not None, **decided)


def plain(prepared: PreparedProgram, device: Any, notes: tuple[str, ...] = ()) -> CpuPlan:
    """No plan: the module is compiled as it is."""
    recipe = prepared.recipe.on(platform_of(device))
    return CpuPlan(prepared, recipe, compile_options(prepared.optimize(), device), notes=notes)


@dataclass(frozen=True)
class CpuPlanner:
    """Decides what a static module goes through for the CPU, in a `Recipe`.

    Attributes:
        options: what may be used.
        synchronous: it is for the synchronous client.
        numpy: NumPy arrays come back.
        results: which results the caller gets.
        alone: numbers among these of results that are not packed.
    """

    options: CpuOptions
    synchronous: bool
    numpy: bool
    results: tuple[int, ...]
    alone: frozenset[int] = frozenset()

    def __str__(self) -> str:
        switches = ("forms", "math", "regions", *(("pack",) if self.numpy else ()))
        return " ".join(name for name in switches if getattr(self.options, name)) or "nothing"

    def declines(self, program: Program) -> str:
        """It calls Python, which passes may neither repeat nor move; or the passes would cost more than is saved."""
        if program.host_calls:
            return "it calls Python: compiled as it is"
        total = sum(program.op_counts().values())
        return f"{total:,} ops are too many for a plan (at most {OPS:,}): compiled as it is" if total > OPS else ""

    def plan(self, steps: Steps, platform: Callable[[], None], sums: Callable[[], None]) -> dict[str, Any]:
        """Takes a module's steps; what the plan is besides, as attributes of `CpuPlan`."""
        options, notes = self.options, [f"client: {'synchronous' if self.synchronous else 'JAX'}"]

        def run_pass(spec: str) -> bool:
            """Runs a pass, with a note on what it has done; whether it has done anything."""
            report = steps.run(spec)
            notes.extend(f"{report.pass_name}: {name} ({count})" for name, count in report.rewritten.items())
            return bool(report.rewritten)

        def run_blas(spec: str) -> None:
            """Has functions of ours called where XLA would call a library that a direct call cannot, or less well."""
            if not steps.has(cpu_blas.OPS):
                return
            if why_not := register_blas():
                notes.append(f"no cpu_blas: {why_not}")
            else:
                run_pass(spec)

        with steps.module.context:
            if options.forms:
                kernels = options.regions and not self._too_long(cpu_regions.Work.of(steps.module))
                if run_pass(f"cpu_forms{{kernels={str(kernels).lower()}}}"):
                    steps.run("cse")  # a reciprocal for each quotient, and so on
            direct = self._direct(steps, notes)
            # Not before the self-test has passed: PJRT runs the same code of ours.
            by_blas = options.blas and direct and verdict.known() is not None
            by_blas &= bool(options.direct) or not _threads_help(cpu_regions.Work.of(steps.module))
            if by_blas:
                run_blas("cpu_blas{products=false}")
            platform()
            # To JAX's client arithmetic is work for another thread, and a logarithm is none.
            elements = "" if self.synchronous else f"{{elements={MATH_JAX:d}}}"
            arithmetic = options.math and run_pass(f"cpu_math{elements}")
            work = cpu_regions.Work.of(steps.module)
            compile_with: dict[str, Any] = {}
            if arithmetic and work.library <= LIBRARY and verdict.proven():
                compile_with |= _ONE_KERNEL
            if by_blas or compile_with or (options.regions and not self._too_long(work)):
                run_pass("cpu_sums")  # XLA's library for sums is off
            else:
                sums()
            outputs, places = self._pack(steps, notes)
            if options.regions:
                notes.append(_regions(steps, self._too_long(work), compile_with))
            if by_blas:
                run_blas("cpu_blas")
                compile_with.setdefault("xla_disable_hlo_passes", "dot-library-rewriter")
            verify(steps.module, "the plan")
        decided = {"options": compile_with, "outputs": outputs, "places": places}
        return {**decided, "direct": direct, "notes": tuple(notes)}

    def _too_long(self, work: cpu_regions.Work) -> str:
        return _too_long(work) if self.synchronous else _too_long(work) or _threads_start(work)

    def _direct(self, steps: Steps, notes: list[str]) -> bool:
        """Whether the executable may be called directly, as far as that can be told before it is there."""
        if self.options.direct is False or not (self.numpy and self.synchronous):
            return False
        reason = verdict.refusal(wait=bool(self.options.direct))
        if not reason and may_run_forever(steps.module):
            reason = "a loop's number of steps depends on data, so it cannot be tried"
        if reason:
            notes.append(f"no direct call: {reason}")
        return not reason

    def _pack(self, steps: Steps, notes: list[str]) -> tuple[Any, tuple[PackedResult, ...] | None]:
        """Types of the outputs, and where the results are among them; None where each result is one."""
        if not (self.options.pack and self.numpy and len(self.results) > 1):
            return None, None
        places = steps.change("pack_results", lambda module: pack_results(module, self.results, self.alone))
        results = ir.FunctionType(ir.TypeAttr(main_function(steps.module).attributes["function_type"]).value).results
        types = [ir.RankedTensorType(type_) for type_ in results]
        outputs = tuple((tuple(type_.shape), numpy_dtype(type_.element_type)) for type_ in types)
        if len(outputs) < len(places):
            arrays = f"{len(outputs)} arrays" if len(outputs) > 1 else "one array"
            notes.append(f"{len(places)} results come back in {arrays}")
        return outputs, places


def describe(program: Program, options: CpuOptions, *, numpy: bool = False) -> tuple[str, ...]:
    """What the plan for a static program would be, on the default device; () where that is no CPU."""
    device = choose_device(options, None, numpy=numpy)
    return plan(PreparedProgram(program), options, device, numpy=numpy).notes


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
        work = cpu_regions.Work.of(source)
        return not (_too_long(work) or _threads_start(work)) and bool(run(source, "cpu_regions").rewritten)


def may_pay(jaxpr: Any) -> bool:
    """Whether a plan may pay for a jaxpr: it has a loop, or many equations of few elements, inner ones counted."""
    starts = elements = count = 0
    for equation in equations(jaxpr):
        name = equation.primitive.name
        count += 1
        starts += name.startswith(_EQUATIONS)
        if name not in ("jit", "pjit"):
            elements += sum(math.prod(getattr(x.aval, "shape", ())) for x in equation.outvars)
        if name in ("scan", "while") or count >= _LONG_CODE:
            return True
    return count >= _MANY_EQUATIONS and starts >= STARTS and elements <= 4 * JAX_WORK


def _regions(steps: Steps, too_long: str, compile_with: dict[str, Any]) -> str:
    """Forms regions where they pay; a line on what was done."""
    if too_long:
        return f"no regions: {too_long}"
    if not verdict.proven():
        return "no regions: nobody has tried kernels of many ops with this jaxlib"
    count = sum(steps.run("cpu_regions").rewritten.values())
    if not count:
        return "no regions: nothing that one kernel would gain"
    compile_with |= _ONE_KERNEL | {
        "xla_cpu_prefer_vector_width": _VECTOR_WIDTH,
        "xla_backend_optimization_level": LEVEL_LOOPS if steps.has({"stablehlo.while"}) else LEVEL,
    }
    return f"{count} region{'s' * (count > 1)} of one kernel each"


def _too_long(work: cpu_regions.Work) -> str:
    if work.library > LIBRARY:
        return f"{work.library:,} multiplications in libraries take much longer than what regions save"
    return _threads_help(work)


def _threads_start(work: cpu_regions.Work) -> str:
    if work.elements > JAX_WORK:
        return f"{work.elements:,} elements are computed, while JAX's client starts what comes next"
    return ""


def _threads_help(work: cpu_regions.Work) -> str:
    """Why XLA should have its threads and its libraries; "" where it need not."""
    if work.elements > WORK:
        return f"{work.elements:,} elements are computed, and XLA's threads help"
    if work.largest >= cpu_regions.LARGE:
        return f"XLA's threads and libraries help with an array of {work.largest:,} elements"
    return ""


def may_run_forever(module: ir.Module) -> bool:
    """Whether a loop could go on forever with other arguments than the user's."""
    for op in walk(module):
        if op.name == "stablehlo.while":
            try:
                if Loop.of(op).is_live:
                    return True
            except Refused:
                return True
    return False
