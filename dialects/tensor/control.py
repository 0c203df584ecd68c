"""IfElse, checks, copies, inner graphs, Blockwise."""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from ...codegen import builder as hlo
from ...codegen.builder import INT64, Carries, Tensor
from ...codegen.dims import Dim
from ...codegen.emit import Context
from ...codegen.errors import UnsupportedGraphError
from ..library import Library, library
from ..registry import find, lowers
from ..releases import axis_property
from .shape import typed_dims


@lowers("IfElse", branches=lambda op: [range(1, 1 + op.n_outs), range(1 + op.n_outs, 1 + 2 * op.n_outs)])
def if_else(ctx: Context, node: Any, condition: Tensor) -> list[Tensor]:
    """Evaluates the nodes that only the chosen branch needs, and its checks, only when it is chosen."""
    return hlo.if_(hlo.convert(condition, bool), ctx.branch(0), ctx.branch(1), own_sizes=True)


@lowers("LazyIfElse", inner=True)
def lazy_if_else(ctx: Context, node: Any, condition: Tensor, *operands: Tensor) -> list[Tensor]:
    """`IfElse` as PyTensor 3.3 compiles it for other backends: each branch is an inner graph of the same operands."""
    graphs = [branch.fgraph for branch in (node.op.true_branch, node.op.false_branch)]
    yes, no = (
        functools.partial(ctx.lower_inner, list(graph.inputs), list(graph.outputs), operands) for graph in graphs
    )
    return hlo.if_(hlo.convert(condition, bool), yes, no, own_sizes=True)


def exception_name(exception: type[BaseException]) -> str:
    """`ValueError`, or `package.module.Name(ValueError)` with the built-in class that it derives from.

    A class made inside a function has no place to be found again: its built-in base stands for it.
    """
    base = next(b.__name__ for b in exception.__mro__ if getattr(builtins, b.__name__, None) is b)
    if exception is getattr(builtins, base) or "<locals>" in exception.__qualname__:
        return base
    return f"{exception.__module__}.{exception.__qualname__}({base})"


@lowers("CheckAndRaise")
def check_and_raise(ctx: Context, node: Any, value: Tensor, *conditions: Tensor) -> Tensor:
    """The value; the call raises the op's exception when a condition is false."""
    flags = [hlo.convert(hlo.reshape(c, ()), bool) for c in conditions]
    if flags:
        ctx.check(hlo.all_true(flags), exception_name(node.op.exc_type), str(node.op.msg))
    return value


@lowers(
    *("DeepCopyOp", "ViewOp", "TypeCastingOp", "CpuContiguous", "Rebroadcast", "Unbroadcast"),
    *("TensorFromScalar", "ScalarFromTensor"),
)
def identity(ctx: Context, node: Any, x: Tensor) -> Tensor:
    """Values are immutable here: a copy is the value; a scalar is a tensor without axes."""
    return x


@lowers("OpFromGraph", inner=True)
def op_from_graph(ctx: Context, node: Any, *operands: Tensor) -> list[Tensor]:
    """The inner graph, in place."""
    fgraph = node.op.fgraph
    return ctx.lower_inner(fgraph.inputs, fgraph.outputs, operands)


def _unsupported_core(op: Any) -> Sequence[str]:
    core = find(op.core_op)
    if core is None:
        return [f"Blockwise of {op.core_op}"]
    return core.unsupported(op.core_op) if core.unsupported is not None else []


