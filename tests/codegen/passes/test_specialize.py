"""specialize: sizes into a `?` module."""

from __future__ import annotations

import numpy as np
import pytensor.tensor as pt
import pytest
from pytensor.raise_op import Assert

import hlograph
from hlograph import Program
from hlograph.errors import PassError


@pytest.fixture
def program():
    X, b, k = pt.dmatrix("X"), pt.dvector("b"), pt.lscalar("k")
    return hlograph.emit_stablehlo(([X, b, k], [X @ b, pt.arange(k) + X.shape[0]]), dims={"X": ("n", "m")})


def test_all_sizes_make_a_static_program(program):
    static = program.specialize({"n": 4, "m": 2, "b_0": 2, "k": 3})
    assert static.signature.is_static
    assert static.signature.constraints == ()
    assert [str(a) for a in static.signature.arguments] == ["X: float64[4, 2]", "b: float64[2]", "k: int64[]"]
    assert [r.dims for r in static.signature.results] == [(4,), (3,)]
    for dynamic in ("?", "dynamic_", "get_dimension_size"):
        assert dynamic not in static.text


def test_some_sizes_leave_the_others_symbolic(program):
    part = program.specialize({"n": 4})
    assert {root.name for root in part.signature.roots} == {"m", "b_0", "k"}
    assert part.signature.arguments[0].dims[0] == 4
    assert part.specialize({"m": 2, "b_0": 2, "k": 3}).signature.is_static
    (rest, *_) = program.specialize({"m": 2}).signature.constraints
    assert {str(rest.lhs), str(rest.rhs)} == {"b_0", "2"}
    X, b = np.arange(8.0).reshape(4, 2), np.array([1.0, -1.0])
    for result in (part.compile()(X, b, 2), part.interpret(X, b, np.array(2))):
        np.testing.assert_array_equal(result[0], X @ b)
        np.testing.assert_array_equal(result[1], [4, 5])


def test_sizes_of_zero(program):
    static = program.specialize({"n": 0, "m": 0, "b_0": 0, "k": 0})
    assert [r.dims for r in static.signature.results] == [(0,), (0,)]


def test_nothing_to_do(program):
    assert program.specialize({}).text == program.text


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"q": 1}, r"no size 'q' \(its sizes: n, m, b_0, k\)"),
        ({"n": -1}, "n = -1 is negative"),
        ({"m": 3, "b_0": 4}, "m == b_0 is violated|b_0 == m is violated"),
    ],
)
def test_refusals_leave_the_program_alone(program, sizes, message):
    before = program.text
    with pytest.raises(PassError, match=message):
        program.specialize(sizes)
    assert program.text == before


def test_a_value_may_be_negative(program):
    assert program.specialize({"k": -2}).signature.results[1].dims == (0,)


def test_an_op_that_cannot_be_refined_is_named():
    text = """
    func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
      %r = stablehlo.custom_call @mystery(%x) : (tensor<?xf32>) -> tensor<?xf32>
      return %r : tensor<?xf32>
    }
    """
    with pytest.raises(PassError, match="mystery"):
        hlograph.Program.parse(text, allow=["mystery"]).specialize({"arg0_0": 3})


def test_shape_assertions_of_jax_are_checked():
    import jax
    from jax import export

    (n,) = export.symbolic_shape("n", constraints=["n >= 3"])
    exported = export.export(jax.jit(lambda x: x[:3].sum()))(jax.ShapeDtypeStruct((n,), np.float32))
    program = hlograph.Program.parse(exported.mlir_module())
    assert float(program.compile()(np.ones(4, np.float32))) == 3.0
    with pytest.raises(PassError, match="3"):
        program.compile()(np.ones(2, np.float32))


def test_checks_that_the_sizes_decide_are_dropped_when_they_hold():
    x, y = pt.dvector("x"), pt.dvector("y")
    checked = Assert("x is longer than y")(x, x.shape[0] <= y.shape[0])
    program = hlograph.emit_stablehlo(([x, y], [checked + 1]))
    assert len(program.signature.checks) == 1
    good = program.specialize({"x_0": 2, "y_0": 3})
    assert good.signature.checks == ()
    assert "hlograph.flags" not in good.text
    bad = program.specialize({"x_0": 3, "y_0": 2})
    assert len(bad.signature.checks) == 1
    function = program.compile()
    for _ in range(2):
        np.testing.assert_array_equal(function(np.zeros(2), np.zeros(3)), np.ones(2))
        with pytest.raises(AssertionError, match="x is longer than y"):
            function(np.zeros(3), np.zeros(2))
        with pytest.raises(AssertionError, match="x is longer than y"):
            program.interpret(np.zeros(3), np.zeros(2))
    np.testing.assert_array_equal(program.interpret(np.zeros(2), np.zeros(3))[0], np.ones(2))


