"""What a module may hold: how deep it nests, how much it is when it is written out, its strings and types.

In: a module that was parsed. Out: nothing, or an `ArtifactError`. Decision to know: MLIR keeps equal attributes once. A
list of twice the same list, forty times over, is forty attributes and a text of 2^40 words: whoever prints such a one,
or goes through it, never ends. So each is measured once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from ..errors import ArtifactError
from ..ir.attributes import attributes_of, names_of
from ..ir.bindings import ir
from ..ir.walk import walk
from .limits import NESTING, check_shapes, cut

WORDS = 2**22  # of all attributes and types
WORDS_OF_AN_OP = 256  # beyond these, of one op on average
_CHARACTERS = 64  # of a text that count as a word
_MOST = 2**60
_BOUNDS = "#stablehlo.bounds<"
_UNKNOWN = re.compile(r"f6E\dM\dFN")  # StableHLO has these element types, XLA has not
_BYTES = "backend_config"  # what a custom call is given besides its operands may be any bytes
_BY_NAME = ("stablehlo.constant", "stablehlo.custom_call")  # ops of which not all attributes are read


class _Measures:
    """Of attributes and types their words and their depths."""

    def __init__(self) -> None:
        self._known: dict[Hashable, tuple[int, int]] = {}

    def of(self, root: Any) -> tuple[int, int]:
        """Words and depth, without recursion.

        Raises:
            TypeError: it is or holds what the bindings have no class for.
        """
        known = self._known
        waiting = [] if root in known else [root]
        while waiting:
            item = waiting[-1]
            parts = _parts(item)
            missing = [part for part in parts if part not in known]
            if missing:
                waiting += missing
                continue
            waiting.pop()
            words = _words(item) + sum(known[part][0] for part in parts)
            known[item] = min(words, _MOST), 1 + max((known[part][1] for part in parts), default=0)
        return known[root]

    def check_strings(self) -> None:
        """Raises `UnicodeError` for one that is not UTF-8."""
        for item in self._known:
            if isinstance(item, ir.StringAttr):
                item.value_bytes.decode()


def check(module: ir.Module, filename: str) -> None:
    """Refuses a module that nests too deep, or with attributes and types that are too much, or none that XLA takes.

    Names and other strings must be UTF-8.

    Raises:
        ArtifactError: with what it is.
    """
    operations = walk(module)
    try:
        counts = Counter(_attributes_and_types(operations))
        _check_measures(counts, len(operations), filename)
    except TypeError:
        raise ArtifactError(f"{filename} has an attribute {_without_class(operations)}; take it out") from None
    except (RuntimeError, UnicodeError) as error:
        raise ArtifactError(f"{filename} has names that are not UTF-8: {error}") from None
    _check_types([item for item in counts if isinstance(item, ir.Type)], filename)
    _check_regions(operations, filename)


def _attributes_and_types(operations: Sequence[ir.Operation]) -> list[ir.Attribute | ir.Type]:
    found: list[ir.Attribute | ir.Type] = []
    for operation in operations:
        attributes = operation.attributes
        if hasattr(attributes, "values") and operation.name not in _BY_NAME:
            names_of(attributes)  # which tells whether they are UTF-8
            found += attributes.values()
        else:
            named = [(name, attributes[name]) for name in _readable_names(operation)]
            found += [x for name, x in named if not (name.endswith(_BYTES) and isinstance(x, ir.StringAttr))]
        found += [value.type for value in operation.results]
        if len(operation.regions):
            found += [x.type for region in operation.regions for block in region.blocks for x in block.arguments]
    return found


def _readable_names(operation: ir.Operation) -> list[str]:
    """Values of complex constants have no class, and end the process in old releases."""
    return [x for x in names_of(operation.attributes) if (operation.name, x) != ("stablehlo.constant", "value")]


def _without_class(operations: Sequence[ir.Operation]) -> str:
    """Which attribute the bindings have no class for."""
    measures = _Measures()
    for operation in operations:
        for name in _readable_names(operation):
            try:
                measures.of(operation.attributes[name])
            except TypeError:
                return f"{cut(name, 100)} on {cut(operation.name, 100)} that is or holds a location"
    return "that is or holds a location"


def _check_measures(counts: Mapping[ir.Attribute | ir.Type, int], operations: int, filename: str) -> None:
    measures = _Measures()
    words = 0
    for item, count in counts.items():
        each, depth = measures.of(item)
        words += count * each
        if depth > NESTING:
            raise ArtifactError(f"{filename} has an attribute or type nested {depth} deep; at most {NESTING} are read")
    measures.check_strings()
    most = WORDS + WORDS_OF_AN_OP * operations
    if words > most:
        raise ArtifactError(
            f"{filename}: the attributes and types of its {operations} ops would be {words} words when written out; "
            f"at most {most} are read"
        )


def _check_types(types: Sequence[ir.Type], filename: str) -> None:
    for type_ in types:
        encoding = type_.encoding if isinstance(type_, ir.RankedTensorType) else None
        if encoding is not None and not str(encoding).startswith(_BOUNDS):
            raise ArtifactError(f"{filename} has the type {cut(str(type_), 200)}, whose encoding is not StableHLO's")
    text = "\n".join(map(str, types))
    check_shapes(text.encode(), filename)
    unknown = _UNKNOWN.search(text)
    if unknown is not None:
        raise ArtifactError(
            f"{filename} has elements of {unknown[0]}, on which XLA ends the process; use f8E4M3FN or another type"
        )


def _check_regions(operations: Sequence[ir.Operation], filename: str) -> None:
    depths: dict[ir.Operation, int] = {}
    for operation in operations:  # an op stands behind what holds it
        if len(operation.regions):
            parent = operation.parent
            depths[operation] = 0 if parent is None else depths[parent.operation] + 1
    deepest = max(depths.values())
    if deepest > NESTING:
        raise ArtifactError(f"{filename} has ops nested {deepest} deep; at most {NESTING} are read")


def _parts(item: Any) -> Sequence[Any]:
    if isinstance(item, ir.ArrayAttr):
        return list(item)
    if isinstance(item, ir.DictAttr):
        return list(attributes_of(item).values())
    if isinstance(item, ir.TypeAttr):
        return [item.value]
    if isinstance(item, ir.FunctionType):
        return [*item.inputs, *item.results]
    if isinstance(item, ir.TupleType):
        return [item.get_type(number) for number in range(item.num_types)]
    if isinstance(item, ir.RankedTensorType):
        return [] if item.encoding is None else [item.encoding]
    return []


def _words(item: Any) -> int:
    return 1 + len(item.value_bytes) // _CHARACTERS if isinstance(item, ir.StringAttr) else 1
