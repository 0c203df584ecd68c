"""One graph for each op class of `pytensor.sparse`, for `op_cases`.

Matrices are made in the graph of values and columns, one in each row, so that arguments and results are dense.
"""

import importlib
from collections.abc import Callable
from typing import Any

import pytensor.sparse as ps
import pytensor.tensor as pt


def matrix(data: Any, columns: Any, kind: str = "csr") -> Any:
    """A square sparse matrix with one value in each row (of a csr) or column."""
    size = data.shape[0]
    ends = pt.arange(size + 1, dtype="int32")
    return {"csr": ps.CSR, "csc": ps.CSC}[kind](data, columns.astype("int32"), ends, pt.stack([size, size]))


def dense(result: Any) -> Any:
    """A result as a dense one."""
    return ps.dense_from_sparse(result) if isinstance(result.type, ps.SparseTensorType) else result


def _of_one(function: Callable[..., Any], kind: str = "csr") -> Callable[..., Any]:
    return lambda data, columns, *others: dense(function(matrix(data, columns, kind), *others))


def _of_two(function: Callable[..., Any], kind: str = "csr") -> Callable[..., Any]:
    def graph(data: Any, columns: Any, more: Any, others: Any) -> Any:
        return dense(function(matrix(data, columns, kind), matrix(more, others, kind)))

    return graph


def _op(name: str) -> Any:
    for module in ("pytensor.sparse", "pytensor.sparse.basic", "pytensor.sparse.math", "pytensor.sparse.linalg"):
        found = getattr(importlib.import_module(module), name, None)
        if found is not None:
            return found
    raise AttributeError(name)


def _apply(name: str, *options: Any, **named: Any) -> Callable[..., Any]:
    return lambda *xs: _op(name)(*options, **named)(*xs)


def _gradient(loss: Callable[..., Any]) -> Callable[..., Any]:
    def graph(data: Any, *others: Any) -> Any:
        import pytensor

        return pytensor.grad((pt.cos(loss(data, *others)) * pt.arange(loss(data, *others).size).reshape(
            loss(data, *others).shape)).sum(), data)  # fmt: skip

    return graph


VALUES, COLUMNS = "normal", "index"
ONE, TWO = (VALUES, COLUMNS), (VALUES, COLUMNS, "large", "places")
GRAPHS: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "AddSparseDense": (_of_one(ps.add), (*ONE, "positive")),
    "AddSparseSparse": (_of_two(ps.add), TWO),
    "AddSparseSparseData": (lambda x, i, y: dense(_op("add_s_s_data")(matrix(x, i), matrix(y, i))), (*ONE, "large")),
    "CSM": (_of_one(lambda m: m), ONE),
    "CSMGrad": (_gradient(_of_one(lambda m: m)), ONE),
    "CSMProperties": (lambda x, i: ps.csm_properties(matrix(x, i))[0] * 2, ONE),
    "Cast": (_of_one(lambda m: ps.cast(m, "float32")), ONE),
    "ColScaleCSC": (_of_one(ps.col_scale, "csc"), (*ONE, "vector")),
    "ConstructSparseFromList": (
        lambda x, v, i: dense(_op("construct_sparse_from_list")(x, v, i)),
        ("positive", "general", "index"),
    ),
    "DenseFromSparse": (_of_one(ps.dense_from_sparse), ONE),
    "Diag": (_of_one(_op("diag"), "csc"), ONE),
    "Dot": (_of_one(ps.dot), (*ONE, "wide")),
    "EnsureSortedIndices": (_of_one(_op("ensure_sorted_indices")), ONE),
    "EqualSparseDense": (_of_one(lambda m, d: _op("equal_s_d")(m, d)), (*ONE, "positive")),
    "EqualSparseSparse": (_of_two(lambda m, k: _op("equal_s_s")(m, k)), TWO),
    "GetItem2Lists": (_of_one(lambda m, i, j: _op("GetItem2Lists")()(m, i, j)), (*ONE, "index", "places")),
    "GetItem2d": (_of_one(lambda m: m[1:3, 0:2]), ONE),
    "GetItemList": (_of_one(lambda m, i: _op("get_item_list")(m, i)), (*ONE, "places")),
    "GetItemScalar": (_of_one(lambda m: m[1, 2]), ONE),
    "GreaterEqualSparseDense": (_of_one(lambda m, d: _op("greater_equal_s_d")(m, d)), (*ONE, "positive")),
    "GreaterEqualSparseSparse": (_of_two(lambda m, k: _op("greater_equal_s_s")(m, k)), TWO),
    "GreaterThanSparseDense": (_of_one(lambda m, d: _op("greater_than_s_d")(m, d)), (*ONE, "positive")),
    "GreaterThanSparseSparse": (_of_two(lambda m, k: _op("greater_than_s_s")(m, k)), TWO),
    "HStack": (_of_two(lambda m, k: ps.hstack([m, k])), TWO),
    "LessEqualSparseDense": (_of_one(lambda m, d: _op("less_equal_s_d")(m, d)), (*ONE, "positive")),
    "LessEqualSparseSparse": (_of_two(lambda m, k: _op("less_equal_s_s")(m, k)), TWO),
    "LessThanSparseDense": (_of_one(lambda m, d: _op("less_than_s_d")(m, d)), (*ONE, "positive")),
    "LessThanSparseSparse": (_of_two(lambda m, k: _op("less_than_s_s")(m, k)), TWO),
    "MultiplySparseDense": (_of_one(lambda m, d: _op("mul_s_d")(m, d)), (*ONE, "positive")),
    "MultiplySparseDenseVector": (_of_one(lambda m, d: _op("mul_s_v")(m, d)), (*ONE, "vector")),
    "MultiplySparseSparse": (_of_two(lambda m, k: _op("mul_s_s")(m, k)), TWO),
    "NotEqualSparseDense": (_of_one(lambda m, d: _op("not_equal_s_d")(m, d)), (*ONE, "positive")),
    "NotEqualSparseSparse": (_of_two(lambda m, k: _op("not_equal_s_s")(m, k)), TWO),
    "Remove0": (_of_one(lambda m: _op("Remove0")()(m)), ONE),
    "RowScaleCSC": (_of_one(ps.row_scale, "csc"), (*ONE, "vector")),
    "SamplingDot": (lambda x, i, a, b: dense(_op("sampling_dot")(a, b, matrix(x, i))), (*ONE, "positive", "general")),
    "SpSum": (_of_one(lambda m: ps.sp_sum(m, axis=0)), ONE),
    "SparseBlockDiagonal": (_of_two(lambda m, k: _op("block_diag")(m, k)), TWO),
    "SparseFromDense": (lambda x: dense(ps.csr_from_dense(x)), ("positive",)),
    "StructuredAddSparseDenseVector": (_of_one(lambda m, d: _op("structured_add_s_v")(m, d), "csc"), (*ONE, "vector")),
    "StructuredDot": (_of_one(ps.structured_dot), (*ONE, "wide")),
    "Transpose": (_of_one(ps.transpose), ONE),
    "TrueDot": (_of_two(ps.true_dot), TWO),
    "Usmm": (
        lambda x, i, y, z: _op("usmm")(pt.constant(2.0), matrix(x, i, "csc"), y, z),
        (*ONE, "positive", "general"),
    ),
    "VStack": (_of_two(lambda m, k: ps.vstack([m, k])), TWO),
}
