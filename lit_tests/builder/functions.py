# RUN: %python %s | filecheck %s
"""Functions of the builder in the forms that no lowering rule uses, and which op each takes for a symbolic size."""

import numpy as np
from building import show, show_line

from hlograph import builder as hlo
from hlograph.builder import INT64

# ---- Elementwise functions that no lowering rule uses (the others: ops/scalar.py)

for name in ("cbrt", "rsqrt", "square", "bessel_i1e", "is_finite", "is_pos_inf", "is_neg_inf"):
    show_line(name, "float64", getattr(hlo, name))
for name in ("zeta", "next_after"):
    show_line(name, "float64 float64", getattr(hlo, name))
for name in ("shift_left", "shift_right_arithmetic", "shift_right_logical"):
    show_line(name, "int32 int32", getattr(hlo, name))
show_line("popcnt", "uint32", hlo.popcnt)
show_line("count_leading_zeros", "uint32", hlo.count_leading_zeros)
show_line("mulhi", "uint32 uint32", hlo.mulhi)
show_line("bitcast_convert", "float64", lambda x: hlo.bitcast_convert(x, "uint64"))
show_line("reduce_precision", "float64", lambda x: hlo.reduce_precision(x, 8, 7))
show_line("clamp", "float64 float64 float64", hlo.clamp)

# CHECK: cbrt: cbrt(arg0) : tensor<4xf64>
# CHECK-NEXT: rsqrt: rsqrt(arg0) : tensor<4xf64>
# CHECK-NEXT: square: square(arg0) : tensor<4xf64>
# CHECK-NEXT: bessel_i1e: bessel_i1e(arg0) : tensor<4xf64>
# CHECK-NEXT: is_finite: is_finite(arg0) : tensor<4xi1>
# CHECK-NEXT: is_pos_inf: is_pos_inf(arg0) : tensor<4xi1>
# CHECK-NEXT: is_neg_inf: is_neg_inf(arg0) : tensor<4xi1>
# CHECK-NEXT: zeta: zeta(arg0, arg1) : tensor<4xf64>
# CHECK-NEXT: next_after: next_after(arg0, arg1) : tensor<4xf64>
# CHECK-NEXT: shift_left: shift_left(arg0, arg1) : tensor<4xi32>
# CHECK-NEXT: shift_right_arithmetic: shift_right_arithmetic(arg0, arg1) : tensor<4xi32>
# CHECK-NEXT: shift_right_logical: shift_right_logical(arg0, arg1) : tensor<4xi32>
# CHECK-NEXT: popcnt: popcnt(arg0) : tensor<4xui32>
# CHECK-NEXT: count_leading_zeros: count_leading_zeros(arg0) : tensor<4xui32>
# CHECK-NEXT: mulhi: mulhi(arg0, arg1) : tensor<4xui32>
# CHECK-NEXT: bitcast_convert: bitcast_convert<4xui64>(arg0) : tensor<4xui64>
# CHECK-NEXT: reduce_precision: reduce_precision<8, 7>(arg0) : tensor<4xf64>
# CHECK-NEXT: clamp: clamp(arg0, arg1, arg2) : tensor<4xf64>

# ---- A mask that rounding decides goes through a square root, so that XLA computes it once; others do not


def computed(x, y):
    return hlo.compare("GT", hlo.multiply(x, y), x)


def zero(x):
    return x.builder.constant(0.0, "float64")


both = "float64 float64"
show_line("computed", both, lambda x, y: hlo.convert(computed(x, y), "float64"))
show_line("given", both, lambda x, y: hlo.convert(hlo.compare("GT", x, y), "float64"))
show_line("selects_zero", both, lambda x, y: hlo.select_mask(computed(x, y), x, zero(x)))
show_line("selects_other", both, lambda x, y: hlo.select_mask(computed(x, y), x, y))

# CHECK: computed: sqrt(convert<f64>(convert<i8>(GT(multiply(arg0, arg1), arg0)))) : tensor<4xf64>
# CHECK-NEXT: given: convert<f64>(convert<i8>(GT(arg0, arg1))) : tensor<4xf64>
# CHECK-NEXT: selects_zero: select(NE(sqrt(convert<f32>(GT(multiply(arg0, arg1), arg0))), 0), arg0, 0) : tensor<4xf64>
# CHECK-NEXT: selects_other: select(GT(multiply(arg0, arg1), arg0), arg0, arg1) : tensor<4xf64>

