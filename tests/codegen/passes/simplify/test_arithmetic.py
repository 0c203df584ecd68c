"""Reductions of broadcasts, powers, transposes into dots: values, also special ones."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from rewritten_runs import as_arrays, check, rewritten

from hlograph import Program

SPECIAL = [-0.0, 0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 2.5, -3.5, 1e-30, -1e-30, 1e30, 7e-9]


def power(exponent: str, kind: str = "f32") -> str:
    return f"""func.func @main(%x: tensor<13x{kind}>) -> tensor<13x{kind}> {{
  %c = stablehlo.constant dense<{exponent}> : tensor<13x{kind}>
  %p = stablehlo.power %x, %c : tensor<13x{kind}>
  return %p : tensor<13x{kind}>
}}
"""


@pytest.mark.sampled(4)
@pytest.mark.parametrize("exponent", [*range(-8, 9), -0.5, -1.5, -3.5, 1.5, 2.5, 3.5])
def test_powers(exponent):
    """NumPy's float32 power is the libm's; infinities, zeros and their signs are as it has them."""
    x = np.array(SPECIAL, np.float32)
    with np.errstate(all="ignore"):
        expected = np.power(x.astype(np.float64), float(exponent)).astype(np.float32)
    found = rewritten(power(f"{float(exponent)}"))
    assert found.applied == {"power_to_multiply": 1}
    evaluations = [found.program.interpret(x)[0]]
    if exponent in (-0.5, -1.5, 2.5, -3, 7):
        evaluations += as_arrays(found.program.compile(optimize="none")(x))
    for result in evaluations:
        np.testing.assert_allclose(result, expected, rtol=1e-6, atol=1e-38)
        infinite = np.isinf(expected)
        np.testing.assert_array_equal(np.signbit(result[infinite]), np.signbit(expected[infinite]))
        if exponent > 0:  # below, XLA and NumPy may flush what is denormal
            zero = x == 0
            np.testing.assert_array_equal(np.signbit(result[zero]), np.signbit(expected[zero]))


@pytest.mark.parametrize("exponent", [0, 1, 5, 8])
def test_powers_of_integers_wrap(exponent):
    x = np.array([0, 1, -1, 2, -3, 10, 100, -1000, 5, 6, 7, 8, 123456], np.int32)
    found = check(power(str(exponent), "i32"), [x])
    assert found.applied == {"power_to_multiply": 1}
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found.program.interpret(x)[0], np.power(x, np.int32(exponent)))


IDENTITY = {
    ("f32", "maximum"): "0xFF800000",
    ("f32", "minimum"): "0x7F800000",
    ("f32", "add"): "0.0",
    ("i32", "maximum"): "-2147483648",
    ("i32", "minimum"): "2147483647",
    ("i32", "add"): "0",
    ("i32", "and"): "-1",
    ("i32", "or"): "0",
    ("i1", "and"): "true",
    ("i1", "or"): "false",
    ("ui8", "minimum"): "255",
    ("ui8", "maximum"): "0",
}


def reduced(shape, to, wide, axes, name="maximum", kind="f32", init=None) -> str:
    """A reduction of a broadcast of an argument."""
    init = IDENTITY[kind, name] if init is None else init
    x, b = (f"tensor<{'x'.join([*map(str, each), kind])}>" for each in (shape, wide))
    out = f"tensor<{'x'.join([*[str(n) for axis, n in enumerate(wide) if axis not in axes], kind])}>"
    return f"""func.func @main(%x: {x}) -> {out} {{
  %i = stablehlo.constant dense<{init}> : tensor<{kind}>
  %b = stablehlo.broadcast_in_dim %x, dims = {list(to)} : ({x}) -> {b}
  %r = stablehlo.reduce(%b init: %i) applies stablehlo.{name} across dimensions = {list(axes)}
      : ({b}, tensor<{kind}>) -> {out}
  return %r : {out}
}}
"""


@pytest.mark.parametrize(("kind", "name"), IDENTITY)
def test_every_reduction_keeps_its_bits(kind, name):
    dtype = {"f32": np.float32, "i32": np.int32, "i1": np.bool_, "ui8": np.uint8}[kind]
    rng = np.random.default_rng(0)
    x = rng.integers(0, 200, (3, 4)).astype(dtype)
    if kind == "f32":
        x = np.resize(SPECIAL, (3, 4)).astype(dtype)
    for axes in ([1], [0, 1], [1, 2]):
        text = reduced((3, 4), (0, 2), (3, 5, 4), axes, name, kind)
        found = check(text, [x], exact=not (kind == "f32" and name == "add"), run=False)
        assert found.applied == {"reduce_of_broadcast": 1}


def test_an_initial_value_that_counts():
    """The interpreter takes it in; it is no identity, so it stays."""
    text = reduced((3,), (0,), (3, 4), [1], init="1.5")
    found = check(text, [np.array([1, 2, np.nan], np.float32)], run=False)
    assert found.applied == {"reduce_of_broadcast": 1}
    np.testing.assert_array_equal(found.program.interpret(np.float32([1, 2, np.nan]))[0], [1.5, 2, np.nan])


@pytest.mark.parametrize("axes", [[0], [0, 2]])
def test_axes_that_are_not_broadcast_stay(axes):
    found = rewritten(reduced((3, 4), (0, 2), (3, 5, 4), axes))
    assert not found.changed
    assert not found.text


MANY = reduced((1,), (0,), (4097,), [0], "add", "f16", init="0.0")
LEFT_ALONE = {
    power("2.25"): "the exponent 2.25 is not whole",
    power("0.5"): "the exponent 0.5 is not whole",
    power("9.0"): "the exponent 9 is beyond 8",
    power("-1", "i32"): "integers with the exponent -1",
    power("(2.0, 0.0)", "complex<f32>"): "a power of complex numbers",
    power("2.0").replace("power %x, %c", "power %x, %x"): "the exponent is not one constant number",
    reduced((3,), (0,), (3, 4), [1], "add", init="1.0"): "the sum's initial value is not 0",
    reduced((3,), (0,), (3, 4), [1], "multiply", init="1.0"): "a reduction by stablehlo.multiply is not known",
    reduced((3,), (0,), (3, 0), [1]): "axis 1 is empty, so that the result is the initial value",
    MANY: "4097 copies: not a number of float16",
}


@pytest.mark.parametrize("text", LEFT_ALONE, ids=LEFT_ALONE.values())
def test_what_stays_and_why(text):
    found = rewritten(text)
    assert not found.changed
    assert LEFT_ALONE[text] in found.text


def test_transposes_into_dots():
    """All orders of a batched operand's axes: the result's are kept, or the transpose stays."""
    rng = np.random.default_rng(0)
    b = rng.normal(size=(2, 5, 3)).astype(np.float32)
    applied = 0
    for order in itertools.permutations(range(4)):
        # The dot sees batch, two free axes, and the contracted one.
        seen = [2, 4, 6, 3]
        shape = [0] * 4
        for place, axis in enumerate(order):
            shape[axis] = seen[place]
        a = f"tensor<{'x'.join(map(str, shape))}xf32>"
        text = f"""func.func @main(%a: {a}, %b: tensor<2x5x3xf32>) -> tensor<2x4x6x5xf32> {{
  %t = stablehlo.transpose %a, dims = {list(order)} : ({a}) -> tensor<2x4x6x3xf32>
  %u = stablehlo.transpose %b, dims = [2, 0, 1] : (tensor<2x5x3xf32>) -> tensor<3x2x5xf32>
  %d = stablehlo.dot_general %t, %u, batching_dims = [0] x [1], contracting_dims = [3] x [0]
      : (tensor<2x4x6x3xf32>, tensor<3x2x5xf32>) -> tensor<2x4x6x5xf32>
  return %d : tensor<2x4x6x5xf32>
}}
"""
        found = check(text, [rng.normal(size=shape).astype(np.float32), b], exact=False, rtol=1e-5, run=False)
        transposes = found.program.op_counts().get("stablehlo.transpose", 0)
        assert transposes == (0 if order[1] < order[2] else 1), order
        applied += found.applied["transpose_into_dot"]
    assert applied == 24


FEW_BITS = {"f8E4M3FN": ("f32", "0.0", "3.0"), "i4": ("i32", "0", "3"), "bf16": ("f32", "0.0", "3.0")}


@pytest.mark.parametrize("spec", ["simplify", "simplify{reassociate=false}"])
@pytest.mark.parametrize("kind", FEW_BITS)
def test_types_of_few_bits(kind, spec):
    """NumPy may lack them; what comes out is valid, and gives the same where XLA knows the type."""
    wide, zero, three = FEW_BITS[kind]
    v2, v4, two, four = (f"tensor<{n}x{t}>" for t in (kind, wide) for n in (2, 4))
    text = f"""func.func @main(%w: {two}) -> ({four}, {two}, {two}) {{
  %x = stablehlo.convert %w : ({two}) -> {v2}
  %z = stablehlo.constant dense<{zero}> : tensor<{kind}>
  %e = stablehlo.constant dense<{three}> : {v2}
  %p = stablehlo.pad %x, %z, low = [0], high = [2], interior = [0] : ({v2}, tensor<{kind}>) -> {v4}
  %q = stablehlo.pad %x, %z, low = [2], high = [0], interior = [0] : ({v2}, tensor<{kind}>) -> {v4}
  %s = stablehlo.add %p, %q : {v4}
  %b = stablehlo.broadcast_in_dim %x, dims = [0] : ({v2}) -> tensor<2x3x{kind}>
  %r = stablehlo.reduce(%b init: %z) applies stablehlo.add across dimensions = [1]
      : (tensor<2x3x{kind}>, tensor<{kind}>) -> {v2}
  %t = stablehlo.power %x, %e : {v2}
  %sw = stablehlo.convert %s : ({v4}) -> {four}
  %rw = stablehlo.convert %r : ({v2}) -> {two}
  %tw = stablehlo.convert %t : ({v2}) -> {two}
  return %sw, %rw, %tw : {four}, {two}, {two}
}}
"""
    found = rewritten(text, [spec])
    assert found.applied["sum_of_pads"] == 1
    if kind == "bf16":
        x = np.array([1.5, -0.0], np.float32)
        before, after = (as_arrays(p.compile(optimize="none")(x)) for p in (Program.parse(text), found.program))
        for one, other in zip(before, after, strict=True):
            np.testing.assert_array_equal(one, other)
