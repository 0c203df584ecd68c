"""A few tests of everything that depends on releases: run with each combination of them (`make smoke`).

The graphs are made by PyTensor, or by Aesara where that is installed. What is expected is NumPy's, written out.
"""

from importlib import import_module
from importlib.util import find_spec

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlograph
from hlograph.codegen.ir.jax_compat import enable_x64

LIBRARY = "pytensor" if find_spec("pytensor") else "aesara"
library, pt = import_module(LIBRARY), import_module(f"{LIBRARY}.tensor")
X, y, beta = pt.dmatrix("X"), pt.dvector("y"), pt.dvector("beta")
RNG = np.random.default_rng(0)


def logistic():
    eta = pt.dot(X, beta)
    value = (y * pt.log(pt.sigmoid(eta)) + (1 - y) * pt.log(1 - pt.sigmoid(eta))).sum()
    return [X, y, beta], [value, library.grad(value, beta)]


def data(rows):
    return RNG.normal(size=(rows, 3)), (RNG.random(rows) > 0.5) * 1.0, RNG.normal(size=3)


def logistic_in_numpy(X, y, beta):
    p = 1 / (1 + np.exp(-X @ beta))
    return (y * np.log(p) + (1 - y) * np.log1p(-p)).sum(), X.T @ (y - p)


def agree(found, expected, rtol=1e-11):
    for one, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(one), wanted, rtol=rtol, atol=1e-12)


def test_smoke_emit():
    program = hlograph.emit_stablehlo(logistic(), dims={"X": ("n", 3), "y": ("n",), "beta": (3,)})
    text = str(program)
    assert "tensor<?x3xf64>" in text
    assert "stablehlo.dot_general" in text
    values = data(5)
    agree(program.interpret(*values), logistic_in_numpy(*values))
    agree(program.compile()(*values), logistic_in_numpy(*values))


@pytest.mark.parametrize("policy", ["exact", "padded", "auto"])
@pytest.mark.parametrize("outputs", ["jax", "numpy"])
def test_smoke_function(policy, outputs):
    function = hlograph.function(*logistic(), policy=policy, outputs=outputs)
    for rows in (4, 1, 0, 7, 8, 9):
        values = data(rows)
        results = function(*values)
        assert all(isinstance(result, np.ndarray if outputs == "numpy" else jax.Array) for result in results)
        agree(results, logistic_in_numpy(*values))
    assert function.stats.calls == 6
    assert function.stats.retries == 0  # no plan was refused by the compiler


def test_smoke_plan_with_a_loop():
    """Gamma functions have a `while`; the plan for CPU must hold one, too."""
    x = pt.dvector("x")
    function = hlograph.function([x], [pt.gammainc(2.0, x), pt.exp(-x) - x], outputs="numpy")
    for points in (np.array([0.5, 1.0, 3.0]), np.array([0.1, 2.0, 30.0])):
        agree(function(points), [1 - np.exp(-points) * (1 + points), np.exp(-points) - points])
    assert function.stats.by_executable[0].plan
    assert function.stats.retries == 0


@pytest.mark.parametrize("outputs", ["jax", "numpy"])
def test_smoke_mask(outputs):
    x, mask = pt.dvector("x"), pt.vector("mask", dtype="bool")
    results = [x[mask.nonzero()], pt.exp(x)[mask.nonzero()].sum()]
    picked = hlograph.function([x, mask], results, policy="padded", outputs=outputs)
    for size in (0, 1, 5, 8, 9):
        values = RNG.normal(size=size)
        agree(picked(values, values > 0), [values[values > 0], np.exp(values[values > 0]).sum()])


def test_smoke_transformations():
    value = hlograph.function(logistic()[0], logistic()[1][0], name="value")
    rows, outcomes, weights = data(5)
    with enable_x64(True):
        gradient = jax.jit(jax.grad(value, argnums=2))(rows, outcomes, weights)
        batch = jax.vmap(value, (None, None, 0))(rows, outcomes, np.stack([weights, 2 * weights]))
    agree([gradient], [logistic_in_numpy(rows, outcomes, weights)[1]])
    agree([batch], [[logistic_in_numpy(rows, outcomes, w)[0] for w in (weights, 2 * weights)]])


def test_smoke_mode():
    import_module(f"hlograph.{LIBRARY}")
    inputs, outputs = logistic()
    state = library.shared(np.zeros(3), name="state")
    step = library.function(
        inputs[:2], outputs, givens={beta: state}, updates={state: state + outputs[1]}, mode="STABLEHLO"
    )
    expected = np.zeros(3)
    for rows in (4, 6):
        X, y, _ = data(rows)
        value, gradient = logistic_in_numpy(X, y, expected)
        agree(step(X, y), [value, gradient])
        expected = expected + gradient
    agree([state.get_value()], [expected])


@pytest.mark.parametrize("suffix", [".mlir", ".mlirbc"])
def test_smoke_artifacts(tmp_path, suffix):
    loaded = hlograph.load(hlograph.emit_stablehlo(logistic()).save(tmp_path / f"logistic{suffix}"))
    values = data(6)
    agree(loaded.compile()(*values), logistic_in_numpy(*values))


