"""One program, several evaluations: exact, padded with zeros, padded with garbage, interpreted; they must agree.

In: a `?` program, bounds, and for each set of sizes the arguments. Out: a `Report` of what was compared and what was
not, with the reason; or an `AssertionError` that says which two evaluations differ, at which sizes and in which result.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from padded_runs import Padded
from rewritten_runs import as_arrays

from hlograph import Program
from hlograph.errors import PassError, UnsupportedGraphError

Arrays = Sequence[np.ndarray]
Same = Callable[[np.ndarray, np.ndarray, int], bool]
Report = Counter[str]  # how often each evaluation was compared, and what was skipped, by reason


def interpreted(program: Program, arrays: Arrays, report: Report, label: str) -> list[np.ndarray] | None:
    """Results of the reference interpreter for a static program; None where it cannot run it."""
    if re.search(r"stablehlo\.convolution.*[<x]0x", program.text):  # it ends the process (jaxlib 0.10)
        report[f"skipped: {label}: it does not survive a convolution over nothing"] += 1
        return None
    try:
        results = program.interpret(*arrays)
    except UnsupportedGraphError as error:
        report[f"skipped: {label}: {error}"[:100]] += 1
        return None
    return [np.asarray(x) for x in results]


# StableHLO's shape refinement does not reach a fixpoint for each program.
_LIMITS = ("leaves this op dynamic", "incompatible refinement keys", "Failed to converge")


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
    report: Report = Counter()
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
            limit = next((limit for limit in _LIMITS if limit in str(error)), None)
            if limit is None:
                raise
            report[f"skipped: exact: shape refinement: {limit}"] += 1
            continue
        if interpret and (results := interpreted(static, arrays, report, "interpreter")) is not None:
            found["interpreted"] = results
        if number < exact or not found:
            found["exact"] = as_arrays(static.compile(optimize="none", cpu="plain")(*arrays))
        for label, run in padded.items():
            found[label] = run(sizes, arrays)
        if interpret and number == 0 and divides_integers:
            report["skipped: interpreter, padded: it does not survive integers divided by padding"] += 1
        elif interpret and number == 0:
            given = run.given(sizes, arrays)
            if (results := interpreted(run.program, given, report, "interpreter, padded")) is not None:
                found["padded and interpreted"] = run.live(sizes, results)
        (first, expected), *others = found.items()
        for label, results in others:
            for place, (a, b) in enumerate(zip(results, expected, strict=True)):
                alike = (a.dtype, a.shape) == (b.dtype, b.shape) and agree(b, a, place)
                assert alike, f"result {place} differs at {dict(sizes)}\n{label}: {a!r}\n{first}: {b!r}"
        report.update(found.keys())
    return report
