"""A module's text as people read it: arguments under their names, sizes first and apart from what is computed of them.

    func.func public @main(%x: tensor<?x4xf32> {...}, %params.w: tensor<4xf32> {...}) -> ... {
      // Constants and sizes.
      %0 = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>
      ...
      // Values.
      %4 = stablehlo.dot_general %x, %params.w, ...

In: MLIR's text, which has `%arg0`, and the module. Out: text of the same module. Decisions to know: names and comments
are made when a module is printed, so they cost nothing else and are in no file of bytecode. Sizes are a prologue of
`@main`, by the order of its ops alone, and no function of their own: passes find what a size is made of.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .bindings import ir
from .values import is_static, main_function, owner, shape_of

# What makes sizes of sizes.
_ARITHMETIC = frozenset(
    f"stablehlo.{name}"
    for name in (
        *("add", "and", "broadcast_in_dim", "compare", "concatenate", "convert", "divide", "floor", "maximum"),
        *("minimum", "multiply", "negate", "not", "or", "remainder", "reshape", "select", "sign", "slice", "subtract"),
    )
)
_NAME = re.compile(r"[A-Za-z_$.-][\w$.-]*")
_USED = re.compile(r"%([\w$.-]+)")


def sizes_first(module: ir.Module) -> None:
    """Moves what `@main` computes of its arguments' sizes alone before all else, in the order that it has."""
    operations = [op.operation for op in main_function(module).regions[0].blocks[0].operations]
    known = _sizes(operations)
    anchor = next((op for op in operations if op not in known and op.name != "stablehlo.constant"), None)
    if not known or anchor is None:
        return
    early = [maker for op in known for operand in op.operands if (maker := owner(operand)) is not None]
    needed = {*known, *early}
    for op in operations[operations.index(anchor) :]:
        if op in needed:
            op.move_before(anchor)


def _sizes(operations: Sequence[ir.Operation]) -> list[ir.Operation]:
    """The ops that give sizes of arguments, and integers made of nothing else and constants."""
    sizes: list[ir.Operation] = []
    results: set[ir.Value] = set()
    constants: set[ir.Value] = set()
    for op in operations:
        if op.name == "stablehlo.constant":
            constants.update(op.results)
            continue
        if op.name == "stablehlo.get_dimension_size":
            is_size = owner(op.operands[0]) is None
        else:
            operands = list(op.operands)
            is_size = (
                op.name in _ARITHMETIC
                and any(x in results for x in operands)
                and all(x in results or x in constants for x in operands)
                and len(shape_of(op.results[0])) <= 1
                and is_static(op.results[0].type)
                and isinstance(ir.RankedTensorType(op.results[0].type).element_type, ir.IntegerType)
            )
        if is_size:
            sizes.append(op)
            results.update(op.results)
    return sizes


def readable(text: str, module: ir.Module, names: Sequence[str]) -> str:
    """The text with the arguments of `@main` under their names, and comments around what is computed of sizes.

    Args:
        text: MLIR's, of the module.
        module: it.
        names: of the arguments; one that is no name, or has another meaning in the text, stays a number.
    """
    main = re.search(r"^  func\.func (?:public )?@main\(.*?^  }(?: loc\(.*\))?$", text, re.MULTILINE | re.DOTALL)
    if main is None:
        return text
    found = _with_comments(_with_names(main[0], names), module)
    return text[: main.start()] + found + text[main.end() :]


def located_names(module: ir.Module) -> list[str]:
    """What JAX calls the arguments of `@main`: their locations."""
    arguments = main_function(module).regions[0].blocks[0].arguments
    found = [re.fullmatch(r'loc\("(.*)"\)', str(argument.location)) for argument in arguments]
    return ["" if match is None else match[1] for match in found]


def _with_names(text: str, names: Sequence[str]) -> str:
    used = set(_USED.findall(text))
    shown: dict[str, str] = {}
    for number, name in enumerate(names):
        plain = re.sub(r"[^\w$.-]", "_", re.sub(r"\[['\"]?(\w+)['\"]?\]", r".\1", name))
        if plain == f"arg{number}":
            continue
        plain = f"{plain}_arg" if plain in used else plain  # `%c` is a constant to MLIR
        if _NAME.fullmatch(plain) and plain not in used:
            used.add(plain)
            shown[f"arg{number}"] = plain
    return _USED.sub(lambda match: f"%{shown.get(match[1], match[1])}", text)


def _with_comments(text: str, module: ir.Module) -> str:
    operations = [op.operation for op in main_function(module).regions[0].blocks[0].operations]
    known = set(_sizes(operations))
    early = [op in known or op.name == "stablehlo.constant" for op in operations]
    count = early.index(False) if False in early else len(early)
    if not any(op in known for op in operations[:count]) or count >= len(operations) - 1:
        return text
    lines = text.split("\n")
    return "\n".join(
        [lines[0], "    // Constants and sizes.", *lines[1 : 1 + count], "    // Values.", *lines[1 + count :]]
    )
