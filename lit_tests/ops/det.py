# RUN: %python %s | filecheck %s
"""Det, SLogDet, MatrixInverse: through LU."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.linalg import Det, MatrixInverse, SLogDet

a = pt.dmatrix("a")

# CHECK-LABEL: module @Det.static
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<1.000000e+00> : tensor<f64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<-1.000000e+00> : tensor<f64>
# CHECK-NEXT: [[CALLED:%\w+]]:2 = call @lu_float64(%arg0) : (tensor<3x3xf64>) -> (tensor<3x3xf64>, tensor<3xi32>)
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape [[CALLED]]#0 : (tensor<3x3xf64>) -> tensor<9xf64>
# CHECK-NEXT: [[SLICED:%\w+]] = stablehlo.slice [[SHAPED]] [0:9:4] : (tensor<9xf64>) -> tensor<3xf64>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce([[SLICED]] init: [[CONST]]) applies stablehlo.multiply across dimensions = [0] : (tensor<3xf64>, tensor<f64>) -> tensor<f64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim [[CALLED]]#1, dims = [0] : (tensor<3xi32>) -> tensor<3x3xi32>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.broadcast_in_dim [[CALLED]]#1, dims = [1] : (tensor<3xi32>) -> tensor<3x3xi32>
# CHECK-NEXT: [[IOTA:%\w+]] = stablehlo.iota dim = 0 : tensor<3x3xi64>
# CHECK-NEXT: [[IOTA2:%\w+]] = stablehlo.iota dim = 1 : tensor<3x3xi64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare LT, [[IOTA]], [[IOTA2]] : (tensor<3x3xi64>, tensor<3x3xi64>) -> tensor<3x3xi1>
# CHECK-NEXT: [[TEST2:%\w+]] = stablehlo.compare GT, [[WIDE]], [[WIDE2]] : (tensor<3x3xi32>, tensor<3x3xi32>) -> tensor<3x3xi1>
# CHECK-NEXT: [[AND:%\w+]] = stablehlo.and [[TEST]], [[TEST2]] : tensor<3x3xi1>
# CHECK-NEXT: [[WIDE3:%\w+]] = stablehlo.broadcast_in_dim [[CONST2]], dims = [] : (tensor<f64>) -> tensor<3x3xf64>
# CHECK-NEXT: [[WIDE4:%\w+]] = stablehlo.broadcast_in_dim [[CONST]], dims = [] : (tensor<f64>) -> tensor<3x3xf64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[AND]], [[WIDE3]], [[WIDE4]] : tensor<3x3xi1>, tensor<3x3xf64>
# CHECK-NEXT: [[REDUCED2:%\w+]] = stablehlo.reduce([[CHOSEN]] init: [[CONST]]) applies stablehlo.multiply across dimensions = [0, 1] : (tensor<3x3xf64>, tensor<f64>) -> tensor<f64>
# CHECK-NEXT: [[PRODUCT:%\w+]] = stablehlo.multiply [[REDUCED]], [[REDUCED2]] : tensor<f64>
# CHECK-NEXT: return [[PRODUCT]] : tensor<f64>
# CHECK: func.func private @lu_float64(%arg0: tensor<3x3xf64>) -> (tensor<3x3xf64>, tensor<3xi32>) attributes {hlograph.implements = "lu"}
show([a], Det()(a), name="Det.static", dims={"a": (3, 3)})

# CHECK-LABEL: module @Det.dynamic
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0> : tensor<1xi64>
# CHECK: [[CONST2:%\w+]] = stablehlo.constant dense<1.000000e+00> : tensor<f64>
# CHECK: [[CONST3:%\w+]] = stablehlo.constant dense<-1.000000e+00> : tensor<f64>
# CHECK-NEXT: [[CALLED:%\w+]]:2 = call @lu_float64(%arg0) : (tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xi32>)
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.dynamic_reshape [[CALLED]]#0, %{{[0-9]+}} : (tensor<?x?xf64>, tensor<1xi64>) -> tensor<?xf64>
# CHECK-NEXT: [[SLICED:%\w+]] = stablehlo.real_dynamic_slice [[SHAPED]], [[CONST]], %{{[0-9]+}}, %{{[0-9]+}} : (tensor<?xf64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf64>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce([[SLICED]] init: [[CONST2]]) applies stablehlo.multiply across dimensions = [0] : (tensor<?xf64>, tensor<f64>) -> tensor<f64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CALLED]]#1, %{{[0-9]+}}, dims = [0] : (tensor<?xi32>, tensor<2xi64>) -> tensor<?x?xi32>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CALLED]]#1, %{{[0-9]+}}, dims = [1] : (tensor<?xi32>, tensor<2xi64>) -> tensor<?x?xi32>
# CHECK-NEXT: [[IOTA:%\w+]] = stablehlo.dynamic_iota %{{[0-9]+}}, dim = 0 : (tensor<2xi64>) -> tensor<?x?xi64>
# CHECK-NEXT: [[IOTA2:%\w+]] = stablehlo.dynamic_iota %{{[0-9]+}}, dim = 1 : (tensor<2xi64>) -> tensor<?x?xi64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare LT, [[IOTA]], [[IOTA2]] : (tensor<?x?xi64>, tensor<?x?xi64>) -> tensor<?x?xi1>
# CHECK-NEXT: [[TEST2:%\w+]] = stablehlo.compare GT, [[WIDE]], [[WIDE2]] : (tensor<?x?xi32>, tensor<?x?xi32>) -> tensor<?x?xi1>
# CHECK-NEXT: [[AND:%\w+]] = stablehlo.and [[TEST]], [[TEST2]] : tensor<?x?xi1>
# CHECK-NEXT: [[WIDE3:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CONST3]], %{{[0-9]+}}, dims = [] : (tensor<f64>, tensor<2xi64>) -> tensor<?x?xf64>
# CHECK-NEXT: [[WIDE4:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CONST2]], %{{[0-9]+}}, dims = [] : (tensor<f64>, tensor<2xi64>) -> tensor<?x?xf64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[AND]], [[WIDE3]], [[WIDE4]] : tensor<?x?xi1>, tensor<?x?xf64>
# CHECK-NEXT: [[REDUCED2:%\w+]] = stablehlo.reduce([[CHOSEN]] init: [[CONST2]]) applies stablehlo.multiply across dimensions = [0, 1] : (tensor<?x?xf64>, tensor<f64>) -> tensor<f64>
# CHECK-NEXT: [[PRODUCT:%\w+]] = stablehlo.multiply [[REDUCED]], [[REDUCED2]] : tensor<f64>
# CHECK-NEXT: return [[PRODUCT]] : tensor<f64>
# CHECK: func.func private @lu_float64(%arg0: tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xi32>) attributes {hlograph.implements = "lu"}
show([a], Det()(a), name="Det.dynamic", dims={"a": ("n", "n")})

# CHECK-LABEL: module @SLogDet.static
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<1.000000e+00> : tensor<f64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[CONST3:%\w+]] = stablehlo.constant dense<-1.000000e+00> : tensor<f64>
# CHECK-NEXT: [[CALLED:%\w+]]:2 = call @lu_float64(%arg0) : (tensor<3x3xf64>) -> (tensor<3x3xf64>, tensor<3xi32>)
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape [[CALLED]]#0 : (tensor<3x3xf64>) -> tensor<9xf64>
# CHECK-NEXT: [[SLICED:%\w+]] = stablehlo.slice [[SHAPED]] [0:9:4] : (tensor<9xf64>) -> tensor<3xf64>
# CHECK-NEXT: [[SIGN:%\w+]] = stablehlo.sign [[SLICED]] : tensor<3xf64>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce([[SIGN]] init: [[CONST]]) applies stablehlo.multiply across dimensions = [0] : (tensor<3xf64>, tensor<f64>) -> tensor<f64>
# CHECK-NEXT: [[ABS:%\w+]] = stablehlo.abs [[SLICED]] : tensor<3xf64>
# CHECK-NEXT: [[LOG:%\w+]] = stablehlo.log [[ABS]] : tensor<3xf64>
# CHECK-NEXT: [[REDUCED2:%\w+]] = stablehlo.reduce([[LOG]] init: [[CONST2]]) applies stablehlo.add across dimensions = [0] : (tensor<3xf64>, tensor<f64>) -> tensor<f64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim [[CALLED]]#1, dims = [0] : (tensor<3xi32>) -> tensor<3x3xi32>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.broadcast_in_dim [[CALLED]]#1, dims = [1] : (tensor<3xi32>) -> tensor<3x3xi32>
# CHECK-NEXT: [[IOTA:%\w+]] = stablehlo.iota dim = 0 : tensor<3x3xi64>
# CHECK-NEXT: [[IOTA2:%\w+]] = stablehlo.iota dim = 1 : tensor<3x3xi64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare LT, [[IOTA]], [[IOTA2]] : (tensor<3x3xi64>, tensor<3x3xi64>) -> tensor<3x3xi1>
# CHECK-NEXT: [[TEST2:%\w+]] = stablehlo.compare GT, [[WIDE]], [[WIDE2]] : (tensor<3x3xi32>, tensor<3x3xi32>) -> tensor<3x3xi1>
# CHECK-NEXT: [[AND:%\w+]] = stablehlo.and [[TEST]], [[TEST2]] : tensor<3x3xi1>
# CHECK-NEXT: [[WIDE3:%\w+]] = stablehlo.broadcast_in_dim [[CONST3]], dims = [] : (tensor<f64>) -> tensor<3x3xf64>
# CHECK-NEXT: [[WIDE4:%\w+]] = stablehlo.broadcast_in_dim [[CONST]], dims = [] : (tensor<f64>) -> tensor<3x3xf64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[AND]], [[WIDE3]], [[WIDE4]] : tensor<3x3xi1>, tensor<3x3xf64>
# CHECK-NEXT: [[REDUCED3:%\w+]] = stablehlo.reduce([[CHOSEN]] init: [[CONST]]) applies stablehlo.multiply across dimensions = [0, 1] : (tensor<3x3xf64>, tensor<f64>) -> tensor<f64>
# CHECK-NEXT: [[PRODUCT:%\w+]] = stablehlo.multiply [[REDUCED]], [[REDUCED3]] : tensor<f64>
# CHECK-NEXT: return [[PRODUCT]], [[REDUCED2]] : tensor<f64>, tensor<f64>
# CHECK: func.func private @lu_float64(%arg0: tensor<3x3xf64>) -> (tensor<3x3xf64>, tensor<3xi32>) attributes {hlograph.implements = "lu"}
show([a], SLogDet()(a), name="SLogDet.static", dims={"a": (3, 3)})

# CHECK-LABEL: module @SLogDet.dynamic
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0> : tensor<1xi64>
# CHECK: [[CONST2:%\w+]] = stablehlo.constant dense<1.000000e+00> : tensor<f64>
# CHECK-NEXT: [[CONST3:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK: [[CONST4:%\w+]] = stablehlo.constant dense<-1.000000e+00> : tensor<f64>
# CHECK-NEXT: [[CALLED:%\w+]]:2 = call @lu_float64(%arg0) : (tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xi32>)
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.dynamic_reshape [[CALLED]]#0, %{{[0-9]+}} : (tensor<?x?xf64>, tensor<1xi64>) -> tensor<?xf64>
# CHECK-NEXT: [[SLICED:%\w+]] = stablehlo.real_dynamic_slice [[SHAPED]], [[CONST]], %{{[0-9]+}}, %{{[0-9]+}} : (tensor<?xf64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf64>
# CHECK-NEXT: [[SIGN:%\w+]] = stablehlo.sign [[SLICED]] : tensor<?xf64>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce([[SIGN]] init: [[CONST2]]) applies stablehlo.multiply across dimensions = [0] : (tensor<?xf64>, tensor<f64>) -> tensor<f64>
# CHECK-NEXT: [[ABS:%\w+]] = stablehlo.abs [[SLICED]] : tensor<?xf64>
# CHECK-NEXT: [[LOG:%\w+]] = stablehlo.log [[ABS]] : tensor<?xf64>
# CHECK-NEXT: [[REDUCED2:%\w+]] = stablehlo.reduce([[LOG]] init: [[CONST3]]) applies stablehlo.add across dimensions = [0] : (tensor<?xf64>, tensor<f64>) -> tensor<f64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CALLED]]#1, %{{[0-9]+}}, dims = [0] : (tensor<?xi32>, tensor<2xi64>) -> tensor<?x?xi32>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CALLED]]#1, %{{[0-9]+}}, dims = [1] : (tensor<?xi32>, tensor<2xi64>) -> tensor<?x?xi32>
# CHECK-NEXT: [[IOTA:%\w+]] = stablehlo.dynamic_iota %{{[0-9]+}}, dim = 0 : (tensor<2xi64>) -> tensor<?x?xi64>
# CHECK-NEXT: [[IOTA2:%\w+]] = stablehlo.dynamic_iota %{{[0-9]+}}, dim = 1 : (tensor<2xi64>) -> tensor<?x?xi64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare LT, [[IOTA]], [[IOTA2]] : (tensor<?x?xi64>, tensor<?x?xi64>) -> tensor<?x?xi1>
# CHECK-NEXT: [[TEST2:%\w+]] = stablehlo.compare GT, [[WIDE]], [[WIDE2]] : (tensor<?x?xi32>, tensor<?x?xi32>) -> tensor<?x?xi1>
# CHECK-NEXT: [[AND:%\w+]] = stablehlo.and [[TEST]], [[TEST2]] : tensor<?x?xi1>
# CHECK-NEXT: [[WIDE3:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CONST4]], %{{[0-9]+}}, dims = [] : (tensor<f64>, tensor<2xi64>) -> tensor<?x?xf64>
# CHECK-NEXT: [[WIDE4:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CONST2]], %{{[0-9]+}}, dims = [] : (tensor<f64>, tensor<2xi64>) -> tensor<?x?xf64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[AND]], [[WIDE3]], [[WIDE4]] : tensor<?x?xi1>, tensor<?x?xf64>
# CHECK-NEXT: [[REDUCED3:%\w+]] = stablehlo.reduce([[CHOSEN]] init: [[CONST2]]) applies stablehlo.multiply across dimensions = [0, 1] : (tensor<?x?xf64>, tensor<f64>) -> tensor<f64>
# CHECK-NEXT: [[PRODUCT:%\w+]] = stablehlo.multiply [[REDUCED]], [[REDUCED3]] : tensor<f64>
# CHECK-NEXT: return [[PRODUCT]], [[REDUCED2]] : tensor<f64>, tensor<f64>
# CHECK: func.func private @lu_float64(%arg0: tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xi32>) attributes {hlograph.implements = "lu"}
show([a], SLogDet()(a), name="SLogDet.dynamic", dims={"a": ("n", "n")})

# CHECK-LABEL: module @MatrixInverse.static
# CHECK-NOT: dynamic_
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[CONST2:%\w+]] = stablehlo.constant dense<false> : tensor<i1>
# CHECK-NEXT: [[CONST3:%\w+]] = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
# CHECK-NEXT: [[IOTA:%\w+]] = stablehlo.iota dim = 0 : tensor<3x3xi64>
# CHECK-NEXT: [[IOTA2:%\w+]] = stablehlo.iota dim = 1 : tensor<3x3xi64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare EQ, [[IOTA]], [[IOTA2]] : (tensor<3x3xi64>, tensor<3x3xi64>) -> tensor<3x3xi1>
# CHECK-NEXT: [[CONVERTED:%\w+]] = stablehlo.convert [[TEST]] : (tensor<3x3xi1>) -> tensor<3x3xi8>
# CHECK-NEXT: [[CONVERTED2:%\w+]] = stablehlo.convert [[CONVERTED]] : (tensor<3x3xi8>) -> tensor<3x3xf64>
# CHECK-NEXT: [[CALLED:%\w+]]:2 = call @lu_float64(%arg0) : (tensor<3x3xf64>) -> (tensor<3x3xf64>, tensor<3xi32>)
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.reshape [[CALLED]]#1 : (tensor<3xi32>) -> tensor<3x1xi32>
# CHECK-NEXT: [[GATHERED:%\w+]] = "stablehlo.gather"([[CONVERTED2]], [[SHAPED]]) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 3>}> : (tensor<3x3xf64>, tensor<3x1xi32>) -> tensor<3x3xf64>
# CHECK-NEXT: [[SOLVED:%\w+]] = "stablehlo.triangular_solve"([[CALLED]]#0, [[GATHERED]]) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = true}> : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
# CHECK-NEXT: [[SOLVED2:%\w+]] = "stablehlo.triangular_solve"([[CALLED]]#0, [[SOLVED]]) <{left_side = true, lower = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
# CHECK-NEXT: [[SHAPED2:%\w+]] = stablehlo.reshape [[CALLED]]#0 : (tensor<3x3xf64>) -> tensor<9xf64>
# CHECK-NEXT: [[SLICED:%\w+]] = stablehlo.slice [[SHAPED2]] [0:9:4] : (tensor<9xf64>) -> tensor<3xf64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.broadcast_in_dim [[CONST]], dims = [] : (tensor<f64>) -> tensor<3xf64>
# CHECK-NEXT: [[TEST2:%\w+]] = stablehlo.compare EQ, [[SLICED]], [[WIDE]] : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xi1>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce([[TEST2]] init: [[CONST2]]) applies stablehlo.or across dimensions = [0] : (tensor<3xi1>, tensor<i1>) -> tensor<i1>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.broadcast_in_dim [[REDUCED]], dims = [] : (tensor<i1>) -> tensor<3x3xi1>
# CHECK-NEXT: [[WIDE3:%\w+]] = stablehlo.broadcast_in_dim [[CONST3]], dims = [] : (tensor<f64>) -> tensor<3x3xf64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[WIDE2]], [[WIDE3]], [[SOLVED2]] : tensor<3x3xi1>, tensor<3x3xf64>
# CHECK-NEXT: return [[CHOSEN]] : tensor<3x3xf64>
# CHECK: func.func private @lu_float64(%arg0: tensor<3x3xf64>) -> (tensor<3x3xf64>, tensor<3xi32>) attributes {hlograph.implements = "lu"}
show([a], MatrixInverse()(a), name="MatrixInverse.static", dims={"a": (3, 3)})

# CHECK-LABEL: module @MatrixInverse.dynamic
# CHECK: [[CONST:%\w+]] = stablehlo.constant dense<0> : tensor<1xi64>
# CHECK: [[CONST2:%\w+]] = stablehlo.constant dense<0.000000e+00> : tensor<f64>
# CHECK-NEXT: [[CONST3:%\w+]] = stablehlo.constant dense<false> : tensor<i1>
# CHECK-NEXT: [[CONST4:%\w+]] = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
# CHECK-NEXT: [[IOTA:%\w+]] = stablehlo.dynamic_iota %{{[0-9]+}}, dim = 0 : (tensor<2xi64>) -> tensor<?x?xi64>
# CHECK-NEXT: [[IOTA2:%\w+]] = stablehlo.dynamic_iota %{{[0-9]+}}, dim = 1 : (tensor<2xi64>) -> tensor<?x?xi64>
# CHECK-NEXT: [[TEST:%\w+]] = stablehlo.compare EQ, [[IOTA]], [[IOTA2]] : (tensor<?x?xi64>, tensor<?x?xi64>) -> tensor<?x?xi1>
# CHECK-NEXT: [[CONVERTED:%\w+]] = stablehlo.convert [[TEST]] : (tensor<?x?xi1>) -> tensor<?x?xi8>
# CHECK-NEXT: [[CONVERTED2:%\w+]] = stablehlo.convert [[CONVERTED]] : (tensor<?x?xi8>) -> tensor<?x?xf64>
# CHECK-NEXT: [[CALLED:%\w+]]:2 = call @lu_float64(%arg0) : (tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xi32>)
# CHECK-NEXT: [[SHAPED:%\w+]] = stablehlo.dynamic_reshape [[CALLED]]#1, %{{[0-9]+}} : (tensor<?xi32>, tensor<2xi64>) -> tensor<?x1xi32>
# CHECK-NEXT: [[GATHERED:%\w+]] = "stablehlo.dynamic_gather"([[CONVERTED2]], [[SHAPED]], %{{[0-9]+}}) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false}> : (tensor<?x?xf64>, tensor<?x1xi32>, tensor<2xi64>) -> tensor<?x?xf64>
# CHECK-NEXT: [[SOLVED:%\w+]] = "stablehlo.triangular_solve"([[CALLED]]#0, [[GATHERED]]) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = true}> : (tensor<?x?xf64>, tensor<?x?xf64>) -> tensor<?x?xf64>
# CHECK-NEXT: [[SOLVED2:%\w+]] = "stablehlo.triangular_solve"([[CALLED]]#0, [[SOLVED]]) <{left_side = true, lower = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<?x?xf64>, tensor<?x?xf64>) -> tensor<?x?xf64>
# CHECK-NEXT: [[SHAPED2:%\w+]] = stablehlo.dynamic_reshape [[CALLED]]#0, %{{[0-9]+}} : (tensor<?x?xf64>, tensor<1xi64>) -> tensor<?xf64>
# CHECK-NEXT: [[SLICED:%\w+]] = stablehlo.real_dynamic_slice [[SHAPED2]], [[CONST]], %{{[0-9]+}}, %{{[0-9]+}} : (tensor<?xf64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf64>
# CHECK-NEXT: [[WIDE:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CONST2]], %{{[0-9]+}}, dims = [] : (tensor<f64>, tensor<1xi64>) -> tensor<?xf64>
# CHECK-NEXT: [[TEST2:%\w+]] = stablehlo.compare EQ, [[SLICED]], [[WIDE]] : (tensor<?xf64>, tensor<?xf64>) -> tensor<?xi1>
# CHECK-NEXT: [[REDUCED:%\w+]] = stablehlo.reduce([[TEST2]] init: [[CONST3]]) applies stablehlo.or across dimensions = [0] : (tensor<?xi1>, tensor<i1>) -> tensor<i1>
# CHECK-NEXT: [[WIDE2:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[REDUCED]], %{{[0-9]+}}, dims = [] : (tensor<i1>, tensor<2xi64>) -> tensor<?x?xi1>
# CHECK-NEXT: [[WIDE3:%\w+]] = stablehlo.dynamic_broadcast_in_dim [[CONST4]], %{{[0-9]+}}, dims = [] : (tensor<f64>, tensor<2xi64>) -> tensor<?x?xf64>
# CHECK-NEXT: [[CHOSEN:%\w+]] = stablehlo.select [[WIDE2]], [[WIDE3]], [[SOLVED2]] : tensor<?x?xi1>, tensor<?x?xf64>
# CHECK-NEXT: return [[CHOSEN]] : tensor<?x?xf64>
# CHECK: func.func private @lu_float64(%arg0: tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xi32>) attributes {hlograph.implements = "lu"}
show([a], MatrixInverse()(a), name="MatrixInverse.dynamic", dims={"a": ("n", "n")})
