"""cpu_regions: what is put into one kernel, what stays outside and why, and that XLA compiles and runs the result."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from rewritten_runs import as_arrays, close

import hlograph
from hlograph import Program
from hlograph.codegen.passes import cpu_regions
from hlograph.passes import Report

REGIONS = hlograph.CpuOptions(forms=False, math=False)
X = np.linspace(-1.5, 2.0, 8)


@dataclass(frozen=True)
class Formed:
    """A module after the pass.

    Attributes:
        text: the module's.
        notes: what was said of each op.
        regions: for each call of a region in order, the names of the ops in it.
        outside: names of the main function's other ops, in order.
    """

    text: str
    notes: str
    regions: tuple[tuple[str, ...], ...]
    outside: tuple[str, ...]


def formed(text: str, spec: str = "cpu_regions") -> Formed:
    """A module's text, after the pass."""
    reports: list[Report] = []
    after = Program.parse(text).optimize([spec], reports=reports).text
    functions = dict(re.findall(r"func\.func (?:\w+ )?@(\w+)\((.*?)\n  }\n", after, re.DOTALL))
    called = re.findall(r"call @(region_\w+)", "".join(functions.values()))
    ops = {name: tuple(re.findall(r"= \"?((?:stablehlo|chlo)\.\w+)", body)) for name, body in functions.items()}
    return Formed(after, "".join(report.text for report in reports), tuple(ops[name] for name in called), ops["main"])


def lowered(function, *arrays) -> str:
    with jax.enable_x64(True):
        return jax.jit(function, keep_unused=True).lower(*arrays).as_text()


def check(text: str, arrays: Sequence[np.ndarray], expected: Sequence[np.ndarray] | None = None) -> None:
    """The plan gives what the interpreter, or else NumPy, gives; XLA has taken the plan, with a region in it."""
    program = Program.parse(text)
    fn = program.compile(cpu=REGIONS, outputs="numpy")
    wanted = program.interpret(*arrays) if expected is None else expected
    for found, one in zip(as_arrays(fn(*arrays)), wanted, strict=True):
        close(found, np.asarray(one), 1e-12)
    assert fn.stats.retries == 0
    assert formed(text).regions


def module(*lines: str, result: str = "%r", size: int = 8) -> str:
    """A module from x and y to the result, all of one type."""
    body = "\n".join(lines).replace("VECTOR", f"tensor<{size}xf64>")
    vector = f"tensor<{size}xf64>"
    main = f"func.func @main(%x: {vector}, %y: {vector}) -> {vector}"
    return f"module {{ {main} {{\n{body}\nreturn {result} : {vector}\n}} }}"


