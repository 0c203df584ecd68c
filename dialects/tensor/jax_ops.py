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

# What SciPy's `ext` says of arguments outside of the spline.
_EXTRAPOLATES, _ZEROS, _RAISES, _CONSTANT = range(4)


@dataclass(frozen=True)
class _Pieces:
    """A function of numbers: which piece they are in, and its polynomial, the highest power first.

    Attributes:
        points: where the pieces begin, and where the last one ends.
        coefficients: of each power, for each piece, in the distance from where it begins.
        clips: whether arguments outside count as the nearest point.
    """

    points: tuple[float, ...]
    coefficients: tuple[tuple[float, ...], ...]
    clips: bool

    def __call__(self, x: Any) -> Any:
        """The values."""
        import jax.numpy as jnp

        points = np.array(self.points)
        if self.clips:
            x = jnp.clip(x, points[0], points[-1])
        piece = jnp.clip(jnp.searchsorted(points, x, side="right") - 1, 0, len(points) - 2)
        distance = x - jnp.asarray(points)[piece]
        value, *rest = (jnp.asarray(row)[piece] for row in self.coefficients)
        for coefficient in rest:
            value = value * distance + coefficient
        return value


def _parts(spline: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The points of a spline and the coefficients between them."""
    from scipy.interpolate import PPoly

    knots, _, degree = spline._eval_args
    whole = PPoly.from_spline(spline._eval_args)
    last = len(knots) - degree - 1
    return knots[degree : last + 1], whole.c[:, degree:last]


def _unsupported(op: Any) -> Sequence[str]:
    known = hasattr(op.spline, "_eval_args") and getattr(op.spline, "ext", None) in range(4)
    return [] if known else [f"{type(op.spline).__name__} is no UnivariateSpline of SciPy"]


@lowers("PyMCSplineWrapper", batched=True, unsupported=_unsupported)
def spline(ctx: Context, node: Any, x: Tensor) -> Tensor:
    """A spline of constant points at each element."""
    found = node.op.spline
    points, coefficients = _parts(found)
    pieces = _Pieces(tuple(points.tolist()), tuple(map(tuple, coefficients.tolist())), found.ext == _CONSTANT)
    x = hlo.convert(x, np.float64)
    value = hlo.import_function("spline", pieces, [x])
    low, high = (hlo.full_like(x, float(end)) for end in (points[0], points[-1]))
    outside = (x < low) | (x > high)
    if found.ext == _ZEROS:
        value = hlo.select(outside, hlo.full_like(x, 0), value)
    if found.ext == _RAISES:
        ctx.check(~outside, "ValueError", "a spline with ext='raise' has arguments outside of its points")
    return hlo.convert(value, ctx.out_dtype())
