"""`hlograph.explain`: the sizes of a program, how each is met, and what padding does with them.

In: a graph, a program, or a compiled function. Out: an `Explanation`: its fields for programs, its text for people, and
its page (`page.py`) with the graph drawn. What is said about padding is what the padding pass did (`walk.py`), at one
representative bound for each size.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...codegen import dims as dimension
from ...codegen.constraints import Constraint
from ...codegen.program import Program
from ...codegen.signature import Argument, Result, Root, Signature, known_constraints
from ...runtime.executables.policy import (
    EXACT_SIZES,
    Bucket,
    Choice,
    Policies,
    PolicyArgument,
    PolicyError,
    dependent_roots,
)
from ...runtime.executables.stats import Stats
from ...runtime.function import Function
from ..console import columns, count, format_dims
from .walk import Action, Block, Node, Refusal, Value, walk

__all__ = ["Action", "Axis", "Block", "Explanation", "Node", "Refusal", "Size", "Value", "explain"]

DEFAULT_BOUND = 128  # the least bound that the padding pass is shown
_BOUND_STEP = 8  # each further size has its own bound, so that numbers tell them apart
_SHOWN_BOUNDS = 5
_SHOWN_PLACES = 3
_SHOWN_ROWS = 25

Rows = list[tuple[str, ...]]


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


@dataclass(frozen=True)
class DerivedFunction:
    """A function that was made of another; `how` says what it has done, or why it is a loop."""

    name: str
    how: str


@dataclass(frozen=True)
class Explanation:
    """What is to be known of a program's sizes; see `explain`.

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
        blocks: the program's functions, loops and branches as graphs, `main` first.
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
    blocks: tuple[Block, ...] = field(default=(), repr=False)
    decided: tuple[Constraint, ...] = ()

    @property
    def text(self) -> str:
        """The explanation as plain text."""
        lines = [f"program {self.name}"]
        for title, rows in self._sections():
            lines.append(title)
            if rows:
                hidden = len(rows) - _SHOWN_ROWS
                lines.append(columns(rows[:_SHOWN_ROWS], indent="  "))
                if hidden > 0:
                    lines.append(f"  ... and {hidden} more")
        return "\n".join(lines) + "\n"

    def __str__(self) -> str:
        return self.text

    @property
    def html(self) -> str:
        """The explanation as one HTML page, which needs no other file and no network.

        Raises:
            ModuleNotFoundError: the extra `explain` is not installed.
        """
        from .page import render

        return render(self)

    def save_html(self, path: str | os.PathLike[str]) -> Path:
        """Writes the HTML page to a file; returns its path."""
        target = Path(path)
        target.write_text(self.html, encoding="utf-8")
        return target

    def _repr_html_(self) -> str | None:
        """For notebooks, which show the page in a frame of its own; the text where the page cannot be made."""
        from .page import frame

        try:
            return frame(self)
        except ModuleNotFoundError:
            return None

    # ---- the text ---------------------------------------------------------------------------------------------------

    def _sections(self) -> Iterator[tuple[str, Rows]]:
        """Title and rows of each part; those that a program need not have are left out when it has none."""
        signature = self.signature
        yield "inputs", [(*_tensor_row(a), "shared variable" if a.shared else "") for a in signature.arguments]
        yield "outputs", list(map(_tensor_row, signature.results))
        if not self.sizes:
            yield "dimensions: every size is static", []
        else:
            yield "dimensions", [row for size in self.sizes for row in _origin_rows(size)]
            yield "policy", [(size.name, size.policy) for size in self.sizes]
        if signature.constraints:
            yield "constraints", [(str(constraint), constraint.where) for constraint in signature.constraints]
        if self.decided:
            yield "traced for", [(str(guard), guard.where) for guard in self.decided]
        if signature.checks:
            yield "checks", [(check.exception, check.message) for check in signature.checks]
        if self.axes:
            yield "axes", [row for axis in self.axes for row in _axis_rows(axis)]
        if self.sizes:
            yield from self._padding()
        if self.refusals:
            yield (
                "refused",
                [
                    (
                        f"{', '.join(refusal.roots)}:" if refusal.roots else "",
                        refusal.op,
                        refusal.reason,
                        f"-> {refusal.outcome}",
                    )
                    for refusal in self.refusals
                ],
            )
        if self.plan:
            yield "plan for CPU", [(line,) for line in self.plan]
        if self.stats is not None:
            yield from _stats_section(self.stats)
        if self.derived:
            yield "made for JAX's transformations", [(each.name, each.how) for each in self.derived]

    def _padding(self) -> Iterator[tuple[str, Rows]]:
        bounds = ", ".join(f"{size.name} = {size.bound}" for size in self.sizes if size.bound is not None)
        kinds = Counter(action.kind for action in self.actions)
        done = ", ".join(f"{number} {kind}" for kind, number in kinds.most_common()) or "nothing to do for it"
        title = f"padding: {self.touched} of {count(self.operations, 'operation')} touched; {done} (bounds {bounds})"
        yield title, [(kind, dim, detail, _some(places)) for kind, dim, detail, places in self.grouped_actions]

    @property
    def grouped_actions(self) -> list[tuple[str, str, str, list[str]]]:
        """Kind, size and detail of what padding does, and the ops where it does so; the most frequent first."""
        groups: dict[tuple[str, str, str], list[str]] = {}
        for action in self.actions:
            groups.setdefault((action.kind, action.dim, action.detail), []).append(action.op)
        return [(*key, places) for key, places in sorted(groups.items(), key=lambda item: -len(item[1]))]