def test_smoke_jit():
    def loss(w, xs):
        def step(h, x):
            h = jnp.tanh(w @ h + x)
            return h, (h**2).sum()

        return jax.lax.scan(step, jnp.zeros(3), xs)[1].mean()

    fast = hlograph.jit(jax.value_and_grad(loss), dims={"xs": ("n", 3)}, policy="padded")
    for rows in (1, 4, 7, 8):
        w, xs = RNG.normal(size=(3, 3)).astype("float32"), RNG.normal(size=(rows, 3)).astype("float32")
        h, total = np.zeros(3), 0.0
        for x in xs.astype("float64"):
            h = np.tanh(w @ h + x)
            total += (h**2).sum()
        value, gradient = fast(w, xs)
        np.testing.assert_allclose(value, total / rows, rtol=1e-5)
        np.testing.assert_allclose(gradient, jax.grad(loss)(w, xs), rtol=1e-4, atol=1e-6)
    assert fast.stats.compiles == 1


@pytest.mark.parametrize("size", [1, 2, 7, 8, 9, 20])
def test_smoke_boolean_constants(size):
    """Old bindings take eight booleans a byte."""
    x = pt.dvector("x")
    for known in (RNG.random(size) > 0.5, np.ones(size, bool), np.zeros(size, bool)):
        program = hlograph.emit_stablehlo(([x], [pt.switch(pt.as_tensor_variable(known), x, -x)]))
        values = RNG.normal(size=size)
        agree([program.compile()(values)], [np.where(known, values, -values)])


@pytest.mark.filterwarnings("ignore:Scan return signature:DeprecationWarning")
def test_smoke_scan():
    """Two taps, a trace, a condition, and the gradient of a loop: releases have their own words for these."""
    until = import_module(f"{LIBRARY}.scan.utils").until
    start = {"initial": pt.constant(np.array([1.0, 2.0])), "taps": [-1, -2]}
    trace, _ = library.scan(lambda e, a, b: e + 0.5 * a + 0.25 * b, sequences=y, outputs_info=[start])
    sums, _ = library.scan(lambda e, a: (a + e, until(a + e > 7)), sequences=y, outputs_info=pt.constant(np.float64(0)))
    fn = hlograph.function([y], [trace, library.grad(trace.sum(), y), sums])
    for length in (1, 5):
        noise = np.arange(length) + 1.0
        rows, weights = [2.0, 1.0], [0.0, 0.0]  # latest first
        for e in noise:
            rows.insert(0, e + 0.5 * rows[0] + 0.25 * rows[1])
        for _ in noise:  # what one more unit of noise adds to the rest of the trace
            weights.insert(0, 1 + 0.5 * weights[0] + 0.25 * weights[1])
        total = np.cumsum(noise)
        agree(
            fn(noise), [rows[:-2][::-1], weights[:-2], total[: 1 + np.argmax(total > 7) if total[-1] > 7 else length]]
        )


@pytest.mark.filterwarnings("ignore:Scan return signature:DeprecationWarning")
def test_smoke_inner_graphs():
    """Stabilization in the steps of a loop; what a loop keeps for its gradient; ops of inner graphs, also old ones."""
    x = pt.dvector("x")
    stable, _ = library.scan(lambda e: pt.log(pt.sigmoid(e)), sequences=x)
    far = np.array([-1000.0, 0.5, 1000.0])
    tail = -np.log1p(np.exp(-far.clip(-700, None)))
    values, slopes = hlograph.function([x], [stable, library.grad(stable.sum(), x)])(far)
    np.testing.assert_allclose(values, np.where(far < -700, far, tail), rtol=1e-12)
    np.testing.assert_allclose(slopes, 1 / (1 + np.exp(far.clip(None, 700))), rtol=1e-12, atol=1e-300)
    trace, _ = library.scan(lambda e, h: pt.sin(h) * e, sequences=x, outputs_info=pt.constant(np.float64(1)))
    graph = [trace, library.grad((trace**2).sum(), x)]
    program = hlograph.emit_stablehlo(([x], graph), rewrite=True)
    if LIBRARY == "pytensor":  # Aesara's gradients compute a step again
        [size] = program.signature.roots
        assert str(program.specialize({size.name: 300}).optimize("default")).count("stablehlo.sine ") == 1
    values = np.array([0.5, -1.5, 2.0])
    fn, step = hlograph.function([x], graph), 1e-6
    differences = [
        ((np.asarray(fn(values + d)[0]) ** 2).sum() - (np.asarray(fn(values - d)[0]) ** 2).sum()) / (2 * step)
        for d in step * np.eye(3)
    ]
    np.testing.assert_allclose(np.asarray(fn(values)[1]), differences, rtol=1e-7)
    builders = import_module(f"{LIBRARY}.compile.builders")
    inner = pt.dvector()
    wrapped = builders.OpFromGraph([inner], [pt.log(pt.sigmoid(inner))])(x)
    np.testing.assert_allclose(
        np.asarray(hlograph.function([x], wrapped)(far)), np.where(far < -700, far, tail), rtol=1e-12
    )


def test_smoke_errors():
    function = hlograph.function(*logistic())
    with pytest.raises(hlograph.errors.ArgumentShapeError, match="beta"):
        function(np.ones((5, 2)), np.ones(5), np.zeros(3))
