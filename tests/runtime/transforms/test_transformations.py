"""What JAX's transformations make of graphs beside numbers, which `jitted/test_jit_transformations.py` compares."""

import inspect
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytensor.tensor as pt
import pytest
from densities import MODELS, logistic_data
from jax.test_util import check_grads
from pytensor.compile.builders import OpFromGraph
from pytensor.gradient import grad_clip
from pytensor.raise_op import Assert
from trees import assert_same as same

import hlograph


@pytest.fixture(autouse=True)
def _wide() -> Any:
    with jax.enable_x64(True):
        yield


LOGISTIC = MODELS["logistic"]
assert_same = partial(same, tolerance=1e-9)


def test_derivatives_of_derivatives_agree_with_differences() -> None:
    """All ways to take two of them: JAX's formulas go through the same rules."""
    function, (X, y, beta) = LOGISTIC.function(), LOGISTIC.data()
    check_grads(jax.jit(lambda b: function(X, y, b)), [beta], order=2, atol=1e-4, rtol=1e-4)


def test_the_jaxpr_is_one_equation_that_says_what_it_calls() -> None:
    function, data = LOGISTIC.function(), LOGISTIC.data()
    (equation,) = jax.make_jaxpr(function)(*data).eqns
    assert "= stablehlo_call[callee=logp] " in str(equation)
    text = str(jax.make_jaxpr(jax.grad(function, 2))(*data))
    assert re.findall(r"stablehlo_call\[callee=(\w+)\]", text) == ["logp_grad"]
    for rows in (7, 9, 7, 9):
        jax.grad(function, 2)(*logistic_data(rows))
    (pullback,) = function.derived  # built once, and compiled for each length
    assert (pullback.__name__, pullback.stats.compiles) == ("logp_grad", 2)


def test_the_module_is_inlined_and_fused_across_the_border() -> None:
    x = pt.dvector("x")
    function = hlograph.function([x], pt.exp(x) * 2)
    compiled = jax.jit(lambda v: jnp.sin(function(jnp.cos(v)) + 1)).lower(np.ones(100)).compile()
    entry = compiled.as_text().split("ENTRY")[1]
    operations = re.findall(r"= \S+ (\w[\w-]*)\(", entry)
    assert operations == ["parameter", "fusion"]


def test_scan_and_while_loop_bodies() -> None:
    x = pt.dscalar("x")
    step = hlograph.function([x], x - 0.1 * pt.sin(x))

    def by_scan(start: Any, f: Callable[..., Any]) -> Any:
        return jax.lax.scan(lambda carry, _: (f(carry), carry), start, None, length=5)

    def by_while(start: Any, f: Callable[..., Any]) -> Any:
        return jax.lax.while_loop(lambda v: v > 0.5, f, start)

    def reference(v: Any) -> Any:
        return v - 0.1 * jnp.sin(v)

    start = jnp.asarray(2.0)
    assert_same(by_scan(start, step), by_scan(start, reference))
    assert_same(by_while(start, step), by_while(start, reference))
    gradient = jax.grad(lambda v, f: by_scan(v, f)[1].sum())
    assert_same(gradient(start, step), gradient(start, reference))
    assert_same(
        jax.jvp(lambda v: by_while(v, step), (start,), (1.0,)),
        jax.jvp(lambda v: by_while(v, reference), (start,), (1.0,)),
    )


def test_eval_shape_and_compile_time_evaluation() -> None:
    function, data = LOGISTIC.function(), LOGISTIC.data()
    assert jax.eval_shape(function, *data) == jax.ShapeDtypeStruct((), np.float64)

    @jax.jit
    def outer(v: Any) -> Any:
        with jax.ensure_compile_time_eval():
            constant = function(*data)
        assert not isinstance(constant, jax.core.Tracer)
        return v + constant

    assert_same(outer(1.0), LOGISTIC.value(*data) + 1)


