"""Ops that are functions of JAX arrays: PyTensor's own (`pytensor.wrap_jax`), and users' (`lowers_with_jax`).

In: operands. Out: the function's results, as what JAX lowers it to with symbolic sizes, inlined. Nothing of the graph
around it is traced. Decision to know: a function is exported once for each dtype and each set of sizes that are known
to be equal; what has a leading batch goes through `jax.vmap`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

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

        core: Callable[..., Any] = self._core
        for _ in range(self.batch_ndim):
            core = jax.vmap(core)
        found: tuple[Any, ...] = core(*arrays)
        return found

    def _core(self, *arrays: Any) -> tuple[Any, ...]:
        import jax.numpy as jnp

        results = self.function(*arrays) if self.op is None else self.function(*arrays, op=self.op)
        results = results if isinstance(results, tuple | list) else (results,)
        return tuple(jnp.asarray(x) for x in results)
