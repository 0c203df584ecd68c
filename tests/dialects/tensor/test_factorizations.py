"""QR, LU, eigenvalues, singular values, Schur forms: against PyTensor, compiled, interpreted, padded, in batches.

Vectors of which the sign is free are compared by what is unique: the matrix that the factors make, and that they are
orthonormal.
"""

from collections.abc import Iterator

import numpy as np
import pytensor.tensor as pt
import pytest
import scipy.linalg
from matrices import normal, positive, weighted, well
from pytensor.gradient import grad
from pytensor.tensor import linalg as ptl
from support import Case, PaddingRefusedWarning, assert_same, cases, reference

import hlograph
from hlograph import errors

pytestmark = pytest.mark.sampled(8)

A, B = pt.dmatrix("a"), pt.dmatrix("b")
A3 = pt.dtensor3("a3")
LOOSE = 1e-9
DTYPES = ["float32", "float64", "complex64", "complex128"]
SHAPES = [(4, 4), (5, 3), (3, 5), (1, 1), (1, 3), (3, 1)]
EMPTY = [(0, 0), (0, 2), (2, 0)]
BOTH = (True, False)
EXTREME = (1e200, 1e-200)  # numbers whose squares leave the range


def random(dtype: str, *shape: int) -> np.ndarray:
    x = normal(*shape)
    return (x + 1j * normal(*shape) if dtype.startswith("complex") else x).astype(dtype)


def tolerance(dtype: str) -> float:
    return 2e-4 if dtype in ("float32", "complex64") else LOOSE


def adjoint(x: pt.TensorVariable) -> pt.TensorVariable:
    return x.conj().mT if x.dtype.startswith("complex") else x.mT


def rank_deficient(m: int, n: int, rank: int) -> np.ndarray:
    return normal(m, rank) @ normal(rank, n)


# ---- QR and LU ------------------------------------------------------------------------------------------------------


@cases(sampled=4, rtol=LOOSE)
def test_qr() -> Iterator[Case]:
    for mode in ("full", "economic", "r", "raw"):
        outputs = ptl.qr(A, mode=mode)
        for shape in SHAPES:
            yield f"{mode} {shape}", [A], outputs, [normal(*shape)]
            yield f"pivoting {mode} {shape}", [A], list(ptl.qr(A, mode=mode, pivoting=True)), [normal(*shape)]
    for m, n in EMPTY:
        expected = [np.eye(m), np.zeros((m, n)), np.eye(m)[:, :0], np.zeros((0, n))]
        outputs = [*ptl.qr(A), *ptl.qr(A, mode="economic")]
        yield f"nothing {m} {n}", [A], outputs, [np.zeros((m, n))], {"expected": expected}
    for dtype in [*DTYPES, "int64"]:
        x = pt.matrix("x", dtype=dtype)
        value = random(dtype, 4, 3) if dtype != "int64" else np.arange(12).reshape(4, 3) ** 2
        outputs = [*ptl.qr(x), *ptl.qr(x, mode="economic", pivoting=True)]
        yield dtype, [x], outputs, [value], {"rtol": tolerance(dtype)}
    for mode in ("full", "economic"):
        outputs = [*ptl.qr(A3, mode=mode), *ptl.qr(A3.mT, mode=mode, pivoting=True)]
        yield f"batch {mode}", [A3], outputs, [normal(3, 4, 2)]
    for pivoting in BOTH:  # Q is orthonormal, and the product is the matrix, where R has zeros on its diagonal
        matrix = np.zeros((4, 3))
        matrix[1, 1] = 2.0
        factors = ptl.qr(A, pivoting=pivoting)
        columns = A[:, factors[2]] if pivoting else A
        outputs = [factors[0] @ factors[1] - columns, factors[0].T @ factors[0]]
        yield f"no full rank {pivoting}", [A], outputs, [matrix], {"expected": [np.zeros((4, 3)), np.eye(4)]}
    for scale in EXTREME:
        yield f"{scale}", [A], [*ptl.qr(A), *ptl.qr(A, pivoting=True)], [normal(4, 3) * scale]
    for mode, shape in (("economic", (4, 3)), ("economic", (3, 4)), ("full", (3, 4)), ("r", (4, 3))):
        x = pt.tensor("x", dtype="float64", shape=shape)
        outputs = ptl.qr(x, mode=mode)
        loss = weighted(*outputs) if isinstance(outputs, list) else weighted(outputs)
        yield f"gradient {mode} {shape}", [x], grad(loss, x), [normal(*shape)], {"rtol": 1e-7}


