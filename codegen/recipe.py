"""`Recipe`: what becomes of a program before XLA gets it.

In: a program. Out: a static program, and the module that is made of it for a platform. Whoever compiles a program, puts
it into another module, interprets it or shows its stages does so by a recipe, so what is shown is what is run.

    program ── specialize ── pad ── passes ── the platform's (device_linalg, ... or a plan for CPU) ── bytecode

Decision to know: the first part (`sized`, `optimized`) is the same for every platform and is done once; the last one
(`finished`) is done for each. A planner decides on passes while the module goes through them; it gets `Steps`, through
which every change is made, so that a watch sees all of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, TypeVar

from .ir.bindings import ir
from .ir.modules import to_bytecode
from .ir.ops import rare_choices
from .ir.values import walk
from .passes import run
from .passes.registry import write_spec
from .passes.report import Report, Watch
from .program import Program

Made = TypeVar("Made")
_DOT = "stablehlo.dot_general"


class Planner(Protocol):
    """Decides what a static module goes through for a platform besides the platform's own passes."""

    def declines(self, program: Program) -> str:
        """Why a program has no plan; "" where it has one."""

    def plan(self, steps: Steps, platform: Callable[[], None], sums: Callable[[], None]) -> Any:
        """Takes the steps, and where they belong those of the platform, and of sums; what was decided besides."""


@dataclass(frozen=True)
class Finished:
    """A module as XLA gets it.

    Attributes:
        bytecode: it, as MLIR bytecode.
        decided: what a planner decided besides; None where there was no plan.
        declined: why there was none, where a planner was asked.
    """

    bytecode: bytes
    decided: Any = None
    declined: str = ""


@dataclass(frozen=True)
class Recipe:
    """What becomes of a program.

    Attributes:
        exact: sizes that it is specialized for; None where none are.
        bounds: those that it is padded to; None where all sizes are exact.
        passes: what the static program goes through, see `passes.registry.resolve`.
        platform: whose library calls are put, by JAX's name; "" for a module for any.
        guest: whether it goes into a module that others compile, without the compile options that it needs.
        planner: decides on further passes.
    """

    exact: Mapping[str, int] | None = None
    bounds: Mapping[str, int] | None = None
    passes: tuple[str, ...] = ()
    platform: str = ""
    guest: bool = False
    planner: Planner | None = None

    def __str__(self) -> str:
        steps = [_text("specialize", self.exact)] if self.exact else []
        steps += [] if self.bounds is None else [_text("pad", self.bounds)]
        steps += self.passes
        if self.platform:
            steps.append(f"for {self.platform}" + ("" if self.planner is None else f": {self.planner}"))
        return ", ".join(steps) or "as it is"

    def on(self, platform: str, *, guest: bool = False, planner: Planner | None = None) -> Recipe:
        """The same for a platform."""
        return replace(self, platform=platform, guest=guest, planner=planner)

    def apply(self, program: Program, watch: Watch | None = None) -> Finished:
        """Goes all the way.

        Raises:
            PassError: a pass fails.
            PaddingError: an op has no padding rule.
        """
        return self.finished(self.static(program, watch), watch)

    def static(self, program: Program, watch: Watch | None = None) -> Program:
        """A program of its own for these sizes, after the passes."""
        return self.optimized(self.sized(program, watch), watch)

    def sized(self, program: Program, watch: Watch | None = None) -> Program:
        """A program of its own for these sizes."""
        program = program.alone()  # which is its own program, with executables of its own
        found, exact = program, self.exact
        if exact or (exact is not None and self.bounds is None):
            step = partial(Program.specialize, sizes=exact)
            found = _watched(_text("specialize", exact), found, step, watch if exact else None)
        if self.bounds is not None:
            step = partial(Program.pad, bounds=self.bounds, cpu=self.platform == "cpu")
            found = _watched(_text("pad", self.bounds), found, step, watch)
        return found if found is not program else program.optimize(())

    def optimized(self, program: Program, watch: Watch | None = None) -> Program:
        """A program after the passes, which change it; one that has gone through them stays as it is.

        So does one that calls Python: passes may move ops, and run them more than once or not at all.
        """
        if self.passes and program.optimized != self.passes and not program.host_calls:
            program.optimize_own(self.passes, watch)
        return program

    def finished(self, program: Program, watch: Watch | None = None) -> Finished:
        """What `static` gave, as XLA gets it; the program stays as it is."""
        steps = Steps(program, watch)
        declined = "" if self.planner is None else self.planner.declines(program)
        if self.planner is None or declined:
            self._for_platform(steps)
            self._sums(steps)
            return Finished(steps.bytecode(), declined=declined)
        decided = self.planner.plan(steps, lambda: self._for_platform(steps), lambda: self._sums(steps))
        return Finished(steps.bytecode(), decided)

    def _for_platform(self, steps: Steps) -> None:
        """The passes that a platform needs, where they find something."""
        from .analysis.platforms import refuse_elements
        from .passes.device_linalg import OPS
        from .passes.xla_bugs import bugs_of

        if not self.platform or not steps.is_static:
            return
        steps.finds(partial(refuse_elements, platform=self.platform))
        if steps.calls_host:
            steps.run("merge_host_calls")
            steps.run("order_host_calls")
        if self.platform != "cpu" and steps.finds(rare_choices):  # a branch waits for the host there
            steps.run("all_rows")
        if steps.has(OPS):
            steps.run(f"device_linalg{{platform={self.platform}}}")
        for bug in bugs_of(self.platform, guest=self.guest):
            if steps.has(bug.TRIGGERS) and steps.finds(bug.endangered):
                steps.run(bug.name)

    def _sums(self, steps: Steps) -> None:
        if self.platform == "cpu" and steps.is_static and "simplify" in self.passes and steps.has({_DOT}):
            steps.run("cpu_sums{libraries=true}")


