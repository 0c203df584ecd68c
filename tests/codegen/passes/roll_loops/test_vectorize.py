"""Each op that gets a leading axis, against the op once per repetition in the reference interpreter."""

from __future__ import annotations

import numpy as np
import pytest

from hlograph.codegen.passes.roll_loops import vectorize
from hlograph.codegen.program import Program

STEPS = 10
V, S = "tensor<3xf32>", "tensor<f32>"
M, B = "tensor<3x3xf32>", "tensor<3xi1>"

UNARY = (
    *("abs", "cbrt", "ceil", "cosine", "exponential", "exponential_minus_one", "floor", "log", "log_plus_one"),
    *("logistic", "negate", "round_nearest_afz", "round_nearest_even", "rsqrt", "sign", "sine", "sqrt", "tan", "tanh"),
)
BINARY = ("add", "atan2", "divide", "maximum", "minimum", "multiply", "power", "remainder", "subtract")

# What a repetition does with %a (a row of its own), %f (the same for all), %p (a truth value of its own per element).
CASES: dict[str, str] = {
    **{
        name: f"stablehlo.{name} %a : {V}"
        for name in [
            "abs",
            "cbrt",
            "ceil",
            "cosine",
            "exponential",
            "exponential_minus_one",
            "floor",
            "log",
            "log_plus_one",
            "logistic",
            "negate",
            "round_nearest_afz",
            "round_nearest_even",
            "rsqrt",
            "sign",
            "sine",
            "sqrt",
            "tan",
            "tanh",
        ]
    },
    **{name: f"stablehlo.{name} %a, %f : {V}" for name in BINARY},
    "select": f"stablehlo.select %p, %a, %f : {B}, {V}",
    "select by one": f"stablehlo.select %one, %a, %f : tensor<i1>, {V}",
    "clamp": f"stablehlo.clamp %lower, %a, %f : ({S}, {V}, {V}) -> {V}",
    "broadcast_in_dim": f"stablehlo.broadcast_in_dim %a, dims = [1] : ({V}) -> {M}",
    "reshape": f"stablehlo.reshape %a : ({V}) -> tensor<1x3x1xf32>",
    "transpose": f"stablehlo.transpose %m, dims = [1, 0] : ({M}) -> {M}",
    "reverse": f"stablehlo.reverse %m, dims = [1] : ({M}) -> {M}",
    "slice": f"stablehlo.slice %m [0:3:2, 1:3] : ({M}) -> tensor<2x2xf32>",
    "pad": f"stablehlo.pad %a, %zero, low = [1], high = [-1], interior = [1] : ({V}, {S}) -> tensor<5xf32>",
    "concatenate": f"stablehlo.concatenate %a, %f, dim = 0 : ({V}, {V}) -> tensor<6xf32>",
    "reduce": f"stablehlo.reduce(%m init: %zero) applies stablehlo.add across dimensions = [1] : ({M}, {S}) -> {V}",
    "dot of both": f"stablehlo.dot_general %m, %a, contracting_dims = [0] x [0] : ({M}, {V}) -> {V}",
    "dot, left": f"stablehlo.dot_general %m, %f, contracting_dims = [1] x [0] : ({M}, {V}) -> {V}",
    "dot, right": f"stablehlo.dot_general %g, %m, contracting_dims = [1] x [0] : ({M}, {M}) -> {M}",
    "dot, batched": f"stablehlo.dot_general %g, %m, batching_dims = [1] x [0], contracting_dims = [0] x [1] : "
    f"({M}, {M}) -> {V}",
    "dot, batched left": f"stablehlo.dot_general %m, %g, batching_dims = [1] x [0], contracting_dims = [] x [] : "
    f"({M}, {M}) -> tensor<3x3x3xf32>",
}


@pytest.fixture(autouse=True)
def small_programs_roll_up_too(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, number in {"find.SAVED": 6, "cost.LOOP": 0, "cost.REDUCE": 0, "cost.SINGLE": 0}.items():
        monkeypatch.setattr(f"hlograph.codegen.passes.roll_loops.{name}", number)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", CASES)
def test_an_op_for_all_repetitions(name: str) -> None:
    line = CASES[name]
    result = line.rpartition("-> ")[2] if "->" in line else V
    joined = result.replace("tensor<", f"tensor<{STEPS}x")
    lines, rows = [f"%zero = stablehlo.constant dense<0.0> : {S}", f"%lower = stablehlo.constant dense<-0.5> : {S}"], []
    for step in range(STEPS):
        made = [
            f"%row = stablehlo.slice %rows [{step}:{step + 1}, 0:3] : (tensor<{STEPS}x3xf32>) -> tensor<1x3xf32>",
            f"%a = stablehlo.reshape %row : (tensor<1x3xf32>) -> {V}",
            f"%m = stablehlo.dot_general %a, %a, contracting_dims = [] x [] : ({V}, {V}) -> {M}",
            f"%p = stablehlo.compare LT, %a, %f : ({V}, {V}) -> {B}",
            f"%first = stablehlo.slice %p [0:1] : ({B}) -> tensor<1xi1>",
            "%one = stablehlo.reshape %first : (tensor<1xi1>) -> tensor<i1>",
            f"%made = {line}",
            f"%out = stablehlo.reshape %made : ({result}) -> {result.replace('tensor<', 'tensor<1x')}",
        ]
        text = "\n".join(made)
        for word in ("row", "a", "m", "p", "first", "one", "made", "out"):
            text = text.replace(f"%{word} ", f"%{word}{step} ").replace(f"%{word},", f"%{word}{step},")
            text = text.replace(f"(%{word}{' '}", f"(%{word}{step} ")
        lines.append(text)
        rows.append(f"%out{step}")
    types = ", ".join([result.replace("tensor<", "tensor<1x")] * STEPS)
    program = Program.parse(
        f"func.func @main(%rows: tensor<{STEPS}x3xf32>, %f: {V}, %g: {M}) -> {joined} {{\n"
        + "\n".join(lines)
        + f"\n%all = stablehlo.concatenate {', '.join(rows)}, dim = 0 : ({types}) -> {joined}\n"
        + f"return %all : {joined}\n}}"
    )
    after = program.run_passes(["roll_loops"])
    assert "stablehlo.while" not in after.op_counts()
    assert sum(after.op_counts().values()) < 25
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape).astype(np.float32) for shape in ((STEPS, 3), (3,), (3, 3))]
    np.testing.assert_array_equal(after.interpret(*arrays)[0], program.interpret(*arrays)[0])


def test_every_elementwise_op_is_among_the_cases() -> None:
    # For integers, truth values and complex numbers; and those that other cases need.
    elsewhere = {
        *("and", "or", "xor", "not", "popcnt", "count_leading_zeros", "shift_left", "shift_right_arithmetic"),
        *("shift_right_logical", "complex", "real", "imag", "is_finite", "convert", "compare", "reduce_precision"),
    }
    names = {name.removeprefix("stablehlo.") for name in vectorize.ELEMENTWISE}
    assert names - elsewhere <= set(CASES)
