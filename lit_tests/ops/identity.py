# RUN: %python %s | filecheck %s
"""Ops that give their operand back: copies, views, and statements about types."""

import pytensor.tensor as pt
from common import of_another_release, show
from pytensor.compile.ops import DeepCopyOp, TypeCastingOp, ViewOp
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.tensor.extra_ops import cpu_contiguous


def _make_node(self, x):
    return Apply(self, [x], [x.type()])


x = pt.dvector("x")
rebroadcast = of_another_release(Op, "Rebroadcast", make_node=_make_node, perform=None)()
unbroadcast = of_another_release(Op, "Unbroadcast", make_node=_make_node, perform=None)()
casting = of_another_release(TypeCastingOp, "Casting", make_node=_make_node, __props__=())()

# CHECK-LABEL: module @DeepCopyOp.dynamic
# CHECK-NEXT: return exponential(x) : tensor<?xf64>
show([x], pt.exp(DeepCopyOp()(x)), name="DeepCopyOp.dynamic", dims={"x": ("n",)})
# CHECK-LABEL: module @ViewOp.dynamic
# CHECK-NEXT: return exponential(x) : tensor<?xf64>
show([x], pt.exp(ViewOp()(x)), name="ViewOp.dynamic", dims={"x": ("n",)})
# CHECK-LABEL: module @TypeCastingOp.dynamic
# CHECK-NEXT: return exponential(x) : tensor<?xf64>
show([x], pt.exp(casting(x)), name="TypeCastingOp.dynamic", dims={"x": ("n",)})
# CHECK-LABEL: module @CpuContiguous.dynamic
# CHECK-NEXT: return exponential(x) : tensor<?xf64>
show([x], pt.exp(cpu_contiguous(x)), name="CpuContiguous.dynamic", dims={"x": ("n",)})
# CHECK-LABEL: module @Rebroadcast.dynamic
# CHECK-NEXT: return exponential(x) : tensor<?xf64>
show([x], pt.exp(rebroadcast(x)), name="Rebroadcast.dynamic", dims={"x": ("n",)})
# CHECK-LABEL: module @Unbroadcast.dynamic
# CHECK-NEXT: return exponential(x) : tensor<?xf64>
show([x], pt.exp(unbroadcast(x)), name="Unbroadcast.dynamic", dims={"x": ("n",)})
