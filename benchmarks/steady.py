"""Steady calls of the two gradients: NumPy arrays for everyone, JAX arrays for those that take them as they are."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from harness import Report, Target, check_equal, compare
from models import GRAPH_PEERS, MODELS, PEERS, by_jax

TITLE = "Steady call, value and gradient (ratio to jax.jit)"


def run(quick: bool, progress: Callable[[str], None]) -> Report:
    """Both models, both kinds of arguments."""
    import jax
    import jax.numpy as jnp

    def finished(function: Callable[..., Any], arguments: list[Any]) -> Any:
        return jax.block_until_ready(function(*arguments))

    report = Report(TITLE, ("model", *PEERS))
    for model in MODELS.values():
        progress(f"{model.name}: compiling")
        functions = {peer: build(*model.graph()) for peer, build in GRAPH_PEERS.items()} | {"jax.jit": by_jax(model)}
        data = model.data(model.rows)
        check_equal({peer: finished(function, data) for peer, function in functions.items()})
        arrays = [jnp.asarray(x) for x in data]
        for kind, arguments, peers in (("JAX arrays", arrays, PEERS[:2]), ("NumPy arrays", data, PEERS)):
            progress(f"{model.name}: {kind}")
            candidates = {peer: partial(finished, functions[peer], arguments) for peer in peers}
            timings = compare(candidates, "jax.jit", rounds=5 if quick else 60)
            report.add(f"{model.name} ({model.sizes}), {kind}", timings, "us")
            report.targets.append(Target(f"{model.name}, {kind}: ratio to jax.jit", timings["hlograph"].ratio, 1.05))
    return report
