"""Graphs with sparse matrices as graphs of dense tensors.

In: inputs and outputs of a graph, some of which are sparse. Out: the same graph without ops on sparse matrices. In the
place of a sparse input stand its parts, and of a sparse output, too:

    W: Sparse(float64, csr)  ->  W_data: float64[W_nnz], W_indices: int32[W_nnz], W_indptr: int32[rows + 1],
                                 W_columns: int8[W_columns, 0]

An array without elements tells a size that nothing else does, so that all sizes are those of axes.

What comes out is differentiated, batched and rewritten as any other graph is, and needs time in proportion to the
number of values. The library's sparse modules are imported only for a graph that holds something of theirs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...codegen.errors import UnsupportedGraphError
from ...codegen.graph import fresh, order, root_base
from ...codegen.sparse_parts import COMPRESSED, OTHER_SIZE, compressed, part_of
from ..library import Library
from ..releases import inner_graph, inner_graphs, with_inner_graph
from ..transforms import Plain, looked_up
from .kit import MAJOR, Kit, Matrix
from .ops import expand, of_sparse


def is_sparse(variable: Any) -> bool:
    """Whether a variable is a sparse matrix."""
    return type(variable.type).__name__ == "SparseTensorType"


def lower(
    library: Library,
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    names: Sequence[str | None],
    containers: Mapping[Any, Any],
) -> Plain:
    """The graph without sparse matrices, as it is where it has none.

    Args:
        library: the graph library's classes.
        inputs, outputs: the graph's.
        names: those of the outputs.
        containers: of inputs that are a compiled function's own variables.

    Raises:
        UnsupportedGraphError: an op without an expansion takes a sparse matrix.
    """
    known = library.package == "pytensor" and "pytensor.sparse" in sys.modules  # ops of its own are PyTensor's
    nodes = order(outputs, set(inputs)) if known else []
    if not known or not (any(map(is_sparse, (*inputs, *outputs))) or any(map(_holds, _ops_of(nodes)))):
        return Plain(list(inputs), list(outputs), list(names))
    with looked_up(library.module):
        return _Lowering(library, inputs, containers).run(nodes, outputs, names)


def _holds(op: Any) -> bool:
    if of_sparse(type(op)):
        return True
    fgraphs = inner_graphs(getattr(op, "core_op", op))
    return any(map(_holds, _ops_of(node for fgraph in fgraphs for node in fgraph.apply_nodes)))


def _ops_of(nodes: Iterable[Any]) -> Iterable[Any]:
    return {id(node.op): node.op for node in nodes}.values()


class Part:
    """A part of a shared sparse matrix, read as a shared variable is."""

    def __init__(self, container: Any, part: str) -> None:
        self.container, self.part = container, part

    def get_value(self, borrow: bool = True) -> Any:
        """The current value."""
        return part_of(compressed(self.container.get_value(borrow=True)), self.part)


class _Lowering:
    """The walk through a graph, operands first."""

    def __init__(self, library: Library, inputs: Sequence[Any], containers: Mapping[Any, Any]) -> None:
        self.library, self.kit = library, Kit(library)
        self.found = Plain()
        self._new: dict[Any, Any] = {}
        self._listed = list(inputs)
        self._containers = containers
        self._roots: set[str] = set()
        self._names = {x.name for x in inputs if not is_sparse(x)}

    def run(self, nodes: Sequence[Any], outputs: Sequence[Any], names: Sequence[str | None]) -> Plain:
        """The whole graph."""
        found, kit = self.found, self.kit
        self._shorten_shapes(nodes)
        for number, x in enumerate(self._listed):
            found.inputs += self._split(x, number) if is_sparse(x) else [self._new.get(x, x)]
        for x in (*(x for node in nodes for x in node.inputs), *outputs):
            if isinstance(x, self.library.shared) and is_sparse(x) and x not in self._new:
                found.inputs += self._split(x, len(found.inputs), x)
        self.walk(nodes)
        for number, (x, name) in enumerate(zip(outputs, names, strict=True)):
            y = self.read(x)
            if not isinstance(y, Matrix):
                found.outputs.append(y)
                found.names.append(name)
                continue
            name = name or f"out{number}"
            form = x.type.format
            y = kit.in_form(y, COMPRESSED[form])
            sizes = [kit.tensor.as_tensor_variable(y.minor_size, dtype="int64")]
            values = [y.values, kit.cast(y.indices, "int32"), kit.cast(y.starts, "int32"), *sizes]
            for part, value in zip(("data", "indices", "indptr", OTHER_SIZE[form]), values, strict=True):
                found.results[len(found.outputs)] = (name, form, part)
                found.outputs.append(value)
                found.names.append(f"{name}_{part}")
        return found

    def walk(self, nodes: Sequence[Any]) -> None:
        """All nodes."""
        for node in nodes:
            operands = [self.read(x) for x in node.inputs]
            self.kit.where = str(node.outputs[0].name or node.op)
            if of_sparse(type(node.op)):
                results = expand(self.kit, node, operands)
            elif any(isinstance(x, Matrix) for x in operands):
                results = self._expand_other(node, operands)
            else:
                results = self._copied(node, operands)
            if results is None:
                raise UnsupportedGraphError(
                    f"{node.op} takes or gives sparse matrices and cannot be lowered; pass their parts "
                    "(pytensor.sparse.csm_properties), and make the matrix of them (CSR, CSC) where it is used"
                )
            for old, new in zip(node.outputs, results, strict=True):
                self._new[old] = new if new is old else self._as_declared(new, old)

    # ---- inputs -----------------------------------------------------------------------------------------------------

    def _split(self, x: Any, number: int, shared: Any = None) -> list[Any]:
        form = x.type.format
        stored = COMPRESSED[form]
        name = fresh(root_base(x.name or "", number), self._names)
        major, minor = (x.type.shape[axis] for axis in (MAJOR[stored], 1 - MAJOR[stored]))
        vector, other = self.kit.tensor.vector, OTHER_SIZE[form]
        data = vector(f"{name}_data", dtype=x.type.dtype)
        indices = vector(f"{name}_indices", dtype="int32")
        starts = vector(f"{name}_indptr", shape=(None if major is None else major + 1,), dtype="int32")
        parts = {"data": data, "indices": indices, "indptr": starts}
        if minor is None:
            parts[other] = self.kit.tensor.matrix(f"{name}_{other}", shape=(None, 0), dtype="int8")
            self.found.axes[parts[other]] = (fresh(f"{name}_{other}", self._roots), None)
        count = fresh(f"{name}_nnz", self._roots)
        self.found.axes.update({data: (count,), indices: (count,)})
        for part, variable in parts.items():
            self.found.parts[variable] = (
                name,
                form,
                part,
                *([str(minor)] if part == "data" and minor is not None else []),
            )
            self.found.given[variable] = variable
            container = shared if shared is not None else self._containers.get(x)
            if container is not None:
                self.found.containers[variable] = Part(container, part)
        sizes = (starts.shape[0] - 1 if major is None else major, parts[other].shape[0] if minor is None else minor)
        shape = sizes if stored == "csr" else sizes[::-1]
        self._new[x] = Matrix(self.kit, stored, data, shape, indices, given_starts=starts)
        return list(parts.values())

    def _shorten_shapes(self, nodes: Sequence[Any]) -> None:
        listed = set(self._listed)
        for node in nodes:
            if of_sparse(type(node.op)) and type(node.op).__name__ == "CSM":
                x = node.inputs[3]
                if x in listed and x.type.shape == (None,):
                    y = self._new[x] = x.type.clone(shape=(2,))(name=x.name)
                    self.found.given[y] = x

    # ---- nodes ------------------------------------------------------------------------------------------------------

    def read(self, x: Any) -> Any:
        """What stands for a variable now: a variable or a matrix."""
        if x in self._new:
            return self._new[x]
        if is_sparse(x) and isinstance(x, self.library.constant):
            kit, value = self.kit, compressed(x.data)
            count = int(value.indptr[-1])
            data, indices, starts = map(kit.constant, (value.data[:count], value.indices[:count], value.indptr))
            shape = (int(value.shape[0]), int(value.shape[1]))
            self._new[x] = Matrix(kit, value.format, data, shape, indices, given_starts=starts)
            return self._new[x]
        return x

    def _copied(self, node: Any, operands: Sequence[Any]) -> list[Any]:
        if not _holds(node.op):
            same = all(x is y for x, y in zip(operands, node.inputs, strict=True))
            return list((node if same else node.clone_with_new_inputs(operands)).outputs)
        inputs, outputs = inner_graph(node.op)
        if any(map(is_sparse, (*inputs, *outputs))):
            raise UnsupportedGraphError(
                f"{node.op} takes or gives sparse matrices; its inner graph may hold constants only"
            )
        inner = _Lowering(self.library, inputs, {})
        inner.walk(order(outputs, set(inputs)))
        op = with_inner_graph(node.op, inputs, [inner.read(x) for x in outputs])
        return list(op.make_node(*operands).outputs)

    def _expand_other(self, node: Any, operands: Sequence[Any]) -> list[Any] | None:
        kind, kit, x = type(node.op).__name__, self.kit, operands[0]
        if kind in ("DeepCopyOp", "ViewOp"):
            return [x]
        if kind == "Shape_i":
            return [kit.tensor.as_tensor_variable(x.shape[node.op.i], dtype="int64")]
        if kind == "Shape":
            return [kit.shape_vector(x.shape)]
        return None

    def _as_declared(self, new: Any, old: Any) -> Any:
        if isinstance(new, Matrix):
            values = self.kit.cast(new.values, old.type.dtype)
            return new if values is new.values else new.with_values(values)
        if not hasattr(old.type, "shape") or new.type.ndim != old.type.ndim:
            return new
        new = self.kit.cast(new, old.type.dtype)
        missing = [s if n is None else None for s, n in zip(old.type.shape, new.type.shape, strict=True)]
        new = new if all(size is None for size in missing) else self.kit.tensor.specify_shape(new, missing)
        if old.name and new.owner is not None and new.name is None:
            new.name = old.name
        return new
