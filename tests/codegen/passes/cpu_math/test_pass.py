"""cpu_math: which ops it replaces and which it leaves alone, and that whole models keep their results."""

from __future__ import annotations

import re

import jax
import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from scipy import special

import hlograph
from hlograph.codegen.ir.jax_compat import enable_x64
from hlograph.codegen.passes.cpu_math import ELEMENTS, INLINE

from .formulas import OPS, module

RNG = np.random.default_rng(7)


def after(program: hlograph.Program, options: str = "") -> hlograph.Program:
    return program.run_passes([f"cpu_math{{{options}}}" if options else "cpu_math"])


@pytest.mark.parametrize("name", OPS)
def test_the_least_number_of_elements(name):
    for size, replaced in ((ELEMENTS - 1, False), (ELEMENTS, True)):
        assert (OPS[name] not in after(hlograph.Program.parse(module(name, str(size)))).op_counts()) == replaced
    assert OPS[name] not in after(hlograph.Program.parse(module(name, "")), "elements=1").op_counts()
    assert OPS[name] not in after(hlograph.Program.parse(module(name, "0")), "elements=0").op_counts()
    assert OPS[name] in after(hlograph.Program.parse(module(name, "1000")), "elements=1001").op_counts()


def test_complex_numbers_are_left_alone():
    program = hlograph.Program.parse(module("log", "1000").replace("f64", "complex<f64>"))
    assert str(after(program)) == str(program)


@pytest.mark.parametrize("chained", [INLINE, INLINE + 1])
def test_more_than_a_few_become_functions(chained):
    kind = "tensor<100xf64>"
    lines = "".join(
        f"%b{i} = stablehlo.abs %a{i} : {kind}\n%a{i + 1} = stablehlo.log %b{i} : {kind}\n" for i in range(chained)
    )
    program = hlograph.Program.parse(
        f"func.func @main(%a0: {kind}) -> {kind} {{\n{lines}return %a{chained} : {kind}\n}}"
    )
    assert after(program).op_counts().get("func.call", 0) == (chained if chained > INLINE else 0)


ARGUMENTS = {
    "exp": ("%b = stablehlo.exponential %a : T", True),
    "square": ("%b = stablehlo.multiply %a, %a : T", True),
    "product": ("%b = stablehlo.multiply %a, %c : T", False),
    "sum": ("%d = stablehlo.abs %a : T\n%b = stablehlo.add %d, %c : T", True),
    "negative sum": ("%d = stablehlo.abs %a : T\n%e = stablehlo.negate %c : T\n%b = stablehlo.add %d, %e : T", False),
    "difference": ("%d = stablehlo.abs %a : T\n%b = stablehlo.subtract %d, %c : T", False),
    "maximum": ("%b = stablehlo.maximum %a, %c : T", True),
    "minimum": ("%b = stablehlo.minimum %a, %c : T", False),
    "quotient": ("%d = stablehlo.abs %a : T\n%b = stablehlo.divide %d, %c : T", True),
    # 1/sqrt(-0) is -inf.
    "quotient by a zero": ("%d = stablehlo.sqrt %a : T\n%b = stablehlo.divide %c, %d : T", False),
    "folded": (
        "%z = stablehlo.constant dense<0.0> : T\n%p = stablehlo.compare LT, %a, %z : (T, T) -> B\n"
        "%d = stablehlo.subtract %c, %a : T\n%b = stablehlo.select %p, %d, %a : B, T",
        True,
    ),
    "folded the other way": (
        "%z = stablehlo.constant dense<0.0> : T\n%p = stablehlo.compare GT, %a, %z : (T, T) -> B\n"
        "%d = stablehlo.subtract %c, %a : T\n%b = stablehlo.select %p, %d, %a : B, T",
        False,
    ),
    "argument": ("%b = stablehlo.reshape %a : (T) -> T", False),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", ARGUMENTS)
def test_reflection_only_where_the_argument_may_be_negative(case):
    text, known = ARGUMENTS[case]
    body = f"%c = stablehlo.constant dense<0.5> : T\n{text}\n%y = chlo.lgamma %b : T -> T\nreturn %y : T"
    text = f"func.func @main(%a: T) -> T {{\n{body}\n}}"
    program = hlograph.Program.parse(re.sub(r"\bT\b", "tensor<100xf64>", re.sub(r"\bB\b", "tensor<100xi1>", text)))
    replaced = after(program)
    assert ("stablehlo.round_nearest_even" not in replaced.op_counts()) == known
    x = RNG.normal(size=100) * 3
    np.testing.assert_allclose(
        np.asarray(replaced.compile(cpu="plain")(x)), program.interpret(x)[0], rtol=1e-11, atol=1e-12
    )


def test_pytensor_models_keep_their_values():
    """A negative binomial with its gradient and curvature, softplus and logaddexp, against PyTensor itself."""
    y, eta, a = pt.dvector("y"), pt.dvector("eta"), pt.dvector("a")
    mu = pt.exp(eta)
    logp = pt.gammaln(y + a) - pt.gammaln(a) - pt.gammaln(y + 1) + a * pt.log(a / (a + mu)) + y * pt.log(mu / (a + mu))
    value = (logp + pt.softplus(eta) + pt.logaddexp(eta, a) + pt.log1p(-pt.sigmoid(eta))).sum()
    gradient = pytensor.grad(value, a)
    outputs = [value, gradient, pytensor.grad(gradient.sum(), a)]
    values = [RNG.poisson(4, 150).astype("float64"), RNG.normal(size=150), RNG.uniform(0.1, 9, 150)]
    program = hlograph.emit_stablehlo(
        ([y, eta, a], outputs), dims={"y": (150,), "eta": (150,), "a": (150,)}, rewrite=True
    )
    replaced = after(program)
    assert not set(OPS.values()) & replaced.op_counts().keys()
    expected = pytensor.function([y, eta, a], outputs, mode="FAST_COMPILE")(*values)
    for found in (replaced.compile(cpu="plain")(*values), replaced.interpret(*values)):
        for actual, wanted in zip(found, expected, strict=True):
            np.testing.assert_allclose(np.asarray(actual), wanted, rtol=1e-11, atol=1e-11)


def test_a_result_with_several_users():
    """Two reductions and two arrays: one call, and the values are NumPy's."""

    def users(x: jax.Array, y: jax.Array) -> tuple[jax.Array, ...]:
        logarithm = jax.numpy.log(x)
        return (logarithm * y).sum(), (logarithm**2).sum(), logarithm + y, jax.numpy.exp(logarithm * 0.1)

    x, y = RNG.uniform(0.1, 9, 1000), RNG.normal(size=1000)
    with enable_x64(True):
        text = jax.jit(users).lower(x, y).as_text()
    program = after(hlograph.Program.parse(text))
    assert program.op_counts()["func.call"] == 1
    expected = [(np.log(x) * y).sum(), (np.log(x) ** 2).sum(), np.log(x) + y, x**0.1]
    for found, wanted in zip(program.compile(cpu="plain")(x, y), expected, strict=True):
        np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-12)


def test_in_a_loop():
    def summed(x: jax.Array) -> jax.Array:
        return jax.lax.scan(lambda carry, row: (carry + jax.lax.lgamma(row), carry), x[0], x)[0]

    x = RNG.uniform(0.1, 9, (5, 100))
    with enable_x64(True):
        program = after(hlograph.Program.parse(jax.jit(summed).lower(x).as_text()))
    assert "chlo.lgamma" not in program.op_counts()
    np.testing.assert_allclose(
        np.asarray(program.compile(cpu="plain")(x)), x[0] + special.gammaln(x).sum(0), rtol=1e-12
    )
