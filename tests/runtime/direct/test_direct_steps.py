"""Direct calls of what XLA's CPU runtime does besides kernels: loops, branches, sorts, LAPACK, work groups.

Bits are compared with those of the same executable run by PJRT, values with NumPy's.
"""

from __future__ import annotations

import hashlib
import platform
import sys
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hlograph
from hlograph.codegen.ir.jax_compat import enable_x64, serialized_executable
from hlograph.runtime.direct import step_table, verdict
from hlograph.runtime.direct.call import DirectCall
from hlograph.runtime.direct.executable import CpuExecutable
from hlograph.runtime.direct.image import Image
from hlograph.runtime.direct.native_code import FOLDER
from hlograph.runtime.direct.steps import Case, CustomCall, DirectCallRefused, Kernel, Sort, While, walk

pytestmark = [
    pytest.mark.optimized,
    pytest.mark.skipif(
        sys.platform != "linux" or platform.machine() != "x86_64", reason="machine code is loaded on x86-64 Linux only"
    ),
]

RANDOM = np.random.default_rng(11)
SQUARE = RANDOM.normal(size=(6, 6))
POSITIVE = SQUARE @ SQUARE.T + np.eye(6)
SPECIAL = np.array([2.0, np.nan, -0.0, 0.0, np.inf, -np.inf, -np.nan, -1.0] * 5)
INTEGERS = RANDOM.integers(0, 40, (3, 100, 2))


@pytest.fixture(autouse=True)
def _x64() -> Iterator[None]:
    with enable_x64(True):
        yield


def compiled(function: Any, arguments: Any, **options: Any) -> Any:
    """Without XLA's libraries; as a function of its own, because what sorts cannot be serialized once it ran."""
    jitted = jax.jit(
        lambda *arguments: function(*arguments),
        keep_unused=True,
        compiler_options={"xla_disable_hlo_passes": "dot-library-rewriter"},
        **options,
    )
    return jitted.lower(*arguments).compile()


def read(executable: Any) -> CpuExecutable:
    return CpuExecutable.read(serialized_executable(executable.runtime_executable()))


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


CASES: list[tuple[str, Any, list[Any], set[type]]] = [
    ("loop", until, [POSITIVE, np.array(5.0)], {While, CustomCall}),
    ("loop of no turns", until, [POSITIVE, np.array(-1e9)], {While, CustomCall}),
    ("first branch", branches, [POSITIVE, np.array(0)], {While, Case, CustomCall}),
    ("second branch", branches, [POSITIVE, np.array(1)], {While, Case, CustomCall}),
    ("last branch", branches, [POSITIVE, np.array(99)], {While, Case, CustomCall}),
    ("branch in a loop", branch_in_loop, [POSITIVE, np.array(4)], {While, Case, Sort, CustomCall}),
    ("branch in a loop of no turns", branch_in_loop, [POSITIVE, np.array(0)], {While, Case, Sort, CustomCall}),
    ("sorts", sorts, [SPECIAL, INTEGERS], {Sort}),
    ("factors", factors, [POSITIVE], {CustomCall}),
    ("groups", lambda x: (jnp.exp(x).sum(1), x.T + 1), [RANDOM.normal(size=(300, 1000))], {Kernel}),
]


