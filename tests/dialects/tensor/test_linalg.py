"""Products, factorizations, solves, determinants: against PyTensor, on two sizes where the graph leaves them open."""

from __future__ import annotations

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from matrices import RNG, normal, positive, weighted, well
from pytensor.compile.mode import Mode
from pytensor.gradient import grad
from pytensor.tensor import blas, nlinalg
from pytensor.tensor import linalg as ptl
from pytensor.tensor.blockwise import Blockwise
from support import assert_same, check_lowering, reference

import hlograph

pytestmark = pytest.mark.sampled(4)

A, B, V = pt.dmatrix("a"), pt.dmatrix("b"), pt.dvector("v")
A3, B3 = pt.dtensor3("a3"), pt.dtensor3("b3")

# A factorization rounds differently in another order of sums: the matrices below have small condition numbers.
LOOSE = 1e-10


# ---- products -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("right", [(3,), (3, 2)])
@pytest.mark.parametrize("left", [(3,), (4, 3)])
def test_dot(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    x, y = (pt.tensor(name, dtype="float64", shape=(None,) * len(s)) for name, s in (("x", left), ("y", right)))
    check_lowering([x, y], pt.dot(x, y), normal(*left), normal(*right))


@pytest.mark.parametrize("inner", [0, 1])
def test_dot_over_few(inner: int) -> None:
    # The reference interpreter (jaxlib 0.10) aborts on a contraction of no elements.
    check_lowering([A, B], pt.dot(A, B), normal(2, inner), normal(inner, 3), interpret=inner > 0)


@pytest.mark.parametrize("dtype", ["float32", "complex64", "complex128", "int8", "uint8", "int32", "int64", "bool"])
def test_dot_dtypes(dtype: str) -> None:
    x, y = pt.matrix("x", dtype=dtype), pt.matrix("y", dtype=dtype)
    values = [np.array(RNG.integers(0, 2, size=s) * 3 - (dtype[0] != "u"), dtype) for s in ((2, 4), (4, 3))]
    check_lowering([x, y], pt.dot(x, y), *values)


def test_dot_of_two_dtypes() -> None:
    x, y = pt.imatrix("x"), pt.fmatrix("y")
    check_lowering([x, y], pt.dot(x, y), RNG.integers(-5, 5, (2, 3)), normal(3, 2).astype("float32"))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((2, 4, 3), (2, 3, 5)),
        ((2, 4, 3), (3, 5)),
        ((4, 3), (2, 3, 5)),
        ((1, 4, 3), (2, 3, 5)),
        ((6, 1, 4, 3), (2, 3, 5)),
    ],
)
def test_matmul_broadcasts_batch_axes(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    x, y = (
        pt.tensor(name, dtype="float64", shape=tuple(1 if n == 1 else None for n in s))
        for name, s in (("x", left), ("y", right))
    )
    check_lowering([x, y], x @ y, normal(*left), normal(*right))


@pytest.mark.parametrize(
    ("function", "left", "right"),
    [("vecdot", (2, 3), (2, 3)), ("matvec", (2, 4, 3), (2, 3)), ("vecmat", (2, 3), (2, 3, 4))],
)
def test_vector_products_over_batches(function: str, left: tuple[int, ...], right: tuple[int, ...]) -> None:
    x, y = (pt.tensor(name, dtype="float64", shape=(None,) * len(s)) for name, s in (("x", left), ("y", right)))
    check_lowering([x, y], getattr(pt, function)(x, y), normal(*left), normal(*right))


def test_batch_axes_that_only_happen_to_be_one_do_not_stretch() -> None:
    program = hlograph.emit_stablehlo(([A3, B3], [A3 @ B3]))
    with pytest.raises(hlograph.errors.ArgumentShapeError, match=r"a3_0 == b3_0.*a3_0 = 1, b3_0 = 2"):
        program.compile()(normal(1, 3, 3), normal(2, 3, 3))


def test_sizes_that_do_not_fit_are_refused() -> None:
    program = hlograph.emit_stablehlo(([A, B], [pt.dot(A, B)]))
    with pytest.raises(hlograph.errors.ArgumentShapeError, match=r"a_1 == b_0.*a_1 = 3, b_0 = 2"):
        program.compile()(normal(2, 3), normal(2, 3))


# The BLAS ops, made directly. The scalars are inputs in one case and the constants 0 and 1 in the others.


@pytest.mark.parametrize("scalars", [None, (1.0, 0.0), (0.0, 1.0), (2.0, -3.0)])
@pytest.mark.parametrize("op", [blas.gemv_no_inplace, blas.gemv_inplace])
def test_gemv(op: blas.Gemv, scalars: tuple[float, float] | None) -> None:
    y, x, alpha, beta = pt.dvector("y"), pt.dvector("x"), pt.dscalar("alpha"), pt.dscalar("beta")
    given = [alpha, beta] if scalars is None else [pt.constant(np.float64(s)) for s in scalars]
    graph = op(y, given[0], A, x, given[1])
    values = [normal(4), normal(4, 3), normal(3)] + ([1.5, -0.5] if scalars is None else [])
    numbers = scalars or (1.5, -0.5)
    expected = numbers[1] * values[0] + numbers[0] * values[1] @ values[2]
    check_lowering([y, A, x, *(given if scalars is None else [])], graph, *values, expected=[expected])


def test_gemv_does_not_read_what_is_scaled_by_zero() -> None:
    y, x = pt.dvector("y"), pt.dvector("x")
    graph = blas.gemv_no_inplace(y, np.float64(1), A, x, np.float64(0))
    matrix, vector = normal(2, 3), normal(3)
    check_lowering([y, A, x], graph, [np.nan, np.inf], matrix, vector, expected=[matrix @ vector])


@pytest.mark.parametrize("shape", [(4, 5), (1, 5), (4, 1), (1, 1)])
@pytest.mark.parametrize("op", [blas.gemm_no_inplace])
def test_gemm_stretches_z(op: blas.Gemm, shape: tuple[int, int]) -> None:
    z = pt.tensor("z", dtype="float64", shape=tuple(1 if n == 1 else None for n in shape))
    x, y, a, b = pt.dmatrix("x"), pt.dmatrix("y"), pt.dscalar("alpha"), pt.dscalar("beta")
    values = [normal(*shape), np.float64(0.5), normal(4, 3), normal(3, 5), np.float64(-2)]
    expected = values[4] * values[0] + values[1] * values[2] @ values[3]
    check_lowering([z, a, x, y, b], op(z, a, x, y, b), *values, expected=[expected])


def test_gemm_in_place() -> None:
    z, x, y = pt.dmatrix("z"), pt.dmatrix("x"), pt.dmatrix("y")
    values = [normal(4, 5), normal(4, 3), normal(3, 5)]
    graph = blas.gemm_inplace(z, np.float64(1), x, y, np.float64(1))
    check_lowering([z, x, y], graph, *values, expected=[values[0] + values[1] @ values[2]])


@pytest.mark.skipif(not hasattr(blas, "ger"), reason="PyTensor 3.3 has no such op")
def test_ger() -> None:
    x, y, alpha = pt.dvector("x"), pt.dvector("y"), pt.dscalar("alpha")
    values = [normal(4, 3), np.float64(-2), normal(4), normal(3)]
    check_lowering([A, alpha, x, y], blas.ger(A, alpha, x, y), *values)


def test_dot22_and_its_scaled_form() -> None:
    alpha = pt.dscalar("alpha")
    graph = [blas._dot22(A, B), blas._dot22scalar(A, B, alpha)]
    check_lowering([A, B, alpha], graph, normal(4, 3), normal(3, 2), 1.5)


def test_batched_dot_op() -> None:
    op = getattr(blas, "_batched_dot", None) or blas.BatchedDot()
    check_lowering([A3, B3], op(A3, B3), normal(2, 4, 3), normal(2, 3, 5))


def test_blas_ops_that_pytensor_compiles() -> None:
    x, y = pt.dvector("x"), pt.dvector("y")
    outputs = [0.5 * A @ B + 2 * A, A @ x + y, A.T @ (A @ B), pt.outer(x, y) + A, A3 @ B3, -A @ B]
    inputs = [A, B, x, y, A3, B3]
    values = [normal(3, 3), normal(3, 3), normal(3), normal(3), normal(2, 3, 4), normal(2, 4, 5)]
    function = pytensor.function(inputs, outputs, mode=Mode("py", "fast_run").including("blas", "BlasOpt"))
    ops = {type(node.op).__name__ for node in function.maker.fgraph.apply_nodes}
    assert {"Gemm", "Gemv"} <= ops, f"PyTensor made no BLAS ops: {ops}"
    program = hlograph.emit_stablehlo(function)
    wanted = reference(inputs, outputs, values)
    for results in (program.compile()(*values), program.interpret(*values)):
        for number, (found, expected) in enumerate(zip(results, wanted, strict=True)):
            assert_same(found, expected, label=f"output {number}")


# ---- Cholesky -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 2, 7])
@pytest.mark.parametrize("lower", [True, False])
def test_cholesky(lower: bool, n: int) -> None:
    check_lowering([A], ptl.cholesky(A, lower=lower), positive(n, n), rtol=LOOSE)


@pytest.mark.parametrize("lower", [True, False])
def test_cholesky_reads_one_triangle(lower: bool) -> None:
    matrix = positive(4, 4)
    kept = np.tril(matrix) if lower else np.triu(matrix)
    check_lowering([A], ptl.cholesky(A, lower=lower), kept + np.triu(np.full((4, 4), 9.0), 1) * lower, rtol=LOOSE)


def test_cholesky_of_a_batch() -> None:
    check_lowering([A3], [ptl.cholesky(A3), ptl.cholesky(A3, lower=False)], positive(3, 4, 4), rtol=LOOSE)


def test_cholesky_of_an_empty_batch() -> None:
    check_lowering([A3], ptl.cholesky(A3), np.zeros((0, 4, 4)), expected=[np.zeros((0, 4, 4))])


@pytest.mark.parametrize("dtype", ["float32", "int64", "complex128"])
def test_cholesky_dtypes(dtype: str) -> None:
    x = pt.matrix("x", dtype=dtype)
    matrix = np.array([[4, 1, 2], [1, 5, -1], [2, -1, 6]], dtype)
    if dtype.startswith("complex"):
        matrix = matrix + 1j * np.array([[0, 1, -1], [-1, 0, 1], [1, -1, 0]])
    rtol = 1e-5 if dtype == "float32" else LOOSE
    check_lowering([x], [ptl.cholesky(x), ptl.cholesky(x, lower=False)], matrix, rtol=rtol)


@pytest.mark.parametrize("bad", [[[1.0, 2.0], [2.0, 1.0]], [[-1.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]]])
@pytest.mark.parametrize("lower", [True, False])
def test_cholesky_of_what_is_not_positive_definite_is_nan(lower: bool, bad: list[list[float]]) -> None:
    """The triangle is NaN, as in PyTensor; the other one stays zero. Other matrices of the batch are not touched."""
    program = hlograph.emit_stablehlo(([A3], [ptl.cholesky(A3, lower=lower)]))
    values = np.stack([np.array(bad), np.eye(2) * 4])
    side = np.tril if lower else np.triu
    expected = np.stack([np.where(side(np.ones((2, 2))) > 0, np.nan, 0), np.eye(2) * 2])
    for found in (program.compile()(values), program.interpret(values)[0]):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("lower", [True, False])
def test_cholesky_gradient(lower: bool) -> None:
    x = A @ A.T + 4 * pt.eye(A.shape[0])
    check_lowering([A], grad(weighted(ptl.cholesky(x, lower=lower)), A), normal(4, 4), rtol=LOOSE)


@pytest.mark.parametrize("lower", [True, False])
def test_cholesky_solve(lower: bool) -> None:
    factor = np.linalg.cholesky(positive(4, 4))
    factor = factor if lower else factor.T
    outputs = [ptl.cho_solve((A, lower), B), ptl.cho_solve((A, lower), V)]
    check_lowering([A, B, V], outputs, factor, normal(4, 2), normal(4), rtol=LOOSE)


def test_cholesky_solve_of_a_batch_with_one_factor() -> None:
    graph = ptl.cho_solve((A[None], True), B3, b_ndim=2)
    check_lowering([A, B3], graph, np.linalg.cholesky(positive(3, 3)), normal(4, 3, 2), rtol=LOOSE)


# ---- triangular systems ---------------------------------------------------------------------------------------------


@pytest.mark.sampled(4)
@pytest.mark.parametrize("unit_diagonal", [False, True])
@pytest.mark.parametrize("trans", [0, 1, 2])
@pytest.mark.parametrize("lower", [True, False])
def test_solve_triangular(lower: bool, trans: int, unit_diagonal: bool) -> None:
    """The other triangle, and a unit diagonal, hold numbers that must not be read."""
    options = {"lower": lower, "trans": trans, "unit_diagonal": unit_diagonal}
    outputs = [ptl.solve_triangular(A, B, **options), ptl.solve_triangular(A, V, **options)]
    check_lowering([A, B, V], outputs, well(4, 4), normal(4, 3), normal(4), rtol=LOOSE)


@pytest.mark.parametrize("n", [0, 1])
def test_solve_triangular_of_few(n: int) -> None:
    outputs = [ptl.solve_triangular(A, B), ptl.solve_triangular(A, V, lower=True)]
    check_lowering([A, B, V], outputs, positive(n, n), normal(n, 2), normal(n))


def test_solve_triangular_without_right_hand_sides() -> None:
    check_lowering([A, B], ptl.solve_triangular(A, B), positive(3, 3), normal(3, 0))


@pytest.mark.parametrize(("left", "right"), [((2, 3, 3), (2, 3, 4)), ((1, 3, 3), (2, 3, 4)), ((2, 3, 3), (1, 3, 4))])
def test_solve_triangular_of_a_batch(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    x, y = (
        pt.tensor(name, dtype="float64", shape=tuple(1 if n == 1 else None for n in s))
        for name, s in (("x", left), ("y", right))
    )
    check_lowering([x, y], ptl.solve_triangular(x, y, lower=True), positive(*left), normal(*right), rtol=LOOSE)


def test_solve_triangular_of_a_batch_of_vectors() -> None:
    check_lowering([A3, B], ptl.solve_triangular(A3, B, b_ndim=1), positive(2, 3, 3), normal(2, 3), rtol=LOOSE)


def test_solve_triangular_of_a_singular_matrix_is_nan() -> None:
    singular = np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 4.0], [0.0, 0.0, 5.0]])
    outputs = [ptl.solve_triangular(A, V), ptl.solve_triangular(A, V, unit_diagonal=True)]
    check_lowering([A, V], outputs, singular, normal(3))


