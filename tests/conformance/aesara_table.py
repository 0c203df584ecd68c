"""Which of Aesara's tests are left out or read in another way, with reasons; made for Aesara 2.9.4. See `table.py`."""

from table import AGREE, JAXPR, SIZES, Row

JAX = "tests/link/jax/"

TABLE = [
    Row(f"{JAX}test_basic.py::test_jax_FunctionGraph_once", "left out", JAXPR),
    Row(f"{JAX}test_random.py::test_random_custom_implementation", "left out", JAXPR),
    Row(f"{JAX}test_random.py::test_random_unimplemented", "left out", "a random variable without a sampler"),
    Row(f"{JAX}test_basic.py::test_jax_checkandraise", "beyond", "asserts that raise"),
    Row(f"{JAX}test_extra_ops.py::test_extra_ops", "partly", "`fill_diagonal_offset`, `unique` along an axis"),
    Row(f"{JAX}test_extra_ops.py::test_extra_ops_omni", "beyond", SIZES),
    Row(f"{JAX}test_extra_ops.py::test_unique_nonconcrete", "beyond", SIZES),
    Row(f"{JAX}test_nlinalg.py::test_jax_basic_multiout_omni", "beyond", "index of a maximum over all axes"),
    Row(f"{JAX}test_nlinalg.py::test_tensor_basics", "beyond", SIZES),
    Row(f"{JAX}test_scan.py::test_xit_xot_types", "beyond", "a loop of known length without a state"),
    Row(f"{JAX}test_scan.py::test_scan_SEIR", "beyond", "a loop with several states"),
    Row(f"{JAX}test_shape.py::test_jax_Reshape_shape_graph_input", "beyond", SIZES),
    Row(f"{JAX}test_subtensor.py::test_jax_Subtensor_dynamic", "beyond", SIZES),
    Row(f"{JAX}test_subtensor.py::test_jax_Subtensor_boolean_mask", "beyond", SIZES),
    Row(f"{JAX}test_random.py::test_random_concrete_shape_graph_input", "beyond", SIZES),
    Row(f"{JAX}test_tensor_basic.py::test_arange_nonconcrete", "beyond", SIZES),
    Row(f"{JAX}test_nlinalg.py::test_jax_BatchedDot", "words", AGREE),
]
