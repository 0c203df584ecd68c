"""`hlograph.explain`: the sizes of a program, how each is handled, and what padding does with them.

In: a graph, a program, or a compiled function. Out: an `Explanation`, which is text and a page. What is said about
padding is what the padding pass did (`walk.py`), at one representative bound for each size.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from ..codegen.artifact.inspection import origin, role
from ..codegen.errors import PolicyError, UnsupportedGraphError
from ..codegen.ir.host_calls import given_by, host_groups, name_of, parts_of, taken_by
from ..codegen.program import Program
from ..codegen.signature import Argument, Root, Signature, known_constraints
from ..runtime.executables.policy import EXACT_SIZES, Bucket, Choice, Policies, PolicyArgument, dependent_roots
from ..runtime.function import Function
from ..runtime.transforms.callee import Transformable
from .console import Rows, columns, count, format_dims, page
from .walk import PYTHON, Facts, Node, Refusal, Value, walk

_SHOWN_PLACES = 3
DEFAULT_BOUND = 128  # the least bound that the padding pass is shown
_BOUND_STEP = 8  # each further size has its own bound, so that numbers tell them apart
_SHOWN_BOUNDS = 5
_ALWAYS = ("inputs", "outputs", "dimensions", "padding", "so far")
_SHOWN_ROWS = 25


@dataclass(frozen=True)
class Explanation:
    """The sizes of a program, explained; see `explain`.

    Attributes:
        name: the program's.
        sections: the parts, each with a title and rows.
        operations: each op on data: its loop, branch or function, it, what it gives, and what padding does there.
    """

    name: str
    sections: tuple[tuple[str, Rows], ...]
    operations: Rows = field(repr=False)

    @property
    def text(self) -> str:
        """The explanation as plain text."""
        lines = [f"program {self.name}"]
        for title, rows in self.sections:
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
        """The explanation as one HTML page, with all operations listed; it loads nothing."""
        return page(f"program {self.name}", (*self.sections, ("operations", self.operations)))

    def _repr_html_(self) -> str:
        return self.html

    def save_html(self, path: str | os.PathLike[str]) -> Path:
        """Writes the HTML page to a file; returns its path."""
        target = Path(path)
        target.write_text(self.html, encoding="utf-8")
        return target


def explain(
    source: Any,
    *specs: Any,
    policy: PolicyArgument | None = None,
    bounds: Mapping[str, int] | None = None,
    dims: Any = None,
) -> Explanation:
    """Explains every size of a program that is not static: where it comes from, how it is met, what padding does.

    Args:
        source: a `Program`; a compiled function (of `hlograph.function` or `Program.compile`, or of `hlograph.jit` once
            it was called), whose own policy and statistics are used; or what `emit_stablehlo` takes.
        specs: for a function of JAX arrays, its arguments' shapes and dtypes, see `emit_stablehlo`. For a jitted
            function that has traced several programs, arguments that say which one is meant.
        policy: how sizes are handled, see `hlograph.function`; by default "auto", or what a compiled function has.
        bounds: size name to the bound for which padding is examined; by default what the policy says, or 128.
        dims: for a graph, names of axes, see `emit_stablehlo`.

    Returns:
        The explanation; printed it is text, `.html` is the same as a page, with all operations.

    Raises:
        HlographError: the source cannot be explained, a policy or bound names what is no size, ...
    """
    try:
        program, function = _find(source, specs, dims)
    except UnsupportedGraphError as error:
        if not hasattr(source, "guards"):  # no jitted function
            raise
        return Explanation(source.__name__, (("no program for all sizes", [(str(error),)]),), [])
    chosen = policy if policy is not None else function.options.policy if function is not None else "auto"
    signature = program.signature
    choices = Policies(chosen, signature).choices
    limits = bounds_of(signature, choices, bounds or {})
    facts = walk(program.copy_module(), limits)
    sizes = sizes_of(signature, choices, limits, facts.refusals)
    parts = _sections(source, program, function, facts, sizes)
    sections = tuple((title, rows) for title, rows in parts if rows or title.startswith(_ALWAYS))
    operations: Rows = [
        (x.block, x.name, ", ".join(map(str, x.results)), "; ".join(x.marks)) for x in facts.nodes if not x.sizes_only
    ]
    return Explanation(program.name, sections, operations)


def _sections(
    source: Any, program: Program, function: Function | None, facts: Facts, sizes: Sequence[Size]
) -> Iterator[tuple[str, Rows]]:
    """Title and rows of each part; those without rows are left out, but for `_ALWAYS`."""
    from ..runtime.executables import cpu_plan
    from ..runtime.jit import Jit
    from ..runtime.options import CpuOptions

    signature = program.signature
    nodes = [node for node in facts.nodes if not node.sizes_only]
    yield "inputs", [(a.name, str(a.dtype), format_dims(a.dims), role(a)) for a in signature.arguments]
    yield "outputs", [(x.name, str(x.dtype), format_dims(x.dims)) for x in signature.results]
    origins: Rows = []
    for size in sizes:
        also = [f"also {', '.join(size.also[start : start + 4])}" for start in range(0, len(size.also), 4)]
        origins += [(size.name, size.origin), *[("", places) for places in also]]
    yield "dimensions" if sizes else "dimensions: every size is static", origins
    yield "policy", [(size.name, size.policy) for size in sizes]
    yield "constraints", [(str(constraint), constraint.where) for constraint in signature.constraints]
    guards = source.guards(program) if isinstance(source, Jit) else ()
    yield "traced for", [(str(guard), guard.where) for guard in guards if guard not in signature.constraints]
    yield "checks", [(check.exception, check.message) for check in signature.checks]
    if program.host_calls:
        yield _python(program, facts.nodes)
    if sizes:
        kinds = Counter(kind for kind, *_ in facts.actions)
        done = ", ".join(f"{number} {kind}" for kind, number in kinds.most_common()) or "nothing to do for it"
        touched = f"{sum(node.is_touched for node in nodes)} of {count(len(nodes), 'operation')} touched"
        at = ", ".join(f"{size.name} = {size.bound}" for size in sizes if size.bound is not None)
        yield f"padding: {touched}; {done} (bounds {at})", _action_rows(facts.actions)
    outcomes = {True: "-> compiled exactly", False: "-> cannot be compiled"}  # where sizes are pinned, or not
    refusals = [(f"{', '.join(x.roots)}:" if x.roots else "", x.op, x.reason, x.roots) for x in facts.refusals]
    yield "refused", [(names, op, reason, outcomes[bool(roots)]) for names, op, reason, roots in refusals]
    if function is None:
        plan = cpu_plan.describe(program.optimize(), CpuOptions()) if signature.is_static else ()
        yield "plan for CPU", [(line,) for line in plan]
        return
    stats = function.stats
    yield (
        f"so far: {count(stats.calls, 'call')}, {count(stats.compiles, 'compile')}",
        [
            (x.policy, x.sizes, f"{count(x.calls, 'call')}, {x.padding_share:.0%} padding" if x.calls else "")
            for x in stats.by_executable
        ],
    )
    yield "plan for CPU", [(entry.sizes, line) for entry in stats.by_executable for line in entry.plan]
    if stats.retries:
        yield f"so far: {count(stats.retries, 'plan')} refused by the compiler, compiled without", []
    yield "made for JAX's transformations", list(_derived(function))


def _action_rows(actions: Sequence[tuple[str, str, str, str, str]]) -> Rows:
    groups: dict[tuple[str, str, str, str], list[str]] = {}
    for kind, dim, detail, why, place in actions:
        groups.setdefault((kind, dim, detail, why), []).append(place)
    found = sorted(groups.items(), key=lambda item: -len(item[1]))
    return [(kind, dim, detail, _some(places), why) for (kind, dim, detail, why), places in found]


def _some(places: Sequence[str]) -> str:
    shown = list(dict.fromkeys(places))[:_SHOWN_PLACES]
    text = ", ".join(shown)
    return f"at {text}" if len(places) == len(shown) else f"{len(places)} times, at {text}, ..."


# What a call of Python costs besides its own work, measured on an x86 CPU (docs/how-to/host.md): microseconds for each
# call, each op in it, and each million of bytes that cross.
CALL_TIME, OP_TIME, MEGABYTE_TIME = 8, 6, 300


def _python(program: Program, found: Sequence[Node]) -> tuple[str, Rows]:
    nodes = {node.name.removeprefix(PYTHON).split(" ")[0]: node for node in found if node.name.startswith(PYTHON)}
    module = program.copy_module()  # it lives as long as its ops are examined
    rows: Rows = []
    time = 0
    for group in host_groups(module):
        names = [part.name for call in group for part in parts_of(call)]
        values: dict[Any, Value] = {}
        for call in group:
            node = nodes[name_of(call)]
            values.update(zip(call.operands, node.operands, strict=True))
            values.update(zip(call.results, node.results, strict=True))
        taken, given = ([values[x] for x in side] for side in (taken_by(group), given_by(group)))
        takes, gives = (", ".join(map(str, side)) for side in (taken, given))
        calls = [program.host_calls.get(name) for name in names]
        ops = ", then ".join(name if call is None else call.name for name, call in zip(names, calls, strict=True))
        why = "; ".join(dict.fromkeys("" if call is None else call.why for call in calls))
        size = f"{_bytes_of([*taken, *given])} bytes"
        rows.append((ops, f"{takes or 'nothing'} -> {gives}", size, node.block, why))
        time += CALL_TIME + len(names) * OP_TIME
    cost = f"each time about {time} us besides their own work, and {MEGABYTE_TIME} us for each MB that crosses"
    return f"Python: {count(len(rows), 'call')} ({cost})", rows


def _bytes_of(values: Sequence[Value]) -> str:
    if any("?" in value.dims for value in values):
        return "?"
    sizes: list[Any] = [prod(value.dims) * np.dtype(value.dtype).itemsize for value in values]
    return str(sum(sizes))


def _derived(function: Transformable) -> Iterator[tuple[str, ...]]:
    derived = function.derived
    for mapped, reason in derived.loops.items():
        arguments = [a.name for a, flag in zip(function.program.signature.arguments, mapped, strict=True) if flag]
        means = "a loop over the batch" if derived.inline is None else "jax.vmap of the function, by a batch"
        yield (f"{function.program.name}_batched", f"{means} of {', '.join(arguments)}: {reason}")
    for what, reason in derived.inlined.items():
        yield (f"{function.program.name}, {what}", f"by JAX from the function: {reason}")
    for made in derived:
        stats = made.stats
        yield (made.program.name, f"{count(stats.calls, 'call')}, {count(stats.compiles, 'compile')}")
        yield from _derived(made)


def _find(source: Any, specs: Sequence[Any], dims: Any) -> tuple[Program, Function | None]:
    from ..dialects.frontend import emit_stablehlo
    from ..runtime.jit import Jit
    from ..runtime.ragged.rows import OfRows

    if isinstance(source, Jit):
        functions = source.functions
        if specs:
            program = source.traced(*specs).program
            return program, next((function for function in functions if function.program is program), None)
        function = _only(source, functions)
        return function.program, function
    if isinstance(source, OfRows):  # the program of one row is what there is to explain
        found = [source.program(*specs)] if specs and callable(source.program) else source.programs
        return _only(source, found), None
    if isinstance(source, Function | Program) and (specs or dims is not None):
        raise TypeError("explain: dims and specs are for graphs; a program has its own")
    if isinstance(source, Function):
        return source.program, source
    return source if isinstance(source, Program) else emit_stablehlo(source, *specs, dims=dims), None


def _only(source: Any, found: Sequence[Any]) -> Any:
    if len(found) != 1:
        traced = count(len(found), "program")
        raise ValueError(f"explain: {source!r} has traced {traced}; say which is meant: explain(function, *arguments)")
    return found[0]


# ---- sizes: where each comes from, how it is met, which axes have it ------------------------------------------------


@dataclass(frozen=True)
class Size:
    """A named size: `also` are other axes of inputs that are it; `bound` is what the facts about padding were found
    with, None for a size that follows from others."""

    name: str
    origin: str
    also: tuple[str, ...]
    policy: str
    bound: int | None = None


def bounds_of(signature: Signature, choices: Mapping[str, Choice], given: Mapping[str, int]) -> dict[str, int]:
    """The bound to look at, for each size."""
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


def sizes_of(
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
        also = _other_axes(root, signature.arguments)
        bound = None if root.name in follows else bounds[root.name]
        found.append(Size(root.name, origin(root, signature.arguments), also, policy, bound))
    for entry in signature.counts:
        bounded = entry.bound is not None
        source = f"computed from data, at most {entry.bound}" if bounded else "computed from data, without a bound"
        policy = "in the same run" if bounded else f"counted by a first run, then {policy_text(choices[entry.name])}"
        found.append(Size(entry.name, source, (), policy, bounds.get(entry.name)))
    for entry in signature.local_counts:
        source = "computed from data, in a branch" + ("" if entry.bound is None else f", at most {entry.bound}")
        found.append(Size(entry.name, source, (), "in the same run"))
    return tuple(found)


def policy_text(choice: Choice, *, refused: bool = False) -> str:
    """How a size is handled, in words."""
    if refused and choice != "exact":
        return "exact: one compile for each size, as padding is refused"
    if choice == "exact":
        return "exact: one compile for each size"
    if isinstance(choice, int):
        return f"one compile for all sizes up to {choice}"
    if isinstance(choice, Bucket):
        return f"one compile for each of the bounds {_first_bounds(choice)}"
    first = "padded:" if choice == "padded" else f"auto: exact for at most {EXACT_SIZES} sizes, else"
    return f"{first} at most one compile for each of the bounds {_first_bounds(Bucket())}"


def _first_bounds(bucket: Bucket) -> str:
    bounds: list[int] = []
    try:
        while len(bounds) < _SHOWN_BOUNDS and (not bounds or bucket.limit is None or bounds[-1] < bucket.limit):
            bounds.append(bucket.bound(bounds[-1] + 1 if bounds else 0))
    except PolicyError:
        return ", ".join(map(str, bounds))
    return ", ".join(map(str, bounds)) + (", ..." if len(bounds) == _SHOWN_BOUNDS else "")


def _other_axes(root: Root, arguments: Sequence[Argument]) -> tuple[str, ...]:
    return tuple(
        f"axis {axis} of {argument.name}"
        for index, argument in enumerate(arguments)
        for axis, dim in enumerate(argument.dims)
        if str(dim) == root.name and (index, axis) != (root.argument, root.axis)
    )