@pytest.mark.parametrize("unit_diagonal", [False, True])
@pytest.mark.parametrize("lower", [True, False])
def test_solve_triangular_gradient(lower: bool, unit_diagonal: bool) -> None:
    x = ptl.solve_triangular(A, B, lower=lower, unit_diagonal=unit_diagonal)
    check_lowering([A, B], grad(weighted(x), [A, B]), positive(4, 4), normal(4, 2), rtol=LOOSE)


# ---- general systems ------------------------------------------------------------------------------------------------

ASSUME = ["gen", "sym", "her", "pos", "tridiagonal", "banded", "diagonal", "upper triangular", "lower triangular"]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("assume_a", ASSUME)
@pytest.mark.parametrize("lower", [True, False])
def test_solve(assume_a: str, lower: bool) -> None:
    matrix = positive(4, 4) if assume_a in ("sym", "her", "pos") else well(4, 4) + 5 * np.eye(4)
    if assume_a == "tridiagonal":
        matrix = np.triu(np.tril(matrix, 1), -1)
    elif assume_a == "banded":
        matrix = np.triu(np.tril(matrix, 1), -2)
    elif assume_a in ("sym", "her", "pos"):
        side = np.tril if lower else np.triu
        matrix = side(matrix) + 7 * (1 - side(np.ones((4, 4))))  # the other triangle must not be read
    options = {"assume_a": assume_a, "lower": lower}
    outputs = [ptl.solve(A, B, **options), ptl.solve(A, V, **options), ptl.solve(A, B, transposed=True, **options)]
    check_lowering([A, B, V], outputs, matrix, normal(4, 3), normal(4), rtol=LOOSE)


