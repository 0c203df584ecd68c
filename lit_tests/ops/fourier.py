# RUN: %python %s | filecheck %s
"""Fourier transforms: `fft` where its lengths are known, a call that waits for them where not."""

import pytensor.tensor as pt
from common import show
from pytensor.tensor.fft import irfft, rfft

table, cube = pt.dmatrix("table"), pt.dtensor3("cube")

# CHECK-LABEL: module @RFFTOp.dynamic
# CHECK-NEXT: constraints: table_1 >= 1, length 0 of RFFTOp at an unnamed RFFTOp node
# CHECK-NEXT: a = concatenate<0>(size<0>(table), add(divide(size<1>(table), 2), 1), 1) : tensor<3xi64>
# CHECK-NEXT: b = @hlograph.fft(table, concatenate<0>(size<0>(table), add(divide(size<1>(table), 2), 1))) {indices_of_shape_operands = 1} : tensor<?x?xcomplex<f64>>
# CHECK-NEXT: return divide(concatenate<2>(dynamic_reshape<?x?x1xf64>(real(b), a), dynamic_reshape<?x?x1xf64>(imag(b), a)), 1) : tensor<?x?x2xf64>
show([table], rfft(table, norm="no_norm"), name="RFFTOp.dynamic")

# CHECK-LABEL: module @IRFFTOp.dynamic
# CHECK-NEXT: constraints: 2*n - 1 >= 1, length 0 of IRFFTOp at an unnamed IRFFTOp node
# CHECK-NEXT: a = concatenate<0>(size<0>(cube), size<1>(cube)) : tensor<2xi64>
# CHECK-NEXT: b = add(multiply(size<1>(cube), 2), -1) : tensor<i64>
# CHECK-NEXT: c = @hlograph.fft(complex(dynamic_reshape<?x?xf64>(real_dynamic_slice(cube, 0, concatenate<0>(size<0>(cube), size<1>(cube), 1), 1), a), dynamic_reshape<?x?xf64>(real_dynamic_slice(cube, [0, 0, 1], concatenate<0>(size<0>(cube), size<1>(cube), 2), 1), a)), concatenate<0>(size<0>(cube), b)) {indices_of_shape_operands = 1} : tensor<?x?xf64>
# CHECK-NEXT: return divide(multiply(c, convert<f64>(b)), 1) : tensor<?x?xf64>
show([cube], irfft(cube, norm="no_norm", is_odd=True), name="IRFFTOp.dynamic", dims={"cube": ("b", "n", 2)})
