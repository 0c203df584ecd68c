"""Elementwise work that moves into the loops which read it: the same numbers, clamped slices included."""

from __future__ import annotations

import numpy as np
import pytest

from hlograph import Program
from hlograph.passes import Report

STEPS, COLUMNS = 6, 4

LOOP = """
func.func @main(%x: tensor<6x4xf32>, %y: tensor<6x4xf32>, %v: tensor<4xf32>, %t: tensor<6xf32>, %s: tensor<f32>,
                %b: tensor<4x6xf32>, %u: tensor<1x4xf32>, %p: tensor<6x4xi1>, %q: tensor<i1>)
    -> (tensor<{rows}x4xf32>, tensor<6x4xf32>) {{
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %count = stablehlo.constant dense<{count}> : tensor<i32>
  %ahead = stablehlo.constant dense<{ahead}> : tensor<i32>
  %zeros = stablehlo.constant dense<0.5> : tensor<{rows}x4xf32>
  {work}
  %0:3 = stablehlo.while(%i = %c0, %g = %zeros, %a = %r) : tensor<i32>, tensor<{rows}x4xf32>, tensor<6x4xf32>
  cond {{
    %c = stablehlo.compare LT, %i, %count : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }} do {{
    %j = stablehlo.add %i, %ahead : tensor<i32>
    %l = stablehlo.dynamic_slice %a, %j, %c0, sizes = [{rows}, 4]
      : (tensor<6x4xf32>, tensor<i32>, tensor<i32>) -> tensor<{rows}x4xf32>
    %h = stablehlo.cosine %g : tensor<{rows}x4xf32>
    %n = stablehlo.add %h, %l : tensor<{rows}x4xf32>
    %k = stablehlo.add %i, %c1 : tensor<i32>
    stablehlo.return %k, %n, %a : tensor<i32>, tensor<{rows}x4xf32>, tensor<6x4xf32>
  }}
  return %0#1, {also} : tensor<{rows}x4xf32>, tensor<6x4xf32>
}}
"""

WHOLE = "tensor<6x4xf32>"
WORK = {
    "elementwise": f"""
      %d = stablehlo.subtract %x, %y : {WHOLE}
      %r = stablehlo.multiply %d, %d : {WHOLE}""",
    "broadcast of a row": f"%r = stablehlo.broadcast_in_dim %v, dims = [1] : (tensor<4xf32>) -> {WHOLE}",
    "broadcast of a column": f"""
      %w = stablehlo.broadcast_in_dim %t, dims = [0] : (tensor<6xf32>) -> {WHOLE}
      %r = stablehlo.multiply %w, %x : {WHOLE}""",
    "broadcast of a scalar": f"""
      %w = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> {WHOLE}
      %r = stablehlo.divide %x, %w : {WHOLE}""",
    "broadcast of size 1": f"""
      %m = stablehlo.negate %u : tensor<1x4xf32>
      %r = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (tensor<1x4xf32>) -> {WHOLE}""",
    "transposed": f"""
      %m = stablehlo.negate %b : tensor<4x6xf32>
      %r = stablehlo.transpose %m, dims = [1, 0] : (tensor<4x6xf32>) -> {WHOLE}""",
    "broadcast and transposed": f"""
      %m = stablehlo.broadcast_in_dim %t, dims = [1] : (tensor<6xf32>) -> tensor<4x6xf32>
      %r = stablehlo.transpose %m, dims = [1, 0] : (tensor<4x6xf32>) -> {WHOLE}""",
    "iota of rows": f"""
      %m = stablehlo.iota dim = 0 : {WHOLE}
      %r = stablehlo.add %m, %x : {WHOLE}""",
    "iota of columns": f"""
      %m = stablehlo.iota dim = 1 : {WHOLE}
      %r = stablehlo.add %m, %x : {WHOLE}""",
    "select": f"%r = stablehlo.select %p, %x, %y : tensor<6x4xi1>, {WHOLE}",
    "select by a scalar": f"%r = stablehlo.select %q, %x, %y : tensor<i1>, {WHOLE}",
    "clamp by scalars": f"%r = stablehlo.clamp %s, %x, %s : (tensor<f32>, {WHOLE}, tensor<f32>) -> {WHOLE}",
    "compare and convert": f"""
      %m = stablehlo.compare LT, %x, %y : ({WHOLE}, {WHOLE}) -> tensor<6x4xi1>
      %r = stablehlo.convert %m : (tensor<6x4xi1>) -> {WHOLE}""",
    "constants": f"""
      %m = stablehlo.constant dense<3.0> : {WHOLE}
      %nan = stablehlo.constant dense<0x7FC00000> : {WHOLE}
      %z = stablehlo.select %p, %nan, %m : tensor<6x4xi1>, {WHOLE}
      %r = stablehlo.maximum %z, %x : {WHOLE}""",
}