# ---- Shape functions of the builder in the forms that no lowering rule uses; each static where all its sizes are


def padded(low, high, interior):
    def body(x):
        axes = ([amount] if x.ndim == 1 else [amount, 0] for amount in (low, high, interior))
        return hlo.pad(x, x.builder.constant(np.float64(0)), *axes)

    return body


# ---- pad: between the elements, and negative amounts that cut ----
# CHECK: pad.static: pad(arg0, 0) {edge_padding_high = [2], edge_padding_low = [1], interior_padding = [3]} : tensor<16xf64>
show("pad.static", [("float64", 4)], padded(1, 2, 3))

# Amounts that are known need no dynamic op, whatever the size.
# CHECK: pad.dynamic: pad(arg0, 0) {edge_padding_high = [2], edge_padding_low = [1], interior_padding = [3]} : tensor<?xf64>
show("pad.dynamic", [("float64", "n")], padded(1, 2, 3))
# CHECK: pad.dynamic.amount: dynamic_pad(arg0, 0, size<0>(arg0), 0, 1) : tensor<?xf64>
show("pad.dynamic.amount", [("float64", "n")], lambda x: padded(x.dims[0], 0, 1)(x))

# What stays static is a static slice; a symbolic start of a part of known size is a dynamic_slice.
# CHECK: slice.dynamic: slice<0:2:1, 1:3:1>(arg0) : tensor<2x2xf64>
show("slice.dynamic", [("float64", "n", 4)], lambda x: hlo.slice(x, [0, 1], [2, 3]))
# CHECK: slice.dynamic.start: dynamic_slice<[2, 4]>(arg0, add(size<0>(arg0), -2), 0) : tensor<2x4xf64>
show("slice.dynamic.start", [("float64", "n", 4)], lambda x: hlo.slice(x, [x.dims[0] - 2, 0], [x.dims[0], 4]))
# CHECK: slice.dynamic.limit: real_dynamic_slice(arg0, [0, 1], concatenate<0>(add(size<0>(arg0), -2), 4), 1) : tensor<?x3xf64>
show("slice.dynamic.limit", [("float64", "n", 4)], lambda x: hlo.slice(x, [0, 1], [x.dims[0] - 2, 4]))


def same_by_constraint(x, y):
    """`n == m` is known after the sum: neither a reshape nor a broadcast to the other's name does anything."""
    return hlo.add(hlo.add(x, y), hlo.broadcast(hlo.reshape(y, x.dims), x.dims))


# CHECK: identity.dynamic.names: add(add(arg0, arg1), arg1) : tensor<?xf64>
show("identity.dynamic.names", [("float64", "n"), ("float64", "m")], same_by_constraint)
# CHECK: stack_scalars.static: [arg0, arg1] : tensor<2xf64>
show("stack_scalars.static", [("float64",), ("float64",)], lambda a, b: hlo.stack_scalars([a, b]))
# CHECK: stack_scalars.dynamic: [size<0>(arg0), 3] : tensor<2xi64>
show(
    "stack_scalars.dynamic", [("float64", "n", 3)], lambda x: hlo.stack_scalars([x.builder.size(dim) for dim in x.dims])
)
# CHECK: reverse.dynamic: reverse<[0, 1]>(arg0) : tensor<?x3xf64>
show("reverse.dynamic", [("float64", "n", 3)], lambda x: hlo.reverse(x, [0, 1]))

# ---- Gather, scatter and slices at runtime places in the forms that no lowering rule uses


def starts(x, i):
    zero = x.builder.constant(0, INT64)
    return [i, zero]


# CHECK: dynamic_slice.dynamic: dynamic_slice<[2, 6]>(arg0, arg1, 0) : tensor<2x6xf64>
show(
    "dynamic_slice.dynamic", [("float64", "n", 6), ("int64",)], lambda x, i: hlo.dynamic_slice(x, starts(x, i), (2, 6))
)
# CHECK: dynamic_slice.dynamic.size: dynamic_gather(arg0, [arg1, 0], [2, size<1>(arg0)]) {offset_dims = [0, 1], start_index_map = [0, 1], indices_are_sorted = false} : tensor<2x?xf64>
show(
    "dynamic_slice.dynamic.size",
    [("float64", 5, "n"), ("int64",)],
    lambda x, i: hlo.dynamic_slice(x, starts(x, i), (2, x.dims[1])),
)

