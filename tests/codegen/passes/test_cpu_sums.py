"""Long sums in blocks, against NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from rewritten_runs import as_arrays, check, close, rewritten, tensor


def total(shape, axes, *, kind="f64", op="add", init="0.0") -> str:
    kept = [size for axis, size in enumerate(shape) if axis not in axes]
    x, out, scalar = tensor(shape, kind), tensor(kept, kind), tensor((), kind)
    return f"""func.func @main(%x: {x}) -> {out} {{
  %z = stablehlo.constant dense<{init}> : {scalar}
  %s = stablehlo.reduce(%x init: %z) applies stablehlo.{op} across dimensions = {list(axes)} :
    ({x}, {scalar}) -> {out}
  return %s : {out}
}}"""


def dot(left, right, numbers, out, kind="f64") -> str:
    x, y, z = (tensor(shape, kind) for shape in (left, right, out))
    return f"""func.func @main(%x: {x}, %y: {y}) -> {z} {{
  %s = stablehlo.dot_general %x, %y, {numbers} : ({x}, {y}) -> {z}
  return %s : {z}
}}"""


@pytest.mark.parametrize("kind", ["f64", "f32"])
@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((1024,), (0,)),
        ((1031,), (0,)),  # a prime number: some are left over at each turn
        ((3, 1100), (1,)),
        ((40, 6), (0,)),
        ((5, 8, 6), (0, 1)),
        ((3, 50, 2, 6), (1, 2)),
        ((33, 40), (0, 1)),
        ((34, 3, 1500), (0, 2)),
        ((2, 3, 1500), (0, 2)),
    ],
)
def test_sums(shape, axes, kind):
    x = np.random.default_rng(0).normal(size=shape).astype("float64" if kind == "f64" else "float32")
    after = check(total(shape, axes, kind=kind), [x], ["cpu_sums"], exact=False, rtol=1e-4 if kind == "f32" else 1e-11)
    assert after.applied == {"sum_in_blocks": 1}
    (found,) = as_arrays(after.program.interpret(x))
    # Far from what a sum in order is off by.
    scale = np.abs(x).sum(axes).max()
    assert np.abs(found - x.astype("float64").sum(axes)).max() <= 4 * np.finfo(x.dtype).eps * scale


@pytest.mark.parametrize(
    ("left", "right", "numbers", "out", "einsum"),
    [
        ((1500,), (1500,), "contracting_dims = [0] x [0]", (), "i,i->"),
        ((40, 30), (30, 40), "contracting_dims = [0, 1] x [1, 0]", (), "ij,ji->"),
        ((40, 50), (40,), "contracting_dims = [0] x [0]", (50,), "ij,i->j"),
        ((40,), (2, 40, 3), "contracting_dims = [0] x [1]", (2, 3), "j,ijk->ik"),
        ((40, 5, 3), (3, 40), "batching_dims = [2] x [0], contracting_dims = [0] x [1]", (3, 5), "ijb,bi->bj"),
        ((3, 1500), (1500, 3), "batching_dims = [0] x [1], contracting_dims = [1] x [0]", (3,), "bi,ib->b"),
    ],
)
def test_dots(left, right, numbers, out, einsum):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=left), rng.normal(size=right)
    after = check(dot(left, right, numbers, out), [x, y], ["cpu_sums"], exact=False, rtol=1e-10)
    assert after.applied == {"sum_in_blocks": 1}
    close(as_arrays(after.program.interpret(x, y))[0], np.einsum(einsum, x, y), 1e-10)


@pytest.mark.parametrize(
    ("left", "right", "numbers", "out", "kind", "made"),
    [
        ((2048, 3), (2048,), "contracting_dims = [0] x [0]", (3,), "f64", "tensor<8x3xf64>"),
        ((2052, 3), (2052,), "contracting_dims = [0] x [0]", (3,), "f64", "tensor<9x3xf64>"),
        ((1, 2053), (2053, 3), "contracting_dims = [1] x [0]", (1, 3), "f64", "tensor<2x3xf64>"),
        ((64, 32, 2, 3), (64, 1, 32), "contracting_dims = [0, 1] x [0, 2]", (2, 3, 1), "f64", "tensor<8x6xf64>"),
        ((4099, 11), (4099,), "contracting_dims = [0] x [0]", (11,), "f32", "tensor<11x4099xf32>"),
        ((4099,), (4099, 64), "contracting_dims = [0] x [0]", (64,), "f32", "tensor<2x64xf32>"),
        ((4096,), (4096, 12), "contracting_dims = [0] x [0]", (12,), "f32", "tensor<8x12xf32>"),
    ],
)
def test_vectors_with_libraries(left, right, numbers, out, kind, made):
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=size).astype("float64" if kind == "f64" else "float32") for size in (left, right))
    tolerance = 1e-10 if kind == "f64" else 1e-4
    passes = ["cpu_sums{libraries=true}"]
    after = check(dot(left, right, numbers, out, kind), [x, y], passes, exact=False, rtol=tolerance)
    assert after.applied == {"vector_in_blocks": 1}
    assert made in after.program.text
    (found,) = as_arrays(after.program.compile(optimize="none", cpu="plain")(x, y))  # XLA's libraries
    axes = [[int(each) for each in part.split(",")] for part in numbers.split("= [")[1].rstrip("]").split("] x [")]
    close(found, np.tensordot(x, y, axes), tolerance)
    assert not rewritten(after.program.text, passes).changed


def test_no_sum_has_many_terms():
    """Every sum that is left has few elements, whatever the length."""
    for size in (1024, 1031, 10_007, 2**20 + 7):
        text = rewritten(total((size,), (0,)), ["cpu_sums"]).program.text
        lengths = [
            math.prod(int(each) for each in line.split("(tensor<")[1].split("xf64")[0].split("x")[1:2])
            for line in text.splitlines()
            if "stablehlo.reduce(" in line
        ]
        assert 1 < max(lengths) <= 8


ALONE, LIBRARIES = "cpu_sums", "cpu_sums{libraries=true}"
ROWS, BATCH = "contracting_dims = [1] x [0]", "batching_dims = [0] x [0], contracting_dims = [1] x [1]"


@pytest.mark.parametrize(
    ("text", "spec", "reason"),
    [
        (total((31, 8), (0,)), ALONE, "31 elements are added up at once"),
        (total((37, 1), (0,)), ALONE, "37 elements are added up at once"),
        (total((1023,), (0,)), ALONE, "1023 elements are added up at once"),
        (total((0, 8), (0,)), ALONE, "0 elements are added up at once"),
        (total((40, 0), (0,)), ALONE, "40 elements are added up at once"),
        (total((40, 6), (0,), init="1.0"), ALONE, "the sum does not start from a constant 0"),
        (dot((40, 50), (50,), ROWS, (40,)), ALONE, "50 elements are added up at once"),
        (
            dot((4, 1500), (1500,), ROWS, (4,)),
            ALONE,
            "XLA adds a row's products in several sums",
        ),
        (dot((8,), (8,), "contracting_dims = [0] x [0]", ()), ALONE, "8 elements are added up at once"),
        (total((40, 6), (0,), op="maximum"), ALONE, ""),
        (total((40, 6), (0,), kind="i32", init="0"), ALONE, ""),
        (total((40, 6), (0,), kind="bf16"), ALONE, ""),
        (dot((40, 50), (50, 60), ROWS, (40, 60)), ALONE, ""),
        (dot((2047, 3), (2047,), "contracting_dims = [0] x [0]", (3,), "f64"), LIBRARIES, ""),  # as `jax.jit` does
        (dot((4095, 3), (4095,), "contracting_dims = [0] x [0]", (3,), "f32"), LIBRARIES, ""),
        (dot((3, 4096), (4096,), ROWS, (3,), "f64"), LIBRARIES, ""),
        (dot((4096,), (4096,), "contracting_dims = [0] x [0]", (), "f64"), LIBRARIES, ""),
        (dot((4096, 1), (4096,), "contracting_dims = [0] x [0]", (1,), "f64"), LIBRARIES, ""),
        (dot((4096, 3), (4096, 2), "contracting_dims = [0] x [0]", (3, 2), "f64"), LIBRARIES, ""),
        (dot((0, 3), (0,), "contracting_dims = [0] x [0]", (3,), "f64"), LIBRARIES, ""),
        (dot((4096, 0), (4096,), "contracting_dims = [0] x [0]", (0,), "f64"), LIBRARIES, ""),
        (dot((4096, 3), (4096,), "contracting_dims = [0] x [0]", (3,), "bf16"), LIBRARIES, ""),
        (
            dot((2, 4096, 3), (2, 4096), BATCH, (2, 3), "f64"),
            LIBRARIES,
            "",
        ),
    ],
)
def test_what_stays_and_why(text, spec, reason):
    after = rewritten(text, [spec])
    assert not after.changed
    assert reason in after.text
