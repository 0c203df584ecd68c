"""Along which axes an op can be computed part by part.

In: an op. Out: its form (`ir/op_sheet.py`), with the axes along which it cuts, adds or turns elements round left out,
as a part of its result is no op on the same part of its operand there.
"""

from __future__ import annotations

from ...ir.attributes import names_of
from ...ir.bindings import ir
from ...ir.kinds import having
from ...ir.op_sheet import Form
from ...ir.op_sheet import form_of as any_form_of
from ...ir.types import is_static
from ...ir.values import constant, owner, sizes_of

_PARTS = having("elementwise") | having("moving") | {"stablehlo.dot_general", "stablehlo.reduce", "stablehlo.sort"}


def form_of(op: ir.Operation) -> Form | None:
    """How an op treats axes; None where it is not known to be computable part by part."""
    if op.name not in _PARTS or not all(is_static(x.type) for x in (*op.results, *op.operands)):
        return None
    if any("shard" in name for name in names_of(op.attributes)):
        return None
    form = any_form_of(op)
    return None if form is None else form.kept()


def is_free(value: ir.Value) -> bool:
    """Whether every part of an array can be made from nothing: one number everywhere, or a count along an axis."""
    op = owner(value)
    if op is None:
        return False
    if op.name == "stablehlo.broadcast_in_dim":
        return not sizes_of(op.operands[0])
    if op.name == "stablehlo.constant":
        found = constant(value)
        return found is not None and found.ndim == 0 and found.dtype.kind != "c"
    return op.name == "stablehlo.iota"
