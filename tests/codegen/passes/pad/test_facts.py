"""What is known of padding is true: every claim of `facts.fold` is compared with XLA, on arguments, to the last bit."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest
from builds import build

from hlograph.builder import Tensor
from hlograph.codegen.passes.pad import facts
from hlograph.codegen.passes.pad.facts import FINITE, UNKNOWN, ZERO, Fact, constant, join

pytestmark = pytest.mark.optimized  # to the last bit of what XLA computes for a user

BF16 = np.dtype(ml_dtypes.bfloat16)
F16, F32, F64 = (np.dtype(f"float{bits}") for bits in (16, 32, 64))
FLOATS = (F16, F32, F64, BF16)
INTEGERS = tuple(np.dtype(name) for name in ("int32", "int64", "uint8"))
BOOL = np.dtype(bool)
SPECIAL = (0.0, -0.0, 1.0, -1.0, 2.0, 0.5, -2.5, 0.1, 3.0, 1e4, np.inf, -np.inf)

BINARY = {f"stablehlo.{name}" for name in ("add", "subtract", "multiply", "divide", "maximum", "minimum")}
BITWISE = {f"stablehlo.{name}" for name in ("and", "or", "xor", "not")}
ELSEWHERE = {
    "stablehlo.clamp",
    "stablehlo.complex",
    "stablehlo.select",
    "stablehlo.convert",
    "stablehlo.real",
    "stablehlo.imag",
    "chlo.conj",
}
OF_FLOATS_ALONE = {"stablehlo.is_finite", "chlo.is_inf"}
NAMES = sorted((facts._EXACT | facts._KNOWN.keys() | facts._FINITE | facts._ZERO | BINARY) - ELSEWHERE)
DIRECTIONS = ("EQ", "NE", "GE", "GT", "LE", "LT")


def values_of(dtype: np.dtype) -> np.ndarray:
    """Values that folds may depend on."""
    if dtype == BOOL:
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return np.array(sorted({0, 1, 2, 3, 7, info.max, info.min, info.min // 2, info.max // 3}), dtype)
    return np.array(SPECIAL, dtype)


def operations(dtype: np.dtype) -> list[tuple[str, str]]:
    """(op, comparison direction) for operands of a dtype."""
    if dtype == BOOL:
        names = sorted(BITWISE | {"stablehlo.maximum", "stablehlo.minimum"})
    elif dtype.kind in "iu":
        plain = BINARY - {"stablehlo.divide"} | BITWISE
        names = sorted(
            plain | ({"stablehlo.abs", "stablehlo.negate", "stablehlo.sign"} if dtype.kind == "i" else set())
        )
    else:
        names = [name for name in NAMES if name not in BITWISE]
    return [*[(name, "") for name in names], *[("stablehlo.compare", direction) for direction in DIRECTIONS]]


def fold(name, direction, known, operand, dtype):
    return facts.fold(name, direction, tuple(known), operand, dtype)


def weaker(fact: Fact) -> list[Fact]:
    """A constant, and what else is true of it."""
    tops = [ZERO] * fact.zero + [FINITE] * fact.finite + [UNKNOWN]
    return [fact, *tops]


def check(claim: facts.Fact, found: np.generic, label: str) -> None:
    """A claim about one value."""
    if claim.value is not None:
        assert claim.value.dtype == found.dtype, label
        assert claim.value.tobytes() == found.tobytes(), f"{label} is {found}, not {claim}"
    elif claim is ZERO:
        assert found == 0, f"{label} is {found}, not zero"
    elif claim is FINITE:
        assert np.isfinite(found), f"{label} is {found}, not finite"


def made(x: Tensor, y: Tensor, name: str, direction: str) -> Tensor:
    """One op on whole vectors."""
    unary = name not in BINARY | BITWISE | {"stablehlo.compare"} or name == "stablehlo.not"
    truth = name in OF_FLOATS_ALONE or name == "stablehlo.compare"
    attributes = (("comparison_direction", f"#stablehlo<comparison_direction {direction}>"),) if direction else ()
    return x.builder.op(name, [x] if unary else [x, y], x.dims, BOOL if truth else x.dtype, attributes)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, BOOL], ids=str)
def test_folds_of_elementwise_ops_are_what_xla_computes(dtype):
    pairs = list(itertools.product(values_of(dtype), repeat=2))
    x, y = (np.array(column, dtype) for column in zip(*pairs, strict=True))
    chosen = operations(dtype)
    arguments = {"x": (dtype, len(x)), "y": (dtype, len(y))}
    results = build(arguments, lambda a, b: [made(a, b, *op) for op in chosen]).compile()(x, y)
    kept = 0
    for (name, direction), result in zip(chosen, map(np.asarray, results), strict=True):
        arity = 1 if (name not in BINARY | BITWISE | {"stablehlo.compare"} or name == "stablehlo.not") else 2
        for a, b, found in zip(x, y, result, strict=True):
            operands = [constant(a), constant(b)][:arity]
            for known in itertools.product(*map(weaker, operands)):
                claim = fold(name, direction, known, dtype, result.dtype)
                kept += claim.value is not None
                check(claim, found, f"{name} {direction} of {[x.value for x in operands]}, known as {known},")
    assert kept > 20


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_known_values_hold_in_vectors_and_alone(dtype):
    """Long vectors take other code than scalars do."""
    entries = [(name, value) for name, table in facts._KNOWN.items() for value in table]
    for length in ((), (67,)):
        arguments = {f"x{i}": (dtype, *length) for i in range(len(entries))}
        program = build(arguments, lambda *xs: [made(x, x, name, "") for x, (name, _) in zip(xs, entries, strict=True)])
        results = program.compile()(*[np.full(length, value, dtype) for _, value in entries])
        for (name, value), result in zip(entries, map(np.asarray, results), strict=True):
            claim = fold(name, "", [constant(value, dtype)], dtype, dtype)
            assert claim.value is not None, f"{name} of {value} is not folded"
            for found in result.reshape(-1):
                check(claim, found, f"{name} of {value}")


@pytest.mark.parametrize("source", [*FLOATS, *INTEGERS, BOOL], ids=str)
def test_folds_of_conversions_are_what_xla_computes(source):
    targets = [*FLOATS, *INTEGERS, BOOL]
    values = values_of(source)
    if source.kind not in "biu":
        values = np.append(values, np.array([60000.0, float(ml_dtypes.finfo(source).max)], source))

    def body(x):
        return [x.builder.op("stablehlo.convert", [x], x.dims, target) for target in targets]

    results = build({"x": (source, len(values))}, body).compile()(values)
    for target, result in zip(targets, map(np.asarray, results), strict=True):
        for value, found in zip(values, result, strict=True):
            for known in weaker(constant(value)):
                claim = fold("stablehlo.convert", "", [known], source, target)
                check(claim, found, f"{source} {value}, known as {known}, as {target}")


@pytest.mark.parametrize("dtype", [F32, F64, BF16, np.dtype(np.int32)], ids=str)
def test_folds_of_clamp_and_select_are_what_xla_computes(dtype):
    values = values_of(dtype)
    triples = [t for t in itertools.product(values, repeat=3) if t[0] <= t[2]]
    low, x, high = (np.array(column, dtype) for column in zip(*triples, strict=True))

    def body(a, b, c):
        return a.builder.op("stablehlo.clamp", [a, b, c], a.dims, a.dtype)

    result = np.asarray(build({name: (dtype, len(x)) for name in "lxh"}, body).compile()(low, x, high))
    for triple, found in zip(zip(low, x, high, strict=True), result, strict=True):
        for known in itertools.product(*[weaker(constant(value)) for value in triple]):
            check(fold("stablehlo.clamp", "", known, dtype, dtype), found, f"clamp of {triple}, known as {known},")
    for a, b, truth in itertools.product(values, values, (False, True)):
        for known in itertools.product(weaker(constant(truth)), weaker(constant(a)), weaker(constant(b))):
            check(fold("stablehlo.select", "", known, dtype, dtype), a if truth else b, f"select of {known}")


def test_rounded_results_are_not_folded():
    """A fused multiply-add keeps what rounding drops: 0.1 * 0.1 - 0.01 need not be the zero that NumPy finds."""
    tenth = constant(0.1, F64)
    assert fold("stablehlo.multiply", "", [tenth, tenth], F64, F64) is UNKNOWN
    assert fold("stablehlo.multiply", "", [tenth, constant(2, F64)], F64, F64) is constant(0.2, F64)


def test_the_order_of_facts():
    """A join says no more than either side."""
    chain = [constant(0, F32), ZERO, FINITE, UNKNOWN]
    for i, a in enumerate(chain):
        for j, b in enumerate(chain):
            assert join(a, b) is chain[max(i, j)]
    assert join(constant(0, F32), constant(-0.0, F32)) is ZERO
    assert join(constant(1, F32), constant(2, F32)) is FINITE
    assert join(constant(1, F32), constant(np.inf, F32)) is UNKNOWN
    assert constant(np.nan, F32) is constant(np.nan, F32)
