"""The fields of an explanation, of which text and page are made: sizes, axes, what padding does."""

from __future__ import annotations

from dataclasses import dataclass

from ...codegen.constraints import Constraint
from ...codegen.signature import Signature
from ...runtime.executables.stats import Stats
from .walk import Action, Refusal


@dataclass(frozen=True)
class Size:
    """A named size of the program.

    Attributes:
        name: its name in expressions.
        kind: "input size", "input value", or "data".
        origin: where it comes from, in words.
        also: the other axes of inputs that are this size.
        policy: how it is met, in words.
        bound: the bound that the facts about padding were found with; None for one that follows from others.
    """

    name: str
    kind: str
    origin: str
    also: tuple[str, ...]
    policy: str
    bound: int | None = None


@dataclass(frozen=True)
class Axis:
    """All axes of one size that is not static.

    Attributes:
        dim: the size, an expression.
        roots: the named sizes in it.
        kinds: their kinds.
        inputs: axes of inputs, in words.
        outputs: axes of outputs, in words.
        inner: how many axes of inner values.
        operations: how many operations give those.
        places: the first of them, in words.
    """

    dim: str
    roots: tuple[str, ...]
    kinds: tuple[str, ...]
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    inner: int = 0
    operations: int = 0
    places: tuple[str, ...] = ()


# What a call of Python costs besides its own work, measured on an x86 CPU (docs/host.md): microseconds for each call,
# each op in it, and each million of bytes that cross.
CALL_TIME, OP_TIME, MEGABYTE_TIME = 8, 6, 300


@dataclass(frozen=True)
class PythonCall:
    """A call of Python.

    Attributes:
        ops: the ops that are run, one after the other.
        why: why each of them is not compiled.
        takes: what they get, in words.
        gives: what comes back.
        size: how many bytes cross, both ways: an expression of the program's sizes.
        where: the block that it is in; "" for the program itself.
    """

    ops: tuple[str, ...]
    why: tuple[str, ...]
    takes: tuple[str, ...]
    gives: tuple[str, ...]
    size: str
    where: str = ""

    @property
    def op(self) -> str:
        """The ops in words."""
        return ", then ".join(self.ops)

    @property
    def reason(self) -> str:
        """Why it is there, in words."""
        return "; ".join(dict.fromkeys(self.why))

    @property
    def crossing(self) -> str:
        """What crosses between the program and Python, in words."""
        return f"{', '.join(self.takes) or 'nothing'} -> {', '.join(self.gives)}"


@dataclass(frozen=True)
class DerivedFunction:
    """A function that was made of another; `how` says what it has done, or why it is a loop."""

    name: str
    how: str


@dataclass(frozen=True)
class Record:
    """The sizes of a program, how each is met, and what padding does.

    Attributes:
        name: the program's name.
        signature: the program's.
        sizes: its named sizes: those of inputs, values of inputs, those computed from data.
        axes: each size that is not static, and where it is one.
        actions: what padding does, in the order of the program.
        refusals: what cannot be padded, and why.
        operations: how many operations on data there are.
        touched: how many of them see a size that is not static.
        stats: what the compiled function has done so far, if it was one.
        plan: how a static program is compiled for CPU, a line for each decision; none on other devices.
        derived: the derivatives and batched versions that JAX's transformations have asked it for.
        python: where the program calls Python.
        decided: of a traced function: what its Python code decided by the sizes of a call and the shapes say; what else
            it decided is among the constraints.
    """

    name: str
    signature: Signature
    sizes: tuple[Size, ...]
    axes: tuple[Axis, ...]
    actions: tuple[Action, ...]
    refusals: tuple[Refusal, ...]
    operations: int
    touched: int
    stats: Stats | None = None
    plan: tuple[str, ...] = ()
    derived: tuple[DerivedFunction, ...] = ()
    decided: tuple[Constraint, ...] = ()
    python: tuple[PythonCall, ...] = ()

    @property
    def grouped_actions(self) -> list[tuple[str, str, str, str, list[str]]]:
        """Kind, size, detail and reason of what padding does, and the ops where it does so; the most frequent first."""
        groups: dict[tuple[str, str, str, str], list[str]] = {}
        for action in self.actions:
            groups.setdefault((action.kind, action.dim, action.detail, action.why), []).append(action.op)
        return [(*key, places) for key, places in sorted(groups.items(), key=lambda item: -len(item[1]))]
