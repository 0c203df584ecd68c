"""Sparse matrices as arguments and results: of functions, in the mode, in JAX's transformations, in files."""

import re
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytensor
import pytensor.sparse as ps
import pytensor.tensor as pt
import pytest
import scipy.sparse

import hlograph
import hlograph.pytensor
from hlograph.errors import ArgumentShapeError, ArgumentTypeError, GraphError, UnsupportedGraphError

KNOWN = scipy.sparse.random(5, 4, density=0.5, format="csr", random_state=0)
VECTOR = np.random.default_rng(0).normal(size=4)
W, x = ps.csr_matrix("W", dtype="float64"), pt.dvector("x")
DENSE, ROWS = KNOWN.toarray(), KNOWN.tocoo().row


@pytest.fixture(scope="module")
def form():
    """The square of a product's length."""
    return hlograph.function([W, x], (ps.dot(W, x) ** 2).sum())


@pytest.mark.parametrize("policy", ["exact", "padded"])
def test_arguments_and_results(policy):
    csc = ps.csc_matrix("C", dtype="float64")
    results = [ps.dot(W, x), W * 2.0, W + W, csc.T, ps.dot(csc.T, W)]
    fn = hlograph.function([W, csc, x], results, policy=policy)
    for known in (KNOWN, scipy.sparse.random(7, 4, density=0.3, format="csr", random_state=1)):
        found = fn(known, known.tocsc(), VECTOR)
        np.testing.assert_allclose(found[0], known @ VECTOR)
        assert [scipy.sparse.issparse(y) and y.format for y in found] == [False, "csr", "csr", "csr", False]
        for y, wanted in zip(found[1:], (known * 2, known * 2, known.T, known.T @ known), strict=True):
            y = y.toarray() if scipy.sparse.issparse(y) else y
            np.testing.assert_allclose(y, wanted.toarray())


def test_what_scipy_allows_for():
    fn = hlograph.function([W, x], [ps.dot(W, x), ps.csm_properties(W)[0]])
    longer = scipy.sparse.csr_matrix(KNOWN.shape)
    longer.data, longer.indices = np.append(KNOWN.data, 9.0), np.append(KNOWN.indices, 7).astype(np.int64)
    longer.indptr = KNOWN.indptr
    for known in (longer, scipy.sparse.csr_array(KNOWN)):
        product, data = fn(known, VECTOR)
        np.testing.assert_allclose(product, KNOWN @ VECTOR)
        np.testing.assert_array_equal(data, KNOWN.data)


def test_refusals(form):
    with pytest.raises(ArgumentTypeError, match="expected a sparse matrix in format csr, got csc"):
        form(KNOWN.tocsc(), VECTOR)
    with pytest.raises(ArgumentTypeError, match="expected a sparse matrix in format csr, got ndarray"):
        form(DENSE, VECTOR)
    with pytest.raises(ArgumentTypeError, match=r"expected 2 arguments \(W: float64 matrix in csr, x: float64"):
        form(KNOWN)
    with pytest.raises(ArgumentTypeError, match=r"W_data.*float32"):
        form(KNOWN.astype("float32"), VECTOR)
    with pytest.raises(ArgumentShapeError, match=r"W_columns = 3, x_0 = 4.*operand of SparseDot"):
        form(KNOWN[:, :3], VECTOR)
    sized = hlograph.function([typed := ps.csr_matrix("T", shape=(5, 4), dtype="float64"), x], ps.dot(typed, x))
    np.testing.assert_allclose(sized(KNOWN, VECTOR), KNOWN @ VECTOR)
    with pytest.raises(ArgumentShapeError, match="expected 4 columns, got 3"):
        sized(KNOWN[:, :3], VECTOR)
    with pytest.raises(ArgumentShapeError, match="T_indptr"):
        sized(KNOWN[:3], VECTOR)


@pytest.mark.parametrize(
    ("part", "value", "said"),
    [("indices", 4, "out of range"), ("indices", -1, "out of range"), ("indptr", 9, "indptr")],
)
def test_wrong_places_raise(form, part, value, said):
    wrong = KNOWN.copy()
    getattr(wrong, part)[1] = value
    with pytest.raises(ValueError, match=said):
        form(wrong, VECTOR)


