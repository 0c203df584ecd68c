"""What `lower` returns: JAX's `Lowered`, with the stages that the module went through; and what each stage costs.

In: what JAX lowered, and the way there. Out: `Lowered`, which is a `jax.stages.Lowered` in all that JAX has of it.
Decision to know: stages are made when they are asked for, by the passes that the lowering ran, so that `lower` costs no
more than JAX's; what a stage costs is asked of XLA, which takes a compile.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import jax

from ...codegen.errors import PassError
from ...codegen.ir.modules import clone_bytes, to_bytecode
from ...codegen.ir.tidy import located_names, readable
from ...codegen.passes import parse_spec
from ...codegen.passes.report import Report
from ...codegen.program import Program
from ...codegen.recipe import Recipe
from ...codegen.renamed import nearest
from .hlo import Cost

LOWERED = "lowered"


class Lowered(jax.stages.Lowered):
    """`jax.stages.Lowered`, and the stages before it.

    `compile()`, `as_text()`, `compiler_ir()`, `cost_analysis()`, `out_info` and what else there is are JAX's.
    """

    _make: Callable[[], Stages]
    _lower: Callable[[Program], jax.stages.Lowered]
    _seconds: float  # of the first compile
    _planned: bool

    @classmethod
    def of(
        cls,
        lowered: jax.stages.Lowered,
        stages: Callable[[], Stages] = lambda: Stages([]),
        lower: Callable[[Program], jax.stages.Lowered] | None = None,
        planned: bool = False,
    ) -> Lowered:
        """What JAX lowered, with stages.

        Args:
            lowered: it.
            stages: makes the stages up to what was put into JAX's module; called when they are first looked at.
            lower: lowers a stage as it is; needed where there are any.
            planned: whether it has a plan for CPU.
        """
        found = object.__new__(cls)
        for kind in type(lowered).__mro__:  # JAX's attributes are slots, which differ between its releases
            slots = vars(kind).get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                if hasattr(lowered, name):
                    object.__setattr__(found, name, getattr(lowered, name))
        vars(found).update(getattr(lowered, "__dict__", {}))
        found._make, found._planned = stages, planned
        found._lower = lower or (lambda program: lowered)
        return found

    @cached_property
    def stages(self) -> Stages:
        """The module as it was emitted, after each pass that changed something, and as XLA gets it ("lowered").

        Each has `text`, `op_counts`, `seconds` (of its pass) and `rewritten` (what that did how often). Printed, they
        are a table.
        """
        made = self._make()
        bytecode = to_bytecode(self.compiler_ir("stablehlo"))  # type: ignore[arg-type]
        return Stages([*made, Stage(LOWERED, "", bytecode)], made.unchanged)

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
        """What XLA says about the executable that it makes of a stage, which is compiled for that.

        Returns:
            None where the stage has dynamic sizes: the next one, which has them fixed, says it.

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
                self._costs[found.name] = Cost.of(self._lower(program)) if program.signature.is_static else None
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
    if cost is None:
        return "", "", "", ""
    least = "" if cost.complete else "≥ "
    amounts = (cost.flops, "", least), (cost.bytes_accessed, "B", least), (cost.temporary, "B", "")
    cells = ["-" if number is None else f"{sign}{amount(number, unit)}" for number, unit, sign in amounts]
    return *cells, _seconds(cost.seconds)


def _seconds(seconds: float) -> str:
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
    recorder = Recorder(program)
    recipe.apply(program, recorder)
    return recorder.stages


# ---- stages ---------------------------------------------------------------------------------------------------------


START = "emitted"
_SHOWN = 4  # kinds of ops in a line about a change


