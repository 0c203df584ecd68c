"""What StableHLO lets a module leave out or say in two ways, written as hlograph's own modules have it.

In: a module that hlograph did not write. Out: the same, in place. A sort is along its last axis where it says nothing,
and may count its axis from the end; passes take it to be there, and counted from the front.
"""

from __future__ import annotations

from ..ir.bindings import ir
from ..ir.walk import walk


def write(module: ir.Module) -> None:
    """Writes the axes of sorts."""
    for operation in walk(module):
        if operation.name == "stablehlo.sort":
            given = operation.attributes
            axis = ir.IntegerAttr(given["dimension"]).value if "dimension" in given else -1
            if axis < 0:
                rank = ir.RankedTensorType(operation.operands[0].type).rank
                with module.context:
                    given["dimension"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), axis + rank)
