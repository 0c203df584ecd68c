"""`hlograph.explain`: the sizes of a program, how each is met, what padding does with them, and the graph as a drawing.

In: a graph, a program, or a compiled function. Out: an `Explanation`, which is text and a page. What is said about
padding is what the padding pass did (`walk.py`), at one representative bound for each size.
"""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from html import escape
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from ..codegen.artifact.inspection import origin, role
from ..codegen.dims import parse
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
        drawing: gives the graph as HTML, with at most `LIMIT` nodes.
    """

    name: str
    sections: tuple[tuple[str, Rows], ...]
    operations: Rows = field(repr=False)
    drawing: Callable[[], str] = field(repr=False, compare=False)

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
        """The explanation as one HTML page, with the graph drawn and all operations listed; it loads nothing."""
        sections = (*self.sections, ("operations", self.operations))
        return page(f"program {self.name}", sections, self.drawing())

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
        policy: how sizes are met, see `hlograph.function`; by default "auto", or what a compiled function has.
        bounds: size name to the bound for which padding is looked at; by default what the policy says, or 128.
        dims: for a graph, names of axes, see `emit_stablehlo`.

    Returns:
        The explanation; printed it is text, `.html` is the same as a page, with the graph drawn and all its operations.

    Raises:
        HlographError: the source cannot be explained, a policy or bound names what is no size, ...
    """
    try:
        program, function = _find(source, specs, dims)
    except UnsupportedGraphError as error:
        if not hasattr(source, "guards"):  # no jitted function
            raise
        return Explanation(source.__name__, (("no program for all sizes", [(str(error),)]),), [], str)
    chosen = policy if policy is not None else function.options.policy if function is not None else "auto"
    signature = program.signature
    choices = Policies(chosen, signature).choices
    limits = bounds_of(signature, choices, bounds or {})
    facts = walk(program.copy_module(), limits)
    sizes = sizes_of(signature, choices, limits, facts.refusals)
    parts = _sections(source, program, function, facts, sizes)
    sections = tuple((title, rows) for title, rows in parts if rows or title.startswith(_ALWAYS))
    operations: Rows = [
        (x.block, str(x), ", ".join(f"{value.dtype}{value}" for value in x.results), "; ".join(x.marks))
        for x in facts.nodes
        if not x.sizes_only
    ]
    return Explanation(program.name, sections, operations, partial(draw, facts.blocks, [x.name for x in sizes]))


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
        touched = f"{sum(bool(node.names) for node in nodes)} of {count(len(nodes), 'operation')} touched"
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
    """Kind, size and detail of what padding does, where, and why; the most frequent first."""
    groups: dict[tuple[str, str, str, str], list[str]] = {}
    for kind, dim, detail, why, place in actions:
        groups.setdefault((kind, dim, detail, why), []).append(place)
    found = sorted(groups.items(), key=lambda item: -len(item[1]))
    return [(kind, dim, detail, _some(places), why) for (kind, dim, detail, why), places in found]


def _some(places: Sequence[str]) -> str:
    """The first few places, and how many there are."""
    shown = list(dict.fromkeys(places))[:_SHOWN_PLACES]
    text = ", ".join(shown)
    return f"at {text}" if len(places) == len(shown) else f"{len(places)} times, at {text}, ..."


# What a call of Python costs besides its own work, measured on an x86 CPU (docs/host.md): microseconds for each call,
# each op in it, and each million of bytes that cross.
CALL_TIME, OP_TIME, MEGABYTE_TIME = 8, 6, 300


def _python(program: Program, found: Sequence[Node]) -> tuple[str, Rows]:
    """The calls of Python, without what says sizes and order; those that are one call together."""
    nodes = {node.name.removeprefix(PYTHON): node for node in found if node.name.startswith(PYTHON)}
    module = program.copy_module()  # it lives as long as its ops are looked at
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
        takes, gives = (", ".join(f"{value.dtype}{value}" for value in side) for side in (taken, given))
        calls = [program.host_calls.get(name) for name in names]
        ops = ", then ".join(name if call is None else call.name for name, call in zip(names, calls, strict=True))
        why = "; ".join(dict.fromkeys("" if call is None else call.why for call in calls))
        size = f"{_bytes_of([*taken, *given])} bytes"
        rows.append((ops, f"{takes or 'nothing'} -> {gives}", size, node.block, why))
        time += CALL_TIME + len(names) * OP_TIME
    cost = f"each time about {time} us besides their own work, and {MEGABYTE_TIME} us for each MB that crosses"
    return f"Python: {count(len(rows), 'call')} ({cost})", rows


def _bytes_of(values: Sequence[Value]) -> str:
    """How many bytes values are together, as an expression of sizes."""
    if any("?" in value.dims for value in values):
        return "?"
    sizes = [prod(map(parse, value.dims)) * np.dtype(value.dtype).itemsize for value in values]
    return str(sum(sizes))


