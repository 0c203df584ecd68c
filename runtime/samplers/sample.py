"""`sample(model)`: what `pm.sample` does, by nutpie with functions that hlograph compiled."""

from __future__ import annotations

from typing import Any

import pymc
from pymc.model import modelcontext
from pymc.pytensorf import resolve_backend_compile_kwargs

from ...codegen.errors import OptionError
from ..mode.classes import NAME
from .hooks import installed, is_ours
from .model import check_model

# What nutpie has nothing for: the values that say so little that they may be given.
_REFUSED: dict[str, tuple[Any, str]] = {
    "step": (None, "nutpie is the step"),
    "trace": (None, "nutpie keeps the draws itself: nuts={'zarr_store': ...} writes them to a store"),
    "callback": (None, "nutpie calls nothing for each draw: nuts={'progress_callback': ...} is called now and then"),
    "return_inferencedata": (True, "nutpie gives no MultiTrace"),
    "init": ("auto", "nutpie starts by itself: nuts={'adaptation': ...} says how it adapts"),
    "n_init": (200_000, "nutpie starts by itself"),
    "jitter_max_retries": (10, "nutpie tries as often as it does"),
    "nuts_sampler": ("nutpie", "pm.sample runs other samplers"),
}


def sample(model: Any = None, draws: int = 1000, **options: Any) -> Any:
    """Draws from a model's posterior: `pm.sample`, always by nutpie, with functions that hlograph compiled.

    Args:
        model: the PyMC model; by default that of the `with` block.
        draws, options: as of `pm.sample`. `backend` and `compile_kwargs["mode"]` are "STABLEHLO" or a `hlograph.Mode`;
            the rest of `compile_kwargs` goes to `hlograph.nutpie.compile_pymc_model`, `nuts` to `nutpie.sample`.

    Returns:
        What `pm.sample(nuts_sampler="nutpie")` returns.

    Raises:
        OptionError: an option that nutpie has nothing for, or another backend.
        UnsupportedGraphError: a model that nutpie cannot sample.
    """
    for name, (default, why) in _REFUSED.items():
        given = options.pop(name, default)
        if given is not None and given != default:
            raise OptionError(f"{name}={given!r}: {why}")
    if options.get("initvals") is not None and not isinstance(options["initvals"], dict):
        raise OptionError("initvals: nutpie takes one dictionary for all chains")
    compile_kwargs = resolve_backend_compile_kwargs(options.pop("backend", None), options.pop("compile_kwargs", None))
    compile_kwargs.setdefault("mode", NAME)
    if not is_ours(compile_kwargs["mode"]):
        raise OptionError(f"the backend must be {NAME!r} or a hlograph.Mode, got {compile_kwargs['mode']}")
    model = modelcontext(model)
    check_model(model)
    with installed():
        return pymc.sample(draws, model=model, nuts_sampler="nutpie", compile_kwargs=compile_kwargs, **options)
