"""What `tidy` leaves out changes no bit, and what would change one stays."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from builds import module_of

from hlograph import Program
from hlograph.codegen.ir.tidy import tidy

# Signed zeros, infinities, a NaN with a payload, subnormal and ordinary numbers.
VALUES = np.array([0.0, -0.0, np.inf, -np.inf, 1e-310, -1e-310, 1.5, -2.5, np.pi])
VALUES = np.append(VALUES, np.array([0x7FF80000DEADBEEF], np.int64).view(np.float64))
COUNT = len(VALUES)

HEAD = """
func.func @main(%x: tensor<SxT>, %s: tensor<T>, %p: tensor<Sxi1>) -> tensor<SxT> {
  %scalar = stablehlo.constant dense<NUMBER> : tensor<T>
  %whole = stablehlo.constant dense<NUMBER> : tensor<SxT>
  %spread = stablehlo.broadcast_in_dim %scalar, dims = [] : (tensor<T>) -> tensor<SxT>
  BODY
  return %r : tensor<SxT>
}"""


def made(body: str, number: str = "1.0", dtype: str = "f64", size: str = str(COUNT)) -> str:
    text = HEAD.replace("BODY", body).replace("NUMBER", number)
    return text.replace("S", size).replace("xT", f"x{dtype}").replace("<T>", f"<{dtype}>")


def op(name: str, one: str, other: str) -> str:
    return f"%r = stablehlo.{name} {one}, {other} : tensor<SxT>"


def ops_after(text: str) -> Counter[str]:
    module = module_of(text)
    tidy(module)
    return Program(module).op_counts()


GONE = {
    "1 * x": (op("multiply", "%whole", "%x"), "1.0"),
    "x * 1": (op("multiply", "%x", "%spread"), "1.0"),
    "x / 1": (op("divide", "%x", "%spread"), "1.0"),
    "x + -0": (op("add", "%x", "%spread"), "-0.0"),
    "-0 + x": (op("add", "%whole", "%x"), "-0.0"),
    "x - 0": (op("subtract", "%x", "%spread"), "0.0"),
    "--x": ("%n = stablehlo.negate %x : tensor<SxT>\n%r = stablehlo.negate %n : tensor<SxT>", "0.0"),
    "select": ("%r = stablehlo.select %p, %x, %x : tensor<Sxi1>, tensor<SxT>", "0.0"),
    "convert": ("%r = stablehlo.convert %x : tensor<SxT>", "0.0"),
    "reshape": ("%r = stablehlo.reshape %x : (tensor<SxT>) -> tensor<SxT>", "0.0"),
    "transpose": ("%r = stablehlo.transpose %x, dims = [0] : (tensor<SxT>) -> tensor<SxT>", "0.0"),
    "broadcast": ("%r = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<SxT>) -> tensor<SxT>", "0.0"),
    "slice": ("%r = stablehlo.slice %x [0:S] : (tensor<SxT>) -> tensor<SxT>", "0.0"),
    "concatenate": ("%r = stablehlo.concatenate %x, dim = 0 : (tensor<SxT>) -> tensor<SxT>", "0.0"),
}
STAYS = {
    "x + 0": (op("add", "%x", "%spread"), "0.0", "f64"),
    "x - -0": (op("subtract", "%x", "%spread"), "-0.0", "f64"),
    "0 - x": (op("subtract", "%spread", "%x"), "0.0", "f64"),
    "1 / x": (op("divide", "%spread", "%x"), "1.0", "f64"),
    "x * 2": (op("multiply", "%x", "%spread"), "2.0", "f64"),
    "x * nan": (op("multiply", "%x", "%spread"), "0x7FF8000000000000", "f64"),
    "complex x * 1": (op("multiply", "%x", "%spread"), "(1.0, 0.0)", "complex<f64>"),
    "complex x - 0": (op("subtract", "%x", "%spread"), "(0.0, 0.0)", "complex<f64>"),
}


@pytest.mark.parametrize("body", GONE)
def test_identities_are_gone_and_keep_every_bit(body):
    text = made(*GONE[body])
    assert set(ops_after(text)) <= {"func.func", "func.return", "builtin.module"}
    # The interpreter says that the op was one.
    found = Program.parse(text).interpret(VALUES, np.float64(1), np.ones(COUNT, bool))
    found = found[0] if isinstance(found, tuple) else found
    numbers = ~np.isnan(VALUES)
    np.testing.assert_array_equal(found.view(np.int64)[numbers], VALUES.view(np.int64)[numbers])
    assert np.isnan(found[~numbers]).all()


@pytest.mark.parametrize("body", STAYS)
def test_what_is_no_identity_stays(body):
    text, number, dtype = STAYS[body]
    assert any(name.startswith("stablehlo.") for name in ops_after(made(text, number, dtype)))


def test_open_sizes_integers_and_broadcasts_of_broadcasts():
    spread = """%size = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xT>) -> tensor<i32>
  %shape = stablehlo.reshape %size : (tensor<i32>) -> tensor<1xi32>
  %ones = stablehlo.dynamic_broadcast_in_dim %scalar, %shape, dims = [] : (tensor<T>, tensor<1xi32>) -> tensor<?xT>
  %r = stablehlo.multiply %x, %ones : tensor<?xT>"""
    text = made(spread, "1", "i64", "?")
    text = "\n".join(line for line in text.split("\n") if "%whole =" not in line and "%spread =" not in line)
    assert set(ops_after(text)) <= {"func.func", "func.return", "builtin.module"}
    twice = """%one = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<T>) -> tensor<1xT>
  %two = stablehlo.broadcast_in_dim %one, dims = [0] : (tensor<1xT>) -> tensor<SxT>
  %r = stablehlo.add %two, %x : tensor<SxT>"""
    assert ops_after(made(twice))["stablehlo.broadcast_in_dim"] == 1
