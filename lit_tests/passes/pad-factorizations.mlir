// Padding of functions that implement QR, eigenvalues and singular values.
//
// RUN: %hlograph opt %s --split-input-file --pass 'pad{m=8,n=4}' | filecheck %s

// 0 in the padding, as arguments have it: the reflections are those of the live block.
// CHECK-LABEL: module @qr
// CHECK: [[F:%[^ ]+]]:2 = call @householder_qr_float64(%arg0) : (tensor<8x4xf64>) -> (tensor<8x4xf64>, tensor<4xf64>)
// CHECK: [[P:%[^ ]+]]:3 = call @pivoted_qr_float64(%arg0) : (tensor<8x4xf64>) -> (tensor<8x4xf64>, tensor<4xf64>, tensor<4xi32>)
// CHECK-DAG: [[V:%[^ ]+]] = stablehlo.select {{.*}}, [[F]]#0, {{.*}} : tensor<8x4xi1>, tensor<8x4xf64>
// CHECK-DAG: [[T:%[^ ]+]] = stablehlo.select {{.*}}, [[F]]#1, {{.*}} : tensor<4xi1>, tensor<4xf64>
// CHECK: call @householder_product_float64([[V]], [[T]]) : (tensor<8x4xf64>, tensor<4xf64>) -> tensor<8x4xf64>
module @qr {
  func.func @main(%a: tensor<?x?xf64> {hlograph.dims = ["m", "n"]}) -> (tensor<?x?xf64>, tensor<?xi32>) {
    %0:2 = call @qr(%a) : (tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xf64>)
    %1:3 = call @pivoted(%a) : (tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xf64>, tensor<?xi32>)
    %2 = call @product(%0#0, %0#1) : (tensor<?x?xf64>, tensor<?xf64>) -> tensor<?x?xf64>
    return %2, %1#2 : tensor<?x?xf64>, tensor<?xi32>
  }
  func.func private @qr(%a: tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xf64>) attributes {hlograph.implements = "householder_qr"}
  func.func private @pivoted(%a: tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xf64>, tensor<?xi32>) attributes {hlograph.implements = "pivoted_qr"}
  func.func private @product(%a: tensor<?x?xf64>, %t: tensor<?xf64>) -> tensor<?x?xf64> attributes {hlograph.implements = "householder_product"}
}

// -----

// Twice a bound of the eigenvalues on the padding's diagonal.
// CHECK-LABEL: module @eigh
// CHECK: stablehlo.abs
// CHECK: stablehlo.reduce({{.*}}) applies stablehlo.maximum
// CHECK: [[B:%[^ ]+]] = stablehlo.select {{.*}}, {{.*}}, %arg0 : tensor<4x4xi1>, tensor<4x4xf64>
// CHECK: call @eigh_float64([[B]]) : (tensor<4x4xf64>) -> (tensor<4x4xf64>, tensor<4xf64>)
module @eigh {
  func.func @main(%a: tensor<?x?xf64> {hlograph.dims = ["n", "n"]}, %b: tensor<?xf64> {hlograph.dims = ["m"]}) -> (tensor<?x?xf64>, tensor<?xf64>, tensor<?xf64>) {
    %0:2 = call @eigh(%a) : (tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xf64>)
    return %0#0, %0#1, %b : tensor<?x?xf64>, tensor<?xf64>, tensor<?xf64>
  }
  func.func private @eigh(%a: tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xf64>) attributes {hlograph.implements = "eigh"}
}

// -----

// Only batches of them are padded: the function keeps what it implements.
// CHECK-LABEL: module @spectral
// CHECK: call @eig_float64(%arg0) : (tensor<8x4x4xf64>) -> (tensor<8x4xcomplex<f64>>, tensor<8x4x4xcomplex<f64>>)
// CHECK: call @schur_float64(%arg0) : (tensor<8x4x4xf64>) -> (tensor<8x4x4xf64>, tensor<8x4x4xf64>)
// CHECK: func.func private @eig_float64({{.*}}hlograph.implements = "eig"
module @spectral {
  func.func @main(%a: tensor<?x4x4xf64> {hlograph.dims = ["m", "4", "4"]}, %b: tensor<?xf64> {hlograph.dims = ["n"]}) -> (tensor<?x4xcomplex<f64>>, tensor<?x4x4xf64>, tensor<?xf64>) {
    %0:2 = call @eig(%a) : (tensor<?x4x4xf64>) -> (tensor<?x4xcomplex<f64>>, tensor<?x4x4xcomplex<f64>>)
    %1:2 = call @schur(%a) : (tensor<?x4x4xf64>) -> (tensor<?x4x4xf64>, tensor<?x4x4xf64>)
    return %0#0, %1#0, %b : tensor<?x4xcomplex<f64>>, tensor<?x4x4xf64>, tensor<?xf64>
  }
  func.func private @eig(%a: tensor<?x4x4xf64>) -> (tensor<?x4xcomplex<f64>>, tensor<?x4x4xcomplex<f64>>) attributes {hlograph.implements = "eig"}
  func.func private @schur(%a: tensor<?x4x4xf64>) -> (tensor<?x4x4xf64>, tensor<?x4x4xf64>) attributes {hlograph.implements = "schur"}
}

// -----

// Singular vectors of zeros may lie in the padding: what is live of them is made orthonormal, or complete.
// CHECK-LABEL: module @svd
// CHECK: [[S:%[^ ]+]]:3 = call @svd_float64(%arg0) : (tensor<8x4xf64>) -> (tensor<8x4xf64>, tensor<4xf64>, tensor<4x4xf64>)
// CHECK: [[U:%[^ ]+]] = stablehlo.select {{.*}}, [[S]]#0, {{.*}} : tensor<8x4xi1>, tensor<8x4xf64>
// CHECK: call @householder_qr_float64([[U]])
// CHECK: call @householder_product_float64({{.*}}) : (tensor<8x4xf64>, tensor<4xf64>) -> tensor<8x4xf64>
// CHECK: call @householder_product_float64{{.*}} : (tensor<8x8xf64>, tensor<4xf64>) -> tensor<8x8xf64>
// CHECK: call @singular_values_float64(%arg0) : (tensor<8x4xf64>) -> tensor<4xf64>
module @svd {
  func.func @main(%a: tensor<?x?xf64> {hlograph.dims = ["m", "n"]}) -> (tensor<?x?xf64>, tensor<?x?xf64>, tensor<?xf64>) {
    %0:3 = call @svd(%a) : (tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xf64>, tensor<?x?xf64>)
    %1:3 = call @complete(%a) : (tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xf64>, tensor<?x?xf64>)
    %2 = call @values(%a) : (tensor<?x?xf64>) -> tensor<?xf64>
    return %0#0, %1#0, %2 : tensor<?x?xf64>, tensor<?x?xf64>, tensor<?xf64>
  }
  func.func private @svd(%a: tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xf64>, tensor<?x?xf64>) attributes {hlograph.implements = "svd"}
  func.func private @complete(%a: tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?xf64>, tensor<?x?xf64>) attributes {hlograph.implements = "svd_complete"}
  func.func private @values(%a: tensor<?x?xf64>) -> tensor<?xf64> attributes {hlograph.implements = "singular_values"}
}
