"""dot_general reads through transposes: by other axis numbers, and without the transpose."""

from __future__ import annotations

import numpy as np
import pytest
from builds import Build

from hlograph import Program
from hlograph import builder as hlo

F64 = np.dtype(np.float64)


def build(dims, body):
    """The program of `body` on float64 arguments of the given shapes."""
    made = Build(*[(shape, F64) for shape in dims])
    return Program.parse(made.done(*body(*made.args)))


def arrays(dims):
    rng = np.random.default_rng(0)
    return [rng.normal(size=shape) for shape in dims]


READ = {
    "both operands": (
        ((5, 3), (4, 5)),
        lambda x, y: hlo.dot_general(hlo.transpose(x, (1, 0)), hlo.transpose(y, (1, 0)), contracting=([1], [0])),
        lambda x, y: x.T @ y.T,
    ),
    "batch axes": (
        ((4, 2, 3), (2, 4, 5)),
        lambda x, y: hlo.dot_general(hlo.transpose(x, (1, 2, 0)), y, contracting=([2], [1]), batching=([0], [0])),
        lambda x, y: np.einsum("kbi,bkj->bij", x, y),
    ),
    "kept: free axes are swapped": (
        ((2, 3, 4), (4,)),
        lambda x, y: hlo.dot_general(hlo.transpose(x, (1, 0, 2)), y, contracting=([2], [0])),
        lambda x, y: np.einsum("ijk,k->ji", x, y),
    ),
}


@pytest.mark.parametrize("case", READ)
def test_products_read_through_transposes(case):
    dims, body, expected = READ[case]
    program = build(dims, lambda *xs: [body(*xs)])
    assert program.op_counts().get("stablehlo.transpose", 0) == case.startswith("kept")
    values = arrays(dims)
    np.testing.assert_allclose(program.compile()(*values), expected(*values), rtol=1e-14)
