"""Kernels called without PJRT, and what XLA's CPU runtime does besides them: the values, the bits, what is refused.

Values are compared with NumPy's, bits with those of the same executable run by PJRT.
"""

import gc
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from kernels import small_call
from scripts import run_script

import hlograph
from hlograph.runtime.c_function import FORMS, CProgram, table
from hlograph.runtime.direct import object_code, steps, verdict
from hlograph.runtime.direct.call import DirectCall, Workspace, compare, serialized
from hlograph.runtime.direct.executable import CpuExecutable
from hlograph.runtime.object_files import DirectCallRefused

pytestmark = [
    pytest.mark.optimized,
    pytest.mark.skipif(bool(verdict.unsupported()), reason="no direct calls here"),
]

ONE_KERNEL = {"xla_disable_hlo_passes": "dot-library-rewriter,cpu-parallel-task-assigner"}
SEVERAL = {"xla_disable_hlo_passes": "dot-library-rewriter"}  # without XLA's libraries
Y, SIGMA = np.array([28.0, 8, -3, 7, -1, 1, 18, 12]), np.array([15.0, 10, 16, 11, 9, 11, 10, 18])
RANDOM = np.random.default_rng(11)
SQUARE = RANDOM.normal(size=(6, 6))
POSITIVE = SQUARE @ SQUARE.T + np.eye(6)
SPECIAL = np.array([2.0, np.nan, -0.0, 0.0, np.inf, -np.inf, -np.nan, -1.0] * 5)
INTEGERS = RANDOM.integers(0, 40, (3, 100, 2))


@pytest.fixture(autouse=True)
def _x64() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


def compiled(
    function: Any, arguments: Any, *, one_kernel: bool = True, keep_unused: bool = True, **options: Any
) -> Any:
    """As a function of its own, because what sorts cannot be serialized once it ran."""
    called = small_call(function) if one_kernel else lambda *arguments: function(*arguments)
    jitted = jax.jit(called, keep_unused=keep_unused, compiler_options=ONE_KERNEL if one_kernel else SEVERAL, **options)
    return jitted.lower(*arguments).compile()


def same(found: Any, expected: Any) -> bool:
    """Whether two results have the same bits."""
    both = [[np.asarray(x) for x in jax.tree.leaves(results)] for results in (found, expected)]
    ours, theirs = ([(x.dtype, x.shape, x.tobytes()) for x in results] for results in both)
    return ours == theirs


def schools(mu: Any, log_tau: Any, theta: Any) -> Any:
    tau = jnp.exp(log_tau)
    return (-0.5 * ((Y - mu - tau * theta) / SIGMA) ** 2).sum() - jnp.log1p((tau / 5) ** 2)


def schools_and_gradient(*arguments: Any) -> Any:
    value, gradient = jax.value_and_grad(schools, argnums=(0, 1, 2))(*arguments)
    return value, *gradient


def schools_in_numpy(mu: Any, log_tau: Any, theta: Any) -> list[Any]:
    tau = np.exp(log_tau)
    error = (Y - mu - tau * theta) / SIGMA
    slope = error / SIGMA
    return [
        -0.5 * (error @ error) - np.log1p((tau / 5) ** 2),
        slope.sum(),
        tau * (slope @ theta) - 2 * tau**2 / (25 + tau**2),
        tau * slope,
    ]


SCHOOLS = [np.array(0.3), np.array(0.1), np.linspace(-1, 1, 8)]


def factor(x: Any) -> Any:
    return jnp.linalg.cholesky(x * 0.5 + jnp.eye(6, dtype=x.dtype)) + x.T


def until(x: Any, limit: Any) -> Any:
    """A loop of as many turns as data says."""
    return jax.lax.while_loop(lambda s: (s[1][0, 0] < limit) & (s[0] < 7), lambda s: (s[0] + 1, factor(s[1])), (0, x))


def branches(x: Any, index: Any) -> Any:
    """A loop in a branch, and a branch that changes nothing."""
    many = [lambda x: until(x, 3.0)[1], lambda x: x, lambda x: jnp.linalg.cholesky(x) * 2]
    return jax.lax.switch(index, many, x), jax.lax.cond(index > 1, factor, lambda x: x, x)


def branch_in_loop(x: Any, turns: Any) -> Any:
    def turn(i: Any, x: Any) -> Any:
        return jax.lax.cond(i % 2 == 0, factor, lambda x: jnp.sort(x, 1), x)

    return jax.lax.fori_loop(0, turns, turn, x), jax.lax.fori_loop(0, 3, turn, x)


