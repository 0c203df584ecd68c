"""Programs of https://github.com/aesara-devs/aesara/issues/684, "Apply JAX JIT more selectively", in PyTensor.

The request: JAX refuses whole graphs for one shape that it does not know, or for one op. Its comments, and the issues
that they come from (43, 924, and 1202's comments), have programs; these are theirs with PyTensor's names, and
`mode="STABLEHLO"` for `mode="JAX"`. The last ones are what the title asks for: all compiles but what cannot.
lit_tests/pytensor/selective_jit.py has the module of one of them.
"""

from __future__ import annotations

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
import scipy.ndimage
from pytensor.compile.ops import wrap_py

import hlograph
import hlograph.pytensor


def test_a_shape_that_is_known_when_the_graph_is_made():
    shape = np.array([10])
    draw = pytensor.function(
        [], pt.random.normal(size=shape, rng=pytensor.shared(np.random.default_rng(0))), mode="STABLEHLO"
    )
    assert draw().shape == (10,)


def test_a_shape_that_is_anothers():
    x, z = pt.vector("x"), pt.matrix("z")
    a = pytensor.function([x, z], pt.reshape(x, z.shape), mode="STABLEHLO")
    np.testing.assert_array_equal(a(np.arange(6.0), np.zeros((2, 3))), [[0, 1, 2], [3, 4, 5]])


def test_a_shape_that_is_a_value():
    """For which `jax.jit` needs `static_argnums`."""
    x, z = pt.vector("x"), pt.lvector("z")
    a = pytensor.function([x, z], pt.reshape(x, z, ndim=2), mode="STABLEHLO")
    for shape in ((2, 3), (3, -1), (-1, 6)):
        np.testing.assert_array_equal(a(np.arange(6.0), shape), np.arange(6.0).reshape(shape))


def test_the_number_of_steps_is_an_argument():
    k = pt.iscalar("k")
    A = pt.vector("A")

    result = pytensor.scan(
        fn=lambda prior_result, A: prior_result * A,
        outputs_info=pt.ones_like(A),
        non_sequences=A,
        n_steps=k,
        return_updates=False,
    )

    final_result = result[-1]

    power = pytensor.function(inputs=[A, k], outputs=final_result, mode="STABLEHLO")

    np.testing.assert_array_equal(power(range(10), 2), np.arange(10.0) ** 2)
    np.testing.assert_array_equal(power(range(10), 4), np.arange(10.0) ** 4)


def test_a_sequence_of_any_length():
    a_at = pt.dvector("a")
    res = pytensor.scan(fn=lambda a_t: 2 * a_t, sequences=a_at, return_updates=False)
    jax_fn = pytensor.function((a_at,), res, mode="STABLEHLO")
    np.testing.assert_array_equal(jax_fn([0, 1, 2, 3, 4]), [0, 2, 4, 6, 8])
    np.testing.assert_array_equal(jax_fn([0, 1, 2]), [0, 2, 4])


def test_the_gradient_of_a_model():
    """Its graph reshapes a vector of all parameters to the shapes that they have."""
    pm = pytest.importorskip("pymc")
    x = np.linspace(0, 1, 10)
    y = x * 4. + 1.4 + np.random.default_rng(1).normal(size=10)  # fmt: skip

    with pm.Model() as model:
        beta = pm.Normal("beta", 0., 5., shape=2)  # fmt: skip
        sigma = pm.HalfNormal("sigma", 2.5)
        pm.Normal("obs", beta[0] + beta[1] * x, sigma, observed=y)
        trace = pm.sample(
            draws=10, tune=10, chains=1, cores=1, random_seed=1, progressbar=False, compute_convergence_checks=False,
            compile_kwargs={"mode": "STABLEHLO"},
        )  # fmt: skip

    assert trace.posterior["beta"].shape == (1, 10, 2)
    found, wanted = (model.compile_dlogp(mode=mode)(model.initial_point()) for mode in ("STABLEHLO", "FAST_COMPILE"))
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


# ---- the subgraphs that are compatible -------------------------------------------------------------------------------


@wrap_py(itypes=[pt.dvector], otypes=[pt.dvector], infer_shape=lambda node, shapes: [shapes[0]])
def median_filtered(values):
    return scipy.ndimage.median_filter(values, 3)


def test_all_compiles_but_what_cannot():
    x = pt.dvector("x")
    outputs = [pt.exp(-median_filtered(x * 2)).sum(), pt.tanh(x)]
    fn = pytensor.function([x], outputs, mode="STABLEHLO")
    values = np.array([0.0, 3.0, 1.0, -2.0])
    total, other = fn(values)
    np.testing.assert_allclose(total, np.exp(-scipy.ndimage.median_filter(values * 2, 3)).sum(), rtol=1e-12)
    np.testing.assert_allclose(other, np.tanh(values), rtol=1e-12)
    assert str(hlograph.explain(fn)).count("median_filtered") == 1
