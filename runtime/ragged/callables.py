"""What is called with rows of different lengths: a graph of one row, or a function that `jax.vmap` was given.

    x = pt.vector("x")
    fn = hlograph.function([x, mu], [logp], dims={"x": ("b", "n[b]")})     # dims has the rows' axis, x has not
    fn([x0, x1, x2], 0.5)
    fn = hlograph.jit(jax.vmap(f, in_axes=(None, 0)), dims={"xs": ("b", "n[b]", 4)})
    fn(w, [x0, x1, x2])                       # rows as a list, as `Ragged`, or as an array whose rows are all full

In: a graph or function of a single row, and names of axes, of which `n[b]` is a size that each row has for itself. Out:
a callable. Inputs of a graph that `dims` does not give the rows' axis, and shared variables, are the same for all rows;
of a random key each row gets a part. A function is traced once with symbolic sizes, as `hlograph.jit` does.
"""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
from jax import tree_util

from ...codegen.errors import (
    ArgumentError,
    ArgumentShapeError,
    ArgumentTypeError,
    GraphError,
    HlographError,
    OptionError,
)
from ...codegen.graph import unfolded
from ...codegen.ir.jax_compat import Vmapped, enable_x64
from ...codegen.program import Program
from ...codegen.signature import Argument
from ...codegen.sparse_parts import grouped
from ...dialects.jax.axes import path_text
from ...dialects.jax.trace import Traced
from ..calls.arguments import check_count, check_type, in_order, key_data, narrowed, signature_of
from ..calls.path import ARRAY
from ..jitted import (
    Call,
    Key,
    Parameters,
    Programs,
    Static,
    context,
    kind_of,
    leaves_of,
    recognizing_call,
    restoration,
)
from ..lowered.stages import Lowered
from ..options import CompileOptions
from ..warming import Sizes, sets_of
from .rows import Empty, Leaf, OfRows, Rows, RowsFunction, Variant
from .values import (
    Ragged,
    arrays_of,
    as_array,
    is_ragged,
    is_ragged_value,
    leading,
    named,
    own_axes,
    prefix,
    sizes_named,
    with_rows,
)

# Calls with this many different shapes are recognized; then recognition starts again.
_KNOWN_CALLS = 1 << 12


class RaggedFunction(OfRows):
    """A graph of one row, for many; see `hlograph.function`.

    Args:
        emit: makes the program of one row, with dims of that.
        inputs: the graph's inputs.
        dims: names of axes, with the rows' in front.
        options: how programs are compiled.

    Attributes:
        program: of one row.
    """

    _apart = False
    variant: Variant  # as a plan has it: what runs all rows

    def __init__(
        self, emit: Callable[..., Program], inputs: Sequence[Any], dims: Mapping[Any, Any], options: CompileOptions
    ) -> None:
        self._rows, self._ragged = sizes_named(dims)
        self.program = emit(dims={key: _of_one(key, entry, self._rows, inputs) for key, entry in dims.items()})
        signature = self.program.signature
        self._bindings = [self.program.bindings[i] for i in sorted(self.program.bindings)]
        names = _by_name(dims, inputs, [a.name for a in signature.arguments if not a.key])
        self._entries: list[Any] = [names.get(a.name) for a in signature.arguments]
        self._leaves = []
        for argument, entry in zip(signature.arguments, self._entries, strict=True):
            of_rows, rank = _is_of_rows(entry, self._rows), 1 + len(argument.dims)
            axes = {} if argument.key else own_axes(unfolded(entry, rank)) if of_rows else None  # keys: one a row
            self._leaves.append(Leaf(argument.name, axes))
        self._shapes = [None if a.key else [*map(str, a.dims)] for a in signature.arguments]
        shared = frozenset(i for i, leaf in enumerate(self._leaves) if leaf.axes is None)
        rows = RowsFunction(self.program, shared, self._ragged, self._rows, options)
        self.variant = Variant((), self.program, rows)
        dtypes = [x.dtype for x in signature.arguments] + [x.dtype for x in signature.results]
        self._is_wide = any(narrowed(dtype) != dtype for dtype in dtypes)
        self._groups = grouped(signature.arguments[: len(signature.arguments) - len(self._bindings)])
        self.name = self.__name__ = self.program.name
        self.__signature__ = signature_of(self._groups)

    @property
    def _variants(self) -> list[Variant]:
        return [self.variant]

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
        values = [
            x if argument.key else self._checked(argument, leaf.axes is None, x, narrow)
            for argument, leaf, x in zip(arguments, self._leaves, given, strict=True)
        ]
        known = self._sizes(self._leaves, values, self._shapes)
        for number, argument in enumerate(arguments):
            if argument.key:
                key = jax.random.wrap_key_data(key_data(argument, values[number]), impl=argument.key)
                values[number] = jax.random.key_data(jax.random.split(key, known[self._rows]))
        found = self._run(self, Rows.of(self._leaves, values, known))
        results = found if isinstance(found, tuple) else (found,)
        cut = tuple(x.rows() if isinstance(x, Ragged) and listed and all(listed) else x for x in results)
        return cut[0] if len(cut) == 1 else cut

    def _checked(self, argument: Argument, shared: bool, value: Any, narrow: bool) -> Any:
        """The values of an argument, if they are of its dtype and shape."""
        array = arrays_of(value)
        if not hasattr(array, "dtype"):
            array = np.asarray(array, argument.dtype)
        check_type(argument, array.dtype, weak=bool(getattr(array, "weak_type", False)), narrow=narrow)
        rank = len(argument.dims) + (not shared)
        if array.ndim != rank:
            said = str(argument) if shared else f"the rows' axis {self._rows!r} and those of {argument}"
            raise ArgumentShapeError(f"argument {argument.name!r}: expected {rank} axes, {said}; got {array.ndim}")
        for dim, size in zip(argument.dims, array.shape[not shared :], strict=True):
            if isinstance(dim, int) and dim != size:
                raise ArgumentShapeError(f"argument {argument.name!r}: expected {argument}, got a size {size}")
        return value if isinstance(value, Ragged) else array

    def _variant(self, plan: Any, call: Rows, sizes: Mapping[str, int], empty: Empty) -> Variant:
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
                for name, time in self.variant.rows.warm(given, up_to or {}).items():
                    seconds[name] = time or seconds.get(name, 0.0)
        return seconds

    def clear_cache(self) -> None:
        """Drops all executables."""
        self.variant.rows.clear()

    def __repr__(self) -> str:
        return f"<RaggedFunction {self.program.name}{self.program.signature}, rows {self._rows}>"


