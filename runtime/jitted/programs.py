"""The programs of a jitted function: traced when they are first needed, and found again.

In: a call's specs and sizes. Out: the program of the trace that holds for these sizes, compiled; or why there is none.
Decision to know: where no size has a name, a program is made only if the passes find something to do in it; `jax.jit`
is as good otherwise, and only a trace is lost.
"""

from __future__ import annotations

import math
import warnings
import weakref
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jax import tree_util

from ...codegen import forks
from ...codegen.constraints import Constraint
from ...codegen.errors import DeviceError, GraphError, HlographError
from ...codegen.passes import reduce_in_blocks
from ...codegen.passes.optimize import is_default
from ...codegen.passes.xla_bugs import bugs_of
from ...codegen.passes.xla_bugs.cpu_nan import ELEMENTS
from ...codegen.program import Program
from ...dialects.jax.trace import NotWanted, Traced, equations, largest, trace
from ..executables import cpu_plan
from ..executables.devices import compile_options, platform_of
from ..executables.policy import RecompilationWarning
from ..executables.stats import Stats
from ..function import Function
from ..options import CompileOptions
from .calls import X64, Call, Key, is_named

# A function without loops is lowered to see what passes find in it where it has so many equations, of which some
# (`cpu_plan.STARTS`) XLA does not put into one kernel with others; or so many that blocks which repeat cost it time.
_MANY_EQUATIONS = 50
_LONG_CODE = 200
_STARTING = (
    *("dot_general", "concatenate", "gather", "sort", "scatter", "conv_general", "reduce", "cum", "arg", "fft", "lu"),
    *("cholesky", "triangular_solve", "custom_linear_solve", "dynamic_update_slice", "eig", "svd", "qr"),
)
# With so many traces for arguments of one kind the user is told which lines decide by sizes.
_MANY_TRACES = 8
# Policies under which a function that JAX cannot trace with symbolic sizes may as well be run by jax.jit.
_MAY_COMPILE_PER_SIZE = ("auto", "exact")

# A program, why there is none, or None where `jax.jit` is as good.
Found = tuple[Traced, Function] | HlographError | None


@dataclass(frozen=True)
class JitStats(Stats):
    """Counts of a jitted function: its programs', summed, and its own.

    Attributes:
        traces: how often the function was traced into a program; more than once for arguments of one kind where its
            Python code decides by sizes.
        jax_calls: calls that plain `jax.jit` ran, which are not among `calls`; of those that were handed over to it,
            because nothing is to be gained, the first.
    """

    traces: int = 0
    jax_calls: int = 0


@dataclass(frozen=True)
class Variant:
    """One trace.

    Attributes:
        guards: what holds of the sizes that it is for.
        made: what was made of it.
    """

    guards: tuple[Constraint, ...]
    made: Found

    def fits(self, sizes: Mapping[str, int]) -> bool:
        """Whether it is for these sizes."""
        return all(guard.holds(sizes) for guard in self.guards)


