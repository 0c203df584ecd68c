"""Random variables: JAX's samplers, imported as private functions, on keys that are tensors; and the ops on keys.

In: a key as uint32[2], `size`, and parameters. Out: the draw. Two kinds of nodes come here: PyTensor's own, where each
generator is an argument of its own and its next state a result; and pure functions of a key, which `random/keys.py`
puts in place of a graph's random variables where the program has one key for all of them, so that the graph is one of
tensors alone: it can be rewritten and batched as any other. `random/pytensor_ops.py` and `random/aesara_ops.py` put
these in front of their library's `Op`.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from functools import reduce as fold
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...codegen import builder as hlo
from ...codegen.builder import INT64, Tensor
from ...codegen.dims import Dim
from ...codegen.emit import Context
from ...codegen.errors import UnsupportedGraphError
from ...codegen.ir.jax_compat import enable_x64
from ..library import Library, library
from ..registry import lowers
from ..releases import draw_parts, inferred_shape, shape_arguments
from .host import host, runs_python
from .shape import typed_dims

if TYPE_CHECKING:
    from typing import Any as Extended
else:
    Extended = object  # in front of a library's `Op`

UNDEFINED = "a random draw has no derivative with respect to its parameters: write loc + scale * standard_draw"


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


# ---- the ops on keys, without the class `Op` that they extend --------------------------------------------------------


class PlainOp(Extended):
    """An op on no numbers: no derivatives, under the names that PyTensor 3, PyTensor 2 and Aesara call them by."""

    library: ClassVar[Library]
    __props__: ClassVar[tuple[str, ...]] = ()

    @property
    def _gradient(self) -> Any:
        return self.library.module("gradient")

    def _tensor_type(self, dtype: str, shape: Sequence[Any]) -> Any:
        return self.library.module("tensor.type").TensorType(dtype, tuple(shape))

    def _apply(self, inputs: Sequence[Any], type_: Any) -> Any:
        return self.library.module("graph.basic").Apply(self, list(inputs), [type_()])

    def _as_tensor(self, x: Any) -> Any:
        return self.library.module("tensor").as_tensor_variable(x)

    def _as_key(self, key: Any) -> Any:
        key = self._as_tensor(key)
        if key.type.dtype != "uint32" or key.type.ndim != 1 or key.type.shape[0] not in (2, None):
            raise TypeError(f"expected a key as uint32[2], got {key.type}")
        return key

    def perform(self, node: Any, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        """None: hlograph alone evaluates it."""
        raise NotImplementedError(f"{self} has a lowering rule and nothing that the library could call")

    def grad(self, inputs: Sequence[Any], output_grads: Sequence[Any]) -> list[Any]:
        """The pullback in Aesara."""
        return self.pullback(inputs, [], output_grads)

    def pullback(self, inputs: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        """Disconnected."""
        return [self._gradient.DisconnectedType()() for _ in inputs]

    def pushforward(self, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
        """Disconnected."""
        return [self._gradient.DisconnectedType()()]

    def connection_pattern(self, node: Any) -> list[list[bool]]:
        """Nothing is connected."""
        return [[False] * len(node.outputs) for _ in node.inputs]

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]) -> list[Any]:
        """The pullback in PyTensor 2."""
        return self.pullback(inputs, outputs, output_grads)

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """The pushforward in PyTensor 2: None where nothing is connected."""
        kind = self._gradient.DisconnectedType
        disconnected = kind()()
        tangents = [disconnected if point is None else point for point in eval_points]
        pushed = self.pushforward(inputs, [], tangents)
        return [None if isinstance(x.type, kind) else x for x in pushed]


class KeysParts(PlainOp):
    """Keys from one, uint32[2], as uint32[n, 2]: `jax.random.split(key, count)`; or `fold_in` of each of n integers."""

    __props__ = ("count",)

    def __init__(self, count: int = 0) -> None:
        self.count = count

    def make_node(self, key: Any, *numbers: Any) -> Any:
        """A key, and a vector where there is no count; one output."""
        key, given = self._as_key(key), [self._as_tensor(x) for x in numbers]
        if any(x.type.ndim != 1 or np.dtype(x.type.dtype).kind not in "iu" for x in given):
            raise TypeError(f"expected a vector of integers, got {given[0].type}")
        rows = given[0].type.shape[0] if given else self.count
        return self._apply([key, *given], self._tensor_type("uint32", (rows, 2)))

    def infer_shape(self, *arguments: Any) -> list[Any]:
        """A row for each key."""
        _, [_, *numbers] = shape_arguments(arguments)
        return [(numbers[0][0] if numbers else self.count, 2)]


class DrawParts(PlainOp):
    """A draw of a random variable: (key, size, *parameters) to the draw.

    Args:
        rv_op: the random variable.
        dtype: the draw's; by default the one that the random variable has.
    """

    __props__ = ("rv_op", "dtype")
    _output_type_depends_on_input_value = True  # the static shape, on a constant `size`

    def __init__(self, rv_op: Any, dtype: str | None = None) -> None:
        self.rv_op = rv_op
        self.dtype = dtype or rv_op.dtype

    def __str__(self) -> str:
        return f"Draw{{{self.rv_op.name}}}"

    def as_type(self, type_: Any, key: Any, size: Any, *parameters: Any) -> Any:
        """A draw of a type that is known beforehand: finding its static shape takes PyTensor 20 ms."""
        return self._apply([key, self._as_size(size), *parameters], type_).outputs[0]

    def _as_size(self, size: Any) -> Any:
        others = self.library.module("tensor.type_other")
        if size is None or isinstance(getattr(size, "type", None), others.NoneTypeT):
            return others.NoneConst
        return self.library.module("tensor.random.utils").normalize_size_param(size)

    def make_node(self, key: Any, size: Any, *parameters: Any) -> Any:
        """The key is uint32[2], parameters are [size..., core...], `size` a vector or None."""
        key, size = self._as_key(key), self._as_size(size)
        parameters = tuple(self._as_tensor(p) for p in parameters)
        for number, (x, core) in enumerate(zip(parameters, self.rv_op.ndims_params, strict=True)):
            if x.type.ndim < core:
                raise ValueError(f"{self}: parameter {number} is {x.type}, expected {core} core axes")
        inputs = [key, size, *parameters]
        shape_tuple = self.library.module("tensor.shape").shape_tuple
        shape = self._shape(inputs, [shape_tuple(x) for x in parameters])
        _, static = self.library.module("tensor.basic").infer_static_shape(shape)
        return self._apply(inputs, self._tensor_type(self.dtype, static))

    def _shape(self, inputs: Sequence[Any], shapes: Sequence[Sequence[Any]]) -> list[Any]:
        _, size, *parameters = inputs
        return list(inferred_shape(self.rv_op, size, parameters, [tuple(s) for s in shapes]))

    def infer_shape(self, *arguments: Any) -> list[Any]:
        """Sizes, core axes."""
        node, (_, _, *parameters) = shape_arguments(arguments)
        return [self._shape(node.inputs, parameters)]

    def perform(self, node: Any, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        """Draws as a program does, for the shapes of what Python makes of draws; or by the variable's own `rng_fn`."""
        import jax

        from ..random import sampling

        key, size, *values = inputs
        own = None if size is None else tuple(int(n) for n in size)
        if sampling.is_python(self.rv_op):
            drawn = self.rv_op.rng_fn(np.random.default_rng(key), *map(np.array, values), own)
            output_storage[0][0] = np.asarray(drawn, self.dtype)
            return
        pairs = list(zip(map(np.array, values), self.rv_op.ndims_params, strict=True))
        shape = np.broadcast_shapes(*(x.shape[: x.ndim - core] for x, core in pairs)) if own is None else own
        counting, given = sampling.counting_parameters(self.rv_op), [key]
        for place, (x, core) in enumerate(pairs):
            if place in counting:
                x = np.zeros(np.atleast_1d(x), bool)
                core = x.ndim
            given.append(x.reshape((*(1,) * (len(shape) + core - x.ndim), *x.shape)))  # axes of `size` may be missing
        function = sampling.Sampling(sampling.name_of(self.rv_op), self.dtype, len(shape), shape)
        with enable_x64(True), jax.threefry_partitionable(True):
            output_storage[0][0] = np.array(function(*map(jax.numpy.asarray, given)), self.dtype)

    def connection_pattern(self, node: Any) -> list[list[bool]]:
        """The parameters are connected, so that a derivative is an error and not zero."""
        return [[False], [False], *([True] for _ in node.inputs[2:])]

    def pullback(self, inputs: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        """PyTensor's undefined gradient for the parameters."""
        disconnected = self._gradient.DisconnectedType()
        undefined = [self._gradient.grad_undefined(self, i, x, UNDEFINED) for i, x in enumerate(inputs) if i > 1]
        return [disconnected(), disconnected(), *undefined]

    def pushforward(self, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
        """PyTensor's undefined gradient if a parameter has a tangent."""
        kind = self._gradient.DisconnectedType
        if all(isinstance(x.type, kind) for x in tangents[2:]):
            return [kind()()]
        return [self.library.module("graph.null_type").NullType(UNDEFINED)()]


def _lower_draw(ctx: Context, node: Any, key: Tensor, size: Any, *parameters: Tensor) -> Tensor:
    if runs_python(node.op):
        return host(ctx, node, key, size, *parameters)[0]
    variables = node.inputs[2:]
    return draw(ctx, node.op.rv_op, variables, key, size, parameters)


def with_base(base: Any, package: str, module: str) -> list[Any]:
    """The ops on keys in front of a library's `Op`, with their rules registered.

    Args:
        base: the library's `Op`.
        package: the library's name.
        module: where the classes stand.
    """
    made = []
    for parts in (KeysParts, DrawParts):
        own = {"__doc__": parts.__doc__, "__module__": module, "library": library(package)}
        made.append(type(base)(parts.__name__.removesuffix("Parts"), (parts, base), own))
    keys, draw = made
    lowers(keys)(lambda ctx, node, *operands: more_keys(node.op.count, *operands))
    lowers(draw, unsupported=lambda op: refused(op.rv_op))(_lower_draw)
    return made
