"""The walk: a graph, node by node, into a `Program`.

In: a graph that a reader understands. Out: a program. The walk is iterative and linear in the number of nodes: order
the nodes, report at once every op that has no rule, put each node into the region where it is needed (an `IfElse`
branch evaluates only what it needs), then lower one node after the other.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from . import builder as hlo
from . import dims as dimension
from . import signature as signatures
from .analysis.platforms import refuse_calls
from .builder import BOOL, INT32, Builder, Check, Tensor
from .builder.core import SizeSource
from .constraints import DimMismatch
from .dims import Dim
from .errors import DemandKind, GraphError, LoweringError, UnsupportedGraphError, UnsupportedOpError, demand_error
from .graph import Deferred, DimsArgument, Graph, Lowering, Undeclared, fresh, name_arguments, order, root_base, unique
from .interrupts import collector_paused
from .ir.bindings import ir, new_context
from .ir.modules import verify
from .program import Program
from .signature import Argument, CheckSpec, Count, Result, Signature


def emit(
    graph: Graph,
    dims: DimsArgument,
    name: str,
    find: Callable[[Any], Lowering | None],
    *,
    platforms: tuple[str, ...] = (),
    **loose: bool,
) -> Program:
    """The program of a graph.

    Args:
        graph: as a reader gives it.
        dims: names or sizes for the axes of inputs.
        name: the module's.
        find: from an op to its lowering.
        platforms: those that it is for; any where there are none.
        loose: what the builder need not demand of sizes, by its attributes' names.

    Raises:
        UnsupportedOpError: ops without a rule, all of them.
        UnsupportedGraphError: a platform does not have what an op calls.
        GraphError: `dims` does not fit the graph.
    """
    with collector_paused():
        context = Context(graph, name, find)
        builder = context.builder
        vars(builder).update(loose)
        arguments = name_arguments(graph.inputs, dims)
        variables, wanted = [x.variable for x in graph.inputs], [variable for variable, _ in graph.outputs]
        nodes = order(wanted, set(variables))
        context._refuse_unsupported(nodes)
        root = context._place(nodes, wanted)
        with builder.function("main", [(a.dims, a.dtype) for a in arguments]) as handles:
            arguments = _declare_roots(builder, arguments, handles)
            context._values.update(zip(variables, handles, strict=True))
            try:
                context._lower(root)
                results = [context._result(variable, name) for variable, name in graph.outputs]
            except DimMismatch as error:
                raise demand_error(error.kind)(f"sizes that must agree cannot: {error}") from None
            builder.location = ir.Location.unknown(builder.context)
            checks = list(builder.checks)
            # The flags are one vector: booleans, or numbers where some are of loops.
            dtype = INT32 if any(check.place for check in checks) else BOOL
            flags = [hlo.stack_scalars([hlo.convert(check.flag, dtype) for check in checks])] if checks else []
            operation = builder.finish([*results, *flags])
        signatures.write(operation, _signature(builder, graph, arguments, results, checks, platforms))
        signatures.forget_unused_counts(builder.module)
        verify(builder.module, "the emitted module")
        if platforms:
            refuse_calls(builder.module, platforms, name)
        bindings = {i: x.container for i, x in enumerate(graph.inputs) if x.container is not None}
        return Program(builder.module, filename=f"<{name}>", bindings=bindings, host_calls=builder.host_calls)


def _declare_roots(builder: Builder, arguments: Sequence[Argument], handles: Sequence[Tensor]) -> list[Argument]:
    """Says where each root comes from; integer scalars and short vectors know their elements as roots, by names that
    the arguments get."""
    taken = {name for a in arguments for dim in a.dims for name in dimension.roots(dim)} | dimension.RESERVED
    named = []
    for number, (argument, handle) in enumerate(zip(arguments, handles, strict=True)):
        count = argument.possible_sizes
        if 0 < count <= 16 and not argument.key:
            base, scalar = root_base(argument.name, number), not argument.dims
            names = tuple(fresh(base if scalar else f"{base}_{i}", taken) for i in range(count))
            argument = replace(argument, values=names)
            symbols = tuple(dimension.symbol(name, signed=argument.dtype.kind == "i") for name in names)
            handle.sizes = symbols
        named.append(argument)
    for root in signatures.find_roots(named):
        builder.add_root(SizeSource(root.name, handles[root.argument], root.axis, root.element))
    for argument in arguments:
        for name in sorted({name for dim in argument.dims for name in dimension.roots(dim)} - builder.roots.keys()):
            raise GraphError(
                f"size {name!r}, used in dims of {argument.name!r}, is not the size of any axis by itself; give one "
                f"axis exactly {name!r}"
            )
    return named


def _signature(
    builder: Builder,
    graph: Graph,
    arguments: Sequence[Argument],
    results: Sequence[Tensor],
    checks: Sequence[Check],
    platforms: tuple[str, ...],
) -> Signature:
    """What was found, of which only those integer arguments are sizes that a type or a demand depends on."""
    canonical = builder.constraints.canonical
    sizes = [dim for c in builder.constraints for dim in (c.lhs, c.rhs)]
    sizes += [bound for bound in (*builder.counts.values(), *builder.local_counts.values()) if bound is not None]
    used = builder.used_roots.union(*map(dimension.roots, sizes))
    names = unique([name or f"out{i}" for i, (_, name) in enumerate(graph.outputs)])
    return Signature(
        tuple(a if used.intersection(a.values) else replace(a, values=()) for a in arguments),
        tuple(
            Result(name, x.dtype, tuple(map(canonical, x.dims)), sparse=graph.sparse.get(i, ()))
            for i, (name, x) in enumerate(zip(names, results, strict=True))
        ),
        (),
        tuple(builder.constraints),
        tuple(CheckSpec(check.exception, check.message, check.place) for check in checks),
        tuple(Count(name, bound) for name, bound in builder.counts.items()),
        tuple(Count(name, bound) for name, bound in builder.local_counts.items()),
        platforms,
    )


@dataclass(eq=False)
class _Region:
    """Where a node is evaluated: the function's body, or a branch of a lazy node."""

    parent: _Region | None
    depth: int
    nodes: list[Any] = field(default_factory=list)


