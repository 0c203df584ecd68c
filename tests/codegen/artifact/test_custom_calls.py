"""Custom calls in files: those that JAX's own lowerings write are taken, all others are refused or opened by hand."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from jax.lax import linalg

import hlograph
from hlograph.codegen.artifact.custom_calls import TARGETS
from hlograph.errors import ArtifactError

SQUARE, TALL = (5, 3, 3), (5, 4, 3)
FUNCTIONS = {
    "potrf": (linalg.cholesky, [SQUARE]),
    "getrf": (linalg.lu, [TALL]),
    "trsm, left": (lambda a, b: linalg.triangular_solve(a, b, left_side=True), [SQUARE, (5, 3, 2)]),
    "trsm, right": (lambda a, b: linalg.triangular_solve(a, b), [SQUARE, (5, 2, 3)]),
    "geqrf": (lambda a: linalg.qr(a, full_matrices=False), [TALL]),
    "geqp3": (lambda a: linalg.qr(a, pivoting=True), [TALL]),
    "orgqr": (linalg.householder_product, [TALL, (5, 2)]),
    "gesdd": (lambda a: linalg.svd(a, full_matrices=True), [TALL]),
    "gesdd, thin": (lambda a: linalg.svd(a, full_matrices=False), [TALL]),
    "gesdd, values": (lambda a: linalg.svd(a, compute_uv=False), [TALL]),
    "gesvd": (lambda a: linalg.svd(a, algorithm=linalg.SvdAlgorithm.QR), [TALL]),
    "syevd": (linalg.eigh, [SQUARE]),
    "geev": (linalg.eig, [SQUARE]),
    "gees": (linalg.schur, [SQUARE]),
    "gehrd": (linalg.hessenberg, [SQUARE]),
    "sytrd": (linalg.tridiagonal, [SQUARE]),
    "gtsv": (linalg.tridiagonal_solve, [(3,), (3,), (3,), (3, 2)]),
}


def lowered(name: str, platform: str, dtype: str) -> str:
    function, shapes = FUNCTIONS[name]
    with jax.enable_x64(True):
        specs = [jax.ShapeDtypeStruct(shape, dtype) for shape in shapes]
        return jax.jit(function).trace(*specs).lower(lowering_platforms=(platform,)).as_text()


CASES = [
    (name, platform, dtype)
    for dtype in ("float32", "float64", "complex64", "complex128")
    for platform in ("cpu", "cuda", "tpu")
    for name in FUNCTIONS
    if platform == "cpu" or name not in ("gees", "gehrd", "geev", "geqp3", "gesvd", "sytrd")
]


@pytest.mark.sampled(12)
@pytest.mark.parametrize(("name", "platform", "dtype"), CASES, ids=" ".join)
def test_what_jax_writes_is_taken(name: str, platform: str, dtype: str) -> None:
    try:
        text = lowered(name, platform, dtype)
    except NotImplementedError:
        pytest.skip("JAX has none")
    hlograph.Program.parse(text)


def call(target: str, config: str = "uplo = 76 : ui8") -> str:
    return f"""func.func @main(%x: tensor<5x3x3xf64>) -> tensor<5x3x3xf64> {{
      %0:2 = stablehlo.custom_call @{target}(%x) {{mhlo.backend_config = {{{config}}}}}
        : (tensor<5x3x3xf64>) -> (tensor<5x3x3xf64>, tensor<5xi32>)
      return %0#0 : tensor<5x3x3xf64>
    }}"""


CHOLESKY = call("lapack_dpotrf_ffi")
WRONG = {
    "a result that is too short": ("tensor<5xi32>", "tensor<4xi32>", "a size of result 1 is 4, not batch0 = 5"),
    "a batch too few": ("tensor<5xi32>", "tensor<i32>", r"result 1 is i32\[\], not i32\[batch0\]"),
    "a result too few": (", tensor<5xi32>", "", "1 results, not 1 and 2"),
    "a result of another type": ("tensor<5xi32>", "tensor<5xi8>", "result 1 is i8"),
    "no square": ("-> (tensor<5x3x3xf64>", "-> (tensor<5x3x4xf64>", "result 0 is 4, not n = 3"),
    "another dtype's function": ("lapack_dpotrf", "lapack_spotrf", "operand 0 is f64"),
    "another option": ("uplo = 76 : ui8", "uplo = 77 : ui8", "uplo is 77"),
    "an option of another type": ("uplo = 76 : ui8", "uplo = 76 : i32", "uplo is 76 : i32"),
    "an option that is no number": ("uplo = 76 : ui8", 'uplo = "L"', "uplo is"),
    "an option too many": ("uplo = 76 : ui8", "uplo = 76 : ui8, x = 1 : i32", "it is told"),
    "the untyped convention": ("mhlo.backend_config = {uplo = 76 : ui8}", "", "typed FFI"),
    "a configuration twice": ("{mhlo", '{backend_config = "x", mhlo', "typed FFI"),
    "a text for a dictionary": ("{uplo = 76 : ui8}", '"L"', "no dictionary"),
    "an attribute": ("{mhlo", "{other, mhlo", r"the attributes \['other'\]"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_does_not_fit_is_refused(what: str) -> None:
    old, new, message = WRONG[what]
    before, _, call_and_after = CHOLESKY.partition("%0:2")
    text = before + "%0:2" + call_and_after.replace(old, new, 1)
    text = text.replace("return %0#0 : tensor<5x3x3xf64>", "return %x : tensor<5x3x3xf64>")
    text = text.replace("%0:2", "%0").replace("%0#0", "%0") if "too few" in what and "result" in what else text
    with pytest.raises(ArtifactError, match=message):
        hlograph.Program.parse(text)


def test_open_sizes_are_checked_once_they_are_known() -> None:
    """What the call says of its result's sizes is a value, which only refinement knows."""
    text = """func.func @main(%x: tensor<?x?xf64> {hlograph.dims = ["n", "n"]}) -> tensor<?x?xf64> {
      %s = stablehlo.constant dense<[8, 8]> : tensor<2xi64>
      %none = stablehlo.constant dense<> : tensor<0xi64>
      %0:2 = stablehlo.custom_call @lapack_dpotrf_ffi(%x, %s, %none) {
          mhlo.backend_config = {uplo = 76 : ui8}, indices_of_shape_operands = dense<[1, 2]> : tensor<2xi64>}
        : (tensor<?x?xf64>, tensor<2xi64>, tensor<0xi64>) -> (tensor<?x?xf64>, tensor<i32>)
      return %0#0 : tensor<?x?xf64>
    }"""
    program = hlograph.Program.parse(text)
    assert program.specialize({"n": 8}).signature.results[0].dims == (8, 8)
    with pytest.raises(ArtifactError, match="a size of result 0 is 8, not n = 9"):
        program.compile()(np.eye(9))


