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
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0> : tensor<i64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<4> : tensor<i64>
# CHECK-NEXT: [[CONST3:%\w+]] = stablehlo.constant dense<1> : tensor<i64>
# CHECK-NEXT: [[EXP:%\w+]] = stablehlo.exponential %arg0 : tensor<4xf64>
# CHECK-NEXT: [[LOOP:%\w+]]:2 = stablehlo.while(%iterArg{{[^ ,:)=]*}} = [[CONST]], %iterArg{{[^ ,:)=]*}} = %arg0) : tensor<i64>, tensor<4xf64>
# CHECK-NEXT: cond {
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare LT, %iterArg{{[^ ,:)=]*}}, [[CONST2]] : (tensor<i64>, tensor<i64>) -> tensor<i1>
# CHECK-NEXT: stablehlo.return [[TEST]] : tensor<i1>
# CHECK-NEXT: } do {
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add %iterArg{{[^ ,:)=]*}}, [[CONST3]] : tensor<i64>
# CHECK-NEXT: [[SUM2:%\w+]] = stablehlo.add %iterArg{{[^ ,:)=]*}}, [[EXP]] : tensor<4xf64>
# CHECK-NEXT: stablehlo.return [[SUM]], [[SUM2]] : tensor<i64>, tensor<4xf64>
# CHECK: return [[LOOP]]#0, [[LOOP]]#1 : tensor<i64>, tensor<4xf64>
show("while_loop.static", [("float64", 4)], doubled_until_large)

# CHECK-LABEL: module @while_loop.dynamic
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0> : tensor<i64>
# CHECK-NEXT: [[DIM:%\w+]] = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?xf64>) -> tensor<i32>
# CHECK-NEXT: [[CONVERTED:%\w+]] = stablehlo.convert [[DIM]] : (tensor<i32>) -> tensor<i64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<1> : tensor<i64>
# CHECK-NEXT: // Values.
# CHECK-NEXT: [[EXP:%\w+]] = stablehlo.exponential %arg0 : tensor<?xf64>
# CHECK-NEXT: [[LOOP:%\w+]]:2 = stablehlo.while(%iterArg{{[^ ,:)=]*}} = [[CONST]], %iterArg{{[^ ,:)=]*}} = %arg0) : tensor<i64>, tensor<?xf64>
# CHECK-NEXT: cond {
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare LT, %iterArg{{[^ ,:)=]*}}, [[CONVERTED]] : (tensor<i64>, tensor<i64>) -> tensor<i1>
# CHECK-NEXT: stablehlo.return [[TEST]] : tensor<i1>
# CHECK-NEXT: } do {
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add %iterArg{{[^ ,:)=]*}}, [[CONST2]] : tensor<i64>
# CHECK-NEXT: [[SUM2:%\w+]] = stablehlo.add %iterArg{{[^ ,:)=]*}}, [[EXP]] : tensor<?xf64>
# CHECK-NEXT: stablehlo.return [[SUM]], [[SUM2]] : tensor<i64>, tensor<?xf64>
# CHECK: return [[LOOP]]#0, [[LOOP]]#1 : tensor<i64>, tensor<?xf64>
show("while_loop.dynamic", [("float64", "n")], doubled_until_large)


def three(index, x):
    return hlo.case(index, [lambda: [hlo.negate(x)], lambda: [x], lambda: [hlo.full_like(x, 0)]])


# CHECK-LABEL: module @case.static
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[CHOICE:%\w+]] = "stablehlo.case"(%arg0) ({
# CHECK-NEXT: [[NEGATED:%\w+]] = stablehlo.negate %arg1 : tensor<4xf64>
# CHECK-NEXT: stablehlo.return [[NEGATED]] : tensor<4xf64>
# CHECK-NEXT: }, {
# CHECK-NEXT: stablehlo.return %arg1 : tensor<4xf64>
# CHECK-NEXT: }, {
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim [[CONST]], dims = [] : (tensor<f64>) -> tensor<4xf64>
# CHECK-NEXT: stablehlo.return [[WIDE]] : tensor<4xf64>
# CHECK-NEXT: }) : (tensor<i32>) -> tensor<4xf64>
# CHECK-NEXT: return [[CHOICE]] : tensor<4xf64>
show("case.static", [("int32",), ("float64", 4)], three)

# CHECK-LABEL: module @case.dynamic
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[DIM:%\w+]] = stablehlo.get_dimension_size %arg1, dim = 0 : (tensor<?xf64>) -> tensor<i32>
# CHECK-NEXT: [[CONVERTED:%\w+]] = stablehlo.convert [[DIM]] : (tensor<i32>) -> tensor<i64>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape [[CONVERTED]] : (tensor<i64>) -> tensor<1xi64>
# CHECK-NEXT: // Values.
# CHECK-NEXT: [[CHOICE:%\w+]] = "stablehlo.case"(%arg0) ({
# CHECK-NEXT: [[NEGATED:%\w+]] = stablehlo.negate %arg1 : tensor<?xf64>
# CHECK-NEXT: stablehlo.return [[NEGATED]] : tensor<?xf64>
# CHECK-NEXT: }, {
# CHECK-NEXT: stablehlo.return %arg1 : tensor<?xf64>
# CHECK-NEXT: }, {
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CONST]], [[SHAPED]], dims = [] : (tensor<f64>, tensor<1xi64>) -> tensor<?xf64>
# CHECK-NEXT: stablehlo.return [[WIDE]] : tensor<?xf64>
# CHECK-NEXT: }) : (tensor<i32>) -> tensor<?xf64>
# CHECK-NEXT: return [[CHOICE]] : tensor<?xf64>
show("case.dynamic", [("int32",), ("float64", "n")], three)