@pytest.mark.parametrize("n", [1, 2])
def test_solve_small(n: int) -> None:
    check_lowering([A, B, V], [ptl.solve(A, B), ptl.solve(A, V)], well(n, n), normal(n, 2), normal(n), rtol=LOOSE)


def test_solve_of_nothing() -> None:
    outputs = [ptl.solve(A, B), ptl.solve(A, V)]
    check_lowering([A, B, V], outputs, normal(0, 0), normal(0, 2), normal(0), expected=[np.zeros((0, 2)), np.zeros(0)])


def test_solve_needs_row_exchanges() -> None:
    """The first pivots are zero: elimination without exchanges divides by zero."""
    matrix = np.array([[0.0, 2.0, 1.0], [1.0, 0.0, 0.0], [3.0, 0.0, 4.0]])
    check_lowering([A, V], ptl.solve(A, V), matrix, normal(3))


@pytest.mark.parametrize("assume_a", ["gen", "sym", "pos"])
def test_solve_of_a_singular_matrix_is_nan(assume_a: str) -> None:
    singular = np.array([[1.0, 2.0], [2.0, 4.0]])
    graph = ptl.solve(A, B, assume_a=assume_a)
    check_lowering([A, B], graph, singular, np.eye(2), expected=[np.full((2, 2), np.nan)])


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("left", "right"), [((2, 3, 3), (2, 3, 4)), ((1, 3, 3), (2, 3, 4)), ((2, 3, 3), (1, 3, 4))])
@pytest.mark.parametrize("assume_a", ["gen", "pos"])
def test_solve_of_a_batch(assume_a: str, left: tuple[int, ...], right: tuple[int, ...]) -> None:
    x, y = (
        pt.tensor(name, dtype="float64", shape=tuple(1 if n == 1 else None for n in s))
        for name, s in (("x", left), ("y", right))
    )
    check_lowering([x, y], ptl.solve(x, y, assume_a=assume_a), positive(*left), normal(*right), rtol=LOOSE)


