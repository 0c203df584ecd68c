"""Functions that JAX traces, as programs: signatures, sizes, constraints, what is refused, and values."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.core import ClosedJaxpr
from trees import random

import hlograph
from hlograph import errors
from hlograph.builder import dims as dimension
from hlograph.codegen.artifact.programs import to_portable

SDS = jax.ShapeDtypeStruct
VECTOR, MATRIX = SDS(("n",), "float32"), SDS(("n", "n"), "float32")


def text(dims):
    return ", ".join(map(str, dims))


def test_a_program_has_the_functions_names_and_the_specs_dimensions() -> None:
    def loss(params, x):
        y = x @ params["w"] + params["layers"][0]
        return {"value": y.sum(), "all": (y, y[1:])}

    params = {"w": SDS((4, "k"), "float32"), "layers": [SDS(("k",), "float32")]}
    program = hlograph.emit_stablehlo(loss, params, SDS(("n", 4), "float32"))
    assert program.name == "loss"
    signature = program.signature
    assert [f"{a.name}[{text(a.dims)}]" for a in signature.arguments] == [
        "params.layers[0][k]",
        "params.w[4, k]",
        "x[n, 4]",
    ]
    assert [f"{r.name}[{text(r.dims)}]" for r in signature.results] == [
        "out.all[0][n, k]",
        "out.all[1][n - 1, k]",
        "out.value[]",
    ]
    assert [(str(c), c.where) for c in signature.constraints] == [
        ("k >= 1", "JAX's symbolic sizes"),
        ("n >= 1", "JAX's symbolic sizes"),
    ]


def test_equal_names_are_checked_at_the_call() -> None:
    program = hlograph.emit_stablehlo(lambda x, y: x + y, VECTOR, VECTOR)
    run = program.compile()
    np.testing.assert_array_equal(run(random(3), random(3)), random(3) + random(3))
    with pytest.raises(errors.ArgumentShapeError, match=r"argument 'y', axis 0: expected size 3 = n \(n is argument"):
        run(random(3), random(4))
    with pytest.raises(errors.ArgumentShapeError, match="expected n >= 1, got n = 0"):
        run(random(0), random(0))


def test_nothing_of_jaxs_export_is_left_in_the_module() -> None:
    program = hlograph.emit_stablehlo(lambda x: jax.jit(jnp.sin)(x[::2]), VECTOR, name="main thing")
    assert program.name == "main_thing"
    for word in ("shape_assertion", "mhlo.", "jax.", "func.call", "private"):
        assert word not in program.text
    again = hlograph.Program.parse(program.text)
    assert again.signature == program.signature
    np.testing.assert_allclose(again.compile()(random(5)), np.sin(random(5)[::2]), rtol=1e-6)
    assert hlograph.Program.parse(to_portable(program)).signature == program.signature


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x, y: x[: x.shape[0] // 2], "n//2"),
        (lambda x, y: x[::2], "(n + 1)//2"),
        (lambda x, y: jnp.concatenate([x, x, y, jnp.zeros(3)]), "2*n + m + 3"),
        (lambda x, y: (x[:, None] * y).reshape(-1), "m*n"),
        (lambda x, y: jnp.einsum("i,j,k->ijk", x, x, x).reshape(-1), "n*n*n"),
        (lambda x, y: x[:5], "min(n, 5)"),
        (lambda x, y: x[5:], "n - min(n, 5)"),
        (lambda x, y: x[x.shape[0] % 3 :], "n - n % 3"),
        (lambda x, y: jnp.zeros((x.shape[0] // 2) ** 2 * 3), "3*(n//2)*(n//2)"),
    ],
)
def test_jaxs_sizes_become_dimensions(function, expected) -> None:
    program = hlograph.emit_stablehlo(function, VECTOR, SDS(("m",), "float32"))
    (dim,) = program.signature.results[0].dims
    assert dim == dimension.parse(expected)
    for n, m in ((1, 1), (2, 5), (7, 3), (12, 1)):
        want = jax.jit(function)(random(n), random(m))
        assert dimension.evaluate(dim, {"n": n, "m": m}) == want.shape[0]
        np.testing.assert_allclose(program.compile()(random(n), random(m)), want, rtol=1e-6)


@pytest.mark.parametrize(
    ("dims", "expected"),
    [
        ({"p": ("n",)}, ["p.a[n]", "p.b[2, 3]", "p.c[0][n]"]),
        ({"p": "n"}, ["p.a[n]", "p.b[2, 3]", "p.c[0][n]"]),
        ({"p": {"b": ("n", None)}}, ["p.a[2]", "p.b[n, 3]", "p.c[0][2]"]),
        ({"p": {"a": "n", "c": [("m",)]}}, ["p.a[n]", "p.b[2, 3]", "p.c[0][m]"]),
        ({"p": {"a": "n", "c": ("m",)}}, ["p.a[n]", "p.b[2, 3]", "p.c[0][m]"]),
        ({"p": {"b": ("n", 3)}}, ["p.a[2]", "p.b[n, 3]", "p.c[0][2]"]),
        ({"p": None}, ["p.a[2]", "p.b[2, 3]", "p.c[0][2]"]),
        ({}, ["p.a[2]", "p.b[2, 3]", "p.c[0][2]"]),
    ],
)
def test_dims_name_axes_by_prefix(dims, expected) -> None:
    tree = {"a": random(2), "b": random(2, 3), "c": [random(2)]}
    program = hlograph.emit_stablehlo(lambda p: jax.tree.map(jnp.sin, p), tree, dims=dims)
    assert [f"{a.name}[{text(a.dims)}]" for a in program.signature.arguments] == expected


def test_shapes_may_hold_expressions_and_jaxs_own_sizes() -> None:
    def function(x, y):
        return jnp.concatenate([x, x, jnp.zeros(1)]) + y

    program = hlograph.emit_stablehlo(function, VECTOR, SDS(("2*n + 1",), "float32"))
    np.testing.assert_allclose(program.compile()(random(2), random(5)), function(random(2), random(5)))
    with pytest.raises(errors.ArgumentShapeError, match=r"expected size 5 = 2\*n \+ 1"):
        program.compile()(random(2), random(4))
    n, m = jax.export.symbolic_shape("n, 2*n + 1")
    theirs = hlograph.emit_stablehlo(function, SDS((n,), "float32"), SDS((m,), "float32"))
    assert theirs.signature == program.signature


def test_variable_arguments_partial_and_bound_functions() -> None:
    program = hlograph.emit_stablehlo(lambda *xs: sum(x.sum() for x in xs), VECTOR, MATRIX, dims={"xs": ("n",)})
    assert [a.name for a in program.signature.arguments] == ["xs[0]", "xs[1]"]
    program = hlograph.emit_stablehlo(functools.partial(jnp.linalg.norm, ord=2), VECTOR, name="norm")
    np.testing.assert_allclose(program.compile()(random(4)), np.linalg.norm(random(4)), rtol=1e-6)
    program = hlograph.emit_stablehlo(jax.jit(jnp.exp), VECTOR)
    np.testing.assert_allclose(program.compile()(random(4)), np.exp(random(4)), rtol=1e-6)
    program = hlograph.emit_stablehlo(jax.value_and_grad(lambda x: (x**3).sum()), VECTOR)
    np.testing.assert_allclose(program.compile()(random(4))[1], 3 * random(4) ** 2, rtol=1e-5)


def test_constraints_decide_what_jax_cannot() -> None:
    def function(x):
        return x[:3] if x.shape[0] >= 4 else x

    with pytest.raises(errors.UnsupportedGraphError, match="asks whether n >= 4, which depends on the call"):
        hlograph.emit_stablehlo(function, VECTOR)
    program = hlograph.emit_stablehlo(function, VECTOR, constraints=["n >= 4"])
    assert program.signature.results[0].dims == (3,)
    assert str(program.signature.constraints[-1]) == "n >= 4"
    with pytest.raises(errors.ArgumentShapeError, match="expected n >= 4, got n = 3"):
        program.compile()(random(3))


@pytest.mark.parametrize(
    ("function", "constraint", "good", "bad", "message"),
    [
        (lambda x: x.reshape(4, x.shape[0] // 4), "n % 4 == 0", (8,), (6,), "expected n % 4 == 0, got n = 6"),
        (lambda x, y: x[::2] + y, "(n + 1)//2 == m", (5, 3), (5, 2), "got m = 2, n = 5"),
        (lambda x, y: x[: y.shape[0]] + y, "m <= n", (5, 3), (3, 4), "expected n >= m, got m = 4, n = 3"),
        (lambda x, y: x[: y.shape[0]] + y, "m < n", (5, 3), (4, 4), "got m = 4, n = 4"),
        (lambda x, y: x[: y.shape[0]] + y, "n > m", (5, 3), (4, 4), "got m = 4, n = 4"),
    ],
)
def test_relations_of_sizes_can_be_demanded(function, constraint, good, bad, message) -> None:
    specs = [SDS((name,), "float32") for name in "nm"][: len(good)]
    run = hlograph.emit_stablehlo(function, *specs, constraints=[constraint]).compile()
    np.testing.assert_array_equal(run(*map(random, good)), function(*map(random, good)))
    with pytest.raises(errors.ArgumentShapeError, match=message):
        run(*map(random, bad))


def test_constraints_of_jaxs_symbolic_shapes_are_the_programs() -> None:
    n, m = jax.export.symbolic_shape("n, m", constraints=["m <= n"])
    specs = SDS((n,), "float32"), SDS((m,), "float32")
    run = hlograph.emit_stablehlo(lambda x, y: x[: y.shape[0]] + y, *specs).compile(policy="padded")
    np.testing.assert_array_equal(run(random(5), random(3)), random(5)[:3] + random(3))
    with pytest.raises(errors.ArgumentShapeError, match="expected n >= m"):
        run(random(2), random(3))


X, TREE = (VECTOR,), ({"a": random(2), "b": random(2, 3)},)
INCONCLUSIVE = "'n' > '1' is inconclusive. A constraint such as"
DIVISION, OPEN = "does not result in an equal division", "cannot be interpreted as an integer"


def same(p):
    return p


@pytest.mark.parametrize(
    ("function", "specs", "options", "message"),
    [
        (same, TREE, {"dims": {"z": "n"}}, "dims names 'z', which is not an argument"),
        (same, TREE, {"dims": {"p": ("n", "m", "k")}}, "dims of 'p' has 3 entries, but the argument has 1, 2 axes"),
        (same, TREE, {"dims": {"p": {"a": ("n", 3)}}}, r"dims of 'p\.a' has 2 entries, but the argument has 1 axes"),
        (same, TREE, {"dims": {"p": {"z": "n"}}}, r"there is no p\.z in the argument"),
        (same, TREE, {"dims": {"p": {"b": ("n", 4)}}}, r"dims of 'p\.b', axis 1 says 4, but the argument has 3"),
        (same, TREE, {"dims": {"p": {"a": "n +"}}}, "expected a number, a name"),
        (same, TREE, {"dims": {"p": {"a": "2*n"}}}, "no axis of an argument is n itself"),
        (same, X, {"constraints": ["n"]}, "expected '==', '>=' or '!='"),
        (same, X, {"constraints": ["n <> 2"]}, "expected '==', '>=' or '!='"),
        (same, X, {"constraints": ["m >= 2"]}, r"no axis is named m \(sizes: n\)"),
        (same, X, {"constraints": ["n - n >= 2"]}, "Unsatisfiable"),
        (lambda x, y: x, X, {}, "missing a required argument: 'y'"),
        (same, (VECTOR, VECTOR), {}, "too many positional arguments"),
        (same, X, {"rewrite": True}, "rewrite"),
        ([], X, {}, "for functions that JAX traces"),
        # JAX's reasons, without its links
        (lambda x: sum(x), X, {"name": "mine"}, "(?s)'mine'.*cannot be interpreted as an integer"),
        (lambda x: jnp.split(x, 2), X, {"name": "mine"}, f"(?s)'mine'.*{DIVISION}"),
        (lambda x: jnp.convolve(x, x), X, {"name": "mine"}, f"(?s)'mine'.*{OPEN}"),
        (lambda x: jnp.linspace(0, 1, x.shape[0]), X, {"name": "mine"}, f"(?s)'mine'.*{INCONCLUSIVE}"),
    ],
)
def test_what_is_refused(function, specs, options, message) -> None:
    error = errors.UnsupportedGraphError if "name" in options else errors.GraphError
    with pytest.raises(error, match=message) as caught:
        hlograph.emit_stablehlo(function, *specs, **options)
    assert "Please see" not in str(caught.value)


def test_without_symbolic_sizes_the_functions_own_error_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        hlograph.emit_stablehlo(lambda x: 1 // 0, SDS((3,), "float32"))


def test_a_jaxpr_keeps_the_sizes_that_it_was_traced_for() -> None:
    jaxpr = jax.make_jaxpr(lambda x: x.mean() + jnp.arange(3.0))(random(5))
    assert isinstance(jaxpr, ClosedJaxpr)
    program = hlograph.emit_stablehlo(jaxpr, name="mean")
    assert text(program.signature.arguments[0].dims) == "5"
    np.testing.assert_allclose(program.compile()(random(5)), random(5).mean() + np.arange(3.0), rtol=1e-6)
    with pytest.raises(errors.GraphError, match=r"arg0 is \[n\] by specs and dims, but the jaxpr was traced for \[5\]"):
        hlograph.emit_stablehlo(jaxpr, dims={"arg0": "n"})
    with pytest.raises(errors.GraphError, match="2 specs are given"):
        hlograph.emit_stablehlo(jaxpr, VECTOR, VECTOR)


def test_a_jaxpr_with_symbolic_sizes() -> None:
    scope = jax.export.SymbolicScope(["n >= 2", "mod(n, 2) == 0"])
    (n,) = jax.export.symbolic_shape("n", scope=scope)
    jaxpr = jax.make_jaxpr(lambda x: (x[2:], x.reshape(2, n // 2)))(SDS((n,), "float32"))
    program = hlograph.emit_stablehlo(jaxpr, dims={"arg0": "n"})
    assert [str(c) for c in program.signature.constraints if "%" in str(c)] == ["n % 2 == 0"]
    assert text(program.signature.results[1].dims) == "2, n//2"
    np.testing.assert_array_equal(program.compile()(random(6))[1], random(6).reshape(2, -1))
    with pytest.raises(errors.ArgumentShapeError):
        program.compile()(random(5))
    with pytest.raises(errors.GraphError, match="constraints of a jaxpr"):
        hlograph.emit_stablehlo(jaxpr, constraints=["n >= 4"])


def test_x64_is_the_callers() -> None:
    spec = SDS(("n",), "float64")
    assert hlograph.emit_stablehlo(lambda x: x.sum(), spec).signature.results[0].dtype == np.float32
    with jax.enable_x64(True):
        program = hlograph.emit_stablehlo(lambda x: x.sum(), spec)
    assert program.signature.results[0].dtype == np.float64
    value = np.random.default_rng(0).normal(size=9)
    np.testing.assert_allclose(program.compile()(value), value.sum(), rtol=1e-14)
    assert not jax.config.jax_enable_x64


CUMULATIVE = [
    lambda x: jnp.cumsum(x, 1),
    lambda x: jnp.cumprod(x, 0),
    lambda x: jax.lax.cummax(x, 1),
    lambda x: jax.lax.cummin(x, 0, reverse=True),
    lambda x: jax.lax.cumsum(x, 0, reverse=True),
    jax.grad(lambda x: (jnp.cumsum(x * x, 0) ** 2).sum()),
    lambda x: jnp.cumsum((x > 0).astype(jnp.int32), 1),
    lambda x: jax.lax.cumlogsumexp(x, 0),
    lambda x: jax.lax.scan(lambda c, row: (jnp.cumsum(c + row), row), x[0], x)[0],
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("function", CUMULATIVE)
def test_running_sums(function) -> None:
    program, wanted = hlograph.emit_stablehlo(function, SDS(("n", 3), "float32")), jax.jit(function)
    compiled = program.compile()
    for n in (1, 2, 7, 100):
        np.testing.assert_allclose(compiled(random(n, 3)), wanted(random(n, 3)), rtol=2e-4, atol=1e-4)
    np.testing.assert_allclose(program.interpret(random(5, 3))[0], wanted(random(5, 3)), rtol=1e-4, atol=1e-5)
