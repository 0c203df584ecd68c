"""Every op of Aesara's tensors in one graph at least, axes counted from the end where it takes any.

Expected values are Aesara's own evaluation, op by op in Python, without rewrites. `make versions` runs this in the
environment that has Aesara.
"""

from collections.abc import Callable
from typing import Any

import aesara
import aesara.tensor as at
import numpy as np
import pytest
from aesara.compile.mode import Mode
from aesara.ifelse import ifelse
from aesara.tensor import basic, blas, extra_ops, fft, math, nlinalg, slinalg, special
from aesara.tensor.shape import Shape_i, Unbroadcast
from rewritten_runs import as_arrays, assert_same

import hlograph

Graph = Callable[..., Any]
RNG = np.random.default_rng(3)


def _symmetric(n: int) -> np.ndarray[Any, Any]:
    x = RNG.normal(size=(n, n))
    return x @ x.T + n * np.eye(n)


VALUES: dict[str, np.ndarray[Any, Any]] = {
    "x": RNG.normal(size=6),
    "y": RNG.uniform(0.2, 0.8, 6),
    "p": RNG.uniform(1.2, 4.0, 6),
    "q": RNG.uniform(-2.0, -0.2, 6),
    "M": RNG.normal(size=(3, 4)),
    "N": RNG.normal(size=(4, 3)),
    "T": RNG.normal(size=(2, 3, 4)),
    "R": RNG.normal(size=(2, 4, 3)),
    "S": _symmetric(4),
    "A": RNG.normal(size=(4, 4)) / 4,
    "L": np.linalg.cholesky(_symmetric(4)),
    "b": RNG.normal(size=4),
    "c": RNG.normal(size=6) + 1j * RNG.normal(size=6),
    "C": RNG.normal(size=(3, 4)) + 1j * RNG.normal(size=(3, 4)),
    "s": np.array(0.3),
    "i": np.array([0, 5, 2, 2, 1, 4]),
    "j": np.array([2, 0, 1]),
    "K": RNG.integers(0, 4, size=(3, 4)),
    "n": np.array(4),
    "k": np.array(2),
}

# Functions of the namespace, or of a module, by name with the arguments that they take.
ELEMENTWISE = {
    "x": "abs exp exp2 expm1 neg sgn ceil floor trunc round_half_to_even round_half_away_from_zero sqr sin cos tan "
    "sinh cosh tanh arctan arcsinh erf erfc sigmoid softplus isnan isinf deg2rad rad2deg real imag conj iround j0 j1 "
    "i0 i1 zeros_like ones_like",
    "y": "arccos arcsin arctanh erfinv erfcinv reciprocal",
    "p": "log log2 log10 log1p sqrt arccosh gamma gammaln psi tri_gamma",
    "q": "log1mexp",
    "c": "abs angle real imag conj exp sqr neg",
    "xy": "add sub mul true_div arctan2 maximum minimum eq neq lt le gt ge complex fill isclose",
    "py": "pow int_div mod complex_from_polar",
    "pp": "gammainc gammaincc gammau gammal jv iv",
    "ppy": "betainc",
    "ii": "bitwise_and bitwise_or bitwise_xor",
    "i": "bitwise_not",
    "xqy": "clip switch",
    "py ": "owens_t",
    "yppy": "hyp2f1",
}
BY_NAME = {
    f"{name}({', '.join(letters.strip())})": (letters.strip(), getattr(at, name, None) or getattr(math, name))
    for letters, names in ELEMENTWISE.items()
    for name in names.split()
    if hasattr(at, name) or hasattr(math, name)
}

