"""Products as calls of BLAS, run by PJRT, against NumPy; factors and solves by the pass: test_triangles.py."""

from __future__ import annotations

import ctypes
import itertools

import jax
import llvmlite.binding
import numpy as np
import pytest
from rewritten_runs import as_arrays, close, rewritten, tensor

from hlograph.runtime.direct import native_code, verdict

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
    assert native_code.register_blas() == ""
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
    assert native_code.register_blas() == ""
    arrays = [np.ones(shape, np.float32) for shape in shapes]

    def wrong(*arrays):
        return jax.ffi.ffi_call(target, jax.ShapeDtypeStruct((3, 4), np.float32))(*arrays, **flags)

    with pytest.raises(jax.errors.JaxRuntimeError, match="do not agree"):
        jax.block_until_ready(jax.jit(wrong)(*arrays))


HELD: list[object] = []  # code that XLA has addresses of


@pytest.mark.parametrize("processor", ["this", "any"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_triangles_of_up_to_a_block(dtype: type, processor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With right-hand sides for vectors of each length and the rest; also compiled for an unknown processor."""
    if processor == "any":
        monkeypatch.setattr(llvmlite.binding, "get_host_cpu_name", lambda: "")
        monkeypatch.setattr(llvmlite.binding, "get_host_cpu_features", llvmlite.binding.FeatureMap)
    HELD.append(code := native_code.blas_code.__wrapped__())  # type: ignore[attr-defined]
    function = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(code.address("hlograph_trsm"))
    target = f"trsm_of_{processor}_{np.dtype(dtype)}"
    jax.ffi.register_ffi_target(target, jax.ffi.pycapsule(function), platform="cpu")
    random = np.random.default_rng(7)
    cases = [(1, 1), (5, 33), (31, 7), (32, 96), (32, 107), (40, 43)]
    for (n, count), left, lower, unit in itertools.product(cases, (True, False), (True, False), (True, False)):
        triangle = random.normal(size=(n, n)) / n + 2 * np.eye(n)
        expected = random.normal(size=(n, count))
        matrix = np.tril(triangle) if lower else np.triu(triangle)
        np.fill_diagonal(matrix, 1 if unit else matrix.diagonal())
        given = matrix @ expected if left else expected.T @ matrix
        shape = jax.ShapeDtypeStruct(given.shape, dtype)
        call = jax.ffi.ffi_call(target, shape)
        with jax.enable_x64(True):
            found = call(
                triangle.astype(dtype), given.astype(dtype), left=left, lower=lower, transposed=False, unit=unit
            )
        close(np.asarray(found if left else found.T), expected.astype(dtype), 1e-12 if dtype == np.float64 else 1e-5)
