"""What a program takes and returns: names, dtypes, dimensions, roots, constraints, checks.

In: a module's `@main` with its `hlograph.*` attributes (or without: a plain StableHLO module gets positional names).
Out: a `Signature`; and back, so that the module's text alone carries everything. The attributes are

    argument:  hlograph.name = "x", hlograph.dims = ["n", "8"], hlograph.values = ["k"], hlograph.shared = true
    result:    hlograph.name = "y", hlograph.dims = ["n"]
    function:  hlograph.constraints = [["n == m", "where"]], hlograph.checks = [["AssertionError", "message"]]
`hlograph.values` names the roots that are an integer argument's own elements (one for a scalar, `""` for elements that
are no size). With checks, the function's last result is the vector of their flags.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from . import dims as dimension
from .constraints import Constraint
from .dims import Dim
from .dims_text import parse
from .errors import ArtifactError
from .mlir import attributes_of, dtype_of, ir

PREFIX = "hlograph."


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument: `values` are the names of the roots that its elements give, if any."""

    name: str
    dtype: Any
    dims: tuple[Dim, ...]
    values: tuple[str, ...] = ()
    shared: bool = False

    def __str__(self) -> str:
        return f"{self.name}: {describe(self.dtype, self.dims)}"


@dataclass(frozen=True, slots=True)
class Result:
    """One result."""

    name: str
    dtype: Any
    dims: tuple[Dim, ...]

    def __str__(self) -> str:
        return f"{self.name}: {describe(self.dtype, self.dims)}"


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
class CheckSpec:
    """A condition that the program reports: the exception's name and its message."""

    exception: str
    message: str


@dataclass(frozen=True, slots=True)
class Signature:
    """Everything a caller must know about a program."""

    arguments: tuple[Argument, ...]
    results: tuple[Result, ...]
    roots: tuple[Root, ...]
    constraints: tuple[Constraint, ...] = ()
    checks: tuple[CheckSpec, ...] = ()

    @property
    def is_static(self) -> bool:
        """True when no size is left open."""
        return not self.roots and all(type(d) is int for a in self.arguments for d in a.dims)

    @property
    def value_arguments(self) -> frozenset[int]:
        """Indices of the arguments whose values decide a size."""
        return frozenset(root.argument for root in self.roots if root.kind == "value")

    def __str__(self) -> str:
        lines = [f"({', '.join(map(str, self.arguments))}) -> ({', '.join(map(str, self.results))})"]
        lines += [f"  where {constraint}" for constraint in self.constraints]
        return "\n".join(lines)


def describe(dtype: Any, dims: Sequence[Dim]) -> str:
    """`float64[n, 8]`."""
    return f"{dtype}[{', '.join(map(str, dims))}]"


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


# ---- to attributes --------------------------------------------------------------------------------------------


def _strings(values: Iterable[str]) -> ir.Attribute:
    return ir.ArrayAttr.get([ir.StringAttr.get(value) for value in values])


def write(function: ir.Operation, signature: Signature) -> None:
    """Puts the signature on a `func.func` operation, in place of what stood there."""
    with function.context:
        arguments = []
        for argument in signature.arguments:
            entry = {
                "hlograph.name": ir.StringAttr.get(argument.name),
                "hlograph.dims": _strings(map(str, argument.dims)),
            }
            if any(argument.values):
                entry["hlograph.values"] = _strings(argument.values)
            if argument.shared:
                entry["hlograph.shared"] = ir.BoolAttr.get(True)
            arguments.append(ir.DictAttr.get(entry))
        results = [
            ir.DictAttr.get(
                {"hlograph.name": ir.StringAttr.get(result.name), "hlograph.dims": _strings(map(str, result.dims))}
            )
            for result in signature.results
        ]
        if signature.checks:
            results.append(ir.DictAttr.get({"hlograph.flags": ir.BoolAttr.get(True)}))
        attributes = function.attributes
        for name in [name for name in attributes_of(attributes) if name.startswith(PREFIX)]:
            del attributes[name]
        attributes["arg_attrs"] = ir.ArrayAttr.get(arguments)
        attributes["res_attrs"] = ir.ArrayAttr.get(results)
        if signature.constraints:
            pairs = [_strings([str(c), c.where]) for c in signature.constraints]
            attributes["hlograph.constraints"] = ir.ArrayAttr.get(pairs)
        if signature.checks:
            pairs = [_strings([c.exception, c.message]) for c in signature.checks]
            attributes["hlograph.checks"] = ir.ArrayAttr.get(pairs)