def moved(program: Program) -> tuple[Program, Report]:
    reports: list[Report] = []
    return program.run_passes(["work_into_loops"], reports=reports), reports[0]


def arguments() -> list[np.ndarray]:
    random = np.random.default_rng(0)
    shapes = [(6, 4), (6, 4), (4,), (6,), (), (4, 6), (1, 4)]
    floats = [np.asarray(random.normal(size=shape), np.float32) for shape in shapes]
    floats[0][2, 1], floats[1][3, 0] = np.nan, np.inf
    return [*floats, random.random((6, 4)) < 0.5, np.array(True)]


@pytest.mark.sampled(10)
@pytest.mark.parametrize(
    ("rows", "count", "ahead"), [(1, 6, 0), (2, 3, 0), (1, 6, 3), (1, 6, -2), (2, 3, 5)], ids=lambda number: str(number)
)
@pytest.mark.parametrize("work", WORK)
def test_slices_of_work(work: str, rows: int, count: int, ahead: int):
    """Slices of one and of two rows, also such as would leave the array and are clamped."""
    program = Program.parse(LOOP.format(work=WORK[work], rows=rows, count=count, ahead=ahead, also="%y"))
    after, report = moved(program)
    assert report.rewritten, report.text
    np.testing.assert_array_equal(after.interpret(*arguments())[0], program.interpret(*arguments())[0])
    head = after.text.split("stablehlo.while")[1].splitlines()[0]
    assert head.endswith(f": tensor<i32>, tensor<{rows}x4xf32>"), "the array is not carried any more"


TABLE = [[float(i + j) for j in range(4)] for i in range(6)]
# What stays: the work, how many rows are read, and why.
STAYS = {
    "sine": (f"%r = stablehlo.sine %x : {WHOLE}", 6, "costs more than storing it, and is better done for all steps at"),
    "table": (f"%r = stablehlo.constant dense<{TABLE}> : {WHOLE}", 6, ""),
    "reversed": (f"%r = stablehlo.reverse %x, dims = [0] : {WHOLE}", 6, ""),
    "needed whole": (
        f"%r = stablehlo.negate %x : {WHOLE}",
        6,
        "the whole array is used by func.return, so that it has to be stored anyway",
    ),
    "read again and again": (
        f"%r = stablehlo.multiply %x, %y : {WHOLE}",
        60,
        "what makes it is used elsewhere too, or is read more than once, and is expensive to do again",
    ),
    "no less memory": (
        f"%o = stablehlo.reverse %x, dims = [0] : {WHOLE}\n%r = stablehlo.negate %o : {WHOLE}",
        6,
        "what it is made from is not kept otherwise and takes as much memory (96 bytes)",
    ),
}


@pytest.mark.parametrize("name", STAYS)
def test_what_stays(name: str):
    work, count, reason = STAYS[name]
    program = Program.parse(
        LOOP.format(work=work, rows=1, count=count, ahead=0, also="%r" if "whole" in name else "%y")
    )
    after, report = moved(program)
    assert after.text == program.text
    assert [reason in note.reason for note in report.notes] == ([True] if reason else [])
