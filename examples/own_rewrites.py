"""Three rewrites of your own, each a function on a matched op; docs/how-to/own_pass.md explains them.

    python examples/own_rewrites.py
    hlograph opt model.mlir --load examples/own_rewrites.py --pass log_of_squares --explain log_of_squares

Run as a program, it applies each to a JAX function, compares the results with those of the function as written, and
times both. Loaded as a file, it registers the rewrites and does nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from hlograph.passes import (
    defining,
    dtype_of,
    full_like,
    integers,
    ir,
    is_constant,
    reduce_with,
    reduction,
    require,
    rewrite,
    single_use,
    stablehlo,
    static_shape,
    text_attribute,
)


@rewrite("stablehlo.log")
def log_of_squares(op: ir.Operation) -> ir.Value:
    """log(prod(d**2)) becomes 2 * sum(log(abs(d))): the log-determinant of L Lᵀ, from the diagonal of L.

    The product underflows or overflows for a few hundred rows; the sum does not.
    """
    product = defining(op.operands[0], "stablehlo.reduce")
    require(reduction(product) == "stablehlo.multiply", "the logarithm is not of a product")
    require(is_constant(product.operands[1], 1), "the product does not begin with 1")
    square = defining(product.operands[0], "stablehlo.multiply")
    require(square.operands[0] == square.operands[1], "the factors are not squares")
    d = square.operands[0]
    require(dtype_of(d).kind == "f", "the factors are not real numbers")
    logs = stablehlo.log(stablehlo.abs(d))
    total = reduce_with("stablehlo.add", logs, full_like(d, 0, ()), integers(product, "dimensions"))
    return stablehlo.multiply(total, full_like(total, 2))


@rewrite("stablehlo.reduce")
def sum_of_product(op: ir.Operation) -> ir.Value | None:
    """sum(a * b) becomes a dot product, over the same axes."""
    if len(op.operands) != 2 or reduction(op) != "stablehlo.add":
        return None
    product = defining(op.operands[0], "stablehlo.multiply")
    require(single_use(op.operands[0]), "the product itself is used elsewhere too")
    require(is_constant(op.operands[1], 0), "the sum does not begin with 0")
    require(dtype_of(op.operands[0]).kind == "f", "the factors are not real numbers")
    contracted = list(integers(op, "dimensions"))
    kept = [axis for axis in range(len(static_shape(op.operands[0]))) if axis not in contracted]
    numbers = stablehlo.DotDimensionNumbers.get(
        lhs_batching_dimensions=kept,
        rhs_batching_dimensions=kept,
        lhs_contracting_dimensions=contracted,
        rhs_contracting_dimensions=contracted,
    )
    return stablehlo.dot_general(op.results[0].type, *product.operands, numbers)


@rewrite("stablehlo.composite")
def tridiagonal_to_lapack(op: ir.Operation) -> ir.Value | None:
    """A composite `acme.tridiagonal_solve` becomes a call of LAPACK's gtsv, on the CPU.

    What the composite is made of solves with the whole matrix, which works on any platform.
    """
    if text_attribute(op, "name") != '"acme.tridiagonal_solve"':
        return None
    (n,) = static_shape(op.operands[0])
    letter = {"float32": "s", "float64": "d"}.get(dtype_of(op.operands[0]).name)
    require(letter, f"LAPACK has no gtsv for {dtype_of(op.operands[0])}")
    lower, diagonal, upper, right = op.operands
    vector, matrix = lower.type, ir.RankedTensorType.get([n, 1], lower.type.element_type)
    by_columns = [_layout(0), _layout(0), _layout(0), _layout(0, 1)]
    solved = stablehlo.CustomCallOp(
        [vector, vector, vector, matrix, ir.RankedTensorType.get([], ir.IntegerType.get_signless(32))],
        [lower, diagonal, upper, stablehlo.reshape(matrix, right)],
        call_target_name=ir.StringAttr.get(f"lapack_{letter}gtsv_ffi"),
        backend_config=ir.DictAttr.get({}),
        api_version=ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 4),
        operand_layouts=ir.ArrayAttr.get(by_columns),
        result_layouts=ir.ArrayAttr.get([*by_columns, _layout()]),
    )
    return stablehlo.reshape(vector, solved.results[3])


def _layout(*minor_to_major: int) -> ir.DenseIntElementsAttr:
    return ir.DenseIntElementsAttr.get(np.array(minor_to_major, np.int64), type=ir.IndexType.get())


# ---- what they are good for ----------------------------------------------------------------------------------------


def log_determinant(a: Any) -> Any:
    """The logarithm of the determinant of a positive definite matrix, the plain way."""
    import jax.numpy as jnp

    return jnp.log(jnp.prod(jnp.diag(jnp.linalg.cholesky(a)) ** 2))


def weighted_sum(w: Any, x: Any) -> Any:
    """A weighted sum over all elements."""
    import jax.numpy as jnp

    return jnp.sum(w * x)


def tridiagonal_solve(lower: Any, diagonal: Any, upper: Any, right: Any) -> Any:
    """Solves A y = right; A is zero but next to its diagonal. `lower[0]` and `upper[-1]` are not read."""
    import jax
    import jax.numpy as jnp

    @partial(jax.lax.composite, name="acme.tridiagonal_solve", version=1)
    def solve(lower: Any, diagonal: Any, upper: Any, right: Any) -> Any:
        matrix = jnp.diag(diagonal) + jnp.diag(lower[1:], -1) + jnp.diag(upper[:-1], 1)
        return jnp.linalg.solve(matrix, right)

    return solve(lower, diagonal, upper, right)


def examples() -> dict[str, tuple[Callable[..., Any], list[np.ndarray]]]:
    """For each rewrite a function and its arguments."""
    rng = np.random.default_rng(0)
    half = rng.normal(size=(60, 60))
    n = 400
    diagonals = [rng.normal(size=n), 4 + rng.random(n), rng.normal(size=n)]
    return {
        "log_of_squares": (log_determinant, [half @ half.T + np.eye(60)]),
        "sum_of_product": (weighted_sum, [rng.normal(size=100_000), rng.normal(size=100_000)]),
        "tridiagonal_to_lapack": (tridiagonal_solve, [*diagonals, rng.normal(size=n)]),
    }


def compare(name: str, function: Callable[..., Any], arguments: Sequence[np.ndarray]) -> tuple[float, float, float]:
    """Runs a function without and with a rewrite.

    Returns:
        Seconds of both, and the greatest difference of their results.
    """
    import hlograph

    results, seconds = [], []
    for passes in ("none", [name]):
        compiled = hlograph.jit(function, optimize=passes)
        results.append(np.asarray(compiled(*arguments)))
        start = time.perf_counter()
        for _ in range(5):
            np.asarray(compiled(*arguments))
        seconds.append((time.perf_counter() - start) / 5)
    return seconds[0], seconds[1], float(np.max(np.abs(results[0] - results[1])))


def main() -> None:
    """Prints what each rewrite makes of its example."""
    import jax

    jax.config.update("jax_enable_x64", True)
    for name, (function, arguments) in examples().items():
        before, after, difference = compare(name, function, arguments)
        print(f"{name}: {before * 1e6:.0f} us as written, {after * 1e6:.0f} us rewritten, differ by {difference:.1e}")


if __name__ == "__main__":
    main()
