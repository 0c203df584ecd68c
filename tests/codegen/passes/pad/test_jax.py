"""Modules that JAX exports with symbolic sizes, padded: they agree with what `jax.jit` computes at each size.

What is here are ops in the forms that JAX gives them; what is made of elementwise ops, sums and products is in
`test_ops.py` and in random programs (`tests/property/test_padding_programs.py`).

A case is a function of arrays, with its gradient where it has one. JAX's symbolic sizes begin at 1, so 0 is not tried.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export, lax
from padded_runs import Sizes, check_padded, grid, integers, nasty, positive

import hlograph
from hlograph import Program

I32 = jnp.int32


@dataclass
class Case:
    """A function and its arguments: (shape as text, dtype) of each."""

    function: Callable[..., Any]
    arguments: Sequence[tuple[str, Any]]
    bounds: Sizes
    options: Mapping[str, Any]

    def program(self) -> Program:
        """What JAX exports, with the sizes named."""
        names = sorted({name for shape, _ in self.arguments for name in re.findall(r"[a-z]\w*", shape)})
        symbols = dict(zip(names, export.symbolic_shape(", ".join(names)), strict=True))
        specs = []
        for shape, dtype in self.arguments:
            sizes = [eval(size, dict(symbols)) for size in shape.split(",") if size]
            specs.append(jax.ShapeDtypeStruct(sizes, dtype))
        exported = export.export(jax.jit(self.function))(*specs)
        head, main, rest = re.split(r"(  func\.func public @main\(.*\n)", exported.mlir_module(), maxsplit=1)
        for number, aval in enumerate(exported.in_avals):
            dims = ", ".join(f'"{size}"' for size in aval.shape)
            described = rf'\1 {{hlograph.name = "x{number}", hlograph.dims = [{dims}]}}'
            main = re.sub(rf"(%arg{number}: tensor<[^>]*>)", described, main)
        demands = ", ".join(f'["{name} >= 1", "JAX"]' for name in names)
        main = f"{main.rstrip()[:-1]} attributes {{hlograph.constraints = [{demands}]}} {{\n"
        return Program.parse(head + main + rest)


CASES: dict[str, Case] = {}


def case(*arguments: Any, bounds: Sizes | None = None, **options: Any) -> Callable[[Callable[..., Any]], None]:
    """Registers a function under its name; an argument is a shape, or a shape and a dtype; see `check_padded`."""

    def register(function: Callable[..., Any]) -> None:
        described = [x if isinstance(x, tuple) else (x, jnp.float32) for x in arguments]
        CASES[function.__name__] = Case(function, described, bounds or {"n": 6}, options)

    return register


def grad(function: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient of the sum."""
    return jax.grad(lambda *args: jnp.sum(function(*args)))


NM = {"n": 4, "m": 5}


@case("n", data={"x0": positive})
def numbers_and_draws(x):
    """Draws are counted by the live element: they do not depend on the bound."""
    draws = jax.random.normal(jax.random.key(0), x.shape) + x
    special = jax.scipy.special.gammaln(x).sum(), jax.scipy.stats.norm.logpdf(x).sum(), jax.nn.gelu(x).sum()
    moments = jnp.mean(x), jnp.var(x), grad(jnp.var)(x), jnp.median(x), jnp.quantile(x, 0.3)
    return draws, special, moments


