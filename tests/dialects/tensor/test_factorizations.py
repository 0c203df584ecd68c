"""QR, LU, eigenvalues, singular values, Schur forms: against PyTensor, compiled, interpreted, padded, in batches.

Vectors of which the sign is free are compared by what is unique: the matrix that the factors make, and that they are
orthonormal.
"""

from __future__ import annotations

import jax
import numpy as np
import pytensor.tensor as pt
import pytest
import scipy.linalg
from matrices import normal, positive, weighted, well
from pytensor.gradient import grad
from pytensor.tensor import linalg as ptl
from support import assert_same, check_lowering, reference

import hlograph
from hlograph import errors
from hlograph.codegen.ir.jax_compat import enable_x64
from hlograph.runtime.executables.policy import PaddingRefusedWarning

pytestmark = pytest.mark.sampled(8)

A, B = pt.dmatrix("a"), pt.dmatrix("b")
A3 = pt.dtensor3("a3")
LOOSE = 1e-9
DTYPES = ["float32", "float64", "complex64", "complex128"]
SHAPES = [(4, 4), (5, 3), (3, 5), (1, 1), (1, 3), (3, 1)]
EMPTY = [(0, 0), (0, 2), (2, 0)]


def random(dtype: str, *shape: int) -> np.ndarray:
    x = normal(*shape)
    return (x + 1j * normal(*shape) if dtype.startswith("complex") else x).astype(dtype)


def tolerance(dtype: str) -> float:
    return 2e-4 if dtype in ("float32", "complex64") else LOOSE


def adjoint(x: pt.TensorVariable) -> pt.TensorVariable:
    return x.conj().mT if x.dtype.startswith("complex") else x.mT


def rank_deficient(m: int, n: int, rank: int) -> np.ndarray:
    return normal(m, rank) @ normal(rank, n)


# ---- QR -------------------------------------------------------------------------------------------------------------


@pytest.mark.sampled(4)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("mode", ["full", "economic", "r", "raw"])
def test_qr(mode: str, shape: tuple[int, int]) -> None:
    outputs = ptl.qr(A, mode=mode)
    check_lowering([A], outputs if isinstance(outputs, list) else [outputs], normal(*shape), rtol=LOOSE)


@pytest.mark.parametrize("shape", EMPTY)
def test_qr_of_nothing(shape: tuple[int, int]) -> None:
    m, n = shape
    expected = [np.eye(m), np.zeros((m, n)), np.eye(m)[:, :0], np.zeros((0, n))]
    check_lowering([A], [*ptl.qr(A), *ptl.qr(A, mode="economic")], np.zeros(shape), expected=expected)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("mode", ["full", "economic", "r", "raw"])
def test_qr_with_pivoting(mode: str, shape: tuple[int, int]) -> None:
    check_lowering([A], list(ptl.qr(A, mode=mode, pivoting=True)), normal(*shape), rtol=LOOSE)


@pytest.mark.parametrize("dtype", [*DTYPES, "int64"])
def test_qr_dtypes(dtype: str) -> None:
    x = pt.matrix("x", dtype=dtype)
    value = random(dtype, 4, 3) if dtype != "int64" else np.arange(12).reshape(4, 3) ** 2
    check_lowering([x], [*ptl.qr(x), *ptl.qr(x, mode="economic", pivoting=True)], value, rtol=tolerance(dtype))


@pytest.mark.parametrize("mode", ["full", "economic"])
def test_qr_of_a_batch(mode: str) -> None:
    check_lowering(
        [A3], [*ptl.qr(A3, mode=mode), *ptl.qr(A3.mT, mode=mode, pivoting=True)], normal(3, 4, 2), rtol=LOOSE
    )


@pytest.mark.parametrize("pivoting", [False, True])
def test_qr_of_a_matrix_without_full_rank(pivoting: bool) -> None:
    """Q is orthonormal, and the product is the matrix, where R has zeros on its diagonal."""
    matrix = np.zeros((4, 3))
    matrix[1, 1] = 2.0
    factors = ptl.qr(A, pivoting=pivoting)
    columns = A[:, factors[2]] if pivoting else A
    outputs = [factors[0] @ factors[1] - columns, factors[0].T @ factors[0]]
    check_lowering([A], outputs, matrix, expected=[np.zeros((4, 3)), np.eye(4)], rtol=LOOSE)


