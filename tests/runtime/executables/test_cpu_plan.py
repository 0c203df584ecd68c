"""The plan for CPU from outside: its arguments, what is done where XLA refuses it, and where there is none."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytensor.tensor as pt
import pytest
from jax import lax

import hlograph
from hlograph import Program
from hlograph.codegen.passes import cpu_regions
from hlograph.errors import PassError
from hlograph.runtime.direct import verdict
from hlograph.runtime.executables import cpu_plan

pytestmark = pytest.mark.optimized  # what XLA makes of a module

SMALL_CALL = "xla_cpu_small_call"
REGIONS = hlograph.CpuOptions(forms=False, math=False)
X = np.linspace(0.1, 1.0, 8)


def graph():
    x = pt.dvector("x")
    return [x], [pt.tanh(x * 2).sum(), pt.exp(x) - x]


def value(x) -> tuple[np.ndarray, np.ndarray]:
    return np.tanh(x * 2).sum(), np.exp(x) - x


def agree(found, x=X) -> None:
    for one, expected in zip(found, value(np.asarray(x)), strict=True):
        np.testing.assert_allclose(one, expected, rtol=1e-12)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "cpu", ["auto", "jax", "sync", "plain", REGIONS, hlograph.CpuOptions(client="sync", pack=False)]
)
@pytest.mark.parametrize("outputs", ["jax", "numpy"])
def test_every_choice_gives_the_same(cpu, outputs):
    if outputs == "jax" and hlograph.CpuOptions.of(cpu).client == "sync":
        with pytest.raises(ValueError, match='use it with outputs="numpy"'):
            hlograph.function(*graph(), cpu=cpu)
        return
    fn = hlograph.function(*graph(), cpu=cpu, outputs=outputs)
    kind = np.ndarray if outputs == "numpy" else jax.Array
    for size in (8, 8, 0, 3):
        x = X[:size].copy()
        results = fn(x)
        assert all(isinstance(result, kind) for result in results)
        agree(results, x)
    assert fn.stats.retries == 0
    if outputs == "jax":
        assert {result.device for result in results} == {jax.devices("cpu")[0]}


MAKERS = {
    "function": lambda **kw: hlograph.function(*graph(), **kw),
    "jit": lambda **kw: hlograph.jit(jnp.sin, **kw),
    "compile": lambda **kw: hlograph.emit_stablehlo(graph()).compile(**kw),
    "Mode": lambda **kw: hlograph.Mode(**{"outputs": "jax", **kw}),
}
FOR_NUMPY = r'cpu="sync"\) is for NumPy arrays: use it with outputs="numpy"'


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cpu": "plane"}, "got 'plane'; did you mean 'plain'"),
        ({"cpu": 3}, r'cpu must be "auto", .*, got 3'),
        ({"outputs": "nunpy"}, "got 'nunpy'"),
        ({"cpu": "sync"}, FOR_NUMPY),
        ({"cpu": hlograph.CpuOptions("sync", pack=False)}, FOR_NUMPY),
    ],
)
def test_wrong_arguments_are_named(make, options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)
    if message is FOR_NUMPY:
        make(**options, outputs="numpy")


def test_clients_have_names():
    with pytest.raises(ValueError, match='client must be "auto", "jax" or "sync", got \'gpu\''):
        hlograph.CpuOptions(client="gpu")


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("cpu", "outputs"), [("plain", "jax"), ("plain", "numpy"), ("jax", "jax"), ("jax", "numpy"), ("sync", "numpy")]
)
@pytest.mark.parametrize("argument", ["", "%x: tensor<2xf64>"])
@pytest.mark.parametrize("result", [False, True])
def test_programs_without_arguments_or_results(cpu, outputs, argument, result):
    """No argument says where such an executable is."""
    two = "-> tensor<2xf64> { %c = stablehlo.constant dense<2.0> : tensor<2xf64>\nreturn %c : tensor<2xf64> }"
    fn = Program.parse(f"func.func @main({argument}) {two if result else '{ return }'}").compile(
        cpu=cpu, outputs=outputs
    )
    np.testing.assert_array_equal(fn(*[np.ones(2)] * bool(argument)), [2.0, 2.0] if result else ())


def scattered(x):
    """An op that no kernel can hold, among others."""
    return (jnp.exp(x) * 2).at[jnp.array([1, 3])].add(x[:2] * x[2:4]) * x + 1


def expected_scattered(x):
    y = np.exp(x) * 2
    y[[1, 3]] += x[:2] * x[2:4]
    return y * x + 1


@pytest.fixture
def refused_plans(monkeypatch):
    """Plans put a scatter into a kernel, which XLA refuses."""
    monkeypatch.setattr(cpu_regions, "refusal", lambda *_: "")


def scatter_program() -> Program:
    with jax.enable_x64(True):
        return Program.parse(jax.jit(scattered).lower(X).as_text())


@pytest.mark.parametrize(("client", "outputs"), [("jax", "jax"), ("jax", "numpy"), ("sync", "numpy")])
def test_a_plan_that_xla_refuses_is_compiled_as_it_is(refused_plans, client, outputs):
    fn = scatter_program().compile(cpu=hlograph.CpuOptions(client, forms=False, math=False), outputs=outputs)
    for scale in (1.0, 2.0, 3.0):
        np.testing.assert_allclose(fn(X * scale), expected_scattered(X * scale), rtol=1e-12)
    assert fn.stats.retries == 1


def test_what_was_lowered_says_how_a_call_goes_on(refused_plans):
    fn = scatter_program().compile(cpu=hlograph.CpuOptions("jax", forms=False, math=False))
    with pytest.raises(jax.errors.JaxRuntimeError) as caught:
        fn.lower(X).compile()
    assert any('cpu="plain"' in note for note in caught.value.__notes__)
    plain = scatter_program().compile(cpu="plain").lower(X).compile()
    with jax.enable_x64(True):
        np.testing.assert_allclose(plain(X), expected_scattered(X), rtol=1e-12)


def test_the_retry_is_for_that_executable_only(refused_plans, monkeypatch):
    fn = hlograph.jit(scattered, dims={"x": ("n",)}, cpu=REGIONS, policy="exact")
    with jax.enable_x64(True):
        np.testing.assert_allclose(fn(X), expected_scattered(X), rtol=1e-12)
        np.testing.assert_allclose(fn(X[:5].copy()), expected_scattered(X[:5]), rtol=1e-12)
        monkeypatch.undo()
        np.testing.assert_allclose(fn(X[:6].copy()), expected_scattered(X[:6]), rtol=1e-12)


def test_a_refused_plan_is_not_hidden_where_xla_refuses_the_program_too(refused_plans):
    text = re.sub(
        r"stablehlo\.exponential (%\w+) : tensor<8xf64>",
        r"stablehlo.custom_call @no_such_target(\1) : (tensor<8xf64>) -> tensor<8xf64>",
        scatter_program().text,
    )
    with pytest.raises(hlograph.errors.CompileError, match="no_such_target"):
        Program.parse(text, allow=["no_such_target"]).compile(cpu=REGIONS)(X)


def plans(monkeypatch) -> list[cpu_plan.CpuPlan]:
    """The plans that are made from now on."""
    made = []
    real = cpu_plan.plan

    def noted(*args, **kwargs):
        made.append(real(*args, **kwargs))
        return made[-1]

    monkeypatch.setattr(cpu_plan, "plan", noted)
    return made


@pytest.mark.parametrize("platform", ["cpu", "cuda", "tpu"])
def test_exported_programs_carry_nothing_of_it(platform):
    fn = hlograph.function(*graph(), dims={"x": (8,)}, cpu=REGIONS)
    agree(fn(X))
    exported = fn.program.to_jax_export(platforms=[platform])
    assert SMALL_CALL not in exported.mlir_module()


def test_what_jax_traces_carries_nothing_of_it():
    fn = hlograph.function(*graph(), dims={"x": (8,)}, cpu=hlograph.CpuOptions(client="sync"), outputs="numpy")
    agree(fn(X))
    with jax.enable_x64(True):
        jitted = jax.jit(lambda x: fn(x))
        assert SMALL_CALL not in jitted.lower(X).as_text()
        assert SMALL_CALL not in jitted.trace(X).lower(lowering_platforms=("cuda",)).as_text()
        agree(jitted(X))
        first = lax.map(lambda x: fn(x)[0], jnp.stack([X, 2 * X]))
        np.testing.assert_allclose(first, [value(X)[0], value(2 * X)[0]], rtol=1e-12)
        gradient = jax.grad(lambda x: fn(x)[0])(X)
        np.testing.assert_allclose(gradient, 2 * (1 - np.tanh(2 * X) ** 2), rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "value", "note"),
    [("OPS", 3, "too many for a plan"), ("WORK", 8, "XLA's threads help"), ("JAX_WORK", 8, "JAX's client starts")],
)
def test_large_programs_have_no_plan_and_long_ones_no_regions(monkeypatch, name, value, note):
    made = plans(monkeypatch)
    monkeypatch.setattr(cpu_plan, name, value)
    agree(hlograph.function(*graph(), cpu=REGIONS)(X))
    assert made[0].planned == (name != "OPS")
    assert any(note in line for line in made[0].notes)


@pytest.mark.parametrize("called", [False, True])
@pytest.mark.parametrize("policy", ["exact", "padded"])
@pytest.mark.parametrize("outputs", ["jax", "numpy"])
def test_calls_while_something_else_is_traced_leave_nothing_of_the_trace_behind(outputs, policy, called):
    fn = hlograph.function(*graph(), outputs=outputs, policy=policy)
    with jax.enable_x64(True):
        given = X, jax.device_put(X), X[:5]  # of another size, which is new
    if called:
        agree(fn(X)), agree(fn(given[1]))
    found = jax.jit(lambda z: z + sum(fn(x)[0] for x in given))(0.0)
    np.testing.assert_allclose(found, sum(value(np.asarray(x))[0] for x in given), rtol=1e-6)
    for x in given:
        agree(fn(x), x)


def test_a_pass_that_fails_leaves_a_plain_compile(monkeypatch):
    def fail(*args):
        raise PassError("the pass is broken")

    monkeypatch.setattr(cpu_regions, "run", fail)
    fn = hlograph.function(*graph(), outputs="numpy")
    agree(fn(X))
    assert fn.stats.retries == 1
    assert "the pass is broken" in fn.stats.by_executable[0].plan[-1]


@pytest.mark.parametrize(
    ("function", "level"),
    [
        (lambda x: jnp.tanh(x * 2).sum(), cpu_plan.LEVEL),
        (lambda x: lax.fori_loop(0, 9, lambda _, x: jnp.tanh(x) * 2, x), cpu_plan.LEVEL_LOOPS),
    ],
    ids=["straight", "loop"],
)
def test_loops_are_compiled_at_a_higher_level(monkeypatch, function, level):
    made = plans(monkeypatch)
    hlograph.jit(function, outputs="numpy")(X)
    (plan,) = made
    assert plan.options is not None
    assert plan.options["xla_backend_optimization_level"] == level


def chain(x, length: int):
    for _ in range(length):
        x = jnp.tanh(x) * 0.5 + x.mean() * 0.25  # a contraction: rounding stays what it is
    return x.sum()


@pytest.mark.parametrize(("length", "planned"), [(3, False), (40, True)])
def test_jax_arrays_have_a_plan_where_there_are_many_ops(length, planned):
    with jax.enable_x64(True):
        fn = hlograph.jit(lambda x: chain(x, length))
        found = fn(jnp.asarray(X))
        np.testing.assert_allclose(found, chain(jnp.asarray(X), length), rtol=1e-9)
    entries = fn.stats.by_executable
    assert any("kernel each" in line for entry in entries for line in entry.plan) == planned
    assert fn.stats.jax_calls == (0 if planned else 1)


@pytest.mark.parametrize("outputs", ["jax", "numpy"])
def test_with_an_unproven_jaxlib_programs_are_planned_without_regions(monkeypatch, outputs):
    """XLA has announced that there will be no such kernels (openxla/xla#48001)."""
    monkeypatch.setattr(verdict, "proven_jaxlib", lambda: False)
    monkeypatch.setenv(verdict.SWITCH, "0")
    fn = hlograph.function(*graph(), outputs=outputs)
    for size in (8, 5):
        agree(fn(X[:size].copy()), X[:size])
    assert fn.stats.retries == 0
    for entry in fn.stats.by_executable:
        assert any(line.startswith("no regions: nobody has tried") for line in entry.plan)
        assert not any("one kernel each" in line for line in entry.plan)