@dataclass
class Programs:
    """The programs of a jitted function, by kinds of arguments and what Python decides of sizes.

    Attributes:
        name: the function's.
        constraints: what may be taken for granted of the sizes.
        options: how programs are compiled.
        dropped: told when a program is held no longer.
        traces: how often the function was traced into a program.
    """

    name: str
    constraints: tuple[str, ...]
    options: CompileOptions
    dropped: weakref.WeakMethod[Callable[[], None]]
    traces: int = 0

    def __post_init__(self) -> None:
        self._lock = forks.lock()
        self._variants: dict[Key, list[Variant]] = {}
        self._tracing: dict[Key, Any] = {}  # locks, each for arguments of one kind
        self._traces_of: Counter[Key] = Counter()

    @property
    def target(self) -> str | None:
        """The platform that they are for; None for JAX's default device's."""
        return None if self.options.device is None else platform_of(self.options.device)

    @property
    def numpy(self) -> bool:
        """Whether calls return NumPy arrays."""
        return self.options.numpy is not None

    @property
    def planned(self) -> bool:
        """Whether executables have a plan for CPU."""
        return not self.options.cpu.plain and platform_of(self.options.device) == "cpu"

    @property
    def needed(self) -> bool:
        """Whether the policy needs a program where sizes have names: `jax.jit` compiles for each."""
        choices = self.options.policy.values() if isinstance(self.options.policy, Mapping) else [self.options.policy]
        return any(choice not in _MAY_COMPILE_PER_SIZE for choice in choices)

    def find(self, call: Call, specs: dict[str, Any], sizes: Mapping[str, int]) -> Found:
        """The program for such arguments, traced now if there is none for these sizes, or why there is none.

        None where no size has a name and the passes find nothing to do: `jax.jit` is as good.
        """
        flat, tree = tree_util.tree_flatten(list(specs.values()))
        kinds = tuple((spec.shape, spec.dtype, spec.weak_type) for spec in flat)
        key = (tuple(specs), tree, call.static, X64.value, kinds)
        with self._lock:
            tracing = self._tracing.setdefault(key, forks.lock())
        with tracing:
            variants = self._variants.setdefault(key, [])
            for number, variant in enumerate(variants):
                if variant.fits(sizes):
                    if number < len(variants) - 1:
                        variants.append(variants.pop(number))  # the one that was used last
                    return variant.made
            variant = self._variant(call, specs, sizes)
            if len(variants) >= self.options.cache_size:
                del variants[0]
                if (tell := self.dropped()) is not None:
                    tell()
            variants.append(variant)
            self._traces_of[key] += 1
            if self._traces_of[key] == _MANY_TRACES:
                self._warn_of_traces(variants)
            return variant.made

    def _variant(self, call: Call, specs: dict[str, Any], sizes: Mapping[str, int]) -> Variant:
        try:
            if not is_named(specs):
                return Variant((), self._make_static(call, specs))
            with self._lock:
                self.traces += 1
            traced = self.trace(call, specs, sizes)
            return Variant(traced.guards, (traced, Function(traced.program, self.options)))
        except (GraphError, DeviceError):
            raise
        except HlographError as error:
            return Variant(getattr(error, "guards", ()), error)

    def _warn_of_traces(self, variants: Sequence[Variant]) -> None:
        lines = Counter(guard.where for variant in variants for guard in variant.guards)
        shown = {guard.where: guard for guard in variants[-1].guards}
        asked = [f"{shown[line]} at {line}" for line, _ in lines.most_common() if line in shown]
        warnings.warn(
            f"hlograph.jit: {self.name!r} was traced {_MANY_TRACES} times, because its Python code decides by sizes "
            f"(the last time {', '.join(asked[:3])}); sizes of which the same does not hold are another trace",
            RecompilationWarning,
            stacklevel=5,
        )

    def _make_static(self, call: Call, specs: dict[str, Any]) -> tuple[Traced, Function] | None:
        try:
            traced = trace(call.function, specs, name=self.name, platform=self.target, wanted=self._worth_lowering)
        except NotWanted:
            return None
        program = traced.program
        changed = program.optimize_own(self.options.passes)
        # jax.jit takes none where it is nested.
        needs_options = compile_options(program, self.options.device) is not None
        needs_passes = any(program.find(bug.endangered) for bug in bugs_of(platform_of(self.options.device)))
        if not (changed or needs_options or needs_passes or self.numpy or (self.planned and cpu_plan.pays(program))):
            return None
        with self._lock:
            self.traces += 1
        return traced, Function(program, self.options)

    def _worth_lowering(self, jaxpr: Any) -> bool:
        """Whether passes may find something in a jaxpr's module; if they hardly can, only the trace is lost."""
        if jaxpr.effects:
            return False
        if self.numpy and self.planned:
            return True
        if platform_of(self.options.device) == "cpu" and _may_go_wrong(jaxpr.jaxpr):
            return True
        if largest(jaxpr.jaxpr) >= reduce_in_blocks.ELEMENTS:
            return True
        return not is_default(self.options.passes) or _is_long(jaxpr.jaxpr)

    def trace(self, call: Call, specs: dict[str, Any], sizes: Mapping[str, int] | None = None) -> Traced:
        """The program of such arguments, traced now.

        Raises:
            UnsupportedGraphError: JAX cannot trace the function with symbolic sizes.
        """
        return trace(
            call.function, specs, name=self.name, constraints=self.constraints, platform=self.target, sizes=sizes
        )

    @property
    def functions(self) -> list[Function]:
        """The compiled functions held now, one for each trace."""
        return [v.made[1] for found in list(self._variants.values()) for v in list(found) if isinstance(v.made, tuple)]

    def guards(self, program: Program) -> tuple[Constraint, ...]:
        """Decisions by sizes of the function's Python code while one of its programs was traced."""
        for variants in list(self._variants.values()):
            for variant in list(variants):
                if isinstance(variant.made, tuple) and variant.made[0].program is program:
                    return variant.guards
        return ()

    def clear(self) -> None:
        """Drops all of them."""
        with self._lock:
            self._variants.clear()


def _is_long(jaxpr: Any) -> bool:
    """Whether a jaxpr has a loop, or many equations, those of jaxprs inside counted."""
    starts = 0
    for count, equation in enumerate(equations(jaxpr), start=1):
        name = equation.primitive.name
        starts += name.startswith(_STARTING)
        if name in ("scan", "while") or count >= _LONG_CODE or (count >= _MANY_EQUATIONS and starts >= cpu_plan.STARTS):
            return True
    return False


def _may_go_wrong(jaxpr: Any) -> bool:
    """Whether XLA:CPU may pass NaN over in a jaxpr's maxima or minima, or take initial values in twice."""
    return any(
        equation.primitive.name == "reduce"
        or (
            equation.primitive.name in ("reduce_max", "reduce_min")
            and any(math.prod(x.aval.shape) >= ELEMENTS for x in equation.invars)
        )
        for equation in equations(jaxpr)
    )
