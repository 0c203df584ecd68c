"""Products as calls of BLAS, run by PJRT, against NumPy; factors and solves by the pass: test_triangles.py."""

from __future__ import annotations

import ctypes

import jax
import numpy as np
import pytest
import scipy.linalg
from rewritten_runs import as_arrays, close, rewritten, tensor

from hlograph.runtime.direct import object_code, verdict

pytestmark = pytest.mark.skipif(bool(verdict.unsupported()), reason="no direct calls here")

NAMES = {"f64": "float64", "f32": "float32"}


# As in numpy.einsum; a letter's size is its place in the alphabet and one.
PRODUCTS = ["bc,cd", "cb,cd", "bc,dc", "cb,dc", "abc,acd", "acb,adc", "abce,aefc", "cab,dc", "abc,bdc", "bac,cbd"]
PRODUCTS += ["abcd,bdae", "abc,ac", "ba,cab"]


@pytest.mark.sampled(10)
@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("text", PRODUCTS)
def test_products(text: str, kind: str) -> None:
    left, right = text.split(",")
    shared = [letter for letter in left if letter in right]
    batch = [letter for letter in shared if letter == "a"]
    summed = [letter for letter in shared if letter not in batch]
    result = batch + [letter for letter in left + right if letter not in shared]
    shapes = [tuple(ord(letter) - ord("a") + 2 for letter in side) for side in (left, right, result)]
    types = [tensor(shape, kind) for shape in shapes]
    places = [[side.index(letter) for letter in letters] for letters in (batch, summed) for side in (left, right)]
    after = rewritten(
        f"""func.func @main(%a: {types[0]}, %b: {types[1]}) -> {types[2]} {{
  %0 = stablehlo.dot_general %a, %b, batching_dims = {places[0]} x {places[1]},
    contracting_dims = {places[2]} x {places[3]} : ({types[0]}, {types[1]}) -> {types[2]}
  return %0 : {types[2]}
}}""",
        ["cpu_blas"],
    )
    assert after.applied == {"cpu_blas": 1}
    assert object_code.register_blas() == ""
    random = np.random.default_rng(5)
    operands = [random.normal(size=shape).astype(NAMES[kind]) for shape in shapes[:2]]
    (found,) = as_arrays(after.program.compile(optimize="none", cpu="plain")(*operands))
    expected = np.einsum(f"{text}->{''.join(result)}", *operands)
    close(found, expected, 1e-12 if kind == "f64" else 1e-5)


@pytest.mark.parametrize(
    ("target", "shapes", "flags"),
    [
        ("hlograph_gemm", [(3, 3), (3, 3)], {"left": False, "right": False}),
        ("hlograph_trsm", [(3, 3), (3, 3)], {"left": True, "lower": True, "transposed": False, "unit": False}),
        ("hlograph_potrf", [(3, 3)], {"lower": True}),
    ],
)
def test_sizes_that_do_not_agree_are_errors(target: str, shapes, flags) -> None:
    assert object_code.register_blas() == ""
    arrays = [np.ones(shape, np.float32) for shape in shapes]

    def wrong(*arrays):
        return jax.ffi.ffi_call(target, jax.ShapeDtypeStruct((3, 4), np.float32))(*arrays, **flags)

    with pytest.raises(jax.errors.JaxRuntimeError, match="do not agree"):
        jax.block_until_ready(jax.jit(wrong)(*arrays))


@pytest.mark.parametrize("vectors", range(1, object_code.vectors() + 1))
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_small_triangles_with_all_vectors(dtype: type, vectors: int) -> None:
    """Of any size up to a block's, rows from the first one on and from the last one, with and without a diagonal."""
    arguments = [ctypes.c_int] * 3 + [ctypes.c_void_p] * 2 + [ctypes.c_int64, ctypes.c_int]
    code = object_code.load_blas(vectors)
    function = ctypes.CFUNCTYPE(None, *arguments)(code.address("solve_small"))
    number = 12 if dtype == np.float64 else 11
    random = np.random.default_rng(vectors)
    for n, count, unit in [(1, 1, False), (5, 33, True), (31, 7, False), (32, 96, False), (32, 101, True)]:
        triangle = np.full((32, 32), np.nan, dtype)
        triangle[:n, :n] = random.normal(size=(n, n)) / n + 2 * np.eye(n)
        given = random.normal(size=(n, count)).astype(dtype)
        expected = scipy.linalg.solve_triangular(
            triangle[:n, :n].astype(float), given.astype(float), lower=True, unit_diagonal=unit
        )
        forward, backward = given.copy(), given[::-1].copy()
        function(number, n, unit, triangle.ctypes.data, forward.ctypes.data, count, count)
        last = backward.ctypes.data + (n - 1) * count * backward.itemsize
        function(number, n, unit, triangle.ctypes.data, last, -count, count)
        close(forward, expected.astype(dtype), 1e-12 if dtype == np.float64 else 1e-5)
        np.testing.assert_array_equal(backward[::-1], forward)
