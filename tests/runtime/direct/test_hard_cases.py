"""Arguments, signals, forks, long kernels and interpreters that a direct call may meet; the other ways beside it."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlograph
from hlograph.errors import ArgumentShapeError, ArgumentTypeError
from hlograph.runtime.direct import verdict
from hlograph.runtime.direct.call import DirectCall

TESTS = Path(__file__).resolve().parents[2]
pytestmark = [
    pytest.mark.optimized,
    pytest.mark.skipif(bool(verdict.unsupported()), reason="no direct calls here"),
]

BASE = np.arange(1.0, 13.0).reshape(3, 4)


@pytest.fixture(autouse=True)
def _good(monkeypatch: pytest.MonkeyPatch, jax_x64: None) -> None:
    monkeypatch.setattr(verdict, "_known", "")
    monkeypatch.delenv(verdict.SWITCH, raising=False)


# ---- arguments -------------------------------------------------------------------------------------------------------


def read_only(x: np.ndarray) -> np.ndarray:
    return np.frombuffer(x.tobytes()).reshape(x.shape)


def unaligned(x: np.ndarray) -> np.ndarray:
    made = np.ndarray(x.shape, x.dtype, bytearray(x.nbytes + 1), offset=1)
    made[...] = x
    assert not made.flags.aligned
    return made


def packed(x: np.ndarray) -> np.ndarray:
    records = np.zeros(x.shape, [("a", "i1"), ("b", x.dtype), ("c", "i1")])
    records["b"] = x
    assert records["b"].strides[-1] == 10
    return records["b"]


def mapped(x: np.ndarray, folder: Path) -> np.ndarray:
    x.tofile(folder / "mapped")
    return np.memmap(folder / "mapped", x.dtype, "r", shape=x.shape)


class Doubled(np.ndarray):
    """What NumPy's functions make of it is not what its memory holds."""

    def __array_finalize__(self, _: Any) -> None:
        self.unit = "m"

    def __mul__(self, other: Any) -> Any:
        raise AssertionError("a method of a subclass is called")


# From the array and a folder: what is given, with the same values; or the error that it is.
ARGUMENTS: dict[str, tuple[Callable[[np.ndarray, Path], Any], type[Exception] | None]] = {
    "read-only": (lambda x, _: read_only(x), None),
    "unaligned": (lambda x, _: unaligned(x), None),
    "every second column": (lambda x, _: np.repeat(x, 2, 1)[:, ::2], None),
    "backwards": (lambda x, _: x[::-1, ::-1].copy()[::-1, ::-1], None),
    "in Fortran order": (lambda x, _: np.asfortranarray(x), None),
    "a column of a table": (lambda x, _: np.rec.fromarrays([x, x + 1], names="a,b")["a"], None),
    "a field of packed records": (lambda x, _: packed(x), None),
    "of pandas, which is read-only": (lambda x, _: pytest.importorskip("pandas").DataFrame(x).to_numpy(), None),
    "np.matrix": (lambda x, _: x.view(np.matrix), None),
    "np.recarray": (lambda x, _: x.view(np.recarray), None),
    "np.memmap, read-only": (mapped, None),
    "another subclass": (lambda x, _: x.view(Doubled), None),
    "masked nowhere": (lambda x, _: np.ma.masked_array(x), None),
    "masked": (lambda x, _: np.ma.masked_array(x, x > 5), ArgumentTypeError),
    "byte-swapped": (lambda x, _: x.astype(x.dtype.newbyteorder()), ArgumentTypeError),
    "a byte-swapped subclass": (lambda x, _: x.astype(x.dtype.newbyteorder()).view(np.recarray), ArgumentTypeError),
    "float32": (lambda x, _: x.astype(np.float32), ArgumentTypeError),
    "integers": (lambda x, _: x.astype(int), ArgumentTypeError),
    "long double": (lambda x, _: x.astype(np.longdouble), ArgumentTypeError),
    "objects": (lambda x, _: x.astype(object), ArgumentTypeError),
    "transposed": (lambda x, _: x.T, ArgumentShapeError),
}
WAYS: dict[str, dict[str, Any]] = {
    "direct": {"outputs": "numpy", "cpu": "direct"},
    "PJRT": {"outputs": "numpy", "cpu": hlograph.CpuOptions(direct=False)},
    "plain": {"outputs": "numpy", "cpu": "jax"},
    "JAX arrays": {"outputs": "jax"},
    "padded": {"outputs": "numpy", "policy": "padded", "dims": {"x": ("n", 4)}},
}


