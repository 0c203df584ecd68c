"""What runs programs."""

from ..codegen import ir as ir  # it says what is missing to use JAX
