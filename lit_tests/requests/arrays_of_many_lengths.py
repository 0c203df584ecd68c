# RUN: %python %s | filecheck %s
"""A likelihood of a 1-D array of any length: one module, with the length as a symbol; padded, with a mask."""

import jax
import numpy as np

import hlograph


def likelihood(x, mean, scale):
    return jax.scipy.stats.norm.logpdf(x, mean, scale).sum()


# CHECK-LABEL: module @likelihood
# CHECK: %x: tensor<?xf32> {hlograph.dims = ["n"], hlograph.name = "x"}
# CHECK-SAME: %mean: tensor<f32> {hlograph.dims = [], hlograph.name = "mean"}
# CHECK-SAME: %scale: tensor<f32> {hlograph.dims = [], hlograph.name = "scale"}
# CHECK: stablehlo.reduce
program = hlograph.jit(likelihood, dims={"x": ("n",)}).program(np.ones(3, np.float32), 0.0, 1.0)
print(program)

# CHECK-LABEL: module @likelihood
# CHECK: %x: tensor<16xf32> {{.*}}hlograph.live = ["n"]
# CHECK-SAME: hlograph.size = "n"
# CHECK: stablehlo.compare LT
# CHECK: stablehlo.select
# CHECK: stablehlo.reduce
print(program.pad({"n": 16}))
