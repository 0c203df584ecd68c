"""What `hlograph.passes` promises: its names and what they take, errors for names that are wrong, groups, functions."""

from __future__ import annotations

import inspect
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pass_table
import pytensor.tensor as pt
import pytest

import hlograph
from hlograph import Program, passes
from hlograph.codegen.passes import simplify
from hlograph.errors import PassError
from hlograph.passes import call_function, clone, constant, defining, group, is_constant, ops, rewrite, stablehlo

# For API 1. Where one of these changes, in another way than by a further argument with a default, API counts up.
PROMISED = {
    "Note": "(rewrite, op, reason='', result='')",
    "Refused": "(*args, **kwargs)",
    "Report": "(pass_name, detailed=False, silent=False, notes=<factory>, rewritten=<factory>)",
    "ancestors": "(op)",
    "attributes_of": "(source)",
    "available": "()",
    "call_function": "(wanted, operands, body)",
    "clone": "(op, operands=None, shape=None, dtype=None, **attributes)",
    "clone_block": "(block, values)",
    "constant": "(value)",
    "defining": "(value, *names)",
    "dominates": "(value, op)",
    "dtype_of": "(value)",
    "enclosing": "(op, name='stablehlo.while')",
    "forget": "(name)",
    "full_like": "(value, number, shape=None)",
    "group": "(name, *members, default=False)",
    "integers": "(op, name)",
    "is_constant": "(value, number)",
    "only_user": "(value, *names)",
    "owner": "(value)",
    "rebuild_while": "(loop, keep, added=(), step=None, replaced=None)",
    "reduce_with": "(name, value, init, dimensions)",
    "reduction": "(op)",
    "require": "(condition, reason)",
    "rewrite": "(*roots, name=None, exact=False, default=False)",
    "shape_of": "(value)",
    "single_use": "(value)",
    "static_shape": "(value)",
    "text_attribute": "(op, name)",
    "users": "(value)",
}
MODULES = {"chlo", "func", "ir", "ops", "stablehlo"}


def shown(found: Any) -> str:
    if found is passes.Refused:
        return "(*args, **kwargs)"
    signature = inspect.signature(found)
    plain = [parameter.replace(annotation=parameter.empty) for parameter in signature.parameters.values()]
    text = str(signature.replace(parameters=plain, return_annotation=signature.empty))
    return text.replace("*, ", "")


def test_what_is_promised_is_there() -> None:
    assert passes.API == 1
    public = {name for name in vars(passes) if not name.startswith("_")} - {"API"}
    assert public == PROMISED.keys() | MODULES
    found = {name: shown(getattr(passes, name)) for name in PROMISED}
    assert found == {**PROMISED, "Report": found["Report"]}


def test_the_table_of_passes_in_the_docs() -> None:
    assert pass_table.shown() == pass_table.table(), "python tests/pass_table.py writes it anew"
    for name in simplify.PARTS:
        assert passes.available()[name]
        assert f"\n| `{name}` | " in pass_table.PAGE.read_text()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("stablehlo.ad", "there is no op 'stablehlo.ad'; did you mean 'stablehlo.add'"),
        ("add", "did you mean 'stablehlo.add'"),
        ("reduec", "did you mean 'stablehlo.reduce'"),
        ("stablehl.reduce", "did you mean 'stablehlo.reduce'"),
        ("mhlo.tanh", "did you mean 'stablehlo.tanh'"),
        ("chlo.lgama", "did you mean 'chlo.lgamma'"),
        ("qqqqqqqq", "its full name is meant"),
    ],
)
def test_names_that_are_no_op(name: str, message: str) -> None:
    with pytest.raises(PassError, match=message):
        rewrite("stablehlo.add", name, name="mine")


def first(op: Any) -> Any:
    return op.operands[0]


def test_a_name_is_taken_again_but_not_one_of_hlographs() -> None:
    rewrite("stablehlo.add", name="mine")(first)
    group("mine", "known_select")
    rewrite("stablehlo.add", name="mine")(times_one)
    assert passes.available()["mine"] == "`x * 1` is `x`."
    with pytest.raises(PassError, match="a pass 'known_select' exists already"):
        rewrite("stablehlo.add", name="known_select")(first)
    for own in ("simplify", "known_select"):
        with pytest.raises(PassError, match=f"'{own}' is a pass of hlograph's"):
            passes.forget(own)


def times_one(op: Any) -> Any:
    """`x * 1` is `x`."""
    x, y = op.operands
    return x if is_constant(y, 1) else y if is_constant(x, 1) else None


