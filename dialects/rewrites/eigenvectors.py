"""The gradient of `eigh`, also where eigenvalues are equal or nearly so.

    V (diag(gw) + F * C) V^T,   C = V^T gV,   F[i, j] = 1 / (w[j] - w[i])

is what PyTensor writes. Only the skew part `R = C - C^T` of C counts. What is a function of the matrix (a power of it,
a quadratic form, a determinant through the decomposition) does not see which eigenvectors of equal eigenvalues it gets,
so that R[i, j] is 0 wherever w[i] = w[j], and `R[i, j] / (w[j] - w[i])` is rounding over rounding. Its limit is the
slope of R[i, j] as the two part. In: a graph. Out: the graph with that slope where the quotient has lost more digits.

Decision to know: R's slope at w[i] = w[j] points along w[j] - w[i], so that one derivative of gV along any direction t
with t[i] != t[j] has those of all pairs; V is held, and A moves with w. A second one, along ones, makes the slope that
of the middle between w[i] and w[j]. Whether R is 0 is examined with other eigenvectors of the same eigenvalues. It is
not where an element of one eigenvector counts, or where eigenvectors leave the graph, so that their cotangents come
from outside and nobody can tell how they move: then equal eigenvalues make the gradient NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...codegen.graph import order
from .rebuilding import kind_of, replaced

_ROUNDING = 16  # units in the last place that eigenvalues and products of matrices may be off by, relative to sums
Module = Callable[[str], Any]


def with_slopes(module: Module, outputs: Sequence[Any]) -> list[Any]:
    """The outputs of a graph in which gradients of `eigh` hold for equal eigenvalues, too.

    Args:
        module: imports a module of the graph library.
        outputs: the graph's.
    """
    nodes = order(outputs)
    made: dict[Any, Any] = {}
    for node in nodes:
        if type(node.op).__name__ == "EighGrad":  # before PyTensor 3
            _, values, vectors, by_values, by_vectors = node.inputs
            if values.owner is not None and values.owner is vectors.owner:
                pairs = _Pairs(module, values.owner, by_vectors)
                made[node.outputs[0]] = pairs.whole(by_values, node.op.UPLO == "L")
        elif kind_of(node.outputs[0]) == "Mul" and len(node.inputs) == 2:
            found = _quotient(*node.inputs) or _quotient(*reversed(node.inputs))
            if found is None:
                continue
            pairs = _Pairs(module, *found)
            made[node.outputs[0]] = pairs.mixed
            # The gradient by B of `A v = w B v` takes what stands before w's columns, which is not symmetric.
            for other in nodes:
                scaled = [x for x in other.inputs if kind_of(x) == "Add" and node.outputs[0] in x.owner.inputs]
                if scaled and kind_of(other.outputs[0]) == "Mul":
                    (diagonal,) = (x for x in scaled[0].owner.inputs if x is not node.outputs[0])
                    made[other.outputs[0]] = pairs.scaled(diagonal)
    return replaced(outputs, made) if made else list(outputs)


def _quotient(factor: Any, product: Any) -> tuple[Any, Any] | None:
    """The node of `eigh` and gV, of the operands of `F * (V^T gV)`."""
    if kind_of(factor) != "Switch" or product.owner is None or len(product.owner.inputs) != 2:
        return None
    quotient = _peeled(factor.owner.inputs[2])
    gaps = _peeled(quotient.owner.inputs[1]) if kind_of(quotient) == "TrueDiv" else quotient
    if kind_of(gaps) != "Sub":
        return None
    values, same = map(_peeled, gaps.owner.inputs)
    node = values.owner
    if values is not same or node is None or type(getattr(node.op, "core_op", node.op)).__name__ != "Eigh":
        return None
    return (node, product.owner.inputs[1]) if _peeled(product.owner.inputs[0]) is node.outputs[1] else None


def _peeled(variable: Any) -> Any:
    while kind_of(variable) == "DimShuffle":
        variable = variable.owner.inputs[0]
    return variable


class _Pairs:
    """What the gradients of the eigenvectors of one matrix say about pairs of them.

    Attributes:
        mixed: what stands for `F * C`; symmetric.
    """

    def __init__(self, module: Module, node: Any, by_vectors: Any) -> None:
        self._tensor, self._module, self._node = module("tensor"), module, node
        self._values, self._vectors = node.outputs
        pt, values = self._tensor, self._values
        size, dtype = self._vectors.shape[-1], np.dtype(values.type.dtype)
        steps = pt.arange(size).astype(dtype)
        self._product = self._dot(_turned(self._vectors), by_vectors)
        skew, gap = self._product - _turned(self._product), _across(values) - _down(values)
        self._diagonal = pt.eq(_across(steps), _down(steps))
        slopes = self._moved(by_vectors, [steps, pt.ones_like(steps)])
        along, shift = (self._skew(self._vectors, x) for x in slopes or [pt.zeros_like(by_vectors)] * 2)
        parted = pt.switch(self._diagonal, 1, _across(steps) - _down(steps)).astype(dtype)
        slope = (along - shift * ((_across(steps) + _down(steps)) / 2).astype(dtype)) / parted

        eps = float(np.finfo(dtype).eps)
        scale = _down(abs(values).sum(-1, keepdims=True))
        root, rounding = np.asarray(eps**0.5, dtype), np.asarray(_ROUNDING * eps, dtype)
        # The quotient is off by rounding over the gap, the slope by less than the gap times its change.
        close = (abs(gap) <= scale * root) & (abs(shift * gap) <= _sizes(by_vectors) * rounding)
        same = (abs(gap) <= scale * rounding) & ~self._diagonal
        if slopes is None:
            other = _sizes(by_vectors) > 0
        else:
            turned, probed = self._probed(by_vectors, same, steps)
            other = ~(abs(self._skew(turned, probed)) <= _sizes(probed) * root)
        quotient = pt.switch(close, slope, skew / pt.switch(close | self._diagonal, 1, gap).astype(dtype))
        # A factor, so that what is made of the gradient is NaN, too.
        factor = pt.switch(same & other, np.asarray(np.nan, dtype), pt.switch(self._diagonal, 0, 0.5)).astype(dtype)
        self.mixed = quotient * factor

    def whole(self, by_values: Any, lower: bool) -> Any:
        """The gradient by the triangle of the matrix that is read."""
        vectors = self._vectors
        middle = self._dot(vectors * _across(by_values), _turned(vectors))
        whole = middle + self._dot(self._dot(vectors, self.mixed), _turned(vectors))
        triangle, strict = self._tensor.tril(whole), self._tensor.tril(whole, -1)
        return triangle + strict if lower else _turned(triangle + strict)

    def scaled(self, diagonal: Any) -> Any:
        """The symmetric part of `(diag(gw) + F * C) diag(w)`."""
        values, product = self._values, self._product
        mean = (_down(values) + _across(values)) / 2
        rest = self._tensor.switch(self._diagonal, 0, product + _turned(product)) / 4
        return (diagonal * _across(values) + self.mixed * mean + rest).astype(product.type.dtype)

    def _moved(self, by_vectors: Any, directions: Sequence[Any]) -> list[Any] | None:
        """The derivatives of gV as the eigenvalues move, with the eigenvectors held; None where they cannot be had."""
        gradient, matrix = self._module("gradient"), self._node.inputs[0]
        held = {x: x.type() for x in (matrix, self._values, self._vectors)}
        back = {copy: x for x, copy in held.items()}
        (value,) = replaced([by_vectors], held)
        seed = value.type()
        by = [held[self._values]]
        if held[matrix] is value or any(held[matrix] in node.inputs for node in order([value])):
            if len(self._node.inputs) > 1:
                return None
            by.append(held[matrix])

        def pull(known: dict[Any, Any], wrt: list[Any]) -> list[Any]:
            how = {"disconnected_inputs": "ignore", "return_disconnected": "none"}
            return list(gradient.grad(None, wrt, known_grads=known, **how))

        try:
            copied = self._module("tensor.basic").tensor_copy
            pulled = pull({copied(value): seed}, by)
            found = []
            for direction in directions:
                moved_matrix = self._dot(self._vectors * _across(direction), _turned(self._vectors))
                pairs = zip(pulled, (self._values * 0 + direction, moved_matrix), strict=False)
                linear = {copied(g): t.astype(g.type.dtype) for g, t in pairs if g is not None}
                (moved,) = pull(linear, [seed]) if linear else [None]
                found.append(self._tensor.zeros_like(by_vectors) if moved is None else moved)
        except (gradient.NullTypeGradError, NotImplementedError, TypeError, ValueError):
            return None
        ones = {seed: self._tensor.ones_like(by_vectors), **back}
        return replaced(with_slopes(self._module, found), ones)

    def _probed(self, by_vectors: Any, same: Any, steps: Any) -> tuple[Any, Any]:
        """Other eigenvectors for the values that are the same, and gV with these."""
        pt, vectors = self._tensor, self._vectors
        down, across = _down(steps), _across(steps)
        for parity in (0, 1):  # each with its neighbour
            first = pt.minimum(down, across)
            turned = same & pt.eq(abs(across - down), 1) & pt.eq(first % 2, parity)
            rotation = pt.switch(self._diagonal, pt.switch(_down(turned.any(-1)), np.cos(0.6), 1.0), 0.0)
            rotation = rotation + pt.switch(turned, np.sin(0.6) * (across - down), 0.0)
            vectors = self._dot(vectors, rotation.astype(vectors.type.dtype))
        members = (same | self._diagonal).astype(vectors.type.dtype)
        mean = (members * _across(self._values)).sum(-1) / members.sum(-1)
        others = {self._values: mean, self._vectors: vectors}
        return vectors, replaced([by_vectors], others)[0]

    def _skew(self, vectors: Any, by_vectors: Any) -> Any:
        product = self._dot(_turned(vectors), by_vectors)
        return product - _turned(product)

    def _dot(self, left: Any, right: Any) -> Any:
        return (self._tensor.dot if left.type.ndim == 2 else self._tensor.matmul)(left, right)


def _sizes(by_vectors: Any) -> Any:
    size = abs(by_vectors).sum(-2)
    return _across(size) + _down(size)


def _turned(matrix: Any) -> Any:
    *batch, row, column = range(matrix.type.ndim)
    return matrix.dimshuffle(*batch, column, row)


def _down(vector: Any) -> Any:
    return vector.dimshuffle(*range(vector.type.ndim), "x")


def _across(vector: Any) -> Any:
    *batch, last = range(vector.type.ndim)
    return vector.dimshuffle(*batch, "x", last)
