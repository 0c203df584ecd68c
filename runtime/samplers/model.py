"""What samplers that take derivatives ask of a PyMC model."""

from __future__ import annotations

from typing import Any

import pymc
from pymc.vartypes import discrete_types

from ...codegen.errors import GraphError, UnsupportedGraphError


def check_model(model: Any) -> None:
    """Refuses what nutpie cannot sample, by name."""
    if not isinstance(model, pymc.Model):
        raise GraphError(f"expected a pymc.Model, got {type(model).__name__}")
    if not model.free_RVs:
        raise UnsupportedGraphError(f"the model {model.name!r} has no free variables: there is nothing to sample")
    discrete = [variable.name for variable in model.free_RVs if variable.dtype in discrete_types]
    if discrete:
        raise UnsupportedGraphError(
            f"the free variables {', '.join(discrete)} are discrete: nutpie takes derivatives; marginalize them, or "
            'sample with pm.sample(backend="STABLEHLO", nuts_sampler="pymc")'
        )