def explain(
    source: Any,
    *specs: Any,
    policy: PolicyArgument | None = None,
    bounds: Mapping[str, int] | None = None,
    dims: Any = None,
) -> Explanation:
    """Explains every size of a program that is not static: where it comes from, how it is met, what padding does.

        print(hlograph.explain(program))
        hlograph.explain(fn).save_html("fn.html")

    Args:
        source: a `Program`; a compiled function (of `hlograph.function` or `Program.compile`, or of `hlograph.jit` once
            it was called), whose own policy and statistics are used; or what `emit_stablehlo` takes.
        specs: for a function of JAX arrays, its arguments' shapes and dtypes, see `emit_stablehlo`. For a jitted
            function that has traced several programs, arguments that say which one is meant.
        policy: how sizes are met, see `hlograph.function`; by default "auto", or what a compiled function has.
        bounds: size name to the bound for which padding is looked at; by default what the policy says, or 128.
        dims: for a graph, names of axes, see `emit_stablehlo`.

    Returns:
        The explanation; printed it is text, `.html` is a page with the graph drawn.

    Raises:
        HlographError: the source cannot be explained, a policy or bound names what is no size, ...
    """
    program, function = _find(source, specs, dims)
    chosen = policy if policy is not None else function.policy if function is not None else "auto"
    signature = program.signature
    choices = Policies(chosen, signature).choices
    limits = _bounds(signature, choices, bounds or {})
    facts = walk(program.copy_module(), limits)
    sizes = _sizes(signature, choices, limits, facts.refusals)
    nodes = [node for block in facts.blocks for node in block.nodes if node.is_op]
    return Explanation(
        name=program.name,
        signature=signature,
        sizes=sizes,
        axes=_axes(signature, sizes, nodes),
        actions=tuple(facts.actions),
        refusals=tuple(facts.refusals),
        operations=len(nodes),
        touched=sum(bool(node.names) for node in nodes),
        stats=function.stats if function is not None else None,
        plan=_plan(program) if function is None and signature.is_static else (),
        derived=tuple(_derived(function)) if function is not None else (),
        blocks=tuple(facts.blocks),
        decided=_decided(source, program),
    )


def _decided(source: Any, program: Program) -> tuple[Constraint, ...]:
    from ...runtime.jit import Jit

    guards = source.guards(program) if isinstance(source, Jit) else ()
    return tuple(guard for guard in guards if guard not in program.signature.constraints)


def _plan(program: Program) -> tuple[str, ...]:
    from ...runtime.executables import cpu_plan

    return cpu_plan.describe(program.optimize(), cpu_plan.CpuOptions())


def _derived(function: Function) -> Iterator[DerivedFunction]:
    """All that was made of a function, and of what was made of it."""
    derived = function.derived
    for mapped, reason in derived.loops.items():
        arguments = [a.name for a, flag in zip(function.program.signature.arguments, mapped, strict=True) if flag]
        means = "a loop over the batch" if derived.inline is None else "jax.vmap of the function, by a batch"
        yield DerivedFunction(f"{function.__name__}_batched", f"{means} of {', '.join(arguments)}: {reason}")
    for what, reason in derived.inlined.items():
        yield DerivedFunction(f"{function.__name__}, {what}", f"by JAX from the function: {reason}")
    for made in derived:
        stats = made.stats
        yield DerivedFunction(made.__name__, f"{count(stats.calls, 'call')}, {count(stats.compiles, 'compile')}")
        yield from _derived(made)


