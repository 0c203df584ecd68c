"""How far sums are off, for every form that changes their order or their width.

Each form is compared with exact values (rational numbers; mpmath with 50 digits), in units in the last place of the
result's type; of all results of several arrays the greatest error counts. It is at most twice that of `jax.jit` of the
same function, or two units. Arrays hold one number many times, whose errors add up where sums are taken in order, or
different ones. A form that is not in `FORMS` or `OTHERS` fails a test.
"""

import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytensor.tensor as pt
import pytest
from jax import lax
from support import NIGHTLY

import hlograph
from hlograph.codegen.passes import cpu_forms

DTYPES = {"float16": np.float16, "bfloat16": jnp.bfloat16, "float32": np.float32, "float64": np.float64}


@dataclass(frozen=True)
class Form:
    """A way in which sums are taken.

    Attributes:
        function: of an array of one axis, of any length; gives an array.
        exact: the values that it gives, from the elements as rational numbers.
        rewrite: the pass or the form that takes them; "" where it is XLA.
        nonlinear: `exact` takes mpmath's numbers.
        dtypes: that it is tried in.
        prepare: makes its arguments of the arrays.
        routes: that it is tried on; empty for all.
    """

    function: Callable[[Any], Any]
    exact: Callable[[list[Any]], Iterable[Any]]
    rewrite: str = ""
    nonlinear: bool = False
    dtypes: tuple[str, ...] = tuple(DTYPES)
    prepare: Callable[[Any], Any] | None = None
    routes: tuple[str, ...] = ()

    def prepared(self, x: Any) -> Any:
        """The argument."""
        return x if self.prepare is None else self.prepare(x).astype(x.dtype)


def columns(x: Any, count: int = 20) -> Any:
    """A matrix whose column 3 are the elements, and the others multiples of them."""
    return x[:, None] * 2 ** ((jnp.arange(count, dtype=x.dtype) + 1) % 4)


def stepped(x: Any) -> Any:
    """The elements, as a loop makes them one by one."""
    return lax.scan(lambda c, a: (-c, a * (c * c)), -jnp.ones((), x.dtype), x)[1]


def table(x: Any) -> Any:
    """The sum of a column of a table that is read twice."""
    made = jnp.abs(x[:, None] * 2.0 ** jnp.arange(16, dtype=x.dtype))
    return jnp.sum(made, 0)[2] / 4 + 0 * jnp.max(made)


def total(x: list[Any]) -> list[Any]:
    return [sum(x)]


def running(x: list[Any]) -> list[Any]:
    return list(itertools.accumulate(x))


def variance(x: list[Any]) -> list[Any]:
    mean = mpmath.fsum(x) / len(x)
    return [mpmath.fsum((each - mean) ** 2 for each in x) / len(x)]


def log_sum(x: list[Any]) -> list[Any]:
    return [mpmath.log(mpmath.fsum(map(mpmath.exp, x)))]


def log_sums(x: list[Any]) -> list[Any]:
    return [mpmath.log(each) for each in itertools.accumulate(map(mpmath.exp, x))]


def products(x: list[Any]) -> list[Any]:
    return list(itertools.accumulate(x, lambda product, each: product * each))


def windows(x: list[Any]) -> list[Any]:
    """The sums of 128 elements in a row."""
    sums = [0, *itertools.accumulate(x)]
    return [after - before for before, after in zip(sums, sums[128:], strict=False)]


def near_one(x: Any) -> Any:
    return 1 + (x.astype("float64") - 0.5) / 64


