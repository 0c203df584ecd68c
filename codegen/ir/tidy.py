"""What a reader of a module need not see: ops that give one of their operands, equal ops, ops that nothing uses.

    before  %0 = stablehlo.divide %x, %y       after   %0 = stablehlo.divide %x, %y
            %1 = stablehlo.divide %x, %y               %1 = stablehlo.multiply %0, %0
            %2 = stablehlo.multiply %1, %one
            %3 = stablehlo.multiply %0, %2

In: a module as tracing leaves it. Out: the same module without them. Decision to know: only what keeps every bit is
here. A product with 1, a quotient by 1, a sum with -0.0 and a difference with 0.0 are the other operand for every real
number: -0.0, infinities and subnormal numbers come out as they went in, and a NaN with its payload (by IEEE 754 the
payload goes through, and a signaling NaN becomes quiet, which no op can tell; XLA drops the same products). A sum with
0.0 stays, since -0.0 + 0.0 is 0.0; so do all of complex numbers, where (inf + 0i) * (1 + 0i) has a NaN.

Equal ops have equal operands and attributes, and no effects: MLIR keeps draws with a state, calls of Python and custom
calls with side effects apart.

Also a module's text as people read it: arguments under their names, sizes first, apart from what is computed of them.

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
from collections.abc import Callable, Collection, Iterable, Sequence

import numpy as np

from .bindings import forget_operations, ir, run_pipeline, stablehlo
from .kinds import EFFECTS, is_removable
from .ops import integer_list
from .values import constant, integers, is_static, key_of, main_function, owner, shape_of, unspread, walk


def tidy(module: ir.Module) -> None:
    """Leaves out of a module, in place, what says nothing."""
    drop_identities(module)
    run_pipeline(module, "canonicalize,cse", name="tidy")


def drop_identities(module: ir.Module) -> None:
    """Puts an operand in the place of each op that gives it as it is; the ops stay, unused."""
    for op in walk(module):
        find = _IDENTITIES.get(op.name)
        same = None if find is None else find(op)
        if same is not None and same.type == op.results[0].type:
            op.results[0].replace_all_uses_with(same)


def _is_number(value: ir.Value, number: float) -> bool:
    """Whether all elements of a value are this real number, with its sign where that is 0."""
    if str(ir.RankedTensorType(value.type).element_type).startswith("complex"):
        return False
    spread = owner(unspread(value))
    if spread is not None and spread.name == "stablehlo.dynamic_broadcast_in_dim":
        value = spread.operands[0]
    found = constant(value)
    if found is None or found.ndim or found != number:
        return False
    return number != 0 or found.dtype.kind in "biu" or bool(np.signbit(found)) == bool(np.signbit(number))


def _other(op: ir.Operation, number: float) -> ir.Value | None:
    for one, other in ((0, 1), (1, 0)):
        if _is_number(op.operands[one], number):
            return op.operands[other]
    return None


def _first(op: ir.Operation, keeps: bool) -> ir.Value | None:
    return op.operands[0] if keeps else None


def _of_negation(op: ir.Operation) -> ir.Value | None:
    inner = owner(op.operands[0])
    return inner.operands[0] if inner is not None and inner.name == op.name else None


def _of_broadcast(op: ir.Operation) -> ir.Value | None:
    """What is spread to its own shape; of something spread before, one broadcast in place of two."""
    axes, inner = integers(op, "broadcast_dimensions"), owner(op.operands[0])
    if op.operands[0].type == op.results[0].type and axes == tuple(range(len(axes))):
        return op.operands[0]
    if inner is None or inner.name != "stablehlo.broadcast_in_dim":
        return None
    through = [axes[axis] for axis in integers(inner, "broadcast_dimensions")]
    with op.context, op.location, ir.InsertionPoint(op):
        return stablehlo.broadcast_in_dim(op.results[0].type, inner.operands[0], integer_list(through))


_IDENTITIES: dict[str, Callable[[ir.Operation], ir.Value | None]] = {
    "stablehlo.multiply": lambda op: _other(op, 1),
    "stablehlo.divide": lambda op: _first(op, _is_number(op.operands[1], 1)),
    "stablehlo.add": lambda op: _other(op, -0.0),
    "stablehlo.subtract": lambda op: _first(op, _is_number(op.operands[1], 0.0)),
    "stablehlo.negate": _of_negation,
    "stablehlo.select": lambda op: op.operands[1] if op.operands[1] == op.operands[2] else None,
    "stablehlo.convert": lambda op: op.operands[0],
    # A reshape, a conversion or a slice to the type that is there.
    "stablehlo.reshape": lambda op: _first(op, is_static(op.operands[0].type)),
    "stablehlo.slice": lambda op: _first(op, is_static(op.operands[0].type)),
    "stablehlo.transpose": lambda op: _first(op, list(axes := integers(op, "permutation")) == sorted(axes)),
    "stablehlo.broadcast_in_dim": _of_broadcast,
    "stablehlo.concatenate": lambda op: _first(op, len(op.operands) == 1),
}


# ---- ops that nothing uses -----------------------------------------------------------------------------------------


def erase_unused(module: ir.Module, pure: Collection[str] = ()) -> None:
    """Erases ops that nothing uses, in functions and in the blocks of their ops.

    MLIR's `cse` erases only those that are the last of a chain.

    Args:
        module: the module.
        pure: functions without side effects; other calls stay, and so do custom calls.
    """

    def removable(op: ir.Operation) -> bool:
        if op.name == "func.call":
            return ir.FlatSymbolRefAttr(op.attributes["callee"]).value in pure
        return len(op.results) > 0 and op.name not in EFFECTS

    def erase_in(parent: ir.Operation) -> bool:
        erased = False
        for block in [block for region in parent.regions for block in region.blocks]:
            # No handle of what an op holds may be there when it is erased.
            erased |= bool(erase([x.operation for x in block.operations if removable(x.operation)], removable))
            erased |= sum(erase_in(x.operation) for x in block.operations if len(x.operation.regions)) > 0
        return erased

    erased = True
    while erased:  # what only a region uses has no use when that is gone
        forget_operations(module)
        erased = sum(erase_in(function.operation) for function in module.body.operations) > 0


def erase(ops: Iterable[ir.Operation], removable: Callable[[ir.Operation], bool] = is_removable) -> set[int]:
    """Erases those ops of which no result is used, with what they hold, and what only they needed and is removable.

    Returns:
        The keys of all that is gone.
    """
    gone: set[int] = set()
    pending = [(key_of(op), op) for op in ops]
    while pending:
        key, op = pending.pop()
        if key in gone or any(next(iter(result.uses), None) is not None for result in op.results):
            continue
        makers = dict.fromkeys(maker for operand in op.operands if (maker := owner(operand)) is not None)
        pending += [(key_of(maker), maker) for maker in makers if removable(maker)]
        gone.update(map(key_of, walk(op)))
        op.erase()
    return gone


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
            operands = list(op.operands) if results and op.name in _ARITHMETIC else []
            is_size = (
                any(x in results for x in operands)
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
