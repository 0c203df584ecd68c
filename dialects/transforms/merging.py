"""Equal nodes of a graph as one, before its gradient is made: `x / y` written three times has one derivative.

In: outputs of a graph. Out: outputs of a graph in which nodes of the same op and inputs are the same node; what is not
merged stays as it is. Equal nodes give equal bits, so the function keeps its own; a gradient adds cotangents up before
it multiplies, where it would have added products. Decision to know: only ops on tensors that the library itself
computes with are merged: no draws, no ops that run Python or hold a graph, nothing that writes to its inputs.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

from ..walk import order

# Modules of ops on tensors, in both libraries.
_PURE = frozenset(
    {"basic", "blas", "blockwise", "elemwise", "extra_ops", "linalg", "math", "nlinalg", "reduction", "shape"}
    | {"slinalg", "sort", "special", "subtensor"}
)
_SMALL = 64  # of a constant with so many elements at most, another one like it is looked for


def merged(outputs: Sequence[Any], known: Container[Any] = ()) -> list[Any]:
    """The outputs, of a graph without equal nodes.

    Args:
        outputs: variables.
        known: variables that stay, whatever they are made of.
    """
    new: dict[Any, Any] = {}
    nodes: dict[Any, Any] = {}
    constants: dict[Any, Any] = {}
    for node in order(outputs, known):
        inputs = [new.get(x, x) if x.owner is not None else constants.setdefault(_value(x), x) for x in node.inputs]
        key = (node.op, *inputs) if _is_pure(node.op) else node
        same = nodes.get(key)
        if same is None:
            changed = any(one is not other for one, other in zip(inputs, node.inputs, strict=True))
            same = nodes[key] = node.clone_with_new_inputs(inputs) if changed else node
        if same is not node:
            new.update(zip(node.outputs, same.outputs, strict=True))
    return [new.get(x, x) for x in outputs]


def _value(variable: Any) -> Any:
    """A key for a constant, which others of the same value have; the variable for all else."""
    data: Any = getattr(variable, "data", None)
    if not hasattr(data, "tobytes") or data.size > _SMALL:
        return variable
    return variable.type, data.shape, data.tobytes()


def _is_pure(op: Any) -> bool:
    if getattr(op, "destroy_map", None):
        return False
    modules = [type(each).__module__.split(".") for each in (op, getattr(op, "core_op", op))]
    return all(len(path) > 2 and path[1] == "tensor" and path[2] in _PURE for path in modules)
