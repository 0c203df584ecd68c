"""`RaggedJit`: `jax.vmap` of a function over rows of different lengths, compiled once for each bucket.

    fn = hlograph.jit(jax.vmap(f, in_axes=(None, 0)), dims={"xs": ("b", "n[b]", 4)})
    fn(w, [x0, x1, x2])                       # rows as a list, as `Ragged`, or as an array whose rows are all full

In: the function of one row (what `jax.vmap` was given), and names for axes, of which `n[b]` is a size that each row has
for itself. Out: a callable. The function is traced once with symbolic sizes, as `hlograph.jit` does.
"""

from __future__ import annotations

import functools
import re
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import jax
import numpy as np
from jax import tree_util

from ...codegen import dims as dimension
from ...codegen import forks
from ...codegen.dims_text import parse
from ...codegen.errors import ArgumentError, ArgumentShapeError, ArgumentTypeError, GraphError, OptionError
from ...codegen.ir.jax_compat import Vmapped
from ...codegen.program import Program
from ...dialects.jax.axes import path_text
from ...dialects.jax.trace import Traced, trace
from ..executables.devices import platform_of
from ..executables.stats import Stats
from ..jitted.calls import X64, Call, Key, Parameters, Static, kind_of, leaves_of, restoration
from ..jitted.programs import JitStats
from ..lowered.stages import Lowered
from ..options import CompileOptions
from ..warming import Sizes, sets_of
from .arguments import OF_ROWS, is_ragged_value, leading, prefix, sizes_named, with_rows
from .calling import Empty, OfRows, Variant, converted
from .function import RowsFunction
from .leaves import Leaf, all_filled, lengths_of, part
from .values import Ragged, as_array, zeros

# Calls with this many different shapes are recognized; then recognition starts again.
_KNOWN_CALLS = 1 << 12


