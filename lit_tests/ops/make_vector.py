# RUN: %python %s | filecheck %s
"""MakeVector, TensorFromScalar, ScalarFromTensor: scalars and short vectors."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.basic import MakeVector, scalar_from_tensor, tensor_from_scalar

x, y = pt.dscalar("x"), pt.dscalar("y")
v = pt.dvector("v")
k = pt.lscalar("k")

# Sizes make a shape, which the Alloc takes as it is.
# CHECK-LABEL: module @MakeVector.dynamic
# CHECK-NEXT: return dynamic_broadcast_in_dim<[], ?x2xf64>(1, concatenate<0>(size<0>(v), 2)) : tensor<?x2xf64>
show([v], pt.ones(MakeVector("int64")(v.shape[0], 2)), name="MakeVector.dynamic", dims={"v": ("n",)})

# A scalar and a tensor without axes are the same here.
# CHECK-LABEL: module @ScalarFromTensor.dynamic
# CHECK-NEXT: constraints: k >= 0, size 0 of Alloc at an unnamed Alloc node
# CHECK-NEXT: return dynamic_broadcast_in_dim<[], ?xf64>(0, k) : tensor<?xf64>
show([k], pt.zeros(tensor_from_scalar(scalar_from_tensor(k))), name="ScalarFromTensor.dynamic")

# CHECK-LABEL: module @TensorFromScalar.dynamic
# CHECK-NEXT: return add(reduce<[0], add>(v, 0), v) : tensor<?xf64>
show([v], tensor_from_scalar(scalar_from_tensor(v.sum())) + v, name="TensorFromScalar.dynamic", dims={"v": ("n",)})
