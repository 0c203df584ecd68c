"""One program, several evaluations: exact, padded with zeros, padded with garbage, interpreted; they must agree.

In: a `?` program, bounds, and for each set of sizes the arguments. Out: a `Report` of what was compared and what was
not, with the reason; or an `AssertionError` that says which two evaluations differ, at which sizes and in which result.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from hlograph import Program
from hlograph.builder import dims as dimension
from hlograph.codegen.ir.values import numpy_dtype, walk
from hlograph.errors import PassError, UnsupportedGraphError
from hlograph.passes import ir
from hlograph.runtime.transforms.callee import StaticModule
from hlograph.runtime.transforms.primitive import call

Arrays = Sequence[np.ndarray]
Same = Callable[[np.ndarray, np.ndarray, int], bool]

# Without optimizing what XLA hands to LLVM, compiling takes three quarters of the time.
FAST = {"xla_backend_optimization_level": 0}


@dataclass
class Report:
    """What was compared, by evaluation, and what was skipped, by reason."""

    compared: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)

    def add(self, other: Report) -> None:
        """Takes in another report."""
        self.compared += other.compared
        self.skipped += other.skipped


def compiled(program: Program, *, fast: bool) -> Callable[[Arrays], list[np.ndarray]]:
    """A static program, compiled once."""
    module = StaticModule(program)
    arguments, results = program.signature.arguments, program.signature.results
    with jax.enable_x64(True):
        shapes = [jax.ShapeDtypeStruct(a.dims, a.dtype) for a in arguments]
        lowered = jax.jit(lambda *xs: call(module, xs), keep_unused=True).lower(*shapes)
        executable = lowered.compile(compiler_options=FAST if fast else None)

    def run(arrays: Arrays) -> list[np.ndarray]:
        with jax.enable_x64(True):
            return [np.asarray(x) for x in executable(*arrays)[: len(results)]]

    return run


def interpreted(program: Program, arrays: Arrays, report: Report, label: str) -> list[np.ndarray] | None:
    """Results of the reference interpreter for a static program; None where it cannot run it."""
    if _has_empty_convolution(program):
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


def _has_empty_convolution(program: Program) -> bool:
    """Whether a convolution has an operand without elements: it ends the interpreter's process (jaxlib 0.10)."""
    module = program.copy_module()  # which must outlive the handles of its operations
    return any(
        operation.name == "stablehlo.convolution"
        and any(0 in ir.RankedTensorType(x.type).shape for x in operation.operands)
        for operation in walk(module)
    )


def _divides_integers(program: Program) -> bool:
    """Whether it divides tensors of integers: by the padding's zeros, which the interpreter does not survive."""
    module = program.copy_module()
    for operation in walk(module):
        if operation.name in ("stablehlo.divide", "stablehlo.remainder"):
            type_ = ir.RankedTensorType(operation.results[0].type)
            if type_.rank and numpy_dtype(type_.element_type).kind in "iu":
                return True
    return False


def padded_arguments(program: Program, arrays: Arrays, sizes: Mapping[str, int], poison: bool) -> list[np.ndarray]:
    """Arguments of a padded program: arrays in the corner of what holds zeros or garbage, and the live sizes."""
    found = []
    for place, argument in enumerate(program.signature.arguments):
        if argument.size:
            found.append(np.array(sizes[argument.size], argument.dtype))
            continue
        array = arrays[place]
        whole = np.zeros(argument.dims, argument.dtype)
        if poison:
            whole.flat = np.resize(garbage(argument.dtype), whole.size)
        whole[tuple(slice(0, size) for size in array.shape)] = array
        found.append(whole)
    return found


def garbage(dtype: np.dtype[Any]) -> np.ndarray:
    """Values that no op may let through."""
    if dtype.kind == "f":
        return np.array([np.nan, np.inf, 3e30, np.nan, -np.inf], dtype)
    if dtype.kind == "b":
        return np.array([True, False, True])
    info = np.iinfo(dtype)
    return np.array([info.max, info.min, -1, 7, 10**9], dtype)


def live(program: Program, outputs: Arrays, sizes: Mapping[str, int]) -> list[np.ndarray]:
    """The live boxes of a padded program's results."""
    boxes = []
    for result, array in zip(program.signature.results, outputs, strict=True):
        dims = result.live or result.dims
        boxes.append(array[tuple(slice(0, dimension.evaluate(dim, sizes)) for dim in dims)])
    return boxes


def check(
    program: Program,
    bounds: Mapping[str, int],
    calls: Sequence[tuple[Mapping[str, int], Arrays]],
    same: Same | None = None,
    *,
    fast: bool = False,
    exact: int = 2,
    interpret: bool = True,
) -> Report:
    """Runs a program in all ways and compares.

    Args:
        program: the `?` program.
        bounds: root name to its greatest size.
        calls: sizes and arguments; the padded programs are compiled once for all of them.
        same: whether two values of result number i agree; by default bit for bit, but for signs of zeros and NaN.
        fast: compile without XLA's optimizations.
        exact: for how many of the calls the exact program is compiled; the others know the interpreter's results.
        interpret: also run the interpreter.

    Raises:
        AssertionError: two evaluations differ.
        PaddingError: the program cannot be padded.
    """
    report = Report()
    text = ",".join(f"{name}={bound}" for name, bound in bounds.items())
    padded = {
        "zeros": program.pad(bounds),
        "garbage": program.run_passes([f"pad{{{text},poison=true}}"]),
    }
    runs = {label: compiled(static, fast=fast) for label, static in padded.items()}
    agree = same or (lambda a, b, place: np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"))
    for number, (sizes, arrays) in enumerate(calls):
        found: dict[str, list[np.ndarray]] = {}
        try:
            static = program.specialize(sizes)
        except PassError as error:
            report.skipped[f"exact: {_known_limit(error)}"] += 1
            continue
        if interpret:
            results = interpreted(static, arrays, report, "interpreter")
            if results is not None:
                found["interpreted"] = results
        if number < exact or not found:
            found["exact"] = compiled(static, fast=fast)(arrays)
        for label, program_of in padded.items():
            arguments = padded_arguments(program_of, arrays, sizes, poison=label == "garbage")
            found[f"padded with {label}"] = live(program_of, runs[label](arguments), sizes)
            if interpret and number == 0 and label == "garbage":
                if _divides_integers(program):
                    report.skipped["interpreter, padded: it does not survive integers divided by padding"] += 1
                    continue
                results = interpreted(program_of, arguments, report, "interpreter, padded")
                if results is not None:
                    found["padded and interpreted"] = live(program_of, results, sizes)
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


__all__ = ["Report", "check", "compare", "compiled", "garbage", "live", "padded_arguments"]
