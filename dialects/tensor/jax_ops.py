"""Ops that are functions of JAX arrays: PyTensor's own (`pytensor.wrap_jax`), users' (`lowers_with_jax`); splines.

In: operands. Out: the function's results, as what JAX lowers it to with symbolic sizes, inlined. Nothing of the graph
around it is traced. Decision to know: a function is exported once for each dtype and each set of sizes that are known
to be equal; what has a leading batch goes through `jax.vmap`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...codegen import builder as hlo
from ...codegen.builder import Tensor
from ...codegen.emit import Context
from ...codegen.errors import LoweringError
from ..registry import lowers


def lowers_with_jax(op: type | str, function: Callable[..., Any] | None = None) -> Any:
    """Registers a JAX function as the lowering of an op.

        @hlograph.builder.lowers_with_jax(Rotate)
        def rotate(x, *, op):
            return jnp.roll(x, op.by)

    Args:
        op: the op's class; or its name, for a class of PyTensor.
        function: takes the op's operands as JAX arrays, and returns one array, or one for each output, which are
            converted to the outputs' dtypes. It is traced with symbolic sizes and must not ask for their values. If it
            has a parameter `op`, it gets the op. Left out, this is a decorator.

    Returns:
        The function.

    Derivatives are those of the op itself (`pullback`), as everywhere.
    """
    if function is None:
        return lambda given: lowers_with_jax(op, given)
    wants_op = "op" in inspect.signature(function).parameters

    @lowers(op, batched=True)
    def rule(ctx: Context, node: Any, *operands: Tensor) -> list[Tensor]:
        return _apply(ctx, node, function, operands, node.op if wants_op else None)

    return function


@lowers("JAXOp", batched=True)
def jax_op(ctx: Context, node: Any, *operands: Tensor) -> list[Tensor]:
    """What `pytensor.wrap_jax` makes of a JAX function; its gradient is such an op too."""
    return _apply(ctx, node, node.op.jax_func, operands, None)


def _apply(
    ctx: Context, node: Any, function: Callable[..., Any], operands: tuple[Tensor, ...], op: Any
) -> list[Tensor]:
    from ..jax import rules

    name = getattr(node.op, "name", None) or type(node.op).__name__
    count = len(node.outputs)
    applied = _Applied(function, op, getattr(node, "batch_ndim", 0))
    symbol = "".join(letter if letter.isalnum() else "_" for letter in name)
    results = hlo.import_functions(symbol, applied, operands, rules.rules())
    if len(results) != count:
        raise LoweringError(f"the JAX function of {name} returned {len(results)} arrays, expected {count}")
    return [hlo.convert(result, ctx.out_dtype(place)) for place, result in enumerate(results)]


@dataclass(frozen=True)
class _Applied:
    """A function of arrays over leading batch axes, to a tuple of arrays."""

    function: Callable[..., Any]
    op: Any
    batch_ndim: int

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        """The results."""
        import jax

        def core(*arrays: Any) -> tuple[Any, ...]:
            results = self.function(*arrays) if self.op is None else self.function(*arrays, op=self.op)
            results = results if isinstance(results, tuple | list) else (results,)
            return tuple(jax.numpy.asarray(x) for x in results)

        for _ in range(self.batch_ndim):
            core = jax.vmap(core)
        return core(*arrays)


# ---- splines of SciPy, as PyMC's interpolated densities have them: a polynomial between each two points --------------

# What SciPy's `ext` says about arguments outside of the spline.
_EXTRAPOLATES, _ZEROS, _RAISES, _CONSTANT = range(4)


def _evaluated(x: Any, *, op: Any) -> Any:
    """A spline at each element: the piece that it is in, and the polynomial there, the highest power first."""
    import jax.numpy as jnp
    from scipy.interpolate import PPoly

    knots, _, degree = op.spline._eval_args
    last = len(knots) - degree - 1
    points, rows = knots[degree : last + 1], PPoly.from_spline(op.spline._eval_args).c[:, degree:last]
    outside = (x < points[0]) | (x > points[-1])
    x = jnp.clip(x, points[0], points[-1]) if op.spline.ext == _CONSTANT else x
    piece = jnp.clip(jnp.searchsorted(points, x, side="right") - 1, 0, len(points) - 2)
    distance = x - jnp.asarray(points)[piece]
    value, *others = (jnp.asarray(row)[piece] for row in rows)
    for coefficient in others:
        value = value * distance + coefficient
    return jnp.where(outside, 0.0, value) if op.spline.ext == _ZEROS else value


def _unsupported(op: Any) -> Sequence[str]:
    known = hasattr(op.spline, "_eval_args") and getattr(op.spline, "ext", None) in range(4)
    return [] if known else [f"{type(op.spline).__name__} is no UnivariateSpline of SciPy"]


@lowers("PyMCSplineWrapper", batched=True, unsupported=_unsupported)
def spline(ctx: Context, node: Any, x: Tensor) -> list[Tensor]:
    """A spline of constant points at each element."""
    x = hlo.convert(x, np.float64)
    if node.op.spline.ext == _RAISES:
        ends: Any = node.op.spline._eval_args[0][[0, -1]].tolist()
        outside = (x < ends[0]) | (x > ends[1])
        ctx.check(~outside, "ValueError", "a spline with ext='raise' has arguments outside of its points")
    return _apply(ctx, node, _evaluated, (x,), node.op)