@cases(sampled=3, rtol=LOOSE)
def test_lu() -> Iterator[Case]:
    # Each has other exchanges of rows, none its own inverse.
    batch = np.stack([well(4, 4), np.eye(4)[[1, 2, 3, 0]] * 2, np.eye(4)[[2, 0, 3, 1]]])
    singular = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]])
    for form in ({}, {"permute_l": True}, {"p_indices": True}):
        outputs = list(ptl.lu(A, **form))
        for n in (2, 5):
            yield f"{form} {n}", [A], outputs, [well(n, n)]
        yield f"batch {form}", [A3], list(ptl.lu(A3, **form)), [batch]
        yield f"singular {form}", [A], outputs, [singular]
        yield f"gradient {form}", [A], grad(weighted(*outputs[-2:]), A), [well(4, 4)]
    for dtype in ("float32", "complex128", "int64"):
        x = pt.matrix("x", dtype=dtype)
        value = np.array([[1, 2, 1], [4, 1, -1], [1, 3, 5]]).astype(dtype)
        yield dtype, [x], list(ptl.lu(x)), [value], {"rtol": tolerance(dtype)}


# ---- Hermitian matrices ---------------------------------------------------------------------------------------------


def symmetric(*shape: int) -> np.ndarray:
    x = normal(*shape)
    return x + np.swapaxes(x, -1, -2)


def unique(values: pt.TensorVariable, vectors: pt.TensorVariable) -> list[pt.TensorVariable]:
    """What does not depend on the signs of eigenvectors."""
    return [values, (vectors * values[..., None, :]) @ vectors.mT, vectors.mT @ vectors]


@cases(sampled=3, rtol=LOOSE)
def test_eigh() -> Iterator[Case]:
    for lower in BOTH:  # the other triangle holds numbers that must not be read
        side = np.tril if lower else np.triu
        outputs = [*unique(*ptl.eigh(A, lower=lower)), ptl.eigvalsh(A, lower=lower)]
        for n in (1, 2, 5, 6):
            yield f"{lower} {n}", [A], outputs, [side(symmetric(n, n)) + 7 * (1 - side(np.ones((n, n))))]
        for dtype in ("complex64", "complex128"):
            x, factor = pt.matrix("x", dtype=dtype), random(dtype, 4, 4)
            options = {"rtol": tolerance(dtype)}
            yield f"{lower} {dtype}", [x], ptl.eigvalsh(x, lower=lower), [factor @ factor.conj().T], options
        a, b = symmetric(4, 4), positive(4, 4)
        values, vectors = ptl.eigh(A, B, lower=lower)
        # From `A V = B V W` and `V^T B V = 1` it follows that `V W V^T` is `B^-1 A B^-1`.
        outputs = [values, vectors.T @ B @ vectors, (vectors * values) @ vectors.T, ptl.eigvalsh(A, B, lower=lower)]
        wanted, inverse = scipy.linalg.eigvalsh(a, b), np.linalg.inv(b)
        expected = [wanted, np.eye(4), inverse @ a @ inverse, wanted]
        yield f"generalized {lower}", [A, B], outputs, [a, b], {"expected": expected}
        values, vectors = ptl.eigh(A, lower=lower)
        loss = weighted(values) + weighted(abs(vectors))
        outputs = [grad(loss, A), grad(weighted(ptl.eigvalsh(A, lower=lower)), A)]
        yield f"gradient {lower}", [A], outputs, [symmetric(4, 4)], {"rtol": 1e-7, "transformed": False}
    yield "nothing", [A], list(ptl.eigh(A)), [np.zeros((0, 0))], {"expected": [np.zeros(0), np.zeros((0, 0))]}
    for dtype in ("float32", "int64", "int8"):
        x = pt.matrix("x", dtype=dtype)
        matrix = np.array([[4, 1, 2], [1, 5, -1], [2, -1, 6]], dtype)
        options = {"rtol": tolerance(dtype if dtype != "int8" else "float32")}
        yield dtype, [x], [*unique(*ptl.eigh(x)), ptl.eigvalsh(x)], [matrix], options
    yield "batch", [A3], unique(*ptl.eigh(A3)), [symmetric(3, 4, 4)]
    equal = [np.zeros((3, 3)), np.eye(4) * 3, np.diag([3.0, -2.0, 3.0, 1.0]), np.ones((4, 4))]
    for number, matrix in enumerate([*equal, np.kron(np.eye(3), np.ones((2, 2)))]):
        expected = [np.linalg.eigvalsh(matrix), matrix, np.eye(len(matrix))]
        options = {"expected": expected, "transformed": False}
        yield f"equal ones {number}", [A], unique(*ptl.eigh(A)), [matrix], options
    for scale in EXTREME:
        yield f"{scale}", [A], ptl.eigvalsh(A), [symmetric(4, 4) * scale]
    options = {"expected": [np.full(2, np.nan)]}
    yield "generalized, not definite", [A, B], ptl.eigvalsh(A, B), [symmetric(2, 2), -np.eye(2)], options