def _derived(function: Transformable) -> Iterator[tuple[str, ...]]:
    """All that was made of a function, and of what was made of it."""
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
    """The program that is meant, and the compiled function if it is one."""
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
    """What there is one of."""
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
    """How a size is met, in words."""
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
    """The axes of inputs that are this size, without the one that decides it."""
    return tuple(
        f"axis {axis} of {argument.name}"
        for index, argument in enumerate(arguments)
        for axis, dim in enumerate(argument.dims)
        if str(dim) == root.name and (index, axis) != (root.argument, root.axis)
    )


# ---- the drawing: SVG in HTML, with no script and no other file ------------------------------------------------------
#
# A node stands in the layer below the last of its sources, near the middle of them. Constants and the arithmetic on
# sizes are not drawn. Loops, branches and functions have drawings of their own, folded; together at most `LIMIT` nodes
# are drawn, and the page says where it stopped.

LIMIT = 300  # nodes that are drawn, all drawings together
_LETTERS = 22  # of a node's text
_WIDTH, _HEIGHT = 168, 40  # of a node
_COLUMN, _GAP, _LAYER, _MARGIN = 186, 24, 92, 16  # of a column, of a gap that edges take, of a layer, around all
_COLOURS = ("#1766c2", "#c2410c", "#15803d", "#9333ea", "#be185d", "#0e7490", "#854d0e", "#4338ca")  # of sizes
_GREY, _REFUSED, _ACTS = "#7a858f", "#c62828", "#b26a00"
_NOTE = (
    "Below each node, the shape of its result. Constants and arithmetic on sizes are not drawn. A round mark is what "
    "padding does there (its first letter), or × where it is refused; hover for details."
)

Point = tuple[float, float]
Stop = Node | tuple[Node, int]  # a node, or the gap in a layer that the edges from a node take