REDUCING = """
    sum prod max min mean var std argmax argmin cumsum cumprod all any ptp diff median logsumexp flip sort argsort
    expand_dims
"""
AXES: dict[str, Graph] = {
    **{name: (lambda T, axis, f=name: getattr(at, f)(T, axis=axis)) for name in REDUCING.split() if hasattr(at, name)},
    "max_and_argmax": lambda T, axis: math.max_and_argmax(T, axis=axis),
    "softmax": lambda T, axis: special.softmax(T, axis=axis),
    "log_softmax": lambda T, axis: special.log_softmax(T, axis=axis),
    "repeat": lambda T, axis: extra_ops.repeat(T, 2, axis=axis),
    "Repeat": lambda T, axis: extra_ops.Repeat(axis=axis)(T, at.as_tensor(2)),
    "Unique": lambda T, axis: extra_ops.Unique(True, True, True, axis=axis)(at.round(T)),
    "CumOp": lambda T, axis: extra_ops.CumOp(axis=axis, mode="mul")(T),
    "concatenate": lambda T, axis: at.concatenate([T, 2 * T], axis=axis),
    "stack": lambda T, axis: at.stack([T, 2 * T], axis=axis),
    "split": lambda T, axis: (
        at.split(T, [1, 1], 2, axis=axis) if axis in (0, -3) else at.concatenate([T, T], axis=axis)
    ),
    "take": lambda T, axis: T.take(at.as_tensor([1, 0, -1]), axis=axis),
    "roll": lambda T, axis: at.roll(T, 1, axis=axis),
    "squeeze": lambda T, axis: at.squeeze(T.sum(axis=axis, keepdims=True), axis=axis),
    "keepdims": lambda T, axis: (T**2).sum(axis=axis, keepdims=True),
    "moveaxis": lambda T, axis: at.moveaxis(T, axis, 0),
    "swapaxes": lambda T, axis: at.swapaxes(T, axis, 1),
    "gradient of cumsum": lambda T, axis: aesara.grad((at.cumsum(T, axis=axis) ** 2).sum(), T),
    "gradient of cumprod": lambda T, axis: aesara.grad((at.cumprod(T, axis=axis) ** 2).sum(), T),
    "gradient of prod": lambda T, axis: aesara.grad((at.prod(T, axis=axis) ** 2).sum(), T),
    "gradient of max": lambda T, axis: aesara.grad((at.max(T, axis=axis) ** 2).sum(), T),
    "gradient of softmax": lambda T, axis: aesara.grad((special.softmax(T, axis=axis) ** 2).sum(), T),
    "gradient of log_softmax": lambda T, axis: aesara.grad((special.log_softmax(T, axis=axis) ** 2).sum(), T),
    "gradient of logsumexp": lambda T, axis: aesara.grad(at.logsumexp(T, axis=axis).sum(), T),
    "gradient of sort": lambda T, axis: aesara.grad((at.sort(T, axis=axis) ** 3).sum(), T),
}

PAIRS: dict[str, Graph] = {
    "diagonal": lambda T, a, b: at.diagonal(T, offset=1, axis1=a, axis2=b),
    "trace": lambda T, a, b: at.diagonal(T, axis1=a, axis2=b).sum(-1),
    "sum over two": lambda T, a, b: T.sum(axis=(a, b)),
    "max over two": lambda T, a, b: T.max(axis=(a, b)),
    "tensordot": lambda T, a, b: at.tensordot(T, T, axes=[[a % 3, b % 3], [a % 3, b % 3]]),  # Aesara takes no others
}

