# RUN: %python %s | filecheck %s
"""Splines of SciPy in PyMC's op: the piece that an element is in, and 0 outside."""

import pytensor.tensor as pt
from common import show
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from scipy.interpolate import InterpolatedUnivariateSpline


class SplineWrapper(Op):
    """PyMC's, without importing it."""

    __module__ = "pymc.distributions.dist_math"
    __props__ = ("spline",)

    def __init__(self, spline):
        self.spline = spline

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = self.spline(inputs[0])


x = pt.dvector("x")
line = SplineWrapper(InterpolatedUnivariateSpline([0.0, 1.0, 3.0], [1.0, 2.0, 0.0], k=1, ext="zeros"))

# CHECK-LABEL: module @PyMCSplineWrapper.dynamic
# CHECK-NEXT: return select(or(LT(x, 0), GT(x, 3)), 0, @spline(x)) : tensor<?xf64>
# CHECK-NEXT: @spline(tensor<?xf64>) -> tensor<?xf64>:
# CHECK: LT(p2, 2)>([0, 1, 3], arg0, 0, 0, 3)
# CHECK: gather([1, -1], {{.*}}) {{.*}} : tensor<?xf64>
# CHECK: gather([1, 2], {{.*}}) {{.*}} : tensor<?xf64>
# CHECK: return add(multiply({{.*}}, {{.*}}), {{.*}}) : tensor<?xf64>
show([x], line(x), name="PyMCSplineWrapper.dynamic", dims={"x": ("n",)})
