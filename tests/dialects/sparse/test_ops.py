"""Every op on sparse matrices, with runtime places: sorted ones, and unsorted ones with duplicates.

Expected values are PyTensor's own, from each op's Python.
"""

import copy
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytensor
import pytensor.sparse as ps
import pytensor.sparse.basic as basic
import pytensor.sparse.math as math
import pytensor.tensor as pt
import pytest
import scipy.sparse
from pytensor.compile.mode import Mode
from pytensor.sparse.linalg import block_diag
from support import assert_same

import hlograph
from hlograph.codegen.sparse_parts import grouped, joined, split
from hlograph.errors import ArgumentShapeError

RANDOM = np.random.default_rng(0)
FORMATS = ["csr", "csc"]
v, u, s = pt.dvector("v"), pt.dvector("u"), pt.dscalar("s")
M, k = pt.dmatrix("M"), pt.dmatrix("k")
i, rows, columns = pt.lscalar("i"), pt.lvector("rows"), pt.lvector("columns")
VALUES = {v: RANDOM.normal(size=4), u: RANDOM.normal(size=5), s: 1.5, i: 2}
VALUES |= {M: RANDOM.normal(size=(5, 4)), k: RANDOM.normal(size=(4, 3)) * (RANDOM.random((4, 3)) < 0.6)}
VALUES |= {rows: np.array([3, 0, -1]), columns: np.array([0, 1, -2])}


def matrix(form: str, size: int = 5, columns: int = 4, seed: int = 1, messy: bool = False) -> Any:
    """A random matrix; a messy one has unsorted indices, two values at some places, and a zero."""
    found = scipy.sparse.random(size, columns, density=0.4, format=form, random_state=seed)
    if not messy:
        return found
    places = found.tocoo()
    row, column = np.append(places.row, places.row[::2]), np.append(places.col, places.col[::2])
    data = np.append(places.data, 0.5 * places.data[::2])
    data[1] = 0.0
    major, minor = (row, column) if form == "csr" else (column, row)
    order = np.lexsort((-minor, major))
    starts = np.append(0, np.cumsum(np.bincount(major, minlength=size if form == "csr" else columns)))
    kind = getattr(scipy.sparse, f"{form}_matrix")
    return kind((data[order], minor[order].astype("int32"), starts.astype("int32")), shape=(size, columns))


