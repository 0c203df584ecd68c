"""The portable forms of QR, eigenvalues and singular values on hard matrices, through XLA and without a library."""

from __future__ import annotations

import numpy as np
import pytest
from builds import Build

import hlograph
from hlograph import builder as hlo
from hlograph.builder import Tensor

pytestmark = pytest.mark.sampled(8)

N = 24
RNG = np.random.default_rng(3)


def orthonormal() -> np.ndarray:
    return np.linalg.qr(RNG.normal(size=(N, N)))[0]


def with_values(values: np.ndarray) -> np.ndarray:
    return orthonormal() @ np.diag(values) @ orthonormal()


MATRICES = {
    "random": RNG.normal(size=(N, N)),
    "nearly equal singular values": with_values(1 + 1e-9 * RNG.normal(size=N)),
    "graded": with_values(10.0 ** np.linspace(0, -18, N)),
    "graded columns": RNG.normal(size=(N, N)) * 10.0 ** np.linspace(0, -30, N),
    "rank 3": RNG.normal(size=(N, 3)) @ RNG.normal(size=(3, N)),
    "ones": np.ones((N, N)),
    "Hilbert": 1 / (np.arange(N)[:, None] + np.arange(N) + 1.0),
    "zero": np.zeros((N, N)),
    "identity": np.eye(N),
    "large": RNG.normal(size=(N, N)) * 1e300,
    "small": RNG.normal(size=(N, N)) * 1e-300,
    "wide": RNG.normal(size=(N // 2, N)),
    "tall": RNG.normal(size=(N, N // 2)),
    "complex": RNG.normal(size=(N, N)) + 1j * RNG.normal(size=(N, N)),
    "float32": RNG.normal(size=(N, N)).astype(np.float32),
}


def run(function: object, value: np.ndarray) -> list[np.ndarray]:
    """A builder function's results, with private functions that are said to implement nothing."""
    build = Build((value.shape, value.dtype))
    found = function(*build.args)  # type: ignore[operator]
    text = build.done(*([found] if isinstance(found, Tensor) else found))
    assert "hlograph.implements" in text
    results = hlograph.Program.parse(text.replace("hlograph.implements", "test.implements")).compile()(value)
    return [np.asarray(x) for x in (results if isinstance(results, tuple) else (results,))]


def adjoint(x: np.ndarray) -> np.ndarray:
    return x.conj().T


def close(found: np.ndarray, expected: np.ndarray, scale: float) -> None:
    """Equal up to a backward error of so many units of rounding."""
    bound = 20 * N * np.finfo(found.dtype).eps
    assert np.abs(found / scale - expected / scale).max(initial=0) <= bound


def is_unitary(x: np.ndarray) -> None:
    close(adjoint(x) @ x, np.eye(x.shape[1]), 1.0)


def size(x: np.ndarray) -> float:
    return float(np.abs(x).max()) or 1.0


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", MATRICES)
def test_svd(name: str) -> None:
    a = MATRICES[name]
    complete = a.shape[0] != a.shape[1]
    left, values, right, alone = run(lambda x: [*hlo.svd(x, complete=complete), hlo.singular_values(x)], a)
    k = len(values)
    is_unitary(left)
    is_unitary(adjoint(right))
    close((left[:, :k] * values) @ right[:k], a, N * size(a))
    for found in (values, alone):
        close(found, np.linalg.svd(a, compute_uv=False), N * size(a))
        assert (np.diff(found) <= 0).all()
        assert (found >= 0).all()


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", [name for name, a in MATRICES.items() if len(set(a.shape)) == 1])
def test_eigh(name: str) -> None:
    a = MATRICES[name] / 2 + adjoint(MATRICES[name]) / 2
    vectors, values = run(hlo.eigh, a)
    is_unitary(vectors)
    close((vectors * values) @ adjoint(vectors), a, N * size(a))
    close(values, np.linalg.eigvalsh(a), N * size(a))
    assert (np.diff(values) >= 0).all()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", MATRICES)
def test_qr(name: str) -> None:
    a = MATRICES[name]
    packed, taus, pivoted, pivoted_taus, order = run(lambda x: [*hlo.householder_qr(x), *hlo.pivoted_qr(x)], a)
    for factors, tau, columns in ((packed, taus, a), (pivoted, pivoted_taus, a[:, order])):
        k = len(tau)
        unitary = run(lambda x, t=tau: hlo.householder_product(x, x.builder.constant(t)), factors[:, :k])[0]
        is_unitary(unitary)
        close(unitary @ np.triu(factors)[:k], columns, N * size(a))
    falling = np.abs(np.diag(pivoted))
    assert (falling[1:] <= falling[:-1] * (1 + 1e-5) + N * N * np.finfo(a.dtype).eps * size(a)).all()


def test_nan_gives_nan() -> None:
    a = np.eye(4)
    a[3, 2] = np.nan
    for found in run(lambda x: [*hlo.eigh(x), *hlo.svd(x), hlo.singular_values(x)], a):
        assert np.isnan(found).all()
