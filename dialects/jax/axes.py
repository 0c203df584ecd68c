"""Which axes of a function's arguments are named, and what that is in JAX's types and in ours.

In: pytrees of arrays or specs, the names that `dims` gives to axes, and constraints as text. Out: specs with the names
in their shapes (`name_axes`), the leaves as the arguments of a program (`describe_arguments`), and specs with symbolic
sizes of one `Scope` (`symbolic_specs`), which JAX can trace with.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax import export, tree_util

from ...codegen import dims as dimension
from ...codegen import signature as signatures
from ...codegen.constraints import Constraint
from ...codegen.dims import Dim, parse
from ...codegen.errors import GraphError
from ...codegen.graph import fresh, root_base, unfolded
from ...codegen.signature import Argument
from .scope import Scope, read_size

Path = tuple[Any, ...]
DEMANDED_BY_JAX = "JAX's symbolic sizes"
DEMANDED_BY_CALLER = "constraints="


def name_axes(arguments: Mapping[str, Any], dims: Mapping[str, Any]) -> dict[str, Any]:
    """Specs with the names that `dims` gives to axes in their shapes.

    Args:
        arguments: name to a pytree of arrays or specs.
        dims: name to the axes of a leaf (`("n", None, 4)`: named, left as it is, of this size; `...` stands for any
            number of axes that are left as they are), or to a container of
            such that matches the argument's down to some depth; the axes of an inner node count for all leaves below
            it that have as many.

    Returns:
        For each argument the pytree with a `jax.ShapeDtypeStruct` in place of each leaf.

    Raises:
        GraphError: dims do not fit the arguments.
    """
    unknown = [name for name in dims if name not in arguments]
    if unknown:
        raise GraphError(f"dims names {unknown[0]!r}, which is not an argument (arguments: {', '.join(arguments)})")
    named = {}
    for name, value in arguments.items():
        tree = tree_util.tree_structure(value)
        specs = [_spec(leaf, axes, path) for path, leaf, axes in _spread(dims.get(name), value, name)]
        named[name] = tree_util.tree_unflatten(tree, specs)
    return named


def _is_axes(entry: Any) -> bool:
    return isinstance(entry, str | int) or (
        type(entry) in (tuple, list)
        and all(axis in (None, ...) or isinstance(axis, str | int | np.integer) for axis in entry)
    )


def _spread(entry: Any, value: Any, path: str) -> Iterator[tuple[str, Any, Sequence[Any] | None]]:
    """Each leaf below `value`, in order, with its path as text and the axes that the entry means for it."""
    if entry is None or _is_axes(entry):
        axes = (entry,) if isinstance(entry, str | int) else entry
        leaves = [(path + path_text(keys), leaf) for keys, leaf in tree_util.tree_flatten_with_path(value)[0]]
        if axes is not None and ... in axes:
            for where, leaf in leaves:
                try:
                    yield where, leaf, unfolded(axes, len(_shape(leaf)))
                except ValueError as error:
                    raise GraphError(f"dims of {where!r}: {error}") from None
            return
        if axes is not None and leaves and all(len(axes) != len(_shape(leaf)) for _, leaf in leaves):
            ranks = ", ".join(sorted({str(len(_shape(leaf))) for _, leaf in leaves}))
            hint = (
                f"; JAX takes a {type(value).__name__} apart: make an array of it" if value is not leaves[0][1] else ""
            )
            raise GraphError(f"dims of {path!r} has {len(axes)} entries, but the argument has {ranks} axes{hint}")
        for where, leaf in leaves:
            yield where, leaf, axes if axes is not None and len(axes) == len(_shape(leaf)) else None
        return
    children = tree_util.tree_flatten_with_path(value, is_leaf=lambda x: x is not value)[0]
    inner = tree_util.tree_flatten_with_path(entry, is_leaf=lambda x: x is not entry)[0]
    entries = {path_text(keys): item for keys, item in inner}
    known = [path_text(keys) for keys, _ in children]
    unknown = [key for key in entries if key not in known]
    if unknown or not inner:
        raise GraphError(f"dims of {path!r}: there is no {path}{''.join(unknown[:1])} in the argument")
    for keys, child in children:
        text = path_text(keys)
        yield from _spread(entries.get(text), child, path + text)


def path_text(path: Path) -> str:
    """The path to a leaf as Python writes it, but `.key` for a dictionary's: `.layers[0].w`."""
    parts = []
    for entry in path:
        if isinstance(entry, tree_util.GetAttrKey):
            parts.append(f".{entry.name}")
        else:
            key = entry.idx if isinstance(entry, tree_util.SequenceKey) else entry.key
            parts.append(f".{key}" if isinstance(key, str) and key.isidentifier() else f"[{key!r}]")
    return "".join(parts)


def _shape(leaf: Any) -> tuple[Any, ...]:
    return tuple(leaf.shape if hasattr(leaf, "shape") else jax.typeof(leaf).shape)