def _is_of_rows(entry: Any, rows: str) -> bool:
    return isinstance(entry, tuple | list) and bool(entry) and entry[0] == rows


def _of_one(key: Any, entry: Any, rows: str, inputs: Sequence[Any]) -> Any:
    """Names of axes in the program of one row: without the rows' one."""
    if not _is_of_rows(entry, rows):
        if is_ragged(entry):
            raise GraphError(f"dims of {key!r}: the rows' axis {rows!r} comes first")
        return entry
    found = next((x for x in inputs if x is key or (isinstance(key, str) and getattr(x, "name", None) == key)), None)
    if ... not in entry and getattr(found, "ndim", None) == len(entry):
        raise GraphError(f"dims of {key!r}: {rows!r} is the axis of the rows, which the graph of a row does not have")
    return named(entry[1:])


def _by_name(dims: Mapping[Any, Any], inputs: Sequence[Any], names: Sequence[str]) -> dict[str, Any]:
    """Names of axes by the names of arguments."""
    found = {}
    for key, entry in dims.items():
        if isinstance(key, str):
            found[key] = entry
        else:
            found[names[next(i for i, x in enumerate(inputs) if x is key)]] = entry
    return found


# ---- functions of JAX -----------------------------------------------------------------------------------------------


@dataclass
class _Plan:
    """What is to be done for arguments that look alike.

    Attributes:
        call: the call as one of a single row.
        specs: of a single row, for each of the program's arguments.
        leaves: these arguments.
        order: for each of them its place among the flat arguments.
        moved: for each of these the axis of the rows, if it is not the first.
        sizes: those that are the same in every such call.
        variant: the trace, where one holds for all rows that are not empty.
    """

    call: Call
    specs: dict[str, Any]
    leaves: list[Leaf]
    order: list[int]
    moved: list[int | None]
    sizes: dict[str, int]
    variant: Variant | None = None

    def rows(self, flat: Sequence[Any]) -> Rows:
        """The rows of a call with these flat arguments."""
        values = [leading(flat[place], axis) for place, axis in zip(self.order, self.moved, strict=True)]
        return Rows.of(self.leaves, values, self.sizes)


