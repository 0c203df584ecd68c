// What has no right rule is refused by name, with the sizes that are concerned.
//
// RUN: not %hlograph opt %s --split-input-file --pass 'pad{n=8}' 2>&1 | filecheck %s

// CHECK: pad: stablehlo.fft {{.*}} cannot be padded: the transformed axis is padded
module @fft {
  func.func @main(%x: tensor<?xcomplex<f64>> {hlograph.dims = ["n"]}) -> tensor<4xcomplex<f64>> {
    %0 = stablehlo.fft %x, type = FFT, length = [4] : (tensor<?xcomplex<f64>>) -> tensor<4xcomplex<f64>>
    return %0 : tensor<4xcomplex<f64>>
  }
}
