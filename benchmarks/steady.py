"""Steady calls of the models' gradients: NumPy arrays for everyone, JAX arrays for those that take them as they are.

hlograph twice: given the graph of the gradient, and given the value alone, which JAX is asked to differentiate.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from harness import Report, Target, check_equal, compare
from models import GRAPH_PEERS, JAX_GRAD, MODELS, PEERS, by_jax, by_jax_grad

TITLE = "Steady call, value and gradient (ratio to jax.jit)"


def run(quick: bool, progress: Callable[[str], None]) -> Report:
    """All models, both kinds of arguments."""
    import jax
    import jax.numpy as jnp

    def finished(function: Callable[..., Any], arguments: list[Any]) -> Any:
        return jax.block_until_ready(function(*arguments))

    columns = (PEERS[0], JAX_GRAD, *PEERS[1:])
    report = Report(TITLE, ("model", *columns))
    for model in MODELS.values():
        progress(f"{model.name}: compiling")
        functions = {peer: build(*model.graph()) for peer, build in GRAPH_PEERS.items()}
        functions |= {"jax.jit": by_jax(model), JAX_GRAD: by_jax_grad(model)}
        data = model.data(model.rows)
        check_equal({peer: finished(function, data) for peer, function in functions.items()})
        arrays = [jnp.asarray(x) for x in data]
        for kind, arguments, peers in (("JAX arrays", arrays, columns[:3]), ("NumPy arrays", data, columns)):
            progress(f"{model.name}: {kind}")
            candidates = {peer: partial(finished, functions[peer], arguments) for peer in peers}
            timings = compare(candidates, "jax.jit", rounds=5 if quick else 60)
            report.add(f"{model.name} ({model.sizes}), {kind}", timings, "us")
            report.targets.append(Target(f"{model.name}, {kind}: ratio to jax.jit", timings["hlograph"].ratio, 1.05))
            if kind == "NumPy arrays":
                jax_mode = timings["PyTensor JAX"].seconds
                for peer in columns[:2]:
                    ratio = timings[peer].seconds / jax_mode
                    report.targets.append(Target(f"{model.name}: {peer}, ratio to PyTensor JAX", ratio, 1.0))
    return report