def test_solve_of_a_batch_needs_other_row_exchanges_in_each() -> None:
    matrices = np.stack([np.eye(3)[[1, 2, 0]] * 2, np.eye(3)[[2, 1, 0]] * 3, well(3, 3)])
    check_lowering([A3, B], ptl.solve(A3, B, b_ndim=1), matrices, normal(3, 3), rtol=LOOSE)


def test_solve_of_a_batch_with_one_singular_matrix() -> None:
    matrices = np.stack([np.ones((2, 2)), np.eye(2) * 2])
    sides = normal(2, 2, 1)
    expected = np.stack([np.full((2, 1), np.nan), sides[1] / 2])
    check_lowering([A3, B3], ptl.solve(A3, B3), matrices, sides, expected=[expected])


def test_solve_of_an_empty_batch() -> None:
    sides = np.zeros((0, 3, 2))
    check_lowering([A3, B3], ptl.solve(A3, B3), np.zeros((0, 3, 3)), sides, expected=[sides])


@pytest.mark.parametrize("dtype", ["float32", "int64", "complex128"])
def test_solve_dtypes(dtype: str) -> None:
    x, y = pt.matrix("x", dtype=dtype), pt.matrix("y", dtype=dtype)
    matrix = np.array([[0, 2, 1], [4, 1, -1], [1, 3, 5]], dtype)
    side = np.array([[1, 2], [3, 4], [-5, 6]], dtype)
    if dtype.startswith("complex"):
        matrix = matrix * np.exp(1j * np.arange(9).reshape(3, 3))
    rtol = 1e-5 if dtype == "float32" else LOOSE
    check_lowering([x, y], [ptl.solve(x, y), ptl.inv(x), ptl.det(x)], matrix, side, rtol=rtol)


