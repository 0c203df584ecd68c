"""What the tests of lowering rules share: `show` prints a graph's module, `show_scalar` a scalar op's formula.

A case's name is `Rule.static` or `Rule.dynamic`, with `.what` behind it where a rule has several. The name is a claim
that is checked here: the graph holds an op that this rule lowers, and the module has symbolic sizes, or neither those
nor an op for them. tests/test_lit_coverage.py demands both cases of every rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from string import ascii_lowercase
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Apply
from pytensor.graph.traversal import ancestors
from pytensor.tensor.elemwise import Elemwise

import hlograph
from hlograph.codegen.ir.attributes import attributes_of
from hlograph.codegen.ir.bindings import ir
from hlograph.codegen.ir.walk import walk
from hlograph.dialects import registry

SYMBOLIC = re.compile(r"tensor<[^>]*\?")
# What only a symbolic size needs. (`dynamic_slice` and `dynamic_update_slice` have static sizes.)
DYNAMIC_OP = re.compile(r"dynamic_(?!slice|update_slice)\w+|real_dynamic_slice|get_dimension_size")


def show(inputs: Sequence[Any], outputs: Any, *, name: str, dims: Any = None, **options: Any) -> None:
    """Prints the module of a graph under the name `Rule.static` or `Rule.dynamic`; options are `emit_stablehlo`'s."""
    outputs = outputs if isinstance(outputs, list) else [outputs]
    rule, kind = name.split(".")[:2]
    used = {lowering.name for op in ops_of(inputs, outputs) if (lowering := registry.find(op)) is not None}
    if rule not in used:
        raise SystemExit(f"{name}: the graph has no op that the rule {rule} lowers; it has {', '.join(sorted(used))}")
    program = hlograph.emit_stablehlo((list(inputs), outputs), dims=dims, name=name, **options)
    check_kind(name, kind, program.text)
    check_tidy(name, program, imported=rule == "RandomVariable")
    print(program.text)


def check_tidy(name: str, program: hlograph.Program, *, imported: bool = False) -> None:
    """Refuses ops that nobody uses, an op that stands twice in a block, and a reshape that changes nothing.

    With `imported`, private functions come from elsewhere and are not looked at.
    """
    module = program.copy_module()
    for block in (block for op in walk(module) for region in op.regions for block in region.blocks):
        if imported and "private" in str(attributes_of(block.owner.attributes).get("sym_visibility")):
            continue
        seen = set()
        for op in (op.operation for op in block.operations):
            if not op.results:
                continue
            attributes = {key: str(value) for key, value in attributes_of(op.attributes).items()}
            key = (op.name, *op.operands, str(attributes), *[str(result.type) for result in op.results])
            unused = not any(True for result in op.results for _ in result.uses) and op.name != "func.func"
            idle = op.name == "stablehlo.reshape" and op.operands[0].type == op.results[0].type
            if unused or idle or (not op.regions and key in seen):
                raise SystemExit(f"{name}: {'unused' if unused else 'idle' if idle else 'twice'}: {op}\n{program.text}")
            seen.add(key)


def check_kind(name: str, kind: str, text: str) -> None:
    """Refuses a name that says `static` of a module with symbolic sizes, or `dynamic` of one without."""
    symbolic = SYMBOLIC.search(text)
    if (kind == "dynamic") != (symbolic is not None) or kind not in ("static", "dynamic"):
        raise SystemExit(f"{name}: the module has {f'symbolic sizes ({symbolic[0]})' if symbolic else 'no ?'}\n{text}")
    if kind == "static" and (op := DYNAMIC_OP.search(text)):
        raise SystemExit(f"{name}: a static module holds {op[0]}\n{text}")


def ops_of(inputs: Sequence[Any], outputs: Sequence[Any]) -> Iterator[Any]:
    """The ops of a graph, those in inner graphs and core ops included."""
    pending = [v.owner.op for v in ancestors(outputs, blockers=inputs) if v.owner is not None and v not in inputs]
    while pending:
        op = pending.pop()
        yield op
        pending += [op.core_op] if hasattr(op, "core_op") else []
        for inner in (getattr(op, "fgraph", None), getattr(getattr(op, "scalar_op", None), "fgraph", None)):
            pending += [node.op for node in inner.apply_nodes] if inner is not None else []


