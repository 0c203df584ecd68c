"""Compiled functions as C functions: values against NumPy's, codes, threads of a C program, data, Python's callback."""

import ctypes
import gc
import multiprocessing
import resource
import shutil
import subprocess
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.raise_op import Assert

import hlograph
from hlograph.errors import ArgumentShapeError, ArgumentTypeError, PythonCallWarning, UnsupportedGraphError
from hlograph.runtime import c_function
from hlograph.runtime.c_function import CFunction
from hlograph.runtime.direct import verdict

NATIVE = not verdict.unsupported()
native_only = pytest.mark.skipif(not NATIVE, reason="no direct calls here")
pytestmark = [
    pytest.mark.optimized,
    pytest.mark.filterwarnings("error::hlograph.errors.PythonCallWarning" if NATIVE else "default"),
]

X, Y = np.linspace(-2, 2, 60).reshape(20, 3) ** 3, np.linspace(-1, 1, 20)
SHAPE = jax.ShapeDtypeStruct(X.shape, X.dtype)


def regression(**options: Any) -> Any:
    """log-density of a regression and its gradient, with the data as arguments."""
    b, x, y = pt.dvector("b"), pt.dmatrix("x"), pt.dvector("y")
    logp = -0.5 * ((y - x @ b) ** 2).sum() - pt.log1p((b**2).sum())
    dims = {"b": 3, "x": ("n", 3), "y": ("n",)}
    return hlograph.function([b, x, y], [logp, pytensor.grad(logp, b)], dims=dims, **options)


def regression_in_numpy(b: np.ndarray, x: np.ndarray = X, y: np.ndarray = Y) -> tuple[float, np.ndarray]:
    rest = y - x @ b
    return -0.5 * (rest**2).sum() - np.log1p((b**2).sum()), x.T @ rest - 2 * b / (1 + (b**2).sum())


def logp_of(function: CFunction, b: np.ndarray, user: int | None = None) -> tuple[int, float, np.ndarray]:
    """Code, value and gradient of a call in the form "logp"."""
    value, gradient = np.full((), np.nan), np.full(b.shape, np.nan)
    b = np.ascontiguousarray(b)
    code = function.ctypes(b.size, b.ctypes.data, gradient.ctypes.data, value.ctypes.data, user)
    return code, float(value), gradient


def check(function: CFunction, b: np.ndarray, user: int | None = None, x: Any = X, y: Any = Y) -> None:
    code, value, gradient = logp_of(function, b, user)
    wanted, wanted_gradient = regression_in_numpy(b, x, y)
    assert code == 0
    np.testing.assert_allclose(value, wanted, rtol=1e-13)
    np.testing.assert_allclose(gradient, wanted_gradient, rtol=1e-12)


@pytest.fixture(scope="module")
def bound() -> CFunction:
    return regression(policy="padded").c_function(None, X, Y, form="logp")


def by_python(make: Any) -> CFunction:
    """What a function makes without machine code."""
    with pytest.MonkeyPatch.context() as patch:

        def refuse(*_: Any, **__: Any) -> None:
            raise c_function.DirectCallRefused("not today")

        patch.setattr(c_function.DirectCall, "of", refuse)
        with pytest.warns(PythonCallWarning, match="go through Python and take its lock.*not today"):
            found: CFunction = make()
    return found


@pytest.fixture(scope="module")
def through_python() -> CFunction:
    return by_python(lambda: regression(policy="padded").c_function(None, X, Y, form="logp"))


BOTH = pytest.mark.parametrize("name", [pytest.param("bound", marks=native_only), "through_python"])
WAYS = pytest.mark.parametrize("make", [pytest.param(lambda f: f(), marks=native_only), by_python], ids=["C", "Python"])


@BOTH
def test_values_codes_and_other_data(name: str, request: pytest.FixtureRequest) -> None:
    function = request.getfixturevalue(name)
    assert (function.native, bool(function.reason)) == ((True, False) if name == "bound" else (False, True))
    assert function.signature.startswith("long logp(size_t dim, const double *x")
    assert (function.dim, function.names) == (3, ("x", "y"))
    b = np.array([0.3, -1.2, 0.7])
    check(function, b)
    for rows in (7, 20, 1):
        other = function.data(x=X[:rows], y=Y[:rows] + 1)
        check(function, b, other.address, X[:rows], Y[:rows] + 1)
    other = function.with_data(x=X[:7], y=Y[:7] + 1)
    check(other, b, None, X[:7], Y[:7] + 1)
    check(function, b)  # the bound data again
    density = other.as_density()
    check(density, b, None, X[:7], Y[:7] + 1)
    code, value, gradient = logp_of(density, b * np.nan)
    assert (code, value, gradient.tolist()) == (0, -np.inf, [0.0] * 3)
    assert function.data(X[:5], Y[:5]).values["x"].shape == (5, 3)
    place = b.ctypes.data
    assert function.ctypes(4, place, place, place, None) == c_function.WRONG_DIMENSION
    for arguments in ((0, place, place), (place, 0, place), (place, place, 0)):
        assert function.ctypes(3, *arguments, None) == c_function.NULL_POINTER
    assert logp_of(function, b * np.nan)[0] == c_function.GRADIENT_NOT_FINITE
    if name == "through_python":
        function.error = None
        function._run._compiled, compiled = None, function._run._compiled
        assert logp_of(function, b)[0] == c_function.PYTHON_RAISED
        assert isinstance(function.error, TypeError)
        function._run._compiled = compiled


