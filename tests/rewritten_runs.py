"""What tests of rewrites share: a program before and after, evaluated in ways that know nothing of each other."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hlograph import Program
from hlograph.codegen.ir.bindings import run_pipeline
from hlograph.codegen.ir.functions import inline_calls
from hlograph.codegen.ir.modules import verify
from hlograph.codegen.passes import recompute_saved, work_into_loops
from hlograph.passes import Report


def tensor(shape: Sequence[int], kind: str = "f64") -> str:
    """A type."""
    return f"tensor<{'x'.join([*map(str, shape), kind])}>"


def cholesky(shape: Sequence[int], lower: bool, kind: str = "f64") -> str:
    """A module that factors its argument."""
    t = tensor(shape, kind)
    return f"""func.func @main(%a: {t}) -> {t} {{
  %0 = stablehlo.cholesky %a, lower = {str(lower).lower()} : {t}
  return %0 : {t}
}}"""


def solve(
    a: Sequence[int],
    b: Sequence[int],
    *,
    left: bool = True,
    lower: bool = True,
    unit: bool = False,
    transpose: str = "NO_TRANSPOSE",
    kind: str = "f64",
) -> str:
    """A module that solves a triangular system."""
    s, t = tensor(a, kind), tensor(b, kind)
    return f"""func.func @main(%a: {s}, %b: {t}) -> {t} {{
  %0 = "stablehlo.triangular_solve"(%a, %b) <{{left_side = {str(left).lower()}, lower = {str(lower).lower()},
    unit_diagonal = {str(unit).lower()}, transpose_a = #stablehlo<transpose {transpose}>}}> : ({s}, {t}) -> {t}
  return %0 : {t}
}}"""


def stacks(program: Program) -> int:
    """How many arrays the program's loops write step by step."""
    counts = program.op_counts()
    return counts.get("stablehlo.dynamic_update_slice", 0) + counts.get("stablehlo.scatter", 0)


@dataclass(frozen=True)
class Rewritten:
    """A program after passes.

    Attributes:
        program: what came out.
        applied: how often each rewrite was applied.
        text: what the passes said of each op.
        changed: whether the module's text is another.
    """

    program: Program
    applied: dict[str, int]
    text: str
    changed: bool


def rewritten(text: str, passes: Sequence[str] = ("simplify",)) -> Rewritten:
    """A module's text, after passes; without a rewrite it is as it was."""
    program = Program.parse(text)
    reports: list[Report] = []
    after = program.optimize(passes, reports=reports)
    applied: dict[str, int] = {}
    for report in reports:
        for name, count in report.rewritten.items():
            applied[name] = applied.get(name, 0) + count
    return Rewritten(after, applied, "".join(report.text for report in reports), after.text != program.text)


def check(
    text: str,
    arrays: Sequence[np.ndarray],
    passes: Sequence[str] = ("simplify",),
    *,
    exact: bool = True,
    rtol: float = 1e-6,
    run: bool = True,
) -> Rewritten:
    """Compares a module with what passes make of it: in the interpreter, and as XLA runs both.

    Args:
        text: the module.
        arrays: its arguments.
        passes: the passes.
        exact: whether the interpreter must give the same bits, signs of zeros too.
        rtol: relative to each result's greatest finite magnitude, for XLA, and for the interpreter if not exact.
        run: whether XLA runs them too.
    """
    before, after = Program.parse(text), rewritten(text, passes)
    expected = before.interpret(*arrays)
    found = after.program.interpret(*arrays)
    for one, other in zip(expected, found, strict=True):
        if exact:
            same_bits(other, one)
        else:
            close(other, one, rtol)
    if run:
        for one, other in zip(
            as_arrays(before.compile(optimize="none")(*arrays)),
            as_arrays(after.program.compile(optimize="none")(*arrays)),
            strict=True,
        ):
            close(other, one, rtol)
    return after


def as_arrays(results: Any) -> list[np.ndarray]:
    """A call's results; a single one is no tuple."""
    return [np.asarray(each) for each in (results if isinstance(results, tuple | list) else [results])]


def same_bits(found: np.ndarray, expected: np.ndarray) -> None:
    """Equal, NaN where NaN is, and zeros of the same sign."""
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found, expected)
    if expected.dtype.kind == "f":
        zeros = expected == 0
        np.testing.assert_array_equal(np.signbit(found[zeros]), np.signbit(expected[zeros]))


# Relative, and absolute against the largest finite magnitude of the expected value.
TOLERANCE = {"float16": 2e-3, "bfloat16": 6e-3, "float32": 2e-6, "float64": 1e-12, "complex64": 2e-6}
TOLERANCE["complex128"] = 1e-12


def assert_same(
    actual: Any, expected: np.ndarray, *, rtol: float | None = None, atol: float | None = None, label: str = ""
) -> None:
    """Same dtype, same shape, and values within the dtype's tolerance; NaN equals NaN, integers are exact.

    The absolute tolerance is scaled by the largest value unless given: results of elementwise ops take `atol=0`.
    """
    found = np.asarray(actual)
    assert found.dtype == expected.dtype, f"{label}: dtype {found.dtype}, expected {expected.dtype}"
    assert found.shape == expected.shape, f"{label}: shape {found.shape}, expected {expected.shape}"
    if expected.dtype.name not in TOLERANCE:
        np.testing.assert_array_equal(found, expected, err_msg=label)
        return
    rtol = TOLERANCE[expected.dtype.name] if rtol is None else rtol
    if expected.dtype.name == "bfloat16":  # which NumPy has no functions for
        found, expected = found.astype(np.float32), expected.astype(np.float32)
    atol = rtol * float(np.max(np.abs(expected[np.isfinite(expected)]), initial=0.0)) if atol is None else atol
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol, err_msg=label, equal_nan=True)


def close(found: np.ndarray, expected: np.ndarray, rtol: float) -> None:
    """Equal up to rounding, relative to the greatest finite magnitude; integers exactly."""
    assert_same(found, expected, rtol=rtol)


def with_less_saved(program: Program) -> tuple[Program, Program, Report]:
    """What loops save for later loops, without the rest of `sink_reductions`.

    Returns:
        The program with its calls inlined, the same after `work_into_loops` and `recompute_saved`, and what these say.
    """
    module = program.copy_module()
    inline_calls(module, fixed=True, implementing=True)
    run_pipeline(module, "canonicalize,cse,symbol-dce")
    before = Program.parse(str(module))
    report = Report("recompute_saved", True)
    work_into_loops.run(module, report)
    recompute_saved.run(module, report, reassociate=False)
    verify(module, "the result")
    run_pipeline(module, "cse")
    return before, Program.parse(str(module)), report


def within_roundings(found: np.ndarray, expected: np.ndarray) -> bool:
    """Whether all is equal within 64 roundings of the largest finite magnitude, or of 1."""
    largest = float(np.max(np.abs(np.where(np.isfinite(expected), expected, 0)), initial=1.0))
    return np.allclose(found, expected, rtol=0, atol=64 * np.finfo(expected.dtype).eps * largest, equal_nan=True)