@dataclass
class _Plan:
    """What is to be done for arguments that look alike.

    Attributes:
        call: the call as one of a single row.
        specs: of a single row.
        leaves: the program's arguments, without values.
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

    def filled(self, flat: Sequence[Any]) -> list[Leaf]:
        """The arguments with the values of a call."""
        found = []
        for leaf, place, axis in zip(self.leaves, self.order, self.moved, strict=True):
            value = flat[place]
            if isinstance(value, Ragged):
                found.append(Leaf(value.values, leaf.path, leaf.shared, leaf.axes, value.lengths))
            else:
                found.append(Leaf(leading(value, axis), leaf.path, leaf.shared, leaf.axes, leaf.lengths))
        return found


class RaggedJit(OfRows):
    """A function of a row, for many rows of different lengths; see `hlograph.jit`.

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
        self._constraints, self._how = tuple(constraints), how
        self._rows, self._ragged = sizes_named(dims)
        self._found: dict[Key, list[Variant]] = {}
        self.name = self._parameters.name
        self._plans: dict[Key, _Plan] = {}
        self._traces = 0
        self._lock = forks.lock()

    # ---- calls ------------------------------------------------------------------------------------------------------

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """The results of all rows.

        Raises:
            ArgumentShapeError: rows whose sizes contradict `dims`, or each other.
            UnsupportedGraphError: JAX cannot trace the function with symbolic sizes.
            PaddingError: an op that cannot be padded.
        """
        plan, flat, listed = self._look_at(args, kwargs)
        leaves = plan.filled(flat)
        return self._finished(self._run(plan, leaves, *lengths_of(leaves, plan.sizes)), listed)

    def _look_at(self, args: Any, kwargs: Any) -> tuple[_Plan, list[Any], bool]:
        """What is to be done for such a call, its flat arguments, and whether all rows come as lists."""
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
        key = (tree, static, X64.value, *[_kind_of(x) for x in flat])
        plan = self._plans.get(key)
        if plan is None:
            if len(self._plans) >= _KNOWN_CALLS:
                self._plans.clear()
            plan = self._plans[key] = self._plan(args, kwargs, flat, tree, static)
        return plan, flat, bool(listed) and all(listed)

    def _plan(self, args: Any, kwargs: Any, flat: Sequence[Any], tree: Any, static: Any) -> _Plan:
        mapped = self._mapped(args, kwargs)
        call = self._parameters.describe(tree, static)
        flat = [leading(x, axis) for x, axis in zip(flat, mapped, strict=True)]
        whole = self._parameters.specs(call, [x.values if isinstance(x, Ragged) else x for x in flat])
        paths = [
            f"{name}{path_text(keys)}"
            for name, value in call.places.items()
            for keys, _ in tree_util.tree_flatten_with_path(value)[0]
        ]
        order = leaves_of(call.places)
        leaves, specs = [], []
        for place, path, spec in zip(order, paths, leaves_of(whole), strict=True):
            leaf, own = self._leaf(flat[place], mapped[place], path, spec)
            leaves.append(leaf)
            specs.append(own)
        structure = tree_util.tree_structure(list(whole.values()))
        found = dict(zip(whole, tree_util.tree_unflatten(structure, specs), strict=True))
        sizes = self._sizes(leaves, [spec.shape for spec in specs])
        empty = [replace(leaf, value=None) for leaf in leaves]
        return _Plan(call, found, empty, order, [mapped[place] for place in order], sizes)

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
            if any(isinstance(size, str) and (OF_ROWS.search(size) or size == self._rows) for size in names):
                raise GraphError(f"dims of {path!r} says that rows differ, but jax.vmap's in_axes has None for it")
            if isinstance(value, Ragged):
                raise ArgumentTypeError(f"argument {path!r} has rows, but jax.vmap's in_axes has None for it")
            return Leaf(value, path, True), spec
        if not names:
            raise ArgumentShapeError(f"argument {path!r} is a number, and jax.vmap maps over it: it needs an axis")
        if names[0] != self._rows and isinstance(names[0], str):
            raise GraphError(
                f"dims of {path!r} begins with {names[0]!r}; the axis of the rows, {self._rows!r}, comes first"
            )
        axes, row = {}, []
        for number, size in enumerate(names[1:], start=1):
            if isinstance(size, str) and (match := OF_ROWS.fullmatch(size)):
                axes[number] = match[1]
            elif isinstance(size, str) and OF_ROWS.search(size):
                raise GraphError(
                    f"dims of {path!r}, axis {number}: give a size of rows by its name alone, not {size!r}"
                )
            row.append(axes.get(number, size))
        own = jax.ShapeDtypeStruct(tuple(row), spec.dtype, weak_type=spec.weak_type)
        if not isinstance(value, Ragged):
            count = np.shape(value)[0]
            full = tuple(np.full(count, np.shape(value)[number], np.int32) for number in axes)
            return Leaf(value, path, False, axes, full), own
        if tuple(axes) != value.axes:
            said = f"dims has {tuple(axes)}" if axes else "dims names none (write `n[b]`)"
            raise ArgumentShapeError(f"argument {path!r}: axes {value.axes} have lengths of rows, but {said}")
        return Leaf(value.values, path, False, axes, value.lengths), own

    # ---- traces -----------------------------------------------------------------------------------------------------

    def _variant(self, plan: _Plan, leaves: Sequence[Leaf], sizes: Mapping[str, int], empty: Empty) -> Variant:
        call, specs = plan.call, plan.specs
        flat, tree = tree_util.tree_flatten(list(specs.values()))
        shared = frozenset(number for number, leaf in enumerate(leaves) if leaf.shared)
        kinds = tuple((spec.shape, spec.dtype, spec.weak_type) for spec in flat)
        key = (tree, call.static, X64.value, kinds, shared, empty)
        with self._lock:
            variants = self._found.setdefault(key, [])
            for variant in variants:
                if all(guard.holds(sizes) for guard in variant.guards):
                    return variant
            traced = self._trace(call, specs, sizes, empty)
            for limit in traced.limits:
                if not limit.holds(sizes):
                    raise ArgumentShapeError(f"{limit} does not hold: {limit.where}")
            gone = self._ragged - {root.name for root in traced.program.signature.roots}
            how = replace(self._how, policy=_policy_of(self._how.policy, gone))
            rows = RowsFunction(traced.program, shared, self._ragged - empty, self._rows, how)
            variants.append(Variant(traced.guards, traced.program, rows, restoration(traced)))
            return variants[-1]

    @property
    def _variants(self) -> list[Variant]:
        return [variant for found in list(self._found.values()) for variant in found]

    def _trace(self, call: Call, specs: dict[str, Any], sizes: Mapping[str, int], empty: frozenset[str]) -> Traced:
        self._traces += 1
        if empty:
            specs = tree_util.tree_map(lambda spec: _without(spec, empty), specs)
        known = {name: size for name, size in sizes.items() if name != self._rows and name not in empty}
        target = None if self._how.device is None else platform_of(self._how.device)
        name = self._parameters.name
        demands = [text for text in self._constraints if not any(re.search(rf"\b{n}\b", text) for n in empty)]
        return trace(call.function, specs, name=name, constraints=demands, platform=target, sizes=known)

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
        plan, flat, _ = self._look_at(args, kwargs)
        leaves = plan.filled(flat)
        _, sizes = lengths_of(leaves, plan.sizes)
        return self._variant(plan, leaves, sizes, frozenset()).program

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The program of such a call for its bounds, ahead of time, with its stages; see `Function.lower`.

        Its arguments are the call's, padded, then the sizes of the rows, and which rows there are.

        Raises:
            ArgumentShapeError: the rows need several programs.
        """
        plan, flat, _ = self._look_at(args, kwargs)
        leaves = plan.filled(flat)
        lengths, sizes = lengths_of(leaves, plan.sizes)
        variant = self._variant(plan, leaves, sizes, frozenset())
        if variant.guards or not all_filled(lengths):
            raise ArgumentShapeError("rows of these lengths are run in parts, each by a program of its own")
        arrays = [converted(leaf.value, dtype) for leaf, dtype in zip(leaves, variant.dtypes, strict=True)]
        made, given = variant.rows.prepared(arrays, lengths, sizes)
        return made.function.lower(*given)

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
            ArgumentError: a name that is none of the sizes.
            HlographError: as a call does.
        """
        if up_to:
            raise ArgumentError(
                f"{self._parameters.name}: rows of different lengths may be run in parts, so their buckets are not "
                "known before; give the sizes that are met: sizes=[...]"
            )
        args, kwargs = tree_util.tree_map(as_array, (args, kwargs), is_leaf=is_ragged_value)
        plan, flat, _ = self._look_at(args, kwargs)
        own = plan.filled(flat)
        known = lengths_of(own, plan.sizes)[1]
        seconds: dict[str, float] = {}
        for given in sets_of({} if sizes is None else sizes):
            unknown = sorted(given.keys() - known.keys())
            if unknown:
                raise ArgumentError(f"sizes: there is no size {unknown[0]!r}; its sizes: {', '.join(known)}")
            leaves = own if not given else self._resized(plan, {**known, **given})
            for name, time in self._warm_call(plan, leaves).items():
                seconds[name] = time or seconds.get(name, 0.0)
        return seconds

    def _resized(self, plan: _Plan, sizes: Mapping[str, int]) -> list[Leaf]:
        """The arguments of a call with these sizes, whose rows are all full."""
        leaves = []
        for leaf, spec in zip(plan.leaves, tree_util.tree_leaves(list(plan.specs.values())), strict=True):
            row = [x if isinstance(x, int) else dimension.evaluate(parse(str(x)), sizes) for x in spec.shape]
            shape = row if leaf.shared else [sizes[self._rows], *row]
            full = tuple(np.full(shape[0], shape[axis], np.int32) for axis in leaf.axes)
            leaves.append(replace(leaf, value=zeros(shape, spec.dtype), lengths=full))
        return leaves

    def _warm_call(self, plan: _Plan, leaves: list[Leaf]) -> dict[str, float]:
        """Compiles what runs a call with these values."""
        shapes = [spec.shape for spec in tree_util.tree_leaves(list(plan.specs.values()))]
        lengths, sizes = lengths_of(leaves, self._sizes(leaves, shapes))
        parts = self._parts(plan, leaves, lengths, sizes)
        seconds: dict[str, float] = {}
        for variant, empty, rows in parts:
            some = (leaves, lengths, sizes) if len(parts) == 1 else part(leaves, lengths, sizes, self._rows, rows)
            for name, time in variant.rows.warm_call(*self._given(variant, *some, empty)).items():
                seconds[name] = seconds.get(name, 0.0) + time
        return seconds

    @property
    def stats(self) -> JitStats:
        """Calls, compiles and cache hits of all programs so far; traces."""
        total = super().stats
        sums = {each.name: getattr(total, each.name) for each in fields(Stats)}
        return JitStats(**sums, traces=self._traces)

    def clear_cache(self) -> None:
        """Drops all programs and executables, and what they counted."""
        with self._lock:
            self._found.clear()
            self._plans.clear()

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<hlograph.jit vmap of {self._parameters.name}{self._parameters.signature}>"


def _without(spec: Any, empty: frozenset[str]) -> Any:
    shape = tuple(0 if size in empty else size for size in spec.shape)
    return jax.ShapeDtypeStruct(shape, spec.dtype, weak_type=spec.weak_type)


def _policy_of(policy: Any, gone: frozenset[str]) -> Any:
    """Without the sizes that a trace has fixed."""
    return {k: v for k, v in policy.items() if k not in gone} if isinstance(policy, Mapping) else policy


def _kind_of(x: Any) -> Any:
    return (x.axes, kind_of(x.values)) if isinstance(x, Ragged) else kind_of(x)
