"""Splines of SciPy, as PyMC's interpolated densities have them: a polynomial between each two points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...codegen import builder as hlo
from ...codegen.builder import Tensor
from ...codegen.emit import Context
from ..registry import lowers

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
    outside = hlo.or_(hlo.compare("LT", x, low), hlo.compare("GT", x, high))
    if found.ext == _ZEROS:
        value = hlo.select(outside, hlo.full_like(x, 0), value)
    if found.ext == _RAISES:
        ctx.check(hlo.not_(outside), "ValueError", "a spline with ext='raise' has arguments outside of its points")
    return hlo.convert(value, ctx.out_dtype())
