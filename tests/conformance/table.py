"""Which of PyTensor's tests are left out or read in another way, with reasons; made for PyTensor 3.3.

The first pattern that a test matches counts. What is in no row is run as it stands.

    left out    the test is about something else than what a mode computes
    known       it does not pass, for a reason that is known: it counts, and its reason is shown
    beyond      it says that JAX cannot do something, and nothing else: counted apart, done or not
    partly      it says so among other things: each such block may raise or not
    words       an error of ours may be of another class, and says it in other words
    default     it uses the default mode by oversight, and is run with ours as the default
"""

import fnmatch
import importlib
from typing import NamedTuple


class Row(NamedTuple):
    """Tests that match a pattern, and how they are read."""

    pattern: str
    kind: str
    reason: str


JAX, SCAN, SPARSE = "tests/link/jax/", "tests/scan/test_basic.py::", "tests/sparse/"
MATH, LINALG, DECOMPOSITION = (
    f"tests/tensor/{name}" for name in ("test_math.py::", "linalg/", "linalg/test_decomposition/")
)
SCHUR = f"{DECOMPOSITION}test_schur.py::TestSchur::test_schur_decomposition"
BASIC, ELEMWISE, SHAPE, SUBTENSOR = (
    f"tests/tensor/test_{name}.py::" for name in ("basic", "elemwise", "shape", "subtensor")
)
IFELSE, GRADIENT, BLOCKWISE = (
    "tests/test_ifelse.py::TestIfelse::",
    "tests/test_gradient.py::",
    "tests/tensor/test_blockwise.py::",
)
DRAWS = "compares with NumPy's own draws; ours are JAX's, from a key"
NODES = "looks at what PyTensor's rewriting has left of the graph, which the mode does not run"
JAXPR = "looks into JAX's own function or registry"
SIZES = "sizes that are known at run time"
INSIDE = "asserts that an argument's memory is overwritten, or which op is in place"
AGREE = "sizes that do not agree"
LIBRARY = "no library that JAX calls has it"
NAN = "NaN where LAPACK fails (docs/reference/limits.md)"
AT_CALL = "an axis of open size that is 1 at the call is not stretched"
OWN = "an op of the test's own, which is Python"
SUBNORMAL = "subnormal numbers flush to zero (docs/reference/limits.md)"
OTHER = "made for another release of PyTensor"
GONE = "names that PyTensor no longer has, in every mode"

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
    # math
    Row(f"{MATH}TestNegBroadcast::test_bad_compile", "left out", "the negative of unsigned integers, which NumPy has"),
    Row(f"{MATH}test_log1mexp_grad_lim", "known", SUBNORMAL),
    Row(f"{DECOMPOSITION}test_cholesky.py::test_cholesky_indef", "known", "NaN in a triangle (reference/limits.md)"),
    Row(f"{DECOMPOSITION}test_cholesky.py::test_cholesky_infer_shape", "left out", NODES),
    Row(f"{DECOMPOSITION}test_eigen.py::*::test_infer_shape", "left out", NODES),
    Row(f"{DECOMPOSITION}test_svd.py::TestSvd::test_svd_infer_shape", "left out", NODES),
    Row(f"{DECOMPOSITION}test_qr.py::test_qr_grad*mode=full*", "words", AGREE),
    Row(f"{SCHUR}[[]real-not_batched_real]", "left out", INSIDE),
    Row(f"{SCHUR}[[]complex-not_batched_complex]", "left out", INSIDE),
    Row(f"{LINALG}test_doc_api.py::*", "left out", "reads PyTensor's documentation"),
    Row(f"{LINALG}test_inverse.py::TestMatrixInverse::test_infer_shape", "left out", NODES),
    Row(f"{LINALG}test_inverse.py::test_inverse_singular", "known", NAN),
    Row(f"{LINALG}test_solvers/*::test_infer_shape*", "left out", NODES),
    Row(f"{LINALG}test_solvers/test_lstsq.py::TestLstsq::test_wrong_*", "known", "refused when it is compiled"),
    # tensor
    Row(f"{BASIC}TestAlloc::test_alloc_constant_folding[[]<lambda>-1_*", "left out", NODES),
    Row(f"{BASIC}TestNonzero::test_*nonzero*", "known", f"its data are whatever memory holds: {SUBNORMAL}"),
    Row(f"{BASIC}test_identity", "left out", NODES),
    Row(f"{BASIC}TestJoinAndSplit::test_infer_shape_join", "left out", NODES),
    Row(f"{BASIC}TestExtractDiag::test_infer_shape*", "left out", NODES),
    Row(f"{BASIC}TestARange::test_infer_shape*", "left out", NODES),
    Row(f"{BASIC}TestChoose::test_numpy_compare_tuple[[]test_input0]", "known", AT_CALL),
    Row(f"{ELEMWISE}test_gradient_mixed_discrete_output_scalar_op", "known", OWN),
    Row(f"{ELEMWISE}TestAddInplaceBroadcast::test_good", "left out", INSIDE),
    Row(f"{ELEMWISE}test_XOR_inplace", "left out", INSIDE),
    Row(f"{SHAPE}TestReshape::test_basics", "left out", NODES),
    Row(f"{SHAPE}TestVectorize::test_reshape", "known", "a shape for each element of a batch"),
    Row(f"{SUBTENSOR}TestSubtensor::test_ellipsis[[]0-Subtensor-slice_0]", "left out", NODES),
    Row(f"{SUBTENSOR}TestSubtensor::test_ellipsis[[]3-AdvancedSubtensor-slice_8]", "left out", NODES),
    Row(f"{SUBTENSOR}TestSubtensor::test_grad_0d", "left out", NODES),
    Row(f"{SUBTENSOR}TestSubtensor::test_adv_sub1_broadcast", "left out", NODES),
    Row(f"{SUBTENSOR}TestSubtensor::test_shape_i_scalar", "left out", NODES),
    Row(f"{SUBTENSOR}TestSubtensor::test_shape_list", "left out", NODES),
    Row(f"{SUBTENSOR}TestSubtensor::test_advanced1_inc_runtime_broadcast*", "words", AGREE),
    Row(f"{SUBTENSOR}TestAdvancedSubtensor::test_index_w_int_and_vec", "left out", NODES),
    Row(f"{SUBTENSOR}TestInferShape::test_IncSubtensor", "known", AT_CALL),
    Row(f"{SUBTENSOR}TestInferShape::test_AdvancedSubtensor_bool", "known", AT_CALL),
    # more
    Row(
        "tests/tensor/test_extra_ops.py::TestSearchsortedOp::test_searchsortedOp_on_right_side",
        "left out",
        "searches in what is not sorted",
    ),
    Row(f"{BLOCKWISE}TestInplace::test_[cs]*", "left out", INSIDE),
    Row(f"{BLOCKWISE}test_gradient_mixed_discrete_output_core_op", "known", OWN),
    Row(f"{BLOCKWISE}test_blockwise_infer_core_shape", "known", OWN),
    Row(f"{BLOCKWISE}test_infer_shape_literals", "known", OWN),
    Row(f"{BLOCKWISE}test_perform_method_per_node", "known", OWN),
    Row(f"{BLOCKWISE}test_blockwise_shape", "known", OWN),
    Row("tests/tensor/test_sort.py::TestSort::test_invalid_axis_dtype", "left out", OTHER),
    Row("tests/tensor/test_sort.py::TestSort::test[245]", "left out", OTHER),
    Row("tests/tensor/test_sort.py::test_argsort", "left out", OTHER),
    Row("tests/tensor/test_einsum.py::test_general_dot", "left out", NODES),
    Row("tests/tensor/test_einsum.py::test_einsum_signatures[[]ik,kj->ikj-*", "left out", NODES),
    Row("tests/tensor/test_einsum.py::test_einsum_signatures[[]oij,imj,mjkn,lnk,plk->op-*", "left out", NODES),
    Row(f"{IFELSE}test_lazy_if", "left out", INSIDE),
    Row(f"{IFELSE}test_mixed_dtype", "left out", INSIDE),
    Row(f"{IFELSE}test_grad_lazy_if", "left out", INSIDE),
    Row(f"{IFELSE}test_multiple_out", "left out", INSIDE),
    Row(f"{IFELSE}test_multiple_out_crash", "left out", INSIDE),
    Row(f"{IFELSE}test_lazy_if_on_generics", "known", "values that are no tensors"),
    Row(f"{GRADIENT}*::test_op_removed", "left out", NODES),
    Row(f"{GRADIENT}test_grad_clip", "left out", NODES),
    Row(f"{GRADIENT}test_grad_scale", "left out", NODES),
    Row("tests/test_raise_op.py::test_CheckAndRaise_sparse_variable", "known", "sparse matrices"),
    Row(f"{SPARSE}test_basic.py::TestVerifyGradSparse::test_grad_fail", "left out", "an op of its own, in Python"),
    Row(f"{SPARSE}test_basic.py::test_shape", "left out", NODES),
    Row(f"{SPARSE}test_basic.py::TestRemove0::test_remove0", "left out", NODES),
    Row(f"{SPARSE}test_math.py::TestDots::test_sparse_sparse", "left out", NODES),
    Row(f"{SPARSE}test_math.py::TestUsmm::test_infer_shape*", "left out", NODES),
    Row(f"{SPARSE}test_math.py::TestAddSSData::*", "left out", GONE),
    Row(f"{SPARSE}test_rewriting.py::test_local_mul_s_[dv]", "left out", GONE),
    Row(f"{SPARSE}test_rewriting.py::test_local_structured_add_s_v", "left out", GONE),
]


def row_of(name: str, library: str = "pytensor") -> Row:
    """How a test of a library is read, by its pytest id."""
    table = TABLE if library == "pytensor" else importlib.import_module(f"{library}_table").TABLE
    for row in table:
        if fnmatch.fnmatchcase(name, row.pattern):
            return row
    return Row(name, "", "")
