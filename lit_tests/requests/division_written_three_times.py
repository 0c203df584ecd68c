# RUN: %python %s | filecheck %s
"""What is written three times is in the module once, also in JAX's own modules and in reverse mode; what has effects is not."""

import jax
import jax.numpy as jnp
import numpy as np

import hlograph


def three(x1, x2):
    return (x1 / x2 - jnp.exp(x2)) * (jnp.sin(x1 / x2) + x1 / x2 - jnp.exp(x2))


# The function that jax.jit runs: JAX's module, with its own attributes.
# CHECK-LABEL: module @jit_three
# CHECK-NEXT: func.func public @main(%x1: tensor<f32>, %x2: tensor<f32>) -> (tensor<f32> {jax.result_info
# CHECK-NEXT: %[[Q:.*]] = stablehlo.divide %x1, %x2
# CHECK-NEXT: %[[E:.*]] = stablehlo.exponential %x2
# CHECK-NEXT: stablehlo.subtract %[[Q]], %[[E]]
# CHECK-NEXT: stablehlo.sine %[[Q]]
# CHECK-NEXT: stablehlo.add
# CHECK-NEXT: stablehlo.subtract
# CHECK-NEXT: stablehlo.multiply
# CHECK-NEXT: return
print(hlograph.jit(three).lower(1.0, 1.0).as_text())

# Reverse mode that JAX made before we saw the function: five divisions, and no product with 1.
# CHECK-LABEL: module @jit_three
# CHECK-COUNT-5: stablehlo.divide
# CHECK-NOT: stablehlo.divide
# CHECK: return
print(hlograph.jit(jax.grad(three, (0, 1))).lower(1.0, 1.0).as_text())

# Reverse mode of the function: what occurs three times has one derivative.
# CHECK-LABEL: module @jit_three
# CHECK-COUNT-3: stablehlo.divide
# CHECK-NOT: stablehlo.divide
print(jax.jit(jax.grad(hlograph.jit(three), (0, 1))).lower(1.0, 1.0).as_text())

# With named sizes: the program, and its gradient.
# CHECK-LABEL: module @named
# CHECK-SAME: {
# CHECK-COUNT-1: stablehlo.divide
# CHECK-NOT: stablehlo.divide
# CHECK: return
named = {"x1": ("n",), "x2": ("n",)}
SDS = jax.ShapeDtypeStruct
SPECS = SDS(("n",), "float32"), SDS(("n",), "float32")
print(hlograph.emit_stablehlo(three, *SPECS, name="named"))

# CHECK-LABEL: module @gradient
# CHECK-COUNT-4: stablehlo.divide
# CHECK-NOT: stablehlo.divide
# CHECK-NOT: dense<1.0
# CHECK: return
print(hlograph.emit_stablehlo(jax.grad(lambda x, y: three(x, y).sum()), *SPECS, name="gradient"))

# Identities: none of these is in the module. -0.0 + 0.0 is 0.0, so that sum stays.
# CHECK-LABEL: module @identities
# CHECK: %[[Z:.*]] = stablehlo.constant dense<0.000000e+00> : tensor<f32>
# CHECK-NOT: multiply
# CHECK-NOT: divide
# CHECK-NOT: subtract
# CHECK-NOT: convert
# CHECK-NOT: select
# CHECK-NOT: negate
# CHECK: %[[S:.*]] = stablehlo.add %x
# CHECK-NEXT: return %[[S]]


def identities(x):
    y = jnp.where(x > 0, x, x) * 1.0 / 1.0 - 0.0 + -0.0
    return jax.lax.convert_element_type(jnp.negative(-y), "float32")[:].reshape(x.shape) + 0.0


print(hlograph.emit_stablehlo(identities, SDS(("n",), "float32"), name="identities"))

# Calls of Python, prints and draws of a state stay as many as they are; those of a key are numbers as any.
# CHECK-LABEL: module @jit_effects
# CHECK-COUNT-4: stablehlo.custom_call @xla_ffi_python
# CHECK-NOT: stablehlo.custom_call @xla_ffi_python
# CHECK: stablehlo.rng
# CHECK: stablehlo.rng
# CHECK-LABEL: func.func private @_normal
# CHECK-NOT: func.func private @_normal_0


def effects(x):
    for _ in range(2):
        jax.debug.callback(lambda y: None, x)
        x += jax.pure_callback(np.asarray, x, x)
    x += jax.lax.rng_uniform(0.0, 1.0, ()) + jax.lax.rng_uniform(0.0, 1.0, ())
    return x + jax.random.normal(jax.random.key(0)) + jax.random.normal(jax.random.key(0))


print(hlograph.jit(effects).lower(1.0).as_text())
