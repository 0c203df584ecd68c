"""Aesara graphs, on the jaxlib that Aesara's numpy < 2 allows; `make versions` runs this in its own environment."""

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
from aesara.ifelse import ifelse
from aesara.printing import Print
from aesara.raise_op import Assert
from aesara.tensor import nlinalg, slinalg

import hlograph
from hlograph.codegen.ir.jax_compat import enable_x64

RNG = np.random.default_rng(0)
x, y, M, k, i = at.dvector("x"), at.dvector("y"), at.dmatrix("M"), at.lscalar("k"), at.lvector("i")
VECTOR, MATRIX = RNG.normal(size=5), RNG.normal(size=(5, 3))
SPD = (lambda a: a @ a.T + 5 * np.eye(5))(RNG.normal(size=(5, 5)))
PLACES = np.array([0, 2, -1, 2])

GRAPHS = {
    "elementwise": ([x, y], [x + y * 2, x / 3, at.sigmoid(x), at.switch(x > 0, x, -y), x**2], [VECTOR, VECTOR]),
    "special": (
        [x],
        [at.gammaln(x + 5), at.psi(x + 5), at.erf(x), at.erfinv(x / 5), at.softplus(x), at.gammainc(2.0, x**2)],
        [VECTOR],
    ),
    "reductions": (
        [M],
        [M.sum(0), M.sum(), M.prod(1), M.max(0), M.min(), at.argmax(M, axis=1), at.max_and_argmax(M, axis=1)[0]],
        [MATRIX],
    ),
    "slices": ([x], [x[1:3], x[::-1], x[-2:], x[3:0:-1], x[10:], x[2]], [VECTOR]),
    "runtime slices": ([x, k], [x[:k], x[k:], x[k], x[::k]], [VECTOR, 2]),
    "writes": (
        [x],
        [at.set_subtensor(x[1:3], 0.0), at.inc_subtensor(x[::2], 1.0), at.inc_subtensor(x[0], 3.0)],
        [VECTOR],
    ),
    "index vectors": (
        [x, i, M],
        [x[i], at.inc_subtensor(x[i], 1.0), M[:, i % 3], M[i, i % 3], M[1:, i % 3]],
        [VECTOR, PLACES, MATRIX],
    ),
    "shapes": (
        [M],
        [M.reshape((-1,)), M.reshape((M.shape[1], M.shape[0])), M.T, M.dimshuffle("x", 1, 0), at.tril(M)],
        [MATRIX],
    ),
    "ranges": ([k, x], [at.arange(k), at.arange(x.shape[0]), at.eye(k, x.shape[0]), at.alloc(2.0, k, 2)], [4, VECTOR]),
    "joins": ([x, y], [at.concatenate([x, y]), at.stack([x, y])], [VECTOR, VECTOR]),
    "cumulative": ([M], [at.cumsum(M, axis=0), at.cumprod(M, axis=1), at.cumsum(M)], [MATRIX]),
    "linear algebra": (
        [M],
        [
            slinalg.cholesky(M),
            slinalg.solve(M, M[:, 0]),
            slinalg.solve_triangular(M, M, lower=True),
            nlinalg.det(M),
            nlinalg.matrix_inverse(M),
        ],
        [SPD],
    ),
    "gradient of cholesky": ([M], [aesara.grad(slinalg.cholesky(M).sum(), M)], [SPD]),
    "softmax": (
        [M],
        [
            at.special.softmax(M, axis=1),
            at.special.log_softmax(M, axis=0),
            aesara.grad(at.special.softmax(M, axis=-1)[0].sum(), M),
        ],
        [MATRIX],
    ),
    "products": ([M, x], [M.T.dot(x), x.dot(M), at.outer(x, x)], [MATRIX, VECTOR]),
    "diagonals": ([x, M], [at.diag(x), at.diagonal(M)], [VECTOR, MATRIX]),
    "ifelse": ([x, k], [ifelse(at.gt(k, 2), x * 2, x - 1)], [VECTOR, 3]),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_graph(name):
    inputs, outputs, values = GRAPHS[name]
    values = [np.asarray(v, variable.dtype) for v, variable in zip(values, inputs, strict=True)]
    expected = aesara.function(inputs, outputs, mode=Mode("py", None))(*values)
    program = hlograph.emit_stablehlo((inputs, outputs))
    ran = [program.compile(policy=policy)(*values) for policy in ("exact", "padded")]
    for results in (*[x if len(outputs) > 1 else (x,) for x in ran], program.interpret(*values)):
        for actual, wanted in zip(results, expected, strict=True):
            assert np.asarray(actual).dtype == np.asarray(wanted).dtype
            np.testing.assert_allclose(np.asarray(actual), wanted, rtol=1e-10, atol=1e-12)


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
