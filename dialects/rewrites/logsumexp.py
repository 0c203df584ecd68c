"""The gradient of `logsumexp` (an op in PyTensor 3.3): a quotient, without the maximum's share, which is zero.

    exp(x - m) * g / s + (m == x) * (g - sum(exp(x - m) * g / s))     ->     exp(x - m) * g / s

Here `m` is the maximum, `s = sum(exp(x - m))` and `g` the result's cotangent. Differentiating the op's inner graph goes
through the maximum too, whose two terms cancel up to rounding. The exponentials are those of the op itself, so that
they are computed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..releases import inner_graph
from ..walk import kind_of
from .rebuilding import Rebuilding, replaced


def without_maximum(outputs: Sequence[Any], nodes: Sequence[Any]) -> list[Any]:
    """The outputs with such gradients replaced.

    Args:
        outputs: of a graph.
        nodes: the graph's, operands first.
    """
    return Rebuilding(lambda op: [_Gradient] if type(op).__name__ == "OpFromGraph" else [], nodes).outputs(outputs)


class _Gradient:
    @staticmethod
    def transform(_graph: Any, node: Any) -> list[Any] | None:
        """The quotient, for the gradient of a `LogSumExp`."""
        if len(node.inputs) != 3 or len(node.outputs) != 1:
            return None
        x, result, cotangent = node.inputs
        if result.owner is None or type(result.owner.op).__name__ != "LogSumExp" or result.owner.inputs[0] is not x:
            return None
        op = result.owner.op
        if op.pullback([x], [result], [cotangent])[0].owner.op != node.op:
            return None
        ((inner,), outputs) = inner_graph(op)
        total = _sum_inside(outputs[0])
        if total is None:
            return None
        exponentials, total = replaced([total.owner.inputs[0], total], {inner: x})
        axes = {axis % x.type.ndim for axis in op.axis}
        kept = iter(range(cotangent.type.ndim))
        places = ["x" if axis in axes else next(kept) for axis in range(x.type.ndim)]
        return [exponentials * (cotangent / total).dimshuffle(places)]


def _sum_inside(variable: Any) -> Any:
    """The sum of exponentials whose logarithm a variable is, up to a term and axes of size 1, or None."""
    while variable.owner is not None:
        node = variable.owner
        if type(node.op).__name__ == "Sum":
            return variable if kind_of(node.inputs[0]) == "Exp" else None
        if kind_of(variable) not in ("Add", "Log", "DimShuffle"):
            return None
        variable = node.inputs[0]
    return None