def of_another_release(base: type, name: str, **members: Any) -> type:
    """A subclass of an op under the name of one that the installed PyTensor has not, as the registry sees it."""
    return type(name, (base,), {"__module__": "pytensor.another_release", **members})


def this_or_another_release(module: Any, name: str, make: Callable[[], Any]) -> Any:
    """The module's op of that name, or what stands for it where the installed PyTensor has none (any more, or yet)."""
    return getattr(module, name) if hasattr(module, name) else make()


# ---- scalar ops -------------------------------------------------------------------------------------------------------


def show_scalar(op: Any, *dtypes: str, what: str = "") -> None:
    """Prints two lines about a scalar op on vectors of the dtypes: `Name.static: formula : type`, `Name.dynamic: ...`."""
    variables = [pt.vector(name, dtype=dtype) for name, dtype in zip("xyzw", dtypes, strict=False)]
    node: Apply = Elemwise(op).make_node(*variables)
    for kind, size in (("static", 4), ("dynamic", "n")):
        name = f"{type(op).__name__}.{kind}{what and '.' + what}"
        program = hlograph.emit_stablehlo((variables, node.outputs), dims=dict.fromkeys(variables, (size,)), name=name)
        check_kind(name, kind, program.text)
        check_tidy(name, program, imported=True)
        print(f"{name}: {formula(program, [v.name for v in variables])}")


def formula(program: hlograph.Program, arguments: Sequence[str]) -> str:
    """The body of a one-result function as one expression; a value that is used twice gets a letter.

    Dialects' names, sizes, and the stretching of scalar constants are left out; of a long one all but the last op is.
    """
    module = program.copy_module()
    main = next(op for op in walk(module) if op.name == "func.func" and "main" in str(op.attributes["sym_name"]))
    block = main.regions[0].blocks[0]
    texts: dict[Any, str] = dict(zip(block.arguments, arguments, strict=True))
    uses: dict[Any, int] = {}
    for each in block.operations:
        for operand in each.operands:
            uses[operand] = uses.get(operand, 0) + 1
    lines: list[str] = []
    for operation in (op.operation for op in block.operations):
        operands = [texts[x] for x in operation.operands]
        if operation.name == "func.return":
            text = "".join(f"{line}; " for line in lines) + operands[0]
            if len(text) > 300:  # checked by its values only
                text = f"... {operands[0].partition('(')[0]}(...)"
            return f"{text} : {operation.operands[0].type}"
        if len(operation.results) > 1:
            for number, result in enumerate(operation.results):
                texts[result] = f"{_call(operation, operands)}#{number}"
            continue
        texts[operation.result] = _call(operation, operands)
        plain = operation.name.endswith(("constant", "broadcast_in_dim", "reshape"))
        if uses.get(operation.result, 0) != 1 and not plain and operation.result.type.rank:
            letter = ascii_lowercase[len(lines) % 23]
            lines.append(f"{letter} = {texts[operation.result]}")
            texts[operation.result] = letter
    raise SystemExit("a function without a return")


def _call(operation: ir.Operation, operands: Sequence[str]) -> str:
    attributes = attributes_of(operation.attributes)
    name = operation.name.rpartition(".")[2]
    if name == "constant":
        elements = np.array(ir.DenseElementsAttr(attributes["value"])).reshape(-1)
        return f"{elements[0]:.6g}" if elements.dtype.kind == "f" else str(elements[0])
    if name.endswith("broadcast_in_dim"):
        return operands[0]
    if name == "call":
        name = str(attributes["callee"])
    if name == "compare":
        name = re.findall(r"\b[A-Z]{2}\b", str(attributes["comparison_direction"]))[0]
    if name == "convert":
        name = f"convert<{ir.RankedTensorType(operation.result.type).element_type}>"
    return f"{name}({', '.join(operands)})"