OTHERS: dict[str, tuple[str, Graph]] = {
    "complex sum": ("c", lambda c: c.sum()),
    "complex sum along an axis": ("C", lambda C: C.sum(axis=-1)),
    "complex product": ("C", lambda C: C.prod(axis=-1)),
    "complex mean": ("C", lambda C: C.mean(axis=0)),
    "complex cumsum": ("C", lambda C: at.cumsum(C, axis=-1)),
    "complex dot": ("C", lambda C: C.dot(C.T)),
    "complex join": ("c", lambda c: at.concatenate([c, c * 2])),
    "arange": ("n", lambda n: at.arange(n)),
    "arange down": ("nk", lambda n, k: at.arange(n, k, -1)),
    "eye": ("nk", lambda n, k: at.eye(n, n + 1, k - 3)),
    "tri": ("nk", lambda n, k: at.tri(n, n + 1, k)),
    "tril": ("M", lambda M: (at.tril(M, -1), at.triu(M, 1))),
    "alloc": ("xnk", lambda x, n, k: (at.alloc(x[0], n, k), at.zeros((n, k)), at.ones(n), at.full((n,), x[1]))),
    "BroadcastTo": ("xnk", lambda x, n, k: (at.broadcast_to(x, (k, 6)), at.broadcast_to(x[0], (n, k)))),
    "gradient of BroadcastTo": ("xk", lambda x, k: aesara.grad((at.broadcast_to(x, (k, 6)) ** 2).sum(), x)),
    "broadcast_arrays": ("MN", lambda M, N: at.broadcast_arrays(M[0].dimshuffle("x", 0), N[:, 0].dimshuffle(0, "x"))),
    "matmul": (
        "TR",
        lambda T, R: at.matmul(*(at.specify_shape(x, (2, None, None)) for x in (T, R))),
    ),
    "matmul of a matrix": ("TN", lambda T, N: at.matmul(T, N)),
    "matmul of vectors": ("xy", lambda x, y: at.matmul(x, y)),
    "matmul of a vector": ("Tb", lambda T, b: at.matmul(T, b)),
    "dot": ("MNb", lambda M, N, b: (M.dot(N), M.dot(b), at.dot(b, N))),
    "batched_dot": ("TR", lambda T, R: blas.batched_dot(T, R)),
    "outer": ("xy", lambda x, y: at.outer(x, y)),
    "blas": (
        "xsAy",
        lambda x, s, A, y: (
            blas.gemv_no_inplace(x[:4], s, A, y[:4], s),
            blas.gemm_no_inplace(A, s, A, A, s),
            blas.ger(A, s, x[:4], y[:4]),
            blas._dot22(A, A),
            blas._dot22scalar(A, A, s),
        ),
    ),
    "kron": ("MN", lambda M, N: slinalg.kron(M, N)),
    "reshape": ("T", lambda T: (T.reshape((-1, 4)), T.flatten(2), T.ravel())),
    "specify_shape": ("M", lambda M: at.specify_shape(M, (3, None))),
    "unbroadcast": ("M", lambda M: Unbroadcast(0)(M[:1])),
    "shape_i": ("M", lambda M: (Shape_i(1)(M), at.shape(M), M.size)),
    "convolve": (
        "xN",
        lambda x, N: [
            math.convolve(a, b, mode)
            for mode in ("full", "same", "valid")
            for a, b in ((x, N[0]), (N[0], x), (x, x), (x, x[:4]))
        ],
    ),
    "Mean": ("T", lambda T: (math.Mean(None)(T), math.Mean(1)(T))),
    "tile": ("M", lambda M: at.tile(M, (2, 1, 3))),
    "bartlett": ("n", lambda n: at.bartlett(n)),
    "bincount": ("i", lambda i: at.bincount(i, minlength=9)),
    "searchsorted": ("py", lambda p, y: at.searchsorted(at.sort(p), y * 5)),
    "ravel_multi_index": ("j", lambda j: at.ravel_multi_index((j, j), (3, 4))),
    "unravel_index": ("i", lambda i: at.unravel_index(i, (3, 4))),
    "choose": ("jj", lambda j, i: at.choose(j, at.stack([i, i + 1, i + 2]))),
    "compress": ("M", lambda M: extra_ops.compress(np.array([True, False, True]), M, axis=0)),
    "fill_diagonal": ("Ms", lambda M, s: at.fill_diagonal(M, s)),
    "fill_diagonal_offset": ("MsK", lambda M, s, K: at.fill_diagonal_offset(M, s, K[0, 0] * 0 + 1)),
    "to_one_hot": ("j", lambda j: extra_ops.to_one_hot(j, 4)),
    "squeeze of all": ("M", lambda M: at.squeeze(M[:1])),
    "nonzero": ("M", lambda M: (*at.nonzero(M > 0), at.flatnonzero(M > 0))),
    "permute_row_elements": ("Mj", lambda M, j: basic.permute_row_elements(M.T, j)),
    "inverse_permutation": ("j", lambda j: basic.inverse_permutation(j)),
    "mgrid": ("", lambda: tuple(at.mgrid[0:3, 0:2])),
    "take_along_axis": ("M", lambda M: at.take_along_axis(M, at.argsort(M, axis=-1), axis=-1)),
    "linspace": ("", lambda: (at.linspace(0, 1, 5), at.logspace(0, 2, 4), at.geomspace(1.0, 8.0, 4))),
    "cast": ("x", lambda x: (at.cast(x, "float32"), at.cast(x * 3, "int16"), at.cast(x, "complex64"))),
    "subtensor": ("Tk", lambda T, k: (T[-1], T[:, ::-1], T[..., -2:], T[k - 3, 1:], T[:, k, None])),
    "runtime slices": ("xk", lambda x, k: (x[:k], x[k:], x[k], x[::k])),
    "inc_subtensor": ("Tb", lambda T, b: (at.inc_subtensor(T[-1, :, 1:], b[1:]), at.set_subtensor(T[..., ::2], 0.0))),
    "advanced": ("Mj", lambda M, j: (M[j], M[:, j], M[j, j], M[j][:, -1], M[M > 0])),
    "inc_advanced": ("Mj", lambda M, j: (at.inc_subtensor(M[j], 1.0), at.set_subtensor(M[M > 0], 0.0))),
    "clip to ints": ("K", lambda K: at.clip(K, 1, 2)),
    "diff": ("M", lambda M: (at.diff(M, n=2, axis=-1), at.diff(M, axis=-2))),
    "cross": ("MN", lambda M, N: at.stack([M[0, :3], N[0]], axis=-1)),
    "norm": ("M", lambda M: (nlinalg.norm(M, "fro"), nlinalg.norm(M, 1), nlinalg.norm(M[0], 3))),
    "fft": ("M", lambda M: (fft.rfft(M), fft.irfft(fft.rfft(M)))),
    "det": ("S", lambda S: (nlinalg.det(S), nlinalg.inv(S), nlinalg.matrix_inverse(S), nlinalg.pinv(S))),
    "eigh": ("S", lambda S: (nlinalg.eigh(S)[0], abs(nlinalg.eigh(S)[1]), slinalg.eigvalsh(S, at.eye(4)))),
    "eig": ("L", lambda L: at.sort(nlinalg.eig(L)[0])),
    "svd": ("N", lambda N: nlinalg.svd(N, compute_uv=False)),
    "qr": ("N", lambda N: (abs(nlinalg.qr(N, "reduced")[1]), abs(nlinalg.qr(N, "r")), abs(nlinalg.qr(N)[0]))),
    "complete qr": ("N", lambda N: abs(nlinalg.qr(N, "complete")[1])),
    "lstsq": ("Nb", lambda N, b: nlinalg.lstsq(N, b.dimshuffle(0, "x"), -1.0)[0]),
    "matrix_power": ("A", lambda A: nlinalg.matrix_power(A, 3)),
    "matrix_dot": ("AS", lambda A, S: nlinalg.matrix_dot(A, S, A)),
    "tensorinv": ("S", lambda S: nlinalg.tensorinv(S, ind=1)),
    "tensorsolve": ("Sb", lambda S, b: nlinalg.tensorsolve(S.dimshuffle(0, "x", 1, "x"), b.dimshuffle(0, "x"))),
    "expm": ("A", lambda A: (slinalg.expm(A), aesara.grad(slinalg.expm(A).sum(), A))),
    "cholesky": ("S", lambda S: (slinalg.cholesky(S), aesara.grad(slinalg.cholesky(S).sum(), S))),
    "solve": ("Sb", lambda S, b: (slinalg.solve(S, b), slinalg.solve(S, b, assume_a="pos"))),
    "solve_triangular": ("Lb", lambda L, b: slinalg.solve_triangular(L, b, lower=True)),
    "cho_solve": ("Lb", lambda L, b: slinalg.cho_solve((L, True), b)),
    "gradient of solve": ("Sb", lambda S, b: aesara.grad(slinalg.solve(S, b).sum(), [S, b])),
    "gradient of det": ("S", lambda S: aesara.grad(at.log(nlinalg.det(S)), S)),
    "gradient of inverse": ("S", lambda S: aesara.grad(nlinalg.matrix_inverse(S).sum(), S)),
    "gradient of eigh": ("S", lambda S: aesara.grad((nlinalg.eigh(S)[0] ** 2).sum(), S)),
    "gradient of eigvalsh": ("S", lambda S: aesara.grad((slinalg.eigvalsh(S, at.eye(4)) ** 2).sum(), S)),
    "lyapunov": ("AS", lambda A, S: (slinalg.solve_continuous_lyapunov(A, S), slinalg.solve_discrete_lyapunov(A, S))),
    "poch": ("yp", lambda y, p: (special.poch(y, p), special.factorial(p))),
    "ifelse": ("xk", lambda x, k: ifelse(at.gt(k, 2), x * 2, x - 1)),
    "composites": ("x", lambda x: (at.logaddexp(x, 2 * x), at.logsumexp(x))),
}


