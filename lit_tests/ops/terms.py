"""Functions written as terms: every op stands where it is used, as `name<attributes>(operands)`.

A line of its own, with a letter for the result and the result's type at the end, has what is used more than once, what
has attributes that need their names (gather, sort, ...) unless it is returned, and what has a region of several lines,
which follow. A region of one line stands among the attributes, `(p0, p1) -> add(p0, p1)` as `add`. Left out are
dialects' names, how a scalar is stretched unless it is a result or an update, and that a single element is reshaped.
`size<0>(x)` is the size of an axis, `dot_general<[1], [0]>` contracts axis 1 of the left side and axis 0 of the right.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from string import ascii_lowercase
from typing import Any

import numpy as np

from hlograph.passes import attributes_of, ir

# Ops with attributes that say nothing without their names.
NAMED = re.compile(r"(dynamic_)?(gather|pad)|custom_call|fft|reduce_window|scatter|sort")
# Ops whose result has a shape or a type that their operands do not say.
TYPED = re.compile(r"convert|iota|reshape|broadcast_in_dim")
# What says nothing, and what is said by an op's name.
SILENT = frozenset({"compare_type", "api_version", "backend_config", "has_side_effect", "callee", "call_target_name"})


class Terms:
    """A function's lines; the last one says what it returns."""

    def __init__(self, function: ir.Operation, arguments: Sequence[str]) -> None:
        """Writes a function with these names for its arguments."""
        block = function.regions[0].blocks[0]
        self._letters = (letter for letter in _letters() if letter not in arguments)
        self._texts: dict[Any, str] = dict(zip(block.arguments, arguments, strict=True))
        self._uses: Counter[Any] = Counter()
        self._count(block)
        *lines, returned = self._block(block, 0)
        types = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value).results
        self.lines = [*lines, f"return {returned} : {', '.join(map(str, types))}"]

    def _count(self, block: ir.Block) -> None:
        """Counts the uses of values by what will be written."""
        for operation in reversed([each.operation for each in block.operations]):
            if len(operation.results) == 0 or self._is_used(operation):
                for inner in _blocks(operation):
                    self._count(inner)
                self._uses.update(_written(operation))

    def _is_used(self, operation: ir.Operation) -> bool:
        return any(self._uses[result] for result in operation.results)

    def _block(self, block: ir.Block, depth: int) -> list[str]:
        """A block's lines; the last one is the terms that it returns."""
        *operations, end = (each.operation for each in block.operations)
        lines = [line for each in operations if self._is_used(each) for line in self._operation(each, depth)]
        returned = ", ".join(self._texts[operand] for operand in end.operands)
        return [*lines, returned if depth == 0 or len(end.operands) == 1 else f"({returned})"]

    def _operation(self, operation: ir.Operation, depth: int) -> list[str]:
        """The lines of an operation; none where it stands in those of its users."""
        operands = [self._texts[operand] for operand in _written(operation)]
        regions = [self._region(block, depth + 1) for block in _blocks(operation)]
        short = [region[0] for region in regions if len(region) == 1]
        long = [f"  {line}" for region in regions if len(region) > 1 for line in region]
        uses = sum(self._uses[result] for result in operation.results)
        results = operation.results
        if _is_silent(operation):
            term, inline = operands[0], True
        else:
            term = _term(operation, operands, short)
            named = NAMED.fullmatch(_name(operation)) and not (depth == 0 and _is_returned(operation))
            inline = not long and not named and (uses == 1 or _is_short(operation))
        letter = term if inline else next(self._letters)
        several = len(results) > 1
        self._texts.update({result: f"{letter}#{i}" if several else letter for i, result in enumerate(results)})
        number = f":{len(results)}" if several else ""
        return [] if inline else [f"{letter}{number} = {term} : {', '.join(str(x.type) for x in results)}", *long]

    def _region(self, block: ir.Block, depth: int) -> list[str]:
        names = [f"{'pqrstuvw'[depth - 1]}{number}" for number in range(len(block.arguments))]
        self._texts.update(zip(block.arguments, names, strict=True))
        *lines, returned = self._block(block, depth)
        head = f"({', '.join(names)})"
        if lines:
            return [f"{head} ->", *(f"  {line}" for line in lines), f"  return {returned}"]
        plain = re.fullmatch(rf"(\w+){re.escape(head)}", returned)
        return [plain[1] if plain else f"{head} -> {returned}"]


def _letters() -> Iterator[str]:
    for number in count():
        for letter in ascii_lowercase[:15]:
            yield f"{letter}{number or ''}"


def _blocks(operation: ir.Operation) -> list[ir.Block]:
    return [block for region in operation.regions for block in region.blocks]


def _name(operation: ir.Operation) -> str:
    name = operation.name.rpartition(".")[2]
    return "size" if name == "get_dimension_size" else name


def _is_short(operation: ir.Operation) -> bool:
    """Whether an op is written out however often it is used."""
    return _name(operation) in ("constant", "size") or _is_vector(operation)


def _is_vector(operation: ir.Operation) -> bool:
    """Whether an op makes a vector of sizes, arguments and constants: `[size<0>(x), n, 4]`."""
    makers = [operand.owner for operand in operation.operands] if _name(operation) == "concatenate" else []
    while inner := [x for x in makers if not isinstance(x, ir.Block) and _is_silent(x)]:
        makers = [x for x in makers if x not in inner] + [x.operands[0].owner for x in inner]
    short = [isinstance(x, ir.Block) or _name(x) in ("constant", "size") for x in makers]
    ones = [ir.RankedTensorType(operand.type).shape == [1] for operand in operation.operands]
    return bool(short) and all(short) and all(ones)