def test_shapes_that_do_not_agree():
    csc = ps.csc_matrix("C", dtype="float64")
    fn = hlograph.function([W, csc], [ps.sp_sum(W * csc)])
    np.testing.assert_allclose(fn(KNOWN, KNOWN.tocsc()), (DENSE**2).sum())
    with pytest.raises(Exception, match="inconsistent shapes"):
        fn(KNOWN, scipy.sparse.csc_matrix((5, 3)))
    a, b = (ps.as_sparse_variable(scipy.sparse.csr_matrix(shape)) for shape in ((2, 3), (3, 2)))
    with pytest.raises(GraphError, match="inconsistent shapes"):
        hlograph.emit_stablehlo(([], [ps.sp_sum(a + b)]))


def test_parts_of_a_matrix_as_arguments():
    data, indices, indptr, shape = pt.dvector("d"), pt.ivector("i"), pt.ivector("p"), pt.ivector("s")
    made = ps.CSR(data, indices, indptr, shape)
    fn = hlograph.function([data, indices, indptr, shape, x], [ps.dot(made, x), ps.structured_exp(made)])
    product, sparse = fn(KNOWN.data, KNOWN.indices, KNOWN.indptr, np.array([5, 4], "int32"), VECTOR)
    np.testing.assert_allclose(product, KNOWN @ VECTOR)
    np.testing.assert_allclose(sparse.data, np.exp(KNOWN.data))
    with pytest.raises(ValueError, match="indices of a sparse matrix are out of range"):
        fn(KNOWN.data, KNOWN.indices + 1, KNOWN.indptr, np.array([5, 4], "int32"), VECTOR)


def parts(data):
    return hlograph.SparseParts(data, KNOWN.indices, KNOWN.indptr, KNOWN.shape)


def test_derivatives(form):
    by_data, by_vector = 2 * (KNOWN @ VECTOR)[ROWS] * VECTOR[KNOWN.indices], 2 * KNOWN.T @ (KNOWN @ VECTOR)
    with jax.enable_x64(True):
        found = jax.jit(jax.grad(lambda data, x: form(parts(data), x), argnums=(0, 1)))(KNOWN.data, VECTOR)
        np.testing.assert_allclose(found[0], by_data)
        np.testing.assert_allclose(found[1], by_vector)
        _, pushed = jax.jvp(lambda data: form(parts(data), VECTOR), [KNOWN.data], [np.ones_like(KNOWN.data)])
        np.testing.assert_allclose(pushed, by_data.sum())
        batch = np.stack([KNOWN.data, -2 * KNOWN.data]), np.stack([VECTOR, VECTOR])
        both = jax.vmap(lambda data, x: form(parts(data), x))(*batch)
        np.testing.assert_allclose(both, np.array([1, 4]) * ((KNOWN @ VECTOR) ** 2).sum())


def test_jax_matrices(form):
    from jax.experimental.sparse import BCSR

    with jax.enable_x64(True):
        given = BCSR.from_scipy_sparse(KNOWN)
        np.testing.assert_allclose(jax.jit(form)(given, VECTOR), ((KNOWN @ VECTOR) ** 2).sum())
        fn = hlograph.function([W], W * 2.0)
        found = jax.jit(lambda data: fn(parts(data)).data.sum())(KNOWN.data)
        np.testing.assert_allclose(found, 2 * KNOWN.sum())
        inlined = hlograph.jit(lambda data: jnp.sin(form(parts(data), VECTOR)))
        np.testing.assert_allclose(inlined(KNOWN.data), np.sin(((KNOWN @ VECTOR) ** 2).sum()))


