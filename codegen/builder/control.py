"""Control flow: while, if, case, calls of private functions, custom calls, a function of one element for a batch.

In: handles and Python functions that build the regions. Out: handles. Regions may use any value that is visible where
the op stands. Also functions that JAX already writes as plain StableHLO (incomplete gamma, random draws, ...), used as
they are: exported once per dtype and shape, with symbolic dimensions where the operands have them, and called as
private functions of the module; nothing of the user's graph is traced.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from functools import reduce as fold
from typing import Any

import numpy as np

from .. import dims as dimension
from ..constraints import Constraints
from ..dims import Dim, DimSyntaxError, bounds, parse, substitute
from ..errors import BatchingError, PassError, UnsupportedGraphError
from ..ir.batching import Batcher, Row, worst
from ..ir.bindings import ir, new_context
from ..ir.functions import adopt, flat
from ..ir.host_calls import TARGET, HostCall
from ..ir.jax_compat import enable_x64
from ..ir.modules import parse_module, to_bytecode
from ..ir.values import free_symbol
from .core import Builder, Check, SizeSource, Tensor
from .elementwise import and_, compare, convert, negate, not_, select, unify
from .indexing import data_size, with_row
from .places import INT32, Dims, DType
from .shape import custom_call, full, pad, reshape, slice_axis, with_dims


def while_loop(
    init: Sequence[Tensor],
    cond: Callable[..., Tensor],
    body: Callable[..., Sequence[Tensor]],
) -> list[Tensor]:
    """`stablehlo.while`: repeats `body` on the carries while `cond` of them is true.

    Args:
        init: the carries; each keeps its shape and dtype.
        cond: from the carries to a boolean scalar.
        body: from the carries to the new carries.
    """
    types = [(x.dims, x.dtype) for x in init]
    return init[0].builder.region_op(
        "stablehlo.while",
        init,
        types,
        [(types, lambda *carries: [cond(*carries)]), (types, body)],
    )


class Carries:
    """The carries of a loop whose body is being built: more may come while it is, see `growing_loop`."""

    def __init__(self, builder: Builder, inits: Sequence[Tensor], body: ir.Block) -> None:
        self.builder = builder
        self.inits = list(inits)
        self.next: dict[int, Tensor] = {}
        self._body = body
        self._outside = builder.outside()
        self.values = [self._argument(x) for x in inits]

    def _argument(self, init: Tensor) -> Tensor:
        type_ = self.builder.tensor_type(init.dims, init.dtype)
        argument = self._body.add_argument(type_, self.builder.location)
        return Tensor(self.builder, argument, init.dims, init.dtype)

    def add(self, init: Callable[[], Tensor], step: Callable[[Tensor], Tensor]) -> int:
        """A further carry: its initial value, made before the loop, and its next value from its value; its place."""
        with self.builder.at(self._outside):
            first = init()
            first.value  # noqa: B018  it stands before the loop
        self.inits.append(first)
        value = self._argument(first)
        self.values.append(value)
        place = len(self.inits) - 1
        self.next[place] = step(value)
        return place

    def stack(self, value: Tensor, count: Dim, index: Tensor) -> int:
        """A carry of `count` rows, and one at least, in which each turn writes its value at its index; its place."""
        zero = self.builder.constant(np.zeros((), value.dtype))
        rows = partial(full, self.builder, zero, (dimension.maximum(count, 1), *value.dims))
        return self.add(rows, partial(with_row, value=value, index=index))


def growing_loop(
    inits: Sequence[Tensor],
    cond: Callable[..., Tensor],
    body: Callable[[Carries], Sequence[Tensor]],
    what: str = "loop",
    step: str = "step",
) -> list[Tensor]:
    """`stablehlo.while` whose body finds out what else it carries: stacks of what it computes, flags of its checks.

    Args:
        inits: the first carries, of which the first one counts the steps from 0.
        cond: from these to a boolean scalar.
        body: from the carries, to which it may add, to the next values of `inits`.
        what: the loop, in error messages.
        step: one of its turns, in error messages.

    Returns:
        The last values of all carries, those that the body added too.
    """
    builder = inits[0].builder
    with opened(builder, inits, 2) as (holder, (test, block)):
        carries = Carries(builder, inits, block)
        with builder.region(block) as scope:
            following = list(body(carries))
            builder.refuse_leaving(following, f"step of a {what}")
            checks = list(scope.checks)
        flags = []
        for check in checks:

            def flagged(seen: Tensor, check: Check = check) -> Tensor:
                """As it was, or that this step was the first in which the check failed."""
                first = and_(compare("GT", seen, 0), not_(check.holds))
                return select(first, negate(convert(carries.values[0], INT32)), seen)

            with builder.region(block):
                place = carries.add(lambda: builder.constant(1, INT32), flagged)
            flags.append((place, check))
        types = [(x.dims, x.dtype) for x in carries.inits]
        with builder.region(block):
            builder.terminator("stablehlo.return", [*following, *[carries.next[i] for i in sorted(carries.next)]])
        for x in carries.inits:
            test.add_argument(builder.tensor_type(x.dims, x.dtype), builder.location)
        with builder.region(test, can_check=False):
            arguments = [Tensor(builder, value, *type_) for value, type_ in zip(test.arguments, types, strict=True)]
            builder.terminator("stablehlo.return", [cond(*arguments[: len(inits)])])
    results = _close(builder, "stablehlo.while", carries.inits, holder, types)
    for place, check in flags:
        builder.check(results[place], check.exception, check.message, f"{step} {{}} of the {what}")
    return results


class _Turns(Carries):
    """The carries of a loop that is written out, in one of its turns."""

    def __init__(self, values: Sequence[Tensor], own: int) -> None:
        self.builder = values[0].builder
        self.values = list(values)
        self._place = own

    def add(self, init: Callable[[], Tensor], step: Callable[[Tensor], Tensor]) -> int:
        """A further carry: the first turn makes it, the others know it by its place."""
        place = self._place
        self._place += 1
        if place == len(self.values):
            self.values.append(init())
        self.values[place] = step(self.values[place])
        return place


def written_out(inits: Sequence[Tensor], count: int, body: Callable[[Carries], Sequence[Tensor]]) -> list[Tensor]:
    """What `growing_loop` computes in this many turns, one after the other: each may have sizes of its own.

    Args:
        inits: the first carries, of which the first one counts the steps from 0.
        count: of the turns. Without any, what the body would add to the carries is not there.
        body: from the carries, to which it may add, to the next values of `inits`.
    """
    values, own = list(inits), len(inits)
    for _ in range(count):
        turn = _Turns(values, own)
        values = [*body(turn), *turn.values[own:]]
    return values


def case(index: Tensor, branches: Sequence[Callable[[], Sequence[Tensor]]]) -> list[Tensor]:
    """`stablehlo.case`: the results of branch `index` (int32 scalar); out of range takes the last branch."""
    return _branches("stablehlo.case", index, branches)


def if_(
    pred: Tensor,
    on_true: Callable[[], Sequence[Tensor]],
    on_false: Callable[[], Sequence[Tensor]],
    *,
    own_sizes: bool = False,
) -> list[Tensor]:
    """`stablehlo.if`: only the chosen branch runs. Checks made in a branch count only when it is taken.

    Args:
        pred: a boolean scalar.
        on_true: gives the results where it is true.
        on_false: gives them where it is not.
        own_sizes: sizes of the two that cannot agree, or need not (`Builder.own_branch_sizes`), give a size from data:
            that of the branch that is taken. Otherwise they must agree.
    """
    return _branches("stablehlo.if", pred, [on_true, on_false], own_sizes=own_sizes)


def _branches(
    name: str, selector: Tensor, branches: Sequence[Callable[[], Sequence[Tensor]]], *, own_sizes: bool = False
) -> list[Tensor]:
    builder = selector.builder
    with opened(builder, [selector], len(branches)) as (operation, blocks):
        results: list[list[Tensor]] = []
        checks = []
        for block, branch in zip(blocks, branches, strict=True):
            with builder.region(block) as scope:
                results.append(list(branch()))
                builder.refuse_leaving(results[-1], "branch of IfElse")
                checks.append(scope.checks)
        shared = [
            _shared_dims(builder, [x.dims for x in column], f"result {number} of the branches", own_sizes)
            for number, column in enumerate(zip(*results, strict=True))
        ]
        dims = [joined for joined, _ in shared]
        types = [(d, x.dtype) for d, x in zip(dims, results[0], strict=True)]
        flags = [check for group in checks for check in group]
        for number, block in enumerate(blocks):
            with builder.region(block):
                extra = [
                    check.flag if owner == number else builder.constant(1, check.flag.dtype)
                    for owner, group in enumerate(checks)
                    for check in group
                ]
                given = list(results[number])
                for place, (whole, own) in enumerate(shared):
                    if own:  # zeros behind it, up to the sizes that hold every branch's
                        x = given[place]
                        more = [size - x.dims[axis] if axis in own else 0 for axis, size in enumerate(whole)]
                        given[place] = with_dims(pad(x, builder.constant(0, x.dtype), [0] * x.ndim, more), whole)
                builder.terminator("stablehlo.return", [*given, *extra])
    outputs = _close(builder, name, [selector], operation, [*types, *[((), check.flag.dtype) for check in flags]])
    for check, flag in zip(flags, outputs[len(types) :], strict=True):
        builder.check(flag, check.exception, check.message, check.place)
    return [_taken(selector, x, own) for x, (_, own) in zip(outputs, shared, strict=False)]


OwnSizes = dict[int, Sequence[Dim]]


def _shared_dims(builder: Builder, columns: Sequence[Dims], what: str, own: bool) -> tuple[Dims, OwnSizes]:
    """The shape that holds a result of each branch; for the axes on which each may have its own size, these sizes."""
    joined: list[Dim] = []
    apart: OwnSizes = {}
    for axis, sizes in enumerate(zip(*columns, strict=True)):
        canonical = [builder.constraints.canonical(size) for size in sizes]
        known = all(isinstance(size, int) for size in canonical)
        computed = any(builder.roots[name].data for size in canonical for name in dimension.roots(size))
        if own and (known or computed or builder.own_branch_sizes) and len(set(canonical)) > 1:
            apart[axis] = canonical
            joined.append(fold(dimension.maximum, canonical))
        else:
            joined.append(fold(lambda a, b: builder.equate(a, b, what, "branches"), sizes))
    return tuple(joined), apart


def _taken(pred: Tensor, x: Tensor, own: OwnSizes) -> Tensor:
    for axis, (yes, no) in own.items():
        count = select(pred, x.builder.size(yes), x.builder.size(no))
        x = slice_axis(x, axis, 0, data_size(count, "branch", x.dims[axis]))
    return x


@contextmanager
def opened(builder: Builder, operands: Sequence[Tensor], count: int) -> Iterator[tuple[ir.Operation, list[ir.Block]]]:
    """A detached op whose regions are filled before its result types are known.

    What is abandoned by an error is erased while the values that it uses are there: a module that goes first leaves it
    with uses of nothing.
    """
    for x in operands:
        x.value  # noqa: B018  they must stand before the op
    holder = ir.Operation.create("builtin.module", regions=1, loc=builder.location)
    place = ir.InsertionPoint(holder.regions[0].blocks.append())
    inner = ir.Operation.create("stablehlo.case", operands=[], regions=count, loc=builder.location, ip=place)
    try:
        yield holder, [region.blocks.append() for region in inner.regions]
    except BaseException:
        holder.erase()
        raise


def _close(
    builder: Builder, name: str, operands: Sequence[Tensor], holder: ir.Operation, types: Sequence[tuple[Dims, DType]]
) -> list[Tensor]:
    inner = next(iter(holder.regions[0].blocks[0].operations))
    operation, results = builder.create(name, operands, types, regions=len(inner.operation.regions))
    for source, target in zip(inner.operation.regions, operation.regions, strict=True):
        source.blocks[0].append_to(target)
    holder.erase()
    return results


def call(
    name: str,
    operands: Sequence[Tensor],
    body: Callable[..., Sequence[Tensor]],
    *,
    key: Hashable = None,
    attributes: Mapping[str, str] | None = None,
) -> list[Tensor]:
    """Calls a private function, built by `body` when first called with such shapes.

    Inside, each symbolic size of the operands is a root of the function's own, read off an operand's axis, so that a
    size `2*n + 1` needs no `n` there, and shape refinement of the call refines the body.

    Args:
        name: base of the function's symbol.
        operands: arguments.
        body: from argument handles to results.
        key: hashable description of the body; equal (name, key, operand dims and dtypes) share one function.
        attributes: (name, MLIR text) pairs put on the function.
    """
    builder = operands[0].builder
    canonical = builder.constraints.canonical
    # With integers for the sizes that turned out to be known, in their types too.
    operands = [reshape(x, tuple(k if type(k := canonical(d)) is int else d for d in x.dims)) for x in operands]
    inner: dict[Dim, Dim] = {}
    sources: dict[str, tuple[int, int]] = {}
    types = []
    for place, x in enumerate(operands):
        dims = list(x.dims)
        for axis, dim in enumerate(dims):
            if type(dim) is not int:
                root = f"{name}.{len(inner)}"
                dims[axis] = inner.setdefault(canonical(dim), dimension.symbol(root))
                sources.setdefault(str(dims[axis]), (place, axis))
        types.append((tuple(dims), x.dtype))
    # Shape refinement gives a function one set of sizes, so other sizes take another function.
    identity = (name, key, tuple(types), tuple(inner))
    found = builder.functions.get(identity)
    if found is None:
        symbol = free_symbol(builder.module, name)
        outer, builder.constraints = builder.constraints, Constraints()
        try:
            with builder.function(symbol, types, private=True) as arguments:
                for root, (place, axis) in sources.items():
                    builder.add_root(SizeSource(root, arguments[place], axis))
                results = list(body(*arguments))
                if builder.checks or len(builder.constraints):
                    raise UnsupportedGraphError(f"the private function {name!r} cannot demand anything of its operands")
                operation = builder.finish(results)
        finally:
            builder.constraints = outer
        for attribute, text in (attributes or {}).items():
            operation.attributes[attribute] = builder.attribute(text)
        found = builder.functions[identity] = (symbol, [(x.dims, x.dtype) for x in results])
    symbol, inner_types = found
    sizes = {str(own): dim for dim, own in inner.items()}
    result_types = [(tuple(dimension.substitute(d, sizes) for d in dims), dtype) for dims, dtype in inner_types]
    return builder.create("func.call", operands, result_types, (("callee", f"@{symbol}"),))[1]


def all_true(flags: Sequence[Tensor]) -> Tensor:
    """Conjunction of boolean scalars."""
    return fold(and_, flags)


# ---- a batch ---------------------------------------------------------------------------------------------------------


def mapped(operands: Sequence[Tensor], each: Sequence[bool], body: Callable[..., Sequence[Tensor]]) -> list[Tensor]:
    """The results of `body` for each element of a batch.

    Args:
        operands: what it takes; at least one has the batch axis.
        each: which of them have it, in front.
        body: from one element's operands to its results.

    Raises:
        BatchingError: an op has no form for a batch.
        UnsupportedGraphError: a size would differ from element to element.
    """
    builder = operands[0].builder
    size = next(x.dims[0] for x, flag in zip(operands, each, strict=True) if flag)
    with opened(builder, operands, 1) as (holder, (block,)), builder.aside():
        with builder.region(block) as scope:
            arguments = []
            for x, flag in zip(operands, each, strict=True):
                if flag:
                    argument = block.add_argument(builder.tensor_type(x.dims[1:], x.dtype), builder.location)
                    arguments.append(Tensor(builder, argument, x.dims[1:], x.dtype))
                else:
                    arguments.append(x)
            results = list(body(*arguments))
            builder.refuse_leaving(results, "function of one element")
            builder.terminator("stablehlo.return", [*results, *[check.flag for check in scope.checks]])
        if size == 0:
            holder.erase()
            return [full(builder, builder.constant(0, x.dtype), (0, *x.dims)) for x in results]
        extent = size if isinstance(size, int) else builder.size(size).value
        with builder.here():
            batcher = Batcher(builder.module, extent)
            batcher.may_be_empty = not isinstance(size, int) and (bounds(size)[0] or 0) < 1
            try:
                rows = [Row(x.value, True) for x, flag in zip(operands, each, strict=True) if flag]
                found = batcher.block(block, rows)
            except PassError as error:
                raise BatchingError(str(error).removeprefix("batch: ")) from None
            values = [batcher.full(row) for row in found[: len(results)]]
            flags = [worst(batcher, row) for row in found[len(results) :]]
        checks = list(scope.checks)
        holder.erase()
    for check, value in zip(checks, flags, strict=True):
        builder.check(Tensor(builder, value, (), check.flag.dtype), check.exception, check.message, check.place)
    return [Tensor(builder, value, (size, *x.dims), x.dtype) for value, x in zip(values, results, strict=True)]


# ---- calls of Python -------------------------------------------------------------------------------------------------


def host_call(
    builder: Builder, call: HostCall, operands: Sequence[Tensor], results: Sequence[tuple[Dims, DType]]
) -> list[Tensor]:
    """Calls a Python function each time that the program comes by.

    Args:
        builder: where to.
        call: the function.
        operands: what it gets.
        results: (dims, dtype) of what it gives.
    """
    name = f"host_{len(builder.host_calls)}"
    builder.host_calls[name] = call
    order = builder.constant(0, INT32)
    config = {"name": f'"{name}"'}
    types = [((), INT32), *results]
    return custom_call(TARGET, [order, *operands], types, backend_config=config, has_side_effect=True)[1:]


# Calls in JAX's modules that are dropped, or that specialization and padding know.
_KNOWN = {"shape_assertion", "stablehlo.dynamic_reduce_window"}


def import_elementwise(name: str, function: Callable[..., Any], operands: Sequence[Tensor]) -> Tensor:
    """Applies a JAX elementwise function to floating-point tensors of one shape; see `import_functions`."""
    return import_function(name, function, unify(*operands))


def import_function(
    name: str, function: Callable[..., Any], operands: Sequence[Tensor], rules: tuple[tuple[Any, Any], ...] = ()
) -> Tensor:
    """Applies a JAX function that has one result; see `import_functions`."""
    [result] = import_functions(name, function, operands, rules)
    return result


def import_functions(
    name: str, function: Callable[..., Any], operands: Sequence[Tensor], rules: tuple[tuple[Any, Any], ...] = ()
) -> list[Tensor]:
    """Applies a JAX function of arrays to an array, or to several.

    Args:
        name: base of the private function's symbol.
        function: hashable; equal functions are exported once per process, in x64 mode.
        operands: of any shapes; dimensions that are equal, or are known to be, are one size to JAX.
        rules: (primitive, lowering rule) pairs in place of JAX's own.

    Raises:
        UnsupportedGraphError: JAX cannot trace it with symbolic sizes, or makes it a library's call; or a size of a
            result is no function of the operands' that we know.
    """
    builder = operands[0].builder
    sizes: dict[Any, str] = {}
    dim_of: dict[str, Dim] = {}

    def size(dim: Any) -> Any:
        if type(dim) is int:
            return dim
        symbol = sizes.setdefault(builder.constraints.canonical(dim), f"d{len(sizes)}")
        dim_of.setdefault(symbol, dim)  # not the canonical one: that may be a number, where the function has `?`
        return symbol

    shapes = tuple(tuple(size(dim) for dim in x.dims) for x in operands)
    dtypes = tuple(x.dtype for x in operands)
    code, results = _exported(name, function, shapes, dtypes, rules)
    types = [(tuple(_dim(entry, dim_of, name) for entry in shape), dtype) for shape, dtype in results]
    # Shape refinement wants its own function for each set of sizes.
    key = ("jax", name, function, shapes, tuple(sizes), dtypes)
    symbol = builder.functions.get(key)
    if symbol is None:
        source = parse_module(code, builder.context, f"the lowering of {name}")
        symbol = builder.functions[key] = adopt(builder.module, source, name)
    attributes = (("callee", f"@{symbol}"),)
    if len(types) == 1:
        return [builder.op("func.call", operands, *types[0], attributes)]
    return builder.region_op("func.call", operands, types, [], attributes, key=key)


def _dim(entry: int | str, dim_of: Mapping[str, Dim], name: str) -> Dim:
    """A result's size, from JAX's expression of the operands' sizes."""
    if isinstance(entry, int):
        return entry
    try:
        return substitute(parse(entry), dim_of)
    except DimSyntaxError:
        raise UnsupportedGraphError(f"{name} has a result of size {entry}, which is no operand's") from None


