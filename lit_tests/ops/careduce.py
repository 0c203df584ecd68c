# RUN: %python %s | filecheck %s
"""CAReduce and what derives from it: sum, prod, max, min, any, all, xor, products without zeros."""

import pytensor.scalar as ps
import pytensor.tensor as pt
from common import of_another_release, show
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.tensor.elemwise import CAReduce
from pytensor.tensor.math import ProdWithoutZeros

x = pt.dmatrix("x")
f = pt.fmatrix("f")
i, b = pt.lmatrix("i"), pt.bmatrix("b")
mask = pt.tensor("mask", dtype="bool", shape=(None, None))

# CHECK-LABEL: module @CAReduce.static.prod
# CHECK-NEXT: return reduce<[0], multiply>(x, 1) : tensor<4xf64>
show([x], x.prod(axis=0), name="CAReduce.static.prod", dims={"x": (3, 4)})

# CHECK-LABEL: module @CAReduce.static.min
# CHECK-NEXT: return reduce<[1], minimum>(i, 9223372036854775807) : tensor<3xi64>
show([i], CAReduce(ps.minimum, axis=(1,))(i), name="CAReduce.static.min", dims={"i": (3, 4)})

# Accumulated in the dtype that the op names, of 64 bits unless it is told otherwise.
# CHECK-LABEL: module @CAReduce.static.float32
# CHECK-NEXT: return convert<f32>(reduce<[1], add>(convert<f64>(f), 0)) : tensor<3xf32>
show([f], f.sum(axis=1), name="CAReduce.static.float32", dims={"f": (3, 4)})

# CHECK-LABEL: module @CAReduce.static.int8
# CHECK-NEXT: return reduce<[1], add>(convert<i64>(b), 0) : tensor<3xi64>
show([b], b.sum(axis=1), name="CAReduce.static.int8", dims={"b": (3, 4)})

# The op names none.
members = {"make_node": lambda self, x: Apply(self, [x], [pt.fvector()]), "perform": None}
older = of_another_release(Op, "CAReduce", scalar_op=ps.add, axis=(1,), acc_dtype=None, **members)

# CHECK-LABEL: module @CAReduce.static.older
# CHECK-NEXT: return convert<f32>(reduce<[1], add>(convert<f64>(f), 0)) : tensor<3xf32>
show([f], older()(f), name="CAReduce.static.older", dims={"f": (3, 4)})

# CHECK-LABEL: module @CAReduce.static.xor
# CHECK-NEXT: return reduce<[0], xor>(i, 0) : tensor<4xi64>
show([i], CAReduce(ps.xor, axis=(0,))(i), name="CAReduce.static.xor", dims={"i": (3, 4)})

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
