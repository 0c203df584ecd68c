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
# CHECK-NEXT: a = pad(arg0, 0) {edge_padding_high = [2], edge_padding_low = [1], interior_padding = [3]} : tensor<16xf64>
# CHECK-NEXT: return a : tensor<16xf64>
show("pad.static", [("float64", 4)], padded(1, 2, 3))

# CHECK-LABEL: module @pad.static.cut
# CHECK-NEXT: a = pad(arg0, 0) {edge_padding_high = [-1, 0], edge_padding_low = [-1, 0], interior_padding = [0, 0]} : tensor<2x2xf64>
# CHECK-NEXT: return a : tensor<2x2xf64>
show("pad.static.cut", [("float64", 4, 2)], padded(-1, -1, 0))

# Amounts that are known need no dynamic op, whatever the size.
# CHECK-LABEL: module @pad.dynamic
# CHECK-NEXT: a = pad(arg0, 0) {edge_padding_high = [2], edge_padding_low = [1], interior_padding = [3]} : tensor<?xf64>
# CHECK-NEXT: return a : tensor<?xf64>
show("pad.dynamic", [("float64", "n")], padded(1, 2, 3))

# CHECK-LABEL: module @pad.dynamic.amount
# CHECK-NEXT: a = dynamic_pad(arg0, 0, size<0>(arg0), 0, 1) : tensor<?xf64>
# CHECK-NEXT: return a : tensor<?xf64>
show("pad.dynamic.amount", [("float64", "n")], lambda x: padded(x.dims[0], 0, 1)(x))

# ---- slice ----

# CHECK-LABEL: module @slice.static
# CHECK-NEXT: return slice<1:5:2, 0:4:1>(arg0) : tensor<2x4xf64>
show("slice.static", [("float64", 6, 4)], lambda x: hlo.slice(x, [1, 0], [5, 4], [2, 1]))

# What stays static is a static slice; a symbolic start of a part of known size is a dynamic_slice.
# CHECK-LABEL: module @slice.dynamic
# CHECK-NEXT: return slice<0:2:1, 1:3:1>(arg0) : tensor<2x2xf64>
show("slice.dynamic", [("float64", "n", 4)], lambda x: hlo.slice(x, [0, 1], [2, 3]))

# CHECK-LABEL: module @slice.dynamic.start
# CHECK-NEXT: return dynamic_slice<[2, 4]>(arg0, add(size<0>(arg0), -2), 0) : tensor<2x4xf64>
show("slice.dynamic.start", [("float64", "n", 4)], lambda x: hlo.slice(x, [x.dims[0] - 2, 0], [x.dims[0], 4]))

# CHECK-LABEL: module @slice.dynamic.limit
# CHECK-NEXT: return real_dynamic_slice(arg0, [0, 1], concatenate<0>(add(size<0>(arg0), -2), 4), 1) : tensor<?x3xf64>
show("slice.dynamic.limit", [("float64", "n", 4)], lambda x: hlo.slice(x, [0, 1], [x.dims[0] - 2, 4]))

# CHECK-LABEL: module @slice_axis.static.empty
# CHECK-NEXT: return reverse<[0]>(slice<0:0:2>(arg0)) : tensor<0xf64>
show("slice_axis.static.empty", [("float64", 4)], lambda x: hlo.slice_axis(x, 0, 0, 0, -2))

# ---- what changes nothing is left out ----

# CHECK-LABEL: module @identity.static
# CHECK-NEXT: return arg0 : tensor<4x2xf64>
show(
    "identity.static",
    [("float64", 4, 2)],
    lambda x: hlo.reshape(hlo.transpose(hlo.broadcast(x, (4, 2)), [0, 1]), (4, 2)),
)

# CHECK-LABEL: module @identity.dynamic
# CHECK-NEXT: return arg0 : tensor<?x2xf64>
show("identity.dynamic", [("float64", "n", 2)], lambda x: padded(0, 0, 0)(hlo.slice(x, [0, 0], list(x.dims))))


def same_by_constraint(x, y):
    """`n == m` is known after the sum: neither a reshape nor a broadcast to the other's name does anything."""
    return hlo.add(hlo.add(x, y), hlo.broadcast(hlo.reshape(y, x.dims), x.dims))


# CHECK-LABEL: module @identity.dynamic.names
# CHECK-NEXT: return add(add(arg0, arg1), arg1) : tensor<?xf64>
show("identity.dynamic.names", [("float64", "n"), ("float64", "m")], same_by_constraint)

# ---- concatenate, stack, iota, reverse ----

# CHECK-LABEL: module @concatenate.static.one
# CHECK-NEXT: return arg0 : tensor<4xf64>
show("concatenate.static.one", [("float64", 4)], lambda x: hlo.concatenate([x], 0))

# CHECK-LABEL: module @stack_scalars.static
# CHECK-NEXT: return concatenate<0>(arg0, arg1) : tensor<2xf64>
show("stack_scalars.static", [("float64",), ("float64",)], lambda a, b: hlo.stack_scalars([a, b]))

# CHECK-LABEL: module @stack_scalars.dynamic
# CHECK-NEXT: return concatenate<0>(size<0>(arg0), 3) : tensor<2xi64>
show(
    "stack_scalars.dynamic", [("float64", "n", 3)], lambda x: hlo.stack_scalars([x.builder.size(dim) for dim in x.dims])
)

# CHECK-LABEL: module @reverse.dynamic
# CHECK-NEXT: return reverse<[0, 1]>(arg0) : tensor<?x3xf64>
show("reverse.dynamic", [("float64", "n", 3)], lambda x: hlo.reverse(x, [0, 1]))