@pytest.mark.parametrize(("function", "arguments", "kinds"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_bits_are_pjrts(function: Any, arguments: list[Any], kinds: set[type]) -> None:
    executable = compiled(function, arguments)
    assert kinds <= {type(step) for step in walk(read(executable).steps)}
    direct = DirectCall.of(executable, arguments, trials=2)
    for _ in range(2):  # a workspace is used again
        found = direct(*arguments)
        for one, other in zip(found, jax.tree.leaves(executable(*arguments)), strict=True):
            assert (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, np.asarray(other).tobytes())


def test_values_are_numpys() -> None:
    def function(x: Any, order: Any) -> Any:
        return jnp.linalg.cholesky(x), jnp.sort(order), jnp.argsort(order)

    order = np.round(RANDOM.normal(size=500), 1)  # many are equal
    factor, ordered, places = DirectCall.of(compiled(function, [POSITIVE, order]), [POSITIVE, order], trials=0)(
        POSITIVE, order
    )
    np.testing.assert_allclose(factor, np.linalg.cholesky(POSITIVE), rtol=1e-12)
    np.testing.assert_array_equal(ordered, np.sort(order))
    np.testing.assert_array_equal(places, np.argsort(order, kind="stable"))


def test_several_work_groups() -> None:
    (x,) = arguments = [RANDOM.normal(size=(300, 1000))]
    executable = compiled(lambda x: jnp.exp(x), arguments)
    groups = [step.groups for step in walk(read(executable).steps) if isinstance(step, Kernel)]
    if max(groups) == (1, 1, 1):
        pytest.skip("XLA has one thread here")
    np.testing.assert_allclose(DirectCall.of(executable, arguments, trials=0)(x)[0], np.exp(x), rtol=1e-14)


def test_donated_arguments() -> None:
    x = np.arange(3.0)
    executable = compiled(lambda x, y: (x + y, x * y), [x, x], donate_argnums=0)
    direct = DirectCall.of(executable, [x, x])
    with pytest.raises(DirectCallRefused, match="the caller's"):
        Image(read(executable), referred=[0])
    for _ in range(2):
        sums, products = direct(x, x)
        np.testing.assert_array_equal(sums, 2 * x)
        np.testing.assert_array_equal(products, x * x)


def test_constants_that_are_not_in_row_major_order() -> None:
    constant = RANDOM.normal(size=(6, 6))
    arguments = [POSITIVE]
    executable = compiled(lambda x: jax.scipy.linalg.solve_triangular(x, jnp.asarray(constant), lower=True), arguments)
    (found,) = DirectCall.of(executable, arguments)(POSITIVE)
    np.testing.assert_allclose(found, np.linalg.solve(np.tril(POSITIVE), constant), rtol=1e-9)


def unstable(x: Any) -> Any:
    return jax.lax.sort((x, x + 1), num_keys=1, is_stable=False)


def test_sorts_of_no_order_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DirectCallRefused, match="not stable"):
        DirectCall.of(compiled(unstable, [SPECIAL]), [SPECIAL])
    x = np.arange(9.0)
    monkeypatch.setattr(step_table, "_makes_an_order", lambda address, dtypes: False)
    with pytest.raises(DirectCallRefused, match="order"):
        DirectCall.of(compiled(jnp.sort, [x]), [x])


def test_functions_that_are_not_known_are_refused() -> None:
    def python(x: Any) -> Any:
        return jax.pure_callback(lambda x: x, jax.ShapeDtypeStruct((3,), np.float64), x)

    with pytest.raises(DirectCallRefused, match="callback"):
        DirectCall.of(compiled(python, [np.ones(3)]), [np.ones(3)])


def test_a_gaussian_process_by_its_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Factorization, solves and products that are too large for a kernel, and their gradients."""
    monkeypatch.setattr(verdict, "_known", verdict.Verdict(True, "for a test"))
    monkeypatch.delenv(verdict.SWITCH, raising=False)
    n = 40
    places = np.linspace(0, 4, n)
    distance = (places[:, None] - places) ** 2
    observed = np.sin(places)

    def density(scale: Any, noise: Any) -> Any:
        covariance = jnp.exp(-distance / scale**2) + noise * jnp.eye(n)
        factor = jnp.linalg.cholesky(covariance)
        solved = jax.scipy.linalg.solve_triangular(factor, observed, lower=True)
        return -0.5 * solved @ solved - jnp.log(jnp.diag(factor)).sum() + jnp.trace(covariance @ covariance @ factor)

    def reference(scale: float, noise: float) -> float:
        covariance = np.exp(-distance / scale**2) + noise * np.eye(n)
        value = -0.5 * observed @ np.linalg.solve(covariance, observed) - 0.5 * np.linalg.slogdet(covariance)[1]
        return value + np.trace(covariance @ covariance @ np.linalg.cholesky(covariance))

    function = hlograph.jit(jax.value_and_grad(density, argnums=(0, 1)), cpu="direct", outputs="numpy")
    scale, noise = np.array(1.3), np.array(0.4)
    value, slopes = function(scale, noise)
    (stats,) = function.stats.by_executable
    assert stats.plan[-1] == "direct call of the kernels"
    assert {"cpu_factors", "cpu_products"} <= {note.partition(":")[0] for note in stats.plan}
    np.testing.assert_allclose(value, reference(1.3, 0.4), rtol=1e-10)
    step = 1e-5
    expected = (reference(1.3 + step, 0.4) - reference(1.3 - step, 0.4)) / (2 * step)
    np.testing.assert_allclose(slopes[0], expected, rtol=1e-6)
    expected = (reference(1.3, 0.4 + step) - reference(1.3, 0.4 - step)) / (2 * step)
    np.testing.assert_allclose(slopes[1], expected, rtol=1e-6)


def test_the_stored_machine_code_is_of_its_source() -> None:
    folder = FOLDER / "blas"
    files = [*sorted(folder.glob("*.c")), *sorted(folder.glob("*.h")), FOLDER / "native.h"]
    sources = b"".join(file.read_bytes() for file in files)
    stored = (FOLDER / "blas" / "x86_64.sources").read_text().strip()
    assert stored == hashlib.sha256(sources).hexdigest(), "make native"
