# RUN: %python %s | filecheck %s
"""Functions that JAX traces: signature attributes in place of JAX's shape assertions, and no calls."""

import jax
import jax.numpy as jnp

import hlograph

SDS = jax.ShapeDtypeStruct

# Equal names, a derived size, and what JAX demands of sizes; the call of the inner function is inlined.
# CHECK-LABEL: module @affine
# CHECK-NOT: shape_assertion
# CHECK-NOT: jax.
# CHECK: func.func public @main
# CHECK-SAME: %x: tensor<?x4xf32> {hlograph.dims = ["n", "4"], hlograph.name = "x"}
# CHECK-SAME: %params.w: tensor<4x?xf32> {hlograph.dims = ["4", "k"], hlograph.name = "params.w"}
# CHECK-SAME: -> (tensor<?x?xf32> {hlograph.dims = ["(n + 1)//2", "k"], hlograph.name = "out"})
# CHECK-SAME: attributes {hlograph.constraints = {{\[\[}}"k >= 1", "JAX's symbolic sizes"], ["n >= 1", "JAX's symbolic sizes"]]}
# CHECK-NOT: call
# CHECK: stablehlo.dot_general
# CHECK-NOT: call
# CHECK: return
# CHECK-NOT: func.func


def affine(x, params):
    return jax.jit(jnp.matmul)(x, params["w"])[::2]


print(hlograph.emit_stablehlo(affine, SDS(("n", 4), "float32"), {"w": SDS((4, "k"), "float32")}))

# CHECK-LABEL: module @constrained
# CHECK: hlograph.constraints = {{\[\[}}"n >= 1", "JAX's symbolic sizes"], ["n % 2 == 0", "constraints="]]
# CHECK: stablehlo.dynamic_reshape
print(
    hlograph.emit_stablehlo(
        lambda x: x.reshape(2, x.shape[0] // 2),
        SDS(("n",), "float32"),
        name="constrained",
        constraints=["n % 2 == 0"],
    )
)

# A loop over a symbolic axis.
# CHECK-LABEL: module @loop
# CHECK: %[[N:.*]] = stablehlo.get_dimension_size %xs, dim = 0
# CHECK: stablehlo.while
# CHECK: stablehlo.compare LT, %{{.*}}, %[[N]], SIGNED
# CHECK-NOT: call
# CHECK: return
print(
    hlograph.emit_stablehlo(
        lambda xs: jax.lax.scan(lambda h, x: (jnp.tanh(h + x), h), jnp.zeros(3), xs)[0],
        SDS(("t", 3), "float32"),
        name="loop",
    )
)

# The window of a running sum is a size; its reducer stays, as a private function.
# CHECK-LABEL: module @running
# CHECK: stablehlo.custom_call @stablehlo.dynamic_reduce_window
# CHECK-SAME: called_computations = [@[[REDUCER:.*]]]
# CHECK: func.func private @[[REDUCER]]
print(hlograph.emit_stablehlo(lambda x: jnp.cumsum(x), SDS(("n",), "float32"), name="running"))

# CHECK-LABEL: module @running
# CHECK: stablehlo.reduce_window
print(hlograph.emit_stablehlo(lambda x: jnp.cumsum(x), SDS(("n",), "float32"), name="running").specialize({"n": 3}))
