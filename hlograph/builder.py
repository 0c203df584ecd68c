"""StableHLO ops as functions on `Tensor` handles, for lowering rules of your own (`lowers`)."""

from .codegen import dims as dims
from .codegen.builder import *  # noqa: F403
from .codegen.emit import Context as Context
from .dialects.registry import lowers as lowers
from .dialects.tensor.jax_ops import lowers_with_jax as lowers_with_jax