@lowers("Blockwise", inner=True, unsupported=_unsupported_core)
def blockwise(ctx: Context, node: Any, *operands: Tensor) -> Any:
    """A core op over leading batch axes: handed to the core op's rule, if that knows batches or needs none."""
    op = node.op
    counts = [x.ndim - len(core) for x, core in zip(operands, op.inputs_sig, strict=True)]
    rank = max(counts, default=0)
    # The node as the core op's rule sees it: operands have this many leading batch axes.
    core_node = SimpleNamespace(op=op.core_op, inputs=node.inputs, outputs=node.outputs, batch_ndim=rank)
    if not rank:
        return ctx.lower_op(op.core_op, core_node, operands)
    lowering = find(op.core_op)
    if lowering is None or not lowering.batched:
        return _mapped(ctx, node, operands)
    batch = _batch(ctx, node.inputs, operands, counts)
    if lowering.stretched:
        given = [hlo.broadcast(x, (*batch, *x.dims[count:])) for x, count in zip(operands, counts, strict=True)]
        return ctx.lower_op(op.core_op, core_node, given)
    cores, given = _with_cores(ctx, node, operands, counts)
    for place, (variable, count) in enumerate(zip(node.inputs, counts, strict=True)):
        flags = [True] * rank if place in cores else [*[True] * (rank - count), *variable.type.broadcastable[:count]]
        own = given[place].dims if place in cores else given[place].dims[count:]
        sizes = (1 if flag else dim for flag, dim in zip(flags, batch, strict=True))
        given[place] = hlo.reshape(given[place], (*sizes, *own))
    result = ctx.lower_op(op.core_op, core_node, given)
    return hlo.broadcast(result, (*batch, *result.dims[rank:]))


def _with_cores(
    ctx: Context, node: Any, operands: Sequence[Tensor], counts: Sequence[int]
) -> tuple[dict[int, Any], list[Tensor]]:
    """What is plainly the same for the whole batch, by place: a variable for one element; the operands with these.

    One axis of size 1 is left: what is known of a scalar is known of a vector of it, but not of a matrix.
    """
    graphs, cores, given = library(type(node.op).__module__.partition(".")[0]), {}, list(operands)
    for place, (x, count) in enumerate(zip(node.inputs, counts, strict=True)):
        core = _of_one_element(graphs, x, count) if count > 1 or (count and not x.type.broadcastable[0]) else None
        if core is not None:
            cores[place] = core
    for place, lowered in zip(cores, ctx.lower_more(list(cores.values())), strict=True):
        given[place] = lowered
    return cores, given


def _batch(ctx: Context, inputs: Sequence[Any], operands: Sequence[Tensor], counts: Sequence[int]) -> tuple[Dim, ...]:
    """The sizes of the batch axes, of which each operand has this many in front.

    As with Elemwise, an axis stretches where the type says that its size is 1; others must agree.
    """
    triples = zip(inputs, operands, counts, strict=True)
    return typed_dims(ctx, [(v.type.broadcastable[:n], x.dims[:n]) for v, x, n in triples], "batch axis {}")


def _mapped(ctx: Context, node: Any, operands: Sequence[Tensor]) -> list[Tensor]:
    """Ops whose rules know no batch axes: what the rule makes of one element, for all of them."""
    op = node.op
    counts = [x.ndim - len(core) for x, core in zip(operands, op.inputs_sig, strict=True)]
    cores, given = _with_cores(ctx, node, operands, counts)
    single = {place for place, x in enumerate(node.inputs) if all(x.type.broadcastable[: counts[place]])}
    if len(single | cores.keys()) == len(operands):
        return _repeated(ctx, node, operands, counts, cores)
    batch = _batch(ctx, node.inputs, given, [0 if place in cores else count for place, count in enumerate(counts)])
    for place in single - cores.keys():
        given[place] = hlo.squeeze(given[place], range(counts[place]))  # a size stays known
    each = [place not in single | cores.keys() for place in range(len(operands))]
    size, core = hlo.product(batch), op._create_dummy_core_node(node.inputs)
    inputs = [_as_given(x) for x in core.inputs]
    for place in (place for place, flag in enumerate(each) if flag):
        dims = given[place].dims[counts[place] :]
        given[place] = hlo.reshape(hlo.broadcast(given[place], (*batch, *dims)), (size, *dims))

    def one(*elements: Tensor) -> list[Tensor]:
        return ctx.lower_inner(inputs, core.outputs, elements)

    lowering = find(op.core_op)
    try:
        if lowering is not None and lowering.loops:
            results = _looped(ctx, given, each, size, one)
        else:
            results = hlo.mapped(given, each, one)
    except UnsupportedGraphError as error:
        raise UnsupportedGraphError(
            f"{type(op.core_op).__name__} over batch axes (inputs {', '.join(str(v.type) for v in node.inputs)}) "
            f"has no lowering ({error}); apply it to one core input at a time"
        ) from None
    whole = _batch(ctx, node.inputs, operands, counts)  # with those axes that only what is the same for all has
    elements = [hlo.reshape(x, (*batch, *x.dims[1:])) for x in results]
    return [hlo.broadcast(x, (*whole, *x.dims[len(whole) :])) for x in elements]


