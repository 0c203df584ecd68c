"""Differences between releases of PyTensor and Aesara in what an op says about itself.

In: an op or a node. Out: the same answer for all releases. A rule asks here; a name that has changed, or an operand
that has become a property, is in this file and nowhere else. Which *names* of ops and rewrites a release has is no
matter of this file: rules for names that do not exist are never asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any

import numpy as np


def axis_property(op: Any) -> int | None:
    """The axis of a `Join`, `Split`, `SortOp` or `ArgSortOp` that has it as a property (PyTensor 3.3).

    None where it is an operand: the first one of `Join`, the second one of the others.
    """
    axis: int | None = getattr(op, "axis", None)
    return axis


def axis_of(axis: int | None, rank: int) -> int | None:
    """An axis as it is counted from the front: PyTensor's ops say it so, Aesara's say what the user said."""
    return axis if axis is None or axis >= 0 else axis + rank


def inner_graph(op: Any) -> tuple[list[Any], list[Any]]:
    """Inputs and outputs of an op's inner graph, to make further graphs of.

    Of a graph that the library holds frozen (PyTensor 3.3), whose nodes cannot be made again with other operands, these
    are those of a copy.
    """
    fgraph = op.fgraph
    if hasattr(fgraph, "unfreeze"):
        fgraph = fgraph.unfreeze()
    return list(fgraph.inputs), list(fgraph.outputs)


def inner_graphs(op: Any) -> list[Any]:
    """The function graphs inside of an op, of which `LazyIfElse` (PyTensor 3.3) has two."""
    fgraph = getattr(op, "fgraph", None)
    if fgraph is not None:
        return [fgraph]
    return list(op.inner_graphs.values()) if type(op).__name__ == "LazyIfElse" else []


def draw_parts(op: Any, operands: Sequence[Any]) -> tuple[Any, Any, list[Any]]:
    """The op, the size and the parameters of a random variable, of its operands (variables or handles of them).

    Aesara has the dtype's number among them, and an empty vector for no size. Its `permutation` orders what it gets as
    a whole, which PyTensor's says by the rank of its parameter; its `choice` has no chances, or a vector of them.
    """
    _, size, *rest = operands
    if hasattr(op, "dist_params"):
        return op, size, rest
    shape = size.dims if hasattr(size, "dims") else size.type.shape
    parameters = rest[1:]
    if type(op).__name__ == "PermutationRV":
        rank = int(parameters[0].ndim)
        op = copy(op)
        op.ndims_params, op.ndim_supp = (rank,), max(rank, 1)
    if type(op).__name__ == "ChoiceRV":
        *parameters, replace = [x for x in parameters if hasattr(x, "ndim")]
        op = copy(op)
        op.ndims_params = (1,) * len(parameters)
        op.replace = bool(getattr(replace, "literal", getattr(replace, "data", None)))
    return op, None if shape == (0,) else size, parameters


def inferred_shape(op: Any, size: Any, parameters: Sequence[Any], shapes: Sequence[Any]) -> Sequence[Any]:
    """The shape of a random variable's draw; no size is an empty one in Aesara."""
    if not hasattr(op, "dist_params") and not hasattr(size.type, "shape"):
        size = np.zeros(0, np.int64)
    if type(op).__name__ == "ChoiceRV":  # the other operands say nothing of shapes
        return [*size, *([] if len(size) else shapes[0][:-1])]
    found: Sequence[Any] = op._infer_shape(size, parameters, param_shapes=shapes)
    return found


def with_initial(op: Any) -> bool:
    """Whether a maximum or minimum of no elements is the smallest or largest number (PyTensor 3.3), and no error."""
    return bool(getattr(op, "initial", False))


def shape_arguments(arguments: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
    """Node and shapes of the arguments of `Op.infer_shape`; before PyTensor 3.3 the function graph is in front."""
    node, shapes = arguments[-2:]
    return node, shapes


def unflatten(idx_list: Sequence[Any], operands: Sequence[Any]) -> list[Any]:
    """Puts index operands in the places of `idx_list`: positions in PyTensor 3, types before."""
    rest: Iterator[Any] = iter(operands)

    def fill(entry: Any) -> Any:
        return None if entry is None else next(rest)

    filled: list[Any] = []
    for entry in idx_list:
        if isinstance(entry, slice):
            filled.append(slice(fill(entry.start), fill(entry.stop), fill(entry.step)))
        else:
            filled.append(fill(entry))
    return filled


def untraced_field(info: Any) -> str:
    """What a Scan's parts call the number of states without a trace; they were "shared" in Aesara."""
    return "n_untraced_sit_sot" if hasattr(info, "n_untraced_sit_sot") else "n_shared_outs"


def scan_op(op: Any, inputs: Sequence[Any], outputs: Sequence[Any], info: Any) -> Any:
    """A Scan like another, of another inner graph and parts."""
    kept = {name: getattr(op, name) for name in ("mode", "truncate_gradient", "name", "profile", "allow_gc")}
    return type(op)(list(inputs), list(outputs), info, **kept)


def with_inner_graph(op: Any, inputs: Sequence[Any], outputs: Sequence[Any]) -> Any:
    """A Scan or an `OpFromGraph` like another, with other inner outputs of the same inputs.

    Args:
        op: the op.
        inputs, outputs: of the new inner graph, which the op may keep.
    """
    if hasattr(op, "clone_with_inner_graph"):
        mutable = type(op.fgraph.unfreeze())
        return op.clone_with_inner_graph(mutable(list(inputs), list(outputs), clone=False))
    if type(op).__name__ == "Scan":
        return scan_op(op, inputs, outputs, op.info)
    new = copy(op)
    new.fgraph = type(op.fgraph)(list(inputs), list(outputs), clone=False)
    if hasattr(op, "_frozen_fgraph"):  # by which PyTensor 3.0 compares ops
        new._frozen_fgraph = new.fgraph.freeze()
    return new


def with_core(op: Any, core: Any) -> Any:
    """A `Blockwise` like another, of another op."""
    new = copy(op)
    new.core_op = core
    return new
