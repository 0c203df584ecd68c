"""Elements and sorts of which XLA makes wrong numbers, or which end the process, found where the platform is known."""

from __future__ import annotations

from ..errors import CompileError
from ..ir.bindings import ir
from ..ir.values import flag_of, walk

# Ops, and elements that XLA does not have in them.
_SIX_BITS = dict.fromkeys(["stablehlo.convert", "stablehlo.bitcast_convert"], frozenset(["f6E2M3FN", "f6E3M2FN"]))
_TWO_BITS = dict.fromkeys(["stablehlo.concatenate", "stablehlo.sort"], frozenset(["i2", "ui2"]))


def refuse_elements(module: ir.Module, platform: str) -> None:
    """Refuses elements of which XLA makes wrong numbers, or on which it ends the process, in a module from anywhere.

    Raises:
        CompileError: with the op.
    """
    unknown = {**_SIX_BITS, **(_TWO_BITS if platform == "cpu" else {})}
    for operation in walk(module):
        if operation.name in unknown:
            types = {str(getattr(x.type, "element_type", "")) for x in (*operation.operands, *operation.results)}
            found = sorted(types & unknown[operation.name])
            if found:
                raise CompileError(f"XLA has no {operation.name} of {found[0]} for {platform}; use a wider type there")


def stable_sorts(module: ir.Module) -> int:
    """Makes all sorts stable, in place; how many were not.

    XLA:CPU's other sort reads and writes past the array, or never ends, where the comparison is no order. A stable one
    is an answer to what is asked in any case.
    """
    found = [op for op in walk(module) if op.name == "stablehlo.sort" and not flag_of(op, "is_stable", False)]
    for operation in found:
        operation.attributes["is_stable"] = ir.BoolAttr.get(True, module.context)
    return len(found)