@pytest.mark.parametrize("batch", [(), (2,)])
def test_eigenvectors_of_complex_matrices(batch: tuple[int, ...]) -> None:
    """PyTensor 3.3 declares them real: they are results, and nothing is computed of them."""
    x = pt.tensor("x", dtype="complex128", shape=(None,) * (2 + len(batch)))
    values, vectors = ptl.eigh(x)
    factor = random("complex128", *batch, 4, 4)
    matrix = factor @ factor.conj().mT
    program = hlograph.emit_stablehlo(([x], [values, vectors]))
    for results in (program.compile()(matrix), program.interpret(matrix)):
        found, columns = map(np.asarray, results)
        np.testing.assert_allclose(found, np.linalg.eigvalsh(matrix), rtol=LOOSE)
        np.testing.assert_allclose(matrix @ columns, found[..., None, :] * columns, atol=1e-9)
    if not vectors.type.dtype.startswith("complex"):
        with pytest.raises(errors.UnsupportedGraphError, match="the graph declares them real"):
            hlograph.emit_stablehlo(([x], [values, vectors + 1]))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("graph", [ptl.eigvalsh(A), ptl.svd(A, compute_uv=False), *ptl.eigh(A), *ptl.svd(A)])
def test_bad_numbers_give_nan(graph: pt.TensorVariable, bad: float) -> None:
    """PyTensor raises."""
    matrix = symmetric(3, 3)
    matrix[1, 0] = bad
    program = hlograph.emit_stablehlo(([A], [graph]))
    for found in (program.compile()(matrix), program.compile(policy="padded")(matrix), program.interpret(matrix)[0]):
        assert np.isnan(found).all()


@pytest.mark.parametrize("lower", [True, False])
def test_second_derivatives_of_eigenvalues(lower: bool) -> None:
    """Where an eigenvalue meets itself, the graph as written divides zero by zero, and its rewritten form does not."""
    values, vectors = ptl.eigh(A, lower=lower)
    first = weighted(grad(weighted(values) + weighted(abs(vectors)), A))
    program = hlograph.emit_stablehlo(([A], [first, grad(first, A)]), rewrite=True)
    matrix, step = symmetric(4, 4), 1e-6 * normal(4, 4)
    after, before = (program.interpret(matrix + sign * step)[0] for sign in (1, -1))
    np.testing.assert_allclose(np.vdot(program.interpret(matrix)[1], 2 * step), after - before, rtol=1e-4)


# ---- singular values ------------------------------------------------------------------------------------------------


def pieces(x: pt.TensorVariable, *, full_matrices: bool) -> list[pt.TensorVariable]:
    """What does not depend on the signs of singular vectors."""
    u, s, v = ptl.svd(x, full_matrices=full_matrices)
    k = s.shape[-1]
    return [s, (u[..., :, :k] * s[..., None, :]) @ v[..., :k, :], adjoint(u) @ u, v @ adjoint(v)]


