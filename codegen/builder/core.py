"""The builder: SSA values as handles, operations made once, sizes as scalars.

In: calls such as `hlo.add(x, y)` on `Tensor` handles. Out: StableHLO operations in a module. `Tensor(value, dims,
dtype)` is what lowering rules pass around; the functions beside this file take and return it and hide whether the
static or the dynamic form of an op is needed.

Decisions to know before changing anything here:

* **CSE at construction.** `Builder.op` looks every pure operation up by (name, operands, attributes, result type) and
  returns the handle that it made before, if that one is visible at the insertion point. Tables nest as regions do.
* **Sizes and constants live in the prologue.** They depend on nothing but arguments, so they are placed at the top of
  the function, before an anchor, and serve every region below. A size that depends on data (see `data_sizes`) is
  computed at a place of its own, right behind the op that gives the size; with several such roots, behind the latest.
* **Integer scalars know their value as a dimension.** `Tensor.sizes` holds what is known of an integer scalar (or a
  short vector) as dimension expressions; such a tensor has no SSA value until something asks for it, so that shape
  arithmetic in a graph leaves no dead code behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import dims as dimension
from ..constraints import Constraints
from ..dims import Dim, SymbolicDim
from ..errors import DataDependentSizeError, UnsupportedGraphError
from ..ir.attributes import dense_attr
from ..ir.bindings import DYNAMIC, ir
from ..ir.types import element_type
from .sizes import VALUE, emit_size
from .tensor import BOOL, INT64, Attributes, Check, Dims, DType, Expansion, Root, Sizes, Tensor, Transpose


@dataclass(eq=False)
class _Place:
    """Where sizes that depend on data are computed: before an anchor, behind the op that gives a root of theirs.

    Attributes:
        block: the block of that op; the root is known in it and in what it holds.
        table: CSE table of what was computed here.
        sizes: the sizes computed here, by dimension.
    """

    block: ir.Block
    anchor: ir.Operation | None
    table: dict[Any, Any] = field(default_factory=dict)
    sizes: dict[Any, Tensor] = field(default_factory=dict)


@dataclass
class _Scope:
    """One function or region: its CSE table, the checks made in it, the places for sizes from data in it."""

    table: dict[Any, Any] = field(default_factory=dict)
    checks: list[Check] = field(default_factory=list)
    can_check: bool = True
    block: ir.Block | None = None
    places: list[_Place] = field(default_factory=list)


class _Frame:
    """The function being built: block, prologue anchor, scopes, roots.

    Attributes:
        data: for each root that depends on data the place behind it, in the order in which they were made.
        place: the place that operations go to now; None in the prologue and outside of both.
    """

    def __init__(self, block: ir.Block, anchor: ir.Operation) -> None:
        self.block = block
        self.anchor = anchor
        self.prologue = ir.InsertionPoint(anchor)
        self.scopes: list[_Scope] = [_Scope(block=block)]
        self.data: dict[str, _Place] = {}
        self.place: _Place | None = None
        self.prologue_table: dict[Any, Any] = {}
        self.size_table: dict[Any, Tensor] = {}
        self.roots: dict[str, Root] = {}
        self.transposes: dict[int, Transpose] = {}
        self.expansions: dict[int, Expansion] = {}
        self.spare: list[Tensor] = []


class Builder:
    """Builds one module in a context of its own.

    Attributes:
        context: the MLIR context.
        module: the module being built.
        constraints: what the sizes must satisfy, collected on the way.
        used_roots: the roots that some type depends on.
        counts: the sizes from data that are known to the whole function, with their upper bounds, where there is one.
        local_counts: those that are known inside a region only.
        below: what is known of index tensors, by uid: all elements are at least 0 and less than this size.
        at_most: what is known of computed integer scalars, by uid: at least 0 and not more than this size.
        splats: scalar constants that were broadcast, by the result's uid.
    """

    def __init__(self, context: ir.Context, name: str = "main") -> None:
        self.context = context
        self._unknown = ir.Location.unknown(context)
        self.location: ir.Location = self._unknown
        self.module = ir.Module.create(self._unknown)
        self.module.operation.attributes["sym_name"] = ir.StringAttr.get(name, context)
        self.constraints = Constraints()
        self.where = ""
        self.used_roots: set[str] = set()
        self._types: dict[tuple[Dims, DType], ir.Type] = {}
        self._element_types: dict[DType, ir.Type] = {}
        self._attrs: dict[str, ir.Attribute] = {}
        self._frames: list[_Frame] = []
        self._ip: ir.InsertionPoint | None = None
        self.splats: dict[int, np.ndarray[Any, Any]] = {}
        self.functions: dict[Any, Any] = {}
        self.counts: dict[str, Dim | None] = {}
        self.local_counts: dict[str, Dim | None] = {}
        self.below: dict[int, Dim] = {}
        self.at_most: dict[int, Dim] = {}

    # ---- types and attributes ---------------------------------------------------------------------------------

    def element_type(self, dtype: DType) -> ir.Type:
        """MLIR element type of a dtype (cached)."""
        found = self._element_types.get(dtype)
        if found is None:
            found = self._element_types[dtype] = element_type(dtype, self.context)
        return found

    def tensor_type(self, dims: Dims, dtype: DType) -> ir.Type:
        """Ranked tensor type; symbolic dimensions become `?` (cached)."""
        key = (dims, dtype)
        found = self._types.get(key)
        if found is None:
            shape = [dim if type(dim) is int else DYNAMIC for dim in dims]
            for dim in dims:
                if type(dim) is not int:
                    self.used_roots |= dimension.roots(dim)
            found = self._types[key] = ir.RankedTensorType.get(shape, self.element_type(dtype), loc=self._unknown)
        return found

    def attribute(self, text: str) -> ir.Attribute:
        """An attribute from its MLIR text (cached: attributes are written once per distinct text)."""
        found = self._attrs.get(text)
        if found is None:
            found = self._attrs[text] = ir.Attribute.parse(text, self.context)
        return found

    # ---- operations -------------------------------------------------------------------------------------------

    @property
    def _frame(self) -> _Frame:
        return self._frames[-1]

    @property
    def insertion_point(self) -> ir.InsertionPoint | None:
        """Where the next operation goes."""
        return self._ip

    def _find(self, key: Any) -> Any:
        frame = self._frame
        for scope in reversed(frame.scopes):
            found = scope.table.get(key)
            if found is not None:
                return found
            for place in scope.places:
                found = place.table.get(key)
                if found is not None:
                    return found
        return frame.prologue_table.get(key)

    def op(
        self,
        name: str,
        operands: Sequence[Tensor],
        dims: Dims,
        dtype: DType,
        attributes: Attributes = (),
    ) -> Tensor:
        """A pure operation with one result, made once: asked for again, the first result is returned.

        Args:
            name: full op name, e.g. `stablehlo.add`.
            operands: handles on the operands.
            dims: the result's dimensions.
            dtype: the result's dtype.
            attributes: (name, MLIR text) pairs.
        """
        key = (name, dims, dtype, attributes, *[self._uid(x) for x in operands])
        found = self._find(key)
        if found is not None:
            return found
        operation = ir.Operation.create(
            name,
            results=[self.tensor_type(dims, dtype)],
            operands=[x.value for x in operands],
            attributes={k: self.attribute(v) for k, v in attributes} if attributes else None,
            loc=self.location,
            ip=self._ip,
        )
        tensor = Tensor(self, operation.result, dims, dtype)
        self._frame.scopes[-1].table[key] = tensor
        return tensor

    @staticmethod
    def _uid(tensor: Tensor) -> int:
        if tensor._value is None:
            tensor.value  # noqa: B018  a lazy handle takes the uid of what it stands for
        return tensor.uid

    def region_op(
        self,
        name: str,
        operands: Sequence[Tensor],
        results: Sequence[tuple[Dims, DType]],
        regions: Sequence[tuple[Sequence[tuple[Dims, DType]], Callable[..., Sequence[Tensor]]]],
        attributes: Attributes = (),
        *,
        key: Any = None,
        checks: bool = False,
    ) -> list[Tensor]:
        """An operation with regions; each region is given as (argument types, body on handles).

        Args:
            key: hashable description of the regions. With one, the op takes part in CSE.
            checks: whether a check made inside can be carried out of the region by the caller.
        """
        if key is not None:
            key = (name, tuple(results), attributes, key, *[self._uid(x) for x in operands])
            found = self._find(key)
            if found is not None:
                return found
        operation = ir.Operation.create(
            name,
            results=[self.tensor_type(*result) for result in results],
            operands=[x.value for x in operands],
            attributes={k: self.attribute(v) for k, v in attributes} if attributes else None,
            regions=len(regions),
            loc=self.location,
            ip=self._ip,
        )
        for region, (arguments, body) in zip(operation.regions, regions, strict=True):
            types = [self.tensor_type(*argument) for argument in arguments]
            block = region.blocks.append(*types, arg_locs=[self.location] * len(types))
            with self.region(block, can_check=checks):
                handles = [
                    Tensor(self, value, *argument) for value, argument in zip(block.arguments, arguments, strict=True)
                ]
                returned = body(*handles)
                self.refuse_leaving(returned, f"{name.rpartition('.')[2]} region")
                self.terminator("stablehlo.return", returned)
        tensors = [Tensor(self, value, *result) for value, result in zip(operation.results, results, strict=True)]
        if key is not None:
            self._frame.scopes[-1].table[key] = tensors
        return tensors

    def terminator(self, name: str, operands: Sequence[Tensor]) -> None:
        """Ends the current block."""
        ir.Operation.create(name, operands=[x.value for x in operands], loc=self.location, ip=self._ip)

    @contextmanager
    def region(self, block: ir.Block, *, can_check: bool = True) -> Iterator[_Scope]:
        """Operations made inside go to the end of `block`, with a CSE scope of their own."""
        before, frame = self._ip, self._frame
        self._ip = ir.InsertionPoint(block)
        scope = _Scope(can_check=can_check, block=block)
        frame.scopes.append(scope)
        known = [name for name, place in frame.data.items() if place.block == block]
        if known:  # the block was left, and is being ended now
            again = self._open_place()
            frame.data.update(dict.fromkeys(known, again))
        try:
            yield scope
        finally:
            frame.scopes.pop()
            self._ip = before
            _close_places(scope)

    def _open_place(self) -> _Place:
        """A place for sizes at the insertion point."""
        scope = self._frame.scopes[-1]
        assert scope.block is not None
        place = _Place(scope.block, self._anchor(self._ip))
        scope.places.append(place)
        return place

    def _anchor(self, point: ir.InsertionPoint | None) -> ir.Operation:
        """An op to insert others before; it is erased in the end."""
        return ir.Operation.create(
            "stablehlo.constant",
            results=[self.tensor_type((), BOOL)],
            attributes={"value": dense_attr(np.asarray(True), self.context)},
            loc=self._unknown,
            ip=point,
        )

    @contextmanager
    def at_sizes(self, names: Iterable[str]) -> Iterator[None]:
        """Operations made inside go where sizes that depend on these roots are computed.

        That is the prologue, or behind the latest of the roots that depend on data.
        """
        frame = self._frame
        place = self._place_of(names) if frame.data else None
        before = self._ip, frame.scopes, frame.place, self.location
        if place is None:
            self._ip, frame.scopes = frame.prologue, [_Scope(frame.prologue_table)]
        elif place is not frame.place:
            assert place.anchor is not None
            depth = next(depth for depth, scope in enumerate(frame.scopes) if scope.block == place.block)
            places = frame.scopes[depth].places
            earlier = places[: places.index(place)]
            # Of the place's own block only what stands before the place can be used.
            here = _Scope(place.table, block=place.block, places=[*earlier, place])
            self._ip, frame.scopes = ir.InsertionPoint(place.anchor), [*frame.scopes[:depth], here]
        frame.place, self.location = place, self._unknown
        try:
            yield
        finally:
            self._ip, frame.scopes, frame.place, self.location = before

    def _place_of(self, names: Iterable[str]) -> _Place | None:
        """Where a size that depends on these roots is computed; None for the prologue."""
        frame = self._frame
        wanted = frame.data.keys() & set(names)
        if not wanted:
            return None
        blocks = [scope.block for scope in frame.scopes]
        for name in sorted(wanted):
            if frame.data[name].anchor is None or frame.data[name].block not in blocks:
                raise UnsupportedGraphError(
                    f"size {name} is used{self._at()} and known only inside the branch or the loop that computes it; "
                    "compute it outside"
                )
        # The latest one stands behind, or inside of, where the others are.
        return [place for name, place in frame.data.items() if name in wanted][-1]

    def is_local(self, *dims: Dim) -> bool:
        """Whether a dimension is known only inside a region: it depends on data that is computed there."""
        frame = self._frame
        return bool(frame.data) and any(
            frame.data[name].block != frame.block for dim in dims for name in frame.data.keys() & dimension.roots(dim)
        )

    def refuse_leaving(self, results: Sequence[Tensor], what: str) -> None:
        """Refuses results of a region whose sizes are known only inside of it.

        Raises:
            UnsupportedGraphError: such a size leaves the innermost region.
        """
        frame = self._frame
        if not frame.data:
            return
        block = frame.scopes[-1].block
        for number, x in enumerate(results):
            for dim in x.dims:
                for name in sorted(frame.data.keys() & dimension.roots(dim)):
                    if frame.data[name].block == block:
                        raise UnsupportedGraphError(
                            f"result {number} of a {what}{self._at()} has size {dim}, which is computed from data "
                            "inside of it and cannot leave it; index with the mask (or repeat, ...) outside, or "
                            "return a reduction or a result of fixed size"
                        )

    # ---- constants and sizes ----------------------------------------------------------------------------------

    def constant(self, value: Any, dtype: DType | type | None = None) -> Tensor:
        """A constant from a Python or numpy value; emitted when first used, once for equal contents."""
        array = np.asarray(value, dtype)
        sizes: Sizes = None
        if array.dtype.kind in "iub":
            if array.ndim == 0:
                sizes = int(array)
            elif array.ndim == 1 and array.size <= 16:
                sizes = tuple(int(x) for x in array)
        return Tensor(self, None, array.shape, array.dtype, sizes=sizes, literal=array)

    def size(self, dim: Dim, dtype: DType = INT64) -> Tensor:
        """A dimension as a scalar of the program (int64 unless said otherwise); emitted when first used."""
        if type(dim) is int:
            return self.constant(dim, dtype)
        return Tensor(self, None, (), dtype, sizes=dim)

    def size_vector(self, dims: Sequence[Dim], dtype: DType = INT64) -> Tensor:
        """Dimensions as a vector, shape `(len(dims),)`; what dynamic ops take as their shape operand."""
        dims = [dim if type(dim) is int else self.constraints.canonical(dim) for dim in dims]
        if all(type(dim) is int for dim in dims):
            return self.constant(np.array(dims, dtype))
        return Tensor(self, None, (len(dims),), dtype, sizes=tuple(dims))

    def interval(self, dim: Dim) -> tuple[int | None, int | None]:
        """The least and the greatest value of a dimension, as far as is known here."""
        return dimension.bounds(dim)

    def exact(self, sizes: Sizes, dtype: DType) -> bool:
        """Whether a value of `dtype` is what its sizes say, so that it can be computed from them.

        Sizes are integers without bound. Arithmetic on sizes of axes (of results too, where data decides them) does not
        leave int64; arithmetic on an argument's value may, and so may narrower types: there the value must come from
        the ops that the graph asks for.
        """
        dims = sizes if isinstance(sizes, tuple) else (sizes,)
        return all(
            type(dim) is int
            or (dtype in (INT64, BOOL) and all(not self.roots[name].is_value for name in dimension.roots(dim)))
            for dim in dims
            if dim is not None
        )

    def knowing(self, tensor: Tensor, sizes: Sizes) -> Tensor:
        """Says what is known of a computed integer scalar or vector as sizes.

        The op that computes it goes away at the end if the sizes were all that was used of it.
        """
        if tensor._value is not None and tensor.sizes is None:
            tensor.sizes = sizes
            self._frame.spare.append(tensor)
            if isinstance(sizes, SymbolicDim) and not isinstance(tensor.value.owner, ir.Block):
                tensor.value.owner.attributes[VALUE] = ir.StringAttr.get(str(sizes), self.context)
        return tensor

    def spare(self, tensor: Tensor) -> None:
        """The op that computes the tensor goes away at the end if nothing uses it."""
        if tensor._value is not None:
            self._frame.spare.append(tensor)

    def materialize(self, tensor: Tensor) -> Tensor:
        """Emits a constant in the prologue, a size where it belongs; used by `Tensor.value` only."""
        if tensor.literal is not None:
            return self.emit_constant(tensor.literal)
        sizes = tensor.sizes
        assert sizes is not None, "a handle without a value is a constant or a size"
        with self.at_sizes(_roots_of(sizes)):
            if isinstance(sizes, tuple):
                parts = [self._emit_element(dim, tensor.dtype) for dim in sizes]
                if len(parts) == 1:
                    return parts[0]
                axis = (("dimension", "0 : i64"),)
                return self.op("stablehlo.concatenate", parts, (len(parts),), tensor.dtype, axis)
            scalar = emit_size(self, sizes)
            if tensor.dtype == INT64:
                return scalar
            if tensor.dtype == BOOL:
                not_equal = (("comparison_direction", "#stablehlo<comparison_direction NE>"),)
                zero = self.emit_constant(np.zeros((), np.int64))
                return self.op("stablehlo.compare", [scalar, zero], (), BOOL, not_equal)
            return self.op("stablehlo.convert", [scalar], (), tensor.dtype)

    def _emit_element(self, dim: Dim, dtype: DType) -> Tensor:
        """A dimension as a vector of one element."""
        if type(dim) is int:
            return self.emit_constant(np.array([dim], dtype))
        return self.op("stablehlo.reshape", [self.size(dim, dtype)], (1,), dtype)

    def emit_constant(self, array: np.ndarray[Any, Any]) -> Tensor:
        """Emits a constant in the prologue, once for equal contents."""
        table = self._frame.prologue_table
        key = ("constant", array.dtype, array.shape, array.tobytes())
        found = table.get(key)
        if found is None:
            attr = dense_attr(array, self.context)
            operation = ir.Operation.create(
                "stablehlo.constant",
                results=[self.tensor_type(array.shape, array.dtype)],
                attributes={"value": attr},
                loc=self._unknown,
                ip=self._frame.prologue,
            )
            found = table[key] = Tensor(self, operation.result, array.shape, array.dtype)
        return found

    def dim_of(self, tensor: Tensor, what: str) -> Dim:
        """The dimension that an integer scalar stands for.

        Raises:
            DataDependentSizeError: when its value is computed from data.
        """
        sizes = tensor.sizes
        if sizes is None or isinstance(sizes, tuple):
            raise DataDependentSizeError(
                f"{what} is computed from data{self._at()}; a size must follow from input sizes and integer scalar "
                "inputs. Pass it as an integer scalar input of its own, or use a mask of full length instead."
            )
        return self.constraints.canonical(sizes)

    def dims_of(self, tensor: Tensor, what: str) -> Dims:
        """The dimensions that an integer vector stands for (see `dim_of`)."""
        literal = tensor.literal
        if tensor.sizes is None and literal is not None and literal.ndim == 1 and literal.dtype.kind in "iu":
            return tuple(map(int, literal))  # of any length; longer ones are not kept as sizes
        if not isinstance(tensor.sizes, tuple):
            raise DataDependentSizeError(
                f"{what} is computed from data{self._at()}; sizes must follow from input sizes and integer inputs. "
                "Pass them as integer scalar inputs of their own."
            )
        return tuple(self.constraints.canonical(dim) for dim in tensor.sizes)

    def _at(self) -> str:
        return f" at {self.where}" if self.where else ""

    def equate(self, a: Dim, b: Dim, what: str = "") -> Dim:
        """Records that two dimensions are equal and returns the one to go on with.

        Raises:
            DimMismatch: when they can never be equal.
        """
        if a is b or a == b:
            return a
        text = f"{what}{self._at()}" if what else self.where
        if not self._frame.data:
            return self.constraints.equate(a, b, text)
        if self.is_local(a, b):
            return self._equate_here(a, b, text)
        # Of two names for a size the one that is known before the run goes on.
        data = self._frame.data.keys()
        if data & dimension.roots(a) and not data & dimension.roots(b):
            a, b = b, a
        return self.constraints.equate(a, b, text)

    def _equate_here(self, a: Dim, b: Dim, text: str) -> Dim:
        """A demand on sizes known only inside a region: a check, which counts where the region runs."""
        if not self.constraints.known_equal(a, b):
            self._compare_here("EQ", a, b, f"sizes {a} and {b} must agree: {text}")
        return b if self.is_local(a) else a  # the one that is known outside, if one is

    def _compare_here(self, direction: str, a: Dim, b: Dim, message: str) -> None:
        attributes = (("comparison_direction", f"#stablehlo<comparison_direction {direction}>"),)
        flag = self.op("stablehlo.compare", [self.size(a), self.size(b)], (), BOOL, attributes)
        self.check(flag, "ValueError", message)

    def at_least(self, a: Dim, low: Dim, what: str) -> None:
        """Records a lower bound of a dimension.

        Raises:
            DimMismatch: when it can never hold.
        """
        text = f"{what}{self._at()}"
        if not self.is_local(a, low):
            self.constraints.at_least(a, low, text)
            return
        least = dimension.bounds(a - low)[0]
        if least is None or least < 0:
            self._compare_here("GE", a, low, f"size {a} must be at least {low}: {text}")

    # ---- checks -----------------------------------------------------------------------------------------------

    def check(self, flag: Tensor, exception: str, message: str) -> None:
        """Makes the call raise `exception(message)` when `flag`, a boolean scalar, is false in a run."""
        if flag.literal is not None and bool(flag.literal):
            return
        scope = self._frame.scopes[-1]
        if not scope.can_check:
            raise UnsupportedGraphError(
                f"a check ({exception}: {message}) inside a loop or a reduction is not supported{self._at()}"
            )
        if not any(check.flag.uid == flag.uid for check in scope.checks):  # the first would have raised
            scope.checks.append(Check(flag, exception, message))

    # ---- functions --------------------------------------------------------------------------------------------

    @contextmanager
    def function(
        self, name: str, arguments: Sequence[tuple[Dims, DType]], *, private: bool = False
    ) -> Iterator[list[Tensor]]:
        """Builds a function: yields its argument handles; the body must end with `finish`."""
        types = [self.tensor_type(*argument) for argument in arguments]
        with self.context, self._unknown:
            operation = ir.Operation.create(
                "func.func",
                attributes={
                    "sym_name": ir.StringAttr.get(name),
                    "function_type": ir.TypeAttr.get(ir.FunctionType.get(types, [])),
                    "sym_visibility": ir.StringAttr.get("private" if private else "public"),
                },
                regions=1,
                loc=self._unknown,
                ip=ir.InsertionPoint(self.module.body),
            )
            block = operation.regions[0].blocks.append(*types, arg_locs=[self._unknown] * len(types))
            anchor = self._anchor(ir.InsertionPoint(block))
        before = self._ip
        self._frames.append(_Frame(block, anchor))
        self._ip = ir.InsertionPoint(block)
        try:
            yield [Tensor(self, value, *argument) for value, argument in zip(block.arguments, arguments, strict=True)]
            anchor.erase()
            _close_places(self._frame.scopes[0])
        finally:
            self._frames.pop()
            self._ip = before

    def add_root(self, root: Root) -> None:
        """Says where the current function finds the size named `root.name`.

        A root from data is known from the insertion point on; sizes that depend on it are computed there.
        """
        frame = self._frame
        if root.name in frame.roots:
            return
        frame.roots[root.name] = root
        if root.data:
            frame.data[root.name] = self._open_place()

    @property
    def in_function(self) -> bool:
        """Whether the insertion point is in the module's entry, at any depth, not in a private function."""
        return len(self._frames) == 1

    @property
    def in_region(self) -> bool:
        """Whether the insertion point is inside a region of the function being built."""
        return len(self._frame.scopes) > 1

    @property
    def roots(self) -> dict[str, Root]:
        """Roots of the function being built, by name."""
        return self._frame.roots

    @property
    def expansions(self) -> dict[int, Expansion]:
        """The reshapes in the function being built that only insert axes of size 1, by the result's uid."""
        return self._frame.expansions

    @property
    def transposes(self) -> dict[int, Transpose]:
        """The transposes in the function being built, by the result's uid."""
        return self._frame.transposes

    @property
    def size_table(self) -> dict[Any, Tensor]:
        """The sizes that the prologue, or the place that operations go to now, holds already, by dimension."""
        return self._frame.size_table if self._frame.place is None else self._frame.place.sizes

    @property
    def checks(self) -> list[Check]:
        """Checks of the innermost scope."""
        return self._frame.scopes[-1].checks

    def finish(self, results: Sequence[Tensor]) -> ir.Operation:
        """Returns `results` from the function being built, and gives it its type."""
        self.terminator("func.return", results)
        # Transposes and expansions that all their users read through, and scalars that served as sizes only.
        read_through = [found.result.value for group in (self.transposes, self.expansions) for found in group.values()]
        _erase_unused([*read_through, *(tensor.value for tensor in self._frame.spare)])
        operation = self._frame.block.owner.operation
        with self.context, self._unknown:
            inputs = [value.type for value in self._frame.block.arguments]
            outputs = [x.value.type for x in results]
            operation.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, outputs))
        return operation


def _roots_of(sizes: Sizes) -> Iterator[str]:
    for dim in sizes if isinstance(sizes, tuple) else (sizes,):
        if dim is not None and type(dim) is not int:
            yield from dimension.roots(dim)


def _close_places(scope: _Scope) -> None:
    """Erases the anchors of a block that is finished."""
    for place in scope.places:
        if place.anchor is not None:
            place.anchor.erase()
            place.anchor = None


def _erase_unused(values: Sequence[ir.Value]) -> None:
    """Erases, last first, the ops whose values nothing uses, and those that only they used; ops with regions stay."""
    pending = list(values)
    gone: set[ir.Value] = set()
    while pending:
        value = pending.pop()
        if value in gone or isinstance(value.owner, ir.Block):
            continue
        operation = value.owner.operation
        results = list(operation.results)
        if len(operation.regions) or operation.name == "func.call" or any(True for x in results for _ in x.uses):
            continue
        operands = list(operation.operands)
        gone.update(results)
        operation.erase()
        pending.extend(operands)
