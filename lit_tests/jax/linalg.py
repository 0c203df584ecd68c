# RUN: %python %s | filecheck %s
"""What JAX lowers to LAPACK on CPU stays portable: ops of StableHLO, and functions that say what they implement."""

import jax
import jax.numpy as jnp

import hlograph

MATRIX = jax.ShapeDtypeStruct(("n", "n"), "float64")
jax.config.update("jax_enable_x64", True)

# CHECK-LABEL: module @cholesky
# CHECK-NOT: custom_call
# CHECK: stablehlo.cholesky %{{.*}}, lower = true : tensor<?x?xf64>
# CHECK-NOT: custom_call
# CHECK: return
print(hlograph.emit_stablehlo(jnp.linalg.cholesky, MATRIX, name="cholesky"))

# CHECK-LABEL: module @triangular
# CHECK-NOT: custom_call
# CHECK: "stablehlo.triangular_solve"
# CHECK-SAME: left_side = true, lower = true, transpose_a = #stablehlo<transpose TRANSPOSE>, unit_diagonal = false
# CHECK-NOT: custom_call
# CHECK: return
print(
    hlograph.emit_stablehlo(
        lambda a: jax.scipy.linalg.solve_triangular(a, a, lower=True, trans=1), MATRIX, name="triangular"
    )
)

# On the platform they are the library's again.
# CHECK-LABEL: module @cholesky
# CHECK: custom_call @lapack_dpotrf_ffi
static = hlograph.emit_stablehlo(jnp.linalg.cholesky, MATRIX, name="cholesky").specialize({"n": 3})
print(static.run_passes(["device_linalg{platform=cpu}"]))

# CHECK-LABEL: module @eigenvalues
# CHECK-NOT: custom_call
# CHECK: call @eigh_float64
# CHECK: func.func private @eigh_float64
# CHECK-SAME: hlograph.implements = "eigh"
eigenvalues = hlograph.emit_stablehlo(jnp.linalg.eigvalsh, MATRIX, name="eigenvalues")
print(eigenvalues)

# CHECK-LABEL: module @eigenvalues
# CHECK: custom_call @lapack_dsyevd_ffi
print(eigenvalues.specialize({"n": 3}).run_passes(["device_linalg{platform=cpu}"]))
