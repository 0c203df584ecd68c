# RUN: %python %s | filecheck %s
"""CAReduce and what derives from it: sum, prod, max, min, any, all, xor, products without zeros."""

import pytensor.scalar as ps
import pytensor.tensor as pt
from common import of_another_release, show
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.tensor.math import ProdWithoutZeros

x = pt.dmatrix("x")
f = pt.fmatrix("f")
i, b = pt.lmatrix("i"), pt.bmatrix("b")
mask = pt.tensor("mask", dtype="bool", shape=(None, None))

# The op names none.
members = {"make_node": lambda self, x: Apply(self, [x], [pt.fvector()]), "perform": None}
older = of_another_release(Op, "CAReduce", scalar_op=ps.add, axis=(1,), acc_dtype=None, **members)

# CHECK-LABEL: module @CAReduce.dynamic
# CHECK-NEXT: return reduce<[0], add>(x, 0) : tensor<4xf64>
show([x], x.sum(axis=0), name="CAReduce.dynamic", dims={"x": ("n", 4)})

# The largest of no elements does not exist: a constraint.
# CHECK-LABEL: module @CAReduce.dynamic.max
# CHECK-NEXT: constraints: n >= 1, maximum over axis 0 of no elements at an unnamed Max node
# CHECK-NEXT: return reduce<[0], maximum>(x, -inf) : tensor<4xf64>
show([x], x.max(axis=0), name="CAReduce.dynamic.max", dims={"x": ("n", 4)})

# CHECK-LABEL: module @CAReduce.dynamic.logical
# CHECK-NEXT: return reduce<[1], and>(mask, true) : tensor<?xi1>
show([mask], mask.all(axis=1), name="CAReduce.dynamic.logical", dims={"mask": ("n", 4)})

# CHECK-LABEL: module @CAReduce.dynamic.without_zeros
# CHECK-NEXT: return reduce<[1], multiply>(select(EQ(x, 0), 1, x), 1) : tensor<?xf64>
show([x], ProdWithoutZeros(axis=(1,))(x), name="CAReduce.dynamic.without_zeros", dims={"x": ("n", 4)})
