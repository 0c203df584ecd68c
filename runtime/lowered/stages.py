"""What `lower` returns: JAX's `Lowered`, with the stages that the module went through; and what each stage costs.

In: what JAX lowered, and the way there. Out: `Lowered`, which is a `jax.stages.Lowered` in all that JAX has of it.
Decision to know: stages are made when they are asked for, by the passes that the lowering ran, so that `lower` costs no
more than JAX's; what a stage costs is asked of XLA, which takes a compile.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import jax

from ...codegen.errors import PassError
from ...codegen.ir.modules import to_bytecode
from ...codegen.ir.reading import located_names, readable
from ...codegen.program import Program
from ...codegen.recipe import Recipe
from .costs import Cost, measure
from .recorder import Recorder, Stage, Stages

LOWERED = "lowered"


class Lowered(jax.stages.Lowered):
    """`jax.stages.Lowered`, and the stages before it.

    `compile()`, `as_text()`, `compiler_ir()`, `cost_analysis()`, `out_info` and what else there is are JAX's.
    """

    _make: Callable[[], Stages]
    _shardings: Sequence[Any]
    _seconds: float  # of the first compile
    _planned: bool

    @classmethod
    def of(
        cls,
        lowered: jax.stages.Lowered,
        stages: Callable[[], Stages] = lambda: Stages([]),
        shardings: Sequence[Any] = (),
        planned: bool = False,
    ) -> Lowered:
        """What JAX lowered, with stages.

        Args:
            lowered: it.
            stages: makes the stages up to what was put into JAX's module; called when they are first looked at.
            shardings: of its arguments, None for one that has none.
            planned: whether it has a plan for CPU.
        """
        found = object.__new__(cls)
        for kind in type(lowered).__mro__:  # JAX's attributes are slots, which differ between its releases
            slots = vars(kind).get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                if hasattr(lowered, name):
                    object.__setattr__(found, name, getattr(lowered, name))
        vars(found).update(getattr(lowered, "__dict__", {}))
        found._make, found._shardings, found._planned = stages, shardings, planned
        return found

    @cached_property
    def stages(self) -> Stages:
        """The module as it was emitted, after each pass that changed something, and as XLA gets it ("lowered").

        Each has `text`, `op_counts`, `seconds` (of its pass) and `rewritten` (what that did how often). Printed, they
        are a table.
        """
        made = self._make()
        bytecode = to_bytecode(self.compiler_ir("stablehlo"))  # type: ignore[arg-type]
        return Stages([*made, Stage(LOWERED, "", bytecode)], made.unchanged, made.left_alone)

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False, stage: str | None = None) -> str:
        """The module's text: what XLA gets, or what it was at an earlier stage.

        Args:
            dialect: "stablehlo" (the default) or "hlo".
            debug_info: whether to print locations.
            stage: the name of a stage: "emitted", or a pass that changed something; see `stages`.

        Raises:
            PassError: there is no such stage, or a stage is asked for in another dialect than StableHLO.
        """
        if stage is None or stage == LOWERED:
            text = super().as_text(dialect, debug_info=debug_info)
            if dialect not in (None, "stablehlo"):
                return text
            module: Any = self.compiler_ir("stablehlo")
            return readable(text, module, located_names(module))
        if dialect not in (None, "stablehlo"):
            raise PassError(f"stage {stage!r} is StableHLO, and has no text in {dialect!r}; leave the dialect out")
        found = self.stages[stage]
        return found.program().to_text(locations=True) if debug_info else found.text

    def compile(self, *args: Any, **kwargs: Any) -> jax.stages.Compiled:
        """JAX's; the first time is taken, because JAX keeps the executable."""
        started = time.perf_counter()
        try:
            compiled = super().compile(*args, **kwargs)
        except jax.errors.JaxRuntimeError as error:
            if self._planned:
                error.add_note('a call would drop the plan for CPU here, and compile as with cpu="plain"')
            raise
        vars(self).setdefault("_seconds", time.perf_counter() - started)
        return compiled

    def cost(self, stage: str = LOWERED) -> Cost | None:
        """What XLA says of the executable that it makes of a stage, which is compiled for that.

        Returns:
            None where the stage has open sizes: the next one, which has them fixed, says it.

        Raises:
            PassError: there is no such stage.
            CompileError: XLA refuses the stage.
        """
        found = self.stages[stage]
        if found.name not in self._costs:
            if found in self.stages[-2:]:  # what was lowered is the last stage before it
                self._costs[LOWERED] = replace(Cost.of(self), seconds=self._seconds)
                self._costs |= {each.name: self._costs[LOWERED] for each in self.stages[-2:]}
            else:
                program = found.program()
                self._costs[found.name] = measure(program, self._shardings) if program.signature.is_static else None
        return self._costs[found.name]

    @cached_property
    def _costs(self) -> dict[str, Cost | None]:
        return {}

    def table(self, stages: Sequence[str] | None = None) -> list[tuple[str, ...]]:
        """Operations, flops, bytes accessed, temporary memory and times by stage, as rows of text with a heading.

        Args:
            stages: those that are compiled for their costs, which takes a compile each; all by default.
        """
        rows: list[tuple[str, ...]] = [("stage", "ops", "flops", "bytes", "temporary", "compile", "pass", "")]
        for stage, change in zip(self.stages, self.stages.changes(), strict=True):
            cost = self.cost(stage.name) if stages is None or stage.name in stages else None
            seconds = _seconds(stage.seconds) if stage.spec else ""
            rows.append((stage.name, f"{stage.operations:,}", *_cells(cost), seconds, change if stage.spec else ""))
        cost = self._costs.get(LOWERED)
        if cost is not None and cost.instructions is not None:
            rows.append(("optimized HLO", f"{cost.instructions:,}", *_cells(cost)[:3], "", "", ""))
        return rows


def _cells(cost: Cost | None) -> tuple[str, ...]:
    """Flops, bytes, temporary memory and the time of the compile; a dash for what XLA does not say."""
    if cost is None:
        return "", "", "", ""
    least = "" if cost.complete else "≥ "
    amounts = (cost.flops, "", least), (cost.bytes_accessed, "B", least), (cost.temporary, "B", "")
    cells = ["-" if number is None else f"{sign}{amount(number, unit)}" for number, unit, sign in amounts]
    return *cells, _seconds(cost.seconds)


def _seconds(seconds: float) -> str:
    """`1.23 s`, `45.6 ms`."""
    return f"{seconds:.3g} s" if seconds >= 0.9995 else f"{1e3 * seconds:.3g} ms"


def amount(number: int, unit: str = "") -> str:
    """Three digits with a decimal prefix: `33.7 MB`, `512 B`, `1.05 G`."""
    value, prefix = float(number), ""
    for larger in ("k", "M", "G", "T", "P"):
        if value < 999.5:
            break
        value, prefix = value / 1000, larger
    digits = f"{value:.0f}" if not prefix or value >= 99.95 else f"{value:.3g}"
    return f"{digits} {prefix}{unit}".strip()


def stages_of(program: Program, recipe: Recipe) -> Stages:
    """The way of a program to what is put into JAX's module, which is that of a call."""
    recorder = Recorder(program, detailed=True)
    recipe.apply(program, recorder)
    return recorder.stages