def agreeing(pred, x, y):
    """Branches of sizes n and m: they must agree, and the result has the size of the first."""
    return hlo.if_(pred, lambda: [x], lambda: [hlo.negate(y)])


# CHECK-LABEL: module @if_.static
# CHECK-NOT: dynamic_
# CHECK: [[CHOICE:%\w+]] = "stablehlo.if"(%arg0) ({
# CHECK-NEXT: stablehlo.return %arg1 : tensor<4xf64>
# CHECK-NEXT: }, {
# CHECK-NEXT: [[NEGATED:%\w+]] = stablehlo.negate %arg2 : tensor<4xf64>
# CHECK-NEXT: stablehlo.return [[NEGATED]] : tensor<4xf64>
# CHECK-NEXT: }) : (tensor<i1>) -> tensor<4xf64>
# CHECK-NEXT: return [[CHOICE]] : tensor<4xf64>
show("if_.static", [("bool",), ("float64", 4), ("float64", 4)], agreeing)

# CHECK-LABEL: module @if_.dynamic
# CHECK: [[CHOICE:%\w+]] = "stablehlo.if"(%arg0) ({
# CHECK-NEXT: stablehlo.return %arg1 : tensor<?xf64>
# CHECK-NEXT: }, {
# CHECK-NEXT: [[NEGATED:%\w+]] = stablehlo.negate %arg2 : tensor<?xf64>
# CHECK-NEXT: stablehlo.return [[NEGATED]] : tensor<?xf64>
# CHECK-NEXT: }) : (tensor<i1>) -> tensor<?xf64>
# CHECK-NEXT: return [[CHOICE]] : tensor<?xf64>
show("if_.dynamic", [("bool",), ("float64", "n"), ("float64", "m")], agreeing)


def called_twice(x, y):
    def body(a):
        return [hlo.add(a, hlo.convert(hlo.iota(a.builder, a.dims, 0, INT64), F64))]

    return [hlo.call("ramp", [x], body)[0], hlo.call("ramp", [y], body)[0]]


# One function for equal types, another one for others; sizes inside are read off the arguments.
# CHECK-LABEL: module @call.static
# CHECK-NOT: dynamic_
# CHECK: [[CALLED:%\w+]] = call @ramp(%arg0) : (tensor<4xf64>) -> tensor<4xf64>
# CHECK-NEXT: [[CALLED2:%\w+]] = call @ramp(%arg1) : (tensor<4xf64>) -> tensor<4xf64>
# CHECK-NEXT: return [[CALLED]], [[CALLED2]] : tensor<4xf64>, tensor<4xf64>
# CHECK: func.func private @ramp(%arg0: tensor<4xf64>) -> tensor<4xf64>
# CHECK-NEXT: [[IOTA:%\w+]] = stablehlo.iota dim = 0 : tensor<4xi64>
# CHECK-NEXT: [[CONVERTED:%\w+]] = stablehlo.convert [[IOTA]] : (tensor<4xi64>) -> tensor<4xf64>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add %arg0, [[CONVERTED]] : tensor<4xf64>
# CHECK-NEXT: return [[SUM]] : tensor<4xf64>
show("call.static", [("float64", 4), ("float64", 4)], called_twice)

