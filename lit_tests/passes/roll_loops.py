"""A block that is repeated becomes a loop; what does not pass from one repetition to the next is done for all at once."""

# RUN: %python %s | %hlograph opt - --split-input-file --pass roll_loops | filecheck %s

STEPS = 40

# CHECK-LABEL: module @static
# CHECK: func.func {{.*}}@main(%arg0: tensor<f32>, [[T:%[^:]+]]: tensor<40xf32>)
# CHECK: stablehlo.tanh {{.*}} : tensor<40
# CHECK: stablehlo.while(
# CHECK: do {
# CHECK: stablehlo.multiply {{.*}} : tensor<f32>
# CHECK: stablehlo.sine {{.*}} : tensor<f32>
# CHECK: stablehlo.return
# CHECK-NOT: stablehlo.sine
print("module @static { func.func @main(%x0: tensor<f32>, %t: tensor<40xf32>) -> tensor<f32> {")
for step in range(STEPS):
    print(f"%s{step} = stablehlo.slice %t [{step}:{step + 1}] : (tensor<40xf32>) -> tensor<1xf32>")
    print(f"%p{step} = stablehlo.reshape %s{step} : (tensor<1xf32>) -> tensor<f32>")
    print(f"%q{step} = stablehlo.tanh %p{step} : tensor<f32>")
    print(f"%e{step} = stablehlo.multiply %x{step}, %q{step} : tensor<f32>")
    print(f"%a{step} = stablehlo.sine %e{step} : tensor<f32>")
    print(f"%b{step} = stablehlo.add %a{step}, %x{step} : tensor<f32>")
    print(f"%c{step} = stablehlo.cosine %b{step} : tensor<f32>")
    print(f"%d{step} = stablehlo.subtract %c{step}, %a{step} : tensor<f32>")
    print(f"%f{step} = stablehlo.logistic %d{step} : tensor<f32>")
    print(f"%g{step} = stablehlo.multiply %f{step}, %b{step} : tensor<f32>")
    print(f"%x{step + 1} = stablehlo.exponential %g{step} : tensor<f32>")
print(f"return %x{STEPS} : tensor<f32> }} }}")

print("// -----")

# Where sizes are not known the module stays as it is.
# CHECK-LABEL: module @dynamic
# CHECK-NOT: stablehlo.while
# CHECK-COUNT-40: stablehlo.sine {{.*}} : tensor<?xf32>
print("module @dynamic { func.func @main(%x0: tensor<?xf32>, %w: tensor<?xf32>) -> tensor<?xf32> {")
for step in range(STEPS):
    print(f"%e{step} = stablehlo.multiply %x{step}, %w : tensor<?xf32>")
    print(f"%f{step} = stablehlo.sine %e{step} : tensor<?xf32>")
    print(f"%x{step + 1} = stablehlo.tanh %f{step} : tensor<?xf32>")
print(f"return %x{STEPS} : tensor<?xf32> }} }}")
