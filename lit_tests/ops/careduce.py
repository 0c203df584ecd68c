# RUN: %python %s | filecheck %s
"""CAReduce and what derives from it: sum, prod, max, min, any, all, xor, products without zeros."""

import pytensor.scalar as ps
import pytensor.tensor as pt
from common import show
from pytensor.tensor.elemwise import CAReduce
from pytensor.tensor.math import ProdWithoutZeros

x = pt.dmatrix("x")
f = pt.fmatrix("f")
i, b = pt.lmatrix("i"), pt.bmatrix("b")
mask = pt.tensor("mask", dtype="bool", shape=(None, None))

show([x], x.sum(), name="CAReduce.static", dims={"x": (3, 4)})

show([x], x.prod(axis=0), name="CAReduce.static.prod", dims={"x": (3, 4)})

show([x], x.max(axis=1), name="CAReduce.static.max", dims={"x": (3, 4)})

show([i], i.min(axis=1), name="CAReduce.static.min", dims={"i": (3, 4)})

# Accumulated in 64 bits, or in the dtype that the op names.
show([f], f.sum(axis=1), name="CAReduce.static.float32", dims={"f": (3, 4)})

show([b], b.sum(axis=1), name="CAReduce.static.int8", dims={"b": (3, 4)})

show([mask], [mask.any(axis=0), mask.all(axis=0)], name="CAReduce.static.logical", dims={"mask": (3, 4)})

show([i], CAReduce(ps.xor, axis=(0,))(i), name="CAReduce.static.xor", dims={"i": (3, 4)})

show([x], ProdWithoutZeros(axis=(1,))(x), name="CAReduce.static.without_zeros", dims={"x": (3, 4)})

show([x], x.sum(axis=0), name="CAReduce.dynamic", dims={"x": ("n", 4)})

# The largest of no elements does not exist: a constraint.
show([x], x.max(axis=0), name="CAReduce.dynamic.max", dims={"x": ("n", 4)})

show([mask], mask.all(axis=1), name="CAReduce.dynamic.logical", dims={"mask": ("n", 4)})

show([x], ProdWithoutZeros(axis=(1,))(x), name="CAReduce.dynamic.without_zeros", dims={"x": ("n", 4)})
