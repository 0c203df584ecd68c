// A row for each stage: as it is in the file, with its sizes fixed, after each pass that changed something, and as XLA
// gets it, the plan for CPU included. The second pass changes nothing.
//
// RUN: %hlograph explain %s --stages --size n=4 --pass chlo-legalize-to-stablehlo --pass inline | filecheck %s
// RUN: %hlograph explain %s --stage specialize --size n=4 | filecheck %s --check-prefix=TEXT
// RUN: %hlograph explain %s --stage specialize --size n=4 --diff | filecheck %s --check-prefix=DIFF
// RUN: not %hlograph explain %s --stages 2>&1 | filecheck %s --check-prefix=OPEN
// RUN: not %hlograph explain %s --stage inline --pass inline --size n=4 2>&1 | filecheck %s --check-prefix=UNCHANGED

// CHECK: main (n = 4)
// CHECK-NEXT: stage {{ *}}ops {{ *}}flops {{ *}}bytes {{ *}}temporary {{ *}}compile {{ *}}pass
// CHECK-NEXT: emitted {{ *}}2{{$}}
// CHECK-NEXT: specialize {{ *}}2 {{.*}} ms
// CHECK-NEXT: chlo-legalize-to-stablehlo {{ *}}{{[0-9]+}} {{.*}} ms {{.*}}-1 chlo.square
// CHECK-NEXT: cpu_regions {{.*}}1 rewritten
// CHECK-NEXT: lowered
// CHECK-NEXT: optimized HLO
// CHECK-NEXT: changed nothing: inline

// TEXT: func.func public @main(%x: tensor<4xf64>
// TEXT-NEXT: chlo.square %x : tensor<4xf64> -> tensor<4xf64>
// TEXT-NEXT: stablehlo.negate

// DIFF: --- emitted
// DIFF-NEXT: +++ specialize
// DIFF: -{{.*}}chlo.square %x : tensor<?xf64>
// DIFF: +{{.*}}chlo.square %x : tensor<4xf64>

// OPEN: hlograph: error: passes run where sizes are known; give --size n=...
// UNCHANGED: hlograph: error: no stage 'inline': the pass changed nothing; there are emitted, specialize, cpu_regions, lowered
func.func public @main(%arg0: tensor<?xf64> {hlograph.name = "x", hlograph.dims = ["n"]})
    -> (tensor<?xf64> {hlograph.name = "y", hlograph.dims = ["n"]}) {
  %0 = chlo.square %arg0 : tensor<?xf64> -> tensor<?xf64>
  %1 = stablehlo.negate %0 : tensor<?xf64>
  return %1 : tensor<?xf64>
}