# ---- Reductions with every monoid, argmin

real, dynamic = ("float64", 3, 4), ("float64", "n", 4)


def each(*monoids):
    return lambda x: [hlo.reduce_monoid(x, [0], monoid) for monoid in monoids]


# CHECK: reduce_monoid.static: reduce<[0], add>(arg0, 0), reduce<[0], multiply>(arg0, 1), reduce<[0], maximum>(arg0, -inf), reduce<[0], minimum>(arg0, inf) : tensor<4xf64>, tensor<4xf64>, tensor<4xf64>, tensor<4xf64>
show("reduce_monoid.static", [real], each("add", "multiply", "maximum", "minimum"))
# CHECK: reduce_monoid.static.int32: reduce<[0], maximum>(arg0, -2147483648), reduce<[0], minimum>(arg0, 2147483647), reduce<[0], and>(arg0, -1), reduce<[0], or>(arg0, 0), reduce<[0], xor>(arg0, 0) : tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>
show("reduce_monoid.static.int32", [("int32", 3, 4)], each("maximum", "minimum", "and", "or", "xor"))


# CHECK: arg_reduce.dynamic: c:2 = reduce<[0]>(arg0, dynamic_iota<0, ?x4xi64>([size<0>(arg0), 4]), inf, 9223372036854775807) : tensor<4xf64>, tensor<4xi64>
# CHECK-NEXT: (p0, p1, p2, p3) ->
# CHECK-NEXT: a = NE(p0, p0) : tensor<i1>
# CHECK-NEXT: b = or(or(LT(p0, p2), and(a, EQ(p2, p2))), and(or(EQ(p0, p2), and(a, NE(p2, p2))), LT(p1, p3))) : tensor<i1>
# CHECK-NEXT: return (select(b, p0, p2), select(b, p1, p3))
# CHECK-NEXT: return c#1 : tensor<4xi64>
show("arg_reduce.dynamic", [dynamic], lambda x: hlo.arg_reduce(x, 0, "minimum"))


# ---- Control flow of the builder: case, calls of private functions

F64 = np.dtype(np.float64)


def three(index, x):
    return hlo.case(index, [lambda: [hlo.negate(x)], lambda: [x], lambda: [hlo.full_like(x, 0)]])


# CHECK: case.dynamic: case<() -> negate(arg1), () -> arg1, () -> dynamic_broadcast_in_dim<[], ?xf64>(0, size<0>(arg1))>(arg0) : tensor<?xf64>
show("case.dynamic", [("int32",), ("float64", "n")], three)


def called_twice(x, y):
    def body(a):
        return [hlo.add(a, hlo.convert(hlo.iota(a.builder, a.dims, 0, INT64), F64))]

    return [hlo.call("ramp", [x], body)[0], hlo.call("ramp", [y], body)[0]]


# CHECK: call.dynamic: return @ramp(arg0), @ramp_1(arg1) : tensor<?xf64>, tensor<4xf64>
# CHECK-NEXT: @ramp(tensor<?xf64>) -> tensor<?xf64>:
# CHECK-NEXT: return add(arg0, convert<f64>(dynamic_iota<0, ?xi64>(size<0>(arg0)))) : tensor<?xf64>
# CHECK-NEXT: @ramp_1(tensor<4xf64>) -> tensor<4xf64>:
# CHECK-NEXT: return add(arg0, convert<f64>(iota<0, 4xi64>())) : tensor<4xf64>
show("call.dynamic", [("float64", "n"), ("float64", 4)], called_twice)


def call_of_a_part(x):
    """The argument's size is n - 1; inside it is a size of its own, read off the argument."""
    part = hlo.slice(x, [1], list(x.dims))
    return hlo.call("count", [part], lambda a: [a.builder.size(a.dims[0])])


# CHECK: call.dynamic.part: return @count(real_dynamic_slice(arg0, 1, size<0>(arg0), 1)) : tensor<i64>
# CHECK-NEXT: @count(tensor<?xf64>) -> tensor<i64>:
# CHECK-NEXT: return size<0>(arg0) : tensor<i64>
show("call.dynamic.part", [("float64", "n")], call_of_a_part)
