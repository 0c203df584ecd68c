"""What is in a module: ops, functions, the ends of blocks, constants, reductions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

import numpy as np

from ..errors import ArtifactError
from .attributes import attributes_of, constant_value
from .bindings import ir
from .types import numpy_dtype


def walk(root: ir.Module | ir.Operation) -> list[ir.Operation]:
    """An operation (a module's own) and all that its regions hold, in the order of the text."""
    found: list[ir.Operation] = []
    add, go_on = found.append, ir.WalkResult.ADVANCE

    def visit(operation: ir.Operation) -> ir.WalkResult:
        add(operation)
        return go_on

    root.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def terminator(block: ir.Block) -> ir.Operation:
    """A block's last op, without a walk along the block."""
    last = ir.InsertionPoint.at_block_terminator(block).ref_operation
    assert last is not None, "a block with a terminator"
    return last.operation


def returned_by(block: ir.Block) -> list[ir.Value]:
    """The operands of a block's terminator."""
    return list(terminator(block).operands)


def loops_by_depth(module: ir.Module) -> list[ir.Operation]:
    """All loops of a module, those that lie deepest first, otherwise in order."""
    found: list[tuple[int, int, ir.Operation]] = []
    for number, op in enumerate(walk(module)):
        if op.name == "stablehlo.while":
            depth, parent = 0, op.parent
            while parent is not None and parent.operation.name != "builtin.module":  # jaxlib 0.7: it has no parent
                depth, parent = depth + 1, parent.operation.parent
            found.append((-depth, number, op))
    return [op for _, _, op in sorted(found, key=lambda entry: entry[:2])]


def has_operations(module: ir.Module, count: int) -> bool:
    """Whether a module holds at least so many operations, functions not counted."""
    stack = list(module.body.operations)
    while stack and count > 0:
        for region in stack.pop().operation.regions:
            for block in region.blocks:
                for operation in block.operations:
                    count -= 1
                    if count <= 0:
                        return True
                    if len(operation.operation.regions):
                        stack.append(operation)
    return count <= 0


def symbol_of(function: ir.Operation) -> str:
    """A function's name."""
    return ir.StringAttr(function.attributes["sym_name"]).value


def free_symbol(module: ir.Module | ir.Operation, wanted: str) -> str:
    """A symbol that the module does not hold: `wanted`, or `wanted_1`, ..."""
    operations = [op.operation for op in module.operation.regions[0].blocks[0].operations]
    taken = {symbol_of(op) for op in operations if "sym_name" in op.attributes}
    name, number = wanted, 0
    while name in taken:
        number += 1
        name = f"{wanted}_{number}"
    return name


def module_name(module: ir.Module) -> str:
    """The module's name; `main` where it has none."""
    attributes = module.operation.attributes
    return ir.StringAttr(attributes["sym_name"]).value if "sym_name" in attributes else "main"


def main_function(module: ir.Module, filename: str = "<module>") -> ir.Operation:
    """The module's entry: `@main`, or the only public function.

    Raises:
        ArtifactError: when there is none, or it is ambiguous.
    """
    functions = [op.operation for op in module.body.operations if op.operation.name == "func.func"]
    for function in functions:
        if ir.StringAttr(function.attributes["sym_name"]).value == "main":
            return function
    public = [f for f in functions if "private" not in str(attributes_of(f.attributes).get("sym_visibility"))]
    if len(public) == 1:
        return public[0]
    names = ", ".join(str(f.attributes["sym_name"]) for f in functions) or "none"
    raise ArtifactError(f"{filename} has no function @main (functions: {names})")


def location_text(location: ir.Location) -> str:
    """A location in short: the graph's variable, or what JAX calls the op. JAX's own text is a whole call stack."""
    _before, quote, rest = str(location).partition('"')
    return rest.partition('"')[0] if quote else "unknown location"


# ---- what is in a module -------------------------------------------------------------------------------------------


_NOT_COUNTED = frozenset(["func.func", "func.return", "stablehlo.return", "builtin.module"])


def op_counts(module: ir.Module) -> Counter[str]:
    """How often each op occurs; terminators and functions are not counted."""
    return Counter(operation.name for operation in walk(module) if operation.name not in _NOT_COUNTED)


def constants(module: ir.Module) -> list[tuple[str, int, str]]:
    """The constants, largest first: (type, bytes, location). A splat counts the bytes of one element."""
    found = []
    for operation in walk(module):
        if operation.name != "stablehlo.constant":
            continue
        type_ = ir.RankedTensorType(operation.results[0].type)
        value = constant_value(operation)
        count = 1 if value is not None and not value.ndim else int(np.prod(type_.shape, dtype=np.int64))
        found.append((str(type_), count * numpy_dtype(type_.element_type).itemsize, str(operation.location)))
    return sorted(found, key=lambda item: -item[1])


def has_reduction(module: ir.Module, bodies: Collection[str], elements: int) -> bool:
    """Whether a static module reduces at least so many elements by one of these ops."""
    for operation in walk(module):
        if operation.name == "stablehlo.reduce":
            size = int(np.prod(ir.RankedTensorType(operation.operands[0].type).shape, dtype=np.int64))
            body = operation.regions[0].blocks[0]
            if size >= elements and any(inner.operation.name in bodies for inner in body.operations):
                return True
    return False
