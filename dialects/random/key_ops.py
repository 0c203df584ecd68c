"""Ops that take the place of random variables, pure functions of a key, without the class `Op` that they extend.

In: a key, as uint32[2]. Out: other keys, draws. `keys` puts these ops in place of a graph's random variables, so that
the graph is one of tensors alone: it can be rewritten and batched as any other. `pytensor_ops.py` and `aesara_ops.py`
put them in front of their library's `Op`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...codegen.builder import Tensor
from ...codegen.emit import Context
from ...codegen.ir.jax_compat import enable_x64
from .. import releases
from ..library import Library, library
from ..registry import lowers
from ..tensor import host, random

if TYPE_CHECKING:
    from typing import Any as Extended
else:
    Extended = object  # in front of a library's `Op`

UNDEFINED = "a random draw has no derivative with respect to its parameters: write loc + scale * standard_draw"


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
        _, [_, *numbers] = releases.shape_arguments(arguments)
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
        """A vector, or the library's constant for none."""
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
        """The draw's shape from those of the parameters."""
        _, size, *parameters = inputs
        return list(releases.inferred_shape(self.rv_op, size, parameters, [tuple(s) for s in shapes]))

    def infer_shape(self, *arguments: Any) -> list[Any]:
        """Sizes, core axes."""
        node, (_, _, *parameters) = releases.shape_arguments(arguments)
        return [self._shape(node.inputs, parameters)]

    def perform(self, node: Any, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        """Draws as a program does, for the shapes of what Python makes of draws; or by the variable's own `rng_fn`."""
        from . import sampling

        key, size, *values = inputs
        own = None if size is None else tuple(int(n) for n in size)
        if sampling.is_python(self.rv_op):
            drawn = self.rv_op.rng_fn(np.random.default_rng(key), *map(np.array, values), own)
        else:
            drawn = self._by_jax(own, key, [np.array(x) for x in values])
        output_storage[0][0] = np.asarray(drawn, self.dtype)

    def _by_jax(self, size: Any, key: Any, parameters: Sequence[Any]) -> Any:
        import jax

        from . import sampling

        pairs = list(zip(parameters, self.rv_op.ndims_params, strict=True))
        shape = np.broadcast_shapes(*(x.shape[: x.ndim - core] for x, core in pairs)) if size is None else size
        counting = sampling.counting_parameters(self.rv_op)
        values = [key]
        for place, (x, core) in enumerate(pairs):
            if place in counting:
                x = np.zeros(np.atleast_1d(x), bool)
                core = x.ndim
            values.append(x.reshape((*(1,) * (len(shape) + core - x.ndim), *x.shape)))  # axes of `size` may be missing
        function = sampling.Sampling(sampling.name_of(self.rv_op), self.dtype, len(shape), tuple(shape))
        with enable_x64(True), jax.threefry_partitionable(True):
            return np.array(function(*map(jax.numpy.asarray, values)))

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


# ---- lowering rules ---------------------------------------------------------------------------------------------


def _lower_draw(ctx: Context, node: Any, key: Tensor, size: Any, *parameters: Tensor) -> Tensor:
    """The rule of `Draw`."""
    if host.runs_python(node.op):
        return host.host(ctx, node, key, size, *parameters)[0]
    variables = node.inputs[2:]
    return random.draw(ctx, node.op.rv_op, variables, key, size, parameters)


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
    lowers(keys)(lambda ctx, node, *operands: random.more_keys(node.op.count, *operands))
    lowers(draw, unsupported=lambda op: random.refused(op.rv_op))(_lower_draw)
    return made
