"""Arguments that are data: what only they decide is computed when they change; the numbers are those without `data`."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

import hlograph
import hlograph.pytensor
from hlograph.errors import (
    ArgumentError,
    ArgumentShapeError,
    ArgumentTypeError,
    OptionError,
    UnsupportedGraphError,
)

pytestmark = pytest.mark.usefixtures("jax_x64")

N, GROUPS = 600, 5
Data = dict[str, np.ndarray]
POINT = np.linspace(-0.4, 0.5, GROUPS + 2)


def data(seed: int, rows: int = N) -> Data:
    """Rows of a regression with groups; each group has as many rows in any of them."""
    random = np.random.default_rng(seed)
    place = random.permutation(np.arange(rows) % GROUPS)
    return {"y": random.normal(size=rows) * 3 + seed, "place": place, "x": random.normal(size=rows)}


def by_graph(**options: Any) -> Any:
    """A function of y, the parameters, the groups and the covariate."""
    y, b, place, x = pt.dvector("y"), pt.dvector("b"), pt.lvector("place"), pt.dvector("x")
    rest = (y - b[2:][place] - b[1] * x) / pt.exp(b[0])
    value = (-0.5 * rest**2 - b[0]).sum()
    return hlograph.function([y, b, place, x], [value, pytensor.grad(value, b)], **options)


def expected(point: np.ndarray, given: Data) -> tuple[Any, Any]:
    """By NumPy."""
    y, place, x = given["y"], given["place"], given["x"]
    sigma = np.exp(point[0])
    rest = (y - point[2:][place] - point[1] * x) / sigma
    groups = np.bincount(place, rest, GROUPS) / sigma
    with np.errstate(invalid="ignore"):
        gradient = np.r_[(rest**2).sum() - len(y), (rest * x).sum() / sigma, groups]
        return (-0.5 * rest**2 - point[0]).sum(), gradient


def check(results: Sequence[Any], point: np.ndarray, given: Data) -> None:
    for found, wanted in zip(results, expected(point, given), strict=True):
        largest = np.max(np.abs(wanted), initial=1, where=np.isfinite(wanted))
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-10 * largest)


def call(function: Any, point: np.ndarray, given: Data) -> Any:
    return function(given["y"], point, given["place"], given["x"])


KINDS: dict[str, Callable[[np.ndarray], Any]] = {
    "written to": np.copy,
    "read-only": lambda x: np.frombuffer(x.tobytes(), x.dtype),
    "JAX's": jnp.asarray,
    "lists": list,
    "strided": lambda x: np.repeat(x, 2)[::2],
}


@pytest.mark.parametrize(("kind", "outputs"), list(zip(KINDS, ["numpy", "numpy", "jax", "jax", "numpy"], strict=True)))
def test_calls(kind: str, outputs: str) -> None:
    """The same data, others that are alike, the first ones again, another length, and other points."""
    function = by_graph(data=["y", "place", "x"], outputs=outputs)
    for seed, rows in ((0, N), (0, N), (1, N), (0, N), (2, 2 * N), (1, N)):
        given = {name: KINDS[kind](x) for name, x in data(seed, rows).items()}
        for point in (POINT, 2 * POINT, np.where(POINT == POINT[3], np.nan, POINT)):
            check(call(function, point, given), point, data(seed, rows))
    # One program for data that are alike, and one for the other length's rows in the branch of what is not finite.
    assert function.stats.compiles == 2
    lowered = function.lower(*[data(0)[n] if n != "b" else POINT for n in ("y", "b", "place", "x")])
    assert "@main(%b: tensor<7xf64>, %parameter_0: " in lowered.as_text()  # what a call runs, with tables


def test_data_that_are_written_to() -> None:
    function, given = by_graph(data=["y", "place", "x"], outputs="numpy"), data(0)
    view = given["y"].view()
    view.flags.writeable = False  # which says nothing of the memory
    for _ in range(3):
        given["y"][7] += 1
        given["place"][:2] = given["place"][1::-1]
        check(call(function, POINT, given), POINT, given)
        check(call(function, POINT, {**given, "y": view}), POINT, given)
    given["x"][0] = -0.0
    check(call(function, POINT, given), POINT, given)
    given["x"][0] = np.inf
    check(call(function, POINT, given), POINT, given)


def test_data_of_few_bytes() -> None:
    x, flags = pt.dvector("x"), pt.vector("flags", dtype="bool")
    function = hlograph.function([x, flags], (x * flags).sum(), data=[flags], outputs="numpy")
    for mask in ([True, False, True], [True, False, True], [False, True, True]):
        assert function(np.array([1.0, 2.0, 4.0]), np.array(mask)) == np.dot([1.0, 2.0, 4.0], mask)


@pytest.mark.parametrize("mode", [False, True])
def test_shared_variables(mode: bool) -> None:
    """Those of a mode are taken to be data, until they change too often; and again, if they no longer do."""
    shared = {name: pytensor.shared(x, name=name) for name, x in data(0).items()}
    b = pt.dvector("b")
    rest = (shared["y"] - b[2:][shared["place"]] - b[1] * shared["x"]) / pt.exp(b[0])
    value = (-0.5 * rest**2 - b[0]).sum()
    outputs = [value, pytensor.grad(value, b)]
    if mode:
        function = pytensor.function([b], outputs, mode="STABLEHLO")
        compiled = function.vm.binding.function
    else:
        function = compiled = hlograph.function([b], outputs, data=list(shared.values()), outputs="numpy")
    for _ in range(3):
        check(function(POINT), POINT, data(0))
    assert not any(str(N) in x.sizes for x in compiled.stats.by_executable)  # what is left of the rows is fewer
    for seed, rows in ((1, N), (2, 2 * N), *((k, N) for k in range(3, 9))):
        given = data(seed, rows)
        for name, variable in shared.items():
            variable.set_value(given[name])
        check(function(POINT), POINT, given)
        shared["y"].get_value(borrow=True)[3] = 9.0
        given["y"][3] = 9.0
        check(function(POINT), POINT, given)
    for _ in range(80 * mode):
        check(function(POINT), POINT, given)
    shared["x"].get_value(borrow=True)[:2] = given["x"][:2] = np.nan, 4.0
    check(function(POINT), POINT, given)


def density(b: Any, data: Any, scale: float = 1.0) -> Any:
    rest = (data["y"] - b[2:][data["place"]] - b[1] * data["x"]) / jnp.exp(b[0])
    return jnp.sum(-0.5 * rest**2 - b[0]) * scale


@pytest.mark.parametrize("dims", [None, {"data": {"y": ("n",), "place": ("n",), "x": ("n",)}, "b": None}])
def test_functions_of_jax(dims: Any) -> None:
    function = hlograph.jit(jax.value_and_grad(density), data_argnames="data", dims=dims)
    for seed, rows in ((0, N), (1, N), (2, 2 * N)):
        given = data(seed, rows)
        check(function(POINT, given), POINT, given)
        check(function(POINT, data={name: jnp.asarray(x) for name, x in given.items()}), POINT, given)
    derivative = jax.grad(lambda y: function(POINT, {**data(0), "y": y})[0])(data(0)["y"])
    theirs = jax.jit(jax.value_and_grad(lambda y, b: density(b, {**data(0), "y": y})))
    np.testing.assert_allclose(derivative, theirs(data(0)["y"], POINT)[1])
    points = jnp.stack([POINT, 2 * POINT])
    batch = jax.jit(jax.vmap(lambda b: function(b, data(0))[0]))(points)
    np.testing.assert_allclose(batch, [theirs(data(0)["y"], b)[0] for b in points])


def test_a_loaded_program(tmp_path: Path) -> None:
    by_graph().program.save(tmp_path / "model.mlir")
    function = hlograph.load(tmp_path / "model.mlir").compile(data=["y", "place", "x"], outputs="numpy")
    for seed in (0, 1):
        check(call(function, POINT, data(seed)), POINT, data(seed))
    assert function.stats.compiles == 1


@pytest.mark.parametrize("indexed", [False, True])
def test_what_does_not_pay_runs_as_it_is(indexed: bool) -> None:
    """Rows that differ, few of them, and checks of indices alone: lengths share an executable, as without data."""
    x, y, place = pt.dvector("x"), pt.dvector("y"), pt.lvector("place")
    result = pt.exp(x[place if indexed else 0] * y).sum()
    function = hlograph.function([x, y, place], [result], data=[y, place], policy="padded", outputs="numpy")
    for rows in (400, 390, 3):
        values = np.linspace(0, 1, rows)
        np.testing.assert_allclose(function(np.array([0.3]), values, np.zeros(rows, int)), np.exp(0.3 * values).sum())
    assert function.stats.compiles <= 2


def run(function: Any, point: np.ndarray) -> tuple[float, np.ndarray]:
    value, gradient = np.zeros(1), np.zeros(len(point))
    code = function.ctypes(len(point), point.ctypes.data, gradient.ctypes.data, value.ctypes.data, None)
    assert code == 0
    return value[0], gradient


@pytest.mark.filterwarnings("ignore::hlograph.errors.PythonCallWarning")
def test_c_functions() -> None:
    b, y, place, x = pt.dvector("b"), pt.dvector("y"), pt.lvector("place"), pt.dvector("x")
    rest = (y - b[2:][place] - b[1] * x) / pt.exp(b[0])
    value = (-0.5 * rest**2 - b[0]).sum()
    of = hlograph.function([b, y, place, x], [value, pytensor.grad(value, b)], data=[y, place, x])
    first = of.c_function(POINT, *data(0).values(), form="logp")
    assert first.names == ("y", "place", "x")
    alike, longer = first.with_data(**data(1)), first.with_data(*data(2, 2 * N).values())
    one = longer.with_data(y=data(3, 2 * N)["y"])
    assert alike._executable is first._executable
    sets = ((first, data(0)), (alike, data(1)), (longer, data(2, 2 * N)), (first, data(0)))
    for function, given in (*sets, (one, {**data(2, 2 * N), "y": data(3, 2 * N)["y"]})):
        check(run(function, POINT), POINT, given)
    check(run(alike.as_density(), POINT), POINT, data(1))
    with pytest.raises(ArgumentShapeError, match="with_data"):
        first.data(**data(2, 2 * N))
    with pytest.raises(ArgumentShapeError, match="place"):
        first.with_data(y=np.ones(7))
    with pytest.raises(ArgumentTypeError, match="'z' is not data"):
        first.with_data(z=np.ones(7))
    with pytest.raises(ArgumentTypeError, match="'y' is given twice"):
        first.with_data(data(0)["y"], y=np.ones(7))
    with pytest.raises(ArgumentTypeError, match="is data"):
        of.c_function(POINT, data(0)["y"], None, data(0)["x"])


@pytest.mark.filterwarnings("ignore::hlograph.errors.PythonCallWarning")
def test_a_c_function_takes_what_is_no_data() -> None:
    given, value, gradient = data(0), np.zeros(1), np.zeros(len(POINT))
    function = by_graph(data=["y", "place", "x"]).c_function(given["y"], POINT, given["place"], given["x"])
    inputs = (ctypes.c_void_p * 1)(POINT.ctypes.data)
    outputs = (ctypes.c_void_p * 2)(value.ctypes.data, gradient.ctypes.data)
    assert function.ctypes(inputs, outputs, None) == 0
    check((value[0], gradient), POINT, given)
    other = function.data(**data(1))
    assert function.ctypes(inputs, outputs, other.address) == 0
    check((value[0], gradient), POINT, data(1))
    np.testing.assert_array_equal(other.values["y"], data(1)["y"])


def test_what_is_refused() -> None:
    for error, match, make in (
        (ArgumentError, "there is no argument 'z'", lambda: by_graph(data=["z"])),
        (ValueError, "data_argnames names 'z'", lambda: hlograph.jit(density, data_argnames=["z"])),
        (ValueError, "static", lambda: hlograph.jit(density, data_argnames="b", static_argnames="b")),
        (OptionError, "donate", lambda: hlograph.jit(density, data_argnames="data", donate_argnames="b")),
        (UnsupportedGraphError, "computed from data", lambda: hlograph.function(
            [x := pt.dvector("x")], [x[x > 0].sum()], data=[x])),
    ):  # fmt: skip
        with pytest.raises(error, match=match):  # type: ignore[arg-type]
            make()
    function = by_graph(data=["y", "place", "x"])
    with pytest.raises(ArgumentShapeError, match="axis 0"):
        call(function, POINT, {**data(0), "y": np.ones(7)})
    with pytest.raises(ArgumentTypeError, match="complex"):
        call(function, POINT, {**data(0), "y": np.ones(N, complex)})
    with pytest.raises(ArgumentTypeError, match="expected 4"):
        function(POINT)
    call(function, POINT, data(0))
    masked = np.ma.masked_array(data(0)["y"], mask=np.arange(N) == 3)  # the same bytes
    with pytest.raises(ArgumentTypeError, match="masked"):
        call(function, POINT, {**data(0), "y": masked})
