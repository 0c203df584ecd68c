"""PyTensor graphs, padded: factorizations and solves through `emit_stablehlo`, and what the builder writes as loops."""

from __future__ import annotations

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from padded_runs import check_padded, definite, nasty

import hlograph

X, Y, A, B = pt.dmatrix("x"), pt.dvector("y"), pt.dmatrix("a"), pt.dmatrix("b")
DIMS = {"x": ("n", "m"), "y": ("n",), "a": ("n", "n"), "b": ("n", 2)}
GRAPHS = {
    "solve": ([A, B], [pt.linalg.solve(A, B), pt.linalg.inv(A)], {"a": definite}),
    "determinant": ([A], [pt.linalg.det(A), *pt.linalg.slogdet(A)], {}),
    "cholesky": (
        [A, B],
        [
            pt.linalg.cholesky(A),
            pt.linalg.solve_triangular(A, B, lower=True),
            pytensor.grad(pt.linalg.cholesky(A).sum(), A),
        ],
        {"a": definite},
    ),
    "cumulative": ([X], [pt.cumsum(X, 0), pt.cumprod(X, 1), X.max(0), pt.argmax(X, 1)], {"x": nasty}),
    "regression": (
        [X, Y],
        [
            pytensor.grad(pt.sum(pt.sigmoid(X.T @ Y) ** 2), X),
            pt.var(X, axis=0),
            pt.special.softmax(X, axis=0),
            pt.concatenate([Y, Y[::-1]]),
        ],
        {},
    ),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", GRAPHS)
def test_padded_graphs_agree_with_exact_ones(name):
    inputs, outputs, data = GRAPHS[name]
    program = hlograph.emit_stablehlo((inputs, outputs), dims={x: DIMS[x.name] for x in inputs})
    bounds = {root.name: {"n": 5, "m": 4}[root.name] for root in program.signature.roots}
    least = 1 if name == "cumulative" else 0  # the greatest of nothing is an error, demanded of the sizes
    sizes = [{"n": n, "m": m} for n, m in [(0, 1), (1, 4), (2, 2), (4, 3), (5, 4)] if n >= least]
    sizes = [{root: size[root] for root in bounds} for size in sizes]
    with np.errstate(all="ignore"):
        check_padded(program, bounds, data=data, sizes=sizes, interpret=False, rtol=1e-9)
