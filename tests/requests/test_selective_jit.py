"""Programs of https://github.com/aesara-devs/aesara/issues/684, "Apply JAX JIT more selectively", in PyTensor.

The request: JAX refuses whole graphs for one shape that it does not know, or for one op. Its comments, and the issues
that they come from (43, 924, and 1202's comments), have programs; these are two with PyTensor's names, and
`mode="STABLEHLO"` for `mode="JAX"`: a number of steps, and what the title asks for: all compiles but what cannot.
Shapes of a call are in tests/runtime/mode, and lit_tests/pytensor/selective_jit.py has the module of one of them.
"""

from __future__ import annotations

import numpy as np
import pytensor
import pytensor.tensor as pt
import scipy.ndimage
from pytensor.compile.ops import wrap_py

import hlograph
import hlograph.pytensor


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
