"""Ops that are Python: calls of them out of one program, beside Python between two programs.

The function gives back what it gets, so that what is measured is the crossing. `between` is what could be done of a
graph that is cut in two: it is one dispatch more, where the op is in the middle, and one less where it is at an end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from harness import Report, compare, show

TITLE = "An op that is Python, in the middle, at the start, at the end; three in a row (ratio to no op)"
SIZES = {"1 value": 1, "1 MB": 131_072, "8 MB": 1_048_576}


def run(quick: bool, progress: Callable[[str], None]) -> Report:
    """Calls with JAX arrays and with NumPy arrays as results."""
    cases = ("no op", "middle", "cut in the middle", "start", "cut at the start", "end", "cut at the end", "three")
    report = Report(TITLE, ("results, size", *cases))
    for outputs in ("jax", "numpy"):
        made = _functions(outputs)
        for what, size in SIZES.items():
            progress(f"{outputs}, {what}")
            values = np.full(size, 0.5)
            calls = {name: (lambda call=call, values=values: call(values)) for name, call in made.items()}
            timed = compare(calls, "no op", rounds=5 if quick else 100 if size == 1 else 20)
            cells = [f"{show(timed[name].seconds, 'us')} ({timed[name].ratio:.2f})" for name in cases]
            report.rows.append((f"{outputs}, {what}", *cells))
            report.add(f"{outputs}, {what}", timed, "us")
    return report


def _functions(outputs: Any) -> dict[str, Callable[..., Any]]:
    import jax
    import pytensor.tensor as pt
    from pytensor.compile.ops import wrap_py

    import hlograph

    x = pt.dvector("x")
    shapes = {"infer_shape": lambda node, given: [given[0]]}
    op = wrap_py(itypes=[pt.dvector], otypes=[pt.dvector], **shapes)(_python)
    graphs = {
        "no op": pt.exp(x * 2.0),
        "middle": pt.exp(op(x * 2.0)),
        "start": pt.exp(op(x)),
        "end": op(x * 2.0),
        "three": pt.exp(op(op(op(x * 2.0)))),
        "first": x * 2.0,
        "second": pt.exp(x),
    }
    made = {name: hlograph.function([x], graph, outputs=outputs, policy="exact") for name, graph in graphs.items()}
    first, second = made.pop("first"), made.pop("second")
    found: dict[str, Callable[..., Any]] = {
        **made,
        "cut in the middle": lambda values: second(_python(np.array(first(values)))),
        "cut at the start": lambda values: second(_python(values.copy())),
        "cut at the end": lambda values: _python(np.array(first(values))),
    }
    return {name: (lambda values, call=call: jax.block_until_ready(call(values))) for name, call in found.items()}


def _python(values: Any) -> Any:
    return values