def _variable(letter: str) -> Any:
    value = VALUES[letter]
    return at.tensor(str(value.dtype), shape=(None,) * value.ndim, name=letter)


def _check(letters: str, graph: Graph) -> None:
    inputs, values = [_variable(letter) for letter in letters], [VALUES[letter] for letter in letters]
    made = graph(*inputs)
    outputs = list(made) if isinstance(made, tuple | list) else [made]
    expected = aesara.function(inputs, outputs, mode=Mode("py", None), on_unused_input="ignore")(*values)
    program = hlograph.emit_stablehlo((inputs, outputs))
    for policy in ("exact", "padded"):
        results = as_arrays(program.compile(policy=policy)(*values))
        for number, (actual, wanted) in enumerate(zip(results, map(np.asarray, expected), strict=True)):
            rtol = None if wanted.dtype.name == "float32" else 1e-9
            assert_same(actual, wanted, rtol=rtol, atol=1e-10, label=f"{policy}, output {number}")


@pytest.mark.sampled(40)
@pytest.mark.parametrize("name", BY_NAME)
def test_elementwise(name: str) -> None:
    _check(*BY_NAME[name])


@pytest.mark.sampled(40)
@pytest.mark.parametrize("axis", [-1, -2, -3, 0])
@pytest.mark.parametrize("name", AXES)
def test_axes(name: str, axis: int) -> None:
    _check("T", lambda T: AXES[name](T, axis))