BEFORE = "%a = stablehlo.exponential %x : VECTOR\n%b = stablehlo.multiply %a, %y : VECTOR"
MATRIX = np.cov(np.random.default_rng(0).normal(size=(3, 9)))
# What stays outside between two regions: the function of x, x, and what NumPy has for it.
OUTSIDE = {
    "stablehlo.scatter": (lambda b: b.at[3].add(2.0), lambda b: b + 2.0 * (np.arange(8) == 3), X),
    "stablehlo.sort": (jnp.sort, np.sort, X),
    "stablehlo.fft": (lambda b: jnp.fft.irfft(jnp.fft.rfft(b)), lambda b: b, X),
    "stablehlo.custom_call": (lax.linalg.cholesky, np.linalg.cholesky, MATRIX),
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_what_xla_needs_its_runtime_for_stays_outside(name):
    ours, numpys, x = OUTSIDE[name]
    text = lowered(lambda x: jnp.tanh(ours(x * 2 + 1)) * 3, x)
    found = formed(text)
    assert name in found.outside
    assert f"XLA:CPU compiles no {name} inside of a kernel" in found.notes
    assert len(found.regions) == 2
    check(text, [x], [np.tanh(numpys(x * 2 + 1)) * 3])


def dots(rows: int, inner: int, columns: int) -> str:
    return lowered(
        lambda x, y: jnp.tanh((jnp.tanh(x) + 1) @ (y * 2)) + 1, np.zeros((rows, inner)), np.zeros((inner, columns))
    )


def test_a_large_dot_is_left_to_the_library():
    side = round((2 * cpu_regions.DOT) ** (1 / 3)) + 1
    found = formed(dots(side, side, side))
    assert "stablehlo.dot_general" in found.outside
    assert "is faster in XLA's library" in found.notes
    assert found.regions
    small = formed(dots(4, 5, 6))
    assert "stablehlo.dot_general" not in small.outside
    assert len(small.regions) == 1


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "i4"])
@pytest.mark.parametrize(
    ("rows", "inner", "columns"), [(20, 20, 20), (40, 16, 40), (1, 300, 1), (60, 9, 1), (1, 9, 60)]
)
def test_the_largest_dots_inside_run(dtype, rows, inner, columns):
    """Where XLA would call its library inside of a kernel, it would refuse, or have no such function."""
    source = np.random.default_rng(0)
    x, y = (source.integers(-3, 4, shape).astype(dtype) for shape in ((rows, inner), (inner, columns)))
    text = lowered(lambda x, y: (x + 1) @ y * 2, x, y)
    fn = Program.parse(text).compile(cpu=REGIONS, outputs="numpy")
    np.testing.assert_array_equal(fn(x, y), (x + 1) @ y * 2)
    assert fn.stats.retries == 0


def test_large_arrays_are_left_to_threads():
    text = lowered(lambda x: (jnp.exp(x) * 2).sum(), np.zeros(cpu_regions.LARGE))
    found = formed(text)
    assert found.regions == ()
    assert f"{cpu_regions.LARGE:,} elements" in found.notes
    # A part of one is not work.
    text = lowered(lambda x: (jnp.exp(x[5:9]) * 2).sum(), np.zeros(cpu_regions.LARGE))
    assert len(formed(text).regions) == 1


def test_regions_hold_a_number_of_ops(monkeypatch):
    chain = [f"%v{i + 1} = stablehlo.tanh %v{i} : VECTOR" for i in range(10)]
    text = module(*chain, result="%v10").replace("%x:", "%v0:")
    (whole,) = formed(text).regions
    assert whole.count("stablehlo.tanh") == 10
    counts = [region.count("stablehlo.tanh") for region in formed(text, "cpu_regions{ops=4}").regions]
    assert sum(counts) == 10
    assert max(counts) <= 4
    assert len(counts) <= 4
    loop = lowered(lambda x: lax.fori_loop(0, 3, lambda i, x: jnp.tanh(jnp.sin(jnp.cos(x))) + 1, x), X)
    assert "stablehlo.while" not in formed(loop, "cpu_regions{ops=6}").outside  # 9 ops, at most 6 * LOOP
    monkeypatch.setattr(cpu_regions, "LOOP", 1)
    found = formed(loop, "cpu_regions{ops=6}")
    assert "stablehlo.while" in found.outside
    assert re.search(r"\d+ ops are too many for one kernel", found.notes)
    assert any("stablehlo.tanh" in region for region in found.regions)


def test_a_late_use_opens_no_region_of_its_own():
    """What only the last stage reads is computed there, and what both read once."""

    def function(x, y):
        z = jnp.exp(x) * 2
        return jnp.sort(z) + (jnp.tanh(y) * 3 + z)

    found = formed(lowered(function, X, X))
    first, last = found.regions
    assert first.count("stablehlo.exponential") == 1
    assert "stablehlo.tanh" not in first
    assert last.count("stablehlo.tanh") == 1
    assert "stablehlo.exponential" not in last


def loop(x, y):
    def body(i, c):
        return jnp.tanh(jnp.sort(jnp.sin(c) * y) + 1) * i

    return lax.fori_loop(0, 3, body, x).sum()


def branch(x, y):
    return lax.cond(x[0] < 0, lambda: jnp.tanh(jnp.sort(jnp.sin(x)) + y) * 2, lambda: jnp.cumsum(x) * y).sum() + y[0]