@case("n", "n,3", "4,n")
def taken_in_order(x, y, z):
    """Indices that are an arithmetic sequence of sizes; some of them are outside, or in another order."""
    n = x.shape[0]
    places = jnp.arange(n)
    backwards = (
        x[::-1],
        y[::-1],
        z[:, ::-1],
        y[::-1, ::-1],
        jnp.flip(x),
        x[n - 1 - places],
        grad(lambda x: x[::-1] ** 2)(x),
    )
    others = (
        x[places],
        x[places + 2],
        x[-1 - places],
        x[2 * places],
        x[-places],
        jnp.argsort(x),
        jnp.argsort(-y, 0),
    )
    return (
        backwards,
        others,
        jnp.take(x, places + 1, mode="fill"),
        x[places[: n // 2]],
        z[:, n // 2 - 1 - places[: n // 2]],
    )


@case("n", data={"x0": nasty})
def running_extremes(x):
    """And the greatest few: a NaN with its sign bit set is below everything that a mask could hold but itself."""
    running = lax.cummin(x), lax.cumlogsumexp(jnp.where(jnp.isnan(x), 0.0, x)), jnp.cumsum(x[::-1])
    greatest = lax.top_k(jnp.concatenate([x, jnp.full(2, -jnp.nan), x * 0]), 3)
    return running, greatest, lax.top_k(jnp.int32(jnp.append(x, x) > 0), 2)


@case("n,m", bounds=NM, data={"x0": nasty})
def sorts_and_extremes(x):
    sorts = jnp.sort(x, 0), jnp.argsort(x, 1), jnp.argsort(-x, 0), jnp.sort(x, 0, descending=True)
    return sorts, jnp.argmax(x, 0), jnp.argmin(x, 1), jnp.max(x, 0), jnp.min(x), jnp.argmax(x), jnp.ptp(x, axis=0)


@case("n,3", ("m", I32), bounds=NM, data={"x1": integers(-6, 8)})
def takes_and_updates(x, i):
    taken = jnp.take(x, i, axis=0), jnp.take(x, i, axis=0, mode="clip"), x[i], grad(lambda x: x[i] ** 2)(x)
    updated = x.at[i].set(1.0), x.at[i].add(x[0]), x.at[i].max(0.3), x.at[:, 1].multiply(2.0)
    bits = jax.lax.bitcast_convert_type(x, np.uint16)
    joined = jax.lax.bitcast_convert_type(bits, x.dtype)
    return taken, updated, x.at[i].mul(2.0, mode="clip"), x.at[i].apply(jnp.sinc), bits, joined


@case("n,2", ("n", I32), data={"x1": integers(-1, 6)})
def segments(x, i):
    summed = lambda x: jax.ops.segment_sum(x, i, 4)  # noqa: E731
    hot = jax.nn.one_hot(i, 5), jax.nn.one_hot(i, 5, axis=0), jnp.bincount(jnp.abs(i), length=4)
    derivative = grad(lambda x: summed(x) ** 2)(x)
    return summed(x), jax.ops.segment_max(x, i, 4), derivative, jax.ops.segment_sum(x, i, x.shape[0]), hot


@case("b,n,3", "4,3,3", bounds={"n": 7, "b": 2}, sizes=[{"n": a, "b": b} for a, b in [(1, 1), (2, 2), (6, 2), (7, 1)]])
def convolution(x, k):
    f = lambda x, k: lax.conv_general_dilated(x, k, (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC"))  # noqa: E731
    return f(x, k), jax.grad(lambda x, k: (f(x, k) ** 2).sum(), (0, 1))(x, k)


@case(
    "b,n,3",
    "m,3,2",
    bounds={"n": 6, "m": 3, "b": 2},
    sizes=[{"b": 1, "n": 6, "m": 2}, {"b": 2, "n": 5, "m": 3}, {"b": 2, "n": 3, "m": 1}],
    data={"x0": nasty},
)
def convolution_with_a_padded_kernel(x, k):
    """The kernel's padding meets live elements, among which there are infinities; windows with spread elements."""

    def f(padding, stride=1, spread=1, dilation=1):
        dilated = {"lhs_dilation": (spread,), "rhs_dilation": (dilation,), "dimension_numbers": ("NWC", "WIO", "NWC")}
        return lax.conv_general_dilated(x, k, (stride,), (padding,), **dilated)

    largest = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 1), (1, 1, 1), "VALID", window_dilation=(1, 2, 1))
    return f((0, 0)), f((2, 1)), f((2, 2), 2), f((1, 0), 1, 2), f((0, 1), 1, 1, 2), f((2, 1), 2, 1, 2), largest


@case("n,3", "3,3", "3")
def loops_over_rows(x, w, h):
    def f(w):
        return lax.scan(lambda h, row: ((new := jnp.tanh(w @ h + row)), new * 2), h, x)

    def outer(i, c):
        return lax.fori_loop(0, x.shape[0], lambda j, d: d + x[i] * x[j].sum(), c)

    return f(w), jax.grad(lambda w: (f(w)[1] ** 2).sum())(w), lax.fori_loop(0, x.shape[0], outer, jnp.zeros(3))


@case("n", ("", I32), data={"x1": integers(-3, 9)})
def loops_and_slices_at_runtime(x, k):
    def swap(i, y):
        return y.at[i].set(y[i] * 2 + y[x.shape[0] - 1 - i])

    def more(carry):
        return (carry[0] < x.shape[0]) & (jnp.sum(carry[1]) < 100.0)

    loops = (
        lax.while_loop(more, lambda carry: (carry[0] + 1, carry[1] * 1.5 + 1), (0, x)),
        lax.fori_loop(0, x.shape[0], swap, x),
        lax.fori_loop(0, k, lambda i, y: y * 1.1 + jnp.arange(y.shape[0]), x),
    )
    long = jnp.concatenate([x, x, x])
    slices = lax.dynamic_slice(long, (k,), (3,)), lax.dynamic_slice(long[: 2 * x.shape[0]], (k,), (x.shape[0],))
    return loops, slices, lax.dynamic_update_slice(long, jnp.ones(3), (k,)), lax.dynamic_update_slice(long, x, (k,))


@case("n,m", bounds=NM)
def repeats_pads_and_reshapes(x):
    edge, constant = jnp.pad(x, ((1, 2), (0, 1)), mode="edge"), jnp.pad(x, ((2, 1), (0, 0)), constant_values=3.0)
    reshapes = x.reshape(-1)[::-1].reshape(x.shape), x.T.reshape(x.shape), x.ravel(order="F")
    padded = edge, constant, lax.pad(x, 7.0, ((1, 2, 1), (-1, 1, 2)))
    return jnp.repeat(x, 3, axis=0), jnp.tile(x, (2, 3)), padded, reshapes, grad(lambda x: jnp.cumsum(x.reshape(-1)))(x)


@case("b,n,4", bounds={"b": 2, "n": 4})
def attention(x):
    def f(x):
        mask = jnp.tril(jnp.ones((x.shape[1], x.shape[1]), bool))
        scores = jnp.where(mask, jnp.einsum("bqd,bkd->bqk", x, x), -jnp.inf)
        return jnp.einsum("bqk,bkd->bqd", jax.nn.softmax(scores, -1), x)

    return f(x), grad(lambda x: f(x) ** 2)(x), jnp.fft.fft(x).real, jnp.fft.irfft(jnp.fft.rfft(x))


@case("n,4,4,1", bounds={"n": 3})
def pooling(x):
    f = lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")  # noqa: E731
    return f(x), grad(lambda x: f(x) ** 2)(x)


@case("n,m", bounds={"n": 6, "m": 5}, sizes=[{"n": a, "m": b} for a, b in [(2, 2), (3, 5), (5, 4), (6, 5)]])
def windows(x):
    return (
        lax.reduce_window(x, 0.0, lax.add, (2, 2), (2, 1), "VALID"),
        lax.reduce_window(x, 0.0, lax.add, (3, 2), (2, 1), "SAME"),
        lax.reduce_window(x, 3.0, lax.add, (3, 1), (1, 1), ((1, 1), (0, 0))),
    )


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", CASES)
def test_padded_exports_agree_with_jax(name):
    each = CASES[name]
    leaves = jax.jit(lambda *args: jax.tree.leaves(each.function(*args)))
    options = {"sizes": grid(each.bounds, least=1)} | each.options
    check_padded(each.program(), each.bounds, exact=leaves, interpret=False, **options)


def test_regions_use_constants_from_outside() -> None:
    """What brings a module into its usual form takes constants out of the comparison of a sort."""
    sorts = jax.jit(lambda x: [jnp.sort(x, 1)])
    program = Case(sorts, [("n,3", jnp.float32)], {}, {}).program().optimize(["canonicalize"])
    assert "constant" not in program.text.partition("stablehlo.sort")[2].partition("})")[0]
    sizes = [{"n": 1}, {"n": 3}]
    check_padded(program, {"n": 4}, data={"x0": nasty}, sizes=sizes, exact=sorts, interpret=False)


def _scatter(
    combine: Callable[..., Any], windows: Sequence[int], inserted: Sequence[int], indexed: Sequence[int]
) -> Any:
    """A scatter at constant places."""
    numbers = lax.ScatterDimensionNumbers(tuple(windows), tuple(inserted), tuple(indexed))
    places = np.array([1, 2]) if len(indexed) == 2 else np.array([[1], [3]]) if inserted else np.array([1])
    return lambda x, u: combine(x, jnp.asarray(places), u, numbers)


def _rows(width: Any) -> Any:
    """Parts of two rows."""
    numbers = lax.GatherDimensionNumbers((1,), (0,), (0,))
    return lambda x, y: lax.gather(x, np.array([[1], [2]]), numbers, (1, width or y.shape[0]))


def _solve(left: bool) -> Any:
    def solve(a, b):
        return lax.linalg.triangular_solve(jnp.tril(a) + 9 * jnp.eye(a.shape[0]), b, left_side=left, lower=True)

    return solve


# By what is demanded of no two sizes: a function, and the shapes of its arguments; m is greater than n in every call.
TWO_SIZES: dict[str, tuple[Callable[..., Any], Sequence[str]]] = {
    "scatter_add, window of a static axis": (_scatter(lax.scatter_add, [0], [1], [1]), ("9,5", "n,2")),
    "scatter, windows of a part": (_scatter(lax.scatter, [0], [1], [1]), ("m,5", "n,2")),
    "scatter_min, window at an index": (_scatter(lax.scatter_min, [0, 1], [], [0, 1]), ("m,m + 1", "n,n")),
    "scatter_mul, one axis at an index": (_scatter(lax.scatter_mul, [0, 1], [], [0]), ("m + 1,m", "n,n")),
    "scatter, one axis at an index": (_scatter(lax.scatter, [0, 1], [], [0]), ("m + 1,m", "n,n")),
    "gather, slice of a size": (_rows(None), ("m,m", "n")),
    "gather, slice of a number": (_rows(3), ("m,n", "n")),
    "dynamic_slice": (lambda x, y: lax.dynamic_slice(x, (2,), (y.shape[0],)), ("m", "n")),
    "dynamic_update_slice": (lambda x, y: lax.dynamic_update_slice(x, y, (2, 1)), ("m,8", "n,n")),
    "pad": (lambda x, y: lax.pad(x, y[0], [(-2, 1, 0), (y.shape[0], -1, 1)]), ("m,n", "n")),
    "concatenate": (lambda x, y: lax.concatenate([x, y, x], 0), ("m,2", "n,2")),
    "select and clamp by scalars": (lambda x, y: lax.select(y[0] > 0, lax.clamp(y[1], x, 2.0), -x), ("m,n", "n")),
    "reduce of several": (
        lambda x: lax.reduce((x, x), (0.0, 1.0), lambda a, b: (a[0] + b[0], a[1] * b[1]), (0,)),
        ("m,n",),
    ),
    "reduce_window": (lambda x: lax.reduce_window(x, 0.0, lax.add, (2, 3), (1, 2), "SAME"), ("m,n",)),
    "select_and_scatter": (
        jax.grad(lambda x: (lax.reduce_window(x, -jnp.inf, lax.max, (2, 3), (1, 2), "VALID") ** 2).sum()),
        ("m,n",),
    ),
    "sort of several": (lambda x, y: lax.sort((x, x + y, x), dimension=0, num_keys=1), ("m,n", "n")),
    "convolution": (lambda x, y: lax.conv(x, y, (1,), "VALID"), ("2,3,m", "4,3,n")),
    "dot_general": (lambda x, y: jnp.einsum("bij,bjk->bik", x, y), ("2,m,n", "2,n,m")),
    "triangular_solve, left": (_solve(True), ("m,m", "m,n")),
    "triangular_solve, right": (_solve(False), ("m,m", "n,m")),
    "while": (lambda x, y: lax.while_loop(lambda s: s[2] < 3, lambda s: (s[0] + 1, -s[1], s[2] + 1), (x, y, 0)), "mn"),
    "case": (lambda x, y: lax.switch(1, [lambda: (x, y), lambda: (-x, 2 * y), lambda: (x, -y)]), ("m", "n")),
    "map over one, in a loop": (lambda x, y: lax.map(lambda a: a * y, x), ("m", "n")),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", TWO_SIZES)
def test_sizes_that_an_op_leaves_independent_stay_so(name: str) -> None:
    function, shapes = TWO_SIZES[name]
    dims = {
        argument: tuple(part.strip() if re.search("[a-z]", part) else None for part in shape.split(","))
        for argument, shape in zip(inspect.signature(function).parameters, shapes, strict=True)
    }
    data, jitted = np.random.default_rng(0), jax.jit(function)
    compiled = [hlograph.jit(function, dims=dims, policy=policy) for policy in ("exact", "padded")]
    for sizes in ({"m": 9, "n": 4}, {"m": 5, "n": 3}):
        arguments = [
            data.standard_normal([eval(part, dict(sizes)) for part in shape.split(",")]).astype(np.float32)
            for shape in shapes
        ]
        for found in (fn(*arguments) for fn in compiled):
            jax.tree.map(functools.partial(np.testing.assert_allclose, rtol=2e-5, atol=1e-5), found, jitted(*arguments))
    assert not compiled[1].stats.refusals
    assert compiled[1].stats.compiles == 1


# ---- reductions whose body is no monoid, or whose initial value is no identity: against Python's own loop ------------


def test_initial_values_of_several_operands():
    """The affine maps a*x + b, composed: associative, not commutative, begun with one that is not the identity."""

    def compose(f, g):
        return f[0] * g[0], f[1] * g[0] + g[1]

    inits = np.float32(2), np.float32(-1)
    padded = hlograph.jit(
        lambda a, b: jax.lax.reduce((a, b), inits, compose, (0,)), dims={"a": ("n",), "b": ("n",)}, policy=6
    )
    for n in (0, 1, 3, 6):
        a, b = np.random.default_rng(n).uniform(0.5, 1.5, (2, n)).astype(np.float32)
        expected = functools.reduce(compose, zip(a, b, strict=True), inits)
        for found, value in zip(padded(a, b), expected, strict=True):
            np.testing.assert_allclose(found, value, rtol=1e-5)
