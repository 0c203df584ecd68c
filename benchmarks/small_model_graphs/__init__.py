"""Ten small models: log-density and gradient, as PyTensor graphs and as JAX functions of the same formula.

The graphs are written as PyMC writes them: data are constants of the graph, free parameters are on the real line (with
the terms of the change of variables), every parameter is an argument of its own, and what PyMC checks of a
distribution's parameters is checked in the value. The JAX functions are what one writes by hand.
"""

from __future__ import annotations

from .gaussian_process import GAUSSIAN_PROCESS
from .hierarchical import EIGHT_SCHOOLS, IRT, RADON
from .mixture import MIXTURE
from .model import SmallModel
from .regressions import LOGISTIC, NETWORK, POISSON
from .series import STATE_SPACE, STOCHASTIC_VOLATILITY

SMALL_MODELS = {
    model.name: model
    for model in (
        EIGHT_SCHOOLS,
        RADON,
        LOGISTIC,
        POISSON,
        IRT,
        STOCHASTIC_VOLATILITY,
        MIXTURE,
        STATE_SPACE,
        NETWORK,
        GAUSSIAN_PROCESS,
    )
}

__all__ = ["SMALL_MODELS", "SmallModel"]
