"""Random variables: JAX's samplers, imported as private functions, on keys that are tensors.

In: a key as uint32[2], `size`, and parameters. Out: the draw. Two kinds of nodes come here: those of
`random/key_ops.py`, which take the place of a graph's random variables where the program has one key for all of them
(see `keys`), and PyTensor's own, where each generator is an argument of its own and its next state a result.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from functools import reduce as fold
from importlib import import_module
from typing import Any

import numpy as np

from ...codegen import builder as hlo
from ...codegen.builder import INT64, Tensor
from ...codegen.dims import Dim
from ...codegen.emit import Context
from ...codegen.errors import UnsupportedGraphError
from ..registry import lowers
from ..releases import draw_parts
from .host import host, runs_python
from .shape import typed_dims


def refused(op: Any) -> Sequence[str]:
    """Why a random variable has no lowering, as `Lowering.unsupported` says it."""
    from ..random import sampling

    reason = sampling.refusal(op)
    return [] if reason is None else [reason]


@lowers("RandomVariable", unsupported=refused)
def random_variable(ctx: Context, node: Any, key: Tensor, *operands: Any) -> list[Tensor]:
    """The generator is a key: `next, subkey = jax.random.split(key)`, and the draw is made with the subkey."""
    keys = more_keys(2, key)
    following, subkey = (hlo.reshape(hlo.slice(keys, [i, 0], [i + 1, 2]), (2,)) for i in range(2))
    op, _, variables = draw_parts(node.op, node.inputs)
    _, size, parameters = draw_parts(node.op, [key, *operands])
    if runs_python(op):
        return [following, *host(ctx, drawing(node), subkey, size, *parameters)]
    return [following, draw(ctx, op, variables, subkey, size, parameters)]


def split_and_drawing(node: Any, key: Any) -> tuple[Any, Any]:
    """The key after a random variable's draw, and the node that draws, for the data of a key."""
    from ..random import sampling

    following, subkey = np.asarray(sampling.Keys(2)(key))
    return following, drawing(node, subkey)


def drawing(node: Any, key: Any = None) -> Any:
    """The node that draws as a random variable does, with a key in the place of its generator.

    Args:
        node: of the random variable.
        key: its data; None for what a program computes.
    """
    ops = import_module(f"...random.{type(node).__module__.partition('.')[0]}_ops", __name__)
    graphs = ops.Draw.library.module
    variable = graphs("tensor.type").TensorType("uint32", (2,))() if key is None else graphs("tensor").constant(key)
    op, size, parameters = draw_parts(node.op, node.inputs)
    type_ = node.outputs[1].type
    return ops.Draw(op, dtype=type_.dtype).as_type(type_, variable, size, *parameters).owner


def more_keys(count: int, key: Tensor, *numbers: Tensor) -> Tensor:
    """`jax.random.split`, uint32[2] to uint32[count, 2]; or `fold_in` of each of some integers."""
    from ..jax import rules
    from ..random import sampling

    operands = [key, *(hlo.convert(x, np.uint32) for x in numbers)]
    return hlo.import_function("fold_in" if numbers else "split", sampling.Keys(count), operands, rules.rules())


def draw(
    ctx: Context, op: Any, variables: Sequence[Any], key: Tensor, size: Any, parameters: Sequence[Tensor]
) -> Tensor:
    """A draw of a random variable.

    Args:
        op: the `RandomVariable`.
        variables: those of the parameters: an axis stretches where the type says that its size is 1.
        key: uint32[2].
        size: the draw's own sizes as an integer vector, or no tensor: those of the parameters.
        parameters: [size..., core...]; the first axes of `size` may be missing.

    Raises:
        DataDependentSizeError: the size is computed from data.
        UnsupportedGraphError: JAX's sampler needs a size that is not known.
    """
    from ..jax import rules
    from ..random import sampling

    name = type(op).__name__.removesuffix("RV").lower()
    counted = {
        place: _counts(ctx, parameters[place], op.ndims_params[place], name)
        for place in sampling.counting_parameters(op)
    }
    stretches = [tuple(v.type.broadcastable) for v in variables]
    own = [x.ndim - core for x, core in zip(parameters, op.ndims_params, strict=True)]
    rank = size.dims[0] if isinstance(size, Tensor) else max(own, default=0)
    parameters = list(parameters)
    for place, missing in enumerate(rank - count for count in own):
        if missing > 0 and place not in counted:
            parameters[place] = hlo.expand_dims(parameters[place], range(missing))
            stretches[place] = (*(True,) * missing, *stretches[place])
    sizes, shapes = _shapes(ctx, op, stretches, parameters, size)
    fixed = all(type(dim) is int for dim in sizes)
    _check_choice(ctx, op, parameters, counted, sizes)
    operands = [hlo.reshape(key, (2,))]
    for place, (x, shape) in enumerate(zip(parameters, shapes, strict=True)):
        if place in counted:
            ones = (1,) * len(sizes)
            x, shape = hlo.full(ctx.builder, ctx.constant(False), (*ones, *counted[place])), (*ones, *counted[place])
        x = hlo.reshape(x, shape)
        if not fixed and len(operands) == 1:  # what tells JAX the sizes
            x = hlo.broadcast(x, (*sizes, *shape[len(sizes) :]))
        operands.append(x)
    if not fixed and len(operands) == 1:
        raise UnsupportedGraphError(f"{name} of size {', '.join(map(str, sizes))}: JAX needs one that is known")
    function = sampling.Sampling(
        sampling.name_of(op),
        str(np.dtype(ctx.out_dtype(-1))),
        len(sizes),
        tuple(dim for dim in sizes if type(dim) is int) if fixed else None,
    )
    return hlo.import_function(name, function, operands, rules.rules())


