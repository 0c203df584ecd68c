"""The discrete algebraic Riccati equation, by structure-preserving doubling (Chu, Fan, Lin, Wang, 2004).

In: handles on matrices. Out: a handle. Each step squares the closed loop, so that few are needed; it must vanish, or
the solution found does not stabilize the system.
"""

from __future__ import annotations

import numpy as np

from .control import while_loop
from .core import Tensor
from .elementwise import abs as abs_
from .elementwise import add, and_, compare, multiply, not_, select
from .linalg import lu, lu_solve
from .matrices import adjoint, identity_like, matmul, number, over_batch
from .reduce import reduce_monoid
from .types import INT64

STEPS = 60


def discrete_riccati(a: Tensor, b: Tensor, q: Tensor, r: Tensor) -> Tensor:
    """The X with `A^H X A - X - A^H X B (R + B^H X B)^-1 B^H X A + Q = 0` that stabilizes; NaN where none is found.

    R must have an inverse.
    """
    start = [a, matmul(b, _solve(r, adjoint(b))), q]
    invertible = compare("LT", reduce_monoid(abs_(start[1]), [a.ndim - 2, a.ndim - 1], "add"), np.inf)
    eps = float(np.finfo(a.dtype).eps)

    def step(a: Tensor, g: Tensor, h: Tensor) -> list[Tensor]:
        both = add(identity_like(a), matmul(g, h))
        factors, order = lu(both)
        loop, gain = lu_solve(factors, order, a), lu_solve(factors, order, g)
        more = matmul(matmul(adjoint(a), h), loop)
        return [matmul(a, loop), add(g, matmul(matmul(a, gain), adjoint(a))), add(h, more)]

    def vanished(a: Tensor) -> Tensor:
        return compare("LE", reduce_monoid(abs_(a), [a.ndim - 2, a.ndim - 1], "maximum"), eps)

    def body(count: Tensor, a: Tensor, g: Tensor, h: Tensor) -> list[Tensor]:
        done = vanished(a)
        following = step(a, g, h)
        kept = [select(over_batch(done, old), old, new) for old, new in zip((a, g, h), following, strict=True)]
        return [add(count, 1), *kept]

    def going(count: Tensor, a: Tensor, g: Tensor, h: Tensor) -> Tensor:
        left = not_(vanished(a))
        return and_(reduce_monoid(left, range(left.ndim), "or"), compare("LT", count, STEPS))

    _, a, _, h = while_loop([a.builder.constant(0, INT64), *start], going, body)
    solution = multiply(add(h, adjoint(h)), number(h, 0.5))
    return select(over_batch(and_(invertible, vanished(a)), h), solution, number(h, np.nan))


def _solve(a: Tensor, b: Tensor) -> Tensor:
    factors, order = lu(a)
    return lu_solve(factors, order, b)
