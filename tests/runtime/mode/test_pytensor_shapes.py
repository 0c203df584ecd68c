"""The PyTensor mode: shapes that are arguments, shared variables or computed, any size of which may be -1."""

from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import Mode
from pytensor.compile.ops import wrap_py
from pytensor.tensor.random.utils import RandomStream

import hlograph
import hlograph.pytensor
from hlograph.errors import ArgumentShapeError, OpenSizeError

MODE, REFERENCE = "STABLEHLO", Mode("py", None)
GRID, EMPTY = np.arange(12.0).reshape(4, 3), np.zeros((0, 3))

x, k, m = pt.dmatrix("x"), pt.lscalar("k"), pt.iscalar("m")
pair, triple = (pt.tensor(name, dtype="int64", shape=(size,)) for name, size in (("pair", 2), ("triple", 3)))
shape, short = pt.lvector("shape"), pt.ivector("short")

CASES: list[tuple[list[Any], Any, list[Any]]] = [
    ([k], x.reshape((k, 2)), [(GRID, 6), (GRID, -1), (GRID, 5), (EMPTY, -1), (EMPTY, 0)]),
    ([k, m], x.reshape((k, m)), [(GRID, 6, 2), (GRID, -1, 2), (GRID, 4, -1), (GRID, -1, -1), (EMPTY, -1, 0)]),
    ([k], x.reshape((k, -1)), [(GRID, 3), (GRID, -1), (EMPTY, 0)]),
    ([k], x.reshape(pt.stack([k, pt.abs(k) * 2])), [(np.ones((4, 2)), 2), (GRID, -1)]),
    ([k], x.reshape((k, x.sum().astype(int))), [(np.ones((4, 3)), 1), (np.ones((4, 3)), -1)]),
    ([triple], x.reshape(triple, ndim=3), [(GRID, (2, 2, 3)), (GRID, (2, -1, 3)), (GRID, (-1, 5, 1))]),
    ([shape], x.reshape(shape, ndim=2), [(GRID, (3, 4)), (GRID, [-1, 2]), (GRID, (4, -1)), (GRID, (1, 2, 6))]),
    ([short], x.reshape(short, ndim=1), [(GRID, (12,)), (GRID, [-1]), (GRID, (11,))]),
    ([shape], x.reshape(shape[:2] * 2, ndim=2), [(GRID, (3, 1, 9)), (GRID, (1, 3))]),
    ([pair], pt.full(pair, 2.0) + pt.broadcast_to(x[0, 0], pair), [(GRID, (4, 3)), (GRID, (0, 2)), (GRID, (1, -1))]),
    ([shape], pt.alloc(x[0], shape[0], shape[1]), [(GRID, (4, 3)), (GRID, (0, 3)), (GRID, (-1, 3))]),
    ([shape], pt.specify_shape(x, (shape[0], shape[1])) * 2, [(GRID, (4, 3)), (EMPTY, (0, 3)), (GRID, (4, 2))]),
]


def outcome(fn: Any, *args: Any) -> Any:
    """What a call returns; None where it refuses."""
    try:
        return fn(*args)
    except (ValueError, AssertionError):
        return None


@pytest.mark.sampled(8)
@pytest.mark.parametrize("number", range(len(CASES)))
def test_a_shape_of_the_call(number: int) -> None:
    inputs, output, calls = CASES[number]
    outputs = [output, output.sum(0), pt.grad((output**2).sum(), x)]
    ours, theirs = (pytensor.function([x, *inputs], outputs, mode=mode) for mode in (MODE, REFERENCE))
    for call in (*calls, calls[0]):
        found, wanted = outcome(ours, *call), outcome(theirs, *call)
        assert (found is None) == (wanted is None), call
        for got, expected in zip(found or (), wanted or (), strict=True):
            np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("policy", ["exact", "padded"])
def test_open_sizes_in_a_program(policy: str) -> None:
    graph = [x, k], [x.reshape((k, 2)), pt.grad((x.reshape((k, 2))[0] ** 2).sum(), x)]
    fn = hlograph.function(*graph, policy=policy)
    for size in (6, -1):
        reshaped, gradient = fn(GRID, size)
        np.testing.assert_array_equal(reshaped, GRID.reshape(size, 2))
        np.testing.assert_array_equal(gradient, np.where(GRID < 2, 2 * GRID, 0))
    with pytest.raises(ArgumentShapeError, match="k >= -1"):
        fn(GRID, -2)
    with pytest.raises(OpenSizeError, match="k >= 0"):
        hlograph.emit_stablehlo(graph).interpret(GRID, -1)


def test_a_shape_that_is_shared() -> None:
    shared = pytensor.shared(np.array([3, -1]), "shared")
    fn = pytensor.function([x], x.reshape(shared, ndim=2), mode=MODE, updates={shared: shared[::-1]})
    for wanted in ((3, 4), (4, 3), (3, 4)):
        np.testing.assert_array_equal(fn(GRID), GRID.reshape(wanted))


def test_draws_of_a_size_that_is_an_argument() -> None:
    stream = RandomStream(7)
    draw = pytensor.function([pair], stream.normal(size=pair), mode=MODE)
    assert [draw(size).shape for size in ((4, 3), [0, 2], (2, 5))] == [(4, 3), (0, 2), (2, 5)]


@pytest.mark.parametrize(
    ("dtype", "values"), [("float64", (1, 2.5)), ("float32", [1, 2]), ("int64", (1, 2)), ("bool", (True, False))]
)
def test_tuples_and_lists_are_vectors(dtype: str, values: Any) -> None:
    v = pt.vector("v", dtype=dtype)
    fn = pytensor.function([v, k], [v, v.sum() * k], mode=MODE)
    for found, total in (fn(values, 3), fn(v=values, k=3)):
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, np.array(values, dtype))
        assert total == sum(values) * 3


@wrap_py(itypes=[pt.dmatrix], otypes=[pt.dvector])
def every_other(rows: Any) -> Any:
    return rows[::2, 0].copy()


def test_shapes_that_python_gives_change_with_those_beside_them() -> None:
    y = pt.dvector("y")
    ours, theirs = (pytensor.function([x, y], every_other(x) + y, mode=mode) for mode in (MODE, REFERENCE))
    for rows, size in ((4, 2), (6, 3), (2, 1), (6, 2), (4, 2), (6, 3)):
        found, wanted = (outcome(fn, np.ones((rows, 3)), np.arange(float(size))) for fn in (ours, theirs))
        assert (found is None) == (wanted is None), (rows, size)
        np.testing.assert_array_equal(found, wanted)