# CHECK-LABEL: module @call.dynamic
# CHECK: [[CALLED:%\w+]] = call @ramp(%arg0) : (tensor<?xf64>) -> tensor<?xf64>
# CHECK-NEXT: [[CALLED2:%\w+]] = call @ramp_1(%arg1) : (tensor<4xf64>) -> tensor<4xf64>
# CHECK-NEXT: return [[CALLED]], [[CALLED2]] : tensor<?xf64>, tensor<4xf64>
# CHECK: func.func private @ramp(%arg0: tensor<?xf64>) -> tensor<?xf64>
# CHECK-NEXT: [[DIM:%\w+]] = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?xf64>) -> tensor<i32>
# CHECK-NEXT: [[CONVERTED:%\w+]] = stablehlo.convert [[DIM]] : (tensor<i32>) -> tensor<i64>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape [[CONVERTED]] : (tensor<i64>) -> tensor<1xi64>
# CHECK-NEXT: [[IOTA:%\w+]] = stablehlo.dynamic_iota [[SHAPED]], dim = 0 : (tensor<1xi64>) -> tensor<?xi64>
# CHECK-NEXT: [[CONVERTED2:%\w+]] = stablehlo.convert [[IOTA]] : (tensor<?xi64>) -> tensor<?xf64>
# CHECK-NEXT: [[SUM:%\w+]] = stablehlo.add %arg0, [[CONVERTED2]] : tensor<?xf64>
# CHECK-NEXT: return [[SUM]] : tensor<?xf64>
# CHECK: func.func private @ramp_1(%arg0: tensor<4xf64>) -> tensor<4xf64>
# CHECK-NEXT: [[IOTA2:%\w+]] = stablehlo.iota dim = 0 : tensor<4xi64>
# CHECK-NEXT: [[CONVERTED3:%\w+]] = stablehlo.convert [[IOTA2]] : (tensor<4xi64>) -> tensor<4xf64>
# CHECK-NEXT: [[SUM2:%\w+]] = stablehlo.add %arg0, [[CONVERTED3]] : tensor<4xf64>
# CHECK-NEXT: return [[SUM2]] : tensor<4xf64>
show("call.dynamic", [("float64", "n"), ("float64", 4)], called_twice)


def call_of_a_part(x):
    """The argument's size is n - 1; inside it is a size of its own, read off the argument."""
    part = hlo.slice(x, [1], list(x.dims))
    return hlo.call("count", [part], lambda a: [a.builder.size(a.dims[0])])


# CHECK-LABEL: module @call.dynamic.part
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<1> : tensor<1xi64>
# CHECK-NEXT: [[DIM:%\w+]] = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?xf64>) -> tensor<i32>
# CHECK-NEXT: [[CONVERTED:%\w+]] = stablehlo.convert [[DIM]] : (tensor<i32>) -> tensor<i64>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape [[CONVERTED]] : (tensor<i64>) -> tensor<1xi64>
# CHECK-NEXT: // Values.
# CHECK-NEXT: [[SLICED:%\w+]] = stablehlo.real_dynamic_slice %arg0, [[CONST]], [[SHAPED]], [[CONST]] : (tensor<?xf64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf64>
# CHECK-NEXT: [[CALLED:%\w+]] = call @count([[SLICED]]) : (tensor<?xf64>) -> tensor<i64>
# CHECK-NEXT: return [[CALLED]] : tensor<i64>
# CHECK: func.func private @count(%arg0: tensor<?xf64>) -> tensor<i64>
# CHECK-NEXT: [[DIM2:%\w+]] = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?xf64>) -> tensor<i32>
# CHECK-NEXT: [[CONVERTED2:%\w+]] = stablehlo.convert [[DIM2]] : (tensor<i32>) -> tensor<i64>
# CHECK-NEXT: return [[CONVERTED2]] : tensor<i64>
show("call.dynamic.part", [("float64", "n")], call_of_a_part)


def library(x):
    return hlo.custom_call("a_target", [x], [(x.dims, F64)], backend_config={"k": "3 : i32"})


# CHECK-LABEL: module @custom_call.static
# CHECK-NOT: dynamic_
# CHECK: [[CALLED:%\w+]] = stablehlo.custom_call @a_target(%arg0) {api_version = 4 : i32, backend_config = {k = 3 : i32}} : (tensor<4xf64>) -> tensor<4xf64>
# CHECK-NEXT: return [[CALLED]] : tensor<4xf64>
show("custom_call.static", [("float64", 4)], library)

# Sizes of results are operands, for shape refinement to read.
# CHECK-LABEL: module @custom_call.dynamic
# CHECK: [[DIM:%\w+]] = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?xf64>) -> tensor<i32>
# CHECK-NEXT: [[CONVERTED:%\w+]] = stablehlo.convert [[DIM]] : (tensor<i32>) -> tensor<i64>
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape [[CONVERTED]] : (tensor<i64>) -> tensor<1xi64>
# CHECK-NEXT: // Values.
# CHECK-NEXT: [[CALLED:%\w+]] = stablehlo.custom_call @a_target(%arg0, [[SHAPED]]) {api_version = 4 : i32, backend_config = {k = 3 : i32}, indices_of_shape_operands = dense<1> : tensor<1xi64>} : (tensor<?xf64>, tensor<1xi64>) -> tensor<?xf64>
# CHECK-NEXT: return [[CALLED]] : tensor<?xf64>
show("custom_call.dynamic", [("float64", "n")], library)

# CHECK-LABEL: module @custom_call.static.effect
# CHECK-NOT: dynamic_
# CHECK: [[CALLED:%\w+]] = stablehlo.custom_call @a_target(%arg0) {api_version = 4 : i32, backend_config = {}, has_side_effect = true} : (tensor<4xf64>) -> tensor<f64>
# CHECK-NEXT: return %arg0, [[CALLED]] : tensor<4xf64>, tensor<f64>
show(
    "custom_call.static.effect",
    [("float64", 4)],
    lambda x: [x, *hlo.custom_call("a_target", [x], [((), F64)], has_side_effect=True)],
)
