"""Shapes that JAX has as symbols, when it exports: our dimensions in JAX's expressions.

In: a signature, and operands' shapes that may hold `jax.export` dimension expressions. Out: the sizes of the roots as
such expressions, and shapes made of them.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

from jax import export
from jax.core import max_dim, min_dim

from ...codegen import dims as dimension
from ...codegen.dims import Dim
from ...codegen.errors import ArgumentShapeError
from ...codegen.ir.jax_compat import inconclusive_error
from ...codegen.signature import Signature


def is_symbolic(shapes: Sequence[Sequence[Any]]) -> bool:
    """Whether some size is a symbol of JAX's."""
    return any(export.is_symbolic_dim(size) for shape in shapes for size in shape)


def evaluate(dim: Dim, sizes: Mapping[str, Any]) -> Any:
    """A dimension for sizes that are integers or JAX's expressions."""
    return dimension.rebuild(
        dim,
        sizes.__getitem__,
        const=int,
        add=operator.add,
        mul=operator.mul,
        floordiv=operator.floordiv,
        mod=operator.mod,
        minimum=min_dim,
        maximum=max_dim,
    )


def shape(dims: Sequence[Dim], sizes: Mapping[str, Any]) -> tuple[Any, ...]:
    """A shape for sizes that are integers or JAX's expressions."""
    return tuple(evaluate(dim, sizes) for dim in dims)


def find_sizes(signature: Signature, shapes: Sequence[Sequence[Any]], values: Mapping[str, int]) -> dict[str, Any]:
    """The size of every root; what cannot be decided of the sizes' relations is refused.

    Args:
        signature: the program's.
        shapes: one per argument.
        values: the roots that are integer arguments' values.

    Raises:
        ArgumentShapeError: the shapes contradict the signature, or may contradict it.
    """
    sizes: dict[str, Any] = dict(values)
    for root in signature.roots:
        if root.axis is not None:
            sizes[root.name] = shapes[root.argument][root.axis]
    for argument, given in zip(signature.arguments, shapes, strict=True):
        if len(given) != len(argument.dims) or shape(argument.dims, sizes) != tuple(given):
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