def sorts(x: Any, integers: Any) -> Any:
    first = jnp.tile(x[:, None] * jnp.array([1.0, -1.0, 0.0]), (4, 1))
    return (
        jnp.sort(x),
        jnp.argsort(x, descending=True),
        jnp.sort(first, 0),
        jnp.argsort(x.astype(jnp.float32)),
        jnp.sort(integers, 1),
        jax.lax.sort((integers, integers * 3.0, -integers), dimension=1, num_keys=2),
    )


def factors(x: Any) -> Any:
    lower = jnp.linalg.cholesky(x)
    single = x.astype(jnp.float32)
    return (
        jnp.linalg.cholesky(jnp.stack([x, x + 1, -x])),
        jax.scipy.linalg.solve_triangular(lower, x, lower=True),
        jax.scipy.linalg.solve_triangular(single, single[:, 0], trans=1),
        jnp.linalg.slogdet(x),
        jnp.linalg.inv(single),
        jnp.linalg.qr(x),
        jnp.linalg.eigh(x),
        jnp.linalg.svd(single),
        jnp.linalg.eigvals(x + 1j * x),
    )


CONSTANTS = [
    np.array([-5, 3, 2**31 - 1, -(2**31)], np.int32),
    np.array([-(2**63), -1, 0, 7], np.int64),
    np.array([2**64 - 1, 0, 5, 1], np.uint64),
    np.array([-128, 127, 0, -1], np.int8),
    np.array([65535, 0, 1, 2], np.uint16),
    np.array([True, False, True, True]),
    np.array([np.nan, -0.0, np.inf, 1e-310]),
    np.array([1.5, -2, 65504, 6e-8], np.float16),
    np.array([1 + 2j, -3j, 4, np.inf], np.complex64),
    np.array([1 + 2j, -3j, 4, np.nan]),
]
# Beside what the self-test has (`self_test.CHOSEN`, with `test_this_machine`): function, arguments, and the steps of
# what XLA splits; None where it is compiled as one kernel, and as XLA splits it.
CASES: dict[str, tuple[Any, list[Any], str | None]] = {
    "densities": (schools_and_gradient, SCHOOLS, None),
    "constants": (lambda at: [jnp.asarray(x)[at] for x in CONSTANTS], [np.array([3, 0, 2, 1])], None),
    "subnormal numbers": (lambda x: (x * 0.25, x * 0), [np.array([np.finfo(np.float64).tiny, 1.0])], None),
    "NaN's sign": (  # which differs between versions of one function in the same C library
        lambda x, y: (jnp.log(x), jnp.power(x, y), jnp.sin(x / 0)),
        [np.array([-1.0, 2, -np.inf, 0]), np.array([0.5, 0.5, 3, -2])],
        None,
    ),
    "loop of several kernels": (until, [POSITIVE, np.array(5.0)], "while custom-call"),
    "loop of no turns": (until, [POSITIVE, np.array(-1e9)], "while custom-call"),
    "first branch": (branches, [POSITIVE, np.array(0)], "while conditional custom-call"),
    "second branch": (branches, [POSITIVE, np.array(1)], "while conditional custom-call"),
    "last branch": (branches, [POSITIVE, np.array(99)], "while conditional custom-call"),
    "branch in a loop": (branch_in_loop, [POSITIVE, np.array(4)], "while conditional sort custom-call"),
    "branch in a loop of no turns": (branch_in_loop, [POSITIVE, np.array(0)], "while conditional sort custom-call"),
    "sorts": (sorts, [SPECIAL, INTEGERS], "sort"),
    "factors": (factors, [POSITIVE], "custom-call"),
    "a constant in another order": (
        lambda x: jax.scipy.linalg.solve_triangular(x, jnp.asarray(SQUARE), lower=True),
        [POSITIVE],
        "custom-call",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_bits_are_pjrts(case: str) -> None:
    function, arguments, kinds = CASES[case]
    for one_kernel in (True, False) if kinds is None else (False,):
        executable = compiled(function, arguments, one_kernel=one_kernel)
        direct = DirectCall.of(executable, arguments, trials=2)
        assert set((kinds or "").split()) <= direct.steps.kinds
        random = np.random.default_rng(7)
        for trial in range(3):  # a workspace is used again
            given = [random.permutation(x.reshape(-1)).reshape(x.shape) for x in arguments] if not kinds else arguments
            assert same(direct(*given), executable(*given)), trial


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_large_workspaces_that_are_gone_are_the_systems_again() -> None:
    x = np.linspace(0, 1, 1 << 19)
    direct = DirectCall.loaded(serialized(compiled(lambda x: x + 1, [x])), 1)
    before = resident()
    spaces = [Workspace(direct) for _ in range(20)]
    for array in (array for space in spaces for array in (*space.arguments, *space.results)):
        array[...] = 1
    assert resident() - before > 18 * direct.size > 18 * 2 * x.nbytes
    del spaces, array
    assert resident() - before < 2 * direct.size


def test_workspaces_of_c_functions_that_are_over() -> None:
    """Large ones are in few slots, whichever threads have called."""
    x = np.linspace(0, 1, 1 << 21)
    direct = DirectCall.of(compiled(lambda x: x * 2 + 1, [x]), [x], trials=0)
    program = CProgram(direct, FORMS["arrays"], given=1, data=0, checks=0)
    assert 1 << 25 <= program._program[0] <= 1 << 26
    call = FORMS["arrays"].prototype(program.address)

    def called(_: int) -> bool:
        found = np.empty_like(x)
        given, results = table([x]), table([found])
        return call(given.ctypes.data, results.ctypes.data, None) == 0 and bool((found == 2 * x + 1).all())

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(called, range(24)))
    kept = [number for number, slot in enumerate(program._program[16::8]) if slot]
    assert kept == [0], "64 MiB hold one"


@pytest.mark.usefixtures("young_heap")
def test_code_constants_and_buffers_live_as_long_as_the_function() -> None:
    executable = compiled(schools_and_gradient, SCHOOLS)
    runs = [DirectCall.of(executable, SCHOOLS, trials=0) for _ in range(3)]
    direct = DirectCall.of(executable, SCHOOLS, trials=0)
    space = Workspace(direct)
    del executable
    jax.clear_caches()
    gc.collect()
    rubbish = [np.full(size, np.nan) for size in range(1, 400)]
    for array, value in zip(space.arguments, SCHOOLS, strict=True):
        array[...] = value
    assert direct.code.run(space.address) == 0
    for results in (*(run(*SCHOOLS) for run in runs), space.results):
        for found, expected in zip(results, schools_in_numpy(*SCHOOLS), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert len(rubbish) == 399


def test_code_is_loaded_when_the_main_thread_has_ended() -> None:
    printed = run_script(
        """
        import threading
        from hlograph.runtime.direct.object_code import loading
        def load():
            threading.main_thread().join()
            with loading():
                print("loaded")
        threading.Thread(target=load).start()
        """
    )
    assert printed == "loaded\n"


def test_no_memory_is_writable_and_executable() -> None:
    def regions() -> list[str]:
        with open("/proc/self/maps") as lines:
            return [line for line in lines if "rwx" in line.split()[1]]

    before = regions()
    direct = DirectCall.of(compiled(schools_and_gradient, SCHOOLS), SCHOOLS)
    assert regions() == before
    assert direct(*SCHOOLS)


def test_donated_arguments() -> None:
    x = np.arange(3.0)
    executable = compiled(lambda x, y: (x + y, x * y), [x, x], donate_argnums=0)
    direct = DirectCall.of(executable, [x, x])
    for _ in range(2):
        sums, products = direct(x, x)
        np.testing.assert_array_equal(sums, 2 * x)
        np.testing.assert_array_equal(products, x * x)


# --- Refusals


# What PJRT has for a function of x that gives x * 3 and x + 1, and whether the arguments themselves show that.
DIFFERENT: dict[str, tuple[Any, str]] = {
    "last bit": (lambda x, y: (np.nextafter(x, 9), y), "the arguments"),
    "sign of zero": (lambda x, y: (-x if not x[0] else x, y), "the arguments"),
    "dtype": (lambda x, y: (x, y.astype(np.float32)), "the arguments"),
    "order": (lambda x, y: (y, x), "the arguments"),
    "number": (lambda x, y: (x,), "the arguments"),
    "other values": (lambda x, y: (np.clip(x, 0, 6), y), "random input 0"),
}


@pytest.mark.parametrize("case", DIFFERENT)
def test_any_difference_to_pjrt(case: str) -> None:
    change, shown = DIFFERENT[case]

    def direct(x: Any) -> Any:
        return x * 3, x + 1

    arguments = [np.array([0.0, 1, 2])]
    compare(direct, direct, arguments)
    with pytest.raises(DirectCallRefused, match=f"PJRT.* for {shown}"):
        compare(direct, lambda x: change(*direct(x)), arguments)


def test_executables_from_the_cache_on_disk(tmp_path: Path) -> None:
    """They come without the machine code when they are serialized again."""
    script = """
        import sys, jax, numpy as np
        from hlograph.runtime.direct.call import DirectCall, DirectCallRefused
        jax.config.update("jax_compilation_cache_dir", sys.argv[1])
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
        for _ in range(2):
            compiled = jax.jit(lambda x: x + 1).lower(np.ones(3, np.float32)).compile()
            try:
                print(DirectCall.of(compiled, [np.ones(3, np.float32)])(np.ones(3, np.float32)))
            except DirectCallRefused as error:
                print(error)
            jax.clear_caches()
    """
    first, second = run_script(script, tmp_path).splitlines()
    assert first == "[array([2., 2., 2.], dtype=float32)]"
    assert second.startswith("the executable has no machine code: it was loaded from JAX's cache")


def unstable(x: Any) -> Any:
    return jax.lax.sort((x, x + 1), num_keys=1, is_stable=False)


def python(x: Any) -> Any:
    return jax.pure_callback(lambda x: x, jax.ShapeDtypeStruct((3,), np.float64), x)


def a_small_stack(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("hlograph.runtime.direct.executable.STACK", 7)  # the kernel has numbers of 8 bytes there


def no_order(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(steps, "makes_an_order", lambda address, dtypes: False)


# Function, arguments, what the refusal says, what is changed for it, options of jax.jit.
REFUSED: dict[str, tuple[Any, list[Any], str, Any, dict[str, Any]]] = {
    "library": (lambda x: jnp.fft.fft(x), [np.arange(9.0)], "is no kernel", None, {}),
    "dtype": (lambda x: x * 2, [jnp.ones(3, jnp.bfloat16)], "element type 16", None, {}),
    "unstable sort": (unstable, [SPECIAL], "not stable", None, {}),
    "sort of no order": (jnp.sort, [np.arange(9.0)], "order", no_order, {}),
    "function that is not known": (python, [np.ones(3)], "callback", None, {}),
    "missing arguments": (lambda x, y: x + 1, [np.ones(3)] * 2, "keep_unused", None, {"keep_unused": False}),
    "large stack": (schools_and_gradient, SCHOOLS, "on the stack", a_small_stack, {"one_kernel": True}),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, arguments, message, change, options = REFUSED[case]
    executable = compiled(function, arguments, **{"one_kernel": False, **options})
    if change is not None:
        change(monkeypatch)
    with pytest.raises(DirectCallRefused, match=message):
        DirectCall.of(executable, arguments, trials=0)


def test_functions_of_xlas_runtime() -> None:
    arguments = [np.array(2.0)]
    executable = compiled(jnp.sin, arguments)
    np.testing.assert_allclose(DirectCall.of(executable, arguments)(*arguments)[0], np.sin(2.0), rtol=1e-15)
    with pytest.raises(DirectCallRefused, match="calls sin"):
        object_code.ObjectCode(CpuExecutable.read(serialized(executable)).objects, outside=())


def test_broken_serializations_are_refused() -> None:
    """Whatever a later version changes in the form, there is a refusal, never another error, and never a run."""
    data = serialized(compiled(schools_and_gradient, SCHOOLS))

    def read(data: bytes) -> steps.Steps:
        found = CpuExecutable.read(data)
        constants = {number: np.frombuffer(value, np.uint8) for number, value in found.constants.items()}
        return steps.Steps(found, lambda name: 1, constants)

    assert read(data).kinds == {"kernel"}
    with pytest.raises(DirectCallRefused, match=r"fields that are not known here: \[15\]"):
        read(data + b"\x78\x01")
    random = np.random.default_rng(11)
    refused = 0
    for trial in range(300):
        broken = bytearray(data)
        if trial % 2:
            broken = broken[: random.integers(len(broken))]
        else:
            for at in random.integers(len(broken), size=3):
                broken[at] = random.integers(256)
        try:
            read(bytes(broken))
        except DirectCallRefused:
            refused += 1
    assert refused >= 150  # all that are cut off, at least


def test_a_gaussian_process_by_its_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Factorization, solves and products that are too large for a kernel, and their gradients."""
    monkeypatch.setattr(verdict, "_known", "")
    monkeypatch.delenv(verdict.SWITCH, raising=False)
    places = np.linspace(0, 4, 40)
    distance, observed = (places[:, None] - places) ** 2, np.sin(places)

    def density(scale: Any, noise: Any) -> Any:
        covariance = jnp.exp(-distance / scale**2) + noise * jnp.eye(len(places))
        factor = jnp.linalg.cholesky(covariance)
        solved = jax.scipy.linalg.solve_triangular(factor, observed, lower=True)
        return -0.5 * solved @ solved - jnp.log(jnp.diag(factor)).sum() + jnp.trace(covariance @ covariance @ factor)

    gradient = jax.value_and_grad(density, argnums=(0, 1))
    function = hlograph.jit(gradient, cpu="direct", outputs="numpy")
    arguments = np.array(1.3), np.array(0.4)
    found = function(*arguments)
    (stats,) = function.stats.by_executable
    assert stats.plan[-1] == "direct call of the kernels"
    assert [note.partition(":")[0] for note in stats.plan].count("cpu_blas") == 2
    expected = jax.tree.leaves(jax.jit(gradient)(*arguments))
    np.testing.assert_allclose(jax.tree.leaves(found), expected, rtol=1e-9)
