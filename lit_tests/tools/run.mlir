// Arrays go in by name and come out by name, whether XLA or the interpreter runs the module.
//
// RUN: %python -c "import numpy as np, sys; np.savez(sys.argv[1], x=np.arange(3.0), k=np.float64(2))" %t.in.npz
// RUN: %hlograph run %s --inputs %t.in.npz --output %t.out.npz | filecheck %s
// RUN: %hlograph run %s --inputs %t.in.npz --interpret | filecheck %s --check-prefixes=CHECK,INTERPRET
// RUN: %python -c "import numpy as np, sys; print({k: v.tolist() for k, v in np.load(sys.argv[1]).items()})" %t.out.npz | filecheck %s --check-prefix=FILE
// RUN: not %hlograph run %s 2>&1 | filecheck %s --check-prefix=MISSING

// CHECK: {{^}}result   dtype    shape{{$}}
// CHECK-NEXT: {{^}}doubled  float64  (3){{$}}
// CHECK-NEXT: {{^}}k        float64  ()     2.0{{$}}
// INTERPRET-NEXT: interpreted in

// FILE: {'doubled': [0.0, 2.0, 4.0], 'k': 2.0}

// MISSING: hlograph: error: {{.*}}no array for the argument x (float64, (n)); no array for the argument k (float64, ())
// MISSING-NOT: Traceback
func.func @main(
    %arg0: tensor<?xf64> {hlograph.name = "x", hlograph.dims = ["n"]},
    %arg1: tensor<f64> {hlograph.name = "k", hlograph.dims = []})
    -> (tensor<?xf64> {hlograph.name = "doubled", hlograph.dims = ["n"]}, tensor<f64> {hlograph.name = "k"}) {
  %0 = stablehlo.add %arg0, %arg0 : tensor<?xf64>
  return %0, %arg1 : tensor<?xf64>, tensor<f64>
}