def _find(source: Any, specs: Sequence[Any], dims: Any) -> tuple[Program, Function | None]:
    """The program that is meant, and the compiled function if it is one."""
    from ...dialects.frontend import emit_stablehlo
    from ...runtime.jit import Jit

    if isinstance(source, Jit):
        functions = source.functions
        if specs:
            program = source.program(*specs)
            return program, next((function for function in functions if function.program is program), None)
        if len(functions) != 1:
            raise ValueError(
                f"explain: {source!r} has traced {count(len(functions), 'program')}; "
                "give arguments to say which is meant: explain(function, *arguments)"
            )
        return functions[0].program, functions[0]
    if isinstance(source, Function | Program) and (specs or dims is not None):
        raise TypeError("explain: dims and specs are for graphs; a program has its own")
    if isinstance(source, Function):
        return source.program, source
    return source if isinstance(source, Program) else emit_stablehlo(source, *specs, dims=dims), None


# ---- sizes ----------------------------------------------------------------------------------------------------------


def _bounds(signature: Signature, choices: Mapping[str, Choice], given: Mapping[str, int]) -> dict[str, int]:
    """For each size the bound to look at."""
    lows = known_constraints(signature).intervals
    limits: dict[str, int] = {}
    names = [root.name for root in signature.roots]
    names += [entry.name for entry in signature.counts if entry.bound is None]
    for number, name in enumerate(names):
        choice, low = choices[name], lows.get(name, (0, None))[0] or 0
        limit = choice if isinstance(choice, int) else choice.limit if isinstance(choice, Bucket) else None
        default = max(DEFAULT_BOUND, 2 * abs(low)) + _BOUND_STEP * number
        limits[name] = min(default, limit) if isinstance(choice, Bucket) and limit is not None else limit or default
    return limits | dict(given)


def _sizes(
    signature: Signature, choices: Mapping[str, Choice], bounds: Mapping[str, int], refusals: Sequence[Refusal]
) -> tuple[Size, ...]:
    follows = dependent_roots(signature)
    refused = {name for refusal in refusals for name in refusal.roots}
    found = []
    for root in signature.roots:
        if root.name in follows:
            policy = f"as {follows[root.name]}"
        else:
            policy = policy_text(choices[root.name], refused=root.name in refused)
        kind = "input size" if root.kind == "size" else "input value"
        also = _other_axes(root, signature.arguments)
        bound = None if root.name in follows else bounds[root.name]
        found.append(Size(root.name, kind, _origin(root, signature.arguments), also, policy, bound))
    for entry in signature.counts:
        bounded = entry.bound is not None
        origin = f"computed from data, at most {entry.bound}" if bounded else "computed from data, without a bound"
        policy = "in the same run" if bounded else f"counted by a first run, then {policy_text(choices[entry.name])}"
        found.append(Size(entry.name, "data", origin, (), policy, bounds.get(entry.name)))
    for entry in signature.local_counts:
        origin = "computed from data, in a branch" + ("" if entry.bound is None else f", at most {entry.bound}")
        found.append(Size(entry.name, "data", origin, (), "in the same run"))
    return tuple(found)


def policy_text(choice: Choice, *, refused: bool = False) -> str:
    """How a size is met, in words."""
    if refused and choice != "exact":
        return "exact: one compile for each size, as padding is refused"
    if choice == "exact":
        return "exact: one compile for each size"
    if isinstance(choice, int):
        return f"one compile for all sizes up to {choice}"
    if isinstance(choice, Bucket):
        return f"one compile for each of the bounds {_first_bounds(choice)}"
    first = "padded:" if choice == "padded" else f"auto: exact for {EXACT_SIZES} sizes, then"
    return f"{first} one compile for each of the bounds {_first_bounds(Bucket())}"


def _first_bounds(bucket: Bucket) -> str:
    bounds: list[int] = []
    try:
        while len(bounds) < _SHOWN_BOUNDS and (not bounds or bucket.limit is None or bounds[-1] < bucket.limit):
            bounds.append(bucket.bound(bounds[-1] + 1 if bounds else 0))
    except PolicyError:
        return ", ".join(map(str, bounds))
    return ", ".join(map(str, bounds)) + (", ..." if len(bounds) == _SHOWN_BOUNDS else "")