@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_qr_of_numbers_whose_squares_leave_the_range(scale: float) -> None:
    check_lowering([A], [*ptl.qr(A), *ptl.qr(A, pivoting=True)], normal(4, 3) * scale, rtol=LOOSE)


@pytest.mark.parametrize(
    ("mode", "shape"), [("economic", (4, 3)), ("economic", (3, 4)), ("full", (3, 4)), ("r", (4, 3))]
)
def test_gradient_of_qr(mode: str, shape: tuple[int, int]) -> None:
    x = pt.tensor("x", dtype="float64", shape=shape)
    outputs = ptl.qr(x, mode=mode)
    loss = weighted(*outputs) if isinstance(outputs, list) else weighted(outputs)
    check_lowering([x], grad(loss, x), normal(*shape), rtol=1e-7)


# ---- Hermitian matrices ---------------------------------------------------------------------------------------------


def symmetric(*shape: int) -> np.ndarray:
    x = normal(*shape)
    return x + np.swapaxes(x, -1, -2)


def unique(values: pt.TensorVariable, vectors: pt.TensorVariable) -> list[pt.TensorVariable]:
    """What does not depend on the signs of eigenvectors."""
    return [values, (vectors * values[..., None, :]) @ vectors.mT, vectors.mT @ vectors]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("n", [1, 2, 5, 6])
@pytest.mark.parametrize("lower", [True, False])
def test_eigh(lower: bool, n: int) -> None:
    """The other triangle holds numbers that must not be read."""
    side = np.tril if lower else np.triu
    matrix = side(symmetric(n, n)) + 7 * (1 - side(np.ones((n, n))))
    outputs = [*unique(*ptl.eigh(A, lower=lower)), ptl.eigvalsh(A, lower=lower)]
    check_lowering([A], outputs, matrix, rtol=LOOSE)


def test_eigh_of_nothing() -> None:
    check_lowering([A], list(ptl.eigh(A)), np.zeros((0, 0)), expected=[np.zeros(0), np.zeros((0, 0))])


@pytest.mark.parametrize("dtype", ["float32", "int64", "int8"])
def test_eigh_dtypes(dtype: str) -> None:
    x = pt.matrix("x", dtype=dtype)
    matrix = np.array([[4, 1, 2], [1, 5, -1], [2, -1, 6]], dtype)
    check_lowering(
        [x], [*unique(*ptl.eigh(x)), ptl.eigvalsh(x)], matrix, rtol=tolerance(dtype if dtype != "int8" else "float32")
    )


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_eigenvalues_of_complex_matrices(dtype: str, lower: bool) -> None:
    x = pt.matrix("x", dtype=dtype)
    factor = random(dtype, 4, 4)
    check_lowering([x], ptl.eigvalsh(x, lower=lower), factor @ factor.conj().T, rtol=tolerance(dtype))


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


def test_eigh_of_a_batch() -> None:
    check_lowering([A3], unique(*ptl.eigh(A3)), symmetric(3, 4, 4), rtol=LOOSE)


@pytest.mark.parametrize(
    "matrix",
    [
        np.zeros((3, 3)),
        np.eye(4) * 3,
        np.diag([3.0, -2.0, 3.0, 1.0]),
        np.ones((4, 4)),
        np.kron(np.eye(3), np.ones((2, 2))),
    ],
)
def test_eigenvalues_that_are_equal(matrix: np.ndarray) -> None:
    expected = [np.linalg.eigvalsh(matrix), matrix, np.eye(len(matrix))]
    check_lowering([A], unique(*ptl.eigh(A)), matrix, expected=expected, rtol=LOOSE, transformed=False)


@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_eigh_of_numbers_whose_squares_leave_the_range(scale: float) -> None:
    check_lowering([A], ptl.eigvalsh(A), symmetric(4, 4) * scale, rtol=LOOSE)


