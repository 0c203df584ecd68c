"""JAX's decompositions with named sizes: the builder's forms of them, in the interpreter and with LAPACK on CPU.

That the forms are right, for all matrices there are, is tested where PyTensor's ops have them
(tests/dialects/tensor/test_factorizations.py). Expected values are those of `jax.jit`; what is unique up to signs or
phases is compared as what it makes up.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax_factors import CASES, SQUARE, check, eigh, matrix

import hlograph
from hlograph.errors import HlographError, UnsupportedGraphError


@pytest.mark.sampled(13)
@pytest.mark.parametrize("batch", [(), (3,)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("name", CASES)
def test_in_the_interpreter_and_with_lapack(name: str, dtype: str, batch: tuple[int, ...]) -> None:
    function, shapes, hermitian = CASES[name]
    dims = ("n", "n") if shapes is SQUARE else ("m", "n")
    with jax.enable_x64(True):
        program = hlograph.emit_stablehlo(function, jax.ShapeDtypeStruct((*batch, *dims), dtype))
    assert "custom_call" not in program.text
    exact, padded = program.compile(policy="exact"), program.compile(policy="padded")
    for shape in shapes:
        a = matrix((*batch, *shape), dtype, hermitian)
        with jax.enable_x64(True):
            wanted = jax.jit(function)(a)
        for found in (program.interpret(a), exact(a), padded(a)):
            check(found, wanted, a)
    platform = program.specialize({root.name: 3 for root in program.signature.roots}).optimize(["device_linalg"])
    assert "lapack_" in platform.text


def test_in_loops_and_derivatives() -> None:
    """A call in a loop and one before it have one function; the gradient of a sum of cubes is 3 times the square."""

    def function(a: Any) -> Any:
        start = eigh(a)[1]
        turned = jax.lax.fori_loop(0, 2, lambda i, x: eigh(x)[1], start)
        return turned, jax.grad(lambda x: (jnp.linalg.eigh(x)[0] ** 3).sum())(a)

    program = hlograph.emit_stablehlo(function, jax.ShapeDtypeStruct(("n", "n"), "float32"))
    run = program.compile(policy="padded")
    for n in (1, 4):
        a = matrix((n, n), "float32", True)
        for found in (program.interpret(a), run(a)):
            check(found, (a, 3 * a @ a), a)


def test_what_is_decided_of_sizes_is_demanded() -> None:
    """`pinv` asks which side is longer, which a constraint says."""
    spec = jax.ShapeDtypeStruct(("m", "n"), "float32")
    program = hlograph.emit_stablehlo(jnp.linalg.pinv, spec, constraints=["m >= n"])
    compiled = program.plain(bounds={"m": 7, "n": 4})
    assert "custom_call" not in compiled.text
    a = matrix((5, 2), "float32")
    np.testing.assert_allclose(program.interpret(a)[0], np.linalg.pinv(a), atol=1e-5)


@pytest.mark.parametrize(
    ("function", "word"), [(jnp.linalg.eig, "geev"), (jax.scipy.linalg.schur, "gees"), (jax.scipy.linalg.sqrtm, "gees")]
)
def test_what_has_no_form_is_refused_by_name(function: Callable[..., Any], word: str) -> None:
    program = hlograph.emit_stablehlo(function, jax.ShapeDtypeStruct(("n", "n"), "float32"))
    with pytest.raises(HlographError, match=word):
        program.plain(bounds={"n": 4})
    with pytest.raises(UnsupportedGraphError, match=word):
        program.plain(sizes={"n": 4})


def test_some_of_the_values_are_refused() -> None:
    def function(a: Any) -> Any:
        return jax.lax.linalg.svd(a, full_matrices=False, subset_by_index=(0, 1))

    with pytest.raises(UnsupportedGraphError, match="subset_by_index"):
        hlograph.emit_stablehlo(function, jax.ShapeDtypeStruct((3, 3), "float32"))
