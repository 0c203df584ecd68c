"""The builder: SSA values as handles, operations made once, sizes as scalars.

In: calls such as `hlo.add(x, y)` on `Tensor` handles. Out: StableHLO operations in a module. `Tensor(value, dims,
dtype)` is what lowering rules pass around; the functions beside this file take and return it and hide whether the
static or the dynamic form of an op is needed.

Decisions to know before changing anything here:

* **CSE at construction.** `Builder.op` looks every pure operation up by (name, operands, attributes, result type) and
  returns the handle that it made before, if that one is visible at the insertion point. Tables nest as regions do.
* **Sizes and constants live in the prologue.** They depend on nothing but arguments, so they are placed at the top of
  the function, before an anchor, and serve every region below. A size that depends on data (see `data_size`) is
  computed at its own place, right behind the op that gives the size; with several such roots, behind the latest.
* **Integers know their values as dimensions.** `Tensor.sizes` holds what is known of an integer scalar, or of the
  elements of a short vector, as dimension expressions; such a tensor has no SSA value until something asks for it, so
  that shape arithmetic in a graph leaves no dead code behind.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np

from .. import dims as dimension
from ..constraints import Constraints
from ..dims import Dim, SymbolicDim
from ..errors import DataDependentSizeError, DemandKind, UnsupportedGraphError
from ..ir.bindings import ir
from ..ir.host_calls import HostCall
from ..ir.tidy import erase
from ..ir.values import dense_attr, owner
from .places import BOOL, INT32, INT64, VALUE, Attributes, Dims, DType, Note, Places, Sizes, emit_size

_ids = itertools.count()
M = TypeVar("M", bound=Note)


class Tensor:
    """A handle on one SSA value.

    Attributes:
        builder: where the value lives.
        dims: one dimension per axis: an int, or a `SymbolicDim`.
        dtype: numpy dtype of the elements.
        sizes: the elements of an integer or boolean scalar, or of a vector of known length, as dimensions (booleans as
            0 and 1); None where nothing is known.
        literal: the value as a numpy array, when it is known on the host.
        uid: equal for handles on the same SSA value.
    """

    __slots__ = ("_value", "builder", "dims", "dtype", "literal", "sizes", "uid")
    # Operators: `elementwise` puts its functions here.
    __add__: ClassVar[Callable[[Tensor, Any], Tensor]]
    __radd__: ClassVar[Callable[[Tensor, Any], Tensor]]
    __sub__: ClassVar[Callable[[Tensor, Any], Tensor]]
    __rsub__: ClassVar[Callable[[Tensor, Any], Tensor]]
    __mul__: ClassVar[Callable[[Tensor, Any], Tensor]]
    __rmul__: ClassVar[Callable[[Tensor, Any], Tensor]]
    __truediv__: ClassVar[Callable[[Tensor, Any], Tensor]]
    __and__: ClassVar[Callable[[Tensor, Any], Tensor]]
    __or__: ClassVar[Callable[[Tensor, Any], Tensor]]
    __lt__: ClassVar[Callable[[Tensor, Any], Tensor]]
    __le__: ClassVar[Callable[[Tensor, Any], Tensor]]
    __gt__: ClassVar[Callable[[Tensor, Any], Tensor]]
    __ge__: ClassVar[Callable[[Tensor, Any], Tensor]]
    __neg__: ClassVar[Callable[[Tensor], Tensor]]
    __invert__: ClassVar[Callable[[Tensor], Tensor]]

    def __init__(
        self,
        builder: Builder,
        value: ir.Value | None,
        dims: Dims,
        dtype: DType,
        *,
        sizes: Sizes = None,
        literal: np.ndarray[Any, Any] | None = None,
        uid: int | None = None,
    ) -> None:
        self.builder = builder
        self._value = value
        self.dims = dims
        self.dtype = dtype
        self.sizes = sizes
        self.literal = literal
        self.uid = next(_ids) if uid is None else uid

    @property
    def value(self) -> ir.Value:
        """The SSA value; made now if this is a constant or a size that nothing has used yet."""
        if self._value is None:
            source = self.builder.materialize(self)
            self._value = source.value
            self.uid = source.uid
        return self._value

    @property
    def dim(self) -> Dim | None:
        """The dimension that a scalar is known to be; None for a vector, and where nothing is known."""
        return None if self.sizes is None or self.dims else self.sizes[0]

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.dims)

    @property
    def is_static(self) -> bool:
        """True when every dimension is an int."""
        return all(type(dim) is int for dim in self.dims)

    def __repr__(self) -> str:
        return f"Tensor({'x'.join(map(str, self.dims))}{'x' if self.dims else ''}{self.dtype})"

    def __bool__(self) -> bool:
        raise TypeError("a Tensor is a value of the program being built and has no truth value here")


@dataclass
class Check:
    """A condition that the program tests as it runs; read from its flag after the run.

    Attributes:
        flag: boolean; of a check in a loop int32: 1, or `-i` where step `i` was the first in which it failed.
        exception: its name.
        message: its message.
        place: of a check in a loop, which step it was, with `{}` for the number.
    """

    flag: Tensor
    exception: str
    message: str
    place: str = ""

    @property
    def holds(self) -> Tensor:
        """Whether the condition holds, as a boolean."""
        flag, builder = self.flag, self.flag.builder
        if flag.dtype == BOOL:
            return flag
        return builder.compared("GT", flag, builder.constant(0, flag.dtype))


@dataclass
class SizeSource:
    """The source of a symbolic root.

    The size of an argument's axis, or an integer argument's element, or (`data`) a size computed in the function, which
    `tensor` holds.
    """

    name: str
    tensor: Tensor
    axis: int | None
    element: int | None = None
    data: bool = False

    @property
    def is_value(self) -> bool:
        """Whether it is an argument's value, which may be negative, and arithmetic on which may wrap."""
        return self.axis is None and not self.data