@pytest.mark.sampled(10)
@pytest.mark.parametrize("axes", [(-2, -1), (-1, -2), (0, -1), (-1, 0), (1, 0)])
@pytest.mark.parametrize("name", PAIRS)
def test_pairs_of_axes(name: str, axes: tuple[int, int]) -> None:
    _check("T", lambda T: PAIRS[name](T, *axes))


@pytest.mark.sampled(10)
@pytest.mark.parametrize("axes", [(-2, -1), (-1, -2), (0, -1), (-1, 0), (1, 0)])
def test_matrices_of_diagonals(axes: tuple[int, int]) -> None:
    """NumPy's `diagonal` gives the rows back; Aesara's own evaluation mistakes negative axes."""
    T, value = _variable("T"), VALUES["T"]
    program = hlograph.emit_stablehlo(([T], [basic.AllocDiag(-1, *axes)(T)]))
    first, second = sorted(axis % 4 for axis in axes)
    for policy in ("exact", "padded"):
        found = np.asarray(program.compile(policy=policy)(value))
        np.testing.assert_array_equal(np.diagonal(found, -1, first, second), value)
        assert np.count_nonzero(found) == value.size


@pytest.mark.sampled(40)
@pytest.mark.parametrize("name", OTHERS)
def test_others(name: str) -> None:
    _check(*OTHERS[name])
