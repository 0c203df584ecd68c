# RUN: %python %s | filecheck %s
"""A mean over the outputs of a scan is taken inside the loop: no array of all ten steps is made."""

import jax.numpy as jnp
import numpy as np
from jax.lax import scan

import hlograph


def slow(x):
    return scan(lambda carry, _: (jnp.sin(carry), jnp.sin(carry)), x, None, length=10)[1].mean()


# CHECK-LABEL: module @slow
# CHECK-NOT: tensor<10x
# CHECK: stablehlo.while
# CHECK-NOT: tensor<10x
# CHECK: stablehlo.sine
# CHECK-NOT: tensor<10x
# CHECK: stablehlo.reduce
# CHECK-NOT: tensor<10x
# CHECK: return
x = np.ones(1000, np.float32)
print(hlograph.jit(slow).lower(x).stages[-2].text)

# With a batch of any size the module of each size is the same.
# CHECK-LABEL: module @slow
# CHECK-NOT: tensor<10x
# CHECK: stablehlo.while
# CHECK-NOT: tensor<10x
# CHECK: return
print(hlograph.jit(slow, dims={"x": ("n",)}, policy="exact").lower(x).stages[-2].text)
