// A bundle holds a module and executables for sets of sizes; what fits is loaded for who trusts it, and else compiled.
//
// RUN: %python -c "import numpy as np, sys; np.savez(sys.argv[1], x=np.arange(3.0))" %t.npz
// RUN: %hlograph bundle %s -o %t.bundle --sizes n=3 --sizes n=5 | filecheck %s
// RUN: %hlograph run %t.bundle --inputs %t.npz --trusted | filecheck %s --check-prefixes=DONE,LOADED
// RUN: %hlograph run %t.bundle --inputs %t.npz | filecheck %s --check-prefixes=DONE,COMPILED
// RUN: %hlograph inspect %t.bundle | filecheck %s --check-prefix=INSPECT
// RUN: not %hlograph bundle %s -o %t.bundle --sizes m=3 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not %hlograph bundle %s -o %t.bundle --sizes n:3 2>&1 | filecheck %s --check-prefix=MALFORMED
// RUN: %python -c "import sys; open(sys.argv[2], 'wb').write(open(sys.argv[1], 'rb').read()[:999])" %t.bundle %t.cut
// RUN: not %hlograph run %t.cut --inputs %t.npz 2>&1 | filecheck %s --check-prefix=CUT

// CHECK: n=3 on cpu: {{.*}} to make
// CHECK: n=5 on cpu: {{.*}} to make
// CHECK: 2 executables

// DONE: {{^}}doubled  float64  (3){{$}}
// LOADED-NEXT: loaded {{.*}}
// COMPILED-NEXT: compiled {{.*}}

// INSPECT: kind bundle
// INSPECT: n=3 cpu NumPy jaxlib

// UNKNOWN: hlograph: error: sizes: the program has no size 'm'; its sizes: n
// MALFORMED: hlograph: error: {{.*}}n:3: write {{.*}} what sizes are, as in 'n=100,m=3'
// CUT: hlograph: error: {{.*}} is not a safetensors file: {{.*}} it is truncated
// CUT-NOT: Traceback
func.func @main(%arg0: tensor<?xf64> {hlograph.name = "x", hlograph.dims = ["n"]})
    -> (tensor<?xf64> {hlograph.name = "doubled", hlograph.dims = ["n"]}) {
  %0 = stablehlo.add %arg0, %arg0 : tensor<?xf64>
  return %0 : tensor<?xf64>
}