# From matrices X and Y (5 by 4), Q (4 by 4) and Z (X's transpose's format, 5 by 4) to results.
CASES: dict[str, Callable[..., list[Any]]] = {
    "products": lambda X, Y, Q, Z: [ps.dot(X, v), ps.dot(u, X), ps.dot(X, k), ps.dot(k.T, X.T), ps.dot(X.T, M)],
    "sparse_products": lambda X, Y, Q, Z: [ps.dot(X, Y.T), ps.structured_dot(X, Y.T), ps.true_dot(X, Z.T)],
    "sparse_product_with_dense": lambda X, Y, Q, Z: [ps.true_dot(X, k)],
    "sums": lambda X, Y, Q, Z: [X + Y, X - Y, X - X, X + Z, math.add_s_s_data(X, X)],
    "elementwise_products": lambda X, Y, Q, Z: [X * Y, X * Z, X * M, X * s],
    "vectors": lambda X, Y, Q, Z: [math.mul_s_v(X, v), math.structured_add_s_v(X, v)],
    "dense": lambda X, Y, Q, Z: [X + M, ps.dense_from_sparse(X), ps.dense_from_sparse(X.T) * 2],
    "comparisons": lambda X, Y, Q, Z: [f(X, Y) for f in (math.eq, math.neq, math.lt, math.gt, math.le, math.ge)],
    "comparisons_with_dense": lambda X, Y, Q, Z: [
        *[f(X, M) for f in (math.eq, math.neq, math.lt, math.gt, math.le, math.ge)],
        math.lt(M, X),
    ],
    "scaled": lambda X, Y, Q, Z: [ps.col_scale(X, v), ps.row_scale(X, u)],
    "totals": lambda X, Y, Q, Z: [ps.sp_sum(X), ps.sp_sum(X, 0), ps.sp_sum(X, 1)],
    "same_places": lambda X, Y, Q, Z: [X.T, -X, basic.sp_ones_like(X), basic.sp_zeros_like(X)],
    "casts": lambda X, Y, Q, Z: [X.astype("float32"), basic.cast(X * 3.0, "int32")],
    "structured": lambda X, Y, Q, Z: [
        *[f(X) for f in (ps.structured_exp, ps.structured_sigmoid, math.sqrt, math.sin)],
        *[f(X, 0.3) for f in (ps.structured_pow, ps.structured_minimum, ps.structured_maximum, ps.structured_add)],
    ],
    "diagonals": lambda X, Y, Q, Z: [ps.diag(Q), ps.square_diagonal(v)],
    "cleaned": lambda X, Y, Q, Z: [basic.ensure_sorted_indices(X), basic.remove0(X), ps.clean(X)],
    "slices": lambda X, Y, Q, Z: [X[1:3], X[:1], X[:, 1:3], X[::2, ::-1], X[4:0:-2, 1:], X[0:0], X[i:], X[:, :i]],
    "elements": lambda X, Y, Q, Z: [X[1, 2], X[-1, 0], basic.get_item_scalar(X, [i, i])],
    "rows": lambda X, Y, Q, Z: [basic.get_item_list(X, rows), X[[0, 0, -1]]],
    "lists": lambda X, Y, Q, Z: [basic.get_item_2lists(X, rows, columns)],
    "stacks": lambda X, Y, Q, Z: [
        *[ps.hstack([X, Z], format=form) for form in FORMATS],
        *[ps.vstack([X, Q], format=form, dtype="float32") for form in FORMATS],
    ],
    "block_diagonal": lambda X, Y, Q, Z: [block_diag(X, Z, format="csr"), block_diag(X, M, format="csc")],
    "from_dense": lambda X, Y, Q, Z: [ps.csr_from_dense(k), ps.csc_from_dense(k)],
    "parts": lambda X, Y, Q, Z: [*ps.csm_properties(X), X.shape],
    "usmm": lambda X, Y, Q, Z: [math.usmm(s.reshape((1, 1)), X, k, pt.dot(M, k)), math.usmm(s, M.T, X, Q.toarray())],
    "sampling": lambda X, Y, Q, Z: [ps.sampling_dot(pt.dot(M, k), k, X)],
    "from_list": lambda X, Y, Q, Z: [ps.construct_sparse_from_list(M, k.T, pt.as_tensor([4, 0, 2]))],
    "gradients_of_products": lambda X, Y, Q, Z: pytensor.grad((ps.structured_dot(X, k) ** 2).sum(), [X, k]),
    "gradients_of_sums": lambda X, Y, Q, Z: [
        *[pytensor.grad((ps.sp_sum(X, axis=axis, sparse_grad=True) ** 2).sum(), X) for axis in (None, 0, 1)],
        *[pytensor.grad((ps.sp_sum(X, axis=axis) ** 2).sum(), X) for axis in (0, 1)],
        *pytensor.grad(ps.sp_sum(X * M, sparse_grad=True), [X, M]),
        *pytensor.grad(ps.sp_sum(X * Y, sparse_grad=True), [X, Y]),
    ],
    "gradients_of_items": lambda X, Y, Q, Z: [
        pytensor.grad(ps.sp_sum(math.sqr(basic.get_item_list(X, rows)), sparse_grad=True), X),
        pytensor.grad((basic.get_item_2lists(X, rows, columns) ** 2).sum(), X),
        pytensor.grad((ps.diag(Q) ** 2).sum(), Q),
    ],
    "gradients_of_stacks": lambda X, Y, Q, Z: [
        pytensor.grad(ps.sp_sum(math.sqr(ps.hstack([X, Z])), sparse_grad=True), X),
        pytensor.grad((ps.add(X, M) ** 2).sum(), X),
        pytensor.grad(ps.sp_sum(math.sqr(X + Y), sparse_grad=True), Y),
        *pytensor.grad(ps.sp_sum(ps.col_scale(X, v), sparse_grad=True), [X, v]),
    ],
}
# What SciPy adds up in passing, and is kept as it is here: the same numbers, at more places.
MORE_PLACES = {"casts", "vectors", "stacks", "block_diagonal", "sampling"}
# PyTensor's gradient counts the values of duplicates twice.
NOT_MESSY = {"gradients_of_products", "gradients_of_sums", "gradients_of_items", "gradients_of_stacks"}