@pytest.mark.parametrize("lower", [True, False])
def test_generalized_eigenvalues(lower: bool) -> None:
    a, b = symmetric(4, 4), positive(4, 4)
    values, vectors = ptl.eigh(A, B, lower=lower)
    # From `A V = B V W` and `V^T B V = 1` it follows that `V W V^T` is `B^-1 A B^-1`.
    outputs = [values, vectors.T @ B @ vectors, (vectors * values) @ vectors.T, ptl.eigvalsh(A, B, lower=lower)]
    wanted, inverse = scipy.linalg.eigvalsh(a, b), np.linalg.inv(b)
    expected = [wanted, np.eye(4), inverse @ a @ inverse, wanted]
    check_lowering([A, B], outputs, a, b, expected=expected, rtol=LOOSE)


def test_generalized_eigenvalues_of_what_is_not_definite_are_nan() -> None:
    check_lowering([A, B], ptl.eigvalsh(A, B), symmetric(2, 2), -np.eye(2), expected=[np.full(2, np.nan)])


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
def test_gradients_of_eigenvalues(lower: bool) -> None:
    values, vectors = ptl.eigh(A, lower=lower)
    loss = weighted(values) + weighted(abs(vectors))
    outputs = [grad(loss, A), grad(weighted(ptl.eigvalsh(A, lower=lower)), A)]
    check_lowering([A], outputs, symmetric(4, 4), rtol=1e-7, transformed=False)


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


@pytest.mark.sampled(4)
@pytest.mark.parametrize("shape", [*SHAPES, (7, 6)])
@pytest.mark.parametrize("full_matrices", [True, False])
def test_svd(full_matrices: bool, shape: tuple[int, int]) -> None:
    check_lowering([A], pieces(A, full_matrices=full_matrices), normal(*shape), rtol=LOOSE)
    check_lowering([A], ptl.svd(A, compute_uv=False), normal(*shape), rtol=LOOSE)


@pytest.mark.parametrize("shape", EMPTY)
def test_svd_of_nothing(shape: tuple[int, int]) -> None:
    m, n = shape
    check_lowering([A], list(ptl.svd(A)), np.zeros(shape), expected=[np.eye(m), np.zeros(0), np.eye(n)])