class Steps:
    """A static program's module on its way to XLA; the program is copied when the first change is made.

    Args:
        program: it stays as it is.
        watch: is told of each step.
    """

    def __init__(self, program: Program, watch: Watch | None = None) -> None:
        self._program = program
        self._watch = watch
        self._module: ir.Module | None = None
        self.is_static = program.signature.is_static
        self.calls_host = bool(program.host_calls)

    @property
    def module(self) -> ir.Module:
        """The module as it is now."""
        if self._module is None:
            self._module = self._program.copy_module()
        return self._module

    def has(self, names: Collection[str]) -> bool:
        """Whether one of these ops is in the module."""
        if self._module is None:
            return not self._program.op_counts().keys().isdisjoint(names)
        return any(operation.name in names for operation in walk(self._module))

    def finds(self, look: Callable[[ir.Module], Collection[ir.Operation] | None]) -> bool:
        """Whether a function finds ops in the module."""
        if self._module is None:
            return self._program.find(lambda module: bool(look(module)))
        return bool(look(self._module))

    def run(self, spec: str) -> Report:
        """Runs a pass."""
        return run(self.module, spec, watch=self._watch)

    def change(self, name: str, change: Callable[[ir.Module], Made]) -> Made:
        """Makes a change that is not a pass; what it returns."""
        started = time.perf_counter()
        made = change(self.module)
        if self._watch is not None:
            self._watch.ran(name, to_bytecode(self.module), time.perf_counter() - started, Report(name))
        return made

    def bytecode(self) -> bytes:
        """The module as MLIR bytecode."""
        return self._program.to_bytecode() if self._module is None else to_bytecode(self._module)


def _watched(spec: str, program: Program, step: Callable[[Program], Program], watch: Watch | None) -> Program:
    started = time.perf_counter()
    made = step(program)
    if watch is not None:
        watch.ran(spec, made.to_bytecode(), time.perf_counter() - started, Report(spec))
    return made


def _text(name: str, sizes: Mapping[str, int]) -> str:
    return write_spec(name, {root: str(size) for root, size in sizes.items()})