@pytest.mark.parametrize("way", WAYS)
def test_arguments_of_all_kinds(way: str, tmp_path: Path) -> None:
    """Results are of the values, new each time, and never the argument's memory; what a program has not is refused."""
    pt = pytest.importorskip("pytensor.tensor")
    x = pt.dmatrix("x", shape=(None if way == "padded" else 3, 4))
    function = hlograph.function([x], [x * 2, x.sum(axis=0), x], **WAYS[way])
    for shift in range(2):  # the first call of a function is not like others
        for name, (make, error) in ARGUMENTS.items():
            values = BASE + shift
            given = make(values, tmp_path)
            if error is not None:
                function(values)
                with pytest.raises(error, match="argument 'x'"):
                    print(name, function(given))
                continue
            found = function(given)
            for result, expected in zip(found, (values * 2, values.sum(axis=0), values), strict=True):
                assert type(result) is np.ndarray or way == "JAX arrays", name
                np.testing.assert_array_equal(result, expected, err_msg=name)
            if way != "JAX arrays":
                assert all(result.flags.writeable and not np.shares_memory(result, given) for result in found), name
                found[2][...] = 0
                again = function(found[0])  # a result as an argument
                np.testing.assert_array_equal(again[0], values * 4, err_msg=name)
                np.testing.assert_array_equal(found[0], values * 2, err_msg=name)
            np.testing.assert_array_equal(np.asarray(given), values, err_msg=name)
    if way == "direct":
        assert [entry.plan[-1] for entry in function.stats.by_executable] == ["direct call of the kernels"]


@pytest.mark.parametrize("way", ["direct", "PJRT"])
def test_arrays_of_no_elements(way: str) -> None:
    def function(x: Any, y: Any) -> Any:
        return x.sum(), x, jnp.concatenate([x, x]) @ y.T, y[:0], jnp.exp(y)

    fn = hlograph.jit(function, **WAYS[way])
    for shape in ((0, 3), (2, 0), (0, 0)):
        x, y = np.zeros(shape), np.ones((4, shape[1]), order="F")
        for _ in range(2):
            for found, expected in zip(fn(x, y), function(np.asarray(x), np.asarray(y)), strict=True):
                np.testing.assert_array_equal(found, expected, strict=True)