@pytest.mark.sampled(16)
@pytest.mark.parametrize("messy", [False, True])
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("case", CASES)
def test_op(case, form, messy):
    if messy and case in NOT_MESSY:
        pytest.skip("PyTensor's gradient counts duplicates twice")
    other = FORMATS[1 - FORMATS.index(form)]
    X, Y, Q = (ps.matrix(form, name, dtype="float64") for name in "XYQ")
    Z = ps.matrix(other, "Z", dtype="float64")
    known = {X: matrix(form, messy=messy), Y: matrix(form, seed=2, messy=messy), Q: matrix(form, 4, 4, 3, messy)}
    known |= {Z: matrix(other, seed=5, messy=messy), **VALUES}
    check(CASES[case](X, Y, Q, Z), known, places=not (messy and case in MORE_PLACES))


@pytest.mark.sampled(16)
@pytest.mark.parametrize("case", [case for case in CASES if case not in NOT_MESSY])
def test_op_on_constants(case):
    X, Y, Q = matrix("csr"), matrix("csr", seed=2), matrix("csr", 4, 4, 3)
    constants = [ps.as_sparse_variable(x) for x in (X, Y, Q, matrix("csc", seed=5))]
    check(CASES[case](*constants), VALUES)


@pytest.mark.parametrize("form", FORMATS)
def test_op_on_empty_matrices(form):
    X, Y = (ps.matrix(form, name, dtype="float64") for name in "XY")
    nothing = getattr(scipy.sparse, f"{form}_matrix")((3, 4))
    results = [X + Y, X * Y, X.T, ps.dot(X, v), ps.dot(X, Y.T), ps.structured_dot(X, Y.T), ps.sp_sum(X, 0), X[1:]]
    results += [ps.vstack([X, Y]), basic.get_item_2lists(X, rows, columns), basic.remove0(X)]
    check(results, {X: nothing, Y: nothing, v: VALUES[v], rows: np.array([2]), columns: np.array([3])})


def check(outputs: list[Any], known: dict[Any, Any], *, places: bool = True) -> None:
    """Compares the interpreter's results with PyTensor's."""
    inputs = [x for x in pytensor.graph.traversal.graph_inputs(outputs) if x in known]
    values = [known[x] for x in dict.fromkeys(inputs)]
    inputs = list(dict.fromkeys(inputs))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = pytensor.function(inputs, outputs, mode=Mode("py", None))(*copy.deepcopy(values))
    program = hlograph.emit_stablehlo((inputs, outputs))
    arrays = split(grouped(program.signature.arguments), values)
    arrays = [np.asarray(x, a.dtype) for x, a in zip(arrays, program.signature.arguments, strict=True)]
    found = joined(grouped(program.signature.results), program.interpret(*arrays), lambda x: True)
    for variable, a, b in zip(outputs, wanted, found, strict=True):
        assert type(a) is type(b) or not scipy.sparse.issparse(a)
        if scipy.sparse.issparse(a) and places:
            assert a.nnz == b.nnz
        a, b = (x.toarray() if scipy.sparse.issparse(x) else np.asarray(x) for x in (a, b))
        assert b.dtype == variable.type.dtype
        np.testing.assert_allclose(b, a, rtol=1e-6, atol=1e-12)


data, indices, indptr = pt.dvector("data"), pt.ivector("indices"), pt.ivector("indptr")
x = pt.dmatrix("x")


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
