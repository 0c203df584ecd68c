"""Why padding is what it is, and why a mask is needed: the facts that the walk used, in words.

    pad: %1 = stablehlo.exponential %0 : tensor<?xf64>: its padding along dim 0 (n of 8) is 1.0, because exponential of
        padding 0.0 is 1.0
    pad: %2 = stablehlo.reduce : tensor<f64>: operand %1 was masked with 0.0 along dim 0 (n of 8): its padding is 1.0,
        because exponential of padding 0.0 is 1.0

In: what is known of values after the walk. Out: lines for `hlograph opt --explain pad`, and the reason of each mask for
`hlograph.explain`. Decision to know: a reason is one step; that of what it begins with is in the line of that value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...ir.bindings import ir
from ...ir.op_sheet import form_of
from ...ir.values import location_text, owner
from ..report import Report
from .facts import UNKNOWN, Fact
from .live import Live

Env = Mapping[ir.Value, Live]


@dataclass(frozen=True)
class Action:
    """Something that was done with padding at an op, or that needed not be done.

    Attributes:
        op: the op.
        kind: "mask", "extend", "shift", "compact", "clamp", ...; "" where nothing needed be done.
        dim: the live size concerned.
        detail: what it was done with, e.g. the value that a mask fills in.
        why: of a mask, what was there before.
        line: all of it in words.
    """

    op: ir.Operation
    kind: str
    dim: str
    detail: str
    why: str
    line: str


def asked(env: Env, op: ir.Operation, live: Live, axis: int, value: object) -> Action:
    """That an op needs something in the padding of an operand, which a mask fills in; or None, where it is there."""
    source = next((x for x in op.operands if x in env and env[x].tensor is live.tensor), None)
    held = holds(env, source, live, axis)
    name = "an operand" if source is None else f"operand {_name(source)}"
    done = "needs no mask" if value is None else f"was masked with {value}"
    line = f"{name} {done} {_where(live, axis)}: {held}"
    return Action(op, "" if value is None else "mask", str(live.dims[axis]), f"with {value}", held, line)


def holds(env: Env, value: ir.Value | None, live: Live, axis: int) -> str:
    """What a value's padding along an axis is, and why; that only of a value of the source."""
    fact = live.pad(axis)
    return f"its padding is {fact}" + ("" if value is None else f", because {_reason(env, value, axis, fact)}")


def tell(report: Report, env: Env, actions: Sequence[Action]) -> None:
    """Writes what was done, and what each value's padding is, into a pass's report, in the order of the walk."""
    by_op: dict[ir.Operation, list[Action]] = {}
    for action in actions:
        by_op.setdefault(action.op, []).append(action)
    for value, live in env.items():
        op = owner(value)
        for action in by_op.pop(op, ()) if op is not None else ():
            report.applied(action.op, result=action.line)
        for axis in live.padded:
            line = holds(env, value, live, axis).replace("padding", f"padding {_where(live, axis)}", 1)
            report.applied(op or f"{_name(value)} : {value.type}", result=line)


def _reason(env: Env, value: ir.Value, axis: int, fact: Fact) -> str:
    """One step; what is unknown because an operand's is, is followed to where that began."""
    op, behind = owner(value), ""
    while True:
        if op is None:
            assert isinstance(value.owner, ir.Block)
            around = value.owner.owner.operation.name
            return f"arguments are padded with {fact}" if around == "func.func" else f"{around} says no more of it"
        name, form = op.name.partition(".")[2], form_of(op)
        places = form.places(axis) if form is not None else env[op.operands[0]].padded[:1] if len(op.operands) else []
        read = [
            (x, place) for x, place in zip(op.operands, places, strict=False) if place is not None or not env[x].dims
        ]
        found = [env[x].whole if place is None else env[x].pad(place) for x, place in read]
        if fact is not UNKNOWN or UNKNOWN not in found:
            break
        value, place = read[found.index(UNKNOWN)]
        if place is None:
            break
        op, axis = owner(value), place
        behind = "" if op is None else f" ({location_text(op.location)})"
    return (
        f"{name} of padding {' and '.join(map(str, found))} is {fact}{behind}"
        if found
        else f"{name} leaves {fact} there"
    )


def _name(value: ir.Value) -> str:
    return f"%{value.get_name(use_local_scope=True).lstrip('%')}"


def _where(live: Live, axis: int) -> str:
    return f"along dim {axis} ({live.dims[axis]} of {live.shape[axis]})"
