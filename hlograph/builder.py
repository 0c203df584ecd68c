"""StableHLO ops as functions on `Tensor` handles, for lowering rules of your own; see `hlograph.lowers`."""

from .codegen.builder import *  # noqa: F403
