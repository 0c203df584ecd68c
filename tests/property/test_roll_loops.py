"""Random unrolled loops: rolled up, they give what they gave before, in the reference interpreter.

A program is a block of random ops, written out once per repetition: with values carried over one or more repetitions,
slices and constants that depend on the repetition, results that are collected in several ways, and a second loop that
goes through what the first one saved backwards. In half of the programs one repetition differs from the others.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hlograph

PROGRAMS = int(os.environ.get("HLOGRAPH_PROGRAMS", "25"))

_UNARY = ("sine", "cosine", "tanh", "negate", "logistic", "abs")
_BINARY = ("add", "subtract", "multiply", "maximum", "minimum")
VECTOR = 3


@dataclass
class Text:
    """A function's text, op by op."""

    lines: list[str] = field(default_factory=list)
    count: int = 0

    def op(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"    %v{self.count} = {text}")
        return f"%v{self.count}"


def _type(vector: bool) -> str:
    return f"tensor<{VECTOR}xf32>" if vector else "tensor<f32>"


@dataclass
class Block:
    """What each repetition does; the same random choices for all of them."""

    rng: np.random.Generator
    steps: int
    recipe: list[tuple[object, ...]] = field(default_factory=list)

    def __post_init__(self) -> None:
        rng = self.rng
        self.lags = [int(lag) for lag in rng.integers(1, 4, size=rng.integers(1, 4))]
        self.shapes = [bool(rng.integers(2)) for _ in self.lags]
        for _ in range(int(rng.integers(5, 12))):
            kind = rng.choice(["unary", "binary", "binary", "read", "constant", "argument", "move", "dot", "integer"])
            self.recipe.append((str(kind), *(int(number) for number in rng.integers(0, 1 << 30, 4))))


