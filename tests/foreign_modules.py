"""Modules with `?` sizes as others write them: by hand, JAX's export, PyTorch/XLA.

Each has a text, names for its sizes as `load(path, dims=...)` takes them, arguments for two sets of sizes, and what
NumPy makes of these.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import export

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Foreign:
    """One module.

    Attributes:
        text: MLIR.
        dims: names of sizes.
        shapes: for each set of sizes one entry per argument: a shape, or an integer array for an argument with values.
        expected: of the arguments.
        results: dims of the results under these names, as text; what is behind an op without a padded form has none.
        padded: whether it has a padded form.
    """

    text: str
    dims: dict[str | int, Any]
    shapes: Sequence[Sequence[Any]]
    expected: Callable[..., Any]
    results: Sequence[Sequence[str]] = ()
    padded: bool = True

    def arguments(self, which: int) -> list[Array]:
        """Arrays for one set of sizes."""
        rng = np.random.default_rng(which)
        return [
            rng.normal(size=shape).astype(np.float32) if isinstance(shape, tuple) else shape
            for shape in self.shapes[which]
        ]


def i32(*values: int) -> Array:
    return np.array(values[0] if len(values) == 1 else values, np.int32)


def i64(*values: int) -> Array:
    return np.array(values[0] if len(values) == 1 else values, np.int64)


def vector(*values: int) -> Array:
    return np.array(values, np.int64)


PLAIN = {
    "one axis": Foreign(
        """func.func @main(%arg0: tensor<?xf32>) -> tensor<?xf32> {
  %0 = stablehlo.exponential %arg0 : tensor<?xf32>
  return %0 : tensor<?xf32> }""",
        {"arg0": "n"},
        [[(3,)], [(5,)]],
        np.exp,
        [["n"]],
    ),
    "two arguments of one size": Foreign(
        """func.func @main(%arg0: tensor<?xf32>, %arg1: tensor<?xf32>) -> tensor<?xf32> {
  %0 = stablehlo.add %arg0, %arg1 : tensor<?xf32>
  return %0 : tensor<?xf32> }""",
        {"arg0": "n", "arg1": "n"},
        [[(3,), (3,)], [(5,), (5,)]],
        np.add,
        [["n"]],
    ),
    "by number": Foreign(
        """func.func @main(%a: tensor<?x4xf32>, %b: tensor<4x?xf32>) -> tensor<?x?xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
    : (tensor<?x4xf32>, tensor<4x?xf32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32> }""",
        {0: ["n", 4], 1: [None, "m"]},
        [[(3, 4), (4, 2)], [(5, 4), (4, 1)]],
        np.matmul,
        [["n", "m"]],
    ),
    "an expression": Foreign(
        """func.func @main(%arg0: tensor<?xf32>, %arg1: tensor<?xf32>) -> tensor<?xf32> {
  %0 = stablehlo.concatenate %arg0, %arg0, dim = 0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %1 = stablehlo.multiply %0, %arg1 : tensor<?xf32>
  return %1 : tensor<?xf32> }""",
        {"arg0": "n", "arg1": "2*n"},
        [[(3,), (6,)], [(4,), (8,)]],
        lambda x, y: np.concatenate([x, x]) * y,
        [["2*n"]],
    ),
    "a loop": Foreign(
        """func.func @main(%arg0: tensor<?xf32>) -> tensor<?xf32> {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %0:2 = stablehlo.while(%i = %z, %x = %arg0) : tensor<i32>, tensor<?xf32>
    cond { %c = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1> }
    do { %j = stablehlo.add %i, %one : tensor<i32>
      %y = stablehlo.add %x, %x : tensor<?xf32>
      stablehlo.return %j, %y : tensor<i32>, tensor<?xf32> }
  return %0#1 : tensor<?xf32> }""",
        {"arg0": "n"},
        [[(6,)], [(3,)]],
        lambda x: 8 * x,
        [["n"]],
    ),
    "another entry": Foreign(
        """module @serving {
func.func public @forward(%x: tensor<?x2xf32>) -> (tensor<?x2xf32>, tensor<i32>) {
  %0 = call @inner(%x) : (tensor<?x2xf32>) -> tensor<?x2xf32>
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x2xf32>) -> tensor<i32>
  return %0, %n : tensor<?x2xf32>, tensor<i32> }
func.func private @inner(%x: tensor<?x2xf32>) -> tensor<?x2xf32> {
  %0 = stablehlo.abs %x : tensor<?x2xf32>
  return %0 : tensor<?x2xf32> } }""",
        {"arg0": ["n", 2]},
        [[(6, 2)], [(3, 2)]],
        lambda x: (np.abs(x), i32(len(x))),
        [["n", "2"], []],
    ),
}


def exported(function: Callable[..., Any], shape: str) -> str:
    """The module that JAX's export makes of a function of one array of these sizes."""
    argument = jax.ShapeDtypeStruct(export.symbolic_shape(shape), np.float32)
    return str(export.export(jax.jit(function), platforms=("cpu",))(argument).mlir_module())


