"""Random variables: JAX's samplers, imported as private functions, on keys that are tensors.

In: a key as uint32[..., 2], `size`, and parameters. Out: the draw. Two kinds of nodes come here: those of
`pytensor_ops`, which take the place of a graph's random variables where the program has one key for all of them (see
`keys`), and PyTensor's own, where each generator is an argument of its own and its next state a result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...codegen import builder as hlo
from ...codegen.builder import Tensor
from ...codegen.dims import Dim
from ...codegen.emit import Context
from ...codegen.errors import UnsupportedGraphError
from ..registry import lowers


def refused(op: Any) -> Sequence[str]:
    """Why a random variable has no lowering, as `Lowering.unsupported` says it."""
    from ..random import samplers

    reason = samplers.refusal(op)
    return [] if reason is None else [reason]


@lowers("RandomVariable", unsupported=refused)
def random_variable(ctx: Context, node: Any, key: Tensor, size: Any, *parameters: Tensor) -> list[Tensor]:
    """The generator is a key: `next, subkey = jax.random.split(key)`, and the draw is made with the subkey."""
    keys = split_key(ctx, key, 2)
    following, subkey = (hlo.reshape(hlo.slice(keys, [i, 0], [i + 1, 2]), (2,)) for i in range(2))
    variables = [node.inputs[0], *node.inputs[2:]]
    return [following, draw(ctx, node.op, 0, variables, subkey, size, parameters)]


def split_key(ctx: Context, key: Tensor, count: int) -> Tensor:
    """`jax.random.split`: uint32[..., 2] to uint32[..., count, 2]."""
    from ..random import samplers

    return hlo.import_function("split", samplers.Split(count, key.ndim - 1), [key])


def fold_in(ctx: Context, key: Tensor, numbers: Tensor) -> Tensor:
    """`jax.random.fold_in` of each number: uint32[..., 2] and integers [n] to uint32[..., n, 2]."""
    from ..jax import rules
    from ..random import samplers

    function = samplers.FoldIn(key.ndim - 1)
    return hlo.import_function("fold_in", function, [key, hlo.convert(numbers, np.uint32)], rules.rules())


def draw(
    ctx: Context,
    op: Any,
    batch_ndim: int,
    variables: Sequence[Any],
    key: Tensor,
    size: Any,
    parameters: Sequence[Tensor],
) -> Tensor:
    """A draw of a random variable for each key and each set of parameters of a batch.

    Args:
        op: the `RandomVariable`.
        batch_ndim: number of leading axes that the key and all parameters have.
        variables: those of the key and the parameters: an axis stretches where the type says that its size is 1.
        key: uint32[batch..., 2].
        size: the draw's own sizes as an integer vector, or no tensor: those of the parameters.
        parameters: [batch..., size..., core...].

    Raises:
        DataDependentSizeError: the size is computed from data.
        UnsupportedGraphError: JAX's sampler needs a size that is not known.
    """
    from ..jax import rules
    from ..random import samplers

    name = type(op).__name__.removesuffix("RV").lower()
    sizes, shapes = _shapes(ctx, op, batch_ndim, variables, [key, *parameters], size)
    places = samplers.static_parameters(op)
    statics = {place: _static(ctx, parameters[place], op.ndims_params[place], name) for place in places}
    fixed = all(type(dim) is int for dim in sizes)
    operands, mapped = [hlo.reshape(key, shapes[0])], [_mapped(variables[0], batch_ndim)]
    for place, (x, variable, shape) in enumerate(zip(parameters, variables[1:], shapes[1:], strict=True)):
        if place in statics:
            continue
        x = hlo.reshape(x, shape)
        if not fixed and len(operands) == 1:  # what tells JAX the sizes
            x = hlo.broadcast(x, (*shape[:batch_ndim], *sizes, *shape[batch_ndim + len(sizes) :]))
        operands.append(x)
        mapped.append(_mapped(variable, batch_ndim))
    if not fixed and len(operands) == 1:
        raise UnsupportedGraphError(f"{name} of size {', '.join(map(str, sizes))}: JAX needs one that is known")
    sampling = samplers.Sampling(
        type(op).__name__,
        str(np.dtype(ctx.out_dtype(-1))),
        len(sizes),
        tuple(dim for dim in sizes if type(dim) is int) if fixed else None,
        tuple(statics.items()),
        tuple(mapped),
    )
    return hlo.import_function(name, sampling, operands, rules.rules())


def _mapped(variable: Any, batch_ndim: int) -> tuple[bool, ...]:
    """Whether a variable has each batch axis, or is the same along it."""
    return tuple(not flag for flag in variable.type.broadcastable[:batch_ndim]) if batch_ndim else ()


def _static(ctx: Context, parameter: Tensor, rank: int, name: str) -> int | tuple[int, ...]:
    """The value of a parameter that decides a shape, the same for all elements of a batch."""
    value: Any = parameter.sizes
    if parameter.literal is not None and parameter.ndim > rank:
        rows = np.unique(parameter.literal.reshape(-1, *parameter.literal.shape[parameter.ndim - rank :]), axis=0)
        value = tuple(map(int, rows[0])) if rank and len(rows) == 1 else int(rows[0]) if len(rows) == 1 else (None,)
    if not all(type(dim) is int for dim in (value if isinstance(value, tuple) else (value,))):
        raise UnsupportedGraphError(f"{name} at {ctx.builder.where}: JAX needs a constant for the number of elements")
    return value


def _signatures(op: Any) -> list[tuple[str, ...]]:
    """The names of the core axes of each parameter; without a signature no two are known to be the same."""
    found = getattr(op, "inputs_sig", None)
    if found is not None:
        return list(found)
    return [tuple(f"{place}.{axis}" for axis in range(rank)) for place, rank in enumerate(op.ndims_params)]


def _shapes(
    ctx: Context, op: Any, batch_ndim: int, variables: Sequence[Any], operands: Sequence[Tensor], size: Any
) -> tuple[tuple[Dim, ...], list[tuple[Dim, ...]]]:
    """The draw's own sizes, and the operands' shapes in which equal sizes are one dimension.

    The first operand is the key.
    """
    signatures = [("key",), *_signatures(op)]
    counts = [x.ndim - len(core) for x, core in zip(operands, signatures, strict=True)]
    rank = max(counts)
    known: dict[int | str, Dim] = {}

    def meet(place: int | str, dim: Dim) -> None:
        known[place] = ctx.equate(known[place], dim, f"{type(op).__name__}, {place}") if place in known else dim

    if isinstance(size, Tensor):
        given = ctx.builder.dims_of(size, f"the size of {type(op).__name__}")
        rank = batch_ndim + len(given)
        for axis, dim in enumerate(given):
            ctx.at_least(dim, 0, f"size {axis} of {type(op).__name__}")
            known[batch_ndim + axis] = dim
    for x, variable, core, count in zip(operands, variables, signatures, counts, strict=True):
        flags = getattr(variable.type, "broadcastable", ())  # a generator has none
        for axis in range(count):
            if not flags[axis]:
                meet(axis, x.dims[axis])
        for label, dim in zip(core, x.dims[count:], strict=True):
            meet(label, dim)
    canonical = ctx.builder.constraints.canonical

    def final(place: int | str) -> Dim:
        dim = known.get(place, 1)
        return dim if type(dim) is int else canonical(dim)

    shapes = []
    for variable, core, count in zip(variables, signatures, counts, strict=True):
        flags = getattr(variable.type, "broadcastable", ())  # a generator has none
        shapes.append((*(1 if flags[axis] else final(axis) for axis in range(count)), *map(final, core)))
    return tuple(final(axis) for axis in range(batch_ndim, rank)), shapes
