# RUN: %python %s | filecheck %s
"""Control flow of the builder: while, case, if, calls of private functions, custom calls."""

import numpy as np
from building import show

from hlograph.codegen import builder as hlo
from hlograph.codegen.builder import INT64

F64 = np.dtype(np.float64)


def doubled_until_large(x):
    """A loop whose carry has the size of `x`, over a value from outside it."""
    zero, limit = x.builder.constant(0, INT64), x.builder.size(x.dims[0])
    outside = hlo.exponential(x)
    return hlo.while_loop(
        [zero, x], lambda i, _: hlo.compare("LT", i, limit), lambda i, y: [hlo.add(i, 1), hlo.add(y, outside)]
    )


# CHECK-LABEL: module @while_loop.static
# CHECK-NEXT: a:2 = while<(p0, p1) -> LT(p0, 4), (p0, p1) -> (add(p0, 1), add(p1, exponential(arg0)))>(0, arg0) : tensor<i64>, tensor<4xf64>
# CHECK-NEXT: return a#0, a#1 : tensor<i64>, tensor<4xf64>
show("while_loop.static", [("float64", 4)], doubled_until_large)

# CHECK-LABEL: module @while_loop.dynamic
# CHECK-NEXT: a:2 = while<(p0, p1) -> LT(p0, size<0>(arg0)), (p0, p1) -> (add(p0, 1), add(p1, exponential(arg0)))>(0, arg0) : tensor<i64>, tensor<?xf64>
# CHECK-NEXT: return a#0, a#1 : tensor<i64>, tensor<?xf64>
show("while_loop.dynamic", [("float64", "n")], doubled_until_large)


def three(index, x):
    return hlo.case(index, [lambda: [hlo.negate(x)], lambda: [x], lambda: [hlo.full_like(x, 0)]])


# CHECK-LABEL: module @case.static
# CHECK-NEXT: return case<() -> negate(arg1), () -> arg1, () -> broadcast_in_dim<[], 4xf64>(0)>(arg0) : tensor<4xf64>
show("case.static", [("int32",), ("float64", 4)], three)

# CHECK-LABEL: module @case.dynamic
# CHECK-NEXT: return case<() -> negate(arg1), () -> arg1, () -> dynamic_broadcast_in_dim<[], ?xf64>(0, size<0>(arg1))>(arg0) : tensor<?xf64>
show("case.dynamic", [("int32",), ("float64", "n")], three)


def agreeing(pred, x, y):
    """Branches of sizes n and m: they must agree, and the result has the size of the first."""
    return hlo.if_(pred, lambda: [x], lambda: [hlo.negate(y)])


# CHECK-LABEL: module @if_.static
# CHECK-NEXT: return if<() -> arg1, () -> negate(arg2)>(arg0) : tensor<4xf64>
show("if_.static", [("bool",), ("float64", 4), ("float64", 4)], agreeing)

# CHECK-LABEL: module @if_.dynamic
# CHECK-NEXT: return if<() -> arg1, () -> negate(arg2)>(arg0) : tensor<?xf64>
show("if_.dynamic", [("bool",), ("float64", "n"), ("float64", "m")], agreeing)


def called_twice(x, y):
    def body(a):
        return [hlo.add(a, hlo.convert(hlo.iota(a.builder, a.dims, 0, INT64), F64))]

    return [hlo.call("ramp", [x], body)[0], hlo.call("ramp", [y], body)[0]]


# One function for equal types, another one for others; sizes inside are read off the arguments.
# CHECK-LABEL: module @call.static
# CHECK-NEXT: return @ramp(arg0), @ramp(arg1) : tensor<4xf64>, tensor<4xf64>
# CHECK-NEXT: @ramp(tensor<4xf64>) -> tensor<4xf64>:
# CHECK-NEXT: return add(arg0, convert<f64>(iota<0, 4xi64>())) : tensor<4xf64>
show("call.static", [("float64", 4), ("float64", 4)], called_twice)

# CHECK-LABEL: module @call.dynamic
# CHECK-NEXT: return @ramp(arg0), @ramp_1(arg1) : tensor<?xf64>, tensor<4xf64>
# CHECK-NEXT: @ramp(tensor<?xf64>) -> tensor<?xf64>:
# CHECK-NEXT: return add(arg0, convert<f64>(dynamic_iota<0, ?xi64>(size<0>(arg0)))) : tensor<?xf64>
# CHECK-NEXT: @ramp_1(tensor<4xf64>) -> tensor<4xf64>:
# CHECK-NEXT: return add(arg0, convert<f64>(iota<0, 4xi64>())) : tensor<4xf64>
show("call.dynamic", [("float64", "n"), ("float64", 4)], called_twice)


def call_of_a_part(x):
    """The argument's size is n - 1; inside it is a size of its own, read off the argument."""
    part = hlo.slice(x, [1], list(x.dims))
    return hlo.call("count", [part], lambda a: [a.builder.size(a.dims[0])])


# CHECK-LABEL: module @call.dynamic.part
# CHECK-NEXT: return @count(real_dynamic_slice(arg0, 1, size<0>(arg0), 1)) : tensor<i64>
# CHECK-NEXT: @count(tensor<?xf64>) -> tensor<i64>:
# CHECK-NEXT: return size<0>(arg0) : tensor<i64>
show("call.dynamic.part", [("float64", "n")], call_of_a_part)


def library(x):
    return hlo.custom_call("a_target", [x], [(x.dims, F64)], backend_config={"k": "3 : i32"})


# CHECK-LABEL: module @custom_call.static
# CHECK-NEXT: a = @a_target(arg0) : tensor<4xf64>
# CHECK-NEXT: return a : tensor<4xf64>
show("custom_call.static", [("float64", 4)], library)

# Sizes of results are operands, for shape refinement to read.
# CHECK-LABEL: module @custom_call.dynamic
# CHECK-NEXT: a = @a_target(arg0, size<0>(arg0)) {indices_of_shape_operands = 1} : tensor<?xf64>
# CHECK-NEXT: return a : tensor<?xf64>
show("custom_call.dynamic", [("float64", "n")], library)

# CHECK-LABEL: module @custom_call.static.effect
# CHECK-NEXT: a = @a_target(arg0) : tensor<f64>
# CHECK-NEXT: return arg0, a : tensor<4xf64>, tensor<f64>
show(
    "custom_call.static.effect",
    [("float64", 4)],
    lambda x: [x, *hlo.custom_call("a_target", [x], [((), F64)], has_side_effect=True)],
)