class Context:
    """What a lowering rule sees besides its operands; it walks through the graph.

    Attributes:
        builder: the builder, for constants and sizes; most builder functions need only the operands.
        node: the node being lowered.
    """

    def __init__(self, graph: Graph, name: str, find: Callable[[Any], Lowering | None]) -> None:
        self.builder = Builder(new_context(), name)
        self.node: Any = None
        self._graph = graph
        self._find = find
        self._values: dict[Any, Any] = {}
        self._branches: dict[Any, list[_Region]] = {}

    # ---- for rules --------------------------------------------------------------------------------------------------

    def out_dtype(self, index: int = 0) -> np.dtype[Any]:
        """Dtype of the node's output."""
        return np.dtype(self.node.outputs[index].type.dtype)

    def constant(self, value: Any, dtype: Any = None) -> Tensor:
        """A constant tensor."""
        return self.builder.constant(value, dtype)

    def dim(self, tensor: Tensor, what: str) -> Dim:
        """The dimension that an integer scalar stands for; an error when it is computed from data."""
        return self.builder.dim_of(tensor, what)

    def equate(self, a: Dim, b: Dim, what: str, kind: DemandKind = "") -> Dim:
        """Demands that two sizes are equal."""
        return self.builder.equate(a, b, what, kind)

    def at_least(self, a: Dim, low: Dim, what: str, kind: DemandKind = "") -> None:
        """Demands a lower bound of a size."""
        self.builder.at_least(a, low, what, kind)

    def check(self, flag: Tensor, exception: str, message: str) -> None:
        """Makes the call raise when an element of the boolean `flag` is false in a run."""
        self.builder.check(hlo.reduce_monoid(flag, range(flag.ndim), "and") if flag.ndim else flag, exception, message)

    def literal(self, variable: Any) -> Any:
        """The numpy value of a constant variable of the graph, or None."""
        return self._graph.constant(variable)

    def value(self, variable: Any) -> Tensor:
        """What a variable of the graph has become, which has been lowered or is a constant."""
        found: Any = self._values.get(variable)
        if isinstance(found, Undeclared):
            raise UnsupportedGraphError(found.why)
        if found is None:
            value = self._graph.constant(variable)
            if isinstance(value, np.ndarray | np.generic):
                found = self.builder.constant(value, np.dtype(variable.type.dtype))
            else:
                found = value  # slices, None, sparse matrices: rules that take them read them as they are
            self._values[variable] = found
        return found

    def lower_inner(self, inputs: Sequence[Any], outputs: Sequence[Any], operands: Sequence[Tensor]) -> list[Tensor]:
        """Lowers an inner graph in place, with `operands` for its inputs."""
        outer_values, outer_branches = self._values, self._branches
        self._values, self._branches = dict(zip(inputs, operands, strict=True)), {}
        try:
            with self._place_kept():
                self._lower(self._place(order(outputs, set(inputs)), outputs))
                return [self._inside(variable) for variable in outputs]
        finally:
            self._values, self._branches = outer_values, outer_branches

    def lower_more(self, variables: Sequence[Any]) -> list[Tensor]:
        """Lowers variables that are not in the graph, of ones that have been lowered."""
        known = dict(self._values)
        return self.lower_inner(list(known), variables, list(known.values()))

    def branch(self, index: int) -> Callable[[], list[Tensor]]:
        """For a lazy op: lowers what branch `index` needs, when called, and returns the branch's operands."""
        node = self.node
        positions = self._find(node.op).branches(node.op)[index]  # type: ignore[union-attr, misc]

        def build() -> list[Tensor]:
            with self._place_kept():
                self._lower(self._branches[node][index])
                return [self._inside(node.inputs[p]) for p in positions]

        return build

    def lower_op(self, op: Any, node: Any, operands: Sequence[Tensor]) -> Any:
        """Applies the rule of another op to this node's operands (for ops that wrap one)."""
        lowering = self._find(op)
        if lowering is None:
            raise UnsupportedOpError(f"{type(op).__name__} inside {self._graph.describe(node)} has no lowering rule")
        return lowering.rule(self, node, *operands)

    # ---- order, regions ---------------------------------------------------------------------------------------------

    def _refuse_unsupported(self, main: Sequence[Any]) -> None:
        found: list[tuple[Any, str]] = []
        stack: list[tuple[Sequence[Any], str]] = [(main, "")]
        checked: dict[int, bool] = {}  # ops, and whether each of their nodes is to be asked
        while stack:
            nodes, place = stack.pop()
            for number, node in enumerate(nodes):
                if checked.get(id(node.op)) is False:
                    continue
                lowering, why = self._find(node.op), ""
                if lowering is not None:
                    why = ", ".join(lowering.unsupported(node.op)) if lowering.unsupported is not None else ""
                    why = why or (lowering.refuses(node) if lowering.refuses is not None else "")
                if lowering is None or why:
                    where = f"{why}; " * bool(why) + f"node {number + 1} of {len(nodes)}{place}"
                    found.append((node.op, f"  {self._graph.describe(node)}  [{where}]"))
                    continue
                inner = self._graph.inner(node.op) if lowering.inner and id(node.op) not in checked else None
                checked[id(node.op)] = lowering.refuses is not None
                if inner is not None:
                    stack.append((inner, f", inside {type(node.op).__name__} at node {number + 1}{place}"))
        if found:
            plural = "s have" if len(found) > 1 else " has"
            listed = "\n".join(line for _, line in found)
            error = UnsupportedOpError(
                f"{len(found)} node{plural} no lowering rule:\n{listed}\nWrite the graph without them, or register a "
                "rule: @hlograph.builder.lowers(TheOp) on a function (ctx, node, *operands) -> Tensor. "
                'on_unsupported="host" has the graph library run such ops in Python, between the others, if they say '
                "their shapes."
            )
            error.ops = tuple(op for op, _ in found)
            raise error

    def _place(self, nodes: Sequence[Any], outputs: Sequence[Any]) -> _Region:
        """Gives each node the innermost region that holds all its uses."""
        root = _Region(None, 0)
        lazy = {node: low for node in nodes if (low := self._find(node.op)) is not None and low.branches}
        if not lazy:
            root.nodes = list(nodes)
            return root
        where: dict[Any, _Region] = {v.owner: root for v in outputs if v.owner is not None}
        for node in reversed(nodes):
            region = where[node]
            region.nodes.append(node)
            target: dict[int, _Region] = {}
            if node in lazy:
                groups = lazy[node].branches(node.op)  # type: ignore[misc]
                self._branches[node] = [_Region(region, region.depth + 1) for _ in groups]
                target = {p: inner for group, inner in zip(groups, self._branches[node], strict=True) for p in group}
            for position, variable in enumerate(node.inputs):
                if variable.owner is not None:
                    use = target.get(position, region)
                    before = where.get(variable.owner)
                    where[variable.owner] = use if before is None else _common(before, use)
        # Nodes were added last first.
        regions = [root, *(inner for inners in self._branches.values() for inner in inners)]
        for region in regions:
            region.nodes.reverse()
        return root

    # ---- nodes ------------------------------------------------------------------------------------------------------

    def _lower(self, region: _Region) -> None:
        builder, values = self.builder, self._values
        for number, node in enumerate(region.nodes):
            given = [variable for variable in node.outputs if variable in values]
            if len(given) == len(node.outputs):
                continue
            lowering = self._find(node.op)
            name, kind = node.outputs[0].name, type(node.op).__name__
            builder.location = ir.Location.name(name or f"{kind}.{number}", context=builder.context)
            builder.where = f"node {name!r}" if name else f"an unnamed {kind} node"
            self.node = node
            inputs = node.inputs
            if lowering.branches is not None:  # type: ignore[union-attr]
                lazy = {position for group in lowering.branches(node.op) for position in group}  # type: ignore[union-attr]
                inputs = [x for position, x in enumerate(inputs) if position not in lazy]
            operands = [self.value(x) for x in inputs]
            results = lowering.rule(self, node, *operands)  # type: ignore[union-attr]
            made = (results,) if isinstance(results, Tensor) else tuple(results)
            self._check_results(lowering, node, made)
            # An output may be an input of the graph: it keeps the value that the caller gives.
            found = zip(node.outputs, made, strict=True)
            values.update((variable, x) for variable, x in found if variable not in given)

    def _check_results(self, lowering: Any, node: Any, results: Sequence[Any]) -> None:
        """Raises `LoweringError` unless a rule's results are of the types of the node's outputs."""
        wrong = None
        if len(results) != len(node.outputs):
            wrong = f"gives {len(results)} results for {len(node.outputs)} outputs"
        for result, variable in zip(results, node.outputs, strict=False):
            type_ = variable.type
            if not hasattr(type_, "broadcastable") or not isinstance(result, Tensor):
                continue  # a generator, a slice; or an op on scalars, which is lowered for all elements at once
            if len(result.dims) != type_.ndim or result.dtype != type_.dtype:
                shown = f"{result.dtype}[{', '.join(map(str, result.dims))}]"
                wrong = f"gives {shown} for {variable.name or 'an output'} of type {type_}"
        if wrong is not None:
            code = getattr(lowering.rule, "__code__", None)
            place = "" if code is None else f" ({os.path.basename(code.co_filename)}:{code.co_firstlineno})"
            rule = f"{getattr(lowering.rule, '__name__', lowering.rule)}{place}"
            raise LoweringError(f"the rule {rule} {wrong}, at {self._graph.describe(node)}")

    @contextmanager
    def _place_kept(self) -> Iterator[None]:
        """Comes back to the node that is being lowered, after others were lowered on its behalf."""
        node, location, where = self.node, self.builder.location, self.builder.where
        try:
            yield
        finally:
            self.node, self.builder.location, self.builder.where = node, location, where

    def _result(self, variable: Any, name: str | None) -> Tensor:
        """What an output is.

        Raises:
            UnsupportedGraphError: it is no dense tensor.
        """
        held = self._values.get(variable)
        found = held.value if isinstance(held, Undeclared) else self._inside(variable)
        if not isinstance(found, Tensor):
            raise UnsupportedGraphError(
                f"output {name or variable} is a {variable.type}, and a program returns dense tensors only "
                "(of a sparse matrix: pytensor.sparse.dense_from_sparse)"
            )
        return found

    def _inside(self, variable: Any) -> Tensor:
        """What leaves a graph.

        Raises:
            UnsupportedGraphError: it never entered the program.
        """
        found: Any = self.value(variable)
        if isinstance(found, Deferred):
            raise UnsupportedGraphError(
                f"{variable.name or variable} is computed in Python and cannot come back: {found.reason}"
            )
        return found


def _common(a: _Region, b: _Region) -> _Region:
    while a is not b:
        if a.depth >= b.depth:
            a = a.parent  # type: ignore[assignment]
        else:
            b = b.parent  # type: ignore[assignment]
    return a