@pytest.mark.parametrize(("function", "outside"), [(loop, "stablehlo.while"), (branch, "stablehlo.case")])
def test_what_holds_an_op_outside_has_regions_in_its_blocks(function, outside):
    text = lowered(function, X, X)
    found = formed(text)
    assert outside in found.outside
    assert any("stablehlo.tanh" in region for region in found.regions)
    check(text, [X, X[::-1].copy()])


def test_what_combines_elements_has_no_region():
    """A call there ends the process: `reduce_window` of an array that is too large for a kernel."""
    combine = "%s = stablehlo.add %p, %q : tensor<f64>\n%t = stablehlo.maximum %s, %p : tensor<f64>"
    size = cpu_regions.LARGE
    text = module(
        "%z = stablehlo.constant dense<0.0> : tensor<f64>",
        '%r = "stablehlo.reduce_window"(%x, %z) <{window_dimensions = array<i64: 2>, padding = dense<[[1, 0]]> : '
        "tensor<1x2xi64>}> ({ ^bb0(%p: tensor<f64>, %q: tensor<f64>): " + combine + "\nstablehlo.return %t : "
        "tensor<f64> }) : (VECTOR, tensor<f64>) -> VECTOR",
        size=size,
    )
    assert formed(text).regions == ()
    Program.parse(text).compile(cpu=REGIONS)(np.ones(size), np.ones(size))


UNUSED = {
    "decided select": lambda x, y: jnp.exp(-x * x).sum() + jnp.where(np.array(True), x, y).sum(),
    "difference of sizes": lambda x, y: jnp.tanh(jnp.sin(x)).sum() + lax.fori_loop(0, 0, lambda i, c: c + y, x)[0],
    "branch that is never taken": lambda x, y: lax.cond(np.array(True), lambda: jnp.exp(x), lambda: jnp.tanh(y)).sum(),
    "results that are arguments": lambda x, y: (y, x, jnp.exp(x).sum(), y),
    "results that are constants": lambda x, y: (np.ones(3), jnp.exp(x).sum() * jnp.tanh(y), np.ones(3), np.float64(2)),
    "twice the same": lambda x, y: (jnp.exp(x) * y, jnp.exp(x) * y),
}


def _carried(x, table):
    """A loop with a region in its body, to which the loop passes an array on as it is."""

    def step(state):
        i, x, table = state
        return i + 1, jnp.sort(jnp.sin(x)) * jnp.exp(table[0]) + jnp.tanh(table[i]), table

    return lax.while_loop(lambda state: state[0] < 5, step, (0, x, table))[1]


# To XLA these are constants, but not to the pass, and what it hands to a region it hands over as an argument. Arrays of
# 20,000 elements are computed outside of regions.
LARGE_CONSTANT = np.linspace(0.0, 1.0, 20_000)
FOLDED = {
    "computed": lambda x: jnp.tanh(jnp.exp(x) * jnp.sin(LARGE_CONSTANT)[:8]).sum(),
    "constant twice": lambda x: (jnp.exp(x) * jnp.sin(LARGE_CONSTANT)[:8] + x * jnp.sin(LARGE_CONSTANT)[:8]).sum(),
    "in what is selected": lambda x: jnp.where(jnp.sin(LARGE_CONSTANT)[:8] > 0, jnp.exp(x), jnp.tanh(x)).sum(),
    "carried by a loop": lambda x: _carried(x, np.linspace(0.0, 1.0, 8)),
    "carried by a loop in a loop": lambda x: lax.fori_loop(0, 2, lambda i, x: _carried(x, np.full(8, 0.5)) / 4, x),
}


@pytest.mark.parametrize("name", [*UNUSED, *FOLDED])
def test_an_argument_that_xla_finds_unused_or_constant_does_not_end_the_process(name):
    """XLA ends the process for a kernel of which an argument has lost its last use; a witness keeps one.

    It puts constants in the place of a call's arguments, which then are unused.
    """
    arrays = [X, X[::-1].copy()][: 2 if name in UNUSED else 1]
    check(lowered((UNUSED | FOLDED)[name], *arrays), arrays)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", "u4", "i8", "f2", "f4", "c8", "c16"])
