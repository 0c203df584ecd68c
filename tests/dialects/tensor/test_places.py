"""Indices that come with a value each, and what is written to diagonals."""

from __future__ import annotations

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.tensor.basic import permute_row_elements
from support import check_lowering

import hlograph
from hlograph.errors import ArgumentShapeError

pytestmark = pytest.mark.sampled(4)

RANDOM = np.random.default_rng(0)


def integers(name: str, rank: int = 1, dtype: str = "int64"):
    return pt.TensorType(dtype, (None,) * rank)(name)


x, table, cube, value = pt.dvector("x"), pt.dmatrix("table"), pt.dtensor3("cube"), pt.dscalar("value")
i, j, small, k = integers("i"), integers("j"), integers("small", dtype="int8"), pt.lscalar("k")
grid, unsigned = integers("grid", 2), integers("unsigned", dtype="uint64")

# ---- diagonals ----


@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (5, 3), (1, 4), (0, 3), (3, 0)])
def test_fill_diagonal(shape):
    check_lowering([table, value], pt.fill_diagonal(table, value), RANDOM.normal(size=shape), 7.0)


def test_fill_diagonal_of_a_cube():
    check_lowering([cube, value], pt.fill_diagonal(cube, value), RANDOM.normal(size=(3, 3, 3)), 7.0)
    with pytest.raises(ArgumentShapeError):
        hlograph.function([cube], pt.fill_diagonal(cube, 1.0))(np.ones((3, 3, 2)))


@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (5, 3), (1, 2)])
@pytest.mark.parametrize("offset", [0, 1, -2, 4, -9])
def test_fill_diagonal_offset(shape, offset):
    data = RANDOM.normal(size=shape)
    rows, columns = np.indices(shape)
    wanted = np.where(columns - rows == offset, 7.0, data)  # PyTensor's own writes past the matrix for some
    output = pt.fill_diagonal_offset(table, value, k)
    check_lowering([table, value, k], output, data, 7.0, offset, expected=[wanted])


@pytest.mark.parametrize("offset", [0, 1, -2])
def test_gradients_of_filled_diagonals(offset):
    filled = pt.fill_diagonal(table, value) if offset == 0 else pt.fill_diagonal_offset(table, value, offset)
    gradients = pytensor.grad((filled**2 * pt.arange(4)).sum(), [table, value])
    check_lowering([table, value], gradients, RANDOM.normal(size=(5, 4)), 3.0, static=offset == 0)


# ---- flat indices ----


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    ("shape", "data"), [((3, 4), [0, 11, 5, 7]), ((2, 3, 5), [29, 0, 13]), ((6,), [5, 0]), ((3, 4), [])]
)
def test_unravel_index(order, shape, data):
    check_lowering([i], [*pt.unravel_index(i, shape, order=order)], data)


def test_unravel_index_of_a_shape_that_comes_with_the_call():
    shape = integers("shape")
    outputs = [*pt.unravel_index(grid, pt.specify_shape(shape, 2))]
    check_lowering([grid, shape], outputs, [[0, 11], [5, 7]], [3, 4], dims={"shape": (2,)})
    check_lowering([i, table], [*pt.unravel_index(i, table.shape)], [0, 7], np.ones((2, 4)))


@pytest.mark.parametrize("index", [-1, 12])
def test_unravel_index_checks(index):
    with pytest.raises(ValueError, match="out of bounds"):
        hlograph.function([i], [*pt.unravel_index(i, (3, 4))])(np.array([0, index]))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    ("mode", "data"),
    [("raise", ([0, 2, 1], [3, 0, 1])), ("wrap", ([-1, 7, 3], [4, -9, 11])), ("clip", ([-1, 7, 1], [4, -9, 3]))],
)
def test_ravel_multi_index(order, mode, data):
    check_lowering([i, small], pt.ravel_multi_index([i, small], (3, 4), mode=mode, order=order), *data)


@pytest.mark.parametrize("data", [([0, 3], [0, 0]), ([0, 1], [0, -1])])
def test_ravel_multi_index_checks(data):
    flat = hlograph.function([i, j], pt.ravel_multi_index([i, j], (3, 4)))
    with pytest.raises(ValueError, match="invalid entry"):
        flat(*map(np.array, data))


# ---- choices and orders ----


@pytest.mark.parametrize(
    ("mode", "data"), [("raise", [0, 1, 3, 2, 0]), ("wrap", [-1, 4, 9, 2, 0]), ("clip", [-1, 4, 9, 2, 0])]
)
def test_choose(mode, data):
    check_lowering([i, table], pt.choose(i, table, mode=mode), data, RANDOM.normal(size=(4, 5)))


def test_choose_broadcasts():
    check_lowering([grid, table], pt.choose(grid, table), [[0, 1, 2], [2, 2, 0]], RANDOM.normal(size=(3, 3)))
    check_lowering([i, cube], pt.choose(i, cube), [0, 2, 1], RANDOM.normal(size=(3, 2, 3)))
    check_lowering([i, x, value], pt.choose(i, [x, value * x, -x]), [2, 0, 1], RANDOM.normal(size=3), 2.0)


def test_choose_checks():
    with pytest.raises(ValueError, match="invalid entry in choice array"):
        hlograph.function([i, table], pt.choose(i, table))(np.array([0, 4]), np.ones((4, 2)))


@pytest.mark.parametrize("inverse", [False, True])
def test_permute_row_elements(inverse):
    orders = np.array([RANDOM.permutation(5) for _ in range(4)])
    rows = RANDOM.normal(size=(4, 5))
    check_lowering([x, i], permute_row_elements(x, i, inverse), rows[0], orders[0])
    check_lowering([table, i], permute_row_elements(table, i, inverse), rows, orders[0])
    check_lowering([table, grid], permute_row_elements(table, grid, inverse), rows, orders)
    check_lowering([x, grid], permute_row_elements(x, grid, inverse), rows[0], orders)
    gradient = pytensor.grad((permute_row_elements(x, grid, inverse) ** 2 * table).sum(), x)
    check_lowering([x, grid, table], gradient, rows[0], orders, rows)


def test_permute_row_elements_checks():
    with pytest.raises(IndexError, match="out of bounds"):
        hlograph.function([x, i], permute_row_elements(x, i))(np.ones(3), np.array([0, 1, 3]))


# ---- index tensors of several dtypes ----


@pytest.mark.parametrize("other", [small, unsigned])
def test_index_tensors_of_several_dtypes(other):
    data = [RANDOM.normal(size=(4, 5)), [0, 1, 1], [1, -2, 4]]
    for output in (table[other, i], table[other, i].set(1.0), table[other, i].inc(x)):
        inputs, values = [table, other, i], list(data)
        if x in pytensor.graph.traversal.ancestors([output]):
            inputs, values = [*inputs, x], [*values, [1.0, 2.0, 3.0]]
        check_lowering(inputs, output, *values)