def test_complex_systems_conjugate() -> None:
    x, y = pt.zmatrix("x"), pt.zmatrix("y")
    factor = well(3, 3) + 1j * normal(3, 3)
    hermitian = factor @ factor.conj().T + 3 * np.eye(3)
    outputs = [
        ptl.solve(x, y, assume_a="her"),
        ptl.solve(x, y, assume_a="pos"),
        ptl.solve_triangular(x, y, trans=2),
        ptl.cho_solve((ptl.cholesky(x), True), y),
    ]
    check_lowering([x, y], outputs, hermitian, normal(3, 2) + 1j * normal(3, 2), rtol=LOOSE)


@pytest.mark.parametrize("assume_a", ["gen", "sym", "pos"])
def test_solve_gradient(assume_a: str) -> None:
    loss = weighted(ptl.solve(A, B, assume_a=assume_a), ptl.solve(A, V, assume_a=assume_a))
    check_lowering([A, B, V], grad(loss, [A, B, V]), positive(4, 4), normal(4, 2), normal(4), rtol=LOOSE)


def test_solve_gradient_of_a_batch() -> None:
    loss = weighted(ptl.solve(A3, B3))
    check_lowering([A3, B3], grad(loss, [A3, B3]), well(2, 3, 3), normal(2, 3, 2), rtol=LOOSE)