@cases(sampled=3, rtol=LOOSE)
def test_svd() -> Iterator[Case]:
    for full in BOTH:
        outputs = pieces(A, full_matrices=full)
        for shape in [*SHAPES, (7, 6)]:
            yield f"{full} {shape}", [A], outputs, [normal(*shape)]
        for dtype in DTYPES:
            x, value, size = pt.matrix("x", dtype=dtype), random(dtype, 4, 3), 4 if full else 3
            expected = [
                np.linalg.svd(value, compute_uv=False),
                value,
                np.eye(size, dtype=dtype),
                np.eye(3, dtype=dtype),
            ]
            options = {"expected": expected, "rtol": tolerance(dtype)}
            yield f"{full} {dtype}", [x], pieces(x, full_matrices=full), [value], options
        # The vectors are orthonormal, those of a singular value of 0 too, and in a padded program.
        deficient = [np.zeros((3, 4)), np.ones((4, 4)), np.eye(4)[:3] * 2, rank_deficient(6, 4, 2)]
        for number, matrix in enumerate([*deficient, rank_deficient(4, 6, 1)]):
            sizes = matrix.shape if full else (min(matrix.shape),) * 2
            expected = [np.linalg.svd(matrix, compute_uv=False), matrix, np.eye(sizes[0]), np.eye(sizes[1])]
            options = {"expected": expected, "transformed": False}
            yield f"{full} no full rank {number}", [A], outputs, [matrix], options
    for shape in SHAPES:
        yield f"values {shape}", [A], ptl.svd(A, compute_uv=False), [normal(*shape)]
    for m, n in EMPTY:
        options = {"expected": [np.eye(m), np.zeros(0), np.eye(n)]}
        yield f"nothing {m} {n}", [A], list(ptl.svd(A)), [np.zeros((m, n))], options
    outputs = [*pieces(A3, full_matrices=True), *pieces(A3.mT, full_matrices=False)]
    yield "batch", [A3], outputs, [normal(3, 4, 2)]
    u, s, v = ptl.svd(A, full_matrices=False)
    loss = weighted(s) + weighted((u * s) @ v * 2) + weighted(abs(u))
    outputs = [grad(loss, A), grad(weighted(ptl.svd(A, compute_uv=False)), A)]
    for shape in ((4, 3), (3, 4)):
        yield f"gradient {shape}", [A], outputs, [normal(*shape)], {"rtol": 1e-6}
    for scale in EXTREME:
        yield f"{scale}", [A], pieces(A, full_matrices=False)[:2], [normal(4, 3) * scale]
    for number, value in enumerate([normal(4, 3), normal(3, 4), rank_deficient(5, 4, 2), np.zeros((2, 3))]):
        yield f"pinv {number}", [A], ptl.pinv(A), [value]
    for dtype in DTYPES:
        x = pt.matrix("x", dtype=dtype)
        yield f"pinv {dtype}", [x], ptl.pinv(x), [random(dtype, 4, 3)], {"rtol": tolerance(dtype)}
    turn = np.linalg.qr(normal(4, 4))[0]
    yield "pinv hermitian", [A], ptl.pinv(A, hermitian=True), [turn @ np.diag([2.0, 0.0, -3.0, 1.0]) @ turn.T]
    yield "gradient of pinv", [A], grad(weighted(ptl.pinv(A)), A), [normal(4, 3)], {"rtol": 1e-7}
    for order in (2, -2, "nuc", "fro", 1, np.inf):
        yield f"norm {order}", [A], ptl.norm(A, ord=order), [normal(4, 3)]
    c = pt.dscalar("c")
    for matrix in (normal(5, 3), normal(3, 5), normal(3, 3), rank_deficient(5, 3, 2)):
        for rcond in (-1.0, 0.3):  # with residuals where the rank is full and there are more rows than columns
            side = normal(len(matrix), 2)
            options = {"expected": np.linalg.lstsq(matrix, side, rcond), "static": False}
            name = f"least squares {matrix.shape} {matrix[0, 0]} {rcond}"
            yield name, [A, B, c], list(ptl.lstsq(A, B, c)), [matrix, side, rcond], options
    x, y = pt.dtensor4("x"), pt.dmatrix("y")
    yield "tensor inverse", [x], ptl.tensorinv(x), [well(6, 6).reshape(2, 3, 6, 1)]
    for axes, shape in ((None, (2, 3, 3, 2)), ((0, 2), (3, 2, 2, 3))):
        values = [well(6, 6).reshape(shape), normal(2, 3)]
        yield f"tensor solve {axes}", [x, y], ptl.tensorsolve(x, y, axes), values


def test_the_gradient_of_svd_has_no_size_from_data() -> None:
    u, s, _ = ptl.svd(A, full_matrices=False)
    program = hlograph.emit_stablehlo(([A], [grad(weighted(s) + weighted(abs(u)), A)]))
    assert not program.signature.has_data_sizes, "min(m, n) is a size"


# ---- any square matrix ----------------------------------------------------------------------------------------------


def compiled(graphs: list, *values: np.ndarray, inputs: list | None = None) -> list[np.ndarray]:
    found = hlograph.emit_stablehlo((inputs or [A], graphs)).compile()(*values)
    return [np.asarray(x) for x in (found if isinstance(found, tuple) else (found,))]


@pytest.mark.parametrize("dtype", [*DTYPES, "int64"])
def test_eig(dtype: str) -> None:
    """On CPU: LAPACK's, as NumPy has it."""
    x = pt.matrix("x", dtype=dtype)
    value = random(dtype, 5, 5) if dtype != "int64" else np.arange(9).reshape(3, 3) ** 2
    values, vectors = compiled(list(ptl.eig(x)), value, inputs=[x])
    assert {values.dtype, vectors.dtype} == {np.result_type(np.linalg.eigvals(value).dtype, np.complex64)}
    scale = np.abs(value).max()
    np.testing.assert_allclose(value @ vectors, vectors * values, atol=tolerance(dtype) * scale)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=0), 1, rtol=1e-5)
    np.testing.assert_allclose(np.sort_complex(values), np.sort_complex(np.linalg.eigvals(value)), rtol=1e-4)


