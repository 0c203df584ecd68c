"""Which ops on sparse matrices are known, and what each is in terms of tensors.

In: an op of a graph library. Out: its expansion, `expansion(kit, node, *operands)`, from matrices (`matrices.Matrix`)
and variables to the node's results, which are such, too. Registered as lowering rules are, by the op's class's name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from ..registry import LIBRARIES
from .kit import Kit

Expansion = Callable[..., Any]

COMPARISONS = {
    "Equal": "eq",
    "NotEqual": "neq",
    "LessThan": "lt",
    "GreaterThan": "gt",
    "LessEqual": "le",
    "GreaterEqual": "ge",
}
_FILES = ("building", "arithmetic", "products", "indexing")
_EXPANSIONS: dict[str, Expansion] = {}
# What classes were called before PyTensor 3.2, and in Aesara.
_FORMER = {
    **{f"{name}SS": f"{name}SparseSparse" for name in (*COMPARISONS, "Add")},
    **{f"{name}SD": f"{name}SparseDense" for name in (*COMPARISONS, "Add")},
    "AddSSData": "AddSparseSparseData",
    "StructuredAddSV": "StructuredAddSparseDenseVector",
    **dict.fromkeys(("MulSS", "SparseSparseMultiply"), "MultiplySparseSparse"),
    **dict.fromkeys(("MulSD", "SparseDenseMultiply"), "MultiplySparseDense"),
    **dict.fromkeys(("MulSV", "SparseDenseVectorMultiply"), "MultiplySparseDenseVector"),
}


def expands(*ops: str) -> Callable[[Expansion], Expansion]:
    """Registers an expansion for ops by class name."""

    def register(expansion: Expansion) -> Expansion:
        _EXPANSIONS.update(dict.fromkeys(ops, expansion))
        return expansion

    return register


def registered() -> dict[str, Expansion]:
    """All expansions, by the names of ops."""
    for file in _FILES:
        import_module(f".{file}", __package__)
    return dict(_EXPANSIONS)


def of_sparse(class_: type) -> bool:
    """Whether a class is of a library's package for sparse matrices."""
    library, _, module = class_.__module__.partition(".")
    return library in LIBRARIES and module.partition(".")[0] == "sparse"


def name_of(class_: type) -> str:
    """The name that a class has in PyTensor now."""
    return _FORMER.get(class_.__name__, class_.__name__)


def find_class(class_: type) -> Expansion | None:
    """The expansion of the ops of a class, or None."""
    known = registered()
    return next((known[name_of(base)] for base in class_.__mro__ if of_sparse(base) and name_of(base) in known), None)


def expand(kit: Kit, node: Any, operands: Sequence[Any]) -> list[Any] | None:
    """The results of a node in terms of tensors; None for an op that has no expansion."""
    expansion = find_class(type(node.op))
    if expansion is None:
        return None
    found = expansion(kit, node, *operands)
    return list(found) if isinstance(found, list | tuple) else [found]