def test_arguments_of_every_dtype(dtype):
    """A witness is taken of each; results have the dtype too."""
    x = np.arange(8).astype(dtype)

    def function(x, y):
        return jnp.where(jnp.tanh(y) > 0, x, x[::-1]), (jnp.exp(y) * x.real.astype("f8")).sum()

    text = lowered(function, x, X)
    fn = Program.parse(text).compile(cpu=REGIONS, outputs="numpy")
    first, second = fn(x, X)
    np.testing.assert_array_equal(first, np.where(X > 0, x, x[::-1]))
    np.testing.assert_allclose(second, np.sum(np.exp(X) * x.real.astype("f8")), rtol=1e-12)
    assert fn.stats.retries == 0


def test_one_op_is_no_region():
    """XLA makes one kernel of it anyway."""
    assert formed(module("%r = stablehlo.add %x, %y : VECTOR")).regions == ()
    loop = lowered(lambda x: lax.fori_loop(0, 3, lambda i, c: c * 2, x), X)
    assert len(formed(loop).regions) == 1


def test_what_a_kernel_would_compute_again_and_again_stays_outside():
    """In one kernel each step would double the code of all steps before it."""

    def steps(x):
        for _ in range(20):
            x = jnp.sin(x) + x[::-1] * 0.5
        return jnp.tanh(x) * x

    found = formed(lowered(steps, X))
    assert "at each of too many places" in found.notes
    assert found.outside.count("stablehlo.sine") == 14  # the last six have 32, 16, ..., 1 places, which are few enough
    expected = X
    for _ in range(20):
        expected = np.sin(expected) + expected[::-1] * 0.5
    check(lowered(steps, X), [X], [np.tanh(expected) * expected])


def test_calls_that_stay_calls_are_called_from_regions():
    """Functions that are not to be inlined, as cpu_math makes them, in regions that are cut."""

    def logs(x):
        y = jnp.log(x)
        for number in range(6):
            y = jnp.log(y * y + number + 1) + y
        return y, jnp.exp(y).sum()

    x = np.linspace(0.5, 3.0, 200)
    text = lowered(logs, x)
    program = Program.parse(text).optimize(["cpu_math{inline=0}", "cpu_regions{ops=60}"])
    assert program.text.count("call @cpu_math.log") >= 7
    assert program.text.count("call @region_") > 1
    main = program.text.partition("func.func private")[0]
    assert "cpu_math" not in main
    y = np.log(x)
    for number in range(6):
        y = np.log(y * y + number + 1) + y
    fn = Program.parse(text).compile(outputs="numpy")
    for found, expected in zip(fn(x), (y, np.exp(y).sum()), strict=True):
        close(found, expected, 1e-12)
    assert fn.stats.retries == 0
    for found, expected in zip(program.interpret(x), (y, np.exp(y).sum()), strict=True):
        close(np.asarray(found), expected, 1e-12)


@pytest.mark.parametrize(("steps", "inside"), [(8, True), (40, False)])
def test_a_long_stack_is_updated_in_place(steps, inside):
    """A kernel that updated a row of it would write all of it, in every step: 512 KB for 4 KB."""

    def states(h, w):
        def step(h, _):
            h = jnp.tanh(jnp.sin(h) @ w) + h * 0.5
            return h, h * 2

        return lax.scan(step, h, None, length=steps)

    h, w = np.linspace(-1, 1, 32 * 32).reshape(32, 32), np.eye(32) * 0.9
    text = lowered(states, h, w)
    found = formed(text)
    assert found.regions
    updates = [region for region in found.regions if "stablehlo.dynamic_update_slice" in region]
    assert bool(updates) == inside
    assert ("a kernel would copy" in found.notes) == (not inside)
    check(text, [h, w])
