# RUN: %python %s | filecheck %s
"""Shape functions of the builder in the forms that no lowering rule uses; each static where all its sizes are."""

import numpy as np
from building import show

from hlograph.codegen import builder as hlo


def padded(low, high, interior):
    def body(x):
        axes = ([amount] if x.ndim == 1 else [amount, 0] for amount in (low, high, interior))
        return hlo.pad(x, x.builder.constant(np.float64(0)), *axes)

    return body


# ---- pad: between the elements, and negative amounts that cut ----

# CHECK-LABEL: module @pad.static
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[PADDED:%\w+]] = stablehlo.pad %arg0, [[CONST]], low = [1], high = [2], interior = [3] : (tensor<4xf64>, tensor<f64>) -> tensor<16xf64>
# CHECK-NEXT: return [[PADDED]] : tensor<16xf64>
show("pad.static", [("float64", 4)], padded(1, 2, 3))

# CHECK-LABEL: module @pad.static.cut
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[PADDED:%\w+]] = stablehlo.pad %arg0, [[CONST]], low = [-1, 0], high = [-1, 0], interior = [0, 0] : (tensor<4x2xf64>, tensor<f64>) -> tensor<2x2xf64>
# CHECK-NEXT: return [[PADDED]] : tensor<2x2xf64>
show("pad.static.cut", [("float64", 4, 2)], padded(-1, -1, 0))

# Amounts that are known need no dynamic op, whatever the size.
# CHECK-LABEL: module @pad.dynamic
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[PADDED:%\w+]] = stablehlo.pad %arg0, [[CONST]], low = [1], high = [2], interior = [3] : (tensor<?xf64>, tensor<f64>) -> tensor<?xf64>
# CHECK-NEXT: return [[PADDED]] : tensor<?xf64>
show("pad.dynamic", [("float64", "n")], padded(1, 2, 3))

# CHECK-LABEL: module @pad.dynamic.amount
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[DIM:%\w+]] = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?xf64>) -> tensor<i32>
# CHECK-NEXT: [[CONVERTED:%\w+]] = stablehlo.convert [[DIM]] : (tensor<i32>) -> tensor<i64>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape [[CONVERTED]] : (tensor<i64>) -> tensor<1xi64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<0> : tensor<1xi64>
# CHECK-NEXT: [[CONST3:%\w+]] = stablehlo.constant dense<1> : tensor<1xi64>
# CHECK-NEXT: // Values.
# CHECK-NEXT: [[PADDED:%\w+]] = stablehlo.dynamic_pad %arg0, [[CONST]], [[SHAPED]], [[CONST2]], [[CONST3]] : (tensor<?xf64>, tensor<f64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf64>
# CHECK-NEXT: return [[PADDED]] : tensor<?xf64>
show("pad.dynamic.amount", [("float64", "n")], lambda x: padded(x.dims[0], 0, 1)(x))

# ---- slice ----

# CHECK-LABEL: module @slice.static
# CHECK-NOT: dynamic_
# CHECK: [[SLICED:%\w+]] = stablehlo.slice %arg0 [1:5:2, 0:4] : (tensor<6x4xf64>) -> tensor<2x4xf64>
# CHECK-NEXT: return [[SLICED]] : tensor<2x4xf64>
show("slice.static", [("float64", 6, 4)], lambda x: hlo.slice(x, [1, 0], [5, 4], [2, 1]))

# What stays static is a static slice; a symbolic start of a part of known size is a dynamic_slice.
# CHECK-LABEL: module @slice.dynamic
# CHECK: [[SLICED:%\w+]] = stablehlo.slice %arg0 [0:2, 1:3] : (tensor<?x4xf64>) -> tensor<2x2xf64>
# CHECK-NEXT: return [[SLICED]] : tensor<2x2xf64>
show("slice.dynamic", [("float64", "n", 4)], lambda x: hlo.slice(x, [0, 1], [2, 3]))

# CHECK-LABEL: module @slice.dynamic.start
# CHECK: [[DIM:%\w+]] = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?x4xf64>) -> tensor<i32>
# CHECK-NEXT: [[CONVERTED:%\w+]] = stablehlo.convert [[DIM]] : (tensor<i32>) -> tensor<i64>
# CHECK-NEXT: [[CONST:%\w+]] = stablehlo.constant dense<-2> : tensor<i64>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add [[CONVERTED]], [[CONST]] : tensor<i64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<0> : tensor<i64>
# CHECK-NEXT: // Values.
# CHECK-NEXT: [[SLICED:%\w+]] = stablehlo.dynamic_slice %arg0, [[SUM]], [[CONST2]], sizes = [2, 4] : (tensor<?x4xf64>, tensor<i64>, tensor<i64>) -> tensor<2x4xf64>
# CHECK-NEXT: return [[SLICED]] : tensor<2x4xf64>
show("slice.dynamic.start", [("float64", "n", 4)], lambda x: hlo.slice(x, [x.dims[0] - 2, 0], [x.dims[0], 4]))