@dataclass(frozen=True)
class Stage:
    """A module at one point of its way to the compiler.

    Attributes:
        name: of the pass that it comes from, with a number where that ran before (`cse`, `cse.2`); the first is
            `emitted`, whatever it is: emitted, read from a file, or written by JAX.
        spec: the pass as it ran, with its options; "" for the first stage.
        bytecode: the module as MLIR bytecode.
        seconds: that the pass took.
        rewritten: how often each of the pass's rewrites was applied; MLIR's own passes do not say.
    """

    name: str
    spec: str
    bytecode: bytes = field(repr=False)
    seconds: float = 0.0
    rewritten: Mapping[str, int] = field(default_factory=dict)

    def program(self) -> Program:
        """The module as its own program, parsed now; without a graph, so without derivatives."""
        return Program(clone_bytes(self.bytecode), filename=f"<{self.name}>")

    @cached_property
    def text(self) -> str:
        """The module's text, without locations; it can be parsed again."""
        return self.program().text

    @cached_property
    def op_counts(self) -> dict[str, int]:
        """How often each op occurs, most frequent first; see `Program.op_counts`."""
        return self.program().op_counts()

    @property
    def operations(self) -> int:
        """Number of operations, those in loops and branches counted once."""
        return sum(self.op_counts.values())

    def change(self, before: Stage) -> str:
        """What became of another stage here: the pass's rewrites, and how many more or fewer there are of some ops."""
        own = parse_spec(self.spec)[0] if self.spec else ""
        parts = [f"{number} {'rewritten' if name == own else name}" for name, number in self.rewritten.items()]
        names = sorted({*self.op_counts, *before.op_counts})
        more = {name: self.op_counts.get(name, 0) - before.op_counts.get(name, 0) for name in names}
        largest = sorted((name for name in names if more[name]), key=lambda name: -abs(more[name]))
        changes = [f"{more[name]:+,} {name.removeprefix('stablehlo.')}" for name in largest[:_SHOWN]]
        changes += ["..."] if len(largest) > _SHOWN else []
        return "; ".join(part for part in (", ".join(parts), ", ".join(changes)) if part)

    def short_text(self, elements: int = 16) -> str:
        """The text for a reader: constants of more than this many elements are left out (it cannot be parsed again)."""
        return self.program().to_text(elements=elements).rstrip() + "\n"


class Stages(tuple[Stage, ...]):
    """Stages in order; by number, or by name.

    Attributes:
        unchanged: the passes that changed nothing, and so have no stage.
    """

    unchanged: tuple[str, ...]

    def __new__(cls, stages: Iterable[Stage], unchanged: Sequence[str] = ()) -> Stages:
        made = super().__new__(cls, stages)
        made.unchanged = tuple(unchanged)
        return made

    def __getitem__(self, place: Any) -> Any:
        """The stage of that number or name, or a part.

        Raises:
            PassError: there is no stage of that name; the message has those that there are.
        """
        return self._named(place) if isinstance(place, str) else super().__getitem__(place)

    def _named(self, name: str) -> Stage:
        for stage in self:
            if name and name in (stage.name, stage.spec):
                return stage
        hint = nearest(name, self.names, form="did you mean {!r}? ")
        there = f"there are {', '.join(self.names)}"
        if name in self.unchanged:
            raise PassError(f"no stage {name!r}: the pass changed nothing; {there}")
        raise PassError(f"no stage {name!r}; {hint}{there}")

    @property
    def names(self) -> tuple[str, ...]:
        """The stages' names."""
        return tuple(stage.name for stage in self)

    def __repr__(self) -> str:
        """A table: each stage's operations, the time of its pass, and what that changed."""
        rows = [
            (stage.name, f"{stage.operations:,}", f"{1e3 * stage.seconds:.1f} ms" if stage.spec else "", change)
            for stage, change in zip(self, self.changes(), strict=True)
        ]
        cells = [("stage", "ops", "pass", ""), *rows]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]
        return "\n".join([*(line.rstrip() for line in lines), *self.remarks()])

    def remarks(self) -> list[str]:
        """A line about the passes that changed nothing, if there are such."""
        return [f"changed nothing: {', '.join(self.unchanged)}"] if self.unchanged else []

    def changes(self) -> list[str]:
        """Of each stage in a line what changed from the one before; see `Stage.change`."""
        return ["", *[after.change(before) for before, after in pairwise(self)]][: len(self)]


class Recorder:
    """Watches a program on its way, and keeps the stages at which the module is another one.

    Args:
        program: the first stage.
    """

    def __init__(self, program: Program) -> None:
        self._unchanged: list[str] = []
        self._found = [Stage(START, "", program.to_bytecode())]

    @property
    def stages(self) -> Stages:
        """Those so far."""
        return Stages(self._found, self._unchanged)

    def ran(self, spec: str, bytecode: bytes, seconds: float, report: Report) -> None:
        """Takes note of a pass that has run: a stage, if the module is another one now."""
        if _same(bytecode, self._found[-1].bytecode):
            self.skipped(spec)
            return
        name = parse_spec(spec)[0]
        before = sum(parse_spec(stage.spec)[0] == name for stage in self._found[1:])
        name = f"{name}.{before + 1}" if before else name
        self._found.append(Stage(name, spec, bytecode, seconds, dict(report.rewritten)))

    def skipped(self, spec: str) -> None:
        """Takes note of a pass that was not started, or changed nothing."""
        name = parse_spec(spec)[0]
        known = {*self._unchanged, *(stage.name for stage in self._found)}
        self._unchanged += [name] if name not in known else []


def _same(one: bytes, other: bytes) -> bool:
    return one == other or str(clone_bytes(one)) == str(clone_bytes(other))
