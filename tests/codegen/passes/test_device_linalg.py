"""device_linalg: the platform's library on CPU, a valid module on every other platform."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.tensor import linalg as ptl
from support import assert_same, reference

import hlograph
from hlograph import errors

pytestmark = pytest.mark.sampled(4)

A, B, A3 = pt.dmatrix("a"), pt.dmatrix("b"), pt.dtensor3("a3")
RNG = np.random.default_rng(8)
SIZES = {"n": 4, "k": 2}
DIMS = {"a": ("n", "n"), "b": ("n", "k")}


def program(outputs: list, inputs: list | None = None, dims: dict | None = None) -> hlograph.Program:
    return hlograph.emit_stablehlo((inputs or [A, B], outputs), dims=dims or DIMS)


def positive(n: int) -> np.ndarray:
    x = RNG.normal(size=(n, n))
    return x @ x.T + n * np.eye(n)


GRAPHS = {
    "cholesky": (ptl.cholesky(A), {"potrf"}),
    "upper": (ptl.cholesky(A, lower=False), {"potrf"}),
    "triangular": (ptl.solve_triangular(A, B, lower=True), {"trsm"}),
    "unit": (ptl.solve_triangular(A, B, unit_diagonal=True, trans=1), {"trsm"}),
    "cholesky_solve": (ptl.cho_solve((A, True), B), {"trsm"}),
    "solve": (ptl.solve(A, B), {"getrf", "trsm"}),
    "solve_pos": (ptl.solve(A, B, assume_a="pos"), {"potrf", "trsm"}),
    "inverse": (ptl.inv(A), {"getrf", "trsm"}),
    "det": (ptl.det(A), {"getrf"}),
    "qr": (ptl.qr(A)[0], {"geqrf", "orgqr"}),
    "r": (ptl.qr(A, mode="r"), {"geqrf"}),
    "pivoted_qr": (ptl.qr(A, mode="economic", pivoting=True)[0], {"geqp3", "orgqr"}),
    "eigh": (ptl.eigh(A @ A.T)[0], {"syevd"}),
    "svd": (ptl.svd(A @ A.T)[1], {"gesdd"}),
    "economic_svd": (ptl.svd(A, full_matrices=False)[1], {"gesdd"}),
    "singular_values": (ptl.svd(A, compute_uv=False), {"gesdd"}),
    "expm": (ptl.expm(A / 8), {"getrf", "trsm"}),
}


WITHOUT_FORM = {"eig": (abs(ptl.eig(A)[0]), {"geev"}), "schur": (ptl.schur(A)[0], {"gees"})}


def library_calls(text: str) -> set[str]:
    """LAPACK routines that a module calls, without the letter for the dtype."""
    return {name[1:] for name in re.findall(r"@lapack_(\w+?)_ffi", text)}


@pytest.mark.parametrize("name", [*GRAPHS, *WITHOUT_FORM])
def test_cpu_programs_call_lapack(name: str) -> None:
    graph, expected = {**GRAPHS, **WITHOUT_FORM}[name]
    static = program([graph]).specialize(SIZES)
    assert library_calls(static.text) == set()
    after = static.optimize(["device_linalg{platform=cpu}"])
    assert library_calls(after.text) == expected
    assert "stablehlo.cholesky" not in after.text
    assert "hlograph.implements" not in after.text, "the portable form is still there"
    assert after.signature == static.signature


@pytest.mark.parametrize("name", ["solve", "qr", *WITHOUT_FORM])
def test_what_passes_on_loops_rewrite_calls_the_library_too(name: str) -> None:
    graph, expected = {**GRAPHS, **WITHOUT_FORM}[name]
    steps = pytensor.scan(lambda row, a: (a @ row).sum(), sequences=A, non_sequences=A, return_updates=False)
    output = abs(graph).sum() + steps.sum() + B.sum()
    static = program([output]).specialize(SIZES)
    rewritten = static.optimize("default")
    assert rewritten.text != static.text
    assert library_calls(rewritten.optimize(["device_linalg"]).text) == expected
    values = [positive(4), RNG.normal(size=(4, 2))]
    assert_same(static.compile()(*values), reference([A, B], [output], values)[0], rtol=1e-11)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_dtypes(dtype: str) -> None:
    x = pt.matrix("x", dtype=dtype)
    static = program([ptl.solve(x, ptl.cholesky(x))], [x], {"x": ("n", "n")}).specialize({"n": 3})
    letter = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}[dtype]
    text = static.optimize(["device_linalg"]).text
    assert set(re.findall(r"@lapack_(\w)\w+?_ffi", text)) == {letter}


@pytest.mark.parametrize("batch", [0, 1, 3])
@pytest.mark.parametrize("n", [0, 1, 3])
def test_batches(batch: int, n: int) -> None:
    """LAPACK's LU of every matrix in the batch equals the portable loop, which the interpreter runs."""
    outputs = [ptl.inv(A3), ptl.det(A3)]
    each = hlograph.emit_stablehlo(([A3], outputs))
    values = RNG.normal(size=(batch, n, n)) + 2 * np.eye(n)[::-1]
    for found, expected in zip(each.compile()(values), each.interpret(values), strict=True):
        assert_same(found, expected, rtol=1e-11)


