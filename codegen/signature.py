"""What a program takes and returns: names, dtypes, dimensions, roots, constraints, checks.

In: a module's `@main` with its `hlograph.*` attributes (or without: a plain StableHLO module gets positional names).
Out: a `Signature`; and back, so that the module's text alone carries everything. The attributes are

    argument:  hlograph.name = "x", hlograph.dims = ["n", "8"], hlograph.values = ["k"], hlograph.shared = true,
               hlograph.key = "threefry2x32", hlograph.sparse = ["W", "csr", "data"], hlograph.parameter = "W"
    result:    hlograph.name = "y", hlograph.dims = ["n"], hlograph.sparse = ["out0", "csr", "data"]
    function:  hlograph.constraints = [["n == m", "where", "kind"]], hlograph.checks = [["AssertionError", "message"]],
               hlograph.counts = [["nonzero_0", "n"], ["repeat_0", ""]], hlograph.platforms = ["cpu", "cuda"]
`hlograph.values` names the roots that are an integer argument's own elements (one for a scalar, `""` for elements that
are no size), `hlograph.key` says that an argument is a PRNG key of that implementation, as integers, `hlograph.sparse`
that it is a part of a sparse matrix (docs/how-to/sparse.md). A padded program has `hlograph.live = ["n", "8"]` on
arguments and results, `hlograph.size = "n"` on the scalars that are live sizes, and `hlograph.live_values` in place of
`hlograph.values`; its reductions and contractions have `hlograph.live` for the axes that they reduce. With checks, the
function's last result is the vector of their flags: booleans, or, where one of them is in a loop, int32: 1 for what
holds, and `-i` for what failed in step `i` first (0 for what is in no loop). `hlograph.counts` names the sizes that the
program computes from data, each with its upper bound, or "" where sizes give none; results, constraints and later
bounds may depend on them. Those computed, and known, only in a branch are `hlograph.local_counts`; nothing in the
signature depends on them. `hlograph.platforms` are those that the program is for; without it, it runs wherever what it
calls is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, TypeVar

import numpy as np

from . import dims as dimension
from .constraints import Constraint, Constraints
from .dims import Dim, parse
from .errors import ArtifactError
from .ir.bindings import ir
from .ir.values import PREFIX, attributes_of, main_function, numpy_dtype, shape_of, walk

LIVE = "hlograph.live"
_PLATFORMS = "hlograph.platforms"


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument: `values` are the names of the roots that its elements give, if any.

    `key` is set for a PRNG key, given as the integers that it consists of: the name of the implementation that the
    program was made for, such as "threefry2x32".

    `sparse` is set for a part of a sparse matrix: the matrix's name, its format, and which part: "data", "indices",
    "indptr", or its number of "rows" or "columns"; and of the data that number, where it is always the same.

    `parameter` is set for a large constant whose value comes with the program: its name, see `parameters`.

    In a padded program (see the pass `pad`), `live` are the live sizes of the axes; a scalar that is the live size of
    an axis has that size's name as its `size`, and `live_values` are what `values` were.
    """

    name: str
    dtype: Any
    dims: tuple[Dim, ...]
    values: tuple[str, ...] = ()
    shared: bool = False
    live: tuple[Dim, ...] = ()
    size: str = ""
    live_values: tuple[str, ...] = ()
    key: str = ""
    sparse: tuple[str, ...] = ()
    parameter: str = ""

    def __str__(self) -> str:
        return f"{self.name}: {describe(self.dtype, self.dims)}"

    @property
    def possible_sizes(self) -> int:
        """How many values it has that can be sizes: those of an integer, or of a vector of this many integers."""
        if self.dtype.kind not in "iu" or len(self.dims) > 1:
            return 0
        length = self.dims[0] if self.dims else 1
        return length if isinstance(length, int) else 0