@pytest.mark.parametrize("output", ["real", "complex"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_schur(dtype: str, output: str) -> None:
    x = pt.matrix("x", dtype=dtype)
    value = random(dtype, 5, 5)
    found = compiled(list(ptl.schur(x, output=output)), value, inputs=[x])
    for actual, expected in zip(found, scipy.linalg.schur(value, output=output), strict=True):
        assert_same(actual, expected, rtol=tolerance(dtype))


def test_eig_and_schur_of_a_batch() -> None:
    batch = normal(3, 4, 4)
    values, vectors, form, turn = compiled([*ptl.eig(A3), *ptl.schur(A3)], batch, inputs=[A3])
    np.testing.assert_allclose(batch @ vectors, vectors * values[:, None, :], atol=1e-10)
    np.testing.assert_allclose(turn @ form @ np.swapaxes(turn, 1, 2), batch, atol=1e-10)


@pytest.mark.parametrize("kind", ["eig", "schur", "svd", "eigh", "qr", "det"])
def test_a_padded_program_keeps_the_library_where_a_matrix_is_not_padded(kind: str) -> None:
    """The size of the other argument is."""
    x, v = pt.dmatrix("x", shape=(3, 3)), pt.dvector("v")
    graph = {
        "eig": abs(ptl.eig(x)[0]),
        "schur": ptl.schur(x)[0],
        "svd": ptl.svd(x)[0],
        "eigh": ptl.eigh(x)[1],
        "qr": ptl.qr(x, mode="r"),
        "det": ptl.det(x),
    }[kind]
    program = hlograph.emit_stablehlo(([x, v], [graph, v.sum()]))
    value, exact = normal(3, 3), program.compile()
    found = program.compile(policy="padded")(value, normal(5))[0]
    assert_same(np.asarray(found), np.asarray(exact(value, normal(5))[0]), rtol=LOOSE)
    assert "lapack" in program.pad({"v_0": 8}).optimize(["device_linalg"]).text


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_eig_and_schur_of_bad_numbers_are_nan(bad: float) -> None:
    """Those of other matrices of the batch are not."""
    batch = normal(2, 3, 3)
    batch[0, 1, 2] = bad
    for found in compiled([*ptl.eig(A3), *ptl.schur(A3)], batch, inputs=[A3]):
        assert np.isnan(found[0]).all()
        assert np.isfinite(found[1]).all()


@pytest.mark.parametrize("graph", [ptl.eig(A)[0], ptl.schur(A)[0]])
def test_what_has_no_portable_form_is_refused(graph: pt.TensorVariable) -> None:
    program = hlograph.emit_stablehlo(([A], [graph]))
    with pytest.raises(errors.UnsupportedGraphError, match="has no portable form"):
        program.interpret(normal(3, 3))
    with pytest.raises(
        errors.PassError, match=r"has a library on cpu.* only, and no portable form; it cannot run on tpu"
    ):
        program.specialize({"a_0": 3, "a_1": 3}).optimize(["device_linalg{platform=tpu}"])
    with pytest.warns(PaddingRefusedWarning, match="finds eigenvalues depends on the padding"):
        program.compile(policy="padded")(normal(3, 3))


def test_what_only_scipy_has() -> None:
    """QZ decompositions and sorted Schur forms, called in Python."""
    values = {A: normal(4, 4), B: normal(4, 4)}
    outputs = [*ptl.qz(A, B), *ptl.schur(A, output="real", sort="lhp")]
    expected = reference([A, B], outputs, list(values.values()))
    for policy in ("exact", "padded"):
        found = hlograph.function([A, B], outputs, policy=policy)(*values.values())
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
    batch = pt.dtensor3("batch")
    with pytest.raises(errors.UnsupportedGraphError, match="Schur with sort='lhp' of a batch"):
        hlograph.emit_stablehlo(([batch], list(ptl.schur(batch, sort="lhp"))))


def test_least_squares_of_vectors_are_refused() -> None:
    side = pt.dvector("v")
    with pytest.raises(errors.UnsupportedGraphError, match="anything but real matrices"):
        hlograph.emit_stablehlo(([A, side], list(ptl.lstsq(A, side, -1.0))))
