"""PyTensor ops that take the place of random variables: pure functions of a key.

In: a key, as uint32[2]. Out: other keys, draws. `keys` puts these ops in place of a graph's random variables, so that
the graph is one of tensors alone: it can be rewritten, batched and evaluated as any other. PyTensor's own evaluation
(`perform`) calls JAX's sampler. Imports PyTensor: only for where its graphs are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from pytensor import gradient
from pytensor.graph.basic import Apply
from pytensor.graph.null_type import NullType
from pytensor.graph.op import Op
from pytensor.graph.replace import _vectorize_node
from pytensor.tensor.basic import as_tensor_variable, infer_static_shape
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.random.utils import normalize_size_param
from pytensor.tensor.shape import shape_tuple
from pytensor.tensor.type import TensorType, tensor
from pytensor.tensor.type_other import NoneTypeT

from ...codegen.builder import Tensor
from ...codegen.emit import Context
from ...codegen.ir.jax_compat import enable_x64
from ..registry import lowers
from ..releases import shape_arguments
from ..tensor import random

UNDEFINED = "a random draw has no derivative with respect to its parameters: write loc + scale * standard_draw"


def key_variable(name: str = "key") -> Any:
    """An input for one key."""
    return tensor(name, shape=(2,), dtype="uint32")


def _as_key(key: Any) -> Any:
    key = as_tensor_variable(key)
    if key.type.dtype != "uint32" or key.type.ndim == 0 or key.type.shape[-1] not in (2, None):
        raise TypeError(f"expected keys as uint32[..., 2], got {key.type}")
    return key


class _KeyOp(Op):
    """An op on keys: no derivatives, under the names that PyTensor 3 and 2 call them by."""

    def L_op(self, inputs: Sequence[Any], outputs: Sequence[Any], output_grads: Sequence[Any]) -> list[Any]:
        """The pullback in PyTensor 2."""
        return self.pullback(inputs, outputs, output_grads)

    def R_op(self, inputs: Sequence[Any], eval_points: Sequence[Any]) -> list[Any]:
        """The pushforward in PyTensor 2: None where nothing is connected."""
        disconnected = gradient.DisconnectedType()()
        tangents = [disconnected if point is None else point for point in eval_points]
        pushed = self.pushforward(inputs, [], tangents)
        return [None if isinstance(x.type, gradient.DisconnectedType) else x for x in pushed]


class SplitKey(_KeyOp):
    """`jax.random.split(key, count)`: uint32[..., 2] to uint32[..., count, 2]."""

    __props__ = ("count",)

    def __init__(self, count: int) -> None:
        self.count = count

    def make_node(self, key: Any) -> Apply:
        """One input, one output."""
        key = _as_key(key)
        return Apply(self, [key], [TensorType("uint32", (*key.type.shape[:-1], self.count, 2))()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        """Evaluates it with JAX."""
        from . import sampling

        [key] = inputs
        output_storage[0][0] = _with_jax(sampling.Split(self.count, key.ndim - 1), key)

    def infer_shape(self, *arguments: Any) -> list[Any]:
        """A key's shape with the count before the last axis."""
        _, [shape] = shape_arguments(arguments)
        return [(*shape[:-1], self.count, 2)]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Keys are no numbers."""
        return [[False]]

    def pullback(self, inputs: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        """Disconnected: keys have no gradient."""
        return [gradient.DisconnectedType()()]

    def pushforward(self, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
        """Disconnected: keys have no tangent."""
        return [gradient.DisconnectedType()()]


class FoldIn(_KeyOp):
    """`jax.random.fold_in(key, number)` for each number: uint32[..., 2] and integers [n] to uint32[..., n, 2]."""

    __props__ = ()

    def make_node(self, key: Any, numbers: Any) -> Apply:
        """Two inputs, one output."""
        key, numbers = _as_key(key), as_tensor_variable(numbers)
        if numbers.type.ndim != 1 or np.dtype(numbers.type.dtype).kind not in "iu":
            raise TypeError(f"expected a vector of integers, got {numbers.type}")
        shape = (*key.type.shape[:-1], numbers.type.shape[0], 2)
        return Apply(self, [key, numbers], [TensorType("uint32", shape)()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        """Evaluates it with JAX."""
        from . import sampling

        key, numbers = inputs
        output_storage[0][0] = _with_jax(sampling.FoldIn(key.ndim - 1), key, numbers.astype(np.uint32))

    def infer_shape(self, *arguments: Any) -> list[Any]:
        """A key's shape with the count before the last axis."""
        _, [key, numbers] = shape_arguments(arguments)
        return [(*key[:-1], numbers[0], 2)]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Keys are no numbers."""
        return [[False], [False]]

    def pullback(self, inputs: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        """Disconnected: keys have no gradient."""
        return [gradient.DisconnectedType()(), gradient.DisconnectedType()()]

    def pushforward(self, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
        """Disconnected: keys have no tangent."""
        return [gradient.DisconnectedType()()]


class Draw(_KeyOp):
    """A draw of a random variable: (key, size, *parameters) to the draw.

    Args:
        rv_op: the random variable.
        batch_ndim: number of leading axes of the key and all parameters. An axis stretches where its type says 1. A key
            without a batch of its own gives the same random numbers to all elements, as `jax.vmap` does. `size` is that
            of one element.
    """

    __props__ = ("rv_op", "batch_ndim")
    _output_type_depends_on_input_value = True  # the static shape, on a constant `size`

    def __init__(self, rv_op: RandomVariable, batch_ndim: int = 0) -> None:
        self.rv_op = rv_op
        self.batch_ndim = batch_ndim

    def __str__(self) -> str:
        batch = f", batch_ndim={self.batch_ndim}" if self.batch_ndim else ""
        return f"Draw{{{self.rv_op.name}{batch}}}"

    def as_type(self, type_: Any, key: Any, size: Any, *parameters: Any) -> Any:
        """A draw of a type that is known beforehand: finding its static shape takes PyTensor 20 ms."""
        return Apply(self, [key, size, *parameters], [type_()]).outputs[0]

    def make_node(self, key: Any, size: Any, *parameters: Any) -> Apply:
        """The key is uint32[batch..., 2], parameters are [batch..., size..., core...], `size` a vector or None."""
        key = _as_key(key)
        size = normalize_size_param(size)
        parameters = tuple(as_tensor_variable(p) for p in parameters)
        batch = self.batch_ndim
        for number, (x, core) in enumerate(zip((key, *parameters), (1, *self.rv_op.ndims_params), strict=True)):
            if x.type.ndim < batch + core or (x is key and x.type.ndim > batch + core):
                raise ValueError(f"{self}: operand {number} is {x.type}, expected {batch} batch and {core} core axes")
        inputs = [key, size, *parameters]
        _, shape = infer_static_shape(self._shape(inputs, [shape_tuple(x) for x in (key, *parameters)]))
        return Apply(self, inputs, [TensorType(self.rv_op.dtype, shape)()])

    def _shape(self, inputs: Sequence[Any], shapes: Sequence[Sequence[Any]]) -> list[Any]:
        """The draw's shape from those of the key and the parameters."""
        key, size, *parameters = inputs
        rank = self.batch_ndim
        batch = []
        for axis in range(rank):
            stretches = [x.type.broadcastable[axis] for x in (key, *parameters)]
            batch.append(shapes[0 if all(stretches) else stretches.index(False)][axis])
        if rank:
            first = (0,) * rank
            core = [
                p[first] if core_ndim else TensorType(p.type.dtype, p.type.shape[rank:])()
                for p, core_ndim in zip(parameters, self.rv_op.ndims_params, strict=True)
            ]
        else:
            core = parameters
        return [*batch, *self.rv_op._infer_shape(size, core, param_shapes=[tuple(s)[rank:] for s in shapes[1:]])]

    def infer_shape(self, *arguments: Any) -> list[Any]:
        """Batch axes, sizes, core axes."""
        node, (key, _, *parameters) = shape_arguments(arguments)
        return [self._shape(node.inputs, [key, *parameters])]

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        """Evaluates it with JAX's sampler."""
        from . import sampling

        reason = sampling.refusal(self.rv_op)
        if reason is not None:
            raise NotImplementedError(reason)
        key, size, *values = inputs
        rank = self.batch_ndim
        variables = [node.inputs[0], *node.inputs[2:]]
        places = sampling.counting_parameters(self.rv_op)
        if size is None:
            counts = [p.ndim - core for p, core in zip(values, self.rv_op.ndims_params, strict=True)]
            size = np.broadcast_shapes(*[p.shape[rank:count] for p, count in zip(values, counts, strict=True)])
        mapped = [tuple(not flag for flag in v.type.broadcastable[:rank]) for v in variables]
        for place in places:
            shape = _shape_of(values[place], self.rv_op.ndims_params[place])
            values[place] = np.zeros((*(1,) * (rank + len(size)), *shape), bool)
            mapped[1 + place] = (False,) * rank
        function = sampling.Sampling(
            sampling.name_of(self.rv_op),
            node.outputs[0].type.dtype,
            len(size),
            tuple(int(n) for n in size),
            tuple(mapped),
        )
        output_storage[0][0] = _with_jax(function, key, *values)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """The parameters are connected, so that a derivative is an error and not zero."""
        return [[False], [False], *([True] for _ in node.inputs[2:])]

    def pullback(self, inputs: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        """PyTensor's undefined gradient for the parameters."""
        disconnected = gradient.DisconnectedType()
        undefined = [gradient.grad_undefined(self, i, x, UNDEFINED) for i, x in enumerate(inputs) if i > 1]
        return [disconnected(), disconnected(), *undefined]

    def pushforward(self, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
        """PyTensor's undefined gradient if a parameter has a tangent."""
        if all(isinstance(x.type, gradient.DisconnectedType) for x in tangents[2:]):
            return [gradient.DisconnectedType()()]
        return [NullType(UNDEFINED)()]


def _shape_of(value: Any, core_ndim: int) -> tuple[int, ...]:
    """What a parameter says of a shape: the same for all elements of a batch."""
    rows = np.asarray(value).reshape(-1, *value.shape[value.ndim - core_ndim :])
    if len(rows) == 0 or (rows != rows[0]).any():
        raise ValueError("the elements of a batch have draws of different shapes")
    return tuple(rows[0].tolist()) if core_ndim else (int(rows[0]),)


def _with_jax(function: Any, *arrays: Any) -> np.ndarray[Any, Any]:
    """Calls a function of JAX arrays with 64-bit types and JAX's default way from keys to random numbers."""
    import jax

    with enable_x64(True), jax.threefry_partitionable(True):
        return np.array(function(*[jax.numpy.asarray(x) for x in arrays]))


# ---- batches ----------------------------------------------------------------------------------------------------


@_vectorize_node.register(SplitKey)  # type: ignore[untyped-decorator]
def _vectorize_split(op: SplitKey, node: Apply, key: Any) -> Apply:
    return op.make_node(key)


@_vectorize_node.register(FoldIn)  # type: ignore[untyped-decorator]
def _vectorize_fold_in(op: FoldIn, node: Apply, key: Any, numbers: Any) -> Apply:
    return op.make_node(key, numbers)


@_vectorize_node.register(Draw)  # type: ignore[untyped-decorator]
def _vectorize_draw(op: Draw, node: Apply, key: Any, size: Any, *parameters: Any) -> Apply:
    old_key, old_size, *old_parameters = node.inputs
    if not isinstance(size.type, NoneTypeT) and size.type.ndim != old_size.type.ndim:
        raise NotImplementedError(f"the size of {op} cannot differ from element to element of a batch")
    pairs = [(key, old_key), *zip(parameters, old_parameters, strict=True)]
    added = max(new.type.ndim - old.type.ndim for new, old in pairs)
    operands = [_with_axes_in_front(new, added - (new.type.ndim - old.type.ndim)) for new, old in pairs]
    return Draw(op.rv_op, op.batch_ndim + added).make_node(operands[0], size, *operands[1:])


def _with_axes_in_front(x: Any, count: int) -> Any:
    return x.dimshuffle(*"x" * count, *range(x.type.ndim)) if count else x


# ---- lowering rules ---------------------------------------------------------------------------------------------


@lowers(SplitKey)
def _lower_split(ctx: Context, node: Any, key: Tensor) -> Tensor:
    return random.split_key(ctx, key, node.op.count)


@lowers(FoldIn)
def _lower_fold_in(ctx: Context, node: Any, key: Tensor, numbers: Tensor) -> Tensor:
    return random.fold_in(ctx, key, numbers)


@lowers(Draw, unsupported=lambda op: random.refused(op.rv_op))
def _lower_draw(ctx: Context, node: Any, key: Tensor, size: Any, *parameters: Tensor) -> Tensor:
    variables = [node.inputs[0], *node.inputs[2:]]
    return random.draw(ctx, node.op.rv_op, node.op.batch_ndim, variables, key, size, parameters)