def draw(blocks: Mapping[str, Sequence[Node]], sizes: Sequence[str]) -> str:
    """The drawings of all blocks, under a title."""
    colours = dict(zip(sizes, _COLOURS * (len(sizes) // len(_COLOURS) + 1), strict=False))
    names = " ".join(f'<b style="color:{colour}">{escape(name)}</b>' for name, colour in colours.items())
    parts = ["<h2>graph</h2>", f"<p>{_NOTE}{' Sizes: ' if names else ''}{names}</p>"]
    left, undrawn = LIMIT, 0
    for title, nodes in blocks.items():
        shown = _shown(nodes)
        if title and not (shown and left):
            undrawn += bool(shown)
            continue
        if len(shown) > left:
            parts.append(f"<p>The first {left} nodes; {len(shown) - left} more are not drawn.</p>")
        drawing = _svg(shown[:left], colours)
        parts.append(f"<details><summary>{escape(title)}</summary>{drawing}</details>" if title else drawing)
        left -= len(shown[:left])
    if undrawn:
        parts.append(f"<p>{count(undrawn, 'block')} more not drawn: a page has at most {LIMIT} nodes.</p>")
    return "\n".join(parts)


def _shown(nodes: Sequence[Node]) -> list[Node]:
    """The nodes that are drawn: what the block takes from outside, and its own, without constants and sizes."""
    every = dict.fromkeys([*(x for node in nodes for x in node.sources if x.block != node.block), *nodes])
    spread = (node for node in every if "broadcast" in node.name and all(x.sizes_only for x in node.sources))
    hidden = {node for node in spread if not node.marks}
    return [node for node in every if not node.sizes_only and node not in hidden]


def _svg(nodes: Sequence[Node], colours: Mapping[str, str]) -> str:
    places, layers = _places(nodes)
    width = max((x for x, _ in places.values()), default=0) + _WIDTH / 2 + _MARGIN
    height = max((y for _, y in places.values()), default=0) + _HEIGHT / 2 + 2 * _MARGIN
    parts = [
        f'<div style="overflow:auto"><svg width="{width:.0f}" height="{height:.0f}" font-family="sans-serif" '
        'font-size="11" text-anchor="middle" style="background:#fff">'
    ]
    for node in nodes:
        for source in [source for source in node.sources if source in layers]:
            bends = [places[source, layer] for layer in range(layers[source] + 1, layers[node])]
            parts.append(
                f'<path d="{_path([places[source], *bends, places[node]])}" fill="none" '
                f'stroke="{_colour(source.names, colours)}"><title>{escape(f"{source} to {node}")}</title></path>'
            )
    return "\n".join([*parts, *(_box(node, *places[node], colours) for node in nodes), "</svg></div>"])


def _places(nodes: Sequence[Node]) -> tuple[dict[Stop, Point], dict[Node, int]]:
    """The centre of each node, a layer below its sources, and of the gaps that its edges take; and the layers."""
    layers: dict[Node, int] = {}
    above: defaultdict[Stop, dict[Stop, None]] = defaultdict(dict)  # what stands in the layer above and leads here
    rows: defaultdict[int, dict[Stop, None]] = defaultdict(dict)
    for node in nodes:
        sources = [source for source in node.sources if source in layers]
        layers[node] = 1 + max((layers[source] for source in sources), default=-1)
        rows[layers[node]][node] = None
        for source in sources:
            last: Stop = source
            for layer in range(layers[source] + 1, layers[node]):
                gap = (source, layer)
                rows[layer][gap] = above[gap][last] = None
                last = gap
            above[node][last] = None
    places: dict[Stop, Point] = {}
    for layer in sorted(rows):
        wanted = {
            stop: sum(places[x][0] for x in above[stop]) / len(above[stop]) if above[stop] else number * _COLUMN
            for number, stop in enumerate(rows[layer])
        }
        right = float(_MARGIN)
        for stop in sorted(wanted, key=wanted.__getitem__):
            half = (_COLUMN if isinstance(stop, Node) else _GAP) / 2
            x = max(right + half, wanted[stop])
            places[stop], right = (x, _MARGIN + _HEIGHT / 2 + layer * _LAYER), x + half
    return places, layers


def _path(points: Sequence[Point]) -> str:
    """A smooth curve from below the first node, past others on the way, to above the last."""
    (x, y), *middle, (last_x, last_y) = points
    stops = [(x, y + _HEIGHT / 2), *[(x, y + side) for x, y in middle for side in (-_HEIGHT / 2, _HEIGHT / 2)]]
    text = f"M{stops[0][0]:.0f} {stops[0][1]:.0f}"
    for (a, b), (c, d) in pairwise([*stops, (last_x, last_y - _HEIGHT / 2)]):
        bend = (b + d) / 2
        text += f"C{a:.0f} {bend:.0f} {c:.0f} {bend:.0f} {c:.0f} {d:.0f}"
    return text


def _box(node: Node, x: float, y: float, colours: Mapping[str, str]) -> str:
    """A node: its name and op, its shape below, its marks at the corner."""
    name = re.sub(r"^(?:\w+\([^/]*\)/)+", "", node.where)  # JAX's names are paths
    title, subtitle = (name, node.name) if name not in ("", node.name) else (node.name, "")
    tooltip = "\n".join([str(node), *[f"gives {value.dtype}{value}" for value in node.results]])
    frame = _REFUSED if any(mark.startswith("refused") for mark in node.marks) else _GREY
    corner = 14 if node.name in ("input", "outputs") else 4
    parts = [
        f'<g transform="translate({x:.0f} {y:.0f})"><title>{escape(tooltip)}</title>',
        f'<rect x="{-_WIDTH // 2}" y="{-_HEIGHT // 2}" width="{_WIDTH}" height="{_HEIGHT}" rx="{corner}" '
        f'fill="#f5f7f9" stroke="{frame}"/>',
        f'<text y="{-3 if subtitle else 4}" font-weight="600" font-size="12">{_cut(title)}</text>',
        f'<text y="12" fill="{_GREY}">{_cut(subtitle)}</text>' if subtitle else "",
    ]
    if node.results:
        value, more = node.results[0], len(node.results) - 1
        dims = ", ".join(
            f'<tspan fill="{_colour(names, colours)}">{_cut(dim)}</tspan>'
            for dim, names in zip(value.dims, value.roots, strict=True)
        )
        parts.append(
            f'<text x="6" y="{_HEIGHT // 2 + 14}" text-anchor="start" fill="{_GREY}" stroke="#fff" stroke-width="4" '
            f'paint-order="stroke" font-weight="600">[{dims}]{f" +{more}" if more else ""}</text>'
        )
    for number, mark in enumerate(node.marks):
        letter, colour = ("×", _REFUSED) if mark.startswith("refused") else (mark[0], _ACTS)
        parts.append(
            f'<g transform="translate({_WIDTH // 2 - 4 - 17 * number} {-_HEIGHT // 2})"><title>{escape(mark)}</title>'
            f'<circle r="8" fill="{colour}"/><text y="3.5" fill="#fff" font-weight="700">{letter}</text></g>'
        )
    return "".join([*parts, "</g>"])


def _colour(names: Iterable[str], colours: Mapping[str, str]) -> str:
    """The colour of the first of some sizes; grey for none."""
    return next((colour for name, colour in colours.items() if name in names), _GREY)


def _cut(text: str) -> str:
    return escape(text if len(text) <= _LETTERS else text[: _LETTERS - 1] + "…")