# CHECK-LABEL: module @slice.dynamic.limit
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<[0, 1]> : tensor<2xi64>
# CHECK-NEXT: [[DIM:%\w+]] = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?x4xf64>) -> tensor<i32>
# CHECK-NEXT: [[CONVERTED:%\w+]] = stablehlo.convert [[DIM]] : (tensor<i32>) -> tensor<i64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<-2> : tensor<i64>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add [[CONVERTED]], [[CONST2]] : tensor<i64>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape [[SUM]] : (tensor<i64>) -> tensor<1xi64>
# CHECK-NEXT: [[CONST3:%\w+]] = stablehlo.constant dense<4> : tensor<1xi64>
# CHECK-NEXT: [[JOINED:%\w+]] = stablehlo.concatenate [[SHAPED]], [[CONST3]], dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
# CHECK-NEXT: [[CONST4:%\w+]] = stablehlo.constant dense<1> : tensor<2xi64>
# CHECK-NEXT: // Values.
# CHECK-NEXT: [[SLICED:%\w+]] = stablehlo.real_dynamic_slice %arg0, [[CONST]], [[JOINED]], [[CONST4]] : (tensor<?x4xf64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x3xf64>
# CHECK-NEXT: return [[SLICED]] : tensor<?x3xf64>
show("slice.dynamic.limit", [("float64", "n", 4)], lambda x: hlo.slice(x, [0, 1], [x.dims[0] - 2, 4]))

# CHECK-LABEL: module @slice_axis.static.empty
# CHECK-NOT: dynamic_
# CHECK: [[SLICED:%\w+]] = stablehlo.slice %arg0 [0:0:2] : (tensor<4xf64>) -> tensor<0xf64>
# CHECK-NEXT: [[REVERSED:%\w+]] = stablehlo.reverse [[SLICED]], dims = [0] : tensor<0xf64>
# CHECK-NEXT: return [[REVERSED]] : tensor<0xf64>
show("slice_axis.static.empty", [("float64", 4)], lambda x: hlo.slice_axis(x, 0, 0, 0, -2))

# ---- what changes nothing is left out ----

# CHECK-LABEL: module @identity.static
# CHECK-NOT: dynamic_
# CHECK: return %arg0 : tensor<4x2xf64>
show(
    "identity.static",
    [("float64", 4, 2)],
    lambda x: hlo.reshape(hlo.transpose(hlo.broadcast(x, (4, 2)), [0, 1]), (4, 2)),
)

# CHECK-LABEL: module @identity.dynamic
# CHECK: return %arg0 : tensor<?x2xf64>
show("identity.dynamic", [("float64", "n", 2)], lambda x: padded(0, 0, 0)(hlo.slice(x, [0, 0], list(x.dims))))


def same_by_constraint(x, y):
    """`n == m` is known after the sum: neither a reshape nor a broadcast to the other's name does anything."""
    return hlo.add(hlo.add(x, y), hlo.broadcast(hlo.reshape(y, x.dims), x.dims))


# CHECK-LABEL: module @identity.dynamic.names
# CHECK: [[SUM:%\w+]] = stablehlo.add %arg0, %arg1 : tensor<?xf64>
# CHECK-NEXT: [[SUM2:%\w+]] = stablehlo.add [[SUM]], %arg1 : tensor<?xf64>
# CHECK-NEXT: return [[SUM2]] : tensor<?xf64>
show("identity.dynamic.names", [("float64", "n"), ("float64", "m")], same_by_constraint)

# ---- concatenate, stack, iota, reverse ----

# CHECK-LABEL: module @concatenate.static.one
# CHECK-NOT: dynamic_
# CHECK: return %arg0 : tensor<4xf64>
show("concatenate.static.one", [("float64", 4)], lambda x: hlo.concatenate([x], 0))

# CHECK-LABEL: module @stack_scalars.static
# CHECK-NOT: dynamic_
# CHECK: [[SHAPED:%\w+]] = stablehlo.reshape %arg0 : (tensor<f64>) -> tensor<1xf64>
# CHECK-NEXT: [[SHAPED2:%\w+]] = stablehlo.reshape %arg1 : (tensor<f64>) -> tensor<1xf64>
# CHECK-NEXT: [[JOINED:%\w+]] = stablehlo.concatenate [[SHAPED]], [[SHAPED2]], dim = 0 : (tensor<1xf64>, tensor<1xf64>) -> tensor<2xf64>
# CHECK-NEXT: return [[JOINED]] : tensor<2xf64>
show("stack_scalars.static", [("float64",), ("float64",)], lambda a, b: hlo.stack_scalars([a, b]))

# CHECK-LABEL: module @stack_scalars.dynamic
# CHECK: [[DIM:%\w+]] = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?x3xf64>) -> tensor<i32>
# CHECK-NEXT: [[CONVERTED:%\w+]] = stablehlo.convert [[DIM]] : (tensor<i32>) -> tensor<i64>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape [[CONVERTED]] : (tensor<i64>) -> tensor<1xi64>
# CHECK-NEXT: [[CONST:%\w+]] = stablehlo.constant dense<3> : tensor<1xi64>
# CHECK-NEXT: [[JOINED:%\w+]] = stablehlo.concatenate [[SHAPED]], [[CONST]], dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
# CHECK-NEXT: return [[JOINED]] : tensor<2xi64>
show(
    "stack_scalars.dynamic", [("float64", "n", 3)], lambda x: hlo.stack_scalars([x.builder.size(dim) for dim in x.dims])
)

# CHECK-LABEL: module @reverse.dynamic
# CHECK: [[REVERSED:%\w+]] = stablehlo.reverse %arg0, dims = [0, 1] : tensor<?x3xf64>
# CHECK-NEXT: return [[REVERSED]] : tensor<?x3xf64>
show("reverse.dynamic", [("float64", "n", 3)], lambda x: hlo.reverse(x, [0, 1]))
