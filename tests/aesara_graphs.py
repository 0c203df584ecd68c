"""Aesara: what is no op alone, on the jaxlib that its numpy < 2 allows; `make versions` runs it in its environment."""

from __future__ import annotations

import aesara
import aesara.tensor as at
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from aesara import sparse
from aesara.compile.mode import Mode
from aesara.compile.ops import as_op
from aesara.printing import Print
from aesara.raise_op import Assert

import hlograph
from hlograph.codegen.ir.jax_compat import enable_x64

RNG = np.random.default_rng(0)
MATRIX = RNG.normal(size=(5, 3))
x, y, M = at.dvector("x"), at.dvector("y"), at.dmatrix("M")


def test_logistic_regression_with_gradient_at_two_sizes():
    eta = M.dot(y)
    logp = (x * at.log(at.sigmoid(eta)) + (1 - x) * at.log(1 - at.sigmoid(eta))).sum()
    outputs = [logp, aesara.grad(logp, y)]
    function = hlograph.function([M, x, y], outputs)
    reference = aesara.function([M, x, y], outputs, mode=Mode("py", "fast_run"))
    for size in (4, 9):
        values = RNG.normal(size=(size, 3)), (RNG.random(size) > 0.5) * 1.0, RNG.normal(size=3)
        for actual, wanted in zip(function(*values), reference(*values), strict=True):
            np.testing.assert_allclose(np.asarray(actual), wanted, rtol=1e-10)
    assert function.stats.compiles == 2


def test_a_jax_function_of_variable_length():
    loss = jax.value_and_grad(lambda w, x: jnp.cumsum(jnp.tanh(x @ w)).mean())
    function = hlograph.jit(loss, dims={"x": ("n", 3)}, policy="padded")
    for size in (1, 2, 7, 16):
        w, values = RNG.normal(size=3).astype("float32"), RNG.normal(size=(size, 3)).astype("float32")
        for actual, wanted in zip(function(w, values), loss(w, values), strict=True):
            np.testing.assert_allclose(actual, wanted, rtol=1e-5, atol=1e-6)
    assert function.stats.compiles == 1


def test_assert_raises():
    function = hlograph.function([x], Assert("x must be positive")(x, at.all(x > 0)).sum())
    with pytest.raises(AssertionError, match="x must be positive"):
        function(-np.ones(3))


@pytest.mark.parametrize("suffix", [".mlir", ".mlirbc"])
def test_artifacts(tmp_path, suffix):
    program = hlograph.emit_stablehlo(([x], [at.gammaln(x).sum()]))
    loaded = hlograph.load(program.save(tmp_path / f"program{suffix}"))
    value = np.array([0.5, 3.0, 7.0])
    np.testing.assert_array_equal(loaded.compile()(value), program.compile()(value))
    np.testing.assert_allclose(loaded.interpret(value)[0], program.compile()(value), rtol=1e-12)


def test_functions_are_transformed_by_jax() -> None:
    import jax

    x, y = at.dvector("x"), at.dvector("y")
    value = (at.log(at.sigmoid(x)) * y).sum() - (x**2).sum() / 2
    function = hlograph.function([x, y], value, name="value")
    points, weights = np.array([-1.0, 0.5, 800.0]), np.array([1.0, 2.0, 3.0])
    with enable_x64(True):
        gradient = jax.jit(jax.grad(function))(points, weights)
        hessian = jax.hessian(function)(points, weights)
        batch = jax.vmap(function, (0, None))(np.stack([points, points / 2]), weights)
        single = [function(p, weights) for p in (points, points / 2)]
    s = 1 / (1 + np.exp(-points))
    np.testing.assert_allclose(gradient, weights * (1 - s) - points, rtol=1e-12)
    np.testing.assert_allclose(hessian, np.diag(-weights * s * (1 - s) - 1), rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(batch, single, rtol=1e-12)
    assert not function.derived.loops


def test_what_runs_python(capsys) -> None:
    """Prints, wrapped functions, and ops without a rule."""
    double = as_op([at.dvector], [at.dvector], infer_shape=lambda *given: [given[-1][0]])(lambda a: a * 2)
    function = hlograph.function([x], Print("x")(double(x)).sum())
    np.testing.assert_allclose(function(np.arange(3.0)), 6)
    assert capsys.readouterr().out == "x __str__ = [0. 2. 4.]\n"
    matrix = sparse.csr_from_dense(M)
    total = sparse.dense_from_sparse(sparse.add(matrix, matrix)).sum(0)
    function = hlograph.function([M], total, on_unsupported="host", policy="padded")
    np.testing.assert_allclose(function(MATRIX), 2 * MATRIX.sum(0))
