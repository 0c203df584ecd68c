# RUN: %python %s | filecheck %s
"""RandomVariable: JAX's sampler as a private function, on a part of the one key or of a generator that is a key."""

import warnings

import numpy as np
import pytensor
import pytensor.tensor as pt
from common import show

warnings.simplefilter("ignore")
first, second = (pytensor.shared(np.random.default_rng(0), name=name) for name in ("first", "second"))
x, loc = pt.dmatrix("x"), pt.dvector("loc")
normal = pt.random.normal(loc, 1.0, size=(3, 4), rng=first)
coin = pt.random.bernoulli(pt.sigmoid(x), rng=second)

# CHECK-LABEL: module @RandomVariable.static.one_key
# CHECK-NEXT: key: key, threefry2x32
# CHECK-NEXT: a = @split(key) : tensor<2x2xui32>
# CHECK-NEXT: return @normal(reshape<2xui32>(slice<0:1:1, 0:2:1>(a)), reshape<1x4xf64>(loc), 1), @bernoulli(reshape<2xui32>(slice<1:2:1, 0:2:1>(a)), logistic(x)) : tensor<3x4xf64>, tensor<2x3xi64>
show([loc, x], [normal, coin], name="RandomVariable.static.one_key", dims={"loc": (4,), "x": (2, 3)})

# CHECK-LABEL: module @RandomVariable.dynamic
# CHECK-NEXT: key: key, threefry2x32
# CHECK-NEXT: return @bernoulli(reshape<2xui32>(@split(key)), logistic(x)) : tensor<?x3xi64>
# CHECK: @bernoulli(tensor<2xui32>, tensor<?x3xf64>) -> tensor<?x3xi64>:
# CHECK-NOT: @
show([x], coin, name="RandomVariable.dynamic", dims={"x": ("n", 3)})
