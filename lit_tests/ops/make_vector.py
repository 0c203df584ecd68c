# RUN: %python %s | filecheck %s
"""MakeVector, TensorFromScalar, ScalarFromTensor: scalars and short vectors."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.basic import MakeVector, scalar_from_tensor, tensor_from_scalar

x, y = pt.dscalar("x"), pt.dscalar("y")
v = pt.dvector("v")
k = pt.lscalar("k")

show([x, y], MakeVector("float64")(x, y, x), name="MakeVector.static")

# Sizes make a shape, which the Alloc takes as it is.
show([v], pt.ones(MakeVector("int64")(v.shape[0], 2)), name="MakeVector.dynamic", dims={"v": ("n",)})

# A scalar and a tensor without axes are the same here.
show([x], tensor_from_scalar(scalar_from_tensor(pt.exp(x))), name="ScalarFromTensor.static")

show([k], pt.zeros(tensor_from_scalar(scalar_from_tensor(k))), name="ScalarFromTensor.dynamic")

show([x], pt.exp(tensor_from_scalar(scalar_from_tensor(x))), name="TensorFromScalar.static")

show([v], tensor_from_scalar(scalar_from_tensor(v.sum())) + v, name="TensorFromScalar.dynamic", dims={"v": ("n",)})
