"""The text of an explanation: parts with a title and rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ...codegen.signature import Argument, Result
from ...runtime.executables.stats import Stats
from ..console import count, format_dims
from .record import CALL_TIME, MEGABYTE_TIME, OP_TIME, Axis, Record, Size

_SHOWN_PLACES = 3
Rows = list[tuple[str, ...]]


def python_cost(record: Record) -> str:
    """What the calls of Python cost, besides their own work."""
    total = len(record.python) * CALL_TIME + sum(len(call.ops) for call in record.python) * OP_TIME
    return f"each time about {total} us besides their own work, and {MEGABYTE_TIME} us for each MB that crosses"


def sections(record: Record) -> Iterator[tuple[str, Rows]]:
    """Title and rows of each part; those that a program need not have are left out when it has none."""
    signature = record.signature
    yield (
        "inputs",
        [
            (*_tensor_row(a), "shared variable" if a.shared else "parameter" if a.parameter else "")
            for a in signature.arguments
        ],
    )
    yield "outputs", list(map(_tensor_row, signature.results))
    if not record.sizes:
        yield "dimensions: every size is static", []
    else:
        yield "dimensions", [row for size in record.sizes for row in _origin_rows(size)]
        yield "policy", [(size.name, size.policy) for size in record.sizes]
    if signature.constraints:
        yield "constraints", [(str(constraint), constraint.where) for constraint in signature.constraints]
    if record.decided:
        yield "traced for", [(str(guard), guard.where) for guard in record.decided]
    if signature.checks:
        yield "checks", [(check.exception, check.message) for check in signature.checks]
    if record.python:
        title = f"Python: {count(len(record.python), 'call')}"
        rows: Rows = [(c.op, c.crossing, f"{c.size} bytes", c.where, c.reason) for c in record.python]
        yield f"{title} ({python_cost(record)})", rows
    if record.axes:
        yield "axes", [row for axis in record.axes for row in _axis_rows(axis)]
    if record.sizes:
        yield from _padding(record)
    if record.refusals:
        yield (
            "refused",
            [
                (
                    f"{', '.join(refusal.roots)}:" if refusal.roots else "",
                    refusal.op,
                    refusal.reason,
                    f"-> {refusal.outcome}",
                )
                for refusal in record.refusals
            ],
        )
    if record.plan:
        yield "plan for CPU", [(line,) for line in record.plan]
    if record.stats is not None:
        yield from _stats_section(record.stats)
    if record.derived:
        yield "made for JAX's transformations", [(each.name, each.how) for each in record.derived]


def _padding(record: Record) -> Iterator[tuple[str, Rows]]:
    bounds = ", ".join(f"{size.name} = {size.bound}" for size in record.sizes if size.bound is not None)
    kinds = Counter(action.kind for action in record.actions)
    done = ", ".join(f"{number} {kind}" for kind, number in kinds.most_common()) or "nothing to do for it"
    title = f"padding: {record.touched} of {count(record.operations, 'operation')} touched; {done} (bounds {bounds})"
    yield title, [(kind, dim, detail, _some(at), why) for kind, dim, detail, why, at in record.grouped_actions]


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
