# RUN: %python %s | filecheck %s
"""AdvancedSubtensor1, AdvancedSubtensor: indexing by integer tensors, which are checked to be in range."""

import numpy as np
import pytensor.tensor as pt
from common import show
from pytensor.tensor.subtensor import advanced_subtensor1

x, t = pt.dmatrix("x"), pt.dtensor3("t")
i, j = pt.lvector("i"), pt.lvector("j")
m = pt.lmatrix("m")

show([x, i], advanced_subtensor1(x, i), name="AdvancedSubtensor1.static", dims={"x": (5, 6), "i": (20,)})

# A constant index in range needs no check.
show([x], advanced_subtensor1(x, np.array([0, 4])), name="AdvancedSubtensor1.static.constant", dims={"x": (5, 6)})

show([x], advanced_subtensor1(x, np.array([0, -1])), name="AdvancedSubtensor1.dynamic.constant", dims={"x": ("n", 6)})

show([x, i], advanced_subtensor1(x, i), name="AdvancedSubtensor1.dynamic", dims={"x": ("n", 6), "i": ("k",)})

show([x, i, j], x[i, j], name="AdvancedSubtensor.static", dims={"x": (5, 6), "i": (20,), "j": (20,)})

show([t, m], t[:, m], name="AdvancedSubtensor.static.matrix", dims={"t": (4, 5, 6), "m": (2, 30)})

show([t, i], t[1:, 0, i], name="AdvancedSubtensor.static.mixed", dims={"t": (4, 5, 6), "i": (20,)})

show([x], x[np.array([True, False, True])], name="AdvancedSubtensor.static.mask", dims={"x": (3, 6)})

show([x, i, j], x[i, j], name="AdvancedSubtensor.dynamic", dims={"x": ("n", 6), "i": ("k",), "j": ("k",)})

show([t, i, j], t[i, :, j], name="AdvancedSubtensor.dynamic.apart", dims={"t": (4, "n", 6), "i": ("k",), "j": ("k",)})
