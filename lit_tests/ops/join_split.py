# RUN: %python %s | filecheck %s
"""Join, Split: tensors one after the other along an axis, and an axis cut into pieces."""

import pytensor.tensor as pt
from common import show

x, y = pt.dmatrix("x"), pt.dmatrix("y")
f = pt.fmatrix("f")
n = pt.lscalar("n")

# CHECK-LABEL: module @Join.dynamic
# CHECK-NEXT: return concatenate<0>(x, y) : tensor<?x4xf64>
show([x, y], pt.join(0, x, y), name="Join.dynamic", dims={"x": ("n", 4), "y": ("m", 4)})

# CHECK-LABEL: module @Split.dynamic
# CHECK-NEXT: constraints: n - 1 >= 0, size 0 of Split at an unnamed Split node
# CHECK-NEXT: a = add(size<0>(x), -1) : tensor<i64>
# CHECK-NEXT: return real_dynamic_slice(x, 0, concatenate<0>(a, 4), 1), dynamic_slice<[1, 4]>(x, a, 0) : tensor<?x4xf64>, tensor<1x4xf64>
show([x], pt.split(x, pt.stack([x.shape[0] - 1, 1]), n_splits=2), name="Split.dynamic", dims={"x": ("n", 4)})

# CHECK-LABEL: module @Split.dynamic.runtime
# CHECK-NEXT: constraints: n >= 0, size 0 of Split at an unnamed Split node
# CHECK-NEXT: constraints: -n + 4 >= 0, size 1 of Split at an unnamed Split node
# CHECK-NEXT: return real_dynamic_slice(x, 0, concatenate<0>(3, n), 1), real_dynamic_slice(x, concatenate<0>(0, n), [3, 4], 1) : tensor<3x?xf64>, tensor<3x?xf64>
show([x, n], pt.split(x, pt.stack([n, 4 - n]), n_splits=2, axis=1), name="Split.dynamic.runtime", dims={"x": (3, 4)})
