"""JAX's decompositions with named sizes: without a library in a plugin and the interpreter, with LAPACK on CPU.

Expected values are NumPy's and SciPy's. What is unique up to signs or phases is compared as what it makes up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import plugin
import pytest
import scipy.linalg

import hlograph
from hlograph.errors import HlographError, UnsupportedGraphError

Array = np.ndarray[Any, Any]
TOLERANCE = {"float32": 2e-5, "float64": 1e-12, "complex64": 2e-5, "complex128": 1e-12}
BOUND = 6
SQUARE, ANY = [(1, 1), (2, 2), (5, 5)], [(1, 1), (6, 2), (2, 5), (4, 4)]


def adjoint(a: Any) -> Any:
    return a.swapaxes(-1, -2).conj()


def eigh(a: Any) -> Any:
    values, vectors = jnp.linalg.eigh(a)
    return values, (vectors * values[..., None, :]) @ adjoint(vectors), adjoint(vectors) @ vectors


def svd(a: Any, full: bool) -> Any:
    u, s, v = jnp.linalg.svd(a, full_matrices=full)
    k = s.shape[-1]
    return s, (u[..., :k] * s[..., None, :]) @ v[..., :k, :], adjoint(u) @ u, v @ adjoint(v)


def svd_expected(a: Array, full: bool) -> tuple[Array, ...]:
    m, n = a.shape[-2:]
    k = min(m, n)
    return np.linalg.svd(a, compute_uv=False), a, eye(a, m if full else k), eye(a, n if full else k)


def qr(a: Any, mode: str) -> Any:
    q, r = jnp.linalg.qr(a, mode=mode)
    return q @ r, jnp.tril(r, -1), adjoint(q) @ q


def qr_expected(a: Array, mode: str) -> tuple[Array, ...]:
    q, r = np.linalg.qr(a, mode=mode)
    return a, np.zeros_like(r), eye(a, q.shape[-1])


def eye(a: Array, n: int) -> Array:
    return np.broadcast_to(np.eye(n, dtype=a.dtype), (*a.shape[:-2], n, n))


def pivoted(a: Any) -> Any:
    q, r, order = jax.lax.linalg.qr(a, pivoting=True, full_matrices=False)
    moved = (order[..., None, :] == jnp.arange(a.shape[-1])[:, None]).astype(a.dtype)
    own = jnp.arange(r.shape[-2])[:, None] == jnp.arange(r.shape[-1])
    return q @ r - a @ moved, jnp.abs(jnp.where(own, r, 0).sum(-1))


def pivoted_expected(a: Array) -> tuple[Array, ...]:
    each = [np.abs(np.diagonal(scipy.linalg.qr(x, pivoting=True)[1])) for x in a.reshape(-1, *a.shape[-2:])]
    return 0 * a, np.stack(each).reshape(*a.shape[:-2], -1)


def lu_expected(a: Array) -> tuple[Array, ...]:
    """Packed factors and pivots, and the rows' order."""
    found = []
    for x in a.reshape(-1, *a.shape[-2:]):
        p, lower, upper = scipy.linalg.lu(x)
        k = min(x.shape)
        packed = np.zeros_like(x)
        packed[:, :k] += np.tril(lower, -1)[:, :k]
        packed[:k] += upper
        found.append((packed, np.argmax(p, axis=0)))
    return tuple(np.stack(column).reshape(*a.shape[:-2], *column[0].shape) for column in zip(*found, strict=True))


# What is computed, what is expected, of which shapes, and whether of Hermitian matrices.
CASES: dict[str, tuple[Callable[[Any], Any], Callable[[Array], tuple[Array, ...]], list[tuple[int, int]], bool]] = {
    "eigh": (eigh, lambda a: (np.linalg.eigvalsh(a), a, eye(a, a.shape[-1])), SQUARE, True),
    "eigh_upper": (
        lambda a: jax.lax.linalg.eigh(jnp.triu(a), lower=False, symmetrize_input=False)[1],
        lambda a: (np.linalg.eigvalsh(a),),
        SQUARE,
        True,
    ),
    "svd": (lambda a: svd(a, False), lambda a: svd_expected(a, False), ANY, False),
    "svd_full": (lambda a: svd(a, True), lambda a: svd_expected(a, True), ANY, False),
    "values": (jnp.linalg.svdvals, lambda a: (np.linalg.svd(a, compute_uv=False),), ANY, False),
    "qr": (lambda a: qr(a, "reduced"), lambda a: qr_expected(a, "reduced"), ANY, False),
    "qr_full": (lambda a: qr(a, "complete"), lambda a: qr_expected(a, "complete"), ANY, False),
    "qr_pivoted": (pivoted, pivoted_expected, ANY, False),
    "lu": (lambda a: jax.lax.linalg.lu(a)[::2], lu_expected, ANY, False),
    "solve": (
        lambda a: jnp.linalg.solve(a @ adjoint(a) + jnp.eye(a.shape[-1], dtype=a.dtype), a),
        lambda a: (np.linalg.solve(a @ adjoint(a) + np.eye(a.shape[-1]), a).astype(a.dtype),),
        SQUARE,
        False,
    ),
}


