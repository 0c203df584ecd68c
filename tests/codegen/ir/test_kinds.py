"""The table of what is known of ops, against the ops themselves."""

from __future__ import annotations

import numpy as np
import pytest

from hlograph import Program
from hlograph.codegen.ir import evaluate, kinds
from hlograph.codegen.ir.bindings import new_context

KINDS = ("elementwise", "making", "moving", "indexed", "combining", "control", "other")


def test_every_op_is_one_and_of_one_kind() -> None:
    context = new_context()
    names = set().union(*(kinds.having(kind) for kind in KINDS))
    assert len(names) > 100
    assert sum(len(kinds.having(kind)) for kind in KINDS) == len(names)
    unknown = {name for name in names if not context.is_registered_operation(name)}
    # `conj` and others come and go between releases; today's know them all.
    assert unknown <= {"chlo.mulhi", "stablehlo.collective_broadcast"}


def unary(name: str, x: np.ndarray) -> np.ndarray:
    """An op by StableHLO's reference interpreter; NumPy's own functions for those that it lacks."""
    element = {"float64": "f64", "int64": "i64"}[x.dtype.name]
    type_ = f"tensor<{len(x)}x{element}>"
    text = f'func.func @main(%x: {type_}) -> {type_} {{ %y = "{name}"(%x) : ({type_}) -> {type_} return %y : {type_} }}'
    return np.asarray(Program.parse(text).interpret(x)[0])


UNARY = sorted(
    kinds.having("elementwise", dialect="stablehlo.")
    & {
        f"stablehlo.{name}"
        for name in (
            *("abs", "cbrt", "ceil", "cosine", "exponential", "exponential_minus_one", "floor", "log", "log_plus_one"),
            *("logistic", "negate", "round_nearest_afz", "round_nearest_even", "rsqrt", "sign", "sine", "sqrt", "tan"),
            "tanh",
        )
    }
)
REALS = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 1e4, -1e4, 1e-300, 1e300, -1e300])


@pytest.mark.parametrize("name", UNARY)
def test_facts_hold_of_the_interpreter(name: str) -> None:
    result = unary(name, REALS)
    if name in kinds.having("finite"):
        assert np.isfinite(result).all()
    if name in kinds.having("zero"):
        assert (result[REALS == 0] == 0).all()
    else:
        assert not (result[REALS == 0] == 0).all()
    if name in kinds.having("nonnegative"):
        assert not (result < 0).any()
    if name in kinds.having("keeps"):
        assert not (result[REALS >= 0] < 0).any()


@pytest.mark.parametrize("monoid", kinds.MONOIDS)
def test_monoids(monoid: kinds.Monoid) -> None:
    """`again` and `ordered` by all pairs and triples of special values, to the bit but for NaN."""
    combine = evaluate.ELEMENTWISE[f"stablehlo.{monoid}"]
    if monoid in ("and", "or", "xor"):
        values = np.array([0, 1, -1, 6, 1 << 40], np.int64)
    else:
        values = np.array([0.0, 1.0, -1.0, 0.1, 0.2, 0.3, 1e308, -1e308, np.inf, -np.inf])
    a, b, c = np.meshgrid(values, values, values)
    with np.errstate(all="ignore"):
        again = np.array_equal(combine(values, values), values)
        left, right = combine(combine(a, b), c), combine(a, combine(b, c))
        neutral = combine(values, kinds.identity(monoid, values.dtype))
    ordered = np.array_equal(left, right, equal_nan=values.dtype.kind == "f")
    assert again == (f"stablehlo.{monoid}" in kinds.having("again"))
    assert ordered == (f"stablehlo.{monoid}" in kinds.having("ordered"))
    assert np.array_equal(neutral, values)


@pytest.mark.parametrize("direction", kinds.MIRRORED)
def test_mirrored_comparisons(direction: str) -> None:
    a, b = np.meshgrid([0.0, -1.0, 2.0, np.nan], [0.0, 2.0, np.inf, np.nan])
    mirrored = kinds.MIRRORED[direction]
    assert np.array_equal(evaluate.COMPARISONS[direction](a, b), evaluate.COMPARISONS[mirrored](b, a))


OF_FLOATS = {"stablehlo.ceil", "stablehlo.floor", "stablehlo.is_finite", "stablehlo.round_nearest_even", "chlo.is_inf"}


@pytest.mark.parametrize("name", sorted(evaluate.ELEMENTWISE.keys() - OF_FLOATS - {"chlo.square"}))
def test_integers_wrap_as_the_interpreter_has_it(name: str) -> None:
    """NumPy's functions, on integers with the least and the greatest among them."""
    short = name.partition(".")[2]
    limits = np.iinfo(np.int64)
    values = np.array([0, 1, -1, 5, limits.min, limits.max, limits.min + 1], np.int64)
    a, b = (x.reshape(-1) for x in np.meshgrid(values, values))
    type_ = f"tensor<{len(a)}xi64>"
    arity = 1 if short in ("abs", "negate", "not", "sign") else 3 if short in ("clamp", "select") else 2
    if short == "select":
        operands, types = [a > b, a, b], [type_.replace("i64", "i1"), type_, type_]
    else:
        operands, types = [np.minimum(a, b), b, np.maximum(a, b)][:arity] if arity == 3 else [a, b][:arity], [type_] * 3
    names = [f"%a{k}" for k in range(arity)]
    given = ", ".join(f"{one}: {kind}" for one, kind in zip(names, types, strict=False))
    text = (
        f"func.func @main({given}) -> {type_} {{ "
        f'%r = "{name}"({", ".join(names)}) : ({", ".join(types[:arity])}) -> {type_} return %r : {type_} }}'
    )
    with np.errstate(all="ignore"):
        expected = evaluate.ELEMENTWISE[name](*operands)
    assert np.array_equal(Program.parse(text).interpret(*operands)[0], expected)