def test_a_constant_in_open_and_padded_modules() -> None:
    rewrite("stablehlo.multiply", exact=True)(times_one)
    x = pt.dmatrix("x")
    program = hlograph.emit_stablehlo(([x], [x * 1.0, pt.exp(x) * pt.ones_like(x)]))
    sizes = dict.fromkeys(("x_0", "x_1"), 8)
    for found in (program, program.specialize(sizes), program.pad(sizes)):
        assert "stablehlo.multiply" in found.text
        assert "stablehlo.multiply" not in found.run_passes(["times_one"]).text


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("convert %c : (tensor<f32>) -> tensor<f64>", 3.0),
        ("convert %c : (tensor<f32>) -> tensor<i8>", 3),
        ("convert %t : (tensor<f64>) -> tensor<f32>", None),
        ("convert %c : (tensor<f32>) -> tensor<i1>", None),
        ("dynamic_broadcast_in_dim %c, %s, dims = [] : (tensor<f32>, tensor<1xi64>) -> tensor<?xf32>", 3.0),
        ("dynamic_broadcast_in_dim %x, %s, dims = [0] : (tensor<1xf32>, tensor<1xi64>) -> tensor<?xf32>", None),
    ],
)
def test_what_a_constant_is_seen_through(made: str, expected: float | None) -> None:
    program = Program.parse(f"""
    func.func @main(%x: tensor<1xf32>, %s: tensor<1xi64>) -> tensor<1xf32> {{
      %c = stablehlo.constant dense<3.0> : tensor<f32>
      %t = stablehlo.constant dense<0.1> : tensor<f64>
      %r = stablehlo.{made}
      return %x : tensor<1xf32>
    }}""")
    module = program.copy_module()
    block = module.body.operations[0].regions[0].blocks[0]
    found = constant(list(block.operations)[2].operation.results[0])
    assert (None if found is None else found.item()) == expected


def log_of_exp(op: Any) -> Any:
    """`log(exp(x))` is `x`."""
    return defining(op.operands[0], "stablehlo.exponential").operands[0]


def test_a_group_comes_to_rest_together() -> None:
    """Each rewrite makes what the other one can be applied to."""
    rewrite("stablehlo.log")(log_of_exp)
    rewrite("stablehlo.multiply", exact=True)(times_one)
    group("mine", log_of_exp, "times_one")
    x = np.linspace(-2, 2, 6).astype(np.float32)

    def function(x: jax.Array) -> jax.Array:
        for _ in range(3):
            x = jnp.log(jnp.exp(x) * 1.0) * 1.0
        return x + 1

    for name, left in (("mine", ["stablehlo.add"]), ("log_of_exp", None)):
        program = Program.parse(jax.jit(function).lower(x).as_text()).run_passes([name])
        names = [op for op in program.op_counts() if op.split(".")[1] in ("add", "log", "multiply", "exponential")]
        assert left is None or names == left
        np.testing.assert_allclose(program.interpret(x)[0], x + 1, rtol=1e-5)
    exact = Program.parse(jax.jit(function).lower(x).as_text()).run_passes(["mine{reassociate=false}"])
    assert "stablehlo.log" in exact.text
    assert "stablehlo.multiply" not in exact.text


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ((), "needs rewrites"),
        (("simplify",), "is a pass, not a rewrite"),
        ((first,), "is no rewrite"),
        (("x",), "unknown"),
    ],
)
def test_groups_that_are_refused(members: tuple[Any, ...], message: str) -> None:
    with pytest.raises(PassError, match=message):
        group("mine", *members)


def cube(op: Any) -> Any:
    """`x * x * x` is a call of a function."""
    square, x = defining(op.operands[0], "stablehlo.multiply"), op.operands[1]
    passes.require(square.operands[0] == square.operands[1] == x, "it is no cube")
    return call_function("cube", [x], lambda x: [stablehlo.power(x, ops.full_like(x, 3))])


def test_a_rewrite_that_makes_functions() -> None:
    rewrite("stablehlo.multiply")(cube)
    x = np.linspace(-2, 2, 6).astype(np.float32)

    def function(x: jax.Array) -> jax.Array:
        y = x + 1
        return x * x * x + y * y * y

    given = Program.parse(jax.jit(function).lower(x).as_text())
    made = given.run_passes(["cube"])
    assert made.text.count("func.func private") == 2
    assert "@cube_1" in made.text
    np.testing.assert_allclose(made.interpret(x)[0], given.interpret(x)[0], rtol=1e-6)


def test_a_copy_with_another_type() -> None:
    @rewrite("stablehlo.exponential")
    def narrow(op: Any) -> Any:
        """An exponential of fewer digits, of any shape."""
        if passes.dtype_of(op.operands[0]) != np.float64:
            return None
        less = clone(op, [ops.convert(op.operands[0], np.float32)], passes.shape_of(op.operands[0]), np.float32)
        return ops.convert(less.results[0], np.float64)

    x, at = pt.dmatrix("x"), np.linspace(0, 1, 6).reshape(2, 3)
    program = hlograph.emit_stablehlo(([x], [pt.exp(x)]))
    for found in (program, program.specialize({"x_0": 2, "x_1": 3})):
        made = found.run_passes(["narrow"])
        wide = made.interpret(at)[0]
        assert wide.dtype == np.float64
        np.testing.assert_allclose(wide, np.exp(at), rtol=1e-6)
        np.testing.assert_array_equal(wide, wide.astype(np.float32))
