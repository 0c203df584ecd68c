"""Modules with `?` sizes as others write them: by hand, JAX's export, PyTorch/XLA, TensorFlow's XlaCallModule.

Each has a text, names for its sizes as `load(path, dims=...)` takes them, arguments for two sets of sizes, and what
NumPy makes of these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Foreign:
    """One module.

    Attributes:
        text: MLIR.
        dims: names of sizes.
        shapes: for each set of sizes one entry per argument: a shape, or an integer array for an argument with values.
        expected: of the arguments.
        results: dims of the results under these names, as text; () where they are not known.
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
    "contracted": Foreign(
        """func.func @main(%arg0: tensor<?x?xf32>, %arg1: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0]
     : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32> }""",
        {"arg0": ["n", "k"], "arg1": ["k", "m"]},
        [[(3, 4), (4, 2)], [(5, 6), (6, 7)]],
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
    "transposed": Foreign(
        """func.func @main(%arg0: tensor<?x?x2xf32>) -> tensor<2x?x?xf32> {
  %0 = stablehlo.transpose %arg0, dims = [2, 0, 1] : (tensor<?x?x2xf32>) -> tensor<2x?x?xf32>
  return %0 : tensor<2x?x?xf32> }""",
        {"arg0": ["a", "b", 2]},
        [[(3, 4, 2)], [(1, 5, 2)]],
        lambda x: x.transpose(2, 0, 1),
        [["2", "a", "b"]],
    ),
    "only the last axis named": Foreign(
        """func.func @main(%arg0: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %0 = stablehlo.tanh %arg0 : tensor<?x?xf32>
  return %0 : tensor<?x?xf32> }""",
        {"arg0": [..., "m"]},
        [[(3, 4)], [(2, 5)]],
        np.tanh,
        [["arg0_0", "m"]],
    ),
    "sorted": Foreign(
        """func.func @main(%arg0: tensor<?xf32>) -> tensor<?xf32> {
  %0 = "stablehlo.sort"(%arg0) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32> }""",
        {"arg0": "n"},
        [[(6,)], [(3,)]],
        np.sort,
        [["n"]],
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


def _wrapped(types: str, result: str, body: str, extra: str = "") -> str:
    """A module as JAX's export writes it, with symbolic sizes: an entry that computes and checks sizes, and a function
    that takes them."""
    return f"""module @jit_f attributes {{jax.uses_shape_polymorphism = true, mhlo.num_partitions = 1 : i32,
    mhlo.num_replicas = 1 : i32}} {{
  func.func public @main(%arg0: tensor<{types}> {{mhlo.layout_mode = "default"}})
      -> (tensor<{result}> {{jax.result_info = "result"}}) {{
    %n = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<{types}>) -> tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %ok = stablehlo.compare GE, %n, %one, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%ok, %n) {{api_version = 2 : i32,
      error_message = "Expected value >= 1 for dimension variable 'n', found {{0}}", has_side_effect = true}}
      : (tensor<i1>, tensor<i32>) -> ()
    %r = call @_wrapped_jax_export_main(%n, %arg0) : (tensor<i32>, tensor<{types}>) -> tensor<{result}>
    return %r : tensor<{result}>
  }}
  func.func private @_wrapped_jax_export_main(%n: tensor<i32> {{jax.global_constant = "n"}}, %x: tensor<{types}>)
      -> tensor<{result}> {{
{body}
  }}
{extra}}}"""


_FULL = """    %n1 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
"""

JAX = {
    "jax: a bias": Foreign(
        _wrapped(
            "?x4xf32",
            "?x4xf32",
            _FULL
            + """    %four = stablehlo.constant dense<4> : tensor<1xi32>
    %shape = stablehlo.concatenate %n1, %four, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %b = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
    %w = stablehlo.dynamic_broadcast_in_dim %b, %shape, dims = [1] : (tensor<4xf32>, tensor<2xi32>) -> tensor<?x4xf32>
    %0 = stablehlo.add %x, %w : tensor<?x4xf32>
    return %0 : tensor<?x4xf32>""",
        ),
        {"arg0": ["n", 4]},
        [[(3, 4)], [(5, 4)]],
        lambda x: x + np.arange(1, 5, dtype=np.float32),
        [["n", "4"]],
    ),
    "jax: flattened": Foreign(
        _wrapped(
            "?x4xf32",
            "?xf32",
            """    %four = stablehlo.constant dense<4> : tensor<i32>
    %size = stablehlo.multiply %n, %four : tensor<i32>
    %shape = stablehlo.reshape %size : (tensor<i32>) -> tensor<1xi32>
    %0 = stablehlo.dynamic_reshape %x, %shape : (tensor<?x4xf32>, tensor<1xi32>) -> tensor<?xf32>
    return %0 : tensor<?xf32>""",
        ),
        {"arg0": ["n", 4]},
        [[(3, 4)], [(5, 4)]],
        np.ravel,
        [["4*n"]],
    ),
    "jax: half of it": Foreign(
        _wrapped(
            "?xf32",
            "?xf32",
            """    %two = stablehlo.constant dense<2> : tensor<i32>
    %h = stablehlo.divide %n, %two : tensor<i32>
    %h1 = stablehlo.reshape %h : (tensor<i32>) -> tensor<1xi32>
    %z = stablehlo.constant dense<0> : tensor<1xi32>
    %one = stablehlo.constant dense<1> : tensor<1xi32>
    %0 = stablehlo.real_dynamic_slice %x, %z, %h1, %one
      : (tensor<?xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
    return %0 : tensor<?xf32>""",
        ),
        {"arg0": "n"},
        [[(6,)], [(9,)]],
        lambda x: x[: len(x) // 2],
        [["n//2"]],
    ),
    "jax: an inner function": Foreign(
        _wrapped(
            "?xf32",
            "?xf32",
            """    %0 = call @relu(%n, %x) : (tensor<i32>, tensor<?xf32>) -> tensor<?xf32>
    return %0 : tensor<?xf32>""",
            """  func.func private @relu(%n: tensor<i32> {jax.global_constant = "n"}, %x: tensor<?xf32>)
      -> tensor<?xf32> {
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %n1 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
    %w = stablehlo.dynamic_broadcast_in_dim %z, %n1, dims = [] : (tensor<f32>, tensor<1xi32>) -> tensor<?xf32>
    %0 = stablehlo.maximum %x, %w : tensor<?xf32>
    return %0 : tensor<?xf32>
  }
""",
        ),
        {"arg0": "n"},
        [[(6,)], [(9,)]],
        lambda x: np.maximum(x, 0),
        [["n"]],
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
  func.func @main(%arg0: tensor<3xf32>, %arg1: tensor<3xf32>, %arg2: tensor<?x3xf32>) -> tensor<?x3xf32> {
    %v = stablehlo.constant dense<4.0> : tensor<3xf32>
    %0 = "stablehlo.batch_norm_inference"(%arg2, %arg0, %arg1, %arg1, %v) <{epsilon = 0.0 : f32,
      feature_index = 1 : i64}>
      : (tensor<?x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<?x3xf32>
    return %0 : tensor<?x3xf32>
  } }""",
        {"arg2": ["batch", 3]},
        [[(3,), (3,), (4, 3)], [(3,), (3,), (1, 3)]],
        lambda scale, offset, x: scale * (x - offset) / 2 + offset,
        [["batch", "3"]],
        padded=False,
    ),
    "torch: embedding": Foreign(
        """module @IrToHlo.9 {
  func.func @main(%arg0: tensor<?xi64>, %arg1: tensor<5x2xf32>) -> tensor<?x2xf32> {
    %0 = "stablehlo.gather"(%arg1, %arg0) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],
      collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>}>
      : (tensor<5x2xf32>, tensor<?xi64>) -> tensor<?x2xf32>
    return %0 : tensor<?x2xf32>
  } }""",
        {"arg0": "tokens"},
        [[vector(1, 4, 0), (5, 2)], [vector(2, 2, 1, 3), (5, 2)]],
        lambda i, w: w[i],
        [["tokens", "2"]],
    ),
}

TENSORFLOW = {
    "tf: XlaCallModule": Foreign(
        """module @jax2tf attributes {jax.uses_shape_polymorphism = true, mhlo.frontend_attributes = {}} {
  func.func public @main(%arg0: tensor<?x2xf32> {tf._user_specified_name = "x"}) -> tensor<?x2xf32> {
    %n = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?x2xf32>) -> tensor<i32>
    %n64 = stablehlo.convert %n : (tensor<i32>) -> tensor<i64>
    %0 = call @_wrapped(%n64, %arg0) : (tensor<i64>, tensor<?x2xf32>) -> tensor<?x2xf32>
    return %0 : tensor<?x2xf32>
  }
  func.func private @_wrapped(%n: tensor<i64> {jax.global_constant = "b"}, %x: tensor<?x2xf32>) -> tensor<?x2xf32> {
    %n1 = stablehlo.reshape %n : (tensor<i64>) -> tensor<1xi64>
    %two = stablehlo.constant dense<2> : tensor<1xi64>
    %shape = stablehlo.concatenate %n1, %two, dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
    %one = stablehlo.constant dense<1.0> : tensor<f32>
    %w = stablehlo.dynamic_broadcast_in_dim %one, %shape, dims = [] : (tensor<f32>, tensor<2xi64>) -> tensor<?x2xf32>
    %0 = stablehlo.add %x, %w : tensor<?x2xf32>
    return %0 : tensor<?x2xf32>
  } }""",
        {"arg0": ["b", 2]},
        [[(3, 2)], [(5, 2)]],
        lambda x: x + 1,
        [["b", "2"]],
    ),
    "tf: several platforms": Foreign(
        """module @jax2tf attributes {jax.uses_shape_polymorphism = true} {
  func.func public @main(%arg0: tensor<i32> {jax.global_constant = "_platform_index"}, %arg1: tensor<?xf32>)
      -> tensor<?xf32> {
    %0 = "stablehlo.case"(%arg0) ({
      %a = stablehlo.sine %arg1 : tensor<?xf32>
      stablehlo.return %a : tensor<?xf32>
    }, {
      %b = stablehlo.cosine %arg1 : tensor<?xf32>
      stablehlo.return %b : tensor<?xf32>
    }) : (tensor<i32>) -> tensor<?xf32>
    return %0 : tensor<?xf32>
  } }""",
        {"arg1": "n"},
        [[i32(0), (3,)], [i32(1), (5,)]],
        lambda i, x: np.cos(x) if i else np.sin(x),
        [["n"]],
    ),
    "tf: batch of matrix products": Foreign(
        """module @main attributes {tf.versions = {producer = 1395 : i32}, tf_saved_model.semantics} {
  func.func @serving_default(%arg0: tensor<?x?x4xf32> {tf_saved_model.index_path = ["x"]},
      %arg1: tensor<?x4x3xf32> {tf_saved_model.index_path = ["w"]})
      -> (tensor<?x?x3xf32> {tf_saved_model.index_path = ["y"]}) {
    %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0] x [0], contracting_dims = [2] x [1]
      : (tensor<?x?x4xf32>, tensor<?x4x3xf32>) -> tensor<?x?x3xf32>
    return %0 : tensor<?x?x3xf32>
  } }""",
        {"arg0": ["b", "t", 4], "arg1": ["b", 4, 3]},
        [[(2, 3, 4), (2, 4, 3)], [(1, 5, 4), (1, 4, 3)]],
        np.matmul,
        [["b", "t", "3"]],
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
    "a scalar spread": Foreign(
        """func.func @main(%arg0: tensor<f32>, %arg1: tensor<2xi64>) -> tensor<?x?xf32> {
  %0 = stablehlo.dynamic_broadcast_in_dim %arg0, %arg1, dims = [] : (tensor<f32>, tensor<2xi64>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32> }""",
        {"arg1": ["rows", "columns"]},
        [[(), vector(3, 2)], [(), vector(1, 4)]],
        lambda x, s: np.full(s, x),
        [["rows", "columns"]],
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
    "reshaped": Foreign(
        """func.func @main(%arg0: tensor<?xf32>, %arg1: tensor<2xi64>) -> tensor<?x?xf32> {
  %0 = stablehlo.dynamic_reshape %arg0, %arg1 : (tensor<?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32> }""",
        {"arg0": "a*b", "arg1": ["a", "b"]},
        [[(6,), vector(3, 2)], [(4,), vector(1, 4)]],
        lambda x, s: x.reshape(s),
        [["a", "b"]],
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
    "elements of a shape": Foreign(
        """func.func @main(%arg0: tensor<3xi32>) -> tensor<?xi32> {
  %a = stablehlo.slice %arg0 [0:1] : (tensor<3xi32>) -> tensor<1xi32>
  %c = stablehlo.slice %arg0 [2:3] : (tensor<3xi32>) -> tensor<1xi32>
  %s = stablehlo.add %a, %c : tensor<1xi32>
  %0 = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>
  return %0 : tensor<?xi32> }""",
        {"arg0": ["a", "b", "c"]},
        [[i32(3, 9, 1)], [i32(2, 0, 2)]],
        lambda s: np.arange(s[0] + s[2], dtype=np.int32),
        [["a + c"]],
    ),
    "one shape, two uses": Foreign(
        """func.func @main(%arg0: tensor<2xi64>, %arg1: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %v = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.dynamic_broadcast_in_dim %v, %arg0, dims = [] : (tensor<f32>, tensor<2xi64>) -> tensor<?x?xf32>
  %1 = stablehlo.add %0, %arg1 : tensor<?x?xf32>
  return %1 : tensor<?x?xf32> }""",
        {"arg0": ["n", "m"], "arg1": ["n", "m"]},
        [[vector(3, 2), (3, 2)], [vector(2, 5), (2, 5)]],
        lambda s, x: x + 1,
    ),
}

MODULES: dict[str, Foreign] = {**PLAIN, **JAX, **TORCH, **TENSORFLOW, **VALUES}