@pytest.mark.parametrize("full_matrices", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
def test_svd_dtypes(dtype: str, full_matrices: bool) -> None:
    x = pt.matrix("x", dtype=dtype)
    value = random(dtype, 4, 3)
    s, product, left, right = pieces(x, full_matrices=full_matrices)
    size = 4 if full_matrices else 3
    expected = [np.linalg.svd(value, compute_uv=False), value, np.eye(size, dtype=dtype), np.eye(3, dtype=dtype)]
    check_lowering([x], [s, product, left, right], value, expected=expected, rtol=tolerance(dtype))


def test_svd_of_a_batch() -> None:
    check_lowering(
        [A3], [*pieces(A3, full_matrices=True), *pieces(A3.mT, full_matrices=False)], normal(3, 4, 2), rtol=LOOSE
    )


@pytest.mark.parametrize("full_matrices", [True, False])
@pytest.mark.parametrize(
    "matrix",
    [np.zeros((3, 4)), np.ones((4, 4)), np.eye(4)[:3] * 2, rank_deficient(6, 4, 2), rank_deficient(4, 6, 1)],
)
def test_svd_of_a_matrix_without_full_rank(matrix: np.ndarray, full_matrices: bool) -> None:
    """The vectors are orthonormal, those of a singular value of 0 too, and in a padded program."""
    (m, n), k = matrix.shape, min(matrix.shape)
    sizes = (m, n) if full_matrices else (k, k)
    values = np.linalg.svd(matrix, compute_uv=False)
    expected = [values, matrix, np.eye(sizes[0]), np.eye(sizes[1])]
    outputs = pieces(A, full_matrices=full_matrices)
    check_lowering([A], outputs, matrix, expected=expected, rtol=LOOSE, transformed=False)


@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_svd_of_numbers_whose_squares_leave_the_range(scale: float) -> None:
    check_lowering([A], pieces(A, full_matrices=False)[:2], normal(4, 3) * scale, rtol=LOOSE)


@pytest.mark.parametrize("shape", [(4, 3), (3, 4)])
def test_gradients_of_svd(shape: tuple[int, int]) -> None:
    u, s, v = ptl.svd(A, full_matrices=False)
    loss = weighted(s) + weighted((u * s) @ v * 2) + weighted(abs(u))
    outputs = [grad(loss, A), grad(weighted(ptl.svd(A, compute_uv=False)), A)]
    program = check_lowering([A], outputs, normal(*shape), rtol=1e-6)
    assert not program.signature.has_data_sizes, "min(m, n) is a size"


@pytest.mark.sampled(4)
@pytest.mark.parametrize("value", [normal(4, 3), normal(3, 4), rank_deficient(5, 4, 2), np.zeros((2, 3))])
def test_pinv(value: np.ndarray) -> None:
    check_lowering([A], ptl.pinv(A), value, rtol=LOOSE)


@pytest.mark.parametrize("dtype", DTYPES)
def test_pinv_dtypes(dtype: str) -> None:
    x = pt.matrix("x", dtype=dtype)
    value = random(dtype, 4, 3)
    check_lowering([x], ptl.pinv(x), value, rtol=tolerance(dtype))


def test_pinv_of_a_hermitian_matrix() -> None:
    matrix = np.diag([2.0, 0.0, -3.0, 1.0])
    turn = np.linalg.qr(normal(4, 4))[0]
    check_lowering([A], ptl.pinv(A, hermitian=True), turn @ matrix @ turn.T, rtol=LOOSE)


def test_gradient_of_pinv() -> None:
    check_lowering([A], grad(weighted(ptl.pinv(A)), A), normal(4, 3), rtol=1e-7)


@pytest.mark.parametrize("order", [2, -2, "nuc", "fro", 1, np.inf])
def test_norms(order: object) -> None:
    check_lowering([A], ptl.norm(A, ord=order), normal(4, 3), rtol=LOOSE)


# ---- LU -------------------------------------------------------------------------------------------------------------

FORMS = [{}, {"permute_l": True}, {"p_indices": True}]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("n", [2, 5])
@pytest.mark.parametrize("form", FORMS)
def test_lu(form: dict[str, bool], n: int) -> None:
    check_lowering([A], list(ptl.lu(A, **form)), well(n, n), rtol=LOOSE)


@pytest.mark.parametrize("form", FORMS)
def test_lu_of_a_batch(form: dict[str, bool]) -> None:
    """Each has other exchanges of rows, none its own inverse."""
    matrices = np.stack([well(4, 4), np.eye(4)[[1, 2, 3, 0]] * 2, np.eye(4)[[2, 0, 3, 1]]])
    check_lowering([A3], list(ptl.lu(A3, **form)), matrices, rtol=LOOSE)


@pytest.mark.parametrize("form", FORMS)
def test_lu_of_a_singular_matrix(form: dict[str, bool]) -> None:
    check_lowering([A], list(ptl.lu(A, **form)), np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]]))


@pytest.mark.parametrize("dtype", ["float32", "complex128", "int64"])
def test_lu_dtypes(dtype: str) -> None:
    x = pt.matrix("x", dtype=dtype)
    value = np.array([[1, 2, 1], [4, 1, -1], [1, 3, 5]]).astype(dtype)
    check_lowering([x], list(ptl.lu(x)), value, rtol=tolerance(dtype))


@pytest.mark.parametrize("form", FORMS)
def test_gradient_of_lu(form: dict[str, bool]) -> None:
    *_, lower, upper = ptl.lu(A, **form)
    check_lowering([A], grad(weighted(lower, upper), A), well(4, 4), rtol=LOOSE)


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
    assert "lapack" in program.pad({"v_0": 8}).run_passes(["device_linalg"]).text