def program(seed: int) -> tuple[str, list[np.ndarray]]:
    """A module and its arguments."""
    rng = np.random.default_rng(seed)
    steps = int(rng.integers(8, 25))
    block = Block(rng, steps)
    odd = int(rng.integers(steps)) if rng.integers(2) else -1
    oddity = str(rng.choice(["op", "constant", "place", "extra"]))
    length = 2 * steps + 6
    text = Text()
    order = rng.permutation(length) if rng.integers(6) == 0 else np.arange(length)
    stride = int(rng.integers(1, 3)) * (-1 if rng.integers(2) else 1)
    table = rng.standard_normal(steps) if rng.integers(2) else np.full(steps, 0.5)

    def place(step: int) -> int:
        begin = 2 if stride > 0 else length - 3
        return int(order[begin + stride * step])

    def constant(value: float) -> str:
        return text.op(f"stablehlo.constant dense<{np.float32(value):.9e}> : tensor<f32>")

    def fit(name: str, is_vector: bool, vector: bool) -> str:
        if is_vector == vector:
            return name
        if vector:
            return text.op(f"stablehlo.broadcast_in_dim {name}, dims = [] : (tensor<f32>) -> {_type(True)}")
        zero = constant(0.0)
        return text.op(
            f"stablehlo.reduce({name} init: {zero}) applies stablehlo.add across dimensions = [0] : "
            f"({_type(True)}, tensor<f32>) -> tensor<f32>"
        )

    def repetition(
        step: int, carries: list[list[tuple[str, bool]]], extra: list[tuple[str, bool]]
    ) -> list[tuple[str, bool]]:
        """The values of a repetition."""
        known = [history[-lag] for history, lag in zip(carries, block.lags, strict=True)] + list(extra)

        def add(line: str, vector: bool) -> None:
            known.append((text.op(line), vector))

        strange = step == odd
        for kind, a, b, c, d in block.recipe:
            first, second = known[a % len(known)], known[b % len(known)]
            if kind == "unary":
                name = _UNARY[c % len(_UNARY)]
                name = "floor" if strange and oddity == "op" else name
                add(f"stablehlo.{name} {first[0]} : {_type(first[1])}", first[1])
            elif kind == "binary":
                vector = first[1] or second[1]
                name = _BINARY[c % len(_BINARY)]
                left, right = fit(*first, vector), fit(*second, vector)
                add(f"stablehlo.{name} {left}, {right} : {_type(vector)}", vector)
            elif kind == "read":
                where = place(step) + (1 if strange and oddity == "place" and place(step) + 1 < length else 0)
                source, columns, own = ("%rows", f", 0:{VECTOR}", f"x{VECTOR}") if d % 2 else ("%items", "", "")
                part = f"[{where}:{where + 1}{columns}] : (tensor<{length}{own}xf32>)"
                row = text.op(f"stablehlo.slice {source} {part} -> tensor<1{own}xf32>")
                add(f"stablehlo.reshape {row} : (tensor<1{own}xf32>) -> {_type(bool(d % 2))}", bool(d % 2))
            elif kind == "constant":
                value = constant(table[step] + (1 if strange and oddity == "constant" else 0))
                known.append((fit(value, False, first[1]), first[1]))
            elif kind == "argument":
                known.append(("%fixed", False))
            elif kind == "integer":
                number = text.op(f"stablehlo.constant dense<{7 - 3 * step}> : tensor<i32>")
                number = text.op(f"stablehlo.convert {number} : (tensor<i32>) -> tensor<f32>")
                add(f"stablehlo.sine {number} : tensor<f32>", False)
            elif kind == "move" and first[1]:
                low, high = ((0, 1), (1, 0))[c % 2]
                zero = constant(0.0)
                part = text.op(f"stablehlo.slice {first[0]} [{high}:{VECTOR - low}] : ({_type(True)}) -> tensor<2xf32>")
                add(
                    f"stablehlo.pad {part}, {zero}, low = [{low}], high = [{high}], interior = [0] : "
                    f"(tensor<2xf32>, tensor<f32>) -> {_type(True)}",
                    True,
                )
            elif kind == "dot" and first[1]:
                add(
                    f"stablehlo.dot_general {first[0]}, %matrix, contracting_dims = [0] x [0] : "
                    f"({_type(True)}, tensor<{VECTOR}x{VECTOR}xf32>) -> {_type(True)}",
                    True,
                )
        if strange and oddity == "extra":
            add(f"stablehlo.cosine {known[-1][0]} : {_type(known[-1][1])}", known[-1][1])
        return known

    def carry(carries: list[list[tuple[str, bool]]], known: list[tuple[str, bool]]) -> None:
        for number, (history, vector) in enumerate(zip(carries, block.shapes, strict=True)):
            value = fit(*known[-1 - number % len(known)], vector)
            bound = text.op(f"stablehlo.tanh {value} : {_type(vector)}")
            history.append((bound, vector))

    def begin() -> list[list[tuple[str, bool]]]:
        return [
            [("%start_vector" if vector else "%fixed", vector)] * lag
            for lag, vector in zip(block.lags, block.shapes, strict=True)
        ]

    results: list[tuple[str, str]] = []
    carries = begin()
    saved: list[list[tuple[str, bool]]] = []
    ways = [str(way) for way in rng.choice(["join", "pads", "update", "sum", "one", "max"], size=2)]
    zero_start = text.op(f"stablehlo.constant dense<0.0> : tensor<{length}xf32>")
    collected = {"pads": zero_start, "update": "%items", "sum": "%fixed", "max": "%fixed"}
    parts: list[str] = []
    for step in range(steps):
        known = repetition(step, carries, [])
        carry(carries, known)
        item = fit(*known[-1], False)
        for way in ways:
            if way in ("join", "pads", "update"):
                one = text.op(f"stablehlo.reshape {item} : (tensor<f32>) -> tensor<1xf32>")
            if way == "join":
                parts.append(one)
            elif way == "pads":
                zero = constant(0.0)
                low = place(step)
                padded = text.op(
                    f"stablehlo.pad {one}, {zero}, low = [{low}], high = [{length - 1 - low}], interior = [0] : "
                    f"(tensor<1xf32>, tensor<f32>) -> tensor<{length}xf32>"
                )
                collected[way] = text.op(f"stablehlo.add {collected[way]}, {padded} : tensor<{length}xf32>")
            elif way == "update":
                where = text.op(f"stablehlo.constant dense<{place(step)}> : tensor<i64>")
                collected[way] = text.op(
                    f"stablehlo.dynamic_update_slice {collected[way]}, {one}, {where} : "
                    f"(tensor<{length}xf32>, tensor<1xf32>, tensor<i64>) -> tensor<{length}xf32>"
                )
            elif way in ("sum", "max"):
                name = "add" if way == "sum" else "maximum"
                collected[way] = text.op(f"stablehlo.{name} {collected[way]}, {item} : tensor<f32>")
        saved.append([known[index % len(known)] for index in (-1, 3, 5)])
        if "one" in ways and step == steps // 2:
            results.append((item, "tensor<f32>"))
    if parts:
        count = len(parts)
        types = ", ".join(["tensor<1xf32>"] * count)
        joined = text.op(f"stablehlo.concatenate {', '.join(parts)}, dim = 0 : ({types}) -> tensor<{count}xf32>")
        results.append((joined, f"tensor<{count}xf32>"))
    for way in set(ways) & {"pads", "update"}:
        results.append((collected[way], f"tensor<{length}xf32>"))
    for way in set(ways) & {"sum", "max"}:
        results.append((collected[way], "tensor<f32>"))
    if rng.integers(3):
        carries = begin()
        odd = -1
        for step in reversed(range(steps)):
            carry(carries, repetition(step, carries, saved[step]))
    results += [(history[-1][0], _type(history[-1][1])) for history in carries]
    names, types = ", ".join(name for name, _ in results), ", ".join(type_ for _, type_ in results)
    module = (
        f"module {{\n  func.func @main(%items: tensor<{length}xf32>, %rows: tensor<{length}x{VECTOR}xf32>, "
        f"%fixed: tensor<f32>, %start_vector: {_type(True)}, %matrix: tensor<{VECTOR}x{VECTOR}xf32>) -> ({types}) {{\n"
        + "\n".join(text.lines)
        + f"\n    return {names} : {types}\n  }}\n}}\n"
    )
    arrays = [
        rng.standard_normal(shape).astype(np.float32)
        for shape in ((length,), (length, VECTOR), (), (VECTOR,), (VECTOR, VECTOR))
    ]
    return module, arrays


