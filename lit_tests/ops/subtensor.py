# RUN: %python %s | filecheck %s
"""Subtensor: slices and integer indices."""

import pytensor.tensor as pt
from common import show

x, v = pt.dmatrix("x"), pt.dvector("v")
i, k = pt.lscalar("i"), pt.lscalar("k")

show([x], x[1:3, ::2], name="Subtensor.static", dims={"x": (5, 6)})

show([x], x[-1], name="Subtensor.static.integer", dims={"x": (5, 6)})

show([v], v[::-1], name="Subtensor.static.reverse", dims={"v": (5,)})

show([v], v[4:0:-2], name="Subtensor.static.backward", dims={"v": (5,)})

show([v], v[1:100], name="Subtensor.static.clamped", dims={"v": (5,)})

show([v], v[:], name="Subtensor.static.whole", dims={"v": (5,)})

# An index that is an argument is data: checked when the program runs, and no size.
show([x, i], x[i], name="Subtensor.static.runtime", dims={"x": (5, 6)})

show([x], x[1:], name="Subtensor.dynamic", dims={"x": ("n", 6)})

show([x], x[-1], name="Subtensor.dynamic.integer", dims={"x": ("n", 6)})

show([v], v[::-1], name="Subtensor.dynamic.reverse", dims={"v": ("n",)})

show([v], v[::3], name="Subtensor.dynamic.step", dims={"v": ("n",)})

# An end that is an argument is a size.
show([v, k], v[:k], name="Subtensor.dynamic.end", dims={"v": ("n",)})

show([x, i], x[i], name="Subtensor.dynamic.runtime", dims={"x": ("n", 6)})

show([v, k], v[::k], name="Subtensor.dynamic.stride", dims={"v": ("n",)})
