"""Products with a large sparse matrix, and their gradients: in the mode beside SciPy and PyTensor's Numba mode.

A matrix of 10,000 by 10,000 with 50,000 entries, whose dense form would take 800 MB; and ten times the entries, which
should take ten times as long.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse
from harness import Report, Target, check_equal, compare

TITLE = "Sparse matrices, 10,000 by 10,000 (ratio to SciPy)"
OURS, NUMBA, SCIPY = "STABLEHLO", "NUMBA", "SciPy"
SIZE = 10_000


def run(quick: bool, progress: Callable[[str], None]) -> Report:
    """A constant matrix and an argument times a vector; the gradient of a quadratic form by the vector."""
    report = Report(TITLE, ("function", SCIPY, NUMBA, OURS))
    rounds = 5 if quick else 60
    medians = {}
    for entries in (50_000, 500_000):
        known = scipy.sparse.random(SIZE, SIZE, density=entries / SIZE**2, format="csr", random_state=0)
        vector = np.random.default_rng(0).normal(size=SIZE)
        for case, graph, by_hand in _cases(known):
            name = f"{case}, {entries:,} entries"
            progress(name)
            candidates: dict[str, Callable[[], Any]] = {SCIPY: partial(by_hand, known, vector)}
            for mode in (NUMBA, OURS):
                candidates[mode] = _compiled(graph, known, vector, mode)
            check_equal({mode: [call()] for mode, call in candidates.items()})
            timings = compare(candidates, SCIPY, rounds=rounds)
            report.add(name, timings, "us")
            medians[case, entries] = timings[OURS].seconds
    for case in ("constant @ v", "argument @ v"):
        growth = medians[case, 500_000] / medians[case, 50_000]
        report.targets.append(Target(f"{case}: time for ten times the entries", growth, 15.0))
    return report


def _compiled(graph: Any, known: Any, vector: Any, mode: str) -> Callable[[], Any]:
    import pytensor

    import hlograph.pytensor  # noqa: F401  registers the mode

    inputs, output = graph
    return partial(pytensor.function(inputs, output, mode=mode), *([known, vector] if len(inputs) > 1 else [vector]))


def _cases(known: Any) -> list[tuple[str, Any, Callable[[Any, Any], Any]]]:
    import pytensor
    import pytensor.sparse as ps
    import pytensor.tensor as pt

    v, argument, constant = pt.dvector("v"), ps.csr_matrix("W", dtype="float64"), ps.as_sparse_variable(known)
    gradient = pytensor.grad((ps.dot(constant, v) ** 2).sum(), v)
    return [
        ("constant @ v", ([v], ps.dot(constant, v)), lambda W, v: W @ v),
        ("argument @ v", ([argument, v], ps.dot(argument, v)), lambda W, v: W @ v),
        ("gradient of |W v|^2", ([v], gradient), lambda W, v: 2 * (W.T @ (W @ v))),
    ]