def matrices(kind: str, shape: tuple[int, int], dtype: str, hermitian: bool, batch: tuple[int, ...]) -> Array:
    """Random ones, of rank 1, of zeros, or with singular values (or eigenvalues) that repeat."""
    rng, (m, n) = np.random.default_rng((*shape, len(kind))), shape

    def normal(*shape: int) -> Array:
        x = rng.normal(size=(*batch, *shape))
        return x + 1j * rng.normal(size=x.shape) if dtype.startswith("complex") else x

    if kind == "ordinary":
        a = normal(m, n)
        a = a + adjoint(a) if hermitian else a
    elif kind == "rank one":
        column = normal(m, 1)
        a = column @ (adjoint(column) if hermitian else normal(1, n))
    elif kind == "zeros":
        a = np.zeros((*batch, m, n))
    else:
        left = np.linalg.qr(normal(m, m))[0]
        right = adjoint(left) if hermitian else np.linalg.qr(normal(n, n))[0]
        values = np.repeat([2.0, 3.0], 3)[: min(m, n)]
        a = (left[..., : len(values)] * values) @ right[..., : len(values), :]
    return a.astype(dtype)


def check(found: Any, a: Array, expected: Callable[[Array], tuple[Array, ...]]) -> None:
    results, wanted = jax.tree.leaves(found), expected(a)
    assert len(results) == len(wanted)
    tolerance = TOLERANCE[a.dtype.name] * (10 + 10 * float(np.abs(a).max()))
    for x, y in zip(results, wanted, strict=True):
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


def emitted(name: str, dtype: str, batch: tuple[int, ...]) -> hlograph.Program:
    """The program for named sizes, which calls no library."""
    function, _, shapes, _ = CASES[name]
    dims = ("n", "n") if shapes is SQUARE else ("m", "n")
    with jax.enable_x64(True):
        program = hlograph.emit_stablehlo(function, jax.ShapeDtypeStruct((*batch, *dims), dtype))
    assert "custom_call" not in program.text
    return program


ALL = pytest.mark.parametrize(
    ("name", "dtype", "batch"), [(n, d, b) for n in CASES for d in TOLERANCE for b in [(), (3,)]]
)


@pytest.mark.skipif(plugin.library() is None, reason=plugin.MISSING)
@pytest.mark.sampled(37)
@ALL
def test_in_a_plugin(name: str, dtype: str, batch: tuple[int, ...]) -> None:
    """Padded: one executable for all shapes, with NaN behind them."""
    _, expected, shapes, hermitian = CASES[name]
    program = emitted(name, dtype, batch)
    compiled = plugin.Compiled(program.plain(bounds={root.name: BOUND for root in program.signature.roots}))
    for kind in ("ordinary", "rank one", "zeros", "repeated"):
        for shape in shapes:
            a = matrices(kind, shape, dtype, hermitian, batch)
            if name == "lu" and kind != "ordinary" and min(shape) > 1:
                continue  # which of equal numbers is the pivot is a matter of rounding
            run = compiled.run([a], dict(zip(("m", "n"), shape, strict=True)))
            check(run.results, a, expected)
            assert not any(np.any(rest) for rest in run.beyond)


@pytest.mark.sampled(43)
@ALL
def test_in_the_interpreter_and_with_lapack(name: str, dtype: str, batch: tuple[int, ...]) -> None:
    _, expected, shapes, hermitian = CASES[name]
    program = emitted(name, dtype, batch)
    exact, padded = program.compile(policy="exact"), program.compile(policy="padded")
    for shape in shapes[1:3]:
        a = matrices("ordinary", shape, dtype, hermitian, batch)
        for found in (program.interpret(a), exact(a), padded(a)):
            check(found, a, expected)
    platform = program.specialize({root.name: 3 for root in program.signature.roots}).run_passes(["device_linalg"])
    assert "lapack_" in platform.text


