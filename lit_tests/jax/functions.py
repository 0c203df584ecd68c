# RUN: %python %s | filecheck %s
"""Functions that JAX traces: loops and running sums over symbolic axes."""

import jax
import jax.numpy as jnp

import hlograph

SDS = jax.ShapeDtypeStruct

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
