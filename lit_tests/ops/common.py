"""What the tests of lowering rules share: `show` prints a graph's module as terms, `scalar_formula` gives a scalar op's.

A case's name is `Rule.static` or `Rule.dynamic`, with `.what` behind it where a rule has several. The name is a claim
that is checked here: the graph holds an op that this rule lowers, and the module has symbolic sizes, or neither those
nor an op for them. tests/test_lit_coverage.py demands a case of every rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytensor.tensor as pt
from pytensor.graph.basic import Apply
from pytensor.graph.traversal import ancestors
from pytensor.tensor.elemwise import Elemwise
from terms import Terms

import hlograph
from hlograph.codegen.ir.values import main_function, symbol_of, walk
from hlograph.dialects import registry
from hlograph.dialects.frontend import emit_graph
from hlograph.dialects.sparse import ops as expansions
from hlograph.passes import attributes_of, ir

SYMBOLIC = re.compile(r"tensor<[^>]*\?")
# What only a symbolic size needs. (`dynamic_slice` and `dynamic_update_slice` have static sizes.)
DYNAMIC_OP = re.compile(r"dynamic_(?!slice|update_slice)\w+|real_dynamic_slice|get_dimension_size")


def show(name: str, inputs: Sequence[Any], outputs: Any, dims: Any = None, **options: Any) -> None:
    """Prints the module of a graph under the name `Rule.static` or `Rule.dynamic`; options are `emit_graph`'s."""
    outputs = outputs if isinstance(outputs, list) else [outputs]
    rule, kind = name.split(".")[:2]
    ops = list(ops_of(inputs, outputs))
    used = {lowering.name for op in ops if (lowering := registry.find(op)) is not None}
    used |= {f"Sparse{base.__name__}" for op in ops for base in type(op).__mro__ if expansions.find_class(type(op))}
    if rule not in used:
        raise SystemExit(f"{name}: the graph has no op that the rule {rule} lowers; it has {', '.join(sorted(used))}")
    program = emit_graph((list(inputs), outputs), dims=dims, name=name, **options)
    check_kind(name, kind, program.text)
    check_tidy(name, program, imported=rule == "RandomVariable")
    print_case(name, program)


def print_case(name: str, program: hlograph.Program) -> None:
    """Prints a module's lines, the first one behind the name; of a single term without `return`."""
    first, *rest = lines_of(program)
    print(f"{name}: {first if rest else first.removeprefix('return ')}", *rest, sep="\n")


def lines_of(program: hlograph.Program) -> Iterator[str]:
    """What a program's signature says of keys, demands and reports; its functions, private ones behind their types."""
    module = program.copy_module()
    main = main_function(module)
    for argument in program.signature.arguments:
        if argument.key:
            yield f"key: {argument.name}, {argument.key}"
    for what in ("checks", "constraints", "counts"):
        for entry in attributes_of(main.attributes).get(f"hlograph.{what}", ()):
            yield f"{what}: {', '.join(text for item in entry if (text := ir.StringAttr(item).value))}"
    yield from Terms(main, names_of(program)).lines
    for function in (op.operation for op in module.body.operations if op.operation != main):
        attributes = attributes_of(function.attributes)
        implements = attributes.get("hlograph.implements")
        type_ = ir.FunctionType(ir.TypeAttr(attributes["function_type"]).value)
        yield f"@{symbol_of(function)}{type_}{f' implements {implements}' if implements else ''}:"
        yield from Terms(function, [f"arg{number}" for number in range(len(type_.inputs))]).lines


def names_of(program: hlograph.Program) -> list[str]:
    """The names of the arguments."""
    return [argument.name for argument in program.signature.arguments]


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
            constant = op.name == "stablehlo.constant"  # the bindings do not read complex ones
            attributes = str(op).partition("=")[2] if constant else text_of(op.attributes)
            key = (op.name, *op.operands, attributes, *[str(result.type) for result in op.results])
            unused = not any(True for result in op.results for _ in result.uses) and op.name != "func.func"
            idle = op.name == "stablehlo.reshape" and op.operands[0].type == op.results[0].type
            if unused or idle or (not op.regions and key in seen):
                raise SystemExit(f"{name}: {'unused' if unused else 'idle' if idle else 'twice'}: {op}\n{program.text}")
            seen.add(key)


def text_of(attributes: Any) -> str:
    """Attributes as text, in any order."""
    return str({key: str(value) for key, value in attributes_of(attributes).items()})


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


def scalar_formula(op: Any, *dtypes: str, what: str = "") -> tuple[str, str]:
    """The name of a scalar op, with `.what` behind it, and `formula : type` of it on vectors.

    It is of vectors of 4 elements and of an unknown number of them: they must give the same.
    """
    variables = [pt.vector(name, dtype=dtype) for name, dtype in zip("xyzw", dtypes, strict=False)]
    node: Apply = Elemwise(op).make_node(*variables)
    name = ".".join(filter(None, (type(op).__name__, what)))
    formulas = set()
    for kind, size in (("static", 4), ("dynamic", "n")):
        case = ".".join(filter(None, (type(op).__name__, kind, what)))
        program = hlograph.emit_stablehlo((variables, node.outputs), dims=dict.fromkeys(variables, (size,)), name=case)
        check_kind(case, kind, program.text)
        check_tidy(case, program, imported=True)
        formulas.add(formula(program))
    if len(formulas) > 1:
        raise SystemExit(f"{name}: a static size and a symbolic one give {' and '.join(sorted(formulas))}")
    return name, formulas.pop()


def formula(program: hlograph.Program) -> str:
    """The body of a one-result function as one expression, of what is long the last op; and the elements' type."""
    module = program.copy_module()
    *lines, returned = Terms(main_function(module), names_of(program)).lines
    term, _, type_ = returned.removeprefix("return ").rpartition(" : ")
    term = re.sub(r"^(?:dynamic_)?broadcast_in_dim<[^>]*>\((\w+).*\)$", r"\1", term)  # a constant
    text = "; ".join([*(line.strip().rpartition(" : ")[0] or line.strip() for line in lines), term])
    text = re.sub(r", \[\], size.*?\{indices_of_shape_operands[^}]*\}", ")", text)  # what tells a call an open size
    if len(text) > 300:  # checked by its values only
        text = f"... {term.partition('(')[0]}(...)"
    return f"{text} : {re.sub(r'tensor<(4|[?])x|>$', '', type_)}"