class RaggedJit(OfRows):
    """A function of a row, for many rows of different lengths; see `hlograph.jit`.

    A call raises `ArgumentShapeError` for rows whose sizes contradict `dims`, or each other, `UnsupportedGraphError`
    where JAX cannot trace the function with symbolic sizes, and `PaddingError` for an op that cannot be padded.

    Args:
        vmapped: what `jax.vmap` was given.
        dims: names of axes; `n[b]` is a size that each of the `b` rows has for itself.
        static_argnames, static_argnums, constraints: as for `hlograph.jit`.
        how: how programs are compiled.
    """

    def __init__(
        self,
        vmapped: Vmapped,
        dims: Mapping[str, Any],
        static_argnames: Any,
        static_argnums: Any,
        constraints: Sequence[str],
        how: CompileOptions,
    ) -> None:
        if isinstance(vmapped.axis_name, str | tuple):
            raise OptionError("hlograph.jit: rows of different lengths have no axis_name for jax.vmap's collectives")
        functools.update_wrapper(self, vmapped.function)
        self._in_axes, self._out_axes = vmapped.in_axes, vmapped.out_axes
        self._parameters = Parameters(vmapped.function, static_argnames, static_argnums, dims)
        self._rows, self._ragged = sizes_named(dims)
        self.name = self._parameters.name
        self._programs = Programs(self.name, tuple(constraints), how)
        self._plans: dict[Key, _Plan] = {}
        self._lengths: list[Any] = []  # of the last call
        self.__call__ = self._call

    # ---- calls ------------------------------------------------------------------------------------------------------

    def _call(self, /, *args: Any, **kwargs: Any) -> Any:
        plan, call, listed = self._look_at(args, kwargs)
        results = self._finished(self._run(plan, call), listed)
        leaves, tree = tree_util.tree_flatten((args, kwargs))
        rows = filter(is_ragged_value, tree_util.tree_leaves((args, kwargs), is_leaf=is_ragged_value))
        on_device = all(type(x) is ARRAY for x in leaves)
        before, self._lengths = self._lengths, [own for x in rows for own in x.lengths] if on_device else []
        same = before and len(before) == len(self._lengths) and all(map(operator.is_, before, self._lengths))
        if same and plan.variant is not None and call.filled and self._out_axes == 0 and not self._parameters.static:
            self._recognize(call, plan.variant, leaves, tree)
        return results

    def _recognize(self, call: Rows, variant: Variant, leaves: Sequence[Any], tree: Any) -> None:
        """From now on calls with these lengths and arrays of these types, as each step of a fit is, run what is known
        of them: what is made of the lengths is on the device already. Data are not held."""
        arrays, lengths, sizes = variant.given(call)
        (_, function), given = variant.rows.prepared(arrays, lengths, sizes)
        places = [next((i for i, x in enumerate(leaves) if x is y), -1) for y in given[: len(arrays)]]
        if -1 in places:  # one is converted, moved or padded
            return
        tail = jax.device_put(given[len(arrays) :])

        def run(*found: Any) -> Any:
            results = variant.rows.cut(function, function.run([*[found[i] for i in places], *tail]), lengths, sizes)
            return results[0] if len(results) == 1 else tuple(results)

        own = set(map(id, self._lengths))
        known = [x if id(x) in own else x.aval for x in leaves]
        self.__call__ = recognizing_call(known, tree, run, None, variant.restore, self._call)

    def _look_at(self, args: Any, kwargs: Any) -> tuple[_Plan, Rows, bool]:
        """What is to be done for such a call, its rows, and whether all of them come as lists."""
        static: Static = ()
        if self._parameters.static:
            (args, kwargs), static = self._parameters.split(args, kwargs)
        names, dims = self._parameters.names, self._parameters.dims
        listed: list[bool] = []
        args = tuple(
            with_rows(x, dims.get(names[place]) if place < len(names) else None, listed) for place, x in enumerate(args)
        )
        kwargs = {name: with_rows(x, dims.get(name), listed) for name, x in kwargs.items()}
        flat, tree = tree_util.tree_flatten((args, kwargs), is_leaf=is_ragged_value)
        kinds = [(x.axes, kind_of(x.values)) if isinstance(x, Ragged) else kind_of(x) for x in flat]
        key = (tree, static, context(), *kinds)
        plan = self._plans.get(key)
        if plan is None:
            if len(self._plans) >= _KNOWN_CALLS:
                self._plans.clear()
            plan = self._plans[key] = self._plan(args, kwargs, flat, tree, static)
        return plan, plan.rows(flat), bool(listed) and all(listed)

    def _plan(self, args: Any, kwargs: Any, flat: Sequence[Any], tree: Any, static: Any) -> _Plan:
        mapped = self._mapped(args, kwargs)
        call = self._parameters.describe(tree, static)
        flat = [leading(x, axis) for x, axis in zip(flat, mapped, strict=True)]
        whole = self._parameters.specs(call, [arrays_of(x) for x in flat])
        paths = [
            f"{name}{path_text(keys)}"
            for name, value in call.places.items()
            for keys, _ in tree_util.tree_flatten_with_path(value)[0]
        ]
        order = leaves_of(call.places)
        pairs = [
            self._leaf(flat[place], mapped[place], path, spec)
            for place, path, spec in zip(order, paths, leaves_of(whole), strict=True)
        ]
        leaves, specs = [leaf for leaf, _ in pairs], [spec for _, spec in pairs]
        structure = tree_util.tree_structure(list(whole.values()))
        found = dict(zip(whole, tree_util.tree_unflatten(structure, specs), strict=True))
        sizes = self._sizes(leaves, [flat[place] for place in order], [spec.shape for spec in specs])
        return _Plan(call, found, leaves, order, [mapped[place] for place in order], sizes)

    def _mapped(self, args: Any, kwargs: Any) -> list[int | None]:
        """For each leaf the axis that `jax.vmap` maps over; None where it has none."""
        axes = self._in_axes if isinstance(self._in_axes, tuple | list) else (self._in_axes,) * len(args)
        if len(axes) != len(args):
            raise ArgumentTypeError(
                f"{self._parameters.name}: jax.vmap's in_axes has {len(axes)} entries for {len(args)} arguments"
            )
        found = prefix(tuple(axes), args)
        return [*found, *[0] * len(tree_util.tree_leaves(kwargs, is_leaf=is_ragged_value))]

    def _leaf(self, value: Any, axis: int | None, path: str, spec: Any) -> tuple[Leaf, Any]:
        """A leaf, and the spec of it in one row."""
        names = [str(size) if isinstance(size, str) else size for size in spec.shape]
        if axis is None:
            if is_ragged(names) or self._rows in names:
                raise GraphError(f"dims of {path!r} says that rows differ, but jax.vmap's in_axes has None for it")
            if isinstance(value, Ragged):
                raise ArgumentTypeError(f"argument {path!r} has rows, but jax.vmap's in_axes has None for it")
            return Leaf(path, None), spec
        if not names:
            raise ArgumentShapeError(f"argument {path!r} is a number, and jax.vmap maps over it: it needs an axis")
        if names[0] != self._rows and isinstance(names[0], str):
            raise GraphError(
                f"dims of {path!r} begins with {names[0]!r}; the axis of the rows, {self._rows!r}, comes first"
            )
        axes = own_axes(names)
        row = [axes.get(number, size) for number, size in enumerate(names)][1:]
        for number, size in enumerate(row, start=1):
            if is_ragged(size):
                raise GraphError(
                    f"dims of {path!r}, axis {number}: give a size of rows by its name alone, not {size!r}"
                )
        return Leaf(path, axes), jax.ShapeDtypeStruct(tuple(row), spec.dtype, weak_type=spec.weak_type)

    # ---- traces -----------------------------------------------------------------------------------------------------

    def _variant(self, plan: _Plan, call: Rows, sizes: Mapping[str, int], empty: Empty) -> Variant:
        def filled(spec: Any) -> Any:
            shape = tuple(0 if size in empty else size for size in spec.shape)
            return jax.ShapeDtypeStruct(shape, spec.dtype, weak_type=spec.weak_type)

        def made(traced: Traced) -> Variant:
            shared = frozenset(number for number, leaf in enumerate(plan.leaves) if leaf.axes is None)
            how = self._programs.options
            if isinstance(how.policy, Mapping):  # without the sizes that the trace has fixed
                gone = self._ragged - {root.name for root in traced.program.signature.roots}
                how = replace(how, policy={name: each for name, each in how.policy.items() if name not in gone})
            rows = RowsFunction(traced.program, shared, self._ragged - empty, self._rows, how)
            return Variant(traced.guards, traced.program, rows, restoration(traced))

        specs = tree_util.tree_map(filled, plan.specs) if empty else plan.specs
        known = {name: size for name, size in sizes.items() if name != self._rows and name not in empty}
        found = self._programs.find(plan.call, specs, known, made, empty)
        assert found is not None  # with `made` there is always something
        if isinstance(found, HlographError):
            raise found
        traced, variant = found
        for limit in traced.limits:
            if not limit.holds(sizes):
                raise ArgumentShapeError(f"{limit} does not hold: {limit.where}")
        return variant

    @property
    def _variants(self) -> list[Variant]:
        return self._programs.functions

    # ---- results ----------------------------------------------------------------------------------------------------

    def _finished(self, outputs: Any, listed: bool) -> Any:
        """Results with the rows where `out_axes` has them; as lists where the rows came as lists."""
        if self._out_axes == 0 and not listed:
            return outputs
        axes = prefix(self._out_axes, outputs)
        flat, tree = tree_util.tree_flatten(outputs, is_leaf=is_ragged_value)
        found: list[Any] = []
        for x, axis in zip(flat, axes, strict=True):
            if axis is None:
                raise OptionError("hlograph.jit: rows of different lengths have a result each; out_axes cannot be None")
            if isinstance(x, Ragged):
                if axis != 0:
                    raise OptionError(
                        f"hlograph.jit: results with rows of different lengths have out_axes 0, not {axis}"
                    )
                found.append(x.rows() if listed else x)
            else:
                found.append(x if axis == 0 else jax.numpy.moveaxis(x, 0, axis))
        return tree_util.tree_unflatten(tree, found)

    # ---- looking ----------------------------------------------------------------------------------------------------

    def program(self, *args: Any, **kwargs: Any) -> Program:
        """The program of one row that calls with such arguments run."""
        plan, call, _ = self._look_at(args, kwargs)
        return self._variant(plan, call, call.sizes, frozenset()).program

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The program of such a call for its bounds, ahead of time, with its stages; see `Function.lower`.

        Its arguments are the call's, padded, then the sizes of the rows, and which rows there are.

        Raises:
            ArgumentShapeError: the rows need several programs.
        """
        plan, call, _ = self._look_at(args, kwargs)
        variant = self._variant(plan, call, call.sizes, frozenset())
        if variant.guards or not call.filled:
            raise ArgumentShapeError("rows of these lengths are run in parts, each by its own program")
        (_, function), given = variant.rows.prepared(*variant.given(call))
        return function.lower(*given)

    def warm(
        self, *args: Any, sizes: Sizes | None = None, up_to: Mapping[str, int] | None = None, **kwargs: Any
    ) -> dict[str, float]:
        """Compiles what such calls run on, so that they compile nothing; nothing is run. See `Function.warm`.

        Args:
            args, kwargs: as in a call; in place of an array, whose rows are all full, also a `jax.ShapeDtypeStruct`.
            sizes: sets of sizes by name, where the arguments are to have others than these: NumPy arrays whose rows are
                all full. A size that is left out is that of the arguments.
            up_to: not to be had here, as each set of rows may be run in parts.

        Returns:
            The seconds that each took, by the bounds that it is for ("b<=8, n<=24").

        Raises:
            ArgumentError: a name that is not one of the sizes.
            HlographError: as a call does.
        """
        if up_to:
            raise ArgumentError(
                f"{self._parameters.name}: rows of different lengths may be run in parts, so their buckets are not "
                "known in advance; give the sizes to expect: sizes=[...]"
            )
        args, kwargs = tree_util.tree_map(as_array, (args, kwargs), is_leaf=is_ragged_value)
        plan, own, _ = self._look_at(args, kwargs)
        seconds: dict[str, float] = {}
        for given in sets_of({} if sizes is None else sizes):
            unknown = sorted(given.keys() - own.sizes.keys())
            if unknown:
                raise ArgumentError(f"sizes: there is no size {unknown[0]!r}; its sizes: {', '.join(own.sizes)}")
            if given:
                found = {**own.sizes, **given}
                variant = self._variant(plan, own, found, frozenset(name for name in own.lengths if found[name] == 0))
                warmed = [variant.rows.warm({name: found[name] for name in variant.rows.names}, {})]
            else:
                parts = self._parts(plan, own)
                some = [own if len(parts) == 1 else own.some(rows, self._rows) for _, _, rows in parts]
                warmed = [v.rows.warm_call(*v.given(x, empty)) for (v, empty, _), x in zip(parts, some, strict=True)]
            for name, time in (item for each in warmed for item in each.items()):
                seconds[name] = seconds.get(name, 0.0) + time
        return seconds

    def clear_cache(self) -> None:
        """Drops all programs and executables, and what they counted."""
        self._programs.clear()
        self._plans.clear()
        self._lengths, self.__call__ = [], self._call

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<hlograph.jit vmap of {self._parameters.name}{self._parameters.signature}>"