def gradient(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The gradient of the sum of a function's values, weighted by the elements."""
    return lambda x: jax.grad(lambda y: jnp.vdot(function(y), x))(jnp.ones_like(x))


def behind(x: list[Any]) -> list[Any]:
    return list(itertools.accumulate(x[::-1]))[::-1]


WIDE = ("float32", "float64")
FORMS = {
    "cumsum": Form(jnp.cumsum, running),
    "cumsum backwards": Form(lambda x: lax.cumsum(x, reverse=True), behind),
    "cumsum of columns": Form(lambda x: jnp.cumsum(columns(x), 0)[:, 3], running, "running_loop"),
    "cumsum of columns backwards": Form(
        lambda x: lax.cumsum(columns(x), reverse=True)[:, 3], behind, "running_loop"
    ),
    "gradient of cumsum": Form(gradient(jnp.cumsum), behind),
    "gradient of cumsum of columns": Form(
        gradient(lambda y: jnp.cumsum(columns(y), 0)[:, 3]), behind, "running_loop"
    ),
    "cumprod": Form(jnp.cumprod, products, nonlinear=True, dtypes=WIDE, prepare=near_one),
    "cumprod of columns": Form(
        lambda x: jnp.cumprod(columns(x), 0)[:, 3], products, "running_loop", True, WIDE, near_one
    ),
    "prod": Form(jnp.prod, lambda x: products(x)[-1:], nonlinear=True, dtypes=WIDE, prepare=near_one),
    "sum": Form(jnp.sum, total, "sum_in_blocks"),
    "sum of columns": Form(lambda x: jnp.sum(columns(x), 0)[3], total, "sum_in_blocks"),
    "sum of rows": Form(lambda x: jnp.sum(jnp.stack([x] * 3), 1)[1], total, "sum_in_blocks"),
    "sum over two axes": Form(lambda x: jnp.sum(jnp.stack([columns(x, 4)] * 2), (0, 1))[3] / 2, total, "sum_in_blocks"),
    "mean": Form(jnp.mean, lambda x: [sum(x) / len(x)], "sum_in_blocks"),
    "var": Form(jnp.var, variance, "sum_in_blocks", nonlinear=True, dtypes=WIDE),
    "logsumexp": Form(jax.nn.logsumexp, log_sum, "sum_in_blocks", nonlinear=True, dtypes=WIDE),
    "cumlogsumexp": Form(lax.cumlogsumexp, log_sums, nonlinear=True, dtypes=WIDE),
    "dot": Form(lambda x: jnp.dot(x, jnp.ones_like(x)), total, "sum_in_blocks", dtypes=WIDE),
    "einsum": Form(
        lambda x: jnp.einsum("ib,bi->b", columns(x, 4), jnp.ones((4, x.size), x.dtype))[3],
        total,
        "sum_in_blocks",
        dtypes=WIDE,
    ),
    "matrix and vector": Form(
        lambda x: (columns(x, 6).T @ jnp.ones_like(x))[3], total, "sum_in_blocks", dtypes=WIDE
    ),
    "rows and vector": Form(lambda x: (jnp.stack([x] * 3) @ jnp.ones_like(x))[1], total, dtypes=WIDE),
    "convolution": Form(
        lambda x: lax.conv(x[None, None], jnp.ones((1, 1, 128), x.dtype), (1,), "VALID")[0, 0],
        windows,
        dtypes=WIDE,
    ),
    "matrices": Form(lambda x: (columns(x).T @ jnp.ones((x.size, 9), x.dtype))[3, 2], total, dtypes=WIDE),
    "sum in a loop": Form(lambda x: jnp.sum(stepped(x)), total, "sink_reductions"),
    "dot in a loop": Form(lambda x: jnp.dot(stepped(x), jnp.ones_like(x)), total, "sink_reductions", dtypes=WIDE),
    "var in a loop": Form(lambda x: jnp.var(stepped(x)), variance, "sink_reductions", nonlinear=True, dtypes=WIDE),
    "logsumexp in a loop": Form(
        lambda x: jax.nn.logsumexp(stepped(x)), log_sum, "sink_reductions", nonlinear=True, dtypes=WIDE
    ),
    "gradient through a loop": Form(
        lambda x: jax.grad(lambda w: jnp.sum(stepped(w * x)))(x[0]), total
    ),
    "sum of a table": Form(table, total, "reduce_in_blocks", dtypes=WIDE, routes=("in blocks",)),
}  # fmt: skip

# Rewrites and passes in which no sum of many numbers is taken otherwise than before.
OTHERS = {
    *("small_cholesky", "small_triangular_solve", "shared_solve"),  # up to eight elements; one solve in place of many
    *("reciprocal_once", "pads_in_kernel"),
}

ROUTES: dict[str, dict[str, Any] | None] = {
    "numpy": {"policy": "exact", "outputs": "numpy"},
    "padded": {"policy": "padded"},
    "exact": {"policy": "exact"},
    "auto": {},
    "optimize=none": {"policy": "exact", "optimize": "none"},
    "plain": {"policy": "exact", "cpu": "plain"},
    "no forms": {"policy": "exact", "outputs": "numpy", "cpu": hlograph.CpuOptions(forms=False)},
    "no regions": {"policy": "exact", "outputs": "numpy", "cpu": hlograph.CpuOptions(regions=False)},
    "optimize=exact": {"policy": "exact", "optimize": "exact"},
    "in blocks": {"policy": "exact", "optimize": ["reduce_in_blocks{elements=1000,block=512}"]},
    "direct": {"policy": "exact", "outputs": "numpy", "cpu": "direct"},
    "no dims": None,
}


def arrays(size: int, dtype: str) -> list[np.ndarray[Any, Any]]:
    """One number many times, and different ones; sums are below float16's greatest number."""
    rng = np.random.default_rng(size)
    scale = 1 if size < 50_000 or dtype != "float16" else 2.0**-5
    drawn = [np.full(size, each) for each in (0.1, *rng.uniform(0.1, 1, 3))]
    drawn += [1 + rng.normal(size=size) / 1024, rng.uniform(size=size), rng.uniform(size=size)]
    return [(each * scale).astype(DTYPES[dtype]) for each in drawn]


def error(found: Any, exact: list[Any], dtype: str) -> float:
    """The greatest error, in units in the last place."""
    values = np.asarray(found).astype("float64").reshape(-1)
    assert len(values) == len(exact)
    values, exact = (each[:: -(len(each) // 20_000 + 1)] for each in (values, exact))  # and of a million, some
    digits = jnp.finfo(DTYPES[dtype]).nmant
    worst = 0.0
    for value, true in zip(values.tolist(), exact, strict=True):
        unit = 2.0 ** (math.frexp(float(true))[1] - 1 - digits)
        wrong = type(true)(value) - true if math.isfinite(value) else math.inf
        worst = max(worst, abs(float(wrong)) / unit)
    return worst


def check(form: Form, dtype: str, size: int, routes: Iterable[str], count: int | None = None) -> None:
    """The errors of all routes, against those of `jax.jit`, for so many arrays."""
    # A function of its own each time, which no cache knows.
    calls = {"jax.jit": jax.jit(lambda x: form.function(x))}
    for route in form.routes or routes:
        options = ROUTES[route]
        dims = {} if options is None else {"dims": {"x": ("n",)}}
        calls[route] = hlograph.jit(lambda x: form.function(x), **dims, **(options or {}))
    worst = dict.fromkeys(calls, 0.0)
    number: Any = (lambda value: mpmath.mpf(value)) if form.nonlinear else Fraction
    with jax.enable_x64(True), mpmath.workdps(50):
        for drawn in arrays(size, dtype)[:count]:
            x = form.prepared(drawn)
            exact = list(form.exact([number(value) for value in x.astype("float64").tolist()]))
            for name, call in calls.items():
                worst[name] = max(worst[name], error(call(x), exact, dtype))
    bound = 2 * max(worst["jax.jit"], 1)
    assert {name: units for name, units in worst.items() if units > bound} == {}, worst


CASES = [pytest.param(name, dtype, id=f"{name}-{dtype}") for name, form in FORMS.items() for dtype in form.dtypes]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("size", [1100, 10, 10_007] if NIGHTLY else [1100])
@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_values(name, dtype, size):
    check(FORMS[name], dtype, size, ROUTES if NIGHTLY else ("numpy", "padded"))


@pytest.mark.parametrize("name", [name for name, form in FORMS.items() if form.rewrite])
def test_the_form_is_taken(name):
    """Or its errors are those of something else."""
    form = FORMS[name]
    route = (*form.routes, "numpy")[0]
    call = hlograph.jit(lambda x: form.function(x), dims={"x": ("n",)}, **ROUTES[route])
    with jax.enable_x64(True):
        x = form.prepared(arrays(1100, "float64")[0])
        call(x)
        done = {stage.name.partition("{")[0] for stage in call.lower(x).stages if stage.rewritten}
    notes = " ".join(call.stats.by_executable[0].plan)
    assert form.rewrite in notes or form.rewrite in done, (notes, done)


def test_every_form_is_in_a_table():
    """A form for CPU, or a pass, that is new has its line in `FORMS`, or in `OTHERS`."""
    assert {form.rewrite for form in FORMS.values() if form.rewrite in cpu_forms.NAMES} | OTHERS == set(cpu_forms.NAMES)


@pytest.mark.skipif(not NIGHTLY, reason="a night's work")
@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("name", ["cumsum", "sum", "mean", "sum in a loop"])
def test_a_million(name, dtype):
    check(FORMS[name], dtype, 1_000_003, ("numpy", "padded", "auto", "direct"), 2)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_hundred_thousand_in_order(dtype):
    """A sum of what a loop makes, and sums of columns, step by step: both exact to a unit in the last place."""
    x = np.full(100_003, 0.1, dtype)
    true = Fraction(float(x[0])) * 100_003
    for function in (lambda x: jnp.sum(stepped(x)), lambda x: jnp.cumsum(columns(x, 16), 0)[-1, 3]):
        call = hlograph.jit(function, dims={"x": ("n",)}, policy="exact", outputs="numpy")
        with jax.enable_x64(True):
            assert error(call(x), [true], dtype) <= 1


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_graphs(dtype):
    """PyTensor's sums, of an array in each type."""
    x = pt.tensor("x", shape=(None,), dtype=dtype)
    rows = pt.stack([x] * 20, axis=1)
    outputs = [pt.cumsum(x), pt.cumsum(rows, axis=0)[:, 3], x.sum(), rows.sum(axis=0)[3]]
    run = hlograph.function([x], outputs, outputs="numpy")
    with jax.enable_x64(True):
        for value in arrays(1100, dtype)[:5]:
            sums = running([Fraction(each) for each in value.astype("float64").tolist()])
            jitted = jax.jit(jnp.cumsum)(value)
            worst = max(error(jitted, sums, dtype), 1)
            for found, true in zip(run(value), (sums, sums, sums[-1:], sums[-1:]), strict=True):
                assert error(found, true, dtype) <= 2 * worst


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("size", [5040, 5003])  # with blocks of equal length, and without
@pytest.mark.parametrize("count", [5, 20, 70])
def test_a_vector_with_long_columns(count, size, dtype):
    """Where XLA's libraries are on, in the forms for few columns, for lengths that blocks divide, and for others."""
    form = Form(lambda x: (columns(x, count).T @ jnp.ones_like(x))[3], total)
    check(form, dtype, size, ("plain",))