# ---- from attributes ------------------------------------------------------------------------------------------


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


def _texts(attribute: ir.Attribute) -> list[str]:
    return [ir.StringAttr(item).value for item in ir.ArrayAttr(attribute)]


def _pairs(function: ir.Operation, name: str) -> list[list[str]]:
    if name not in function.attributes:
        return []
    return [_texts(item) for item in ir.ArrayAttr(function.attributes[name])]


def _entries(function: ir.Operation, name: str, count: int) -> list[Mapping[str, ir.Attribute]]:
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
    except (ValueError, TypeError, IndexError, KeyError) as error:
        raise ArtifactError(f"{filename}: the attributes of @main cannot be read: {error}") from None
    _agree(signature, type_, filename)
    return signature


def _read(function: ir.Operation, type_: ir.FunctionType) -> Signature:
    argument_entries = _entries(function, "arg_attrs", len(type_.inputs))
    signed = {
        name
        for entry in argument_entries
        if "hlograph.values" in entry
        for name in _texts(entry["hlograph.values"])
        if name
    }
    arguments = []
    for index, (input_, entry) in enumerate(zip(type_.inputs, argument_entries, strict=True)):
        name = ir.StringAttr(entry["hlograph.name"]).value if "hlograph.name" in entry else f"arg{index}"
        dims = _dims(input_, entry, name, signed)
        values = tuple(_texts(entry["hlograph.values"])) if "hlograph.values" in entry else ()
        dtype = dtype_of(ir.RankedTensorType(input_).element_type)
        arguments.append(Argument(name, dtype, dims, values, "hlograph.shared" in entry))
    checks = tuple(CheckSpec(*pair) for pair in _pairs(function, "hlograph.checks"))
    outputs = list(type_.results)[: len(type_.results) - bool(checks)]
    result_entries = _entries(function, "res_attrs", len(type_.results))
    results = []
    for index, (output, entry) in enumerate(zip(outputs, result_entries, strict=False)):
        name = ir.StringAttr(entry["hlograph.name"]).value if "hlograph.name" in entry else f"result{index}"
        dtype = dtype_of(ir.RankedTensorType(output).element_type)
        results.append(Result(name, dtype, _dims(output, entry, name, signed)))
    constraints = tuple(
        Constraint.parse(text, where=where, signed=signed) for text, where in _pairs(function, "hlograph.constraints")
    )
    return Signature(tuple(arguments), tuple(results), find_roots(arguments), constraints, checks)


def _dims(type_: ir.Type, entry: Mapping[str, ir.Attribute], name: str, signed: set[str]) -> tuple[Dim, ...]:
    if "hlograph.dims" in entry:
        return tuple(parse(text, signed=signed) for text in _texts(entry["hlograph.dims"]))
    tensor = ir.RankedTensorType(type_)
    return tuple(
        dimension.symbol(f"{name}_{axis}") if tensor.is_dynamic_dim(axis) else tensor.get_dim_size(axis)
        for axis in range(tensor.rank)
    )


def _agree(signature: Signature, type_: ir.FunctionType, filename: str) -> None:
    sides: list[tuple[str, Sequence[Argument | Result], Sequence[ir.Type]]] = [
        ("argument", signature.arguments, type_.inputs),
        ("result", signature.results, type_.results),
    ]
    for what, described, types in sides:
        for item, actual in zip(described, types, strict=False):
            tensor = ir.RankedTensorType(actual)
            sizes = [None if tensor.is_dynamic_dim(axis) else tensor.get_dim_size(axis) for axis in range(tensor.rank)]
            fits = len(sizes) == len(item.dims) and all(
                size is None or not isinstance(dim, int) or dim == size
                for size, dim in zip(sizes, item.dims, strict=True)
            )
            if not fits:
                raise ArtifactError(f"{filename}: {what} {item} is declared as {actual} in the module")
