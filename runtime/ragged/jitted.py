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
from jax import tree_util

from ...codegen import dims as dimension
from ...codegen import forks
from ...codegen.dims import parse
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
from .calling import Empty, Leaf, OfRows, Rows, Variant
from .function import RowsFunction
from .values import OF_ROWS, Ragged, as_array, is_ragged_value, leading, prefix, sizes_named, with_rows, zeros

# Calls with this many different shapes are recognized; then recognition starts again.
_KNOWN_CALLS = 1 << 12


@dataclass
class _Plan:
    """What is to be done for arguments that look alike.

    Attributes:
        call: the call as one of a single row.
        specs: of a single row, for each of the program's arguments.
        leaves: these arguments, without values.
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
        found = []
        for leaf, place, axis in zip(self.leaves, self.order, self.moved, strict=True):
            value = leading(flat[place], axis)
            found.append(replace(leaf, value=value) if leaf.shared else Leaf.of_rows(value, leaf.path, leaf.axes))
        return Rows.of(found, self.sizes)


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
        plan, call, listed = self._look_at(args, kwargs)
        return self._finished(self._run(plan, call), listed)

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
        key = (tree, static, X64.value, *[_kind_of(x) for x in flat])
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
        whole = self._parameters.specs(call, [x.values if isinstance(x, Ragged) else x for x in flat])
        paths = [
            f"{name}{path_text(keys)}"
            for name, value in call.places.items()
            for keys, _ in tree_util.tree_flatten_with_path(value)[0]
        ]
        order = leaves_of(call.places)
        leaves, specs, whole_leaves = [], [], []
        for place, path, spec in zip(order, paths, leaves_of(whole), strict=True):
            leaf, own = self._leaf(flat[place], mapped[place], path, spec)
            leaves.append(replace(leaf, value=None))
            specs.append(own)
            whole_leaves.append(leaf)
        structure = tree_util.tree_structure(list(whole.values()))
        found = dict(zip(whole, tree_util.tree_unflatten(structure, specs), strict=True))
        sizes = self._sizes(whole_leaves, [spec.shape for spec in specs])
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
        return Leaf.of_rows(value, path, axes), own

    # ---- traces -----------------------------------------------------------------------------------------------------

    def _variant(self, plan: _Plan, call: Rows, sizes: Mapping[str, int], empty: Empty) -> Variant:
        flat, tree = tree_util.tree_flatten(list(plan.specs.values()))
        shared = frozenset(number for number, leaf in enumerate(plan.leaves) if leaf.shared)
        kinds = tuple((spec.shape, spec.dtype, spec.weak_type) for spec in flat)
        key = (tree, plan.call.static, X64.value, kinds, shared, empty)
        with self._lock:
            variants = self._found.setdefault(key, [])
            for variant in variants:
                if all(guard.holds(sizes) for guard in variant.guards):
                    return variant
            traced = self._trace(plan, sizes, empty)
            for limit in traced.limits:
                if not limit.holds(sizes):
                    raise ArgumentShapeError(f"{limit} does not hold: {limit.where}")
            how = self._how
            if isinstance(how.policy, Mapping):  # without the sizes that the trace has fixed
                gone = self._ragged - {root.name for root in traced.program.signature.roots}
                how = replace(how, policy={name: each for name, each in how.policy.items() if name not in gone})
            rows = RowsFunction(traced.program, shared, self._ragged - empty, self._rows, how)
            variants.append(Variant(traced.guards, traced.program, rows, restoration(traced)))
            return variants[-1]

    @property
    def _variants(self) -> list[Variant]:
        return [variant for found in list(self._found.values()) for variant in found]

    def _trace(self, plan: _Plan, sizes: Mapping[str, int], empty: Empty) -> Traced:
        self._traces += 1

        def filled(spec: Any) -> Any:
            shape = tuple(0 if size in empty else size for size in spec.shape)
            return jax.ShapeDtypeStruct(shape, spec.dtype, weak_type=spec.weak_type)

        specs = tree_util.tree_map(filled, plan.specs) if empty else plan.specs
        known = {name: size for name, size in sizes.items() if name != self._rows and name not in empty}
        target = None if self._how.device is None else platform_of(self._how.device)
        name = self._parameters.name
        demands = [text for text in self._constraints if not any(re.search(rf"\b{n}\b", text) for n in empty)]
        return trace(plan.call.function, specs, name=name, constraints=demands, platform=target, sizes=known)

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
            raise ArgumentShapeError("rows of these lengths are run in parts, each by a program of its own")
        made, given = variant.rows.prepared(*variant.given(call))
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
        plan, own, _ = self._look_at(args, kwargs)
        seconds: dict[str, float] = {}
        for given in sets_of({} if sizes is None else sizes):
            unknown = sorted(given.keys() - own.sizes.keys())
            if unknown:
                raise ArgumentError(f"sizes: there is no size {unknown[0]!r}; its sizes: {', '.join(own.sizes)}")
            call = self._resized(plan, {**own.sizes, **given}) if given else own
            parts = self._parts(plan, call)
            for variant, empty, rows in parts:
                some = call if len(parts) == 1 else call.some(rows, self._rows)
                for name, time in variant.rows.warm_call(*variant.given(some, empty)).items():
                    seconds[name] = seconds.get(name, 0.0) + time
        return seconds

    def _resized(self, plan: _Plan, sizes: Mapping[str, int]) -> Rows:
        """The rows of a call with these sizes, all full."""
        leaves, specs = [], leaves_of(plan.specs)
        for leaf, spec in zip(plan.leaves, specs, strict=True):
            row = [x if isinstance(x, int) else dimension.evaluate(parse(str(x)), sizes) for x in spec.shape]
            value = zeros(row if leaf.shared else [sizes[self._rows], *row], spec.dtype)
            leaves.append(replace(leaf, value=value) if leaf.shared else Leaf.of_rows(value, leaf.path, leaf.axes))
        return Rows.of(leaves, self._sizes(leaves, [spec.shape for spec in specs]))

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


def _kind_of(x: Any) -> Any:
    return (x.axes, kind_of(x.values)) if isinstance(x, Ragged) else kind_of(x)