BIAS = np.arange(1, 5, dtype=np.float32)
JAX = {
    "jax: a bias": Foreign(
        exported(lambda x: x + BIAS, "n, 4"), {"arg0": ["n", 4]}, [[(3, 4)], [(5, 4)]], lambda x: x + BIAS, [["n", "4"]]
    ),
    "jax: flattened": Foreign(
        exported(jnp.ravel, "n, 4"), {"arg0": ["n", 4]}, [[(3, 4)], [(5, 4)]], np.ravel, [["4*n"]]
    ),
    "jax: an inner function": Foreign(
        exported(jax.nn.relu, "n"), {"arg0": "n"}, [[(6,)], [(9,)]], lambda x: np.maximum(x, 0), [["n"]]
    ),
    "jax: sizes as arguments": Foreign(
        """module @jit_f {
  func.func public @main(%n: tensor<i32> {jax.global_constant = "n"}, %x: tensor<?xf32>) -> tensor<?xf32> {
    %n1 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
    %i = stablehlo.dynamic_iota %n1, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
    %0 = stablehlo.add %i, %x : tensor<?xf32>
    return %0 : tensor<?xf32>
  } }""",
        {"arg0": "n", "arg1": "n"},
        [[i32(3), (3,)], [i32(5), (5,)]],
        lambda n, x: x + np.arange(n, dtype=np.float32),
        [["n"]],
    ),
}

TORCH = {
    "torch: linear layer": Foreign(
        """module @IrToHlo.18 attributes {mhlo.cross_program_prefetches = [], mhlo.is_dynamic = false,
    mhlo.use_auto_spmd_partitioning = false} {
  func.func @main(%arg0: tensor<2xf32>, %arg1: tensor<2x3xf32>, %arg2: tensor<?x3xf32>) -> tensor<?x2xf32> {
    %0 = stablehlo.transpose %arg1, dims = [1, 0] {result_layout = dense<[0, 1]> : tensor<2xindex>,
      xla_shape = "f32[3,2]{0,1}"} : (tensor<2x3xf32>) -> tensor<3x2xf32>
    %1 = stablehlo.dot_general %arg2, %0, contracting_dims = [1] x [0]
      : (tensor<?x3xf32>, tensor<3x2xf32>) -> tensor<?x2xf32>
    %2 = stablehlo.get_dimension_size %1, dim = 0 : (tensor<?x2xf32>) -> tensor<i32>
    %3 = stablehlo.reshape %2 : (tensor<i32>) -> tensor<1xi32>
    %4 = stablehlo.constant dense<2> : tensor<1xi32>
    %5 = stablehlo.concatenate %3, %4, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %6 = stablehlo.dynamic_broadcast_in_dim %arg0, %5, dims = [1] : (tensor<2xf32>, tensor<2xi32>) -> tensor<?x2xf32>
    %7 = stablehlo.add %1, %6 : tensor<?x2xf32>
    return %7 : tensor<?x2xf32>
  } }""",
        {"arg2": ["batch", 3]},
        [[(2,), (2, 3), (4, 3)], [(2,), (2, 3), (1, 3)]],
        lambda b, w, x: x @ w.T + b,
        [["batch", "2"]],
    ),
    "torch: batch norm": Foreign(
        """module @IrToHlo.12 {
  func.func @main(%arg0: tensor<3xf32>, %arg1: tensor<3xf32>, %arg2: tensor<?x3xf32>)
      -> (tensor<?x3xf32>, tensor<?x3xf32>) {
    %v = stablehlo.constant dense<4.0> : tensor<3xf32>
    %1 = stablehlo.add %arg2, %arg2 : tensor<?x3xf32>
    %0 = "stablehlo.batch_norm_inference"(%arg2, %arg0, %arg1, %arg1, %v) <{epsilon = 0.0 : f32,
      feature_index = 1 : i64}>
      : (tensor<?x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<?x3xf32>
    return %0, %1 : tensor<?x3xf32>, tensor<?x3xf32>
  } }""",
        {"arg2": ["batch", 3]},
        [[(3,), (3,), (4, 3)], [(3,), (3,), (1, 3)]],
        lambda scale, offset, x: (scale * (x - offset) / 2 + offset, x + x),
        [["result0_0", "3"], ["batch", "3"]],
        padded=False,
    ),
}

