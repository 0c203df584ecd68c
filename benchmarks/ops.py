"""One graph for each op, by family: hlograph's mode beside PyTensor's JAX mode, NumPy arrays in, float64, fixed shapes.

Calls, the time from the graph to the first result, and the number of ops in the module (StableHLO's and calls of
libraries; JAX's is what its own lowering gives). Graphs that the JAX mode refuses have no ratio; their number is in
the table. Arguments have 10,000 elements, matrices 100 x 100. Each row is a geometric mean; the worst op of a family is
named.
"""

from __future__ import annotations

import math
import re
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from harness import Report, Target, compare, settle

sys.path.append(str(Path(__file__).parent.parent / "tests"))

TITLE = "Ops by family (ratio to PyTensor's JAX mode)"
OURS, THEIRS = "STABLEHLO", "JAX"
# LAPACK's part is the same on both sides.
LIMITS = {"Linear algebra": 1.02}
OP = re.compile(r"\b(?:stablehlo|chlo|mhlo)\.[a-z_]+|\bcustom_call\b")
NOT_COUNTED = ("stablehlo.return", "stablehlo.constant")


@dataclass(frozen=True)
class Ratios:
    """Of one op: ours to theirs."""

    name: str
    call: float
    first: float
    ops: tuple[int, int]


def run(quick: bool, progress: Callable[[str], None]) -> Report:
    """All families; `--quick` one of five ops."""
    import hlograph.pytensor  # noqa: F401  registers the mode

    report = Report(
        TITLE, ("family", "ops", "refused by JAX", "calls", "slowest", "first result", "latest", "ops", "most")
    )
    for family, cases, size in _families():
        chosen = dict(list(cases.items())[::5]) if quick else cases
        found, refused = [], []
        for name, case in chosen.items():
            progress(f"{family}: {name}")
            ratios = _measure(name, case, size, 3 if quick else 7)
            if isinstance(ratios, str):
                refused.append(name)
            elif ratios is not None:
                found.append(ratios)
        if not found:
            continue
        calls, firsts = _mean(r.call for r in found), _mean(r.first for r in found)
        counts = _mean((r.ops[0] + 1) / (r.ops[1] + 1) for r in found)
        slow, late = max(found, key=lambda r: r.call), max(found, key=lambda r: r.first)
        most = max(found, key=lambda r: r.ops[0] / max(r.ops[1], 1))
        report.rows.append(
            (
                family,
                str(len(found)),
                str(len(refused)),
                f"{calls:.2f}",
                f"{slow.name} {slow.call:.2f}",
                f"{firsts:.2f}",
                f"{late.name} {late.first:.2f}",
                f"{counts:.2f}",
                f"{most.name} {most.ops[0]}/{most.ops[1]}",
            )
        )
        report.data.append(
            {
                "family": family,
                "refused": refused,
                "ops": {r.name: {"call": r.call, "first": r.first, "ops": r.ops} for r in found},
            }
        )
        report.targets += [
            Target(f"{family}: calls", calls, LIMITS.get(family, 1.0)),
            Target(f"{family}: first results", firsts, 1.0),
            Target(f"{family}: ops in the module", counts, 1.0),
        ]
    return report


def _families() -> Iterator[tuple[str, Mapping[str, Any], int]]:
    import op_cases

    special = [name for name, case in op_cases.ELEMENTWISE.items() if _is_special(case)]
    plain = {name: case for name, case in op_cases.ELEMENTWISE.items() if name not in special}
    yield "Elementwise", plain, 10_000
    yield "Special functions", {name: op_cases.ELEMENTWISE[name] for name in special}, 10_000
    yield "Linear algebra", op_cases.LINALG, 100
    yield "Tensors", op_cases.TENSORS, 100
    yield "Conditions, loops, inner graphs", op_cases.CONTROL, 1000
    yield "Signals", op_cases.SIGNALS, 100
    yield "Sparse matrices", op_cases.SPARSE, 100
    yield "Random variables", op_cases.DRAWS, 10_000


def _is_special(case: Any) -> bool:
    op = getattr(getattr(case.graph, "scalar_op", None), "__class__", type(None))
    return op.__module__.startswith("pytensor.scalar.math") or case.expected is not None


def _mean(values: Any) -> float:
    return math.exp(statistics.fmean(math.log(value) for value in values))


def _measure(name: str, case: Any, size: int, rounds: int) -> Ratios | str | None:
    """Ratios of an op; why the JAX mode has none; None where there is nothing to time."""
    if name in ("MvNormalRV", "MultinomialRV", "ChoiceWithoutReplacement", "KroneckerProduct", "RavelMultiIndex"):
        size = min(size, 30)
    built = {}
    first = {OURS: math.inf, THEIRS: math.inf}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2):  # the faster one: a first one of all may import
            for mode in (OURS, THEIRS):
                start = time.perf_counter()
                try:
                    function, values = _function(case, size, mode)
                    np.asarray(_one(function(*values)))
                except Exception as error:  # whatever a backend refuses with
                    if mode == OURS:
                        return None
                    return f"{type(error).__name__}: {error}"
                first[mode] = min(first[mode], time.perf_counter() - start)
                built[mode] = (function, values)
        candidates = {mode: _call(*pair) for mode, pair in built.items()}
        settle(built[OURS][0].vm.function, candidates[OURS])
        timings = compare(candidates, THEIRS, rounds=rounds)
    return Ratios(
        name, timings[OURS].ratio, first[OURS] / first[THEIRS], (_ours(*built[OURS]), _theirs(*built[THEIRS]))
    )


def _function(case: Any, size: int, mode: str) -> tuple[Any, list[Any]]:
    import pytensor

    inputs, outputs, values = case.build(size, static=True)
    return pytensor.function(inputs, outputs, mode=mode, on_unused_input="ignore"), values


def _one(result: Any) -> Any:
    return result[0] if isinstance(result, list | tuple) else result


def _call(function: Any, values: list[Any]) -> Callable[[], Any]:
    import jax

    return lambda: jax.block_until_ready(function(*values))


def _ours(function: Any, values: list[Any]) -> int:
    inner = function.vm.function
    key = [np.zeros(2, np.uint32)] * (len(inner.program.signature.arguments) - len(values))
    return _count(inner.lower(*values, *key).as_text())


def _theirs(function: Any, values: list[Any]) -> int:
    stored = [cell.storage[0] for cell in function.input_storage]
    given = [
        value if value is not None else old for value, old in zip(values + stored[len(values) :], stored, strict=True)
    ]
    return _count(function.vm.jit_fn.lower(*given).as_text())


def _count(text: str) -> int:
    return sum(op not in NOT_COUNTED for op in OP.findall(text))