@pytest.mark.parametrize("size", [70, 640])
def test_results_of_a_c_function_in_its_arguments(size: int) -> None:
    """Also where the arguments are large and aligned, and so read where the caller has them."""
    pt = pytest.importorskip("pytensor.tensor")
    x, y = pt.dvector("x", shape=(size,)), pt.dvector("y", shape=(size,))
    function = hlograph.function([x, y], [x[::-1] + y, pt.cumsum(y) * x]).c_function()
    assert function.native
    raw = np.zeros(5 * size + 8)
    given = raw[-raw.ctypes.data % 64 // 8 :][: 4 * size]
    for first, second in ((0, size), (size, 0), (size // 2, size + 32), (8, 2 * size + 1), (size, size + 8)):
        given[:] = np.arange(4.0 * size)
        a, b, expected = given[:size].copy(), given[size : 2 * size].copy(), given.copy()
        inputs = np.array([given[at:].ctypes.data for at in (0, size)], np.uint64)
        outputs = np.array([given[at:].ctypes.data for at in (first, second)], np.uint64)
        assert function.ctypes(inputs.ctypes.data, outputs.ctypes.data, None) == 0
        for at, value in ((first, a[::-1] + b), (second, np.cumsum(b) * a)):
            expected[at : at + size] = value
        np.testing.assert_allclose(given, expected, rtol=1e-13)


# ---- meanwhile -------------------------------------------------------------------------------------------------------


def test_a_kernel_that_runs_for_long_holds_no_lock() -> None:
    """Python's other threads go on, as do calls of the same function."""

    def function(x: Any, turns: Any) -> Any:
        return jax.lax.fori_loop(0, turns, lambda i, x: x * 0.999 + jnp.sin(x), x)

    x, one = np.linspace(0, 1, 50), np.array(1)
    compiled = jax.jit(function, keep_unused=True).lower(x, one).compile()
    direct = DirectCall.of(compiled, [x, one], trials=0)
    (once,) = direct(x, one)
    turns = 1000
    while True:
        start = time.perf_counter()
        direct(x, np.array(turns))
        if time.perf_counter() - start > 0.4:
            break
        turns *= 2
    thread = threading.Thread(target=direct, args=(x, np.array(turns)))
    thread.start()
    ticks = 0
    while thread.is_alive():
        time.sleep(0.002)
        ticks += direct(x, one)[0].tobytes() == once.tobytes()
    assert ticks > 5


def test_a_signal_handler_that_calls_the_function_that_it_has_interrupted() -> None:
    fn = hlograph.jit(lambda x: (jnp.cumsum(x), jnp.exp(x).sum()), **WAYS["direct"])
    x = np.linspace(0, 1, 400)
    bits = {sign: [result.tobytes() for result in fn(sign * x)] for sign in (1, -1)}
    handled = []

    def handler(*_: Any) -> None:
        handled.append([result.tobytes() for result in fn(-x)] == bits[-1])
        signal.setitimer(signal.ITIMER_REAL, 3e-4)  # after its call, which may take longer than that

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 1e-3)
    try:
        while len(handled) < 200:
            assert [result.tobytes() for result in fn(x)] == bits[1]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert all(handled)


@pytest.mark.filterwarnings("ignore:.*fork")
def test_forks_while_other_threads_call() -> None:
    fn = hlograph.jit(lambda x: (jnp.sort(x), jnp.tanh(x).sum()), **WAYS["direct"])
    x = np.linspace(1, 0, 2000)
    expected, over, wrong = [result.tobytes() for result in fn(x)], threading.Event(), []

    def calls() -> None:
        while not over.is_set():
            if [result.tobytes() for result in fn(x)] != expected:
                wrong.append("in a thread")

    threads = [threading.Thread(target=calls) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(12):
        child = os.fork()
        if not child:
            signal.alarm(60)
            os._exit(0 if all([result.tobytes() for result in fn(x)] == expected for _ in range(5)) else 1)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            wrong.append("in a forked process")
    over.set()
    for thread in threads:
        thread.join()
    assert not wrong


# ---- interpreters ----------------------------------------------------------------------------------------------------

SUB_INTERPRETER = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
run = getattr(interpreters, "exec", None) or interpreters.run_string
run(interpreters.create(), '''
import hlograph
try:
    hlograph.jit
except hlograph.errors.UnsupportedVersionError as error:
    print(error)
''')
import hlograph
print(hlograph.jit(lambda x: x + 1)(1))
"""


def test_sub_interpreters_are_told_what_to_do() -> None:
    """And the main one runs everything afterwards."""
    run = subprocess.run([sys.executable, "-c", SUB_INTERPRETER], capture_output=True, text=True, check=False)
    said, result = run.stdout.splitlines()
    assert said.endswith("can load, and this is a sub-interpreter; use threads or processes"), run.stderr
    assert result == "2"