BITCASTS = """func.func @main(%x: tensor<?xf32>) -> (tensor<?x2xi16>, tensor<?xf32>) {
  %0 = stablehlo.bitcast_convert %x : (tensor<?xf32>) -> tensor<?x2xi16>
  %1 = stablehlo.not %0 : tensor<?x2xi16>
  %2 = stablehlo.bitcast_convert %1 : (tensor<?x2xi16>) -> tensor<?xf32>
  return %1, %2 : tensor<?x2xi16>, tensor<?xf32>
}"""


def test_bitcasts_between_widths():
    x = np.array([1.0, -2.5, 3.0], np.float32)
    halves, inverted = Program.parse(BITCASTS).compile()(x)
    np.testing.assert_array_equal(halves, ~x.view(np.int16).reshape(3, 2))
    np.testing.assert_array_equal(np.asarray(inverted).view(np.int32), ~x.view(np.int32))


COMPOSITE = """func.func @main(%x: tensor<?xf32>) -> (tensor<2xf32>, tensor<2xi32>) {
  %0:2 = stablehlo.composite "chlo.top_k" %x {composite_attributes = {k = 2 : i64}, decomposition = @top}
    : (tensor<?xf32>) -> (tensor<2xf32>, tensor<2xi32>)
  return %0#0, %0#1 : tensor<2xf32>, tensor<2xi32>
}
func.func private @top(%x: tensor<?xf32>) -> (tensor<2xf32>, tensor<2xi32>) {
  %values, %places = chlo.top_k(%x, k = 2) : tensor<?xf32> -> (tensor<2xf32>, tensor<2xi32>)
  return %values, %places : tensor<2xf32>, tensor<2xi32>
}"""


def test_composites():
    largest, places = Program.parse(COMPOSITE).compile()(np.array([1.0, 5.0, 3.0], np.float32))
    np.testing.assert_array_equal(largest, [5.0, 3.0])
    np.testing.assert_array_equal(places, [1, 2])


WAITING = """func.func @main(%x: tensor<?xf32>, %state: tensor<2xui64>) -> tensor<?xf32> {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1> : tensor<1xi32>
  %two = stablehlo.constant dense<[1, 1]> : tensor<2xi32>
  %less = stablehlo.constant dense<-3> : tensor<i32>
  %none = stablehlo.constant dense<0> : tensor<1x2xi32>
  %r{results} = stablehlo.custom_call @stablehlo.dynamic_{call}
  return %r{first} : tensor<?xf32>
}}
func.func private @add(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {{
  %0 = stablehlo.add %a, %b : tensor<f32>
  return %0 : tensor<f32>
}}"""
WINDOW = (
    "reduce_window(%x, %zero, {}, %one, %one, %one, %none) {{{}}} : (tensor<?xf32>, tensor<f32>, {}, tensor<1xi32>, \
tensor<1xi32>, tensor<1xi32>, tensor<1x2xi32>) -> tensor<?xf32>"
)
ONE, TWO = "tensor<1xi32>", "tensor<2xi32>"


@pytest.mark.parametrize(
    ("call", "results"),
    [
        (WINDOW.format("%one", "", ONE), 1),
        (WINDOW.format("%one", "called_computations = [@add, @add]", ONE), 1),
        (WINDOW.format("%two", "called_computations = [@add]", TWO), 1),
        (WINDOW.format("%x", "called_computations = [@add]", "tensor<?xf32>"), 1),
        ("reduce_window(%x) {called_computations = [@add]} : (tensor<?xf32>) -> tensor<?xf32>", 1),
        ("top_k(%x, %less) : (tensor<?xf32>, tensor<i32>) -> (tensor<?xf32>, tensor<?xi32>)", 2),
        ("top_k(%x) : (tensor<?xf32>) -> (tensor<?xf32>, tensor<?xi32>)", 2),
        ("rng_bit_generator(%state, %one) : (tensor<2xui64>, tensor<1xi32>) -> (tensor<?xf32>, tensor<?xui32>)", 2),
    ],
)
def test_calls_that_do_not_fit_their_op(call: str, results: int) -> None:
    text = WAITING.format(call=call, results=":2" if results == 2 else "", first="#0" if results == 2 else "")
    program = Program.parse(text)
    with pytest.raises(PassError, match=r"dynamic: .*@stablehlo\.dynamic_|expects window-dimensions size"):
        program.specialize({program.signature.roots[0].name: 4})
