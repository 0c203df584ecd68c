# RUN: %python %s | filecheck %s
"""AdvancedIncSubtensor1, AdvancedIncSubtensor: writing and accumulating at integer tensors, and where a mask holds."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.subtensor import AdvancedIncSubtensor1, inc_subtensor, set_subtensor

x, y, v = pt.dmatrix("x"), pt.dmatrix("y"), pt.dvector("v")
i, j = pt.lvector("i"), pt.lvector("j")
mask = pt.tensor("mask", dtype="bool", shape=(None, None))

show([x, y, i], AdvancedIncSubtensor1()(x, y, i), name="AdvancedIncSubtensor1.static", dims={"x": (5, 6), "y": (20, 6), "i": (20,)})

show([x, y, i], AdvancedIncSubtensor1(set_instead_of_inc=True)(x, y, i), name="AdvancedIncSubtensor1.static.set", dims={"x": (5, 6), "y": (20, 6), "i": (20,)})

show([x, y, i], AdvancedIncSubtensor1()(x, y, i), name="AdvancedIncSubtensor1.dynamic", dims={"x": ("n", 6), "y": ("k", 6), "i": ("k",)})

show([x, v, i, j], inc_subtensor(x[i, j], v), name="AdvancedIncSubtensor.static", dims={"x": (5, 6), "v": (20,), "i": (20,), "j": (20,)})

show([x, v, i, j], inc_subtensor(x[i, j], v, ignore_duplicates=True), name="AdvancedIncSubtensor.static.duplicates", dims={"x": (5, 6), "v": (20,), "i": (20,), "j": (20,)})

show([x, mask], set_subtensor(x[mask], 0.0), name="AdvancedIncSubtensor.static.mask", dims={"x": (5, 6), "mask": (5, 6)})

show([x, v, i, j], set_subtensor(x[i, j], v), name="AdvancedIncSubtensor.dynamic", dims={"x": ("n", 6), "v": ("k",), "i": ("k",), "j": ("k",)})

show([x, i], set_subtensor(x[1:, i], 0.0), name="AdvancedIncSubtensor.dynamic.mixed", dims={"x": ("n", 6), "i": ("k",)})

show([x, mask], set_subtensor(x[mask], 0.0), name="AdvancedIncSubtensor.dynamic.mask", dims={"x": ("n", 6), "mask": ("n", 6)})
