"""One program, several evaluations: exact, padded with zeros, padded with garbage, interpreted; they must agree.

In: a `?` program, bounds, and for each set of sizes the arguments. Out: a `Report` of what was compared and what was
not, with the reason; or an `AssertionError` that says which two evaluations differ, at which sizes and in which result.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from padded_runs import Padded
from rewritten_runs import as_arrays

from hlograph import Program
from hlograph.errors import PassError, UnsupportedGraphError

Arrays = Sequence[np.ndarray]
Same = Callable[[np.ndarray, np.ndarray, int], bool]


@dataclass
class Report:
    """What was compared, by evaluation, and what was skipped, by reason."""

    compared: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)

    def add(self, other: Report) -> None:
        """Takes in another report."""
        self.compared += other.compared
        self.skipped += other.skipped


def interpreted(program: Program, arrays: Arrays, report: Report, label: str) -> list[np.ndarray] | None:
    """Results of the reference interpreter for a static program; None where it cannot run it."""
    if re.search(r"stablehlo\.convolution.*[<x]0x", program.text):  # it ends the process (jaxlib 0.10)
        report.skipped[f"{label}: it does not survive a convolution over nothing"] += 1
        return None
    try:
        results = program.interpret(*arrays)
    except UnsupportedGraphError as error:
        report.skipped[f"{label}: {error}"[:90]] += 1
        return None
    return [np.asarray(x) for x in results]


# StableHLO's shape refinement does not reach a fixpoint for each program.
_LIMITS = ("leaves this op dynamic", "incompatible refinement keys", "Failed to converge")


def _known_limit(error: PassError) -> str:
    """Which limit of shape refinement it is; other errors are raised."""
    for limit in _LIMITS:
        if limit in str(error):
            return f"shape refinement: {limit}"
    raise error


def check(
    program: Program,
    bounds: Mapping[str, int],
    calls: Sequence[tuple[Mapping[str, int], Arrays]],
    same: Same | None = None,
    *,
    exact: int = 2,
    interpret: bool = True,
) -> Report:
    """Runs a program in all ways and compares.

    Args:
        program: the `?` program.
        bounds: root name to its greatest size.
        calls: sizes and arguments; the padded programs are compiled once for all of them.
        same: whether two values of result number i agree; by default bit for bit, but for signs of zeros and NaN.
        exact: for how many of the calls the exact program is compiled; the others know the interpreter's results.
        interpret: also run the interpreter.

    Raises:
        AssertionError: two evaluations differ.
        PaddingError: the program cannot be padded.
    """
    report = Report()
    padded = {
        f"padded with {what}": Padded(program, bounds, poison=what == "garbage", optimize="none", cpu="plain")
        for what in ("zeros", "garbage")
    }
    # By the padding's zeros, which the interpreter does not survive.
    divides_integers = re.search(r"stablehlo\.(divide|remainder) .*: tensor<\S*xu?i\d+>", program.text)
    agree = same or (lambda a, b, place: np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"))
    for number, (sizes, arrays) in enumerate(calls):
        found: dict[str, Arrays] = {}
        try:
            static = program.specialize(sizes)
        except PassError as error:
            report.skipped[f"exact: {_known_limit(error)}"] += 1
            continue
        if interpret and (results := interpreted(static, arrays, report, "interpreter")) is not None:
            found["interpreted"] = results
        if number < exact or not found:
            found["exact"] = as_arrays(static.compile(optimize="none", cpu="plain")(*arrays))
        for label, run in padded.items():
            found[label] = run(sizes, arrays)
        if interpret and number == 0 and divides_integers:
            report.skipped["interpreter, padded: it does not survive integers divided by padding"] += 1
        elif interpret and number == 0:
            given = run.given(sizes, arrays)
            if (results := interpreted(run.program, given, report, "interpreter, padded")) is not None:
                found["padded and interpreted"] = run.live(sizes, results)
        compare(found, agree, sizes)
        report.compared.update(found.keys())
    return report


def compare(found: Mapping[str, Arrays], same: Same, sizes: Mapping[str, int]) -> None:
    """All evaluations against each other, result by result."""
    labels = list(found)
    for place, column in enumerate(zip(*found.values(), strict=True)):
        groups: list[tuple[np.ndarray, list[str]]] = []
        for label, array in zip(labels, column, strict=True):
            for first, members in groups:
                alike = first.dtype == array.dtype and first.shape == array.shape
                if alike and same(first, array, place):
                    members.append(label)
                    break
            else:
                groups.append((array, [label]))
        if len(groups) > 1:
            lines = [f"{', '.join(members)}: {array.dtype}{array.shape}\n{array!r}" for array, members in groups]
            raise AssertionError("\n".join([f"result {place} differs at {dict(sizes)}", *lines]))