VALUES = {
    "iota of a shape": Foreign(
        """func.func @main(%arg0: tensor<2xi64>) -> tensor<?x?xi64> {
  %0 = stablehlo.dynamic_iota %arg0, dim = 1 : (tensor<2xi64>) -> tensor<?x?xi64>
  return %0 : tensor<?x?xi64> }""",
        {"arg0": ["rows", "columns"]},
        [[vector(3, 2)], [vector(1, 4)]],
        lambda s: np.broadcast_to(np.arange(s[1]), s),
        [["rows", "columns"]],
    ),
    "iota of a scalar": Foreign(
        """func.func @main(%arg0: tensor<i32>) -> tensor<?xi32> {
  %s = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
  %0 = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>
  return %0 : tensor<?xi32> }""",
        {"arg0": "k"},
        [[i32(3)], [i32(5)]],
        lambda k: np.arange(k, dtype=np.int32),
        [["k"]],
    ),
    "rows spread": Foreign(
        """func.func @main(%arg0: tensor<?xf32>, %arg1: tensor<i64>) -> tensor<?x?xf32> {
  %r = stablehlo.reshape %arg1 : (tensor<i64>) -> tensor<1xi64>
  %n = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?xf32>) -> tensor<i32>
  %n64 = stablehlo.convert %n : (tensor<i32>) -> tensor<i64>
  %n1 = stablehlo.reshape %n64 : (tensor<i64>) -> tensor<1xi64>
  %shape = stablehlo.concatenate %r, %n1, dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %0 = stablehlo.dynamic_broadcast_in_dim %arg0, %shape, dims = [1] : (tensor<?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32> }""",
        {"arg0": "n", "arg1": "rows"},
        [[(2,), i64(3)], [(4,), i64(1)]],
        lambda x, r: np.broadcast_to(x, (r, len(x))),
        [["rows", "n"]],
    ),
    "the first k": Foreign(
        """func.func @main(%arg0: tensor<?xf32>, %arg1: tensor<1xi64>) -> tensor<?xf32> {
  %z = stablehlo.constant dense<0> : tensor<1xi64>
  %one = stablehlo.constant dense<1> : tensor<1xi64>
  %0 = stablehlo.real_dynamic_slice %arg0, %z, %arg1, %one
    : (tensor<?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>
  return %0 : tensor<?xf32> }""",
        {"arg0": "n", "arg1": "k"},
        [[(6,), vector(4)], [(5,), vector(2)]],
        lambda x, k: x[: k[0]],
        [["k"]],
    ),
    "padded with k zeros": Foreign(
        """func.func @main(%arg0: tensor<?xf32>, %arg1: tensor<1xi64>) -> tensor<?xf32> {
  %v = stablehlo.constant dense<0.0> : tensor<f32>
  %z = stablehlo.constant dense<0> : tensor<1xi64>
  %0 = stablehlo.dynamic_pad %arg0, %v, %arg1, %z, %z
    : (tensor<?xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>
  return %0 : tensor<?xf32> }""",
        {"arg0": "n", "arg1": "k"},
        [[(6,), vector(4)], [(5,), vector(2)]],
        lambda x, k: np.pad(x, (k[0], 0)),
        [["k + n"]],
    ),
    "gathered rows of k": Foreign(
        """func.func @main(%arg0: tensor<4x?xf32>, %arg1: tensor<2xi64>, %arg2: tensor<2xi64>) -> tensor<2x?xf32> {
  %0 = "stablehlo.dynamic_gather"(%arg0, %arg1, %arg2) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],
    collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}>
    : (tensor<4x?xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x?xf32>
  return %0 : tensor<2x?xf32> }""",
        {"arg0": [4, "n"], "arg2": ["one", "n"]},
        [[(4, 3), vector(1, 3), vector(1, 3)], [(4, 2), vector(0, 3), vector(1, 2)]],
        lambda x, i, s: x[i],
        [["2", "n"]],
    ),
    "at most 200": Foreign(
        """func.func @main(%arg0: tensor<?xf32>) -> tensor<?xf32> {
  %most = stablehlo.constant dense<200> : tensor<i32>
  %n = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?xf32>) -> tensor<i32>
  %m = stablehlo.minimum %n, %most : tensor<i32>
  %s = stablehlo.reshape %m : (tensor<i32>) -> tensor<1xi32>
  %0 = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
  return %0 : tensor<?xf32> }""",
        {"arg0": ["n"]},
        [[(5,)], [(300,)]],
        lambda x: np.arange(min(len(x), 200), dtype=np.float32),
        [["min(n, 200)"]],
    ),
    "a computed length": Foreign(
        """func.func @main(%arg0: tensor<i32>) -> tensor<?xf32> {
  %two = stablehlo.constant dense<2> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %d = stablehlo.multiply %arg0, %two : tensor<i32>
  %m = stablehlo.add %d, %one : tensor<i32>
  %s = stablehlo.reshape %m : (tensor<i32>) -> tensor<1xi32>
  %0 = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
  return %0 : tensor<?xf32> }""",
        {"arg0": "k"},
        [[i32(3)], [i32(5)]],
        lambda k: np.arange(2 * k + 1, dtype=np.float32),
        [["2*k + 1"]],
    ),
}

MODULES: dict[str, Foreign] = {**PLAIN, **JAX, **TORCH, **VALUES}