def test_linear_transpose_of_a_pullback() -> None:
    function, data = LOGISTIC.function(), LOGISTIC.data()
    X, y, beta = data
    _, pull = jax.vjp(lambda b: function(X, y, b), beta)
    _, pull_reference = jax.vjp(lambda b: LOGISTIC.value(X, y, b), beta)
    direction = np.array([1.0, -2.0, 0.5])
    transposed = jax.linear_transpose(lambda ct: pull(ct)[0], 1.0)
    assert_same(transposed(direction), jax.linear_transpose(lambda ct: pull_reference(ct)[0], 1.0)(direction))


X, K, Z = pt.dvector("x"), pt.lscalar("k"), pt.dvector("z")
# Results that do not depend on an argument, that another depends on, that are given twice, that are integers.
SEVERAL = {
    "several": ([X, K, Z], [X * 2, X.sum() ** 2, pt.argmax(X), Z * 3, X], (np.arange(3.0), 2, np.ones(2))),
    "shared": ([X], [(inner := pt.sin(X)), inner**2, inner, X], (np.array([0.3, 1.2]),)),
}
VALUES = {
    "several": lambda x, k, z: (x * 2, x.sum() ** 2, jnp.argmax(x), z * 3, x),
    "shared": lambda x: (jnp.sin(x), jnp.sin(x) ** 2, jnp.sin(x), x),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_several_results(name: str) -> None:
    inputs, outputs, data = SEVERAL[name]
    function, value = hlograph.function(inputs, outputs, name=name), VALUES[name]

    def total(f: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args: sum(jnp.sum(jnp.sin(x)) for x in f(*args) if x.dtype.kind == "f")

    smooth = tuple(i for i, x in enumerate(data) if np.asarray(x).dtype.kind == "f")
    assert_same(jax.grad(total(function), smooth)(*data), jax.grad(total(value), smooth)(*data))
    tangents = tuple(x + 1 if i in smooth else np.zeros((), jax.dtypes.float0) for i, x in enumerate(data))
    assert_same(jax.jvp(function, data, tangents), jax.jvp(value, data, tangents))


def test_values_that_decide_sizes() -> None:
    x, k = pt.dvector("x"), pt.lscalar("k")
    function = hlograph.function([x, k], (x[:k] ** 2).sum() * pt.arange(k).sum(), name="head")
    data = np.arange(1.0, 6.0)
    np.testing.assert_allclose(jax.grad(function)(data, 3), np.array([2.0, 4.0, 6.0, 0, 0]) * 3)
    np.testing.assert_allclose(jax.jit(jax.grad(lambda v: function(v, 2)))(data), np.array([2.0, 4.0, 0, 0, 0]))
    np.testing.assert_allclose(jax.vmap(function, (0, None))(np.stack([data, 2 * data]), 3), [14 * 3.0, 56 * 3.0])
    with pytest.raises(hlograph.errors.UnsupportedGraphError, match="'k' decides a size"):
        jax.jit(function)(data, 3)
    with pytest.raises(hlograph.errors.UnsupportedGraphError, match="'k' decides a size"):
        jax.vmap(function, (None, 0))(data, np.array([1, 2]))


def test_sizes_from_data() -> None:
    x = pt.dvector("x")
    function = hlograph.function([x], (x[x > 0] ** 2).sum(), name="positive")
    data = np.array([1.0, -2.0, 3.0, -4.0])
    expected = np.array([2.0, 0, 6.0, 0])
    np.testing.assert_allclose(jax.grad(function)(data), expected)
    np.testing.assert_allclose(jax.jit(jax.grad(function))(data), expected)
    np.testing.assert_allclose(jax.vmap(function)(np.stack([data, -data])), [10.0, 20.0])
    (reason,) = function.derived.loops.values()
    assert "depends on data" in reason
    np.testing.assert_allclose(jax.vmap(jax.grad(function))(np.stack([data, -data]))[1], [0, 4.0, 0, 8.0])
    ragged = hlograph.function([x], x[x > 0], name="ragged")
    with pytest.raises(hlograph.errors.UnsupportedGraphError, match="depends on data"):
        jax.jit(ragged)(data)


def test_checks_raise_under_transformations() -> None:
    x = pt.dvector("x")
    positive = pt.all(x > 0)
    from pytensor.raise_op import Assert

    function = hlograph.function([x], Assert("x must be positive")(pt.log(x).sum(), positive), name="checked")
    good, bad = np.array([1.0, 2.0]), np.array([1.0, -2.0])
    np.testing.assert_allclose(jax.grad(function)(good), 1 / good)
    np.testing.assert_allclose(jax.jit(jax.grad(function))(good), 1 / good)
    np.testing.assert_allclose(jax.vmap(function)(np.stack([good, good * 2])), [np.log(2), np.log(8)])
    with pytest.raises(AssertionError, match="positive"):
        jax.grad(function)(bad)
    with pytest.raises(AssertionError, match="positive"):
        jax.vmap(function)(np.stack([good, bad]))
    for traced, data in ((jax.value_and_grad(function), bad), (jax.vmap(function), np.stack([good, bad]))):
        with pytest.raises(Exception, match="positive"):
            finish(jax.jit(traced), data)


def finish(function: Callable[..., Any], *data: Any) -> None:
    jax.block_until_ready(function(*data))
    jax.effects_barrier()


def test_float32_and_without_64_bit_types() -> None:
    x, w = pt.fvector("x"), pt.dvector("w")
    single = hlograph.function([x], (x**2).sum())
    gradient = jax.grad(single)(np.ones(3, np.float32))
    assert gradient.dtype == np.float32
    np.testing.assert_array_equal(gradient, [2, 2, 2])
    double = hlograph.function([w], (w**3).sum(), name="cubes")
    with jax.enable_x64(False):
        values = np.array([1.0, 2.0])
        for transformed in (jax.grad(double), jax.jit(jax.grad(double))):
            gradient = transformed(values)
            assert gradient.dtype == np.float32
            np.testing.assert_array_equal(gradient, [3.0, 12.0])
        totals = jax.jit(jax.vmap(double))(np.stack([values, 2 * values]))
        assert totals.dtype == np.float32
        np.testing.assert_array_equal(totals, [9.0, 72.0])
        assert jax.eval_shape(double, values).dtype == np.float32
        assert double(values).dtype == np.float64  # untransformed, the graph's dtypes count


def test_shared_variables_are_constants_of_the_transformation() -> None:
    import pytensor

    scale = pytensor.shared(np.array([1.0, 2.0]), name="scale")
    x = pt.dvector("x")
    function = hlograph.function([x], (scale * x**2).sum(), name="scaled")
    data = np.array([3.0, 4.0])
    np.testing.assert_allclose(jax.grad(function)(data), [6.0, 16.0])
    assert function(data) == 41
    scale.set_value(np.array([2.0, 2.0]))
    assert (function(data), function.stats.compiles) == (50, 1)
    np.testing.assert_allclose(jax.grad(function)(data), [12.0, 16.0])
    np.testing.assert_allclose(jax.vmap(function)(np.stack([data, data * 2])), [50.0, 200.0])


def test_bad_uses_have_clear_errors() -> None:
    x, k = pt.dvector("x"), pt.lvector("k")
    function = hlograph.function([x, k], x.sum() * k.sum(), name="sums")
    data = (np.ones(3), np.array([1, 2]))
    with pytest.raises(TypeError, match="grad requires real- or complex-valued inputs"):
        jax.grad(function, 1)(*data)
    vector = hlograph.function([x], x * 2)
    with pytest.raises(TypeError, match="Gradient only defined for scalar-output"):
        jax.grad(vector)(np.ones(3))
    with pytest.raises(hlograph.errors.ArgumentTypeError, match="expected 1 argument"):
        jax.vmap(vector)(jax.random.split(jax.random.key(0), 3), np.ones((3, 2)))
    with pytest.raises(hlograph.errors.ArgumentTypeError, match="expected 2 arguments"):
        jax.grad(function)(np.ones(3))
    with pytest.raises(hlograph.errors.ArgumentShapeError, match="expected 1 axes"):
        jax.jit(function)(np.ones((3, 1)), data[1])


def test_a_loaded_program_batches_and_has_no_derivative(tmp_path: Any) -> None:
    x = pt.dvector("x")
    program = hlograph.emit_stablehlo(([x], Assert("finite")(pt.sin(x).sum(), (x < 9).all())))
    function = hlograph.load(program.save(tmp_path / "sine.mlir")).compile()
    batch = np.arange(6.0).reshape(1, 2, 3)
    for mapped in (jax.vmap(jax.vmap(function)), jax.jit(jax.vmap(jax.vmap(function)))):
        np.testing.assert_allclose(mapped(batch), np.sin(batch).sum(axis=2))
    assert "while" not in jax.jit(jax.vmap(function)).lower(batch[0]).as_text()
    with pytest.raises(AssertionError, match="finite"):
        jax.vmap(function)(batch[0] + 4)
    with pytest.raises(hlograph.errors.DerivativeError, match="derivatives=1"):
        jax.grad(function)(batch[0, 0])


@pytest.mark.sampled(4)
@pytest.mark.parametrize("suffix", [".mlir", ".mlirbc"])
def test_a_program_saved_with_its_pullback(tmp_path: Any, suffix: str) -> None:
    inputs, value = LOGISTIC.graph()
    program = hlograph.emit_stablehlo((inputs, [value, inputs[2] * 2]), dims={"X": ("n", "k")}, name="logp")
    loaded = hlograph.load(program.save(tmp_path / f"logp{suffix}", derivatives=1))
    assert loaded.source is None
    function = loaded.compile()
    for rows in (4, 7):
        X, y, beta = data = logistic_data(rows)
        reference = jax.jit(jax.grad(lambda *a: LOGISTIC.value(*a) + (2 * a[2]).sum(), (0, 2)))(*data)
        total = jax.grad(lambda *a, f=function: f(*a)[0] + f(*a)[1].sum(), (0, 2))
        assert_same(total(*data), reference)
        assert_same(jax.jit(total)(*data), reference)
        first = jax.grad(lambda b, f=function, X=X, y=y: f(X, y, b)[0])
        betas = np.stack([beta, -beta])
        of_each, expected = jax.jit(jax.vmap(jax.grad(LOGISTIC.value, (0, 2)), (None, None, 0)))(X, y, betas)
        assert_same(jax.vmap(first)(betas), expected)
        rows = jax.vmap(function, (None, None, 0))
        assert_same(jax.grad(lambda b, X=X, y=y, rows=rows: rows(X, y, b)[0].sum())(betas), expected)
        shared = jax.grad(lambda X, y=y, betas=betas, rows=rows: rows(X, y, betas)[0].sum())(X)
        assert_same(shared, of_each.sum(0))
    with pytest.raises(hlograph.errors.DerivativeError, match="pullback only"):
        jax.jvp(lambda b: function(X, y, b), (beta,), (beta,))
    with pytest.raises(hlograph.errors.DerivativeError, match="pullback only"):
        jax.hessian(lambda b: function(X, y, b)[0])(beta)
    again = hlograph.load(loaded.save(tmp_path / f"again{suffix}", derivatives=1)).compile()
    assert_same(again(*data), function(*data))
    plain = hlograph.load(loaded.save(tmp_path / f"plain{suffix}", derivatives=0)).compile()
    with pytest.raises(hlograph.errors.DerivativeError, match="derivatives=1"):
        jax.grad(lambda b: plain(X, y, b)[0])(beta)


def test_a_pullback_that_does_not_fit_is_refused(tmp_path: Any) -> None:
    x = pt.dvector("x")
    program = hlograph.emit_stablehlo(([x], pt.sin(x).sum()))
    path = program.save(tmp_path / "sine.mlir", derivatives=1)
    text = path.read_text()
    for old, new, message in (
        ('hlograph.of = ["0"]', 'hlograph.of = ["1"]', "is not the pullback"),
        ('hlograph.from = ["0"]', 'hlograph.from = ["a"]', "cannot be read"),
    ):
        assert old in text
        path.write_text(text.replace(old, new))
        with pytest.raises(hlograph.errors.ArtifactError, match=message):
            hlograph.load(path)
    with pytest.raises(ValueError, match="derivatives"):
        program.save(path, derivatives=2)
    whole = pt.lvector("k")
    with pytest.raises(hlograph.errors.DerivativeError, match="smoothly"):
        hlograph.emit_stablehlo(([whole], whole.sum())).save(path, derivatives=1)


@pytest.mark.parametrize("rewrite", [False, True, "full"])
def test_derivatives_of_stabilized_graphs(rewrite: Any) -> None:
    x = pt.dvector("x")
    value = (pt.log(pt.sigmoid(x)) + pt.log1p(pt.exp(x)) ** 3).sum()
    function = hlograph.function([x], value, rewrite=rewrite)
    far = 30.0 if rewrite is False else 800.0  # as it stands, the graph overflows
    points = np.array([-far, -1.0, 0.0, 2.0, far])
    expected = jax.grad(lambda v: (jax.nn.log_sigmoid(v) + jax.nn.softplus(v) ** 3).sum())(points)
    np.testing.assert_allclose(jax.grad(function)(points), expected, rtol=1e-9)


def test_the_hessian_of_a_solution() -> None:
    m = pt.dmatrix("m")
    function = hlograph.function([m], pt.linalg.solve(m, np.arange(1.0, 4.0)).sum(), name="solution")
    value = np.eye(3) * 3 + 0.1
    expected = jax.jit(jax.hessian(lambda a: jnp.linalg.solve(a, jnp.arange(1.0, 4.0)).sum()))(value)
    assert_same(jax.hessian(function)(value), expected)


def test_without_jit() -> None:
    x = pt.dvector("x")
    function = hlograph.function([x], pt.log(x).sum(), name="logs")
    data = np.array([1.0, 2.0])
    with jax.disable_jit():
        assert_same(function(data), jnp.log(2.0))
        assert_same(jax.jit(jax.grad(function))(data), jnp.asarray(1 / data))
        assert_same(jax.vmap(function)(np.stack([data, data])), jnp.log(jnp.array([2.0, 2.0])))


def test_clipped_gradients_do_not_scale() -> None:
    x = pt.dvector("x")
    function = hlograph.function([x], (grad_clip(x, -0.5, 0.5) ** 2).sum())
    values = np.array([0.01, -0.3, 4.0])
    for factor in (1.0, -7.0):
        found = jax.grad(lambda v, f=factor: f * function(v))(values)
        np.testing.assert_allclose(found, np.clip(2 * factor * values, -0.5, 0.5))


def test_checks_that_only_the_gradient_has() -> None:
    """Their flags are no gradients, and they raise."""
    from pytensor.raise_op import Assert

    override = "pullback" if "pullback" in inspect.signature(OpFromGraph).parameters else "lop_overrides"
    a = pt.dscalar("a")

    def pullback(inputs: list[Any], outputs: list[Any], cotangents: list[Any]) -> list[Any]:
        return [Assert("the gradient is negative")(2 * inputs[0] * cotangents[0], inputs[0] >= 0)]

    square = OpFromGraph([a], [a**2], **{override: pullback})
    b = pt.dscalar("b")
    function = hlograph.function([b, a], square(a) * b, name="checked_gradient")
    assert not function.program.signature.checks
    with jax.enable_x64(True):
        gradient = jax.jit(jax.grad(function, (0, 1)))
        np.testing.assert_allclose(gradient(5.0, 3.0), (9, 30))
        batch = jax.jit(jax.vmap(jax.value_and_grad(function, 1), (None, 0)))
        np.testing.assert_allclose(batch(5.0, np.array([1.0, 3.0])), ((5, 45), (10, 30)))
        assert float(jax.jit(function)(5.0, -3.0)) == 45
        for failing in (jax.grad(function, 1), jax.jit(jax.grad(function, 1))):
            with pytest.raises(Exception, match="the gradient is negative"):
                finish(failing, 5.0, -3.0)
