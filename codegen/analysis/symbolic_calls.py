"""The sizes of a call whose shapes JAX has as symbols, as it has when it exports a function that calls a program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jax import export
from jax.core import max_dim, min_dim

from .. import dims as dimension
from ..dims import Dim
from ..errors import ArgumentShapeError
from ..ir.jax_compat import inconclusive_error
from ..signature import Signature


def is_symbolic(shapes: Sequence[Sequence[Any]]) -> bool:
    """Whether some size is a symbol."""
    return any(export.is_symbolic_dim(size) for shape in shapes for size in shape)


def evaluate(dim: Dim, sizes: Mapping[str, Any]) -> Any:
    """A dimension for sizes that are integers or JAX's expressions."""
    return dimension.rebuild(dim, sizes.__getitem__, minimum=min_dim, maximum=max_dim)


def find_symbols(signature: Signature, shapes: Sequence[Sequence[Any]], values: Mapping[str, int]) -> dict[str, Any]:
    """`find_sizes` of symbols; what cannot be decided of their relations is refused.

    Raises:
        ArgumentShapeError: the shapes contradict the signature, or may contradict it.
    """
    sizes: dict[str, Any] = dict(values)
    for root in signature.roots:
        if root.axis is not None:
            sizes[root.name] = shapes[root.argument][root.axis]
    for argument, given in zip(signature.arguments, shapes, strict=True):
        if tuple(evaluate(dim, sizes) for dim in argument.dims) != tuple(given):
            raise ArgumentShapeError(f"argument {argument}: got shape {tuple(given)}")
    for constraint in signature.constraints:
        lhs, rhs = evaluate(constraint.lhs, sizes), evaluate(constraint.rhs, sizes)
        try:
            if constraint.relation == "!=":
                holds = bool(lhs > rhs) or bool(lhs < rhs)
            else:
                holds = bool(lhs == rhs) if constraint.relation == "==" else bool(lhs >= rhs)
        except inconclusive_error() as error:
            raise ArgumentShapeError(f"expected {constraint}, which JAX cannot decide: {error}") from None
        if not holds:
            raise ArgumentShapeError(f"expected {constraint}, got {lhs} and {rhs}")
    return sizes