@pytest.mark.sampled(2)
@pytest.mark.parametrize("policy", ["exact", "padded"])
@pytest.mark.parametrize("kind", ["eigh", "svd", "qr", "lu"])
def test_beside_running_sums(kind: str, policy: str) -> None:
    """LAPACK stays what factors, also what a running sum comes before: value and gradient are of the same vectors."""

    def factors(x: pt.TensorVariable) -> list[pt.TensorVariable]:
        if kind == "eigh":
            return ptl.eigh(x @ x.mT)
        if kind == "svd":
            return ptl.svd(x, full_matrices=False)
        return ptl.qr(x.mT, mode="economic") if kind == "qr" else ptl.lu(x @ x.mT)[1:]

    first = factors(A)
    outputs = [*first, *[pt.cumsum(x, axis=0) for x in first], *factors(pt.cumsum(A, axis=1))]
    a = normal(3, 5)
    compiled = hlograph.function([A], outputs, policy=policy)
    found, expected = [np.asarray(x) for x in compiled(a)], reference([A], outputs, [a])
    assert "lapack_" in compiled.lower(a).stages[-1].text
    count = len(first)
    for x, y, running in zip(found[:count], expected, found[count:], strict=False):
        np.testing.assert_allclose(abs(x), abs(y), rtol=LOOSE, atol=LOOSE)
        np.testing.assert_allclose(running, np.cumsum(x, axis=0), rtol=LOOSE, atol=LOOSE)
    for x, y in zip(found[2 * count :], expected[2 * count :], strict=True):
        np.testing.assert_allclose(abs(x), abs(y), rtol=LOOSE, atol=LOOSE)
    if kind == "qr":  # PyTensor has no gradient where it does not know which side is longer
        return
    signs = [np.sign(x * y) for x, y in zip(found[:count], expected, strict=False)]  # of vectors they are free
    weights = [normal(*x.shape) for x in found[count : 2 * count]]
    loss = sum((w * pt.cumsum(x * sign, axis=0)).sum() for w, x, sign in zip(weights, first, signs, strict=True))
    (wanted,) = reference([A], [grad(loss, A)], [a])
    with enable_x64(True):
        gradient = jax.grad(lambda a: sum((w * x).sum() for w, x in zip(weights, compiled(a)[count:], strict=False)))(a)
    np.testing.assert_allclose(gradient, wanted, rtol=1e-8, atol=1e-8)


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
        program.specialize({"a_0": 3, "a_1": 3}).run_passes(["device_linalg{platform=tpu}"])
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


def test_tensor_inverse() -> None:
    x = pt.dtensor4("x")
    check_lowering([x], ptl.tensorinv(x), well(6, 6).reshape(2, 3, 6, 1), rtol=LOOSE)


@pytest.mark.parametrize("axes", [None, (0, 2)])
def test_tensor_solve(axes: tuple[int, ...] | None) -> None:
    x, y = pt.dtensor4("x"), pt.dmatrix("y")
    shape = (2, 3, 3, 2) if axes is None else (3, 2, 2, 3)
    check_lowering([x, y], ptl.tensorsolve(x, y, axes), well(6, 6).reshape(shape), normal(2, 3), rtol=LOOSE)


# ---- least squares --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rcond", [-1.0, 0.3])
@pytest.mark.parametrize("matrix", [normal(5, 3), normal(3, 5), normal(3, 3), rank_deficient(5, 3, 2)])
def test_least_squares(matrix: np.ndarray, rcond: float) -> None:
    """With residuals where the rank is full and there are more rows than columns."""
    side = normal(len(matrix), 2)
    expected = np.linalg.lstsq(matrix, side, rcond)
    c = pt.dscalar("c")
    check_lowering(
        [A, B, c], list(ptl.lstsq(A, B, c)), matrix, side, rcond, expected=expected, rtol=LOOSE, static=False
    )


def test_least_squares_of_vectors_are_refused() -> None:
    side = pt.dvector("v")
    with pytest.raises(errors.UnsupportedGraphError, match="anything but real matrices"):
        hlograph.emit_stablehlo(([A, side], list(ptl.lstsq(A, side, -1.0))))
