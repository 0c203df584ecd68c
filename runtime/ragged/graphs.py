"""`RaggedFunction`: a graph of one row, for many rows of different lengths.

    x = pt.vector("x")
    fn = hlograph.function([x, mu], [logp], dims={"x": ("b", "n[b]")})     # dims has the rows' axis, x has not
    fn([x0, x1, x2], 0.5)

In: a graph of a single row, and names of axes, the rows' in front for inputs that rows have for themselves. Out: a
callable. Inputs that `dims` does not give the rows' axis, and shared variables, are the same for all rows; of a random
key each row gets a part. A graph that has the rows' axis itself, and maps over it, is that of a single row where the
axis has size 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from ...codegen import dims as dimension
from ...codegen import signature as signatures
from ...codegen.analysis.mapped_rows import check_map, check_number, many_rows
from ...codegen.errors import ArgumentShapeError, GraphError
from ...codegen.inputs import unfolded
from ...codegen.ir.jax_compat import enable_x64
from ...codegen.ir.refused import Refused, require
from ...codegen.program import Program
from ...codegen.signature import Argument
from ...codegen.sparse_parts import grouped
from ..calls.arguments import check_count, check_type, in_order, key_data, narrowed, signature_of
from ..options import CompileOptions
from ..warming import Sizes, sets_of
from .calling import Empty, Leaf, OfRows, Rows, Variant
from .function import RowsFunction
from .values import OF_ROWS, Ragged, sizes_named, with_rows


class RaggedFunction(OfRows):
    """A graph of one row, for many; see `hlograph.function`.

    Args:
        emit: makes the program of one row, with dims of that.
        inputs: the graph's inputs.
        dims: names of axes, with the rows' in front.
        options: how programs are compiled.

    Attributes:
        program: of one row.
        variant: what runs it.
    """

    _apart = False

    def __init__(
        self, emit: Callable[..., Program], inputs: Sequence[Any], dims: Mapping[Any, Any], options: CompileOptions
    ) -> None:
        self._rows, self._ragged = sizes_named(dims)
        self._inside = _is_inside(dims, self._rows, inputs)
        of_one = {key: _of_one(key, entry, self._rows, self._inside) for key, entry in dims.items()}
        if self._inside:
            _check_map(emit(dims={key: _named(entry) for key, entry in dims.items()}), self._rows)
        self.program = emit(dims=of_one)
        signature = self.program.signature
        self._bindings = [self.program.bindings[i] for i in sorted(self.program.bindings)]
        names = _by_name(dims, inputs, [a.name for a in signature.arguments if not a.key])
        self._entries = [names.get(a.name) for a in signature.arguments]
        self._axes = [
            _axes_of(entry, self._rows, len(a.dims) + (not self._inside))
            for a, entry in zip(signature.arguments, self._entries, strict=True)
        ]
        self._shapes = [[dim if isinstance(dim, int) else str(dim) for dim in a.dims] for a in signature.arguments]
        shared = frozenset(i for i, axes in enumerate(self._axes) if axes is None and not signature.arguments[i].key)
        rows = RowsFunction(self.program, shared, self._ragged, self._rows, options)
        self.variant: Variant | None = Variant((), self.program, rows, _without_axis if self._inside else None)
        dtypes = [x.dtype for x in signature.arguments] + [x.dtype for x in signature.results]
        self._is_wide = any(narrowed(dtype) != dtype for dtype in dtypes)
        self._groups = grouped(signature.arguments[: len(signature.arguments) - len(self._bindings)])
        self.name = self.__name__ = self.program.name
        self.__signature__ = signature_of(self._groups)

    @property
    def _variants(self) -> list[Variant]:
        return [] if self.variant is None else [self.variant]

    def __call__(self, /, *args: Any, **keywords: Any) -> Any:
        """The results of all rows.

        Raises:
            ArgumentTypeError, ArgumentShapeError: before anything runs.
            Exception: what a failed check in the graph asks for.
        """
        if keywords:
            args = tuple(in_order(self.__name__, self._groups, args, keywords))
        check_count(self.program.signature, len(args), len(self._bindings))
        traced = any(isinstance(x, jax.core.Tracer) for x in jax.tree.leaves(args))
        with enable_x64(True) if self._is_wide and not traced else nullcontext():
            return self._run_all(args, narrow=traced)

    def _run_all(self, args: Sequence[Any], narrow: bool) -> Any:
        arguments = self.program.signature.arguments
        args = (*args, *[container.get_value(borrow=True) for container in self._bindings])
        listed: list[bool] = []
        given = [with_rows(x, entry, listed) for x, entry in zip(args, self._entries, strict=True)]
        leaves = [
            Leaf(value, argument.name, True) if argument.key else self._leaf(argument, axes, value, narrow)
            for argument, axes, value in zip(arguments, self._axes, given, strict=True)
        ]
        known = self._sizes(leaves, [[] if a.key else s for a, s in zip(arguments, self._shapes, strict=True)])
        for number, argument in enumerate(arguments):
            if argument.key:
                key = jax.random.wrap_key_data(key_data(argument, leaves[number].value), impl=argument.key)
                parts = jax.random.key_data(jax.random.split(key, known[self._rows]))
                leaves[number] = Leaf(parts, argument.name, False)
        found = self._run(self, Rows.of(leaves, known))
        results = found if isinstance(found, tuple) else (found,)
        cut = tuple(x.rows() if isinstance(x, Ragged) and listed and all(listed) else x for x in results)
        return cut[0] if len(cut) == 1 else cut

    def _leaf(self, argument: Argument, axes: dict[int, str] | None, value: Any, narrow: bool) -> Leaf:
        """An argument with its lengths."""
        array = value.values if isinstance(value, Ragged) else value
        if not hasattr(array, "dtype"):
            array = np.asarray(array, argument.dtype)
        check_type(argument, array.dtype, weak=bool(getattr(array, "weak_type", False)), narrow=narrow)
        dims = argument.dims[self._inside and axes is not None :]
        rank = len(dims) + (axes is not None)
        if array.ndim != rank:
            said = f"the rows' axis {self._rows!r} and those of {argument}" if axes is not None else str(argument)
            raise ArgumentShapeError(f"argument {argument.name!r}: expected {rank} axes, {said}; got {array.ndim}")
        for dim, size in zip(dims, array.shape[axes is not None :], strict=True):
            if isinstance(dim, int) and dim != size:
                raise ArgumentShapeError(f"argument {argument.name!r}: expected {argument}, got a size {size}")
        if axes is None:
            return Leaf(array, argument.name, True)
        leaf = Leaf.of_rows(value if isinstance(value, Ragged) else array, argument.name, axes)
        if self._inside:  # the element has the rows' axis too, of size 1
            leaf = replace(leaf, value=array[:, None], axes={axis + 1: name for axis, name in axes.items()})
        return leaf

    def _variant(self, plan: Any, call: Rows, sizes: Mapping[str, int], empty: Empty) -> Variant:
        assert self.variant is not None
        return self.variant

    def warm(self, sizes: Sizes = ({},), *, up_to: Mapping[str, int] | None = None) -> dict[str, float]:
        """Compiles what calls of NumPy arrays with these sizes run on; nothing is run. See `Function.warm`.

        Args:
            sizes: the number of rows, the sizes of all arguments, and of those that differ from row to row the greatest
                one, by name; several sets, or one.
            up_to: in place of some of them the largest: every bucket is compiled that such calls can meet.

        Returns:
            The seconds that each took, by the bounds that it is for ("b<=8, n<=24").

        Raises:
            ArgumentError: a size is missing or unknown.
        """
        seconds: dict[str, float] = {}
        for given in sets_of(sizes):
            with enable_x64(True) if self._is_wide else nullcontext():
                for name, time in self._variants[0].rows.warm(given, up_to or {}).items():
                    seconds[name] = time or seconds.get(name, 0.0)
        return seconds

    def clear_cache(self) -> None:
        """Drops all executables."""
        self._variants[0].rows.clear()

    def __repr__(self) -> str:
        return f"<RaggedFunction {self.program.name}{self.program.signature}, rows {self._rows}>"


def _is_inside(dims: Mapping[Any, Any], rows: str, inputs: Sequence[Any]) -> bool:
    """Whether the graph has the rows' axis itself, in all inputs that `dims` says it of, or in none.

    Raises:
        GraphError: in some.
    """
    found = {}
    for key, entry in dims.items():
        if isinstance(entry, str | int) or not entry or entry[0] != rows or ... in entry:
            continue
        named = (x for x in inputs if x is key or (isinstance(key, str) and getattr(x, "name", None) == key))
        found[str(key)] = getattr(next(named, None), "ndim", None) == len(entry)
    if len(set(found.values())) > 1:
        inside = ", ".join(key for key, own in found.items() if own)
        raise GraphError(f"dims: {inside} has the rows' axis {rows!r} in the graph, other inputs have it not")
    return any(found.values())


def _of_one(key: Any, entry: Any, rows: str, inside: bool) -> Any:
    """Names of axes in the program of one row: without the rows' one, or with 1 for it."""
    if isinstance(entry, str | int) or not entry or entry[0] != rows:
        if any(isinstance(size, str) and OF_ROWS.search(size) for size in (entry if entry is not None else ())):
            raise GraphError(f"dims of {key!r}: the rows' axis {rows!r} comes first")
        return entry
    return ((1,) if inside else ()) + _named(entry[1:])