def _as_given(variable: Any) -> Any:
    owner = variable.owner
    return owner.inputs[0] if owner is not None and type(owner.op).__name__ == "ScalarFromTensor" else variable


def _repeated(
    ctx: Context, node: Any, operands: Sequence[Tensor], counts: Sequence[int], cores: Mapping[int, Any]
) -> list[Tensor]:
    """Outputs that are the same for the whole batch are computed once."""
    batch = _batch(ctx, node.inputs, operands, counts)
    inputs = [
        cores[place] if place in cores else x.dimshuffle(*range(count, x.type.ndim))
        for place, (x, count) in enumerate(zip(node.inputs, counts, strict=True))
    ]
    results = ctx.lower_more(node.op.core_op.make_node(*inputs).outputs)
    return [hlo.broadcast(x, (*batch, *x.dims)) for x in results]


def _looped(
    ctx: Context, given: Sequence[Tensor], each: Sequence[bool], size: Dim, one: Callable[..., list[Tensor]]
) -> list[Tensor]:
    """One element of the batch after the other, for what is a call of Python."""
    builder = ctx.builder
    rows = [hlo.with_rows(x, 1) if flag else x for x, flag in zip(given, each, strict=True)]
    stacks: list[int] = []

    def step(carries: Carries) -> list[Tensor]:
        (index,) = carries.values
        found = one(*[hlo.row(x, index) if flag else x for x, flag in zip(rows, each, strict=True)])
        stacks.extend(carries.stack(x, size, index) for x in found)
        return [index + 1]

    start = builder.constant(0, INT64)
    results = hlo.growing_loop([start], lambda index: index < builder.size(size), step, "batch", "element")
    return [hlo.slice_axis(results[place], 0, 0, size) for place in stacks]


def _of_one_element(library: Library, variable: Any, rank: int) -> Any | None:
    """A variable for one element of a batch, without the `rank` axes in front, if it is plainly the same for all.

    PyTensor's gradient of a `Blockwise` gives shapes a batch axis (`broadcast_to(x.shape, ...)`), and all that is
    computed from them: sizes that the core op's rule must know.
    """
    found = _by_owner(library, variable, rank)
    if found is None and all(variable.type.broadcastable[:rank]):
        return variable.dimshuffle(*range(rank, variable.type.ndim))
    return found


def _by_owner(library: Library, variable: Any, rank: int) -> Any | None:
    """The same by what made the variable."""
    owner = variable.owner
    if owner is None:
        return None
    op, name = owner.op, type(owner.op).__name__
    if name == "Alloc":
        value, *shape = owner.inputs
        if value.type.ndim <= variable.type.ndim - rank:
            return library.module("tensor").alloc(value, *shape[rank:])
        return None
    if name == "Subtensor" and op.idx_list[:rank] == (slice(None),) * rank:
        core = _of_one_element(library, owner.inputs[0], rank)
        return None if core is None else type(op)(op.idx_list[rank:])(core, *owner.inputs[1:])
    if name in ("DimShuffle", "ExpandDims"):
        given = [axis for axis in op.new_order[:rank] if axis != "x"]  # others are stretched
        if given != list(range(len(given))):
            return None
        [inner] = owner.inputs
        core = _of_one_element(library, inner, len(given)) if given else inner
        order = [axis if axis == "x" else axis - len(given) for axis in op.new_order[rank:]]
        return None if core is None else core.dimshuffle(*order)
    if hasattr(op, "scalar_op") and name == "Elemwise":
        cores = [_of_one_element(library, x, rank) for x in owner.inputs]
        return None if any(core is None for core in cores) else op(*cores)
    axis = axis_property(op) if name == "Join" else None
    if axis is not None and axis >= rank:
        cores = [_of_one_element(library, x, rank) for x in owner.inputs]
        return None if any(core is None for core in cores) else library.module("tensor").join(axis - rank, *cores)
    if hasattr(op, "scalar_op") and op.axis is not None and min(op.axis) >= rank:
        core = _of_one_element(library, owner.inputs[0], rank)
        return None if core is None else op.clone(axis=tuple(axis - rank for axis in op.axis))(core)
    return None