@dataclass(frozen=True, slots=True)
class Result:
    """One result; `live` and `size` as for arguments: in a padded program, sizes from data are results.

    `weak` says that JAX has a type for it that gives way to others, as for a Python number.
    """

    name: str
    dtype: Any
    dims: tuple[Dim, ...]
    live: tuple[Dim, ...] = ()
    size: str = ""
    weak: bool = False
    sparse: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}: {describe(self.dtype, self.dims)}"


Item = TypeVar("Item", Argument, Result)
# Of each its further fields, with their defaults: attributes `hlograph.NAME` of texts, a text, or a flag.
_FIELDS: dict[type, list[tuple[str, Any]]] = {
    kind: [(each.name, each.default) for each in fields(kind)[3:]] for kind in (Argument, Result)
}


@dataclass(frozen=True, slots=True)
class Root:
    """Where a symbolic size comes from.

    Attributes:
        name: the root's name in dimension expressions.
        kind: "size" of an argument's axis, or "value" of an integer argument (or of one of its elements).
        argument: index of the argument.
        axis: the axis, for a size.
        element: index into a vector argument, for a value.
    """

    name: str
    kind: Literal["size", "value"]
    argument: int
    axis: int | None = None
    element: int | None = None


@dataclass(frozen=True, slots=True)
class Count:
    """A size that the program computes from data; `bound` is what it cannot exceed, None where sizes do not say."""

    name: str
    bound: Dim | None = None


@dataclass(frozen=True, slots=True)
class CheckSpec:
    """A condition that the program reports: the exception's name and its message.

    Of a check in a loop also which step it was, with `{}` for the number, which its flag tells.
    """

    exception: str
    message: str
    place: str = ""