def test_a_size_that_is_no_axis_of_an_input() -> None:
    """LU is a function of its own in the module; the size of its matrix is 2 n + 1."""
    n = A.shape[0]
    big = pt.eye(2 * n + 1)
    big = pt.set_subtensor(big[:n, :n], A)
    check_lowering([A], [ptl.inv(big), ptl.det(big)], well(3, 3), rtol=LOOSE)


def test_two_sizes_in_one_program() -> None:
    outputs = [ptl.det(A), ptl.det(B), ptl.inv(A.T), ptl.det(A @ A)]
    program = check_lowering([A, B], outputs, well(3, 3), well(4, 4), rtol=LOOSE)
    function = program.compile()
    for n, m in ((1, 5), (6, 6)):
        values = [well(n, n), well(m, m)]
        for found, expected in zip(function(*values), reference([A, B], outputs, values), strict=True):
            assert_same(found, expected, rtol=LOOSE)


def test_a_matrix_that_is_not_square_is_refused() -> None:
    function = hlograph.emit_stablehlo(([A], [ptl.det(A), ptl.cholesky(A)])).compile()
    with pytest.raises(hlograph.errors.ArgumentShapeError, match="a_0 == a_1"):
        function(normal(2, 3))


# ---- inverses and determinants --------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_det_and_inverse(n: int) -> None:
    check_lowering([A], [ptl.det(A), ptl.inv(A), *nlinalg_slogdet(A)], well(n, n), rtol=LOOSE)


def nlinalg_slogdet(x: pt.TensorVariable) -> list[pt.TensorVariable]:
    op = getattr(ptl, "SLogDet", None) or nlinalg.SLogDet
    return list(op()(x))


@pytest.mark.parametrize("n", [0, 1, 4])
def test_det_and_inverse_of_a_batch(n: int) -> None:
    check_lowering([A3], [ptl.det(A3), ptl.inv(A3)], well(3, n, n), rtol=LOOSE)


def test_slogdet_of_a_batch() -> None:
    from pytensor.tensor.blockwise import Blockwise

    op = getattr(ptl, "SLogDet", None) or nlinalg.SLogDet
    check_lowering([A3], list(Blockwise(op())(A3)), well(3, 4, 4), rtol=LOOSE)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("rows", [[0, 1, 2], [1, 0, 2], [1, 2, 0], [2, 1, 0]])
def test_the_sign_of_a_determinant(rows: list[int]) -> None:
    permutation = np.eye(3)[rows]
    program = check_lowering([A], [ptl.det(A), *nlinalg_slogdet(A)], permutation)
    parity = np.linalg.det(permutation)
    assert [float(x) for x in program.compile()(permutation)] == [parity, parity, 0.0]


def test_det_of_a_singular_matrix() -> None:
    singular = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]])
    check_lowering([A], [ptl.det(A), *nlinalg_slogdet(A)], singular, expected=[0.0, 0.0, -np.inf])


def test_inverse_of_a_singular_matrix_is_nan() -> None:
    check_lowering([A], ptl.inv(A), np.ones((2, 2)), expected=[np.full((2, 2), np.nan)])


@pytest.mark.sampled(4)
@pytest.mark.parametrize("function", [ptl.det, ptl.inv, lambda x: ptl.slogdet(x)[1]])
def test_gradients_of_det_and_inverse(function: object) -> None:
    check_lowering([A], grad(weighted(function(A)), A), well(4, 4), rtol=LOOSE)  # type: ignore[operator]


def test_gradient_of_det_of_a_batch() -> None:
    check_lowering([A3], grad(weighted(ptl.det(A3), ptl.inv(A3)), A3), well(2, 3, 3), rtol=LOOSE)


# ---- models ---------------------------------------------------------------------------------------------------------


def normal_log_density(x: pt.TensorVariable, mean: pt.TensorVariable, cov: pt.TensorVariable) -> pt.TensorVariable:
    """Log density of a multivariate normal, through the Cholesky factor."""
    factor = ptl.cholesky(cov)
    z = ptl.solve_triangular(factor, x - mean, lower=True)
    n = x.shape[0].astype("float64")
    return -0.5 * (z**2).sum() - pt.log(pt.diag(factor)).sum() - 0.5 * n * np.log(2 * np.pi)


