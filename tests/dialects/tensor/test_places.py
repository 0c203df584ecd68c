"""Indices that come with a value each, and what is written to diagonals."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.tensor.basic import permute_row_elements
from support import Case, check_case, each

import hlograph
from hlograph.errors import ArgumentShapeError

RANDOM = np.random.default_rng(0)


def integers(name: str, rank: int = 1, dtype: str = "int64"):
    return pt.TensorType(dtype, (None,) * rank)(name)


x, table, cube, value = pt.dvector("x"), pt.dmatrix("table"), pt.dtensor3("cube"), pt.dscalar("value")
i, j, small, k = integers("i"), integers("j"), integers("small", dtype="int8"), pt.lscalar("k")
grid, unsigned, shape_ = integers("grid", 2), integers("unsigned", dtype="uint64"), integers("shape")


def diagonals() -> Iterator[Case]:
    for shape in ((4, 4), (3, 5), (5, 3), (1, 4), (0, 3), (3, 0)):
        yield f"fill {shape}", [table, value], pt.fill_diagonal(table, value), [RANDOM.normal(size=shape), 7.0]
    yield "fill a cube", [cube, value], pt.fill_diagonal(cube, value), [RANDOM.normal(size=(3, 3, 3)), 7.0]
    graph = pt.fill_diagonal_offset(table, value, k)
    for shape in ((4, 4), (3, 5), (5, 3), (1, 2)):
        for offset in (0, 1, -2, 4, -9):
            data, (rows, columns) = RANDOM.normal(size=shape), np.indices(shape)
            wanted = np.where(columns - rows == offset, 7.0, data)  # PyTensor's own writes past the matrix for some
            yield f"{shape} {offset}", [table, value, k], graph, [data, 7.0, offset], {"expected": [wanted]}
    for offset in (0, 1, -2):
        filled = pt.fill_diagonal(table, value) if offset == 0 else pt.fill_diagonal_offset(table, value, offset)
        gradients = pytensor.grad((filled**2 * pt.arange(4)).sum(), [table, value])
        options = {"static": offset == 0}
        yield f"gradient {offset}", [table, value], gradients, [RANDOM.normal(size=(5, 4)), 3.0], options


def flat_indices() -> Iterator[Case]:
    modes = {"raise": ([0, 2, 1], [3, 0, 1]), "wrap": ([-1, 7, 3], [4, -9, 11]), "clip": ([-1, 7, 1], [4, -9, 3])}
    for order in "CF":
        for shape, data in (((3, 4), [0, 11, 5, 7]), ((2, 3, 5), [29, 0, 13]), ((6,), [5, 0]), ((3, 4), [])):
            yield f"unravel {order} {shape} {data}", [i], [*pt.unravel_index(i, shape, order=order)], [data]
        for mode, data in modes.items():
            graph = pt.ravel_multi_index([i, small], (3, 4), mode=mode, order=order)
            yield f"ravel {order} {mode}", [i, small], graph, data
    outputs = [*pt.unravel_index(grid, pt.specify_shape(shape_, 2))]
    yield "a shape of the call", [grid, shape_], outputs, [[[0, 11], [5, 7]], [3, 4]], {"dims": {"shape": (2,)}}
    yield "a shape of an array", [i, table], [*pt.unravel_index(i, table.shape)], [[0, 7], np.ones((2, 4))]


def choices() -> Iterator[Case]:
    for mode, data in (("raise", [0, 1, 3, 2, 0]), ("wrap", [-1, 4, 9, 2, 0]), ("clip", [-1, 4, 9, 2, 0])):
        yield mode, [i, table], pt.choose(i, table, mode=mode), [data, RANDOM.normal(size=(4, 5))]
    yield "matrix", [grid, table], pt.choose(grid, table), [[[0, 1, 2], [2, 2, 0]], RANDOM.normal(size=(3, 3))]
    yield "cube", [i, cube], pt.choose(i, cube), [[0, 2, 1], RANDOM.normal(size=(3, 2, 3))]
    yield "list", [i, x, value], pt.choose(i, [x, value * x, -x]), [[2, 0, 1], RANDOM.normal(size=3), 2.0]
    orders, rows = np.array([RANDOM.permutation(5) for _ in range(4)]), RANDOM.normal(size=(4, 5))
    for inverse in (False, True):
        for of, by in ((x, i), (table, i), (table, grid), (x, grid)):
            values = [rows if of is table else rows[0], orders if by is grid else orders[0]]
            yield f"permuted {of} {by} {inverse}", [of, by], permute_row_elements(of, by, inverse), values
        gradient = pytensor.grad((permute_row_elements(x, grid, inverse) ** 2 * table).sum(), x)
        yield f"gradient {inverse}", [x, grid, table], gradient, [rows[0], orders, rows]
    for other in (small, unsigned):  # index tensors of several dtypes
        data = [RANDOM.normal(size=(4, 5)), [0, 1, 1], [1, -2, 4]]
        yield f"read {other}", [table, other, i], [table[other, i], table[other, i].set(1.0)], data
        yield f"add {other}", [table, other, i, x], table[other, i].inc(x), [*data, [1.0, 2.0, 3.0]]


@pytest.mark.sampled(4)
@each(diagonals())
def test_diagonals(case: Case) -> None:
    check_case(case)


@pytest.mark.sampled(4)
@each(flat_indices())
def test_flat_indices(case: Case) -> None:
    check_case(case)


@pytest.mark.sampled(4)
@each(choices())
def test_choices_and_orders(case: Case) -> None:
    check_case(case)


@pytest.mark.parametrize(
    ("inputs", "graph", "values", "message"),
    [
        ([i], [*pt.unravel_index(i, (3, 4))], ([0, -1],), "out of bounds"),
        ([i], [*pt.unravel_index(i, (3, 4))], ([0, 12],), "out of bounds"),
        ([i, j], pt.ravel_multi_index([i, j], (3, 4)), ([0, 3], [0, 0]), "invalid entry"),
        ([i, j], pt.ravel_multi_index([i, j], (3, 4)), ([0, 1], [0, -1]), "invalid entry"),
        ([i, table], pt.choose(i, table), ([0, 4], np.ones((4, 2))), "invalid entry in choice array"),
        ([x, i], permute_row_elements(x, i), (np.ones(3), [0, 1, 3]), "out of bounds"),
    ],
)
def test_indices_are_checked(inputs, graph, values, message):
    with pytest.raises((ValueError, IndexError), match=message):
        hlograph.function(inputs, graph)(*map(np.array, values))


def test_a_box_with_several_sizes_has_no_diagonal():
    with pytest.raises(ArgumentShapeError):
        hlograph.function([cube], pt.fill_diagonal(cube, 1.0))(np.ones((3, 3, 2)))
