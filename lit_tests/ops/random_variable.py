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

# CHECK-LABEL: module @RandomVariable.static
# CHECK: hlograph.key = "threefry2x32", hlograph.name = "first"
# CHECK-NOT: dynamic_
# CHECK: [[KEYS:%\w+]] = call @split(%arg0) : (tensor<2xui32>) -> tensor<2x2xui32>
# CHECK-NEXT: [[NEXT:%\w+]] = stablehlo.slice [[KEYS]] [0:1, 0:2] : (tensor<2x2xui32>) -> tensor<1x2xui32>
# CHECK-NEXT: [[STATE:%\w+]] = stablehlo.reshape [[NEXT]] : (tensor<1x2xui32>) -> tensor<2xui32>
# CHECK-NEXT: [[LAST:%\w+]] = stablehlo.slice [[KEYS]] [1:2, 0:2] : (tensor<2x2xui32>) -> tensor<1x2xui32>
# CHECK-NEXT: [[SUBKEY:%\w+]] = stablehlo.reshape [[LAST]] : (tensor<1x2xui32>) -> tensor<2xui32>
# CHECK-NEXT: [[DRAW:%\w+]] = call @normal([[SUBKEY]], {{%\w+}}, {{%\w+}})
# CHECK-SAME: -> tensor<3x4xf64>
# CHECK-NEXT: return [[STATE]], [[DRAW]] : tensor<2xui32>, tensor<3x4xf64>
show([first, loc], [normal.owner.outputs[0], normal], name="RandomVariable.static", dims={"loc": (4,)}, rng_inputs=True)

# CHECK-LABEL: module @RandomVariable.static.one_key
# CHECK: hlograph.key = "threefry2x32", hlograph.name = "key"
# CHECK: [[KEYS:%\w+]] = call @split(%arg0) : (tensor<2xui32>) -> tensor<2x2xui32>
# CHECK-NEXT: [[FIRST:%\w+]] = stablehlo.slice [[KEYS]] [0:1, 0:2] : (tensor<2x2xui32>) -> tensor<1x2xui32>
# CHECK-NEXT: [[KEY0:%\w+]] = stablehlo.reshape [[FIRST]] : (tensor<1x2xui32>) -> tensor<2xui32>
# CHECK: [[NORMAL:%\w+]] = call @normal([[KEY0]], {{%\w+}}, {{%\w+}})
# CHECK: [[SECOND:%\w+]] = stablehlo.slice [[KEYS]] [1:2, 0:2] : (tensor<2x2xui32>) -> tensor<1x2xui32>
# CHECK-NEXT: [[KEY1:%\w+]] = stablehlo.reshape [[SECOND]] : (tensor<1x2xui32>) -> tensor<2xui32>
# CHECK: [[COIN:%\w+]] = call @bernoulli([[KEY1]], {{%\w+}}) : (tensor<2xui32>, tensor<2x3xf64>) -> tensor<2x3xi64>
# CHECK-NEXT: return [[NORMAL]], [[COIN]] : tensor<3x4xf64>, tensor<2x3xi64>
show([loc, x], [normal, coin], name="RandomVariable.static.one_key", dims={"loc": (4,), "x": (2, 3)})

# CHECK-LABEL: module @RandomVariable.dynamic
# CHECK: [[KEYS:%\w+]] = call @split(%arg0) : (tensor<2xui32>) -> tensor<1x2xui32>
# CHECK-NEXT: [[KEY:%\w+]] = stablehlo.reshape [[KEYS]] : (tensor<1x2xui32>) -> tensor<2xui32>
# CHECK: [[P:%\w+]] = stablehlo.logistic %arg1 : tensor<?x3xf64>
# CHECK: [[COIN:%\w+]] = call @bernoulli([[KEY]], [[P]]) : (tensor<2xui32>, tensor<?x3xf64>) -> tensor<?x3xi64>
# CHECK-NEXT: return [[COIN]] : tensor<?x3xi64>
# CHECK: func.func private @bernoulli(%arg0: tensor<2xui32>, %arg1: tensor<?x3xf64>) -> tensor<?x3xi64>
# CHECK-NOT: custom_call
show([x], coin, name="RandomVariable.dynamic", dims={"x": ("n", 3)})