@pytest.fixture(autouse=True, scope="module")
def small_programs_roll_up_too() -> Iterator[None]:
    """The cost rule is for programs of other sizes."""
    with pytest.MonkeyPatch.context() as patch:
        for name, number in {
            "find.REPEATS": 4,
            "find.SAVED": 6,
            "cost.LOOP": 0,
            "cost.REDUCE": 0,
            "cost.SINGLE": 0,
        }.items():
            patch.setattr(f"hlograph.codegen.passes.roll_loops.{name}", number)
        yield


@settings(max_examples=PROGRAMS, derandomize=PROGRAMS == 25)
@given(st.integers(0, 1 << 40), st.booleans())
def test_rolled_up_programs_give_what_they_gave(seed: int, exact: bool) -> None:
    """Bit for bit in the interpreter where rounding must stay, and close to it where it may change."""
    module, arrays = program(seed)
    before = hlograph.Program.parse(module)
    after = before.run_passes(["roll_loops{reassociate=false}" if exact else "roll_loops"])
    for expected, found in zip(before.interpret(*arrays), after.interpret(*arrays), strict=True):
        if exact:
            np.testing.assert_array_equal(found, expected)
        else:
            np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("seed", range(4))
def test_most_of_them_do_roll_up(seed: int) -> None:
    """The programs above are of use only where the pass does something."""
    rolled = 0
    for number in range(10 * seed, 10 * seed + 10):
        before = hlograph.Program.parse(program(number)[0])
        rolled += 2 * sum(before.run_passes(["roll_loops"]).op_counts().values()) < sum(before.op_counts().values())
    assert rolled >= 7