def _named(entry: Any) -> Any:
    """Names of axes without brackets."""
    if isinstance(entry, str | int) or entry is None:
        return entry
    return tuple(OF_ROWS.sub(r"\1", size) if isinstance(size, str) else size for size in entry)


def _check_map(program: Program, rows: str) -> None:
    """A program with the rows' axis makes each row of its results of that row of its arguments.

    Raises:
        GraphError: it does not, or that is not known.
    """
    signature = program.signature
    known = signatures.known_constraints(signature)
    free = {root.name: 5 + 2 * number for number, root in enumerate(signature.roots) if root.name != rows}
    sizes = {name: dimension.evaluate(known.canonical(dimension.symbol(name)), {**free, rows: 3}) for name in free}
    axes = [next((i for i, dim in enumerate(a.dims) if str(dim) == rows), None) for a in signature.arguments]
    try:
        counted = any(rows in dimension.roots(c.lhs) | dimension.roots(c.rhs) for c in signature.constraints)
        require(not counted, "their number must fit another size")
        data = signature.has_data_sizes or signature.checks or signature.value_roots
        require(not data, "sizes or checks depend on data")
        require(not any(argument.key for argument in signature.arguments), "all of them draw by one random key")
        check_number(program.copy_module(), axes)
        count = many_rows(program.specialize({**sizes, rows: 0}).copy_module())
        check_map(program.specialize({**sizes, rows: count}).copy_module(), count)
    except Refused as error:
        raise GraphError(
            f"rows of different lengths need a graph that maps over them, and in {program.name} {error}; "
            "the graph of a single row, without that axis, is taken as it is"
        ) from None


def _without_axis(results: Any) -> Any:
    """Results of rows without the axis of size 1 that the element has."""
    if isinstance(results, tuple):
        return tuple(map(_without_axis, results))
    if isinstance(results, Ragged):
        return Ragged(results.values[:, 0], results.lengths, tuple(axis - 1 for axis in results.axes))
    return results[:, 0]


def _by_name(dims: Mapping[Any, Any], inputs: Sequence[Any], names: Sequence[str]) -> dict[str, Any]:
    """Names of axes by the names of arguments."""
    found = {}
    for key, entry in dims.items():
        if isinstance(key, str):
            found[key] = entry
        else:
            found[names[next(i for i, x in enumerate(inputs) if x is key)]] = entry
    return found


def _axes_of(entry: Any, rows: str, rank: int) -> dict[int, str] | None:
    """The ragged axes of an input by number, the rows' counted; None where it is the same for all rows."""
    if entry is None or isinstance(entry, str | int) or not entry or entry[0] != rows:
        return None
    return {
        axis: match[1]
        for axis, size in enumerate(unfolded(entry, rank))
        if isinstance(size, str) and (match := OF_ROWS.fullmatch(size)) is not None
    }
