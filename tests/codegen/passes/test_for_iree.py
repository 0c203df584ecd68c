"""for_iree: the same results as before the pass, by XLA; what it refuses, it names."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from jax import lax

import hlograph
from hlograph import errors

VALUES = [0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.0, -7.0, 1e-300, -1e-17, 1e-9, 30.0, -745.0, 709.0, 1e300]
SPECIAL = [*VALUES, np.inf, -np.inf, np.nan, 4.0, 1e17, 2.5]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    ("op", "expected"),
    [
        ("log_plus_one", np.log1p),
        ("exponential_minus_one", np.expm1),
        ("power", np.power),
        ("sine", np.sin),
        ("atan2", np.arctan2),
    ],
)
def test_elementwise(op: str, expected: np.ufunc, dtype: str) -> None:
    type_ = f"tensor<{len(SPECIAL) ** 2}x{dtype.replace('float', 'f')}>"
    binary = expected.nin == 2
    operands, types = ("%x, %y", f"{type_}, {type_}") if binary else ("%x", type_)
    line = f"%r = stablehlo.{op} {operands} : ({types}) -> {type_}"
    text = f"func.func @main(%x: {type_}, %y: {type_}) -> {type_} {{\n{line}"
    fn = hlograph.Program.parse(f"{text}\nreturn %r : {type_}\n}}").optimize(["for_iree"]).compile(policy="exact")
    x, y = (a.ravel().astype(dtype) for a in np.meshgrid(SPECIAL, SPECIAL))
    with np.errstate(all="ignore"):
        wanted = expected(x, y) if binary else expected(x)
    found = np.asarray(fn(x, y))
    usual = ~((np.abs(wanted) < np.finfo(dtype).tiny) & (wanted != 0))  # subnormal numbers become 0
    rtol = 1e-12 if dtype == "float64" else 1e-6
    np.testing.assert_allclose(found[usual], wanted[usual], rtol=rtol)
    zeros = usual & (wanted == 0)
    assert (np.signbit(found[zeros]) == np.signbit(wanted[zeros])).all()


@pytest.mark.parametrize("mode", ["add", "set", "max"])
@pytest.mark.parametrize("dims", [((1, 2), ()), ((1,), (0,)), ((), (0, 1))], ids=["windows", "rows", "elements"])
def test_no_scatter_writes_outside(mode: str, dims: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    """Places are those of the array, or of the rows behind it; the results are what they were."""
    offsets, inserted = dims
    numbers = lax.ScatterDimensionNumbers(offsets, inserted, inserted or (0, 1))
    places = np.array([[1, 2], [-1, 0], [4, 3], [0, 3], [-(2**63), 0], [2**40, 1]])[:, : len(inserted) or 2]
    shape = {2: (6, 2, 1), 1: (6, 5), 0: (6,)}[len(offsets)]
    x, updates = np.arange(20.0).reshape(4, 5), np.arange(np.prod(shape)).reshape(shape) + 100.0
    by = {"add": lax.scatter_add, "set": lax.scatter, "max": lax.scatter_max}[mode]
    with jax.enable_x64(True):
        raw = lax.GatherScatterMode.PROMISE_IN_BOUNDS  # the op alone
        text = jax.jit(lambda *xs: by(*xs, numbers, mode=raw)).lower(x, places, updates).as_text()
    before = hlograph.Program.parse(text)
    after = before.optimize(["for_iree"])
    assert "stablehlo.pad" in after.text
    np.testing.assert_array_equal(after.interpret(x, places, updates)[0], before.compile()(x, places, updates))


OPEN = """func.func @main(%x: tensor<?xf64> {hlograph.name = "x", hlograph.dims = ["n"]}) -> tensor<?xf64> {
  return %x : tensor<?xf64> }"""
CALL = """func.func @main(%x: tensor<3x3xf64>) -> tensor<3x3xf64> {
  %0:2 = stablehlo.custom_call @lapack_dpotrf_ffi(%x) {mhlo.backend_config = {uplo = 76 : ui8}}
    : (tensor<3x3xf64>) -> (tensor<3x3xf64>, tensor<i32>)
  return %0#0 : tensor<3x3xf64> }"""
CBRT = """func.func @main(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = stablehlo.cbrt %x : tensor<3xf64>
  return %0 : tensor<3xf64> }"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (OPEN, r"the program has dynamic sizes.*program\.plain\(bounds="),
        (CALL, "no custom call lapack_dpotrf_ffi"),
        (CBRT, r"no stablehlo\.cbrt"),
    ],
)
def test_refused(text: str, message: str) -> None:
    with pytest.raises(errors.PassError, match=message):
        hlograph.Program.parse(text).optimize(["for_iree"])


def test_what_padding_demands_is_told_by_plain_alone() -> None:
    """A module that is padded has demands on its live sizes, which nobody would check in IREE."""
    x = jax.ShapeDtypeStruct(("n",), "float32")
    program = hlograph.emit_stablehlo(lambda x: x[3:].sum(), x, constraints=["n >= 3"])
    with pytest.raises(errors.PassError, match=r"the program has n >= 1.*program\.plain"):
        program.pad({"n": 8}).optimize(["for_iree"])
    assert program.plain(bounds={"n": 8}).optimize(["for_iree"]).signature.checks


def test_a_program_with_its_pullback_is_refused() -> None:
    """IREE takes one program a file: of a second module inside it leaves the ops as they are, and refuses them."""
    spec = jax.ShapeDtypeStruct((4,), "float32")
    whole = hlograph.emit_stablehlo(lambda x: (x**2).mean(), spec).with_derivatives(1)
    with pytest.raises(errors.PassError, match=r"for_iree: the program has its pullback.*--without-derivatives"):
        whole.optimize(["for_iree"])
    assert "stablehlo.multiply" in whole.with_derivatives(0).optimize(["for_iree"]).text
