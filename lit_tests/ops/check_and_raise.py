# RUN: %python %s | filecheck %s
"""CheckAndRaise: a condition becomes a flag among the results, with the exception in the signature."""

import pytensor.tensor as pt
from common import show
from pytensor.ifelse import ifelse
from pytensor.raise_op import Assert, CheckAndRaise

x = pt.dvector("x")
c = pt.dscalar("c")

show([x], Assert("all positive")(pt.log(x), (x > 0).all()), name="CheckAndRaise.static", dims={"x": (3,)})

checked = CheckAndRaise(ValueError, "sum too large")(x, x.sum() < 1, x.sum() > 0)
show([x], checked, name="CheckAndRaise.dynamic", dims={"x": ("n",)})

# Inside a branch: the flag counts only when the branch is taken.
show([c, x], ifelse(c > 0, Assert("positive")(pt.log(x), x[0] > 0), x), name="CheckAndRaise.dynamic.branch", dims={"x": ("n",)})
