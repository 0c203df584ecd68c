"""Sparse matrices whose places are constants."""

from __future__ import annotations

import numpy as np
import pytensor
import pytensor.sparse as ps
import pytensor.tensor as pt
import pytest
import scipy.sparse
from pytensor.sparse.math import mul_s_v
from support import check_lowering

import hlograph
from hlograph.errors import ArgumentShapeError

RANDOM = np.random.default_rng(0)
x, v, table, values = pt.dmatrix("x"), pt.dvector("v"), pt.dmatrix("table"), pt.dvector("values")
FORMATS = ["csr", "csc"]


def matrix(form: str, rows: int = 5, columns: int = 4, dtype: str = "float64"):
    found = scipy.sparse.random(rows, columns, density=0.4, format=form, dtype=dtype, random_state=1)
    return found, ps.as_sparse_variable(found)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("dot", [ps.dot, ps.structured_dot])
def test_products(dot, form):
    known, constant = matrix(form)
    right, left = RANDOM.normal(size=(4, 3)), RANDOM.normal(size=(2, 5))
    check_lowering([x], dot(constant, x), right, expected=[known @ right])
    check_lowering([x], dot(x, constant), left, expected=[left @ known])
    check_lowering([x], dot(constant.T, x), left.T, expected=[known.T @ left.T])
    check_lowering([x], dot(constant, x), np.ones((4, 0)), expected=[np.ones((5, 0))])
    if dot is ps.dot:
        check_lowering([v], dot(constant, v), right[:, 0], expected=[known @ right[:, 0]])
        check_lowering([v], dot(v, constant), left[0], expected=[left[0] @ known])


@pytest.mark.parametrize("form", FORMATS)
def test_dtypes(form):
    known, constant = matrix(form, dtype="float32")
    y = pt.fmatrix("y")
    right = RANDOM.normal(size=(4, 3))
    check_lowering([y], ps.dot(constant, y), right.astype("float32"), expected=[known @ right.astype("float32")])
    check_lowering([x], ps.dot(constant, x), right, expected=[known.astype("float64") @ right])


@pytest.mark.parametrize("form", FORMATS)
def test_gradients(form):
    known, constant = matrix(form)
    right = RANDOM.normal(size=(4, 3))
    cost = (ps.dot(constant, x) ** 2).sum()
    check_lowering([x], pytensor.grad(cost, x), right, expected=[2 * known.T @ (known @ right)])
    made = {"csr": ps.CSR, "csc": ps.CSC}[form](values, known.indices, known.indptr, known.shape)
    cost = (ps.structured_dot(made, x) ** 2).sum()
    dense = 2 * (known @ right) @ right.T  # by every element, were it there
    wanted = dense[*places_of(known)]
    gradients = pytensor.grad(cost, [values, x])
    check_lowering([values, x], gradients, known.data, right, expected=[wanted, 2 * known.T @ (known @ right)])


def places_of(known):
    numbered = known.copy()
    numbered.data = np.arange(1.0, len(known.data) + 1)
    rows, columns = numbered.nonzero()
    order = np.argsort(np.asarray(numbered[rows, columns]).ravel())
    return rows[order], columns[order]


@pytest.mark.parametrize("form", FORMATS)
def test_dense_from_sparse(form):
    known, constant = matrix(form)
    check_lowering([x], ps.dense_from_sparse(constant) @ x, np.eye(4), expected=[known.toarray()])
    check_lowering([x], ps.dense_from_sparse(constant.T) * x, np.ones((4, 5)), expected=[known.toarray().T])
    made = {"csr": ps.CSR, "csc": ps.CSC}[form](values, known.indices, known.indptr, known.shape)
    check_lowering([values], ps.dense_from_sparse(made), known.data, expected=[known.toarray()])


@pytest.mark.parametrize("form", FORMATS)
def test_elementwise_and_sums(form):
    known, constant = matrix(form)
    dense = known.toarray()
    y = RANDOM.normal(size=(5, 4))
    scalar, row, column = pt.dscalar("scalar"), pt.dvector("row"), pt.dvector("column")
    results = [
        ps.dense_from_sparse(ps.multiply(constant, x)),
        ps.dense_from_sparse(ps.multiply(constant, scalar)),
        ps.dense_from_sparse(ps.col_scale(constant, row)),
        ps.dense_from_sparse(ps.row_scale(constant, column)),
        ps.add(constant, x),
        *[ps.sp_sum(ps.multiply(constant, x), axis=axis) for axis in (None, 0, 1)],
    ]
    scaled, a, b = dense * y, RANDOM.normal(size=4), RANDOM.normal(size=5)
    wanted = [scaled, dense * 1.5, dense * a, dense * b[:, None], dense + y, scaled.sum(), scaled.sum(0), scaled.sum(1)]
    check_lowering([x, scalar, row, column], results, y, 1.5, a, b, expected=wanted)
    by_row = ps.dense_from_sparse(mul_s_v(constant, row))
    check_lowering([row], by_row, a, expected=[dense * a])


def test_a_conditional_autoregression():
    """The quadratic form of PyMC's, with the matrix of neighbours as a constant."""
    near = scipy.sparse.csr_matrix((RANDOM.random((6, 6)) < 0.4) * 1.0)
    constant = ps.as_sparse_variable(near)
    form = (v * ps.dot(constant, v)).sum()
    data = RANDOM.normal(size=6)
    expected = [data @ near @ data, near @ data + near.T @ data]
    check_lowering([v], [form, pytensor.grad(form, v)], data, expected=expected)


def test_shapes_that_do_not_fit():
    _, constant = matrix("csr")
    with pytest.raises(ArgumentShapeError, match=r"4 == x_0.*operand of SparseDot"):
        hlograph.function([x], ps.dot(constant, x))(np.ones((5, 2)))
    places = pt.constant([0, 1, 9])
    with pytest.raises(ValueError, match="out of range"):
        hlograph.emit_stablehlo(([values], ps.dense_from_sparse(ps.CSR(values, places, [0, 1, 3], (2, 4)))))
