# RUN: %hlograph --help | filecheck %s
# RUN: %hlograph --version | filecheck %s --check-prefix=VERSION
# RUN: not %hlograph frobnicate 2>&1 | filecheck %s --check-prefix=UNKNOWN

# CHECK: Usage: hlograph
# CHECK: Commands:
# CHECK: bundle
# CHECK: emit
# CHECK: explain
# CHECK: opt
# CHECK: run
# VERSION: hlograph {{[0-9.]+}} (jax {{[0-9.]+}}, jaxlib {{[0-9.]+}})
# UNKNOWN: hlograph: error: No such command 'frobnicate'. See 'hlograph --help'.