def _origin(root: Root, arguments: Sequence[Argument]) -> str:
    """Which input decides a size."""
    name = arguments[root.argument].name
    if root.kind == "size":
        return f"size of axis {root.axis} of {name}"
    return f"value of {name}" if root.element is None else f"value of {name}[{root.element}]"


def _other_axes(root: Root, arguments: Sequence[Argument]) -> tuple[str, ...]:
    """The axes of inputs that are this size, without the one that decides it."""
    return tuple(
        f"axis {axis} of {argument.name}"
        for index, argument in enumerate(arguments)
        for axis, dim in enumerate(argument.dims)
        if str(dim) == root.name and (index, axis) != (root.argument, root.axis)
    )


def _axes(signature: Signature, sizes: Sequence[Size], nodes: Sequence[Node]) -> tuple[Axis, ...]:
    """All axes by size; those of inputs and outputs first, then by how often they occur."""
    kinds = {size.name: size.kind for size in sizes}
    roots: dict[str, frozenset[str]] = {}
    sides: list[dict[str, list[str]]] = []
    tensors: Sequence[Sequence[Argument | Result]] = (signature.arguments, signature.results)
    for items in tensors:
        side: dict[str, list[str]] = {}
        for item in items:
            for axis, size in enumerate(item.dims):
                if type(size) is not int:
                    roots[str(size)] = frozenset(dimension.roots(size))
                    side.setdefault(str(size), []).append(f"axis {axis} of {item.name}")
        sides.append(side)
    inner: Counter[str] = Counter()
    makers: dict[str, dict[int, str]] = {}
    for number, node in enumerate(nodes):
        for value in node.results:
            for dim, names in zip(value.dims, value.roots, strict=True):
                if names:
                    roots.setdefault(dim, names)
                    inner[dim] += 1
                    makers.setdefault(dim, {})[number] = str(node)
    order = sorted(roots, key=lambda dim: (dim not in sides[0], dim not in sides[1], -inner[dim]))
    return tuple(
        Axis(
            dim,
            tuple(sorted(roots[dim])),
            tuple(dict.fromkeys(kinds.get(name, "unknown") for name in sorted(roots[dim]))),
            tuple(sides[0].get(dim, ())),
            tuple(sides[1].get(dim, ())),
            inner[dim],
            len(makers.get(dim, ())),
            tuple(dict.fromkeys(list(makers.get(dim, {}).values())[:_SHOWN_PLACES])),
        )
        for dim in order
    )


# ---- text -----------------------------------------------------------------------------------------------------------


def _tensor_row(tensor: Argument | Result) -> tuple[str, ...]:
    return tensor.name, str(tensor.dtype), format_dims(tensor.dims)


def _origin_rows(size: Size) -> Rows:
    also = [size.also[start : start + 4] for start in range(0, len(size.also), 4)]
    return [(size.name, size.origin), *[("", f"also {', '.join(places)}") for places in also]]


def _axis_rows(axis: Axis) -> Rows:
    parts = [
        f"{len(places)} of {side}" for side, places in (("inputs", axis.inputs), ("outputs", axis.outputs)) if places
    ]
    rows: Rows = []
    if axis.operations:
        parts.append(f"{axis.inner} of {count(axis.operations, 'operation')}")
        rows.append(("", "", ", ".join(axis.places) + (", ..." if axis.operations > len(axis.places) else "")))
    return [(axis.dim, ", ".join(axis.kinds), ", ".join(parts)), *rows]


def _some(places: Sequence[str]) -> str:
    """The first few places, and how many there are."""
    shown = list(dict.fromkeys(places))[:_SHOWN_PLACES]
    text = ", ".join(shown)
    return f"at {text}" if len(places) == len(shown) else f"{len(places)} times, at {text}, ..."


def _stats_section(stats: Stats) -> Iterator[tuple[str, Rows]]:
    title = f"so far: {count(stats.calls, 'call')}, {count(stats.compiles, 'compile')}"
    yield (
        title,
        [
            (
                entry.policy,
                entry.sizes,
                f"{count(entry.calls, 'call')}, {entry.padding_share:.0%} padding" if entry.calls else "",
            )
            for entry in stats.by_executable
        ],
    )
    plans: Rows = [(entry.sizes, line) for entry in stats.by_executable for line in entry.plan]
    if plans:
        yield "plan for CPU", plans
    if stats.retries:
        yield f"{count(stats.retries, 'plan')} refused by the compiler, compiled without", []
    if stats.trials:
        yield f"{count(stats.trials, 'plan')} tried beside a plain compile", []
