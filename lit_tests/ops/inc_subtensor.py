# RUN: %python %s | filecheck %s
"""IncSubtensor: writing to, and adding at, slices and integer indices."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.subtensor import inc_subtensor, set_subtensor

x, v, y = pt.dmatrix("x"), pt.dvector("v"), pt.dvector("y")
i, k = pt.lscalar("i"), pt.lscalar("k")

show([v, y], set_subtensor(v[1:3], y), name="IncSubtensor.static", dims={"v": (5,), "y": (2,)})

show([v, y], inc_subtensor(v[1:3], y), name="IncSubtensor.static.add", dims={"v": (5,), "y": (2,)})

show([x, v], set_subtensor(x[2], v), name="IncSubtensor.static.integer", dims={"x": (5, 6), "v": (6,)})

show([v], set_subtensor(v[:], 0.0), name="IncSubtensor.static.whole", dims={"v": (5,)})

# Not contiguous: through padding and a mask.
show([v, y], inc_subtensor(v[::2], y), name="IncSubtensor.static.strided", dims={"v": (5,), "y": (3,)})

show([v, y], set_subtensor(v[::-1], y), name="IncSubtensor.static.backward", dims={"v": (5,), "y": (5,)})

show([x, v, i], set_subtensor(x[i], v), name="IncSubtensor.static.runtime", dims={"x": (5, 6), "v": (6,)})

show([v, y], set_subtensor(v[1:], y), name="IncSubtensor.dynamic", dims={"v": ("n",), "y": ("m",)})

show([v], inc_subtensor(v[1:], 1.0), name="IncSubtensor.dynamic.add", dims={"v": ("n",)})

show([v, k], set_subtensor(v[:k], 0.0), name="IncSubtensor.dynamic.end", dims={"v": ("n",)})

show([v, y], set_subtensor(v[::2], y), name="IncSubtensor.dynamic.strided", dims={"v": ("n",), "y": ("m",)})
