# RUN: %python %s | filecheck %s
"""Join, Split: tensors one after the other along an axis, and an axis cut into pieces."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.basic import Split

x, y = pt.dmatrix("x"), pt.dmatrix("y")
f = pt.fmatrix("f")
n = pt.lscalar("n")

show([x, y], pt.join(0, x, y), name="Join.static", dims={"x": (3, 4), "y": (2, 4)})

show([x, f], pt.join(-1, x, f), name="Join.static.mixed", dims={"x": (3, 4), "f": (3, 2)})

show([x, y], pt.join(0, x, y), name="Join.dynamic", dims={"x": ("n", 4), "y": ("m", 4)})

# The other axes must agree.
show([x, y], pt.join(1, x, y), name="Join.dynamic.other", dims={"x": ("n", 4), "y": ("m", 2)})

show([x], Split(2)(x, 0, [1, 2]), name="Split.static", dims={"x": (3, 4)})

show([x], Split(2)(x, 0, pt.stack([x.shape[0] - 1, 1])), name="Split.dynamic", dims={"x": ("n", 4)})

show([x, n], Split(2)(x, 1, pt.stack([n, 4 - n])), name="Split.dynamic.runtime", dims={"x": (3, 4)})