def test_a_name_that_is_not_known_is_opened_by_hand() -> None:
    text = call("lapack_dpotrf_fft")
    with pytest.raises(ArtifactError, match=r"did you mean 'lapack_dpotrf_ffi'.*allow=\['lapack_dpotrf_fft'\]"):
        hlograph.Program.parse(text)
    assert hlograph.Program.parse(text, allow=["lapack_dpotrf_fft"]).op_counts()["stablehlo.custom_call"] == 1


def test_all_targets_of_jaxlib_that_are_not_known_are_refused() -> None:
    from jax._src.lib import xla_client

    names = {"SliceToDynamic", "TopK", "dce_sink", '"__onednn$matmul"', "tpu_custom_call", "AllocateBuffer"}
    for name in names | (xla_client.custom_call_targets("Host").keys() - TARGETS):
        with pytest.raises(ArtifactError, match="not one that a file may hold"):
            hlograph.Program.parse(call(name))


def test_what_is_known_runs(tmp_path) -> None:
    """A fresh process of JAX's has not made the library's table: the module's run is right all the same."""
    (tmp_path / "x.mlir").write_text(lowered("potrf", "cpu", "float64"))
    matrix = np.broadcast_to(np.array([[4.0, 2, 0], [2, 5, 1], [0, 1, 3]]), SQUARE)
    found = hlograph.load(tmp_path / "x.mlir").compile(outputs="numpy")(matrix)
    np.testing.assert_allclose(np.tril(found), np.linalg.cholesky(matrix), rtol=1e-14)