def test_in_loops_and_derivatives() -> None:
    """A call in a loop and one before it have one function; the gradient of a sum of cubes is 3 times the square."""

    def function(a: Any) -> Any:
        start = eigh(a)[1]
        turned = jax.lax.fori_loop(0, 2, lambda i, x: eigh(x)[1], start)
        return turned, jax.grad(lambda x: (jnp.linalg.eigh(x)[0] ** 3).sum())(a)

    program = hlograph.emit_stablehlo(function, jax.ShapeDtypeStruct(("n", "n"), "float32"))
    run = program.compile(policy="padded")
    for n in (1, 4):
        a = matrices("ordinary", (n, n), "float32", True, ())
        for found in (program.interpret(a), run(a)):
            check(found, a, lambda a: (a, 3 * a @ a))


def packed_lu(a: Any) -> Any:
    return (jax.lax.linalg.lu(a @ a.T)[0],)


def factor(a: Any) -> Any:
    return (jnp.linalg.cholesky(a @ a.T),)


WITH_RUNNING = {
    "eigh": lambda a: jnp.linalg.eigh(a @ a.T),
    "svd": lambda a: jnp.linalg.svd(a, full_matrices=False),
    "qr": lambda a: jnp.linalg.qr(a.T),
    "lu": packed_lu,
    "cholesky": factor,
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("running", ["cumsum", "cumprod", "cummax", "cumlogsumexp"])
@pytest.mark.parametrize(
    ("name", "policy"),
    # Under padding singular vectors may have other signs than jax.jit's.
    [(name, policy) for name in WITH_RUNNING for policy in ("exact", "padded") if (name, policy) != ("svd", "padded")],
)
def test_beside_running_sums(name: str, policy: str, running: str) -> None:
    """LAPACK stays what factors, signs included, so that the value's vectors are those that the gradient is of."""
    cumulative = getattr(jax.lax, running)

    def function(a: Any) -> Any:
        return *[cumulative(x, 0) for x in WITH_RUNNING[name](a)], *WITH_RUNNING[name](cumulative(a, 1))

    def loss(function: Any) -> Callable[[Any], Any]:
        return lambda a: sum((x * np.arange(x.size).reshape(x.shape)).sum() for x in function(a))

    a = matrices("ordinary", (3, 5), "float64", False, ())
    with jax.enable_x64(True):
        compiled = hlograph.jit(function, dims={"a": ("m", "n")}, policy=policy)
        for found, expected in zip(compiled(a), jax.jit(function)(a), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-11)
        expected = jax.jit(jax.grad(loss(function)))(a)
        np.testing.assert_allclose(jax.grad(loss(compiled))(a), expected, rtol=1e-8, atol=1e-9)
        # XLA has a loop of its own for a small Cholesky factor.
        assert name == "cholesky" or "lapack_" in compiled.lower(a).stages[-1].text


def test_what_is_decided_of_sizes_is_demanded() -> None:
    """`pinv` asks which side is longer, which a constraint says."""
    spec = jax.ShapeDtypeStruct(("m", "n"), "float32")
    program = hlograph.emit_stablehlo(jnp.linalg.pinv, spec, constraints=["m >= n"])
    compiled = program.plain(bounds={"m": 7, "n": 4})
    assert "custom_call" not in compiled.text
    a = matrices("ordinary", (5, 2), "float32", False, ())
    np.testing.assert_allclose(program.interpret(a)[0], np.linalg.pinv(a), atol=1e-5)


@pytest.mark.parametrize(
    ("function", "word"), [(jnp.linalg.eig, "geev"), (jax.scipy.linalg.schur, "gees"), (jax.scipy.linalg.sqrtm, "gees")]
)
def test_what_has_no_form_is_refused_by_name(function: Callable[..., Any], word: str) -> None:
    program = hlograph.emit_stablehlo(function, jax.ShapeDtypeStruct(("n", "n"), "float32"))
    with pytest.raises(HlographError, match=word):
        program.plain(bounds={"n": 4})
    with pytest.raises(UnsupportedGraphError, match=word):
        program.plain(sizes={"n": 4})


def test_some_of_the_values_are_refused() -> None:
    def function(a: Any) -> Any:
        return jax.lax.linalg.svd(a, full_matrices=False, subset_by_index=(0, 1))

    with pytest.raises(UnsupportedGraphError, match="subset_by_index"):
        hlograph.emit_stablehlo(function, jax.ShapeDtypeStruct((3, 3), "float32"))
