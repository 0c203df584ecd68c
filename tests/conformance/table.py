"""Which of PyTensor's tests are left out or read in another way, with reasons; made for PyTensor 3.3.

The first pattern that a test matches counts. What is in no row is run as it stands.

    left out    the test is about something else than what a mode computes
    beyond      it says that JAX cannot do something, and nothing else: counted apart, done or not
    partly      it says so among other things: each such block may raise or not
    words       an error of ours may be of another class, and says it in other words
    default     it uses the default mode by oversight, and is run with ours as the default
"""

from __future__ import annotations

import fnmatch
from typing import NamedTuple


class Row(NamedTuple):
    """Tests that match a pattern, and how they are read."""

    pattern: str
    kind: str
    reason: str


JAX, SCAN = "tests/link/jax/", "tests/scan/test_basic.py::"
DRAWS = "compares with NumPy's own draws; ours are JAX's, from a key"
NODES = "looks at what PyTensor's rewriting has left of the graph, which the mode does not run"
JAXPR = "looks into JAX's own function or registry"
SIZES = "sizes that are known at run time"

TABLE = [
    Row(f"{JAX}test_basic.py::test_jax_FunctionGraph_once", "left out", JAXPR),
    Row(f"{JAX}test_scalar.py::test_second_constant_scalar", "left out", JAXPR),
    Row(f"{JAX}test_blockwise.py::test_matmul*", "left out", JAXPR),
    Row(f"{JAX}test_random.py::test_random_custom_implementation", "left out", JAXPR),
    Row(f"{JAX}test_scan.py::test_dynamic_sequence_length", "left out", JAXPR),
    Row(f"{JAX}linalg/test_solvers.py::test_jax_solve_sylvester", "left out", JAXPR),
    Row(f"{JAX}linalg/test_solvers.py::test_bilinear_to_direct_rewrite", "left out", JAXPR),
    Row(f"{JAX}test_extra_ops.py::test_bartlett_dynamic_shape", "left out", "its graph lacks an input, in every mode"),
    Row(f"{JAX}test_extra_ops.py::test_ravel_multi_index_dynamic_shape", "left out", "its graph lacks inputs"),
    Row(f"{JAX}test_subtensor.py::test_boolean_indexing_*_not_applicable", "left out", "compiles nothing"),
    Row(f"{JAX}linalg/test_inverse.py::test_pinv_hermitian", "left out", "the answer of one library to invalid input"),
    Row(f"{JAX}test_random.py::test_mvnormal_cov_decomposition_method[[]cholesky-False]", "left out", "as before"),
    Row(f"{JAX}test_random.py::test_random_unimplemented", "left out", "a random variable without a sampler"),
    Row(f"{JAX}test_tensor_basic.py::test_*_nonconcrete", "beyond", SIZES),
    Row(f"{JAX}test_tensor_basic.py::TestJaxSplit::test_jax_split_not_supported", "beyond", SIZES),
    Row(f"{JAX}test_subtensor.py::test_jax_Subtensor_dynamic*", "beyond", SIZES),
    Row(f"{JAX}test_extra_ops.py::test_unique_dynamic_shape", "beyond", SIZES),
    Row(f"{JAX}test_random.py::TestRandomShapeInputs::test_random_*_not_supported*", "beyond", SIZES),
    Row(f"{JAX}test_random.py::TestRandomShapeInputs::test_random_vector_shape_graph_input", "beyond", SIZES),
    Row(f"{JAX}test_scan.py::test_scan_while", "beyond", "a loop that ends by a condition"),
    Row(f"{JAX}test_sparse.py::test_sparse_dot_non_const_raises", "beyond", "sparse inputs"),
    Row(f"{JAX}test_basic.py::test_jax_checkandraise", "beyond", "asserts that raise"),
    Row(f"{JAX}linalg/test_decomposition.py::test_jax_lu[[]*p_indices]", "beyond", "`lu(p_indices=True)`"),
    Row(f"{JAX}linalg/test_decomposition.py::test_jax_eigvalsh*", "partly", "generalized eigenvalues"),
    Row(f"{JAX}test_extra_ops.py::test_extra_ops", "partly", "`fill_diagonal_offset`, `unique` along an axis"),
    Row(f"{JAX}test_random.py::TestRandomShapeInputs::test_constant_shape_after_graph_rewriting", "partly", SIZES),
    Row(f"{JAX}test_random.py::test_size_implied_by_broadcasted_parameters*", "default", "`rv.eval()`"),
    Row(f"{JAX}test_blas.py::test_jax_BatchedDot", "words", "sizes that do not agree"),
    Row(f"{JAX}*runtime_broadcast*", "words", "sizes that do not agree"),
    Row(f"{JAX}test_tensor_basic.py::TestJaxSplit::test_runtime_errors", "words", "sizes that do not agree"),
    Row(f"{SCAN}TestScan::test_simple_shared_random", "left out", DRAWS),
    Row(f"{SCAN}TestExamples::test_gibbs_chain", "left out", DRAWS),
    Row(f"{SCAN}test_rng_outputs_info", "left out", DRAWS),
    Row(f"{SCAN}TestScan::test_hash_equality_after_inner_optimization", "left out", NODES),
    Row(f"{SCAN}TestScan::test_infer_shape_nsteps_smaller_seq_length", "left out", NODES),
    Row(f"{SCAN}TestExamples::test_aliased_inner_outputs*", "left out", NODES),
    Row(f"{SCAN}TestExamples::test_infer_shape_remove_stuff", "left out", NODES),
]


def row_of(name: str) -> Row:
    """How a test is read, by its pytest id."""
    for row in TABLE:
        if fnmatch.fnmatchcase(name, row.pattern):
            return row
    return Row(name, "", "")
