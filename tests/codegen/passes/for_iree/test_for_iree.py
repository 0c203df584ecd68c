"""for_iree: the same results as before the pass, by XLA, at sizes that one module serves; what it refuses, it names."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from support import assert_same

import hlograph
from hlograph import errors
from hlograph.codegen.artifact.writing import to_portable

MATRIX, VECTOR = "tensor<?x?xf64>", "tensor<?xf64>"
SIZES = """
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x?xf64>) -> tensor<i32>
  %m = stablehlo.get_dimension_size %x, dim = 1 : (tensor<?x?xf64>) -> tensor<i32>
  %n1 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %m1 = stablehlo.reshape %m : (tensor<i32>) -> tensor<1xi32>
  %nm = stablehlo.multiply %n1, %m1 : tensor<1xi32>
  %one = stablehlo.constant dense<1> : tensor<1xi32>
  %none = stablehlo.constant dense<0> : tensor<1xi32>
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %first = stablehlo.constant dense<0> : tensor<i32>
"""
# A result's type, and what makes it of %x (n, m), %v (m) and the int32 scalar %k; ops that the pass leaves none of.
FORMS = {
    "reshape_column": (
        "tensor<?x1xf64>",
        """%s = stablehlo.concatenate %m1, %one, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
        %r = stablehlo.dynamic_reshape %v, %s : ({V}, tensor<2xi32>) -> tensor<?x1xf64>""",
        "dynamic_reshape",
    ),
    "product_vector": (
        VECTOR,
        "%r = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : ({M}, {V}) -> {V}",
        "dot_general",
    ),
    "product_all": (
        "tensor<f64>",
        "%r = stablehlo.dot_general %x, %x, contracting_dims = [0, 1] x [0, 1] : ({M}, {M}) -> tensor<f64>",
        "dot_general",
    ),
    "product_outer": (
        MATRIX,
        "%r = stablehlo.dot_general %v, %v, contracting_dims = [] x [] : ({V}, {V}) -> {M}",
        "dot_general",
    ),
    "gather_rows": (
        MATRIX,
        """%i = stablehlo.dynamic_iota %n1, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>
        %kk = stablehlo.dynamic_broadcast_in_dim %k, %n1, dims = [] : (tensor<i32>, tensor<1xi32>) -> tensor<?xi32>
        %j = stablehlo.subtract %kk, %i : tensor<?xi32>
        %s = stablehlo.concatenate %one, %m1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
        %r = "stablehlo.dynamic_gather"(%x, %j, %s) <{{dimension_numbers = #stablehlo.gather<offset_dims = [1],
            collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}}> :
            ({M}, tensor<?xi32>, tensor<2xi32>) -> {M}""",
        "dynamic_gather",
    ),
    "outer_of_sums": (
        MATRIX,
        """%w = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] :
            ({M}, tensor<f64>) -> {V}
        %s = stablehlo.concatenate %m1, %m1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
        %a = stablehlo.dynamic_broadcast_in_dim %w, %s, dims = [0] : ({V}, tensor<2xi32>) -> {M}
        %t = stablehlo.transpose %a, dims = [1, 0] : ({M}) -> {M}
        %r = stablehlo.multiply %a, %t : {M}""",
        "",
    ),
    "join_columns": (
        "tensor<?x3xf64>",
        """%s = stablehlo.concatenate %m1, %one, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
        %u = stablehlo.dynamic_broadcast_in_dim %v, %s, dims = [0] : ({V}, tensor<2xi32>) -> tensor<?x1xf64>
        %w = stablehlo.negate %u : tensor<?x1xf64>
        %r = stablehlo.concatenate %u, %w, %u, dim = 1 : (tensor<?x1xf64>, tensor<?x1xf64>, tensor<?x1xf64>)
            -> tensor<?x3xf64>""",
        "",
    ),
    "part_from_inside": (
        VECTOR,
        """%e = stablehlo.add %m1, %one : tensor<1xi32>
        %p = stablehlo.pad %v, %zero, low = [1], high = [0], interior = [0] : ({V}, tensor<f64>) -> {V}
        %r = stablehlo.real_dynamic_slice %p, %one, %e, %one :
            ({V}, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> {V}""",
        "",
    ),
    "barrier": (VECTOR, "%r = stablehlo.optimization_barrier %v : {V}", "optimization_barrier"),
}
SHAPES = [(3, 4, 1), (2, 7, 5), (8, 8, 2)]


def program(result: str, body: str) -> hlograph.Program:
    text = body.format(M=MATRIX, V=VECTOR)
    return hlograph.Program.parse(
        f'func.func @main(%x: {MATRIX} {{hlograph.name = "x", hlograph.dims = ["n", "m"]}}, '
        f'%v: {VECTOR} {{hlograph.name = "v", hlograph.dims = ["m"]}}, %k: tensor<i32>) -> {result} {{'
        f"{SIZES}{text}\n  return %r : {result}\n}}"
    )


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", FORMS)
def test_same_results(name: str) -> None:
    result, body, gone = FORMS[name]
    before = program(result, body)
    after = before.run_passes(["for_iree"])
    assert not gone or f"stablehlo.{gone}" not in after.op_counts()
    one, other = before.compile(policy="exact"), after.compile(policy="exact")
    rng = np.random.default_rng(0)
    for n, m, k in SHAPES:
        arguments = rng.normal(size=(n, m)), rng.normal(size=m), np.int32(k)
        assert_same(np.asarray(other(*arguments)), np.asarray(one(*arguments)), rtol=1e-13, label=f"{name}, {n}x{m}")


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
    type_ = f"tensor<?x{dtype.replace('float', 'f')}>"
    binary = expected.nin == 2
    operands, types = ("%x, %y", f"{type_}, {type_}") if binary else ("%x", type_)
    line = f"%r = stablehlo.{op} {operands} : ({types}) -> {type_}"
    text = f"func.func @main(%x: {type_}, %y: {type_}) -> {type_} {{\n{line}"
    fn = hlograph.Program.parse(f"{text}\nreturn %r : {type_}\n}}").run_passes(["for_iree"]).compile(policy="exact")
    x, y = (a.ravel().astype(dtype) for a in np.meshgrid(SPECIAL, SPECIAL))
    with np.errstate(all="ignore"):
        wanted = expected(x, y) if binary else expected(x)
    found = np.asarray(fn(x, y))
    usual = ~((np.abs(wanted) < np.finfo(dtype).tiny) & (wanted != 0))  # subnormal numbers become 0
    rtol = 1e-12 if dtype == "float64" else 1e-6
    np.testing.assert_allclose(found[usual], wanted[usual], rtol=rtol)
    zeros = usual & (wanted == 0)
    assert (np.signbit(found[zeros]) == np.signbit(wanted[zeros])).all()


def test_constraints_are_flags() -> None:
    text = (
        'func.func @main(%x: tensor<?xf64> {hlograph.name = "x", hlograph.dims = ["n"]}, %y: tensor<?xf64> '
        '{hlograph.name = "y", hlograph.dims = ["m"]}, %z: tensor<?xf64> {hlograph.name = "z", hlograph.dims = ["n"]}) '
        '-> tensor<f64> attributes {hlograph.constraints = [["n >= m + 2", "there"]]} {\n'
        "%r = stablehlo.constant dense<1.0> : tensor<f64>\n return %r : tensor<f64>\n}"
    )
    before = hlograph.Program.parse(text)
    after = before.run_passes(["for_iree"])
    assert [check.message for check in after.signature.checks] == ["axis_2_0 == n: axis 0 of z", "n >= m + 2: there"]
    plain = hlograph.Program.parse(_without_names(after.text))
    for sizes, wanted in [((5, 3, 5), [True, True]), ((4, 3, 4), [True, False]), ((5, 1, 6), [False, True])]:
        flags = plain.compile(policy="exact")(*map(np.ones, sizes))[1]
        assert np.asarray(flags).tolist() == wanted
    asserted = before.run_passes(["for_iree{asserts=true}"])
    assert asserted.text.count("cf.assert") == 2
    assert not asserted.signature.checks
    with pytest.raises(errors.PassError, match="is text"):
        to_portable(asserted)


def _without_names(text: str) -> str:
    """A module without hlograph's attributes: what is left of a program for another reader."""
    import re

    text = re.sub(r"hlograph\.(constraints|checks) = \[(\[[^\]]*\],? ?)*\],? ?", "", text)
    return re.sub(r'hlograph\.\w+ = (\[[^\]]*\]|"[^"]*"|true),? ?', "", text)


REFUSED = {
    "window": (
        """%r = "stablehlo.reduce_window"(%v, %zero) <{{padding = dense<[[1, 0]]> : tensor<1x2xi64>,
            window_dimensions = array<i64: 2>}}> ({{
          ^bb0(%a: tensor<f64>, %b: tensor<f64>):
          %c = stablehlo.add %a, %b : tensor<f64>
          stablehlo.return %c : tensor<f64> }}) : ({V}, tensor<f64>) -> {V}""",
        "reduce_window of unknown sizes",
    ),
    "flat": (
        "%r = stablehlo.dynamic_reshape %x, %nm : ({M}, tensor<1xi32>) -> {V}",
        "dynamic_reshape of unknown sizes .*program.plain",
    ),
    "pad": (
        "%r = stablehlo.pad %v, %zero, low = [-1], high = [3], interior = [1] : ({V}, tensor<f64>) -> {V}",
        "pad of",
    ),
    "update": ("%r = stablehlo.dynamic_update_slice %v, %v, %k : ({V}, {V}, tensor<i32>) -> {V}", "update_slice of"),
    "loop": (
        """%r = stablehlo.while(%a = %v) : {V}
        cond {{
          %c = stablehlo.compare LT, %k, %k : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %c : tensor<i1>
        }} do {{ stablehlo.return %a : {V} }}""",
        "while among unknown sizes",
    ),
    "cbrt": ("%r = stablehlo.cbrt %v : {V}", "no stablehlo.cbrt"),
}


def test_a_program_with_its_pullback_is_refused() -> None:
    """IREE takes one program a file: of a second module inside it leaves the ops as they are, and refuses them."""
    spec = jax.ShapeDtypeStruct(("n",), "float32")
    whole = hlograph.emit_stablehlo(lambda x: (x**2).mean(), spec).with_pullback()
    for options in ("", "{asserts=true}"):
        with pytest.raises(errors.PassError, match=r"for_iree: the program has its pullback.*--without-derivatives"):
            whole.run_passes([f"for_iree{options}"])
    assert "get_dimension_size" in whole.without_pullback().run_passes(["for_iree"]).text


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    body, message = REFUSED[name]
    with pytest.raises(errors.PassError, match=message):
        program(VECTOR, body).run_passes(["for_iree"])