@functools.lru_cache(maxsize=512)
def _exported(
    name: str,
    function: Callable[..., Any],
    shapes: tuple[tuple[int | str, ...], ...],
    dtypes: tuple[DType, ...],
    rules: tuple[tuple[Any, Any], ...],
) -> tuple[bytes, tuple[tuple[tuple[int | str, ...], DType], ...]]:
    """The module of a function as bytecode, and its results' sizes and dtypes; symbolic sizes as text."""
    import jax
    from jax import export

    operands = [f"{dtype}[{', '.join(map(str, shape))}]" for shape, dtype in zip(shapes, dtypes, strict=True)]
    what = f"{name} of {', '.join(operands)}"
    scope = export.SymbolicScope()
    with enable_x64(True), jax.threefry_partitionable(True):  # the defaults, see docs/reference/random.md
        specs = [
            jax.ShapeDtypeStruct(export.symbolic_shape(", ".join(map(str, shape)), scope=scope), dtype)
            for shape, dtype in zip(shapes, dtypes, strict=True)
        ]
        try:
            jitted = jax.jit(function, keep_unused=True)
            exported = export.export(jitted, platforms=("cpu",), _override_lowering_rules=rules)(*specs)
        except Exception as error:
            reason = str(error).partition("\n")[0]
            raise UnsupportedGraphError(f"JAX cannot trace {what}: {reason}") from error
    text = exported.mlir_module()
    targets = set(re.findall(r"custom_call @([\w.]+)", text)) - _KNOWN
    if targets:
        called = ", ".join(sorted(targets))
        raise UnsupportedGraphError(f"JAX makes {what} a call of {called}, which is not portable; give known sizes")
    code = to_bytecode(flat(parse_module(text, new_context(), name)))
    results = [(tuple(x if isinstance(x, int) else str(x) for x in r.shape), r.dtype) for r in exported.out_avals]
    return code, tuple(results)