@pytest.mark.parametrize(
    "build", [lambda W: ps.sp_sum(ps.structured_exp(W + W)), lambda W: (ps.dot(W, W.T) ** 2).sum()]
)
def test_derivatives_where_places_are_computed(build):
    fn = hlograph.function([W], build(W))
    at = lambda data: scipy.sparse.csr_matrix((data, KNOWN.indices, KNOWN.indptr), KNOWN.shape)  # noqa: E731
    with jax.enable_x64(True):
        step = 1e-6 * np.random.default_rng(1).normal(size=KNOWN.nnz)
        ends = [float(fn(at(KNOWN.data + sign * step))) for sign in (1, -1)]
        slope = jax.grad(lambda data: fn(parts(data)))(KNOWN.data)
        np.testing.assert_allclose(np.dot(slope, step), (ends[0] - ends[1]) / 2, rtol=1e-6)


def test_mode():
    shared, total = pytensor.shared(KNOWN, name="shared"), pytensor.shared(np.zeros(5), name="total")
    fn = pytensor.function(
        [W, x],
        [ps.dot(shared, x), W * 3.0, ps.sp_sum(W)],
        updates={shared: shared * 2.0, total: total + ps.dot(W, x)},
        mode="STABLEHLO",
    )
    for number in (1, 2):
        product, tripled, whole = fn(KNOWN, x=VECTOR)
        np.testing.assert_allclose(product, number * KNOWN @ VECTOR)
        np.testing.assert_allclose(total.get_value(), number * KNOWN @ VECTOR)
        np.testing.assert_allclose(tripled.toarray(), 3 * DENSE)
        np.testing.assert_allclose(whole, KNOWN.sum())
    assert shared.get_value().format == "csr"
    shared.set_value(KNOWN[:3])
    np.testing.assert_allclose(fn(KNOWN, VECTOR)[0], KNOWN[:3] @ VECTOR)
    alone = hlograph.function([x], ps.dot(shared, x))
    np.testing.assert_allclose(alone(VECTOR), 2 * KNOWN[:3] @ VECTOR)


def test_files_and_the_interpreter(tmp_path, form):
    path = form.program.save(tmp_path / "form.mlir")
    assert 'hlograph.sparse = ["W", "csr", "data"]' in path.read_text()
    loaded = hlograph.load(path)
    wanted = ((KNOWN @ VECTOR) ** 2).sum()
    np.testing.assert_allclose(loaded.compile()(KNOWN, VECTOR), wanted)
    arrays = KNOWN.data, KNOWN.indices, KNOWN.indptr, np.empty((4, 0), "int8"), VECTOR
    np.testing.assert_allclose(loaded.interpret(*arrays)[0], wanted)
    assert form.lower(KNOWN, VECTOR).stages


def test_the_page():
    page = (Path(__file__).resolve().parents[3] / "docs" / "how-to" / "sparse.md").read_text()
    found: dict[str, Any] = {}
    exec(re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0], found)
    known = found["known"]
    np.testing.assert_allclose(found["form"], known.sum())
    np.testing.assert_allclose(found["product"].toarray(), known.multiply(known.T).toarray())


def test_inner_graphs():
    constant = ps.as_sparse_variable(scipy.sparse.csr_matrix(DENSE[:4]))
    steps = pytensor.scan(lambda state: ps.dot(constant, state), outputs_info=[x], n_steps=3, return_updates=False)
    np.testing.assert_allclose(hlograph.function([x], steps[-1])(VECTOR), np.linalg.matrix_power(DENSE[:4], 3) @ VECTOR)
    data = pt.dvector("data")
    made = [pt.constant(part) for part in (constant.data.indices, constant.data.indptr)]
    inside = pytensor.scan(
        lambda state, data: ps.dot(ps.CSR(data, *made, np.array([4, 4])), state),
        outputs_info=[x],
        non_sequences=[data],
        n_steps=3,
        return_updates=False,
    )
    found = hlograph.function([data, x], inside[-1])(constant.data.data, VECTOR)
    np.testing.assert_allclose(found, np.linalg.matrix_power(DENSE[:4], 3) @ VECTOR)
    square = ps.csr_matrix("square", dtype="float64")
    refused = pytensor.scan(
        lambda state, W: ps.dot(W, state), outputs_info=[x], non_sequences=[square], n_steps=3, return_updates=False
    )
    with pytest.raises(UnsupportedGraphError, match="takes or gives sparse matrices"):
        hlograph.emit_stablehlo(([square, x], refused[-1]))
