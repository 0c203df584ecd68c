"""What is plain to see to be the same for all elements of a batch, for one of them.

PyTensor's gradient of a `Blockwise` gives shapes a batch axis (`broadcast_to(x.shape, ...)`), and all that is computed
from them: sizes that the core op's rule must know.
"""

from __future__ import annotations

from typing import Any

from ..library import Library
from ..releases import axis_property


def of_one_element(library: Library, variable: Any, rank: int) -> Any | None:
    """A variable for one element of a batch, if it is plain to see that it is the same for all.

    Args:
        library: the graph library's classes.
        variable: has the batch axes in front.
        rank: their number.

    Returns:
        A variable without these axes, or None.
    """
    found = _of_one_element(library, variable, rank)
    if found is None and all(variable.type.broadcastable[:rank]):
        return variable.dimshuffle(*range(rank, variable.type.ndim))
    return found


def _of_one_element(library: Library, variable: Any, rank: int) -> Any | None:
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
        core = of_one_element(library, owner.inputs[0], rank)
        return None if core is None else type(op)(op.idx_list[rank:])(core, *owner.inputs[1:])
    if name in ("DimShuffle", "ExpandDims"):
        given = [axis for axis in op.new_order[:rank] if axis != "x"]  # others are stretched
        if given != list(range(len(given))):
            return None
        [inner] = owner.inputs
        core = of_one_element(library, inner, len(given)) if given else inner
        order = [axis if axis == "x" else axis - len(given) for axis in op.new_order[rank:]]
        return None if core is None else core.dimshuffle(*order)
    if hasattr(op, "scalar_op") and name == "Elemwise":
        cores = [of_one_element(library, x, rank) for x in owner.inputs]
        return None if any(core is None for core in cores) else op(*cores)
    axis = axis_property(op) if name == "Join" else None
    if axis is not None and axis >= rank:
        cores = [of_one_element(library, x, rank) for x in owner.inputs]
        return None if any(core is None for core in cores) else library.module("tensor").join(axis - rank, *cores)
    if hasattr(op, "scalar_op") and op.axis is not None and min(op.axis) >= rank:
        core = of_one_element(library, owner.inputs[0], rank)
        return None if core is None else op.clone(axis=tuple(axis - rank for axis in op.axis))(core)
    return None