class Builder(Places):
    """Builds one module in its own context.

    Attributes:
        constraints: what the sizes must satisfy, collected on the way.
        counts: the sizes from data that are known to the whole function, with their upper bounds, where there is one.
        local_counts: those that are known inside a region only.
        below: what is known of index tensors, by uid: all elements are at least 0 and less than this size.
        at_most: what is known of computed integer scalars, by uid: at least 0 and not more than this size.
        splats: scalar constants that were broadcast, by the result's uid.
        host_calls: the Python functions that the program calls, by name.
        own_branch_sizes: whether the results of branches may be of different sizes, which nothing says to be equal.
        open_sizes: whether what may be negative of a new shape may be -1, which is then inferred.
        stretched_indices: whether an axis of an index tensor stretches where its size is 1 in a call.
    """

    own_branch_sizes = False
    open_sizes = False
    stretched_indices = False

    def __init__(self, context: ir.Context, name: str = "main") -> None:
        super().__init__(context, name)
        self.constraints = Constraints()
        self.splats: dict[int, np.ndarray[Any, Any]] = {}
        self.functions: dict[Any, Any] = {}
        self.host_calls: dict[str, HostCall] = {}
        self.counts: dict[str, Dim | None] = {}
        self.local_counts: dict[str, Dim | None] = {}
        self.below: dict[int, Dim] = {}
        self.at_most: dict[int, Dim] = {}
        self.steps: list[Any] | None = None  # of a plan that is being made; None among them is no step of one

    # ---- operations -------------------------------------------------------------------------------------------

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
        key = (name, dims, dtype, attributes, *[x.uid if x._value is not None else self._uid(x) for x in operands])
        tensor: Tensor | None = self._find(key)
        if tensor is None:
            steps, self.steps = self.steps, None
            tensor = self.create(name, operands, [(dims, dtype)], attributes)[1][0]
            self.steps = steps
            self._frame.scopes[-1].table[key] = tensor
        if self.steps is not None:
            self.steps.append((name, operands, dims, dtype, attributes, tensor))
        return tensor

    def compared(self, direction: str, a: Tensor, b: Tensor) -> Tensor:
        """`stablehlo.compare` of scalars."""
        attributes = (("comparison_direction", f"#stablehlo<comparison_direction {direction}>"),)
        return self.op("stablehlo.compare", [a, b], (), BOOL, attributes)

    def create(
        self,
        name: str,
        operands: Sequence[Tensor],
        results: Sequence[tuple[Dims, DType]],
        attributes: Attributes = (),
        regions: int = 0,
    ) -> tuple[ir.Operation, list[Tensor]]:
        """An operation at the insertion point, with this many empty regions, and handles on its results."""
        if self.steps is not None:
            self.steps.append(None)
        operation = ir.Operation.create(
            name,
            results=[self.tensor_type(*result) for result in results],
            operands=[x.value for x in operands],
            attributes={k: self.attribute(v) for k, v in attributes} if attributes else None,
            regions=regions,
            loc=self.location,
            ip=self._ip,
        )
        return operation, [Tensor(self, operation.results[place], *type_) for place, type_ in enumerate(results)]

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
    ) -> list[Tensor]:
        """An operation with regions; each region is given as (argument types, body on handles).

        Args:
            key: hashable description of the regions. With one, the op takes part in CSE.
        """
        if key is not None:
            key = (name, tuple(results), attributes, key, *[self._uid(x) for x in operands])
            found = self._find(key)
            if found is not None:
                return found
        operation, tensors = self.create(name, operands, results, attributes, len(regions))
        for region, (arguments, body) in zip(operation.regions, regions, strict=True):
            types = [self.tensor_type(*argument) for argument in arguments]
            block = region.blocks.append(*types, arg_locs=[self.location] * len(types))
            with self.region(block, can_check=False):
                handles = [
                    Tensor(self, value, *argument) for value, argument in zip(block.arguments, arguments, strict=True)
                ]
                returned = body(*handles)
                self.refuse_leaving(returned, f"{name.rpartition('.')[2]} region")
                self.terminator("stablehlo.return", returned)
        if key is not None:
            self._frame.scopes[-1].table[key] = tensors
        return tensors

    def terminator(self, name: str, operands: Sequence[Tensor]) -> None:
        """Ends the current block."""
        ir.Operation.create(name, operands=[x.value for x in operands], loc=self.location, ip=self._ip)

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
        if array.dtype.kind in "iub" and array.ndim < 2 and array.size <= 16:
            sizes = tuple(map(int, array if array.ndim else [array]))
        return Tensor(self, None, array.shape, array.dtype, sizes=sizes, literal=array)

    def size(self, dim: Dim, dtype: DType = INT64) -> Tensor:
        """A dimension as a scalar of the program (int64 unless said otherwise); emitted when first used."""
        if type(dim) is int:
            return self.constant(dim, dtype)
        return Tensor(self, None, (), dtype, sizes=(dim,))

    def size_vector(self, dims: Sequence[Dim], dtype: DType = INT64) -> Tensor:
        """Dimensions as a vector, shape `(len(dims),)`; what dynamic ops take as their shape operand."""
        dims = [dim if type(dim) is int else self.constraints.canonical(dim) for dim in dims]
        if all(type(dim) is int for dim in dims):
            return self.constant(np.array(dims, dtype))
        return Tensor(self, None, (len(dims),), dtype, sizes=tuple(dims))

    def of_sizes(self, sizes: Sequence[Dim], dims: Dims, dtype: DType) -> Tensor:
        """An integer scalar, or a vector, of these sizes; emitted when first used."""
        return self.size_vector(sizes, dtype) if dims else self.size(sizes[0], dtype)

    def interval(self, dim: Dim) -> tuple[int | None, int | None]:
        """The least and the greatest value of a dimension, as far as is known here."""
        return dimension.bounds(dim)

    def exact(self, sizes: Sizes, dtype: DType) -> bool:
        """Whether a value of `dtype` is what its sizes say, so that it can be computed from them.

        Sizes are integers without bound. Arithmetic on sizes of axes (of results too, where data decides them) does not
        leave int64; arithmetic on an argument's value may, and so may narrower types: there the value must come from
        the ops that the graph asks for.
        """
        for dim in sizes or ():
            if type(dim) is not int and (
                dtype not in (INT64, BOOL) or any(self.roots[name].is_value for name in dimension.roots(dim))
            ):
                return False
        return True

    def known_as(self, sizes: tuple[Dim, ...], dims: Dims, dtype: DType, compute: Callable[[], Tensor]) -> Tensor:
        """An integer scalar or vector that is known as sizes: made of them where they are its value, else computed.

        Vectors of booleans are computed in any case: to make them of scalars takes longer.
        """
        if not self.exact(sizes, dtype) or (dims and dtype == BOOL):
            return self.knowing(compute(), sizes)
        return self.of_sizes(sizes, dims, dtype)

    def knowing(self, tensor: Tensor, sizes: Sizes) -> Tensor:
        """Says what is known of a computed integer scalar or vector as sizes.

        The op that computes it goes away at the end if the sizes were all that was used of it.
        """
        if tensor._value is not None and tensor.sizes is None:
            tensor.sizes = sizes
            self._frame.spare.append(tensor)
            if isinstance(tensor.dim, SymbolicDim) and not isinstance(tensor.value.owner, ir.Block):
                tensor.value.owner.attributes[VALUE] = ir.StringAttr.get(str(tensor.dim), self.context)
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
        with self.at_sizes({name for dim in sizes for name in dimension.roots(dim)}):
            if tensor.dims:
                parts = [
                    self.emit_constant(np.array([dim], tensor.dtype))
                    if type(dim) is int
                    else self.op("stablehlo.reshape", [self.size(dim, tensor.dtype)], (1,), tensor.dtype)
                    for dim in sizes
                ]
                if len(parts) == 1:
                    return parts[0]
                axis = (("dimension", "0 : i64"),)
                return self.op("stablehlo.concatenate", parts, (len(parts),), tensor.dtype, axis)
            scalar = emit_size(self, sizes[0])
            if tensor.dtype == INT64:
                return scalar
            if tensor.dtype == BOOL:
                return self.compared("NE", scalar, self.emit_constant(np.zeros((), np.int64)))
            return self.op("stablehlo.convert", [scalar], (), tensor.dtype)

    def emit_constant(self, array: np.ndarray[Any, Any]) -> Tensor:
        """Emits a constant in the prologue, once for equal contents."""
        place = self._frame.prologue
        key = ("constant", array.dtype, array.shape, array.tobytes())
        found = place.table.get(key)
        if found is None:
            assert place.anchor is not None
            attr = dense_attr(array, self.context)
            operation = ir.Operation.create(
                "stablehlo.constant",
                results=[self.tensor_type(array.shape, array.dtype)],
                attributes={"value": attr},
                loc=self._unknown,
                ip=ir.InsertionPoint(place.anchor),
            )
            found = place.table[key] = Tensor(self, operation.result, array.shape, array.dtype)
        return found

    def emit_root(self, name: str) -> tuple[Tensor, Dim]:
        """A root as an int64 scalar, at the insertion point, and the dimension that it is."""
        root = self.roots.get(name)
        if root is None:
            raise KeyError(f"size {name!r} has no source in this function")
        scalar = root.tensor
        if root.axis is not None:
            axis = (("dimension", f"{root.axis} : i64"),)
            scalar = self.op("stablehlo.get_dimension_size", [scalar], (), INT32, axis)
        elif root.element is not None:
            index = (
                ("start_indices", f"array<i64: {root.element}>"),
                ("limit_indices", f"array<i64: {root.element + 1}>"),
                ("strides", "array<i64: 1>"),
            )
            part = self.op("stablehlo.slice", [scalar], (1,), scalar.dtype, index)
            scalar = self.op("stablehlo.reshape", [part], (), scalar.dtype)
        if scalar.dtype != INT64:
            scalar = self.op("stablehlo.convert", [scalar], (), INT64)
        return scalar, dimension.symbol(name, signed=root.is_value)

    def dim_of(self, tensor: Tensor, what: str) -> Dim:
        """The dimension that an integer scalar stands for.

        Raises:
            DataDependentSizeError: when its value is computed from data.
        """
        if tensor.dim is None:
            raise DataDependentSizeError(
                f"{what} is computed from data{self._at()}; a size must follow from input sizes and integer scalar "
                "inputs. Pass it as an integer scalar input of its own, or use a mask of full length instead."
            )
        return self.constraints.canonical(tensor.dim)

    def dims_of(self, tensor: Tensor, what: str) -> Dims:
        """The dimensions that an integer vector stands for (see `dim_of`)."""
        literal = tensor.literal
        if tensor.sizes is None and literal is not None and literal.ndim == 1 and literal.dtype.kind in "iu":
            return tuple(map(int, literal))  # of any length; longer ones are not kept as sizes
        if tensor.sizes is None or not tensor.dims:
            raise DataDependentSizeError(
                f"{what} is computed from data{self._at()}; sizes must follow from input sizes and integer inputs. "
                "Pass them as integer scalar inputs of their own."
            )
        return tuple(self.constraints.canonical(dim) for dim in tensor.sizes)

    def equate(self, a: Dim, b: Dim, what: str = "", kind: DemandKind = "") -> Dim:
        """Records that two dimensions are equal and returns the one to go on with.

        Raises:
            DimMismatch: when they can never be equal.
        """
        if a is b or a == b:
            return a
        text = f"{what}{self._at()}" if what else self.where
        if not self._frame.data:
            return self.constraints.equate(a, b, text, kind)
        if self.is_local(a, b):  # a check, which counts where the region runs
            if not self.constraints.known_equal(a, b):
                self._compare_here("EQ", a, b, f"sizes {a} and {b} must agree: {text}")
            return b if self.is_local(a) else a  # the one that is known outside, if one is
        # Of two names for a size the one that is known first goes on: before the run, or earlier in it.
        if self._latest(a) > self._latest(b):
            a, b = b, a
        return self.constraints.equate(a, b, text, kind)

    def _latest(self, dim: Dim) -> int:
        names = dimension.roots(dim)
        return max((place for place, name in enumerate(self._frame.data) if name in names), default=-1)

    def _compare_here(self, direction: str, a: Dim, b: Dim, message: str) -> None:
        self.check(self.compared(direction, self.size(a), self.size(b)), "ValueError", message)

    def at_least(self, a: Dim, low: Dim, what: str, kind: DemandKind = "") -> None:
        """Records a lower bound of a dimension.

        Raises:
            DimMismatch: when it can never hold.
        """
        text = f"{what}{self._at()}"
        if not self.is_local(a, low):
            self.constraints.at_least(a, low, text, kind)
            return
        least = dimension.bounds(a - low)[0]
        if least is None or least < 0:
            self._compare_here("GE", a, low, f"size {a} must be at least {low}: {text}")

    # ---- checks -----------------------------------------------------------------------------------------------

    def check(self, flag: Tensor, exception: str, message: str, place: str = "") -> None:
        """Makes the call raise `exception(message)` when `flag`, a boolean scalar, is false in a run; see `Check`."""
        if flag.literal is not None and bool(flag.literal):
            return
        scope = self._frame.scopes[-1]
        if not scope.can_check:
            raise UnsupportedGraphError(
                f"a check ({exception}: {message}) inside a loop or a reduction is not supported{self._at()}"
            )
        if not any(check.flag.uid == flag.uid for check in scope.checks):  # the first would have raised
            scope.checks.append(Check(flag, exception, message, place))

    # ---- functions --------------------------------------------------------------------------------------------

    @contextmanager
    def function(
        self, name: str, arguments: Sequence[tuple[Dims, DType]], *, private: bool = False
    ) -> Iterator[list[Tensor]]:
        """Builds a function: yields its argument handles; the body must end with `finish`."""
        with self._entered(name, [self.tensor_type(*argument) for argument in arguments], private) as block:
            yield [Tensor(self, value, *argument) for value, argument in zip(block.arguments, arguments, strict=True)]

    def add_root(self, root: SizeSource) -> None:
        """Says where the current function finds the size named `root.name`.

        A root from data is known from the insertion point on; sizes that depend on it are computed there.
        """
        frame = self._frame
        if root.name in frame.roots:
            return
        frame.roots[root.name] = root
        if root.data:
            frame.data[root.name] = self._open_place()

    def noted(self, kind: type[M], x: Tensor) -> M | None:
        """What is known of how a tensor was made, of one kind."""
        return self._frame.notes.get((kind, x.uid))

    def note_made(self, note: M) -> M:
        """Remembers how a tensor was made, unless a note of this kind is there; the one to go on with."""
        return self._frame.notes.setdefault((type(note), note.result.uid), note)

    @property
    def noted_so_far(self) -> tuple[int, ...]:
        """How much has been noted besides operations."""
        return len(self._frame.notes), len(self._frame.spare), len(self.checks), len(self.constraints)

    @property
    def checks(self) -> list[Check]:
        """Checks of the innermost scope."""
        return self._frame.scopes[-1].checks

    def finish(self, results: Sequence[Tensor]) -> ir.Operation:
        """Returns `results` from the function being built, and gives it its type."""
        self.terminator("func.return", results)
        # What all its users read through, and scalars that served as sizes only.
        read_through = [found.result.value for found in self._frame.notes.values()]
        made = [owner(value) for value in (*read_through, *(tensor.value for tensor in self._frame.spare))]
        demanded = {name for each in self.constraints for dim in (each.lhs, each.rhs) for name in dimension.roots(dim)}
        # Sizes from data that are demanded are counted in a call, also where nothing else needs them.
        counted = {owner(self._frame.roots[name].tensor.value) for name in demanded & self._frame.data.keys()}

        def plain(op: ir.Operation) -> bool:
            return not op.regions and op.name != "func.call" and op not in counted

        erase((op for op in made if op is not None and plain(op)), plain)
        operation = self._frame.block.owner.operation
        with self.context, self._unknown:
            inputs = [value.type for value in self._frame.block.arguments]
            outputs = [x.value.type for x in results]
            operation.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, outputs))
        return operation
