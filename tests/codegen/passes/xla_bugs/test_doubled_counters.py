"""Loops whose counter is doubled run right: the forms that end XLA of jaxlib 0.10, under every dtype."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import hlograph
from hlograph import Program

# What is added to %i, and the same in Python.
STEPS = {
    "itself": ("", "%i", lambda i: i),
    "times one": ("%m = stablehlo.multiply %i, %one : TYPE", "%m", lambda i: i),
    "plus zero": ("%m = stablehlo.subtract %i, %zero : TYPE", "%m", lambda i: i),
    "the larger": ("%m = stablehlo.maximum %i, %i : TYPE", "%m", lambda i: i),
    "in an array": (
        """%v = stablehlo.reshape %i : (TYPE) -> tensor<1xELEMENT>
        %m = stablehlo.reshape %v : (tensor<1xELEMENT>) -> TYPE""",
        "%m",
        lambda i: i,
    ),
    "twice itself": ("%m = stablehlo.multiply %i, %two : TYPE", "%m", lambda i: 2 * i),
    "in a function": ("%m = func.call @same(%i) : (TYPE) -> TYPE", "%m", lambda i: i),
}
TEXT = """func.func @main(%x: TYPE) -> (TYPE, TYPE) {
  %zero = stablehlo.constant dense<0> : TYPE
  %one = stablehlo.constant dense<1> : TYPE
  %two = stablehlo.constant dense<2> : TYPE
  %limit = stablehlo.constant dense<50> : TYPE
  %r:2 = stablehlo.while(%i = %one, %y = %x) : TYPE, TYPE
   cond {
    %c = stablehlo.compare LT, %i, %limit : (TYPE, TYPE) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    STEP
    %n = stablehlo.add %i, ADDED : TYPE
    %z = stablehlo.add %y, %one : TYPE
    stablehlo.return %n, %z : TYPE, TYPE
  }
  return %r#0, %r#1 : TYPE, TYPE
}
func.func private @same(%i: TYPE) -> TYPE {
  return %i : TYPE
}"""


def program_of(before: str, added: str, element: str) -> Program:
    text = TEXT.replace("STEP", before).replace("ADDED", added)
    return Program.parse(text.replace("TYPE", f"tensor<{element}>").replace("ELEMENT", element))


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("element", ["i64", "ui8"])
def test_a_counter_that_is_doubled(step: str, element: str) -> None:
    before, added, of = STEPS[step]
    program = program_of(before, added, element)
    x = np.array(3, program.signature.arguments[0].dtype)
    i, y = 1, 3
    while i < 50:
        i, y = i + of(i), y + 1
    changed = program.run_passes(["doubled_counters"])
    assert changed.op_counts()["stablehlo.negate"] == 1
    for found in (changed.interpret(x), program.compile()(x), program.compile(optimize="none", cpu="plain")(x)):
        assert [int(value) for value in found] == [i, y]


def test_what_runs_is_changed() -> None:
    lowered = program_of("", "%i", "i64").compile().lower()
    assert "stablehlo.add %iterArg, %iterArg" not in lowered.as_text()


def test_in_jit() -> None:
    def doubled(x):
        return jax.lax.while_loop(
            lambda carry: carry[0] < 50, lambda carry: (carry[0] + carry[0], carry[1] * 2), (1, x)
        )

    count, value = hlograph.jit(doubled)(np.float32(3))
    assert (int(count), float(value)) == (64, 3 * 2.0**6)
    text = hlograph.jit(doubled).lower(np.float32(3)).as_text()
    assert "stablehlo.negate" in text