def _is_returned(operation: ir.Operation) -> bool:
    """Whether an op has one result, which is returned and used nowhere else."""
    return len(operation.results) == 1 and [use.owner.name for use in operation.result.uses] == ["func.return"]


def _is_silent(operation: ir.Operation) -> bool:
    """Whether an op changes nothing but how one element, or a size, is held."""
    name, operands = _name(operation), operation.operands
    if name == "convert":
        owner = operands[0].owner
        return not isinstance(owner, ir.Block) and _name(owner) == "size"
    if name.endswith("broadcast_in_dim"):
        returned = any(use.owner.name.endswith(("return", "dynamic_update_slice")) for use in operation.result.uses)
        return ir.RankedTensorType(operands[0].type).rank == 0 and not returned
    return name == "reshape" and re.match(r"tensor<(1x)*[a-z]", str(operation.result.type)) is not None


def _written(operation: ir.Operation) -> list[ir.Value]:
    """The operands that are written; the size to which a scalar is stretched is not."""
    return list(operation.operands)[: 1 if _is_silent(operation) else None]


def _term(operation: ir.Operation, operands: list[str], regions: list[str]) -> str:
    """An op on its operands, with its attributes and short regions."""
    name, arguments = _name(operation), f"({', '.join(operands)})"
    if name == "constant":
        return _constant(operation)
    if _is_vector(operation):
        return f"[{', '.join(operands)}]"
    attributes = attributes_of(operation.attributes)
    shown = {key: _value(value) for key, value in attributes.items() if key not in SILENT}
    if NAMED.fullmatch(name):
        extra = [value if " = " in value else f"{key} = {value}" for key, value in shown.items()] + regions
        braces = f" {{{', '.join(extra)}}}" if extra else ""
        return f"{_callee(operation, attributes)}{arguments}{braces}"
    if name == "compare":
        return f"{shown['comparison_direction']}{arguments}"
    if name == "dot_general":
        shown = {"axes": _dot(**shown)}
    if name in ("cholesky", "triangular_solve"):
        flags = {"true": ("left", "lower", "unit"), "false": ("right", "upper", "")}
        words = zip(("left_side", "lower", "unit_diagonal"), *flags.values(), strict=True)
        shown = {key: (yes if shown[key] == "true" else no) for key, yes, no in words if key in shown} | {
            "transpose_a": shown.get("transpose_a", "").removeprefix("NO_TRANSPOSE")
        }
        shown = {key: word for key, word in shown.items() if word}
    if name == "slice":
        ends = [re.findall(r"\d+", shown[key]) for key in ("start_indices", "limit_indices", "strides")]
        shown = {"slices": ", ".join(map(":".join, zip(*ends, strict=True)))}
    extra = [*shown.values(), *regions]
    if TYPED.search(name):
        type_ = ir.RankedTensorType(operation.result.type)
        extra.append(str(type_.element_type) if name == "convert" else str(type_)[len("tensor<") : -1])
    return _callee(operation, attributes) + (f"<{', '.join(extra)}>" if extra else "") + arguments


def _dot(dot_dimension_numbers: str, precision_config: str, **others: str) -> str:
    """Contracted axes of either side, and axes of batches; the precision where it is not the highest."""
    axes = dict(re.findall(r"(\w+)_dimensions = (\[[^]]*\])", dot_dimension_numbers))
    batch = f", batch {axes['lhs_batching']}, {axes['rhs_batching']}" if "lhs_batching" in axes else ""
    precision = "" if precision_config == "[HIGHEST, HIGHEST]" else f", {precision_config}"
    return f"{axes['lhs_contracting']}, {axes['rhs_contracting']}{batch}{precision}{''.join(others.values())}"


def _callee(operation: ir.Operation, attributes: Mapping[str, ir.Attribute]) -> str:
    """The op's name, of a call that of the function."""
    symbol = attributes.get("callee", attributes.get("call_target_name"))
    return _name(operation) if symbol is None else "@" + str(symbol).strip('@"')


def _value(attribute: ir.Attribute) -> str:
    """An attribute without its type."""
    text = re.sub(r" : [iu]+\d+$", "", str(attribute))
    text = re.sub(r"^array<i\d+(?:: )?(.*)>$", r"[\1]", text)
    text = re.sub(r"^dense<(.*)> : .*$", r"\1", text).replace("[[", "[").replace("]]", "]").replace("], [", "; ")
    return re.sub(r"#stablehlo(?:\.\w+|<\w+) ?<?([^>]*)>", r"\1", text)


def _constant(operation: ir.Operation) -> str:
    text = str(operation)
    if "complex<" in text:  # which the bindings do not read
        return re.sub(r".*dense<(.*)> : .*", r"\1", text)
    attribute = ir.DenseElementsAttr(operation.attributes["value"])
    elements = np.array(attribute)
    texts = [f"{each:.6g}" if elements.dtype.kind == "f" else str(each).lower() for each in elements.reshape(-1)]
    return texts[0] if attribute.is_splat else f"[{', '.join(texts)}]"