def _counts(ctx: Context, parameter: Tensor, rank: int, name: str) -> tuple[Dim, ...]:
    """The shape that a parameter says, the same for all elements of a batch: a count, or a vector of sizes."""
    what = f"the number of elements of {name}"
    if parameter.ndim > rank and not (rank == 0 and parameter.dims == (1,)):
        literal = parameter.literal
        rows = None if literal is None else literal.reshape(-1, *literal.shape[literal.ndim - rank :])
        if rows is None or len(rows) == 0 or (rows != rows[0]).any():
            raise UnsupportedGraphError(
                f"{name} at {ctx.builder.where}: the elements of a batch have draws of shapes of their own; draw them "
                "one by one"
            )
        return tuple(map(int, np.atleast_1d(rows[0])))
    dims = ctx.builder.dims_of(parameter, what) if parameter.ndim else (ctx.dim(parameter, what),)
    for dim in dims:
        ctx.at_least(dim, 0, what)
    return dims


def _check_choice(
    ctx: Context, op: Any, parameters: Sequence[Tensor], counted: Mapping[int, tuple[Dim, ...]], sizes: Sequence[Dim]
) -> None:
    """There must be as many items as are chosen, and as many with a chance."""
    if not getattr(op, "replace", True):  # Aesara's, whose size is how many are chosen
        (items, *chances), shape = parameters, sizes
    elif type(op).__name__ == "ChoiceWithoutReplacement":
        items, *chances, _ = parameters
        shape = counted[len(parameters) - 1]
    else:
        return
    (wanted, last) = (fold(operator.mul, shape, 1), "the items of a choice without replacement")
    total = counted[0][0] if 0 in counted else items.dims[items.ndim - op.ndims_params[0]]
    ctx.at_least(total, wanted, last)
    for p in chances:
        total = ctx.equate(total, p.dims[-1], f"{last} and their chances")
        possible = hlo.convert(p > 0, INT64)
        count = hlo.reduce_monoid(possible, [p.ndim - 1], "add")
        enough = count >= hlo.broadcast(ctx.builder.size(wanted), count.dims)
        ctx.check(enough, "ValueError", "fewer items have a chance than a choice without replacement takes")


def _shapes(
    ctx: Context, op: Any, stretches: Sequence[Sequence[bool]], parameters: Sequence[Tensor], size: Any
) -> tuple[tuple[Dim, ...], list[tuple[Dim, ...]]]:
    """The draw's own sizes, and the parameters' shapes in which equal sizes are one dimension."""
    # The names of the core axes of each parameter; without a signature no two are known to be the same.
    unnamed = [tuple(f"{place}.{axis}" for axis in range(rank)) for place, rank in enumerate(op.ndims_params)]
    signatures = getattr(op, "inputs_sig", unnamed)
    name, canonical = type(op).__name__, ctx.builder.constraints.canonical
    counts = [x.ndim - len(core) for x, core in zip(parameters, signatures, strict=True)]
    batches = [(flags[:n], x.dims[:n]) for x, flags, n in zip(parameters, stretches, counts, strict=True)]
    if isinstance(size, Tensor):
        given = ctx.builder.dims_of(size, f"the size of {name}")
        for axis, dim in enumerate(given):
            ctx.at_least(dim, 0, f"size {axis} of {name}")
        batches = [((False,) * len(given), given), *batches]
    sizes = tuple(map(canonical, typed_dims(ctx, batches, f"{name}, {{}}"))) if batches else ()
    known: dict[str, Dim] = {}
    for x, core, count in zip(parameters, signatures, counts, strict=True):
        for label, dim in zip(core, x.dims[count:], strict=True):
            known[label] = ctx.equate(known[label], dim, f"{name}, {label}") if label in known else dim
    shapes = []
    for flags, core, count in zip(stretches, signatures, counts, strict=True):
        own = sizes[len(sizes) - count :]
        batch = (1 if flag else dim for flag, dim in zip(flags[:count], own, strict=True))
        shapes.append((*batch, *(canonical(known[label]) for label in core)))
    return sizes, shapes
