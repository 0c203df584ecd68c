"""dot_general reads through transposes: by other axis numbers, and without the transpose."""

from __future__ import annotations

import numpy as np

from hlograph.codegen import builder as hlo
from hlograph.codegen.builder import Builder
from hlograph.codegen.ir.bindings import new_context
from hlograph.codegen.program import Program

F64 = np.dtype(np.float64)


def build(dims, body):
    """The program of `body` on float64 arguments of the given shapes."""
    builder = Builder(new_context())
    with builder.function("main", [(shape, F64) for shape in dims]) as arguments:
        builder.finish(body(*arguments))
    return Program.parse(str(builder.module))


def arrays(dims):
    rng = np.random.default_rng(0)
    return [rng.normal(size=shape) for shape in dims]


def test_both_operands_are_read_through_their_transposes():
    dims = ((5, 3), (4, 5))
    program = build(
        dims,
        lambda x, y: [hlo.dot_general(hlo.transpose(x, (1, 0)), hlo.transpose(y, (1, 0)), contracting=([1], [0]))],
    )
    assert "transpose" not in program.text
    assert "contracting_dims = [0] x [1]" in program.text
    x, y = arrays(dims)
    np.testing.assert_allclose(program.compile()(x, y), x.T @ y.T, rtol=1e-14)


def test_a_transpose_with_other_users_stays_for_them():
    dims = ((5, 3), (5,))

    def body(x, y):
        swapped = hlo.transpose(x, (1, 0))
        return [hlo.dot_general(swapped, y, contracting=([1], [0])), swapped]

    program = build(dims, body)
    assert program.op_counts() == {"stablehlo.dot_general": 1, "stablehlo.transpose": 1}
    x, y = arrays(dims)
    product, swapped = program.compile()(x, y)
    np.testing.assert_allclose(product, x.T @ y, rtol=1e-14)
    np.testing.assert_array_equal(swapped, x.T)


def test_batch_axes_move_with_the_transpose():
    dims = ((4, 2, 3), (2, 4, 5))

    def body(x, y):
        return [hlo.dot_general(hlo.transpose(x, (1, 2, 0)), y, contracting=([2], [1]), batching=([0], [0]))]

    program = build(dims, body)
    assert "transpose" not in program.text
    x, y = arrays(dims)
    np.testing.assert_allclose(program.compile()(x, y), np.einsum("kbi,bkj->bij", x, y), rtol=1e-14)


def test_a_transpose_that_swaps_free_axes_is_kept():
    dims = ((2, 3, 4), (4,))
    program = build(dims, lambda x, y: [hlo.dot_general(hlo.transpose(x, (1, 0, 2)), y, contracting=([2], [0]))])
    assert program.op_counts()["stablehlo.transpose"] == 1
    x, y = arrays(dims)
    np.testing.assert_allclose(program.compile()(x, y), np.einsum("ijk,k->ji", x, y), rtol=1e-14)