def test_multivariate_normal_density_and_gradient() -> None:
    x, mean, cov = pt.dvector("x"), pt.dvector("mean"), pt.dmatrix("cov")
    density = normal_log_density(x, mean, cov)
    outputs = [density, *grad(density, [x, mean, cov])]
    program = check_lowering([x, mean, cov], outputs, normal(4), normal(4), positive(4, 4), rtol=LOOSE)
    stats = pytest.importorskip("scipy.stats")
    function = program.compile()
    for n in (1, 6):
        values = [normal(n), normal(n), positive(n, n)]
        expected = stats.multivariate_normal(values[1], values[2]).logpdf(values[0])
        np.testing.assert_allclose(function(*values)[0], expected, rtol=1e-12)


def test_gaussian_process_and_gradient() -> None:
    x, y, scale, noise = pt.dvector("x"), pt.dvector("y"), pt.dscalar("scale"), pt.dscalar("noise")
    distance = (x[:, None] - x[None, :]) / scale
    cov = pt.exp(-0.5 * distance**2) + noise**2 * pt.eye(x.shape[0])
    density = normal_log_density(y, pt.zeros_like(y), cov)
    outputs = [density, *grad(density, [scale, noise, x, y])]
    points = np.sort(RNG.uniform(0, 5, size=50))
    values = [points, np.sin(points) + 0.1 * normal(50), 0.7, 0.3]
    program = check_lowering([x, y, scale, noise], outputs, *values, rtol=1e-9, interpret=False)
    small = [value[:6] if np.ndim(value) else value for value in values]
    found = program.interpret(*[np.asarray(v) for v in small])
    for actual, expected in zip(found, reference([x, y, scale, noise], outputs, small), strict=True):
        assert_same(actual, expected, rtol=1e-9)


def test_rewritten_linear_algebra_has_rules() -> None:
    """PyTensor's own rewrites make solves and factorizations of inverses and determinants."""
    x = A @ A.T + pt.eye(A.shape[0])
    outputs = [ptl.inv(x) @ B, pt.log(ptl.det(x)), ptl.solve(x, B, assume_a="pos"), B.T @ ptl.inv(x) @ B]
    outputs += [ptl.solve(A, B), ptl.solve(A, 2 * B), ptl.solve(A.T, B), ptl.inv(A) @ B]
    function = hlograph.function([A, B], outputs, rewrite="full")
    for n in (2, 5):
        values = [normal(n, n), normal(n, 3)]
        for found, expected in zip(function(*values), reference([A, B], outputs, values), strict=True):
            assert_same(found, expected, rtol=LOOSE)


# ---- LU factors that several solves share --------------------------------------------------------------------------


def lu_ops():
    """PyTensor's op classes; their module moved in PyTensor 3."""
    try:
        from pytensor.tensor.linalg.decomposition.lu import LUFactor, PivotToPermutations
    except ImportError:
        from pytensor.tensor.slinalg import LUFactor, PivotToPermutations
    return LUFactor, PivotToPermutations


@pytest.mark.parametrize("n", [1, 2, 5])
def test_lu_factor_and_its_permutations(n):
    factor, permutations = lu_ops()
    a = pt.dmatrix("a")
    factors, pivots = factor()(a)
    outputs = [factors, pivots, permutations(inverse=True)(pivots), permutations(inverse=False)(pivots)]
    check_lowering([a], outputs, np.random.default_rng(n).normal(size=(n, n)), rtol=1e-11)


def test_lu_factor_in_batches():
    factor, permutations = lu_ops()
    a = pt.dtensor3("a")
    factors, pivots = Blockwise(factor())(a)
    outputs = [factors, pivots, Blockwise(permutations(inverse=False))(pivots)]
    check_lowering([a], outputs, np.random.default_rng(0).normal(size=(3, 4, 4)), rtol=1e-11)


def test_a_compiled_function_with_several_solves_of_one_matrix():
    a, b = pt.dmatrix("a"), pt.dvector("b")
    x = pt.linalg.solve(a, b)
    compiled = pytensor.function([a, b], [x, grad((x**2).sum(), a)], mode=Mode("py", "fast_run"))
    assert "LUFactor" in {type(node.op).__name__ for node in compiled.maker.fgraph.toposort()}
    function = hlograph.emit_stablehlo(compiled).compile()
    rng = np.random.default_rng(1)
    for n in (2, 6):
        values = rng.normal(size=(n, n)), rng.normal(size=n)
        for actual, expected in zip(function(*values), compiled(*values), strict=True):
            np.testing.assert_allclose(actual, expected, rtol=1e-9)