@pytest.mark.parametrize("platform", ["cpu", "gpu", "cuda", "rocm", "tpu"])
@pytest.mark.parametrize("size", [0, 1, 4])
def test_every_platform_gives_a_valid_module(platform: str, size: int) -> None:
    static = program([graph for graph, _ in GRAPHS.values()]).specialize({"n": size, "k": 2})
    after = static.optimize([f"device_linalg{{platform={platform}}}"])
    assert hlograph.Program.parse(after.text).signature == static.signature


@pytest.mark.parametrize(("dtype", "library"), [("float32", True), ("float64", False), ("complex64", True)])
def test_on_a_tpu_lu_of_64_bit_types_stays_portable(dtype: str, library: bool) -> None:
    """XLA:TPU: "Only F32 and C64 types are implemented in LuDecomposition"."""
    a = pt.matrix("a", dtype=dtype)
    static = hlograph.emit_stablehlo(([a], [ptl.lu_factor(a)[0]]), dims={"a": (4, 4)})
    after = static.optimize(["device_linalg{platform=tpu}"]).text
    assert ("@LuDecomposition" in after, "hlograph.implements" in after) == (library, not library)


@pytest.mark.parametrize("name", WITHOUT_FORM)
def test_what_has_no_portable_form_needs_a_library(name: str) -> None:
    graph, _ = WITHOUT_FORM[name]
    static = program([graph], [A], {"a": (3, 3)})
    with pytest.raises(errors.PassError, match=f"{name} of float64 matrices has a library on .*cannot run on tpu"):
        static.optimize(["device_linalg{platform=tpu}"])


def test_lapack_divides_by_the_rows_of_a_pivoted_qr() -> None:
    """Of an empty matrix the portable form stays."""
    wide = hlograph.emit_stablehlo(([A], [ptl.qr(A, pivoting=True)[2]]), dims={"a": (0, 3)})
    assert "geqp3" not in library_calls(wide.optimize(["device_linalg"]).text)
    np.testing.assert_array_equal(wide.compile()(np.zeros((0, 3))), [0, 1, 2])


def test_what_is_marked_by_an_unknown_name_keeps_its_portable_form() -> None:
    static = program([ptl.solve(A, B)]).specialize(SIZES)
    renamed = re.sub('implements = "[a-z_]*"', 'implements = "unknown"', static.text)
    after = hlograph.Program.parse(renamed).optimize(["device_linalg"])
    assert library_calls(after.text) <= {"trsm"}
    a, b = positive(4), np.ones((4, 2))
    np.testing.assert_allclose(after.compile()(a, b), np.linalg.solve(a, b), rtol=1e-12)


def test_a_saved_program_calls_the_library_where_it_is_loaded(tmp_path: Path) -> None:
    outputs = [ptl.qr(A, mode="r"), ptl.eigvalsh(A), ptl.svd(A, compute_uv=False), abs(ptl.eig(A)[0])]
    path = tmp_path / "factors.mlirbc"
    program(outputs, [A], {"a": ("n", "n")}).save(path)
    value = positive(4)
    loaded = hlograph.load(path)
    for found, expected in zip(loaded.compile()(value), reference([A], outputs, [value]), strict=True):
        assert_same(np.sort(found), np.sort(expected), rtol=1e-11)
    text = loaded.specialize({"n": 4}).optimize(["device_linalg"]).text
    assert library_calls(text) == {"geqrf", "syevd", "gesdd", "geev"}


def test_functions_of_the_users_module_keep_their_names() -> None:
    text = """
    func.func @main(%a: tensor<2x2xf64>) -> tensor<2x2xf64> {
      %0 = stablehlo.cholesky %a, lower = true : tensor<2x2xf64>
      %1 = call @cholesky_cpu(%0) : (tensor<2x2xf64>) -> tensor<2x2xf64>
      return %1 : tensor<2x2xf64>
    }
    func.func private @cholesky_cpu(%a: tensor<2x2xf64>) -> tensor<2x2xf64> {
      %0 = stablehlo.add %a, %a : tensor<2x2xf64>
      return %0 : tensor<2x2xf64>
    }"""
    function = hlograph.Program.parse(text).optimize(["device_linalg"]).compile()
    np.testing.assert_allclose(function(np.diag([4.0, 9.0])), np.diag([4.0, 6.0]))
