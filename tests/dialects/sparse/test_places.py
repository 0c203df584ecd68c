"""Places that are arguments: exact and padded, with garbage in the padding; and places that are constants."""

from __future__ import annotations

import numpy as np
import pytensor
import pytensor.sparse as ps
import pytensor.tensor as pt
import pytest
import scipy.sparse
from support import assert_same, check_lowering, poisoned

import hlograph
from hlograph.errors import ArgumentShapeError

data, indices, indptr = pt.dvector("data"), pt.ivector("indices"), pt.ivector("indptr")
x, v = pt.dmatrix("x"), pt.dvector("v")
RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("form", ["csr", "csc"])
def test_products_and_gradients(form):
    known = scipy.sparse.random(5, 5, density=0.4, format=form, random_state=1)
    made = {"csr": ps.CSR, "csc": ps.CSC}[form](data, indices, indptr, pt.stack([v.shape[0], v.shape[0]]))
    vector, right = RANDOM.normal(size=5), RANDOM.normal(size=(5, 3))
    structured = (ps.structured_dot(made, x) ** 2).sum()
    outputs = [ps.dot(made, v), ps.dot(v, made), ps.dot(made.T, x), ps.sp_sum(made, 0), ps.diag(made)]
    outputs += [ps.dense_from_sparse(made), *pytensor.grad(structured, [data, x])]
    dense = known.toarray()
    product = dense @ right
    at = known.tocoo()  # in the order of the data
    expected = [dense @ vector, vector @ dense, dense.T @ right, dense.sum(0), np.diag(dense), dense]
    expected += [2 * (product @ right.T)[at.row, at.col], 2 * dense.T @ product]
    arrays = known.data, known.indices, known.indptr, vector, right
    program = hlograph.emit_stablehlo(([data, indices, indptr, v, x], outputs))
    with poisoned():
        ran = program.compile(policy="padded")(*arrays)
    for found in (program.interpret(*arrays), program.compile(policy="exact")(*arrays), ran):
        for number, (actual, wanted) in enumerate(zip(found, expected, strict=True)):
            assert_same(actual, wanted, label=f"output {number}")


def test_a_gaussian_markov_random_field():
    """The quadratic form of a precision whose data are an argument; its gradients by the data and the field."""
    known = scipy.sparse.diags_array([-1.0, 2.5, -1.0], offsets=[-1, 0, 1], shape=(6, 6)).tocsr()
    precision = ps.CSR(data, known.indices, known.indptr, (6, 6))
    field = RANDOM.normal(size=6)
    form = 0.5 * (v * ps.structured_dot(precision, v[:, None])[:, 0]).sum()
    at = known.tocoo()
    expected = [0.5 * field @ known @ field, 0.5 * field[at.row] * field[at.col], known @ field]
    gradients = pytensor.grad(form, [data, v])
    check_lowering([data, v], [form, *gradients], known.data, field, expected=expected)


def test_no_rows_and_no_values():
    made = ps.CSR(data, indices, indptr, pt.stack([x.shape[0], v.shape[0]]))
    outputs = [ps.dot(made, v), ps.dense_from_sparse(made), ps.sp_sum(made, axis=1)]
    none = np.zeros(0), np.zeros(0, "int32")
    for rows in (0, 2):
        arrays = *none, np.zeros(rows + 1, "int32"), np.ones(3), np.zeros((rows, 1))
        expected = [np.zeros(rows), np.zeros((rows, 3)), np.zeros(rows)]
        program = hlograph.emit_stablehlo(([data, indices, indptr, v, x], outputs))
        for found in (program.interpret(*arrays), program.compile()(*arrays)):
            for actual, wanted in zip(found, expected, strict=True):
                assert_same(actual, wanted)


def test_constants_that_do_not_fit():
    constant = ps.as_sparse_variable(scipy.sparse.random(5, 4, density=0.4, format="csr", random_state=1))
    with pytest.raises(ArgumentShapeError, match=r"4 == x_0.*operand of SparseDot"):
        hlograph.function([x], ps.dot(constant, x))(np.ones((5, 2)))
    places = pt.constant([0, 1, 9])
    with pytest.raises(ValueError, match="out of range"):
        hlograph.emit_stablehlo(([data], ps.dense_from_sparse(ps.CSR(data, places, [0, 1, 3], (2, 4)))))