def _spec(leaf: Any, axes: Sequence[Any] | None, path: str) -> jax.ShapeDtypeStruct:
    """JAX's spec of a leaf, with the axes named, and 64-bit dtypes only in x64 mode."""
    if getattr(leaf, "shape", None) is None or getattr(leaf, "dtype", None) is None:
        leaf = jax.typeof(leaf)
    shape = list(_shape(leaf))
    for axis, entry in enumerate(axes or ()):
        if entry is None:
            continue
        fixed = entry if isinstance(entry, str) else operator.index(entry)
        if not isinstance(fixed, str) and isinstance(shape[axis], int) and shape[axis] != fixed:
            raise GraphError(f"dims of {path!r}, axis {axis} says {fixed}, but the argument has {shape[axis]}")
        shape[axis] = fixed
    dtype = jax.dtypes.canonicalize_dtype(leaf.dtype, allow_extended_dtype=True)
    spec: Any = jax.ShapeDtypeStruct
    return spec(tuple(shape), dtype, weak_type=bool(getattr(leaf, "weak_type", False)))


# ---- arguments of a program -----------------------------------------------------------------------------------


def describe_arguments(specs: Mapping[str, Any]) -> list[Argument]:
    """The leaves of the arguments; random keys have the axes of their data behind their own."""
    names = list(specs)
    flat = tree_util.tree_flatten_with_path(list(specs.values()))[0]
    leaves = [(names[path[0].idx] + path_text(path[1:]), leaf) for path, leaf in flat]
    given = [(name, leaf, [None if size is None else dim_of(size) for size in leaf.shape]) for name, leaf in leaves]
    taken = {root for _, _, sizes in given for size in sizes if size is not None for root in dimension.roots(size)}
    arguments = []
    for number, (name, leaf, sizes) in enumerate(given):
        base = root_base(name, number)
        dims = tuple(
            dimension.symbol(fresh(f"{base}_{axis}", taken)) if size is None else size
            for axis, size in enumerate(sizes)
        )
        arguments.append(Argument(name, leaf.dtype, dims))
    found = {root.name for root in signatures.find_roots(arguments)}
    for argument in arguments:
        for root in frozenset().union(*map(dimension.roots, argument.dims)) - found:
            raise GraphError(f"argument {argument}: no axis of an argument is {root} itself, so its size is not known")
    return arguments


def dim_of(size: Any) -> Dim:
    """The dimension that an entry of a shape means: an int, one of JAX's symbolic sizes, or text."""
    if isinstance(size, str):
        try:
            return parse(size)
        except ValueError as error:
            raise GraphError(f"dims: {error}") from None
    if export.is_symbolic_dim(size):
        return read_size(str(size))
    return operator.index(size)


# ---- constraints, and sizes as JAX has them -------------------------------------------------------------------


def read_constraint(text: str) -> Constraint:
    """A constraint of the caller's, as JAX's symbolic shapes have them or the other way round (`"k <= n"`).

    Raises:
        GraphError: the text is none.
    """
    if found := re.fullmatch(r"([^<>=!]+)(<=|<|>)([^<>=!]+)", text):
        low, high = (found[3], found[1]) if found[2] == ">" else (found[1], found[3])
        text = f"{high} >= {low}" + (" + 1" if found[2] != "<=" else "")
    try:
        return Constraint.parse(text, where=DEMANDED_BY_CALLER)
    except ValueError as error:
        raise GraphError(f"constraints: {error}") from None


def constraint_on(text: str, roots: Sequence[str]) -> Constraint:
    """A constraint of the caller's on these sizes; raises GraphError where it names another."""
    constraint = read_constraint(text)
    for root in sorted((dimension.roots(constraint.lhs) | dimension.roots(constraint.rhs)) - set(roots)):
        raise GraphError(f"constraint {text!r}: no axis is named {root} (sizes: {', '.join(roots) or 'none'})")
    return constraint


def constraints_of(shapes: Sequence[Sequence[Any]]) -> list[Constraint]:
    """The constraints of the scope that JAX's symbolic sizes come from."""
    sizes = [size for shape in shapes for size in shape if export.is_symbolic_dim(size)]
    if not sizes:
        return []
    # The scope has no public list of them.
    return [
        Constraint(dim_of(c.e1), "==" if c.cmp.name == "EQ" else ">=", dim_of(c.e2), DEMANDED_BY_JAX)
        for c in sizes[0].scope._explicit_constraints
    ]


def symbolic_specs(
    arguments: Sequence[Argument],
    leaves: Sequence[Any],
    demands: Sequence[Constraint],
    sizes: Mapping[str, int] | None,
    strict: bool,
) -> tuple[Scope, list[Any]]:
    """JAX's specs, with symbolic sizes of one scope."""
    plain = export.SymbolicScope()
    try:
        sides = [(_symbolic(c.lhs, plain), c.relation, _symbolic(c.rhs, plain)) for c in demands if c.relation != "!="]
        scope = Scope([f"{lhs} {relation} {rhs}" for lhs, relation, rhs in sides], sizes, demands, strict=strict)
        shapes = [tuple(_symbolic(dim, scope) for dim in argument.dims) for argument in arguments]
    except (ValueError, NotImplementedError) as error:
        raise GraphError(f"JAX refuses the sizes or constraints: {first_lines(error)}") from None
    spec: Any = jax.ShapeDtypeStruct
    return scope, [spec(shape, x.dtype, weak_type=x.weak_type) for shape, x in zip(shapes, leaves, strict=True)]


def _symbolic(dim: Dim, scope: Any) -> Any:
    def leaf(name: str) -> Any:
        return export.symbolic_shape(name, scope=scope)[0]

    return dimension.rebuild(dim, leaf, minimum=jax.core.min_dim, maximum=jax.core.max_dim)


def first_lines(error: Exception) -> str:
    """JAX's message without the advice that follows it."""
    return re.split(r"\n\s*\n|\nThis error arises", str(error).strip())[0].strip().rstrip(".")
