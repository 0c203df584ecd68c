"""1,000 calls with 1,000 lengths, value and gradient: one compile per bucket, beside `jax.jit`'s one per length.

Every call counts from its arguments to its results, compiles included. `jax.jit` is given every tenth of the same
lengths and its total is ten times as much: all of them would take it minutes, each length costs it about the same. By
hand: `jax.jit` of a function with a mask, of arrays that NumPy pads to the next power of two.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from harness import Report, Target, check_equal, show
from models import logistic_data, logistic_graph
from ragged import MODELS

TITLE = "1,000 lengths in 1..10,000, one call each (ratio to jax.jit)"
LONGEST = 10_000


def run(quick: bool, progress: Callable[[str], None]) -> Report:
    """The logistic likelihood as a PyTensor graph and in JAX, and the RNN in JAX."""
    import jax
    import jax.numpy as jnp

    import hlograph

    count, every = (60, 10) if quick else (1_000, 10)
    lengths = random.Random(0).sample(range(1, LONGEST + 1), count)
    columns = ("hlograph, total", "compiles", "by hand, total", "compiles", "jax.jit, total", "compiles")
    report = Report(TITLE, ("model", *columns, "jax.jit / hlograph", "hlograph / by hand"))
    logistic, rnn = MODELS["logistic8"], MODELS["rnn"]

    def value(X: Any, y: Any, weights: Any, n: Any = None) -> Any:
        predictor = X @ weights
        each = y * predictor - jax.nn.softplus(predictor)
        return jnp.sum(_live(each, n)) - 0.5 * jnp.sum(weights**2)

    def masked_logistic(w: Any, X: Any, y: Any, n: Any) -> Any:
        predictor = X @ w
        return jnp.sum(_live(y * predictor - jnp.logaddexp(0.0, predictor), n))

    def masked_rnn(W: Any, U: Any, v: Any, x: Any, y: Any, n: Any) -> Any:
        def step(state: Any, pair: Any) -> Any:
            state = jnp.tanh(W @ state + U @ pair[0])
            return state, (v @ state - pair[1]) ** 2

        return jnp.sum(_live(jax.lax.scan(step, jnp.zeros(W.shape[0]), (x, y))[1], n))

    data = logistic_data(LONGEST)
    cases: list[tuple[str, Any, Any, Any, Callable[[int], list[Any]]]] = [
        (
            "logistic as a PyTensor graph, hlograph.function",
            hlograph.function(*logistic_graph()),
            jax.jit(jax.value_and_grad(value, argnums=2)),
            jax.jit(jax.value_and_grad(value, argnums=2)),
            lambda n: [data[0][:n], data[1][:n], data[2]],
        )
    ]
    jit = 'hlograph.jit, policy="padded"'
    masked = ((logistic, f"logistic in JAX, {jit}", masked_logistic), (rnn, f"RNN in JAX, {jit}", masked_rnn))
    for model, name, by_hand in masked:
        whole = model.make(LONGEST)
        parameters = list(model.parameters.values())
        function = model.function()
        cases.append(
            (
                name,
                hlograph.jit(function, dims=model.data, policy="padded"),
                jax.jit(function),
                jax.jit(jax.value_and_grad(by_hand, argnums=tuple(range(len(parameters))))),
                lambda n, parameters=parameters, whole=whole: [*parameters, *[x[:n] for x in whole]],
            )
        )
    for name, ours, theirs, by_hand, arguments in cases:
        taken = {"ours": 0.0, "theirs": 0.0, "by hand": 0.0}
        for number, length in enumerate(lengths):
            if number % 20 == 0:
                progress(f"{name}: length {number + 1:,} of {count:,}")
            given = arguments(length)
            start = time.perf_counter()
            found = jax.block_until_ready(ours(*given))
            taken["ours"] += time.perf_counter() - start
            start = time.perf_counter()
            masked_ = jax.block_until_ready(by_hand(*_padded(given, length)))
            taken["by hand"] += time.perf_counter() - start
            check_equal({"by hand": jax.tree.leaves(masked_), "hlograph": jax.tree.leaves(found)}, rtol=1e-7)
            if number % every == 0:
                start = time.perf_counter()
                expected = jax.block_until_ready(theirs(*given))
                taken["theirs"] += time.perf_counter() - start
                check_equal({"jax.jit": jax.tree.leaves(expected), "hlograph": jax.tree.leaves(found)}, rtol=1e-7)
        theirs_total = taken["theirs"] * every
        ratio, compiles = theirs_total / taken["ours"], ours.stats.compiles
        to_hand, hands = taken["ours"] / taken["by hand"], by_hand._cache_size()
        cells = (show(taken["ours"], "s"), str(compiles), show(taken["by hand"], "s"), str(hands))
        ratios = (show(theirs_total, "s"), str(count), f"{ratio:.1f}", f"{to_hand:.2f}")
        report.rows.append((name, *cells, *ratios))
        report.data.append(
            {"case": name, "hlograph": taken["ours"], "jax.jit": theirs_total, "compiles": compiles}
            | {"by hand": taken["by hand"], "compiles by hand": hands}
        )
        report.targets.append(Target(f"{name}: compiles", compiles, 10))
        report.targets.append(Target(f"{name}: total time of jax.jit / hlograph", ratio, 60, at_least=True))
        report.targets.append(Target(f"{name}: total time beside a version by hand", to_hand, 1))
    return report


def _live(x: Any, n: Any) -> Any:
    """0 in place of what is behind the first `n`."""
    import jax.numpy as jnp

    return x if n is None else jnp.where(jnp.arange(x.shape[0]) < n, x, 0.0)


def _padded(arguments: list[Any], length: int) -> list[Any]:
    """Arrays of this length with zeros up to the next power of two, and the length."""
    bound = 1 << max(0, length - 1).bit_length()
    found = []
    for x in arguments:
        if x.base is not None:  # the data, of all lengths
            room = np.zeros((bound, *x.shape[1:]), x.dtype)
            room[:length] = x
            x = room
        found.append(x)
    return [*found, np.int32(length)]