def test_where_direct_calls_are_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HLOGRAPH_DIRECT", "0")
    with pytest.warns(PythonCallWarning, match="switched off by HLOGRAPH_DIRECT"):
        function = regression(policy="padded").c_function(None, X, Y, form="logp")
    check(function.with_data(X[:7], Y[:7]), np.array([0.3, -1.2, 0.7]), None, X[:7], Y[:7])


@native_only
def test_data_that_does_not_fit(bound: CFunction) -> None:
    with pytest.raises(ArgumentShapeError, match="n = 100: this C function was compiled for sizes up to 24"):
        bound.data(np.zeros((100, 3)), np.zeros(100))
    with pytest.raises(ArgumentShapeError, match="expected size 5"):
        bound.data(x=np.zeros((5, 3)))
    with pytest.raises(ArgumentTypeError, match="argument 'x': expected dtype float64, got complex64"):
        bound.data(x=X.astype(np.complex64))
    with pytest.raises(ArgumentTypeError, match="'z' is not data; the data are x, y"):
        bound.data(z=1)
    with pytest.raises(ArgumentTypeError, match="'x' is given twice"):
        bound.data(X, x=X)
    for arrays in ((None, Y), (X, jax.ShapeDtypeStruct(Y.shape, Y.dtype))):
        with pytest.raises(ArgumentTypeError, match="is data in the form 'logp': give its value"):
            bound.with_data(*arrays)
    exact = regression(policy="exact").c_function(None, X, Y, form="logp")
    check(exact, np.array([0.3, -1.2, 0.7]))
    with pytest.raises(ArgumentShapeError, match="compiled for 20; a policy of 'padded'"):
        exact.data(X[:7], Y[:7])
    unaligned = np.zeros(3 * 24 + 1)[1:]
    table = np.array([unaligned.ctypes.data] * 3, np.uint64)
    assert logp_of(bound, np.zeros(3), table.ctypes.data)[0] == c_function.NOT_ALIGNED