def flags_type(checks: Sequence[CheckSpec]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and dtype of the vector of the checks' flags."""
    return (len(checks),), np.dtype(np.int32 if any(check.place for check in checks) else bool)


@dataclass(frozen=True, slots=True)
class Signature:
    """Everything a caller must know about a program; `platforms` are those that it is for, none where for any."""

    arguments: tuple[Argument, ...]
    results: tuple[Result, ...]
    roots: tuple[Root, ...]
    constraints: tuple[Constraint, ...] = ()
    checks: tuple[CheckSpec, ...] = ()
    counts: tuple[Count, ...] = ()
    local_counts: tuple[Count, ...] = ()
    platforms: tuple[str, ...] = ()

    @property
    def has_data_sizes(self) -> bool:
        """Whether some size comes from data, be it in a branch only."""
        return bool(self.counts or self.local_counts)

    @property
    def is_static(self) -> bool:
        """True when no size is left open."""
        items: tuple[Argument | Result, ...] = (*self.arguments, *self.results)
        return not self.roots and not self.has_data_sizes and all(type(d) is int for x in items for d in x.dims)

    @property
    def value_roots(self) -> tuple[Root, ...]:
        """The sizes that are an argument's value."""
        return tuple(root for root in self.roots if root.axis is None)

    def __str__(self) -> str:
        lines = [f"({', '.join(map(str, self.arguments))}) -> ({', '.join(map(str, self.results))})"]
        for count in self.counts:
            lines.append(f"  {count.name} from data" + ("" if count.bound is None else f", at most {count.bound}"))
        lines += [f"  where {constraint}" for constraint in self.constraints]
        lines += [f"  for {' and '.join(self.platforms)}"] if self.platforms else []
        return "\n".join(lines)


def describe(dtype: Any, dims: Sequence[Dim]) -> str:
    """`float64[n, 8]`."""
    return f"{dtype}[{', '.join(map(str, dims))}]"


def known_constraints(signature: Signature) -> Constraints:
    """What the signature's constraints say; of roots that are equal the first one goes on."""
    order = {root.name: place for place, root in enumerate(signature.roots)}

    def first(dim: Dim) -> int:
        return min((order.get(name, len(order)) for name in dimension.roots(dim)), default=-1)

    known = Constraints()
    for constraint in signature.constraints:
        lhs, rhs = constraint.lhs, constraint.rhs
        if constraint.relation == "==":
            a, b = sorted((lhs, rhs), key=first)
            known.equate(a, b, constraint.where, constraint.kind)
        elif constraint.relation == ">=":
            known.at_least(lhs, rhs, constraint.where, constraint.kind)
    return known


def find_roots(arguments: Sequence[Argument]) -> tuple[Root, ...]:
    """The roots of the arguments' dimensions: the first axis that is the bare root, or an element's value."""
    found: dict[str, Root] = {}
    for index, argument in enumerate(arguments):
        for axis, dim in enumerate(argument.dims):
            if dimension.roots(dim) == {str(dim)}:
                found.setdefault(str(dim), Root(str(dim), "size", index, axis=axis))
    for index, argument in enumerate(arguments):
        for element, name in enumerate(argument.values):
            if name:
                place = element if argument.dims else None
                found.setdefault(name, Root(name, "value", index, element=place))
    return tuple(found.values())


def live_arguments(function: ir.Operation) -> tuple[dict[str, int], dict[str, tuple[int | None, int | None]]]:
    """The live sizes of a padded function: the argument that holds each, and its least and greatest value."""
    entries = entries_of(function, "arg_attrs", len(function.regions[0].blocks[0].arguments))
    places = {
        ir.StringAttr(entry["hlograph.size"]).value: place
        for place, entry in enumerate(entries)
        if "hlograph.size" in entry
    }
    if not places:
        return {}, {}
    known = Constraints()
    for texts in _lists(function, "hlograph.constraints"):
        constraint = Constraint.parse(*texts)
        if constraint.relation == ">=" and dimension.roots(constraint.lhs - constraint.rhs) <= places.keys():
            known.at_least(constraint.lhs, constraint.rhs)
    for entry in entries:
        if LIVE in entry:
            for live, static in zip(_texts(entry[LIVE]), _texts(entry["hlograph.dims"]), strict=True):
                if live in places:
                    known.at_least(int(static), dimension.symbol(live), "a bound")
    return places, {name: known.intervals.get(name, (0, None)) for name in places}


# ---- to attributes --------------------------------------------------------------------------------------------


def _strings(values: Iterable[str]) -> ir.Attribute:
    return ir.ArrayAttr.get([ir.StringAttr.get(value) for value in values])


def _entry(item: Argument | Result) -> ir.DictAttr:
    """An argument's or a result's attributes: those of its fields that are not as they are by default."""
    entry: dict[str, ir.Attribute] = {"hlograph.name": ir.StringAttr.get(item.name)}
    # An axis of a result of which a module does not say what its size is has its own name.
    if isinstance(item, Argument) or not any(str(dim) == f"{item.name}_{k}" for k, dim in enumerate(item.dims)):
        entry["hlograph.dims"] = _strings(map(str, item.dims))
    for name, _ in _FIELDS[type(item)]:
        value = getattr(item, name)
        if value is True:
            entry[PREFIX + name] = ir.BoolAttr.get(True)
        elif isinstance(value, str) and value:
            entry[PREFIX + name] = ir.StringAttr.get(value)
        elif isinstance(value, tuple) and any(map(str, value)) and not (name == "live" and value == item.dims):
            entry[PREFIX + name] = _strings(map(str, value))
    return ir.DictAttr.get(entry)


def write(function: ir.Operation, signature: Signature) -> None:
    """Puts the signature on a `func.func` operation, in place of the one that stood there; others' attributes stay."""
    type_ = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    with function.context:
        arguments = list(map(_entry, signature.arguments))
        results = list(map(_entry, signature.results))
        if signature.checks:
            results.append(ir.DictAttr.get({"hlograph.flags": ir.BoolAttr.get(True)}))
        attributes = function.attributes
        for name in [name for name in attributes_of(attributes) if name.startswith(PREFIX)]:
            del attributes[name]
        for name, own, types in (("arg_attrs", arguments, type_.inputs), ("res_attrs", results, type_.results)):
            others = entries_of(function, name, len(types))
            if len(others) == len(own):  # else what they are about is not known
                kept = [{key: x for key, x in each.items() if not key.startswith(PREFIX)} for each in others]
                own = [ir.DictAttr.get(a | attributes_of(b)) if a else b for a, b in zip(kept, own, strict=True)]
            attributes[name] = ir.ArrayAttr.get(own)
        counts, local = (
            [[c.name, "" if c.bound is None else str(c.bound)] for c in counts]
            for counts in (signature.counts, signature.local_counts)
        )
        lists: dict[str, list[list[str]]] = {
            "constraints": [[str(c), c.where, *([c.kind] if c.kind else [])] for c in signature.constraints],
            "checks": [[c.exception, c.message, *([c.place] if c.place else [])] for c in signature.checks],
            "counts": counts,
            "local_counts": local,
        }
        for name, rows in lists.items():
            if rows:
                attributes[PREFIX + name] = ir.ArrayAttr.get(list(map(_strings, rows)))
        if signature.platforms:
            set_platforms(function, signature.platforms)


def set_platforms(function: ir.Operation, platforms: Sequence[str]) -> None:
    """Says on a function for which platforms it is."""
    with function.context:
        function.attributes[_PLATFORMS] = _strings(platforms)


def forget_unused_counts(module: ir.Module) -> None:
    """Takes those sizes from data out of the signature whose calls of `@hlograph.size` are gone from the module.

    As they are when nothing needed them. Those that the signature speaks of elsewhere stay.
    """
    function = main_function(module)
    if not {"hlograph.counts", "hlograph.local_counts"}.intersection(attributes_of(function.attributes)):
        return
    signature = read(module)
    made = {
        ir.StringAttr(op.attributes["hlograph.dim"]).value for op in walk(module) if "hlograph.dim" in op.attributes
    }
    items: tuple[Argument | Result, ...] = (*signature.arguments, *signature.results)
    named = {name for item in items for dim in (*item.dims, *item.live) for name in dimension.roots(dim)}
    for constraint in signature.constraints:
        named |= dimension.roots(constraint.lhs) | dimension.roots(constraint.rhs)
    kept = [count for count in (*signature.counts, *signature.local_counts) if count.name in made | named]
    bounds = {name for count in kept if count.bound is not None for name in dimension.roots(count.bound)}

    def left(counts: Sequence[Count]) -> tuple[Count, ...]:
        return tuple(count for count in counts if count in kept or count.name in bounds)

    counts, local = left(signature.counts), left(signature.local_counts)
    if (counts, local) != (signature.counts, signature.local_counts):
        write(function, replace(signature, counts=counts, local_counts=local))


# ---- from attributes ------------------------------------------------------------------------------------------


def _texts(attribute: ir.Attribute) -> list[str]:
    return [ir.StringAttr(item).value for item in ir.ArrayAttr(attribute)]


def _lists(function: ir.Operation, name: str) -> list[list[str]]:
    if name not in function.attributes:
        return []
    return [_texts(item) for item in ir.ArrayAttr(function.attributes[name])]


def entries_of(function: ir.Operation, name: str, count: int = 0) -> list[Mapping[str, ir.Attribute]]:
    """The attributes of each argument ("arg_attrs") or result ("res_attrs"); of this many none where there are none."""
    if name not in function.attributes:
        return [{}] * count
    return [attributes_of(ir.DictAttr(item)) for item in ir.ArrayAttr(function.attributes[name])]


def read(module: ir.Module, filename: str = "<module>") -> Signature:
    """The signature of a module's main function.

    Raises:
        ArtifactError: when the attributes contradict the function's type, or a type has no numpy dtype.
    """
    function = main_function(module, filename)
    type_ = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    try:
        signature = _read(function, type_)
    except (ValueError, TypeError, LookupError, ArithmeticError, RecursionError) as error:
        raise ArtifactError(f"{filename}: the attributes of @main cannot be read: {error}") from None
    _agree(signature, type_, filename)
    return signature


def _read(function: ir.Operation, type_: ir.FunctionType) -> Signature:
    entries = entries_of(function, "arg_attrs", len(type_.inputs))
    keys = ("hlograph.values", "hlograph.live_values")
    signed = {name for entry in entries for key in keys if key in entry for name in _texts(entry[key]) if name}
    arguments = [
        _item(Argument, f"arg{index}", input_, entry, signed)
        for index, (input_, entry) in enumerate(zip(type_.inputs, entries, strict=True))
    ]
    checks = tuple(CheckSpec(*pair) for pair in _lists(function, "hlograph.checks"))
    outputs = list(type_.results)[: len(type_.results) - bool(checks)]
    entries = entries_of(function, "res_attrs", len(type_.results))
    results = [
        _item(Result, f"result{index}", output, entry, signed)
        for index, (output, entry) in enumerate(zip(outputs, entries, strict=False))
    ]
    constraints = tuple(Constraint.parse(*texts, signed=signed) for texts in _lists(function, "hlograph.constraints"))
    counts, local = (
        tuple(Count(own, parse(bound, signed=signed) if bound else None) for own, bound in _lists(function, name))
        for name in ("hlograph.counts", "hlograph.local_counts")
    )
    roots, platforms = find_roots(arguments), platforms_of(function)
    return Signature(tuple(arguments), tuple(results), roots, constraints, checks, counts, local, platforms)


def platforms_of(function: ir.Operation) -> tuple[str, ...]:
    """The platforms that a function says it is for."""
    return tuple(_texts(function.attributes[_PLATFORMS])) if _PLATFORMS in function.attributes else ()


def _item(kind: type[Item], name: str, type_: ir.Type, entry: Mapping[str, ir.Attribute], signed: set[str]) -> Item:
    """An argument or a result, from its type and attributes; `name` is what it is called where they do not say."""
    if "hlograph.name" in entry:
        name = ir.StringAttr(entry["hlograph.name"]).value
    tensor = ir.RankedTensorType(type_)
    if "hlograph.dims" in entry:
        dims: list[Dim] = [parse(text, signed=signed) for text in _texts(entry["hlograph.dims"])]
    else:
        dims = [
            dimension.symbol(f"{name}_{axis}") if size is None else size for axis, size in enumerate(shape_of(type_))
        ]
    given: dict[str, Any] = {}
    for field, default in _FIELDS[kind]:
        attribute = entry.get(PREFIX + field)
        if attribute is None:
            continue
        if field == "live":
            given[field] = tuple(parse(text, signed=signed) for text in _texts(attribute))
        elif default is False:
            given[field] = True
        else:
            given[field] = tuple(_texts(attribute)) if default == () else ir.StringAttr(attribute).value
    return kind(name, numpy_dtype(tensor.element_type), tuple(dims), **given)


def _agree(signature: Signature, type_: ir.FunctionType, filename: str) -> None:
    sides: list[tuple[str, Sequence[Argument | Result], Sequence[ir.Type]]] = [
        ("argument", signature.arguments, type_.inputs),
        ("result", signature.results, type_.results),
    ]
    for what, described, types in sides:
        for item, actual in zip(described, types, strict=False):
            sizes = shape_of(actual)
            fits = len(sizes) == len(item.dims) and all(
                size is None or not isinstance(dim, int) or dim == size
                for size, dim in zip(sizes, item.dims, strict=True)
            )
            if not fits:
                raise ArtifactError(f"{filename}: {what} {item} is declared as {actual} in the module")


def dependent_roots(signature: Signature) -> dict[str, Dim]:
    """The roots that the signature's constraints give in terms of others: name to dimension."""
    constraints = known_constraints(signature)
    signed = {root.name for root in signature.roots if root.kind == "value"}
    found: dict[str, Dim] = {}
    counts = {count.name for count in signature.counts}
    for root in signature.roots:
        symbol = dimension.symbol(root.name, signed=root.name in signed)
        dim = constraints.canonical(symbol)
        if dim != symbol and counts.isdisjoint(dimension.roots(dim)):
            found[root.name] = dim
    return found