@pytest.mark.parametrize(
    ("form", "arguments", "error", "match"),
    [
        ("logp", (None, X), ArgumentTypeError, r"'y' \(float64\[n\]\) is data in the form 'logp': give its value"),
        ("logp", (None, SHAPE, Y), ArgumentTypeError, "'x' .* is data in the form 'logp': .*, not only its shape"),
        ("arrays", (), ArgumentShapeError, "'x' has a symbolic shape .n, 3.: give an example"),
        ("expand", (None, X, Y), UnsupportedGraphError, r"with one result float64\[expanded\]; this one has"),
        ("numba", (), ValueError, "form must be 'arrays', 'logp', 'density', 'expand', got 'numba'"),
        ("logp", (None, X, Y, Y), ArgumentTypeError, "4 arguments for b, x, y"),
    ],
)
def test_what_is_refused(form: Any, arguments: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        regression().c_function(*arguments, form=form)


@WAYS
def test_arrays_of_several_types_checks_and_shared_variables(make: Any) -> None:
    x, k = pt.matrix("x", dtype="float32", shape=(3, 500)), pt.lscalar("k")
    scale = pytensor.shared(np.array([2.0, 3.0, 4.0]), "scale")
    positive = Assert("k must be positive")(k, k > 0)
    outputs = [x.sum(axis=1) * scale * positive, x > 0, x * 1]
    function = make(hlograph.function([x, k], outputs).c_function)
    value = np.random.default_rng(0).normal(size=(3, 500)).astype(np.float32)
    results = [np.empty(3), np.empty((3, 500), bool), np.empty((3, 500), np.float32)]

    def call(x: np.ndarray, k: int) -> int:
        number = np.array(k)
        inputs = np.array([x.ctypes.data, number.ctypes.data], np.uint64)
        places = np.array([result.ctypes.data for result in results], np.uint64)
        return int(function.ctypes(inputs.ctypes.data, places.ctypes.data, None))

    padded = np.zeros(1 + value.size, np.float32)
    padded[1:] = value.reshape(-1)
    for given in (value, padded[1:].reshape(3, 500)):  # the second one is not aligned
        assert call(given, 5) == 0
        np.testing.assert_allclose(results[0], value.sum(axis=1) * scale.get_value() * 5, rtol=1e-5)
        np.testing.assert_array_equal(results[1], value > 0)
        np.testing.assert_array_equal(results[2], value)
    assert call(value, -1) == c_function.CHECK_FAILED
    assert function.ctypes(None, None, None) == c_function.NULL_POINTER


@WAYS
def test_an_expansion_that_branches_and_loops(make: Any) -> None:
    x = pt.dvector("x", shape=(4,))
    loop = pytensor.scan(lambda i, s: s + x[i], sequences=pt.arange(4), outputs_info=pt.zeros(()), return_updates=False)
    compiled = hlograph.function([x], pt.concatenate([pt.exp(x), loop]))
    function = make(lambda: compiled.c_function(form="expand"))
    value, out = np.array([0.5, -1.0, 2.0, 0.25]), np.empty(8)
    assert function.ctypes(4, 8, value.ctypes.data, out.ctypes.data, None) == 0
    np.testing.assert_allclose(out, np.concatenate([np.exp(value), np.cumsum(value)]), rtol=1e-14)
    assert function.ctypes(4, 7, value.ctypes.data, out.ctypes.data, None) == c_function.WRONG_DIMENSION


@native_only
def test_the_callers_floating_point_mode_comes_back(bound: CFunction) -> None:
    logp_of(bound, np.zeros(3))
    assert np.float64(5e-324) * np.ones(1)[0] > 0


THREADS = r"""
#include <stddef.h>
#include <string.h>
typedef long logp(size_t, const double *, double *, double *, const void *);
long run(long calls, logp *function, const double *x, const double *gradients, const double *values) {
    long wrong = 0;
    #pragma omp parallel for num_threads(8) reduction(+ : wrong)
    for (long t = 0; t < 8; t++) {
        double gradient[3], value;
        for (long i = 0; i < calls; i++) {
            long code = function(3, x + 3 * t, gradient, &value, NULL);
            wrong += code || value != values[t] || memcmp(gradient, gradients + 3 * t, sizeof gradient);
        }
    }
    return wrong;
}
"""


def eight_points(function: CFunction) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points, and the gradients and values there."""
    points = np.random.default_rng(0).normal(size=(8, 3))
    found = [logp_of(function, point) for point in points]
    assert [code for code, _, _ in found] == [0] * 8
    return points, np.array([gradient for _, _, gradient in found]), np.array([value for _, value, _ in found])


@native_only
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler: the next test calls from Python's threads")
def test_eight_threads_of_a_c_program_while_python_holds_its_lock(bound: CFunction, tmp_path: Path) -> None:
    source, library = tmp_path / "threads.c", tmp_path / "threads.so"
    source.write_text(THREADS)
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-fopenmp", "-o", library, source], check=True)
    points, gradients, values = eight_points(bound)
    run = ctypes.PyDLL(str(library)).run  # keeps the lock: a call that needed it would wait for ever
    run.restype = ctypes.c_long
    address = ctypes.c_void_p(bound.address)
    places = [ctypes.c_void_p(array.ctypes.data) for array in (points, gradients, values)]
    assert run(ctypes.c_long(2000), address, *places) == 0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert run(ctypes.c_long(20_000), address, *places) == 0
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 4096  # KiB


@BOTH
def test_threads_of_python(name: str, request: pytest.FixtureRequest) -> None:
    function = request.getfixturevalue(name)
    points, gradients, values = eight_points(function)

    def run(i: int) -> bool:
        found = [logp_of(function, points[i]) for _ in range(50)]
        return all(code == 0 and v == values[i] and (g == gradients[i]).all() for code, v, g in found)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(run, range(8)))


@native_only
def test_a_forked_process(bound: CFunction) -> None:
    def child(queue: Any) -> None:
        queue.put(logp_of(bound, np.ones(3))[:2])

    context: Any = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    process.join(30)
    assert process.exitcode == 0
    assert queue.get() == logp_of(bound, np.ones(3))[:2]


@pytest.mark.usefixtures("young_heap")
@native_only
def test_it_needs_nothing_but_itself_and_leaves_nothing() -> None:
    b = pt.dvector("b", shape=(3,))
    made = hlograph.function([b], [b.sum(), b * 2]).c_function(form="logp")
    gc.collect()
    code, value, gradient = logp_of(made, np.ones(3))
    assert (code, value, list(gradient)) == (0, 3, [2, 2, 2])
    parts = [weakref.ref(part) for part in (made, made._run, made._data, made._executable)]
    del made
    gc.collect()
    assert [part() for part in parts] == [None] * 4
